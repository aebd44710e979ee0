"""Fits of other systems to labelled source rows that are nowhere as one array: sums over classes and over blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

import numpy as np
import scipy.sparse as sp

from isthmus._arrays import FloatArray, IntArray, Matrix, is_sparse
from isthmus._validation import column_names, ordinary
from isthmus.common_space import DOMAINS
from isthmus.domains import Domain, TwoDomains
from isthmus.estimators.complaints import complain_of_classes, complain_of_features
from isthmus.estimators.logdet.by_rows import REFERENCE_ROWS, _references, _require_votes, _target
from isthmus.estimators.mapped import MappedEstimator
from isthmus.exceptions import InputError
from isthmus.kernels import Cosine, Kernel, Linear
from isthmus.landmarks import Landmarks
from isthmus.linalg import RANK_TOLERANCE
from isthmus.scale.beside import CoordinateRows
from isthmus.scale.kinds import as_rows, is_dask, is_rows
from isthmus.scale.moments import Moments, moments
from isthmus.solvers.blocks import Rows
from isthmus.spaces import JointSpace
from isthmus.spaces.side import Side, kernel_side
from isthmus.spaces.space import FeatureSpace, Space
from isthmus.spaces.transformed import fitted_transformer, transformed

PLAIN: dict[str, Any] = {"outside": "identity", "every_row": False, "mean": False}
"""Of all rows without a label nothing is asked, as by :meth:`MappedEstimator._joint_space`."""
System = TypeVar("System", bound=MappedEstimator)


@dataclass(frozen=True, eq=False)
class ManyRows(JointSpace):
    """A joint space whose source has no points: its rows stay where they are.

    Parameters
    ----------
    many : Rows
        The source rows, with the codes of their classes.
    found : Moments
        What is known of all of them.
    """

    many: Rows = field(kw_only=True)
    found: Moments = field(kw_only=True)

    def within(self, weights: FloatArray) -> FloatArray:
        """Σ w_c(i) (x_i - m_c(i)) (x_i - m_c(i))ᵀ (d, d) around the means of the classes, each with a weight (C,)."""
        (S,) = self.many.total(_Within(self.found.means, weights))
        return S

    def axes(self) -> FloatArray:
        """Orthonormal axes (d, r) that the rows lie along, of most length first."""
        M, ones = self.found.means, np.ones(len(self.found.counts))
        values, vectors = np.linalg.eigh(self.within(ones) + (M.T * self.found.counts) @ M)
        kept = values > RANK_TOLERANCE * max(float(values[-1]), np.finfo(np.float64).tiny)
        return np.asarray(vectors[:, kept][:, ::-1])


@dataclass(frozen=True, eq=False)
class _Within:
    means: FloatArray
    weights: FloatArray

    def __call__(self, X: Matrix, codes: IntArray) -> tuple[FloatArray, ...]:
        """The scatter of a block."""
        w = self.weights[codes]
        if not is_sparse(X):
            D = X - self.means[codes]
            D *= np.sqrt(w)[:, None]
            return (np.asarray(D.T @ D),)
        X, C = X.astype(np.float64), len(self.weights)
        member = sp.csr_array((w, (codes, np.arange(len(codes)))), shape=(C, len(codes)))
        cross = np.asarray((member @ X).T @ self.means)
        total = np.bincount(codes, weights=w, minlength=C)
        S = (X.T @ sp.diags_array(w) @ X).toarray() - cross - cross.T
        return (np.asarray(S + (self.means.T * total) @ self.means),)


class RowsByLabel(MappedEstimator):
    """The base of systems that learn from labels by sums over classes and blocks of source rows."""

    def fit(self, X_source: Any, y_source: Any, X_target: Any, y_target: Any, *, pairs: Any = None) -> Self:
        """Learn from labels of both domains.

        Parameters
        ----------
        X_source : array, sparse matrix, data frame, Dask array or Rows (n_s, d_s)
            Source rows. Of a Dask array and of :class:`~isthmus.scale.Rows` only sums over blocks are asked, as in
            :class:`~isthmus.MLHD`: without a transformer, with a kernel that is linear, the cosine or
            :class:`~isthmus.Landmarks`. To be compared with, a sample of 10,000 of them is kept.
        y_source, X_target, y_target
            As in :class:`~isthmus.MLHD`.
        pairs : None
            It learns from labels.
        """
        if not is_dask(X_source) and not is_rows(X_source):
            return super().fit(X_source, y_source, X_target, y_target, pairs=pairs)
        self._require_use_of(pairs)
        self._require_blocks()
        return fitted_to_rows(self, X_source, y_source, X_target, y_target)

    def _require_blocks(self) -> None:
        """Raise where the parameters ask for what blocks can't do."""
        require_blocks(self, ("source",))


def require_blocks(system: MappedEstimator, domains: tuple[str, ...]) -> None:
    """Raise where kernels or transformers of domains ask for what blocks can't do."""
    kernels = dict(zip(DOMAINS, system._kernels(), strict=True))
    for name in domains:
        if not isinstance(kernels[name], Linear | Cosine | Landmarks):
            raise InputError(
                f"{name}_kernel: expected a linear one, the cosine or Landmarks with {name} rows in blocks, got "
                f"{kernels[name]!r:.60}."
            )
        transformer = getattr(system, f"{name}_transformer")
        if transformer is not None:
            raise InputError(
                f"{name}_transformer: expected None with {name} rows in blocks, got {transformer!r:.60}."
            )


def block_space(domain: Domain, kernel: Kernel, name: str) -> Space:
    """The coordinates of a domain of which a sample is known; landmarks are chosen there."""
    ordinary(domain.X, name)  # what is asked of coordinates says nothing of the features of some kernels
    if isinstance(kernel, Linear | Cosine):
        return FeatureSpace(domain.X.shape[1], kernel)
    some = np.arange(1)
    return kernel_side(domain, some, kernel, **PLAIN, name=name).space


def fitted_to_rows(system: System, X_source: Any, y_source: Any, X_target: Any, y_target: Any) -> System:
    """The system, fitted to source rows in blocks by labels, as :class:`~isthmus.MLHD` is."""
    settings = system._checked()
    rows, classes = as_rows(X_source, y_source)
    transformer = fitted_transformer(system.target_transformer, X_target, "X_target")
    target = _target(transformed(transformer, X_target, "X_target"), y_target, classes)
    _require_votes(system, rows, target)
    joint = _joint(system, rows, target, len(classes))
    domains = TwoDomains(Domain(joint.source.points, joint.source.y), target, classes)
    space, attributes = system._learn(domains, joint, settings)
    references = _references(system, rows, joint.found, joint, target, space)
    if isinstance(space.source.kernel, Linear) and not joint.found.sparse:
        found = joint.found
        complain_of_features(found.mean, np.sqrt(found.variances), "source", intercept=system.intercept)
    complain_of_classes(np.flatnonzero(joint.found.counts), target.y, classes)
    learned = {
        "common_space_": space,
        "kernels_": (space.source.kernel, space.target.kernel),
        "references_": references,
        "_rule": system._decision_rule(references, len(classes)),
        "classes_": classes,
        "transformers_": {"source": None, "target": transformer},
        "n_features_": {"source": rows.d, "target": target.X.shape[1]},
        "_columns": {"source": None, "target": column_names(X_target)},
    }
    fitted = {name: value for name, value in attributes.items() if name.endswith("_")}
    system.__dict__.update(fitted | learned)  # nothing is set before everything has been computed
    return system


def _joint(system: MappedEstimator, rows: Rows, target: Domain, n_classes: int) -> ManyRows:
    kernel = system._kernels()[0]
    space: Space
    none, space = np.empty(0, dtype=np.intp), FeatureSpace(rows.d, kernel)
    if isinstance(kernel, Landmarks):
        sample = rows.sample(min(rows.n, REFERENCE_ROWS), np.random.default_rng(0))
        space = block_space(Domain(*next(iter(sample.blocks(max(1, sample.n))))), kernel, "X_source")
    many = rows if isinstance(kernel, Linear) else CoordinateRows(rows, space)
    found = moments(many, n_classes)
    source = Side(space, np.empty((0, many.d)), none, found.mean, float(found.variances.sum()), found.squared)
    other = kernel_side(target, target.labelled, system._kernels()[1], **PLAIN, name="X_target")
    return ManyRows(source, other, n_classes, many=many, found=found)
