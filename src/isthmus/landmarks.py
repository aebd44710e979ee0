r"""A kernel by landmarks: what a kernel costs when there are too many rows for it.

A kernel over n rows is a space of up to n dimensions. With m landmarks it is one of m (Nyström), in which a row is
the projection of what it was: inner products become

.. math:: \tilde k(x, y) = k(x, L)\, k(L, L)^{-1}\, k(L, y),

which is k(x, y) where x or y is a landmark, and everywhere where all rows are. No row gets longer:
:math:`\tilde k(x, x) \le k(x, x)`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin

from isthmus._arrays import FloatArray, IntArray, Matrix, is_sparse
from isthmus._validation import choice, number, short_repr
from isthmus.exceptions import InputError
from isthmus.kernels import Kernel, KernelSpec, Precomputed, as_kernel
from isthmus.linalg import pivoted_cholesky

__all__ = ["Landmarks", "OnLandmarks"]

LOOKED_AT = 20
"""Landmarks are chosen among at most this many rows for each of them: more change little."""
KMEANS_STEPS = 5
"""More move the centres, and what they leave of the rows hardly at all; batches lose 3 to 15 % of the centres."""
ROUNDING = 1e-12
"""What is left of a row, below this part of the longest one, is rounding and no reason to choose it."""


@short_repr
@dataclass(frozen=True)
class OnLandmarks(Kernel):
    """A kernel with its landmarks: what :class:`Landmarks` is once the rows of a domain are known.

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
        """Rows (n, d) as points (n, m) whose ordinary inner products are those of the kernel."""
        return np.asarray(sla.solve_triangular(self.factor, self.kernel.gram(X, self.rows).T, lower=True).T)

    def gram(self, A: Matrix, B: Matrix) -> FloatArray:
        """Inner products of projections."""
        return self.coordinates(A) @ self.coordinates(B).T

    def diagonal(self, A: Matrix) -> FloatArray:
        """Squared lengths of projections."""
        C = self.coordinates(A)
        return np.asarray(np.einsum("ij,ij->i", C, C))


@dataclass(frozen=True)
class Landmarks(Kernel):
    r"""Another kernel, seen from m landmarks: :math:`\tilde k(x, y) = k(x, L)\, k(L, L)^{-1}\, k(L, y)`.

    Use it in the place of the kernel where a domain has thousands of labelled rows:
    ``MLHD(source_kernel=Landmarks("rbf", 1000))``. Rows without a label enter through their mean alone, by blocks.
    Where a domain has at most m rows, all of them are landmarks, and nothing is lost but what lies outside their
    span, where the metric is then zero.

    Parameters
    ----------
    kernel : Kernel or short name
        k.
    n_landmarks : int
        m.
    sampling : {"kmeans", "uniform", "leverage"}
        Where landmarks come from: the centres of k-means (sparse rows: the rows next to them), rows at random, or
        rows drawn with the odds of their leverage, which is large where other rows tell little of them.
    random_state : int
        The seed of the choice.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> K = as_kernel("rbf").resolved(X).gram(X, X)
    >>> errors = [np.linalg.norm(Landmarks("rbf", m).resolved(X).gram(X, X) - K) / np.linalg.norm(K) for m in (9, 40)]
    >>> errors[0] < 0.1, errors[1] < 0.01
    (np.True_, np.True_)
    """

    kernel: KernelSpec = "rbf"
    n_landmarks: int = 1000
    sampling: str = "kmeans"
    random_state: int = 0

    def __post_init__(self) -> None:
        if isinstance(as_kernel(self.kernel), Precomputed | Landmarks):
            raise InputError(f"kernel: expected one of rows with features, got {self.kernel!r}.")
        number(self.n_landmarks, "n_landmarks", low=1, whole=True)
        choice(self.sampling, "sampling", tuple(SAMPLINGS))
        number(self.random_state, "random_state", low=0, whole=True)

    def gram(self, A: Matrix, B: Matrix) -> FloatArray:
        """There is none before the landmarks are known."""
        raise InputError("kernel: expected landmarks by now, got none; take kernel.resolved(X) first.")

    def resolved(self, X: Matrix) -> OnLandmarks:
        """With landmarks of these rows."""
        kernel, m = as_kernel(self.kernel).resolved(X), int(self.n_landmarks)
        if X.shape[0] > m:
            rng = np.random.default_rng(self.random_state)
            X = SAMPLINGS[self.sampling](X[_some(X.shape[0], LOOKED_AT * m, rng)], kernel, m, rng)
        C, pivots = pivoted_cholesky(kernel.gram(X, X))
        if not len(pivots):
            raise InputError("kernel: expected rows that are not all zero to it, got no landmark but zeros.")
        return OnLandmarks(kernel, X[pivots], C[pivots])


def _some(n: int, m: int, rng: np.random.Generator) -> IntArray:
    """At most m of n numbers, in order."""
    return np.arange(n) if n <= m else np.sort(rng.choice(n, m, replace=False))


def _uniform(X: Matrix, kernel: Kernel, m: int, rng: np.random.Generator) -> Matrix:
    return X[_some(X.shape[0], m, rng)]


def _centres(X: Matrix, kernel: Kernel, m: int, rng: np.random.Generator) -> Matrix:
    seed = int(rng.integers(2**31))
    with warnings.catch_warnings():  # of equal rows that share a centre: repeated ones are dropped
        warnings.simplefilter("ignore", ConvergenceWarning)
        means = KMeans(m, n_init=1, max_iter=KMEANS_STEPS, random_state=seed).fit(X)
    centres = np.asarray(means.cluster_centers_, dtype=np.float64)
    return X[np.unique(pairwise_distances_argmin(centres, X))] if is_sparse(X) else centres


def _by_leverage(X: Matrix, kernel: Kernel, m: int, rng: np.random.Generator) -> Matrix:
    p = leverage(X, kernel, m, rng)
    return X[np.sort(rng.choice(X.shape[0], m, replace=False, p=p / p.sum()))]


def leverage(X: Matrix, kernel: Kernel, m: int, rng: np.random.Generator) -> FloatArray:
    r"""Ridge leverage (n,) of rows, up to a factor: :math:`k(x, x) - k(x, S) (k(S, S) + \rho I)^{-1} k(S, x)`.

    S is a first sample of m rows, and ρ the mean of the smaller half of the eigenvalues of its Gram matrix: what
    m / 2 landmarks would leave.
    """
    S = _uniform(X, kernel, m, rng)
    values, vectors = np.linalg.eigh(kernel.gram(S, S))
    ridge = max(float(values[: max(1, len(values) // 2)].mean()), np.finfo(np.float64).eps * float(values[-1])) or 1.0
    seen = kernel.gram(X, S) @ (vectors / np.sqrt(np.maximum(values, 0.0) + ridge))
    lengths = kernel.diagonal(X)
    left = lengths - np.einsum("ij,ij->i", seen, seen)
    least = max(1e-6 * float(np.abs(left).max()), ROUNDING * float(lengths.max()))
    return np.asarray(np.maximum(left, least or 1.0))


Sampling = Callable[[Matrix, Kernel, int, np.random.Generator], Matrix]
SAMPLINGS: dict[str, Sampling] = {"kmeans": _centres, "uniform": _uniform, "leverage": _by_leverage}
