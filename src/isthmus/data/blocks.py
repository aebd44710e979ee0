"""Rows in blocks: Dask arrays, whose rows stay on their workers, and objects that compute their own sums.

No other module asks whether something is a Dask array: what comes from here is :class:`Rows` or :class:`Partitions`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import repeat
from typing import Any
from uuid import uuid4

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from isthmus._core.rows import BLOCK, ArrayRows, Draw, Rows, Share, count_codes, take_sample
from isthmus._core.threads import add_parts, cap_inner_threads, single_threaded_blas
from isthmus._core.validation import (
    FloatArray,
    IntArray,
    Matrix,
    ShortRepr,
    as_labels,
    check_length,
    find_classes,
    is_sparse,
    show_value,
)
from isthmus.exceptions import InputError, import_extra

# Rows that are brought to this process, at most: larger samples stay in partitions.
LOCAL = 50_000
# Sums that a worker adds at once, until one is left.
FAN = 8
# The modules of data frames, and how each puts one behind another.
FRAMES: dict[str, dict[str, Any]] = {"pandas": {"ignore_index": True}, "polars": {"how": "vertical_relaxed"}}


def import_dask() -> Any:
    """Return the module dask, with its arrays; raise where it is not installed."""
    import_extra("dask.array", "dask", "Rows on several machines need")
    return import_extra("dask", "dask", "Rows on several machines need")


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask array, without importing Dask.

    Examples
    --------
    >>> is_dask([[1.0]])
    False
    """
    module = type(X).__module__
    return module.startswith("dask.array") and type(X).__name__ == "Array"


def has_blocks(X: Any) -> bool:
    """Return whether X is read in blocks only: a Dask array, or rows that compute their own sums.

    Examples
    --------
    >>> has_blocks(ArrayRows(np.eye(2), np.array([0, 1]))), has_blocks(np.eye(2))
    (True, False)
    """
    return is_dask(X) or all(callable(getattr(X, name, None)) for name in ("total", "blocks", "sample"))


def compute(values: Sequence[Any], *, as_it_is: bool = False) -> tuple[Any, ...]:
    """Compute Dask values with one BLAS thread for each of Dask's in this process; elsewhere Dask sees to that.

    With ``as_it_is`` the graph is not optimised, which may lose which worker should do a task.
    """
    with cap_inner_threads():
        return tuple(import_dask().compute(*values, optimize_graph=not as_it_is))


def partitions(array: Any) -> list[Any]:
    """Return the chunks of rows of an array, each to be computed where it is held."""
    return list(array.to_delayed().ravel())


@dataclass(frozen=True, eq=False, repr=False)
class DaskRows(ShortRepr):
    """Rows in the partitions of a Dask array, and their codes in those of another.

    Sums are made by whatever Dask has for a scheduler: threads of this process, or the workers of a
    ``distributed.Client``. Per pass, one share goes out (from one worker to the next) and one sum comes back.
    Each partition is summed in its order and the sums are added in theirs: the same to the last bit however many
    workers there are, and whether one of them died.

    Nothing is kept that the caller does not keep: rows that are expensive to make or to read should be persisted
    (``X = X.persist()``), as each pass reads them once more.

    Parameters
    ----------
    X : Dask array (n, d)
        Of single or double precision, dense or CSR in each partition, with chunks of known size.
    codes : Dask array (n,), optional
        A number from 0 for each row; 0 for all unless given.
    classes : array (C,), optional
        What the codes count through.

    Examples
    --------
    >>> import dask.array as da
    >>> rows = DaskRows.of(da.ones((6, 2), chunks=(4, 2)), np.array(list("aaabbb")))
    >>> [float(part) for part in rows.total(lambda X, codes: (X.sum(), codes.sum()))], rows.classes
    ([12.0, 3.0], array(['a', 'b'], dtype='<U1'))
    """

    X: Any
    codes: Any = None
    classes: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        if self.codes is None:
            none = import_dask().array.zeros(self.X.shape[:1], chunks=self.X.chunks[:1], dtype=np.uint8)
            object.__setattr__(self, "codes", none)
        if self.X.ndim != 2 or np.dtype(self.X.dtype).kind != "f":
            raise InputError(f"X: expected a two-dimensional Dask array of floats, got {self.X.ndim} dimension(s).")
        if len(self.X.chunks[1]) != 1 or self.codes.chunks != self.X.chunks[:1]:
            raise InputError("codes: expected the chunks of X, of whole rows, got others; use DaskRows.of.")

    @classmethod
    def of(cls, X: Any, y: Any) -> DaskRows:
        """Return rows with labels of any type, in a Dask array or an ordinary one; codes are kept on the workers."""
        array, labels = import_dask().array, "y_source"
        X = check_chunks(X, "X_source")
        if y is None:
            raise InputError(f"{labels}: expected one label per row, got None.")
        if not isinstance(y, array.Array):
            y = array.from_array(np.asarray(y), chunks=-1)
        if y.ndim != 1 or y.shape != X.shape[:1]:
            raise InputError(f"{labels}: expected shape {X.shape[:1]} to match X_source, got {y.shape}.")
        y = y.rechunk((X.chunks[0],))
        # Two passes over labels: the classes of all partitions first, then the place of each label among them.
        parts = compute([import_dask().delayed(find_classes)(part, labels) for part in partitions(y)])
        classes = find_classes(np.concatenate(parts), labels)
        codes = y.map_blocks(encode_block, classes=classes, dtype=np.min_scalar_type(len(classes)))
        return cls(X, codes.persist(), classes)

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """The number of columns."""
        return int(self.X.shape[1])

    @cached_property
    def _parts(self) -> list[tuple[Any, Any]]:
        return list(zip(partitions(self.X), partitions(self.codes), strict=True))

    @cached_property
    def counts(self) -> IntArray:
        """The numbers of rows of each code in each partition (P, C)."""
        found = compute([import_dask().delayed(count_codes)(codes) for _, codes in self._parts])
        width = max(map(len, found))
        return np.stack([np.pad(row, (0, width - len(row))) for row in found])

    @cached_property
    def _holders(self) -> list[list[str]]:
        """The workers that hold each partition; none where none does, or there are no workers."""
        keys = [X.key for X, _ in self._parts]
        distributed: Any = sys.modules.get("distributed")
        futures = distributed.futures_of(self.X) if distributed is not None else []
        if not futures:
            return [[] for _ in keys]
        distributed.wait(futures)
        found = futures[0].client.who_has(futures)
        return [list(found.get(key, ())) for key in keys]

    def _map_parts(self, function: Any, *others: Any) -> list[Any]:
        """Return a function of each partition, run by the worker that holds it: no rows travel to even out work."""
        made = []
        for holders, part, *rest in zip(self._holders, self._parts, *others, strict=True):
            with import_dask().annotate(workers=holders, allow_other_workers=True) if holders else nullcontext():
                made.append(function(*part, *rest))
        return made

    @cached_property
    def _local(self) -> ArrayRows:
        """All rows in this process."""
        return fetch_rows(self._parts)

    def total(self, share: Share) -> tuple[FloatArray, ...]:
        """Return the sum of all shares, made on the workers: the share is a task, which survives a worker's death."""
        delayed = import_dask().delayed
        # Named at random: shares are not hashed, and two of them are never taken for one task.
        sent = delayed(share, name=f"share-{uuid4().hex}", traverse=False)
        sums = self._map_parts(delayed(sum_partition), repeat(sent, len(self._parts)))
        while len(sums) > 1:  # a tree of sums: no process holds all of them
            sums = [delayed(add_parts)(sums[start : start + FAN]) for start in range(0, len(sums), FAN)]
        return tuple(compute(sums, as_it_is=True)[0])

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[Matrix, IntArray]]:
        """Yield all rows, brought here a partition at a time."""
        for part in self._parts:
            yield from ArrayRows(*compute(part)).blocks(size)

    def sample(self, n: int, random: np.random.Generator) -> ArrayRows | DaskRows:
        """Return about n rows, drawn by the workers: brought here up to :data:`LOCAL`, else in new partitions."""
        if n >= self.n:
            return self if self.n > LOCAL else self._local
        parts = self._draw(Draw(self.counts.sum(axis=0), n, int(random.integers(2**63))))
        if n <= LOCAL:
            return fetch_rows(parts)
        # Kept by the workers, as a sample is read in many passes and has to be the same in each.
        parts = import_dask().persist(*parts, optimize_graph=False)
        sizes = compute([import_dask().delayed(len)(part[1]) for part in parts])
        array = import_dask().array
        known = list(zip(parts, sizes, strict=True))
        X = [array.from_delayed(part[0], (size, self.d), self.X.dtype) for part, size in known]
        codes = [array.from_delayed(part[1], (size,), self.codes.dtype) for part, size in known]
        kept = import_dask().persist(array.concatenate(X), array.concatenate(codes))
        return DaskRows(kept[0], kept[1], self.classes)

    def _draw(self, draw: Draw) -> list[Any]:
        """Return the sampled rows of each partition, still on its worker."""
        before = np.cumsum(self.counts, axis=0) - self.counts
        return self._map_parts(import_dask().delayed(take_sample, nout=2), repeat(draw, len(before)), before)


def check_chunks(X: Any, name: str) -> Any:
    """Return a Dask array of floats in chunks of whole rows of known size; raise where this is impossible."""
    if X.ndim != 2 or not X.shape[1]:
        raise InputError(f"{name}: expected a two-dimensional array, got shape {X.shape}.")
    if any(np.isnan(size) for sizes in X.chunks for size in sizes):
        raise InputError(f"{name}: expected chunks of known size, got others; call compute_chunk_sizes() first.")
    if np.dtype(X.dtype).kind not in "fiub":
        raise InputError(f"{name}: expected real numbers, got values of type {X.dtype}.")
    return (X if np.dtype(X.dtype).kind == "f" else X.astype(np.float64)).rechunk({1: -1})


def sum_partition(X: Matrix, codes: IntArray, share: Share) -> tuple[FloatArray, ...]:
    """Return the share of one partition, a block at a time."""
    return ArrayRows(X, codes).total(share)


def fetch_rows(parts: Sequence[Any]) -> ArrayRows:
    """Return the rows and codes of several partitions as one, in this process."""
    X, codes = zip(*compute(parts, as_it_is=True), strict=True)
    return ArrayRows(stack_rows(X), np.concatenate(codes))


def stack_rows(parts: Sequence[Matrix]) -> Matrix:
    """Return the rows of several blocks as one; raise unless all are dense or all are sparse."""
    if len({is_sparse(part) for part in parts}) > 1:
        raise InputError("X: expected partitions that are all dense or all CSR, got both; use map_blocks.")
    return sp.vstack(parts, format="csr") if is_sparse(parts[0]) else np.concatenate(parts)


def encode_block(y: NDArray[Any], classes: NDArray[Any]) -> IntArray:
    """Return the place of each label among the classes, as a small whole number.

    Examples
    --------
    >>> encode_block(np.array(["b", "a"]), np.array(["a", "b"]))
    array([1, 0], dtype=uint8)
    """
    return np.searchsorted(classes, np.asarray(y)).astype(np.min_scalar_type(len(classes)))


def check_labelled_rows(X: Any, y: Any) -> tuple[Rows, NDArray[Any]]:
    """Return rows with their codes, and the classes that these count through.

    Parameters
    ----------
    X : Rows or Dask array (n, d)
        The rows.
    y : array
        A label (n,) for each row of a Dask array; of rows that bring their codes, the classes (C,), or None where
        they bring these too.

    Examples
    --------
    >>> rows, classes = check_labelled_rows(ArrayRows(np.eye(2), np.array([0, 1])), ["cat", "dog"])
    >>> rows.n, classes
    (2, array(['cat', 'dog'], dtype='<U3'))
    """
    if is_dask(X):
        X, y = DaskRows.of(X, y), None
    own = getattr(X, "classes", None)
    if (y is None) == (own is None):
        got = "None" if y is None else "them twice"
        raise InputError(f"y_source: expected the classes of the codes of the rows, once, got {got}.")
    classes = np.asarray(own if y is None else y)
    if classes.ndim != 1 or not len(classes) or len(np.unique(classes)) != len(classes):
        raise InputError(f"y_source: expected different classes, got {show_value(classes)}.")
    return X, classes


def check_plain_rows(X: Any, name: str) -> ArrayRows | DaskRows:
    """Return rows without codes, of which row i can be paired with row i of another table."""
    if is_dask(X):
        return DaskRows(check_chunks(X, name))
    if not isinstance(X, ArrayRows):
        raise InputError(f"{name}: expected a Dask array or ArrayRows where pairs are known, got {type(X).__name__}.")
    if np.any(X.codes):
        raise InputError(f"{name}: expected rows without codes where pairs are known, as labels are y, got codes.")
    return X


@dataclass(frozen=True, eq=False)
class Partitions:
    """The partitions of a two-dimensional Dask array, each to be worked on where it lies."""

    X: Any

    def map(self, function: Any, width: int | None, dtype: Any) -> Any:
        """Return a Dask array (n, width), or (n,) where that is None: the function of each partition."""
        shape = {"drop_axis": 1} if width is None else {"chunks": (self.X.chunks[0], (width,))}
        sent = import_dask().delayed(function, traverse=False)  # once, not with every partition
        meta = np.empty((0,) * (1 if width is None else 2), dtype=dtype)
        return self.X.map_blocks(_apply, function=sent, dtype=dtype, meta=meta, **shape)

    def collect(self, function: Any) -> Sequence[Any]:
        """Compute the function of each partition, and bring the results here in their order."""
        return compute([import_dask().delayed(function)(part) for part in partitions(self.X)])


def _apply(X: Any, function: Any) -> NDArray[Any]:
    with single_threaded_blas(threading.current_thread() is not threading.main_thread()):  # others are at work too
        made: NDArray[Any] = function(X)
        return made


def as_partitions(X: Any, name: str = "X") -> Partitions | None:
    """Return the partitions of a Dask array; None for rows that are in this process.

    Examples
    --------
    >>> as_partitions([[1.0]]) is None
    True
    """
    if not is_dask(X):
        return None
    if X.ndim != 2:
        raise InputError(f"{name}: expected a two-dimensional array, got {X.ndim} dimension(s).")
    return Partitions(X.rechunk({1: -1}))


def append_rows(old: Any, new: Any, name: str) -> Any:
    """Return rows of a kind followed by others of the same kind.

    Examples
    --------
    >>> append_rows([[1.0, 2.0]], np.array([[3.0, 4.0]]), "X")
    array([[1., 2.],
           [3., 4.]])
    """
    framed, module = hasattr(old, "columns"), type(old).__module__.partition(".")[0]
    if is_dask(old):
        array = import_dask().array
        return array.concatenate([old, array.asarray(new)])
    if has_blocks(old):
        raise InputError(f"{name}: expected None, as rows in blocks can't be extended, got rows; fit to all of them.")
    if framed != hasattr(new, "columns") or (framed and type(old) is not type(new)):
        raise InputError(f"{name}: expected {_kind(old)}, as in fit, got {_kind(new)}.")
    if framed and module in FRAMES:
        return import_module(module).concat([old, new], **FRAMES[module])
    if is_sparse(old) != is_sparse(new):
        kinds = ("sparse", "dense") if is_sparse(old) else ("dense", "sparse")
        raise InputError(f"{name}: expected {kinds[0]} rows, as in fit, got {kinds[1]} ones.")
    return stack_rows([old, new]) if is_sparse(old) else np.concatenate([np.asarray(old), np.asarray(new)])


def _kind(rows: Any) -> str:
    return f"{type(rows).__module__.partition('.')[0]}.{type(rows).__name__}"


def append_labels(old: Any, new: Any, n_new: int, name: str) -> Any:
    """Return labels of any type followed by ``n_new`` others.

    Examples
    --------
    >>> append_labels(np.array([1, 2]), [2, -1], 2, "y"), append_labels(["a", None], ["b"], 1, "y")
    (array([ 1,  2,  2, -1]), ['a', None, 'b'])
    """
    new = new if is_dask(new) else as_labels(new, name)
    check_length(new, n_new, name, f"X{name[1:]}")
    if is_dask(old) or is_dask(new):
        array = import_dask().array
        return array.concatenate([array.asarray(old), array.asarray(new)])
    both: list[NDArray[Any]] = [as_labels(old, name), new]
    if both[0].dtype.kind == both[1].dtype.kind != "O":
        return np.concatenate(both)
    return [*both[0].tolist(), *both[1].tolist()]  # as_labels decides the type when it sees all of them
