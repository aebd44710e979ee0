"""The program as it is run: whatever goes wrong is one sentence and an exit status, and no file is harmed."""

import csv
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import isthmus
from conftest import LIMIT, start_process, wait_until
from isthmus._core.files import fill_folder, write_whole
from isthmus.cli.main import main

pytest.importorskip("polars")
pytest.importorskip("skops")

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(isthmus.__file__).parents[1]), "OPENBLAS_NUM_THREADS": "1"}


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])


def make_inputs(where):
    """Two views of 30 objects of three classes, pairs and a model of them; and files with one fault each."""
    rng = np.random.default_rng(100)
    y = np.arange(30) % 3
    X = 4.0 * rng.normal(size=(3, 4))[y] + rng.normal(size=(30, 4))
    Z = X @ rng.normal(size=(4, 6)) + 0.1 * rng.normal(size=(30, 6))
    kinds = ["uvw"[c] for c in y]
    write(where / "a.csv", ["id", "kind", *"abcd"], [[f"a{i}", kinds[i], *X[i]] for i in range(30)])
    write(where / "b.csv", ["id", "kind", *"efghij"], [[f"b{i}", kinds[i] * (i < 24), *Z[i]] for i in range(30)])
    write(where / "pairs.csv", ["s", "t"], [[f"a{i}", f"b{i}"] for i in range(20)])
    fitted = ["fit", "a.csv", "b.csv", "--id", "id", "--drop", "kind", "--pairs", "pairs.csv", "-o", "m.isthmus"]
    assert main([str(where / word) if "." in word else word for word in fitted] + ["--quiet"]) == 0
    good = (where / "a.csv").read_bytes()
    first, *rows = good.splitlines(keepends=True)
    faulty = {
        "empty.csv": b"",
        "header.csv": first,
        "twice.csv": good + rows[4],
        "fewer.csv": b"".join(line.rpartition(b",")[0] + b"\r\n" for line in (first, *rows)),
        "ragged.csv": first + rows[0].replace(b"\r\n", b",9\r\n") + b"".join(rows[1:]),
        "binary.csv": rng.bytes(500),
        "binary.parquet": rng.bytes(500),
        "notes.txt": b"some words",
        "part.isthmus": (where / "m.isthmus").read_bytes()[:-50],
    }
    for name, content in faulty.items():
        (where / name).write_bytes(content)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    where = tmp_path_factory.mktemp("inputs")
    make_inputs(where)
    before = contents(where)
    yield where
    assert contents(where) == before  # after everything that went wrong


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


NOBODY = 65534
ID = ("--id", "id")
ORDERS = {
    "fit": ("{bad}", "b.csv", *ID, "--drop", "kind", "--pairs", "pairs.csv", "-o", "{out}.isthmus"),
    "match": ("{bad}", "b.csv", *ID, "--drop", "kind", "--jobs", "1", "--all", "-o", "{out}.csv"),
    "label": ("{bad}", "b.csv", *ID, "--label", "kind", "--check", "0", "-o", "{out}.csv"),
    "evaluate": ("{bad}", "b.csv", *ID, "--label", "kind", "--jobs", "1", "-o", "{out}.json"),
    "migrate": ("{bad}", "b.csv", *ID, "--drop", "kind", "--pairs", "pairs.csv", "-o", "{out}"),
    "search": ("m.isthmus", "--index", "{bad}", "--query", "b.csv", "-o", "{out}.csv"),
    "embed": ("m.isthmus", "{bad}", "--domain", "source", "-o", "{out}.csv"),
    "inspect": ("{bad}",),
    "report": ("{bad}", "-o", "{out}.html"),
}
FOLDERS = {"migrate": "adapter.npz"}
"""Commands that write a folder, and a file in it."""
OF_MODELS = ("report",)
"""Commands with a place for a bad file, and one for the output."""


def order(command, inputs, out, bad=None):
    """The words of a command, with whole paths; nothing is bad unless it is said."""
    bad = bad or ("m.isthmus" if command in OF_MODELS else "a.csv")
    words = (word.format(bad=bad, out=out) for word in ORDERS[command])
    return [command, *(str(inputs / word) if (inputs / word).is_file() or word == bad else word for word in words)]


def run(capsys, words):
    """Exit status, standard output, standard error, without a new process."""
    try:
        status = main([str(word) for word in words])
    except SystemExit as end:
        status = end.code
    return (status, *capsys.readouterr())


PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


def executed(stack, *words, env=ENVIRONMENT):
    """The same by the program itself."""
    return start_process(stack, [sys.executable, "-m", "isthmus", *words], env=env, **PIPES)


def finished(process):
    out, err = process.communicate(timeout=LIMIT)
    return process.returncode, out, err


def assert_refused(result, words=""):
    status, out, err = result
    assert (status, out) == (2, ""), err
    assert err.startswith("isthmus: ")
    assert err.endswith(".\n")
    assert err.count("\n") == 1
    assert words in err


BAD = {
    "empty.csv": "expected a table, got an empty file",
    "header.csv": "expected at least one row below the header, got none",
    "twice.csv": 'lines 6 and 32, column "id": the id "a4" is there twice',
    "ragged.csv": "ragged.csv line 2: expected 6 cells, as in the first line, got 7; correct the line, or put",
    "binary.csv": "expected text in UTF-8",
    "binary.parquet": "expected a Parquet file in good order",
    "notes.txt": "expected a name that ends in one of .csv",
    "part.isthmus": "expected a name that ends in one of .csv",
    "none.csv": "expected a file, found none",
}


ONE_AFTER_THE_OTHER = """
import gc, importlib.util, json, os, runpy, sys
for name in sys.argv[2].split():  # takes long, and is done once for all
    if importlib.util.find_spec(name.partition(".")[0]):
        importlib.import_module(name)
gc.freeze()
for words, out, err in json.loads(sys.argv[1]):
    child = os.fork()
    if not child:
        for path, number in ((out, 1), (err, 2)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
        sys.argv = ["isthmus", *words]
        runpy.run_module("isthmus", run_name="__main__", alter_sys=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


IMPORTED = "isthmus.study.registry isthmus.io.tables isthmus.io.model_file isthmus.view.report.page matplotlib.figure polars plotly.offline"


def each_in_a_process(stack, orders, folder):
    """Exit status, standard output and standard error of `python -m isthmus` with these words, one after the other."""
    files = [(f"{folder}/{i}.out", f"{folder}/{i}.err") for i in range(len(orders))]
    files = [
        ("/dev/full", err) if len(words) == 1 else (out, err) for words, (out, err) in zip(orders, files, strict=True)
    ]
    told = json.dumps([(words, *two) for words, two in zip(orders, files, strict=True)])
    asked = [sys.executable, "-c", ONE_AFTER_THE_OTHER, told, IMPORTED]
    status, printed, err = finished(start_process(stack, asked, env=ENVIRONMENT, **PIPES))
    assert status == 0, err
    texts = [["" if path == "/dev/full" else Path(path).read_text() for path in two] for two in files]
    return [(int(status), *said) for status, said in zip(printed.split(), texts, strict=True)]


@pytest.mark.slow
def test_a_bad_file_is_one_sentence_by_the_program_itself(inputs, tmp_path, capsys, processes):
    """Every file for every command; each file and each command in a process of its own, to its very end."""
    place, said = tmp_path / "place", tmp_path / "said"
    place.mkdir()
    said.mkdir()
    no_model = {"inspect": "expected a model file", "report": "expected "}
    every = [(command, bad) for command in ORDERS for bad in BAD]
    results = [run(capsys, order(command, inputs, place / "out", bad)) for command, bad in every]
    alone = list(zip(ORDERS, [*BAD, *BAD], strict=False))
    assert {bad for _, bad in alone} == {*BAD}
    results += each_in_a_process(
        processes, [order(command, inputs, place / "out", bad) for command, bad in alone], said
    )
    for (command, bad), result in zip([*every, *alone], results, strict=True):
        assert_refused(result, BAD[bad] if bad == "none.csv" else no_model.get(command, BAD[bad]))
    assert list(place.iterdir()) == []


@pytest.mark.slow
def test_a_full_disc_behind_standard_output_is_one_sentence(tmp_path, processes):
    for status, _, err in each_in_a_process(processes, [["systems"], ["--help"]], tmp_path):
        assert (status, err.count("\n")) == (2, 1)
        assert "standard output: could not write the answer: No space left on device." in err


@pytest.mark.parametrize("bad", [name for name in BAD if name != "part.isthmus"])
def test_so_is_one_of_pairs(inputs, tmp_path, capsys, bad):
    words = order("match", inputs, tmp_path / "out")
    assert_refused(run(capsys, [*words, "--pairs", inputs / bad]), "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "extra", "said"),
    [
        *[(command, ["--text", "nothing"], 'expected a column "nothing"') for command in list(ORDERS)[:5]],
        ("label", ["--label", "nothing"], 'expected a column "nothing" in one of them'),
        ("search", ["--index", "fewer.csv"], 'expected a column "d", got "id", "kind", "a", "b", "c"'),
        ("embed", ["--domain", "target"], "got those of the source; give that domain"),
    ],
)
def test_a_missing_column_is_named(inputs, tmp_path, capsys, command, extra, said):
    extra = [inputs / word if (inputs / word).is_file() else word for word in extra]
    assert_refused(run(capsys, [*order(command, inputs, tmp_path / "out"), *extra]), said)
    assert list(tmp_path.iterdir()) == []


WRITING = {command: words for command, words in ORDERS.items() if command not in ("inspect", "evaluate")}


@pytest.mark.parametrize("command", WRITING)
def test_where_nothing_can_be_written_is_said_before_the_work(inputs, tmp_path, capsys, command, monkeypatch):
    """A name that is taken by a folder or a device, no folder, and one where nobody may make files: /proc."""
    monkeypatch.setattr("isthmus.io.tables.read.read_table", None)  # is not reached
    for place in (tmp_path / "no" / "out", *([Path("/proc/out")] if sys.platform == "linux" else [])):
        assert_refused(run(capsys, order(command, inputs, place)), "expected a file that can be written, got ")
    if command not in FOLDERS:
        ending = WRITING[command][-1].removeprefix("{out}")
        (tmp_path / f"folder{ending}").mkdir()
        assert_refused(run(capsys, order(command, inputs, tmp_path / "folder")), "expected a file, got a folder")
        os.symlink(os.devnull, tmp_path / f"null{ending}")
        assert_refused(run(capsys, order(command, inputs, tmp_path / "null")), "got a device or a pipe")
        assert Path(os.devnull).is_char_device()


def test_an_input_is_never_the_output(inputs, tmp_path, capsys):
    for name in ("a.csv", "b.csv", "pairs.csv"):
        link = tmp_path / name
        os.symlink(inputs / name, link)
        words = [*order("match", inputs, tmp_path / "out"), "--pairs", inputs / "pairs.csv", "-o"]
        for path in (inputs / name, link):
            assert_refused(run(capsys, [*words, path]), "expected an output other than the inputs, got one of them")


@contextmanager
def small_files():
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_nor_is_half_a_picture_left(tmp_path):
    figures = pytest.importorskip("matplotlib.figure")
    from isthmus.view.canvas import save_figure

    with small_files(), pytest.raises(isthmus.InputError, match=r"picture.png: .* got 'File too large'"):
        save_figure(figures.Figure(), tmp_path / "picture")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", WRITING)
def test_a_disc_that_becomes_full_leaves_what_was_there(inputs, tmp_path, capsys, command):
    """No file may grow beyond 100 bytes: the system refuses in the middle of the writing."""
    out = order(command, inputs, tmp_path / "out")
    old = tmp_path / "out" / FOLDERS[command] if command in FOLDERS else Path(out[-1])
    old.parent.mkdir(exist_ok=True)
    old.write_bytes(b"old")
    with small_files():
        result = run(capsys, out)
    assert_refused(result, "expected a file that can be written, got 'File too large")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [old]
    assert old.read_bytes() == b"old"


def namespace(*script):
    """A shell in a mount namespace of its own, where anybody may mount; None where the system has none."""
    tool = shutil.which("unshare")
    if tool is None or subprocess.run([tool, "-rm", "true"], capture_output=True, check=False).returncode:
        return None
    return [tool, "-rm", "sh", "-ec", "; ".join(script)]


def started_on_a_disc(stack, command, inputs, place, *mounting):
    """The program with its output in a folder that was mounted; then the names there, on standard error."""
    place.mkdir()
    script = namespace(
        *(line.format(place=place) for line in mounting), '"$@" || status=$?', f"ls -A {place} >&2", "exit $status"
    )
    if script is None:
        return None
    words = [sys.executable, "-m", "isthmus", *order(command, inputs, place / "out")]
    return start_process(stack, [*script, "sh", *words], env=ENVIRONMENT, **PIPES)


@pytest.mark.slow
def test_a_full_disc_and_one_that_can_only_be_read(inputs, tmp_path, processes):
    """Small discs of memory, by the program itself."""
    fill = "head -c 100000 /dev/zero > {place}/filler 2> /dev/null || true"
    small, read_only = "mount -t tmpfs -o size=16k none {place}", "mount -t tmpfs -o ro none {place}"
    full = started_on_a_disc(processes, "embed", inputs, tmp_path / "1", small, fill)
    read = started_on_a_disc(processes, "migrate", inputs, tmp_path / "2", read_only)
    if full is None or read is None:
        pytest.skip("no mount namespaces here; limits on files and permissions have shown the same")
    wanted = ("No space left on device", ["filler"]), ("Read-only file system", [])
    for (status, said, err), (reason, left) in zip([finished(full), finished(read)], wanted, strict=True):
        assert (status, said) == (2, "")
        assert f"expected a file that can be written, got '{reason}" in err.splitlines()[0]
        assert err.splitlines()[1:] == left


@pytest.mark.parametrize("command", WRITING)
def test_a_folder_without_permission(inputs, capsys, command):
    """Root may write anywhere, and is nobody for a while; in a folder of its own, as pytest's are root's alone."""
    place, me = Path(tempfile.mkdtemp()), os.geteuid()
    place.chmod(0o555)
    words = order(command, inputs, place / "out")
    try:
        if me == 0:
            os.seteuid(NOBODY)
        result = run(capsys, words)
    finally:
        os.seteuid(me)
        place.rmdir()  # it is empty
    assert_refused(result, "expected a file that can be written, got 'Permission denied'")


@pytest.mark.slow
def test_two_at_the_same_time_leave_one_whole_file(inputs, tmp_path, capsys, processes):
    answers = []
    for domain, name in (("source", "a.csv"), ("target", "b.csv")):
        words = ["embed", inputs / "m.isthmus", inputs / name, "--domain", domain, "-o"]
        assert run(capsys, [*words, tmp_path / "alone.npy"])[0] == 0
        answers.append(((tmp_path / "alone.npy").read_bytes(), [*words, tmp_path / "both.npy"]))
    (tmp_path / "alone.npy").unlink()
    running = [executed(processes, *words) for _, words in answers]
    assert [finished(process)[0] for process in running] == [0, 0]
    assert (tmp_path / "both.npy").read_bytes() in [content for content, _ in answers]
    assert [path.name for path in tmp_path.iterdir()] == ["both.npy"]


def test_many_at_the_same_time_are_never_seen_in_part(tmp_path):
    """The same without the processes, which seldom meet: writers in a hurry, and a reader who looks all the time."""
    path, folder = tmp_path / "file", tmp_path / "folder"
    answers = [bytes([letter]) * 50_000 for letter in b"xyz"]
    write_whole(path, answers[0])

    def work(content):
        for _ in range(15):
            write_whole(path, content)
            with fill_folder(folder, ("one", "two")) as place:
                (place / "one").write_bytes(content)
                (place / "two").write_bytes(content)

    writers = [threading.Thread(target=work, args=(content,)) for content in answers]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert path.read_bytes() in answers
    assert (folder / "one").read_bytes() == (folder / "two").read_bytes()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder", "one", "two"]


WAITING = """
import os, time
def wait(descriptor):
    open(os.environ["WRITTEN"], "w").close()
    time.sleep(3600)
os.fsync = wait
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_killed_while_it_writes(inputs, tmp_path, usual_signals, processes, name):
    """A program that stops for good when all bytes are written, and before the file has its name."""
    (tmp_path / "sitecustomize.py").write_text(WAITING)
    out, written = tmp_path / "out", tmp_path / "written"
    out.mkdir()
    (out / "found.csv").write_text("old")
    path = f"{tmp_path}{os.pathsep}{ENVIRONMENT['PYTHONPATH']}"
    environment = ENVIRONMENT | {"PYTHONPATH": path, "WRITTEN": str(written)}
    process = executed(processes, *order("search", inputs, out / "found"), env=environment)
    wait_until(written.exists, process)
    assert [file.name.endswith(".part") for file in sorted(out.iterdir())] == [True, False]
    process.send_signal(getattr(signal, name))
    status, said, err = finished(process)
    assert said == ""
    assert (out / "found.csv").read_text() == "old"
    if name == "SIGKILL":  # nobody could tidy up, and the unfinished file says that it is one
        assert (status, err) == (-signal.SIGKILL, "")
        return
    assert (status, err) == (130, "isthmus: stopped by Ctrl-C. Nothing was written.\n")
    assert [file.name for file in out.iterdir()] == ["found.csv"]
