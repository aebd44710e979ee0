"""The result of a matching, and :func:`match`, which makes it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # scikit-learn brings it

from isthmus._core.progress import Progress, WorkCounter
from isthmus._core.threads import cap_threads
from isthmus._core.validation import FloatArray, IntArray, as_generator, check_choice, check_flag, check_number
from isthmus.evidence.held_out import NO_BASELINE, SharedBaseline
from isthmus.exceptions import InputError
from isthmus.geometry.similarity import NO_PARTNER, apply_csls, find_best, prepare_rows
from isthmus.tasks.matching.engine import as_engine
from isthmus.tasks.matching.evidence import (
    MatchingEvidence,
    accept_matches,
    estimate_confidence,
    judge,
    write_sentence,
)
from isthmus.tasks.matching.problem import (
    AUTO,
    Links,
    MatchingProblem,
    as_links,
    check_labels,
    labels_differ,
    make_domains,
)
from isthmus.tasks.matching.refinement import Runs, run_all

KEEP = ("sure", "all")
# Matches of less confidence are not returned.
SURE = 0.5
# All runs are kept until the best one is known: more would be a mistake, and fill the memory.
MOST_RESTARTS = 1000


@dataclass(frozen=True, eq=False)
class Matching:
    """Rows of A and of B that are the same object, with the verdict on them and its evidence.

    An :class:`~isthmus.evidence.answer.Answer`: ``ok``, ``sentence`` and ``evidence``; ``succeeded`` and ``verdict``
    are other names of the first two.

    Parameters
    ----------
    pairs : array (m, 2)
        The number of a row of A and of a row of B for each match, in the order of A. None are returned, not even the
        known ones, where the matching failed or is doubtful, unless ``keep="all"``.
    score : array (m,)
        How well they fit: twice the score of the engine, less the means that each of them has with its ten best
        (cross-domain similarity local scaling).
    confidence : array (m,)
        An estimate of the probability that a match is right, if the matching as a whole worked; 1 for known pairs.
    nearest : array (n,)
        The best row of B for each row of A, whether it is good enough to be returned or not; -1 where labels
        forbid all.
    shape : (int, int)
        The numbers of rows of A and B.
    ok : bool or None
        Whether the matching succeeded; None where it is doubtful.
    sentence : str
        The verdict with the figures that it rests on; what ``str`` returns.
    evidence : MatchingEvidence or None
        These figures; None where all rows were in known pairs, so that no row was left to match.
    held_out_pairs : array (h, 2)
        The known pairs that were held out to measure the recall.
    """

    pairs: IntArray
    score: FloatArray
    confidence: FloatArray
    nearest: IntArray
    shape: tuple[int, int]
    ok: bool | None
    sentence: str
    evidence: MatchingEvidence | None
    held_out_pairs: IntArray = field(default_factory=lambda: np.zeros((0, 2), np.intp))

    @property
    def succeeded(self) -> bool | None:
        """Whether the matching succeeded: another name of ``ok``."""
        return self.ok

    @property
    def verdict(self) -> str:
        """The verdict: another name of ``sentence``."""
        return self.sentence

    @property
    def recall(self) -> float | None:
        """The share of the held-out pairs whose partner came first; None where none were held out."""
        held_out = None if self.evidence is None else self.evidence.held_out
        return None if held_out is None else held_out.at_1.value

    @property
    def recall_interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the recall (Wilson)."""
        held_out = None if self.evidence is None else self.evidence.held_out
        return None if held_out is None else (held_out.at_1.low, held_out.at_1.high)

    @property
    def shuffled_recall(self) -> float | None:
        """The recall of the control run, which learned from shuffled pairs."""
        shuffled = None if self.evidence is None else self.evidence.shuffled
        return None if shuffled is None else shuffled.at_1.value

    @property
    def baseline(self) -> SharedBaseline:
        """The baseline: the held-out pairs that shared columns find alone, where ``match`` was given these."""
        return NO_BASELINE if self.evidence is None else self.evidence.baseline

    @property
    def partners(self) -> IntArray:
        """The matched row of B for each row of A (n,), -1 where there is none."""
        found = np.full(self.shape[0], -1, dtype=np.intp)
        found[self.pairs[:, 0]] = self.pairs[:, 1]
        return found

    def __len__(self) -> int:
        return len(self.pairs)

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        n, m = self.shape
        return f"<Matching of {n} and {m} rows: {len(self)} pairs, ok={self.ok}>"


def _find_exhausted_side(problem: MatchingProblem, known: Links, one_to_one: bool) -> str | None:
    """Return the collection that has no row left to be matched: "A", "B" or None."""
    rest = problem.exclude_pairs(known, one_to_one)
    return "A" if not len(rest.A) else "B" if not len(rest.B) else None


def _match_known_only(problem: MatchingProblem, known: Links, side: str) -> Matching:
    """Return the known pairs, with the scores that are learned from them."""
    shape = len(problem.A), len(problem.B)
    known = known.select(np.argsort(known.i))
    scores = apply_csls(problem.score_pairs(problem.fit_bridge(known)))
    found = find_best(problem.apply_veto(scores))
    nearest = np.where(found.row_scores > NO_PARTNER, found.of_rows, -1)
    nearest[known.i] = known.j
    return Matching(
        pairs=known.rows,
        score=scores.at(known.i, known.j).astype(np.float64),
        confidence=np.ones(len(known)),
        nearest=nearest,
        shape=shape,
        ok=True,
        sentence=(
            f"matched: {len(known):,} pairs of {shape[0]:,} and {shape[1]:,} rows; no row is left to match, because "
            f"all rows of {side} are in known pairs, which were not checked."
        ),
        evidence=None,
    )


@cap_threads
def match(
    A: Any,
    B: Any,
    pairs: Any = None,
    *,
    shared: Any = None,
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
    r"""Find the rows of A and of B that are the same object, with few known pairs or none.

    Rows are scaled to unit length and turned to their principal axes. Initial scores come from what rows look like
    among their own collection, and from the known pairs. Then rows that choose each other become pairs, maps both
    ways are learned from them, and so on: from few axes to many, with candidates hidden at random at first. The
    result is checked: by held-out pairs, or by runs that must agree with each other and be better than a control run,
    from shuffled pairs. **A matching that failed or is doubtful returns no pairs**, not even the known ones, and says
    so.

    Parameters
    ----------
    A : array, sparse matrix or data frame (n, d)
        Rows of one collection, at least 20.
    B : array, sparse matrix or data frame (m, d')
        Rows of the other, at least 20, with other columns.
    pairs : array (p, 2), "rows", (ids of A, ids of B) or KnownPairs, optional
        Rows that are known to be the same object. From 15 on, a third of them is held out, to measure the recall.
        Where they name all rows of A or of B, no row is left to match: they are returned, and not checked.
    shared : (array (n, k), array (m, k)), optional
        Columns that both collections have. They are not learned from; ``baseline`` says how many held-out pairs they
        find alone.
    system : {"auto", "ridge", "cca"} or an estimator of isthmus
        What learns from pairs: ridge regression both ways ("auto" is that), canonical variates, or any estimator
        whose ``fit`` takes pairs and that has a ``common_space_``.
    refine : bool
        Whether to refine what is learned from the known pairs. Without pairs it has to be True.
    y_source, y_target : array (n,), (m,), optional
        Class labels, -1 or None where unknown: rows of different classes are never matched.
    one_to_one : bool
        Whether a row of B can be the partner of one row of A only; if not, each row of A finds its best row of B.
    keep : {"sure", "all"}
        Whether to return the matches of at least ``min_confidence``, and none where the matching failed or is
        doubtful; or all that labels allow.
    min_confidence : float
        Between 0 and 1.
    n_restarts : int
        The number of runs with different candidates hidden, from 2 to 1,000; the best counts.
    source_transformer, target_transformer : "auto", None or a transformer of scikit-learn
        The preprocessing of the rows of A and of B. "auto": columns of dense rows are standardised.
    random_state : int, Generator, RandomState or None
        The source of random numbers; the same number gives the same matching.
    n_jobs : int
        The number of runs at the same time, in threads; each has one thread for linear algebra. The result is the
        same.
    progress : bool or function
        Whether to show a bar with the time left; or a function that is called with (what is done, rounds so far).

    Returns
    -------
    Matching
        ``pairs`` (m, 2), ``score``, ``confidence``, ``ok``, ``recall``; ``str`` returns the verdict.

    Notes
    -----
    A match is returned if both rows choose each other, if two runs find the same partner, if it is re-found when the
    pair itself is held out, and if its confidence is high enough.

    Few held-out pairs show whether a matching worked, not how well. Of 30 known pairs, 10 are held out: if all 10 are
    found, the recall is at least 72 % (95 % interval); if 5 are, it is between 24 % and 76 %. With 300 known pairs,
    of which 100 are held out, half of them found means 40 % to 60 %.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import match
    >>> rng = np.random.default_rng(0)
    >>> A = rng.gamma(0.3, size=(200, 8)) @ rng.normal(size=(8, 30))
    >>> order = rng.permutation(200)
    >>> B = (A @ rng.normal(size=(30, 25)))[order]
    >>> found = match(A, B)
    >>> found.ok, (order[found.pairs[:, 1]] == found.pairs[:, 0]).mean().round(2)
    (True, np.float64(1.0))
    """
    rng = as_generator(random_state)
    check_choice(keep, "keep", KEEP)
    refine, one_to_one = check_flag(refine, "refine"), check_flag(one_to_one, "one_to_one")
    enough = check_number(min_confidence, "min_confidence", low=0.0, high=1.0)
    restarts = int(check_number(n_restarts, "n_restarts", low=2, high=MOST_RESTARTS, whole=True))
    engine = as_engine(system)
    reports = Progress(progress, "match")
    transformers = source_transformer, target_transformer
    domains = make_domains(A, B, y_source, y_target, pairs, shared, transformers, one_to_one=one_to_one)
    known, ys, yt = as_links(domains.pairs), domains.source.y, domains.target.y
    if not refine and not len(known):
        raise InputError("refine: expected True where no pairs are known, got False.")
    check_labels(ys, yt, known)
    jobs = int(check_number(n_jobs, "n_jobs", low=1, whole=True))
    # The runs themselves are in threads: more threads below them would only compete.
    with reports, threadpool_limits(1):
        counter = WorkCounter(reports)
        counter.count("axes", 0.0)
        rows = prepare_rows(domains.source.X, "A"), prepare_rows(domains.target.X, "B")
        problem = MatchingProblem.of(*rows, ys, yt, engine)
        side = _find_exhausted_side(problem, known, one_to_one)
        if side is not None:
            return _match_known_only(problem, known, side)
        runs = run_all(problem, known, restarts, rng, counter, refine=refine, one_to_one=one_to_one, n_jobs=jobs)
    held, both = runs.held_out_pairs.rows, domains.shared
    tables = None if both is None else (both.source, both.target)
    # Rows of B in the other known pairs are no candidates of the matching, and so none of the baseline.
    baseline = SharedBaseline.measure(tables, held, np.setdiff1d(known.j, held[:, 1]))
    seen = replace(runs.evidence, baseline=baseline)
    return _make_matching(runs, known, seen, (ys, yt), keep == "all", enough, one_to_one)


def _make_matching(
    runs: Runs,
    known: Links,
    seen: MatchingEvidence,
    codes: tuple[IntArray, IntArray],
    every: bool,
    enough: float,
    one_to_one: bool,
) -> Matching:
    """Judge the evidence, and keep the matches that it supports."""
    ok = judge(seen)
    confidence = estimate_confidence(runs, seen.precision)
    partner, score = runs.found.partner.copy(), runs.found.score.copy()
    # Rows in known pairs are no part of the problem, and have no partner in the runs.
    is_known = partner < 0
    partner[known.i] = known.j
    score[known.i] = runs.known_scores
    # Where labels forbid all candidates, the best of them is forbidden too.
    forbidden = labels_differ(codes[0], codes[1][partner])
    sure = accept_matches(runs, confidence, enough, one_to_one) & ~forbidden
    # Without a new pair there is no success.
    if ok and not (sure & ~is_known).any():
        ok = None
    kept = (runs.found.mutual | is_known | (not one_to_one)) if every else sure & (ok is True)
    i = np.flatnonzero(kept & ~forbidden)
    shape = len(codes[0]), len(codes[1])
    return Matching(
        pairs=np.stack([i, partner[i]], axis=1),
        score=score[i],
        confidence=confidence[i],
        nearest=np.where(forbidden, -1, partner),
        shape=shape,
        ok=ok,
        sentence=write_sentence(seen, ok, len(i), shape),
        evidence=seen,
        held_out_pairs=runs.held_out_pairs.rows,
    )
