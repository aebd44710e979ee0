"""An affine map as a value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from isthmus._arrays import FloatArray, Matrix
from isthmus._validation import short_repr


@short_repr
@dataclass(frozen=True, eq=False)
class AffineMap:
    r""":math:`x \mapsto W^T (x - m_x) + m_y`.

    Parameters
    ----------
    W : array (d, e)
        The linear part.
    input_mean : array (d,)
        :math:`m_x`.
    output_mean : array (e,)
        :math:`m_y`.

    Examples
    --------
    >>> AffineMap(np.array([[2.0]]), np.array([1.0]), np.array([5.0]))(np.array([[1.0], [3.0]]))
    array([[5.],
           [9.]])
    """

    W: FloatArray
    input_mean: FloatArray
    output_mean: FloatArray

    def __call__(self, X: Matrix) -> FloatArray:
        """Rows (n, d), dense or sparse, mapped to (n, e)."""
        Y = np.asarray(X @ self.W)
        Y += self.offset
        return Y

    def bound(self, largest: float) -> float:
        """What no entry of an image is above, in size, where no entry of a row is above ``largest``."""
        with np.errstate(over="ignore"):
            return float(largest * np.abs(self.W).sum(axis=0).max() + np.abs(self.offset).max())

    @cached_property
    def offset(self) -> FloatArray:
        """What the zero of the input is mapped to (e,)."""
        return np.asarray(self.output_mean - self.input_mean @ self.W)

    def astype(self, dtype: Any) -> AffineMap:
        """The same map in another precision; its offset is computed in this one."""
        cast = AffineMap(*(part.astype(dtype) for part in (self.W, self.input_mean, self.output_mean)))
        cast.__dict__["offset"] = self.offset.astype(dtype)
        return cast
