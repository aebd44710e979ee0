"""Run a command as a process: exit status, one-line errors, signals, closed or redirected output."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from types import FrameType

from isthmus._core.files import escape_for_terminal, record_writes, show_path
from isthmus.exceptions import InputError, IsthmusError

BAD_INPUT, SIGNAL = 2, 128
STDERR = 2


class TerminatedError(KeyboardInterrupt):
    """SIGTERM or SIGHUP arrived; handled as Ctrl-C is, so that unfinished files are removed."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)


def run_command(
    program: str, run: Callable[[], int | None], after_stop: str = "", *, name_written: bool = False
) -> int:
    """Run a command and return its exit status: 0, 2 for bad input, 130 after Ctrl-C, 128 + number after a signal.

    Parameters
    ----------
    program : str
        Name at the start of error messages.
    run : callable
        The command.
    after_stop : str
        Sentence printed after Ctrl-C or a signal, for example how to resume.
    name_written : bool
        Whether to list the files that were completely written before Ctrl-C or a signal, if any, instead of
        ``after_stop``.
    """
    if isinstance(sys.stdout, TextIOWrapper):  # a terminal whose encoding has no "→" prints "?"
        sys.stdout.reconfigure(errors="replace")
    status: int | None = None
    try:
        with record_writes() as list_written, _handle_signals():
            try:
                status = run()
            except SystemExit:  # --help, or an error that the parser has printed
                print_output()
                raise
            print_output()
    except BrokenPipeError:  # the reader of the pipe, such as head, has closed it
        _discard_output()
    except (IsthmusError, OSError, MemoryError) as error:
        print_error(f"{program}: {escape_for_terminal(_format_error(error))}")
        return BAD_INPUT
    except KeyboardInterrupt as stop:
        by = str(stop) or "Ctrl-C"
        written = ", ".join(show_path(path) for path in list_written()) if name_written else ""
        end = f"Written before: {written}." if written else after_stop
        print_error(f"{program}: stopped by {by}. {end}".rstrip())
        # CPython remembers a KeyboardInterrupt inside exec, which dataclasses and namedtuples use, and would then end
        # the process by the signal instead of our status. Another exec clears that mark.
        exec("")
        return SIGNAL + getattr(stop, "number", signal.SIGINT)
    return status or 0


def print_output(text: str = "") -> None:
    """Print text and flush, so that a closed pipe raises here and not when Python exits."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _discard_output()
        raise InputError(f"standard output: could not write the answer: {error.strerror}.") from None


def print_error(line: str) -> None:
    """Print a line on standard error; nothing if that is closed (``print`` would use standard output)."""
    if sys.stderr is not None:
        print(line, file=sys.stderr)


@contextmanager
def silence_libraries() -> Iterator[None]:
    """Discard what compiled libraries write to standard error; Python can still write there.

    polars, for example, prints the panic of its Rust code, which is then also raised as an exception.
    """
    before = sys.__stderr__
    if before is None or sys.stderr is not before:  # closed, or already replaced, for example by pytest
        yield
        return
    kept, nowhere = os.dup(STDERR), os.open(os.devnull, os.O_WRONLY)
    before.flush()
    sys.stderr = os.fdopen(os.dup(STDERR), "w", 1, encoding=before.encoding, errors=before.errors)
    os.dup2(nowhere, STDERR)
    os.close(nowhere)
    try:
        yield
    finally:
        with suppress(OSError):  # the reader of the pipe has closed it
            sys.stderr.close()
        sys.stderr = before
        os.dup2(kept, STDERR)
        os.close(kept)


def _discard_output() -> None:
    # Python flushes standard output at exit and would report the error again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _format_error(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "out of memory; use fewer rows or columns, or a machine with more memory."
    if isinstance(error, OSError) and error.strerror:
        return f"{show_path(error.filename)}: {error.strerror}." if error.filename else f"{error.strerror}."
    return str(error)


@contextmanager
def _handle_signals() -> Iterator[None]:
    """Raise :class:`TerminatedError` on SIGTERM and SIGHUP, unless the caller has installed handlers of its own."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TerminatedError(number)

    wanted = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    main = threading.current_thread() is threading.main_thread()
    taken = [each for each in wanted if main and each is not None and signal.getsignal(each) == signal.SIG_DFL]
    for each in taken:
        signal.signal(each, stop)
    try:
        yield
    finally:
        for each in taken:
            signal.signal(each, signal.SIG_DFL)
