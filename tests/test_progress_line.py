"""One line for all long work: what it says by a made clock, where it goes, and when it is silent."""

import re
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import isthmus
from isthmus._progress import ProgressLine, asked_for, duration, left
from isthmus.matching.progress import Counter, RoundsLine
from isthmus.migration.steps import Steps


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def on_terminal(monkeypatch, width=200):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))


def lines(capsys):
    return capsys.readouterr().err.split("\r\x1b[K")[1:]


def seconds_left(text):
    """What a line promises, in seconds."""
    found = re.search(r"about (?:(\d+) h )?(?:(\d+) min ?)?(?:(\d+) s )?left", text)
    return None if found is None else sum(int(n or 0) * u for n, u in zip(found.groups(), (3600, 60, 1), strict=True))


def test_work_at_one_pace_promises_what_it_takes(monkeypatch, capsys):
    on_terminal(monkeypatch)
    clock = Clock()
    with ProgressLine("work", clock=clock) as line:
        for step in range(101):
            line.tell("steps", step / 100)
            clock.now += 7.0
    said = lines(capsys)
    assert said[0] == "work: steps"
    assert said[-1] == "work: steps, 11 min 40 s\n"
    for step, text in enumerate(said[1:-1], start=1):
        assert seconds_left(text) == 7 * (100 - step), text


def test_preparations_are_not_taken_for_the_pace(monkeypatch, capsys):
    on_terminal(monkeypatch)
    clock = Clock()
    line = ProgressLine("work", clock=clock)
    line.tell("preparing")
    clock.now += 500.0
    line.tell("steps", 0.0)
    clock.now += 10.0
    line.tell("steps", 0.5)
    assert lines(capsys)[-1] == "work: steps, 8 min 30 s, about 10 s left"


def test_a_log_gets_a_line_now_and_then_and_a_mute_line_nothing(capsys):
    clock = Clock()
    for mute in (False, True):
        with ProgressLine("work", 5.0, mute=mute, clock=clock) as line:
            for step in range(21):
                line.tell("steps", step / 20)
                clock.now += 1.0
            line.clear()
    said = capsys.readouterr().err
    assert said.splitlines() == [
        f"work: steps, {t} s" + (f", about {20 - t} s left" if t < 20 else "") for t in (5, 10, 15, 20)
    ]


def test_a_line_that_is_too_long_is_cut_and_one_that_is_cleared_is_gone(monkeypatch, capsys):
    on_terminal(monkeypatch, 20)
    line = ProgressLine("work")
    line.tell("x" * 100)
    line.clear()
    line.end()
    assert capsys.readouterr().err == "\r\x1b[K" + ("work: " + "x" * 100)[:19] + "\r\x1b[K"
    monkeypatch.setattr(sys, "stderr", None)
    line.tell("nowhere")


@pytest.mark.parametrize(("part", "seconds"), [(0.0, 10.0), (1.0, 10.0), (0.5, 0.5), (0.99, 10.0), (-0.1, 10.0)])
def test_nothing_is_promised_that_nobody_knows_or_that_is_over(part, seconds):
    assert left(part, seconds) == ""


def test_times_are_never_of_sixty_seconds():
    assert [duration(s) for s in (59.4, 59.6, 3599.6)] == ["59 s", "1 min 0 s", "1 h 0 min"]


def test_the_part_of_runs_that_end_early_only_grows_to_all_of_it():
    """Runs at the same time, some of them with all their rounds, some with few."""
    parts = []
    counter = Counter(lambda what, rounds: parts.append(counter.part))
    counter.expect(4 * 0.5 * 60 + 10 * 3.0)

    def work(rounds):
        with counter.run("run", most=60) as tick:
            for _ in range(rounds):
                tick()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, (60, 20, 1, 35)))
    tick = counter.of("on all", 3.0)
    for _ in range(10):
        tick()
    assert parts == sorted(parts)
    assert parts[0] == 0.0
    assert 0.5 < parts[-1] < 1.0
    assert counter.part == pytest.approx(1.0)


@pytest.mark.parametrize("known", [0, 30])
@pytest.mark.parametrize("sampled", [False, True])
def test_all_work_of_a_match_was_expected(monkeypatch, known, sampled):
    import numpy as np

    rng = np.random.default_rng(100)
    A = rng.gamma(0.3, size=(120, 8)) @ rng.normal(size=(8, 20))
    if sampled:
        monkeypatch.setattr("isthmus.matching.run.SAMPLE_CELLS", 4000)
        monkeypatch.setattr("isthmus.matching.runs.SAMPLE_CELLS", 4000)
        monkeypatch.setattr("isthmus.matching.run.SAMPLED", 60)
    parts = []
    monkeypatch.setattr(RoundsLine, "__call__", lambda line, what, rounds: parts.append(line.part))
    isthmus.match(A, A @ rng.normal(size=(20, 15)), pairs=[(i, i) for i in range(known)] or None, progress=True)
    assert parts == sorted(parts)
    assert parts[1] == 0.0
    assert 0.9 < parts[-1] < 1.0  # before the last round


def test_steps_of_a_migration_come_to_all_of_them():
    import numpy as np

    rng = np.random.default_rng(100)
    meaning = rng.normal(size=(60, 4))
    for kind in ("auto", "ridge"):
        steps = []
        told = Steps.__call__

        def telling(self, what, worth=1, told=told, steps=steps):
            told(self, what, worth)
            steps.append((self.part, worth, self._all))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Steps, "__call__", telling)
            isthmus.migrate(meaning @ rng.normal(size=(4, 6)), meaning @ rng.normal(size=(4, 7)), kind=kind)
        part, worth, all_steps = steps[-1]
        assert [each[0] for each in steps] == sorted(each[0] for each in steps)
        assert part + worth / all_steps == pytest.approx(1.0)


def test_who_is_told():
    assert asked_for(True, lambda: "line", None) == "line"
    assert asked_for(print, lambda: "line", None) is print
    with pytest.raises(isthmus.InputError, match="progress: expected True, False or a function, got 'yes'"):
        asked_for("yes", lambda: "line", None)
