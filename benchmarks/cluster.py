"""Two workers of Dask against one process on the same two cores, and what travels between them."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.record import Bar, Options, Record, Verdict, verdict

SOLVED, PASSED = ((100_000, 128), (400_000, 128), (100_000, 256)), (300_000, 256)
"""Rows and columns of the problems that are solved, and of that whose passes are timed."""
SEEDS = 100, 101, 102
LABELLED, CLASSES, PARTITIONS, PASSES, IDLE, MANY = 60, 6, 8, 5, 5.0, 512
OVERHEAD = 0.25
TOLERANCE = 1e-4

# For ``dask.config.set``, before a cluster is started. Without the first, rows travel to workers that are idle;
# without the second, Dask looks at what its workers do a hundred times per second; without the next three, every
# process measures itself fifty, ten and two times per second; without the last two, workers return memory after each
# block, and get it back page by page.
QUIET = {
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**28,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**28,
}


@dataclass(frozen=True)
class Spent:
    """One solve: processor and wall seconds, steps on all rows, the objective, and what came from the workers."""

    processor: float
    wall: float
    steps: int = 0
    objective: float = 0.0
    megabytes: float = 0.0


def run(record: Record, options: Options, say: Callable[[str], None]) -> None:
    """Add the rows of this section to the record."""
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set(QUIET),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):

        def processor() -> float:
            return time.process_time() + sum(client.run(time.process_time).values())

        for n, d in SOLVED:
            pairs = []
            for seed in SEEDS:
                say(f"{n:,} rows, d {d}+{d}, seed {seed}")
                pairs.append(one_and_two(client, processor, n, d, seed))
            record.bars += compare_solves(n, d, pairs)
        say(f"passes over {PASSED[0]:,} rows")
        record.bars.append(compare_passes(*pass_seconds(processor)))
        record.bars.append(per_partition(processor, say))
        record.bars.append(idle(processor))
    record.bars.append(travelling(say))


def one_and_two(client: Any, processor: Callable[[], float], n: int, d: int, seed: int) -> tuple[Spent, Spent]:
    """The same solve by this process with two threads, and by the workers."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(2, user_api="blas"):
        one = spent(block_problem(in_memory(n, d, seed), *target(d, seed)), time.process_time)
    problem = block_problem(on_workers(n, d, seed), *target(d, seed))
    before = sent(client)
    two = spent(problem, processor)
    return one, replace(two, megabytes=(sent(client) - before) / 1e6)


def part(k: int, n: int, d: int, seed: int) -> tuple[Any, Any]:
    """One partition of normal classes, in single precision, and its codes; centred but for chance."""
    random, centres = np.random.default_rng([seed, k]), np.random.default_rng(seed).normal(size=(CLASSES, d))
    codes = np.arange(n) % CLASSES
    X = random.standard_normal((n, d), dtype=np.float32)
    X += (centres - centres.mean(axis=0)).astype(np.float32)[codes]
    return X, codes


def target(d: int, seed: int = SEEDS[0]) -> tuple[Any, Any]:
    """Labelled rows of the other space, and their codes."""
    random, y = np.random.default_rng([seed, 2**32]), np.arange(LABELLED) % CLASSES
    rows = random.normal(size=(LABELLED, d)) + random.normal(size=(CLASSES, d))[y]
    return rows - rows.mean(axis=0), y


def in_memory(n: int, d: int, seed: int = SEEDS[0]) -> Any:
    """All partitions in one array."""
    from isthmus._core.rows import ArrayRows

    X, codes = zip(*(part(k, n // PARTITIONS, d, seed) for k in range(PARTITIONS)), strict=True)
    return ArrayRows(np.concatenate(X), np.concatenate(codes))


def on_workers(n: int, d: int, seed: int = SEEDS[0], partitions: int = PARTITIONS) -> Any:
    """The same rows, made by the workers and kept there."""
    import dask
    import dask.array as da

    from isthmus.data.blocks import DaskRows

    m = n // partitions
    parts = [dask.delayed(part, nout=2)(k, m, d, seed) for k in range(partitions)]
    X = da.concatenate([da.from_delayed(each[0], (m, d), np.float32) for each in parts])
    codes = da.concatenate([da.from_delayed(each[1], (m,), np.int64) for each in parts])
    return DaskRows(*dask.persist(X, codes))


def block_problem(rows: Any, target: Any, y: Any) -> Any:
    """The problem of MLHD's defaults, but for the total weight 1,000."""
    from isthmus.geometry.row_blocks import compute_moments
    from isthmus.solvers.blocks.problem import BlockProblem
    from isthmus.solvers.logdet import MeanAlignment

    found = compute_moments(rows, CLASSES)
    spread = float(found.variances.sum() + target.var(axis=0).sum())
    sign = np.where(np.arange(CLASSES)[:, None] == y, 1.0, -1.0)
    alignment = MeanAlignment(np.concatenate([found.mean, -target.mean(axis=0)]), 100.0 / spread)
    bound = np.where(sign > 0, 0.5 * spread, 1.5 * spread)
    return BlockProblem(rows, target, sign, 1000.0 / rows.n, bound, alignment)


def spent(problem: Any, processor: Callable[[], float]) -> Spent:
    """What a solve costs, all processes together."""
    from isthmus.solvers.blocks.solver import BlockNewton

    began, wall = processor(), time.perf_counter()
    result = BlockNewton(tol=TOLERANCE).solve(problem)
    wall, used = time.perf_counter() - wall, processor() - began
    return Spent(used, wall, result.n_iter, result.point.primal)


def pass_seconds(processor: Callable[[], float]) -> list[Spent]:
    """One pass over all rows, the same for both: in this process with two threads, and on the workers."""
    from threadpoolctl import threadpool_limits

    whole, rows = in_memory(*PASSED), on_workers(*PASSED)
    share, times = pass_share(rows), ([], [])
    for _ in range(PASSES):
        for kept, each in zip(times, (whole, rows), strict=True):
            began, wall = processor(), time.perf_counter()
            with threadpool_limits(2, user_api="blas"):
                each.total(share)
            kept.append((processor() - began, time.perf_counter() - wall))
    return [Spent(*np.median(kept, axis=0)) for kept in times]


def pass_share(rows: Any) -> Any:
    """What a pass over rows asks of a block, at the first metric."""
    from isthmus.solvers.blocks.problem import WhitenedFrame, reduce_problem, sum_block

    task, _ = reduce_problem(block_problem(rows, *target(rows.d)))
    return partial(sum_block, WhitenedFrame(task, np.eye(task.d)).metric)


def sent(client: Any) -> int:
    """Bytes that workers have sent, to one another and to us."""
    return sum(client.run(_sent).values())


def _sent(dask_worker: Any) -> int:
    return int(dask_worker.transfer_outgoing_bytes_total)


def compare_solves(n: int, d: int, pairs: Sequence[tuple[Spent, Spent]]) -> list[Bar]:
    """Whole solves, of several seeds: what two workers cost more than one process, and whether they find the same."""
    over = [two.processor / one.processor - 1.0 for one, two in pairs]
    one, two = ([pair[k] for pair in pairs] for k in (0, 1))
    walls, seconds = (
        tuple(float(np.median([getattr(each, name) for each in kind])) for kind in (two, one))
        for name in ("wall", "processor")
    )
    steps = [" ".join(str(each.steps) for each in kind) for kind in (two, one)]
    differences = [abs(b.objective / a.objective - 1.0) for a, b in pairs]
    where = f"{n:,} rows, d {d}+{d}, gap {TOLERANCE:.0e}"
    return [
        Bar(
            f"{where}: a whole solve by 2 workers, at most {OVERHEAD:.0%} more processor time than by 1 process",
            f"median {np.median(over):+.0%}, worst {max(over):+.0%} of {len(pairs)} seeds; medians: processor "
            f"{seconds[0]:.1f} s against {seconds[1]:.1f} s, wall {walls[0]:.1f} s against {walls[1]:.1f} s; "
            f"{max(each.megabytes for each in two):.0f} MB from the workers in all",
            verdict(max(over) <= OVERHEAD),
        ),
        Bar(
            f"{where}: the same steps, the same objective",
            f"steps on all rows {steps[0]} against {steps[1]}; objectives differ by {max(differences):.0e} at most",
            verdict(steps[0] == steps[1] and max(differences) <= TOLERANCE / 10),
        ),
    ]


def compare_passes(one: Spent, two: Spent) -> Bar:
    """Passes alone."""
    over, (n, d) = two.processor / one.processor - 1.0, PASSED
    return Bar(
        f"{n:,} rows, d {d}+{d}: a pass by 2 workers, at most {OVERHEAD:.0%} more processor time than by 1 process",
        f"{over:+.0%} ({two.processor:.2f} s against {one.processor:.2f} s; wall {two.wall:.2f} s against "
        f"{one.wall:.2f} s; {1e6 * one.processor / n:.1f} µs per row)",
        verdict(over <= OVERHEAD),
    )


def per_partition(processor: Callable[[], float], say: Callable[[str], None]) -> Bar:
    """What a partition costs in a pass beside its rows: in all processes, and in this one, where the scheduler is."""
    say("many partitions")
    rows = on_workers(MANY * 2, PASSED[1], partitions=MANY)
    share, times = pass_share(rows), []
    for _ in range(PASSES):
        began, own = processor(), time.process_time()
        rows.total(share)
        own = time.process_time() - own
        times.append((processor() - began, own))
    everywhere, here = 1e3 * np.median(times, axis=0) / MANY
    return Bar(
        f"a partition, {MANY} of two rows each, d {PASSED[1]}+{PASSED[1]}",
        f"{everywhere:.1f} ms of processor time per pass, {here:.1f} ms of it in the solver and the scheduler",
        Verdict.NOTE,
    )


def idle(processor: Callable[[], float]) -> Bar:
    """What a cluster costs that does nothing."""
    began, wall = processor(), time.perf_counter()
    time.sleep(IDLE)
    used = (processor() - began) / (time.perf_counter() - wall)
    return Bar("a cluster of 2 workers that waits", f"{used:.3f} s of processor time per second", Verdict.NOTE)


def travelling(say: Callable[[str], None]) -> Bar:
    """What goes out and comes back in a pass, for one number of rows and for four times as many."""
    say("bytes")
    sizes, d = [], PASSED[1]
    for n in (8_000, 32_000):
        rows = in_memory(n, d)
        share = pass_share(rows)
        sizes.append((len(pickle.dumps(share)), len(pickle.dumps(rows.total(share)))))
    (out, back), more = sizes
    return Bar(
        f"d {d}+{d}, {LABELLED} labelled rows: bytes per pass don't depend on the number of rows",
        f"{out / 1e3:.0f} kB out, {back / 1e3:.0f} kB back, for 8,000 rows and for 32,000",
        verdict((out, back) == more) if out else Verdict.OPEN,
    )
