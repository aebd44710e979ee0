"""Decisions: appended one by one, taken back, and still there after a crash at any byte."""

import os
import signal
import subprocess
import sys

import pytest

from conftest import start_process, wait_until
from isthmus.exceptions import InputError
from isthmus.view.review.decisions import DecisionLog, read_decisions


@pytest.fixture
def path(tmp_path):
    return tmp_path / "decisions.csv"


def test_the_last_verdict_counts_and_undo_takes_it_back(path):
    log = DecisionLog(path)
    for pair, verdict in ((("a", "b"), "y"), (("a,1", 'b"2'), "n"), (("a", "b"), "?"), (("c\nd", "é"), "y")):
        log.append(pair, verdict)
    assert read_decisions(path) == log.verdicts == {("a,1", 'b"2'): "n", ("a", "b"): "?", ("c\nd", "é"): "y"}
    assert log.undo() == ("c\nd", "é")
    assert log.undo() == ("a", "b")
    assert read_decisions(path) == {("a,1", 'b"2'): "n"}
    assert path.read_text(encoding="utf-8").startswith("source,target,verdict,time\na,b,y,2")
    log.close()
    again = DecisionLog(path)
    assert again.verdicts == {("a,1", 'b"2'): "n"}
    assert again.undo() == ("a,1", 'b"2')
    assert (again.undo(), len(again)) == (None, 0)
    again.close()


def test_a_file_that_was_cut_anywhere_loses_one_answer_at_most(path):
    log = DecisionLog(path)
    for k in range(3):
        log.append((f"a{k}", "b,c"), "y")
    log.close()
    whole = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        kept = max(0, sum(end <= size for end in ends) - 1)
        assert len(read_decisions(path)) in (kept, kept + (size + 1 in ends)), "whole lines, but for a line end"
        again = DecisionLog(path)
        again.append(("new", "row"), "n")
        again.close()
        assert len(read_decisions(path)) in (kept + 1, kept + 2)
        assert read_decisions(path)["new", "row"] == "n"


def test_a_second_process_is_told(path):
    log = DecisionLog(path)
    with pytest.raises(InputError, match="another `isthmus review` is writing to it; close it first"):
        DecisionLog(path)
    log.close()
    DecisionLog(path).close()


WRITER = """
import sys
from pathlib import Path
from isthmus.view.review.decisions import DecisionLog
log = DecisionLog(Path(sys.argv[1]))
for k in range(10**9):
    log.append((f"a{k}", f"b{k}"), "y")
    print(k, flush=True)
"""


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_kill(path, processes):
    process = start_process(processes, [sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE)
    wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") > 20, process)
    os.kill(process.pid, signal.SIGKILL)
    told = [int(line) for line in process.stdout.read().splitlines()]
    found = read_decisions(path)
    assert {(f"a{k}", f"b{k}") for k in told} <= found.keys()
    assert len(found) <= len(told) + 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,name\n1,2\n", "expected the columns source, target, verdict, time of decisions, got id,name"),
        ("source,target,verdict,time\na,b,maybe,now\n", "line 2: expected source,target,verdict,time with a verdict"),
        ("source,target,verdict,time\na,b\n", "line 2: expected"),
    ],
)
def test_another_file_is_refused_and_left_alone(path, text, words):
    path.write_text(text, encoding="utf-8")
    for read in (read_decisions, DecisionLog):
        with pytest.raises(InputError, match=words):
            read(path)
    assert path.read_text(encoding="utf-8") == text
