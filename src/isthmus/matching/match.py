"""``isthmus.match``: which rows of two collections are the same object."""

from __future__ import annotations

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # scikit-learn brings it

from isthmus._arrays import IntArray
from isthmus._progress import Progress, WorkCounter
from isthmus._threads import cap_threads
from isthmus._validation import as_generator, check_flag, choice, number
from isthmus.exceptions import InputError
from isthmus.matching.complete import known_alone, side_without_rows
from isthmus.matching.confidence import accepted, confidences
from isthmus.matching.engines import as_engine
from isthmus.matching.input import AUTO, known_links, two_collections
from isthmus.matching.labels import check_labels, differ
from isthmus.matching.matching import Matching
from isthmus.matching.preparation import prepared
from isthmus.matching.problem import Links
from isthmus.matching.runs import Runs, all_runs
from isthmus.matching.starts import problem_of
from isthmus.matching.verdict import Evidence, evidence, sentence, success

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
    choice(keep, "keep", KEEP)
    refine, one_to_one = check_flag(refine, "refine"), check_flag(one_to_one, "one_to_one")
    enough = number(min_confidence, "min_confidence", low=0.0, high=1.0)
    restarts = int(number(n_restarts, "n_restarts", low=2, high=MOST_RESTARTS, whole=True))
    engine, engine_name = as_engine(system)
    reports = Progress(progress, "match")
    transformers = source_transformer, target_transformer
    domains = two_collections(A, B, y_source, y_target, pairs, transformers, one_to_one=one_to_one)
    known, ys, yt = known_links(domains.pairs), domains.source.y, domains.target.y
    if not refine and not len(known):
        raise InputError("refine: expected True where no pairs are known, got False.")
    check_labels(ys, yt, known)
    jobs = int(number(n_jobs, "n_jobs", low=1, whole=True))
    with reports, threadpool_limits(1):
        counter = WorkCounter(reports)
        counter.count("axes", 0.0)
        problem = problem_of(prepared(domains.source.X, "A"), prepared(domains.target.X, "B"), ys, yt, engine)
        side = side_without_rows(problem, known, one_to_one)
        if side is not None:
            return known_alone(problem, known, side)
        runs = all_runs(problem, known, restarts, rng, counter, refine=refine, one_to_one=one_to_one, n_jobs=jobs)
    return _matching(runs, known, evidence(runs, engine_name), (ys, yt), keep == "all", enough, one_to_one)


def _matching(
    runs: Runs,
    known: Links,
    seen: Evidence,
    codes: tuple[IntArray, IntArray],
    every: bool,
    enough: float,
    one_to_one: bool,
) -> Matching:
    """The result, as a value."""
    succeeded = success(seen)
    confidence, partner, score = confidences(runs, seen.precision), runs.found.partner.copy(), runs.found.score.copy()
    is_known = partner < 0
    partner[known.i] = known.j
    score[known.i] = runs.known_scores
    if every:
        kept = runs.found.mutual | is_known | (not one_to_one)
    elif succeeded:
        kept = accepted(runs, confidence, enough, one_to_one)
    else:
        kept = np.zeros(len(partner), dtype=bool)
    forbidden = differ(codes[0], codes[1][partner])  # the best of candidates that all are
    i = np.flatnonzero(kept & ~forbidden)
    shape = len(codes[0]), len(codes[1])
    return Matching(
        pairs=np.stack([i, partner[i]], axis=1),
        score=score[i],
        confidence=confidence[i],
        nearest=np.where(forbidden, -1, partner),
        shape=shape,
        succeeded=succeeded,
        verdict=sentence(seen, succeeded, len(i), shape),
        evidence=seen,
        held_back_pairs=np.stack([runs.held_pairs.i, runs.held_pairs.j], axis=1),
    )
