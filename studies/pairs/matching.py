"""Matching: which rows of two collections are the same object, where some have no partner at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

import isthmus
from isthmus._core.validation import IntArray, Matrix
from isthmus.estimators.controls import shuffle_pairs
from isthmus.exceptions import InputError
from isthmus.study.design import Entrant, Fit
from isthmus.study.study import Study
from isthmus.study.trial_rows import Trial, hash_name
from studies.pairs.data import Paired, views
from studies.pairs.rows import preparation

SHARES = {"all": 1.0, "half": 0.5, "a quarter": 0.25}
"""Of the rows of either side, those that have a partner on the other."""
PAIRS = (0, 5, 30)
VARIANTS = {
    f"{share}, {P}": f"{share} of the rows have a partner, {P or 'no'} known pairs"
    for share, P in product(SHARES, PAIRS)
}
UNREFINED_IN, WRONG_IN, LABELLED_IN = "all, 30", "half, 30", "all, 0"
"""Where there is also a matching without refinement; one with wrong pairs; some with class labels."""
ROWS = {
    "digits pixels–shape": 400,
    "mfeat fac–kar": 600,
    "mfeat fac–pix": 1000,
    "Reuters EN–FR": 600,
    "Debian en–fr": 1000,
    "Debian en–de": 1000,
    "SNARE RNA–ATAC": 300,
}
"""Rows of either side; fewer where the objects do not suffice for both sides."""
BETWEEN = " | "
UNRELATED = (
    f"Debian en–fr{BETWEEN}digits pixels–shape",
    f"Reuters EN–FR{BETWEEN}mfeat fac–pix",
    f"mfeat fac–kar{BETWEEN}SNARE RNA–ATAC",
)
"""The first description of one data set, and the second of another."""


@dataclass(frozen=True, eq=False)
class TwoCollections:
    """Rows to match.

    Parameters
    ----------
    A, B : array or CSR (n, d), (m, d')
        Two collections.
    partner : array (n,)
        The row of B that is the same object as each row of A, -1 where there is none.
    pairs : array (P, 2)
        Those that are known.
    y_source, y_target : array (n,), (m,)
        The classes of the rows.
    labelled : array (l,) or None
        The rows of B whose class may be used, beside those of all rows of A; None: no class may be used.
    """

    A: Matrix
    B: Matrix
    partner: IntArray
    pairs: IntArray
    y_source: IntArray
    y_target: IntArray
    labelled: IntArray | None = None

    @property
    def labels(self) -> dict[str, Any]:
        """What :func:`isthmus.match` is told of the classes."""
        if self.labelled is None:
            return {}
        y = np.full(len(self.y_target), -1)
        y[self.labelled] = self.y_target[self.labelled]
        return {"y_source": self.y_source, "y_target": y}


@dataclass(frozen=True)
class MatchingDraw:
    """The rows of a trial, whose variant is the share of rows with a partner and the number of known pairs.

    Objects are permuted by the seed. The first of them are on both sides, the next on one side only, each side
    shuffled by itself, and prepared by itself: numbers are standardised, and all rows scaled to length one.
    """

    rows: Mapping[str, int]
    folder: Path | None = field(default=None, compare=False)

    def check(self) -> None:
        """Raise if data are not there."""
        for group in self.rows:
            for name in group.split(BETWEEN):
                views(name, self.folder)

    def __call__(self, trial: Trial) -> TwoCollections:
        """The rows of a trial, prepared."""
        words, _, known = trial.variant.rpartition(", ")
        first, *others = (views(name, self.folder) for name in trial.group.split(BETWEEN))
        share = 0.0 if others or words == NONE else SHARES[words]
        rng = np.random.default_rng([trial.seed, hash_name(trial.group), hash_name(words)])
        n = self.rows[trial.group]
        if others:
            ours, theirs = (rng.permutation(len(each.y))[:n] for each in (first, others[0]))
            return _collections(first, others[0], ours, theirs, 0, 0, rng)
        n = min(n, int(len(first.y) / (2.0 - share)))
        common, order = round(share * n), rng.permutation(len(first.y))
        theirs = np.r_[order[:common], order[n : 2 * n - common]]
        return _collections(first, first, order[:n], theirs, common, int(known), rng)


def _collections(
    one: Paired, other: Paired, ours: IntArray, theirs: IntArray, common: int, known: int, rng: np.random.Generator
) -> TwoCollections:
    """The objects of either side, of which the first ``common`` are the same, in two random orders."""
    if known > common:
        raise InputError(f"pairs: expected at most {common} known pairs, got {known}.")
    i, j = rng.permutation(len(ours)), rng.permutation(len(theirs))
    place = np.argsort(j)  # where each object of the other side has come to stand
    partner = np.where(i < common, place[np.minimum(i, len(place) - 1)], -1)
    ours, theirs = ours[i], theirs[j]
    X, Z = (preparation(M).fit_transform(M) for M in (one.A[ours], other.B[theirs]))
    have = np.flatnonzero(partner >= 0)
    some = np.sort(rng.permutation(have)[:known])
    return TwoCollections(X, Z, partner, np.stack([some, partner[some]], axis=1), one.y[ours], other.y[theirs])


@dataclass(frozen=True)
class Match:
    """Match two collections; the score is the share of rows, of those with an unknown partner, whose best is it."""

    measure: ClassVar[str] = "recall@1"
    needs: ClassVar[tuple[str, ...]] = ()

    def fit(self, model: Any, rows: TwoCollections) -> None:
        """Match with the pairs that are known."""
        model.fit(rows.A, rows.B, rows.pairs if len(rows.pairs) else None, **rows.labels)

    def score(self, entrant: Entrant, column: str, fit: Fit) -> tuple[float, Mapping[str, float]]:
        """Recall@1; precision, recall and stated confidence of returned matches; the verdict (1: worked)."""
        found, rows = fit.model.matching_, fit.rows
        asked = np.ones(len(rows.partner), dtype=bool)
        asked[rows.pairs[:, 0]] = False
        there = asked & (rows.partner >= 0)
        returned = asked & (found.partners >= 0)
        right = returned & (found.partners == rows.partner)
        best = there & (found.nearest == rows.partner)
        stated = found.confidence[asked[found.pairs[:, 0]]]
        worked = {None: 0.5, True: 1.0, False: 0.0}[found.ok]
        return _share(best, there, 0.0), {
            "precision": _share(right, returned, np.nan),
            "recall": _share(right, there, np.nan),
            "returned": _share(returned, asked, 0.0),
            "confidence": float(np.mean(stated)) if len(stated) else np.nan,
            "worked": worked,
        }

    def agreement(self, entrant: Entrant, column: str, fit: Fit) -> float | None:
        """None: there are no grids."""
        return None


def _share(some: Any, of: Any, otherwise: float) -> float:
    n = int(np.count_nonzero(of))
    return float(np.count_nonzero(some) / n) if n else otherwise


class Matched(BaseEstimator):  # type: ignore[misc]
    """:func:`isthmus.match` as a system of the study."""

    def __init__(self, system: str = "auto", *, refine: bool = True, random_state: Any = 0) -> None:
        self.system = system  # read by fingerprints of records only
        self.refine = refine
        self.random_state = random_state

    def fit(self, A: Matrix, B: Matrix, pairs: IntArray | None, **labels: Any) -> Self:
        """Match."""
        given = {"refine": self.refine, "random_state": self.random_state}
        self.matching_ = isthmus.match(A, B, pairs, **given, **labels)
        return self


@dataclass(frozen=True)
class WrongPairs:
    """The same collections with wrong pairs."""

    def __call__(self, rows: TwoCollections, seed: int) -> TwoCollections:
        """The rows with their known pairs shuffled."""
        rng = np.random.default_rng([seed, hash_name("shuffled pairs")])
        return replace(rows, pairs=shuffle_pairs(rows.pairs, rng))


@dataclass(frozen=True)
class WithLabels:
    """The same collections with the classes of all rows of A, and of some rows of B per class, or of all."""

    per_class: int | None

    def __call__(self, rows: TwoCollections, seed: int) -> TwoCollections:
        """The rows with labels."""
        rng = np.random.default_rng([seed, hash_name("labels")])
        order = rng.permutation(len(rows.y_target))
        some = [order[rows.y_target[order] == c][: self.per_class] for c in np.unique(rows.y_target)]
        return replace(rows, labelled=np.sort(np.concatenate(some)))


NONE = "none"
NULL_VARIANTS = {f"{NONE}, 0": "no row has a partner"}
MATCH, UNREFINED, WRONG = "match", "match, not refined", "match, shuffled pairs"
LABELLED = {"match, 3 labels per class": 3, "match, all labels": None}
"""Labels of rows of B; those of A are all known then."""
ENTRANTS = (
    Entrant(MATCH, Matched),
    Entrant(UNREFINED, Matched(refine=False), variants=(UNREFINED_IN,)),
    Entrant(WRONG, Matched, control=True, rows=WrongPairs(), variants=(WRONG_IN,)),
    *(Entrant(name, Matched, rows=WithLabels(each), variants=(LABELLED_IN,)) for name, each in LABELLED.items()),
)


def study(folder: Path | None = None) -> Study:
    """Rows of which some have a partner."""
    return Study(
        "matching",
        MatchingDraw(ROWS, folder),
        ENTRANTS,
        title="Matching",
        protocol="either side in an order of its own",
        groups=tuple(ROWS),
        variants=VARIANTS,
        task=Match(),
    )


def null_study(folder: Path | None = None) -> Study:
    """Rows of which none has a partner: the same data with other objects on either side, and unrelated data."""
    rows = {**ROWS, **dict.fromkeys(UNRELATED, 300)}
    return Study(
        "matching-null",
        MatchingDraw(rows, folder),
        ENTRANTS[:1],
        title="Matching where there is nothing to match",
        protocol="no row has a partner",
        groups=tuple(rows),
        variants=NULL_VARIANTS,
        task=Match(),
    )
