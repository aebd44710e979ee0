"""Inputs of the commands: two tables as features, and model files with the features of either domain."""

from __future__ import annotations

import argparse
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus._core.files import check_writable, open_regular, show_path, write_whole
from isthmus.cli.console import Console
from isthmus.cli.options import format_of
from isthmus.exceptions import InputError

if TYPE_CHECKING:
    from isthmus._core.progress import Progress
    from isthmus._core.validation import BoolArray, IntArray, Matrix
    from isthmus.io.tables.features import Features
    from isthmus.io.tables.plan import Column, Plan
    from isthmus.io.tables.table import Table


DOMAINS = "source", "target"


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A model file of ``isthmus fit``: the model, and the features of either domain."""

    path: Path
    model: Any
    features: dict[str, Features]

    @classmethod
    def of(cls, path: Path) -> StoredModel:
        """Read a file; one that was written in Python has no features, which is an error."""
        from isthmus.io.model_file import load, load_parts
        from isthmus.io.tables.features import Features

        parts = load_parts(path)
        features = {domain: parts[domain] for domain in DOMAINS if isinstance(parts.get(domain), Features)}
        if len(features) < len(DOMAINS):
            raise InputError(f"{path}: expected a model of `isthmus fit`, got one without the features of its files.")
        return cls(path, load(path), features)

    def rows(self, table: Table, domain: str, remedy: str = "the other domain") -> Any:
        """Return the features of a table's rows; it needs the columns of the fit, and no others.

        The remedy is the option to give where the file has the columns of the other domain instead.
        """
        wanted, others = (self._columns(d) for d in (domain, other_domain(domain)))
        if not wanted <= {*table.names} and others <= {*table.names}:
            got = f"those of the {other_domain(domain)}; use {remedy}"
            raise InputError(f"{table.path}: expected the columns of the {domain}, got {got}.")
        return self.features[domain].transform(table)

    def _columns(self, domain: str) -> set[str]:
        """Return the columns by which a file of a domain is recognised."""
        plan = self.features[domain].plan
        return {column.name for column in plan.features} | ({plan.id} if plan.id is not None else set())


def add_model_option(parser: argparse.ArgumentParser) -> None:
    """Add the model file."""
    parser.add_argument("model", metavar="MODEL", type=Path, help="model file written by `isthmus fit`")


def other_domain(domain: str) -> str:
    """Return the other domain."""
    return DOMAINS[1 - DOMAINS.index(domain)]


# Bytes.
LONGEST_PLAN = 2**24


@dataclass(frozen=True, eq=False)
class InputFile:
    """An input file, or some rows of it, with their ids; ``unused`` are the ids of its other rows."""

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
        from isthmus.io.tables.plan import read_labels

        return None if self.plan.label is None else read_labels(self.table, self.plan)

    @property
    def facts(self) -> dict[str, Any]:
        """Sizes and dialect, for ``--json``."""
        sizes = {"rows": self.table.n_rows, "features": int(self.X.shape[1]), "labels": len(self._given)}
        dialect = self.table.dialect
        written = {} if dialect is None else {"separator": dialect.sep, "decimal": dialect.decimal}
        return {"file": str(self.table.path)} | sizes | written

    @property
    def _given(self) -> list[str]:
        """The labels of the rows that have one."""
        return [] if self.labels is None else [label for label in self.labels if label is not None]

    def select(self, kept: BoolArray) -> InputFile:
        """Return some of the rows; the features stay those of all."""
        import numpy as np

        rows, others = np.flatnonzero(kept), np.flatnonzero(~kept)
        ids, unused = (tuple(self.ids[i] for i in some) for some in (rows, others))
        return replace(self, table=self.table.take(rows), X=self.X[rows], ids=ids, unused=unused)

    def select_labels(self) -> InputFile:
        """Return the rows that have a label; all rows where none has one."""
        import numpy as np

        known = np.array([label is not None for label in self.labels])
        return self if known.all() or not known.any() else self.select(known)

    def labels_line(self) -> str:
        """Return the number of labels, for the screen."""
        others = f"; {len(self.unused):,} rows without a label are not used" if self.unused else ""
        return f"{self.name}: {len(self._given):,} labels of {len(set(self._given))} classes{others}"

    def lines(self) -> list[str]:
        """Return sizes, dialect and columns, for the screen."""
        head = f"{self.name}: {self.table.path}, {self.table.n_rows:,} rows, {self.X.shape[1]:,} features"
        written = "" if self.table.dialect is None else f"; {self.table.dialect}"
        return [f"{head}{written}", *(f"    {line}" for line in self.features.plan_lines())]


def read_inputs(
    options: argparse.Namespace,
    files: tuple[Path, Path],
    names: tuple[str, str],
    screen: Console,
    *,
    scale: bool = True,
) -> tuple[InputFile, InputFile] | None:
    """Read both files; None where a plan is to be written first, which is then written.

    Without ``scale``, numbers are not scaled, and texts are reduced to axes, unless a plan says otherwise.
    """
    from isthmus.io.tables.features import Features
    from isthmus.io.tables.plan import read_ids

    new_plan = options.plan is not None and not os.path.lexists(options.plan)
    if new_plan:
        check_writable(options.plan)
    bar = screen.bar("isthmus")
    tables = tuple(_read_table(path, bar, format_of(options, i)) for i, path in enumerate(files))
    plans = _detect_plans(options, tables, scale) if new_plan or options.plan is None else _load_plans(options, names)
    if new_plan:
        write_whole(options.plan, "\n".join(p.to_toml(n) for p, n in zip(plans, names, strict=True)).encode())
        screen.say(f"The plan is in {options.plan}; nothing else was done. Correct it, and run this command again.")
        screen.answer({"plan": str(options.plan)})
        return None
    # Repeated ids, and pairs of unknown rows, are reported before the work begins.
    ids = [read_ids(table, plan) for table, plan in zip(tables, plans, strict=True)]
    if getattr(options, "pairs", None) is not None:
        _check_pairs_file(options.pairs, ids, plans)
    sides = []
    for name, table, plan, own in zip(names, tables, plans, ids, strict=True):
        with bar:
            bar.report(f"features of {table.path}")
            features = Features.fit(plan, table)
            sides.append(InputFile(name, table, plan, features, features.transform(table), own))
        screen.say(*sides[-1].lines())
    return sides[0], sides[1]


def _read_table(path: Path, bar: Progress, written: Mapping[str, str | None]) -> Table:
    from isthmus.io.tables.read import read_table

    with bar:
        bar.report(f"reading {show_path(path)}")
        return read_table(path, **written)


def _check_pairs_file(path: Path, ids: Sequence[Sequence[str]], plans: Sequence[Plan]) -> None:
    """Raise where a file of pairs can't be used, with what the ids of either file are."""
    from isthmus.io.tables.plan import UnknownIdError, read_pairs

    try:
        read_pairs(path, *ids)
    except UnknownIdError as error:
        named = ["row numbers from 0" if plan.id is None else f"the column {plan.id!r:.60}" for plan in plans]
        called = show_path(f"{named[0]} in one file and {named[1]} in the other")
        raise InputError(f"{str(error)[:-1]}; ids are {called} (--id names such a column).") from None


def _load_plans(options: argparse.Namespace, names: tuple[str, str]) -> list[Plan]:
    from isthmus.io.tables.plan import Plan
    from isthmus.io.tables.table import quote

    path = show_path(options.plan)
    with open_regular(options.plan) as file:
        text = file.read(LONGEST_PLAN)
    try:
        plans = [Plan.from_toml(text.decode("utf-8"), name) for name in names]
    except UnicodeDecodeError:
        raise InputError(f"{path}: expected a plan in UTF-8, got other bytes.") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    label = getattr(options, "label", None)
    roles = {"label": [label] * (label is not None), "id": options.id, "text": options.text, "dropped": options.drop}
    for kind, columns in roles.items():
        for name in columns:
            if not any(column.name == name and column.kind == kind for plan in plans for column in plan.columns):
                option = "--drop" if kind == "dropped" else f"--{kind}"
                expected = f"the column {quote(name)} to be of kind {kind!r}, as {option} says"
                raise InputError(f"{path}: expected {expected}, got a plan that says otherwise.")
    return plans


def _detect_plans(options: argparse.Namespace, tables: tuple[Table, ...], scale: bool) -> list[Plan]:
    from isthmus.io.tables.plan import Plan
    from isthmus.io.tables.table import quote

    label = getattr(options, "label", None)
    asked = [name for name in (label, *options.id, *options.text, *options.drop) if name is not None]
    for column in asked:
        if not any(column in table.names for table in tables):
            names = list(dict.fromkeys(show_path(n) for t in tables for n in t.names))
            near = get_close_matches(column, names, 1)
            got = ", ".join(names)[:200] + "".join(f" (did you mean {name}?)" for name in near)
            both = f"{tables[0].path} and {tables[1].path}"
            raise InputError(f"{both}: expected a column {quote(column)} in one of them, got {got}.")

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
    return plans if scale else [_reduce_texts(plan) for plan in plans]


def pair_by_id(first: InputFile, second: InputFile, screen: Console) -> IntArray | None:
    """Return rows with the same id in both files, as row numbers (m, 2); None without ids or such rows."""
    import numpy as np

    if first.plan.id is None or second.plan.id is None:
        return None
    rows = {name: row for row, name in enumerate(second.ids)}
    found = [(row, rows[name]) for row, name in enumerate(first.ids) if name in rows]
    if not found:
        return None
    screen.say(f"pairs: {len(found):,} rows with the same id in both files")
    return np.array(found, dtype=np.intp)


def _reduce_texts(plan: Plan) -> Plan:
    """Return the plan with unscaled numbers, and texts reduced to axes: maps between columns per word take long."""
    from isthmus.io.tables.plan import COMPONENTS

    def change_kind(column: Column) -> Column:
        if column.kind == "text":
            return replace(column, components=COMPONENTS)
        return replace(column, scale=False) if "scale" in column.settings else column

    return replace(plan, columns=tuple(map(change_kind, plan.columns)))


def load_pairs(path: Path | None, first: InputFile, second: InputFile, screen: Console) -> IntArray | None:
    """Read the pairs of a file as row numbers (m, 2), without those of unused rows; None where there is no other."""
    if path is None:
        return None
    from isthmus.io.tables.plan import read_pairs

    every = read_pairs(path, (*first.ids, *first.unused), second.ids)
    pairs = every[every[:, 0] < first.table.n_rows]
    others = f", of which {len(every) - len(pairs):,} have no label in the {first.name}, and are not used"
    screen.say(f"pairs: {path}, {len(every):,}{others if len(pairs) < len(every) else ''}")
    return pairs if len(pairs) else None


def match_columns(source: InputFile, target: InputFile) -> list[tuple[int, int]] | None:
    """Return the places of features that both have: columns of equal names, and words of any text column."""
    ours, theirs = (_locate_features(side.features.blocks) for side in (source, target))
    return [(ours[key], theirs[key]) for key in ours if key in theirs] or None


def shared_rows(source: InputFile, target: InputFile) -> tuple[Matrix, Matrix] | None:
    """Return the features that both have as rows of either file; words too where a plan reduces them to axes."""
    import numpy as np

    from isthmus.io.tables.features import Features, Words

    plain = [
        Features(side.plan, tuple(replace(b, axes=None) if isinstance(b, Words) else b for b in side.features.blocks))
        for side in (source, target)
    ]
    ours, theirs = (_locate_features(features.blocks) for features in plain)
    shared = [key for key in ours if key in theirs]
    if not shared:
        return None
    places = (np.array([found[key] for key in shared], dtype=np.intp) for found in (ours, theirs))
    tables = source.table, target.table
    S, T = (f.transform(t)[:, columns] for f, t, columns in zip(plain, tables, places, strict=True))
    return S, T


def _locate_features(blocks: Any) -> dict[Hashable, int]:
    """Return the place of each feature that has a name of its own; the first of those of one name."""
    from isthmus.io.tables.features import MatrixPart, Words

    found: dict[Hashable, int] = {}
    place = 0
    for block in blocks:
        names: tuple[Hashable, ...] = block.names
        if isinstance(block, Words) and block.axes is None:
            names = tuple(("word", term) for term in block.terms)
        # An axis, or a column of a matrix, is only numbered: the same number means nothing.
        if not isinstance(block, MatrixPart) and not (isinstance(block, Words) and block.axes is not None):
            for i, name in enumerate(names):
                found.setdefault(name, place + i)
        place += len(names)
    return found
