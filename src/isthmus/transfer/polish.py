"""The target's own discriminants, taught by guesses and then by themselves."""

from __future__ import annotations

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.controls.discriminants import SoftLDA, balanced
from isthmus.transfer.guesses import AXES_PER_CLASS
from isthmus.transfer.rows import TransferRows
from isthmus.transfer.rules import Discriminant

ROUNDS = 10
"""How often the discriminants learn from their own balanced guesses."""


def polished(
    rows: TransferRows,
    P: FloatArray,
    *,
    multiple: int = AXES_PER_CLASS,
    rounds: int = ROUNDS,
    prior: FloatArray | float = 0.0,
) -> tuple[FloatArray, Discriminant]:
    """Guesses (n_u, C) and discriminants after some rounds of self-training from guesses P; labels are kept.

    A ``prior`` (n_u, C), in logarithms, is added to the scores of the unlabelled rows in every round.
    """
    view = rows.at(multiple)
    Z = view.target
    mean, n = Z.mean(axis=0), len(view.L)
    Z = Z - mean
    for _ in range(rounds):
        lda = SoftLDA.of(Z, np.vstack([rows.one_hot, P]))
        P = balanced(lda.scores(Z[n:]) + prior, rows.shares) if len(P) else P
    # Discriminants know of no shares. What balances old rows would do for new ones, but is worse.
    likely = np.log(rows.n_classes * rows.shares)
    return P, Discriminant(mean, SoftLDA(lda.weights, lda.offsets + likely))
