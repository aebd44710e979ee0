"""Fits of other systems to labelled source rows that are nowhere as one array: sums over classes and over blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from isthmus._arrays import FloatArray, IntArray, Matrix, is_sparse
from isthmus._validation import column_names
from isthmus.domains import Domain, TwoDomains
from isthmus.estimators.complaints import complain_of_classes, complain_of_features
from isthmus.estimators.logdet.by_rows import _references, _require_votes, _source_side, _target, _target_side
from isthmus.estimators.mapped import MappedEstimator
from isthmus.exceptions import InputError
from isthmus.kernels import Linear
from isthmus.linalg import RANK_TOLERANCE
from isthmus.scale.kinds import as_rows
from isthmus.scale.moments import Moments, moments
from isthmus.solvers.blocks import Rows
from isthmus.spaces import JointSpace
from isthmus.spaces.transformed import fitted_transformer, transformed

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


def fitted_to_rows(
    system: System, X_source: Any, y_source: Any, X_target: Any, y_target: Any, pairs: Any = None
) -> System:
    """The system, fitted to source rows in blocks by labels, as :class:`~isthmus.MLHD` is."""
    settings = system._checked()
    if pairs is not None:
        raise InputError("pairs: expected None with labelled source rows in blocks, got pairs.")
    if not isinstance(system._kernels()[0], Linear):
        raise InputError(
            f"source_kernel: expected a linear kernel with source rows in blocks, got {system._kernels()[0]!r:.60}."
        )
    if system.source_transformer is not None:
        raise InputError(
            f"source_transformer: expected None with source rows in blocks, got {system.source_transformer!r:.60}."
        )
    rows, classes = as_rows(X_source, y_source)
    transformer = fitted_transformer(system.target_transformer, X_target, "X_target")
    target = _target(transformed(transformer, X_target, "X_target"), y_target, classes)
    _require_votes(system, rows, target)
    found = moments(rows, len(classes))
    sides = _source_side(found, rows.d), _target_side(system, target)
    joint = ManyRows(*sides, len(classes), many=rows, found=found)
    domains = TwoDomains(Domain(sides[0].points, sides[0].y), target, classes)
    space, attributes = system._learn(domains, joint, settings)
    references = _references(system, rows, found, joint, target, space)
    if not found.sparse:
        complain_of_features(found.mean, np.sqrt(found.variances), "source", intercept=system.intercept)
    complain_of_classes(np.flatnonzero(found.counts), target.y, classes)
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
    system.__dict__.update(attributes | learned)  # nothing is set before everything has been computed
    return system
