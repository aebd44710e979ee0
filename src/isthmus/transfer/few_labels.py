"""Every class has a few labels, and rows are few: the target's ensemble, and what of the source passes a gate."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.transfer.ensemble import SHARPNESS, averaged, discriminants, guesses_of, in_equal_parts, target_only
from isthmus.transfer.gates import geometry_against_renamings
from isthmus.transfer.guesses import agreement
from isthmus.transfer.outcomes import Outcome, Tell, silent
from isthmus.transfer.rows import TransferRows, among_shared, extended
from isthmus.transfer.rules import Rule
from isthmus.transfer.starts.mlhd import mlhd_rounds
from isthmus.transfer.starts.signatures import SignatureStart, signature_start

GEOMETRY = 0.5
"""Deviations above renamings from which the classes' geometry lets MLHD in."""


def from_few_labels(rows: TransferRows, rng: np.random.Generator, tell: Tell = silent) -> Outcome:
    """The target's ensemble; with row signatures as a prior, and with self-trained MLHD, where their gates open.

    - Signatures: the target's own guesses, which know nothing of them, must bear them out.
    - MLHD: signatures are let in, or the classes' geometry agrees better than under other names.
    - Both: discriminants of the source tell its own classes apart, and geometry and signatures, taken together, agree
      better with the target under the names that the classes have than under others.
    """
    tell("target alone", 4)
    own = target_only(rows)
    P = guesses_of(own, rows)
    alone = partial(Outcome, own, P, target_only, weights={"target": 1.0})
    some, among = rows.among_shared(), among_shared(P, rows)
    tell("signatures", 3)
    signs = _signatures(some, among_shared(guesses_of(own, rows, sharpness=1.0 / SHARPNESS), rows))
    if not signs.source_learns:
        return alone(reason="its own rows do not tell its classes apart")
    z = geometry_against_renamings(some, among, rng)
    r = {"target": agreement(rows, P)}
    evidence = {"geometry": z, "signatures": signs.trust, "names": signs.names}
    if not signs.is_open and z <= GEOMETRY:
        reason = (
            "its classes lie to each other no more as the target's do than under other names "
            f"(z = {z:.1f}), and row signatures do not bear it out (trust {signs.trust:.2f})"
        )
        return alone(evidence=evidence, agreement=r, reason=reason)
    if z + signs.names <= 0.0:
        reason = (
            "the geometry of its classes and row signatures, taken together, agree with the target no better than "
            f"under other names (z = {z:.1f} and {signs.names:.1f})"
        )
        return alone(evidence=evidence, agreement=r, reason=reason)
    prior = _prior(signs, some, rows)
    taught = partial(_with_signatures, prior=prior, gate=signs.gate)
    base = taught(rows, own)
    tell("mlhd", 2)
    guesses = guesses_of(base, rows, signs.gate * prior)
    found = mlhd_rounds(some, among_shared(guesses, rows), rng, signs.gate * prior[:, rows.shared])
    Q = extended(found, rows, P)
    r["mlhd"] = agreement(rows, Q)
    rule = _with_mlhd(rows, base, Q)
    weights = {"target": 0.5 - 0.25 * signs.gate, "signatures": 0.25 * signs.gate, "mlhd": 0.5}
    return Outcome(
        rule,
        guesses_of(rule, rows),
        _again(taught, Q),
        evidence,
        r,
        {name: weight for name, weight in weights.items() if weight},
        True,
        _reason(z, signs),
    )


def _reason(z: float, signs: SignatureStart) -> str:
    parts = [f"its classes lie to each other as the target's do (z = {z:.1f})"] if z > GEOMETRY else []
    parts += [f"row signatures bear it out (trust {signs.trust:.2f})"] if signs.is_open else []
    return ", and ".join(parts)


def _again(taught: Callable[..., Rule], Q: FloatArray) -> Callable[[TransferRows], Rule]:
    return lambda fewer: _with_mlhd(fewer, taught(fewer, target_only(fewer)), Q)


def _with_signatures(rows: TransferRows, own: Rule, *, prior: FloatArray, gate: float) -> Rule:
    """The target's ensemble taught with the prior; half-way, in equal parts with what it is without."""
    if gate == 0.0:
        return own
    taught = target_only(rows, prior)
    return taught if gate == 1.0 else in_equal_parts(rows, taught, own)


def _with_mlhd(rows: TransferRows, base: Rule, Q: FloatArray) -> Rule:
    """A rule, and discriminants taught by MLHD's guesses Q (n_u, C), in equal parts."""
    return in_equal_parts(rows, base, averaged(discriminants(rows, Q, rounds=1)))


def _signatures(some: TransferRows, guesses: FloatArray) -> SignatureStart:
    """With the target's own guesses of unlabelled rows (n_u, C'), and its labels."""
    assert some.prepared is not None
    known = np.zeros((len(some.yt), some.n_classes))
    known[~some.unlabelled], known[some.unlabelled] = some.one_hot, guesses
    return signature_start(some.prepared[0], some.ys, some.prepared[1], known, some.unlabelled)


def _prior(signs: SignatureStart, some: TransferRows, rows: TransferRows) -> FloatArray:
    """Over all classes (n_u, C); none for classes that the source lacks."""
    prior = np.zeros((int(rows.unlabelled.sum()), rows.n_classes))
    prior[:, rows.shared] = signs.prior[some.unlabelled]
    return prior
