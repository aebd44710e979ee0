"""The page on published protocols: every number on it comes from the records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isthmus.evidence.comparison import format_points
from isthmus.study.board import ABSENT, Board, TextTable, mean_cell, mean_cells, number_cell, table_notes
from isthmus.study.records import Record
from studies.labels.page import endings
from studies.labels.parts import TRANSFER
from studies.published import protocols
from studies.published.cells import LABELLED, SYSTEMS, cell_table
from studies.published.protocols import BLOCKS, CELLS, EQUAL_SHARES

TARGET_ONLY = tuple(entrant.name for entrant in protocols.TARGET_RULES)
COLUMNS = tuple(entrant.name for entrant in protocols.ENTRANTS)
NOISE = {name: f"{name}, noise source" for name in COLUMNS if f"{name}, noise source" in COLUMNS}
"""The column of each system with a source of noise."""
NATURAL = tuple(BLOCKS)[:2]
"""Tables with natural class sizes."""
CDSPP = "cdspp-self"


def mean(board: Board, name: str) -> float:
    """The mean accuracy over the groups and seeds of a table, in per cent."""
    return float(100 * board.scores(name).mean())


def best_rule(board: Board) -> str:
    """The target-only rule with the largest mean over a table."""
    return max(TARGET_ONLY, key=lambda name: np.nan_to_num(mean(board, name)))


def score_table(board: Board) -> TextTable:
    """Systems and target-only rules by groups; at the end the mean, and that with a source of noise."""
    rows, several = [], len(board.groups) > 1
    for name in COLUMNS:
        if name not in NOISE.values():
            noise = number_cell(mean(board, NOISE[name])) if name in NOISE else ""
            cells = [cell.removesuffix("±0.0") for cell in mean_cells(board, name)]
            total = [mean_cell(100 * board.scores(name).mean(axis=0)).removesuffix("±0.0")] if several else []
            rows.append((name, *cells, *total, noise))
    groups = (group.removeprefix("SURF→DeCAF ").removeprefix("DeCAF→SURF ") for group in board.groups)
    head = ("system", *groups, *(["mean"] if several else []), "mean with noise")
    return TextTable("Accuracy in per cent", head, tuple(rows), table_notes(board, rows))


def against_target(board: Board) -> TextTable:
    """Label transfer less the target-only rule that is best in each group by its own test score, in points."""
    rows = []
    for g, group in enumerate(board.groups):
        levels = {name: 100 * board.scores(name)[g].mean() for name in (*TARGET_ONLY, TRANSFER, EQUAL_SHARES)}
        best = max(TARGET_ONLY, key=levels.__getitem__)
        gaps = (format_points(levels[name] - levels[best]) for name in (TRANSFER, EQUAL_SHARES))
        rows.append((group, f"{best}: {levels[best]:.1f}", *gaps))
    head = ("task", "best target-only rule of the task", f"{TRANSFER} less it", f"{EQUAL_SHARES} less it")
    return TextTable("Label transfer against the target alone, in points", head, tuple(rows))


def published_table(records: Sequence[Record]) -> TextTable:
    """Published figures, ours and the difference."""
    rows = []
    for group, system, measure, value, origin in protocols.PUBLISHED:
        found = [r for r in records if (r.group, r.system) == (group, system)]
        values = [r.score if measure == "accuracy" else (r.figures or {})[measure] for r in found]
        ours = float(np.mean([v for v in values if v is not None])) if values else np.nan
        cells = (f"{ours:.4f}", f"{ours - value:+.4f}".replace("-", "−")) if values else (ABSENT, ABSENT)
        rows.append((f"{system}, {group}, {measure}", f"{value:.4f}", *cells, origin))
    return TextTable("", ("what", "published", "ours", "difference", "read in"), tuple(rows))


def page(records: Sequence[Record]) -> str:
    """The page in Markdown."""
    seeds = {title: sorted({r.seed for r in records if r.group in groups}) for title, groups in BLOCKS.items()}
    boards = {t: protocols.study(groups=BLOCKS[t]).board(records, some) for t, some in seeds.items() if some}
    cells = [r for r in cells_of(records) if r.system == protocols.ALIGN]
    complete = set(NATURAL) <= set(boards) and cells
    parts = ["# Published protocols, with controls", summarize(boards, records) if complete else ""]
    parts += [
        HOW.format(
            versions="; ".join(sorted({r.versions for r in records})),
            source=protocols.SOURCE,
            labelled=protocols.LABELLED,
        )
    ]
    parts += ["## Published and ours", published_table(records).markdown, READ]
    for title, board in boards.items():
        parts += [f"## {title}", score_table(board).markdown]
        parts += [against_target(board).markdown] if title in NATURAL else []
    missing = [title for title in BLOCKS if title not in boards] + ([] if cells else [CELLS])
    parts += ["## SNARE-seq", CELL_TEXT, cell_table(records).markdown] if cells else []
    parts += ["## What did not run", NOT_RUN + (f" Not run: {', '.join(missing)}." if missing else "")]
    return "\n\n".join(filter(None, [*parts, endings(records)])) + "\n"


def cells_of(records: Sequence[Record]) -> list[Record]:
    """The records of cells that have a score."""
    return [r for r in records if r.group == CELLS and r.score is not None]


def is_plan(record: Record) -> bool:
    """Whether a record of cells is of transport from the true source, without a target label."""
    system = SYSTEMS.get(record.system)
    return system is not None and not system.is_random and record.figures is not None


def summarize(boards: dict[str, Board], records: Sequence[Record]) -> str:
    """The summary for practitioners."""
    cells = [r for r in cells_of(records) if r.system == protocols.ALIGN]
    board, back = (boards[title] for title in NATURAL)
    systems = [name for name in NOISE if name != TRANSFER]
    close = [name for name in systems if abs(mean(board, name) - mean(board, NOISE[name])) < 1.0]
    both = {name: [mean(each, name) for each in (board, back)] for name in (TRANSFER, EQUAL_SHARES)}
    values = [[r.score, r.figures["FOSCTTM"], r.figures["FOSCTTM in ATAC"]] for r in cells if r.figures]
    figures = np.mean(np.array(values, dtype=float), axis=0)
    found = [r for r in cells_of(records) if is_plan(r)]
    plans = [((r.figures or {})["FOSCTTM"], r.system, 100 * (r.score or 0.0)) for r in found]
    transport = "; of GW and COOT the best is {1}, {0:.3f} and {2:.0f} %".format(*min(plans)) if plans else ""
    return SUMMARY.format(
        transport=transport,
        tasks=len(board.groups), labelled=protocols.LABELLED, transfer=both[TRANSFER], shares=both[EQUAL_SHARES],
        best=best_rule(board), level=mean(board, best_rule(board)), close=len(close), systems=len(systems),
        cdspp=mean(board, CDSPP), noise=mean(board, NOISE[CDSPP]), back_best=best_rule(back),
        back_level=mean(back, best_rule(back)), names=100 * figures[0], rna=figures[1], atac=figures[2],
    )  # fmt: skip


SUMMARY = """\
## Summary

**Question.** How well do the systems do on protocols that others published, and what do the controls say?

**Answer.** From SURF words to DeCAF (Office-Caltech, {tasks} tasks, {labelled} labels per class, natural class \
sizes) the best rule that never sees the source, {best}, has {level:.1f} %. `LabelTransfer` has {transfer[0]:.1f} % \
with its defaults, which estimate the class sizes, and {shares[0]:.1f} % with `shares="uniform"`. For {close} of \
{systems} systems a source of noise is within one point of the true one; CDSPP, self-trained, has {cdspp:.1f} % with \
the true source and {noise:.1f} % with noise. From DeCAF to SURF the best target-only rule, {back_best}, has \
{back_level:.1f} %, label transfer {transfer[1]:.1f} and {shares[1]:.1f} %. On SNARE-seq, without label or pair, \
`align` has FOSCTTM {rna:.3f} (in the space of ATAC {atac:.3f}) and {names:.0f} % of the names right{transport}.

**Limits.** Only few published figures could be read from released files. Rows are drawn anew, by the published \
rule; draws share images. All unlabelled rows are scored, as in the publications.

**What to do.** If you know the sizes of the classes, give them as `shares=`. Compute a \
target-only rule, and the same system with a source of noise, before you believe a high accuracy."""
HOW = """\
Made by `python -m studies.published` from `studies/published/records.jsonl`. {versions}.

- **Office-Caltech.** {source} source rows per class (all, where there are fewer), {labelled} labelled target rows \
per class, all others unlabelled and scored: the rule of the releases of CDLS and CDSPP. Pairs of different cameras \
only: whether rows of one camera are the same image in two files is not known. `amazon200` is a sample of 20 images \
per class; amazon is no target of DeCAF, since only that sample is there.
- **Office-31.** Splits released with SHFA and by Hoffman (amazon SURF-800 to dslr SURF-600, {source} and {labelled} \
rows per class, 405 scored). The seed is the number of the split.
- **SNARE-seq.** 1,047 cells by two assays, all rows of both, without pairs, from ATAC to RNA; one run per seed. \
FOSCTTM is the mean over both directions: 0 if every cell is nearest to its own other half, .5 by chance.
- **Rows.** Counts and activations are replaced by their square roots and scaled to unit length; *unit rows* are \
scaled only, as in the releases of HFA, CDLS and CDSPP. MLHD, ARC, `target 1-NN` and label spreading see three \
principal axes per class, `target self-trained LDA` five.
- **Controls.** *With noise*: a source of random features. *Labelled shares*: the option \
`shares="labelled"`, *equal shares*: `shares="uniform"`. The best target-only rule is \
chosen by its own test score, a bar higher than any one rule."""
READ = """\
No other figure could be read from a released file. The splits of CDLS and SHFA are single draws: differences of a \
point or two mean nothing."""
CELL_TEXT = f"""\
GW, FGW and COOT by POT learn a plan between all rows, of unit length as in `align`; *graph* costs are steps in a \
graph of nearest neighbours, as in SCOT, but of one size that was not searched. A cell is placed at the mean of the \
cells that it is sent to, and has the name that most of what it gets has. Where labels are named, {LABELLED} target \
cells of each of the four types have one, and names count among the others; FGW without any is GW. With noise the \
features of ATAC are random; with renamed classes its labels are exchanged. Transport starts from the uniform \
plan: a run without labels is always the same."""
NOT_RUN = """\
Systems that need pairs or \
equal features; corrupted sources other than noise, but for label transfer; pairs of one camera; further splits."""
