"""The evidence of an alignment: how much better the best plan is than the others that were found."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.stats import norm

# The probability, over all rivals, that one as good as the best seems worse.
LEVEL = 0.01
# A rival also has to cost this share more: errors of few rows that agree by accident are small.
EXCESS = 0.03
# The estimated probability of an unseen plan, from which on the search is too incomplete to call one the best.
UNSEEN = 0.1
# Plans whose barycentres differ by less, in units of the mean distance between barycentres, are one alignment.
SAME = 0.25
# The cost, in units of that of the uniform plan, from which on the collections have no shape in common.
NO_SHAPE = 0.95


@dataclass(frozen=True)
class Rival:
    """Another plan than the best: the share that it costs more, this in standard errors, and how far it is."""

    excess: float
    errors: float
    distance: float


@dataclass(frozen=True)
class AlignmentEvidence:
    """The figures that the verdict on an alignment rests on.

    Parameters
    ----------
    value : float
        The Gromov–Wasserstein cost of the plan, in units of that of the uniform plan.
    rivals : tuple of Rival
        Refined plans that lead elsewhere, the cheapest first.
    searches : tuple of int
        How many searches led to each of the different plans, refined or not.
    sizes : (int, int)
        The numbers of rows that distances were computed between.
    """

    value: float
    rivals: tuple[Rival, ...]
    searches: tuple[int, ...]
    sizes: tuple[int, int]

    @property
    def threshold(self) -> float:
        """The number of standard errors that every rival has to cost more (Bonferroni)."""
        return float(norm.isf(LEVEL / max(len(self.searches) - 1, 1)))

    @property
    def unseen(self) -> float:
        """The probability that one more search leads to a new plan: the share that was reached once (Good–Turing)."""
        return self.searches.count(1) / sum(self.searches)

    @property
    def closest(self) -> Rival | None:
        """The rival that is the fewest standard errors behind; None where all plans are one."""
        return min(self.rivals, key=lambda rival: rival.errors, default=None)


def judge(seen: AlignmentEvidence) -> bool | None:
    """Return whether the distances determine the alignment; None where it is ambiguous.

    Every plan that leads elsewhere has to cost 3 % more, and so many standard errors that chance explains it with a
    probability of at most 1 %, over all plans that were found; and one more search must be unlikely to find another.

    Examples
    --------
    >>> rivals = (Rival(0.04, 2.8, 0.35),)
    >>> judge(AlignmentEvidence(0.3, rivals, (12, 6), (900, 900)))
    True
    >>> judge(AlignmentEvidence(0.3, rivals, (8, 6, 1, 1, 1, 1), (900, 900))) is None
    True
    """
    if seen.value >= NO_SHAPE:
        return False
    clear = all(rival.excess >= EXCESS and rival.errors >= seen.threshold for rival in seen.rivals)
    return True if clear and seen.unseen < UNSEEN else None


def write_sentence(seen: AlignmentEvidence, ok: bool | None, shape: tuple[int, int]) -> str:
    """Return the verdict with its figures, in one sentence."""
    word = {True: "aligned", False: "failed", None: "ambiguous"}[ok]
    cost = f"{word}: {shape[0]:,} and {shape[1]:,} rows; distances differ by {seen.value:.0%} of an arbitrary plan's"
    if ok is False:
        return f"{cost}: the collections have no shape in common."
    rival = seen.closest
    if rival is None:
        return f"{cost}, and all searches led to one plan."
    if ok is None and seen.unseen >= UNSEEN:
        return f"{cost}, and {seen.searches.count(1)} of {sum(seen.searches)} searches led to a plan of their own."
    errors = f"{rival.errors:.1f} standard errors, {seen.threshold:.1f} needed"
    return f"{cost}, and the closest of {len(seen.rivals)} other plans costs {rival.excess:.1%} more ({errors})."
