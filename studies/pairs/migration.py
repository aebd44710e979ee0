"""Migration: an old index is searched with rows of a new model, after P rows were embedded by both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import normalize

import isthmus
from isthmus._core.validation import FloatArray, IntArray
from isthmus.estimators.controls import shuffle_pairs
from isthmus.study.design import Entrant, Fit
from isthmus.study.study import Study
from isthmus.study.trial_rows import Trial, hash_name
from studies.pairs.data import Paired
from studies.pairs.embeddings import embedded_texts

PAIRS = (100, 300, 1000, 3000)
VARIANTS = {str(P): f"{P} known pairs" for P in PAIRS}
QUERIES = 200
NEAREST = 10
GROUPS = ("words → letters", "letters → words")
"""The old model and the new one."""
BOTH = ", both ways"


@dataclass(frozen=True, eq=False)
class Migration:
    """An index of the old model, P of its rows by the new model, and queries.

    Parameters
    ----------
    old : array (n, d_old)
        The index.
    new : array (P, d_new)
        The first P rows of the index by the new model.
    pairs : array (P, 2)
        Which row of the index is which row of these.
    queries, queries_old : array (200, d_new), (200, d_old)
        Texts that are not in the index, by both models.
    items : array (200, d_new)
        The last rows of the index by the new model: each should find itself.
    neighbours : array (200, 10)
        The ten rows of the index that the new model would find for each query, had it embedded them all.
    """

    old: FloatArray
    new: FloatArray
    pairs: IntArray
    queries: FloatArray
    queries_old: FloatArray
    items: FloatArray
    neighbours: IntArray


@lru_cache(maxsize=1)
def _texts(folder: Path | None) -> Paired:
    """Both embeddings, made once in each process."""
    return embedded_texts(folder)


@dataclass(frozen=True)
class MigrationDraw:
    """The rows of a trial, whose variant is the number P of rows that both models have embedded."""

    folder: Path | None = field(default=None, compare=False)

    def check(self) -> None:
        """Raise if data are not there."""
        from studies.datasets import read_debian_texts

        read_debian_texts(self.folder)

    def __call__(self, trial: Trial) -> Migration:
        """Texts are permuted by the seed; 200 are queries, all others the index."""
        both, P = _texts(self.folder), int(trial.variant)
        A, B = (both.A, both.B) if trial.group == GROUPS[0] else (both.B, both.A)
        order = np.random.default_rng([trial.seed, hash_name(trial.group)]).permutation(len(both.y))
        asked, index = order[:QUERIES], order[QUERIES:]
        nearest = nearest_rows(normalize(B[asked]) @ normalize(B[index]).T)
        pairs = np.repeat(np.arange(P), 2).reshape(-1, 2)
        return Migration(A[index], B[index[:P]], pairs, B[asked], A[asked], B[index[-QUERIES:]], nearest)


def nearest_rows(S: FloatArray) -> IntArray:
    """The ten columns of the highest similarity, for each row; in no order."""
    return np.argpartition(-S, NEAREST - 1, axis=1)[:, :NEAREST]


@dataclass(frozen=True)
class Search:
    """Learn an adapter from pairs, then search the old index with rows of the new model."""

    measure: ClassVar[str] = "neighbours of the new model found"
    needs: ClassVar[tuple[str, ...]] = ("search",)

    def fit(self, model: Any, rows: Migration) -> None:
        """Fit to the index, the rows of the new model and the pairs."""
        model.fit(rows.old, rows.new, rows.pairs)

    def score(self, entrant: Entrant, column: str, fit: Fit) -> tuple[float, Mapping[str, float]]:
        """The share of the new model's ten neighbours among the ten found; and how often a row finds itself."""
        model, rows = fit.model, fit.rows
        search = entrant.readings.get(column, type(model).search)
        found = nearest_rows(search(model, rows, "queries"))
        overlap = np.mean([len(np.intersect1d(a, b)) for a, b in zip(found, rows.neighbours, strict=True)]) / NEAREST
        S = search(model, rows, "items")
        own = S[np.arange(QUERIES), len(rows.old) - QUERIES + np.arange(QUERIES)]
        rank = 1.0 + (own[:, None] < S).sum(axis=1)
        recall = {f"recall@{k}": float(np.mean(rank <= k)) for k in (1, 10)}
        return float(overlap), {**recall, **(model.stated_recall() if column == entrant.name else {})}

    def agreement(self, entrant: Entrant, column: str, fit: Fit) -> float | None:
        """None: there are no grids."""
        return None


class Adapted(BaseEstimator):  # type: ignore[misc]
    """:func:`isthmus.migrate` as a system of the study."""

    def __init__(self, kind: str = "ridge", *, random_state: Any = 0) -> None:
        self.kind = kind
        self.random_state = random_state

    def fit(self, old: FloatArray, new: FloatArray, pairs: IntArray) -> Self:
        """Learn the adapter."""
        self.adapter_ = isthmus.migrate(old, new, pairs, kind=self.kind, random_state=self.random_state)
        return self

    def search(self, rows: Migration, part: str) -> FloatArray:
        """Cosines in the old space, where the index stays as it is."""
        return np.asarray(normalize(self.adapter_.to_old(getattr(rows, part))) @ normalize(rows.old).T)

    def stated_recall(self) -> dict[str, float]:
        """What the adapter says of itself: recall@10 of pairs held back, and its advice (2: bridge, 0: re-embed)."""
        actions = ("re-embed", "bridge until re-embedded", "bridge")
        promised = self.adapter_.recall.last.at_10
        inside = {"low@10": promised.low, "high@10": promised.high}
        advised = float(actions.index(self.adapter_.advice.action))
        return {"promised@10": promised.value, **inside, "advice": advised}


def both_ways(model: Adapted, rows: Migration, part: str) -> FloatArray:
    """A reading: cosines in either space, for which the index has to be mapped too."""
    return np.asarray(model.adapter_.similarity(getattr(rows, part), rows.old))


class OldModel(BaseEstimator):  # type: ignore[misc]
    """The old model on its own index: what was there before."""

    def fit(self, old: FloatArray, new: FloatArray, pairs: IntArray) -> Self:
        """Do nothing."""
        return self

    def search(self, rows: Migration, part: str) -> FloatArray:
        """Cosines in the old space, of rows that the old model has embedded."""
        asked = rows.queries_old if part == "queries" else rows.old[-QUERIES:]
        return np.asarray(normalize(asked) @ normalize(rows.old).T)

    def stated_recall(self) -> dict[str, float]:
        """Nothing."""
        return {}


@dataclass(frozen=True)
class ShuffledRows:
    """The same rows in wrong pairs."""

    def __call__(self, rows: Migration, seed: int) -> Migration:
        """The rows with their pairs shuffled."""
        rng = np.random.default_rng([seed, hash_name("shuffled pairs")])
        return replace(rows, pairs=shuffle_pairs(rows.pairs, rng))


CHOSEN, OLD = "auto", "old model, own index"
FEW = ("100", "300", "1000")
"""Where trying all kinds is affordable; kernels alone only in the first two."""
ENTRANTS = (
    Entrant("ridge", Adapted, readings={f"ridge{BOTH}": both_ways}),
    *(Entrant(kind.replace("_", " "), Adapted(kind)) for kind in ("procrustes", "low_rank")),
    Entrant("kernel ridge", Adapted("kernel_ridge"), variants=FEW[:2]),
    Entrant(CHOSEN, Adapted("auto"), variants=FEW),
    Entrant("ridge, shuffled pairs", Adapted, control=True, rows=ShuffledRows()),
    Entrant(OLD, OldModel, control=True),
)


def study(folder: Path | None = None) -> Study:
    """The study on the data of a folder (None: :func:`studies.datasets.data_folder`)."""
    return Study(
        "migration",
        MigrationDraw(folder),
        ENTRANTS,
        title="Migration of a text index",
        protocol="queries are in no index",
        groups=GROUPS,
        variants=VARIANTS,
        task=Search(),
    )
