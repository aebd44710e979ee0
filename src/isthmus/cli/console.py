"""Where answers go, looked at before the work: what can't be written is told at once, and no input is overwritten."""

from __future__ import annotations

import argparse
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
    """Raise where a file could not be written, or is one of the inputs."""
    if path is None:
        return
    _check_not_folder(path)
    for given in inputs:
        if given is not None and _same_file(path, given):
            raise InputError(f"{show_path(path)}: expected an output beside the inputs, got one of them.")
    check_writable(path)


def check_table_output(path: Path | None, *inputs: Path | None) -> None:
    """The same for a table, whose ending has to be one of those that can be written."""
    if path is None:
        return
    from isthmus.io.tables.content import import_polars
    from isthmus.io.tables.write import WRITERS

    import_polars()  # what is missing is told before the work
    _check_not_folder(path)
    if path.suffix.lower() not in WRITERS:
        raise InputError(f"{show_path(path)}: expected a name that ends in one of {', '.join(WRITERS)}.")
    check_output(path, *inputs)


def _check_not_folder(path: Path) -> None:
    if os.path.isdir(path):
        raise InputError(f"{show_path(path)}: expected a file, got a folder.")


def _same_file(path: Path, other: Path) -> bool:
    return os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)


@dataclass(frozen=True)
class Console:
    """Where words go.

    Parameters
    ----------
    json : bool
        Whether one JSON object is printed at the end, and words are left out.
    quiet : bool
        Whether nothing is said.
    """

    json: bool = False
    quiet: bool = False

    @classmethod
    def of(cls, options: argparse.Namespace) -> Console:
        """As the options ask for."""
        return cls(options.json, options.quiet)

    @property
    def progress(self) -> bool:
        """Whether to show how far long work is: on a terminal that is not to be silent, where tqdm is installed."""
        return not (self.json or self.quiet) and sys.stderr is not None and sys.stderr.isatty() and has_tqdm()

    def say(self, *lines: str) -> None:
        """Lines for people; what came from files can't act on a terminal."""
        if not (self.json or self.quiet):
            for line in lines:
                print(escape_for_terminal(line), flush=True)

    def bar(self, name: str) -> Progress:
        """Return the progress of a command's own steps: a bar that is cleared at the end, or nothing."""
        return Progress(self.progress, name, leave=False)

    def answer(self, facts: Mapping[str, Any]) -> None:
        """The object for machines."""
        if self.json:
            text = json.dumps(facts, ensure_ascii=False, allow_nan=False)
            print("".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text))
