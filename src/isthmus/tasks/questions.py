r"""Questions to a person about an answer: which pair, or which class of a row, to confirm or reject next.

1. **Chosen questions** teach most. A doubtful match has the value :math:`v = p (1 - p)`, p its probability. Matches
   that resemble it are likely to be right or wrong together, so it counts by :math:`v_i \sum_j K_{ij} v_j`, K a
   Gaussian kernel of what their fields add to their log-odds. After each choice, what resembles it loses value.
2. **A random sample** measures. A quarter of the rows, by a hash of their ids, is reserved for it: their answers are
   never learned from while a review goes on, so that precision and recall stay estimable, whatever was chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from isthmus._core.validation import BoolArray, FloatArray, IntArray, check_number
from isthmus.evidence.held_out import Proportion, wilson_interval
from isthmus.tasks.matching.result import Matching

# One row in this many is reserved for the random sample.
RESERVED = 4
# Options of a row that are shown before it counts as a row without a partner.
OPTIONS = 3
# The most doubtful matches that questions are chosen from, and questions that are chosen at a time.
POOL, CHOSEN = 600, 200
# Matches of less confidence are no claims.
SURE = 0.5
# What is left to gain: with fewer expected errors per claim, more answers change next to nothing.
SETTLED = 0.005


@dataclass(frozen=True, eq=False)
class Proposal:
    """What an answer claims of each row of one collection, and what to ask about it.

    Parameters
    ----------
    claim : array (n,)
        The partner, or the class, that is claimed of each row; -1 where none is.
    confidence : array (n,)
        The probability of the claim.
    options : callable
        From a row to the likeliest partners, or classes, the best first.
    questions : sequence of (int, int)
        Rows and options, what teaches most first.
    errors : float
        The expected number of wrong decisions between claiming and not claiming.
    sentence : str
        The verdict.
    complete : bool
        Whether rows without a claim have options too, so that a missed partner can be seen.
    """

    claim: IntArray
    confidence: FloatArray
    options: Callable[[int], list[int]]
    questions: Sequence[tuple[int, int]]
    errors: float
    sentence: str
    complete: bool = True

    @property
    def settled(self) -> bool:
        """Whether more answers would change next to nothing."""
        return self.errors < max(SETTLED * float((self.claim >= 0).sum()), 0.5)


def next_questions(answer: Matching, n: int = 10, *, answered: Any = None) -> IntArray:
    """Return pairs (n, 2) that a person should confirm or reject, those that teach most first.

    Parameters
    ----------
    answer : Matching
        What :func:`isthmus.match` returned; by geometry alone, with ``keep="all"``.
    n : int
        How many pairs.
    answered : array (q, 2), optional
        Pairs that were answered, also by "unsure": they, and rows that have a confirmed partner, are not asked again.

    Examples
    --------
    >>> import pandas as pd
    >>> from isthmus import match
    >>> names = [f"{a} {b} {k % 7}" for k, (a, b) in enumerate((a, b) for a in ("red", "blue", "dark", "pale")
    ...          for b in ("lamp", "chair", "table", "clock", "radio", "bench"))]
    >>> found = match(pd.DataFrame({"name": names}), pd.DataFrame({"name": [n.replace("a", "e", 1) for n in names]}))
    >>> next_questions(found, 3).shape
    (3, 2)
    """
    wanted = int(check_number(n, "n", low=1, whole=True))
    pairs, probability, features = _list_doubtful(answer)
    if answered is not None and len(answered):
        cells = np.asarray(answered, dtype=np.int64).reshape(-1, 2) @ (answer.shape[1], 1)
        new = ~np.isin(pairs @ np.array([answer.shape[1], 1]), cells)
        pairs, probability, features = pairs[new], probability[new], features[new]
    return pairs[choose_questions(probability, features, wanted)]


def choose_questions(probability: FloatArray, features: FloatArray, n: int = CHOSEN) -> IntArray:
    """Return the places (at most n) of the decisions that teach most, by their probabilities and features (m, q).

    Examples
    --------
    >>> choose_questions(np.array([0.5, 0.5, 0.45, 0.99]), np.array([[0.0], [0.0], [9.0], [9.0]]), 2)
    array([0, 2])
    """
    value = probability * (1.0 - probability)
    # Certain decisions come last, but they come: there may be nothing else to ask.
    pool = np.argsort(-value, kind="stable")[: max(POOL, n)]
    value, Z = value[pool] + 1e-6, features[pool]
    Z = Z / np.maximum(Z.std(axis=0), 1e-9) if len(Z) else Z
    squares = np.maximum((Z * Z).sum(axis=1)[:, None] + (Z * Z).sum(axis=1) - 2.0 * Z @ Z.T, 0.0)
    K = np.exp(-0.5 * squares / max(float(np.median(squares)) if len(Z) else 1.0, 1e-9))
    chosen: list[int] = []
    for _ in range(min(n, len(pool))):
        gain = value * (K @ value)
        gain[chosen] = -1.0
        best = int(gain.argmax())
        chosen.append(best)
        value = value * (1.0 - (1.0 - 1e-3) * K[best])
    return np.asarray(pool[np.array(chosen, dtype=np.intp)])


def _list_doubtful(found: Matching) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the new matches, claimed or not, with their probabilities and with what speaks for them."""
    if found.linkage is None:
        new = found.confidence < 1.0
        return found.pairs[new], found.confidence[new], found.score[new, None]
    design, weights = found.linkage.design, found.linkage.weights
    features = design.rows(found.linkage.matches) * weights
    return found.linkage.pairs, found.linkage.probability, features


def propose_matches(found: Matching, side: int, reserved: BoolArray) -> Proposal:
    """Return what a matching claims of the rows of A (side 0) or B (side 1); reserved rows get no chosen question."""
    pairs, probability, features = _list_doubtful(found)
    claim, confidence = np.full(found.shape[side], -1, np.intp), np.zeros(found.shape[side])
    sure = found.confidence >= SURE
    claim[found.pairs[sure, side]] = found.pairs[sure, 1 - side]
    confidence[found.pairs[sure, side]] = found.confidence[sure]
    ranked = _rank_options(found, side)

    def list_options(row: int) -> list[int]:
        every = ([int(claim[row])] if claim[row] >= 0 else []) + ranked(row)
        return list(dict.fromkeys(every))[:OPTIONS]

    free = ~reserved[pairs[:, side]]
    order = choose_questions(probability[free], features[free])
    questions = pairs[free][order][:, [side, 1 - side]].tolist()
    errors = float(np.minimum(probability, 1.0 - probability).sum())
    complete = found.linkage is not None or (side == 0 and bool((found.nearest >= 0).all()))
    return Proposal(claim, confidence, list_options, [tuple(q) for q in questions], errors, found.sentence, complete)


def _rank_options(found: Matching, side: int) -> Callable[[int], list[int]]:
    """Return what lists the candidates of a row, the best first; by geometry alone its nearest row."""
    if found.linkage is None:
        return lambda row: [int(found.nearest[row])] if side == 0 and found.nearest[row] >= 0 else []
    agreement = found.linkage.agreement
    group, other = (agreement.j, agreement.i) if side else (agreement.i, agreement.j)
    order = np.lexsort((-found.linkage.log_odds, group))
    starts = np.searchsorted(group[order], np.arange(found.shape[side] + 1))
    return lambda row: other[order[starts[row] : starts[row + 1]][: OPTIONS + 1]].tolist()


def propose_labels(probability: FloatArray, labelled: BoolArray, reserved: BoolArray) -> Proposal:
    """Return what classes (n, C) are claimed of rows; those that no row is ``labelled`` (C,) with are asked first.

    Examples
    --------
    >>> P = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    >>> propose_labels(P, np.array([True, False]), np.array([True, False, False])).questions
    [(2, 1), (1, 0)]
    """
    claim, confidence = probability.argmax(axis=1), probability.max(axis=1)
    order = np.argsort(-probability, axis=1, kind="stable")[:, :OPTIONS]
    free = np.flatnonzero(~reserved)
    first = [(int(free[probability[free, c].argmax()]), int(c)) for c in np.flatnonzero(~labelled) if len(free)]
    chosen = free[choose_questions(confidence[free], np.sqrt(probability[free]))]
    rest = [(int(row), int(claim[row])) for row in chosen]
    asked = {row for row, _ in first}
    questions = [*dict.fromkeys(first), *(each for each in rest if each[0] not in asked)]
    said = f"{len(claim):,} rows without a label have a class."
    errors = float((1.0 - confidence).sum())
    return Proposal(claim, confidence, lambda row: order[row].tolist(), questions, errors, said)


def reserve_rows(ids: Sequence[str]) -> tuple[BoolArray, IntArray]:
    """Return which rows are reserved for the random sample, and these in a random order that only ids determine.

    Examples
    --------
    >>> reserved, order = reserve_rows([str(k) for k in range(1000)])
    >>> bool(200 < len(order) < 300), sorted(order.tolist()) == np.flatnonzero(reserved).tolist()
    (True, True)
    """
    hashes = np.array([int.from_bytes(blake2b(id.encode("utf-8", "replace"), digest_size=7).digest()) for id in ids])
    reserved = hashes % RESERVED == 0
    rows = np.flatnonzero(reserved)
    return reserved, rows[np.argsort(hashes[rows], kind="stable")]


@dataclass(frozen=True)
class SampledQuality:
    """Precision and recall, estimated from rows that were drawn at random; ``missed`` is None where it is unknown.

    ``unseen`` rows have no partner among their options. They may have one further back, so the low end of the recall
    counts them as missed, and the high end as rows without a partner.

    Examples
    --------
    >>> print(SampledQuality(right=18, wrong=2, missed=0))
    precision 0.90 [0.70, 0.97], recall 1.00 [0.82, 1.00]
    >>> print(SampledQuality(right=18, wrong=2, missed=0, unseen=6))
    precision 0.90 [0.70, 0.97], recall 1.00 [0.55, 1.00]
    """

    right: int
    wrong: int
    missed: int | None
    unseen: int = 0

    @property
    def precision(self) -> Proportion | None:
        """The share of the claims that are right."""
        n = self.right + self.wrong
        return Proportion.of(self.right, n) if n else None

    @property
    def recall(self) -> Proportion | None:
        """The share of the rows with a partner among their options for which it is claimed."""
        n = self.right + (self.missed or 0)
        low, high = (wilson_interval(self.right, max(1, k))[end] for end, k in enumerate((n + self.unseen, n)))
        return Proportion(self.right / n, low, high) if n and self.missed is not None else None

    @property
    def shares(self) -> dict[str, Proportion | None]:
        """Both by their names."""
        return {"precision": self.precision, "recall": self.recall}

    def __str__(self) -> str:
        return ", ".join(f"{name} {share or 'unknown'}" for name, share in self.shares.items())


def measure_sample(
    proposal: Proposal, sample: Sequence[int], verdicts: Callable[[int], dict[int, str]], sure: float = SURE
) -> SampledQuality:
    """Count right, wrong and missed claims of at least a confidence, from the first sampled rows that are resolved.

    ``verdicts`` returns the answers on a row: "y", "n" or "?" by option. A row with a "?" does not count.
    """
    right = wrong = missed = unseen = 0
    for row in sample:
        told, claim = verdicts(row), int(proposal.claim[row])
        if not is_resolved(proposal, row, told):
            break
        if "?" in told.values():
            continue
        claimed = claim >= 0 and proposal.confidence[row] >= sure
        partner = next((option for option, verdict in told.items() if verdict == "y"), -1)
        right += claimed and claim == partner
        wrong += claimed and claim != partner
        missed += partner >= 0 and not (claimed and claim == partner)
        unseen += partner < 0
    return SampledQuality(int(right), int(wrong), int(missed) if proposal.complete else None, unseen)


def is_resolved(proposal: Proposal, row: int, told: dict[int, str]) -> bool:
    """Return whether the answers on a row say what its partner is, or that it has none among its options."""
    if "y" in told.values() or "?" in told.values():
        return True
    claim, options = int(proposal.claim[row]), proposal.options(row)
    return (claim < 0 or claim in told) and len(told) >= len(options)
