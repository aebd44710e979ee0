"""The page on known pairs: every number and every verdict on it comes from the records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from isthmus.study.records import Record
from isthmus.study.study import Study
from isthmus.view.canvas import save_figure
from studies.pairs import matching, migration, retrieval, transfer
from studies.pairs.figures import curves
from studies.pairs.sections import ORACLE, SHARED, names, retrieval_section, transfer_section, use_section
from studies.pairs.tables import boards
from studies.pairs.uses import matching_section, migration_section

STUDIES = {
    "retrieval": retrieval.study,
    "matching": matching.study,
    "matching-null": matching.null_study,
    "migration": migration.study,
    "transfer": transfer.study,
}
"""The parts of the study, in the order of the page."""
FIGURE = "recall"
WITHIN = f"ridge, {retrieval.WITHIN}"


def page(records: Mapping[str, Sequence[Record]], pictures: str) -> str:
    """The page in Markdown.

    Parameters
    ----------
    records : mapping of str to sequence of Record
        By the name of the part.
    pictures : str
        The folder of the figures, as the page calls it.
    """
    found = {name: boards(make(), records[name], seeds_of(records[name])) for name, make in STUDIES.items()}
    picture = f"![Recall@1 over the number of known pairs]({pictures}/{FIGURE}.png)"
    every = [record for some in records.values() for record in some]
    return f"""\
# Known pairs: what they teach, and which system to use

Made by `python -m studies.pairs` from the records in `studies/pairs/records`. \
{"; ".join(dict.fromkeys(record.versions for record in every))}. Settings are the defaults of the library, fixed on \
other seeds.

{use_section(found["retrieval"])}
{retrieval_section(found["retrieval"], picture)}
{matching_section(found["matching"], found["matching-null"])}
{migration_section(found["migration"])}
{transfer_section(found["transfer"])}
## How it was done

{HOW}

{endings(every, [make() for make in STUDIES.values()])}
"""


HOW = """\
- Data: scikit-learn's digits by their pixels and by the 19 shape features that are not linear in the pixels (the \
sums of rows, of columns and of all pixels are left out: any linear map finds them); mfeat by fac216 and kar64, and \
by fac216 and pix240; Reuters600 in English and French; the Debian descriptions in three languages, paired by \
package; SNARE-seq, genes and chromatin of the same cells.
- Rows: text is scaled to rows of length one; numbers are standardised, then scaled to rows of length one. Either \
side is prepared by its own training rows. Nothing is cut to principal components.
- The objects are permuted by the seed; the test is the same for every number of pairs, and fewer pairs are among \
more.
- Seeds draw anew from the same objects: intervals are about the draw and about these data, not about others."""


def endings(records: Iterable[Record], studies: Iterable[Study]) -> str:
    """What failed, what was not certified, and what is out of date."""
    every = list(records)
    failed = [record for record in every if record.score is None]
    missed = [record for record in every if record.score is not None and not record.certified]
    said = [f"{len(every)} records; {len(failed)} failed, {len(missed)} were not certified"]
    said += [f"{name}: {n}" for name, n in _count_records([*failed, *missed]).items()]
    old = sum(
        board.count_outdated_records()
        for study in studies
        for board in boards(study, [r for r in every if r.experiment == study.name], seeds_of(every)).values()
    )
    return (
        "; ".join(said)
        + "."
        + (f" {old} records are of another version, or of other systems or rows." if old else "")
    )


def _count_records(records: Iterable[Record]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for record in records:
        words = f"{record.system} ({record.status[:60]})"
        counts[words] = counts.get(words, 0) + 1
    return counts


def seeds_of(records: Iterable[Record]) -> list[int]:
    """The seeds of some records."""
    return sorted({record.seed for record in records})


def figures(records: Mapping[str, Sequence[Record]]) -> dict[str, Any]:
    """The figures of the page, by the stem of their files."""
    study = retrieval.study()
    found = boards(study, records[study.name], seeds_of(records[study.name]))
    shown = names(next(iter(found.values())))
    title = "Recall@1 of the true partner over the number of known pairs; bars are 95 % intervals over seeds"
    return {FIGURE: curves(found, shown, [ORACLE, WITHIN, SHARED], title, "recall@1, per cent")}


def write_figures(records: Mapping[str, Sequence[Record]], folder: Path) -> list[Path]:
    """Draw the figures and write them as PNG and SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    return [path for stem, figure in figures(records).items() for path in save_figure(figure, folder / stem)]
