"""Cells of two assays: ``align`` and transport by POT (GW, FGW, COOT) on all rows of SNARE-seq, with controls."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from isthmus import COOT, FGW, GW, align
from isthmus._core.linalg import normalize_rows
from isthmus._core.validation import UNLABELLED, FloatArray, IntArray
from isthmus.data.domains import TwoDomains
from isthmus.estimators.controls import KINDS
from isthmus.estimators.transport import COSTS, TransductiveEstimator
from isthmus.evidence import foscttm
from isthmus.study.board import ABSENT, TextTable, mean_cell, number_cell
from isthmus.study.records import VERSIONS, Record, RecordStore
from studies.datasets import load_snareseq
from studies.published.protocols import ALIGN, CELLS, NAME, take_per_class

LABELLED = 3
"""Labelled target rows of each class, where a system learns from some."""
RNA, ATAC = FIGURES = "FOSCTTM", "FOSCTTM in ATAC"
NOISE, RENAMED = "noise", "renamed"


@dataclass(frozen=True)
class CellSystem:
    """A system, the labelled target rows of each class that it sees, and how the source is corrupted."""

    make: Any
    n_labelled: int = 0
    kind: str = ""

    @property
    def is_random(self) -> bool:
        """Whether seeds give different results: the start of transport by POT is fixed."""
        return bool(self.make is None or self.n_labelled or self.kind)


def _list_systems() -> Iterator[tuple[str, CellSystem]]:
    yield ALIGN, CellSystem(None)
    yield f"{ALIGN}, {NOISE} source", CellSystem(None, 0, NOISE)
    for make, n_labelled in ((GW, 0), (COOT, 0), (FGW, LABELLED), (COOT, LABELLED)):
        for cost in COSTS:
            name = f"{make.__name__}, {cost} cost" + (f", {n_labelled} labels" if n_labelled else "")
            system = partial(make, cost=cost)
            yield name, CellSystem(system, n_labelled)
            yield f"{name}, {NOISE} source", CellSystem(system, n_labelled, NOISE)
            if n_labelled:
                yield f"{name}, {RENAMED} source", CellSystem(system, n_labelled, RENAMED)


SYSTEMS = dict(_list_systems())
"""All of them by name. Without a target label FGW is GW."""


def run_cells(store: RecordStore, seeds: Sequence[int], folder: Path | None) -> None:
    """Align cells of two assays where no record is there yet."""
    found = load_snareseq(folder)
    rna, atac = found["rna10"], found["atac19"]
    with store.lock():
        for seed in seeds:
            for name, system in SYSTEMS.items():
                key = NAME, CELLS, "", seed, name, "default"
                if key in store.read() or (seed != seeds[0] and not system.is_random):
                    continue
                X, y, rng = atac.X, atac.y, np.random.default_rng([seed, 1])
                if system.kind:
                    X, y = KINDS[system.kind](X, y, rng)
                start = time.process_time()
                names, figures = place_cells(system, X, np.asarray(y, dtype=np.intp), rna.X, rna.y, seed)
                seconds = round(time.process_time() - start, 3)
                figures = {name: round(value, 4) for name, value in figures.items()}
                score = round(float(names), 4)
                store.add([Record(*key, {}, score, seconds, "done", None, VERSIONS, figures=figures)])
        store.merge()


def place_cells(
    system: CellSystem, X: FloatArray, y: IntArray, Y: FloatArray, truth: IntArray, seed: int
) -> tuple[float, dict[str, float]]:
    """The share of unlabelled target rows whose name is right, and FOSCTTM in either space."""
    if system.make is None:
        found = align(X, Y, random_state=seed)
        right = found.transfer_labels(y).names == truth
        return float(np.mean(right)), {RNA: foscttm(found.embed(), found.B), ATAC: foscttm(found.A, found.embed("B"))}
    known = take_per_class(truth, system.n_labelled, np.random.default_rng([seed, 2]))
    given = np.where(np.isin(np.arange(len(truth)), known), truth, UNLABELLED)
    # Unit rows, as `align` and the notebook of SCOT have them.
    domains = TwoDomains.of(normalize_rows(X), y, normalize_rows(Y), given, optional_labels=True)
    model: TransductiveEstimator = system.make()
    A, B = np.asarray(domains.source.X), np.asarray(domains.target.X)
    plan = model._plan(domains, A, B)
    mass = np.stack([plan[domains.source.y == c].sum(axis=0) for c in range(len(domains.classes))], axis=1)
    right = domains.classes[mass.argmax(axis=1)] == truth
    in_rna, in_atac = plan @ B / plan.sum(axis=1)[:, None], plan.T @ A / plan.sum(axis=0)[:, None]
    rest = given == UNLABELLED
    return float(np.mean(right[rest])), {RNA: foscttm(in_rna, B), ATAC: foscttm(A, in_atac)}


def cell_table(records: Sequence[Record]) -> TextTable:
    """Every system: FOSCTTM in either space, names, and names with corrupted sources."""
    rows = []
    for name in SYSTEMS:
        if name.endswith(" source"):
            continue
        cells = [_mean(records, name, figure) for figure in (*FIGURES, "")]
        spoilt = [_values(records, f"{name}, {kind} source", "") for kind in (NOISE, RENAMED)]
        cells += [number_cell(100 * each.mean()) if len(each) else "" for each in spoilt]
        seconds = [r.seconds for r in records if r.system == name and r.group == CELLS]
        runs = str(len(_values(records, name, "")))
        rows.append((name, runs, *cells, f"{np.mean(seconds):.1f}" if seconds else ABSENT))
    head = ("system", "runs", *FIGURES, "names in per cent", "with noise", "with renamed classes", "seconds")
    return TextTable("SNARE-seq: cells of ATAC to RNA", head, tuple(rows))


def _values(records: Sequence[Record], name: str, figure: str) -> FloatArray:
    found = [r for r in records if (r.group, r.system) == (CELLS, name) and r.score is not None]
    return np.array([(r.figures or {})[figure] if figure else r.score for r in found], dtype=float)


def _mean(records: Sequence[Record], name: str, figure: str) -> str:
    values = _values(records, name, figure)
    if not len(values):
        return ""
    return f"{values.mean():.3f}" if figure else mean_cell(100 * values)
