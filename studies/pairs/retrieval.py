"""Instance retrieval: which row of the other domain is the same object, by what P known pairs teach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np

from isthmus import CCA, MLHD, systems
from isthmus._core.validation import FloatArray
from isthmus.geometry.common_space import DOMAINS
from isthmus.geometry.similarity import hub_scores
from isthmus.study.design import Entrant, Fit
from isthmus.study.study import Study
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
    """The default: hubs are set back, as ``search`` does it by itself, by what rows of the fit say of them.

    What ``search`` takes off for the query, as large for all rows of the gallery, is left out.
    """
    S, hubs = _similarities(fit)
    return 2.0 * S - hubs["target"], 2.0 * S.T - hubs["source"]


def plain(fit: Fit) -> Tables:
    """A reading: hubs are left as they are."""
    S, _ = _similarities(fit)
    return S, S.T


def by_queries(fit: Fit) -> Tables:
    """A reading: hubs are set back by what all queries say of them, which have to be known together."""
    S = csls(_similarities(fit)[0])
    return S, S.T


def _similarities(fit: Fit) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Of the objects held out (n, n), and how near each is to the other domain; computed once for all readings."""
    known = vars(fit)
    if "similarities" not in known:
        known["similarities"] = _compute_scores(fit.model, fit.rows)
    found: tuple[FloatArray, dict[str, FloatArray]] = known["similarities"]
    return found


def _compute_scores(model: Any, rows: PairedRows) -> tuple[FloatArray, dict[str, FloatArray]]:
    if hasattr(model, "similarities"):
        return model.similarities(rows), dict.fromkeys(DOMAINS, np.zeros(len(rows.y_test)))
    space = model.common_space_
    source, target = (model.transform(Q, side) for Q, side in ((rows.Q_source, "source"), (rows.Q_target, "target")))
    learned = model.transform(rows.X_source, "source"), model.transform(rows.X_target, "target")
    hubs = {"source": hub_scores(space, source, learned[1]), "target": hub_scores(space, target, learned[0])}
    return space.scores(source, target), hubs


def _system(name: str, make: Callable[[], Any]) -> Entrant:
    return Entrant(name, make, readings={f"{name}{PLAIN}": plain, f"{name}{BY_QUERIES}": by_queries})


REGISTERED = {"cca": "cca+nn", "kcca": "kcca+nn"}
"""Names of the library's list, where the page has shorter ones."""
MADE = {
    name: systems()[REGISTERED.get(name, name)].make
    for name in ("ridge", "ridge-rbf", "cca", "kcca", "mlhd", "procrustes", "relative")
} | {"mlhd": partial(MLHD, alignment_weight=1.0, pair_weight=1.0)}
"""What learns from pairs, with the defaults of the library; MLHD's weights are one with pairs, and said here."""
SYSTEMS = tuple(_system(name, make) for name, make in MADE.items())
CHEAP = ("10", "30", "100")
"""Where controls of the slower systems take part."""
SHUFFLED, WITHIN = "shuffled pairs", "pairs shuffled within classes"
CONTROLS = (
    Entrant("cca, unit variates", partial(CCA, variates="unit", rule="nearest"), control=True),
    *(
        Entrant(f"{name}, {words}", MADE[name], control=True, rows=ShuffledPairs(within), variants=where)
        for name, where in (("ridge", None), ("cca", CHEAP), ("mlhd", CHEAP))
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
