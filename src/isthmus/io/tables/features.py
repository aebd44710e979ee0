"""Features of a table: what is learned from its columns, block by block, and computed for other rows.

Numbers and dates are scaled, categories become columns of 0 and 1, texts become tf-idf weights or their leading axes,
matrices stay or are scaled. Every object here may come from a model file of a stranger, so each checks itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from isthmus._core.validation import LARGEST, BoolArray, FloatArray, Matrix, check_matrix, is_sparse
from isthmus.exceptions import InputError
from isthmus.io.tables.content import MOST_COLUMNS
from isthmus.io.tables.plan import MOST_COMPONENTS, MOST_TERMS, Column, Plan
from isthmus.io.tables.table import CoercedCells, Table, find_word, read_numbers, read_texts, read_words

# Columns that the character n-grams of texts are hashed to.
HASHED = 2**18
# Rows from which on a word has to occur in two of them.
RARE = 100
# Words where none has two letters.
ONE_LETTER = r"(?u)\b\w+\b"


def _check_names(names: Any, what: str, high: int = MOST_COLUMNS) -> None:
    """Raise unless these are different texts, at least one and at most ``high``."""
    right = isinstance(names, tuple) and 0 < len(names) <= high and all(isinstance(name, str) for name in names)
    if not right or len({*names}) < len(names):
        raise InputError(f"features, {what}: expected from 1 to {high} different texts, got others.")


def _check_array(array: Any, what: str, shape: tuple[int, ...], *, positive: bool = False) -> None:
    """Raise unless this is an array of finite numbers in double precision."""
    if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.shape != shape:
        raise InputError(f"features, {what}: expected float64 of shape {shape}, got another array.")
    if not (np.abs(array) <= LARGEST).all() or (positive and not (array > 0.0).all()):
        kind = "positive" if positive else "finite"
        raise InputError(f"features, {what}: expected {kind} numbers of at most {LARGEST:.0e}, got others.")


@dataclass(frozen=True, eq=False)
class Numbers:
    """z = (x − mean) / scale with empty cells x = median, then a flag per column that had empty cells in the fit.

    Parameters
    ----------
    columns : tuple of str
        Their names.
    days : bool array (d,)
        Which of them are dates.
    flagged : bool array (d,)
        Which of them had empty cells.
    median, mean, scale : array (d,)
        Of each column.
    """

    columns: tuple[str, ...]
    days: BoolArray
    flagged: BoolArray
    median: FloatArray
    mean: FloatArray
    scale: FloatArray

    def __post_init__(self) -> None:
        _check_names(self.columns, "columns")
        shape = (len(self.columns),)
        for name in ("days", "flagged"):
            flags = getattr(self, name)
            if not isinstance(flags, np.ndarray) or flags.dtype != np.bool_ or flags.shape != shape:
                raise InputError(f"features, {name}: expected {shape[0]} truth values, got others.")
        for name in ("median", "mean", "scale"):
            _check_array(getattr(self, name), name, shape, positive=name == "scale")

    @classmethod
    def fit(cls, table: Table, columns: Sequence[Column]) -> Numbers:
        """Learn from the cells of a table, with scikit-learn's imputer and scaler."""
        days = np.array([column.kind == "date" for column in columns])
        names = tuple(column.name for column in columns)
        X = _read_cells(table, names, days)
        n_empty = np.isnan(X).sum(axis=0)
        if n_empty.max() == table.n_rows:
            place = table.locate(names[int(n_empty.argmax())])
            raise InputError(f"{place}: expected numbers, got none; use --text or --drop.")
        imputer = SimpleImputer(strategy="median").fit(X)
        scaler = StandardScaler().fit(imputer.transform(X))
        scaled = np.array([column.scale for column in columns])
        mean, scale = np.where(scaled, scaler.mean_, 0.0), np.where(scaled, scaler.scale_, 1.0)
        return cls(names, days, n_empty > 0, np.asarray(imputer.statistics_, dtype=np.float64), mean, scale)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, then those of the flags."""
        return (*self.columns, *(f"{self.columns[i]} is empty" for i in np.flatnonzero(self.flagged)))

    def transform(self, table: Table) -> FloatArray:
        """Return the features (n, d + flags) of rows."""
        X = _read_cells(table, self.columns, self.days)
        empty = np.isnan(X)  # also the cells that are no numbers, which count_coerced_cells counts
        Z = (np.where(empty, self.median, X) - self.mean) / self.scale
        return np.hstack([Z, empty[:, self.flagged].astype(np.float64)])


def _read_cells(table: Table, columns: Sequence[str], days: BoolArray) -> FloatArray:
    kinds = zip(columns, days, strict=True)
    return np.column_stack([read_numbers(table, name, days=bool(day)) for name, day in kinds])


@dataclass(frozen=True)
class Categories:
    """1 where a cell is the word, else 0; cells that are empty or another word have no 1.

    Parameters
    ----------
    columns : tuple of str
        Their names.
    words : tuple of tuple of str
        The words of each, in order.
    """

    columns: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        _check_names(self.columns, "columns")
        if not isinstance(self.words, tuple) or len(self.words) != len(self.columns):
            raise InputError(f"features, words: expected {len(self.columns)} tuples of words, got others.")
        for words in self.words:
            _check_names(words, "words", MOST_TERMS)

    @classmethod
    def fit(cls, table: Table, columns: Sequence[Column]) -> Categories:
        """Collect the words in the cells of a table."""
        words = {}
        for name in (column.name for column in columns):
            words[name] = tuple(sorted({word for word in read_words(table, name) if word is not None}))
            if not words[name]:
                raise InputError(f"{table.locate(name)}: expected words, got only empty cells.")
        return cls(tuple(words), tuple(words.values()))

    @property
    def names(self) -> tuple[str, ...]:
        """A column and a word of it."""
        columns = zip(self.columns, self.words, strict=True)
        return tuple(f"{name} = {word}" for name, words in columns for word in words)

    def transform(self, table: Table) -> FloatArray:
        """Return the features (n, number of words) of rows."""
        blocks = []
        for name, words in zip(self.columns, self.words, strict=True):
            code = {word: i for i, word in enumerate(words)}
            codes = [-1 if cell is None else find_word(cell, code) for cell in read_words(table, name)]
            blocks.append(np.array(codes, dtype=np.intp)[:, None] == np.arange(len(words)))
        return np.hstack(blocks).astype(np.float64)


@dataclass(frozen=True, eq=False)
class MatrixPart:
    """z = x, or z = (x − mean) / scale.

    Parameters
    ----------
    column : str
        The name of the part.
    width : int
        d.
    mean, scale : array (d,), optional
        Of each column; a sparse matrix is never shifted.
    """

    column: str
    width: int
    mean: FloatArray | None = None
    scale: FloatArray | None = None

    def __post_init__(self) -> None:
        _check_names((self.column,), "column")
        if type(self.width) is not int or not 0 < self.width <= MOST_COLUMNS:
            raise InputError(f"features, width: expected from 1 to {MOST_COLUMNS} columns, got {self.width!r:.40}.")
        if self.mean is not None or self.scale is not None:
            _check_array(self.mean, "mean", (self.width,))
            _check_array(self.scale, "scale", (self.width,), positive=True)

    @classmethod
    def fit(cls, table: Table, column: Column) -> MatrixPart:
        """Learn from the rows of a table, with scikit-learn's scaler."""
        X = _read_matrix(table, column.name, None)
        if not column.scale:
            return cls(column.name, X.shape[1])
        if is_sparse(X):
            raise InputError(f"{table.locate(column.name)}: expected scale = false for a sparse matrix, got true.")
        scaler = StandardScaler().fit(X)
        return cls(column.name, X.shape[1], scaler.mean_, scaler.scale_)

    @property
    def names(self) -> tuple[str, ...]:
        """The part and the number of a column in it."""
        return tuple(f"{self.column}[{i}]" for i in range(self.width))

    def transform(self, table: Table) -> Matrix:
        """Return the features (n, d) of rows."""
        X = _read_matrix(table, self.column, self.width)
        return X if self.mean is None else (X - self.mean) / self.scale


def _read_matrix(table: Table, name: str, width: int | None) -> Matrix:
    X = table.matrix(name)
    X = X.astype(np.float64) if is_sparse(X) else np.asarray(X, dtype=np.float64)
    if not is_sparse(X) and len(bad := np.flatnonzero(~np.isfinite(X).all(axis=1))):
        raise InputError(f"{table.locate(name, int(bad[0]))}: expected finite numbers, got NaN or inf; drop the row.")
    return check_matrix(X, table.locate(name), n_columns=width)


@dataclass(frozen=True, eq=False)
class Words:
    """x = (1 + log count) · idf, scaled to length 1; with axes, z = Vᵀx / s.

    s is the largest standard deviation among the axes, so that a text weighs as much as a scaled number does (the
    rule of multiple factor analysis).

    Parameters
    ----------
    column : str
        Its name.
    terms : tuple of str
        The words.
    idf : array (t,)
        Their weights.
    axes : array (k, t), optional
        V / s.
    """

    column: str
    terms: tuple[str, ...]
    idf: FloatArray
    axes: FloatArray | None = None

    def __post_init__(self) -> None:
        _check_names((self.column,), "column")
        _check_names(self.terms, "terms", MOST_TERMS)
        _check_array(self.idf, "idf", (len(self.terms),))
        if self.axes is not None:
            k = len(self.axes) if np.ndim(self.axes) == 2 else 0
            _check_array(self.axes, "axes", (min(max(k, 1), MOST_COMPONENTS), len(self.terms)))

    @classmethod
    def fit(cls, table: Table, column: Column) -> Words:
        """Learn from the cells of a table, with scikit-learn's vectorizer and decomposition."""
        texts = read_texts(table, column.name)
        # In a long table, words of a single row are dropped, unless there are no others.
        choices: list[dict[str, Any]] = [{"min_df": 2}] * (table.n_rows >= RARE) + [{}, {"token_pattern": ONE_LETTER}]
        for settings in choices:
            found = TfidfVectorizer(sublinear_tf=True, max_features=column.terms, **settings)
            with suppress(ValueError):  # an empty vocabulary
                X = found.fit_transform(texts)
                break
        else:
            raise InputError(f"{table.locate(column.name)}: expected words, got none; use --drop.")
        terms = tuple(str(term) for term in found.get_feature_names_out())
        k = min(column.components, min(X.shape) - 1)
        axes = None
        if k > 0:
            with np.errstate(invalid="ignore"):  # the share of a variance of 0, which is not used
                V = TruncatedSVD(k, random_state=0).fit(X).components_
            spread = float((X @ V.T).std(axis=0).max())
            axes = np.ascontiguousarray(V / (spread or 1.0), dtype=np.float64)
        return cls(column.name, terms, np.asarray(found.idf_, dtype=np.float64), axes)

    @property
    def names(self) -> tuple[str, ...]:
        """The column and a word, or the number of an axis."""
        parts = self.terms if self.axes is None else tuple(f"axis {i}" for i in range(len(self.axes)))
        return tuple(f"{self.column}: {part}" for part in parts)

    def transform(self, table: Table) -> Matrix:
        """Return the features (n, t) or (n, k) of rows."""
        X = self._weigh(table)
        return X if self.axes is None else np.ascontiguousarray(X @ self.axes.T)

    def lack_terms(self, table: Table) -> BoolArray:
        """Return a mask of the rows without any of the words (n,)."""
        return np.asarray(np.diff(self._weigh(table).indptr) == 0)

    def _weigh(self, table: Table) -> Any:
        short = {"token_pattern": ONE_LETTER} if any(len(term) == 1 for term in self.terms) else {}
        vectorizer = TfidfVectorizer(sublinear_tf=True, vocabulary=self.terms, **short)
        vectorizer.idf_ = self.idf
        return vectorizer.transform(read_texts(table, self.column))


@dataclass(frozen=True)
class Characters:
    """Signed counts of runs of 3 to 5 characters in texts, hashed to columns that mean the same in every table.

    They are no features of one table, and have no names: :class:`isthmus.SharedFeatureUnion` compares them.

    Parameters
    ----------
    columns : tuple of str
        The names of the texts.
    """

    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_names(self.columns, "columns")

    names: ClassVar[tuple[str, ...]] = ()

    def transform(self, table: Table) -> Matrix:
        """Return the counts (n, 2**18) of rows."""
        texts = map(" ".join, zip(*(read_texts(table, name) for name in self.columns), strict=True))
        hashing = HashingVectorizer(analyzer="char_wb", ngram_range=(3, 5), n_features=HASHED, norm=None)
        return hashing.transform(texts)

    def lack_terms(self, table: Table) -> BoolArray:
        """Return a mask of the rows without text (n,)."""
        return np.asarray(np.diff(self.transform(table).indptr) == 0)


# Some features: ``names`` (one per feature) and ``transform(table)``.
Block = Numbers | Categories | MatrixPart | Words | Characters


@dataclass(frozen=True, eq=False)
class Features:
    """What was learned from a table: blocks of features, next to each other.

    Parameters
    ----------
    plan : Plan
        What the columns are.
    blocks : tuple of Block
        Numbers first, then words of categories, matrices and texts; at the end what :meth:`append_evidence` adds.

    Examples
    --------
    >>> table = Table.of({"age": [31, 4, 58], "job": ["cook", "cook", "nurse"]})
    >>> features = Features.fit(Plan.of(table), table)
    >>> features.names
    ('age', 'job = cook', 'job = nurse')
    >>> features.transform(Table.of({"age": [31, 31], "job": ["nurse", "pilot"]})).round(6)
    array([[0., 0., 1.],
           [0., 0., 0.]])
    """

    plan: Plan
    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        if type(self.plan) is not Plan or not isinstance(self.blocks, tuple):
            raise InputError("features: expected a plan and blocks of features, got others.")
        if not all(isinstance(block, Block) for block in self.blocks):
            raise InputError("features, blocks: expected blocks of features, got others.")
        # What is said of the plan on the screen has to be true of the blocks, which do the work.
        names = [name for block in self.blocks for name in getattr(block, "columns", None) or (block.column,)]  # type: ignore[union-attr]
        if {*names} != {column.name for column in self.plan.features}:
            raise InputError("features, blocks: expected the columns of the plan, got others.")

    @classmethod
    def fit(cls, plan: Plan, table: Table) -> Features:
        """Learn what the plan asks for from the rows of a table."""
        return cls(plan, tuple(_fit_blocks(plan, table)))

    def append_evidence(self, numbers: Sequence[str], texts: Sequence[str]) -> Features:
        """Return these features with unscaled numbers and hashed texts at the end, to compare tables by."""
        shared: list[Block] = []
        for block in self.blocks:
            if isinstance(block, Numbers) and numbers:
                at, zero = [block.columns.index(name) for name in numbers], np.zeros(len(numbers))
                parts = block.days[at], zero > 0.0, block.median[at]
                shared.append(Numbers(tuple(numbers), *parts, mean=zero, scale=zero + 1.0))
        shared += [Characters(tuple(texts))] if texts else []
        return Features(self.plan, (*self.blocks, *shared))

    @property
    def names(self) -> tuple[str, ...]:
        """One name per feature."""
        return tuple(name for block in self.blocks for name in block.names)

    def transform(self, table: Table) -> Matrix:
        """Return the features (n, d) of rows in double precision: an array, or CSR where a part is sparse."""
        return _stack([block.transform(table) for block in self.blocks])

    def count_coerced_cells(self, table: Table) -> dict[str, CoercedCells]:
        """Return the counts of cells that are not plain numbers or dates, by the columns of these."""
        columns = [column for column in self.plan.features if column.kind in ("number", "date")]
        return {c.name: CoercedCells.of(table, c.name, days=c.kind == "date") for c in columns}

    def unknown_rows(self, table: Table) -> BoolArray:
        """Return a mask of the rows without a word of the fit (n,); False where not all columns are text."""
        texts = [block for block in self.blocks if isinstance(block, Words | Characters)]
        if len(texts) < len(self.blocks):
            return np.zeros(table.n_rows, dtype=bool)
        found = [block.lack_terms(table) for block in texts]
        return np.asarray(np.all(found, axis=0))

    def plan_lines(self) -> list[str]:
        """Return the kind of each column, for the screen, with the number of axes of fitted texts."""
        axes = {b.column: 0 if b.axes is None else len(b.axes) for b in self.blocks if isinstance(b, Words)}
        return [str(replace(c, components=axes[c.name]) if c.name in axes else c) for c in self.plan.columns]


def _fit_blocks(plan: Plan, table: Table) -> Iterator[Block]:
    def columns(*kinds: str) -> list[Column]:
        return [column for column in plan.features if column.kind in kinds]

    if numbers := columns("number", "date"):
        yield Numbers.fit(table, numbers)
    if categories := columns("category"):
        yield Categories.fit(table, categories)
    yield from (MatrixPart.fit(table, column) for column in columns("matrix"))
    yield from (Words.fit(table, column) for column in columns("text"))


def _stack(parts: Sequence[Matrix]) -> Matrix:
    if len(parts) == 1:
        return parts[0]
    return sp.hstack(parts, format="csr") if any(map(is_sparse, parts)) else np.hstack(parts)
