"""What held-out pairs say about an adapter: shares with their intervals, as a curve over the number of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from isthmus._arrays import FloatArray
from isthmus._validation import short_repr
from isthmus.evaluation.intervals import wilson_interval

N_RESAMPLES = 1000
"""Bootstrap samples of the queries."""


@dataclass(frozen=True)
class Share:
    """A share with its interval of 95 %.

    Examples
    --------
    >>> print(Share(0.5, 0.25, 0.75))
    0.50 [0.25, 0.75]
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


@dataclass(frozen=True)
class Figures:
    """What one way of searching the old index finds for new rows.

    Parameters
    ----------
    at_1, at_10 : Share
        Of the queries, those whose own object is first, or among the first ten, of the gallery.
    overlap : Share, optional
        Of the ten nearest rows that the new model itself would find, those that are found; None where too few rows
        are known in both spaces to say.
    mean_reciprocal_rank : float
        The mean of 1 / rank of the own object.
    """

    at_1: Share
    at_10: Share
    overlap: Share | None
    mean_reciprocal_rank: float

    @property
    def quality(self) -> float:
        """One number to choose by: objects found again, and, where known, neighbours: their mean."""
        found = self.mean_reciprocal_rank
        return found if self.overlap is None else (found + self.overlap.value) / 2.0

    def __str__(self) -> str:
        overlap = "" if self.overlap is None else f", neighbours {self.overlap}"
        return f"recall@1 {self.at_1}, @10 {self.at_10}{overlap}"


@short_repr
@dataclass(frozen=True, eq=False)
class Recall:
    """Held-out pairs searched in the old index, after learning from ever more of the other pairs.

    :func:`isthmus.plotting.plot_recall` draws it.

    Parameters
    ----------
    n_pairs : tuple of int
        How many pairs were learned from, rising.
    figures : tuple of Figures
        What came of it, one for each number.
    controls : mapping of str to Figures
        Beside the last of them: ``"shuffled pairs"`` (learned from wrong pairs), ``"both ways"`` (scores of
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
        """With the most pairs."""
        return self.figures[-1]

    @property
    def at_1(self) -> FloatArray:
        """Recall@1 (c, 3): the share, and the ends of its interval, for each number of pairs."""
        return np.array([_row(f.at_1) for f in self.figures])

    @property
    def at_10(self) -> FloatArray:
        """Recall@10 (c, 3)."""
        return np.array([_row(f.at_10) for f in self.figures])

    @property
    def overlap(self) -> FloatArray | None:
        """The neighbours recovered (c, 3), or None where too few rows are known in both spaces."""
        shares = [f.overlap for f in self.figures]
        return None if None in shares else np.array([_row(s) for s in shares if s is not None])

    def __str__(self) -> str:
        where = f"{self.n_queries} held-out pairs among {self.n_gallery:,} rows"
        among = "" if self.last.overlap is None else f" among {self.n_neighbours:,}"
        return f"{where}, learned from {self.n_pairs[-1]}: {self.last}{among}"


def _row(share: Share) -> tuple[float, float, float]:
    return share.value, share.low, share.high


def wilson(hits: int, n: int) -> Share:
    """The share of hits among n, with Wilson's interval.

    Examples
    --------
    >>> print(wilson(9, 10))
    0.90 [0.60, 0.98]
    """
    return Share(hits / n, *wilson_interval(hits, n))


def bootstrap(shares: FloatArray, rng: Generator) -> Share:
    """The mean of the queries' shares, with the interval between percentiles of resampled queries."""
    # Counts of each query per sample instead of the samples: one matrix product.
    counts = rng.multinomial(len(shares), np.full(len(shares), 1.0 / len(shares)), size=N_RESAMPLES)
    low, high = np.percentile(counts @ shares / len(shares), [2.5, 97.5])
    mean = float(shares.mean())
    return Share(mean, min(float(low), mean), max(float(high), mean))


def figures(ranks: FloatArray, shared: FloatArray | None, rng: Generator) -> Figures:
    """Of the ranks (q,) of the queries' own objects, and the shares (q,) of their neighbours that were found."""
    first, ten = (wilson(int((ranks < k + 1).sum()), len(ranks)) for k in (1, 10))
    return Figures(first, ten, None if shared is None else bootstrap(shared, rng), float((1.0 / ranks).mean()))
