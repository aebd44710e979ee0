"""Which recipe fits: by what is labelled and how much there is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import softmax

from isthmus.transfer.agreement import identity, kappa
from isthmus.transfer.ensemble import averaged, discriminants, posterior, target_only
from isthmus.transfer.few_labels import from_few_labels
from isthmus.transfer.many_rows import from_many_rows
from isthmus.transfer.naming import named
from isthmus.transfer.outcomes import Outcome, Tell, silent
from isthmus.transfer.rows import TransferRows
from isthmus.transfer.rules import Among, Mapped, Rule, Vote
from isthmus.transfer.shares import floored
from isthmus.transfer.starts.own_learner import learned_shares
from isthmus.transfer.starts.pairs import paired_rule

MANY = 350
"""Rows, by the geometric mean of both domains, from which soft pairs take over: by development seeds, at 290 rows
(Reuters) the recipe for few rows is better by .03, at 450 (mfeat) and 424 (digits, 1 label) worse by as much."""

PAIRS = 0.5
"""The weight of the rule that known pairs give."""
KAPPA, IDENTITY = 0.15, 0.6
"""Its gate: how far it agrees with what was found beyond chance, and over the best renaming of the classes."""


def outcome(rows: TransferRows, rng: np.random.Generator, own_shares: bool = False, tell: Tell = silent) -> Outcome:
    """By the recipe for rows of this kind; with ``own_shares`` the assumed shares hold, whatever the source has.

    - No unlabelled target row: discriminants of the labelled ones, over their classes.
    - A class of the source that no target row is labelled with: :func:`named`.
    - Every class labelled, rows many: :func:`from_many_rows`.
    - Every class labelled, rows few: :func:`from_few_labels`.

    Where every class is labelled and pairs are known, the rule that these give has a say too.
    """
    if not rows.unlabelled.any():
        return _labelled_only(rows)
    if len(rows.unknown):
        return named(rows, rng, tell)
    if len(rows.shared) < 2:
        reason = "it has no two classes to tell apart"
        own = target_only(rows)
        return Outcome(
            own, posterior(own, rows)[rows.unlabelled], target_only, weights={"target": 1.0}, reason=reason
        )
    fewer, more = sorted((len(rows.source), len(rows.target)))
    many = fewer * more >= MANY**2 and fewer >= MANY // 2
    found = from_many_rows(rows, own_shares, tell) if many else from_few_labels(rows, rng, tell)
    return found if rows.pairs is None else with_pairs(rows, found)


def with_estimated_shares(rows: TransferRows, found: Outcome) -> TransferRows:
    """Rows under the shares that the target gives by itself, from what a first run found."""
    P = np.zeros((len(rows.yt), rows.n_classes))
    P[rows.unlabelled], P[~rows.unlabelled] = found.P, rows.one_hot
    return rows.with_shares(floored(learned_shares(rows.target, rows.yt, P)))


def with_pairs(rows: TransferRows, found: Outcome) -> Outcome:
    """In equal parts with the rule that known pairs give, if it agrees with what was found, under the same names."""
    learned = paired_rule(rows)
    U = rows.target[rows.unlabelled]

    def joined(rule: Rule) -> Rule:
        mapped: Rule = Mapped(learned)
        if len(rows.shared) < rows.n_classes:
            mapped = Among(mapped, rows.shared, rule)
        return Vote((mapped, rule), np.array([PAIRS, 1.0 - PAIRS]))

    P = softmax(Mapped(learned).scores(U), axis=1)
    agreed, same = kappa(P, found.P[:, rows.shared]), identity(P, found.P[:, rows.shared])
    evidence = found.evidence | {"pairs": agreed}
    if agreed <= KAPPA or same < IDENTITY:
        return replace(found, evidence=evidence)
    rule = joined(found.rule)
    return replace(
        found,
        rule=rule,
        P=posterior(rule, rows)[rows.unlabelled],
        again=lambda fewer: joined(found.again(fewer)),
        evidence=evidence,
        weights={name: w * (1.0 - PAIRS) for name, w in found.weights.items()} | {"pairs": PAIRS},
        source_used=True,
        reason=f"the map that known pairs give agrees with the target's own guesses (κ = {agreed:.2f})",
    )


def _labelled_only(rows: TransferRows) -> Outcome:
    none = np.empty((0, rows.n_classes))

    def again(fewer: TransferRows) -> Rule:
        return averaged(discriminants(fewer, none, rounds=0))

    reason = "no target row is without a label, so there is nothing to carry over"
    return Outcome(again(rows), none, again, weights={"target": 1.0}, reason=reason)
