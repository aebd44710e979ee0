"""Common coordinates of paired rows, from which the rows of either domain can be rebuilt: HeMap's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isthmus._arrays import FloatArray
from isthmus._validation import short_repr
from isthmus.maps.eigen import TIED, JointDirections, rank


@short_repr
@dataclass(frozen=True, eq=False)
class SharedCoordinates:
    """The left singular vectors of F, which are coordinates of paired rows S (r, d_s) and T (r, d_t)."""

    S: FloatArray
    T: FloatArray
    F: FloatArray
    """(2r, d_t + d_s)."""
    right: FloatArray
    """Its right singular vectors (d_t + d_s, q)."""
    values: FloatArray
    """Half the squares of its singular values (q,), those above zero, largest first."""

    @classmethod
    def of(cls, S: FloatArray, T: FloatArray, beta: float) -> SharedCoordinates:
        """For a weight β of the agreement of pairs."""
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
        """B = [B_T; B_S] (2r, k), with orthonormal columns."""
        return np.asarray(self.F @ self.right[:, :k] / np.sqrt(2.0 * self.values[:k]))

    def maps(self, k: int) -> JointDirections:
        """Of new rows of either domain into k coordinates, with the residual of B."""
        B = self.coordinates(k)
        B_T, B_S = np.split(B, 2)
        P_T, P_S = (np.linalg.lstsq(half, X, rcond=None)[0] for half, X in ((B_T, self.T), (B_S, self.S)))
        tied = k < len(self.values) and self.values[k - 1] - self.values[k] <= TIED * self.values[0]
        errors = 0.5 * self.F @ (self.F.T @ B) - B * self.values[:k]
        residual = float(np.linalg.norm(errors, axis=0).max() / self.values[0])
        return JointDirections(np.linalg.pinv(P_S), np.linalg.pinv(P_T), self.values[:k], residual, bool(tied))


def agreement_factor(S: FloatArray, T: FloatArray, beta: float) -> FloatArray:
    """F (2r, d_t + d_s): the objective, without P, is a constant less tr Bᵀ(FFᵀ/2)B / (2 + β)."""
    return np.block([[2.0 * T, beta * S], [beta * T, 2.0 * S]])
