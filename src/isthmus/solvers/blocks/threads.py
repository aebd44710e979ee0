"""A sum over blocks in a few threads: the same in every run with as many threads, and no more of them than allowed.

As many threads work on blocks as BLAS may use at this place, and BLAS gets one in each of them meanwhile. So whoever
limits BLAS limits us: the environment's OPENBLAS_NUM_THREADS, :func:`threadpoolctl.threadpool_limits`, the processes
of joblib and the workers of Dask, which have one each. Outside the main thread, as within joblib's or Dask's threads,
there is one: others are at work beside us.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np

from isthmus._arrays import FloatArray

Item = TypeVar("Item")
Sums: TypeAlias = tuple[FloatArray, ...]


@cache
def _controller() -> Any:
    """Of the BLAS libraries that are loaded: to find them takes milliseconds, to ask them does not."""
    import scipy.linalg  # noqa: F401  (SciPy has a BLAS of its own)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def n_threads() -> int:
    """How many threads may work on blocks here."""
    if threading.current_thread() is not threading.main_thread():
        return 1
    return max((int(library["num_threads"]) for library in _controller().info()), default=1)


class _OneEach:
    """Who is inside; the first one in sets BLAS to one thread, the last one out sets it back."""

    def __init__(self) -> None:
        self.lock, self.inside, self.limit = threading.Lock(), 0, None

    def enter(self) -> None:
        with self.lock:
            if not self.inside:
                self.limit = _controller().limit(limits=1)
            self.inside += 1

    def leave(self) -> None:
        with self.lock:
            self.inside -= 1
            if not self.inside and self.limit is not None:
                self.limit.restore_original_limits()
                self.limit = None


_one_each = _OneEach()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """One BLAS thread in this process while anybody is inside."""
    _one_each.enter()
    try:
        yield
    finally:
        _one_each.leave()


def summed(share: Callable[[Item], Sums], items: Sequence[Item]) -> Sums:
    """The sum of the shares of at least one item, in double precision.

    Each thread sums a run of items in their order, and the runs are added in theirs.

    Examples
    --------
    >>> [float(part) for part in summed(lambda x: (np.float64(x), np.float64(1.0)), [1.0, 2.0, 4.0])]
    [7.0, 3.0]
    """
    threads = min(n_threads(), len(items))
    if threads <= 1:
        return _run(share, items)
    cuts = np.linspace(0, len(items), threads + 1).astype(int)
    runs = [items[start:stop] for start, stop in pairwise(cuts)]
    with single_threaded_blas(), ThreadPoolExecutor(threads) as pool:
        return added(list(pool.map(lambda run: _run(share, run), runs)))


def _run(share: Callable[[Item], Sums], items: Sequence[Item]) -> Sums:
    total = [np.array(part, dtype=np.float64) for part in share(items[0])]
    for item in items[1:]:
        for sum_, part in zip(total, share(item), strict=True):
            sum_ += part
    return tuple(total)


def added(parts: Sequence[Sums]) -> Sums:
    """The sum of several sums, in their order.

    Examples
    --------
    >>> added([(np.ones(2),), (np.ones(2),)])
    (array([2., 2.]),)
    """
    return _run(lambda part: part, parts)
