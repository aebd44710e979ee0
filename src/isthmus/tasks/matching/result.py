"""The result of a matching, and :func:`match`, which makes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.random import Generator
from threadpoolctl import threadpool_limits  # scikit-learn brings it

from isthmus._core.progress import Progress, WorkCounter
from isthmus._core.threads import cap_threads
from isthmus._core.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    as_generator,
    check_choice,
    check_flag,
    check_number,
)
from isthmus.data.domains import SharedFeatures, TwoDomains, as_pairs
from isthmus.data.shared_columns import SharedColumns
from isthmus.evidence.held_out import NO_BASELINE, PairRecall, SharedBaseline, hold_out_pairs
from isthmus.exceptions import InputError
from isthmus.geometry.similarity import Prepared, prepare_rows
from isthmus.tasks.matching.evidence import (
    FEWEST_NEW,
    LEAST_BY_GEOMETRY,
    LinkageEvidence,
    MatchingEvidence,
    accept_matches,
    estimate_confidence,
    judge,
    judge_linkage,
    write_linkage_sentence,
    write_sentence,
)
from isthmus.tasks.matching.fields import make_comparer
from isthmus.tasks.matching.fusion import GEOMETRY, FusionProblem, link_again, match_by_fields_and_maps
from isthmus.tasks.matching.linkage import Linkage, expect_f1
from isthmus.tasks.matching.problem import (
    NAMES,
    Links,
    MatchingProblem,
    as_links,
    check_labels,
    labels_differ,
    make_domains,
)
from isthmus.tasks.matching.refinement import FEWEST_TO_HOLD_OUT, Runs, run_all

KEEP = ("sure", "all")
# Matches of less confidence are not returned.
SURE = 0.5
# Where only whole rows are compared, geometry is asked too, unless they have this expected F1.
SURE_F1 = 0.97
# All runs are kept until the best one is known: more would be a mistake, and fill the memory.
MOST_RESTARTS = 1000


@dataclass(frozen=True)
class Explanation:
    """What speaks for a pair of rows.

    Parameters
    ----------
    i, j : int
        The row of A and of B.
    confidence : float or None
        The probability of the match; None where the pair was not returned.
    parts : dict of str to float
        What each shared column, and the other features together, add to the log-odds of a pair whose agreement is
        that of the average candidate.

    Examples
    --------
    >>> print(Explanation(3, 5, 0.97, {"name": 4.21, "price": -0.3}))
    name +4.2, price -0.3
    """

    i: int
    j: int
    confidence: float | None
    parts: dict[str, float]

    def __str__(self) -> str:
        strongest = sorted(self.parts.items(), key=lambda part: -abs(part[1]))
        return ", ".join(f"{name} {value:+.1f}" for name, value in strongest) or "no candidate: nothing in common"


@dataclass(frozen=True, eq=False)
class Matching:
    """Rows of A and of B that are the same object, with the verdict on them and its evidence.

    An :class:`~isthmus.evidence.Answer`: ``ok``, ``sentence`` and ``evidence``.

    Parameters
    ----------
    pairs : array (m, 2)
        The number of a row of A and of a row of B for each match, in the order of A. None are returned, not even the
        known ones, where the matching failed or is doubtful, unless ``keep="all"``.
    score : array (m,)
        How well they fit: twice the score of the maps, less the means that each of them has with its ten best
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
    evidence : MatchingEvidence, LinkageEvidence or None
        These figures; None where all rows were in known pairs, so that no row was left to match.
    held_out_pairs : array (h, 2)
        The known pairs that were held out to measure the recall.
    runner_up : array (m,) or None
        The second best row of B for the row of A of each match, -1 where there is none; None by geometry alone.
    linkage : Linkage or None
        The candidates and weights of a matching by shared columns; None by geometry alone.
    """

    pairs: IntArray
    score: FloatArray
    confidence: FloatArray
    nearest: IntArray
    shape: tuple[int, int]
    ok: bool | None
    sentence: str
    evidence: MatchingEvidence | LinkageEvidence | None
    held_out_pairs: IntArray = field(default_factory=lambda: np.zeros((0, 2), np.intp))
    runner_up: IntArray | None = None
    linkage: Linkage | None = None

    def explain(self, i: int, j: int) -> Explanation:
        """Return how much each shared column, and the other features, speak for a pair of rows.

        A matching by geometry alone has one part; a pair that was no candidate has none.
        """
        row = int(check_number(i, "i", low=0, high=self.shape[0] - 1, whole=True))
        column = int(check_number(j, "j", low=0, high=self.shape[1] - 1, whole=True))
        found = np.flatnonzero((self.pairs == (row, column)).all(axis=1))
        confidence = float(self.confidence[found[0]]) if len(found) else None
        if self.linkage is None:
            parts = {GEOMETRY: float(self.score[found[0]])} if len(found) else {}
            return Explanation(row, column, confidence, parts)
        place = int(self.linkage.agreement.find(np.array([[row, column]]))[0])
        return Explanation(row, column, confidence, self.linkage.contributions(place) if place >= 0 else {})

    @property
    def recall(self) -> float | None:
        """The share of the held-out pairs whose partner came first; None where none were held out."""
        held_out = None if self.evidence is None else self.evidence.held_out
        return None if held_out is None else held_out.at_1.value

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


@cap_threads
def match(
    A: Any,
    B: Any,
    pairs: Any = None,
    *,
    not_pairs: Any = None,
    shared: Any = "auto",
    refine: bool = True,
    y_source: Any = None,
    y_target: Any = None,
    one_to_one: bool = True,
    keep: str = "sure",
    min_confidence: float = SURE,
    n_restarts: int = 3,
    scale: bool = True,
    random_state: Any = 0,
    n_jobs: int = 2,
    progress: Any = False,
) -> Matching:
    r"""Find the rows of A and of B that are the same object, with few known pairs or none.

    Where the collections share columns, candidates are compared field by field, the weights of fields are learned
    without labels, and every match has a probability; maps between all other features join where fields leave doubts.
    Where nothing is shared, or what is shared finds nothing, geometry alone has to do.

    By geometry, rows are scaled to unit length and turned to their principal axes. Initial scores come from what rows
    look like among their own collection, and from the known pairs. Then rows that choose each other become pairs,
    maps both ways are learned from them, and so on: from few axes to many, with candidates hidden at random at first.
    The result is checked: by held-out pairs, or by runs that must agree with each other and be better than a control
    run, from shuffled pairs. **A matching that failed or is doubtful returns no pairs**, not even the known ones, and
    says so.

    Parameters
    ----------
    A : array, sparse matrix or data frame (n, d)
        Rows of one collection, at least 20.
    B : array, sparse matrix or data frame (m, d')
        Rows of the other, at least 20, with other columns.
    pairs : array (p, 2), "rows", (ids of A, ids of B) or KnownPairs, optional
        Rows that are known to be the same object. From 15 on, a third of them is held out, to measure the recall.
        Where they name all rows of A or of B, no row is left to match: they are returned, and not checked.
    not_pairs : array (q, 2), optional
        Rows that are known not to be the same object.
    shared : "auto", None, list of (str, str), SharedColumns or (array (n, k), array (m, k))
        What both collections have. "auto": of data frames the columns of the same name, otherwise of similar content,
        otherwise the words of whole rows; of arrays nothing. Or pairs of column names of two data frames, or the same
        features of either collection as two tables, which count if the other features (or ten known pairs) confirm
        them.
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
    scale : bool
        Whether columns of dense rows are standardised.
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
    scale = check_flag(scale, "scale")
    enough = check_number(min_confidence, "min_confidence", low=0.0, high=1.0)
    restarts = int(check_number(n_restarts, "n_restarts", low=2, high=MOST_RESTARTS, whole=True))
    reports = Progress(progress, "match")
    domains = make_domains(A, B, y_source, y_target, pairs, shared, scale=scale, one_to_one=one_to_one)
    known, ys, yt = as_links(domains.pairs), domains.source.y, domains.target.y
    if not refine and not len(known):
        raise InputError("refine: expected True where no pairs are known, got False.")
    check_labels(ys, yt, known)
    rejected = _check_not_pairs(not_pairs, (len(ys), len(yt)), known)
    jobs = int(check_number(n_jobs, "n_jobs", low=1, whole=True))
    keeping = _Keeping(keep == "all", enough, one_to_one, rejected, (ys, yt))
    if len(known) == (min(len(ys), len(yt)) if one_to_one else len(ys)):
        return _match_known_only(known, (len(ys), len(yt)))
    # The runs themselves are in threads: more threads below them would only compete.
    with reports, threadpool_limits(1):
        counter = WorkCounter(reports)

        @cache
        def prepare() -> tuple[Prepared, Prepared]:
            counter.count("axes", 0.0)
            return prepare_rows(domains.source.X, "A"), prepare_rows(domains.target.X, "B")

        linked = _match_by_columns(domains, known, prepare, keeping, rng, counter)
        if linked is not None and linked.ok and not _needs_geometry(linked, domains.shared):
            return linked
        problem = MatchingProblem.of(*prepare(), ys, yt)
        runs = run_all(problem, known, restarts, rng, counter, refine=refine, one_to_one=one_to_one, n_jobs=jobs)
    baseline = _measure_baseline(domains, known, runs.held_out_pairs.rows)
    found = _make_matching(runs, known, replace(runs.evidence, baseline=baseline), keeping)
    if linked is not None and linked.ok and not (found.ok and found.confidence.sum() > linked.confidence.sum()):
        return linked
    # Neither way succeeded: rows that look alike by their columns say more than maps that failed.
    seen = None if linked is None else linked.evidence
    alike = isinstance(seen, LinkageEvidence) and seen.accepted > 0 and seen.confirmed
    return linked if linked is not None and alike and not found.ok else found


@dataclass(frozen=True, eq=False)
class _Keeping:
    """Which matches are returned: all or those of enough confidence, and none that labels or the user reject."""

    every: bool
    enough: float
    one_to_one: bool
    rejected: IntArray
    codes: tuple[IntArray, IntArray]

    def forbid(self, i: IntArray, j: IntArray) -> BoolArray:
        """Return which pairs of rows have different labels or were rejected."""
        cells = i.astype(np.int64) * len(self.codes[1]) + j
        return labels_differ(self.codes[0][i], self.codes[1][j]) | np.isin(cells, self.rejected)


def _measure_baseline(domains: TwoDomains, known: Links, held: IntArray) -> SharedBaseline:
    both = domains.shared
    tables = (both.source, both.target) if isinstance(both, SharedFeatures) else None
    # Rows of B in the other known pairs are no candidates of the matching, and so none of the baseline.
    return SharedBaseline.measure(tables, held, np.setdiff1d(known.j, held[:, 1]))


def _check_not_pairs(not_pairs: Any, shape: tuple[int, int], known: Links) -> IntArray:
    """Return rejected pairs as sorted cells i m + j; none of them may be known."""
    if not_pairs is None or not len(not_pairs):
        return np.zeros(0, np.int64)
    try:
        rows = as_pairs(not_pairs, *shape, names=NAMES).rows
    except InputError as error:
        raise InputError(f"not_{error}") from None
    cells = np.unique(rows[:, 0].astype(np.int64) * shape[1] + rows[:, 1])
    both = np.isin(known.i.astype(np.int64) * shape[1] + known.j, cells)
    if both.any():
        i, j = known.rows[both.argmax()]
        raise InputError(f"not_pairs: expected no pair that is also in pairs, got ({i}, {j}).")
    return cells


def _match_by_columns(
    domains: TwoDomains,
    known: Links,
    prepare: Callable[[], tuple[Prepared, Prepared]],
    keeping: _Keeping,
    rng: Generator,
    counter: WorkCounter,
) -> Matching | None:
    """Match by what both share; None where nothing is, where that says nothing, or where no row is left to match."""
    if domains.shared is None:
        return None
    comparer = make_comparer(domains.shared)
    if len(known) >= min(comparer.shape):
        return None
    held, kept = (known.select(part) for part in hold_out_pairs(len(known), FEWEST_TO_HOLD_OUT, rng))
    one_to_one = keeping.one_to_one
    problem = FusionProblem(comparer, prepare, kept, keeping.forbid, one_to_one)
    found = match_by_fields_and_maps(problem, rng, lambda what: counter.count(what, 0.0))
    if found is None:
        return None
    ranks = found.linkage.rank_pairs(held.rows)
    if len(held):
        found = link_again(found, known)
    linkage = found.linkage
    n_accepted = len(linkage.accepted)
    seen = LinkageEvidence(
        rows=min(linkage.agreement.shape) - len(known),
        candidates=len(linkage.agreement),
        accepted=n_accepted,
        precision=float(linkage.probability[linkage.accepted].mean()) if n_accepted else 0.0,
        null_share=found.null_share,
        known=len(known),
        held_out=PairRecall.of(ranks) if len(held) else None,
        fields=linkage.fields,
        dropped=found.dropped,
        contradiction=found.contradiction,
        confirmed=found.confirmed,
        sharing=linkage.count_sharing() if one_to_one else 0,
        baseline=_measure_baseline(domains, known, held.rows),
    )
    return _make_linked_matching(linkage, known, seen, held.rows, keeping)


def _needs_geometry(linked: Matching, shared: Any) -> bool:
    """Return whether geometry may find more: no columns are paired, and words of whole rows leave doubts."""
    unpaired = isinstance(shared, SharedColumns) and not shared.pairs
    return unpaired and linked.linkage is not None and expect_f1(linked.linkage.probability) < SURE_F1


def _make_linked_matching(
    linkage: Linkage, known: Links, seen: LinkageEvidence, held_out: IntArray, keeping: _Keeping
) -> Matching:
    """Judge the evidence of a matching by shared columns, and keep the matches that it supports."""
    ok, shape = judge_linkage(seen), linkage.agreement.shape
    accepted = linkage.accepted[linkage.probability[linkage.accepted] >= keeping.enough]
    kept = np.arange(len(linkage.matches)) if keeping.every else accepted if ok else accepted[:0]
    matched, score = linkage.pairs[kept], linkage.scores[linkage.matches[kept]]
    confidence = linkage.probability[kept]
    if ok or keeping.every:
        matched, confidence = np.vstack([known.rows, matched]), np.append(np.ones(len(known)), confidence)
        score = np.append(linkage.scores[linkage.agreement.find(known.rows)], score)
    order = np.argsort(matched[:, 0], kind="stable")
    i, j = matched[order].T
    nearest, second = linkage.find_best()
    nearest[known.i] = known.j
    sentence = write_linkage_sentence(seen, ok, len(matched), shape)
    runner_up = np.where(nearest[i] == j, second[i], nearest[i])
    found = matched[order], score[order], confidence[order], nearest, shape, ok, sentence, seen
    return Matching(*found, held_out, runner_up, linkage)


def _make_matching(runs: Runs, known: Links, seen: MatchingEvidence, keeping: _Keeping) -> Matching:
    """Judge the evidence, and keep the matches that it supports."""
    ok = judge(seen)
    confidence = estimate_confidence(runs, seen.precision)
    partner, score = runs.partner.copy(), runs.score.copy()
    # Rows in known pairs are no part of the problem, and have no partner in the runs.
    is_known = partner < 0
    partner[known.i], score[known.i] = known.j, runs.known_scores
    # Where labels forbid all candidates, the best of them is forbidden too.
    allowed = ~keeping.forbid(np.arange(len(partner)), partner)
    sure = accept_matches(runs, confidence, keeping.enough, keeping.one_to_one) & allowed
    # Without new pairs there is no success; a few of them are one only where held-out pairs were found, too.
    shape = len(keeping.codes[0]), len(keeping.codes[1])
    fewest = max(FEWEST_NEW, LEAST_BY_GEOMETRY * (min(shape) - len(known))) if seen.held_out is None else 1
    if ok and (sure & ~is_known).sum() < fewest:
        ok = None
    every = (runs.mutual | is_known | (not keeping.one_to_one)) & allowed
    i = np.flatnonzero(every if keeping.every else sure & (ok is True))
    new = confidence[i[~is_known[i]]]
    sentence = write_sentence(seen, ok, len(i), shape, float(new.mean()) if ok and len(new) else None)
    pairs, nearest = np.stack([i, partner[i]], axis=1), np.where(allowed, partner, -1)
    held_out = runs.held_out_pairs.rows
    return Matching(pairs, score[i], confidence[i], nearest, shape, ok, sentence, seen, held_out)


def _match_known_only(known: Links, shape: tuple[int, int]) -> Matching:
    """Return the known pairs: nothing is learned, or checked."""
    known = known.select(np.argsort(known.i))
    nearest, ones = np.full(shape[0], -1, np.intp), np.ones(len(known))
    nearest[known.i] = known.j
    sentence = (
        f"matched: {len(known):,} pairs of {shape[0]:,} and {shape[1]:,} rows; no row is left to match, because all "
        f"rows of {'A' if len(known) == shape[0] else 'B'} are in known pairs, which were not checked."
    )
    return Matching(known.rows, ones, ones, nearest, shape, True, sentence, None)
