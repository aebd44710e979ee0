"""Two files as rows: read, planned, turned into features, and told."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.cli.arguments import format_of
from isthmus.cli.screen import Screen
from isthmus.exceptions import InputError
from isthmus.storage.files import opened, require_writable, shown, write_whole

if TYPE_CHECKING:
    from isthmus._arrays import BoolArray, IntArray, Matrix
    from isthmus._progress import Progress
    from isthmus.tables import Column, Features, Plan, Table

LONGEST_PLAN = 2**24
"""Bytes."""


@dataclass(frozen=True, eq=False)
class Side:
    """One file, or some rows of it, by the ids that they have in it; then ``unused`` are the ids of the others."""

    name: str
    table: Table
    plan: Plan
    features: Features
    X: Matrix
    ids: tuple[str, ...]
    unused: tuple[str, ...] = ()

    @property
    def labels(self) -> Any:
        """The classes (n,), None where the cell is empty; None without such a column."""
        from isthmus.tables import labels_of

        return None if self.plan.label is None else labels_of(self.table, self.plan)

    @property
    def facts(self) -> dict[str, Any]:
        """What there is, for machines."""
        sizes = {"rows": self.table.n_rows, "features": int(self.X.shape[1]), "labels": len(self._given)}
        dialect = self.table.dialect
        written = {} if dialect is None else {"separator": dialect.sep, "decimal": dialect.decimal}
        return {"file": str(self.table.path)} | sizes | written

    @property
    def _given(self) -> list[str]:
        """The labels of the rows that have one."""
        return [] if self.labels is None else [label for label in self.labels if label is not None]

    def only(self, kept: BoolArray) -> Side:
        """Some of the rows; the features stay those of all."""
        import numpy as np

        rows, others = np.flatnonzero(kept), np.flatnonzero(~kept)
        ids, unused = (tuple(self.ids[i] for i in some) for some in (rows, others))
        return replace(self, table=self.table.take(rows), X=self.X[rows], ids=ids, unused=unused)

    def labelled(self) -> Side:
        """The rows that have a label; all rows where none has one."""
        import numpy as np

        known = np.array([label is not None for label in self.labels])
        return self if known.all() or not known.any() else self.only(known)

    def labels_line(self) -> str:
        """How many labels there are, for the screen."""
        others = f"; {len(self.unused):,} rows without a label are not used" if self.unused else ""
        return f"{self.name}: {len(self._given):,} labels of {len(set(self._given))} classes{others}"

    def lines(self) -> list[str]:
        """What there is, for the screen."""
        head = f"{self.name}: {self.table.path}, {self.table.n_rows:,} rows, {self.X.shape[1]:,} features"
        written = "" if self.table.dialect is None else f"; {self.table.dialect}"
        return [f"{head}{written}", *(f"    {line}" for line in self.features.plan_lines())]


def both_sides(
    options: argparse.Namespace,
    files: tuple[Path, Path],
    names: tuple[str, str],
    screen: Screen,
    *,
    scale: bool = True,
) -> tuple[Side, Side] | None:
    """Both files as rows; None where only a plan was asked for, which is then written.

    Without ``scale``, numbers are left as they are, and texts are put on some axes, unless a plan says otherwise.
    """
    from isthmus.tables import Features, ids_of

    new_plan = options.plan is not None and not os.path.lexists(options.plan)
    if new_plan:
        require_writable(options.plan)
    bar = screen.bar("isthmus")
    tables = tuple(_read(path, bar, format_of(options, i)) for i, path in enumerate(files))
    plans = (
        _chosen_plans(options, tables, scale) if new_plan or options.plan is None else _given_plans(options, names)
    )
    if new_plan:
        write_whole(options.plan, "\n".join(p.to_toml(n) for p, n in zip(plans, names, strict=True)).encode())
        screen.say(f"The plan is in {options.plan}, and nothing else was done: change it there, and run this again.")
        screen.answer({"plan": str(options.plan)})
        return None
    # Ids that are there twice, and pairs of rows that are not there, are told before the work.
    ids = [ids_of(table, plan) for table, plan in zip(tables, plans, strict=True)]
    if getattr(options, "pairs", None) is not None:
        _require_pairs(options.pairs, ids, plans)
    sides = []
    for name, table, plan, own in zip(names, tables, plans, ids, strict=True):
        with bar:
            bar.report(f"features of {table.path}")
            features = Features.fit(plan, table)
            sides.append(Side(name, table, plan, features, features.transform(table), own))
        screen.say(*sides[-1].lines())
    return sides[0], sides[1]


def _read(path: Path, bar: Progress, written: Mapping[str, str | None]) -> Table:
    from isthmus.tables import read_table

    with bar:
        bar.report(f"reading {shown(path)}")
        return read_table(path, **written)


def _require_pairs(path: Path, ids: Sequence[Sequence[str]], plans: Sequence[Plan]) -> None:
    """Raise where a file of pairs can't be used, with what the rows are called."""
    from isthmus.tables import read_pairs
    from isthmus.tables.keys import UnknownIdError

    try:
        read_pairs(path, *ids)
    except UnknownIdError as error:
        named = ["row numbers from 0" if plan.id is None else f"the column {plan.id!r:.60}" for plan in plans]
        called = shown(f"{named[0]} in one file and {named[1]} in the other")
        raise InputError(f"{str(error)[:-1]}; ids are {called} (--id names such a column).") from None


def _given_plans(options: argparse.Namespace, names: tuple[str, str]) -> list[Plan]:
    from isthmus.tables import Plan

    path = shown(options.plan)
    with opened(options.plan) as file:
        text = file.read(LONGEST_PLAN)
    try:
        plans = [Plan.from_toml(text.decode("utf-8"), name) for name in names]
    except UnicodeDecodeError:
        raise InputError(f"{path}: expected a plan in UTF-8, got other bytes.") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    label = getattr(options, "label", None)
    roles = {"label": [label] * (label is not None), "id": options.id, "text": options.text, "left out": options.drop}
    for kind, columns in roles.items():
        for name in columns:
            if not any(column.name == name and column.kind == kind for plan in plans for column in plan.columns):
                option = "--drop" if kind == "left out" else f"--{kind}"
                raise InputError(
                    f"{path}: expected the column {shown(repr(name)[:60])} to be of kind {kind!r}, as {option} says, "
                    "got a plan that says otherwise."
                )
    return plans


def _chosen_plans(options: argparse.Namespace, tables: tuple[Table, ...], scale: bool) -> list[Plan]:
    from isthmus.tables import Plan

    label = getattr(options, "label", None)
    asked = [name for name in (label, *options.id, *options.text, *options.drop) if name is not None]
    for column in asked:
        if not any(column in table.names for table in tables):
            names = list(dict.fromkeys(shown(n) for t in tables for n in t.names))
            near = get_close_matches(column, names, 1)
            got = ", ".join(names)[:200] + "".join(f" (did you mean {name}?)" for name in near)
            raise InputError(
                f"{tables[0].path} and {tables[1].path}: expected a column {shown(repr(column)[:60])} in one of "
                f"them, got {got}."
            )

    def first(table: Table, columns: Sequence[str | None]) -> str | None:
        return next((column for column in columns if column in table.names), None)

    plans = [
        Plan.of(
            table,
            label=first(table, [label]),
            id=first(table, options.id),
            text=[name for name in options.text if name in table.names],
            drop=[name for name in options.drop if name in table.names],
        )
        for table in tables
    ]
    return plans if scale else [_as_vectors(plan) for plan in plans]


def pairs_by_id(first: Side, second: Side, screen: Screen) -> IntArray | None:
    """Rows that have the same id in both files, as row numbers (m, 2); None without ids, or without any such row."""
    import numpy as np

    if first.plan.id is None or second.plan.id is None:
        return None
    rows = {name: row for row, name in enumerate(second.ids)}
    found = [(row, rows[name]) for row, name in enumerate(first.ids) if name in rows]
    if not found:
        return None
    screen.say(f"pairs: {len(found):,} rows with the same id in both files")
    return np.array(found, dtype=np.intp)


def _as_vectors(plan: Plan) -> Plan:
    """The same with numbers as they are, and texts on some axes: maps of one column per word to another take long."""
    from isthmus.tables.choosing import COMPONENTS

    def changed(column: Column) -> Column:
        if column.kind == "text":
            return replace(column, components=COMPONENTS)
        return replace(column, scale=False) if "scale" in column.settings else column

    return replace(plan, columns=tuple(map(changed, plan.columns)))


def known_pairs(path: Path | None, first: Side, second: Side, screen: Screen) -> IntArray | None:
    """The pairs of a file as row numbers (m, 2), without those of rows that are not used; None where none is left."""
    if path is None:
        return None
    from isthmus.tables import read_pairs

    every = read_pairs(path, (*first.ids, *first.unused), second.ids)
    pairs = every[every[:, 0] < first.table.n_rows]
    others = f", of which {len(every) - len(pairs):,} have no label in the {first.name}, and are not used"
    screen.say(f"pairs: {path}, {len(every):,}{others if len(pairs) < len(every) else ''}")
    return pairs if len(pairs) else None
