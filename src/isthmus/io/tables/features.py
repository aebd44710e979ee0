"""What every block of features can do, and checks of what a file says about one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from isthmus._core.files import show_path
from isthmus._core.validation import LARGEST, BoolArray, FloatArray, Matrix, check_matrix, is_sparse
from isthmus.exceptions import InputError
from isthmus.io.tables import table as cells
from isthmus.io.tables.content import MOST_COLUMNS
from isthmus.io.tables.plan import MOST_COMPONENTS, MOST_TERMS, Column, Plan
from isthmus.io.tables.table import Table, find_word, read_texts, read_words


class Block(Protocol):
    """Some features of a table, learned and ready to be computed for other rows."""

    @property
    def names(self) -> tuple[str, ...]:
        """One name per feature."""

    @property
    def line(self) -> str:
        """What it is, for the screen."""

    def transform(self, table: Table) -> Matrix:
        """The features (n, d) of the rows of a table."""

    def about(self) -> dict[str, Any]:
        """What is not an array, fit for JSON."""

    def arrays(self) -> dict[str, FloatArray]:
        """What was learned, as arrays of double precision."""


def strings(about: Mapping[str, Any], part: str, *, unique: bool = True) -> tuple[str, ...]:
    """A list of texts from a file."""
    found = about.get(part)
    right = isinstance(found, list) and all(isinstance(item, str) for item in found)
    if not right or (unique and len(set(found or ())) < len(found or ())):
        raise InputError(f"features, {part}: expected a list of different texts, got {show_path(repr(found)[:40])}.")
    return tuple(found or ())


def flags(about: Mapping[str, Any], part: str, n: int) -> tuple[bool, ...]:
    """A list of n truth values from a file."""
    found = about.get(part)
    if not isinstance(found, list) or len(found) != n or not all(isinstance(item, bool) for item in found):
        raise InputError(f"features, {part}: expected a list of {n} truth values, got {show_path(repr(found)[:40])}.")
    return tuple(found)


def count(about: Mapping[str, Any], part: str, high: int) -> int:
    """A whole number from 0 to ``high`` from a file."""
    found = about.get(part)
    if type(found) is not int or not 0 <= found <= high:
        raise InputError(
            f"features, {part}: expected a whole number up to {high}, got {show_path(repr(found)[:40])}."
        )
    return found


def array(arrays: Mapping[str, Any], part: str, shape: tuple[int, ...], *, positive: bool = False) -> FloatArray:
    """A finite array of double precision and a given shape from a file."""
    found = arrays.get(part)
    if not isinstance(found, np.ndarray) or found.dtype != np.float64 or found.shape != shape:
        got = f"{found.dtype} of shape {found.shape}" if isinstance(found, np.ndarray) else "none"
        raise InputError(f"features, {part}: expected float64 of shape {shape}, got {show_path(got[:80])}.")
    if not (np.abs(found) <= LARGEST).all() or (positive and not (found > 0.0).all()):
        kind = "positive numbers" if positive else "finite numbers"
        raise InputError(f"features, {part}: expected {kind} of at most {LARGEST:.0e}, got others.")
    fixed: FloatArray = found.astype(np.float64)  # native byte order, and the caller's array stays his
    fixed.setflags(write=False)
    return fixed


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

    @classmethod
    def fit(cls, table: Table, columns: Sequence[Column]) -> Categories:
        """The words in the cells of a table."""
        names = tuple(column.name for column in columns)
        found = [sorted({word for word in read_words(table, name) if word is not None}) for name in names]
        empty = next((name for name, some in zip(names, found, strict=True) if not some), None)
        if empty is not None:
            raise InputError(f"{table.place(empty)}: expected words, got only empty cells.")
        return cls(names, tuple(tuple(some) for some in found))

    @classmethod
    def restored(cls, about: Mapping[str, Any], arrays: Mapping[str, Any]) -> Categories:
        """From a file, checked."""
        columns, lists = strings(about, "columns"), about.get("words")
        if not isinstance(lists, list) or len(lists) != len(columns):
            raise InputError(f"features, words: expected {len(columns)} lists of words, got another number.")
        return cls(columns, tuple(strings({"words": some}, "words") for some in lists))

    @property
    def names(self) -> tuple[str, ...]:
        """A column and a word of it."""
        return tuple(f"{name} = {word}" for name, some in zip(self.columns, self.words, strict=True) for word in some)

    @property
    def line(self) -> str:
        """What it is, for the screen."""
        n = len(self.columns)
        return f"{len(self.names)} from the words of {n} column{'s' * (n > 1)}"

    def transform(self, table: Table) -> FloatArray:
        """The features (n, number of words) of rows."""
        return np.hstack(
            [_ones(read_words(table, name), some) for name, some in zip(self.columns, self.words, strict=True)]
        )

    def about(self) -> dict[str, Any]:
        """What is not an array, fit for JSON."""
        return {"columns": list(self.columns), "words": [list(some) for some in self.words]}

    def arrays(self) -> dict[str, FloatArray]:
        """None."""
        return {}


def _ones(cells: Sequence[str | None], known: Sequence[str]) -> FloatArray:
    code = {word: i for i, word in enumerate(known)}
    codes = np.array([-1 if cell is None else find_word(cell, code) for cell in cells], dtype=np.intp)
    ones: FloatArray = (codes[:, None] == np.arange(len(known))).astype(np.float64)
    return ones


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

    @classmethod
    def fit(cls, table: Table, column: Column) -> MatrixPart:
        """Learn from the rows of a table, with scikit-learn's scaler."""
        X = _rows(table, column.name, None)
        if not column.scale:
            return cls(column.name, X.shape[1])
        if is_sparse(X):
            raise InputError(f"{table.place(column.name)}: expected scale = false for a sparse matrix, got true.")
        scaler = StandardScaler().fit(X)
        return cls(column.name, X.shape[1], scaler.mean_, scaler.scale_)

    @classmethod
    def restored(cls, about: Mapping[str, Any], arrays: Mapping[str, Any]) -> MatrixPart:
        """From a file, checked."""
        (column,), d = strings({"column": [about.get("column")]}, "column"), count(about, "width", MOST_COLUMNS)
        if not arrays:
            return cls(column, d)
        return cls(column, d, array(arrays, "mean", (d,)), array(arrays, "scale", (d,), positive=True))

    @property
    def names(self) -> tuple[str, ...]:
        """The part and the place of a column in it."""
        return tuple(f"{self.column}[{i}]" for i in range(self.width))

    @property
    def line(self) -> str:
        """What it is, for the screen."""
        return f"{self.width} from the matrix {self.column!r}, {'as they are' if self.mean is None else 'scaled'}"

    def transform(self, table: Table) -> Matrix:
        """The features (n, d) of rows."""
        X = _rows(table, self.column, self.width)
        return X if self.mean is None else (X - self.mean) / self.scale

    def about(self) -> dict[str, Any]:
        """What is not an array, fit for JSON."""
        return {"column": self.column, "width": self.width}

    def arrays(self) -> dict[str, FloatArray]:
        """What was learned."""
        return {} if self.mean is None or self.scale is None else {"mean": self.mean, "scale": self.scale}


def _rows(table: Table, name: str, width: int | None) -> Matrix:
    X = table.matrix(name)
    X = X.astype(np.float64) if is_sparse(X) else np.asarray(X, dtype=np.float64)
    return check_matrix(X, table.place(name), n_columns=width)


@dataclass(frozen=True, eq=False)
class Numbers:
    """z = (x − mean) / scale with empty cells x = median, then a flag per column that had empty cells when learned.

    Parameters
    ----------
    columns : tuple of str
        Their names.
    days : tuple of bool
        Which of them are dates.
    flagged : tuple of bool
        Which of them had empty cells.
    median, mean, scale : array (d,)
        Of each column.
    """

    columns: tuple[str, ...]
    days: tuple[bool, ...]
    flagged: tuple[bool, ...]
    median: FloatArray
    mean: FloatArray
    scale: FloatArray

    @classmethod
    def fit(cls, table: Table, columns: Sequence[Column]) -> Numbers:
        """Learn from the cells of a table, with scikit-learn's imputer and scaler."""
        days = tuple(column.kind == "date" for column in columns)
        names = tuple(column.name for column in columns)
        X = _cells(table, names, days)
        n_empty = np.isnan(X).sum(axis=0)
        if n_empty.max() == table.n_rows:
            name = names[int(n_empty.argmax())]
            raise InputError(f"{table.place(name)}: expected numbers, got only empty cells.")
        imputer = SimpleImputer(strategy="median").fit(X)
        scaler = StandardScaler().fit(imputer.transform(X))
        scaled = np.array([column.scale for column in columns])
        mean, scale = np.where(scaled, scaler.mean_, 0.0), np.where(scaled, scaler.scale_, 1.0)
        flagged = tuple((n_empty > 0).tolist())
        return cls(names, days, flagged, np.asarray(imputer.statistics_, dtype=np.float64), mean, scale)

    @classmethod
    def restored(cls, about: Mapping[str, Any], arrays: Mapping[str, Any]) -> Numbers:
        """From a file, checked."""
        columns = strings(about, "columns")
        d = len(columns)
        days, flagged = flags(about, "days", d), flags(about, "flagged", d)
        mean, median = array(arrays, "mean", (d,)), array(arrays, "median", (d,))
        return cls(columns, days, flagged, median, mean, array(arrays, "scale", (d,), positive=True))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, then those of the flags."""
        empty = [f"{name} is empty" for name, some in zip(self.columns, self.flagged, strict=True) if some]
        return (*self.columns, *empty)

    @property
    def line(self) -> str:
        """What it is, for the screen."""
        n = sum(self.flagged)
        extra = f", and {n} that say where cells are empty (filled by the median)" if n else ""
        return f"{len(self.columns)} from numbers{extra}"

    def transform(self, table: Table) -> FloatArray:
        """The features (n, d + flags) of rows."""
        X = _cells(table, self.columns, self.days)
        empty = np.isnan(X)
        Z = (np.where(empty, self.median, X) - self.mean) / self.scale
        return np.hstack([Z, empty[:, np.array(self.flagged, dtype=bool)].astype(np.float64)])

    def about(self) -> dict[str, Any]:
        """What is not an array, fit for JSON."""
        return {"columns": list(self.columns), "days": list(self.days), "flagged": list(self.flagged)}

    def arrays(self) -> dict[str, FloatArray]:
        """What was learned."""
        return {"median": self.median, "mean": self.mean, "scale": self.scale}


def _cells(table: Table, columns: Sequence[str], days: Sequence[bool]) -> FloatArray:
    found = [cells.read_numbers(table, name, days=day) for name, day in zip(columns, days, strict=True)]
    return np.column_stack(found)


RARE = 100
"""Rows from which on a word has to come in two of them."""


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

    @classmethod
    def fit(cls, table: Table, column: Column) -> Words:
        """Learn from the cells of a table, with scikit-learn's vectorizer and decomposition."""
        found = TfidfVectorizer(sublinear_tf=True, max_features=column.terms, min_df=2 if table.n_rows >= RARE else 1)
        try:
            X = found.fit_transform(read_texts(table, column.name))
        except ValueError:  # an empty vocabulary
            expected = "words of two letters or more that come in several rows"
            raise InputError(f"{table.place(column.name)}: expected {expected}, got none.") from None
        terms = tuple(str(term) for term in found.get_feature_names_out())
        k = min(column.components, min(X.shape) - 1)
        axes = _axes(X, k) if k > 0 else None
        return cls(column.name, terms, np.asarray(found.idf_, dtype=np.float64), axes)

    @classmethod
    def restored(cls, about: Mapping[str, Any], arrays: Mapping[str, Any]) -> Words:
        """From a file, checked."""
        (column,) = strings({"column": [about.get("column")]}, "column")
        terms, k = strings(about, "terms"), count(about, "components", MOST_COMPONENTS)
        t = len(terms)
        if not 0 < t <= MOST_TERMS:
            raise InputError(f"features, terms: expected from 1 to {MOST_TERMS} words, got {t}.")
        return cls(column, terms, array(arrays, "idf", (t,)), array(arrays, "axes", (k, t)) if k else None)

    @property
    def names(self) -> tuple[str, ...]:
        """The column and a word, or the number of an axis."""
        parts = self.terms if self.axes is None else tuple(f"axis {i}" for i in range(len(self.axes)))
        return tuple(f"{self.column}: {part}" for part in parts)

    @property
    def line(self) -> str:
        """What it is, for the screen."""
        n = f"{len(self.terms)} words of the text {self.column!r}"
        return n if self.axes is None else f"{len(self.axes)} axes from {n}"

    def transform(self, table: Table) -> Matrix:
        """The features (n, t) or (n, k) of rows."""
        return self.of_texts(read_texts(table, self.column))

    def of_texts(self, found: Sequence[str]) -> Matrix:
        """The features of texts."""
        X = self._weights(found)
        return X if self.axes is None else np.ascontiguousarray(X @ self.axes.T)

    def are_unknown(self, found: Sequence[str]) -> BoolArray:
        """Which texts have none of the words (n,)."""
        return np.asarray(np.diff(self._weights(found).indptr) == 0)

    def _weights(self, found: Sequence[str]) -> Any:
        vectorizer = TfidfVectorizer(sublinear_tf=True, vocabulary=self.terms)
        vectorizer.idf_ = self.idf
        return vectorizer.transform(found)

    def about(self) -> dict[str, Any]:
        """What is not an array, fit for JSON."""
        k = 0 if self.axes is None else len(self.axes)
        return {"column": self.column, "terms": list(self.terms), "components": k}

    def arrays(self) -> dict[str, FloatArray]:
        """What was learned."""
        return {"idf": self.idf} if self.axes is None else {"idf": self.idf, "axes": self.axes}


def _axes(X: Matrix, k: int) -> FloatArray:
    V = TruncatedSVD(k, random_state=0).fit(X).components_
    spread = float((X @ V.T).std(axis=0).max())
    axes: FloatArray = np.ascontiguousarray(V / (spread or 1.0), dtype=np.float64)
    return axes


FORMAT, VERSION = "isthmus features", 1
MOST_BLOCKS = 2**12
RESTORED: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Block]] = {
    "numbers": Numbers.restored,
    "categories": Categories.restored,
    "matrix": MatrixPart.restored,
    "words": Words.restored,
}
"""All kinds that a file may name."""
KIND_OF = {Numbers: "numbers", Categories: "categories", MatrixPart: "matrix", Words: "words"}


@dataclass(frozen=True, eq=False)
class Features:
    """What was learned from a table: blocks of features, side by side.

    Parameters
    ----------
    plan : Plan
        What the columns are.
    blocks : tuple of Block
        Numbers first, then words of categories, matrices and texts.

    Examples
    --------
    >>> table = Table.of({"age": [31, 4, 58], "job": ["cook", "cook", "nurse"]})
    >>> features = Features.fit(Plan.of(table), table)
    >>> features.names
    ('age', 'job = cook', 'job = nurse')
    >>> features.transform(Table.of({"age": [31, 31], "job": ["nurse", "pilot"]})).round(6)
    array([[0., 0., 1.],
           [0., 0., 0.]])
    >>> Features.from_parts(*features.to_parts()).names == features.names
    True
    """

    plan: Plan
    blocks: tuple[Block, ...]

    @classmethod
    def fit(cls, plan: Plan, table: Table) -> Features:
        """Learn what the plan asks for from the rows of a table."""
        return cls(plan, tuple(_fit_blocks(plan, table)))

    @property
    def names(self) -> tuple[str, ...]:
        """One name per feature."""
        return tuple(name for block in self.blocks for name in block.names)

    def transform(self, table: Table) -> Matrix:
        """The features (n, d) of rows in double precision: an array, or CSR where a part is sparse."""
        return _stack([block.transform(table) for block in self.blocks])

    def transform_texts(self, texts: Sequence[str]) -> Matrix:
        """The features of typed texts, where all columns that were learned from are text."""
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise InputError("texts: expected a list of texts, got another.")
        if not len(texts):
            raise InputError("texts: expected at least one text, got none.")
        found = [block.of_texts(texts) for block in self.blocks if isinstance(block, Words)]
        if len(found) < len(self.blocks):
            raise InputError("texts: expected features of text only, got a plan with other columns.")
        return _stack(found)

    def unknown_texts(self, texts: Sequence[str]) -> BoolArray:
        """Which typed texts have no word that was learned from (n,), where all columns are text."""
        return self._unknown([(block, texts) for block in self.blocks if isinstance(block, Words)], len(texts))

    def unknown_rows(self, table: Table) -> BoolArray:
        """Which rows have no word that was learned from (n,); none, where not all columns are text."""
        found = [(block, cells.read_texts(table, block.column)) for block in self.blocks if isinstance(block, Words)]
        return self._unknown(found, table.n_rows)

    def _unknown(self, found: Sequence[tuple[Words, Sequence[str]]], n: int) -> BoolArray:
        if len(found) < len(self.blocks):
            return np.zeros(n, dtype=bool)
        return np.asarray(np.all([block.are_unknown(texts) for block, texts in found], axis=0))

    def plan_lines(self) -> list[str]:
        """What each column is, for the screen, with the axes of texts as many as there were."""
        axes = {b.column: 0 if b.axes is None else len(b.axes) for b in self.blocks if isinstance(b, Words)}
        return [str(replace(c, components=axes[c.name]) if c.name in axes else c) for c in self.plan.columns]

    def lines(self) -> list[str]:
        """What the features are, for the screen."""
        n = len(self.names)
        return [f"{n} feature{'s' * (n > 1)}", *(f"  {block.line}" for block in self.blocks)]

    def to_parts(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        """What was learned: a value fit for JSON, and arrays by name."""
        about = [{"kind": KIND_OF[type(block)], **block.about()} for block in self.blocks]
        arrays = {f"{i}_{part}": a for i, block in enumerate(self.blocks) for part, a in block.arrays().items()}
        return {"format": FORMAT, "version": VERSION, "plan": self.plan.to_toml(), "blocks": about}, arrays

    @classmethod
    def from_parts(cls, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Features:
        """The same from what :meth:`to_parts` gave, every part of it checked: it may come from a stranger."""
        if not isinstance(about, Mapping) or about.get("format") != FORMAT:
            raise InputError("features: expected stored features, got another kind of value.")
        if about.get("version") != VERSION:
            got = show_path(repr(about.get("version"))[:40])
            raise InputError(f"features, version: expected {VERSION}, got {got}.")
        plan, blocks = Plan.from_toml(about.get("plan", "")), about.get("blocks")
        if not isinstance(blocks, list) or not 0 < len(blocks) <= MOST_BLOCKS:
            raise InputError(f"features, blocks: expected a list of 1 to {MOST_BLOCKS}, got another.")
        found = cls(plan, tuple(_restore_block(i, block, arrays) for i, block in enumerate(blocks)))
        _check_plan(found)
        return found


def _fit_blocks(plan: Plan, table: Table) -> Iterator[Block]:
    by_kind: dict[str, list[Any]] = {"number": [], "category": [], "matrix": [], "text": []}
    for column in plan.features:
        by_kind["number" if column.kind == "date" else column.kind].append(column)
    if by_kind["number"]:
        yield Numbers.fit(table, by_kind["number"])
    if by_kind["category"]:
        yield Categories.fit(table, by_kind["category"])
    yield from (MatrixPart.fit(table, column) for column in by_kind["matrix"])
    yield from (Words.fit(table, column) for column in by_kind["text"])


def _stack(parts: Sequence[Matrix]) -> Matrix:
    if len(parts) == 1:
        return parts[0]
    return sp.hstack(parts, format="csr") if any(map(is_sparse, parts)) else np.hstack(parts)


def _restore_block(i: int, block: Any, arrays: Mapping[str, NDArray[Any]]) -> Block:
    kind = block.get("kind") if isinstance(block, Mapping) else None
    if not isinstance(kind, str) or kind not in RESTORED:
        raise InputError(f"features, kind: expected one of {', '.join(RESTORED)}, got {show_path(repr(kind)[:40])}.")
    mine = {name.removeprefix(f"{i}_"): array for name, array in arrays.items() if name.startswith(f"{i}_")}
    return RESTORED[kind](block, mine)


def _check_plan(found: Features) -> None:
    """Raise unless the blocks are about the columns that the plan names as features."""
    used = [name for block in found.blocks for name in getattr(block, "columns", None) or (block.about()["column"],)]
    if sorted(used) != sorted(column.name for column in found.plan.features):
        raise InputError("features, blocks: expected the columns of the plan, got others.")
