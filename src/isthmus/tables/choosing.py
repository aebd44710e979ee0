"""A kind for each column, from its cells: the first rule that has an opinion decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from isthmus._arrays import is_sparse
from isthmus.exceptions import InputError
from isthmus.storage.files import shown
from isthmus.tables.cells import is_day_first, numbers, parsed_days, parsed_numbers, strangers, trimmed
from isthmus.tables.delimited import MOSTLY
from isthmus.tables.frames import polars
from isthmus.tables.plan import FEATURES, Column
from isthmus.tables.table import Table

MOST_CATEGORIES = 50
"""Different words of a column that becomes columns of 0 and 1."""
LONGEST_CATEGORY = 40
"""Characters, on average: longer words are texts."""
REPEATED = 0.8
"""At most this share of the cells of a category are different: some words come back."""
SURE_OF_ID = 10
"""Rows below which whole numbers in a row prove nothing."""
COMPONENTS = 100
"""Axes of a text that stands beside other columns."""
ID_NAME = re.compile(r"(^|[_\W])(id|ids|key|index|nr|no|uuid|guid)$|^unnamed|^column 0$", re.IGNORECASE)
CODE = r"^[+-]?0[0-9]"
"""Digits with a leading zero are a code, not a number."""
Choice = tuple[str, str] | None
Rule = Callable[[Table, str, Any], Choice]


def chosen_columns(
    table: Table, *, label: str | None, id: str | None, text: Iterable[str], drop: Iterable[str]
) -> tuple[Column, ...]:
    """What each column is: as the user says, else as its cells look."""
    asked = _asked(table, {"label": label, "id": id, "text": text, "left out": drop})
    columns = [
        Column(name, asked[name], "as asked") if name in asked else Column(name, *_chosen(table, name))
        for name in table.names
    ]
    kinds = {column.kind for column in columns if column.kind in FEATURES}
    if not kinds:
        raise InputError(f"{table.path}: expected at least one column to learn from, got none; {_reasons(columns)}.")
    return tuple(_set(column, alone=kinds == {column.kind}, table=table) for column in columns)


def _asked(table: Table, roles: Mapping[str, str | Iterable[str] | None]) -> dict[str, str]:
    asked: dict[str, str] = {}
    for role, names in roles.items():
        word = "drop" if role == "left out" else role
        for name in [names] if isinstance(names, str) else names or ():
            if name not in table.parts:
                got = f"{shown(repr(name)[:60])}; it has {table.shown_names()}"
                raise InputError(f"{word}: expected a column of {table.path}, got {got}.")
            if asked.get(name, role) != role:
                raise InputError(f"{word}: expected a column without another use, got {shown(repr(name)[:60])}.")
            if role != "left out" and table.is_matrix(name):
                raise InputError(f"{word}: expected a column of words or numbers, got the matrix {name!r:.60}.")
            asked[name] = role
    return asked


def _reasons(columns: Iterable[Column]) -> str:
    said = [f"{shown(column.name)[:40]} is {column.kind} ({column.why})" for column in columns]
    return "; ".join(said[:3]) + "; …" * (len(said) > 3)


def _set(column: Column, *, alone: bool, table: Table) -> Column:
    if column.kind == "text" and not alone:
        return replace(column, components=COMPONENTS)
    if column.kind == "matrix":
        return replace(column, scale=not alone and not is_sparse(table.matrix(column.name)))
    return column


def _chosen(table: Table, name: str) -> tuple[str, str]:
    if table.is_matrix(name):
        return _of_matrix(table, name)
    if name in table.annotations:
        return "left out", "says something about the rows"
    series = table.column(name)
    return next(choice for rule in RULES if (choice := rule(table, name, series)) is not None)


def _of_matrix(table: Table, name: str) -> tuple[str, str]:
    if name.startswith("obsm/") and "X" in table.parts:
        return "left out", "computed from X"
    return "matrix", f"{table.matrix(name).shape[1]} columns"


def _empty(table: Table, name: str, series: Any) -> Choice:
    cells = trimmed(series) if series.dtype == polars().String else series
    return ("left out", "all cells are empty") if cells.null_count() == table.n_rows else None


def _nested(table: Table, name: str, series: Any) -> Choice:
    pl = polars()
    if series.dtype.is_nested():
        return "left out", "cells are lists or tables that do not make a matrix"
    known = series.dtype.is_numeric() or series.dtype.is_temporal()
    known = known or series.dtype in (pl.String, pl.Boolean, pl.Categorical, pl.Enum)
    return None if known else ("left out", f"cells of type {series.dtype!s:.40}")


def _constant(table: Table, name: str, series: Any) -> Choice:
    cells = trimmed(series) if series.dtype == polars().String else series
    return ("left out", "the same in all cells that are not empty") if cells.drop_nulls().n_unique() == 1 else None


def _numeric(table: Table, name: str, series: Any) -> Choice:
    pl = polars()
    if series.dtype in (pl.Boolean, pl.Categorical, pl.Enum) or series.dtype.is_temporal():
        return None
    if series.dtype == pl.String and trimmed(series).str.contains(CODE).any():
        return None
    parsed = parsed_numbers(series, table.decimal)
    strange, understood = int(strangers(series, parsed).sum()), len(parsed) - parsed.null_count()
    if not understood or understood < MOSTLY * (understood + strange):
        return None
    if strange and _is_category(trimmed(series)):
        return None
    numbers(table, name)  # one sentence about the first of the cells that are none
    return _id_of_numbers(name, parsed) or ("number", f"numbers{_gaps(parsed)}")


def _id_of_numbers(name: str, parsed: Any) -> Choice:
    cells = parsed.drop_nulls()
    whole = bool((cells == cells.floor()).all())
    if len(cells) < SURE_OF_ID or not whole or cells.n_unique() < len(cells):
        return None
    if cells.max() - cells.min() == len(cells) - 1:
        return "left out", "counts the rows, as an id does"
    return ("left out", "whole numbers, all different, named as an id is") if ID_NAME.search(name) else None


def _dates(table: Table, name: str, series: Any) -> Choice:
    parsed = parsed_days(series)
    if parsed.null_count() == len(parsed) or strangers(series, parsed).any():
        return None
    day_first = series.dtype == polars().String and bool(is_day_first(trimmed(series)).any())
    return "date", f"dates{', the day before the month' * day_first}{_gaps(parsed)}"


def _words(table: Table, name: str, series: Any) -> Choice:
    text = trimmed(series.cast(polars().String))
    cells = text.drop_nulls()
    if _is_category(text):
        return "category", f"{cells.n_unique()} different words{_gaps(text)}"
    if cells.n_unique() == len(cells) and cells.str.contains(r"^[!-~]{1,64}$").all():
        return "left out", "one word per cell, all different, as an id"
    per_cell = float(cells.str.count_matches(r"\S+").mean())
    return "text", f"{cells.n_unique()} different texts, {per_cell:.3g} words per cell{_gaps(text)}"


def _is_category(text: Any) -> bool:
    cells = text.drop_nulls()
    different = cells.n_unique()
    few = different <= min(MOST_CATEGORIES, REPEATED * len(cells))
    return few and float(cells.str.len_chars().mean()) <= LONGEST_CATEGORY


def _gaps(column: Any) -> str:
    empty = int(column.null_count())
    return f", {empty} of {len(column)} cells are empty" if empty else ""


RULES: tuple[Rule, ...] = (_empty, _nested, _constant, _numeric, _dates, _words)
