"""Classes that no target row is labelled with get their names from the source: several starts, one weighted vote."""

from __future__ import annotations

import numpy as np

from isthmus._arrays import FloatArray
from isthmus.transfer.guesses import Guess, agreement
from isthmus.transfer.outcomes import Outcome, Tell, silent
from isthmus.transfer.polish import polished
from isthmus.transfer.rows import TransferRows, extended
from isthmus.transfer.rules import Rule, Vote
from isthmus.transfer.starts.clusters import named_clusters
from isthmus.transfer.starts.mlhd import mlhd
from isthmus.transfer.starts.procrustes import procrustes_em
from isthmus.transfer.starts.relative import relative
from isthmus.transfer.starts.target import clusters
from isthmus.transfer.starts.zero_shot import zero_shot

SHARPNESS = 10.0
"""The weight of a start is exp(10 r)."""


def source_starts(rows: TransferRows, own: FloatArray) -> list[Guess]:
    """Every start that the source has a part in; ``own`` are clusters of the target (n_u, C)."""
    some = rows.among_shared()
    found = [zero_shot(some), relative(some), mlhd(some)]
    found += [procrustes_em(some, guess) for guess in found]
    found = [Guess(guess.name, extended(guess.P, rows, own)) for guess in found]
    return [*found, named_clusters(rows, own)]


def named(rows: TransferRows, rng: np.random.Generator, tell: Tell = silent) -> Outcome:
    """The vote of all starts, each polished by the target's own discriminants, with weights exp(10 r)."""
    tell("clusters")
    own = polished(rows, clusters(rows, rng).P)[0]
    tell("starts")
    starts = source_starts(rows, own)
    ends = {}
    for guess in starts:
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
    return Outcome(rule, P, again, {}, r, dict(zip(ends, weights.tolist(), strict=True)), True)
