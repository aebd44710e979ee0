"""The evidence of a probe: a guess by geometry alone, held against what the target knows of itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from isthmus._core.arrays import FloatArray, IntArray
from isthmus.geometry.coordinates import Prepared
from isthmus.geometry.scores import Scores
from isthmus.tasks.matching.starts import geometric_scores
from isthmus.tasks.transfer.guesses import identity_share, kappa, naming_z
from isthmus.tasks.transfer.rules import LinearRule, MappedRule
from isthmus.tasks.transfer.starts.geometry import GUESSES, Maps, UnitRows, align, align_coarse_to_fine
from isthmus.tasks.transfer.starts.signatures import estimate_trust
from isthmus.tasks.transfer.starts.target import self_train

LEAST_Z, IDENTITY, LEAST_CLASSES = 2.5, 0.5, 5
"""The gate: so many deviations of renamings, no renaming that agrees twice as well, and enough classes: of four, one
naming in 24 is true by chance."""
LEAST_TRUST = 0.05
"""How far a probe that has passed is trusted at least."""
FLOOR = 1e-3
"""Added to probabilities before their logarithm."""


@dataclass(frozen=True)
class Evidence:
    """What speaks for the names that the source has for its classes.

    Parameters
    ----------
    by_guesses : float
        Agreement of the probe with the target's own guesses of unlabelled rows, in deviations of renamings.
    by_labels : float
        The same with the labels of the target, which the probe has not seen.
    kappa, identity : float
        Agreement with the guesses beyond chance (told, not used), and over that of the best renaming.
    trust : float
        How far the guesses and the labels bear the probe out, row by row: 0 to 0.98.
    n_classes : int
        C.
    labels_per_class : float
        Labelled rows of the target, over C.
    """

    by_guesses: float
    by_labels: float
    kappa: float
    identity: float
    trust: float
    n_classes: int
    labels_per_class: float = 1.0

    @property
    def z(self) -> float:
        """Both together."""
        return (self.by_guesses + self.by_labels) / float(np.sqrt(2.0))

    @property
    def is_open(self) -> bool:
        """Whether it is enough."""
        return self.n_classes >= LEAST_CLASSES and self.z > LEAST_Z and self.identity >= IDENTITY

    def prior(self, probe: FloatArray) -> FloatArray:
        r"""The probe p as a term of self-training (n, C): the less, the more labels there are.

        .. math:: \log\bigl((1 - \rho) / C + \rho\,p\bigr) / \sqrt{\text{labels per class}}
        """
        rho = max(self.trust, LEAST_TRUST)
        mixed = np.log((1.0 - rho) / self.n_classes + rho * probe)
        return np.asarray(mixed / np.sqrt(max(self.labels_per_class, 1.0)))


def probe_evidence(probe: FloatArray, guess: FloatArray, codes: IntArray) -> Evidence:
    """From a probe and the target's own guesses (n, C), and its labels: codes (n,), -1 where unknown.

    Examples
    --------
    >>> y = np.repeat(np.arange(6), 10)
    >>> codes = np.where(np.arange(60) % 10 == 0, y, -1)
    >>> probe_evidence(np.eye(6)[y], np.eye(6)[y], codes).is_open
    True
    >>> probe_evidence(np.eye(6)[(y + 1) % 6], np.eye(6)[y], codes).is_open
    False
    """
    C = guess.shape[1]
    unknown, labels = codes < 0, np.eye(C)[codes[codes >= 0]]
    asked = unknown if unknown.any() else ~unknown
    P, Q, L = probe[asked], guess[asked], probe[~unknown]
    return Evidence(
        naming_z(P.T @ Q),
        naming_z(L.T @ labels),
        kappa(P, Q),
        identity_share(P, Q),
        max(estimate_trust(np.log(P + FLOOR), Q), estimate_trust(np.log(L + FLOOR), labels) if len(L) else 0.0),
        C,
        len(labels) / C,
    )


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


def guess_by_soft_pairs(
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

    The first scores are those of :func:`isthmus.tasks.matching.starts.geometric_scores`. Whether these speak of the same classes is
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
    >>> from isthmus.geometry.coordinates import prepared, scaled
    >>> rng = np.random.default_rng(0)
    >>> y, means = np.repeat(np.arange(5), 30), rng.normal(size=(5, 6))
    >>> A, B = (means[y] @ rng.normal(size=(6, 9)) + 0.1 * rng.normal(size=(150, 9)) for _ in range(2))
    >>> yt = np.where(np.arange(150) % 30 < 3, y, -1)
    >>> guess = np.where(yt[:, None] < 0, 0.2, np.eye(5)[yt])
    >>> found = guess_by_soft_pairs(prepared(scaled(A)), y, prepared(scaled(B)), yt, guess, np.full(5, 0.2))
    >>> found.posterior.shape
    (150, 5)
    """
    start = (geometric_scores(source, target) if start is None else start).standardised()
    sides = UnitRows(source.points, ys, target.points, yt, guess)
    classifier = LinearRule.of(sides.A, ys)

    def rule_of(maps: Maps, B: FloatArray) -> MappedRule:
        return MappedRule.of(maps.to_source.map, classifier, B, shares)

    def teacher(maps: Maps, part: UnitRows) -> FloatArray:
        return 0.5 * (rule_of(maps, part.B).posterior(part.B) + part.guess)

    probe = np.mean([rule_of(maps, sides.B).posterior(sides.B) for maps in _probes(sides, start, tick)], axis=0)
    evidence = probe_evidence(probe, guess, yt)
    own = self_train(sides.B, yt, guess, shares)
    if evidence.is_open:
        own = self_train(sides.B, yt, own, shares, evidence.prior(probe))
    sides = replace(sides, guess=own)
    first = (1.0 if evidence.is_open else CLOSED) * start + GUESSES * sides.class_scores()
    rule = rule_of(align(sides, first, ROUNDS, teacher, tick), sides.B)
    return SoftPairs(rule.posterior(sides.B), probe, own, evidence, rule)


def _probes(sides: UnitRows, start: Scores, tick: Callable[[], None]) -> tuple[Maps, Maps]:
    """Maps that no label of the target has taught."""
    blind = replace(sides, yt=np.full_like(sides.yt, -1))
    return align(blind, start, PROBE, None, tick), align_coarse_to_fine(blind, start, COARSE, tick)
