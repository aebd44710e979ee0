"""Kernels, each a frozen dataclass with one formula, and their approximation by landmarks (Nyström).

A kernel turns rows into inner products. A bandwidth or scale is a number, or a rule such as "median" by which
``kernel.resolve(X)`` computes the number from the rows of a domain, so that the unit of the features does not matter.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import scipy.linalg as sla
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise, pairwise_distances_argmin

from isthmus._core.linalg import pivoted_cholesky, squared_norms
from isthmus._core.validation import FloatArray, Matrix, ShortRepr, check_choice, check_number, is_sparse
from isthmus.exceptions import InputError

__all__ = ["RBF", "Cosine", "Kernel", "Landmarks", "Laplacian", "Linear", "OnLandmarks", "Polynomial", "Precomputed"]

# The median distance is taken over all pairs of at most this many rows.
MEDIAN_ROWS = 2000
# By default, the diagonal of a kernel is computed from Gram matrices of this many rows.
DIAGONAL_ROWS = 64


@dataclass(frozen=True)
class Kernel:
    """Base class of kernels: subclasses implement :meth:`gram`, which must be positive semi-definite.

    Examples
    --------
    >>> class Cubic(Kernel):
    ...     def gram(self, A, B):
    ...         return (A @ B.T) ** 3
    >>> Cubic().diagonal(np.array([[1.0], [2.0]]))
    array([ 1., 64.])
    """

    def gram(self, A: Matrix, B: Matrix) -> FloatArray:
        """Return inner products of the rows of A (n, d) with those of B (m, d), as (n, m)."""
        raise NotImplementedError

    def diagonal(self, A: Matrix) -> FloatArray:
        """Return the inner product of each row with itself (n,), by default from small Gram matrices."""
        blocks = (A[start : start + DIAGONAL_ROWS] for start in range(0, A.shape[0], DIAGONAL_ROWS))
        parts = [np.diagonal(self.gram(rows, rows)) for rows in blocks]
        return np.concatenate(parts) if parts else np.zeros(0)

    def resolve(self, X: Matrix) -> Kernel:
        """Return the kernel with every rule, such as "median", replaced by its number for these rows."""
        return self


@dataclass(frozen=True)
class Linear(Kernel):
    r""":math:`k(x, y) = x^T y`.

    Examples
    --------
    >>> Linear().gram(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """

    def gram(self, A: Matrix, B: Matrix) -> FloatArray:
        """Return inner products; sparse rows stay sparse."""
        return np.asarray(pairwise.linear_kernel(_double(A), _double(B)))

    def diagonal(self, A: Matrix) -> FloatArray:
        """Return squared norms."""
        return squared_norms(A)


@dataclass(frozen=True)
class _OfDistance(Kernel):
    """Base class of kernels that decrease from one with the distance of two rows, in units of a bandwidth."""

    bandwidth: float | str = "median"
    _distances: ClassVar[Callable[..., FloatArray]]

    def __post_init__(self) -> None:
        _number_or_word(self.bandwidth, "bandwidth", "median")

    def diagonal(self, A: Matrix) -> FloatArray:
        """Return ones."""
        return np.ones(A.shape[0])

    def resolve(self, X: Matrix) -> Self:
        """Return the kernel with the median distance of the rows as bandwidth, if that is its rule."""
        if self.bandwidth != "median":
            return self
        return replace(self, bandwidth=_median_distance(X, self._distances))


@dataclass(frozen=True)
class RBF(_OfDistance):
    r""":math:`k(x, y) = \exp(-\|x - y\|^2 / 2b^2)`.

    Parameters
    ----------
    bandwidth : float or "median"
        b; "median" is the median distance between the rows of the domain.

    Examples
    --------
    >>> RBF(bandwidth=1.0).gram(np.zeros((1, 2)), np.ones((1, 2))).round(4)
    array([[0.3679]])
    >>> RBF().resolve(np.array([[0.0], [3.0]]))
    RBF(bandwidth=3.0)
    """

    _distances = staticmethod(pairwise.euclidean_distances)

    def gram(self, A: Matrix, B: Matrix) -> FloatArray:
        """Return Gaussian similarities."""
        b = _resolved_number(self.bandwidth, "bandwidth")
        return np.asarray(pairwise.rbf_kernel(_double(A), _double(B), gamma=0.5 / b**2))


@dataclass(frozen=True)
class Laplacian(_OfDistance):
    r""":math:`k(x, y) = \exp(-\|x - y\|_1 / b)`.

    Parameters
    ----------
    bandwidth : float or "median"
        b; "median" is the median city-block distance between the rows of the domain.
    """

    _distances = staticmethod(pairwise.manhattan_distances)

    def gram(self, A: Matrix, B: Matrix) -> FloatArray:
        """Return exponential similarities."""
        b = _resolved_number(self.bandwidth, "bandwidth")
        return np.asarray(pairwise.laplacian_kernel(_double(A), _double(B), gamma=1.0 / b))


@dataclass(frozen=True)
class Polynomial(Kernel):
    r""":math:`k(x, y) = (x^T y / s + c)^p`.

    Parameters
    ----------
    degree : int
        p.
    offset : float
        c, at least zero.
    scale : float or "mean"
        s; "mean" is the mean squared norm of the rows of the domain.
    """

    degree: int = 2
    offset: float = 1.0
    scale: float | str = "mean"

    def __post_init__(self) -> None:
        check_number(self.degree, "degree", low=1, whole=True)
        check_number(self.offset, "offset", low=0.0)
        _number_or_word(self.scale, "scale", "mean")

    def gram(self, A: Matrix, B: Matrix) -> FloatArray:
        """Return powers of inner products."""
        s = _resolved_number(self.scale, "scale")
        return np.asarray((pairwise.linear_kernel(_double(A), _double(B)) / s + self.offset) ** self.degree)

    def diagonal(self, A: Matrix) -> FloatArray:
        """Return powers of squared norms."""
        s = _resolved_number(self.scale, "scale")
        return np.asarray((squared_norms(A) / s + self.offset) ** self.degree)

    def resolve(self, X: Matrix) -> Polynomial:
        """Return the kernel with the mean squared norm of the rows as scale, if that is its rule."""
        if self.scale != "mean":
            return self
        return replace(self, scale=float(squared_norms(X).mean()) or 1.0)


@dataclass(frozen=True)
class Cosine(Kernel):
    r""":math:`k(x, y) = x^T y / \|x\|\|y\|`, zero for a row of zeros."""

    def gram(self, A: Matrix, B: Matrix) -> FloatArray:
        """Return cosines."""
        return np.asarray(pairwise.cosine_similarity(_double(A), _double(B)))

    def diagonal(self, A: Matrix) -> FloatArray:
        """Return one, or zero for a row of zeros."""
        return (squared_norms(A) > 0).astype(np.float64)


@dataclass(frozen=True)
class Precomputed(Kernel):
    """Gram matrices in place of features.

    In ``fit`` a domain is given as its own Gram matrix (n, n), positive semi-definite; a new row is given by its
    inner products with the n rows of ``fit``. These do not show what lies outside the span of those rows, so a new
    row is assumed to lie inside.
    """


KernelSpec: TypeAlias = Kernel | str
_KERNELS: list[type[Kernel]] = [Linear, RBF, Laplacian, Polynomial, Cosine, Precomputed]
_SHORT_NAMES = {kernel.__name__.lower(): kernel for kernel in _KERNELS}


def as_kernel(kernel: KernelSpec, name: str = "kernel") -> Kernel:
    """Return a kernel, given as an instance or by its short name.

    Examples
    --------
    >>> as_kernel("rbf")
    RBF(bandwidth='median')
    """
    if isinstance(kernel, Kernel) and type(kernel) is not Kernel:
        return kernel
    return _SHORT_NAMES[check_choice(kernel, name, _SHORT_NAMES)]()


def _number_or_word(value: Any, name: str, word: str) -> None:
    if not isinstance(value, str):
        check_number(value, name, low=0.0, strict=True)
    elif value != word:
        raise InputError(f"{name}: expected a positive number or {word!r}, got {value!r}.")


def _resolved_number(value: float | str, name: str) -> float:
    if isinstance(value, str):
        raise InputError(f"{name}: expected a number by now, got {value!r}; call kernel.resolve(X) first.")
    return float(value)


def _double(A: Matrix) -> Matrix:
    return A if A.dtype == np.float64 else A.astype(np.float64)


def _median_distance(X: Matrix, distances: Callable[[Matrix], FloatArray]) -> float:
    """Return the median over distinct pairs; over the nonzero ones if most rows coincide, and 1 if all do."""
    if X.shape[0] > MEDIAN_ROWS:
        X = X[np.sort(np.random.default_rng(0).choice(X.shape[0], MEDIAN_ROWS, replace=False))]
    D = distances(_double(X))[np.triu_indices(X.shape[0], k=1)]
    rounding = 1e-7 * D.max(initial=0.0)  # distance of equal rows, by rounding
    distinct = D[rounding < D]
    if not len(distinct):
        return 1.0
    median = float(np.median(D))
    return median if median > rounding else float(np.median(distinct))


# Landmarks are chosen among a sample of this many rows per landmark; larger samples change little.
LOOKED_AT = 20
# Iterations of k-means: more of them hardly reduce the approximation error. MiniBatchKMeans would lose 3 to 15 % of
# the centres.
KMEANS_STEPS = 5


@dataclass(frozen=True, repr=False)
class OnLandmarks(ShortRepr, Kernel):
    """A kernel with chosen landmarks: the result of :meth:`Landmarks.resolve`.

    Parameters
    ----------
    kernel : Kernel
        k, resolved.
    rows : array or CSR (m, d)
        The landmarks L, linearly independent in the feature space of k.
    factor : array (m, m)
        The Cholesky factor of their Gram matrix.
    """

    kernel: Kernel
    rows: Matrix
    factor: FloatArray

    def coordinates(self, X: Matrix) -> FloatArray:
        """Return points (n, m) whose inner products are the approximate kernel values of the rows X (n, d)."""
        return np.asarray(sla.solve_triangular(self.factor, self.kernel.gram(X, self.rows).T, lower=True).T)

    def gram(self, A: Matrix, B: Matrix) -> FloatArray:
        """Return inner products of projections."""
        return self.coordinates(A) @ self.coordinates(B).T

    def diagonal(self, A: Matrix) -> FloatArray:
        """Return squared lengths of projections."""
        return squared_norms(self.coordinates(A))


@dataclass(frozen=True)
class Landmarks(Kernel):
    r"""Nyström approximation of a kernel by m landmarks: :math:`\tilde k(x, y) = k(x, L)\, k(L, L)^{-1}\, k(L, y)`.

    The landmarks are centres of k-means; for sparse rows, the rows nearest to the centres.

    Use it instead of the kernel if a domain has thousands of labelled rows:
    ``MLHD(source_kernel=Landmarks("rbf", 1000))``. Unlabelled rows enter only through their mean, in blocks. If a
    domain has at most m rows, all of them are landmarks and the kernel is exact on them; outside their span the
    metric is zero.

    Parameters
    ----------
    kernel : Kernel or short name
        k.
    n_landmarks : int
        m.
    random_state : int
        Random seed.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> K = as_kernel("rbf").resolve(X).gram(X, X)
    >>> errors = [np.linalg.norm(Landmarks("rbf", m).resolve(X).gram(X, X) - K) / np.linalg.norm(K) for m in (9, 40)]
    >>> errors[0] < 0.1, errors[1] < 0.01
    (np.True_, np.True_)
    """

    kernel: KernelSpec = "rbf"
    n_landmarks: int = 1000
    random_state: int = 0

    def __post_init__(self) -> None:
        if isinstance(as_kernel(self.kernel), Precomputed | Landmarks):
            raise InputError(f"kernel: expected a kernel of features, got {self.kernel!r}.")
        check_number(self.n_landmarks, "n_landmarks", low=1, whole=True)
        check_number(self.random_state, "random_state", low=0, whole=True)

    def gram(self, A: Matrix, B: Matrix) -> FloatArray:
        """Raise an error: landmarks are chosen by :meth:`resolve`."""
        raise InputError("kernel: expected landmarks by now, got none; call kernel.resolve(X) first.")

    def resolve(self, X: Matrix) -> OnLandmarks:
        """Return the kernel with landmarks chosen from these rows."""
        kernel, m = as_kernel(self.kernel).resolve(X), int(self.n_landmarks)
        if X.shape[0] > m:
            rng = np.random.default_rng(self.random_state)
            if X.shape[0] > LOOKED_AT * m:
                X = X[np.sort(rng.choice(X.shape[0], LOOKED_AT * m, replace=False))]
            X = _find_centres(X, m, int(rng.integers(2**31)))
        C, pivots = pivoted_cholesky(kernel.gram(X, X))
        if not len(pivots):
            raise InputError("kernel: expected rows that are not all zero to it, got only zeros as landmarks.")
        return OnLandmarks(kernel, X[pivots], C[pivots])


def _find_centres(X: Matrix, m: int, seed: int) -> Matrix:
    with warnings.catch_warnings():  # fewer distinct rows than centres: the caller drops repeated centres
        warnings.simplefilter("ignore", ConvergenceWarning)
        from sklearn.cluster import KMeans

        means = KMeans(m, n_init=1, max_iter=KMEANS_STEPS, random_state=seed).fit(X)
    centres = np.asarray(means.cluster_centers_, dtype=np.float64)
    return X[np.unique(pairwise_distances_argmin(centres, X))] if is_sparse(X) else centres
