"""Runs in several processes: killed and resumed to the same records, and no worker outlives who started it."""

import doctest
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import isthmus

PAGE = Path(__file__).parents[2] / "docs" / "studies.md"


def study_of_the_page(folder):
    """The ten lines of the page, up to the run, with a folder that outlives them."""
    lines = [example.source for example in doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8"))]
    last = next(k for k, line in enumerate(lines) if "study.run(" in line)
    assert last < 10
    script = "".join(lines[: last + 1])
    assert "n_jobs=2" in script
    assert "tempfile.mkdtemp()" in script
    return script.replace("tempfile.mkdtemp()", repr(str(folder)))


def started(folder, n_jobs=2):
    environment = os.environ | {"PYTHONPATH": str(Path(isthmus.__file__).parents[1])}
    script = study_of_the_page(folder).replace("n_jobs=2", f"n_jobs={n_jobs}")
    return subprocess.Popen(
        [sys.executable, "-c", script], env=environment, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def parts(folder):
    return list((folder / "study.parts").glob("*.jsonl"))


def wait_for_trials(folder, n, process):
    deadline = time.monotonic() + 180
    while len(parts(folder)) < n:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def processes_of(group):
    """All living processes of a session."""
    listed = subprocess.check_output(["ps", "-e", "-o", "pid=,pgid=,stat="], text=True)
    rows = [line.split() for line in listed.splitlines()]
    return {int(pid) for pid, pgid, state in rows if int(pgid) == group and not state.startswith("Z")}


def wait_for_none(group, seconds=10):
    deadline = time.monotonic() + seconds
    while left := processes_of(group):
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.05)


def records(folder):
    lines = (folder / "study.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) | {"seconds": 0} for line in lines]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    process = started(folder)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert "20 of 20 trials" in err
    return records(folder)


@pytest.mark.slow
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda sign: sign.name)
def test_the_study_of_the_page_may_be_stopped_and_goes_on_to_the_same_records(
    undisturbed, tmp_path, sign, usual_signals
):
    process = started(tmp_path)
    wait_for_trials(tmp_path, 3, process)
    process.send_signal(sign)  # to the one process: its workers have to find out
    _, err = process.communicate(timeout=300)
    wait_for_none(process.pid)
    assert process.returncode != 0
    merged = sign == signal.SIGINT  # Python's own ending gathers the parts
    finished = {record["seed"]: record for record in records(tmp_path)} if merged else parts(tmp_path)
    assert 3 <= len(finished) < 20, "it was over before it was stopped"
    assert err.count("KeyboardInterrupt\n") == merged
    process = started(tmp_path)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert f"{20 - len(finished)} of {20 - len(finished)} trials" in err
    assert records(tmp_path) == undisturbed
    assert [path.name for path in tmp_path.iterdir()] == ["study.jsonl"]


@pytest.mark.slow
def test_workers_that_had_no_trial_yet_do_not_outlive_the_run(tmp_path):
    process = started(tmp_path, n_jobs=4)
    wait_for_trials(tmp_path, 1, process)
    process.kill()
    process.communicate(timeout=120)
    wait_for_none(process.pid)
