"""What a matching has found."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus.matching.verdict import Evidence


@dataclass(frozen=True, eq=False)
class Matching:
    """Rows of A and of B that are the same object, and whether that can be believed.

    Parameters
    ----------
    pairs : array (m, 2)
        The number of a row of A and of a row of B for each match, in the order of A. None are returned, not even the
        known ones, where the matching failed or is doubtful, unless all were asked for.
    score : array (m,)
        How well they go together: twice the score of the engine, less what each of them has with its ten best
        (cross-domain similarity local scaling).
    confidence : array (m,)
        An estimate of the probability that a match is right, if the matching as a whole worked; 1 for known pairs.
    nearest : array (n,)
        The best row of B for each row of A, whether it is good enough to be returned or not; -1 where labels
        forbid all.
    shape : (int, int)
        How many rows A and B have.
    succeeded : bool or None
        True, False, or None where it is doubtful.
    verdict : str
        That in one sentence, with the figures that it rests on; what ``str`` gives.
    evidence : Evidence or None
        These figures; None where all rows were in known pairs, so that nothing was left to match.
    held_back_pairs : array (h, 2)
        The known pairs that were held back to measure the recall.
    """

    pairs: IntArray
    score: FloatArray
    confidence: FloatArray
    nearest: IntArray
    shape: tuple[int, int]
    succeeded: bool | None
    verdict: str
    evidence: Evidence | None
    held_back_pairs: IntArray = field(default_factory=lambda: np.zeros((0, 2), np.intp))

    @property
    def held_back_recall(self) -> float | None:
        """The share of the held-back pairs whose partner came first; None where none were held back."""
        return None if self.evidence is None else self.evidence.held_back_recall

    @property
    def held_back_interval(self) -> tuple[float, float] | None:
        """Its 95 % interval (Wilson)."""
        return None if self.evidence is None else self.evidence.held_back_interval

    @property
    def shuffled_recall(self) -> float | None:
        """The same share after a run whose other pairs were shuffled."""
        return None if self.evidence is None else self.evidence.shuffled_recall

    @property
    def partners(self) -> IntArray:
        """The matched row of B for each row of A (n,), -1 where there is none."""
        found = np.full(self.shape[0], -1, dtype=np.intp)
        found[self.pairs[:, 0]] = self.pairs[:, 1]
        return found

    def __len__(self) -> int:
        return len(self.pairs)

    def __str__(self) -> str:
        return self.verdict

    def __repr__(self) -> str:
        n, m = self.shape
        return f"<Matching of {n} and {m} rows: {len(self)} pairs, succeeded={self.succeeded}>"
