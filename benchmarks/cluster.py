"""Two workers of Dask against one process on the same two cores, and what travels between them."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.record import Bar, Options, Record, Verdict, verdict

N, D, LABELLED, CLASSES = 200_000, 128, 60, 6
PARTITIONS = 8
OVERHEAD = 0.25
QUIET = {"distributed.worker.profile.enabled": False}
"""Dask looks at what its workers do a hundred times per second, and takes 2 % of a core for that."""
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
    import dask.array as da
    from distributed import Client, LocalCluster
    from threadpoolctl import threadpool_limits

    from isthmus.scale import ArrayRows, DaskRows

    X, codes, target, y = data(N)
    say(f"one process, {N:,} rows")
    with threadpool_limits(2, user_api="blas"):
        one = spent(block_problem(ArrayRows(X, codes), target, y), time.process_time)
    say("two workers")
    with (
        dask.config.set(QUIET),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):

        def processor() -> float:
            return time.process_time() + sum(client.run(time.process_time).values())

        lazy = da.from_array(X, chunks=(N // PARTITIONS, D)).persist()
        rows = DaskRows.of(lazy, codes)
        problem = block_problem(rows, target, y)
        before = sent(client)
        two = spent(problem, processor)
        moved = sent(client) - before
        say("passes")
        passes = pass_seconds(problem, ArrayRows(X, codes), processor)
    record.bars += bars(one, two, passes, moved)
    record.bars.append(travelling(say))


def data(n: int, seed: int = 100) -> tuple[Any, Any, Any, Any]:
    """Normal classes in two spaces: source rows in single precision with codes, labelled target rows with theirs."""
    random = np.random.default_rng(seed)
    codes, y = random.integers(CLASSES, size=n), np.arange(LABELLED) % CLASSES
    X = random.standard_normal((n, D), dtype=np.float32) + random.normal(size=(CLASSES, D)).astype("f")[codes]
    target = random.normal(size=(LABELLED, D)) + random.normal(size=(CLASSES, D))[y]
    return X - X.mean(axis=0), codes, target - target.mean(axis=0), y


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


def pass_seconds(problem: Any, whole: Any, processor: Callable[[], float]) -> tuple[Spent, Spent]:
    """One pass over all rows, the same for both: in this process with two threads, and on the workers."""
    from threadpoolctl import threadpool_limits

    from isthmus.solvers.blocks.frame import Frame
    from isthmus.solvers.blocks.point import PassShare
    from isthmus.solvers.blocks.reduction import reduced

    task, rows = reduced(problem)
    share, times = PassShare(Frame(task, np.eye(task.d)).lens), ([], [])
    for _ in range(5):
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
    where = f"{N:,} rows, d {D}+{D}"
    here, there = passes
    over = there.processor / here.processor - 1.0
    same = abs(one.objective - two.objective) <= TOLERANCE * max(1.0, abs(one.objective))
    return [
        Bar(
            f"{where}: a pass by 2 workers costs at most {OVERHEAD:.0%} more processor time than by 1 process",
            f"{over:+.0%} ({there.processor:.2f} s against {here.processor:.2f} s; "
            f"wall {there.wall:.2f} s against {here.wall:.2f} s)",
            verdict(over <= OVERHEAD),
        ),
        Bar(
            f"{where}, gap {TOLERANCE:.0e}: a whole solve, iteration for iteration, at most {OVERHEAD:.0%} more",
            f"{_per_step(two) / _per_step(one) - 1.0:+.0%} ({two.processor:.1f} s in {two.iterations} iterations "
            f"against {one.processor:.1f} s in {one.iterations}; wall {two.wall:.1f} s against {one.wall:.1f} s; "
            f"{moved / 1e6:.1f} MB from the workers in all)",
            verdict(_per_step(two) <= (1.0 + OVERHEAD) * _per_step(one)),
        ),
        Bar(
            "the same objective, to the gap",
            f"{two.objective:.6f} against {one.objective:.6f}",
            verdict(same),
        ),
    ]


def _per_step(each: Spent) -> float:
    return each.processor / max(1, each.iterations)


def travelling(say: Callable[[str], None]) -> Bar:
    """What goes out and comes back in a pass, for one number of rows and for four times as many."""
    from isthmus.scale import ArrayRows
    from isthmus.solvers.blocks.frame import Frame
    from isthmus.solvers.blocks.point import PassShare
    from isthmus.solvers.blocks.reduction import reduced

    say("bytes")
    sizes = []
    for n in (10_000, 40_000):
        X, codes, target, y = data(n)
        rows = ArrayRows(X, codes)
        task, _ = reduced(block_problem(rows, target, y))
        share = PassShare(Frame(task, np.eye(task.d)).lens)
        sizes.append((len(pickle.dumps(share)), len(pickle.dumps(rows.total(share)))))
    (out, back), more = sizes
    return Bar(
        "bytes per pass don't depend on the number of rows",
        f"{out / 1e3:.0f} kB out, {back / 1e3:.0f} kB back, for 10,000 rows and for 40,000",
        verdict((out, back) == more) if out else Verdict.OPEN,
    )
