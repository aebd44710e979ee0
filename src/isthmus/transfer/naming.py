"""Classes that no target row is labelled with get their names from the source: several starts, one weighted vote."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import softmax

from isthmus._arrays import FloatArray
from isthmus.matching.preparation import unit
from isthmus.transfer.agreement import naming_z
from isthmus.transfer.ensemble import own_rule, posterior
from isthmus.transfer.gates import naming_against_renamings
from isthmus.transfer.guesses import Guess, agreement
from isthmus.transfer.outcomes import Outcome, Tell, silent
from isthmus.transfer.polish import ROUNDS, polished
from isthmus.transfer.rows import TransferRows, among_shared, extended
from isthmus.transfer.rules import Evenly, Rule
from isthmus.transfer.starts.clusters import named_clusters
from isthmus.transfer.starts.mlhd import mlhd, mlhd_rounds
from isthmus.transfer.starts.pairs import paired_rule
from isthmus.transfer.starts.procrustes import procrustes_em
from isthmus.transfer.starts.relative import relative
from isthmus.transfer.starts.signatures import learned, signature_scores
from isthmus.transfer.starts.target import clusters
from isthmus.transfer.starts.zero_shot import zero_shot

SHARPNESS, SIGNATURES = 6.0, 0.6
"""The weight of a start is exp(6 (r + 0.6 s)), with s how far row signatures bear out its names."""
BETTER = 0.05
"""By so much r + 0.6 s has to rise for clusters to be given other names than the vote has for them."""
CLOSED, SURE = -1.0, 1.0
"""Deviations from renamed sources: below the first, the source is left out; above the second, names are sure."""


def named(rows: TransferRows, rng: np.random.Generator, tell: Tell = silent) -> Outcome:
    """The vote of all starts, each polished by the target's own discriminants, with weights exp(6 (r + 0.6 s)).

    r is the agreement of the classes' geometry with that of the source, s how far a rule of the source's row
    signatures, which knows no label of the target, names the rows as the start does.

    What was voted for is a clustering of the target whose names may still be mixed up: graph matching may give it
    others. Self-trained MLHD goes on from there, and the target's own discriminants have the last word.

    Sources whose classes are renamed at random tell how much agreement a useless source reaches. Below what these
    give, the source is left out: the target's clusters remain, among which classes without a label can't be told
    apart and share their probability.
    """
    tell("clusters", 5)
    own, own_discriminant = polished(rows, clusters(rows, rng).P)
    some = rows.among_shared()
    tell("renamed sources", 4)
    if not len(some.known) or len(rows.shared) < 2:
        return _alone(rows, own, own_discriminant, "no class that it tells from others has a labelled target row", {})
    z = naming_against_renamings(some, rng)
    if z < CLOSED:
        reason = f"its classes lie to each other less as the target's do than under other names (z = {z:.1f})"
        return _alone(rows, own, own_discriminant, reason, {"renamings": z})
    tell("starts", 3)
    ends = {guess.name: polished(rows, guess.P) for guess in source_starts(rows, own)}
    r = {name: agreement(rows, P) for name, (P, _) in ends.items()}
    merit = _merit(rows)
    merits = np.array([merit(P) for P, _ in ends.values()])
    raw = np.exp(SHARPNESS * (merits - merits.max()))
    weights = raw / raw.sum()
    voted = np.einsum("s,snc->nc", weights, np.array([P for P, _ in ends.values()]))
    tell("self-trained mlhd", 2)
    found = mlhd_rounds(some, among_shared(_best_named(rows, voted, merit), rows), rng)
    P = extended(found, rows, own)

    rule = own_rule(rows, P, ROUNDS - 1)
    named_by = dict(zip(ends, weights.tolist(), strict=True))
    return Outcome(
        rule,
        posterior(rule, rows)[rows.unlabelled],
        lambda fewer: own_rule(fewer, P, 0),
        {"renamings": z},
        r,
        named_by,
        True,
        _reason(max(r.values()), z),
    )


def _merit(rows: TransferRows) -> Callable[[FloatArray], float]:
    """What speaks for the names of guesses (n_u, C): r, and signatures where the source can tell its own classes."""
    some = rows.among_shared()
    assert some.prepared is not None
    source, target = some.prepared
    if not learned(source, some.ys, some.n_classes)[1]:
        return lambda P: agreement(rows, P)
    signed = softmax(signature_scores(source, some.ys, target, some.n_classes)[some.unlabelled], axis=1)
    weight = SIGNATURES / (some.n_classes - 1)  # of two perfect guesses, z is C - 1
    return lambda P: agreement(rows, P) + weight * naming_z(signed.T @ P[:, rows.shared])


def _best_named(rows: TransferRows, P: FloatArray, merit: Callable[[FloatArray], float]) -> FloatArray:
    """Guesses P (n_u, C), or the clusters that they end in under other names, if these agree better by far."""
    if len(rows.shared) < rows.n_classes:
        return P
    ended = polished(rows, P)[0]
    other = named_clusters(rows, ended).P
    return other if merit(other) > merit(ended) + BETTER else P


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
