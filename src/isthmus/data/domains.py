"""Two domains: rows, label codes, known pairs and shared features, all checked by :meth:`TwoDomains.of`.

First the values, then the one door through which they are made, then known pairs in every form that a caller may
give them.
"""

from __future__ import annotations

import numbers
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isthmus._core.rows import Rows
from isthmus._core.validation import (
    UNLABELLED,
    FloatArray,
    IntArray,
    Matrix,
    ShortRepr,
    as_labels,
    check_length,
    check_magnitude,
    check_matrix,
    encode,
    encode_all,
    encode_both,
    is_frame,
    is_unlabelled,
    show_value,
)
from isthmus.data.blocks import check_labelled_rows, check_plain_rows
from isthmus.data.shared_columns import AUTO, SharedColumns
from isthmus.exceptions import InputError

Names: TypeAlias = tuple[str, str]
# The names of the two domains in messages, unless a function has other names for them.
NAMES: Names = ("source", "target")
TABLES: Names = ("X_source", "X_target")
LABELS: Names = ("y_source", "y_target")
# The word for: row i of the source and row i of the target are the same object.
ROWS = "rows"
# All that pairs can be given as.
FORMS = 'row numbers (m, 2), "rows", two columns of ids or KnownPairs'
# Weights: beyond these, one pair is as good as none or as all, and products of weights lose their digits.
LIGHTEST, HEAVIEST = 1e-6, 1e6
NO_PAIRS = "pairs: expected at least one pair, got none."


@dataclass(frozen=True, eq=False, repr=False)
class Domain(ShortRepr):
    """One collection: rows X (n, d), label codes y (n,) with -1 for none, and the names of its columns.

    X is a matrix, or :class:`~isthmus._core.rows.Rows`. Labelled rows in blocks bring their codes: y is empty then.
    """

    X: Matrix
    y: IntArray
    columns: tuple[str, ...] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of columns."""
        n, d = (self.X.n, self.X.d) if isinstance(self.X, Rows) else self.X.shape
        return n, d

    @property
    def labelled(self) -> IntArray:
        """The numbers of the labelled rows."""
        return np.flatnonzero(self.y != UNLABELLED)


@dataclass(frozen=True, eq=False, repr=False)
class SharedFeatures(ShortRepr):
    """Features that both domains have: rows (n_s, k) of the source and (n_t, k) of the target."""

    source: Matrix
    target: Matrix


@dataclass(frozen=True, eq=False, repr=False)
class Split(ShortRepr):
    """A split of a source and a target domain, as row numbers of each part."""

    # Rows of the source, all of them labelled.
    source: IntArray
    # Rows of the target that are learned from with their label.
    labelled: IntArray
    # Rows of the target that are learned from without it.
    unlabelled: IntArray
    # Rows of the target that are held out.
    test: IntArray


@dataclass(frozen=True, eq=False, repr=False)
class KnownPairs(ShortRepr):
    """Rows of a source and of a target that are the same object.

    Parameters
    ----------
    rows : array (m, 2)
        The number of a source row and of a target row for each pair; no pair twice.
    weights : array (m,), optional
        How much each pair counts, relative to one, which is the default: from 1e-6 to 1e6.

    Examples
    --------
    >>> KnownPairs.from_ids(["a", "b", "c"], ["c", None, "a"]).rows
    array([[0, 2],
           [2, 0]])
    """

    rows: Any
    weights: Any = None

    def __post_init__(self) -> None:
        rows = _check_row_numbers(self.rows)
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "weights", _check_weights(self.weights, len(rows)))
        unique, counts = np.unique(rows, axis=0, return_counts=True)
        if len(unique) < len(rows):
            i, j = unique[counts.argmax()]
            raise InputError(f"pairs: expected each pair once (a weight makes one count more), got ({i}, {j}) again.")

    @classmethod
    def from_ids(cls, source: Any, target: Any, weights: Any = None, *, names: Names = NAMES) -> Self:
        """Pair rows with the same id, from the ids (n_s,) and (n_t,) of all rows; None, NaN, -1 and "" are no ids.

        An id names one row per side: given twice in one of them, it is refused. Messages use the ``names`` of the
        sides.
        """
        columns = [_index_ids(ids, name) for ids, name in zip((source, target), names, strict=True)]
        common = [key for key in columns[0] if key in columns[1]]
        if not common:
            kinds = [", ".join(sorted({type(key).__name__ for key in ids})) or "none" for ids in columns]
            raise InputError(f"pairs: expected ids that both sides have, got none (of type {' and '.join(kinds)}).")
        return cls(np.array([[columns[0][key], columns[1][key]] for key in common], dtype=np.intp), weights)

    @classmethod
    def in_order(cls, n: int) -> Self:
        """Return n pairs of row i and row i, each of weight one.

        They differ by construction, so the search for duplicates, which sorts all pairs, is omitted.
        """
        if not n:
            raise InputError(NO_PAIRS)
        pairs = object.__new__(cls)
        object.__setattr__(pairs, "rows", np.broadcast_to(np.arange(n)[:, None], (n, 2)))
        object.__setattr__(pairs, "weights", np.ones(n))
        return pairs

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def source(self) -> IntArray:
        """The source row of each pair."""
        return np.asarray(self.rows[:, 0])

    @property
    def target(self) -> IntArray:
        """The target row of each pair."""
        return np.asarray(self.rows[:, 1])

    @property
    def unequal_weights(self) -> FloatArray | None:
        """The weights; None where all are one, and a sum over pairs is a plain product of matrices."""
        return None if (self.weights == 1.0).all() else np.asarray(self.weights)

    def among(self, places: tuple[IntArray, IntArray]) -> KnownPairs:
        """Return the pairs by the places of their rows among sorted row numbers of either domain."""
        rows = [np.searchsorted(place, row) for place, row in zip(places, self.rows.T, strict=True)]
        return KnownPairs(np.stack(rows, 1), self.weights)

    def check_one_to_one(self, names: Names = NAMES) -> None:
        """Raise where a row is in two pairs; messages use the ``names`` of the sides."""
        for rows, name in zip(self.rows.T, names, strict=True):
            numbers, counts = np.unique(rows, return_counts=True)
            if (counts > 1).any():
                row, n = numbers[counts.argmax()], counts.max()
                raise InputError(f"pairs: expected each row in one pair at most, got {name} row {row} in {n}.")


@dataclass(frozen=True, eq=False, repr=False)
class TwoDomains(ShortRepr):
    """A source and a target, the classes that their codes count through, known pairs and shared features."""

    source: Domain
    target: Domain
    # The classes (C,), sorted.
    classes: NDArray[Any]
    # Rows of both that are the same object.
    pairs: KnownPairs | None = None
    # What both have: features in addition to their own, or columns of tables.
    shared: SharedFeatures | SharedColumns | None = None

    @classmethod
    def of(
        cls,
        X_source: Any,
        y_source: Any,
        X_target: Any,
        y_target: Any,
        pairs: Any = None,
        shared: Any = None,
        *,
        names: tuple[str, str] = TABLES,
        min_rows: int = 1,
        optional_labels: bool = False,
        own_classes: bool = False,
        needs_target_labels: bool = True,
        fewest_pairs: int = 1,
        pairs_for: str = "",
        one_to_one: bool = False,
        blocks: Collection[str] = (),
    ) -> TwoDomains:
        """Check rows, labels and pairs, and turn labels of any type into codes.

        This is the only place where rows that are learned from are checked. Without pairs only labels link the
        domains: every source row needs one, and at least one target row. With pairs, labels are optional in both
        domains, for all rows or for some, and the target may have classes that the source lacks.

        Parameters
        ----------
        X_source, X_target : array, sparse matrix or data frame (n_s, d_s) and (n_t, d_t)
            The rows; of the domains named in ``blocks``, a Dask array or :class:`~isthmus._core.rows.Rows`.
        y_source, y_target : array (n_s,) and (n_t,), or None where labels are optional
            Labels of any type; -1, None or NaN where there is none. Of source rows that bring codes, see
            :func:`~isthmus.data.blocks.check_labelled_rows`.
        pairs : array (m, 2), "rows", (ids, ids) or KnownPairs, optional
            Rows that are the same object.
        shared : (array (n_s, k), array (n_t, k)), SharedColumns, "auto" or list of (str, str), optional
            What both domains have: features as two tables, or columns. "auto" and pairs of column names are for data
            frames, see :class:`~isthmus.data.shared_columns.SharedColumns`; "auto" of other rows is nothing.
        names : (str, str)
            The names of the two tables in messages.
        min_rows : int
            The least number of rows of either table.
        optional_labels, own_classes : bool
            Whether labels are optional without pairs too, and whether the target may have classes of its own.
        needs_target_labels : bool
            Whether at least one target row needs a label where there are no pairs.
        fewest_pairs, pairs_for, one_to_one
            The least number of pairs, which system needs them, and whether a row may be in one pair only.
        blocks : collection of {"source", "target"}
            The domains whose rows stay in blocks; only sums over these are ever computed.

        Examples
        --------
        >>> domains = TwoDomains.of([[0.0], [1.0]], ["cat", "dog"], [[5.0, 6.0], [7.0, 8.0]], ["dog", None])
        >>> domains.target.y, domains.classes
        (array([ 1, -1]), array(['cat', 'dog'], dtype=object))
        >>> TwoDomains.of([[0.0], [1.0]], None, [[5.0], [7.0]], ["dog", None], [[0, 0]]).source.y
        array([-1, -1])
        """
        if "source" in blocks and pairs is None:
            return cls._of_labelled_blocks(X_source, y_source, X_target, y_target)
        inputs = zip((X_source, X_target), ("source", "target"), names, strict=True)
        Xs, Xt = (
            check_plain_rows(X, name) if domain in blocks else _check_rows(X, name, min_rows)
            for X, domain, name in inputs
        )
        n, m = (X.n if isinstance(X, Rows) else X.shape[0] for X in (Xs, Xt))
        # In blocks no row can be looked up by its number: row i is row i, which is known before labels are read.
        known = _check_pairs_in_order(pairs, n, m, fewest_pairs, pairs_for) if blocks else None
        optional = optional_labels or pairs is not None
        ys = _check_labels(y_source, n, LABELS[0], names[0], optional)
        yt = _check_labels(y_target, m, LABELS[1], names[1], optional or not needs_target_labels)
        if optional or own_classes:
            if not optional:
                encode_all(ys, LABELS[0])  # every source row needs a label
            # The target may have classes that the source lacks: codes count through those of both.
            (source, target), classes = encode_both((ys, yt), LABELS)
        else:
            source, classes = encode_all(ys, LABELS[0])
            target = encode(yt, classes, LABELS[1])
        if not optional and needs_target_labels:
            _check_any_label(target)
        if pairs is not None and known is None:
            sides = names[0].removeprefix("X_"), names[1].removeprefix("X_")
            known = as_pairs(pairs, n, m, fewest=fewest_pairs, one_to_one=one_to_one, needs=pairs_for, names=sides)
        shared = check_shared_evidence(shared, X_source, X_target, n, m)
        return cls(Domain(Xs, source), Domain(Xt, target), classes, known, shared)

    @classmethod
    def _of_labelled_blocks(cls, X_source: Any, y_source: Any, X_target: Any, y_target: Any) -> TwoDomains:
        rows, classes = check_labelled_rows(X_source, y_source)
        X = _check_rows(X_target, TABLES[1], 1)
        y = encode(_check_labels(y_target, X.shape[0], LABELS[1], TABLES[1], False), classes, LABELS[1])
        _check_any_label(y)
        return cls(Domain(rows, np.empty(0, dtype=np.intp)), Domain(X, y), classes)

    @property
    def in_blocks(self) -> bool:
        """Whether rows of either domain are in blocks."""
        return isinstance(self.source.X, Rows) or isinstance(self.target.X, Rows)


def _check_rows(X: Any, name: str, min_rows: int) -> Matrix:
    return check_magnitude(check_matrix(X, name, min_rows=min_rows), name)


def _check_labels(y: Any, n: int, name: str, table: str, optional: bool) -> NDArray[Any]:
    labels = np.broadcast_to(np.intp(UNLABELLED), n) if optional and y is None else as_labels(y, name)
    check_length(labels, n, name, table)
    return labels


def _check_any_label(target: IntArray) -> None:
    if (target == UNLABELLED).all():
        raise InputError(f"y_target: expected at least one labelled row, got none among {len(target)}.")


def _check_pairs_in_order(pairs: Any, n: int, m: int, fewest: int, needs: str) -> KnownPairs:
    """Return pairs of row i and row i, which is all that rows in blocks can be paired by."""
    if not isinstance(pairs, KnownPairs) and not (isinstance(pairs, str) and pairs == ROWS):
        raise InputError(f'pairs: expected "rows" or KnownPairs with rows in blocks, got {show_value(pairs)}.')
    known = as_pairs(ROWS, n, m, fewest=fewest, needs=needs)
    if isinstance(pairs, str):
        return known
    if len(pairs) != n or not (pairs.rows == known.rows).all():
        raise InputError("pairs: expected row i to be row i with rows in blocks, got other pairs.")
    return pairs


def check_shared_evidence(
    shared: Any, X_source: Any, X_target: Any, n: int, m: int
) -> SharedFeatures | SharedColumns | None:
    """Check shared features or columns against the numbers of rows; return None where nothing is shared."""
    if shared is None:
        return None
    if isinstance(shared, str | list):
        frames = is_frame(X_source) and is_frame(X_target)
        if not frames and shared == AUTO:
            return None
        if not frames:
            raise InputError("shared: expected names of columns for two data frames only, got other tables.")
        shared = SharedColumns.of(X_source, X_target, shared)
    if isinstance(shared, SharedColumns):
        if (shared.n_source, shared.n_target) != (n, m):
            got = f"{shared.n_source} and {shared.n_target} rows"
            raise InputError(f"shared: expected columns of {n} and {m} rows, got {got}.")
        return shared or None
    return _check_shared_features(shared, n, m)


def _check_shared_features(shared: Any, n: int, m: int) -> SharedFeatures:
    """Return the features of both domains: as many rows as either has, and equally many columns."""
    both = (shared.source, shared.target) if isinstance(shared, SharedFeatures) else shared
    if not isinstance(both, tuple) or len(both) != 2:
        raise InputError(f"shared: expected two tables (source, target), got {show_value(shared)}.")
    source = _check_rows(both[0], "shared (source)", 1)
    target = check_matrix(both[1], "shared (target)")
    for table, rows, name in ((source, n, "source"), (target, m, "target")):
        if table.shape[0] != rows:
            raise InputError(f"shared ({name}): expected {rows} rows, as X_{name} has, got {table.shape[0]}.")
    (_, k), (_, got) = source.shape, target.shape
    if k != got:
        raise InputError(f"shared (target): expected {k} columns, as the source has, got {got}.")
    return SharedFeatures(source, check_magnitude(target, "shared (target)"))


def as_pairs(
    pairs: Any,
    n_source: int,
    n_target: int,
    *,
    fewest: int = 1,
    one_to_one: bool = False,
    needs: str = "",
    names: Names = NAMES,
) -> KnownPairs:
    """Return the pairs of the argument ``pairs``, checked against the numbers of rows.

    Parameters
    ----------
    pairs : array (m, 2), "rows", (ids, ids) or KnownPairs
        Row numbers; or that row i is row i; or, as a tuple, the ids of all rows of either side.
    n_source, n_target : int
        The numbers of rows.
    fewest : int
        The least number of pairs.
    one_to_one : bool
        Whether a row may be in one pair only.
    needs : str
        The system that needs that many, for the message.
    names : (str, str)
        What the two sides are called in messages: the caller's own arguments.

    Examples
    --------
    >>> len(as_pairs("rows", 3, 3)), as_pairs([[0, 2]], 3, 3).target
    (3, array([2]))
    >>> as_pairs([[0, 3]], 3, 3, names=("A", "B"))
    Traceback (most recent call last):
    isthmus.exceptions.InputError: pairs: expected B rows from 0 to 2, got 3.
    """
    known = _as_known_pairs(pairs, (n_source, n_target), names)
    for rows, n, name in zip(known.rows.T, (n_source, n_target), names, strict=True):
        if rows.max() >= n:
            raise InputError(f"pairs: expected {name} rows from 0 to {n - 1}, got {rows.max()}.")
    if one_to_one:
        known.check_one_to_one(names)
    if len(known) < fewest:
        raise InputError(f"pairs: expected at least {fewest}{f' for {needs}' if needs else ''}, got {len(known)}.")
    return known


def _as_known_pairs(pairs: Any, sizes: tuple[int, int], names: Names) -> KnownPairs:
    if isinstance(pairs, KnownPairs):
        return pairs
    if isinstance(pairs, str):
        if pairs != ROWS:
            raise InputError(f"pairs: expected {FORMS}, got {pairs!r}.")
        if sizes[0] != sizes[1]:
            raise InputError(f'pairs: expected equally many rows for "rows", got {sizes[0]} and {sizes[1]}.')
        return KnownPairs.in_order(sizes[0])
    if not isinstance(pairs, tuple) or len(pairs) != 2:
        return KnownPairs(pairs)
    counts = [len(_as_ids(ids, name)) for ids, name in zip(pairs, names, strict=True)]
    for n, size, name in zip(counts, sizes, names, strict=True):
        if n != size:
            # Two pairs of numbers in a tuple are more likely row numbers than ids.
            hint = "; a tuple is two columns of ids, a list or an array has row numbers" if counts == [2, 2] else ""
            raise InputError(f"pairs: expected an id for each of the {size} {name} rows, got {n}{hint}.")
    return KnownPairs.from_ids(*pairs, names=names)


def _check_row_numbers(rows: Any) -> IntArray:
    try:
        array: NDArray[Any] = np.asarray(rows)
    except ValueError:
        raise InputError("pairs: expected whole row numbers (m, 2), got rows of unequal length.") from None
    if not array.ndim:  # an iterator, a set, a dictionary, one number, None
        raise InputError(f"pairs: expected {FORMS}, got {'None' if rows is None else type(rows).__name__}.")
    if not len(array):
        raise InputError(NO_PAIRS)
    # Columns of frames that allow for missing values hold whole numbers as objects.
    each = (isinstance(value, numbers.Integral) and not isinstance(value, bool) for value in array.flat)
    whole = array.dtype.kind in "iu" or (array.dtype.kind == "O" and all(each))
    if array.ndim != 2 or array.shape[1] != 2 or not whole:
        kind = f"{type(rows).__name__} of objects" if array.dtype.kind == "O" else str(array.dtype)
        raise InputError(f"pairs: expected whole row numbers (m, 2), got {kind} of shape {array.shape}.")
    for number in (array.min(), array.max()):
        if not 0 <= number <= np.iinfo(np.intp).max:
            raise InputError(f"pairs: expected row numbers from 0, got {number}.")
    return array.astype(np.intp)


def _check_weights(weights: Any, n: int) -> FloatArray:
    if weights is None:
        return np.ones(n)
    try:
        array = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"pairs: expected weights that are numbers, got {type(weights).__name__}.") from None
    if array.shape != (n,):
        raise InputError(f"pairs: expected a weight for each of {n} pairs, got shape {array.shape}.")
    outside = ~((array >= LIGHTEST) & (array <= HEAVIEST))
    if outside.any():
        raise InputError(f"pairs: expected weights from {LIGHTEST:g} to {HEAVIEST:g}, got {array[outside][0]:g}.")
    return array


def _as_ids(ids: Any, name: str) -> NDArray[Any]:
    return as_labels(ids, f"pairs ({name} ids)", "id")


def _index_ids(ids: Any, name: str) -> dict[Any, int]:
    """Return the row of each id; raise where two rows have one id."""
    values = _as_ids(ids, name)
    places: dict[Any, int] = {}
    for row, (value, missing) in enumerate(zip(values.tolist(), is_unlabelled(values), strict=True)):
        if missing or value == "":
            continue
        if value in places:
            raise InputError(f"pairs: expected each id once among the {name} ids, got {value!r} in two rows.")
        places[value] = row
    return places
