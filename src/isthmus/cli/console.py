"""Checks of output paths before the work, and what a command prints: lines for people or one JSON object."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isthmus._core.files import check_writable, escape_for_terminal, show_path
from isthmus._core.progress import Progress, has_tqdm
from isthmus.exceptions import InputError


def check_output(path: Path | None, *inputs: Path | None) -> None:
    """Raise if a file can't be written or is one of the inputs."""
    if path is None:
        return
    if os.path.isdir(path):
        raise InputError(f"{show_path(path)}: expected a file, got a folder.")
    for given in inputs:
        # FILE.h5mu/NAME is in FILE.h5mu.
        if given and path.exists() and any(file.exists() and file.samefile(path) for file in (given, given.parent)):
            raise InputError(f"{show_path(path)}: expected an output other than the inputs, got one of them.")
    check_writable(path)


def check_table_output(path: Path | None, *inputs: Path | None) -> None:
    """Raise if a table can't be written: :func:`check_output`, and the file name needs a known extension."""
    if path is None:
        return
    from isthmus.io.tables.content import import_polars
    from isthmus.io.tables.write import find_ending

    import_polars()  # raises now if it is missing, before the work
    check_output(path, *inputs)
    find_ending(path)


class PlanWrittenError(Exception):
    """The command has ended with success: it wrote a plan to edit, and does nothing else before."""


@dataclass(frozen=True)
class Console:
    """What a command prints on standard output.

    Parameters
    ----------
    json : bool
        Whether to print one JSON object at the end and no other lines.
    quiet : bool
        Whether to print nothing.
    """

    json: bool = False
    quiet: bool = False

    @property
    def progress(self) -> bool:
        """Whether to show progress bars: on a terminal, with tqdm installed, without --json and --quiet."""
        return not (self.json or self.quiet) and sys.stderr is not None and sys.stderr.isatty() and has_tqdm()

    def say(self, *lines: str) -> None:
        """Print lines for people; control characters from files are escaped."""
        if not (self.json or self.quiet):
            for line in lines:
                print(escape_for_terminal(line), flush=True)

    def bar(self, name: str) -> Progress:
        """Return a progress bar for the steps of a command, cleared at the end; silent without a terminal."""
        return Progress(self.progress, name, leave=False)

    def answer(self, facts: Mapping[str, Any]) -> None:
        """Print the JSON object, if --json was given."""
        if self.json:
            text = json.dumps(facts, ensure_ascii=False, allow_nan=False)
            print("".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text))
