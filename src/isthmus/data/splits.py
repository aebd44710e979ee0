"""Splits: how many rows of each class are drawn for which part, also where a class has too few.

:class:`Protocol` draws source, labelled, unlabelled and test rows of two domains, one row per object;
:class:`SemiSupervisedSplit` makes folds of one domain whose unlabelled rows are always trained on.
"""

from __future__ import annotations

import numbers
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.model_selection import StratifiedKFold

from isthmus._core.sklearn_bases import BaseEstimator
from isthmus._core.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    as_labels,
    check_length,
    check_number,
    is_unlabelled,
    show_value,
)
from isthmus.data.domains import Split
from isthmus.exceptions import InputError

Seed: TypeAlias = int | Sequence[int]


class Supply(NamedTuple):
    """The rows that a class has: in the source, in the target, and objects that are in both."""

    source: int
    target: int
    shared: int


class Quota(NamedTuple):
    """The rows that are taken of a class."""

    source: int
    labelled: int
    unlabelled: int


def allot(supply: Supply, wanted: Quota) -> Quota | None:
    """Return as many of the wanted rows as the class allows, or None where it can't fill every part with one row.

    One row is for the test, one object is for the source and one row is labelled in any case. What remains goes to
    the labelled rows, then to the source, then to the unlabelled rows.

    Examples
    --------
    >>> wanted = Quota(source=20, labelled=1, unlabelled=20)
    >>> allot(Supply(source=100, target=100, shared=100), wanted) == wanted
    True
    >>> allot(Supply(source=12, target=15, shared=0), wanted)
    Quota(source=12, labelled=1, unlabelled=13)
    >>> allot(Supply(source=30, target=30, shared=30), wanted)
    Quota(source=20, labelled=1, unlabelled=8)
    >>> allot(Supply(source=2, target=2, shared=2), wanted) is None
    True
    """
    own = supply.source - supply.shared  # source rows whose objects the target has not
    first = 0 if own else 1
    if supply.source < 1 or supply.target - first < 2:
        return None
    labelled = min(wanted.labelled, supply.target - first - 1)
    source = min(wanted.source, own + min(supply.shared, supply.target - labelled - 1))
    rest = supply.target - max(0, source - own) - labelled - 1
    return Quota(source, labelled, min(wanted.unlabelled, rest))


def number_objects(source: Any, target: Any, n_source: int, n_target: int) -> tuple[IntArray, IntArray] | None:
    """Return objects of any type as numbers that count through both domains."""
    if source is None and target is None:
        return None
    if source is None or target is None:
        missing = "objects_source" if source is None else "objects_target"
        raise InputError(f"{missing}: expected the objects of both domains or of neither, got None.")
    source = as_labels(source, "objects_source", "object")
    target = as_labels(target, "objects_target", "object")
    check_length(source, n_source, "objects_source", "y_source")
    check_length(target, n_target, "objects_target", "y_target")
    numbers: dict[Any, int] = {}
    coded = [numbers.setdefault(value, len(numbers)) for value in [*source.tolist(), *target.tolist()]]
    return np.array(coded[:n_source], dtype=np.intp), np.array(coded[n_source:], dtype=np.intp)


def check_one_class(objects: IntArray, y: IntArray) -> None:
    """Raise where an object has rows of two classes."""
    first = np.empty(objects.max() + 1, dtype=np.intp)
    first[objects] = y
    if (other := np.flatnonzero(first[objects] != y)).size:
        a, b = sorted((int(y[other[0]]), int(first[objects[other[0]]])))
        raise InputError(f"objects: expected every object to be of one class, got one of classes {a} and {b}.")


def choose_row_per_object(lots: FloatArray, objects: IntArray) -> IntArray:
    """Return rows in the order of their lots, of each object the first."""
    order = np.argsort(lots, kind="stable")
    _, first = np.unique(objects[order], return_index=True)
    return np.asarray(order[np.sort(first)], dtype=np.intp)


@dataclass(frozen=True)
class Protocol:
    """The numbers of rows of each class that are drawn at random for each part of a split.

    Parameters
    ----------
    source_per_class : int
        Labelled rows of the source domain.
    labelled_per_class, unlabelled_per_class : int
        Rows of the target domain that are learned from, with and without their label.
    test : int, optional
        Test rows in all classes together, drawn at random from the remaining target rows, whatever their class.
        None: all that remain.

    Notes
    -----
    An object is in one only of source, target (labelled and unlabelled) and test. Where the objects are not given to
    :meth:`split`, each row is an object of its own.

    A class that has too few rows to fill its share and to leave one row for the test gives what it has. One row is
    for the test, one is the source's and one is labelled in any case; a class with fewer is refused. What remains
    goes, in this order, to the labelled rows, the source, the unlabelled rows. (Domains that share no object do not
    compete: the source takes what there is.) If fewer than ``test`` rows remain, all of them are the test.

    Examples
    --------
    >>> protocol = Protocol(source_per_class=3, labelled_per_class=1, unlabelled_per_class=2)
    >>> print(protocol)
    3 labelled source rows per class; 1 labelled and 2 unlabelled target rows per class; the rest for testing;
    no object in two of source, target and test; classes with fewer rows give what they have
    >>> y = [0, 1] * 8
    >>> split = protocol.split(y, y, objects_source=range(16), objects_target=range(16), seed=0)
    >>> len(split.source), len(split.labelled), len(split.unlabelled), len(split.test)
    (6, 2, 4, 4)
    """

    source_per_class: int = 20
    labelled_per_class: int = 1
    unlabelled_per_class: int = 20
    test: int | None = None

    def __post_init__(self) -> None:
        lows = {"source_per_class": 1, "labelled_per_class": 1, "unlabelled_per_class": 0, "test": 1}
        for name, low in lows.items():
            if name != "test" or self.test is not None:
                whole = int(check_number(getattr(self, name), name, low=low, whole=True))
                object.__setattr__(self, name, whole)  # NumPy's integers can't be written as JSON

    def split(
        self, y_source: Any, y_target: Any, *, objects_source: Any = None, objects_target: Any = None, seed: Seed
    ) -> Split:
        """Draw a split: row numbers of each part, in ascending order.

        Each row gets a random number, and each class takes its rows in the order of these: the source first, then
        the labelled rows, then the unlabelled ones. So a larger part contains the smaller one that the same seed
        draws, as long as the parts before it stay the same. Where domains share only some of their objects, the
        source passes over a shared one if the target could not have its rows otherwise. Of several rows of an object
        in a domain, one, drawn at random, takes part.

        Parameters
        ----------
        y_source, y_target : array (n_s,), (n_t,)
            The class of each row of the whole source and target domain, as a code of at least 0.
        objects_source, objects_target : array (n_s,), (n_t,), optional
            Which object (document, image, cell) each row is.
        seed : int or sequence of int
            The same seed gives the same split.
        """
        ys, yt = _check_codes(y_source, "y_source"), _check_codes(y_target, "y_target")
        both = number_objects(objects_source, objects_target, len(ys), len(yt))
        if both is None:
            objects_s, objects_t = np.arange(len(ys)), np.arange(len(ys), len(ys) + len(yt))
        else:
            objects_s, objects_t = both
            check_one_class(np.concatenate([objects_s, objects_t]), np.concatenate([ys, yt]))
        rng = _make_generator(seed)
        # One random number per row, whatever is drawn: larger parts contain the smaller ones of the same seed.
        rows_s = choose_row_per_object(rng.random(len(ys)), objects_s)
        rows_t = choose_row_per_object(rng.random(len(yt)), objects_t)
        lots = rng.random(len(yt))  # for the test, which is drawn across classes, not within each
        parts = [
            self._split_class(int(c), rows_s[ys[rows_s] == c], rows_t[yt[rows_t] == c], objects_s, objects_t)
            for c in np.union1d(ys, yt)
        ]
        source, labelled, unlabelled, rest = (np.concatenate(part) for part in zip(*parts, strict=True))
        test = rest[np.lexsort((rest, lots[rest]))[: self.test]]
        return Split(*(np.sort(part) for part in (source, labelled, unlabelled, test)))

    def _split_class(
        self, label: int, rows_s: IntArray, rows_t: IntArray, objects_s: IntArray, objects_t: IntArray
    ) -> tuple[IntArray, ...]:
        """Return the source, labelled, unlabelled and remaining rows of a class."""
        shared = np.isin(objects_s[rows_s], objects_t[rows_t])
        supply = Supply(len(rows_s), len(rows_t), int(shared.sum()))
        taken = allot(supply, Quota(self.source_per_class, self.labelled_per_class, self.unlabelled_per_class))
        if taken is None:
            both = f", of which {supply.shared} objects are the same" if supply.shared else ""
            got = f"{supply.source} and {supply.target}{both}"
            raise InputError(f"class {label}: expected at least 1 source and 2 target row(s), got {got}.")
        most_shared = supply.target - taken.labelled - taken.unlabelled - 1  # or the target could not have its rows
        allowed = ~shared | (np.cumsum(shared) <= most_shared)
        source = rows_s[allowed][: taken.source]
        # What the source has taken is no longer free, nor is any other row of the same objects.
        free = rows_t[~np.isin(objects_t[rows_t], objects_s[source])]
        ends = np.cumsum([taken.labelled, taken.unlabelled])
        return (source, *np.split(free, ends))

    def __str__(self) -> str:
        test = "the rest for testing" if self.test is None else f"{_count(self.test, 'test')}"
        return (
            f"{_count(self.source_per_class, 'labelled source')} per class; {self.labelled_per_class} labelled and "
            f"{_count(self.unlabelled_per_class, 'unlabelled target')} per class; {test}; "
            "no object in two of source, target and test; classes with fewer rows give what they have"
        )


def _count(n: int, kind: str) -> str:
    return f"{n} {kind} row{'' if n == 1 else 's'}"


def _check_codes(y: Any, name: str) -> IntArray:
    wanted = f"{name}: expected one whole number per row"
    try:
        codes = np.asarray(y)
    except ValueError:
        raise InputError(f"{wanted}, got rows of unequal length.") from None
    if codes.ndim != 1 or not len(codes) or codes.dtype.kind not in "iu":
        raise InputError(f"{wanted}, got values of type {codes.dtype} in shape {codes.shape}.")
    if codes.min() < 0:
        raise InputError(f"{name}: expected the class of every row as a code of at least 0, got {codes.min()}.")
    return codes.astype(np.intp)


def _make_generator(seed: Any) -> np.random.Generator:
    for part in seed if isinstance(seed, Sequence) and not isinstance(seed, str | bytes) and len(seed) else [seed]:
        if not isinstance(part, int) or part <= sys.maxsize:  # NumPy takes seeds of any size
            check_number(part, "seed", low=0, whole=True)
    return np.random.default_rng(seed)


class SemiSupervisedSplit(BaseEstimator):
    """Split the labelled rows; put every unlabelled row into every training part and into no test part.

    Parameters
    ----------
    cv : int or splitter
        How the labelled rows are split: a number of stratified folds, or any splitter of scikit-learn.

    Examples
    --------
    >>> train, test = next(iter(SemiSupervisedSplit(2).split(None, [0, 0, 1, 1, -1, -1])))
    >>> train, test
    (array([1, 3, 4, 5]), array([0, 2]))
    """

    def __init__(self, cv: Any = 5) -> None:
        self.cv = cv

    def _splitter(self, n_labelled: float = np.inf) -> Any:
        if isinstance(self.cv, numbers.Integral) and not isinstance(self.cv, bool):
            return StratifiedKFold(int(check_number(self.cv, "cv", low=2, high=max(2, n_labelled), whole=True)))
        if not (hasattr(self.cv, "split") and hasattr(self.cv, "get_n_splits")):
            raise InputError(f"cv: expected a number of folds or a scikit-learn splitter, got {show_value(self.cv)}.")
        return self.cv

    def _drop_unlabelled_rows(self, y: Any, groups: Any) -> tuple[BoolArray, tuple[Any, Any, Any]]:
        """Return a mask of the labelled rows, and their (X, y, groups) for the splitter."""
        if y is None:
            raise InputError("y: expected labels, got None.")
        kept = ~is_unlabelled(y)
        if not kept.any():
            raise InputError("y: expected at least one labelled row to split, got none.")
        labels = np.array(as_labels(y, "y")[kept].tolist())
        if groups is not None:
            groups = as_labels(groups, "groups", "group")
            check_length(groups, len(kept), "groups", "y")
        return kept, (np.zeros((len(labels), 1)), labels, None if groups is None else groups[kept])

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield pairs of training and test row numbers."""
        kept, inner = self._drop_unlabelled_rows(y, groups)
        labelled, unlabelled = np.flatnonzero(kept), np.flatnonzero(~kept)
        for train, test in self._splitter(len(labelled)).split(*inner):
            yield np.sort(np.concatenate([labelled[train], unlabelled])), labelled[test]

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits, which for some splitters depends on the labelled rows."""
        inner = (None, None, None) if y is None else self._drop_unlabelled_rows(y, groups)[1]
        return int(self._splitter().get_n_splits(*inner))
