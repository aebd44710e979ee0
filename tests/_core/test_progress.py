"""Progress of long work: one bar for all of it, what it shows by a given clock, and where nothing is shown."""

import math
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import isthmus
from isthmus._core import progress as _progress
from isthmus._core.progress import Progress, WorkCounter
from isthmus.estimators.logdet_base import gap_callback
from isthmus.solvers.result import TracePoint

rng = np.random.default_rng(100)
A = rng.gamma(0.3, size=(120, 8)) @ rng.normal(size=(8, 20))
B = A @ rng.normal(size=(20, 15))


@pytest.fixture
def clock(monkeypatch):
    """The time that bars see, in a list."""
    now = [100.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    return now


def on_terminal(monkeypatch, width=101):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))


def states(capsys):
    return [state.strip() for state in re.split(r"[\r\n]", capsys.readouterr().err) if state.strip()]


def seconds_left(state):
    found = re.search(r"<(?:(\d+):)?(\d+):(\d+)$", state)
    return None if found is None else sum(int(n or 0) * u for n, u in zip(found.groups(), (3600, 60, 1), strict=True))


def test_steady_work_shows_the_time_that_it_will_take(monkeypatch, clock, capsys):
    on_terminal(monkeypatch)
    with Progress(True, "work") as progress:
        for step in range(100):
            progress.report(f"step {step}", step / 100)
            clock[0] += 7.0
    first, again, *others, last = states(capsys)
    assert first == again
    assert first.endswith("00:00<?")
    assert re.match(r"work: step 99 100%\|.*\| 11:40<00:00$", last)
    for step, state in enumerate(others, start=1):
        assert abs(seconds_left(state) - 7 * (100 - step)) <= 1, state


def test_preparations_do_not_count_for_the_pace(monkeypatch, clock, capsys):
    on_terminal(monkeypatch)
    with Progress(True, "work") as progress:
        progress.report("preparing")
        clock[0] += 500.0
        progress.report("steps", 0.0)
        clock[0] += 10.0
        progress.report("steps", 0.5)
        assert states(capsys)[-1].endswith("08:30<00:10")


def test_a_log_gets_few_lines_without_control_characters(clock, capsys):
    with Progress(True, "work") as progress:
        for step in range(100):
            progress.report(f"step {step}", step / 100)
            clock[0] += 1.0
    text = capsys.readouterr().err
    assert "\r" not in text
    assert "\x1b" not in text
    assert [line.partition("%")[0].split()[2] for line in text.splitlines()] == ["0", "30", "60", "90", "99"]


def test_a_bar_is_one_line_of_the_terminal_that_stays_or_goes(monkeypatch, capsys):
    on_terminal(monkeypatch, 40)
    for leave in (True, False):
        with Progress(True, "work", leave=leave) as progress:
            progress.report("x" * 100)
        text = capsys.readouterr().err
        assert text.endswith("\n") == leave
        assert text.count("\n") == leave
        assert max(map(len, re.split(r"[\r\n]", text))) == 39
        assert leave or text.split("\r")[-2].strip() == ""


def fail(progress):
    with progress:
        progress.report("half", 0.5)
        raise KeyError


def test_a_bar_ends_with_the_work_also_by_an_error_and_leaves_no_thread(monkeypatch, capsys):
    on_terminal(monkeypatch)
    before = threading.active_count()
    progress = Progress(True, "work")
    for _ in range(2):  # it can be opened again
        with pytest.raises(KeyError):
            fail(progress)
        text = capsys.readouterr().err
        assert text.endswith("\n")
        assert "50%" in text
        assert "100%" not in text
    assert threading.active_count() == before


def test_messages_stand_above_the_bar(monkeypatch, capsys):
    on_terminal(monkeypatch)
    with Progress(True, "work") as progress:
        progress.report("half", 0.5)
        progress.write("a message")
    assert "\rwork: a message\n\rwork: half" in capsys.readouterr().err
    Progress(False, "work").write("nothing")
    assert capsys.readouterr().err == ""


def test_without_a_stream_or_tqdm_nothing_is_shown(monkeypatch, capsys):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", None)
        with Progress(True, "work") as progress:
            progress.report("nowhere")
            progress.write("nowhere")
    monkeypatch.setattr(_progress, "has_tqdm", lambda: False)
    with pytest.warns(UserWarning, match=r'progress: needs tqdm, .* pip install "isthmus\[progress\]"\.'):
        progress = Progress(True, "work")
    with progress:
        progress.report("half", 0.5)
    assert not progress.active
    Progress(False, "work").report("half", 0.5)
    assert capsys.readouterr() == ("", "")


def test_a_function_is_called_instead(capsys):
    called = []
    with Progress(lambda *values: called.append(values), "work") as progress:
        progress.report("text", 0.5)
        progress.report("text", 0.5, 1, 2)
    assert called == [("text",), (1, 2)]
    assert capsys.readouterr().err == ""
    with pytest.raises(isthmus.InputError, match="progress: expected True, False or a function, got 'yes'"):
        Progress("yes", "work")


def reports(monkeypatch):
    """The texts and fractions that are reported from now on, in a list that grows."""
    seen = []
    monkeypatch.setattr(Progress, "report", lambda self, text, fraction=0.0, *values: seen.append((text, fraction)))
    return seen


def test_the_fraction_of_runs_that_end_early_only_grows_to_all(monkeypatch):
    """Runs at the same time, some of them with all their rounds, some with few."""
    seen = reports(monkeypatch)
    counter = WorkCounter(Progress(False, "match"))
    counter.expect(4 * 0.5 * 60 + 10 * 3.0)

    def work(rounds):
        with counter.count_rounds("run", most=60) as count:
            for _ in range(rounds):
                count()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, (60, 20, 1, 35)))
    for _ in range(10):
        counter.count("on all", 3.0)
    fractions = [fraction for _, fraction in seen]
    assert fractions == sorted(fractions)
    assert fractions[0] == 0.0
    assert 0.5 < fractions[-1] < 1.0
    assert counter.fraction == pytest.approx(1.0)


@pytest.mark.parametrize(("known", "sampled"), [(0, True), (30, False)])
def test_all_work_of_a_match_was_expected(monkeypatch, known, sampled):
    if sampled:
        monkeypatch.setattr("isthmus.tasks.matching.refinement.SAMPLE_CELLS", 4000)
        monkeypatch.setattr("isthmus.tasks.matching.refinement.SAMPLED", (60, 66))
    seen = reports(monkeypatch)
    isthmus.match(A, B, pairs=[(i, i) for i in range(known)] or None, progress=True)
    fractions = [fraction for _, fraction in seen]
    assert fractions == sorted(fractions)
    assert fractions[1] == 0.0
    assert 0.9 < fractions[-1] < 1.0  # before the last round


@pytest.mark.parametrize("kind", ["auto", "ridge"])
def test_all_work_of_a_migration_was_expected(monkeypatch, kind):
    seen = reports(monkeypatch)
    counters = []
    begin = WorkCounter.__init__
    monkeypatch.setattr(
        WorkCounter, "__init__", lambda self, *a, **k: (counters.append(self), begin(self, *a, **k))[1]
    )
    isthmus.migrate(A, B, kind=kind)
    fractions = [fraction for _, fraction in seen]
    assert fractions == sorted(fractions)
    assert fractions[0] == 0.0
    assert counters[0].fraction == 1.0


def gap_fractions(monkeypatch, *gaps, goal=1e-6):
    seen = reports(monkeypatch)
    callback = gap_callback(Progress(print, "MLHD"), goal)
    for iteration, gap in enumerate(gaps):
        callback(TracePoint(iteration, 1.0, 0.0, gap, float(iteration)))
    return [fraction for _, fraction in seen]


def test_the_work_of_a_solver_is_counted_in_powers_of_ten_of_the_gap(monkeypatch):
    assert gap_fractions(monkeypatch, math.inf, 1e-2, 1e-4, 1e-7) == pytest.approx([0.0, 0.0, 0.5, 1.0])
    assert gap_fractions(monkeypatch, 1e-2, 1e-1, 0.0) == [
        0.0,
        0.0,
        0.0,
    ]  # one that rises or vanishes promises nothing
    assert gap_fractions(monkeypatch, 1e-8) == [1.0]
    assert gap_fractions(monkeypatch, 1e-2, 1e-4, goal=0.0) == [0.0, 0.0]
    assert gap_callback(Progress(False, "MLHD"), 1e-6) is None
