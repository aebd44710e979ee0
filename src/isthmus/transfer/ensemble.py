"""The target's own ensemble where every class has a label: self-trained discriminants and balanced clusters."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from isthmus._arrays import FloatArray
from isthmus.controls.discriminants import balanced
from isthmus.transfer.guesses import class_means, from_scores, guessed_means, squared_distances
from isthmus.transfer.polish import ROUNDS, polished
from isthmus.transfer.rows import TransferRows
from isthmus.transfer.rules import Discriminant, NearestMean, Probabilities, Rule, Sum, Vote
from isthmus.transfer.starts.target import nearest

MULTIPLES = (2, 3, 5)
"""Axes per class on which the target's learners work; what they say is averaged."""
CLUSTER_ROUNDS = 15
SEED_WEIGHT = 3.0
"""The weight of a labelled row in the mean of its cluster."""
UNSURE, SLOPE = 0.5, 2.5
"""Clusters that are surer of themselves than the first have a say in the target's ensemble, by this slope."""
SHARPNESS = 2.0
"""Scores of unit deviation are multiplied by this, and read as logarithms."""


def discriminants(
    rows: TransferRows, P: FloatArray | None = None, prior: FloatArray | float = 0.0, rounds: int = ROUNDS
) -> tuple[Discriminant, ...]:
    """Self-trained discriminants on several numbers of axes; from guesses P, or from the nearest labels."""
    starts = [nearest(rows, multiple, prior).P if P is None else P for multiple in MULTIPLES]
    return tuple(
        polished(rows, start, multiple=multiple, rounds=rounds + 1, prior=prior)[1]
        for start, multiple in zip(starts, MULTIPLES, strict=True)
    )


def averaged(members: tuple[Discriminant, ...]) -> Rule:
    """The mean of the members' probabilities, as scores."""
    n = len(members)
    return Sum(tuple(map(Probabilities, members)), np.ones(n), np.full(n, 1.0 / n))


def own_rule(rows: TransferRows, P: FloatArray | None = None, rounds: int = ROUNDS) -> Rule:
    """The mean of the probabilities of the target's own discriminants on several numbers of axes."""
    members = discriminants(rows, P, rounds=rounds)
    return Vote(members, np.ones(len(members)))


def posterior(rule: Rule, rows: TransferRows) -> FloatArray:
    """Probabilities of the classes of all target rows (n_t, C); labelled ones keep their labels."""
    P = np.asarray(softmax(rule.scores(rows.target), axis=1))
    P[~rows.unlabelled] = rows.one_hot
    return P


def cluster_means(rows: TransferRows, prior: FloatArray | float = 0.0) -> Rule:
    """Balanced k-means from the labelled means, on several numbers of axes."""
    found = []
    for multiple in MULTIPLES:
        view = rows.at(multiple)
        M = class_means(view.L, view.yl, rows.n_classes)
        for _ in range(CLUSTER_ROUNDS):
            P = from_scores(-squared_distances(view.U, M), rows.shares, prior)
            M = guessed_means(view.L, rows.one_hot, view.U, P, SEED_WEIGHT)
        found.append(NearestMean(M))
    return Sum.of(tuple(found), rows.target[rows.unlabelled])


def target_only(rows: TransferRows, prior: FloatArray | float = 0.0) -> Rule:
    """Discriminants and clusters: the clusters count as far as they are sure of themselves."""
    clusters = cluster_means(rows, prior)
    part = float(np.clip(SLOPE * (sureness(clusters, rows) - UNSURE), 0.0, 1.0))
    return mixed(rows, (averaged(discriminants(rows, prior=prior)), clusters), (1.0 - part, part))


def sureness(rule: Rule, rows: TransferRows) -> float:
    r"""How far balanced guesses of the unlabelled rows are from even ones: :math:`(\bar p - 1/C) / (1 - 1/C)`.

    With :math:`\bar p` the mean probability of the best class; one for guesses that are certain.
    """
    best = float(guesses_of(mixed(rows, (rule,), (1.0,)), rows).max(axis=1).mean())
    return (rows.n_classes * best - 1.0) / max(rows.n_classes - 1, 1)


def in_equal_parts(rows: TransferRows, *members: Rule) -> Rule:
    """Rules whose scores are brought to one deviation on the unlabelled rows, and averaged."""
    return mixed(rows, members, (1.0 / len(members),) * len(members))


def mixed(rows: TransferRows, members: tuple[Rule, ...], parts: tuple[float, ...]) -> Rule:
    """Rules whose scores are brought to one deviation on the unlabelled rows, in these parts."""
    return Sum.of(members, rows.target[rows.unlabelled], SHARPNESS * np.array(parts))


def guesses_of(rule: Rule, rows: TransferRows, prior: FloatArray | float = 0.0, sharpness: float = 1.0) -> FloatArray:
    """Balanced guesses of the unlabelled rows (n_u, C) by a rule."""
    return balanced(sharpness * rule.scores(rows.target[rows.unlabelled]) + prior, rows.shares)
