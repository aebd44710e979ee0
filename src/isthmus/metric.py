"""One metric over two domains: distances within and across them, and the common space that carries it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as sla
from sklearn.metrics import pairwise

from isthmus._arrays import FloatArray, Matrix, is_sparse
from isthmus._validation import choice, matrix
from isthmus.exceptions import InputError
from isthmus.spaces import FeatureSpace, Space

DOMAINS = ("source", "target")
BLOCK = 2048
"""Rows whose kernel values are held at once."""


@dataclass(frozen=True, eq=False)
class CrossDomainMetric:
    r"""A metric over the direct sum of two spaces, as two linear maps into a common one.

    .. math:: d^2(a, b) = (\hat a - \hat b)^T M (\hat a - \hat b), \qquad M = W W^T, \quad W = [W_s; W_t]

    where :math:`\hat x = [x; 0]` for a row of the source and :math:`\hat y = [0; y]` for one of the target. Where
    the spaces do not cover everything (a kernel, or more columns than rows), what lies outside them is measured
    by the identity.

    Parameters
    ----------
    source, target : Space
        The coordinates of either domain, :math:`r_s` and :math:`r_t` of them.
    components : array (r_s + r_t, k)
        W.
    projected : bool
        Whether W was cut to fewer columns than M has; distances are then those of the projection, and what
        lies outside the spaces is left out of account.
    offsets : array (2, k), optional
        Where the common space has the zero of the source and that of the target, for maps with an intercept:
        :math:`W_s^T x + o_s` and :math:`W_t^T y + o_t`. They count across the domains and cancel within one.
    """

    source: Space
    target: Space
    components: FloatArray
    projected: bool = False
    offsets: FloatArray | None = None

    def projected_to(self, n_components: int, rows: FloatArray) -> CrossDomainMetric:
        """The metric on the principal axes of ``rows`` (n, k), which are points of the common space."""
        _, _, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
        # An axis' sign is arbitrary: fix it, so that equal data gives equal pictures.
        signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
        return replace(self.mapped((axes * signs[:, None])[:n_components].T), projected=True)

    def mapped(self, A: FloatArray) -> CrossDomainMetric:
        """The metric after one more linear map A (k, k') of the common space."""
        offsets = None if self.offsets is None else self.offsets @ A
        return replace(self, components=self.components @ A, offsets=offsets)

    def space(self, domain: str) -> Space:
        """The space of "source" or "target"."""
        return self.source if choice(domain, "domain", DOMAINS) == "source" else self.target

    def _map(self, domain: str, dtype: str) -> FloatArray:
        r = self.source.dimension
        return np.asarray(self.components[:r] if domain == "source" else self.components[r:], dtype=dtype)

    @property
    def dimension(self) -> int:
        """The number of columns of :meth:`embed`."""
        return int(self.components.shape[1]) + len(self._outside_axes)

    @cached_property
    def _outside_axes(self) -> dict[str, int]:
        """The extra column that carries the length outside the span, for each domain that needs one."""
        if self.projected:
            return {}
        needed = [d for d in DOMAINS if not self.space(d).complete]
        return {d: self.components.shape[1] + k for k, d in enumerate(needed)}

    def embed(self, X: Matrix, domain: str) -> FloatArray:
        """Rows as points of the common space, in their own precision.

        Euclidean distances there are the metric: exactly so across the domains and to every row of ``fit``. Two
        new rows of one domain that both leave the span of ``fit`` are embedded with the length, not the
        direction, of what is outside; :meth:`squared_distances` is exact for those too.
        """
        space = self.space(domain)
        dtype = "float32" if X.dtype == np.float32 else "float64"
        offset = 0.0 if self.offsets is None else self.offsets[DOMAINS.index(domain)].astype(dtype)
        if isinstance(space, FeatureSpace) and not self._outside_axes:
            points = X @ self._map(domain, dtype)
            return np.asarray(points if self.offsets is None else points + offset, dtype=dtype)
        W, axis = self._map(domain, "float64"), self._outside_axes.get(domain)
        E = np.zeros((X.shape[0], self.dimension), dtype=dtype)
        for start in range(0, X.shape[0], BLOCK):
            rows = slice(start, start + BLOCK)
            C = space.coordinates(X[rows])
            E[rows, : W.shape[1]] = C @ W + offset
            if axis is not None:
                E[rows, axis] = np.sqrt(space.outside(X[rows], C))
        return E

    def squared_distances(self, A: Matrix, B: Matrix, domains: tuple[str, str]) -> FloatArray:
        """All squared distances (n, m) between rows of the named domains, either of which may be either."""
        if domains[0] != domains[1] or domains[0] not in self._outside_axes:
            return _euclidean(self.embed(A, domains[0]), self.embed(B, domains[1]))
        space, W = self.space(domains[0]), self._map(domains[0], "float64")
        CA, CB = space.coordinates(A), space.coordinates(B)
        left_out = space.outside(A, CA)[:, None] + space.outside(B, CB)[None, :]
        left_out = left_out - 2.0 * space.outside_products(A, B, CA, CB)
        return _euclidean(CA @ W, CB @ W) + np.maximum(left_out, 0.0)

    def matrix(self) -> FloatArray:
        """M over the joint coordinates, (r_s + r_t, r_s + r_t); it knows nothing of the offsets."""
        return np.asarray(self.components @ self.components.T)

    def feature_matrix(self) -> FloatArray:
        """M over the features of both domains, (d_s + d_t, d_s + d_t), without offsets; linear kernels only."""
        Q = sla.block_diag(self.source.basis(), self.target.basis())
        M = Q @ self.matrix() @ Q.T
        for domain, start in (("source", 0), ("target", self.source.n_features)):
            if domain in self._outside_axes:
                B, part = self.space(domain).basis(), slice(start, start + self.space(domain).n_features)
                M[part, part] += np.eye(len(B)) - B @ B.T
        return np.asarray(M)

    def function(self, domains: tuple[str, str]) -> Callable[[Any, Any], float]:
        """The distance of two single rows as a plain function."""

        def distance(a: Any, b: Any) -> float:
            rows = [
                matrix(row if is_sparse(row) else np.atleast_2d(row), name, n_columns=self.space(domain).n_features)
                for row, name, domain in zip((a, b), "ab", domains, strict=True)
            ]
            for row, name in zip(rows, "ab", strict=True):
                if row.shape[0] != 1:
                    raise InputError(f"{name}: expected a single row, got {row.shape[0]}.")
            return float(np.sqrt(self.squared_distances(rows[0], rows[1], domains)[0, 0]))

        return distance


def _euclidean(A: FloatArray, B: FloatArray) -> FloatArray:
    D = pairwise.euclidean_distances(A, B, squared=True)
    return np.asarray(np.maximum(D, 0.0, out=D))
