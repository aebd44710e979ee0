r"""Canonical directions of two sets of coordinates, over pairs of rows that are never written out.

.. math:: C_{st} w_t = \lambda (C_{ss} + \rho_s I) w_s, \qquad C_{ts} w_s = \lambda (C_{tt} + \rho_t I) w_t

over pairs that are counted by :math:`L R^T`: all that enters of them are sums over groups. The solution is the SVD of
:math:`C_{st}`, whitened from either side.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from isthmus._core.linalg import PrincipalAxes, principal_axes
from isthmus._core.validation import FloatArray, Matrix, short_repr
from isthmus.exceptions import InputError
from isthmus.maps.eigen import choose_signs, product_svd

# What is below this, without a ridge, is rounding.
NO_CORRELATION = 1e-9


@short_repr
@dataclass(frozen=True, eq=False)
class CanonicalDirections:
    """W_s (r_s, k), W_t (r_t, k), the offsets (2, k) that centre them, and the correlations (k,), largest first."""

    source: FloatArray
    target: FloatArray
    offsets: FloatArray
    correlations: FloatArray

    def weight_variates(self, power: float) -> CanonicalDirections:
        """Multiply every variate by a power of its correlation."""
        w = self.correlations**power
        return CanonicalDirections(self.source * w, self.target * w, self.offsets * w, self.correlations)

    def leading(self, k: int) -> CanonicalDirections:
        """Return the first k."""
        return CanonicalDirections(self.source[:, :k], self.target[:, :k], self.offsets[:, :k], self.correlations[:k])


@short_repr
@dataclass(frozen=True, eq=False)
class PairedRows:
    """Two sets of rows, paired ``(L Rᵀ)_ij`` times, with all that does not depend on a ridge.

    With rows centred over the pairs, ``C_st = (Lᵀ A)ᵀ (Rᵀ B)`` over their number: all that enters are sums over
    groups, and a group is a class where labels make the pairs.
    """

    rows: tuple[FloatArray, FloatArray]  # Centred over the pairs.
    axes: tuple[PrincipalAxes, PrincipalAxes]
    weights: tuple[FloatArray, FloatArray]  # In how many pairs each row is.
    sums: tuple[FloatArray, FloatArray]  # Over the groups.

    @classmethod
    def of(cls, A: FloatArray, B: FloatArray, L: Matrix, R: Matrix) -> PairedRows:
        """Centre rows A (n, r_s) and B (m, r_t), given the incidence of rows and groups."""
        weights = np.asarray(L @ R.sum(axis=0)), np.asarray(R @ L.sum(axis=0))
        axes = principal_axes(A, weights=weights[0]), principal_axes(B, weights=weights[1])
        A, B = A - axes[0].mean, B - axes[1].mean
        return cls((A, B), axes, weights, (np.asarray(L.T @ A), np.asarray(R.T @ B)))

    def directions(self, gamma: float, *, unit: bool = True) -> CanonicalDirections:
        """Return the directions that vary together, under a ridge of relative size γ.

        The variates have unit variance over the pairs, or are left as ``wᵀ (C + ρI) w = 1`` makes them.
        """
        whitening = [_whitening(each, gamma) for each in self.axes]
        U, correlations, V = self._whitened_svd(gamma, whitening)
        k = int((correlations > NO_CORRELATION / (1.0 + gamma)).sum())
        if k == 0:
            raise InputError(
                "pairs: expected rows that vary together, got no correlation (one class, one pair, or constant rows)."
            )
        W = [whitening[0] @ U[:, :k], whitening[1] @ V[:, :k]]
        if unit:
            W = [V / np.sqrt(w @ (X @ V) ** 2 / w.sum()) for X, V, w in zip(self.rows, W, self.weights, strict=True)]
        signs = choose_signs(self.sums[0] @ W[0] + self.sums[1] @ W[1])
        offsets = -np.vstack([each.mean @ V for each, V in zip(self.axes, W, strict=True)])
        return CanonicalDirections(W[0] * signs, W[1] * signs, offsets * signs, correlations[:k])

    def _whitened_svd(self, gamma: float, whitening: list[FloatArray]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return U, the singular values, and V of the whitened C_st."""
        if len(self.sums[0]) < min(H.shape[1] for H in whitening):
            # It has the rank of the groups: its SVD is that of two small triangles.
            whitened = [(F @ H).T for F, H in zip(self.sums, whitening, strict=True)]
            return product_svd(whitened[0], whitened[1], self.weights[0].sum())
        scales = [1.0 / np.sqrt(axes.deviations**2 + _ridge(axes, gamma)) for axes in self.axes]
        U, values, Vt = np.linalg.svd(scales[0][:, None] * self._across * scales[1], full_matrices=False)
        return U, values, Vt.T

    @cached_property
    def _across(self) -> FloatArray:
        """C_st along the axes of either side, whatever the ridge."""
        along = [F @ axes.axes for F, axes in zip(self.sums, self.axes, strict=True)]
        return np.asarray(along[0].T @ along[1] / self.weights[0].sum())

    def residual(self, found: CanonicalDirections, gamma: float) -> float:
        """Return how far directions, in any scale, are from the equations of the module, from rows and sums.

        The largest error, relative to what ``C_st`` and ``λ (C + ρI)`` may do to a vector of that length.
        """
        n, size = float(self.weights[0].sum()), float(np.prod([np.linalg.norm(F) for F in self.sums]))
        W, own = [], []
        for X, w, axes, V in zip(self.rows, self.weights, self.axes, (found.source, found.target), strict=True):
            AV = X.T @ (w[:, None] * (X @ V)) / n + _ridge(axes, gamma) * V
            unit = np.sqrt(np.sum(V * AV, axis=0))
            W.append(V / unit)
            own.append(found.correlations * AV / unit)
        across = self.sums[0].T @ (self.sums[1] @ W[1]) / n, self.sums[1].T @ (self.sums[0] @ W[0]) / n
        errors = [
            np.linalg.norm(B - A, axis=0) / (size / n * np.linalg.norm(V, axis=0) + np.linalg.norm(A, axis=0))
            for B, A, V in zip(across, own, reversed(W), strict=True)
        ]
        return float(np.max(errors))


def _whitening(axes: PrincipalAxes, gamma: float) -> FloatArray:
    """Return H (r, q) with ``Hᵀ (C + ρI) H = I`` on the q directions in which the paired rows vary."""
    return np.asarray(axes.axes / np.sqrt(axes.deviations**2 + _ridge(axes, gamma)))


def _ridge(axes: PrincipalAxes, gamma: float) -> float:
    """Return ρ, in units of the covariance's mean eigenvalue, weighted by the eigenvalues themselves."""
    variances = axes.deviations**2
    return gamma * float(np.sum(variances**2) / np.sum(variances)) if len(variances) else 0.0
