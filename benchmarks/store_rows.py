"""``python -m benchmarks.store_rows [ROWS]``: a table of LanceDB under a new model, beside the client's own copies.

Runs in the environment of ``make test-stores``. Each run has a process of its own, and a copy of the same table of
384 columns that gets 768; runs take turns. The client's copies read the old table and write a new one of as many
rows of 768 columns: ``file`` takes the vectors from a .npy file, ``map`` computes X W + b. A migration reads a sample
first, checks all vectors, verifies what was written, and can be resumed and undone.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import lines, machine, threads

RECORDS = Path(__file__).with_name("store_rows.jsonl")
D_OLD, D_NEW, HIDDEN, SAMPLE, ROUNDS, SEED = 384, 768, 64, 2000, 3, 100
N_ROWS, BLOCK = 1_000_000, 4096
# The client's copy that each migration is compared with.
PEERS = {"convert": "map", "reembed": "file"}


def make_rows(folder: Path, n: int) -> None:
    """Write the table, and the vectors of the new model."""
    import lancedb
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(SEED)
    mixing = [rng.normal(size=(HIDDEN, d)).astype(np.float32) for d in (D_OLD, D_NEW)]
    new = np.lib.format.open_memmap(folder / "new.npy", "w+", np.float32, (n, D_NEW))
    schema = pa.schema([("id", pa.int64()), ("body", pa.string()), ("vector", pa.list_(pa.float32(), D_OLD))])

    def batches() -> Any:
        for start in range(0, n, BLOCK):
            ids = range(start, min(start + BLOCK, n))
            meaning = rng.standard_normal((len(ids), HIDDEN), dtype=np.float32)
            old, new[start : ids.stop] = (
                meaning @ M + 0.1 * rng.standard_normal((len(ids), M.shape[1]), dtype=np.float32) for M in mixing
            )
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(old.ravel()), D_OLD)
            texts = pa.array([f"the text of the document with the number {i}" for i in ids])
            yield pa.record_batch([pa.array(ids), texts, vectors], schema=schema)

    lancedb.connect(folder / "db").create_table("docs", pa.RecordBatchReader.from_batches(schema, batches()))


def copy_rows(folder: Path, work: Path, kind: str) -> None:
    """Write a table of the new vectors, as the client's own documentation does."""
    import lancedb
    import numpy as np
    import pyarrow as pa

    table, new = lancedb.connect(work).open_table("docs"), np.load(folder / "new.npy", mmap_mode="r")
    rng = np.random.default_rng(SEED)
    W, b = rng.normal(size=(D_OLD, D_NEW)).astype(np.float32), np.ones(D_NEW, np.float32)
    field = pa.field("vector", pa.list_(pa.float32(), D_NEW))
    schema = table.schema.set(table.schema.get_field_index("vector"), field)

    def batches() -> Any:
        start = 0
        for batch in table.search().select(table.schema.names).to_batches(BLOCK):
            if kind == "file":
                vectors = np.ascontiguousarray(new[start : start + len(batch)])
            else:
                vectors = batch.column("vector").flatten().to_numpy().reshape(-1, D_OLD) @ W + b
            start += len(batch)
            lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), D_NEW)
            yield pa.record_batch([batch.column("id"), batch.column("body"), lists], schema=schema)

    lancedb.connect(work).create_table("copy", pa.RecordBatchReader.from_batches(schema, batches()))


def prepare(folder: Path, work: Path, action: str) -> tuple[Any, Any]:
    """Return two functions: one reads the sample, the other migrates the table with what was learned from it."""
    import isthmus
    from isthmus._core.progress import Progress
    from isthmus.stores.store import Columns, open_store
    from isthmus.stores.store_migration import Embedding, map_vectors, plan_migration, run_migration, sample_store

    columns, quiet = Columns(text="body"), Progress(False, "")
    address, spec = f"lancedb://{work}/docs", str(folder / "new.npy")
    store = open_store(address, columns)
    embedding = Embedding.of(spec, store.n)
    read = partial(sample_store, store, embedding, SAMPLE, [], 0, quiet)

    def migrate(sample: Any) -> Any:
        adapter = isthmus.migrate(sample.old, sample.new, sample.pairs, kind="procrustes")
        vectors = sample.new if action == "reembed" else adapter.to_new(sample.old[:SAMPLE])
        plan = plan_migration(address, columns, store, action, spec, sample, vectors)
        make = partial(embedding, store) if action == "reembed" else map_vectors(adapter.to_new)
        (work / "run").mkdir()
        sample.save(work / "run", ())
        return partial(run_migration, plan, work / "run", make, quiet, store)

    return read, migrate


def measure(folder: Path, kind: str) -> dict[str, object]:
    """The figures of one run; imports are not counted."""
    import lancedb  # noqa: F401
    import pyarrow  # noqa: F401

    with tempfile.TemporaryDirectory(dir=folder) as place:
        work = Path(place)
        shutil.copytree(folder / "db", work, dirs_exist_ok=True)
        seconds, cpu = [], []

        def clock(call: Any) -> Any:
            began = time.perf_counter(), time.process_time()
            found = call()
            seconds.append(round(time.perf_counter() - began[0], 2))
            cpu.append(round(time.process_time() - began[1], 2))
            return found

        memory: list[float] = []
        with watch_memory(memory):
            if kind in PEERS:
                read, migrate = prepare(folder, work, kind)
                clock(migrate(clock(read)))
            else:
                clock(partial(copy_rows, folder, work, kind))
    return {"kind": kind, "seconds": seconds, "cpu": cpu, "peak": round(max(memory))}


@contextmanager
def watch_memory(found: list[float]) -> Iterator[None]:
    """Note the largest anonymous memory of this process, in MB: pages of mapped files belong to the system."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            status = Path("/proc/self/status").read_text(encoding="utf-8")
            found.append(int(status.partition("RssAnon:")[2].split()[0]) / 1e3)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def table() -> str:
    """The medians of the records."""
    rows, records = [], lines.read(RECORDS)
    for n in sorted({record["n"] for record in records}):
        found = {kind: [r for r in records if (r["kind"], r["n"]) == (kind, n)] for kind in (*PEERS, *PEERS.values())}
        for kind, peer in PEERS.items():
            ours, theirs = found[kind], found[peer]
            cells = []
            for unit in ("cpu", "seconds"):
                sample, run = (median(r[unit][i] for r in ours) for i in (0, 1))
                copy = median(r[unit][0] for r in theirs)
                cells += [
                    f"{sample:.1f}",
                    f"{run:.1f}",
                    f"{copy:.1f}",
                    f"**{run / copy:.2f}**",
                    f"{(sample + run) / copy:.2f}",
                ]
            memory = [f"{median(r['peak'] for r in of):,.0f}" for of in (ours, theirs)]
            rows.append((f"{n:,}", kind, *cells, *memory))
    said = "sample", "apply", "copy", "apply / copy", "both / copy"
    head = "rows", "action", *(f"{word}, {unit}" for unit in ("processor s", "elapsed s") for word in said)
    return lines.table((*head, "memory, MB", "memory of the copy, MB"), rows)


if __name__ == "__main__":
    threads.pin()
    if len(sys.argv) == 3:
        print(json.dumps(measure(Path(sys.argv[1]), sys.argv[2])))
        sys.exit()
    n = int(sys.argv[1]) if len(sys.argv) == 2 else N_ROWS
    with tempfile.TemporaryDirectory() as place:
        make_rows(Path(place), n)
        for turn in range(ROUNDS):
            for kind in ("file", "reembed", "map", "convert"):
                print("…", turn, kind, file=sys.stderr, flush=True)
                record = lines.run_module("benchmarks.store_rows", place, kind)
                lines.add(RECORDS, {"n": n, **record, "load": round(machine.load(), 1)})
    lines.fill(lines.DOCS / "migration.md", {"benchmarks.store_rows": table()})
    print(table())
