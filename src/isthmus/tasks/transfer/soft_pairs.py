"""Soft pairs: target rows are mapped to where their partners in the source are, and classified there.

Each round pairs every row with the mean of its best partners in the other collection and fits ridge maps both ways,
whose scores find the partners of the next round. A probe that sees no target label is the evidence for the names of
the classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from isthmus._core.linalg import normalize_rows
from isthmus._core.validation import FloatArray, IntArray
from isthmus.geometry.similarity import NO_PARTNER, Scores, apply_csls, find_partners, geometric_scores
from isthmus.maps.regression import RidgeFit, fit_ridge
from isthmus.tasks.matching.problem import label_veto
from isthmus.tasks.transfer.evidence import estimate_trust, identity_share, naming_z
from isthmus.tasks.transfer.problem import PARTNERS, SAMPLED, TransferRows, sample_rows
from isthmus.tasks.transfer.scoring import LinearRule, MappedRule, self_train

# The weight of the class guesses, in the start and in every later round; both have deviation 1.
GUESSES = 0.25
# Added to probabilities before their logarithm.
FLOOR = 1e-3
# The last rounds, on all rows where the others are on a sample.
ROUNDS_ON_ALL = 2
# Axes of the first round from coarse to fine, and the factor of their number in each round.
FEWEST_AXES, GROWTH = 20, 1.25
# The weight of the start in these rounds' scores (both have deviation 1), and its factor in each round.
START, DECAY = 3.0, 0.7
# Rounds of the probes, on all axes and from few axes to all, and of the final run.
PROBE, COARSE, ROUNDS = 8, 16, 12
ALL_ROUNDS = PROBE + COARSE + ROUNDS
# The weight of the geometry in the start where the gate is closed.
CLOSED = 0.01
# The gate: deviations over relabellings, no relabelling that agrees twice as well, and enough classes (of four, one
# naming in 24 is true by chance).
LEAST_Z, IDENTITY, LEAST_CLASSES = 2.5, 0.5, 5
# The least trust in a probe that has passed the gate.
LEAST_TRUST = 0.05


def compute_barycentres(X: FloatArray, places: IntArray, scores: FloatArray) -> FloatArray:
    r"""Return means of partners, of unit length (n, d): :math:`\sum_j X_{p_{ij}}` over those that are allowed.

    A row with fewer allowed partners, because few rows of its class are known, has the mean of these; one that has
    none, the mean of all candidates.

    Parameters
    ----------
    X : array (m, d)
        Rows of the other collection.
    places, scores : array (n, k)
        The partners of each row, and how good they are; forbidden ones have scores far below zero.
    """
    allowed = scores > NO_PARTNER
    weights = np.where(allowed.any(axis=1, keepdims=True), allowed, True).astype(X.dtype)
    total = np.zeros((len(places), X.shape[1]), X.dtype)
    for j in range(places.shape[1]):  # one partner of all rows at a time: (n, k, d) would be k times as large
        total += weights[:, j, None] * X[places[:, j]]
    return normalize_rows(total)


@dataclass(frozen=True, eq=False)
class UnitRows:
    """Unit rows of both collections.

    Parameters
    ----------
    A, B : array (n, k), array (m, k')
        Source and target rows.
    ys, yt : array (n,), array (m,)
        Codes of their classes, -1 where unknown.
    guess : array (m, C)
        Probabilities of the target rows' classes.
    pairs : array (P, 2)
        Known partners, which are fixed in every round.
    """

    A: FloatArray
    ys: IntArray
    B: FloatArray
    yt: IntArray
    guess: FloatArray
    pairs: IntArray = field(default_factory=lambda: np.empty((0, 2), np.intp))

    def among(self, rows: IntArray, columns: IntArray) -> UnitRows:
        """Return some rows of either, those of known partners among them."""
        places = np.stack([np.searchsorted(some, self.pairs[:, k]) for k, some in enumerate((rows, columns))], axis=1)
        return UnitRows(self.A[rows], self.ys[rows], self.B[columns], self.yt[columns], self.guess[columns], places)

    def sample(self) -> tuple[IntArray, IntArray]:
        """Return rows of either drawn at random, with those of known partners."""
        both = (self.ys, self.pairs[:, 0]), (self.yt, self.pairs[:, 1])
        rows, columns = (np.union1d(sample_rows(codes), paired) for codes, paired in both)
        return rows, columns

    def class_scores(self, guess: FloatArray) -> Scores:
        """Return how likely the target row is of the source row's class: the log of the guess, with deviation 1."""
        L = np.log(guess + FLOOR)
        member = self.ys[:, None] == np.arange(guess.shape[1])
        return Scores(member.astype(np.float32), (L / (L.std() or 1.0)).astype(np.float32))


@dataclass(frozen=True, eq=False)
class Maps:
    """Ridge maps from target to source rows and back."""

    to_source: RidgeFit
    to_target: RidgeFit

    def scores(self, sides: UnitRows) -> Scores:
        """Return cosines among the source rows, plus those among the target rows."""
        left = np.hstack([sides.A, normalize_rows(self.to_target.map(sides.A))])
        right = np.hstack([normalize_rows(self.to_source.map(sides.B)), sides.B])
        return Scores(left, right)


# Guesses (m, C) of the target rows' classes by maps that were learned.
Teacher: TypeAlias = Callable[[Maps, UnitRows], FloatArray]


def make_teacher(classifier: LinearRule, shares: FloatArray) -> Teacher:
    """Return the mean of the guesses of the source's classifier on mapped rows, and of those that the rows have."""

    def teach(maps: Maps, part: UnitRows) -> FloatArray:
        mapped = MappedRule.of(maps.to_source.map, classifier, part.B, shares)
        return 0.5 * (mapped.posterior(part.B) + part.guess)

    return teach


def align(
    sides: UnitRows, start: Scores, rounds: int, progress: Callable[[], None], teacher: Teacher | None = None,
    *, coarse: bool = False,
) -> Maps:  # fmt: skip
    """Fit the maps, round by round.

    Parameters
    ----------
    sides : UnitRows
        Labelled target rows are paired with source rows of their class only.
    start : Scores
        The first scores.
    rounds : int
        At least one.
    progress : callable
        Called once in every round.
    teacher : Teacher, optional
        Its guesses are a weak term of the scores in every round after the first.
    coarse : bool
        Whether the maps are fitted on few axes at first, which both collections share most, then on more and more,
        and on all in the last round. The start then stays a fading term of the scores: few axes would lose it.
    """
    if max(start.shape) <= SAMPLED:
        return _iterate(sides, start, rounds, progress, teacher, coarse)
    rows, columns = sides.sample()
    on_all = 0 if teacher is None else min(ROUNDS_ON_ALL, rounds - 1)  # a probe need not be precise
    some = sides.among(rows, columns), start.among(rows, columns)
    maps = _iterate(*some, rounds - on_all, progress, teacher, coarse)
    return _iterate(sides, _next_scores(maps, sides, teacher), on_all, progress, teacher) if on_all else maps


def _iterate(
    sides: UnitRows, start: Scores, rounds: int, progress: Callable[[], None], teacher: Teacher | None,
    coarse: bool = False,
) -> Maps:  # fmt: skip
    forbidden = label_veto(sides.ys, sides.yt) if (sides.yt >= 0).any() else None
    scores, part, maps = start, sides, None
    for round_ in range(rounds):
        progress()
        last = round_ == rounds - 1
        if coarse:
            axes = None if last else int(FEWEST_AXES * GROWTH**round_)
            part = replace(sides, A=normalize_rows(sides.A[:, :axes]), B=normalize_rows(sides.B[:, :axes]))
        fair = apply_csls(scores)
        maps = _fit_maps(part, fair if forbidden is None else fair + forbidden, maps)
        if not last and coarse:
            scores = maps.scores(part).standardize() + START * DECAY ** (round_ + 1) * start
        elif not last:
            scores = _next_scores(maps, sides, teacher)
    assert maps is not None
    return maps


def _next_scores(maps: Maps, sides: UnitRows, teacher: Teacher | None) -> Scores:
    scores = maps.scores(sides)
    if teacher is None:
        return scores
    return scores.standardize() + GUESSES * sides.class_scores(teacher(maps, sides))


def _fit_maps(sides: UnitRows, fair: Scores, before: Maps | None) -> Maps:
    """Fit the maps to soft pairs; the search for penalties is warm-started."""
    k = max(1, min(PARTNERS, *(size // 4 for size in fair.shape)))
    of_rows, of_columns = find_partners(fair, k, k)
    of_source, of_target = compute_barycentres(sides.B, *of_rows), compute_barycentres(sides.A, *of_columns)
    first, second = sides.pairs.T
    of_target[second], of_source[first] = sides.A[first], sides.B[second]
    near = (None, None) if before is None else (before.to_source.place, before.to_target.place)
    return Maps(fit_ridge(sides.B, of_target, near=near[0]), fit_ridge(sides.A, of_source, near=near[1]))


@dataclass(frozen=True)
class ProbeEvidence:
    """The evidence for the names of the source's classes.

    Parameters
    ----------
    by_guesses : float
        Agreement of the probe with the target's own guesses of unlabelled rows, in deviations over relabellings.
    by_labels : float
        The same with the labels of the target, which the probe has not seen.
    identity : float
        Agreement with the guesses, over that of the best relabelling.
    trust : float
        How far the guesses and the labels support the probe, row by row: 0 to 0.98.
    n_classes : int
        C.
    labels_per_class : float
        Labelled rows of the target, over C.
    """

    by_guesses: float
    by_labels: float
    identity: float
    trust: float
    n_classes: int
    labels_per_class: float = 1.0

    @property
    def z(self) -> float:
        """Guesses and labels together."""
        return (self.by_guesses + self.by_labels) / float(np.sqrt(2.0))

    @property
    def is_open(self) -> bool:
        """Whether the gate is open."""
        return self.n_classes >= LEAST_CLASSES and self.z > LEAST_Z and self.identity >= IDENTITY

    def prior(self, probe: FloatArray) -> FloatArray:
        r"""Return the probe p as a term of self-training (n, C): the weaker, the more labels there are.

        .. math:: \log\bigl((1 - \rho) / C + \rho\,p\bigr) / \sqrt{\text{labels per class}}
        """
        rho = max(self.trust, LEAST_TRUST)
        mixed = np.log((1.0 - rho) / self.n_classes + rho * probe)
        return np.asarray(mixed / np.sqrt(max(self.labels_per_class, 1.0)))


def compare_probe(probe: FloatArray, guess: FloatArray, codes: IntArray) -> ProbeEvidence:
    """Compare a probe (n, C) with the target's own guesses (n, C) and labels: codes (n,), -1 where unknown.

    Examples
    --------
    >>> y = np.repeat(np.arange(6), 10)
    >>> codes = np.where(np.arange(60) % 10 == 0, y, -1)
    >>> compare_probe(np.eye(6)[y], np.eye(6)[y], codes).is_open
    True
    >>> compare_probe(np.eye(6)[(y + 1) % 6], np.eye(6)[y], codes).is_open
    False
    """
    C = guess.shape[1]
    unknown, labels = codes < 0, np.eye(C)[codes[codes >= 0]]
    asked = unknown if unknown.any() else ~unknown
    P, Q, L = probe[asked], guess[asked], probe[~unknown]
    return ProbeEvidence(
        naming_z(P.T @ Q),
        naming_z(L.T @ labels),
        identity_share(P, Q),
        max(estimate_trust(np.log(P + FLOOR), Q), estimate_trust(np.log(L + FLOOR), labels) if len(L) else 0.0),
        C,
        len(labels) / C,
    )


@dataclass(frozen=True, eq=False)
class SoftPairs:
    """Classes of target rows by soft pairs with the source, and the evidence for them.

    Parameters
    ----------
    probe : array (n_t, C)
        Probabilities of the classes from geometry alone: it has seen neither labels nor guesses of the target.
    evidence : ProbeEvidence
        Of the probe: the gate.
    rule : MappedRule
        By labels and guesses too; ``rule.posterior(points)`` of unit rows along the axes of the target.
    """

    probe: FloatArray
    evidence: ProbeEvidence
    rule: MappedRule


def _learn_blindly(rows: TransferRows, guess: FloatArray, progress: Callable[[], None]) -> tuple[Any, ...]:
    """Return what target labels have no part in, for all reruns: rows, first scores, source's classifier, probes."""
    found: tuple[Any, ...] | None = rows.probes.get("blind")
    points = [side.points for side in rows.prepared]
    if found is not None and all(map(np.array_equal, (found[0].ys, found[0].A, found[0].B), (rows.ys, *points))):
        return found
    start = geometric_scores(*rows.prepared).standardize()
    # No label teaches the probes, so that labels can test them.
    sides = UnitRows(points[0], rows.ys, points[1], np.full_like(rows.yt, -1), guess)
    probes = align(sides, start, PROBE, progress), align(sides, start, COARSE, progress, coarse=True)
    rows.probes["blind"] = found = sides, start, LinearRule.of(sides.A, rows.ys), probes
    return found


def guess_by_soft_pairs(
    rows: TransferRows, guess: FloatArray, shares: FloatArray, progress: Callable[[], None] = lambda: None
) -> SoftPairs:
    r"""Map target rows to where their partners in the source are, and classify them there.

    Each row is paired with the mean of its 20 best partners in the other collection (by scores without hubs), ridge
    maps both ways are learned from these soft pairs,

    .. math:: f: b_j \mapsto \mathrm{unit}\Bigl(\sum_{i \in N(j)} a_i\Bigr), \qquad
              g: a_i \mapsto \mathrm{unit}\Bigl(\sum_{j \in N(i)} b_j\Bigr), \qquad
              S_{ij} = \langle a_i, \hat f(b_j) \rangle + \langle \hat g(a_i), b_j \rangle

    and give the scores of the next of 12 rounds, with the current guesses of classes (the source's classifier on
    mapped rows, and the target's own) as a weak term. Labelled target rows are paired with source rows of their
    class only.

    The first scores are those of :func:`isthmus.geometry.similarity.geometric_scores`. The gate is a probe, two such
    runs that see no label of the target: if it agrees with the target's own guesses and labels, under the names that
    the classes have, it teaches the target's discriminants as a prior. If not, the run starts from the guesses nearly
    alone.

    Parameters
    ----------
    rows : TransferRows
        Of which every class has a source row.
    guess : array (n_t, C)
        The target's own guesses, which know nothing of the source, not even its shares: they are evidence.
    shares : array (C,)
        Of the classes among target rows, above zero.
    progress : callable
        Called once in every round: at most 36 times, fewer where the probes of an earlier run are used again.
    """
    blind, start, classifier, probes = _learn_blindly(rows, guess, progress)
    sides = replace(blind, yt=rows.yt, guess=guess)

    def rule_of(maps: Maps, B: FloatArray) -> MappedRule:
        return MappedRule.of(maps.to_source.map, classifier, B, shares)

    probe = np.mean([rule_of(maps, sides.B).posterior(sides.B) for maps in probes], axis=0)
    evidence = compare_probe(probe, guess, rows.yt)
    own = self_train(sides.B, rows.yt, guess, shares)
    if evidence.is_open:
        own = self_train(sides.B, rows.yt, own, shares, evidence.prior(probe))
    sides = replace(sides, guess=own)
    first = (1.0 if evidence.is_open else CLOSED) * start + GUESSES * sides.class_scores(own)
    maps = align(sides, first, ROUNDS, progress, make_teacher(classifier, shares))
    return SoftPairs(probe, evidence, rule_of(maps, sides.B))


# Rounds with known partners, which give a better start.
PAIRED_ROUNDS = 8


def map_by_known_partners(rows: TransferRows, guess: FloatArray) -> MappedRule:
    """Map target rows to the source by soft pairs, in which rows with a known partner keep it, and classify there.

    The first scores are those of ridge maps of the known pairs; known partners are fixed in every round.

    Parameters
    ----------
    rows : TransferRows
        With known pairs; every class has a source row.
    guess : array (n_t, C)
        The target's own guesses.
    """
    assert rows.pairs is not None
    source, target = rows.prepared
    sides = UnitRows(source.points, rows.ys, target.points, rows.yt, guess, rows.pairs.rows)
    A, B = sides.A[rows.pairs.source], sides.B[rows.pairs.target]
    classifier = LinearRule.of(sides.A[rows.ys >= 0], rows.ys[rows.ys >= 0])

    teacher = make_teacher(classifier, rows.shares)
    first = Maps(fit_ridge(B, A), fit_ridge(A, B)).scores(sides).standardize()
    maps = align(sides, first + GUESSES * sides.class_scores(guess), PAIRED_ROUNDS, lambda: None, teacher)
    return MappedRule.of(maps.to_source.map, classifier, sides.B, rows.shares)
