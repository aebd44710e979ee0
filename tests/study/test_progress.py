"""The progress of a run: one line of a terminal, a few of a log."""

import sys

import pytest

from isthmus.study.progress import Progress


class Terminal:
    def __init__(self, tty):
        self.text, self.tty = "", tty

    def write(self, text):
        self.text += text

    def flush(self):
        pass

    def isatty(self):
        return self.tty


def shown(monkeypatch, tty, steps):
    terminal = Terminal(tty)
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress("table1") as bar:
        for done in range(steps + 1):
            bar(done, steps)
    return terminal.text


def test_a_terminal_has_one_line_that_is_ended(monkeypatch):
    text = shown(monkeypatch, True, 3)
    assert text.count("\n") == 1
    assert text.endswith("\n")
    assert text.count("\r") == 4
    assert "3 of 3 trials" in text


def test_a_log_has_its_first_and_last_line(monkeypatch):
    text = shown(monkeypatch, False, 3)
    assert [line.split("] ")[1][:6] for line in text.splitlines()] == ["0 of 3", "3 of 3"]
    assert "\r" not in text
    assert "\x1b" not in text


def test_nothing_left_to_do_is_said_once(monkeypatch):
    assert shown(monkeypatch, False, 0) == "table1: all trials were there already\n"


@pytest.mark.parametrize(("seconds", "left"), [(10.0, "30 s"), (60.0, "3 min 0 s"), (2000.0, "1 h 40 min")])
def test_the_time_left_is_in_proportion(seconds, left):
    assert Progress("t").line(1, 4, seconds).endswith(f", {left} left")
