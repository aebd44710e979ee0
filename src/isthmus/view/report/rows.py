"""Rows of the user's files as a report shows them, and the records that commands store next to their tables."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._core.files import open_regular, show_path, write_whole
from isthmus._core.validation import IntArray
from isthmus.evidence.scores import OTHER_CLASSES
from isthmus.exceptions import InputError
from isthmus.io.tables.plan import Column, Plan, read_ids, read_labels
from isthmus.io.tables.read import read_table
from isthmus.io.tables.table import Table, find_word, read_words

EXCERPT, NAME, CELL = 140, 80, 24
"""Characters shown of a row's text, of the name of a row or class, and of a single cell."""
COLUMNS_SHOWN = 4
"""Columns shown of rows without text."""
NO_CLASS = "no class"
MOST_CLASSES = 40
"""Classes with a name and colour of their own; the smaller ones are shown together."""
RECORD, VERDICT, VERSION = "isthmus record", "isthmus verdict", 1
START = b'{"format": "isthmus record"'
"""The first bytes of a record."""
LARGEST_JSON = 2**24
"""Bytes of a JSON file that are read at most."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one domain with their names and labels.

    Parameters
    ----------
    domain : {"source", "target"}
        The domain.
    table : Table
        The cells.
    plan : Plan
        The types of the columns.
    ids : tuple of str
        The names of the rows.
    labels : tuple of str or None
        The classes, None where unknown.
    """

    domain: str
    table: Table
    plan: Plan
    ids: tuple[str, ...]
    labels: tuple[str | None, ...]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def file(self) -> str:
        """The name of the file without its folder, because a report may be passed on."""
        return Path(self.table.path).name

    def take(self, rows: IntArray) -> Rows:
        """Return some of the rows."""
        ids, labels = (tuple(values[i] for i in rows) for values in (self.ids, self.labels))
        return Rows(self.domain, self.table.take(rows), self.plan, ids, labels)

    def excerpts(self) -> list[str]:
        """Return a short text for each row: the start of its text, or its first columns."""
        texts = [c.name for c in self.plan.columns if c.kind == "text" and c.name in self.table.names]
        if texts:
            cells = [read_words(self.table, name) for name in texts]
            return [cut(" · ".join(filter(None, row)), EXCERPT) for row in zip(*cells, strict=True)]
        plain = [c.name for c in self.plan.columns if c.kind in ("category", "number", "date")]
        names = [name for name in plain if name in self.table.names][:COLUMNS_SHOWN]
        cells = [[_shorten(cell or "") for cell in read_words(self.table, name)] for name in names]
        rows = zip(*cells, strict=True) if names else [()] * len(self)
        named = ([f"{n} {cell}" for n, cell in zip(names, row, strict=True) if cell] for row in rows)
        return [cut(", ".join(row), EXCERPT) for row in named]


@dataclass(frozen=True)
class Inputs:
    """The files of both domains, and the columns that name and label their rows where the plan has others."""

    source: Path | None = None
    target: Path | None = None
    id: Sequence[str] = ()
    label: str | None = None
    formats: tuple[Mapping[str, str | None], Mapping[str, str | None]] = ({}, {})

    def has_both(self, path: Path) -> bool:
        """Return whether both files are given; one without the other is refused."""
        if (self.source is None) != (self.target is None):
            missing = "--target" if self.target is None else "--source"
            raise InputError(f"{show_path(path)}: expected both --source and --target, or neither, got no {missing}.")
        return self.source is not None

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The given files, each read once."""
        given = {name: path for name, path in (("source", self.source), ("target", self.target)) if path is not None}
        formats = dict(zip(("source", "target"), self.formats, strict=True))
        found = {name: read_table(path, **formats[name]) for name, path in given.items()}
        for column in filter(None, (*self.id, self.label)):
            if not any(column in table.names for table in found.values()):
                files = " and ".join(table.path for table in found.values())
                got = ", ".join(dict.fromkeys(name for table in found.values() for name in table.names))
                raise InputError(
                    f"{files}: expected a column {show_path(repr(column)[:60])}, got {show_path(got[:200])}."
                )
        return found

    def rows(self, domain: str, plan: Plan | None) -> Rows:
        """Return the rows of a given file, by a stored plan or one detected from its columns."""
        table = self.tables[domain]
        id = next((name for name in self.id if name in table.names), None)
        label = self.label if self.label in table.names else None
        plan = Plan.of(table, id=id, label=label) if plan is None else plan
        here = adapt_plan(plan, table, id, label)
        labels = [None] * table.n_rows if here.label is None else read_labels(table, here)
        return Rows(domain, table, here, read_ids(table, here), tuple(labels))


def adapt_plan(plan: Plan, table: Table, id: str | None, label: str | None) -> Plan:
    """Return the plan for a table that may lack the columns of names and labels, or have others for them."""
    if id is not None and id == label:
        raise InputError(f"report: expected different columns for --id and --label, got {id!r:.60} for both.")
    wanted = {"id": id or plan.id, "label": label or plan.label}
    roles = {name: kind for kind, name in wanted.items() if name is not None and name in table.names}
    kept = [column for column in plan.columns if column.kind not in wanted and column.name not in roles]
    return Plan((*kept, *(Column(name, kind) for name, kind in roles.items())))


def sample_rows(rows: Rows, most: int, first: IntArray | None = None) -> IntArray:
    """Draw at most ``most`` row numbers, sorted: up to half of them from ``first`` (the labelled rows by default).

    Examples
    --------
    >>> table = Table.of({"x": [0.5, 1.5, 2.5]})
    >>> rows = Rows("source", table, Plan.of(table), ("a", "b", "c"), ("u", None, None))
    >>> sample_rows(rows, 3), 0 in sample_rows(rows, 2)
    (array([0, 1, 2]), True)
    """
    if len(rows) <= most:
        return np.arange(len(rows))
    rng = np.random.default_rng(0)
    if first is None:
        first = np.array([i for i, label in enumerate(rows.labels) if label is not None], dtype=np.intp)
    chosen = rng.permutation(first)[: (most + 1) // 2]
    others = rng.permutation(np.setdiff1d(np.arange(len(rows)), chosen))[: most - len(chosen)]
    return np.sort(np.concatenate([chosen, others]))


def order_classes(names: Iterable[str]) -> list[str]:
    """Return the largest classes in alphabetic order, numbers by their size; "other classes", "no class" come last.

    Examples
    --------
    >>> order_classes(["digit 10", "no class", "digit 9", "cat"])
    ['cat', 'digit 9', 'digit 10', 'no class']
    """
    counts = Counter(names)
    without = counts.pop(NO_CLASS, 0)
    kept = [name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_CLASSES]]
    kept.sort(key=lambda name: [(len(p), p) if p.isdecimal() else (0, p) for p in re.split(r"([0-9]+)", name)])
    return kept + [OTHER_CLASSES] * (len(counts) > len(kept)) + [NO_CLASS] * bool(without)


def cut(text: str, most: int = NAME) -> str:
    """Return a text on one line, shortened to ``most`` characters."""
    text = " ".join(text[: 20 * most].split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def find_rows(path: Path, rows: Rows, ids: Sequence[str | None]) -> IntArray:
    """Return the row numbers (m,) of the ids in a table of answers; an id that no row has is refused."""
    place = {name: i for i, name in enumerate(rows.ids)}
    found = np.array([-1 if id is None else find_word(id, place) for id in ids], dtype=np.intp)
    if (found < 0).any():
        name = show_path(repr(ids[int(np.argmax(found < 0))])[:60])
        raise InputError(
            f"{rows.table.path}: expected the rows that {show_path(path)} names, got none called {name}; "
            "--id says which column names the rows."
        )
    return found


def _shorten(cell: str) -> str:
    try:
        return f"{float(cell):.4g}"
    except ValueError:
        return cut(cell, CELL)


@dataclass(frozen=True)
class Record:
    """What a command stored next to the table that it wrote.

    Parameters
    ----------
    kind : {"match", "label"}
        The command.
    facts : mapping
        What the command prints with ``--json``.
    plans : mapping of str to Plan
        The column types of the two files, by domain.
    changed : bool
        Whether the table was changed since.
    """

    kind: str
    facts: Mapping[str, Any]
    plans: Mapping[str, Plan]
    changed: bool

    def sentence(self, name: str) -> str | None:
        """Return the sentence on one measurement of the command, such as the baseline on shared columns."""
        fact = self.facts.get(name)
        said = fact.get("sentence") if isinstance(fact, dict) else fact
        return said if isinstance(said, str) else None


def record_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a table's record.

    Examples
    --------
    >>> record_path("matches.csv").name
    'matches.csv.json'
    """
    table = Path(path)
    return table.with_name(f"{table.name}.json")


def write_record(path: Path, kind: str, facts: Mapping[str, Any], plans: Mapping[str, Plan]) -> bool:
    """Write the record of a table; return False, and write nothing, where another file has the record's name."""
    if record_path(path).exists() and not _is_record(record_path(path)):
        return False
    stored = {name: plan.to_toml() for name, plan in plans.items()}
    about = {"kind": kind, "table": _hash_file(path), "facts": dict(facts), "plans": stored}
    _write_json(record_path(path), {"format": RECORD, "version": VERSION, **about})
    return True


def write_verdict(path: Path, facts: Mapping[str, Any]) -> None:
    """Write a verdict as JSON."""
    _write_json(path, {"format": VERDICT, "version": VERSION, **facts})


def read_record(path: Path) -> Record | None:
    """Return the record of a table, or None where there is none."""
    place = record_path(path)
    if not place.exists() or not _is_record(place):
        return None
    about = read_json(place)
    check_version(about, place)
    kind, facts, plans = str(about.get("kind")), about.get("facts"), about.get("plans")
    if not isinstance(facts, dict) or not isinstance(plans, dict):
        raise InputError(f"{show_path(place)}: expected facts and plans in a record, got others.")
    found = {name: Plan.from_toml(plans[name]) for name in ("source", "target") if isinstance(plans.get(name), str)}
    return Record(kind, facts, found, about.get("table") != _hash_file(path))


def check_version(about: Mapping[str, Any], path: Path) -> None:
    """Raise where a later version wrote the file."""
    version = about.get("version")
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        got = show_path(repr(version)[:40])
        raise InputError(f"{show_path(path)}, version: expected {VERSION} at most, got {got}; upgrade isthmus.")


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file."""
    with open_regular(path) as file:
        raw = file.read(LARGEST_JSON + 1)
    if len(raw) > LARGEST_JSON:
        raise InputError(f"{show_path(path)}: expected at most {LARGEST_JSON} bytes of JSON, got more.")
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        raise InputError(f"{show_path(path)}: expected valid JSON, got other text.") from None
    if not isinstance(value, dict):
        raise InputError(f"{show_path(path)}: expected one JSON object, got {type(value).__name__}.")
    return value


def _write_json(path: Path, about: Mapping[str, Any]) -> None:
    write_whole(path, json.dumps(about, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace"))


def _is_record(path: Path) -> bool:
    with open_regular(path) as file:
        return file.read(len(START)) == START


def _hash_file(path: Path) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
