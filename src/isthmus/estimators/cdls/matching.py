"""What CDLS minimises: weighted means of the domains and of their classes, and weighted rows of each class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from isthmus._arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class LandmarkMatching:
    r"""How far source rows, mapped by A and weighted by α, are from target rows, weighted by β.

    .. math::

       \Big\| \frac{\sum_i \alpha_i a_i}{\delta n_s} - \frac{\sum_j l_j + \sum_k \beta_k u_k}{n_l + \delta n_u}
       \Big\|^2 + \sum_c \big\| \text{the same of class } c \big\|^2 + \sum_c \frac{1}{e_c} \sum_{i,j,k \in c}
       \|\alpha_i a_i - l_j\|^2 + \|l_j - \beta_k u_k\|^2 + \|\beta_k u_k - \alpha_i a_i\|^2, \qquad a_i = A^T x_i

    :math:`e_c = \delta n_s n_l + \delta n_l n_u + \delta^2 n_u n_s` of the class. Everything is computed from sums
    over classes: no table of pairs is made. It is a convex quadratic in A, and one in (α, β).

    Parameters
    ----------
    X : array (n_s, d)
        Source rows.
    labelled, free : array (n_l, m) and (n_u, m)
        Target rows in the common space, with a label and without.
    codes : tuple of array
        Their classes: of the source, of labelled rows, and those guessed of rows without a label.
    n_classes : int
        How many there are.
    share : float
        δ, the mean weight of a row in each class.
    """

    X: FloatArray
    labelled: FloatArray
    free: FloatArray
    codes: tuple[IntArray, IntArray, IntArray]
    n_classes: int
    share: float

    @property
    def counts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Rows of each class (C,): of the source, with a label, without."""
        n_s, n_l, n_u = (np.bincount(y, minlength=self.n_classes).astype(float) for y in self.codes)
        return n_s, n_l, n_u

    @property
    def scales(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """1 / (δ n_s), 1 / (n_l + δ n_u) and 1 / e of each class (C,); zero where a class has no such rows."""
        n_s, n_l, n_u = self.counts
        d = self.share
        parts = d * n_s, n_l + d * n_u, d * n_s * n_l + d * n_l * n_u + d**2 * n_u * n_s
        first, second, third = (np.divide(1.0, p, out=np.zeros_like(p), where=p > 0.0) for p in parts)
        both = (first > 0.0) & (second > 0.0)  # a mean of nothing is no mean to match
        return first * both, second * both, third

    def of_classes(self, rows: FloatArray, which: int) -> FloatArray:
        """The sums (C, ·) of rows over the classes of the source (0), the labelled (1) or the free rows (2)."""
        sums = np.zeros((self.n_classes, rows.shape[1]))
        np.add.at(sums, self.codes[which], rows)
        return sums

    def best_map(self, alpha: FloatArray, beta: FloatArray, penalty: float) -> FloatArray:
        """A (d, m), the minimum with the ridge penalty ‖A‖² added, for given weights."""
        n_s, n_l, n_u = self.counts
        first, second, third = self.scales
        S = self.of_classes(alpha[:, None] * self.X, 0)
        T = self.of_classes(self.labelled, 1) + self.of_classes(beta[:, None] * self.free, 2)
        total = 1.0 / (self.share * n_s.sum()), 1.0 / (n_l.sum() + self.share * n_u.sum())
        g, t = total[0] * S.sum(axis=0), total[1] * T.sum(axis=0)
        w = (third * (n_l + n_u))[self.codes[0]] * alpha**2
        H = np.outer(g, g) + S.T @ (first[:, None] ** 2 * S) + self.X.T @ (w[:, None] * self.X)
        R = np.outer(g, t) + S.T @ ((first * second + third)[:, None] * T)
        H[np.diag_indices_from(H)] += penalty
        return np.asarray(sla.solve(H, R, assume_a="pos"))

    def value_and_gradient(self, A: FloatArray, z: FloatArray) -> tuple[float, FloatArray]:
        """The objective at weights z = [α; β] (n_s + n_u,), and its gradient, for the mapped rows A (n_s, m)."""
        n_s, n_l, n_u = self.counts
        (first, second, third), (ys, yl, yu) = self.scales, self.codes
        alpha, beta = z[: len(A)], z[len(A) :]
        S, V = self.of_classes(alpha[:, None] * A, 0), self.of_classes(beta[:, None] * self.free, 2)
        L = self.of_classes(self.labelled, 1)
        total = 1.0 / (self.share * n_s.sum()), 1.0 / (n_l.sum() + self.share * n_u.sum())
        apart = total[0] * S.sum(axis=0) - total[1] * (L + V).sum(axis=0)
        by_class = first[:, None] * S - second[:, None] * (L + V)
        squares = [np.einsum("ij,ij->i", rows, rows) for rows in (A, self.labelled, self.free)]
        own = alpha**2 @ ((third * (n_l + n_u))[ys] * squares[0]) + (third * (n_s + n_u))[yl] @ squares[1]
        own += beta**2 @ ((third * (n_s + n_l))[yu] * squares[2])
        crossed = float(np.sum(third[:, None] * (S * L + L * V + V * S)))
        value = float(apart @ apart + np.sum(by_class**2) + own - 2.0 * crossed)
        pull = total[0] * apart + (first[:, None] * by_class) - third[:, None] * (L + V)
        push = -total[1] * apart - (second[:, None] * by_class) - third[:, None] * (L + S)
        d_alpha = alpha * (third * (n_l + n_u))[ys] * squares[0] + np.einsum("ij,ij->i", A, pull[ys])
        d_beta = beta * (third * (n_s + n_l))[yu] * squares[2] + np.einsum("ij,ij->i", self.free, push[yu])
        return value, 2.0 * np.concatenate([d_alpha, d_beta])
