"""Soft pairs: labels from a source of other objects, whose rows are paired with means of the target's, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus.matching.preparation import Prepared
from isthmus.matching.scores import Scores
from isthmus.matching.starts import geometry
from isthmus.transfer.starts.alignment import GUESSES, Maps, Sides, aligned, from_coarse_to_fine
from isthmus.transfer.starts.mapped_rule import LinearRule, MappedRule
from isthmus.transfer.starts.own_learner import taught
from isthmus.transfer.starts.probe import Evidence, evidence_of

PROBE, COARSE, ROUNDS = 8, 16, 12
"""Rounds from geometry alone, on all axes and from few axes to all, and of the final run."""
ALL_ROUNDS = PROBE + COARSE + ROUNDS
CLOSED = 0.01
"""The weight of the geometry in the start where the gate is closed."""


@dataclass(frozen=True, eq=False)
class SoftPairs:
    """What the source says about target rows by soft pairs, and the evidence for it.

    Parameters
    ----------
    posterior : array (n_t, C)
        Probabilities of the classes by the mapped rule, which knows the labels and guesses of the target.
    probe : array (n_t, C)
        The same from geometry alone: it has seen neither labels nor guesses of the target.
    guess : array (n_t, C)
        The target's own guesses with the shares that were asked for, and with the probe as a prior where the gate is
        open: what led the final run.
    evidence : Evidence
        Of the probe: the gate.
    rule : MappedRule
        For new rows: ``rule.posterior(points)``, of unit rows along the axes of the target.
    """

    posterior: FloatArray
    probe: FloatArray
    guess: FloatArray
    evidence: Evidence
    rule: MappedRule

    @property
    def is_open(self) -> bool:
        """Whether the gate is open."""
        return self.evidence.is_open


def soft_pairs(
    source: Prepared,
    ys: IntArray,
    target: Prepared,
    yt: IntArray,
    guess: FloatArray,
    shares: FloatArray,
    start: Scores | None = None,
    tick: Callable[[], None] = lambda: None,
) -> SoftPairs:
    r"""Target rows are mapped to where their partners in the source are, and classified there.

    Each row is paired with the mean of its 20 best partners in the other collection (by scores without hubs), ridge
    maps both ways are learned from these soft pairs,

    .. math:: f: b_j \mapsto \mathrm{unit}\Bigl(\sum_{i \in N(j)} a_i\Bigr), \qquad
              g: a_i \mapsto \mathrm{unit}\Bigl(\sum_{j \in N(i)} b_j\Bigr), \qquad
              S_{ij} = \langle a_i, \hat f(b_j) \rangle + \langle \hat g(a_i), b_j \rangle

    and give the next scores; so on for 12 rounds, with the current guesses of classes (the source's classifier on
    mapped rows, and the target's own) as a weak term. Labelled target rows are paired with source rows of their
    class only.

    The first scores are those of :func:`isthmus.matching.starts.geometry`. Whether these speak of the same classes is
    asked of a probe, two such runs that know no label of the target: if it agrees with the target's own guesses and
    its labels, by the names that the classes have, it teaches the target's discriminants as a prior. If not, the run
    starts from the guesses nearly alone.

    Parameters
    ----------
    source, target : Prepared
        Both collections.
    ys : array (n_s,)
        Codes of the classes 0 … C - 1, each of which has a row.
    yt : array (n_t,)
        The same, -1 where unknown.
    guess : array (n_t, C)
        The target's own guesses, which know nothing of the source, not even its shares: they are evidence.
    shares : array (C,)
        Of the classes among target rows, above zero.
    start : Scores, optional
        The geometry of these collections, if it is at hand.
    tick : callable
        Called once in every round, of which there are 36.

    Examples
    --------
    >>> from isthmus.matching.preparation import prepared, scaled
    >>> rng = np.random.default_rng(0)
    >>> y, means = np.repeat(np.arange(5), 30), rng.normal(size=(5, 6))
    >>> A, B = (means[y] @ rng.normal(size=(6, 9)) + 0.1 * rng.normal(size=(150, 9)) for _ in range(2))
    >>> yt = np.where(np.arange(150) % 30 < 3, y, -1)
    >>> guess = np.where(yt[:, None] < 0, 0.2, np.eye(5)[yt])
    >>> found = soft_pairs(prepared(scaled(A)), y, prepared(scaled(B)), yt, guess, np.full(5, 0.2))
    >>> found.posterior.shape
    (150, 5)
    """
    start = (geometry(source, target) if start is None else start).standardised()
    sides = Sides(source.points, ys, target.points, yt, guess)
    classifier = LinearRule.of(sides.A, ys)

    def rule_of(maps: Maps, B: FloatArray) -> MappedRule:
        return MappedRule.of(maps.to_source.map, classifier, B, shares)

    def teacher(maps: Maps, part: Sides) -> FloatArray:
        return 0.5 * (rule_of(maps, part.B).posterior(part.B) + part.guess)

    probe = np.mean([rule_of(maps, sides.B).posterior(sides.B) for maps in _probes(sides, start, tick)], axis=0)
    evidence = evidence_of(probe, guess, yt)
    own = taught(sides.B, yt, guess, shares)
    if evidence.is_open:
        own = taught(sides.B, yt, own, shares, evidence.prior(probe))
    sides = replace(sides, guess=own)
    first = (1.0 if evidence.is_open else CLOSED) * start + GUESSES * sides.class_scores()
    rule = rule_of(aligned(sides, first, ROUNDS, teacher, tick), sides.B)
    return SoftPairs(rule.posterior(sides.B), probe, own, evidence, rule)


def _probes(sides: Sides, start: Scores, tick: Callable[[], None]) -> tuple[Maps, Maps]:
    """Maps that no label of the target has taught."""
    blind = replace(sides, yt=np.full_like(sides.yt, -1))
    return aligned(blind, start, PROBE, None, tick), from_coarse_to_fine(blind, start, COARSE, tick)
