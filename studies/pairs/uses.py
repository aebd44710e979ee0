"""The sections of the page on what is built upon pairs: matching and migration."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from isthmus._core.validation import FloatArray
from isthmus.study.board import ABSENT, Board, TextTable, format_seeds
from studies.pairs import matching
from studies.pairs.tables import alone_table, join_tables, score_table, values

WORKED_FROM, FAILED_BELOW = 0.5, 0.25
"""Recall@1 from which on a matching counts as a success, and below which as a failure, whatever it says of itself."""


def matching_section(found: Mapping[str, Board], null: Mapping[str, Board]) -> str:
    """Matching."""
    first = next(iter(found.values()))
    tables = [
        _grid(found, matching.MATCH, words, cell)
        for words, cell in (
            ("Recall@1 in per cent: the best partner of each row that has an unknown one", _mean_of(None)),
            (
                "Precision of the matches that are returned / share of partners that they find, per cent",
                _acceptance,
            ),
            ("Confidence that is stated for these matches, mean, per cent", _mean_of("confidence")),
            ("Runs that are called a success / all runs (doubtful is none)", _verdicts),
        )
    ]
    both = {name: found[matching.UNREFINED_IN] for name in (matching.MATCH, matching.UNREFINED)}
    rows = [
        (group, *(_mean(values(board, name)[k]) for name, board in both.items()))
        for k, group in enumerate(first.groups)
    ]
    unrefined = TextTable(
        "What refinement is worth: recall@1, all rows partnered, 30 pairs", ("data", *both), tuple(rows)
    )
    labelled = _known_classes_table(
        found[matching.LABELLED_IN], "With class labels and no pairs: recall@1, all rows partnered"
    )
    return f"""\
## Matching two collections

`isthmus.match` gets two collections in which all, half or a quarter of the rows have a partner, and 0, 5 or 30 \
known pairs. Either side has 300 to 1,000 rows, in an order of its own; there are fewer rows where objects \
are too few for both sides. {_capital(format_seeds(first.seeds))}, each with rows of its own.

{join_tables(tables)}

{unrefined.markdown}

{labelled.markdown}

{verdict_sentences(found, null)}
"""


def verdict_sentences(found: Mapping[str, Board], null: Mapping[str, Board]) -> str:
    """How often the verdict of a matching is right, over all data sets and variants."""
    runs = [run for board in found.values() for run in list_runs(board, matching.MATCH)]
    worked = [said for score, said in runs if score >= WORKED_FROM]
    between = [said for score, said in runs if FAILED_BELOW <= score < WORKED_FROM]
    failed = [said for score, said in runs if score < FAILED_BELOW]
    labelled = [run for name in matching.LABELLED for run in list_runs(found[matching.LABELLED_IN], name)]
    misled = [said for score, said in labelled if score < FAILED_BELOW]
    wrong = _said(found[matching.WRONG_IN], matching.WRONG)
    nothing = [said for board in null.values() for said in _said(board, matching.MATCH)]
    sentences = [
        f"- **Does it know whether it worked?** Of {len(worked)} runs with a recall@1 of at least {WORKED_FROM:.0%}, "
        f"{_share(worked, 1.0)} are called a success, {_share(worked, 0.5)} doubtful and {_share(worked, 0.0)} a "
        f"failure. Of {len(failed)} runs with a recall@1 below {FAILED_BELOW:.0%}, "
        f"{sum(each != 1.0 for each in failed)} are not called a success. Of the "
        f"{len(between)} runs in between, {_share(between, 1.0)} are called a success.",
        f"- **Shuffled pairs** (30 wrong ones; half of the rows have a partner): {_uncalled_runs(wrong)}.",
        f"- **With labels and no pairs** it is less sure of itself: of the runs with a recall@1 below "
        f"{FAILED_BELOW:.0%}, {_uncalled_runs(misled)}.",
        f"- **Nothing to match** (other objects on either side, and unrelated data): {_uncalled_runs(nothing)}.",
    ]
    return "\n".join(sentences)


def _share(said: list[float], what: float) -> str:
    count = sum(each == what for each in said)
    return f"{count} ({count / max(len(said), 1):.0%})"


def list_runs(board: Board, name: str) -> list[tuple[float, float]]:
    """Recall@1 and verdict of every run."""
    pairs = zip(board.scores(name).ravel().tolist(), _said(board, name), strict=True)
    return [(score, said) for score, said in pairs if np.isfinite(score) and np.isfinite(said)]


def _uncalled_runs(said: list[float]) -> str:
    known = [each for each in said if np.isfinite(each)]
    return f"{sum(each != 1.0 for each in known)} of {len(known)} runs are not called a success"


def _known_classes_table(board: Board, title: str) -> TextTable:
    """Data sets by what is known of the classes."""
    names = (matching.MATCH, *matching.LABELLED)
    rows = [(group, *(_mean(values(board, name)[k]) for name in names)) for k, group in enumerate(board.groups)]
    return TextTable(title, ("data", *(name.removeprefix("match, ") for name in names)), tuple(rows))


def _said(board: Board, name: str) -> list[float]:
    return [float(value) for value in board.figures(name, "worked").ravel()]


def _grid(found: Mapping[str, Board], name: str, title: str, cell: Callable[[Board, str, int], str]) -> TextTable:
    """Data sets by variants."""
    groups = next(iter(found.values())).groups
    rows = [(group, *(cell(board, name, k) for board in found.values())) for k, group in enumerate(groups)]
    return TextTable(title, ("data", *found), tuple(rows))


def _mean_of(figure: str | None) -> Callable[[Board, str, int], str]:
    def cell(board: Board, name: str, k: int) -> str:
        return _mean(values(board, name, figure)[k])

    return cell


def _mean(row: FloatArray) -> str:
    known = row[np.isfinite(row)]
    return f"{known.mean():.0f}" if len(known) else ABSENT


def _acceptance(board: Board, name: str, k: int) -> str:
    return " / ".join(_mean(values(board, name, figure)[k]) for figure in ("precision", "recall"))


def _verdicts(board: Board, name: str, k: int) -> str:
    said = board.figures(name, "worked")[k]
    known = said[np.isfinite(said)]
    return f"{int((known == 1.0).sum())}/{len(known)}" if len(known) else ABSENT


def migration_section(found: Mapping[str, Board]) -> str:
    """Migration."""
    first = next(iter(found.values()))
    columns = list(first.design.columns)
    tables = [
        _by_pairs(found, columns, words, figure)
        for words, figure in (
            ("Of the ten neighbours that the new model would find, those found, per cent", None),
            ("A row of the index finds itself (recall@1), per cent", "recall@1"),
            ("It is among the first ten (recall@10), per cent", "recall@10"),
        )
    ]
    compared = [(name, "ridge") for name in columns[1:] if name not in first.design.controls] + [
        ("ridge", columns[-1])
    ]
    gains = alone_table(found, compared, "Neighbours found: differences in points")
    return f"""\
## Migrating an index

All 10,992 English Debian descriptions, embedded twice: by words (latent semantic analysis, 256 columns) and by \
groups of letters (384 columns). The old index stays as it is; P of its texts are embedded by the new model too, and \
200 other texts are queries of the new model only. Cosines in the old space, but for "both ways". The old model on \
its own index is what there was before. {_capital(format_seeds(first.seeds))}; both directions.

{join_tables(tables)}

{gains.markdown}

In brackets 95 % intervals over the seeds, each by itself; bold where zero is outside.

{promise_sentence(found)}
"""


def promise_sentence(found: Mapping[str, Board]) -> str:
    """Whether what an adapter says of itself is true of other rows."""
    said = []
    for variant, board in found.items():
        measured, low, high = (board.figures("ridge", name).ravel() for name in ("recall@10", "low@10", "high@10"))
        known = np.isfinite(measured + low + high)
        if known.any():
            covered = int(((low <= measured) & (measured <= high))[known].sum())
            below = int((measured < low)[known].sum())
            said.append(f"{variant} pairs: {covered} of {int(known.sum())} inside, {below} below")
    return (
        "**What an adapter promises**: `adapter.recall` has recall@10 of pairs held back, with an interval; here is "
        f"how often recall@10 of other rows is inside it: {'; '.join(said)}. The promise is of a map from fewer "
        "pairs than the adapter has learned from, so that it may be too low."
    )


def _by_pairs(found: Mapping[str, Board], columns: list[str], title: str, figure: str | None) -> TextTable:
    """Systems by directions and numbers of pairs."""
    groups = next(iter(found.values())).groups
    tables = {v: {row[0]: row for row in score_table(b, columns, "", figure).rows} for v, b in found.items()}
    absent = (ABSENT,) * (len(groups) + 1)
    head = tuple(f"{group}, {variant}" for group in groups for variant in found)
    rows = [
        (name, *(tables[variant].get(name, absent)[k + 1] for k in range(len(groups)) for variant in found))
        for name in columns
    ]
    return TextTable(title, ("system", *head), tuple(rows))


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"
