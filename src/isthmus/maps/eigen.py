r"""Generalised eigenproblems :math:`B v = \lambda A v` over the coordinates of two domains.

A and B are given in full (:class:`JointProblem`), or A block by block and B across the blocks as sums over groups
(:class:`CoupledProblem`), whose solution is the SVD of a product of thin matrices. :class:`SharedCoordinates` finds
one set of coordinates for paired rows. Residuals are computed from the matrices themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sla

from isthmus._core.validation import BoolArray, FloatArray, ShortRepr
from isthmus.exceptions import InputError

# A value below this part of the largest one is a zero after rounding.
RANK = 1e-9
# Two values that differ by no more than this part of the largest one are equal after rounding.
TIED = 1e-9

INDEFINITE = (
    "regularization: expected one that makes the rows' scatter positive definite, got too small a one for these rows."
)


@dataclass(frozen=True, eq=False, repr=False)
class JointDirections(ShortRepr):
    r"""Leading solutions of :math:`B v = \lambda A v`, largest λ first, with :math:`V^T A V = I`.

    Parameters
    ----------
    source, target : array (r_s, k) and (r_t, k)
        The two parts of V.
    values : array (k,)
        λ.
    residual : float
        The largest :math:`\|Bv - \lambda Av\| / ((\|B\|_F + |\lambda| \|A\|_F) \|v\|)`, from the matrices themselves:
        v solves, exactly, a problem that differs from this one by no more than that part.
    tied : bool
        Whether the last λ is equal to the next one, so that the last direction is one of many.
    """

    source: FloatArray
    target: FloatArray
    values: FloatArray
    residual: float
    tied: bool = False

    def fix_signs(self, heights: FloatArray) -> JointDirections:
        """Choose signs so that the first group that stands out is high; heights (groups, k)."""
        signs = choose_signs(heights)
        return JointDirections(self.source * signs, self.target * signs, self.values, self.residual, self.tied)

    def leading(self, k: int) -> JointDirections:
        """Return the first k."""
        if k == len(self.values):
            return self
        tied = self.values[k - 1] - self.values[k] <= TIED * np.abs(self.values).max()
        return JointDirections(self.source[:, :k], self.target[:, :k], self.values[:k], self.residual, bool(tied))

    def above_zero(self) -> JointDirections:
        """Return those whose value is more than rounding; none is tied with a zero."""
        k = rank(self.values)
        return self.leading(k) if k else self.without(np.ones(len(self.values), dtype=np.bool_))

    def without(self, dropped: BoolArray) -> JointDirections:
        """Return those that are not dropped (k,)."""
        kept = ~dropped
        return replace(self, source=self.source[:, kept], target=self.target[:, kept], values=self.values[kept])


@dataclass(frozen=True, eq=False, repr=False)
class JointProblem(ShortRepr):
    r"""Symmetric A, positive definite, and B over the coordinates of both domains, those of the source first.

    Examples
    --------
    >>> problem = JointProblem.with_ridge(np.diag([2.0, 4.0]), np.array([[0.0, 1.0], [1.0, 0.0]]), 1, 0.0)
    >>> found = problem.directions(1)
    >>> found.values.round(4), found.source.round(4), found.target.round(4), found.residual < 1e-15
    (array([0.3536]), array([[0.5]]), array([[0.3536]]), True)
    """

    A: FloatArray
    B: FloatArray
    n_source: int  # r_s.

    @classmethod
    def with_ridge(cls, A: FloatArray, B: FloatArray, n_source: int, epsilon: float) -> JointProblem:
        """Pose the problem with A + ε tr(A)/r · I in place of A."""
        A, B = 0.5 * (A + A.T), 0.5 * (B + B.T)
        return cls(A + epsilon * float(np.trace(A)) / len(A) * np.eye(len(A)), B, n_source)

    def directions(self, k: int) -> JointDirections:
        """Return the k leading directions."""
        r = len(self.A)
        try:
            values, V = sla.eigh(self.B, self.A, subset_by_index=[max(0, r - k - 1), r - 1])  # and the next one
        except np.linalg.LinAlgError:
            raise InputError(INDEFINITE) from None
        values, V = values[::-1], V[:, ::-1]
        found = JointDirections(V[: self.n_source], V[self.n_source :], values, 0.0)
        return _add_residual(found, self.A @ V, self.B @ V, (self.A, self.B)).leading(min(k, r))


@dataclass(frozen=True, eq=False, repr=False)
class CoupledProblem(ShortRepr):
    r"""A block by block, B across the blocks only: :math:`A = A_s \oplus A_t`, :math:`B_{st} = M_s M_t^T`.

    Parameters
    ----------
    A : (array (r_s, r_s), array (r_t, r_t))
        Symmetric and positive definite.
    sums : (array (r_s, g), array (r_t, g))
        :math:`M_s` and :math:`M_t`; g is small where they are sums over groups.

    Examples
    --------
    >>> problem = CoupledProblem((np.eye(1) * 2.0, np.eye(1) * 4.0), (np.ones((1, 1)), np.ones((1, 1))))
    >>> problem.directions().values.round(4)
    array([0.3536])
    """

    A: tuple[FloatArray, FloatArray]
    sums: tuple[FloatArray, FloatArray]

    def directions(self) -> JointDirections:
        """Return all directions whose λ is not zero: as many as the rank of B across the blocks."""
        try:
            factors = [np.linalg.cholesky(block) for block in self.A]
        except np.linalg.LinAlgError:
            raise InputError(INDEFINITE) from None
        whitened = [sla.solve_triangular(L, M, lower=True) for L, M in zip(factors, self.sums, strict=True)]
        U, values, V = product_svd(whitened[0], whitened[1])
        k = rank(values)
        # Half of each direction's length is in either block: √½.
        W_s, W_t = (
            sla.solve_triangular(L, Q[:, :k], lower=True, trans="T") * np.sqrt(0.5)
            for L, Q in zip(factors, (U, V), strict=True)
        )
        found = JointDirections(W_s, W_t, values[:k], 0.0)
        (M_s, M_t), (A_s, A_t) = self.sums, self.A
        across = M_s @ M_t.T
        BV = np.vstack([across @ W_t, across.T @ W_s])
        return _add_residual(found, np.vstack([A_s @ W_s, A_t @ W_t]), BV, (*self.A, across, across))


def rank(values: FloatArray) -> int:
    """Count the values, in falling order, that are more than rounding."""
    return int((values > RANK * np.abs(values).max(initial=0.0)).sum())


def product_svd(F: FloatArray, G: FloatArray, divisor: float = 1.0) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return U, the singular values, and V of ``F Gᵀ`` over a divisor, for thin F (p, g) and G (q, g)."""
    (Q_s, T_s), (Q_t, T_t) = np.linalg.qr(F), np.linalg.qr(G)
    U, values, Vt = np.linalg.svd(T_s @ T_t.T / divisor, full_matrices=False)
    return Q_s @ U, values, Q_t @ Vt.T


def choose_signs(heights: FloatArray) -> FloatArray:
    """Return the sign (k,), in each column of heights (groups, k), of the first group that stands out.

    A direction's sign is arbitrary: this one does not depend on the order of rows.
    """
    first = (np.abs(heights) > 0.5 * np.abs(heights).max(axis=0)).argmax(axis=0)
    return np.where(heights[first, np.arange(heights.shape[1])] < 0.0, -1.0, 1.0)


def _add_residual(
    found: JointDirections, AV: FloatArray, BV: FloatArray, blocks: tuple[FloatArray, ...]
) -> JointDirections:
    """Add the residual, from the products of the matrices with the directions; the first half of the blocks is A."""
    half = len(blocks) // 2
    sizes = [float(np.sqrt(sum(np.sum(part**2) for part in side))) for side in (blocks[:half], blocks[half:])]
    V = np.vstack([found.source, found.target])
    lengths = np.linalg.norm(V, axis=0) * (sizes[1] + np.abs(found.values) * sizes[0])
    errors = np.linalg.norm(BV - AV * found.values, axis=0) / np.where(lengths > 0.0, lengths, 1.0)
    return JointDirections(found.source, found.target, found.values, float(errors.max(initial=0.0)), found.tied)


@dataclass(frozen=True, eq=False, repr=False)
class SharedCoordinates(ShortRepr):
    """The left singular vectors of F, which are coordinates of paired rows S (r, d_s) and T (r, d_t)."""

    S: FloatArray
    T: FloatArray
    F: FloatArray  # (2r, d_t + d_s).
    right: FloatArray  # Its right singular vectors (d_t + d_s, q).
    values: FloatArray  # Half the squares of its singular values (q,), those above zero, largest first.

    @classmethod
    def of(cls, S: FloatArray, T: FloatArray, beta: float) -> SharedCoordinates:
        """Find the coordinates for a weight β of the agreement of pairs."""
        F = agreement_factor(S, T, beta)
        tall = len(F) > F.shape[1]
        _, singular, Vt = np.linalg.svd(np.linalg.qr(F, mode="r") if tall else F, full_matrices=False)
        values = 0.5 * singular**2
        every = cls(S, T, F, Vt[: rank(values)].T, values[: rank(values)])
        B_T, B_S = np.split(every.coordinates(len(every.values)), 2)
        # One orthonormality in place of two lets in vectors [b; −b], which set the rows of a pair apart.
        agreeing = np.einsum("ij,ij->j", B_T, B_S) > 0.0
        return cls(S, T, F, every.right[:, agreeing], every.values[agreeing])

    def coordinates(self, k: int) -> FloatArray:
        """Return B = [B_T; B_S] (2r, k), with orthonormal columns."""
        return np.asarray(self.F @ self.right[:, :k] / np.sqrt(2.0 * self.values[:k]))

    def maps(self, k: int) -> JointDirections:
        """Return maps of new rows of either domain into k coordinates, with the residual of B."""
        B = self.coordinates(k)
        B_T, B_S = np.split(B, 2)
        P_T, P_S = (np.linalg.lstsq(half, X, rcond=None)[0] for half, X in ((B_T, self.T), (B_S, self.S)))
        tied = k < len(self.values) and self.values[k - 1] - self.values[k] <= TIED * self.values[0]
        errors = 0.5 * self.F @ (self.F.T @ B) - B * self.values[:k]
        residual = float(np.linalg.norm(errors, axis=0).max() / self.values[0])
        return JointDirections(np.linalg.pinv(P_S), np.linalg.pinv(P_T), self.values[:k], residual, bool(tied))


def agreement_factor(S: FloatArray, T: FloatArray, beta: float) -> FloatArray:
    """Return F (2r, d_t + d_s): the objective, without P, is a constant less tr Bᵀ(FFᵀ/2)B / (2 + β)."""
    return np.block([[2.0 * T, beta * S], [beta * T, 2.0 * S]])
