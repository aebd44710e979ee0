"""The rows of an index: points, ids, labels and domains, added at the end and struck off in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._arrays import BoolArray, FloatArray, IntArray
from isthmus._validation import length
from isthmus.common_space import DOMAINS
from isthmus.domains.labels import UNLABELLED, as_labels, is_unlabelled
from isthmus.exceptions import InputError

LARGEST_ID = 2**63 - 1


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows that have been checked and can be added."""

    points: FloatArray
    ids: NDArray[Any]
    codes: IntArray
    domain: str
    classes: tuple[Any, ...]
    """All labels of the catalogue once the rows are in it, in the order in which they came."""


class Catalogue:
    """Rows in the order in which they came; a row that is removed keeps its place until :meth:`close_ranks`.

    Parameters
    ----------
    width : int
        Columns of the points.
    dtype : str
        Their precision.
    """

    _columns: dict[str, NDArray[Any]]

    def __init__(self, width: int, dtype: str) -> None:
        self.n = 0
        """Rows, removed ones too."""
        self.classes: tuple[Any, ...] = ()
        self.places: dict[Any, int] = {}
        """Where each row is that has not been removed."""
        self.next_id = 0
        self.text_ids: bool | None = None
        """Whether ids are text; None before the first row."""
        self._columns = {
            "points": np.empty((0, width), dtype),
            "ids": np.empty(0, np.int64),
            "codes": np.empty(0, np.int32),
            "domains": np.empty(0, np.uint8),
            "alive": np.empty(0, np.bool_),
        }

    @classmethod
    def of(
        cls,
        columns: Mapping[str, NDArray[Any]],
        classes: tuple[Any, ...],
        next_id: int,
    ) -> Catalogue:
        """Of whole columns (points, ids, codes, domains), as :meth:`kept` has them."""
        made = cls(columns["points"].shape[1], str(columns["points"].dtype))
        n = len(columns["ids"])
        made._columns = {
            name: np.asarray(
                columns[name], dtype=object if columns[name].dtype == object else made._columns[name].dtype
            )
            for name in ("points", "ids", "codes", "domains")
        } | {"alive": np.ones(n, np.bool_)}
        made.n, made.classes, made.next_id = n, classes, next_id
        made.text_ids = made._columns["ids"].dtype == object
        made.places = dict(zip(made.ids.tolist(), range(n), strict=True))
        return made

    def kept(self) -> dict[str, NDArray[Any]]:
        """The columns without the rows that were removed: views where none was."""
        alive = self.alive
        kept = slice(None) if alive.all() else alive
        return {name: column[: self.n][kept] for name, column in self._columns.items() if name != "alive"}

    def __len__(self) -> int:
        return len(self.places)

    @property
    def points(self) -> FloatArray:
        """The points (n, d)."""
        return self._columns["points"][: self.n]

    @property
    def ids(self) -> NDArray[Any]:
        """The ids (n,): whole numbers, or text."""
        return self._columns["ids"][: self.n]

    @property
    def codes(self) -> IntArray:
        """The labels (n,) as places in ``classes``, -1 for none."""
        return self._columns["codes"][: self.n]

    @property
    def domains(self) -> NDArray[Any]:
        """The domains (n,) as places in ("source", "target")."""
        return self._columns["domains"][: self.n]

    @property
    def alive(self) -> BoolArray:
        """Which rows (n,) have not been removed."""
        return self._columns["alive"][: self.n]

    def batch(self, points: FloatArray, domain: str, ids: Any, labels: Any) -> Batch:
        """The rows, all checked; nothing is changed."""
        checked = self._checked_ids(ids, len(points))
        codes, classes = self._coded(labels, len(points))
        return Batch(points, checked, codes, domain, classes)

    def add(self, batch: Batch) -> None:
        """Add rows that were checked against the catalogue as it is now."""
        places = dict(zip(batch.ids.tolist(), range(self.n, self.n + len(batch.ids)), strict=True))
        domain = np.full(len(batch.ids), DOMAINS.index(batch.domain))
        new = {
            "points": batch.points,
            "ids": batch.ids,
            "codes": batch.codes,
            "domains": domain,
            "alive": np.ones(len(domain), np.bool_),
        }
        # Room is made for every column before any row counts: where memory runs out, the catalogue is as it was.
        grown = {name: _with_room(column, self.n, new[name]) for name, column in self._columns.items()}
        for name, column in grown.items():
            column[self.n : self.n + len(domain)] = new[name]
        self._columns, self.n, self.classes = grown, self.n + len(domain), batch.classes
        self.places |= places
        self.text_ids = batch.ids.dtype == object
        if not self.text_ids:
            self.next_id = max(self.next_id, int(batch.ids.max()) + 1)

    def remove(self, ids: Any) -> None:
        """Strike rows off; where one of them is not there, none is."""
        wanted = as_labels([ids] if isinstance(ids, str | int | np.integer) else ids, "ids", "id").tolist()
        unknown = [each for each in wanted if each not in self.places]
        if unknown:
            raise InputError(f"ids: expected ids of rows in the index, got {unknown[0]!r:.60}, which is none.")
        if len(set(wanted)) < len(wanted):
            raise InputError("ids: expected every id once, got one twice.")
        self._columns["alive"][[self.places[each] for each in wanted]] = False
        for each in wanted:
            del self.places[each]

    def close_ranks(self) -> None:
        """Leave out the rows that were removed; the others move up."""
        kept = self.alive
        self._columns = {name: column[: self.n][kept] for name, column in self._columns.items()}
        self.n = len(self._columns["ids"])
        self.places = dict(zip(self.ids.tolist(), range(self.n), strict=True))

    def _checked_ids(self, ids: Any, n: int) -> NDArray[Any]:
        text = self.text_ids
        if ids is None and text:
            raise InputError("ids: expected an id for each row, as the rows before have ids that are text, got None.")
        if ids is None:
            return np.arange(self.next_id, self.next_id + n, dtype=np.int64)
        values = as_labels(ids, "ids", "id")
        length(values, n, "ids", "X")
        words = values.dtype.kind in "UO" and all(isinstance(value, str) for value in values.tolist())
        if not words and not (values.dtype.kind in "iu" and values.min() >= 0 and values.max() < LARGEST_ID):
            raise InputError("ids: expected text or whole numbers of at least 0, got others.")
        if text is not None and words != text:
            kinds = {True: "text", False: "whole numbers"}
            raise InputError(f"ids: expected {kinds[text]}, as the rows before have, got {kinds[words]}.")
        listed = values.tolist()
        if len(set(listed)) < n:
            raise InputError("ids: expected every id once, got one twice.")
        if (known := next((each for each in listed if each in self.places), None)) is not None:
            raise InputError(f"ids: expected ids that are not in the index, got {known!r:.60}, which is.")
        return np.array(listed, dtype=object if words else np.int64)

    def _coded(self, labels: Any, n: int) -> tuple[IntArray, tuple[Any, ...]]:
        if labels is None:
            return np.full(n, UNLABELLED, dtype=np.intp), self.classes
        values = as_labels(labels, "labels")
        length(values, n, "labels", "X")
        missing, listed = is_unlabelled(values), values.tolist()
        codes = {label: code for code, label in enumerate(self.classes)}
        for value in (value for value, none in zip(listed, missing, strict=True) if not none):
            if not isinstance(value, str | int | float) or value in (np.inf, -np.inf):
                raise InputError(f"labels: expected text or finite numbers, got {value!r:.60}.")
            codes.setdefault(value, len(codes))
        if len({isinstance(value, str) for value in codes}) > 1:
            raise InputError("labels: expected text only or numbers only, got a mixture.")
        coded = [UNLABELLED if none else codes[value] for value, none in zip(listed, missing, strict=True)]
        return np.array(coded, dtype=np.intp), tuple(codes)


def names(classes: Sequence[Any]) -> NDArray[Any]:
    """Labels by their codes (C + 1,), the mark for none last, where the code -1 finds it.

    Examples
    --------
    >>> names([3, 5])[[0, -1]], names(["a"])[[0, -1]]
    (array([ 3, -1]), array(['a', None], dtype=object))
    """
    plain = np.asarray(classes) if len(classes) else np.empty(0, dtype=object)
    if plain.dtype.kind in "iuf":
        return np.append(plain, UNLABELLED)
    return np.array([*classes, None], dtype=object)


def _with_room(column: NDArray[Any], n: int, new: NDArray[Any]) -> NDArray[Any]:
    """A column that has room for more rows; it is doubled, so that rows may come one by one."""
    dtype = object if new.dtype == object else column.dtype
    needed = n + len(new)
    if needed <= len(column) and dtype == column.dtype:
        return column
    room = np.empty((max(needed, 2 * n), *column.shape[1:]), dtype)
    room[:n] = column[:n]
    return room
