r"""Canonical directions of two sets of coordinates, over pairs of rows that are never written out.

.. math:: C_{st} w_t = \lambda (C_{ss} + \rho_s I) w_s, \qquad C_{ts} w_s = \lambda (C_{tt} + \rho_t I) w_t

over pairs that are counted by :math:`L R^T`: all that enters of them are sums over groups. The solution is the SVD of
:math:`C_{st}`, whitened from either side.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg as sla

from isthmus._core.linalg import EPS, PrincipalAxes, normalize_rows, principal_axes
from isthmus._core.validation import FloatArray, Matrix, ShortRepr
from isthmus.exceptions import InputError
from isthmus.maps.eigen import choose_signs, product_svd

# What is below this, without a ridge, is rounding.
NO_CORRELATION = 1e-9
# Eigenvalues of a Gram matrix above this share of the largest have as many digits as maps need.
CERTAIN = 1e-8


@dataclass(frozen=True, eq=False, repr=False)
class CanonicalDirections(ShortRepr):
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


@dataclass(frozen=True, eq=False, repr=False)
class PairedRows(ShortRepr):
    """Two sets of rows, paired ``(L Rᵀ)_ij`` times, with all that does not depend on a ridge.

    With rows centred over the pairs, ``C_st = (Lᵀ A)ᵀ (Rᵀ B)`` over their number: all that enters are sums over
    groups, and a group is a class where labels make the pairs.
    """

    rows: tuple[FloatArray, FloatArray]  # Centred over the pairs.
    axes: tuple[PrincipalAxes, PrincipalAxes]
    weights: tuple[FloatArray, FloatArray]  # In how many pairs each row is.
    sums: tuple[FloatArray, FloatArray]  # Over the groups.
    within: tuple[FloatArray | None, FloatArray | None] = (None, None)  # C_ss and C_tt, where they are known.

    @classmethod
    def of(cls, A: FloatArray, B: FloatArray, L: Matrix, R: Matrix) -> PairedRows:
        """Centre rows A (n, r_s) and B (m, r_t), given the incidence of rows and groups."""
        weights = np.asarray(L @ R.sum(axis=0)), np.asarray(R @ L.sum(axis=0))
        (A, a, C_ss), (B, b, C_tt) = centre_rows(A, weights[0]), centre_rows(B, weights[1])
        return cls((A, B), (a, b), weights, (np.asarray(L.T @ A), np.asarray(R.T @ B)), (C_ss, C_tt))

    def directions(self, gamma: float, *, unit: bool = True) -> CanonicalDirections:
        """Return the directions that vary together, under a ridge of relative size γ.

        The variates have unit variance over the pairs, or are left as ``wᵀ (C + ρI) w = 1`` makes them.
        """
        scales = [_scales(each, gamma) for each in self.axes]
        U, correlations, V = self._whitened_svd(scales)
        k = int((correlations > NO_CORRELATION / (1.0 + gamma)).sum())
        if k == 0:
            raise InputError(
                "pairs: expected rows that vary together, got no correlation (one class, one pair, or constant rows)."
            )
        along = [h[:, None] * each[:, :k] for h, each in zip(scales, (U, V), strict=True)]
        if unit:  # the variances of the axes are those of the rows along them
            along = [M / np.sqrt(axes.deviations**2 @ M**2) for M, axes in zip(along, self.axes, strict=True)]
        W = [axes.axes @ M for M, axes in zip(along, self.axes, strict=True)]
        signs = choose_signs(self.sums[0] @ W[0] + self.sums[1] @ W[1])
        offsets = -np.vstack([each.mean @ V for each, V in zip(self.axes, W, strict=True)])
        return CanonicalDirections(W[0] * signs, W[1] * signs, offsets * signs, correlations[:k])

    def cosines(self, gamma: float, power: float, A: FloatArray, B: FloatArray) -> FloatArray | None:
        """Return the cosines (n, n) of pairs, along the axes, by their variates, times a power of the correlations.

        None where nothing varies together. By the smaller Gram matrix of the whitened C_st: it has half of the
        digits of correlations near zero, whose powers count for nothing.
        """
        h, g = (_scales(each, gamma) for each in self.axes)
        T = h[:, None] * self._across * g
        if T.shape[0] > T.shape[1]:
            swapped = PairedRows(self.rows[::-1], self.axes[::-1], self.weights[::-1], self.sums[::-1])
            return None if (S := swapped.cosines(gamma, power, B, A)) is None else S.T
        if not T.size:  # constant rows
            return None
        values, U = sla.eigh(T @ T.T, driver="evd", check_finite=False)
        kept = values > CERTAIN * values[-1]
        if not kept.any() or not values[-1] > (NO_CORRELATION / (1.0 + gamma)) ** 2:
            return None
        U = U[:, kept] * values[kept] ** (power / 2.0)
        # With T = U σ Vᵀ, the other side's weighted directions V σᵖ are Tᵀ U σᵖ⁻¹.
        P, Q = (A * h) @ U, (B * g) @ (T.T @ (U / np.sqrt(values[kept])))
        return np.asarray(normalize_rows(P) @ normalize_rows(Q).T)

    def _whitened_svd(self, scales: list[FloatArray]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return U, the singular values, and V of the whitened C_st, along the axes."""
        if len(self.sums[0]) < min(len(h) for h in scales):
            # It has the rank of the groups: its SVD is that of two small triangles.
            F, G = (((each @ axes.axes) * h).T for each, axes, h in zip(self.sums, self.axes, scales, strict=True))
            return product_svd(F, G, self.weights[0].sum())
        U, values, Vt = np.linalg.svd(scales[0][:, None] * self._across * scales[1], full_matrices=False)
        return U, values, Vt.T

    @property
    def _few(self) -> bool:
        """Whether groups are fewer than the coordinates of a side, so that C_st is not written out."""
        return bool(len(self.sums[0]) < min(F.shape[1] for F in self.sums))

    @cached_property
    def _covariance(self) -> FloatArray:
        """C_st."""
        return np.asarray(self.sums[0].T @ self.sums[1] / self.weights[0].sum())

    @cached_property
    def _across(self) -> FloatArray:
        """C_st along the axes of either side, whatever the ridge."""
        if not self._few:
            return np.asarray(self.axes[0].axes.T @ self._covariance @ self.axes[1].axes)
        along = [F @ axes.axes for F, axes in zip(self.sums, self.axes, strict=True)]
        return np.asarray(along[0].T @ along[1] / self.weights[0].sum())

    def residual(self, found: CanonicalDirections, gamma: float) -> float:
        """Return how far directions, in any scale, are from the equations of the module, from covariances and sums.

        The largest error, relative to what ``C_st`` and ``λ (C + ρI)`` may do to a vector of that length.
        """
        n, size = float(self.weights[0].sum()), float(np.prod([np.linalg.norm(F) for F in self.sums]))
        W, own = [], []
        sides = zip(self.rows, self.weights, self.within, self.axes, (found.source, found.target), strict=True)
        for X, w, C, axes, V in sides:
            AV = (X.T @ (w[:, None] * (X @ V)) / n if C is None else C @ V) + _ridge(axes, gamma) * V
            unit = np.sqrt(np.sum(V * AV, axis=0))
            W.append(V / unit)
            own.append(found.correlations * AV / unit)
        if self._few:
            across = self.sums[0].T @ (self.sums[1] @ W[1]) / n, self.sums[1].T @ (self.sums[0] @ W[0]) / n
        else:
            across = self._covariance @ W[1], self._covariance.T @ W[0]
        errors = [
            np.linalg.norm(B - A, axis=0) / (size / n * np.linalg.norm(V, axis=0) + np.linalg.norm(A, axis=0))
            for B, A, V in zip(across, own, reversed(W), strict=True)
        ]
        return float(np.max(errors))


def centre_rows(X: FloatArray, weights: FloatArray) -> tuple[FloatArray, PrincipalAxes, FloatArray | None]:
    """Return rows (n, d) around their weighted mean, their principal axes, and their covariance.

    By the covariance, unless it would lose digits that the rows have: then there is none, and axes are the rows' own.
    """
    if len(X) > X.shape[1]:
        share = weights / weights.sum()
        mean = share @ X
        A = X - mean
        rest = share @ A  # a long sum of equal numbers is off by more than their rounding
        A -= rest
        scaled = A if np.ptp(share) == 0.0 else np.sqrt(share)[:, None] * A
        C = np.asarray(scaled.T @ scaled)
        C /= len(A) if scaled is A else 1.0
        axes = gram_axes(C, mean + rest)
        if axes is not None:
            return A, axes, C
    axes = principal_axes(X, weights=weights)
    return X - axes.mean, axes, None


def gram_axes(G: FloatArray, mean: FloatArray, weight: float = 1.0) -> PrincipalAxes | None:
    """Return the principal axes of rows with this mean (d,) and Gram matrix (d, d), centred and weighted.

    None where it does not tell the smallest from rounding: it has half of the digits of the rows.

    Examples
    --------
    >>> found = gram_axes(np.array([[2.0, 0.0], [0.0, 8.0]]), np.zeros(2), 2.0)
    >>> found.axes, found.deviations
    (array([[0., 1.],
           [1., 0.]]), array([2., 1.]))
    """
    values, V = sla.eigh(G, driver="evd", check_finite=False)
    values, V = values[::-1] / weight, V[:, ::-1]
    centring = (100.0 * EPS) ** 2 * float(mean @ mean)
    if not values[-1] > max(CERTAIN * values[0], centring):
        return None
    # As principal_axes has it: the largest entry of an axis is positive, the first one of equals.
    largest = np.abs(V).round(8).argmax(axis=0)
    return PrincipalAxes(mean, V * np.sign(V[largest, np.arange(len(V))]), np.sqrt(values))


def _scales(axes: PrincipalAxes, gamma: float) -> FloatArray:
    """Return h (r,) with ``Hᵀ (C + ρI) H = I`` for H = axes · h, on the directions in which the paired rows vary."""
    return np.asarray(1.0 / np.sqrt(axes.deviations**2 + _ridge(axes, gamma)))


def _ridge(axes: PrincipalAxes, gamma: float) -> float:
    """Return ρ, in units of the covariance's mean eigenvalue, weighted by the eigenvalues themselves."""
    variances = axes.deviations**2
    return gamma * float(np.sum(variances**2) / np.sum(variances)) if len(variances) else 0.0
