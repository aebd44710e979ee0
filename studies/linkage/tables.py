"""What the records say, as tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from isthmus.study.board import ABSENT, TextTable
from isthmus.study.records import Record
from studies.linkage.methods import BASELINES, METHODS
from studies.linkage.scoring import find_ece, name_rest
from studies.linkage.tasks import KNOWN, OVERLAPS, TABLES, VARIANTS

EMPTY = next(name for name, share in OVERLAPS.items() if share == 0)
"""The variant without a true pair, where F1 says nothing."""
DEDUPE_KNOWN = 30
LINKERS = tuple(name for name in METHODS if name not in BASELINES)
INCOMPLETE = "†"
Place = tuple[str, str]


class Results:
    """Records by data set, variant, linker and number of known pairs."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._found: dict[tuple[str, str, str, int], list[Record]] = defaultdict(list)
        for record in records:
            known = int(record.setting.split()[0])
            self._found[record.group, record.variant, record.system, known].append(record)
        self.seeds = len({record.seed for some in self._found.values() for record in some})

    def find(self, place: Place, system: str, known: int) -> list[Record]:
        """Return the records of one cell, failed ones too."""
        return self._found.get((*place, system, known), [])

    def mean(self, place: Place, system: str, known: int, figure: str | None = None) -> float:
        """Return the mean of F1, or of another figure, over the runs that have it; NaN where none has."""
        values = [
            record.score if figure is None else (record.figures or {}).get(figure)
            for record in self.find(place, system, known)
        ]
        there = [value for value in values if value is not None]
        return float(np.mean(there)) if there else np.nan

    def best_baseline(self, place: Place, known: int) -> float:
        """Return the F1 of the best tf-idf, or of the shared columns alone."""
        means = [self.mean(place, name, known) for name in BASELINES]
        return max((mean for mean in means if np.isfinite(mean)), default=np.nan)

    def systems(self, task: str) -> list[str]:
        """Return the linkers that have records of a data set."""
        there = {key[2] for key in self._found if key[0] == task}
        return [name for name in METHODS if name in there]

    def places(self) -> list[Place]:
        """Return the data sets and variants that have records, in the order of the study."""
        there = {key[:2] for key in self._found}
        return [(task, variant) for task, some in VARIANTS.items() for variant in some if (task, variant) in there]

    def cell(self, place: Place, system: str, known: int) -> str:
        """Return the mean F1 with a mark where seeds are missing; "failed" where every run did."""
        records, mean = self.find(place, system, known), self.mean(place, system, known)
        if not np.isfinite(mean):
            return "failed" if records else ABSENT
        finished = sum(record.score is not None for record in records)
        return f"{mean:.3f}{INCOMPLETE if finished < self.seeds else ''}"


def first_known(system: str) -> int:
    """Return the number of known pairs that stands for a linker where others have none."""
    return 0 if 0 in METHODS[system].known else DEDUPE_KNOWN


def title_of(system: str) -> str:
    """Return the name of a linker in the head of a table."""
    return system if first_known(system) == 0 else f"{system}, {DEDUPE_KNOWN} pairs"


def score_table(results: Results, task: str) -> TextTable:
    """Return F1 by variant and linker without known pairs; the best of each row is bold."""
    systems = results.systems(task)
    rows = []
    for place in (place for place in results.places() if place[0] == task and place[1] != EMPTY):
        means = [results.mean(place, system, first_known(system)) for system in systems]
        cells = [results.cell(place, system, first_known(system)) for system in systems]
        best = np.nanmax(means) if np.isfinite(means).any() else np.nan
        marked = [f"**{cell}**" if mean == best else cell for mean, cell in zip(means, cells, strict=True)]
        rows.append((place[1], *marked))
    return TextTable(f"{task}: F1 of new pairs", ("variant", *map(title_of, systems)), tuple(rows))


def empty_table(results: Results) -> TextTable:
    """Return how many pairs are claimed between tables without a common row."""
    systems = [name for name in LINKERS if any(results.find((task, EMPTY), name, 0) for task in TABLES)]
    rows = []
    for task in TABLES:
        found = [results.mean((task, EMPTY), system, 0, "returned") for system in systems]
        rows.append((task, *(f"{value:.1f}" if np.isfinite(value) else ABSENT for value in found)))
    return TextTable("No common row: pairs claimed, all of them wrong", ("data", *systems), tuple(rows))


def pairs_table(results: Results, systems: Sequence[str]) -> TextTable:
    """Return F1 over the number of known pairs: the best baseline, and some linkers."""
    rows = []
    for place in (place for place in results.places() if place[1] != EMPTY):
        cells = []
        for known in KNOWN:
            best = results.best_baseline(place, known)
            cells += [f"{best:.3f}" if np.isfinite(best) else ABSENT]
            cells += [results.cell(place, system, known) for system in systems]
        rows.append((", ".join(place), *cells))
    head = [f"{known}: {name}" for known in KNOWN for name in ("baseline", *systems)]
    return TextTable("F1 of new pairs with 0, 10, 30, 100 known ones", ("data", *head), tuple(rows))


def worth_table(results: Results, system: str) -> TextTable:
    """Return what known pairs are worth: F1 without and with them, on the rows that are in none of them."""
    rows = []
    for place in (place for place in results.places() if place[1] != EMPTY):
        cells = []
        for known in KNOWN[1:]:
            without, with_them = results.mean(place, system, 0, name_rest(known)), results.mean(place, system, known)
            there = np.isfinite([without, with_them]).all()
            cells.append(f"{without:.3f} → {with_them:.3f}" if there else ABSENT)
        if any(cell != ABSENT for cell in cells):
            rows.append((", ".join(place), *cells))
    head = [f"{known} pairs" for known in KNOWN[1:]]
    return TextTable("F1 on the same rows, without known pairs → with them", ("data", *head), tuple(rows))


def calibration_table(results: Results) -> TextTable:
    """Return claimed less true precision, and the expected calibration error, by data set and linker."""
    systems = [
        name for name in LINKERS if any(results.find(place, name, first_known(name)) for place in results.places())
    ]
    rows = []
    for place in (place for place in results.places() if place[1] != EMPTY):
        cells = [calibration_cell(results.find(place, system, first_known(system))) for system in systems]
        if any(cell != ABSENT for cell in cells):
            rows.append((", ".join(place), *cells))
    title = "Claimed less true precision, and ECE of the returned pairs"
    return TextTable(title, ("data", *map(title_of, systems)), tuple(rows))


def calibration_cell(records: Iterable[Record]) -> str:
    """Return the mean of claimed less true precision over the seeds, and ECE over their pairs together."""
    figures = [record.figures for record in records if record.figures and "claimed" in record.figures]
    if not figures:
        return ABSENT
    gap = float(np.mean([each["claimed"] - each["precision"] for each in figures]))
    return f"{gap:+.3f} / {find_ece(figures):.3f}".replace("-", "−")


def cost_table(results: Results) -> TextTable:
    """Return seconds of processor time and megabytes at peak on the whole tables."""
    rows = []
    for task in VARIANTS:
        place = task, VARIANTS[task][0]
        cells = []
        for system in METHODS:
            done = [r for r in results.find(place, system, first_known(system)) if r.score is not None]
            seconds = np.mean([record.seconds for record in done]) if done else np.nan
            memory = results.mean(place, system, first_known(system), "memory") / 1e6
            cells.append(f"{seconds:.1f} s, {memory:.0f} MB" if done else ABSENT)
        if any(cell != ABSENT for cell in cells):
            rows.append((", ".join(place), *cells))
    return TextTable("Processor time and peak memory", ("data", *map(title_of, METHODS)), tuple(rows))
