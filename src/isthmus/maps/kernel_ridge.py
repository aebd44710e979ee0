"""Ridge regression on an RBF kernel's features: a map that bends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sla
from scipy.spatial.distance import pdist

from isthmus._arrays import FloatArray, Matrix, as_dense
from isthmus._validation import short_repr
from isthmus.maps.ridge import ridge

MOST_LANDMARKS = 1000
"""Rows that the kernel is compared with; with more pairs than these, an even sample of them (Nyström)."""
MOST_FOR_BANDWIDTH = 1000
"""Rows whose distances the bandwidth is the median of."""
FAR = 1e-3
"""Of the largest entry whose square is still a number: entries above are taken for this. Landmarks are far below."""
SMALLEST = 1e-9
"""Eigenvalues of the kernel matrix below this share of the largest are rounding."""


@short_repr
@dataclass(frozen=True, eq=False)
class KernelMap:
    r""":math:`x \mapsto C^T k(Z, x) + c` with :math:`k(z, x) = \exp(-\lVert z - x \rVert^2 / 2 \sigma^2)`.

    Parameters
    ----------
    landmarks : array (m, d)
        Z.
    bandwidth : float
        σ.
    coefficients : array (m, e)
        C.
    offset : array (e,)
        c.
    output_mean : array (e,)
        The mean of the outputs that it was learned from.

    Examples
    --------
    >>> KernelMap(np.zeros((1, 2)), 1.0, np.ones((1, 1)), np.ones(1), np.ones(1))(np.zeros((1, 2)))
    array([[2.]])
    """

    landmarks: FloatArray
    bandwidth: float
    coefficients: FloatArray
    offset: FloatArray
    output_mean: FloatArray

    def __call__(self, X: Matrix) -> FloatArray:
        """Rows (n, d) mapped to (n, e)."""
        Y = rbf(X, self.landmarks, self.bandwidth) @ self.coefficients
        Y += self.offset
        return np.asarray(Y)

    def bound(self, largest: float) -> float:
        """What no entry of an image is above, in size, whatever the row: the kernel is one at most."""
        with np.errstate(over="ignore"):
            return float(np.abs(self.coefficients).sum(axis=0).max() + np.abs(self.offset).max())

    def astype(self, dtype: Any) -> KernelMap:
        """The same map in another precision."""
        Z, C, c, m = (a.astype(dtype) for a in (self.landmarks, self.coefficients, self.offset, self.output_mean))
        return KernelMap(Z, self.bandwidth, C, c, m)


def rbf(X: Matrix, Z: FloatArray, bandwidth: float) -> FloatArray:
    """The kernel of rows X (n, d) with rows Z (m, d): (n, m); zero for rows whose square is no number any more."""
    X = as_dense(X).astype(Z.dtype, copy=False)
    far = FAR * np.sqrt(np.finfo(Z.dtype).max / X.shape[1])
    if max(X.max(initial=0.0), -X.min(initial=0.0)) > far:
        X = np.clip(X, -far, far)
    D = X @ (-2.0 * Z).T
    D += np.square(X).sum(axis=1)[:, None]
    D += np.square(Z).sum(axis=1)
    np.maximum(D, 0.0, out=D)
    with np.errstate(over="ignore"):  # to minus infinity, whose exponential is zero
        D *= -0.5 / bandwidth**2
    return np.asarray(np.exp(D, out=D))


def kernel_ridge(X: FloatArray, Y: FloatArray, *, weights: FloatArray | None = None) -> KernelMap:
    r"""Outputs Y (n, e) from inputs X (n, d): :func:`isthmus.maps.ridge` on features whose inner products are k.

    The bandwidth is the median distance of the rows; the penalty has the least error of leaving out each row in turn.

    Parameters
    ----------
    X : array (n, d)
        Inputs.
    Y : array (n, e)
        Outputs.
    weights : array (n,), optional
        Of the rows, positive; one for each by default.

    Examples
    --------
    >>> X = np.linspace(-2.0, 2.0, 41)[:, None]
    >>> bool(abs(kernel_ridge(X, X**2)(np.array([[1.5]])) - 2.25) < 0.01)
    True
    """
    bandwidth = _median_distance(_even_sample(X, MOST_FOR_BANDWIDTH))
    Z = _even_sample(X, MOST_LANDMARKS)
    values, E = sla.eigh(rbf(Z, Z, bandwidth), check_finite=False)
    kept = values > SMALLEST * values[-1]
    T = E[:, kept] / np.sqrt(values[kept])
    fit = ridge(rbf(X, Z, bandwidth) @ T, Y, weights=weights)
    return KernelMap(Z, bandwidth, np.asarray(T @ fit.map.W), fit.map.offset, fit.map.output_mean)


def _even_sample(X: FloatArray, most: int) -> FloatArray:
    places = np.linspace(0, len(X) - 1, most).round().astype(np.intp) if len(X) > most else slice(None)
    return np.array(X[places])


def _median_distance(X: FloatArray) -> float:
    distances = pdist(X)
    positive = distances[distances > 0.0]
    return float(np.median(positive)) if len(positive) else 1.0
