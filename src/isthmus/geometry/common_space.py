"""The common space: two maps into one space, and how points are compared there.

It is all that an estimator has learned, as a value that knows no learner and no labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as sla
from sklearn.metrics import pairwise
from sklearn.neighbors import NearestNeighbors

from isthmus._core.threads import cap_methods
from isthmus._core.validation import (
    FloatArray,
    IntArray,
    Matrix,
    ShortRepr,
    check_choice,
    check_matrix,
    check_number,
    show_value,
)
from isthmus.exceptions import InputError
from isthmus.geometry.spaces import FeatureSpace, Space

DOMAINS = ("source", "target")
DISTANCE, INNER_PRODUCT = "distance", "inner product"
KINDS = (DISTANCE, INNER_PRODUCT)
# Rows whose kernel values are held at once.
BLOCK = 2048
# Points that are compared with all others at once.
QUERY_BLOCK = 1024


@cap_methods
@dataclass(frozen=True, eq=False, repr=False)
class CommonSpace(ShortRepr):
    r"""Two linear maps into one space, where rows of two domains are compared.

    .. math::

       \text{distance}\quad & d^2(a, b) = (\hat a - \hat b)^T M (\hat a - \hat b), & M = W W^T,\; W = [W_s; W_t] \\
       \text{inner product}\quad & s(x, y) = x^T W_s W_t^T y & \text{across the domains only}

    where :math:`\hat x = [x; 0]` for a row of the source and :math:`\hat y = [0; y]` for one of the target. Where
    the spaces do not cover everything (a kernel, or more columns than rows), what lies outside them is measured
    by the identity.

    Parameters
    ----------
    source, target : Space
        The coordinates of either domain, :math:`r_s` and :math:`r_t` of them.
    components : array (r_s + r_t, k)
        W.
    kind : {"distance", "inner product"}
        Whether points are compared by their Euclidean distance, or across the domains by their inner product.
    projected : bool
        Whether W has fewer columns than M would need; distances are then those of the projection, and what lies
        outside the spaces is left out of account.
    offsets : array (2, k), optional
        Where the common space has the zero of the source and that of the target, for maps with an intercept:
        :math:`W_s^T x + o_s` and :math:`W_t^T y + o_t`. They count across the domains and cancel within one.
    parts : tuple of int
        Numbers of columns that are scaled to unit length together, one run of columns after the other. With parts,
        half the squared distance of two points is the number of parts less the sum of their cosines in each: the
        nearest is the most similar. What lies outside the spaces is left out of account.
    """

    source: Space
    target: Space
    components: FloatArray
    kind: str = DISTANCE
    projected: bool = False
    offsets: FloatArray | None = None
    parts: tuple[int, ...] = ()

    @classmethod
    def of_products(
        cls, spaces: tuple[Space, Space], axes: tuple[FloatArray, FloatArray], W: FloatArray
    ) -> CommonSpace:
        """Build the space of inner products xᵀ W y, for W over orthonormal axes (r_s, ρ_s) and (r_t, ρ_t)."""
        U, s, Vt = np.linalg.svd(W, full_matrices=False)  # roots of s: either map has the same share
        maps = axes[0] @ (U * np.sqrt(s)), axes[1] @ (Vt.T * np.sqrt(s))
        return cls(*spaces, np.vstack(maps), INNER_PRODUCT, projected=True)

    def compose(self, A: FloatArray, *, projected: bool = False) -> CommonSpace:
        """Apply one more linear map A (k, k'), which may be a projection; parts are lost."""
        offsets = None if self.offsets is None else self.offsets @ A
        projected = projected or self.projected
        return replace(self, components=self.components @ A, offsets=offsets, projected=projected, parts=())

    def space(self, domain: str) -> Space:
        """Return the space of "source" or "target"."""
        return self.source if check_choice(domain, "domain", DOMAINS) == "source" else self.target

    def n_features(self, domain: str) -> int:
        """Return the number of columns that rows of a domain have."""
        return self.space(domain).n_features

    def map(self, domain: str, dtype: str = "float64") -> FloatArray:
        """Return :math:`W_s` or :math:`W_t`."""
        r = self.source.dimension
        first = check_choice(domain, "domain", DOMAINS) == "source"
        return np.asarray(self.components[:r] if first else self.components[r:], dtype=dtype)

    @property
    def arrays(self) -> tuple[FloatArray, ...]:
        """The arrays that tell it from another space."""
        return self.components, np.zeros(0) if self.offsets is None else self.offsets

    @property
    def held_shape(self) -> tuple[int, int]:
        """The shape of the components, for :func:`isthmus._core.threads.cap_threads`."""
        rows, columns = self.components.shape
        return rows, columns

    @property
    def dimension(self) -> int:
        """The number of columns of :meth:`embed`."""
        return int(self.components.shape[1]) + len(self.outside_axes)

    @cached_property
    def outside_axes(self) -> dict[str, int]:
        """The extra column that carries the length outside the span, for each domain that needs one."""
        if self.projected or self.parts:
            return {}
        needed = [d for d in DOMAINS if not self.space(d).complete]
        return {d: self.components.shape[1] + k for k, d in enumerate(needed)}

    def embed(self, X: Any, domain: str) -> FloatArray:
        """Map rows to points of the common space, in their own precision.

        Comparing points there compares rows: exactly so across the domains, and to every row that was learned from.
        Two rows of one domain that both leave the span of those are embedded with the length, not the direction, of
        what is outside; :meth:`squared_distances` is exact for them too.
        """
        space: Any = self.space(domain)
        X = self._rows(X, domain)
        dtype = "float32" if X.dtype == np.float32 else "float64"
        offset = 0.0 if self.offsets is None else self.offsets[DOMAINS.index(domain)].astype(dtype)
        if isinstance(space, FeatureSpace) and not self.outside_axes:
            points = np.asarray(space.coordinates(X) @ self.map(domain, dtype), dtype=dtype)
            points += offset
            return self._scale_parts(points)
        W, axis = self.map(domain), self.outside_axes.get(domain)
        E = np.zeros((X.shape[0], self.dimension), dtype=dtype)
        for start in range(0, X.shape[0], BLOCK):
            rows = slice(start, start + BLOCK)
            C = space.coordinates(X[rows])
            E[rows, : W.shape[1]] = C @ W + offset
            if axis is not None:
                E[rows, axis] = np.sqrt(space.outside(X[rows], C))
        return self._scale_parts(E)

    def _rows(self, X: Any, domain: str, name: str = "X") -> Matrix:
        """Check rows of a domain; there may be none."""
        return check_matrix(X, name, n_columns=self.n_features(domain), min_rows=0)

    def _scale_parts(self, E: FloatArray) -> FloatArray:
        """Scale parts of points (n, k) to unit length, in place; a part that is zero stays zero."""
        start = 0
        for width in self.parts:
            part = E[:, start : start + width]
            lengths = np.sqrt(np.einsum("ij,ij->i", part, part))
            part /= np.where(lengths > 0.0, lengths, 1.0)[:, None]
            start += width
        return E

    def squared_distances(self, A: Any, B: Any, domains: tuple[str, str]) -> FloatArray:
        """Return all squared distances (n, m) between rows of the named domains, which may be the same one."""
        domains = two_names(domains)
        A, B = self._rows(A, domains[0], "A"), self._rows(B, domains[1], "B")
        if domains[0] != domains[1] or domains[0] not in self.outside_axes:
            return _squared_euclidean(self.embed(A, domains[0]), self.embed(B, domains[1]))
        space: Any = self.space(domains[0])
        W, CA, CB = self.map(domains[0]), space.coordinates(A), space.coordinates(B)
        outside = space.outside(A, CA)[:, None] + space.outside(B, CB)[None, :]
        outside = outside - 2.0 * space.outside_products(A, B, CA, CB)
        return np.asarray(_squared_euclidean(CA @ W, CB @ W) + np.maximum(outside, 0.0))

    def similarities(self, A: Any, B: Any, domains: tuple[str, str]) -> FloatArray:
        """Return all inner products (n, m) of rows of one domain and rows of the other."""
        domains = two_names(domains, across=True)
        A, B = self._rows(A, domains[0], "A"), self._rows(B, domains[1], "B")
        return np.asarray(self.embed(A, domains[0]) @ self.embed(B, domains[1]).T)

    def rank(self, queries: FloatArray, references: FloatArray, k: int) -> tuple[FloatArray, IntArray]:
        """Rank the k best references for each query point: distances or inner products, and numbers, best first."""
        k = int(check_number(k, "k", low=1, high=len(references), whole=True))
        if self.kind == DISTANCE:
            # In the precision of the references: scikit-learn is several times slower on a mixture.
            found = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(references)
            distances, numbers = found.kneighbors(queries.astype(references.dtype, copy=False))
            return np.asarray(distances), np.asarray(numbers)
        blocks = [top_k(queries[i : i + QUERY_BLOCK] @ references.T, k) for i in range(0, len(queries), QUERY_BLOCK)]
        products, numbers = zip(*blocks, strict=True)
        return np.concatenate(products), np.concatenate(numbers)

    def scores(self, queries: FloatArray, references: FloatArray) -> FloatArray:
        """Return all similarities (n, m), the larger the nearer: products, or minus half the squared distances."""
        return score_points(queries, references, INNER_PRODUCT if self.parts else self.kind)

    def matrix(self) -> FloatArray:
        """Return M over the joint coordinates, (r_s + r_t, r_s + r_t), without offsets."""
        if self.parts:
            raise InputError("matrix: expected a linear map, got points that are scaled to unit length.")
        return np.asarray(self.components @ self.components.T)

    def feature_matrix(self) -> FloatArray:
        """Return M over the features of both domains, (d_s + d_t, d_s + d_t), without offsets; linear kernels only.

        Of inner products it is W_s W_tᵀ, (d_s, d_t).
        """
        if self.kind == INNER_PRODUCT and not self.parts:
            W_s, W_t = (self.space(domain).basis() @ self.map(domain) for domain in DOMAINS)
            return np.asarray(W_s @ W_t.T)
        Q = sla.block_diag(self.source.basis(), self.target.basis())
        M = Q @ self.matrix() @ Q.T
        for domain, start in (("source", 0), ("target", self.source.n_features)):
            if domain in self.outside_axes:
                B, part = self.space(domain).basis(), slice(start, start + self.space(domain).n_features)
                M[part, part] += np.eye(len(B)) - B @ B.T
        return np.asarray(M)


def two_names(domains: Any, *, across: bool = False) -> tuple[str, str]:
    """Check and return two names of domains; ``across`` for those of both, in either order."""
    if not isinstance(domains, tuple | list) or len(domains) != 2:
        raise InputError(f"domains: expected two names, such as ('source', 'target'), got {show_value(domains)}.")
    first, second = (check_choice(domain, "domains", DOMAINS) for domain in domains)
    if across and first == second:
        raise InputError(f"domains: expected one source and one target, got {domains!r}.")
    return first, second


def _squared_euclidean(A: FloatArray, B: FloatArray) -> FloatArray:
    D = pairwise.euclidean_distances(A, B, squared=True)
    return np.asarray(np.maximum(D, 0.0, out=D))


def top_k(S: FloatArray, k: int) -> tuple[FloatArray, IntArray]:
    """Return the k largest of each row and where they are, largest first, the first of equals first."""
    m = S.shape[1]
    if k >= m:
        return _sort_descending(S, np.tile(np.arange(m), (len(S), 1)))
    kept = np.sort(np.argpartition(S, m - k, axis=1)[:, m - k :], axis=1)
    least = np.take_along_axis(S, kept, axis=1).min(axis=1)
    # Of several that are equal to the last one, the partition may have taken any.
    tied = np.flatnonzero((least[:, None] <= S).sum(axis=1) > k)
    kept[tied] = np.argsort(-S[tied], axis=1, kind="stable")[:, :k]
    kept[tied] = np.sort(kept[tied], axis=1)
    return _sort_descending(np.take_along_axis(S, kept, axis=1), kept)


def score_points(queries: FloatArray, references: FloatArray, kind: str) -> FloatArray:
    """Return all similarities (n, m) of points, the larger the nearer: products, or minus half the squared distances.

    These are computed from products, as there is no room for a table of differences.
    """
    products = np.asarray(queries @ references.T)
    if kind == INNER_PRODUCT:
        return products
    squares = [np.einsum("ij,ij->i", P, P) for P in (queries, references)]
    return np.asarray(products - 0.5 * squares[0][:, None] - 0.5 * squares[1][None, :])


def _sort_descending(values: FloatArray, places: IntArray) -> tuple[FloatArray, IntArray]:
    order = np.argsort(-values, axis=1, kind="stable")
    return np.take_along_axis(values, order, axis=1), np.take_along_axis(places, order, axis=1)
