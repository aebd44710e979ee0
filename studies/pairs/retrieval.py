"""Instance retrieval: which row of the other domain is the same object, by what P known pairs teach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np

from isthmus import CCA, systems
from isthmus._arrays import FloatArray, IntArray
from isthmus.study import Entrant, Fit, Study
from studies.pairs.controls import Chance, ClassOracle, SharedColumns
from studies.pairs.ranking import csls, partner_scores
from studies.pairs.rows import PairedDraw, PairedRows, ShuffledPairs

PAIRS = (10, 30, 100, 300)
VARIANTS = {str(P): f"{P} known pairs" for P in PAIRS}
TESTED = {
    "digits pixels–shape": 500,
    "mfeat fac–kar": 600,
    "mfeat fac–pix": 600,
    "Reuters EN–FR": 200,
    "Debian en–fr": 1000,
    "Debian en–de": 1000,
    "Debian fr–de": 1000,
    "SNARE RNA–ATAC": 500,
}
"""Objects held out: each is to be found among so many."""
PLAIN, BY_QUERIES = ", plain", ", hubs by queries"
"""End the columns that are ranked without a correction for hubs, and with one that sees all queries at once."""


@dataclass(frozen=True)
class Retrieval:
    """Learn from pairs alone, then rank the rows of either domain for every row of the other."""

    measure: ClassVar[str] = "recall@1"
    needs: ClassVar[tuple[str, ...]] = ()

    def fit(self, model: Any, rows: PairedRows) -> None:
        """Fit without any label."""
        model.fit(rows.X_source, None, rows.X_target, None, pairs=rows.pairs)

    def score(self, entrant: Entrant, column: str, fit: Fit) -> tuple[float, Mapping[str, float]]:
        """Recall@1 of the true partner in both directions, beside recall@10 and the mean reciprocal rank."""
        read = entrant.readings.get(column, as_the_library_does)
        found = partner_scores(*read(fit))
        return found.pop("recall@1"), found

    def agreement(self, entrant: Entrant, column: str, fit: Fit) -> float | None:
        """None: there are no grids."""
        return None


Tables: TypeAlias = tuple[FloatArray, FloatArray]
"""Similarities (n, n) of the objects held out: of the source's rows, which look for partners; of the target's."""


def as_the_library_does(fit: Fit) -> Tables:
    """The default: hubs are set back, as ``search`` does it by itself, by what rows of the fit say of them."""
    return _searched(fit, "csls")


def plain(fit: Fit) -> Tables:
    """A reading: hubs are left as they are."""
    return _searched(fit, None)


def by_queries(fit: Fit) -> Tables:
    """A reading: hubs are set back by what all queries say of them, which have to be known together."""
    S = csls(_searched(fit, None)[0])
    return S, S.T


def _searched(fit: Fit, hubness: str | None) -> Tables:
    model, rows = fit.model, fit.rows
    if hasattr(model, "similarities"):
        S = model.similarities(rows)
        return S, S.T
    sides = {"source": rows.Q_source, "target": rows.Q_target}
    forth, back = (
        _table(*model.search(sides[a], sides[b], len(rows.y_test), (a, b), hubness=hubness))
        for a, b in (("source", "target"), ("target", "source"))
    )
    return forth, back


def _table(scores: FloatArray, numbers: IntArray) -> FloatArray:
    """What was found, best first, as a table in the order of the gallery."""
    S = np.empty_like(scores)
    np.put_along_axis(S, numbers, scores, axis=1)
    return S


def _system(name: str, make: Callable[[], Any]) -> Entrant:
    return Entrant(name, make, readings={f"{name}{PLAIN}": plain, f"{name}{BY_QUERIES}": by_queries})


REGISTERED = {"cca": "cca+nn", "kcca": "kcca+nn"}
"""Names of the library's list, where the page has shorter ones."""
MADE = {
    name: systems()[REGISTERED.get(name, name)].make
    for name in ("ridge", "ridge-rbf", "cca", "kcca", "mlhd", "procrustes", "relative")
}
"""What learns from pairs, with the defaults of the library."""
SYSTEMS = tuple(_system(name, make) for name, make in MADE.items())
SHUFFLED, WITHIN = "shuffled pairs", "pairs shuffled within classes"
CONTROLS = (
    Entrant("cca, unit variates", partial(CCA, variates="unit"), control=True),
    *(
        Entrant(f"{name}, {words}", MADE[name], control=True, rows=ShuffledPairs(within))
        for name in ("ridge", "cca", "mlhd")
        for words, within in ((SHUFFLED, False), (WITHIN, True))
    ),
    Entrant("class oracle", ClassOracle, control=True),
    Entrant("shared columns", SharedColumns, control=True, groups=tuple(g for g in TESTED if "Debian" in g)),
    Entrant("random", Chance, control=True),
)


def study(folder: Path | None = None) -> Study:
    """The study on the data of a folder (None: :func:`studies.datasets.data_folder`)."""
    return Study(
        "retrieval",
        PairedDraw(TESTED, max(PAIRS), folder),
        (*SYSTEMS, *CONTROLS),
        title="Instance retrieval from known pairs",
        protocol="no object in two of anchors, unpaired rows and test",
        groups=tuple(TESTED),
        variants=VARIANTS,
        task=Retrieval(),
    )
