"""Each store through the real executable: dry run, gate, apply, full disk, kill -9, a lost store, resume, rollback."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from conftest import start_process, wait_until
from isthmus.cli.main import main
from tests.stores.store_makers import SIZES, make_store, read_rows

pytestmark = pytest.mark.stores
# The largest file that a process may write, less than what a migration needs.
FULL = {"npy": 300_000, "parquet": 300_000, "faiss": 300_000, "lancedb": 300_000, "chroma": 64_000, "qdrant": 32_000}
KILLS = {"lancedb": 10, "chroma": 10, "qdrant": 10, "pgvector": 10}


def isthmus(*words, status=0):
    command = [sys.executable, "-m", "isthmus", *map(str, words)]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == status, found.stderr + found.stdout
    return found.stdout


def isthmus_here(kind, *words, status=0):
    """Run a command in this process, where no client holds the index longer than the command: no start to wait for."""
    if kind in ("chroma", "qdrant"):
        isthmus(*words, status=status)
    else:
        assert main([str(word) for word in words]) == status


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


def fill_disk(kind, words, tmp_path):
    """Run a command that can't write files as large as it needs."""
    grown = (tmp_path / "db" / "chroma.sqlite3").stat().st_size if kind == "chroma" else 0
    limit = f"import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({FULL[kind] + grown},) * 2)"
    code = f"{limit}; import runpy; sys.argv[:] = sys.argv[1:]; runpy.run_module('isthmus', run_name='__main__')"
    found = subprocess.run([sys.executable, "-c", code, "isthmus", *map(str, words)], capture_output=True, text=True)
    assert found.returncode == 2
    assert_one_sentence(found.stderr)


def assert_one_sentence(text):
    said = [line for line in text.splitlines() if "warning" not in line.lower()]
    assert len(said) == 1, text
    assert "the old index answers as before; go on with: isthmus migrate" in said[0]


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
        isthmus_here(kind, *words, "--dry-run")
        isthmus_here(kind, *migrate_words(address, tmp_path, "convert"), "--gate", "recall@1=1.0", status=3)
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
        isthmus_here(kind, "migrate", run, "--rollback")
        assert same(read_rows(kind, address), before)

        chance, first = random.Random(kind), tmp_path / "first"
        manifest = first / "manifest.json"
        if kind in FULL:
            fill_disk(kind, [*words[:-1], first], tmp_path)
            assert same(read_rows(kind, address), before)
        else:
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
        isthmus_here(kind, "migrate", first, "--rollback", "--quiet")
        assert same(read_rows(kind, address), before)


MODEL = """
import pathlib, time
import numpy as np
here = pathlib.Path(__file__).parent
new = np.load(here / "new.npy")

def embed(texts):
    while (here / "run" / "manifest.json").exists() and not (here / "go").exists():
        (here / "waiting").touch()
        time.sleep(0.01)
    return new[[int(text.split()[1]) for text in texts]]
"""


def lose_store(kind, address, tmp_path):
    if kind == "lancedb":
        return (tmp_path / "db").rename(tmp_path / "away")
    import psycopg

    with psycopg.connect(address.partition("#")[0], autocommit=True) as connection:
        users = "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
        return connection.execute(f"SELECT pg_terminate_backend(pid) {users}")


@pytest.mark.parametrize("kind", ["lancedb", "pgvector"])
def test_some_rows_are_embedded_first_by_a_model_although_the_store_was_lost(kind, tmp_path, processes, monkeypatch):
    from isthmus import Adapter

    monkeypatch.chdir(tmp_path)
    with make_store(kind, tmp_path) as (address, old, new):
        before, rng = read_rows(kind, address), np.random.default_rng(1)
        (tmp_path / "model.py").write_text(MODEL)
        asked = rng.permutation(len(old))[:40]
        np.save("q_old.npy", old[asked])
        np.save("q_new.npy", new[asked])
        words = migrate_words(address, tmp_path, "progressive")
        words[words.index("--embed") + 1] = "model:embed"
        isthmus(*words[:-1], "run", status=2)
        words[-1:] = ["run", "--queries", "q_old.npy", "q_new.npy", "--share", "0.1"]
        command = [sys.executable, "-m", "isthmus", *words]
        with open("said", "w") as said:
            process = start_process(processes, command, stderr=said, stdout=subprocess.DEVNULL)
        wait_until((tmp_path / "waiting").exists, process)
        lose_store(kind, address, tmp_path)
        (tmp_path / "go").touch()
        assert process.wait() == 2
        assert_one_sentence((tmp_path / "said").read_text())
        if kind == "lancedb":
            (tmp_path / "away").rename(tmp_path / "db")
        assert same(read_rows(kind, address), before)

        assert "recall@10" in isthmus("migrate", "run", "--resume")
        ids, texts, found = read_rows(kind, address)
        assert (ids, texts) == before[:2]
        embedded = (found == new).all(axis=1)
        assert embedded.sum() == round(0.1 * len(new))
        cosines = old[asked] @ (old / np.linalg.norm(old, axis=1, keepdims=True)).T
        assert embedded[np.argsort(-cosines, axis=1)[:, :10]].all()
        mapped = Adapter.load(tmp_path / "run" / "adapter.npz").to_new(old)
        assert np.allclose(found[~embedded], mapped[~embedded], rtol=1e-4, atol=1e-4)
        assert 0.0 < json.loads((tmp_path / "run" / "manifest.json").read_text())["after"]["recall@10"] <= 1.0
        isthmus("migrate", "run", "--rollback")
        assert same(read_rows(kind, address), before)


def test_ctrl_c_says_how_to_go_on(tmp_path, processes, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with make_store("lancedb", tmp_path) as (address, _, new):
        before = read_rows("lancedb", address)
        (tmp_path / "model.py").write_text(MODEL)
        words = migrate_words(address, tmp_path, "reembed")
        words[words.index("--embed") + 1], words[-1] = "model:embed", "run"
        with open("said", "w") as file:
            process = start_process(processes, [sys.executable, "-m", "isthmus", *words], stderr=file)
        wait_until((tmp_path / "waiting").exists, process)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        said = (tmp_path / "said").read_text().splitlines()[-1]
        then = "until the swap the old index answers as before; go on with: isthmus migrate run --resume."
        assert said.startswith(f"isthmus: stopped by Ctrl-C; {then} Written before: ")
        assert same(read_rows("lancedb", address), before)
        (tmp_path / "go").touch()
        isthmus("migrate", "run", "--resume", "--quiet")
        assert np.array_equal(read_rows("lancedb", address)[2], new)


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


def test_rows_that_others_add_meanwhile_are_not_lost(tmp_path):
    import lancedb

    from isthmus.stores.store import open_store

    with make_store("lancedb", tmp_path) as (address, _, new):
        store = open_store(address)

        def rows():
            for k, block in enumerate(store.blocks()):
                if k == 1:
                    late = [{"id": 10_000, "body": "late", "vector": [0.0] * store.dimension}]
                    lancedb.connect(tmp_path / "db").open_table("docs").add(late)
                yield block, new[: len(block.ids)]

        about = {"run": "r", "fingerprint": {"dimension": new.shape[1]}}
        with pytest.raises(RuntimeError, match="docs: was changed meanwhile; stop the writers"):
            store.write_version(about, store.plan_swap("r"), rows())
        ids, _, vectors = read_rows("lancedb", address)
        assert 10_000 in ids
        assert vectors.shape == (len(new) + 1, store.dimension)


def plan_conversion(address, folder):
    """Return an adapter, and the manifest of converting a store by it, as the command plans it."""
    from isthmus import migrate
    from isthmus._core.progress import Progress
    from isthmus.stores import store_migration
    from isthmus.stores.store import Columns, open_store

    store = open_store(address)
    embedding = store_migration.Embedding.of(f"{folder}/new.npy", store.n)
    sample = store_migration.sample_store(store, embedding, 50, [], 0, Progress(False, ""))
    adapter = migrate(sample.old, sample.new, sample.pairs, kind="ridge")
    vectors = adapter.to_new(sample.old)
    plan = store_migration.plan_migration(address, Columns(), store, "convert", "new", sample, vectors)
    (folder / "run").mkdir()
    sample.save(folder / "run", ())
    return adapter, plan


def go_on(adapter, folder):
    """Run, or resume, what a manifest in the folder says."""
    from isthmus._core.progress import Progress
    from isthmus.stores import store_migration

    manifest = store_migration.Manifest.load(folder / "run")
    make = store_migration.map_vectors(adapter.to_new)
    store_migration.run_migration(manifest, folder / "run", make, Progress(False, ""), manifest.open())


@pytest.mark.parametrize(("kind", "wrong"), [("npy", "rows"), ("lancedb", "rows"), ("lancedb", "search")])
def test_an_index_that_is_wrong_does_not_stay(kind, wrong, tmp_path, monkeypatch):
    from isthmus import InputError
    from isthmus.stores.vector_files import LanceTable, NumpyFile

    with make_store(kind, tmp_path) as (address, _, _):
        before, (adapter, plan) = read_rows(kind, address), plan_conversion(address, tmp_path)
        plan.save(tmp_path / "run")
        rolled = lambda rows: ((block, np.roll(new, 1, 0)) for block, new in rows)  # noqa: E731
        if wrong == "search":
            monkeypatch.setattr(LanceTable, "search", lambda self, queries: [[] for _ in queries])
        else:
            write, version = NumpyFile.write, LanceTable.write_version
            monkeypatch.setattr(NumpyFile, "write", lambda self, f, rows, d: write(self, f, rolled(rows), d))
            monkeypatch.setattr(
                LanceTable, "write_version", lambda self, a, b, rows: version(self, a, b, rolled(rows))
            )
        with pytest.raises(InputError, match=r"verification: .* the old index is unchanged"):
            go_on(adapter, tmp_path)
        assert same(read_rows(kind, address), before)
        assert json.loads((tmp_path / "run" / "manifest.json").read_text())["state"] == "writing"


@pytest.mark.parametrize("moment", ["writing", "written", "verifying"])
def test_ctrl_c_leaves_the_old_version_of_lancedb_and_the_run_can_be_resumed(moment, tmp_path, monkeypatch):
    from isthmus.stores import store_migration
    from isthmus.stores.vector_files import LanceTable

    with make_store("lancedb", tmp_path) as (address, old, _):
        before = read_rows("lancedb", address)
        adapter, plan = plan_conversion(address, tmp_path)
        plan.save(tmp_path / "run")
        write, verify = LanceTable.write_version, store_migration.verify_rows

        def interrupted(rows):
            # In the thread that LanceDB reads from: Ctrl-C comes to the one that waits.
            for k, row in enumerate(rows):
                yield row
                if k == 0:
                    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
                    time.sleep(0.2)

        def write_version(self, about, facts, rows):
            write(self, about, facts, interrupted(rows) if moment == "writing" else rows)
            if moment == "written":
                raise KeyboardInterrupt

        def verify_rows(*given):
            if moment == "verifying":
                raise KeyboardInterrupt
            return verify(*given)

        with monkeypatch.context() as patch:
            patch.setattr(LanceTable, "write_version", write_version)
            patch.setattr(store_migration, "verify_rows", verify_rows)
            with pytest.raises(KeyboardInterrupt):
                go_on(adapter, tmp_path)
        assert same(read_rows("lancedb", address), before)
        go_on(adapter, tmp_path)
        assert np.allclose(read_rows("lancedb", address)[2], adapter.to_new(old), atol=1e-5)
        store_migration.roll_back(tmp_path / "run")
        assert same(read_rows("lancedb", address), before)


@pytest.mark.parametrize("kind", ["npy", "parquet", "faiss"])
def test_a_file_is_written_once_and_a_stop_between_two_names_is_resumed(kind, tmp_path, monkeypatch):
    from isthmus.stores import store_migration, vector_files
    from isthmus.stores.store import StagedVectors

    with make_store(kind, tmp_path) as (address, old, _):
        before, path = read_rows(kind, address), Path(address)
        path.chmod(0o640)
        adapter, plan = plan_conversion(address, tmp_path)
        plan.save(tmp_path / "run")
        monkeypatch.delattr(StagedVectors, "append")
        for function, then in (("os.link", before), ("rename_written", before), ("VectorFile.stamp", None)):
            with monkeypatch.context() as patch:
                patch.setattr(f"isthmus.stores.vector_files.{function}", Mock(side_effect=ConnectionError("lost")))
                with pytest.raises(ConnectionError):
                    go_on(adapter, tmp_path)
            assert then is None or same(read_rows(kind, address), then)
        new = path.with_name(f"{path.stem}.new-{plan.run}{path.suffix}")
        assert not new.exists()
        go_on(adapter, tmp_path)
        found = read_rows(kind, address)
        assert found[:2] == before[:2]
        assert np.allclose(found[2], adapter.to_new(old), atol=1e-5)
        assert path.stat().st_mode & 0o777 == 0o640
        assert not list(tmp_path.glob(".*.part"))
        store_migration.roll_back(tmp_path / "run")
        assert same(read_rows(kind, address), before)
        assert vector_files.VectorFile.read_stamp(store_migration.open_store(address)) == {}
