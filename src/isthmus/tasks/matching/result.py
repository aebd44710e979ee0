"""What a matching has found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # scikit-learn brings it

from isthmus._core.progress import Progress, WorkCounter
from isthmus._core.threads import cap_threads
from isthmus._core.validation import FloatArray, IntArray, as_generator, check_choice, check_flag, check_number
from isthmus.exceptions import InputError
from isthmus.geometry.similarity import NO_PARTNER, apply_csls, find_best, prepare_rows
from isthmus.tasks.matching.engine import as_engine
from isthmus.tasks.matching.evidence import (
    Evidence,
    accept_matches,
    estimate_confidence,
    gather_evidence,
    judge,
    write_sentence,
)
from isthmus.tasks.matching.problem import (
    AUTO,
    Links,
    Problem,
    as_links,
    check_labels,
    labels_differ,
    make_problem,
    two_collections,
)
from isthmus.tasks.matching.refinement import Runs, run_all


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


def find_exhausted_side(problem: Problem, known: Links, one_to_one: bool) -> str | None:
    """The collection that has no row left to be matched: "A", "B" or None."""
    left = problem.knowing(known, one_to_one)
    return "A" if not len(left.A) else "B" if not len(left.B) else None


def match_known_only(problem: Problem, known: Links, side: str) -> Matching:
    """The known pairs, with the scores that are learned from them."""
    shape = len(problem.A), len(problem.B)
    known = known.some(np.argsort(known.i))
    fair = apply_csls(problem.scores(problem.bridge(known)))
    found = find_best(problem.allowed(fair))
    nearest = np.where(found.row_scores > NO_PARTNER, found.of_rows, -1)
    nearest[known.i] = known.j
    return Matching(
        pairs=np.stack([known.i, known.j], axis=1),
        score=fair.at(known.i, known.j).astype(np.float64),
        confidence=np.ones(len(known)),
        nearest=nearest,
        shape=shape,
        succeeded=True,
        verdict=(
            f"matched: {len(known):,} pairs of {shape[0]:,} and {shape[1]:,} rows; nothing is left to match, as all "
            f"rows of {side} are in known pairs, which were not checked."
        ),
        evidence=None,
    )


KEEP = ("sure", "all")
SURE = 0.5
"""Matches of less confidence are left out."""
MOST_RESTARTS = 1000
"""All runs are kept until the best one is known: more would be a mistake, and fill the memory."""


@cap_threads
def match(
    A: Any,
    B: Any,
    pairs: Any = None,
    *,
    system: Any = AUTO,
    refine: bool = True,
    y_source: Any = None,
    y_target: Any = None,
    one_to_one: bool = True,
    keep: str = "sure",
    min_confidence: float = SURE,
    n_restarts: int = 3,
    source_transformer: Any = AUTO,
    target_transformer: Any = AUTO,
    random_state: Any = 0,
    n_jobs: int = 2,
    progress: Any = False,
) -> Matching:
    r"""The rows of A and of B that are the same object, with few known pairs or none.

    Rows are brought to unit length and along their principal axes. A first guess comes from what rows look like among
    their own collection, and from the known pairs. Then rows that choose each other become pairs, maps both ways are
    learned from them, and so on: from few axes to many, with candidates hidden at random at first. What comes out is
    checked: by known pairs that were held back, or by runs that must agree with each other and be better than a run
    from nothing. **A matching that failed or is doubtful returns no pairs**, not even the known ones, and says so.

    Parameters
    ----------
    A : array, sparse matrix or data frame (n, d)
        Rows of one collection, at least 20.
    B : array, sparse matrix or data frame (m, d')
        Rows of the other, at least 20, with other columns.
    pairs : array (p, 2), "rows", (ids of A, ids of B) or KnownPairs, optional
        Rows that are known to be the same object. From 15 on, a third of them is held back, to measure the recall.
        Where they name all rows of A or of B, nothing is left to match: they are returned, and not checked.
    system : {"auto", "ridge", "cca"} or an estimator of isthmus
        Who learns from pairs: ridge regression both ways ("auto" is that), canonical variates, or any estimator whose
        ``fit`` takes pairs and that has a ``common_space_``.
    refine : bool
        Whether to go on from the known pairs. Without pairs there is no other way.
    y_source, y_target : array (n,), (m,), optional
        Class labels, -1 or None where unknown: rows of different classes are never matched.
    one_to_one : bool
        Whether a row of B can be the partner of one row of A only; if not, each row of A finds its best row of B.
    keep : {"sure", "all"}
        Whether to return the matches of enough confidence, and none where the matching failed or is doubtful; or all
        that labels allow.
    min_confidence : float
        What is enough, between 0 and 1.
    n_restarts : int
        How many runs with different candidates hidden, from 2 to 1,000; the best counts.
    source_transformer, target_transformer : "auto", None or a transformer of scikit-learn
        What is done with the rows of A and of B first. "auto": columns of dense rows are standardised.
    random_state : int, Generator, RandomState or None
        Where the hiding comes from; the same number gives the same matching.
    n_jobs : int
        How many runs at the same time, in threads; each has one thread for linear algebra. The result is the same.
    progress : bool or function
        Whether to show a bar with the time left; or a function that is called with (what is done, rounds so far).

    Returns
    -------
    Matching
        ``pairs`` (m, 2), ``score``, ``confidence``, ``succeeded``, ``held_back_recall``; ``str`` gives the verdict.

    Notes
    -----
    A match is returned if both rows choose each other, if two runs find the same partner, if it is found also when
    the pair itself is not learned from, and if its confidence is enough.

    Few held-back pairs tell whether a matching worked, not how well. Of 30 known pairs, 10 are held back: if all 10
    are found, the recall is at least 72 % (95 % interval); if 5 are, it is between 24 % and 76 %. With 300 known
    pairs, of which 100 are held back, half of them found means 40 % to 60 %.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import match
    >>> rng = np.random.default_rng(0)
    >>> A = rng.gamma(0.3, size=(200, 8)) @ rng.normal(size=(8, 30))
    >>> order = rng.permutation(200)
    >>> B = (A @ rng.normal(size=(30, 25)))[order]
    >>> found = match(A, B)
    >>> found.succeeded, (order[found.pairs[:, 1]] == found.pairs[:, 0]).mean().round(2)
    (True, np.float64(1.0))
    """
    rng = as_generator(random_state)
    check_choice(keep, "keep", KEEP)
    refine, one_to_one = check_flag(refine, "refine"), check_flag(one_to_one, "one_to_one")
    enough = check_number(min_confidence, "min_confidence", low=0.0, high=1.0)
    restarts = int(check_number(n_restarts, "n_restarts", low=2, high=MOST_RESTARTS, whole=True))
    engine, engine_name = as_engine(system)
    reports = Progress(progress, "match")
    transformers = source_transformer, target_transformer
    domains = two_collections(A, B, y_source, y_target, pairs, transformers, one_to_one=one_to_one)
    known, ys, yt = as_links(domains.pairs), domains.source.y, domains.target.y
    if not refine and not len(known):
        raise InputError("refine: expected True where no pairs are known, got False.")
    check_labels(ys, yt, known)
    jobs = int(check_number(n_jobs, "n_jobs", low=1, whole=True))
    with reports, threadpool_limits(1):
        counter = WorkCounter(reports)
        counter.count("axes", 0.0)
        problem = make_problem(
            prepare_rows(domains.source.X, "A"), prepare_rows(domains.target.X, "B"), ys, yt, engine
        )
        side = find_exhausted_side(problem, known, one_to_one)
        if side is not None:
            return match_known_only(problem, known, side)
        runs = run_all(problem, known, restarts, rng, counter, refine=refine, one_to_one=one_to_one, n_jobs=jobs)
    return _make_matching(
        runs, known, gather_evidence(runs, engine_name), (ys, yt), keep == "all", enough, one_to_one
    )


def _make_matching(
    runs: Runs,
    known: Links,
    seen: Evidence,
    codes: tuple[IntArray, IntArray],
    every: bool,
    enough: float,
    one_to_one: bool,
) -> Matching:
    """The result, as a value."""
    succeeded = judge(seen)
    confidence, partner, score = (
        estimate_confidence(runs, seen.precision),
        runs.found.partner.copy(),
        runs.found.score.copy(),
    )
    is_known = partner < 0
    partner[known.i] = known.j
    score[known.i] = runs.known_scores
    if every:
        kept = runs.found.mutual | is_known | (not one_to_one)
    elif succeeded:
        kept = accept_matches(runs, confidence, enough, one_to_one)
    else:
        kept = np.zeros(len(partner), dtype=bool)
    forbidden = labels_differ(codes[0], codes[1][partner])  # the best of candidates that all are
    i = np.flatnonzero(kept & ~forbidden)
    shape = len(codes[0]), len(codes[1])
    return Matching(
        pairs=np.stack([i, partner[i]], axis=1),
        score=score[i],
        confidence=confidence[i],
        nearest=np.where(forbidden, -1, partner),
        shape=shape,
        succeeded=succeeded,
        verdict=write_sentence(seen, succeeded, len(i), shape),
        evidence=seen,
        held_back_pairs=np.stack([runs.held_pairs.i, runs.held_pairs.j], axis=1),
    )
