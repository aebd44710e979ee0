"""The sections of the page: a few words on what was asked, the tables, and what they say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from isthmus.study.board import Board, format_seeds
from studies.pairs import retrieval, transfer
from studies.pairs.findings import THREE, use_sentences, winners_table
from studies.pairs.rows import MOST_UNPAIRED
from studies.pairs.tables import Cell, alone_table, cells, difference_table, join_tables, score_table

ORACLE, SHARED = "class oracle", "shared columns"
INTERVALS = (
    "In brackets 95 % intervals over all data sets and seeds, clustered by either, whichever is wider; bold where "
    "p < .05 after Holm's correction for all rows of the column."
)


def names(board: Board) -> list[str]:
    """The systems of a board, in its order, by the column of their own."""
    return [entrant.name for entrant in board.design.entrants if not entrant.control]


def retrieval_section(found: Mapping[str, Board], picture: str) -> str:
    """Instance retrieval."""
    first = next(iter(found.values()))
    systems, controls = names(first), list(first.design.controls)
    tables = [
        score_table(board, [*systems, *controls], f"Recall@1 in per cent, {words}")
        for (variant, board), words in zip(found.items(), retrieval.VARIANTS.values(), strict=True)
    ]
    middle = found["100"]
    further = [
        score_table(middle, systems, f"{words}, 100 known pairs", figure)
        for words, figure in (("Recall@10 in per cent", "recall@10"), ("Mean reciprocal rank × 100", "mrr"))
    ]
    ways = [(name, f"{name}{retrieval.PLAIN}") for name in systems]
    ways += [(f"{name}{retrieval.BY_QUERIES}", name) for name in systems]
    hubs = difference_table(found, ways, "What CSLS gains, points", retrieval.VARIANTS)
    compared = [("ridge", name) for name in systems if name != "ridge"]
    order = difference_table(found, compared, "Ridge against each other system, points", retrieval.VARIANTS)
    sizes = ", ".join(f"{group} {n}" for group, n in retrieval.TESTED.items())
    return f"""\
## Finding the same object

P rows of either domain are known to be the same object; at most {MOST_UNPAIRED} more rows of either are there, of \
other objects. No label is used. Then every row of an object held out is looked for among the rows of the other \
domain, in both directions: the share that is first (recall@1), among the first ten (recall@10), and the mean of one \
over the rank. So many objects are held out: {sizes}. Ranks are corrected for hubs (CSLS) as `search` does it by \
itself, unless a table says otherwise. {_describe_draws(first)}

{picture}

{join_tables(tables)}

**What the controls are.** *CCA, unit variates*: as it was before it weighted directions by their correlations. \
*Shuffled pairs*: the same rows in wrong pairs. *Shuffled within classes*: each row is \
paired with another of its class; what is found then, is found by class. *Class oracle*: the true class of every row \
and nothing else. *Shared columns*: cosines over the columns that have the same name in both domains (the Debian \
texts share words and names), without any pair. *Random*: chance.

{join_tables(further)}

### Hubs

A hub is a row that is near to everything. `search` tells by rows of the fit which rows of the gallery are hubs, so \
that the answer to a query does not depend on the others; *plain* leaves hubs alone; *hubs by queries* tells by all \
queries at once, as is usual where they are known together.

{hubs.markdown}

{INTERVALS} {hubness_sentence(found, systems)}

### Against each other

{order.markdown}

{INTERVALS}

{shared_sentence(found, systems)}
"""


def hubness_sentence(found: Mapping[str, Board], systems: Iterable[str]) -> str:
    """In how many comparisons CSLS is shown to help or to harm."""
    pairs = [(name, f"{name}{retrieval.PLAIN}") for name in systems]
    verdicts = [claim.verdict for board in found.values() for claim in board.claims(pairs)]
    helps, harms = verdicts.count("holds"), verdicts.count("reversed")
    gains = [
        (100 * float(gain), f"{a} on {group} with {variant} pairs")
        for variant, board in found.items()
        for a, b in pairs
        for group, gain in zip(board.groups, (board.scores(a) - board.scores(b)).mean(axis=1), strict=True)
        if np.isfinite(gain)
    ]
    worst, where = min(gains, default=(0.0, "nowhere"))
    losses = sum(gain < 0 for gain, _ in gains)
    return (
        f"CSLS is shown to help in {helps} of {len(verdicts)} comparisons and to harm in {harms}. By data set, the "
        f"mean is lower with it in {losses} of {len(gains)} cases, at worst by {max(0.0, -worst):.1f} points "
        f"({where})."
    )


def shared_sentence(found: Mapping[str, Board], systems: Iterable[str]) -> str:
    """From how many pairs on a system is better than columns that need no pair."""
    said = []
    systems = list(systems)
    for k, group in enumerate(next(iter(found.values())).groups):
        bar = {variant: float(board.scores(SHARED)[k].mean()) for variant, board in found.items()}
        if not np.isfinite(list(bar.values())).all():
            continue
        ahead = [v for v, board in found.items() if max(_means(board, systems, k)) > bar[v]]
        level = 100 * next(iter(bar.values()))
        words = (
            f"the best system is ahead of it with {' and '.join(ahead)} pairs" if ahead else "no system reaches it"
        )
        said.append(f"{group} {level:.0f} % ({words})")
    return f"**Shared columns need no pair at all**: {'; '.join(said)}." if said else ""


def _means(board: Board, systems: Iterable[str], group: int) -> list[float]:
    means = [float(board.scores(name)[group].mean()) for name in systems]
    return [mean for mean in means if np.isfinite(mean)] or [-1.0]


def use_section(found: Mapping[str, Board]) -> str:
    """Which one to use."""
    systems = names(next(iter(found.values())))
    ahead: list[Cell] = cells(found, systems, ORACLE)
    table = winners_table(ahead, list(found), "The best system, its recall@1, and who is not shown to be worse")
    pairs = [("mlhd", "ridge"), ("mlhd", "cca"), ("cca", "ridge")]
    three = alone_table(found, pairs, "LogDet (mlhd), CCA and ridge against each other, by data set, points")
    return f"""\
## Which one to use

{table.markdown}

A cell is decided where the best system is shown to be above the class oracle. A system is not shown to be worse \
where the 95 % interval of its paired difference to the best, over the seeds, holds zero; each cell is judged alone.

{three.markdown}

In brackets 95 % intervals over the seeds, each by itself; bold where zero is outside.

{chr(10).join(use_sentences(ahead, systems))}
{_times(found, systems)}
"""


def _times(found: Mapping[str, Board], systems: Iterable[str]) -> str:
    """Seconds of a fit with the most pairs."""
    last, board = list(found.items())[-1]
    seconds = {
        name: np.mean([r.seconds for row in board.records(name) for r in row if r is not None] or [np.nan])
        for name in systems
    }
    listed = ", ".join(f"{name} {value:.2f}" for name, value in seconds.items() if np.isfinite(value))
    return f"- **Time**: seconds per fit with {last} pairs, on one thread: {listed}."


def transfer_section(found: Mapping[str, Board]) -> str:
    """Label transfer."""
    first = next(iter(found.values()))
    systems = names(first)
    columns = [*systems, *first.design.controls]
    tables = [
        score_table(board, columns, f"Accuracy in per cent, {words}")
        for board, words in zip(found.values(), transfer.VARIANTS.values(), strict=True)
    ]
    bars = (f"{transfer.LDA}, 1 per class", f"{transfer.COPIED}, SVM", f"{transfer.COPIED}, self-trained LDA")
    compared = [(name, bar) for name in THREE for bar in bars]
    gains = difference_table(found, compared, "Systems against controls, points", transfer.VARIANTS)
    return f"""\
## Labels through pairs

The rows of the source have labels, those of the target have none; pairs tie the two. A linear classifier of the \
source rows is read in the common space, and calls target rows of objects held out. The controls never look at the \
source's features: a self-trained LDA with 1 or 3 labelled target rows per class; and, the one that is easily \
forgotten, **labels copied through pairs**: the target row of each pair gets the label of its partner, and a \
classifier of the target alone learns from these. {_describe_draws(first)}

{join_tables(tables)}

{gains.markdown}

{INTERVALS}

{transfer_sentence(found, systems)}
"""


def transfer_sentence(found: Mapping[str, Board], systems: list[str]) -> str:
    """Where the best system is above the best control."""
    said = []
    for variant, board in found.items():
        wins = [group for group, above in compare_with_copies(board, systems).items() if above]
        said.append(f"{variant} pairs: {', '.join(wins) if wins else 'nowhere'}")
    return (
        "**The best system is above the better of the two ways to learn from copied labels** (by its mean, with the "
        f"best of several chosen on either side) with {'; '.join(said)}. Elsewhere the map adds nothing to the "
        "labels that pairs carry by themselves."
    )


def compare_with_copies(board: Board, systems: list[str]) -> dict[str, bool]:
    """Whether the best system is above the better way to learn from copied labels, by data set."""
    copied = [name for name in board.design.controls if name.startswith(transfer.COPIED)]
    return {
        group: max(_means(board, systems, k)) > max(_means(board, copied, k)) for k, group in enumerate(board.groups)
    }


def _describe_draws(board: Board) -> str:
    words = format_seeds(board.seeds)
    return f"{words[0].upper()}{words[1:]}; means ± standard deviations over the seeds, the best of a column is bold."
