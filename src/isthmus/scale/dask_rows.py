"""Rows on the workers of Dask: what is asked goes out to them, sums come back, and the rows stay where they are."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any
from uuid import uuid4

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from isthmus._arrays import FloatArray, IntArray, Matrix, is_sparse
from isthmus._threads import added, crowded
from isthmus._validation import short_repr
from isthmus.exceptions import InputError, MissingDependencyError
from isthmus.scale.labels import codes_of, distinct, united
from isthmus.solvers.blocks import ArrayRows, Share
from isthmus.solvers.blocks.drawing import Draw, code_counts, drawn
from isthmus.solvers.blocks.rows import BLOCK

LOCAL = 50_000
"""No more rows than this are brought to one place: larger samples stay in partitions."""
QUIET = {
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**28,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**28,
}
"""For ``dask.config.set``, before a cluster is started. Without the first, rows travel to workers that are idle;
without the second, Dask looks at what its workers do a hundred times per second; without the next three, every
process measures itself fifty, ten and two times per second; without the last two, workers give memory back after each
block, and get it anew, page by page."""
FAN = 8
"""So many sums are added at once, on a worker, until one is left."""


def dask() -> Any:
    """The module of that name, with its arrays."""
    try:
        import dask
        import dask.array
    except ImportError:
        message = 'Rows on several machines need Dask, which is not installed: pip install "isthmus[dask]".'
        raise MissingDependencyError(message) from None
    return dask


@short_repr
@dataclass(frozen=True, eq=False)
class DaskRows:
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
    codes : Dask array (n,)
        A number from 0 for each row.
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
    codes: Any
    classes: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or np.dtype(self.X.dtype).kind != "f":
            raise InputError(f"X: expected a two-dimensional Dask array of floats, got {self.X.ndim} dimension(s).")
        if len(self.X.chunks[1]) != 1 or self.codes.chunks != self.X.chunks[:1]:
            raise InputError(
                "codes: expected the chunks of X, which cut no row, got others; DaskRows.of makes them so."
            )

    @classmethod
    def of(cls, X: Any, y: Any, name: str = "source") -> DaskRows:
        """Rows with labels of any type, in a Dask array or an ordinary one; codes are kept on the workers."""
        array, labels = dask().array, f"y_{name}"
        X = whole_rows(X, f"X_{name}")
        if y is None:
            raise InputError(f"{labels}: expected one label per row, got None.")
        if not isinstance(y, array.Array):
            y = array.from_array(np.asarray(y), chunks=-1)
        if y.ndim != 1 or y.shape != X.shape[:1]:
            raise InputError(f"{labels}: expected shape {X.shape[:1]} to match X_{name}, got {y.shape}.")
        y = y.rechunk((X.chunks[0],))
        parts = computed([dask().delayed(distinct)(part, labels) for part in partitions(y)])
        classes = united(parts, labels)
        codes = y.map_blocks(codes_of, classes=classes, dtype=np.min_scalar_type(len(classes)))
        return cls(X, codes.persist(), classes)

    @property
    def n(self) -> int:
        """How many rows there are."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """How many columns they have."""
        return int(self.X.shape[1])

    @cached_property
    def _parts(self) -> list[tuple[Any, Any]]:
        return list(zip(partitions(self.X), partitions(self.codes), strict=True))

    @cached_property
    def counts(self) -> IntArray:
        """How many rows of each code each partition has (P, C)."""
        found = computed([dask().delayed(code_counts)(codes) for _, codes in self._parts])
        width = max(map(len, found))
        return np.stack([np.pad(row, (0, width - len(row))) for row in found])

    @cached_property
    def _holders(self) -> list[list[str]]:
        """The workers that hold each partition; none where nobody does, or there are no workers."""
        keys = [X.key for X, _ in self._parts]
        distributed: Any = sys.modules.get("distributed")
        futures = distributed.futures_of(self.X) if distributed is not None else []
        if not futures:
            return [[] for _ in keys]
        distributed.wait(futures)
        found = futures[0].client.who_has(futures)
        return [list(found.get(key, ())) for key in keys]

    def _each(self, function: Any, *others: Any) -> list[Any]:
        """A function of each partition, made by who holds it as long as he lives: no rows travel to even out work."""
        made = []
        for holders, part, *rest in zip(self._holders, self._parts, *others, strict=True):
            with dask().annotate(workers=holders, allow_other_workers=True) if holders else nullcontext():
                made.append(function(*part, *rest))
        return made

    @cached_property
    def _here(self) -> ArrayRows:
        """All rows in this process."""
        return brought(self._parts)

    def total(self, share: Share) -> tuple[FloatArray, ...]:
        """On the workers: the share goes there once, as a part of the graph, which survives a worker's death."""
        delayed = dask().delayed
        sent = delayed(share, name=f"share-{uuid4().hex}", traverse=False)
        sums = self._each(delayed(partition_total), repeat(sent, len(self._parts)))
        while len(sums) > 1:
            sums = [delayed(added)(sums[start : start + FAN]) for start in range(0, len(sums), FAN)]
        return tuple(computed(sums, as_it_is=True)[0])

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[Matrix, IntArray]]:
        """All rows, brought here a partition at a time."""
        for part in self._parts:
            yield from ArrayRows(*computed(part)).blocks(size)

    def sample(self, n: int, random: np.random.Generator) -> ArrayRows | DaskRows:
        """About n rows, drawn by the workers: brought here up to :data:`LOCAL`, else in partitions of their own."""
        if n >= self.n:
            return self if self.n > LOCAL else self._here
        parts = self._drawn(Draw(self.counts.sum(axis=0), n, int(random.integers(2**63))))
        if n <= LOCAL:
            return brought(parts)
        parts = dask().persist(*parts, optimize_graph=False)
        sizes = computed([dask().delayed(len)(part[1]) for part in parts])
        X = _array([part[0] for part in parts], [(size, self.d) for size in sizes], self.X.dtype)
        codes = _array([part[1] for part in parts], [(size,) for size in sizes], self.codes.dtype)
        X, codes = dask().persist(X, codes)
        return DaskRows(X, codes, self.classes)

    def _drawn(self, draw: Draw) -> list[Any]:
        """What is drawn of each partition, and where it lies."""
        before = np.cumsum(self.counts, axis=0) - self.counts
        return self._each(dask().delayed(drawn, nout=2), repeat(draw, len(before)), before)


def _array(parts: Sequence[Any], shapes: Sequence[tuple[int, ...]], dtype: Any) -> Any:
    array = dask().array
    pairs = zip(parts, shapes, strict=True)
    return array.concatenate([array.from_delayed(part, shape, dtype) for part, shape in pairs])


def whole_rows(X: Any, name: str) -> Any:
    """A Dask array of floats, in chunks of known size that cut no row."""
    if X.ndim != 2 or not X.shape[1]:
        raise InputError(f"{name}: expected a two-dimensional array, got shape {X.shape}.")
    if any(np.isnan(size) for sizes in X.chunks for size in sizes):
        raise InputError(f"{name}: expected chunks of known size, got others; call compute_chunk_sizes() first.")
    if np.dtype(X.dtype).kind not in "fiub":
        raise InputError(f"{name}: expected real numbers, got values of type {X.dtype}.")
    return (X if np.dtype(X.dtype).kind == "f" else X.astype(np.float64)).rechunk({1: -1})


def partition_total(X: Matrix, codes: IntArray, share: Share) -> tuple[FloatArray, ...]:
    """The share of one partition, a block at a time."""
    return ArrayRows(X, codes).total(share)


def brought(parts: Sequence[Any]) -> ArrayRows:
    """Rows of several partitions with their codes, dense or sparse, as one in this process."""
    X, codes = zip(*computed(parts, as_it_is=True), strict=True)
    return ArrayRows(stacked(X), np.concatenate(codes))


def stacked(parts: Sequence[Matrix]) -> Matrix:
    """Rows of several blocks as one, all of them dense or all of them sparse."""
    if len({is_sparse(part) for part in parts}) > 1:
        raise InputError(
            "X: expected partitions that are all dense or all CSR, got both; convert them by X.map_blocks first."
        )
    return sp.vstack(parts, format="csr") if is_sparse(parts[0]) else np.concatenate(parts)


def partitions(array: Any) -> list[Any]:
    """The chunks of an array that is cut along its rows only, each to be computed where it lies."""
    return list(array.to_delayed().ravel())


def computed(values: Sequence[Any], *, as_it_is: bool = False) -> tuple[Any, ...]:
    """With one BLAS thread for each of Dask's, where these are in this process; in others Dask sees to that.

    A graph of partitions needs no further work, which may lose by whom its tasks should be done.
    """
    with crowded():
        return tuple(dask().compute(*values, optimize_graph=not as_it_is))
