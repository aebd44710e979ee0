"""What a report is asked for: files of both domains, and what their columns are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from isthmus.exceptions import InputError
from isthmus.report.rows import Rows
from isthmus.storage.files import shown
from isthmus.tables import Plan


@dataclass(frozen=True)
class Request:
    """The rows that a report may show.

    Parameters
    ----------
    source, target : path, optional
        The two files.
    id : sequence of str
        Columns that name the rows, where the plan of the command is not known or has another.
    label : str, optional
        The column of classes, in the same way.
    """

    source: Path | None = None
    target: Path | None = None
    id: Sequence[str] = ()
    label: str | None = None

    def has_both(self, path: Path) -> bool:
        """Whether there are both files; with one alone there would be no common space to show."""
        if (self.source is None) != (self.target is None):
            missing = "--target" if self.target is None else "--source"
            raise InputError(f"{shown(path)}: expected both --source and --target, or neither, got no {missing}.")
        return self.source is not None

    def rows(self, domain: str, plan: Plan | None) -> Rows:
        """The rows of a file that was given."""
        path = self.source if domain == "source" else self.target
        if path is None:
            raise InputError(f"report: expected a file of {domain} rows (--{domain}), got none.")
        return Rows.read(path, domain, plan, self.id, self.label)
