"""Known pairs: rows of two collections that are the same object."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isthmus._core.arrays import FloatArray, IntArray
from isthmus._core.validation import short_repr
from isthmus.data.labels import as_labels, is_unlabelled
from isthmus.exceptions import InputError

LIGHTEST, HEAVIEST = 1e-6, 1e6
"""Weights: beyond these, one pair is as good as none or as all, and products of weights lose their digits."""
ROWS = "rows"
"""The word for: row i of the source and row i of the target are the same object."""
FORMS = 'row numbers (m, 2), "rows", two columns of ids or KnownPairs'
"""All that pairs can be given as."""
NONE_GIVEN = "pairs: expected at least one pair, got none."
Names: TypeAlias = tuple[str, str]
NAMES: Names = ("source", "target")
"""What the two sides are called in messages, unless a function has other names for them."""


@short_repr
@dataclass(frozen=True, eq=False)
class KnownPairs:
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
        rows = _whole_numbers(self.rows)
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "weights", _weights(self.weights, len(rows)))
        unique, counts = np.unique(rows, axis=0, return_counts=True)
        if len(unique) < len(rows):
            i, j = unique[counts.argmax()]
            raise InputError(f"pairs: expected each pair once (a weight makes one count more), got ({i}, {j}) again.")

    @classmethod
    def from_ids(cls, source: Any, target: Any, weights: Any = None, *, names: Names = NAMES) -> Self:
        """Rows with the same id, from the ids (n_s,) and (n_t,) of all rows; None, NaN, -1 and "" are no ids.

        An id names one row per side: given twice in one of them, it is refused. Messages use the ``names`` of the
        sides.
        """
        columns = [_ids(ids, name) for ids, name in zip((source, target), names, strict=True)]
        common = [key for key in columns[0] if key in columns[1]]
        if not common:
            kinds = [", ".join(sorted({type(key).__name__ for key in ids})) or "none" for ids in columns]
            raise InputError(f"pairs: expected ids that both sides have, got none (of type {' and '.join(kinds)}).")
        return cls(np.array([[columns[0][key], columns[1][key]] for key in common], dtype=np.intp), weights)

    @classmethod
    def in_order(cls, n: int) -> Self:
        """Return n pairs of row i and row i, each of weight one.

        They differ by construction: the search for equal pairs, which sorts all of them, is left out.
        """
        if not n:
            raise InputError(NONE_GIVEN)
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

    def among(self, places: tuple[IntArray, IntArray]) -> KnownPairs:
        """The same pairs, by the places of their rows among sorted row numbers of either domain."""
        return KnownPairs(
            np.stack([np.searchsorted(p, r) for p, r in zip(places, self.rows.T, strict=True)], 1), self.weights
        )

    def require_one_to_one(self, names: Names = NAMES) -> None:
        """Raise where a row is in two pairs; messages use the ``names`` of the sides."""
        for rows, name in zip(self.rows.T, names, strict=True):
            numbers, counts = np.unique(rows, return_counts=True)
            if (counts > 1).any():
                raise InputError(
                    f"pairs: expected each row in one pair at most, got {name} row {numbers[counts.argmax()]} in "
                    f"{counts.max()}."
                )


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
    """The pairs of the argument ``pairs``, checked against the number of rows.

    Parameters
    ----------
    pairs : array (m, 2), "rows", (ids, ids) or KnownPairs
        Row numbers; or that row i is row i; or, as a tuple, the ids of all rows of either side.
    n_source, n_target : int
        How many rows there are.
    fewest : int
        How many pairs are needed.
    one_to_one : bool
        Whether a row may be in one pair only.
    needs : str
        Who needs that many, for the message.
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
        known.require_one_to_one(names)
    if len(known) < fewest:
        who = f" for {needs}" if needs else ""
        raise InputError(f"pairs: expected at least {fewest}{who}, got {len(known)}.")
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
    if isinstance(pairs, tuple) and len(pairs) == 2:
        found = [len(as_labels(ids, *_describe_ids(name))) for ids, name in zip(pairs, names, strict=True)]
        for n, size, name in zip(found, sizes, names, strict=True):
            if n != size:
                hint = (
                    "; a tuple is two columns of ids, a list or an array has row numbers" if found == [2, 2] else ""
                )
                raise InputError(f"pairs: expected an id for each of the {size} {name} rows, got {n}{hint}.")
        return KnownPairs.from_ids(*pairs, names=names)
    return KnownPairs(pairs)


def _whole_numbers(rows: Any) -> IntArray:
    try:
        array: NDArray[Any] = np.asarray(rows)
    except ValueError:
        raise InputError("pairs: expected whole row numbers (m, 2), got rows of unequal length.") from None
    if not array.ndim:  # an iterator, a set, a dictionary, one number, None
        raise InputError(f"pairs: expected {FORMS}, got {'None' if rows is None else type(rows).__name__}.")
    if not len(array):
        raise InputError(NONE_GIVEN)
    whole = array.dtype.kind in "iu" or (array.dtype.kind == "O" and all(_is_whole(value) for value in array.flat))
    if array.ndim != 2 or array.shape[1] != 2 or not whole:
        kind = f"{type(rows).__name__} of objects" if array.dtype.kind == "O" else str(array.dtype)
        raise InputError(f"pairs: expected whole row numbers (m, 2), got {kind} of shape {array.shape}.")
    for number in (array.min(), array.max()):
        if not 0 <= number <= np.iinfo(np.intp).max:
            raise InputError(f"pairs: expected row numbers from 0, got {number}.")
    return array.astype(np.intp)


def _is_whole(value: Any) -> bool:
    """Whether a value, as columns of frames that allow for missing ones have them, is a whole number."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _weights(weights: Any, n: int) -> FloatArray:
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


def _ids(ids: Any, name: str) -> dict[Any, int]:
    """The row of each id."""
    values: NDArray[Any] = as_labels(ids, *_describe_ids(name))
    places: dict[Any, int] = {}
    for row, (value, missing) in enumerate(zip(values.tolist(), is_unlabelled(values), strict=True)):
        if missing or value == "":
            continue
        if value in places:
            raise InputError(f"pairs: expected each id once among the {name} ids, got {value!r} in two rows.")
        places[value] = row
    return places


def _describe_ids(name: str) -> tuple[str, str]:
    """What messages about a column of ids begin with, and what they say that a row has."""
    return f"pairs ({name} ids)", "id"
