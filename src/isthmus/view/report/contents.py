"""Rows of the user's files as a report shows them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from isthmus._core.files import show_path
from isthmus._core.validation import IntArray
from isthmus.evidence.scores import OTHER_CLASSES
from isthmus.exceptions import InputError
from isthmus.io.tables.plan import Plan, read_ids, read_labels
from isthmus.io.tables.read import read_table
from isthmus.io.tables.table import Table, find_word, read_words

DOMAINS = "source", "target"
# Characters shown of a row's text, of the name of a row or class, and of a single cell.
EXCERPT, NAME, CELL = 140, 80, 24
# Columns shown of rows without text.
COLUMNS_SHOWN = 4
NO_CLASS = "no class"
# Classes with a name and colour of their own; the smaller ones are shown together.
MOST_CLASSES = 40


@dataclass(frozen=True, eq=False)
class ReportRows:
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

    def take(self, rows: IntArray) -> ReportRows:
        """Return some of the rows."""
        ids, labels = (tuple(values[i] for i in rows) for values in (self.ids, self.labels))
        return ReportRows(self.domain, self.table.take(rows), self.plan, ids, labels)

    def excerpts(self) -> list[str]:
        """Return a short text for each row: the start of its text, or its first columns."""
        texts = [c.name for c in self.plan.columns if c.kind == "text" and c.name in self.table.names]
        if texts:
            cells = [read_words(self.table, name) for name in texts]
            return [shorten(" · ".join(filter(None, row)), EXCERPT) for row in zip(*cells, strict=True)]
        plain = [c.name for c in self.plan.columns if c.kind in ("category", "number", "date")]
        names = [name for name in plain if name in self.table.names][:COLUMNS_SHOWN]
        cells = [[_shorten_cell(cell or "") for cell in read_words(self.table, name)] for name in names]
        rows = zip(*cells, strict=True) if names else [()] * len(self)
        named = ([f"{n} {cell}" for n, cell in zip(names, row, strict=True) if cell] for row in rows)
        return [shorten(", ".join(row), EXCERPT) for row in named]


Cells = list[tuple[str, str]]


def list_cells(table: Table, plan: Plan, most: int, rows: IntArray | None = None) -> list[Cells]:
    """Return names and texts of the cells of rows that are not empty, without ids and labels, shortened."""
    some = table if rows is None else table.take(rows)
    names = [name for name in some.names if name not in (plan.id, plan.label) and not some.is_matrix(name)]
    columns = [read_words(some, name) for name in names]
    return [
        [(name, shorten(cells[i] or "", most)) for name, cells in zip(names, columns, strict=True) if cells[i]]
        for i in range(some.n_rows)
    ]


@dataclass(frozen=True)
class AlignedCells:
    """Two rows next to each other: cells that mean the same (name, left, right), and the others of either row."""

    shared: list[tuple[str, str, str]]
    only: tuple[Cells, Cells]


def align_cells(first: Cells, second: Cells, pairs: Sequence[tuple[str, str]]) -> AlignedCells:
    """Return the cells of two rows next to each other, by the pairs of columns that mean the same.

    Examples
    --------
    >>> align_cells([("title", "Lamp"), ("maker", "Ott")], [("name", "lamp")], [("title", "name")])
    AlignedCells(shared=[('title · name', 'Lamp', 'lamp')], only=([('maker', 'Ott')], []))
    """
    rows = dict(first), dict(second)
    shared = [(a if a == b else f"{a} · {b}", rows[0].get(a, ""), rows[1].get(b, "")) for a, b in pairs]
    left, right = (
        [cell for cell in row.items() if cell[0] not in {p[k] for p in pairs}] for k, row in enumerate(rows)
    )
    return AlignedCells(shared, (left, right))


@dataclass(frozen=True)
class Inputs:
    """The files of both domains, and how their cells are written."""

    source: Path | None = None
    target: Path | None = None
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
        given = zip(DOMAINS, (self.source, self.target), self.formats, strict=True)
        return {name: read_table(path, **written) for name, path, written in given if path is not None}

    def rows(self, domain: str, plan: Plan | None) -> ReportRows:
        """Return the rows of a given file, by a stored plan or one detected from its columns."""
        table = self.tables[domain]
        plan = Plan.of(table).detect_id(table) if plan is None else plan
        labels = read_labels(table, plan) if plan.label in table.names else [None] * table.n_rows
        return ReportRows(domain, table, plan, read_ids(table, plan), tuple(labels))


def sample_rows(rows: ReportRows, most: int) -> IntArray:
    """Draw at most ``most`` row numbers, sorted: up to half of them labelled.

    Examples
    --------
    >>> table = Table.of({"x": [0.5, 1.5, 2.5]})
    >>> rows = ReportRows("source", table, Plan.of(table), ("a", "b", "c"), ("u", None, None))
    >>> sample_rows(rows, 3), 0 in sample_rows(rows, 2)
    (array([0, 1, 2]), True)
    """
    if len(rows) <= most:
        return np.arange(len(rows))
    rng = np.random.default_rng(0)
    labelled = np.array([i for i, label in enumerate(rows.labels) if label is not None], dtype=np.intp)
    chosen = rng.permutation(labelled)[: (most + 1) // 2]
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


def shorten(text: str, most: int = NAME) -> str:
    """Return a text on one line, shortened to ``most`` characters."""
    text = " ".join(text[: 20 * most].split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def find_rows(path: Path, rows: ReportRows, ids: Sequence[str | None]) -> IntArray:
    """Return the row numbers (m,) of the ids in a table of answers; an id that no row has is refused."""
    place = {name: i for i, name in enumerate(rows.ids)}
    found = np.array([-1 if id is None else find_word(id, place) for id in ids], dtype=np.intp)
    if (found < 0).any():
        name = show_path(repr(ids[int(np.argmax(found < 0))])[:60])
        raise InputError(
            f"{rows.table.path}: expected the rows that {show_path(path)} names, got none called {name}; "
            "its record says which column names the rows."
        )
    return found


def _shorten_cell(cell: str) -> str:
    try:
        return f"{float(cell):.4g}"
    except ValueError:
        return shorten(cell, CELL)
