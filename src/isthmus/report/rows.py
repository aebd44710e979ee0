"""Rows of a user's file as a report shows them: names, classes, and a few words of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from isthmus._arrays import IntArray
from isthmus.exceptions import InputError
from isthmus.report.html import Markup, element, joined
from isthmus.tables import Column, Plan, Table, ids_of, labels_of
from isthmus.tables.cells import place_of, words

EXCERPT = 140
"""Characters of a row's text that are shown."""
NAME = 80
"""Characters of a name of a row or of a class."""
COLUMNS_SHOWN = 4
"""Columns that are shown of rows without text."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one domain.

    Parameters
    ----------
    domain : {"source", "target"}
        Which.
    table : Table
        Their cells.
    plan : Plan
        What the columns are.
    ids : tuple of str
        What the rows are called.
    labels : tuple of str or None
        Their classes, where they are known.
    """

    domain: str
    table: Table
    plan: Plan
    ids: tuple[str, ...]
    labels: tuple[str | None, ...]

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(
        cls, table: Table, domain: str, plan: Plan | None, id: Sequence[str] = (), label: str | None = None
    ) -> Rows:
        """From a table, by a plan that is known or by a new one; the user may name the columns of ids and classes."""
        named = next((name for name in id if name in table.names), None)
        label = label if label in table.names else None
        if plan is None:
            plan = Plan.of(table, id=named, label=label)
        here = corrected(plan, table, named, label)
        ids, labels = ids_of(table, here), [None] * table.n_rows if here.label is None else labels_of(table, here)
        return cls(domain, table, here, ids, tuple(labels))

    @property
    def file(self) -> str:
        """The name of their file, without its folder: a page may be sent to others."""
        return Path(self.table.path).name

    def some(self, rows: IntArray) -> Rows:
        """Some of the rows."""
        ids, labels = (tuple(values[i] for i in rows) for values in (self.ids, self.labels))
        return Rows(self.domain, self.table.take(rows), self.plan, ids, labels)

    def excerpts(self) -> list[str]:
        """A few words of each row: of its text, or of its first columns."""
        texts = [c.name for c in self.plan.columns if c.kind == "text" and c.name in self.table.names]
        if texts:
            cells = [words(self.table, name) for name in texts]
            return [cut(" · ".join(cell for cell in row if cell), EXCERPT) for row in zip(*cells, strict=True)]
        plain = [c.name for c in self.plan.columns if c.kind in ("category", "number", "date")]
        names = [name for name in plain if name in self.table.names][:COLUMNS_SHOWN]
        cells = [[_number(cell or "") for cell in words(self.table, name)] for name in names]
        rows = zip(*cells, strict=True) if names else [()] * len(self)
        return [
            cut(", ".join(f"{n} {cell}" for n, cell in zip(names, row, strict=True) if cell), EXCERPT) for row in rows
        ]


def corrected(plan: Plan, table: Table, id: str | None, label: str | None) -> Plan:
    """A plan for a table that may lack the columns of ids and classes, or have others for them."""
    wanted = {"id": id or plan.id, "label": label or plan.label}
    roles = {name: kind for kind, name in wanted.items() if name is not None and name in table.names}
    if id is not None and id == label:
        raise InputError(f"report: expected different columns for --id and --label, got {id!r:.60} for both.")
    known = {column.name: column for column in plan.columns}
    columns: list[Column] = []
    for name in dict.fromkeys([*known, *roles]):
        kind = roles.get(name)
        if kind is not None:
            columns.append(Column(name, kind))
        elif known[name].kind not in wanted:
            columns.append(known[name])
    return Plan(tuple(columns))


def sampled(rows: Rows, most: int, first: IntArray | None = None) -> IntArray:
    """The numbers of at most so many rows, in order: half of the places for some that go first, the rest at random.

    Examples
    --------
    >>> table = Table.of({"x": [0.5, 1.5, 2.5]})
    >>> rows = Rows("source", table, Plan.of(table), ("a", "b", "c"), ("u", None, None))
    >>> sampled(rows, 3), 0 in sampled(rows, 2)
    (array([0, 1, 2]), True)
    """
    n = len(rows)
    if n <= most:
        return np.arange(n)
    rng = np.random.default_rng(0)
    if first is None:
        first = np.array([i for i, label in enumerate(rows.labels) if label is not None], dtype=np.intp)
    chosen = rng.permutation(first)[: (most + 1) // 2]
    others = rng.permutation(np.setdiff1d(np.arange(n), chosen))[: most - len(chosen)]
    return np.sort(np.concatenate([chosen, others]))


def in_order(names: Iterable[str]) -> list[str]:
    """Names in alphabetic order, numbers in them by their size.

    Examples
    --------
    >>> in_order(["digit 10", "digit 9", "cat"])
    ['cat', 'digit 9', 'digit 10']
    """
    return sorted(names, key=lambda name: [(len(part), part) if part.isdecimal() else (0, part) for part in
                                           re.split(r"([0-9]+)", name)])  # fmt: skip


def _number(cell: str) -> str:
    """A cell in few characters: numbers with four digits."""
    try:
        return f"{float(cell):.4g}"
    except ValueError:
        return cut(cell, 24)


def cut(text: str, most: int = NAME) -> str:
    """A text in one line, and cut off where it is too long."""
    text = " ".join(text[: 20 * most].split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def places(ids: Sequence[str], wanted: Sequence[str | None]) -> IntArray:
    """Where names are among others (m,); -1 for those that are not."""
    place = {name: i for i, name in enumerate(ids)}
    return np.array([-1 if name is None else place_of(name, place) for name in wanted], dtype=np.intp)


def named(ids: Sequence[str], texts: Sequence[str]) -> list[Markup]:
    """Rows for a table of the page: the name, and a few words."""
    return [
        joined([element("b", cut(id)), *([" ", element("span", text, class_="words")] if text else [])])
        for id, text in zip(ids, texts, strict=True)
    ]
