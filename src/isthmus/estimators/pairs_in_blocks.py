"""Fits to pairs of rows that are nowhere as one array: the same closed forms, from sums over blocks."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isthmus._arrays import FloatArray, IntArray
from isthmus._validation import column_names, length, matrix, ordinary
from isthmus.common_space import DOMAINS
from isthmus.domains import UNLABELLED, Domain, KnownPairs, TwoDomains
from isthmus.domains.labels import as_labels, encoded_known
from isthmus.domains.pairs import ROWS
from isthmus.estimators.complaints import complain_of_features
from isthmus.estimators.logdet.by_rows import REFERENCE_ROWS
from isthmus.estimators.many_rows import block_space, require_blocks
from isthmus.estimators.mapped import MetricEstimator
from isthmus.estimators.stand_ins import StandIns
from isthmus.exceptions import InputError
from isthmus.kernels import Linear
from isthmus.scale import ArrayRows, is_dask, is_rows
from isthmus.scale.dask_rows import whole_rows
from isthmus.scale.row_pairs import RowPairs
from isthmus.spaces import JointSpace
from isthmus.spaces.space import FeatureSpace, Space


class PairsInBlocks(MetricEstimator):
    """The base of systems whose closed form is a function of the means and second moments of known pairs."""

    def fit(self, X_source: Any, y_source: Any, X_target: Any, y_target: Any, *, pairs: Any = None) -> Self:
        """Learn from what ties the two domains: labels of both, known pairs, or both kinds of knowledge.

        Parameters
        ----------
        X_source, X_target : array, sparse matrix, data frame, Dask array or ArrayRows (n_s, d_s) and (n_t, d_t)
            Rows of either domain. Of Dask arrays and of :class:`~isthmus.scale.ArrayRows` (memory maps, say) only
            sums over blocks are asked: with ``pairs="rows"``, without transformers, with kernels that are linear, the
            cosine or :class:`~isthmus.Landmarks`. To be compared with, a sample of 10,000 pairs is kept.
        y_source, y_target, pairs
            As for every system. With rows in blocks, :class:`~isthmus.KnownPairs` may give weights to the rows.
        """
        if not any(is_dask(X) or is_rows(X) for X in (X_source, X_target)):
            return super().fit(X_source, y_source, X_target, y_target, pairs=pairs)
        settings = self._checked()
        self._require_use_of(pairs)
        tables = _table(X_source, "X_source"), _table(X_target, "X_target")
        self._require_blocks()
        _require_rows(pairs)
        n = _number_of_pairs(tables)
        codes, classes = _codes(y_source, y_target, n)
        weights = _weights(pairs, n, (self.fewest_pairs, type(self).__name__))
        domains = _sampled(RowPairs.of(*tables, weights, codes=_combined(codes, len(classes))), classes)
        spaces = self._spaces(domains)
        joint = StandIns.of_pairs(RowPairs.of(*tables, weights, spaces), spaces, len(classes))
        learned = self._learned_in(joint, domains, settings)
        self._complain_of(joint)
        self.__dict__.update(learned)  # nothing is set before everything has been computed
        self.classes_, self.transformers_ = classes, {"source": None, "target": None}
        self.n_features_ = {"source": tables[0].shape[1], "target": tables[1].shape[1]}
        self._columns = {"source": column_names(X_source), "target": column_names(X_target)}
        return self

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        """Of many pairs in arrays, too, the sums are all that is made."""
        return StandIns.of_arrays(domains, self._kernels()) or super()._joint_space(domains)

    def _require_blocks(self) -> None:
        """Raise where the parameters ask for what blocks can't do."""
        require_blocks(self, DOMAINS)

    def _spaces(self, domains: TwoDomains) -> tuple[Space, Space]:
        """The coordinates of either domain."""
        named = zip((domains.source, domains.target), self._kernels(), ("X_source", "X_target"), strict=True)
        source, target = (block_space(*each) for each in named)
        return source, target

    def _complain_of(self, joint: StandIns) -> None:
        """Warn of columns that hardly count, where these are the coordinates."""
        deviations = np.sqrt(np.diagonal(joint.moments.scatter) / joint.moments.weight)
        sides = zip(("source", "target"), (joint.source, joint.target), joint.moments.layout.sides, strict=True)
        for name, side, columns in sides:
            if isinstance(side.space, FeatureSpace) and isinstance(side.space.kernel, Linear):
                complain_of_features(side.mean, deviations[columns], name, intercept=self.intercept)


def _table(X: Any, name: str) -> Any:
    """What can be cut into blocks of rows: a Dask array, or an array that is not copied."""
    if is_dask(X):
        return whole_rows(X, name)
    if isinstance(X, ArrayRows):
        if np.any(X.codes):
            raise InputError(
                f"{name}: expected rows without codes where pairs are known, as labels are y, got codes."
            )
        return X.X
    if is_rows(X):
        raise InputError(f"{name}: expected a Dask array or ArrayRows where pairs are known, got {type(X).__name__}.")
    return ordinary(matrix(X, name), name)


def _require_rows(pairs: Any) -> None:
    """Raise unless something is said of row i and row i."""
    if not isinstance(pairs, KnownPairs) and not (isinstance(pairs, str) and pairs == ROWS):
        raise InputError(f'pairs: expected "rows" or KnownPairs of them with rows in blocks, got {pairs!r:.60}.')


def _number_of_pairs(tables: tuple[Any, Any]) -> int:
    n, m = (table.shape[0] for table in tables)
    if n != m:
        raise InputError(f'pairs: expected equally many rows for "rows", got {n} and {m}.')
    return int(n)


def _weights(pairs: KnownPairs | str, n: int, needed: tuple[int, str]) -> FloatArray | None:
    """The weights of the pairs (n,), or None where they are all one."""
    if not isinstance(pairs, str) and (len(pairs) != n or not (pairs.rows == np.arange(n)[:, None]).all()):
        raise InputError("pairs: expected row i to be row i with rows in blocks, got other pairs.")
    if n < needed[0]:
        raise InputError(f"pairs: expected at least {needed[0]} for {needed[1]}, got {n}.")
    return None if isinstance(pairs, str) or (pairs.weights == 1.0).all() else pairs.weights


def _codes(y_source: Any, y_target: Any, n: int) -> tuple[tuple[IntArray, IntArray] | None, NDArray[Any]]:
    """The label codes of either domain, or None without any label, and the classes."""
    none = np.full(n, UNLABELLED)
    given = [
        none if y is None else as_labels(y, name) for y, name in ((y_source, "y_source"), (y_target, "y_target"))
    ]
    for y, name in zip(given, ("source", "target"), strict=True):
        length(y, n, f"y_{name}", f"X_{name}")
    if y_source is None and y_target is None:
        return None, encoded_known((none[:0], none[:0]), ("y_source", "y_target"))[1]
    return encoded_known((given[0], given[1]), ("y_source", "y_target"))


def _combined(codes: tuple[IntArray, IntArray] | None, n_classes: int) -> IntArray | None:
    """One code per pair of labels, from 0 for none."""
    return None if codes is None else (codes[0] + 1) * (n_classes + 1) + codes[1] + 1


def _sampled(pairs: RowPairs, classes: NDArray[Any]) -> TwoDomains:
    """Some pairs as two domains: what others are compared with."""
    Z, _, codes = pairs.sample(REFERENCE_ROWS, np.random.default_rng(0))
    source, target = pairs.layout.sides
    y = np.divmod(codes.astype(np.intp), len(classes) + 1)  # without classes all codes are 0, for none
    rows = KnownPairs(np.repeat(np.arange(Z.shape[0])[:, None], 2, axis=1))
    return TwoDomains(Domain(Z[:, source], y[0] - 1), Domain(Z[:, target], y[1] - 1), classes, rows)
