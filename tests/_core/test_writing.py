"""Written files: whole or as before, with the mode of the old one, wherever the writer is stopped."""

import errno
import io
import os
import stat
import warnings
from contextlib import contextmanager

import numpy as np
import pytest

from isthmus import InputError
from isthmus._core.files import fill_folder, save_file, write_text, write_whole
from isthmus.cli.main import main

OLD, NEW = b"old" * 1000, b"new" * 50_000
CALLS = (
    *("open", "close", "fsync", "stat", "lstat", "chmod", "chown"),
    *("replace", "rename", "link", "unlink", "mkdir", "rmdir"),
)
NAMES = "one", "two", "three"


@contextmanager
def fault_after(k, error, seen):
    """Let the k-th system call of the writer be done, then raise ``error``; ``seen`` gets the name of every call."""

    def counted(name, result):
        seen.append(name)
        if len(seen) - 1 == k:
            if name == "open":
                real["close"](result)  # nobody else will
            raise error
        return result

    class Raw(io.FileIO):
        def write(self, content):
            return counted("write", super().write(content))

        def close(self):
            if not self.closed:
                super().close()
                counted("close", None)

    real = {name: getattr(os, name) for name in CALLS} | {"fsync": lambda descriptor: None}  # which takes long
    with pytest.MonkeyPatch.context() as patch:
        for name, call in real.items():
            patch.setattr(os, name, lambda *a, _name=name, _call=call, **b: counted(_name, _call(*a, **b)))
        patch.setattr(os, "fdopen", lambda descriptor, mode="r", *a, **b: io.BufferedWriter(Raw(descriptor, mode)))
        # rmtree refuses to follow links only with the functions that it knows.
        patch.setattr("shutil._use_fd_functions", False)
        yield


def faults(write, prepare):
    """Run the writer once for every fault, on a fresh folder: what was raised, what it had written, and where."""
    from isthmus._core.files import record_writes

    seen = []
    prepare()
    with fault_after(-1, None, seen):
        write()
    assert {"open", "fsync", "replace"} <= set(seen)
    for kind in (KeyboardInterrupt, OSError(errno.EIO, "Input/output error")):
        for k in range(len(seen)):
            prepare()
            raised = None
            with record_writes() as list_written, warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                try:
                    with fault_after(k, kind, []):
                        write()
                except (KeyboardInterrupt, InputError) as error:
                    raised = error
                yield raised, list_written(), [str(w.message) for w in warned], f"{kind!r} after {k}: {seen[k]}"


@pytest.mark.parametrize("there", [True, False])
def test_a_fault_after_any_system_call_leaves_the_old_file_or_the_new_one(tmp_path, there):
    path = tmp_path / "answer.csv"

    def prepare():
        path.unlink(missing_ok=True)
        if there:
            path.write_bytes(OLD)
            path.chmod(0o640)

    told = set()
    for raised, written, warned, where in faults(lambda: write_whole(path, NEW), prepare):
        content = path.read_bytes() if path.exists() else None
        assert content in (NEW, OLD if there else None), where
        assert [file.name for file in tmp_path.iterdir()] == ["answer.csv"] * (content is not None), where
        assert not there or stat.S_IMODE(path.stat().st_mode) == 0o640, where
        assert (written == [path]) == (content == NEW), where
        if isinstance(raised, InputError):  # it says that the file could not be written
            assert content != NEW, where
        elif raised is None:
            assert content == NEW, where
        told.add((type(raised).__name__, content == NEW, bool(warned)))
    assert {("KeyboardInterrupt", True, False), ("KeyboardInterrupt", False, False)} <= told
    assert {("InputError", False, False), ("NoneType", True, True)} <= told


@pytest.mark.parametrize("there", [True, False])
def test_so_does_one_in_a_writer_of_several_files(tmp_path, there):
    folder = tmp_path / "answer"
    before = {"one": "old", "two": "old", "notes": "mine"} if there else {}
    after = {"one": "new", "three": "new"} | ({"notes": "mine"} if there else {})

    def prepare():
        for path in sorted(tmp_path.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        if there:
            folder.mkdir()
            for name, text in before.items():
                (folder / name).write_text(text)
                (folder / name).chmod(0o600)

    def write():
        with fill_folder(folder, NAMES) as place:
            for name in ("one", "three"):
                write_whole(place / name, b"new")

    states = set()
    for raised, written, _, where in faults(write, prepare):
        found = {path.name: path.read_text() for path in folder.iterdir()} if folder.exists() else {}
        assert found in (before, after), where
        assert [path.name for path in tmp_path.iterdir()] == ["answer"] * bool(found), where
        assert bool(written) == (found == after), where
        assert not there or stat.S_IMODE((folder / "one").stat().st_mode) == 0o600, where
        assert found == after if raised is None else isinstance(raised, KeyboardInterrupt) or found == before, where
        states.add((type(raised).__name__, found == after))
    assert {("KeyboardInterrupt", True), ("KeyboardInterrupt", False), ("InputError", False)} <= states


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o444, 0o755])
def test_a_replaced_file_keeps_its_mode(tmp_path, mode):
    for name, write in {
        "a": lambda path: write_whole(path, b"new"),
        "b": lambda path: write_text(path, "new"),
        "c": lambda path: filled(path.parent, path.name),
    }.items():
        path = tmp_path / name
        path.write_bytes(OLD)
        path.chmod(mode)
        write(path)
        assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", mode)


def filled(folder, name):
    with fill_folder(folder, (name,)) as place:
        (place / name).write_bytes(b"new")


def test_a_file_behind_a_link_keeps_its_mode_too(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(OLD)
    path.chmod(0o600)
    link.symlink_to(path)
    write_whole(link, NEW)
    assert link.is_symlink()
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (NEW, 0o600)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_new_file_has_the_mode_that_the_umask_asks_for(tmp_path, umask):
    before = os.umask(umask)
    try:
        write_whole(tmp_path / "new", NEW)
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o666 & ~umask
    finally:
        os.umask(before)


def test_what_replaces_a_private_file_is_private_while_it_is_written(tmp_path):
    path = tmp_path / "answer"
    path.write_bytes(OLD)
    path.chmod(0o600)
    with save_file(path) as file:
        file.write(NEW)
        file.flush()
        (unfinished,) = set(tmp_path.iterdir()) - {path}
        assert stat.S_IMODE(unfinished.stat().st_mode) == 0o600


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_root_leaves_a_file_to_its_owner(tmp_path):
    path = tmp_path / "answer"
    path.write_bytes(OLD)
    os.chown(path, 65534, 65534)
    write_whole(path, NEW)
    assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65534)


def test_the_folder_is_synchronised_after_the_rename(tmp_path, monkeypatch):
    calls = []
    real_sync, real_replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: calls.append(os.fstat(fd).st_ino) or real_sync(fd))
    monkeypatch.setattr(os, "replace", lambda *paths: calls.append("replace") or real_replace(*paths))
    write_whole(tmp_path / "new", NEW)
    assert calls == [(tmp_path / "new").stat().st_ino, "replace", tmp_path.stat().st_ino]


@pytest.mark.parametrize("after", [True, False])
def test_ctrl_c_tells_whether_something_was_written(tmp_path, monkeypatch, capsys, after):
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", np.eye(30))
    plan, real = tmp_path / "plan.toml", os.replace

    def interrupted(*paths):
        if after:
            real(*paths)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    status = main(["match", str(tmp_path / "a.npy"), str(tmp_path / "b.npy"), "--plan", str(plan)])
    said = f"Written before: {plan}." if after else "Nothing was written."
    assert (status, capsys.readouterr().err) == (130, f"isthmus: stopped by Ctrl-C. {said}\n")
    assert plan.exists() == after
    assert {path.name for path in tmp_path.iterdir()} == {"a.npy", "b.npy", *(["plan.toml"] * after)}
