r"""The LogDet problem of two domains, over source rows that come in blocks.

.. math::

   f(M) = \operatorname{tr} P M - \log\det M - d
   + \sum_{ij} \lambda_{ij}\,\varphi_\pm(z_{ij}^T M z_{ij}/\xi^0_{ij}), \qquad z_{ij} = [x_i; -y_j]

The bound of a pair depends on the target row and on the *code* of the source row (its class, as a rule), so that
signs, weights and bounds are small tables, and nothing has the size of all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._core.rows import ArrayRows, Rows
from isthmus._core.validation import FloatArray, IntArray, short_repr
from isthmus.exceptions import InputError
from isthmus.solvers.logdet import Alignment, LogDetProblem, Pairs


@short_repr
@dataclass(frozen=True, eq=False)
class BlockProblem:
    """The convex problem of :class:`~isthmus.solvers.logdet.LogDetProblem`, for pairs across two domains in blocks.

    Parameters
    ----------
    rows : Rows
        Source rows (n_s, d_s), with codes.
    target : array (n_l, d_t)
        Labelled target rows.
    sign, weight, bound : array (C, n_l) or number
        δ, λ and ξ⁰ of the pairs of source rows with a code and each target row.
    alignment : Alignment, optional
        Mean shifts, over d_s + d_t columns.

    Examples
    --------
    >>> rows = ArrayRows(np.array([[1.0], [3.0]]), np.array([0, 1]))
    >>> problem = BlockProblem(rows, [[1.0], [2.0]], sign=[[1, -1], [-1, 1]], weight=1.0, bound=2.0)
    >>> problem.n_pairs, round(problem.value(np.eye(2)), 3)
    (4, 3.628)
    """

    rows: Rows
    target: Any
    sign: Any
    weight: Any
    bound: Any
    alignment: Alignment | None = None

    def __post_init__(self) -> None:
        target = np.asarray(self.target, dtype=np.float64)
        if target.ndim != 2 or not np.isfinite(target).all():
            raise InputError(
                "target: expected a two-dimensional array of finite numbers, got another shape, NaN or inf."
            )
        object.__setattr__(self, "target", target)
        n_codes = max(
            (len(table) for table in (self.sign, self.weight, self.bound) if np.ndim(table) == 2), default=1
        )
        if isinstance(self.rows, ArrayRows):
            self.rows.check_codes(n_codes)
        # Every check of a block of pairs is one of a table, too.
        tables = Pairs(slice(0, n_codes), slice(n_codes, n_codes + len(target)), self.sign, self.weight, self.bound)
        for name in ("sign", "weight", "bound"):
            object.__setattr__(self, name, getattr(tables, name))
        columns = self.rows.d + target.shape[1]
        if self.alignment is not None and self.alignment.rows.shape[1] != columns:
            raise InputError(
                f"alignment.rows: expected {columns} columns, those of both domains, "
                f"got {self.alignment.rows.shape[1]}."
            )

    @property
    def n_pairs(self) -> int:
        """The number of pairs, and of constrained shifts."""
        return self.rows.n * len(self.target) + len(self.constraint.rows)

    @property
    def constraint(self) -> Alignment:
        """The shifts that are bounded; none of them where they are penalised."""
        if self.alignment is not None and self.alignment.slack is not None:
            return self.alignment
        return Alignment(np.empty((0, self.rows.d + self.target.shape[1])), 1.0, 1.0)

    @property
    def penalty(self) -> Alignment:
        """The shifts that are penalised; none of them where they are bounded."""
        if self.alignment is not None and self.alignment.slack is None:
            return self.alignment
        return Alignment(np.empty((0, self.rows.d + self.target.shape[1])), 1.0)

    def value(self, W: FloatArray) -> float:
        """Return the objective at W Wᵀ, in double precision; infinite where that is not definite."""
        # Passes over blocks are built on problems: the import has to wait.
        from isthmus.solvers.blocks.point import objective_value

        return objective_value(self, W)

    def block_distances(self, W: FloatArray) -> list[FloatArray]:
        """Return squared distances under W Wᵀ: of all pairs (n_s, n_l), and of any constrained shifts (K, 1)."""
        B, parts, shifts = self.target @ W[self.rows.d :], [], self.constraint.rows @ W
        for X, _ in self.rows.blocks():
            A = X @ W[: self.rows.d]
            parts.append((A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2.0 * (A @ B.T))
        across = np.maximum(np.concatenate(parts), 0.0)
        return [across, (shifts**2).sum(axis=1)[:, None]] if len(shifts) else [across]


def as_blocks(problem: LogDetProblem) -> tuple[BlockProblem, IntArray] | None:
    """Return a LogDet problem as one over blocks, and the columns' order; None unless it is across two domains.

    It is where all pairs are between two runs of rows that have no column in common: then a source row is [x; 0] and
    a target row [0; y], in some order of the columns.
    """
    if len(problem.pairs) != 1:
        return None
    (pairs,) = problem.pairs
    left, right = problem.rows[pairs.left], problem.rows[pairs.right]
    tables = [pairs.sign, pairs.weight, pairs.bound]
    if len(left) < len(right):  # blocks are of the longer run; a pair has no direction
        left, right, tables = right, left, [table.T for table in tables]
    of_left, of_right = left.any(axis=0), right.any(axis=0)
    if (of_left & of_right).any() or not len(right):
        return None
    order, d, alignment = np.argsort(~of_left, kind="stable"), int(of_left.sum()), problem.alignment
    first, codes = equal_rows(np.hstack(tables))  # rows with equal bounds share a code
    sign, weight, bound = (np.ascontiguousarray(table[first]) for table in tables)
    if alignment is not None:
        alignment = Alignment(alignment.rows[:, order], alignment.weight, alignment.slack)
    rows = ArrayRows(np.ascontiguousarray(left[:, order[:d]]), codes)
    return BlockProblem(rows, right[:, order[d:]], sign, weight, bound, alignment), order


def equal_rows(table: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the first row of each kind (C,), and which kind each row is (n,).

    Examples
    --------
    >>> equal_rows(np.array([[1.0, 2.0], [0.0, 2.0], [1.0, 2.0]]))[0].size
    2
    """
    table = np.ascontiguousarray(table)
    keys = table.view(np.dtype((np.void, table.itemsize * table.shape[1]))).ravel()
    _, first, codes = np.unique(keys, return_index=True, return_inverse=True)
    return first, codes.ravel()
