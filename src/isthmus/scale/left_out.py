"""Ridge regression over pairs in blocks: the error of leaving out each pair in turn is a sum over blocks, too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isthmus._arrays import FloatArray, IntArray, Matrix
from isthmus.maps.affine import AffineMap
from isthmus.maps.ridge import RidgeFit, spectrum
from isthmus.scale.pair_moments import CentredRows, PairMoments
from isthmus.scale.row_pairs import Layout, RowPairs

Both = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class _Errors:
    r"""With u the whitened input of a pair, :math:`|b - Z^T h u|^2 / (1 - w_i/w - \sum_k h_k u_k^2)^2` for every h.

    Parameters
    ----------
    layout : Layout
    mean, weight : array (d,) and float
        Of the pairs.
    inputs, outputs : slice
        Whose columns predict whose.
    basis : array (d_in, r)
        From inputs to u.
    back : array (d_out, r)
        From outputs b to Z b.
    K : array (r, r)
        Z Zᵀ.
    kept : array (p, r)
        h for each penalty.
    """

    layout: Layout
    mean: FloatArray
    weight: float
    inputs: slice
    outputs: slice
    basis: FloatArray
    back: FloatArray
    K: FloatArray
    kept: FloatArray

    def __call__(self, Z: Matrix, codes: IntArray) -> tuple[FloatArray, ...]:
        """The errors (p,) of a block."""
        rows, w = self.layout.parts(Z)
        block = CentredRows.of(rows, self.mean, w)
        A, B = block.part(self.inputs), block.part(self.outputs)
        U, lengths = A.times(self.basis), B.lengths
        G, squares, errors = U * B.times(self.back), U**2, np.empty(len(self.kept))
        for k, h in enumerate(self.kept):
            root = 1.0 / np.maximum(1.0 - w / self.weight - squares @ h, np.finfo(np.float64).eps)
            F, c = U * root[:, None], root**2
            errors[k] = c @ lengths - 2.0 * (c @ G) @ h + h @ ((F.T @ F) * self.K) @ h
        return (errors,)


def ridge_of_pairs(
    pairs: RowPairs, moments: PairMoments, points: Both, axes: Both, penalties: FloatArray, *, back: bool = False
) -> RidgeFit:
    """What :func:`isthmus.maps.ridge` is over all pairs, from their moments and one pass or two for the penalty.

    Parameters
    ----------
    pairs, moments : RowPairs and PairMoments
        The pairs.
    points : (array (n, r_s), array (n, r_t))
        Representative pairs, centred and along ``axes``.
    axes : (array (d_s, r_s), array (d_t, r_t))
        Orthonormal axes that the pairs vary along.
    penalties : array (p,)
        What is offered, as there; of one there is no choice, and no error is computed.
    back : bool
        Whether targets predict sources.
    """
    first, second = (1, 0) if back else (0, 1)
    root = np.sqrt(moments.weight / len(points[0]))  # each stand-in counts so much
    B = points[second] * root
    _, found = spectrum(points[first] * root, B)
    sides = moments.layout.sides
    basis, outputs = axes[first] @ (found.V / found.s), axes[second] @ found.Z.T
    K, values = np.asarray(found.Z @ found.Z.T), found.values

    def errors(offered: FloatArray) -> list[float]:
        kept = values / (values + offered[:, None])
        share = _Errors(
            moments.layout, moments.mean, moments.weight, sides[first], sides[second], basis, outputs, K, kept
        )
        return [max(float(error), 0.0) for error in pairs.rows.total(share)[0]]

    squared = float(np.einsum("ij,ij->", B, B))
    search = errors if len(penalties) > 1 else lambda offered: [np.nan]
    penalty, place, error = found.best(penalties, None, pairs.n, squared, search)
    zeros = np.zeros(points[first].shape[1]), np.zeros(points[second].shape[1])
    return RidgeFit(AffineMap(found.coefficients(penalty), *zeros), penalty, place, error)
