"""Every class has labels, and rows are many: soft pairs where geometry opens their gate, and the source's shares."""

from __future__ import annotations

from functools import partial

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.transfer.ensemble import own_rule, posterior
from isthmus.transfer.guesses import agreement
from isthmus.transfer.outcomes import Outcome, Tell, silent
from isthmus.transfer.rows import TransferRows
from isthmus.transfer.rules import Among, Mapped, Rule, Vote
from isthmus.transfer.shares import floored
from isthmus.transfer.starts.own_learner import shares_alike
from isthmus.transfer.starts.signature_rule import source_accuracy
from isthmus.transfer.starts.soft_pairs import ALL_ROUNDS, SoftPairs, soft_pairs

UNEQUAL = 2.0
"""Shares matter where the largest is more than so many times the smallest."""
ALIKE = 0.7
"""The least correlation of the source's shares with those that the target gives by itself."""
MAPPED = 2.0 / 3.0
"""The weight of the mapped rule where its gate is open."""


def from_many_rows(rows: TransferRows, own_shares: bool, tell: Tell = silent) -> Outcome:
    """The target's own discriminants; with a rule of the source by soft pairs, or its shares, where a gate opens.

    - Soft pairs: a probe that knows no target label agrees with the target's own guesses, under the same names.
    - Shares of the source, unless the caller's ``own_shares`` are to hold: they are unequal, and correlate with those
      that the target finds by itself.
    - Both: discriminants of the source tell its own classes apart.
    """
    tell("target alone", ALL_ROUNDS + 2)
    own = own_rule(rows)
    P = posterior(own, rows)
    some = rows.among_shared()
    assert some.prepared is not None
    source, target = some.prepared
    alone = partial(Outcome, own, P[rows.unlabelled], own_rule, weights={"target": 1.0})
    if not source_accuracy(source.points, some.ys, some.n_classes)[1]:
        return alone(reason="its own rows do not tell its classes apart")
    counts = np.bincount(some.ys, minlength=some.n_classes).astype(float)
    unequal = not own_shares and counts.max() > UNEQUAL * counts.min()
    shares = floored(counts) if unequal else some.shares
    among = posterior(own_rule(some), some)
    left = iter(range(ALL_ROUNDS + 1, 1, -1))
    found = soft_pairs(
        source, some.ys, target, some.yt, among, shares, tick=lambda: tell("soft pairs", next(left, 1))
    )
    evidence = {"soft pairs": found.evidence.z, "identity": found.evidence.identity}
    r = {"target": agreement(rows, P[rows.unlabelled])}
    if found.is_open:
        return _open(rows, own, found, evidence, r)
    closed = (
        "by geometry alone its classes agree with the target's no better than under other names "
        f"(z = {found.evidence.z:.1f}, {found.evidence.identity:.2f} of the best renaming)"
    )
    if unequal:
        evidence["shares"] = shares_alike(target.points, some.yt, among, shares)
    if evidence.get("shares", 0.0) <= ALIKE:
        return alone(evidence=evidence, agreement=r, reason=closed)
    return _with_shares(rows, shares, P, evidence, r, closed)


def _open(
    rows: TransferRows, own: Rule, found: SoftPairs, evidence: dict[str, float], r: dict[str, float]
) -> Outcome:
    """The rule of the mapped source and that of the target, two to one."""

    def with_mapped(own: Rule) -> Rule:
        mapped: Rule = Mapped(found.rule)
        if len(rows.shared) < rows.n_classes:
            mapped = Among(mapped, rows.shared, own)
        return Vote((mapped, own), np.array([MAPPED, 1.0 - MAPPED]))

    rule = with_mapped(own)
    P = posterior(rule, rows)[rows.unlabelled]
    r = r | {"soft pairs": agreement(rows, P)}
    reason = (
        "by geometry alone its classes agree with the target's own guesses and labels better than under other names "
        f"(z = {evidence['soft pairs']:.1f})"
    )

    def again(fewer: TransferRows) -> Rule:
        return with_mapped(own_rule(fewer))

    weights = {"soft pairs": MAPPED, "target": 1.0 - MAPPED}
    return Outcome(rule, P, again, evidence, r, weights, True, reason)


def _with_shares(
    rows: TransferRows,
    shares: FloatArray,
    P: FloatArray,
    evidence: dict[str, float],
    r: dict[str, float],
    closed: str,
) -> Outcome:
    """The target's own discriminants with the shares of the source's classes."""
    full = rows.shares.copy()
    full[rows.shared] = shares * full[rows.shared].sum()
    as_source = rows.with_shares(floored(full))
    guesses = P[rows.unlabelled]
    rule = own_rule(as_source, guesses)

    def again(fewer: TransferRows) -> Rule:
        return own_rule(fewer.with_shares(as_source.shares), guesses)

    reason = (
        f"only for the shares of its classes, which are as the target's own (correlation {evidence['shares']:.2f}); "
        + closed
    )
    return Outcome(
        rule,
        posterior(rule, rows)[rows.unlabelled],
        again,
        evidence,
        r,
        {"target": 1.0},
        True,
        reason,
        as_source.shares,
    )
