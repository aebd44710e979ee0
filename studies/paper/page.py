"""The page on what was reproduced: every sentence is made from the numbers that stand beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from isthmus._core.validation import FloatArray
from isthmus.evidence.comparison import format_points
from isthmus.exceptions import InputError
from isthmus.study.board import (
    HOLDS,
    LEVEL,
    OPEN,
    REVERSED,
    UNRUN,
    TextTable,
    format_seeds,
    make_claim_table,
    mean_cell,
    number_cell,
)
from isthmus.study.records import Record
from studies.paper.artefacts import boards
from studies.paper.comparisons import (
    AGAINST_CORRUPTED,
    AGAINST_TARGET,
    CORRUPTED,
    FAMILIES,
    FLAT,
    FROM_FLAT,
    JUDGED,
    ORDER,
    ORDER_BY_MEANS,
    READINGS,
    TARGET_ONLY,
    TRANSFER,
    WHERE_FLAT,
    agreed,
    flat_columns,
    sensitivity_claims,
)
from studies.paper.entrants import FLAT_WEIGHT, PAPER
from studies.paper.experiment import EXPERIMENTS, PaperBoard
from studies.paper.findings import Finding
from studies.paper.published import NEIGHBOURS
from studies.paper.rows import VARIANTS
from studies.paper.tables import (
    BY_SEED,
    control_table,
    grid_table,
    paper_table,
    published_means,
    retrieval_table,
    settings_table,
    toy_table,
)

TABLES = ("table1", "table2")
PAGE = ("toy", *TABLES)
"""Whose records the page is about."""
GRIDS = "grids"
"""The name of records of the first table's grids that were searched apart from it: a grid has no default in it."""
RELEASED = "table2-released"
"""The experiment on the features that were released, beside the second table."""
Sets = Sequence[tuple[int, ...]]


class Link(NamedTuple):
    """Where the figures are, and how the page calls that place."""

    folder: Path
    name: str

    def picture(self, what: str, stem: str) -> Iterator[str]:
        """A figure, if it has been drawn."""
        if (self.folder / f"{stem}.png").exists():
            yield f"![{what}]({self.name}/{stem}.png)"


def page(records: Mapping[str, list[Record]], sets: Sets, figures: Path, beside: Path) -> str:
    """The Markdown page on the records of the experiments.

    Parameters
    ----------
    records : mapping of str to list of Record
        By the name of the experiment, as in :data:`PAGE`, and maybe :data:`GRIDS`.
    sets : sequence of tuple of int
        Sets of seeds: tables are of the first, conclusions are what all agree on.
    figures : Path
        The folder of the figures.
    beside : Path
        The folder that the page will stand in, for links to the figures.
    """
    if not any(records.values()):
        raise InputError("records: expected some of the experiments (*.jsonl), got none.")
    findings = [
        Finding(EXPERIMENTS[name], variant, boards(EXPERIMENTS[name], records[name], variant, sets))
        for name in TABLES
        for variant in VARIANTS
        if any(record.variant == variant for record in records[name])
    ]
    link = Link(figures, Path(os.path.relpath(figures, beside)).as_posix())
    summary = list(_summarize(findings)) if findings and all(finding.complete for finding in findings) else []
    parts = [
        *_opening(records, sets, summary),
        *(part for about in (_short, _order, _source, _settings) if findings for part in about(findings)),
        *([_BACKGROUND] if findings else []),
        *_toy(records["toy"], sets, link),
        *(part for finding in findings for part in _table(finding, link)),
        *_released(records),
        *_sensitivity(records, sets, link),
        *_again(sets),
    ]
    return "\n\n".join(parts) + "\n"


def _opening(records: Mapping[str, list[Record]], sets: Sets, summary: Sequence[str]) -> Iterator[str]:
    every = [record for name in PAGE for record in records[name]]
    unrun = [name for name in PAGE if not records[name]]
    bad = [record for record in every if not record.certified]
    yield "# The paper's experiments, run again"
    yield from summary
    yield (
        "Made by `python -m studies.paper … --report`; do not edit. Every sentence about results is computed from "
        "the records, and a test keeps page and records together."
    )
    yield (
        f"{len(every):,} records; {len(bad)} of them have a fit that failed or was not certified"
        f"{' (marked † in the tables)' if bad else ''}. Software: "
        f"{'; '.join(sorted({record.versions for record in every}))}. Sets of seeds: "
        f"{', '.join(_name_seeds(seeds) for seeds in sets)}. Tables are of the first set; conclusions are what all "
        "sets agree on."
    )
    if unrun:
        yield f"**Not run yet** with the present defaults: {', '.join(unrun)}."


_BACKGROUND = f"""\
## What was run

**Not the paper's data.** The paper used the native documents of five languages (UCI 259) and features of its \
own making. Here: `reuters600`, 600 documents with their machine translations, so that each exists in all five \
languages, of which none is in two of source, target and test; and `office31_bow`, bags of visual words made \
anew from the images. Nothing below can show that the paper's numbers are wrong.

**What the paper leaves open.** It does not say how features were scaled, which bandwidths, bounds and weights \
its tables stand on, or how a row is labelled. Here rows are scaled to length one (counts by their square \
roots), all four systems of the tables have RBF kernels with median bandwidths (`mlhd-rbf` and so on in \
`isthmus.systems()`; the toy problem is linear), and everything else is the library's default, which was \
chosen on other data (docs/defaults.md, docs/bounds.md). *whole* is {VARIANTS["whole"]}; \
*held-out* is {VARIANTS["held-out"]}.

**Names.** `kcca+nn`: kernel CCA, then the nearest source row; `kcca+itml`: the same after ITML. `mlhd-rbf` labels a \
row by its nearest *source* row, as retrieval would; `mlhd-rbf by target rows` by its nearest *labelled target* row \
under the same metric; `… by means` by the nearest class mean of the source (`rule="means"`). \
`mlhd-rbf λ2={FLAT_WEIGHT:g}` has that weight on each pair, where accuracy no longer depends on it. `label-transfer` \
is `LabelTransfer`, no system of the paper. Controls without a source are `target 1-NN`, `target SVM`, \
`target label spreading`, `target self-trained LDA`, `target balanced k-means` and the mean of the last two, all of \
which know the target's rows only. Controls with a corrupted source are MLHD \
after the source's rows were replaced by noise of the same mean and covariance (*noise*), its labels dealt out \
anew (*permuted*) or its classes renamed in a cycle (*renamed*); what MLHD gains with one of them, it does not \
owe to the source. A *group* is a source and a target.

**What a p-value is about.** All trials draw from the same documents and images: intervals and p-values are \
about the draw of rows and about these groups, not about other corpora. Splits share rows, so differences are \
clustered by seed and by group, and the more cautious of the two counts. A corrupted source is drawn once per seed, \
for all groups alike."""


SUMMARY = """\
**Question.** MLHD (Qian & Chen 2012) learns one metric for two domains from few target labels. Do the paper's \
results hold when they are measured again, and does the source domain help?

**Answer.** {order} of {steps} steps of the paper's order of systems hold over {tables} tables, and {reversed} \
{is_are} reversed. MLHD has an accuracy of {levels} %. The best rule that never sees the source is {gap_low:.1f} to \
{gap_high:.1f} points above MLHD with the nearest source row. `LabelTransfer`, which is not in the paper, is \
significantly above this rule in {transfer} of {tables} tables ({gains} points).

**Limits.** The data are not the paper's, and it does not say how it prepared them; a lower level here does not \
refute its numbers. All trials draw from the same documents and images, with few labels per class.

**What to do.** To *classify* with few labels, take a target-only rule that uses the unlabelled rows, or \
`LabelTransfer`. Take MLHD for what a classifier does not give: certified distances across domains, for search with \
[known pairs](pairs.md). The nearest *labelled target* row is a better rule than the nearest source row (by \
{by_target} points). Compare with target-only rules before you report any accuracy."""


def _summarize(findings: list[Finding]) -> Iterator[str]:
    """The summary for practitioners."""
    mlhd, by_target = READINGS[:2]
    steps = [f.verdicts[pair] for f in findings for pair in ORDER]
    paper = {f.name: published_means(f.experiment.published).mean(axis=0)[-1] for f in findings}
    gaps = [max(map(f.mean, TARGET_ONLY)) - f.mean(mlhd) for f in findings]
    above = [f.mean(TRANSFER) - max(map(f.mean, TARGET_ONLY)) for f in findings]
    best = [max(TARGET_ONLY, key=f.mean) for f in findings]
    gained = [f.mean(by_target) - f.mean(mlhd) for f in findings]
    yield "## Summary"
    yield SUMMARY.format(
        order=steps.count(HOLDS),
        steps=len(steps),
        tables=len(findings),
        reversed=steps.count(REVERSED),
        is_are="is" if steps.count(REVERSED) == 1 else "are",
        levels=", ".join(f"{f.mean(mlhd):.1f} (paper {paper[f.name]:.1f})" for f in findings),
        gap_low=min(gaps),
        gap_high=max(gaps),
        transfer=sum(f.verdicts[TRANSFER, name] == HOLDS for f, name in zip(findings, best, strict=True)),
        gains=", ".join(map(format_points, above)),
        by_target=" to ".join(format_points(gain) for gain in (min(gained), max(gained))),
    )


def _short(findings: list[Finding]) -> Iterator[str]:
    """The answers in a few sentences, and one table: every claim of the paper, and whether the source helps."""
    yield "## In short"
    if all(finding.complete for finding in findings):
        yield _answers(findings)
    head = ("claim", *(finding.name for finding in findings))
    rows = [
        (f"{a} > {b}", *(f"{f.verdicts[a, b]} ({f.difference((a, b))})" for f in findings))
        for a, b in (*ORDER, *ORDER_BY_MEANS, *WHERE_FLAT)
    ]
    asked = [(f"{system} against the target alone", AGAINST_TARGET[system]) for system in JUDGED]
    asked += [(f"{system} against its corrupted sources", AGAINST_CORRUPTED[system]) for system in READINGS]
    rows += [(title, *(finding.beaten(pairs) for finding in findings)) for title, pairs in asked]
    fewest, largest = min(len(b.seeds) for f in findings for b in f.boards), max(map(len, FAMILIES))
    note = (
        f"holds / reversed: p < {LEVEL:g} after Holm's adjustment in every set of seeds, with the sign of the claim "
        "or the opposite one; beats / loses to: the same; open: neither. In brackets the difference in points, one "
        f"per set. p-values are adjusted within each of {len(FAMILIES)} questions. With {fewest} seeds none is below "
        f"{2.0 ** (1 - fewest):.3f}, where all agree in sign, and the {largest} comparisons of the largest question "
        f"make that {min(1.0, largest * 2.0 ** (1 - fewest)):.3f}: *not shown* may mean too few seeds as well as no "
        "difference."
    )
    yield TextTable("What holds, default settings", head, tuple(rows), (note,)).markdown


def _answers(findings: list[Finding]) -> str:
    n, cases = len(findings), [(f, system) for f in findings for system in READINGS]
    steps = "; ".join(
        f"{a} > {b} holds in {sum(f.verdicts[a, b] == HOLDS for f in findings)} and is reversed in "
        f"{sum(f.verdicts[a, b] == REVERSED for f in findings)}"
        for a, b in (*ORDER, *WHERE_FLAT[:1])
    )
    worse = sum(f.count([(system, name) for name in TARGET_ONLY], REVERSED) > 0 for f, system in cases)
    better = sum(f.count([(system, name) for name in TARGET_ONLY], HOLDS) == len(TARGET_ONLY) for f, system in cases)
    corrupted = sum(f.count(AGAINST_CORRUPTED[system], HOLDS) == len(CORRUPTED) for f, system in cases)
    return (
        f"- **The paper's order.** Of {n} tables (data set and preparation): {steps}.\n"
        f"- **The source.** Of {len(cases)} cases ({n} tables, {len(READINGS)} readings), in {worse} a rule that "
        f"never sees the source is shown to be better than MLHD, in {better} MLHD is shown to be better than all "
        f"{len(TARGET_ONLY)} such rules, and in {corrupted} it is shown to be better than itself with each of the "
        f"{len(CORRUPTED)} corrupted sources."
    )


def _order(findings: list[Finding]) -> Iterator[str]:
    yield "## Is it MLHD > ARC > KCCA+ITML > KCCA+NN?"
    lines = []
    for f in findings:
        if not f.complete:
            lines.append(_describe_unfinished_parts(f))
            continue
        paper = dict(zip(PAPER, published_means(f.experiment.published).mean(axis=0), strict=True))
        levels = ", ".join(f"{name} {f.mean(name):.1f} (paper {paper[name]:.1f})" for name in reversed(PAPER))
        above = [name for name in PAPER if f.mean(name) > paper[name]]
        groups = f.boards[0].scores(PAPER[-1]).mean(axis=1) > f.boards[0].scores(PAPER[-2]).mean(axis=1)
        lines.append(
            f"- {f.name}: {levels}. Steps of the paper's order: {f.count(ORDER, HOLDS)} of {len(ORDER)} hold, "
            f"{f.count(ORDER, REVERSED)} reversed. MLHD has a higher mean than ARC in {groups.sum()} of "
            f"{len(groups)} groups. Above the paper's level: {', '.join(above) or 'none'}; the others are below it."
        )
    yield "\n".join(lines)


def _describe_unfinished_parts(finding: Finding) -> str:
    return f"- {finding.name}: trials are missing or failed, so nothing is said here; the tables show what there is."


def _source(findings: list[Finding]) -> Iterator[str]:
    yield "## Does the source help?"
    lines = []
    for f in findings:
        if not f.complete:
            lines.append(_describe_unfinished_parts(f))
            continue
        best = max(TARGET_ONLY, key=f.mean)
        for system in JUDGED:
            said = (
                f"- {f.name}, {system}: {f.mean(system):.1f}. *Is it worth having?* The best rule without a source, "
                f"{best}, has {f.mean(best):.1f} ({f.difference((system, best))}): "
                f"{_worth(f.verdicts[system, best])}."
            )
            lines.append(said + (_taught(f, system) if system in READINGS else ""))
    yield "\n".join(lines)


def _taught(f: Finding, system: str) -> str:
    corrupted = {kind: f.mean(f"{system}, {kind}") for kind in CORRUPTED}
    pairs = AGAINST_CORRUPTED[system]
    return (
        f" *Does it teach anything?* With a corrupted source MLHD has {_join_means(corrupted)}: shown to be better "
        f"than {f.count(pairs, HOLDS)} of the {len(CORRUPTED)}, worse than {f.count(pairs, REVERSED)}."
    )


def _worth(verdict: str) -> str:
    words = {HOLDS: "the source is shown to be worth it", REVERSED: "the rule without a source is shown to be better"}
    return words.get(verdict, f"neither is shown to be better ({verdict})")


def _has_search(board: PaperBoard) -> bool:
    """Whether both readings of MLHD have every trial of both settings that search the grid."""
    searches = [(system, setting) for system in READINGS for setting in ("oracle", "selected")]
    return all(np.isfinite(board.scores(*search)).all() for search in searches)


def _settings(findings: list[Finding]) -> Iterator[str]:
    searched = [f for f in findings if f.complete and _has_search(f.boards[0].select_searched_seeds())]
    if not searched:
        return
    yield "## What would the best parameters give?"
    yield (
        "*oracle* takes, trial by trial, the best of a grid by test accuracy: an upper bound, never a result, and a"
        " biased one, since it also gains from luck among as many fits as the grid has points. The same search with a"
        " corrupted source shows how much is luck. *selected* takes the point of the grid where the target rows, "
        "under the labels that the system gave them, call most source rows right; no test label enters."
    )
    lines = []
    for f in searched:
        board = f.boards[0].select_searched_seeds()
        for system in READINGS:
            at = {s: 100 * board.scores(system, s).mean() for s in ("default", "oracle", "selected")}
            corrupted = {kind: 100 * board.scores(f"{system}, {kind}", "oracle").mean() for kind in CORRUPTED}
            found = {kind: mean for kind, mean in corrupted.items() if np.isfinite(mean)}
            lines.append(
                f"- {f.name}, {system}, {format_seeds(board.seeds)}: default {at['default']:.1f}, selected "
                f"{at['selected']:.1f}, oracle "
                f"{at['oracle']:.1f}{f'; oracle with a corrupted source {_join_means(found)}' if found else ''}."
            )
    yield "\n".join(lines)


def _toy(records: list[Record], sets: Sets, link: Link) -> Iterator[str]:
    if not records:
        return
    board = PaperBoard(EXPERIMENTS["toy"], records, "as drawn", sets[0])
    yield "## The toy problem"
    yield from link.picture("The toy problem", "toy")
    yield toy_table(board).markdown
    accuracy = {name: 100 * board.scores(name).mean() for name in board.design.columns}
    if not np.isfinite(list(accuracy.values())).all():
        return
    best = max(TARGET_ONLY, key=lambda name: accuracy[name])
    yield (
        f"MLHD labels {accuracy['mlhd']:.1f} % of the test rows, {accuracy['mlhd without alignment']:.1f} % without "
        f"the alignment of the priors; ARC {accuracy['arc']:.1f} %, CCA {accuracy['cca+nn']:.1f} %. Without a "
        f"source, {best} reaches {accuracy[best]:.1f} %. CCA of two classes has one dimension, which ITML can only "
        "stretch: the two are one finding. MMD² is the biased estimate with an RBF kernel of median bandwidth, in "
        "each common space."
    )


def _table(finding: Finding, link: Link) -> Iterator[str]:
    """The verdicts first, then the numbers."""
    board, stem = finding.boards[0], f"{finding.experiment.name}-{finding.variant}"
    yield f"## {finding.name}"
    if any(claim.difference for claim in finding.claims[0]):
        yield from link.picture(f"{finding.name}: paired differences", f"{stem}-differences")
    yield make_claim_table(finding.boards, finding.claims, f"{finding.name}: what holds, default settings").markdown
    yield from link.picture(f"{finding.name}: the paper, ours and the controls", stem)
    tables = [paper_table(board), control_table(board), control_table(board, corrupted=True), retrieval_table(board)]
    if (searched := board.select_searched_seeds()).has(PAPER[-1], "oracle"):
        tables += [paper_table(searched, "oracle"), settings_table(searched)]
    for table in tables:
        yield table.markdown


BESIDE_TABLE = """\
The features of table2 were made for this page. Of the authors' own, SURF with 800 words of amazon and with 600 \
words of dslr were released; this pair is no row of the paper, which combines others. Same protocol and \
settings, {seeds}. MLHD has {mlhd[0]:.1f} % and ARC {arc[0]:.1f} % there; the paper's rows from amazon to dslr \
are {mlhd_paper[0]:.1f} to {mlhd_paper[1]:.1f} % and {arc_paper[0]:.1f} to {arc_paper[1]:.1f} %, and with our \
features both have {mlhd[1]:.1f} and {arc[1]:.1f} %. {reading}"""
ABOVE_THE_PAPER = "So features of our own making explain much of the gap to the paper in table2."
NOT_ABOVE = "So the features alone do not explain the gap to the paper in table2."


def _released(records: Mapping[str, list[Record]]) -> Iterator[str]:
    """The systems on the released features, beside home-made ones and the paper's rows from amazon to dslr."""
    own = [r for r in records.get("table2", []) if r.group.startswith("amazon") and " dslr " in r.group]
    found = [r for r in records.get(RELEASED, []) if r.setting == "default" and r.variant == "whole"]
    if not own or not found:
        return

    def scores(some: list[Record], system: str) -> FloatArray:
        values = [r.score for r in some if (r.system, r.variant, r.setting) == (system, "whole", "default")]
        return 100.0 * np.array(values or [np.nan], dtype=float)

    printed = {name: [row.figures[k][0] for row in NEIGHBOURS] for k, name in enumerate(PAPER)}
    corrupted, rows = [f"{READINGS[0]}, {kind}" for kind in CORRUPTED], []
    for name in (*PAPER, *READINGS[1:], FLAT, TRANSFER, *corrupted, *TARGET_ONLY):
        paper = f"{min(printed[name]):.1f} to {max(printed[name]):.1f}" if name in printed else ""
        rows.append((name, mean_cell(scores(found, name)), number_cell(float(scores(own, name).mean())), paper))
    yield "## table2 by released features"
    both = {name: [float(scores(some, name).mean()) for some in (found, own)] for name in ("mlhd-rbf", "arc-rbf")}
    above = all(new > max(printed[name]) for name, (new, _) in both.items())
    yield BESIDE_TABLE.format(
        seeds=format_seeds(sorted({r.seed for r in found})), mlhd=both["mlhd-rbf"], arc=both["arc-rbf"],
        mlhd_paper=(min(printed["mlhd-rbf"]), max(printed["mlhd-rbf"])),
        arc_paper=(min(printed["arc-rbf"]), max(printed["arc-rbf"])),
        reading=ABOVE_THE_PAPER if above else NOT_ABOVE,
    )  # fmt: skip
    head = ("system", "released features", "our features, four groups", "paper, four groups")
    yield TextTable("Office, amazon → dslr, accuracy in per cent, default settings", head, tuple(rows)).markdown


def _sensitivity(records: Mapping[str, list[Record]], sets: Sets, link: Link) -> Iterator[str]:
    own, apart = _find_searches(records["table1"], sets), _find_searches(records.get(GRIDS, []), sets)
    if not own and not apart:
        return
    yield "## Does accuracy rise with λ1? Is λ2 unimportant?"
    if not own:
        yield (
            "The grids were searched before the tables were run with the present defaults: a grid sets both weights, "
            "so that their defaults don't matter; the bounds, bandwidths and the rule are the same."
        )
    for variant, system, every in own or apart:
        stem = f"sensitivity-{variant}-{system.replace(' ', '-')}"
        yield from link.picture(f"Accuracy of {system} over λ1 and λ2, {variant}", stem)
        yield grid_table(every[0], system).markdown
        claims = [sensitivity_claims(board, system) for board in every]
        values = 100 * every[0].grid(system).mean(axis=(0, 1))
        rises, matters = (agreed([c.verdict for c in same]) for same in zip(*claims, strict=True))
        yield make_claim_table(every, claims, f"{system}, {variant}: what holds", BY_SEED).markdown
        yield (
            f"{system}, {variant}: means over λ2 go from {values.mean(axis=1)[0]:.1f} at the smallest λ1 to"
            f' {values.mean(axis=1)[-1]:.1f} at the largest: "accuracy rises with λ1" is {_is(rises)}. Means over'
            f" λ1 range over {np.ptp(values.mean(axis=0)):.1f} points as λ2 changes, means over λ2 over"
            f' {np.ptp(values.mean(axis=1)):.1f} points as λ1 does: "λ2 matters less than λ1" is {_is(matters)}.'
        )
        yield from _where_flat(every, system, variant)


def _where_flat(every: list[PaperBoard], system: str, variant: str) -> Iterator[str]:
    """The same over large λ2 only, if the grid has any."""
    columns = flat_columns(every[0], system)
    if not columns:
        return
    claims = [sensitivity_claims(board, system, flat=True) for board in every]
    where = f"λ2 ≥ {FROM_FLAT:g}"
    yield make_claim_table(every, claims, f"{system}, {variant}, {where} only: what holds", BY_SEED).markdown
    values = 100 * every[0].grid(system).mean(axis=(0, 1))[:, columns]
    rises, matters = (agreed([c.verdict for c in same]) for same in zip(*claims, strict=True))
    yield (
        f"{system}, {variant}, at {where}: accuracy is {values.mean():.1f}, its range over λ2 "
        f"{np.ptp(values.mean(axis=0)):.1f} points and over λ1 {np.ptp(values.mean(axis=1)):.1f}. There the first "
        f"claim is {_is(rises)}, the second {_is(matters)}."
    )


def _find_searches(records: list[Record], sets: Sets) -> list[tuple[str, str, list[PaperBoard]]]:
    """Variants and systems whose grids are complete in the first set of seeds, with a board for each set."""
    experiment = EXPERIMENTS["table1"]
    return [
        (variant, system, every)
        for variant in experiment.searched_variants
        for every in [boards(experiment, records, variant, sets)]
        for system in READINGS
        if np.isfinite(every[0].grid(system)).all()
    ]


def _is(verdict: str) -> str:
    return {HOLDS: "borne out", REVERSED: "reversed", OPEN: "not shown", UNRUN: "not run"}.get(verdict, verdict)


def _again(sets: Sets) -> Iterator[str]:
    yield "## Again"
    seeds = ",".join(f"{seeds[0]}:{seeds[-1] + 1}" for seeds in sets)
    yield (
        "`make reproduce ISTHMUS_DATA=…` runs all of it from a clean checkout, or what is missing of it; by hand:\n\n"
        f"```console\npython -m studies.paper all --data FOLDER --variants {','.join(VARIANTS)} --seeds {seeds} "
        "--oracle --report page.md\n```"
    )


def _join_means(means: dict[str, float]) -> str:
    return ", ".join(f"{mean:.1f} ({kind})" for kind, mean in means.items())


def _name_seeds(seeds: tuple[int, ...]) -> str:
    return f"{seeds[0]} to {seeds[-1]}"
