"""Runs in several processes: killed and resumed to the same records, and no worker outlives who started it."""

import doctest
import json
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import pytest

import isthmus
from conftest import LIMIT, start_process, wait_until
from isthmus.study.records import RecordStore

PAGE = Path(__file__).parents[2] / "docs" / "studies.md"
SEEDS = 4
PAUSED = f"""
import time
from {RecordStore.__module__} import RecordStore
add, added = RecordStore.add, []
def pause(self, records):
    add(self, records)
    added.append(1)
    if len(added) == {{after}}:
        time.sleep({LIMIT})
RecordStore.add = pause
"""
"""Put before a script: it waits for a signal once some trials are finished, however fast the machine is."""

pytestmark = pytest.mark.slow


def study_of_the_page(folder, n_jobs):
    """The ten lines of the page, up to the run, with fewer trials and a folder that outlives them."""
    lines = [example.source for example in doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8"))]
    last = next(k for k, line in enumerate(lines) if "study.run(" in line)
    assert last < 10
    script = "".join(lines[: last + 1])
    changes = {
        "tempfile.mkdtemp()": repr(str(folder)), "range(10)": f"range({SEEDS})", "study.run(": f"study.run(n_jobs={n_jobs}, ",
    }  # fmt: skip
    for old, new in changes.items():
        assert old in script
        script = script.replace(old, new)
    return script


def started(stack, folder, n_jobs, before=""):
    environment = os.environ | {"PYTHONPATH": str(Path(isthmus.__file__).parents[1])}
    words = [sys.executable, "-c", before + study_of_the_page(folder, n_jobs)]
    return start_process(stack, words, env=environment, stderr=subprocess.PIPE)


def parts(folder):
    return list((folder / "study.parts").glob("*.jsonl"))


def processes_of(group):
    """All living processes of a session."""
    listed = subprocess.check_output(["ps", "-e", "-o", "pid=,pgid=,stat="], text=True)
    rows = [line.split() for line in listed.splitlines()]
    return {int(pid) for pid, pgid, state in rows if int(pgid) == group and not state.startswith("Z")}


def records(folder):
    lines = (folder / "study.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) | {"seconds": 0} for line in lines]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """By one job, in this process."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with redirect_stderr(StringIO()) as err:
        exec(study_of_the_page(folder, 1), {})
    assert f"{SEEDS} of {SEEDS} trials" in err.getvalue()
    return records(folder)


@pytest.mark.parametrize(
    ("sign", "n_jobs", "after"),
    # With four jobs and one trial finished, some workers have not had a trial yet.
    [(signal.SIGKILL, 4, 1), (signal.SIGINT, 2, 3)],
    ids=["SIGKILL", "SIGINT"],
)
def test_the_study_of_the_page_may_be_stopped_and_goes_on_to_the_same_records(
    undisturbed, tmp_path, processes, usual_signals, sign, n_jobs, after
):
    process = started(processes, tmp_path, n_jobs, PAUSED.format(after=after))
    wait_until(lambda: len(parts(tmp_path)) == after, process)
    process.send_signal(sign)  # to the one process: its workers have to find out
    _, err = process.communicate(timeout=LIMIT)
    wait_until(lambda: not processes_of(process.pid))
    assert process.returncode != 0
    merged = sign == signal.SIGINT  # Python's own ending gathers the parts
    finished = {record["seed"] for record in records(tmp_path)} if merged else parts(tmp_path)
    assert len(finished) == after
    assert err.count("KeyboardInterrupt\n") == merged
    process = started(processes, tmp_path, 2 if merged else 1)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, err
    assert f"{SEEDS - after} of {SEEDS - after} trials" in err
    assert records(tmp_path) == undisturbed
    assert [path.name for path in tmp_path.iterdir()] == ["study.jsonl"]
