"""What is asked of a metric: bounds on the distances of pairs, and small mean shifts."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from isthmus._arrays import FloatArray
from isthmus._validation import short_repr
from isthmus.exceptions import InputError

LONGEST = 1e70
"""Lengths up to this, and down to its inverse, have fourth powers that are doubles: the Hessian is made of them."""


@short_repr
@dataclass(frozen=True, eq=False)
class Pairs:
    r"""Bounds on the squared distances between each row of one run and each row of another.

    .. math:: \delta_{ij} = +1: \; d^2_{ij} \le \xi_{ij} \qquad \delta_{ij} = -1: \; d^2_{ij} \ge \xi_{ij}
       \qquad \text{at the price } \lambda_{ij}\, \mathrm{LogDet}(\xi_{ij}, \xi^0_{ij})

    Parameters
    ----------
    left, right : slice
        Which rows of the problem: p rows against q rows. The same run twice is allowed; give
        weight to one triangle only, so that no pair counts double.
    sign : array (p, q) or number
        +1 where the pair belongs together, -1 where it belongs apart.
    weight : array (p, q) or number
        :math:`\lambda \ge 0`. Zero means that there is no such pair.
    bound : array (p, q) or number
        :math:`\xi^0 > 0`, a squared distance.

    Examples
    --------
    >>> Pairs(slice(0, 2), slice(2, 3), sign=[[1], [-1]], weight=1.0, bound=[[0.5], [2.0]]).shape
    (2, 1)
    """

    left: slice
    right: slice
    sign: Any
    weight: Any = 1.0
    bound: Any = 1.0

    def __post_init__(self) -> None:
        for name in ("left", "right"):
            run = getattr(self, name)
            if not isinstance(run, slice) or run.step is not None or not _is_run(run.start, run.stop):
                raise InputError(f"pairs.{name}: expected a slice of row numbers from first to last, got {run!r}.")
        shape = self.shape
        for name in ("sign", "weight", "bound"):
            object.__setattr__(self, name, _filled(getattr(self, name), shape, f"pairs.{name}"))
        if not np.isin(self.sign, (-1.0, 1.0)).all():
            raise InputError("pairs.sign: expected +1 or -1, got something else.")
        if (self.weight < 0).any():
            raise InputError(f"pairs.weight: expected no negative weight, got {self.weight.min():g}.")
        if (self.bound <= 0).any():
            raise InputError(f"pairs.bound: expected positive squared distances, got {self.bound.min():g}.")
        in_range(self.bound, "pairs.bound", power=2)

    @property
    def shape(self) -> tuple[int, int]:
        """(p, q), the number of rows on either side."""
        return self.left.stop - self.left.start, self.right.stop - self.right.start


@short_repr
@dataclass(frozen=True, eq=False)
class Alignment:
    r"""Mean shifts :math:`\bar z_k` that should be short in the learned metric.

    Without ``slack`` each costs :math:`\lambda_k\, \bar z_k^T M \bar z_k` (the paper's own model, a changed
    prior). With it, :math:`\bar z_k^T M \bar z_k \le t_k` at the price
    :math:`\lambda_k\,\mathrm{LogDet}(t_k, t^0_k)` (the paper's relaxed model, one more constraint).

    Parameters
    ----------
    rows : array (K, d)
        One shift per row: overall means, class means, or any other difference of means.
    weight : array (K,) or number
        :math:`\lambda_k \ge 0`.
    slack : array (K,) or number, optional
        :math:`t^0_k > 0`.
    """

    rows: Any
    weight: Any = 1.0
    slack: Any = None

    def __post_init__(self) -> None:
        rows = np.atleast_2d(np.asarray(self.rows, dtype=np.float64))
        if not np.isfinite(rows).all():
            raise InputError("alignment.rows: expected finite numbers, got NaN or inf.")
        in_range(np.abs(rows).max(initial=1.0), "alignment.rows")  # a shift may well be as short as it likes
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "weight", _filled(self.weight, (len(rows),), "alignment.weight"))
        if (self.weight < 0).any():
            raise InputError(f"alignment.weight: expected no negative weight, got {self.weight.min():g}.")
        if self.slack is not None:
            object.__setattr__(self, "slack", _filled(self.slack, (len(rows),), "alignment.slack"))
            if (self.slack <= 0).any():
                raise InputError(f"alignment.slack: expected positive numbers, got {self.slack.min():g}.")
            in_range(self.slack, "alignment.slack", power=2)


def in_range(sizes: ArrayLike, name: str, power: int = 1) -> None:
    """Raise unless each size is zero or such that neither it nor what is computed from it leaves the doubles."""
    array, high = np.asarray(sizes), LONGEST**power
    bad = array[(array != 0.0) & ~((array >= 1.0 / high) & (array <= high))]
    if bad.size:
        raise InputError(f"{name}: expected sizes from {1.0 / high:.0e} to {high:.0e}, got {bad[0]:.3g}.")


def _is_run(start: Any, stop: Any) -> bool:
    whole = all(isinstance(value, numbers.Integral) for value in (start, stop))
    return whole and 0 <= start <= stop


def _filled(values: ArrayLike, shape: tuple[int, ...], name: str) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    try:
        array = np.broadcast_to(array, shape)
    except ValueError:
        raise InputError(f"{name}: expected a number or shape {shape}, got {array.shape}.") from None
    if not np.isfinite(array).all():
        raise InputError(f"{name}: expected finite numbers, got NaN or inf.")
    return array
