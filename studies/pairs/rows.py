"""The rows of a trial of known pairs: anchors, unpaired rows of either side, and objects held out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from isthmus._core.validation import IntArray, Matrix, is_sparse
from isthmus.estimators.controls import shuffle_pairs
from isthmus.exceptions import InputError
from isthmus.geometry.spaces import apply_transformer, fit_transformer
from isthmus.study.trial_rows import Trial, hash_name
from studies.pairs.data import Paired, views

MOST_UNPAIRED = 300
"""Rows of either side, beside the anchors, that are learned from without a partner."""


@dataclass(frozen=True, eq=False)
class PairedRows:
    """What a system is fitted to, and what it is tested on.

    Parameters
    ----------
    X_source, X_target : array or CSR (n_s, d_s), (n_t, d_t)
        Rows that are learned from: the anchors first, then rows of other objects on either side.
    pairs : array (P, 2) or None
        Which of them are known to be the same object; None for controls that know of none.
    Q_source, Q_target : array or CSR (n, d_s), (n, d_t)
        Objects held out, row i in both.
    y_source, y_target, y_test : array (n_s,), (n_t,), (n,)
        True classes, for controls and for label transfer; -1 where a control does not know them.
    shared : array (m, 2)
        Numbers of columns that have the same name on either side.
    """

    X_source: Matrix
    X_target: Matrix
    pairs: IntArray | None
    Q_source: Matrix
    Q_target: Matrix
    y_source: IntArray
    y_target: IntArray
    y_test: IntArray
    shared: IntArray


@dataclass(frozen=True)
class PairedDraw:
    """The rows of a trial, whose variant is the number P of anchors.

    The objects are permuted by the seed. The first ``tested[group]`` are held out, the next ``most_pairs`` hold the
    anchors (the first P of them), and of what is left either side has every second object, at most
    ``MOST_UNPAIRED``. So the test is the same for every P of a seed, and fewer anchors are among more.
    Either side is prepared by its own training rows: numbers are standardised, and all rows scaled to length one.
    """

    tested: Mapping[str, int]
    most_pairs: int
    folder: Path | None = field(default=None, compare=False)

    def check(self) -> None:
        """Raise if data are not there."""
        for group in self.tested:
            views(group, self.folder)

    def __call__(self, trial: Trial) -> PairedRows:
        """The rows of a trial, prepared."""
        both, n = views(trial.group, self.folder), self.tested[trial.group]
        order = np.random.default_rng([trial.seed, hash_name(trial.group)]).permutation(len(both.y))
        P, first_free = int(trial.variant), n + self.most_pairs
        if not 1 <= P <= self.most_pairs or first_free > len(order):
            got = f"{P} of {self.most_pairs}, {n} tested of {len(order)} objects"
            raise InputError(f"{trial.group}: expected pairs within the objects that are not tested, got {got}.")
        test, anchors, rest = order[:n], order[n : n + P], order[first_free : first_free + 2 * MOST_UNPAIRED]
        return prepared_rows(both, anchors, rest[::2], rest[1::2], test)


def prepared_rows(both: Paired, anchors: IntArray, first: IntArray, second: IntArray, test: IntArray) -> PairedRows:
    """Anchors, unpaired rows of A and of B, and objects held out, by what the training rows of either side teach."""
    source, target = np.r_[anchors, first], np.r_[anchors, second]
    X, Q = _prepare(both.A[source], both.A[test])
    Y, R = _prepare(both.B[target], both.B[test])
    pairs = np.repeat(np.arange(len(anchors)), 2).reshape(-1, 2)
    return PairedRows(X, Y, pairs, Q, R, both.y[source], both.y[target], both.y[test], both.shared)


def _prepare(X: Matrix, Q: Matrix) -> tuple[Matrix, Matrix]:
    fitted = fit_transformer(preparation(X), X, "X")
    return apply_transformer(fitted, X, "X"), apply_transformer(fitted, Q, "X")


def preparation(X: Matrix) -> Any:
    """Rows of text are scaled to length one; numbers are standardised first."""
    return Normalizer() if is_sparse(X) else make_pipeline(StandardScaler(), Normalizer())


@dataclass(frozen=True)
class ShuffledPairs:
    """A control: the rows in wrong pairs, all of them or those of each class (``shuffle_pairs``)."""

    within_class: bool = False

    def __call__(self, rows: PairedRows, seed: int) -> PairedRows:
        """The rows with their pairs shuffled."""
        rng = np.random.default_rng([seed, hash_name("shuffled pairs"), self.within_class])
        pairs = known_pairs(rows)
        classes = rows.y_source[pairs[:, 0]] if self.within_class else None
        return replace(rows, pairs=shuffle_pairs(pairs, rng, classes))


def known_pairs(rows: PairedRows) -> IntArray:
    """The pairs of rows that have some."""
    if rows.pairs is None:
        raise InputError("pairs: expected known pairs, got None.")
    return rows.pairs
