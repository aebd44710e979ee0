"""What a change of the model can be answered with, compared on real queries that both models have embedded.

A query is searched among the rows that both models have embedded, which are all that every option is known for. A map
never scores a row that it was learned from: rows are in folds, and each fold is mapped by what the others teach.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from isthmus._core.validation import FloatArray, IntArray, Matrix, check_matrix
from isthmus.evidence.held_out import NEAR, Proportion, inner_products, unit_rows
from isthmus.exceptions import InputError
from isthmus.tasks.migration.evidence import bootstrap_mean

KEEP, BRIDGE, CONVERT, PROGRESSIVE, REEMBED = "keep", "bridge", "convert", "re-embed progressively", "re-embed"
# Of the rows of the index, the shares that are embedded first.
SHARES = 0.1, 0.25, 0.5
FOLDS = 5
FEWEST_QUERIES, MOST_QUERIES = 20, 1000
# A cheaper option replaces the best one where its mean of recall and nDCG is lower by no more than this.
MARGIN = 0.01


@dataclass(frozen=True)
class Option:
    """One answer to a new model, with its figures.

    Parameters
    ----------
    name : {"keep", "bridge", "convert", "re-embed progressively", "re-embed"}
    recall, ndcg : Proportion
        Of the relevant rows, those among the first ten; and the normalised discounted cumulative gain there.
    rows : int
        Rows of the index that have to be embedded.
    share : float
        Of the index, those rows.
    """

    name: str
    recall: Proportion
    ndcg: Proportion
    rows: int = 0
    share: float = 0.0

    @property
    def label(self) -> str:
        """The name, with the share of the rows that are embedded first."""
        return f"{self.name} ({self.share:.0%} first)" if self.name == PROGRESSIVE else self.name

    @property
    def quality(self) -> float:
        """The mean of recall and nDCG, by which options are compared."""
        return (self.recall.value + self.ndcg.value) / 2.0

    def __str__(self) -> str:
        return f"{self.label}: recall@10 {self.recall}, nDCG@10 {self.ndcg}, {self.rows:,} rows to embed"


@dataclass(frozen=True)
class Comparison:
    """The options on the same queries, from the cheapest to the dearest.

    Parameters
    ----------
    options : tuple of Option
    n_queries, n_gallery : int
        Queries, and the rows known in both spaces that they were searched among.
    judged : bool
        Whether relevance was given; else the new model's own ten nearest rows count as relevant.
    """

    options: tuple[Option, ...]
    n_queries: int
    n_gallery: int
    judged: bool

    @property
    def verdict(self) -> Option:
        """The recommended option: the cheapest that is within 0.01 of the best.

        Without judgements, the new model is taken to be right, so that to re-embed is best by definition, and the
        verdict is the best of the options that embed no rows.
        """
        ranked = self.options if self.judged else [option for option in self.options if not option.rows]
        best = max(option.quality for option in ranked)
        return next(option for option in ranked if option.quality >= best - MARGIN)

    def find(self, action: str, share: float = SHARES[0]) -> Option:
        """Return the option of a name; of those of several shares, that of one."""
        return next(o for o in self.options if o.name == action and (o.name != PROGRESSIVE or o.share == share))

    @property
    def sentence(self) -> str:
        """The verdict with the numbers of its rivals."""
        chosen = self.verdict
        said = ", ".join(f"{option.label} {option.recall.value:.2f}" for option in self.options)
        where = f"of {self.n_queries:,} queries among {self.n_gallery:,} rows that both models have embedded"
        if self.judged:
            return f"recall@10 {where}: {said}; {chosen.recall} with {chosen.label}."
        until = "these queries have no judgements, so the new model's own neighbours count as right"
        share = f"share of the new model's ten neighbours found {where}"
        return f"until the index is re-embedded; {share}: {said}; {until}."

    def lines(self, cost: float | None = None, seconds: float | None = None) -> list[str]:
        """Return a line per option, with its cost and time where those of 1,000 rows are known."""
        found = []
        for option in self.options:
            price = "" if cost is None else f", cost {option.rows / 1000 * cost:,.2f}"
            time = "" if seconds is None else f", {option.rows / 1000 * seconds:,.0f} s"
            found.append(f"    {option}{price}{time}")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the figures and the verdict, for JSON."""
        return {**asdict(self), "verdict": self.verdict.label, "sentence": self.sentence}


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries (q, d_old) and (q, d_new), and their relevant rows of the index as pairs (j, 2), or None."""

    old: FloatArray
    new: FloatArray
    relevant: IntArray | None

    @classmethod
    def of(cls, queries: Any, judgements: Any, shape: tuple[int, int], n: int) -> Queries:
        """Check queries of both models, for columns (old, new), and judgements of an index of n rows."""
        if not isinstance(queries, Sequence) or len(queries) != 2:
            raise InputError("queries: expected a tuple of two matrices, by the old model and by the new one.")
        old, new = (
            np.asarray(check_matrix(Q, f"queries by the {name} model", n_columns=n, min_rows=FEWEST_QUERIES))
            for name, Q, n in zip(("old", "new"), queries, shape, strict=True)
        )
        if len(old) != len(new):
            raise InputError(f"queries: expected the same queries by both models, got {len(old)} and {len(new)}.")
        if judgements is None:
            return cls(old, new, None)
        given = np.asarray(judgements)
        if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu" or not len(given):
            raise InputError("judgements: expected rows of a query number and a row number of the index.")
        if given.min() < 0 or (given.max(axis=0) >= (len(old), n)).any():
            got = given.max(axis=0)
            raise InputError(f"judgements: expected queries below {len(old)} and rows below {n}, got {got}.")
        return cls(old, new, np.unique(given.astype(np.intp), axis=0))

    def locate(self, place: IntArray, rng: Generator) -> tuple[Queries, list[IntArray] | None]:
        """Return the queries (at most 1,000) whose relevant rows are in the gallery, and the places of these.

        ``place`` (n,) has the place of each row of the index in the gallery, or -1.
        """
        chosen = rng.permutation(len(self.old))
        if self.relevant is None:
            chosen = np.sort(chosen[:MOST_QUERIES])
            return replace(self, old=self.old[chosen], new=self.new[chosen]), None
        asked, rows = self.relevant.T
        # A query of which any relevant row was not embedded would be unfair to all options, but not equally.
        complete = np.setdiff1d(asked, asked[place[rows] < 0])
        chosen = np.sort(chosen[np.isin(chosen, complete)][:MOST_QUERIES])
        if len(chosen) < FEWEST_QUERIES:
            got = f"got {len(complete)}; embed the judged rows by the new model too, and pair them"
            few = f"expected {FEWEST_QUERIES} queries whose relevant rows are all in pairs"
            raise InputError(f"judgements: {few}, {got}.")
        found = [place[rows[asked == q]] for q in chosen]
        return replace(self, old=self.old[chosen], new=self.new[chosen]), found


def nearest_places(S: FloatArray) -> IntArray:
    """Return the places (q, 10) of the highest scores, the best first."""
    some = np.argpartition(-S, min(NEAR, S.shape[1]) - 1, axis=1)[:, :NEAR]
    return np.take_along_axis(some, np.argsort(-np.take_along_axis(S, some, 1), axis=1, kind="stable"), 1)


def measure_relevance(found: IntArray, relevant: Sequence[IntArray]) -> tuple[FloatArray, FloatArray]:
    r"""Return recall and nDCG (q,) of the places found (q, 10), the best first.

    .. math:: \text{nDCG} = \sum_{k \in R} \frac{1}{\log_2 (k + 1)} \Big/ \sum_{k \le r} \frac{1}{\log_2 (k + 1)}

    with the relevant rows at the ranks R, and r of them, at most ten.

    Examples
    --------
    >>> measure_relevance(np.array([[4, 7]]), [np.array([7])])[1].round(3)
    array([0.631])
    """
    gains = 1.0 / np.log2(np.arange(found.shape[1]) + 2.0)
    hits = np.stack([np.isin(f, r) for f, r in zip(found, relevant, strict=True)])
    most = np.array([min(len(r), found.shape[1]) for r in relevant])
    return hits.sum(axis=1) / most, hits @ gains / np.cumsum(gains)[most - 1]


def compare_options(
    old: Matrix,
    new: Matrix,
    fit: Callable[[IntArray, bool], Any],
    queries: Queries,
    relevant: Sequence[IntArray] | None,
    n: int,
    rng: Generator,
) -> Comparison:
    """Measure every option on the rows (m, d_old), (m, d_new) that both models have embedded.

    Parameters
    ----------
    fit : function
        From numbers of pairs, and whether to map back, to a map.
    relevant : list of arrays, optional
        The places of the relevant rows of each query.
    n : int
        Rows of the whole index.
    """
    m, q_new = len(old), unit_rows(queries.new)
    kept, exact = (inner_products(unit_rows(Q), unit_rows(X)) for Q, X in ((queries.old, old), (queries.new, new)))
    bridged, mapped = np.empty_like(kept), np.empty_like(exact)
    for part in np.array_split(rng.permutation(m), FOLDS):
        learned = np.setdiff1d(np.arange(m), part)
        bridged[:, part] = inner_products(unit_rows(fit(learned, False)(queries.new)), unit_rows(old[part]))
        mapped[:, part] = inner_products(q_new, unit_rows(fit(learned, True)(old[part])))
    answers = relevant if relevant is not None else list(nearest_places(exact))

    def measure(name: str, S: FloatArray, share: float = 0.0) -> Option:
        recall, ndcg = (bootstrap_mean(x, rng) for x in measure_relevance(nearest_places(S), answers))
        return Option(name, recall, ndcg, round(share * n), share)

    mixed = [measure(PROGRESSIVE, S, share) for share, S in zip(SHARES, _mix(kept, mapped, exact, rng), strict=True)]
    free = measure(KEEP, kept), measure(BRIDGE, bridged), measure(CONVERT, mapped)
    return Comparison((*free, *mixed, measure(REEMBED, exact, 1.0)), len(q_new), m, relevant is not None)


def _mix(kept: FloatArray, mapped: FloatArray, exact: FloatArray, rng: Generator) -> list[FloatArray]:
    """Return scores with a growing share of the rows re-embedded: those that other queries retrieve, then any."""
    half = rng.permutation(len(kept)) % 2
    tops, mixed = nearest_places(kept), [mapped.copy() for _ in SHARES]
    for side in (0, 1):
        # Counted on the other half of the queries: a query must not choose the rows that it is measured on.
        counts = np.bincount(tops[half != side].ravel(), minlength=kept.shape[1]) + rng.random(kept.shape[1])
        order, rows = np.argsort(-counts), np.flatnonzero(half == side)
        for S, share in zip(mixed, SHARES, strict=True):
            first = np.ix_(rows, order[: round(share * len(order))])
            S[first] = exact[first]
    return mixed
