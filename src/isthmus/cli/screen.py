"""What a command says: words for people, or one JSON object for machines."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isthmus._progress import Progress, has_tqdm
from isthmus.storage.files import printable


@dataclass(frozen=True)
class Screen:
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
    def of(cls, options: argparse.Namespace) -> Screen:
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
                print(printable(line), flush=True)

    def bar(self, name: str) -> Progress:
        """Return the progress of a command's own steps: a bar that is cleared at the end, or nothing."""
        return Progress(self.progress, name, leave=False)

    def answer(self, facts: Mapping[str, Any]) -> None:
        """The object for machines."""
        if self.json:
            text = json.dumps(facts, ensure_ascii=False, allow_nan=False)
            print("".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text))
