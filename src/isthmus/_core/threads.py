"""Threads: sums over blocks in as many as BLAS may use, and a single one where arrays are small.

A sum is the same to the last bit in every run with as many threads.

As many threads work on blocks as BLAS may use at this place, and BLAS gets one in each of them meanwhile. So whoever
limits BLAS limits us: the environment's OPENBLAS_NUM_THREADS, :func:`threadpoolctl.threadpool_limits`, the processes
of joblib and the workers of Dask, which have one each. Outside the main thread, as within joblib's or Dask's threads,
there is one: other threads are at work at the same time.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache, wraps
from inspect import isgeneratorfunction
from itertools import pairwise
from types import FunctionType
from typing import Any, TypeAlias, TypeVar

import numpy as np

from isthmus._core.validation import FloatArray

Item = TypeVar("Item")
Value = TypeVar("Value")
Sums: TypeAlias = tuple[FloatArray, ...]
# All rows times all columns of a small fit, at most: BLAS hands out work in pieces of microseconds, and waits for the
# slowest thread, which on a busy machine is not even running. Decompositions are made of such pieces: with 6,000
# pairs of 256 and 384 columns, two threads on two busy cores took five to nine times as long as one, and on idle ones
# save half of the time at most (benchmarks/THREADS.md). Sums over blocks have threads of their own, which never wait.
SMALL = 32_000_000


@lru_cache(maxsize=2)
def _find_libraries(api: str, n_modules: int) -> Any:
    """Return a controller of the libraries of BLAS or OpenMP, kept because to find them takes milliseconds.

    Any import may load one more, such as FAISS, so they are looked for again once there are other modules.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api=api)


def _controller() -> Any:
    """Return a controller of the BLAS libraries."""
    import scipy.linalg  # noqa: F401  (SciPy has a BLAS of its own)

    return _find_libraries("blas", len(sys.modules))


def openmp_controller() -> Any:
    """Return a controller of OpenMP, whose searches for neighbours wait for idle threads as BLAS does."""
    return _find_libraries("openmp", len(sys.modules))


def _blas_threads() -> int:
    return max((int(library.get_num_threads()) for library in _controller().lib_controllers), default=1)


def _release_control() -> None:
    """Let any thread limit OpenBLAS, not only the first one that did (threadpoolctl from 3.8 on).

    The last thread out is often another one than the first one in, and the caller's limits have to work again.
    """
    for library in _controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


class _SingleThreadedBlas:
    """A count of the threads inside: the first one in sets BLAS to one thread, the last one out sets it back."""

    def __init__(self) -> None:
        self.lock, self.inside, self.outside = threading.Lock(), 0, 1
        self.limit: Any = None

    def enter(self) -> None:
        with self.lock:
            if not self.inside:
                self.outside = _blas_threads()
                _release_control()
                self.limit = _controller().limit(limits=1) if self.outside > 1 else None
            self.inside += 1

    def leave(self) -> None:
        with self.lock:
            self.inside -= 1
            if not self.inside and self.limit is not None:
                _release_control()
                self.limit.restore_original_limits()
                _release_control()


_single, _here = _SingleThreadedBlas(), threading.local()


def n_threads() -> int:
    """Return how many threads may work on blocks here."""
    if threading.current_thread() is not threading.main_thread() or getattr(_here, "nested", False):
        return 1
    return _single.outside if _single.inside else _blas_threads()


@contextmanager
def single_threaded_blas(when: bool = True) -> Iterator[None]:
    """Limit BLAS to one thread in this process; there may be several threads over blocks."""
    if not when:
        yield
        return
    _single.enter()
    try:
        yield
    finally:
        _single.leave()


@contextmanager
def cap_inner_threads() -> Iterator[None]:
    """Limit BLAS to one thread, and this thread to one block at a time, where a scheduler has threads of its own."""
    before = getattr(_here, "nested", False)
    _here.nested = True
    try:
        with single_threaded_blas():
            yield
    finally:
        _here.nested = before


def is_small(*shapes: tuple[int, ...]) -> bool:
    """Return whether matrices of these shapes, in all, are so small that a second BLAS thread does not pay.

    Examples
    --------
    >>> is_small((5000, 768), (5000, 1536)), is_small((20_000, 768), (20_000, 1536))
    (True, False)
    """
    rows, columns = (sum(shape[axis] for shape in shapes) for axis in (0, 1))
    return rows * columns <= SMALL


Entry = TypeVar("Entry", bound=Callable[..., Any])
# Methods of an estimator that see to it themselves, once its transformers have said how wide rows become.
UNCAPPED = frozenset({"fit", "update"})


def cap_threads(function: Entry) -> Entry:
    """Decorate a public function: one thread of BLAS, and of OpenMP, while it works on small arrays.

    The size is that of all arguments together: arrays, frames, rows in blocks, lists of rows, and objects that say by
    ``held_shape`` how many rows they hold. Where nothing says any size, nothing is capped.

    Examples
    --------
    >>> blas_here = cap_threads(lambda X: _blas_threads())
    >>> blas_here(np.zeros((30, 20)))
    1
    """

    @wraps(function)
    def wrapper(*args: Any, **options: Any) -> Any:
        shapes = [shape for value in (*args, *options.values()) if (shape := _shape_of(value)) is not None]
        if not shapes or not is_small(*shapes):
            return function(*args, **options)
        with single_threaded_blas(), openmp_controller().limit(limits=1):
            return function(*args, **options)

    wrapper.caps_threads = True  # type: ignore[attr-defined]
    return wrapper  # type: ignore[return-value]


def cap_methods(cls: type[Item], uncapped: Container[str] = ()) -> type[Item]:
    """Decorate a class: :func:`cap_threads` on every public method that the class itself defines.

    Examples
    --------
    >>> @cap_methods
    ... class Threads:
    ...     def of(self, X):
    ...         return _blas_threads()
    >>> Threads().of(np.zeros((30, 20)))
    1
    """
    for name, method in list(vars(cls).items()):
        if name.startswith("_") or name in uncapped:
            continue
        if isinstance(method, FunctionType) and not isgeneratorfunction(method):
            setattr(cls, name, cap_threads(method))
        elif isinstance(inner := getattr(method, "fn", None), FunctionType):  # behind scikit-learn's available_if
            method.fn = cap_threads(inner)
    return cls


def _shape_of(value: Any) -> tuple[int, int] | None:
    """Return rows and columns of an argument, or None where it is no table."""
    shape = getattr(value, "held_shape", None) or getattr(value, "shape", None)
    if isinstance(value, list | tuple) and len(value) and isinstance(value[0], list | tuple | np.ndarray):
        # Not np.size of a list, which fails where its rows are of unequal length: that is for the checks to say.
        shape = len(value), value[0].size if isinstance(value[0], np.ndarray) else len(value[0])
    elif shape is None and hasattr(value, "blocks") and hasattr(value, "total"):
        shape = value.n, value.d
    return shape if isinstance(shape, tuple) and len(shape) == 2 else None


def sum_over_items(share: Callable[[Item], Sums], items: Sequence[Item]) -> Sums:
    """Return the sum of the shares of all items in double precision; nothing where there are none.

    Each thread sums a run of items in their order, and the runs are added in theirs.

    Examples
    --------
    >>> [float(part) for part in sum_over_items(lambda x: (np.float64(x), np.float64(1.0)), [1.0, 2.0, 4.0])]
    [7.0, 3.0]
    """
    return add_parts(_run_in_threads(lambda run: _sum_run(share, run), items)) if len(items) else ()


def map_over_items(function: Callable[[Item], Value], items: Sequence[Item]) -> list[Value]:
    """Return the function's value for each item, computed in a few threads.

    Examples
    --------
    >>> map_over_items(abs, [-1, 2])
    [1, 2]
    """
    return [value for run in _run_in_threads(lambda run: [function(item) for item in run], items) for value in run]


def _run_in_threads(function: Callable[[Sequence[Item]], Value], items: Sequence[Item]) -> list[Value]:
    """Return the function's value for each thread's run of items."""
    threads = min(n_threads(), len(items))
    if threads <= 1:
        return [function(items)]
    # Runs of neighbouring items, not a queue: what a thread adds up does not depend on how fast the others are.
    cuts = np.linspace(0, len(items), threads + 1).astype(int)
    runs = [items[start:stop] for start, stop in pairwise(cuts)]
    with single_threaded_blas(), ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, runs))


def _sum_run(share: Callable[[Item], Sums], items: Sequence[Item]) -> Sums:
    # A copy, in which the others are added up: shares may be views of something else.
    total = [np.array(part, dtype=np.float64) for part in share(items[0])]
    for item in items[1:]:
        for sum_, part in zip(total, share(item), strict=True):
            sum_ += part
    return tuple(total)


def add_parts(parts: Sequence[Sums]) -> Sums:
    """Return the sum of several sums, added in their order.

    Examples
    --------
    >>> add_parts([(np.ones(2),), (np.ones(2),)])
    (array([2., 2.]),)
    """
    return _sum_run(lambda part: part, parts) if len(parts) > 1 else parts[0]
