"""Each store through the real executable: dry run, gate, apply, kill -9, resume, rollback."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from conftest import start_process, wait_until
from tests.stores.store_makers import SIZES, make_store, read_rows

pytestmark = pytest.mark.stores
KILLS = {"lancedb": 10, "chroma": 10, "qdrant": 10, "pgvector": 10}


def isthmus(*words, status=0):
    command = [sys.executable, "-m", "isthmus", *map(str, words)]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == status, found.stderr + found.stdout
    return found.stdout


def migrate_words(address, folder, action):
    learn = ("--text", "body", "--sample", "60", "--kind", "ridge", "--quiet")
    return [
        "migrate",
        address,
        "--embed",
        folder / "new.npy",
        *learn,
        "--apply",
        action,
        "-o",
        folder / f"run-{action}",
    ]


def same(first, second):
    return first[:2] == second[:2] and first[2].shape == second[2].shape and np.array_equal(first[2], second[2])


def kill_somewhere(processes, words, manifest, longest, chance):
    """Run a command until a random moment after its manifest is there, and kill it with all that it started."""
    process = start_process(processes, [sys.executable, "-m", "isthmus", *words], stdout=subprocess.DEVNULL)
    wait_until(lambda: manifest.exists() or process.poll() is not None)
    until = time.monotonic() + longest * chance
    while process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None
    process.wait()


@pytest.mark.parametrize("kind", SIZES)
def test_a_store_is_migrated_killed_resumed_and_restored(kind, tmp_path, processes):
    with make_store(kind, tmp_path) as (address, old, new):
        before = read_rows(kind, address)
        assert np.array_equal(before[2], old)
        words = migrate_words(address, tmp_path, "reembed")
        isthmus(*words, "--dry-run")
        isthmus(*migrate_words(address, tmp_path, "convert"), "--gate", "recall@1=1.0", status=3)
        assert same(read_rows(kind, address), before)
        assert not (tmp_path / "run-reembed").exists()

        isthmus(*words)
        run = tmp_path / "run-reembed"
        assert json.loads((run / "manifest.json").read_text())["after"]["rows"] == len(new)
        after = read_rows(kind, address)
        assert after[:2] == before[:2]
        assert np.array_equal(after[2], new)
        isthmus("migrate", run, "--rollback")
        assert same(read_rows(kind, address), before)
        isthmus("migrate", run, "--rollback")
        assert same(read_rows(kind, address), before)

        chance, first = random.Random(kind), tmp_path / "first"
        manifest = first / "manifest.json"
        kill_somewhere(processes, [*words[:-1], first], manifest, 1.0, chance.random())
        for _ in range(KILLS.get(kind, 1)):
            found = read_rows(kind, address)
            assert same(found, before) or same(found, after)
            if json.loads(manifest.read_text())["state"] == "applied":
                assert same(found, after)
                break
            kill_somewhere(processes, ["migrate", first, "--resume", "--quiet"], manifest, 3.0, chance.random())
        if json.loads(manifest.read_text())["state"] != "applied":
            isthmus("migrate", first, "--resume", "--quiet")
        assert same(read_rows(kind, address), after)
        isthmus("migrate", first, "--rollback", "--quiet")
        assert same(read_rows(kind, address), before)


def test_converted_vectors_are_those_of_the_adapter_and_another_model_is_refused(tmp_path):
    from isthmus import Adapter

    with make_store("lancedb", tmp_path) as (address, old, new):
        isthmus(*migrate_words(address, tmp_path, "convert"))
        adapter = Adapter.load(tmp_path / "run-convert" / "adapter.npz")
        found = read_rows("lancedb", address)[2]
        assert np.allclose(found, adapter.to_new(old), atol=1e-5)
        # The stamp says which model the rows are of: rows of another one, as long, are refused.
        import lancedb

        table = lancedb.connect(tmp_path / "db").open_table("docs")
        rng = np.random.default_rng(1)
        table.delete("id >= 1000")
        other = (rng.normal(size=(8000, 6)) @ rng.normal(size=(6, found.shape[1]))).astype("f4")
        table.add([{"id": 10_000 + i, "body": "", "vector": row.tolist()} for i, row in enumerate(other)])
        np.save(tmp_path / "new.npy", np.r_[new[:1000], new[:8000]])
        isthmus(*migrate_words(address, tmp_path, "reembed"), status=2)


def test_rows_that_are_written_wrongly_are_never_swapped(tmp_path, monkeypatch):
    from isthmus import InputError, migrate
    from isthmus._core.progress import Progress
    from isthmus.stores import store_migration
    from isthmus.stores.store import Columns, StagedVectors, open_store

    with make_store("npy", tmp_path) as (address, old, _):
        store, quiet = open_store(address), Progress(False, "")
        embedding = store_migration.Embedding.of(f"{tmp_path}/new.npy", store.n)
        sample = store_migration.sample_store(store, embedding, 50, [], 0, quiet)
        adapter = migrate(sample.old, sample.new, sample.pairs, kind="ridge")
        plan = store_migration.plan_migration(
            address, Columns(), store, "convert", "new", sample, adapter.to_new(old)
        )
        (tmp_path / "run").mkdir()
        append = StagedVectors.append
        monkeypatch.setattr(
            StagedVectors, "append", lambda self, start, block, rows: append(self, start, block, np.roll(rows, 1, 0))
        )
        with pytest.raises(InputError, match=r"verification: .* the old index is unchanged"):
            store_migration.run_migration(
                plan, tmp_path / "run", store_migration.map_vectors(adapter.to_new), quiet, store
            )
        assert np.array_equal(np.load(address), old)
