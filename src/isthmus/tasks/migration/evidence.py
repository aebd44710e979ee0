"""Held-out figures of an adapter, the advice that follows from them, and equivalent thresholds.

The rule of the advice is :func:`give_advice`; its constants are the same for all data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field

import numpy as np
from numpy.random import Generator

from isthmus._core.validation import FloatArray, ShortRepr, check_number
from isthmus.evidence.held_out import PairRecall, Proportion

# Bootstrap samples of the queries.
N_RESAMPLES = 1000


@dataclass(frozen=True)
class Figures:
    """Figures of one way of searching the old index for new rows.

    Parameters
    ----------
    at_1, at_10 : Proportion
        Of the queries, those whose own object is first, or among the first ten, of the gallery.
    overlap : Proportion, optional
        Of the ten nearest rows that the new model itself would find, those that are found; None where too few rows
        are known in both spaces to say.
    mean_reciprocal_rank : float
        The mean of 1 / rank of the own object.
    """

    at_1: Proportion
    at_10: Proportion
    overlap: Proportion | None
    mean_reciprocal_rank: float

    @property
    def quality(self) -> float:
        """One number to choose by: the mean reciprocal rank, and, where known, its mean with the overlap."""
        rank = self.mean_reciprocal_rank
        return rank if self.overlap is None else (rank + self.overlap.value) / 2.0

    def __str__(self) -> str:
        overlap = "" if self.overlap is None else f", neighbours {self.overlap}"
        return f"recall@1 {self.at_1}, @10 {self.at_10}{overlap}"


@dataclass(frozen=True, eq=False, repr=False)
class Recall(ShortRepr):
    """Held-out pairs searched in the old index, as a learning curve over the number of other pairs.

    :func:`isthmus.view.plots.plot_recall` draws it.

    Parameters
    ----------
    n_pairs : tuple of int
        How many pairs were learned from, rising.
    figures : tuple of Figures
        The figures, one for each number.
    controls : mapping of str to Figures
        To compare the last of them with: ``"shuffled pairs"`` (learned from wrong pairs), ``"both ways"`` (scores of
        :meth:`isthmus.Adapter.similarity`), ``"old model"`` (the old model's own query: the ceiling without the new
        model) and ``"shared columns"`` (the columns of the same name, nothing learned), where known.
    n_queries : int
        Held-out pairs that were searched for.
    n_gallery : int
        Rows of the old index that they were searched in.
    n_neighbours : int
        Rows known in both spaces that the ten neighbours are among. The fewer, the easier they are to find: compare
        with the controls, which have the same rows.
    """

    n_pairs: tuple[int, ...]
    figures: tuple[Figures, ...]
    controls: Mapping[str, Figures] = field(default_factory=dict)
    n_queries: int = 0
    n_gallery: int = 0
    n_neighbours: int = 0

    @property
    def last(self) -> Figures:
        """The figures with the most pairs."""
        return self.figures[-1]

    @property
    def at_1(self) -> FloatArray:
        """Recall@1 (c, 3): the share, and the ends of its interval, for each number of pairs."""
        return np.array([astuple(f.at_1) for f in self.figures])

    @property
    def at_10(self) -> FloatArray:
        """Recall@10 (c, 3)."""
        return np.array([astuple(f.at_10) for f in self.figures])

    @property
    def overlap(self) -> FloatArray | None:
        """The neighbours recovered (c, 3), or None where too few rows are known in both spaces."""
        shares = [f.overlap for f in self.figures]
        return None if None in shares else np.array([astuple(s) for s in shares if s is not None])

    def __str__(self) -> str:
        where = f"{self.n_queries} held-out pairs among {self.n_gallery:,} rows"
        among = "" if self.last.overlap is None else f" among {self.n_neighbours:,}"
        return f"{where}, learned from {self.n_pairs[-1]}: {self.last}{among}"


def bootstrap_mean(shares: FloatArray, rng: Generator) -> Proportion:
    """Return the mean of the queries' shares, with the interval between percentiles of resampled queries."""
    # Queries are resampled, not neighbours: those of one query are found or missed together. Counts of each query per
    # sample, instead of the samples, make it one matrix product.
    counts = rng.multinomial(len(shares), np.full(len(shares), 1.0 / len(shares)), size=N_RESAMPLES)
    low, high = np.percentile(counts @ shares / len(shares), [2.5, 97.5])
    mean = float(shares.mean())
    return Proportion(mean, min(float(low), mean), max(float(high), mean))


def compute_figures(ranks: FloatArray, shared: FloatArray | None, rng: Generator) -> Figures:
    """Compute figures from the ranks (q,) of the queries' own rows and the shares (q,) of neighbours found."""
    counts = PairRecall.of(ranks)
    overlap = None if shared is None else bootstrap_mean(shared, rng)
    return Figures(counts.at_1, counts.at_10, overlap, float((1.0 / ranks).mean()))


BRIDGE, UNTIL, REEMBED = "bridge", "bridge until re-embedded", "re-embed"
# Recall@10 that a permanent bridge needs, at the lower end of its interval: nineteen of twenty objects are still
# found on the first page.
FOUND = 0.95
# Recall@10 below which no bridge is worth having: more objects are lost than found.
USABLE = 0.5


CAUTION = (
    "Here rows search for rows, on which maps do better than on real queries; give queries by both models, best with "
    "judgements, to compare with keeping the old model."
)
CUT_OFFS = "Thresholds of the old model don't hold for adapted rows: convert them by threshold()."


@dataclass(frozen=True)
class Advice:
    """The recommended action and its reason.

    Parameters
    ----------
    action : str
        "bridge", "bridge until re-embedded" or "re-embed"; with queries also "keep", "convert" or "re-embed
        progressively".
    reason : str
        The numbers, and what they don't say.
    """

    action: str
    reason: str = field(repr=False)

    def __str__(self) -> str:
        return f"{self.action}: {self.reason}"


def give_advice(recall: Recall) -> Advice:
    """Return what to do, by a rule on the figures of held-out pairs.

    - *re-embed* where recall@10 is below ``USABLE``, or no better than that of shuffled pairs;
    - *bridge* where recall@10 reaches ``FOUND`` with certainty, and the new model's neighbours are recovered at least
      as well as by the old model on its own index: no user gets worse results than before;
    - *bridge until re-embedded* for everything between.
    """
    last, old = recall.last, recall.controls.get("old model")
    shuffled = recall.controls.get("shuffled pairs")
    found = f"{last.at_10} of {recall.n_queries} held-out objects are among the first ten"
    # Intervals that overlap: the map may have learned nothing about which row is which.
    if shuffled is not None and last.at_10.low <= shuffled.at_10.high:
        chance = f"no better than after learning from shuffled pairs ({shuffled.at_10})"
        return Advice(REEMBED, f"{found}, {chance}. {CAUTION}")
    if last.at_10.value < USABLE:
        return Advice(REEMBED, f"{found}, fewer than {USABLE:.0%}. {CAUTION}")
    if last.overlap is not None and old is not None and old.overlap is not None:
        neighbours = (
            f"{last.overlap.value:.2f} of the new model's neighbours among {recall.n_neighbours:,} rows are found "
            f"(by the old model {old.overlap.value:.2f})"
        )
        as_before = last.overlap.value >= old.overlap.value
    else:
        neighbours, as_before = "too few rows are known in both spaces to compare neighbours", False
    # Certainty is asked of recall only: neighbours have a fair control with the same rows, the old model.
    stays = last.at_10.low >= FOUND and as_before
    return Advice(BRIDGE if stays else UNTIL, f"{found}, and {neighbours}. {CUT_OFFS} {CAUTION}")


# Of the rows that pass; close together where few do, since that is where thresholds are.
SHARES: FloatArray = np.concatenate([np.geomspace(1e-6, 0.1, 161), np.linspace(0.105, 1.0, 180)])


@dataclass(frozen=True, eq=False, repr=False)
class Thresholds(ShortRepr):
    """Equivalent thresholds: they let the same share of the index pass.

    Parameters
    ----------
    old : array (t,)
        Falling similarities between queries of the old model and rows of the old index.
    adapted : array (t,)
        Between the same queries of the new model, adapted, and the same rows.

    Examples
    --------
    >>> table = Thresholds(np.array([0.9, 0.5, 0.1]), np.array([0.7, 0.4, 0.1]))
    >>> round(table.translate(0.7), 6)
    0.55
    """

    old: FloatArray
    adapted: FloatArray

    def translate(self, value: float) -> float:
        """Return the threshold for adapted queries that passes as many rows as ``value`` does for old ones.

        Beyond the largest or smallest similarity that was seen, the largest or smallest of the other scale.
        """
        cut = check_number(value, "value", low=-1.0, high=1.0)
        # The tables fall, and interpolation wants rising ones.
        return float(np.interp(cut, self.old[::-1], self.adapted[::-1]))


def fit_thresholds(old: FloatArray, adapted: FloatArray) -> Thresholds:
    """Fit the table to similarities of the same queries with the same rows, in any order."""
    # Quantiles at the same shares: a pair of entries lets equally many rows pass, whatever the two distributions are.
    tables = (np.quantile(np.asarray(S, dtype=np.float64), 1.0 - SHARES) for S in (old, adapted))
    return Thresholds(*(np.clip(table, -1.0, 1.0) for table in tables))
