"""Two workers of Dask against one process on the same two cores, and what travels between them."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.record import Bar, Options, Record, Verdict, verdict

SOLVED, PASSED = (400_000, 128), (300_000, 256)
"""Rows and columns of the problem that is solved, and of that whose passes are timed."""
LABELLED, CLASSES, PARTITIONS, PASSES = 60, 6, 8, 3
OVERHEAD = 0.25
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**28,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**28,
}
"""Without the first, Dask looks at what its workers do a hundred times per second; without the others, its workers
give memory back after each block, and get it anew, page by page."""
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Spent:
    """One solve: processor and wall seconds, iterations, and the objective."""

    processor: float
    wall: float
    iterations: int
    objective: float


def run(record: Record, options: Options, say: Callable[[str], None]) -> None:
    """Add the rows of this section to the record."""
    import dask
    from distributed import Client, LocalCluster
    from threadpoolctl import threadpool_limits

    say(f"one process, {SOLVED[0]:,} rows")
    with threadpool_limits(2, user_api="blas"):
        one = spent(block_problem(in_memory(*SOLVED), *target(SOLVED[1])), time.process_time)
    with (
        dask.config.set(QUIET),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):

        def processor() -> float:
            return time.process_time() + sum(client.run(time.process_time).values())

        say("two workers")
        before = sent(client)
        two = spent(block_problem(on_workers(*SOLVED), *target(SOLVED[1])), processor)
        moved = sent(client) - before
        say(f"passes over {PASSED[0]:,} rows")
        passes = pass_seconds(processor)
    record.bars += bars(one, two, passes, moved)
    record.bars.append(travelling(say))


def part(k: int, n: int, d: int) -> tuple[Any, Any]:
    """One partition of normal classes, in single precision, and its codes; centred but for chance."""
    random, centres = np.random.default_rng([100, k]), np.random.default_rng(100).normal(size=(CLASSES, d))
    codes = np.arange(n) % CLASSES
    X = random.standard_normal((n, d), dtype=np.float32)
    X += (centres - centres.mean(axis=0)).astype(np.float32)[codes]
    return X, codes


def target(d: int) -> tuple[Any, Any]:
    """Labelled rows of the other space, and their codes."""
    random, y = np.random.default_rng(101), np.arange(LABELLED) % CLASSES
    rows = random.normal(size=(LABELLED, d)) + random.normal(size=(CLASSES, d))[y]
    return rows - rows.mean(axis=0), y


def in_memory(n: int, d: int) -> Any:
    """All partitions in one array."""
    from isthmus.scale import ArrayRows

    X, codes = zip(*(part(k, n // PARTITIONS, d) for k in range(PARTITIONS)), strict=True)
    return ArrayRows(np.concatenate(X), np.concatenate(codes))


def on_workers(n: int, d: int) -> Any:
    """The same rows, made by the workers and kept there."""
    import dask
    import dask.array as da

    from isthmus.scale import DaskRows

    m = n // PARTITIONS
    parts = [dask.delayed(part, nout=2)(k, m, d) for k in range(PARTITIONS)]
    X = da.concatenate([da.from_delayed(each[0], (m, d), np.float32) for each in parts])
    codes = da.concatenate([da.from_delayed(each[1], (m,), np.int64) for each in parts])
    return DaskRows(*dask.persist(X, codes))


def block_problem(rows: Any, target: Any, y: Any) -> Any:
    """The problem of MLHD's defaults, but for the total weight 1,000."""
    from isthmus.objective import Alignment
    from isthmus.scale.moments import moments
    from isthmus.solvers import BlockProblem

    found = moments(rows, CLASSES)
    spread = float(found.variances.sum() + target.var(axis=0).sum())
    sign = np.where(np.arange(CLASSES)[:, None] == y, 1.0, -1.0)
    alignment = Alignment(np.concatenate([found.mean, -target.mean(axis=0)]), 100.0 / spread)
    bound = np.where(sign > 0, 0.5 * spread, 1.5 * spread)
    return BlockProblem(rows, target, sign, 1000.0 / rows.n, bound, alignment)


def spent(problem: Any, processor: Callable[[], float]) -> Spent:
    """What a solve costs, all processes together."""
    from isthmus.solvers import BlockNewton

    began, wall = processor(), time.perf_counter()
    result = BlockNewton(tol=TOLERANCE).solve(problem)
    wall, used = time.perf_counter() - wall, processor() - began
    return Spent(used, wall, result.n_iter, result.point.primal)


def pass_seconds(processor: Callable[[], float]) -> tuple[Spent, Spent]:
    """One pass over all rows, the same for both: in this process with two threads, and on the workers."""
    from threadpoolctl import threadpool_limits

    from isthmus.solvers.blocks.frame import Frame
    from isthmus.solvers.blocks.point import PassShare
    from isthmus.solvers.blocks.reduction import reduced

    whole, rows = in_memory(*PASSED), on_workers(*PASSED)
    task, _ = reduced(block_problem(rows, *target(PASSED[1])))
    share, times = PassShare(Frame(task, np.eye(task.d)).lens), ([], [])
    for _ in range(PASSES):
        for kept, each in zip(times, (whole, rows), strict=True):
            began, wall = processor(), time.perf_counter()
            with threadpool_limits(2, user_api="blas"):
                each.total(share)
            kept.append((processor() - began, time.perf_counter() - wall))
    medians = [np.median(kept, axis=0) for kept in times]
    return Spent(*medians[0], 1, 0.0), Spent(*medians[1], 1, 0.0)


def sent(client: Any) -> int:
    """Bytes that workers have sent, to one another and to us."""
    return sum(client.run(_sent).values())


def _sent(dask_worker: Any) -> int:
    return int(dask_worker.transfer_outgoing_bytes_total)


def bars(one: Spent, two: Spent, passes: tuple[Spent, Spent], moved: int) -> list[Bar]:
    """The promises of a cluster, and what was measured."""
    where, passed = (f"{n:,} rows, d {d}+{d}" for n, d in (SOLVED, PASSED))
    here, there = passes
    over = there.processor / here.processor - 1.0
    same = abs(one.objective - two.objective) <= TOLERANCE * max(1.0, abs(one.objective))
    return [
        Bar(
            f"{passed}: a pass by 2 workers costs at most {OVERHEAD:.0%} more processor time than by 1 process",
            f"{over:+.0%} ({there.processor:.2f} s against {here.processor:.2f} s; "
            f"wall {there.wall:.2f} s against {here.wall:.2f} s)",
            verdict(over <= OVERHEAD),
        ),
        Bar(
            f"{where}, gap {TOLERANCE:.0e}: a whole solve by 2 workers, at most {OVERHEAD:.0%} more than by one",
            f"{two.processor / one.processor - 1.0:+.0%} ({two.processor:.1f} s in {two.iterations} iterations "
            f"against {one.processor:.1f} s in {one.iterations}; wall {two.wall:.1f} s against {one.wall:.1f} s; "
            f"{moved / 1e6:.1f} MB from the workers in all)",
            verdict(two.processor <= (1.0 + OVERHEAD) * one.processor),
        ),
        Bar(
            "the same objective, to the gap",
            f"{two.objective:.6f} against {one.objective:.6f}",
            verdict(same),
        ),
    ]


def travelling(say: Callable[[str], None]) -> Bar:
    """What goes out and comes back in a pass, for one number of rows and for four times as many."""
    from isthmus.solvers.blocks.frame import Frame
    from isthmus.solvers.blocks.point import PassShare
    from isthmus.solvers.blocks.reduction import reduced

    say("bytes")
    sizes, d = [], PASSED[1]
    for n in (8_000, 32_000):
        rows = in_memory(n, d)
        task, _ = reduced(block_problem(rows, *target(d)))
        share = PassShare(Frame(task, np.eye(task.d)).lens)
        sizes.append((len(pickle.dumps(share)), len(pickle.dumps(rows.total(share)))))
    (out, back), more = sizes
    return Bar(
        f"d {d}+{d}, {LABELLED} labelled rows: bytes per pass don't depend on the number of rows",
        f"{out / 1e3:.0f} kB out, {back / 1e3:.0f} kB back, for 8,000 rows and for 32,000",
        verdict((out, back) == more) if out else Verdict.OPEN,
    )
