"""The command line: its messages, its exit statuses, and how few modules it imports."""

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest

import isthmus
from conftest import LIMIT
from isthmus._core.files import save_file
from isthmus.cli.console import Console
from isthmus.cli.main import COMMANDS, main
from isthmus.cli.process import run_command
from isthmus.exceptions import DataWarning, InputError, warn


def run(*arguments, capsys):
    """Exit status, standard output, standard error."""
    try:
        status = main(list(arguments))
    except SystemExit as end:
        status = end.code
    return (status, *capsys.readouterr())


def python(*arguments, **options):
    environment = os.environ | {"PYTHONPATH": str(Path(isthmus.__file__).parents[1])}
    return subprocess.run([sys.executable, *arguments], text=True, env=environment, timeout=LIMIT, **options)


def test_help_names_every_command(capsys):
    status, out, _ = run("--help", capsys=capsys)
    assert status == 0
    for name, about in COMMANDS.items():
        assert f"    {name}" in out
        assert about in " ".join(out.split())
        assert run(name, "--help", capsys=capsys)[0] == 0


def test_systems_are_the_registry(capsys):
    assert run("systems", capsys=capsys) == (0, f"{isthmus.systems()}\n", "")


def test_systems_are_written_as_json(capsys):
    found = json.loads(run("systems", "--json", capsys=capsys)[1])["systems"]
    assert [row["name"] for row in found] == [s.name for s in isthmus.systems()]


def ended(error, after_stop=""):
    def stop():
        raise error

    return run_command("program", stop, after_stop)


def test_exit_statuses_and_messages(capsys):
    assert run_command("program", lambda: None) == 0
    assert ended(InputError("rows: expected some, got none.")) == 2
    assert ended(OSError("the disc is full")) == 2
    assert ended(KeyboardInterrupt(), "Go on.") == 130
    assert capsys.readouterr() == (
        "",
        "program: rows: expected some, got none.\nprogram: the disc is full\nprogram: stopped by Ctrl-C. Go on.\n",
    )
    assert ended(PermissionError(13, "Permission denied", "a\nb")) == 2
    assert ended(InputError("rows: expected some, got \x1b[2J.")) == 2
    assert ended(MemoryError()) == 2
    assert capsys.readouterr().err == (
        "program: 'a\\nb': Permission denied.\nprogram: rows: expected some, got \\x1b[2J.\n"
        "program: out of memory; use fewer rows or columns, or a machine with more memory.\n"
    )
    with mock.patch.object(sys, "stderr", None):  # closed: nothing goes to standard output instead
        assert ended(InputError("rows: expected some, got none.")) == 2
        assert not Console().progress
    assert capsys.readouterr() == ("", "")
    with pytest.raises(ZeroDivisionError):  # an internal error keeps its traceback
        ended(ZeroDivisionError())


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_ends_a_command_as_ctrl_c_does(name, tmp_path, capsys, usual_signals):
    number = getattr(signal, name)

    def write():
        with save_file(tmp_path / "file") as file:
            file.write(b"half")
            os.kill(os.getpid(), number)
            time.sleep(LIMIT)

    assert run_command("program", write, "Go on.") == 128 + number
    assert capsys.readouterr() == ("", f"program: stopped by {name}. Go on.\n")
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(number) == signal.SIG_DFL


def test_lines_are_printed_at_once_on_a_terminal_and_otherwise_after_success(capsys, monkeypatch):
    def speak(options, screen):
        screen.say("a beginning")
        raise InputError("rows: expected some, got none.")

    monkeypatch.setattr("isthmus.cli.systems.run", speak)
    assert run("systems", capsys=capsys) == (2, "", "isthmus: rows: expected some, got none.\n")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run("systems", capsys=capsys) == (2, "a beginning\n", "isthmus: rows: expected some, got none.\n")


@pytest.mark.filterwarnings("always")
def test_warnings_are_one_line_and_none_with_quiet(capsys, monkeypatch):
    monkeypatch.setattr("isthmus.cli.systems.run", lambda options, screen: warn("a\nb \x1b[2J", DataWarning))
    assert run("systems", capsys=capsys) == (0, "", "isthmus: warning: a\\nb \\x1b[2J\n")
    assert run("systems", "--quiet", capsys=capsys) == (0, "", "")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples_of_its_own_command(name, capsys):
    status, out, err = run(name, "--help", capsys=capsys)
    assert (status, err) == (0, "")
    assert f"\n  isthmus {name} " in out.partition("examples:")[2] + " " or f"$(isthmus {name} " in out


def test_help_lists_the_exit_statuses(capsys):
    out = run("--help", capsys=capsys)[1]
    for status in (0, 1, 2, 130):
        assert f"\n  {status:<3}  " in out


@pytest.mark.slow
def test_the_module_is_the_command():
    done = python("-m", "isthmus", "--version", capture_output=True)
    assert (done.returncode, done.stdout) == (0, f"isthmus {isthmus.__version__}\n")


@pytest.mark.slow
def test_a_closed_pipe_is_quiet():
    read, write = os.pipe()
    os.close(read)
    done = python("-m", "isthmus", "systems", stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


HELP = """
import contextlib, io, sys
from isthmus.cli.main import COMMANDS, main
for words in ([], *([name] for name in COMMANDS)):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        main([*words, "--help"])
    assert "usage: isthmus" in out.getvalue()
print(*sys.modules)
"""


def test_help_loads_no_library():
    """What a command needs is imported when it runs, so that help appears immediately."""
    done = python("-c", HELP, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "isthmus.cli.main" in done.stdout.split()
    assert not {"numpy", "sklearn", "scipy", "joblib", "polars"} & set(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["systems", "--colour"], "unrecognized arguments: --colour; see `isthmus systems --help`"),
        (["match", "a.csv"], "the following arguments are required: B; see `isthmus match --help`"),
        (["nothing"], "argument COMMAND: invalid choice: 'nothing'"),
        (["match", "a", "b", "--seed", "x"], "argument --seed: expected a whole number of at least 0, got 'x'"),
        (["label", "a", "b", "--label", "c", "--check", "-1"], "argument --check: expected a whole number"),
        (["embed", "m", "f", "--domain", "both", "-o", "x"], "argument --domain: invalid choice: 'both'"),
        ([], "the following arguments are required: COMMAND; see `isthmus --help`"),
    ],
)
def test_a_wrong_option_is_one_sentence(capsys, words, said):
    with pytest.raises(SystemExit) as end:
        main(words)
    out, err = capsys.readouterr()
    assert (end.value.code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"isthmus: {said}")
    assert err.endswith(" --help`.\n")


NOISE = """
import os, sys
from isthmus.cli.process import silence_libraries
with silence_libraries():
    os.write(2, b"panicked at")
    print("our words", file=sys.stderr)
os.write(2, b"after\\n")
print("later", file=sys.stderr)
"""


def test_what_libraries_print_on_standard_error_is_discarded_and_python_can_print():
    done = python("-c", NOISE, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "our words\nafter\nlater\n")


def test_importing_the_main_module_runs_nothing(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "isthmus.__main__", raising=False)
    monkeypatch.setattr(sys, "argv", ["isthmus", "--no-such-option"])
    assert importlib.import_module("isthmus.__main__").main is main
    assert capsys.readouterr() == ("", "")
