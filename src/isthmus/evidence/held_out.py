"""Held-out measurements: how often the partner of a row is found, with intervals, controls and baselines.

Some known pairs are not learned from. Each of their rows is searched among all candidates, and the rank of its
partner counts: first, or among the first ten. A share comes with Wilson's interval, and is compared with the baseline
of the columns that both collections share (nothing learned) and, where a task has one, with a run on shuffled pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from types import UnionType
from typing import Any, Protocol, TypeAlias, get_args, get_origin, get_type_hints, runtime_checkable

import numpy as np
from numpy.random import Generator

from isthmus._core.linalg import normalize_rows
from isthmus._core.validation import FloatArray, IntArray, Matrix, as_dense, check_matrix, check_number, is_sparse
from isthmus.geometry.similarity import normalize_precisely

# The quantile of the normal distribution with 2.5 % on either side.
Z = 1.959963984540054
# A partner counts as near if it is among the first ten; also the number of neighbours that are compared.
NEAR = 10
# With fewer pairs, none is held out of a fit.
FEWEST_PAIRS = 10
# Cosines that differ by less are equal, to rounding.
TIE = 1e-9
# Queries at once.
BLOCK = 256
# Of a mean, relative to its size: a row that is this near to it is the mean itself.
ROUNDING = 1e-14
# The largest number that is read from a file.
LARGEST = 1e9
# The scores (q, g) of some queries, by their numbers, with every row of the gallery.
Score: TypeAlias = Callable[[IntArray], FloatArray]
# The rows of either collection in the columns that both have.
SharedRows: TypeAlias = tuple[Matrix, Matrix] | None


@runtime_checkable
class Answer(Protocol):
    """A conclusion in one sentence, with the measurements it rests on; ``str`` returns the sentence."""

    @property
    def ok(self) -> bool | None:
        """True: the measurements support the answer; False: they contradict it; None: they do not decide."""

    @property
    def sentence(self) -> str:
        """The conclusion in plain words, with its main figures."""

    @property
    def evidence(self) -> Any:
        """The measurements behind the conclusion."""


def wilson_interval(hits: float, n: int) -> tuple[float, float]:
    r"""Return Wilson's interval for the share of hits among n.

    .. math:: \frac{p + z^2 / 2n \pm z \sqrt{p (1 - p) / n + z^2 / 4n^2}}{1 + z^2 / n}, \qquad p = \text{hits} / n

    Examples
    --------
    >>> low, high = wilson_interval(9, 10)
    >>> round(low, 3), round(high, 3)
    (0.596, 0.982)
    """
    p, z2 = hits / n, Z**2 / n
    centre = (p + z2 / 2.0) / (1.0 + z2)
    half = Z * np.sqrt(p * (1.0 - p) / n + z2 / (4.0 * n)) / (1.0 + z2)
    # The interval contains p on paper; rounding must not exclude it.
    return min(p, max(0.0, float(centre - half))), max(p, min(1.0, float(centre + half)))


@dataclass(frozen=True)
class Proportion:
    """A share with its 95 % interval.

    Examples
    --------
    >>> print(Proportion(0.5, 0.25, 0.75))
    0.50 [0.25, 0.75]
    >>> print(Proportion.of(9, 10))
    0.90 [0.60, 0.98]
    """

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, hits: int, n: int) -> Proportion:
        """Return the share of hits among n, with Wilson's interval."""
        return cls(hits / n, *wilson_interval(hits, n))

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


@dataclass(frozen=True)
class PairRecall:
    """Counts of held-out pairs: all of them, those whose partner comes first, and among the first ten.

    Examples
    --------
    >>> found = PairRecall.of(np.array([1.0, 1.0, 4.0, 31.0]))
    >>> found.n, found.first, found.near
    (4, 2, 3)
    >>> print(found)
    50% of 4 held-out pairs are found [15%, 85%], 75% among the first 10
    """

    n: int
    first: int
    near: int

    @classmethod
    def of(cls, ranks: FloatArray | IntArray) -> PairRecall:
        """Count the ranks (n,) of partners, from 1; rows with the same score may share a mean rank."""
        return cls(len(ranks), int((ranks < 2).sum()), int((ranks < NEAR + 1).sum()))

    @property
    def at_1(self) -> Proportion:
        """The share whose partner comes first."""
        return Proportion.of(self.first, self.n)

    @property
    def at_10(self) -> Proportion:
        """The share whose partner is among the first ten."""
        return Proportion.of(self.near, self.n)

    def __str__(self) -> str:
        first = self.at_1
        return (
            f"{first.value:.0%} of {self.n:,} held-out pairs are found [{first.low:.0%}, {first.high:.0%}], "
            f"{self.at_10.value:.0%} among the first {NEAR}"
        )


def hold_out_pairs(n: int, fewest: int, rng: Generator) -> tuple[IntArray, IntArray]:
    """Return the numbers of a random third of n pairs (none of fewer than ``fewest``), and those of the others."""
    order = rng.permutation(n)
    h = n // 3 if n >= fewest else 0
    return order[:h], order[h:]


@dataclass(frozen=True)
class SharedBaseline:
    """What the words and columns find that both collections share, without any pair or map.

    Parameters
    ----------
    columns : int
        How many there are.
    n : int
        How many held-out pairs were searched.
    recall : float or None
        The share whose partner comes first, where one of t with the same cosine counts 1/t; None where nothing was
        measured.

    Examples
    --------
    >>> print(SharedBaseline(72, 10, 0.8))
    Baseline: the 72 shared words or columns alone find 8 of 10 held-out pairs.
    """

    columns: int = 0
    n: int = 0
    recall: float | None = None

    @classmethod
    def measure(cls, shared: SharedRows, pairs: IntArray, known: IntArray | None = None) -> SharedBaseline:
        """Search held-out pairs (n, 2) by the cosine of shared columns, among rows that no known pair has."""
        columns = 0 if shared is None else int(shared[0].shape[1])
        if shared is None or not len(pairs):
            return cls(columns)
        return cls(columns, len(pairs), measure_shared_recall(*shared, pairs, known))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures and the sentence, for JSON."""
        return {"columns": self.columns, "recall": self.recall, "sentence": str(self)}

    def __str__(self) -> str:
        if not self.columns:
            return "Baseline: none, as no words or columns are shared."
        shared = f"the {self.columns:,} shared words or columns"
        if self.recall is None:
            return f"Baseline: not measured; give more known pairs to measure what {shared} find alone."
        return f"Baseline: {shared} alone find {self.recall * self.n:.3g} of {self.n:,} held-out pairs."


NO_BASELINE = SharedBaseline()


def measure_shared_recall(A: Any, B: Any, pairs: IntArray, without: IntArray | None = None) -> float:
    r"""Return the share of pairs whose partner comes first by the cosine of columns that both collections have.

    .. math:: \frac{1}{p} \sum_{(i, j)} [j \in J_i] / |J_i|, \qquad J_i = \arg\max_k \cos(a_i, b_k)

    Parameters
    ----------
    A, B : array or sparse matrix (n, d), (m, d)
        The same columns of either collection.
    pairs : array (p, 2)
        Rows of A and of B that are the same object.
    without : array (q,), optional
        Rows of B that are no candidates.

    Examples
    --------
    >>> measure_shared_recall(np.eye(3), np.eye(3)[[1, 0, 2]], np.array([[0, 1], [1, 2]]))
    0.5
    """
    X, Y = (normalize_precisely(check_matrix(rows, name)) for rows, name in ((A, "A"), (B, "B")))
    # Dense, but of the searched rows only: there are few held-out pairs.
    cosines = np.asarray(as_dense(X[pairs[:, 0]] @ Y.T), dtype=np.float64)
    own = cosines[np.arange(len(pairs)), pairs[:, 1]][:, None]
    candidates = np.ones(Y.shape[0], dtype=bool)
    candidates[np.asarray([] if without is None else without, dtype=np.intp)] = False
    # A partner that ties with t - 1 others would be drawn first once in t times.
    better, equal = (cosines > own + TIE) & candidates, (np.abs(cosines - own) <= TIE) & candidates
    return float(np.mean(~better.any(axis=1) / np.maximum(equal.sum(axis=1), 1)))


@dataclass(frozen=True)
class HeldOutPairs:
    """Held-out pairs, searched by a model of the other pairs; an :class:`~isthmus.evidence.Answer`.

    Parameters
    ----------
    evidence : PairRecall
        How many were held out, and how many were found.
    baseline : SharedBaseline
        How many the shared words and columns find alone.
    learned : PairRecall, optional
        How many the learned map finds alone, where the model has shared features next to it.
    """

    evidence: PairRecall
    baseline: SharedBaseline
    learned: PairRecall | None = None

    @property
    def ok(self) -> bool:
        """Whether any partner is near, and the baseline does not find more."""
        return self.warning is None

    @property
    def sentence(self) -> str:
        """The shares, and the baseline."""
        alone = "" if self.learned is None else f" The learned map alone finds {self.learned.first:,}."
        return f"{self.evidence}.{alone} {self.baseline}"

    @property
    def warning(self) -> str | None:
        """What speaks against using the model, if anything."""
        if not self.evidence.near:
            return "no held-out pair is found: the known pairs do not show how the two collections correspond."
        if self.baseline.recall is not None and self.baseline.recall > self.evidence.at_1.value:
            return "the shared words and columns alone find more held-out pairs than the model does."
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, for JSON."""
        first, near = self.evidence.at_1, self.evidence.at_10
        shares = {"recall": first.value, "recall_among_10": near.value, "interval": [first.low, first.high]}
        shared = {"shared_columns": self.baseline.columns, "shared_recall": self.baseline.recall}
        learned = {} if self.learned is None else {"learned_recall": self.learned.at_1.value}
        return {"pairs": self.evidence.n, **shares, **shared, **learned}

    def __str__(self) -> str:
        return self.sentence


def search_held_out_pairs(
    fit: Callable[[IntArray], Any], X_source: Matrix, X_target: Matrix, pairs: IntArray, shared: SharedRows = None
) -> HeldOutPairs | None:
    """Search a third of the pairs by a model of the others; None where they are too few, or the model can't search.

    Parameters
    ----------
    fit : callable
        From pairs (m, 2) to a model, which may have a method ``search``.
    X_source, X_target : array or sparse matrix (n, d), (m, d')
        All rows; rows of the target that are in other pairs are no candidates.
    pairs : array (p, 2)
        Row numbers of the known pairs.
    shared : (array (n, k), array (m, k)), optional
        Columns that both have, for the baseline.
    """
    held, kept = (pairs[part] for part in hold_out_pairs(len(pairs), FEWEST_PAIRS, np.random.default_rng(0)))
    if not len(held) or not hasattr(model := fit(kept), "search"):
        return None
    # A row whose partner is known is no answer; a row that is in a held-out pair too stays a candidate.
    known = np.setdiff1d(kept[:, 1], held[:, 1])
    candidates = np.setdiff1d(np.arange(X_target.shape[0]), known)
    k = min(NEAR, len(candidates))
    _, found = model.search(X_source[held[:, 0]], X_target[candidates], k, ("source", "target"))
    right = candidates[found] == held[:, 1:]
    # Only the first ten were searched: a partner beyond them has no rank, and counts as not found.
    ranks = np.where(right.any(axis=1), 1.0 + right.argmax(axis=1), np.inf)
    return HeldOutPairs(PairRecall.of(ranks), SharedBaseline.measure(shared, held, known))


def search_gallery(
    score: Score, queries: IntArray, own: IntArray, pool: IntArray | None, within: IntArray
) -> tuple[FloatArray, IntArray | None]:
    """Search a gallery for the queries: the ranks of their own rows, and the nearest others.

    Ranks (q,) are from one; rows with the same score share the mean rank. The others are ten places (q, 10) within
    the pool, in no order, or None.

    Parameters
    ----------
    score : function
        Numbers of queries to their scores with the gallery.
    queries : array (q,)
        Their numbers.
    own : array (q,)
        The place of each query's own row in the gallery.
    pool : array (p,) or None
        The places in the gallery of the rows that neighbours are looked for among.
    within : array (q,)
        The place of each query's own row in the pool.
    """
    ranks, nearest = [], []
    for start in range(0, len(queries), BLOCK):
        part = slice(start, start + BLOCK)
        S = score(queries[part])
        rows = np.arange(len(S))
        truth = S[rows, own[part]][:, None]
        # The mean rank of ties: a map that gives all rows the same score gets the middle of the list, not its top.
        better, equal = (compare(S, truth).sum(axis=1) for compare in (np.greater, np.equal))
        ranks.append(1.0 + better + (equal - 1.0) / 2.0)
        if pool is not None:
            near = S[:, pool]  # a copy, which may be changed
            near[rows, within[part]] = -np.inf
            nearest.append(np.argpartition(-near, NEAR - 1, axis=1)[:, :NEAR])
    return np.concatenate(ranks), None if pool is None else np.concatenate(nearest)


def unit_rows(X: Matrix) -> Matrix:
    """Return rows of length one, whatever their unit, and zero where they are zero.

    Dense ones are in single precision: enough to rank by, and half the memory.

    Examples
    --------
    >>> unit_rows(np.array([[3e-200, 4e-200], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]], dtype=float32)
    """
    if is_sparse(X):
        return normalize_precisely(X)
    # Squares of the features themselves may overflow or underflow, and scikit-learn takes tiny rows for zero.
    largest = np.maximum(X.max(axis=1), -X.min(axis=1)).astype(np.float64)[:, None]
    return normalize_rows(X / np.where(largest > 0.0, largest, 1.0)).astype(np.float32)


def unit_directions(X: Matrix, origin: FloatArray) -> FloatArray:
    """Return the directions of length one from the origin (d,) to rows X; zero where the two differ by rounding."""
    D = as_dense(X) - origin
    D[np.abs(D).max(axis=1) <= ROUNDING * np.abs(origin).max()] = 0.0
    return np.asarray(unit_rows(D))


def inner_products(Q: Matrix, G: Matrix) -> FloatArray:
    """Return the inner products (q, g) of rows, dense or sparse."""
    S = (G @ Q.T).T if is_sparse(G) else Q @ G.T  # sparse @ dense is dense, dense @ sparse is not
    return np.asarray(S.toarray() if is_sparse(S) else S)


def read_value(kind: Any, value: Any) -> Any:
    """Return a value of JSON as a type says it: numbers, texts, and dataclasses, tuples and mappings of them.

    A value that is none is one of several errors: the file may come from a stranger.

    Examples
    --------
    >>> read_value(tuple[int, ...] | None, [3, 4])
    (3, 4)
    >>> read_value(Proportion, {"value": 0.5, "low": 0.25, "high": 0.75})
    Proportion(value=0.5, low=0.25, high=0.75)
    """
    inner = get_args(kind)
    if get_origin(kind) is UnionType:
        return None if value is None else read_value(inner[0], value)
    if get_origin(kind) is Mapping:
        return {str(name)[:40]: read_value(inner[1], one) for name, one in value.items()}
    if get_origin(kind) is tuple and isinstance(value, list | tuple):
        if Ellipsis not in inner and len(value) != len(inner):
            raise ValueError
        return tuple(read_value(inner[0], one) for one in value)
    if isinstance(kind, type) and is_dataclass(kind):
        found: Any = kind(**{name: read_value(of, value[name]) for name, of in get_type_hints(kind).items()})
        if isinstance(found, Proportion) and not 0.0 <= found.low <= found.value <= found.high <= 1.0:
            raise ValueError
        return found
    if kind is float:
        return check_number(value, "number", low=-LARGEST, high=LARGEST)
    if kind is int:
        return int(check_number(value, "count", low=0, high=2**62, whole=True))
    if type(value) is not kind:
        raise TypeError
    return value
