"""Two collections of rows, one set of classes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._core.arrays import IntArray, Matrix
from isthmus._core.rows import Rows
from isthmus._core.validation import check_length, check_magnitude, check_matrix, short_repr
from isthmus.data.blocks import check_labelled_rows, check_plain_rows
from isthmus.data.known_pairs import ROWS, KnownPairs, as_pairs
from isthmus.data.labels import UNLABELLED, as_labels, encode, encode_all, encode_both
from isthmus.exceptions import InputError

TABLES = "X_source", "X_target"
"""The names of the two tables in messages, unless a function has other names for them."""
LABELS = "y_source", "y_target"


@short_repr
@dataclass(frozen=True, eq=False)
class Domain:
    """One collection: rows X (n, d), label codes y (n,) with -1 for none, and the names of its columns.

    X is a matrix, or :class:`~isthmus._core.rows.Rows`. Labelled rows in blocks bring their codes with them: y is empty.
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


@short_repr
@dataclass(frozen=True, eq=False)
class SharedFeatures:
    """What both collections are described by: rows (n_s, k) of the source and (n_t, k) of the target."""

    source: Matrix
    target: Matrix


@short_repr
@dataclass(frozen=True, eq=False)
class TwoDomains:
    """A source and a target, with the classes that their codes count through, and what is known of them as pairs."""

    source: Domain
    target: Domain
    classes: NDArray[Any]
    """The classes (C,), sorted."""
    pairs: KnownPairs | None = None
    """Rows of both that are the same object."""
    shared: SharedFeatures | None = None
    """Features that both have, beside their own."""

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

        This is the only place where rows that are learned from are checked. Without pairs all that ties the domains
        are labels: every source row needs one, and at least one target row. With pairs, labels are optional in both
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
        shared : (array (n_s, k), array (n_t, k)), optional
            Features that both domains have.
        names : (str, str)
            The names of the two tables in messages.
        min_rows : int
            The least number of rows of either table.
        optional_labels, own_classes : bool
            Whether labels are optional without pairs too, and whether the target may have classes of its own.
        needs_target_labels : bool
            Whether at least one target row needs a label where there are no pairs.
        fewest_pairs, pairs_for, one_to_one
            The least number of pairs, who needs them, and whether a row may be in one pair only.
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
        known = _check_pairs_in_order(pairs, n, m, fewest_pairs, pairs_for) if blocks else None
        optional = optional_labels or pairs is not None
        ys = _check_labels(y_source, n, LABELS[0], names[0], optional)
        yt = _check_labels(y_target, m, LABELS[1], names[1], optional or not needs_target_labels)
        if optional or own_classes:
            if not optional:
                encode_all(ys, LABELS[0])  # every source row needs a label
            (source, target), classes = encode_both((ys, yt), LABELS)
        else:
            source, classes = encode_all(ys, LABELS[0])
            target = encode(yt, classes, LABELS[1])
        if not optional and needs_target_labels:
            _check_any_label(target)
        if pairs is not None and known is None:
            sides = names[0].removeprefix("X_"), names[1].removeprefix("X_")
            known = as_pairs(pairs, n, m, fewest=fewest_pairs, one_to_one=one_to_one, needs=pairs_for, names=sides)
        return cls(Domain(Xs, source), Domain(Xt, target), classes, known, _check_shared(shared, n, m))

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


@short_repr
@dataclass(frozen=True, eq=False)
class Split:
    """Which rows of a source domain and of a target domain take which part, as row numbers."""

    source: IntArray
    """Rows of the source, all of them labelled."""
    labelled: IntArray
    """Rows of the target that are learned from with their label."""
    unlabelled: IntArray
    """Rows of the target that are learned from without it."""
    test: IntArray
    """Rows of the target that are held out."""


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
        raise InputError(f'pairs: expected "rows" or KnownPairs of them with rows in blocks, got {pairs!r:.60}.')
    known = as_pairs(ROWS, n, m, fewest=fewest, needs=needs)
    if isinstance(pairs, str):
        return known
    if len(pairs) != n or not (pairs.rows == known.rows).all():
        raise InputError("pairs: expected row i to be row i with rows in blocks, got other pairs.")
    return pairs


def _check_shared(shared: Any, n: int, m: int) -> SharedFeatures | None:
    """Return the features of both domains: as many rows as either has, and equally many columns."""
    if shared is None:
        return None
    both = (shared.source, shared.target) if isinstance(shared, SharedFeatures) else shared
    if not isinstance(both, tuple) or len(both) != 2:
        raise InputError(f"shared: expected two tables (source, target), got {shared!r:.60}.")
    source = _check_rows(both[0], "shared (source)", 1)
    target = check_matrix(both[1], "shared (target)")
    for table, rows, name in ((source, n, "source"), (target, m, "target")):
        if table.shape[0] != rows:
            raise InputError(f"shared ({name}): expected {rows} rows, as X_{name} has, got {table.shape[0]}.")
    if source.shape[1] != target.shape[1]:
        raise InputError(
            f"shared (target): expected {source.shape[1]} columns, as the source has, got {target.shape[1]}."
        )
    return SharedFeatures(source, check_magnitude(target, "shared (target)"))
