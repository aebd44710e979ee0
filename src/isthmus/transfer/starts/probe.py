"""The evidence of a probe: a guess by geometry alone, held against what the target knows of itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus.transfer.agreement import identity, kappa, naming_z
from isthmus.transfer.starts.signatures import trust

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


def evidence_of(probe: FloatArray, guess: FloatArray, codes: IntArray) -> Evidence:
    """From a probe and the target's own guesses (n, C), and its labels: codes (n,), -1 where unknown.

    Examples
    --------
    >>> y = np.repeat(np.arange(6), 10)
    >>> codes = np.where(np.arange(60) % 10 == 0, y, -1)
    >>> evidence_of(np.eye(6)[y], np.eye(6)[y], codes).is_open
    True
    >>> evidence_of(np.eye(6)[(y + 1) % 6], np.eye(6)[y], codes).is_open
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
        identity(P, Q),
        max(trust(np.log(P + FLOOR), Q), trust(np.log(L + FLOOR), labels) if len(L) else 0.0),
        C,
        len(labels) / C,
    )
