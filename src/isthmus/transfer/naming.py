"""Classes that no target row is labelled with get their names from the source: several starts, one weighted vote."""

from __future__ import annotations

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.matching.preparation import unit
from isthmus.transfer.gates import naming_against_renamings
from isthmus.transfer.guesses import Guess, agreement
from isthmus.transfer.outcomes import Outcome, Tell, silent
from isthmus.transfer.polish import polished
from isthmus.transfer.rows import TransferRows, extended
from isthmus.transfer.rules import Evenly, Rule, Vote
from isthmus.transfer.starts.clusters import named_clusters
from isthmus.transfer.starts.mlhd import mlhd
from isthmus.transfer.starts.pairs import paired_rule
from isthmus.transfer.starts.procrustes import procrustes_em
from isthmus.transfer.starts.relative import relative
from isthmus.transfer.starts.target import clusters
from isthmus.transfer.starts.zero_shot import zero_shot

SHARPNESS = 10.0
"""The weight of a start is exp(10 r)."""
CLOSED, SURE = -1.0, 1.0
"""Deviations from renamed sources: below the first, the source is left out; above the second, names are sure."""


def named(rows: TransferRows, rng: np.random.Generator, tell: Tell = silent) -> Outcome:
    """The vote of all starts, each polished by the target's own discriminants, with weights exp(10 r).

    Sources whose classes are renamed at random tell how much agreement a useless source reaches. Below what these
    give, the source is left out: the target's clusters remain, among which classes without a label can't be told
    apart and share their probability.
    """
    tell("clusters")
    own, own_rule = polished(rows, clusters(rows, rng).P)
    some = rows.among_shared()
    tell("renamed sources")
    if not len(some.known) or len(rows.shared) < 2:
        return _alone(rows, own, own_rule, "no class that it tells from others has a labelled target row", {})
    z = naming_against_renamings(some, rng)
    if z < CLOSED:
        reason = f"its classes lie to each other less as the target's do than under other names (z = {z:.1f})"
        return _alone(rows, own, own_rule, reason, {"renamings": z})
    ends = {}
    for guess in source_starts(rows, own):
        tell(f"polishing {guess.name}")
        ends[guess.name] = polished(rows, guess.P)
    r = {name: agreement(rows, P) for name, (P, _) in ends.items()}
    raw = np.exp(SHARPNESS * (np.array(list(r.values())) - max(r.values())))
    weights = raw / raw.sum()
    guesses = [P for P, _ in ends.values()]

    def again(fewer: TransferRows) -> Rule:
        return Vote(tuple(polished(fewer, P, rounds=1)[1] for P in guesses), weights)

    rule = Vote(tuple(rule for _, rule in ends.values()), weights)
    P = np.einsum("s,snc->nc", weights, np.array(guesses))
    named_by = dict(zip(ends, weights.tolist(), strict=True))
    return Outcome(rule, P, again, {"renamings": z}, r, named_by, True, _reason(max(r.values()), z))


def source_starts(rows: TransferRows, own: FloatArray) -> list[Guess]:
    """Every start that the source has a part in; ``own`` are clusters of the target (n_u, C)."""
    some = rows.among_shared()
    found = [zero_shot(some), relative(some), mlhd(some)]
    found += [procrustes_em(some, guess) for guess in found]
    if len(some.shares) == rows.n_classes:
        found.append(named_clusters(rows, own))
    if rows.pairs is not None:
        found.append(Guess("pairs", paired_rule(rows).posterior(unit(rows.target[rows.unlabelled]))))
    return [Guess(guess.name, extended(guess.P, rows, own)) for guess in found]


def _alone(rows: TransferRows, own: FloatArray, rule: Rule, reason: str, evidence: dict[str, float]) -> Outcome:
    def again(fewer: TransferRows) -> Rule:
        return Evenly(polished(fewer, own, rounds=1)[1], rows.unknown)

    P = own.copy()
    P[:, rows.unknown] = P[:, rows.unknown].mean(axis=1, keepdims=True)
    return Outcome(Evenly(rule, rows.unknown), P, again, evidence, weights={"target": 1.0}, reason=reason)


def _reason(r: float, z: float) -> str:
    if z > SURE:
        return (
            f"its classes lie to each other as the target's do (agreement {r:.2f}, renamings reach less, z = {z:.1f})"
        )
    return f"but renamed sources agree about as well (agreement {r:.2f}, z = {z:.1f}), so check the names"
