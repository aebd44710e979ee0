"""Every class has a few labels: the target's own ensemble, and what of the source passes its gates."""

from __future__ import annotations

from functools import partial

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.transfer.gates import geometry_against_renamings, source_tells_classes
from isthmus.transfer.guesses import agreement, class_means, from_scores, guessed_means, squared_distances
from isthmus.transfer.outcomes import Outcome, Tell, silent
from isthmus.transfer.polish import ROUNDS, polished
from isthmus.transfer.rows import TransferRows, extended
from isthmus.transfer.rules import NearestMean, Probabilities, Rule, Sum
from isthmus.transfer.starts.mlhd import mlhd_rounds
from isthmus.transfer.starts.target import nearest

MULTIPLES = (2, 3, 5)
"""Axes per class on which the target's learners work; their scores are averaged."""
CLUSTER_ROUNDS = 15
SEED_WEIGHT = 3.0
"""The weight of a labelled row in the mean of its cluster."""
GEOMETRY = 0.5
"""Deviations above renamings from which the classes' geometry lets MLHD in."""
SHARPNESS = 2.0
"""Scores of unit deviation are multiplied by this before they are balanced, and read as logarithms."""


def discriminants(
    rows: TransferRows, P: FloatArray | None = None, prior: FloatArray | float = 0.0, rounds: int = ROUNDS
) -> Rule:
    """Self-trained discriminants on several numbers of axes; from guesses P, or from the nearest labels."""
    starts = [nearest(rows, multiple).P if P is None else P for multiple in MULTIPLES]
    found = [
        polished(rows, start, multiple=multiple, rounds=rounds + 1, prior=prior)[1]
        for start, multiple in zip(starts, MULTIPLES, strict=True)
    ]
    return Sum(tuple(map(Probabilities, found)), np.ones(len(found)), np.full(len(found), 1.0 / len(found)))


def cluster_means(rows: TransferRows, prior: FloatArray | float = 0.0) -> Rule:
    """Balanced k-means from the labelled means, on several numbers of axes."""
    found = []
    for multiple in MULTIPLES:
        view = rows.at(multiple)
        M = class_means(view.L, view.yl, rows.n_classes)
        for _ in range(CLUSTER_ROUNDS):
            D = squared_distances(view.U, M)
            P = from_scores(-D + prior * (D.std() / SHARPNESS), rows.shares)
            M = guessed_means(view.L, rows.one_hot, view.U, P, SEED_WEIGHT)
        found.append(NearestMean(M))
    return Sum.of(tuple(found), rows.target[rows.unlabelled])


def target_only(rows: TransferRows, prior: FloatArray | float = 0.0) -> Rule:
    """The target's own ensemble: discriminants and clusters in equal parts."""
    members = discriminants(rows, prior=prior), cluster_means(rows, prior)
    return Sum.of(members, rows.target[rows.unlabelled], np.full(2, 0.5 * SHARPNESS))


def from_few_labels(rows: TransferRows, rng: np.random.Generator, tell: Tell = silent) -> Outcome:
    """The target's ensemble and, behind the geometry gate, what self-trained MLHD makes of it."""
    tell("target alone")
    own = target_only(rows)
    P = guesses_of(own, rows)
    alone = partial(Outcome, own, P, target_only, weights={"target": 1.0})
    some = rows.among_shared()
    if len(rows.shared) < 2 or not source_tells_classes(some, rng):
        return alone(reason="its own rows do not tell its classes apart")
    among = P[:, rows.shared] / P[:, rows.shared].sum(axis=1, keepdims=True)
    z = geometry_against_renamings(some, among, rng)
    r = {"target": agreement(rows, P)}
    if z <= GEOMETRY:
        reason = f"its classes lie to each other no more as the target's do than under other names (z = {z:.1f})"
        return alone(evidence={"z": z}, agreement=r, reason=reason)
    tell("mlhd")
    Q = extended(mlhd_rounds(some, among, rng), rows, P)
    r["mlhd"] = agreement(rows, Q)

    def again(fewer: TransferRows) -> Rule:
        return both(fewer, target_only(fewer), Q)

    rule = both(rows, own, Q)
    return Outcome(
        rule,
        guesses_of(rule, rows),
        again,
        {"z": z},
        r,
        {"target": 0.5, "mlhd": 0.5},
        True,
        f"its classes lie to each other as the target's do (z = {z:.1f})",
    )


def both(rows: TransferRows, own: Rule, Q: FloatArray) -> Rule:
    """A rule of the target and discriminants taught by guesses Q, in equal parts."""
    members = own, discriminants(rows, Q, rounds=1)
    return Sum.of(members, rows.target[rows.unlabelled], np.full(2, 0.5 * SHARPNESS))


def guesses_of(rule: Rule, rows: TransferRows) -> FloatArray:
    """Balanced guesses of the unlabelled rows by a rule."""
    return from_scores(rule.scores(rows.target[rows.unlabelled]), rows.shares)
