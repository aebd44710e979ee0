"""Support vector machines of several classes as one value: kernel expansions, one against the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from isthmus._arrays import FloatArray, IntArray, Matrix, as_dense, is_sparse
from isthmus.kernels import RBF, Kernel, Linear
from isthmus.spaces.space import centred

CACHE = 500
"""Megabytes of kernel values that libsvm may keep."""
FAR = 20.0
"""Half the distance of two domains along a coordinate of their own: exp(-(2 · 20)²) is zero in double precision."""
BLOCK = 2048


@dataclass(frozen=True, eq=False)
class KernelMachine:
    r"""Scores :math:`f_c(y) = \sum_j a_{jc} k(y_j, y) + b_c` of several classes.

    Parameters
    ----------
    kernel : Kernel
        k, without words.
    support : array or CSR (m, d)
        The rows that it needs.
    coefficients : array (m, C)
        a.
    intercepts : array (C,)
        b.
    centre : array (d,), optional
        What is taken away from rows before the kernel sees them; the support is without it.
    """

    kernel: Kernel
    support: Matrix
    coefficients: FloatArray
    intercepts: FloatArray
    centre: FloatArray | None = None

    def scores(self, X: Matrix) -> FloatArray:
        """The scores (n, C) of rows."""
        scores = np.tile(self.intercepts, (X.shape[0], 1))
        for start in range(0, X.shape[0] if self.support.shape[0] else 0, BLOCK):
            rows = slice(start, start + BLOCK)
            scores[rows] += self.kernel.gram(centred(X[rows], self.centre), self.support) @ self.coefficients
        return scores


@dataclass(frozen=True, eq=False)
class DirectSum:
    """Rows of two domains with the kernel k_s ⊕ k_t: zero across the domains.

    Two RBF kernels are one on rows that have a coordinate more, along which the domains are far apart; two linear
    ones are the linear kernel of [x; 0] and [0; y]. libsvm then computes what it needs. For other kernels their
    (n_s + n_t)² values are made.
    """

    source: Matrix
    target: Matrix
    kernels: tuple[Kernel, Kernel]

    def machine(self, y: IntArray, n_classes: int, C: float, tol: float) -> KernelMachine:
        """One SVM per class over both domains (classes y (n_s + n_t,)), as what it says of target rows."""
        n = self.source.shape[0]
        rows, options = self._rows()
        coefficients, intercepts = np.zeros((self.target.shape[0], n_classes)), np.zeros(n_classes)
        for c in range(n_classes):
            svm = SVC(C=C, tol=tol, cache_size=CACHE, **options).fit(rows, np.where(y == c, 1, -1))
            of_target = svm.support_ >= n
            duals = svm.dual_coef_.toarray() if is_sparse(svm.dual_coef_) else svm.dual_coef_
            coefficients[svm.support_[of_target] - n, c] = duals[0, of_target]
            intercepts[c] = svm.intercept_[0]
        used = np.flatnonzero(coefficients.any(axis=1))
        return KernelMachine(self.kernels[1], self.target[used], coefficients[used], intercepts)

    def _rows(self) -> tuple[Matrix, dict[str, object]]:
        """What libsvm is given, and how it is to take it."""
        X, Y = self.source, self.target
        if all(isinstance(kernel, Linear) for kernel in self.kernels):
            return _beside(X, Y), {"kernel": "linear"}
        if all(isinstance(kernel, RBF) for kernel in self.kernels):
            b_s, b_t = (float(kernel.bandwidth) * np.sqrt(2.0) for kernel in self.kernels)  # type: ignore[attr-defined]
            apart = np.r_[np.full(X.shape[0], FAR), np.full(Y.shape[0], -FAR)][:, None]
            rows = _beside(X / b_s, Y / b_t)
            stacked = sp.hstack([rows, sp.csr_array(apart)], format="csr") if is_sparse(rows) else np.c_[rows, apart]
            return stacked, {"kernel": "rbf", "gamma": 1.0}
        n = X.shape[0]
        K = np.zeros((n + Y.shape[0], n + Y.shape[0]))
        K[:n, :n], K[n:, n:] = self.kernels[0].gram(X, X), self.kernels[1].gram(Y, Y)
        return K, {"kernel": "precomputed"}


def _beside(X: Matrix, Y: Matrix) -> Matrix:
    """[x; 0] for every row of X, then [0; y] for every row of Y."""
    if is_sparse(X) and is_sparse(Y):
        return sp.block_diag([X, Y], format="csr")
    A, B = as_dense(X), as_dense(Y)
    return np.block([[A, np.zeros((len(A), B.shape[1]))], [np.zeros((len(B), A.shape[1])), B]])


def mean_square_rbf(X: Matrix, most: int = 2000) -> RBF:
    """The RBF kernel exp(-d²/m) with m the mean of all squared distances of rows, those to themselves among them.

    Of many rows a fixed sample is taken.
    """
    if X.shape[0] > most:
        X = X[np.sort(np.random.default_rng(0).choice(X.shape[0], most, replace=False))]
    rows = as_dense(X)
    mean = float(cdist(rows, rows, "sqeuclidean").mean())
    return RBF(float(np.sqrt(mean / 2.0)) or 1.0)
