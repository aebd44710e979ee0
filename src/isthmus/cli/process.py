"""How a command ends: its exit status, and one line where something went wrong."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from types import FrameType

from isthmus._core.files import escape_for_terminal, record_writes, show_path
from isthmus.exceptions import InputError, IsthmusError

BAD_INPUT, INTERRUPTED, SIGNAL = 2, 130, 128
STDERR = 2


class TerminatedError(KeyboardInterrupt):
    """Another program asks this one to stop: what is half done is tidied up, as after Ctrl-C."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)


def run_command(program: str, run: Callable[[], None], after_stop: str = "", *, tell_written: bool = False) -> int:
    """Run a command: 0, 2 for bad input, 130 after Ctrl-C, when ``after_stop`` says how to go on.

    With ``tell_written``, the message after Ctrl-C names the files that were written before it, if any.
    """
    with record_writes() as list_written:
        return _exit_status(program, run, after_stop, list_written if tell_written else lambda: [])


def _exit_status(
    program: str, run: Callable[[], None], after_stop: str, list_written: Callable[[], list[Path]]
) -> int:
    if isinstance(sys.stdout, TextIOWrapper):  # a terminal that has no "→" gets another sign, not a traceback
        sys.stdout.reconfigure(errors="replace")
    try:
        with _handle_signals():
            try:
                run()
            except SystemExit:  # the parser has said what there is to say
                print_output()
                raise
            print_output()
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        _discard_output()
    except (IsthmusError, OSError, MemoryError) as error:
        print_error(f"{program}: {escape_for_terminal(_format_error(error))}")
        return BAD_INPUT
    except KeyboardInterrupt as stop:
        by, status = (
            (str(stop), SIGNAL + stop.number) if isinstance(stop, TerminatedError) else ("Ctrl-C", INTERRUPTED)
        )
        written = ", ".join(show_path(path) for path in list_written())
        print_error(
            f"{program}: stopped by {by}. {f'Written before: {written}.' if written else after_stop}".rstrip()
        )
        exec("")  # Python remembers an interrupted exec, of a class of data for one, and would end by the signal
        return status
    return 0


def print_output(text: str = "") -> None:
    """Print text as it is, at once: here, where a closed pipe is expected, rather than when Python ends."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _discard_output()
        raise InputError(f"standard output: expected room for the answer, got '{error.strerror}'.") from None


def print_error(line: str) -> None:
    """Print a line on standard error, or nowhere if that is closed: ``print`` would then take standard output."""
    if sys.stderr is not None:
        print(line, file=sys.stderr)


@contextmanager
def silence_libraries() -> Iterator[None]:
    """Let Python alone write to standard error: a library that panics prints there, and we say it again."""
    before = sys.__stderr__
    if before is None or sys.stderr is not before:  # it is closed, or somebody has another one in its place
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
        with suppress(OSError):  # whoever reads it has gone
            sys.stderr.close()
        sys.stderr = before
        os.dup2(kept, STDERR)
        os.close(kept)


def _discard_output() -> None:
    # What could not be written would be tried once more when Python ends, and complained about.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _format_error(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "expected work that fits in memory, got more than there is."
    if isinstance(error, OSError) and error.strerror:
        return f"{show_path(error.filename)}: {error.strerror}." if error.filename else f"{error.strerror}."
    return str(error)


@contextmanager
def _handle_signals() -> Iterator[None]:
    """Make SIGTERM and SIGHUP leave as Ctrl-C does, unless the caller has other plans for them."""

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
