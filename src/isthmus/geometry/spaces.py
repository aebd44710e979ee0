"""Coordinates of a domain under a kernel, and of two domains side by side.

A metric is learned from the labelled rows and the mean of all rows, as elements of the kernel's feature space. The
coordinates of a row are those of its projection onto their span, in an orthonormal basis; ``outside`` is the squared
length of the rest.

:class:`FeatureSpace` and :class:`KernelSpace` give new rows their coordinates, :class:`DomainSpan` adds the rows of a
fit, and :class:`JointSpace` puts source and target side by side: [x; 0] and [0; y].
:func:`fit_transformer` and :func:`apply_transformer` preprocess the rows of a domain before that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from sklearn.base import clone

from isthmus._core.linalg import (
    RANK_TOLERANCE,
    PrincipalAxes,
    column_moments,
    pivoted_cholesky,
    principal_axes,
    squared_norms,
)
from isthmus._core.validation import UNLABELLED, FloatArray, IntArray, Matrix, ShortRepr, as_dense, is_sparse
from isthmus.data.domains import Domain, KnownPairs, TwoDomains
from isthmus.exceptions import InputError
from isthmus.geometry.kernels import (
    RBF,
    Cosine,
    Kernel,
    Landmarks,
    Laplacian,
    Linear,
    OnLandmarks,
    Precomputed,
    as_kernel,
)

# Memory for kernel values while they are summed in blocks.
BLOCK_BYTES = 2**25
# A projection whose squared length exceeds that of its row by more than this part proves that a kernel is indefinite.
SHORTER = 1e-6


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """Features as coordinates, with nothing outside: the linear kernel or, with unit rows, the cosine."""

    n_features: int
    kernel: Kernel = field(default_factory=Linear)
    complete: bool = True  # Nothing lies outside the coordinates.

    @property
    def dimension(self) -> int:
        """The number r of coordinates: as many as there are features."""
        return self.n_features

    def coordinates(self, X: Matrix) -> Matrix:
        """Return coordinates (n, r) of rows (n, d): the rows, as they are or of unit length, dense or sparse."""
        return _unit_rows(X) if isinstance(self.kernel, Cosine) else X

    def basis(self) -> FloatArray:
        """Return the basis (d, r) in terms of the features: the identity."""
        _check_linear(self.kernel)
        return np.eye(self.n_features)


@dataclass(frozen=True, eq=False, repr=False)
class KernelSpace(ShortRepr):
    r"""The span of anchors under a kernel: :math:`c(x) = L^{-1} k(\text{anchors}, x)`.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    landmarks : array or CSR (r, d) or (r - 1, d); row numbers where the kernel is precomputed
        The anchors that are rows. All anchors are linearly independent.
    factor : array (r, r)
        The Cholesky factor L of the anchors' Gram matrix.
    n_features : int
        d.
    complete : bool
        Whether to ignore what lies outside the span.
    centre : array (d,), optional
        Subtracted from every row, for kernels of differences of rows: far from the origin, differences would be
        dominated by rounding. The landmarks are already centred.
    averaged : array or CSR (n, d), optional
        Rows whose mean in feature space is one more anchor; its kernel values are the means of theirs.
    place : int
        Position of that anchor among all anchors.
    """

    kernel: Kernel
    landmarks: Matrix
    factor: FloatArray
    n_features: int
    complete: bool
    centre: FloatArray | None = None
    averaged: Matrix | None = None
    place: int = 0

    @property
    def dimension(self) -> int:
        """The number of anchors."""
        return len(self.factor)

    def coordinates(self, X: Matrix) -> Matrix:
        """Return coordinates (n, r) of rows (n, d): kernel values with the anchors, times the inverse factor."""
        if self.dimension == 0:
            return np.zeros((X.shape[0], 0))
        if isinstance(self.kernel, Precomputed):
            K = as_dense(X[:, self.landmarks])
        else:
            X = centre_rows(X, self.centre)
            K = self.kernel.gram(X, self.landmarks)
            if self.averaged is not None:
                K = np.insert(K, self.place, mean_products(self.kernel, X, self.averaged), axis=1)
        return sla.solve_triangular(self.factor, K.T, lower=True).T

    def outside(self, X: Matrix, C: FloatArray) -> FloatArray:
        """Return squared lengths (n,) outside the span: k(x, x) minus the squared length of the coordinates."""
        total = self.kernel.diagonal(centre_rows(X, self.centre))
        rest = total - squared_norms(C)
        if (rest < -SHORTER * total).any():
            raise InputError("kernel: expected a positive semi-definite one, got a row shorter than its projection.")
        return np.where(rest > 10 * RANK_TOLERANCE * total, rest, 0.0)

    def outside_products(self, A: Matrix, B: Matrix, CA: FloatArray, CB: FloatArray) -> FloatArray:
        """Return inner products (n, m) outside the span: k(a, b) minus the inner products of the coordinates."""
        return self.kernel.gram(centre_rows(A, self.centre), centre_rows(B, self.centre)) - CA @ CB.T

    def basis(self) -> FloatArray:
        """Return the basis (d, r) in terms of the features, for a linear kernel."""
        _check_linear(self.kernel)
        rows: Any = self.landmarks.toarray() if is_sparse(self.landmarks) else self.landmarks
        return np.asarray(sla.solve_triangular(self.factor, rows, lower=True).T)


# The coordinates of a domain that :class:`CommonSpace` is built on.
Space: TypeAlias = FeatureSpace | KernelSpace


def _check_linear(kernel: Kernel) -> None:
    if not isinstance(kernel, Linear):
        raise InputError(f"kernel: expected a linear one, whose metric is a matrix over features, got {kernel}.")


def _unit_rows(X: Matrix) -> Matrix:
    """Scale rows to length one, in their own precision; rows of zeros stay zero."""
    lengths = np.sqrt(squared_norms(X))
    factors = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
    scaled = sp.diags_array(factors) @ X if is_sparse(X) else X * factors[:, None]
    return scaled.astype(X.dtype, copy=False)


def centre_rows(X: Matrix, centre: FloatArray | None) -> Matrix:
    """Subtract a centre from rows, if there is one."""
    return X if centre is None else as_dense(X) - centre


def mean_products(kernel: Kernel, A: Matrix, X: Matrix) -> FloatArray:
    """Return the mean of k(a, x) over the rows x of X (n, d), for each row a of A (m, d); computed in blocks of X."""
    size = max(1, BLOCK_BYTES // (8 * max(1, A.shape[0])))
    sums = [kernel.gram(A, X[i : i + size]).sum(axis=1) for i in range(0, X.shape[0], size)]
    return np.asarray(np.sum(sums, axis=0) / X.shape[0])


def mean_square(kernel: Kernel, X: Matrix) -> float:
    """Return the squared length of the mean of rows X (n, d) in feature space: the mean of all n² values k(x, x').

    Computed in blocks of the upper triangle.
    """
    n, start, total = X.shape[0], 0, 0.0
    while start < n:
        stop = min(n, start + max(1, BLOCK_BYTES // (8 * (n - start))))
        K = kernel.gram(X[start:stop], X[start:])
        total += 2.0 * float(K.sum()) - float(K[:, : stop - start].sum())
        start = stop
    return total / float(n) ** 2


# Up to this many columns, dense features are used as coordinates (linear and cosine kernel) even with fewer rows.
WIDE = 1024
# A variance computed as a difference is rounding, and set to zero, below this part of the mean squared length.
CANCELLED = 1e-13


@dataclass(frozen=True, eq=False)
class DomainSpan:
    """A domain's space, its training rows (labelled or in a pair), and moments of all its rows.

    Parameters
    ----------
    space : Space
        Gives new rows their coordinates.
    points : array (m, r)
        Coordinates of the training rows.
    y : array (m,)
        Their label codes, -1 for unlabelled.
    mean : array (r,)
        Coordinates of the mean of all rows, labelled or not. NaN, like the next two, if not computed.
    variance, squared : float
        The mean squared length of all rows, with and without their mean subtracted.
    """

    space: Space
    points: FloatArray
    y: IntArray
    mean: FloatArray
    variance: float
    squared: float

    @property
    def labelled(self) -> IntArray:
        """Which of the points have a label."""
        return np.flatnonzero(self.y != UNLABELLED)


def span_of_features(domain: Domain, rows: IntArray, kernel: Kernel | None = None) -> DomainSpan:
    """Return a domain with its features as coordinates; the cosine kernel scales rows to unit length."""
    y, space = domain.y[rows], FeatureSpace(domain.X.shape[1], kernel or Linear())
    if not is_sparse(domain.X):
        Z = as_dense(space.coordinates(as_dense(domain.X)))
        mean, variances = column_moments(Z)
        squared = float(squared_norms(Z).mean())
        return DomainSpan(space, Z if len(rows) == len(Z) else Z[rows], y, mean, float(variances.sum()), squared)
    X = space.coordinates(domain.X.astype(np.float64))  # squares of single precision would lose digits
    mean, squares = (np.asarray(S.mean(axis=0)).ravel() for S in (X, X.multiply(X)))
    variance = float(np.maximum(squares - mean**2, 0.0).sum())
    return DomainSpan(space, as_dense(X[rows]), y, mean, variance, float(squares.sum()))


def span_of_kernel(
    domain: Domain,
    rows: IntArray,
    kernel: Kernel,
    *,
    name: str,
    outside: str = "identity",
    every_row: bool = False,
    mean: bool = True,
) -> DomainSpan:
    """Return a domain in coordinates of a kernel, which is resolved on all rows; ``rows`` are the training rows.

    The optimum lies in the span of the training rows and, if it is used (``mean``), the mean of all rows. The span of
    ``every_row`` costs the Gram matrix of all rows, and is always used if the metric is zero ``outside``.
    """
    n, d = domain.X.shape
    narrow = outside == "identity" and d <= (n if is_sparse(domain.X) else max(n, WIDE))
    if isinstance(kernel, Linear | Cosine) and narrow:
        return span_of_features(domain, rows, kernel)
    if isinstance(kernel, Linear) and d < n:
        return _span_row_space(domain, rows)
    centre = find_centre(domain.X, kernel)
    X = centre_rows(domain.X, centre)
    kernel = kernel.resolve(X)
    if isinstance(kernel, OnLandmarks):
        return _span_landmarks(X, domain.y, rows, kernel, centre)
    complete = outside == "zero" or isinstance(kernel, Precomputed)
    if every_row or complete or len(rows) == n:
        return _span_all_rows(X, domain.y, rows, kernel, complete, centre, name)
    span = _span_with_mean if mean else _span_rows
    return span(X, domain.y, rows, kernel, centre)


def _span_all_rows(
    X: Matrix, y: IntArray, rows: IntArray, kernel: Kernel, complete: bool, centre: FloatArray | None, name: str
) -> DomainSpan:
    """Return the span of all rows."""
    precomputed = isinstance(kernel, Precomputed)
    K, whose = (_check_square(X, name), name) if precomputed else (kernel.gram(X, X), "kernel")
    C, pivots = pivoted_cholesky(K, whose)
    space = KernelSpace(kernel, pivots if precomputed else X[pivots], C[pivots], X.shape[1], complete, centre)
    return _make_span(space, C, y, rows)


def _span_rows(X: Matrix, y: IntArray, rows: IntArray, kernel: Kernel, centre: FloatArray | None) -> DomainSpan:
    """Return the span of the training rows, without the moments of all rows."""
    C, pivots = pivoted_cholesky(kernel.gram(X[rows], X[rows]))
    space = KernelSpace(kernel, X[rows[pivots]], C[pivots], X.shape[1], complete=False, centre=centre)
    return DomainSpan(space, C, y[rows], np.full(C.shape[1], np.nan), np.nan, np.nan)


def _span_with_mean(X: Matrix, y: IntArray, rows: IntArray, kernel: Kernel, centre: FloatArray | None) -> DomainSpan:
    """Return the span of the training rows and the mean of all rows, which is an element of feature space."""
    m, R = len(rows), X[rows]
    if isinstance(kernel, Linear):  # here the mean can be written as a row
        mean = X.mean(axis=0, dtype=np.float64)
        R = sp.vstack([R, sp.csr_matrix(mean)], format="csr") if is_sparse(X) else np.vstack([R, mean])
        K = kernel.gram(R, R)
    else:
        g = mean_products(kernel, R, X)
        K = np.block([[kernel.gram(R, R), g[:, None]], [g[None], np.full((1, 1), mean_square(kernel, X))]])
    C, pivots = pivoted_cholesky(K)
    places = np.flatnonzero(pivots == m)
    averaged = X if len(places) and not isinstance(kernel, Linear) else None
    landmarks, place = (R[pivots], 0) if averaged is None else (R[pivots[pivots != m]], int(places[0]))
    space = KernelSpace(kernel, landmarks, C[pivots], X.shape[1], False, centre, averaged, place)
    squared = float(kernel.diagonal(X).mean())
    variance = squared - float(K[m, m])
    return DomainSpan(space, C[:m], y[rows], C[m], variance if variance > CANCELLED * squared else 0.0, squared)


def find_centre(X: Matrix, kernel: Kernel) -> FloatArray | None:
    """Return the mean of dense rows for kernels of differences, which are rounding far from the origin; else None."""
    inner = as_kernel(kernel.kernel) if isinstance(kernel, Landmarks) else kernel
    if is_sparse(X) or not isinstance(inner, RBF | Laplacian):
        return None
    return np.asarray(X.mean(axis=0, dtype=np.float64))


def _span_landmarks(
    X: Matrix, y: IntArray, rows: IntArray, kernel: OnLandmarks, centre: FloatArray | None
) -> DomainSpan:
    """Return the span of landmarks; the moments of all rows are computed in blocks."""
    d, r = X.shape[1], len(kernel.factor)
    space = KernelSpace(kernel.kernel, kernel.rows, kernel.factor, d, complete=True, centre=centre)
    n, size, total, squared = X.shape[0], max(1, BLOCK_BYTES // (8 * r)), np.zeros(r), 0.0
    for start in range(0, n, size):
        C = kernel.coordinates(X[start : start + size])
        total += C.sum(axis=0)
        squared += float(np.einsum("ij,ij->", C, C))
    mean, squared = total / n, squared / n
    variance = squared - float(mean @ mean)
    variance = variance if variance > CANCELLED * squared else 0.0
    return DomainSpan(space, kernel.coordinates(X[rows]), y[rows], mean, variance, squared)


def _span_row_space(domain: Domain, rows: IntArray) -> DomainSpan:
    """Return the span of all rows under the linear kernel, for more rows than columns; the rest is ignored."""
    X = domain.X
    basis = principal_axes(X, centre=False, tolerance=RANK_TOLERANCE**0.5).axes.T
    space = KernelSpace(Linear(), basis, np.eye(len(basis)), X.shape[1], complete=True)
    return _make_span(space, space.coordinates(X), domain.y, rows)


def _make_span(space: Space, C: FloatArray, y: IntArray, rows: IntArray) -> DomainSpan:
    """Return the span of a domain, given the coordinates C (n, r) of all its rows."""
    squared = float((C**2).sum(axis=1).mean())
    return DomainSpan(space, C[rows], y[rows], C.mean(axis=0), float(C.var(axis=0).sum()), squared)


def _check_square(X: Matrix, name: str) -> FloatArray:
    K = as_dense(X)
    if K.shape[0] != K.shape[1]:
        raise InputError(f"{name}: expected a square Gram matrix for a precomputed kernel, got {K.shape}.")
    scale = np.abs(K).max(initial=0.0)
    if not np.allclose(K, K.T, atol=1e-8 * scale):
        raise InputError(f"{name}: expected a symmetric Gram matrix, got one that is not.")
    return K


@dataclass(frozen=True, eq=False)
class JointSpace:
    r"""Coordinates of both domains: a source row is :math:`[x; 0]`, a target row :math:`[0; y]`.

    Parameters
    ----------
    source, target : DomainSpan
        The two domains.
    n_classes : int
        Number of classes.
    pairs : KnownPairs, optional
        Known pairs, as indices into ``source.points`` and ``target.points``.

    Examples
    --------
    >>> from isthmus.data.domains import TwoDomains
    >>> from isthmus.geometry.kernels import Linear
    >>> domains = TwoDomains.of([[1.0], [3.0]], ["a", "b"], [[5.0, 6.0], [7.0, 8.0]], ["b", None])
    >>> joint = JointSpace.of(domains, (Linear(), Linear()))
    >>> joint.rows
    array([[1., 0., 0.],
           [3., 0., 0.],
           [0., 5., 6.]])
    >>> joint.shift, joint.spread
    (array([ 2., -6., -7.]), 3.0)
    """

    source: DomainSpan
    target: DomainSpan
    n_classes: int
    pairs: KnownPairs | None = None

    @classmethod
    def of(cls, domains: TwoDomains, kernels: tuple[Kernel, Kernel], **options: Any) -> JointSpace:
        """Build the joint space under two kernels; the options are those of :func:`span_of_kernel`."""
        source, target = (
            span_of_kernel(domain, rows, kernel, name=name, **options)
            for (name, domain, rows), kernel in zip(_sides(domains), kernels, strict=True)
        )
        return cls(source, target, len(domains.classes), _places(domains))

    @classmethod
    def of_features(cls, domains: TwoDomains) -> JointSpace:
        """Build the joint space whose coordinates are the features as they are."""
        source, target = (span_of_features(domain, rows) for _, domain, rows in _sides(domains))
        return cls(source, target, len(domains.classes), _places(domains))

    @property
    def known(self) -> KnownPairs:
        """The known pairs; raise without any."""
        if self.pairs is None:
            raise InputError("pairs: expected known pairs of rows, got None.")
        return self.pairs

    @property
    def rows(self) -> FloatArray:
        """The points of the source, then those of the target, in all coordinates."""
        return np.asarray(sla.block_diag(self.source.points, self.target.points))

    @property
    def y(self) -> IntArray:
        """The label codes of :attr:`rows`."""
        return np.concatenate([self.source.y, self.target.y])

    @property
    def runs(self) -> tuple[slice, slice]:
        """The slices of :attr:`rows` that are the source and the target."""
        n = len(self.source.points)
        return slice(0, n), slice(n, n + len(self.target.points))

    @property
    def shift(self) -> FloatArray:
        """z̄: the mean of all source rows minus the mean of all target rows, in all coordinates."""
        return np.concatenate([self.source.mean, -self.target.mean])

    @property
    def spread(self) -> float:
        """The mean squared distance between source and target rows, if the means of both domains were equal.

        It is a unit of squared distance that needs no labels, scales with the features, does not depend on their
        origin, and is positive also if all cross-domain distances are equal (an RBF kernel). If all rows of each
        domain are equal, it is the sum of the mean squared lengths, or one if that is zero too.
        """
        variance = self.source.variance + self.target.variance
        squared = self.source.squared + self.target.squared
        return variance if variance > np.finfo(np.float64).eps ** 1.5 * squared else squared or 1.0


def _sides(domains: TwoDomains) -> list[tuple[str, Domain, IntArray]]:
    """Return, for each domain, its name, the domain, and the numbers of its rows with a label or in a pair."""
    both = ("X_source", domains.source), ("X_target", domains.target)
    sides = [(name, domain, domain.labelled) for name, domain in both]
    if domains.pairs is None:
        return sides
    paired = domains.pairs.source, domains.pairs.target
    return [(name, side, np.union1d(rows, paired[k])) for k, (name, side, rows) in enumerate(sides)]


def _places(domains: TwoDomains) -> KnownPairs | None:
    """Return the pairs as indices into the training rows of each domain."""
    if domains.pairs is None:
        return None
    source, target = (rows for _, _, rows in _sides(domains))
    return domains.pairs.among((source, target))


def find_axes(X: Matrix, whose: str, **options: Any) -> PrincipalAxes:
    """Return the principal axes of rows; raise where all are equal, in a sentence that begins with ``whose``."""
    axes = principal_axes(X, **options)
    if not axes.axes.shape[1]:
        raise InputError(f"{whose} rows that differ from each other, got equal ones.")
    return axes


def fit_transformer(transformer: Any, X: Any, name: str) -> Any:
    """Return a fitted copy of a transformer or pipeline; None if there is none."""
    if transformer is None:
        return None
    fitted = clone(transformer)
    _call_transformer(fitted.fit, X, name, fitted)
    return fitted


def apply_transformer(transformer: Any, X: Any, name: str) -> Any:
    """Return rows transformed by a fitted transformer; unchanged if there is none."""
    return X if transformer is None else _call_transformer(transformer.transform, X, name, transformer)


def check_transformer(transformer: Any, name: str) -> None:
    """Raise unless this is None or an unfitted transformer."""
    if transformer is None:
        return
    if isinstance(transformer, type) or not (hasattr(transformer, "fit") and hasattr(transformer, "transform")):
        raise InputError(f"{name}: expected None or an object with fit and transform, got {transformer!r:.60}.")


def _call_transformer(method: Any, X: Any, name: str, transformer: Any) -> Any:
    try:
        return method(X)
    except (TypeError, ValueError, AttributeError) as error:
        wanted, reason = type(transformer).__name__, " ".join(str(error).split())[:200]
        raise InputError(f"{name}: expected rows that {wanted} can take, got '{reason}'.") from error
