"""How a command ends: its exit status, and one line where something went wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from io import TextIOWrapper

from isthmus.exceptions import IsthmusError

INTERRUPTED = 130


def exit_status(program: str, run: Callable[[], None], after_stop: str = "") -> int:
    """Run a command: 0, 2 for bad input, 130 after Ctrl-C, when ``after_stop`` says how to go on."""
    if isinstance(sys.stdout, TextIOWrapper):  # a terminal that has no "→" gets another sign, not a traceback
        sys.stdout.reconfigure(errors="replace")
    try:
        run()
        sys.stdout.flush()  # here, where a closed pipe is expected, rather than when Python ends
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (IsthmusError, OSError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{program}: stopped by Ctrl-C. {after_stop}".rstrip(), file=sys.stderr)
        return INTERRUPTED
    return 0
