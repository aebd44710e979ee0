r"""Texts of two collections as sparse rows of terms, with one open vocabulary, and the pairs of rows that are near.

A term t of a text x weighs

.. math:: (1 + \log n_t(x)) \left(1 + \log \frac{1 + N}{1 + f_t}\right)

where N counts the texts of both collections and :math:`f_t` those that have the term. The vocabulary is open: terms
are hashed, so a model number that occurs once in either collection counts, and counts most. Nothing here is learned
from one collection and applied to the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._core.validation import BoolArray, FloatArray, IntArray, Matrix

# Places of hashed terms: two of 100,000 terms share one in 2 % of the cases.
PLACES = 2**22
# Products of rows that are held in memory at once.
ENTRIES_PER_BLOCK = 20_000_000
# A row is no candidate with less than this share of the highest cosine.
CONTENDER = 0.1
WORD = re.compile(r"[^\W_]+")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
NOT_WORD = re.compile(r"[\W_]")
# The least length of a word with a digit that is an identifier, such as a model number.
LEAST_IDENTIFIER = 3
# A function that splits a text, or the least and the largest n of character n-grams.
Analyzer = Callable[[str], list[str]] | tuple[int, int]


def split_identifiers(text: str) -> list[str]:
    """Return the words that have a digit, without signs.

    Examples
    --------
    >>> split_identifiers("sony turntable ps-lx350h, 33 rpm")
    ['pslx350h']
    """
    plain = (NOT_WORD.sub("", word) for word in text.split())
    return [word for word in plain if len(word) >= LEAST_IDENTIFIER and any(map(str.isdigit, word))]


def split_words(text: str) -> list[str]:
    """Return words, and identifiers once more without their signs.

    Examples
    --------
    >>> split_words("turntable ps-lx350h")
    ['turntable', 'ps', 'lx350h', '#pslx350h']
    """
    return WORD.findall(text) + [f"#{word}" for word in split_identifiers(text)]


def split_numbers(text: str) -> list[str]:
    """Return the numbers in a text, as they are written."""
    return NUMBER.findall(text)


@dataclass(frozen=True, eq=False)
class TermRows:
    """Texts of two collections as rows of weighted terms, of unit length.

    Names of persons, places and makers repeat, so each different text is read, and held, once.

    Parameters
    ----------
    texts : (CSR (u, t), CSR (v, t))
        The different texts of either collection, in single precision.
    places : (array (n,), array (m,))
        Which of them each row has.
    lengths : (array (n,), array (m,))
        The lengths that the rows had before.
    frequencies : array (t,)
        How many rows of both collections have each term.
    """

    texts: tuple[Any, Any]
    places: tuple[IntArray, IntArray]
    lengths: tuple[FloatArray, FloatArray]
    frequencies: IntArray

    @classmethod
    def of(
        cls, source: Sequence[str], target: Sequence[str], analyzer: Analyzer, *, drop_one_sided: bool = False
    ) -> TermRows:
        """Weigh the terms of texts: those of an analyzer, or character n-grams within words.

        With ``drop_one_sided``, terms that several texts of one collection have and none of the other do not count.
        """
        (own, ours, n), (other, theirs, m) = (_count_terms(texts, analyzer) for texts in (source, target))
        used = np.unique(np.concatenate([own.indices, other.indices]))
        own, other = own[:, used], other[:, used]  # few of the hashes are used
        df, other_df = (_count_rows(X, places) for X, places in ((own, ours), (other, theirs)))
        idf = 1.0 + np.log((1.0 + n + m) / (1.0 + df + other_df))
        if drop_one_sided:
            # Words of one language, or of one shop's style, make rows longer but tell nothing of partners.
            idf[(np.minimum(df, other_df) == 0) & (np.maximum(df, other_df) > 1)] = 0.0
        lengths = [_weigh(X, idf.astype(np.float32)) for X in (own, other)]
        return cls((own, other), (ours, theirs), (lengths[0][ours], lengths[1][theirs]), df + other_df)

    def cosines(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return the cosines (p,) of rows i of the source and rows j of the target."""
        (X, Y), (ours, theirs) = self.texts, self.places
        if len(ours) == X.shape[0] and len(theirs) == Y.shape[0]:
            return self._multiply(ours[i], theirs[j])
        cells, back = np.unique(ours[i].astype(np.int64) * Y.shape[0] + theirs[j], return_inverse=True)
        return self._multiply(cells // Y.shape[0], cells % Y.shape[0])[back]

    def _multiply(self, u: IntArray, v: IntArray) -> FloatArray:
        X, Y = self.texts
        found = np.empty(len(u), np.float32)
        step = max(1, ENTRIES_PER_BLOCK // (1 + int(np.diff(X.indptr).max(initial=1))))
        for start in range(0, len(u), step):
            part = slice(start, start + step)
            found[part] = X[u[part]].multiply(Y[v[part]]).sum(axis=1).A1
        return found

    def rows(self, side: int) -> Any:
        """Return all rows of the source (side 0) or of the target (side 1), CSR."""
        return self.texts[side][self.places[side]]

    def has_terms(self, side: int) -> BoolArray:
        """Return whether each row of the source (side 0) or of the target (side 1) has any term."""
        return np.asarray((np.diff(self.texts[side].indptr) > 0)[self.places[side]])

    def present(self, i: IntArray, j: IntArray) -> BoolArray:
        """Return whether both rows of a pair have any term (p,)."""
        return np.asarray(self.has_terms(0)[i] & self.has_terms(1)[j])

    def nearest(self, k: int, most_frequent: float) -> tuple[IntArray, IntArray]:
        """Return pairs of rows: the k of highest cosine for each row of either collection.

        Terms that more texts have than ``most_frequent`` are left out here: they make the products long, and few
        partners have nothing else in common.
        """
        kept = np.flatnonzero((self.frequencies <= most_frequent) & (self.frequencies > 1))
        X, Y = (texts[:, kept][places] for texts, places in zip(self.texts, self.places, strict=True))
        return nearest_pairs(X, Y, k)


def _count_terms(texts: Sequence[str], analyzer: Analyzer) -> tuple[Any, IntArray, int]:
    """Return the terms (u, t) of the different texts, which of them each text is, and how many texts there are."""
    how = {"analyzer": analyzer} if callable(analyzer) else {"analyzer": "char_wb", "ngram_range": analyzer}
    from sklearn.feature_extraction.text import HashingVectorizer

    hashing = HashingVectorizer(
        n_features=PLACES, alternate_sign=False, norm=None, lowercase=False, dtype=np.float32, **how
    )
    different = dict.fromkeys(texts)
    numbers = dict(zip(different, range(len(different)), strict=True))
    return hashing.transform(different), np.array([numbers[text] for text in texts], np.intp), len(texts)


def _count_rows(X: Any, places: IntArray) -> IntArray:
    """Return the number of rows that have each term."""
    rows = np.bincount(places, minlength=X.shape[0])
    return np.bincount(X.indices, np.repeat(rows, np.diff(X.indptr)), X.shape[1]).astype(np.intp)


def _weigh(X: Any, idf: FloatArray) -> FloatArray:
    """Turn counts into weights of unit length, in place; return the lengths."""
    X.data = (1.0 + np.log(X.data)) * idf[X.indices]
    X.eliminate_zeros()
    squares = np.bincount(np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.data**2, X.shape[0])
    lengths = np.sqrt(np.where(squares > 0.0, squares, 1.0)).astype(np.float32)
    X.data /= np.repeat(lengths, np.diff(X.indptr))
    return lengths


def nearest_pairs(X: Matrix, Y: Matrix, k: int) -> tuple[IntArray, IntArray]:
    """Return the pairs of rows of sparse X (n, t), Y (m, t): for each row of either, the k of highest inner product.

    Products are computed in blocks of rows of X, and only non-zero ones: never n × m numbers.
    """
    T = Y.T.tocsr()
    rows: list[IntArray] = []
    columns: list[IntArray] = []
    m = Y.shape[0]
    best, best_row = np.zeros((k, m), np.float32), np.zeros((k, m), np.intp)
    for start, stop in _split_by_entries(X, T):
        G = (X[start:stop] @ T).tocoo()
        i, j, _, _ = _top_per_row(G.row, G.col, G.data, stop - start, k)
        rows.append(i + start)
        columns.append(j)
        j, i, value, place = _top_per_row(G.col, G.row, G.data, m, k)
        block, block_row = np.zeros((k, m), np.float32), np.zeros((k, m), np.intp)
        block[place, j], block_row[place, j] = value, i + start
        both, both_row = np.vstack([best, block]), np.vstack([best_row, block_row])
        order = np.argsort(-both, axis=0, kind="stable")[:k]
        best, best_row = np.take_along_axis(both, order, 0), np.take_along_axis(both_row, order, 0)
    place, j = np.nonzero(best > 0.0)
    i, j = np.concatenate([*rows, best_row[place, j]]), np.concatenate([*columns, j])
    cells = np.unique(i.astype(np.int64) * m + j)
    return cells // m, cells % m


def _split_by_entries(X: Any, T: Any) -> Iterator[tuple[int, int]]:
    """Yield runs of rows of X whose products with T take at most :data:`ENTRIES_PER_BLOCK` multiplications."""
    # Each entry of X meets all entries of a row of T.
    met = np.concatenate([[0], np.cumsum(np.diff(T.indptr)[X.indices], dtype=np.int64)])
    work = met[X.indptr]
    start = 0
    while start < X.shape[0]:
        stop = int(np.searchsorted(work, work[start] + ENTRIES_PER_BLOCK, side="right")) - 1
        stop = min(max(stop, start + 1), X.shape[0])
        yield start, stop
        start = stop


def _top_per_row(
    row: IntArray, column: IntArray, value: FloatArray, n: int, k: int
) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
    """Return row, column, value and rank of the k largest entries of each of n rows, without far smaller ones."""
    most = np.zeros(n, np.float32)
    np.maximum.at(most, row, value)
    # Most entries are far below the largest of their row: sorting them would take most of the time.
    kept = np.flatnonzero(value >= CONTENDER * most[row])
    row, column, value = row[kept], column[kept], value[kept]
    order = np.lexsort((-value, row))
    row, column, value = row[order], column[order], value[order]
    rank = np.arange(len(row)) - np.searchsorted(row, np.arange(n))[row]
    first = rank < k
    return row[first], column[first], value[first], rank[first]
