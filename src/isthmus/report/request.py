"""What a report is asked for: files of both domains, and what their columns are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from isthmus.exceptions import InputError
from isthmus.report.rows import Rows
from isthmus.storage.files import shown
from isthmus.tables import Plan, Table, read_table


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
    written : pair of mapping
        ``sep`` and ``decimal`` of either file, for ``read_table``; what is not given is detected.
    """

    source: Path | None = None
    target: Path | None = None
    id: Sequence[str] = ()
    label: str | None = None
    written: tuple[Mapping[str, str | None], Mapping[str, str | None]] = ({}, {})

    def has_both(self, path: Path) -> bool:
        """Whether there are both files; with one alone there would be no common space to show."""
        if (self.source is None) != (self.target is None):
            missing = "--target" if self.target is None else "--source"
            raise InputError(f"{shown(path)}: expected both --source and --target, or neither, got no {missing}.")
        return self.source is not None

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The files that were given, read once; a column that none of them has is one sentence."""
        given = {name: path for name, path in (("source", self.source), ("target", self.target)) if path is not None}
        written = dict(zip(("source", "target"), self.written, strict=True))
        found = {name: read_table(path, **written[name]) for name, path in given.items()}
        for column in (*self.id, *([] if self.label is None else [self.label])):
            if not any(column in table.names for table in found.values()):
                files = " and ".join(table.path for table in found.values())
                got = ", ".join(dict.fromkeys(name for table in found.values() for name in table.names))
                raise InputError(f"{files}: expected a column {shown(repr(column)[:60])}, got {shown(got[:200])}.")
        return found

    def rows(self, domain: str, plan: Plan | None) -> Rows:
        """The rows of a file that was given."""
        if domain not in self.tables:
            raise InputError(f"report: expected a file of {domain} rows (--{domain}), got none.")
        return Rows.of(self.tables[domain], domain, plan, self.id, self.label)
