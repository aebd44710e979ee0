"""What each column of a table is, and why; then the labels, ids and pairs that columns of these kinds give.

A plan is detected from the cells by :data:`RULES` (the first rule that applies), corrected by the user's options or
in its TOML text, and read by :mod:`isthmus.io.tables.features`.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isthmus._core.files import show_path
from isthmus._core.validation import UNLABELLED, FloatArray, IntArray, check_choice, check_number, is_sparse
from isthmus.data.shared_columns import plain_name
from isthmus.exceptions import InputError
from isthmus.io.tables.content import import_polars
from isthmus.io.tables.delimited import MOSTLY
from isthmus.io.tables.read import read_table
from isthmus.io.tables.table import (
    ParsedColumn,
    Table,
    find_word,
    parse_column,
    parse_days,
    parse_numbers,
    quote,
    read_words,
    trim,
)

if TYPE_CHECKING:
    from isthmus.io.tables.stream import RowBlocks

KINDS = {
    "id": "names the row",
    "label": "the class of the row",
    "number": "a number, scaled",
    "date": "a date, as a number of days, scaled",
    "category": "one of a few words, one column of 0 and 1 for each",
    "text": "words, weighted by tf-idf",
    "matrix": "many numbers",
    "dropped": "not used",
}
# The settings of columns of a kind.
SETTINGS = {"number": ("scale",), "date": ("scale",), "matrix": ("scale",), "text": ("components", "terms")}
FEATURES = ("number", "date", "category", "text", "matrix")
MOST_COMPONENTS, MOST_TERMS = 10_000, 1_000_000
VERSION = 1
PARTS = ("kind", "why", "scale", "components", "terms")


@dataclass(frozen=True)
class Column:
    """What one column is.

    Parameters
    ----------
    name : str
        Of the column.
    kind : str
        One of ``id``, ``label``, ``number``, ``date``, ``category``, ``text``, ``matrix``, ``dropped``.
    why : str
        The reason for it.
    scale : bool
        Numbers, dates, matrices: whether each column is brought to mean 0 and standard deviation 1.
    components : int
        Text: how many axes of a truncated singular value decomposition; 0 keeps the words, as a sparse matrix.
    terms : int
        Text: how many words at most, the most frequent ones.

    Examples
    --------
    >>> print(Column("title", "text", "4 words per cell"))
    title: text (4 words per cell)
    """

    name: str
    kind: str
    why: str = ""
    scale: bool = True
    components: int = 0
    terms: int = 20_000

    def __post_init__(self) -> None:
        place = f"plan, column {quote(self.name)}"
        for part, wanted in (("name", str), ("why", str), ("scale", bool)):
            if not isinstance(getattr(self, part), wanted):
                raise InputError(f"{place}, {part}: expected {wanted.__name__}, got {quote(getattr(self, part))}.")
        check_choice(self.kind, f"{place}, kind", KINDS)
        check_number(self.components, f"{place}, components", low=0, high=MOST_COMPONENTS, whole=True)
        check_number(self.terms, f"{place}, terms", low=1, high=MOST_TERMS, whole=True)
        allowed = SETTINGS.get(self.kind, ())
        for part in ("scale", "components", "terms"):
            if part not in allowed and getattr(self, part) != type(self).__dataclass_fields__[part].default:
                value = getattr(self, part)
                raise InputError(f"{place}: expected no {part!r} for kind {self.kind!r}, got {value!r}.")

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of this kind, by name."""
        return {part: getattr(self, part) for part in SETTINGS.get(self.kind, ())}

    def __str__(self) -> str:
        axes = f" on {self.components} axes" if self.components else ""
        unscaled = ", as it is" if not self.scale else ""
        return f"{show_path(self.name)}: {self.kind}{axes}{unscaled}" + f" ({show_path(self.why)})" * bool(self.why)


@dataclass(frozen=True)
class Plan:
    """What every column of a table is.

    Parameters
    ----------
    columns : tuple of Column
        In the order of the table; at most one is the id, at most one the label, at least one a feature.

    Examples
    --------
    >>> table = Table.of({"age": [31, 4, 58], "job": ["cook", "cook", "nurse"], "kind": ["a", None, "b"]})
    >>> plan = Plan.of(table, label="kind")
    >>> [column.kind for column in plan.columns]
    ['number', 'category', 'label']
    >>> Plan.from_toml(plan.to_toml()) == plan
    True
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if len(set(names)) < len(names):
            repeated = next(name for i, name in enumerate(names) if name in names[:i])
            raise InputError(f"plan: expected each column once, got {quote(repeated)} twice.")
        for kind in ("id", "label"):
            found = [column.name for column in self.columns if column.kind == kind]
            if len(found) > 1:
                got = " and ".join(map(quote, found[:2]))
                raise InputError(f"plan: expected at most one column of kind {kind!r}, got {got}.")
        if not self.features:
            raise InputError("plan: expected at least one column to learn from, got none: all are dropped.")

    @classmethod
    def of(
        cls,
        table: Table,
        *,
        label: str | None = None,
        id: str | None = None,
        text: Iterable[str] = (),
        drop: Iterable[str] = (),
    ) -> Plan:
        """Detect a plan from the cells of a table, with what the user says about some columns.

        Numbers are scaled; few different words become columns of 0 and 1; long or many different texts become tf-idf,
        which stays sparse where there is nothing else, and is reduced to axes next to other columns. Columns that are
        constant, empty, or look like an id are dropped.
        """
        roles = _assign_roles(table, {"label": label, "id": id, "text": text, "dropped": drop})
        columns = [
            Column(name, roles[name], ASKED) if name in roles else Column(name, *_detect_column(table, name))
            for name in table.names
        ]
        kinds = {column.kind for column in columns if column.kind in FEATURES}
        if not kinds:
            reasons = [f"{show_path(column.name)[:40]} is {column.kind} ({column.why})" for column in columns]
            got = "; ".join(reasons[:3]) + "; …" * (len(reasons) > 3)
            raise InputError(f"{table.path}: expected at least one column to learn from, got none; {got}.")
        return cls(_add_settings(columns, table))

    def detect_id(self, table: Table) -> Plan:
        """Return the plan in which the first column names the rows, if no other does and it looks like an id."""
        first = self.columns[0]
        # Annotations begin with the rows' own names, which are no evidence for matches.
        free = first.name in table.annotations and first.why != ASKED
        named = free and len({*read_words(table, first.name)}) == table.n_rows
        if self.id is not None or not (named or first.why in ID_LIKE) or None in read_words(table, first.name):
            return self
        why = "the names of the rows" if named else f"{FIRST}, {first.why}"
        return Plan((Column(first.name, "id", why), *self.columns[1:]))

    @property
    def features(self) -> tuple[Column, ...]:
        """The columns that are learned from."""
        return tuple(column for column in self.columns if column.kind in FEATURES)

    @property
    def label(self) -> str | None:
        """The name of the column of classes."""
        return self._find("label")

    @property
    def id(self) -> str | None:
        """The name of the column that names the rows."""
        return self._find("id")

    def to_toml(self, section: str = "") -> str:
        """Return the plan as TOML, one line per column, to be corrected by hand; with a section, a part of a text."""
        head = [f"# {kind}: {meaning}" for kind, meaning in KINDS.items()]
        table = f"{_write_value(section)}.columns" if section else "columns"
        version = [f"[{_write_value(section)}]"] * bool(section) + [f"version = {VERSION}"]
        lines = [f"{_write_value(column.name)} = {{ {_write_fields(column)} }}" for column in self.columns]
        return "\n".join([*head, *version, "", f"[{table}]", *lines]) + "\n"

    @classmethod
    def from_toml(cls, text: str, section: str = "") -> Plan:
        """Return the plan in a TOML text, or in a section of one."""
        try:
            found: Any = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            reason = show_path(str(error)[:120]).rstrip(".") if isinstance(error, ValueError) else "nested too deeply"
            raise InputError(f"plan: expected a text in TOML, got: {reason}.") from None
        if section:
            found = found.get(section)
            if not isinstance(found, dict):
                raise InputError(f"plan: expected a table [{show_path(section)}], got none.")
        if found.get("version", VERSION) != VERSION:
            raise InputError(f"plan, version: expected {VERSION}, got {quote(found['version'])}.")
        columns = found.get("columns")
        if not isinstance(columns, dict) or not columns:
            raise InputError("plan: expected a table [columns] with a line per column, got none.")
        return cls(tuple(_parse_column(name, about) for name, about in columns.items()))

    def _find(self, kind: str) -> str | None:
        return next((column.name for column in self.columns if column.kind == kind), None)


def _parse_column(name: str, about: Any) -> Column:
    place = f"plan, column {quote(name)}"
    if isinstance(about, str):
        about = {"kind": about}  # a short form for plans written by hand
    if not isinstance(about, dict) or "kind" not in about:
        raise InputError(f'{place}: expected {{ kind = "…" }}, got {quote(about)}.')
    unknown = next((part for part in about if part not in PARTS), None)
    if unknown is not None:
        raise InputError(f"{place}: expected {', '.join(PARTS)}, got {quote(unknown)}.")
    return Column(name, **about)


def _write_fields(column: Column) -> str:
    fields = {"kind": column.kind, **column.settings, "why": column.why}
    return ", ".join(f"{part} = {_write_value(value)}" for part, value in fields.items())


def _write_value(value: Any) -> str:
    # JSON's strings, numbers and truth values are TOML's too, but for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


# Different words of a column that becomes columns of 0 and 1.
MOST_CATEGORIES = 50
# Characters, on average: longer words are texts.
LONGEST_CATEGORY = 40
# At most this share of the cells of a category are different: words repeat.
REPEATED = 0.8
# Below this number of rows, consecutive whole numbers prove nothing.
SURE_OF_ID = 10
# Axes of a text next to other columns.
COMPONENTS = 100
ID_NAME = re.compile(r"(^|[_\W])(id|ids|key|index|nr|no|uuid|guid)$|^unnamed|^column 0$", re.IGNORECASE)
# Digits with a leading zero are a code, not a number.
CODE = r"^[+-]?0[0-9]"
# Different units and currencies of a column of numbers; more are the ends of codes such as 12a, 12b.
MOST_UNITS = 5
# Rows that show whether it is worth to read all cells of a column as numbers or dates, and the least share of these.
PROBE, LEAST_SHARE = 100, 0.5
DAY_FIRST = r"^[0-9]{1,2}[/.-][0-9]{1,2}[/.-][0-9]{4}"
ASKED = "set by an option"
COUNTS = "counts the rows, as an id does"
NAMED = "whole numbers, all different, named as an id is"
ONE_WORD = "one word per cell, all different, as an id"
FIRST = "the first column"
ID_LIKE = (COUNTS, NAMED, ONE_WORD)
Choice = tuple[str, str] | None
Rule = Callable[[Table, str, Any], Choice]


def _assign_roles(table: Table, roles: Mapping[str, str | Iterable[str] | None]) -> dict[str, str]:
    asked: dict[str, str] = {}
    for role, names in roles.items():
        word = "drop" if role == "dropped" else role
        for name in [names] if isinstance(names, str) else names or ():
            if name not in table.parts:
                got = f"{quote(name)}; it has {table.show_names()}"
                raise InputError(f"{word}: expected a column of {table.path}, got {got}.")
            if asked.get(name, role) != role:
                raise InputError(f"{word}: expected a column without another use, got {quote(name)}.")
            if role != "dropped" and table.is_matrix(name):
                raise InputError(f"{word}: expected a column of words or numbers, got the matrix {quote(name)}.")
            asked[name] = role
    return asked


def _add_settings(columns: Sequence[Column], table: Table) -> tuple[Column, ...]:
    alone = len({column.kind for column in columns if column.kind in FEATURES}) == 1

    def add(column: Column) -> Column:
        # Thousands of words next to a few numbers would outweigh them, and a sparse matrix can't be shifted.
        if column.kind == "text":
            return replace(column, components=0 if alone else COMPONENTS)
        if column.kind == "matrix":
            return replace(column, scale=not alone and not is_sparse(table.matrix(column.name)))
        return column

    return tuple(map(add, columns))


def _detect_column(table: Table, name: str) -> tuple[str, str]:
    if table.is_matrix(name) and name.startswith("obsm/") and "X" in table.parts:
        return "dropped", "computed from X"
    if table.is_matrix(name):
        return "matrix", f"{table.matrix(name).shape[1]} columns"
    if name in table.annotations:
        return "dropped", "an annotation of the rows"
    series = table.column(name)
    return next(choice for rule in RULES if (choice := rule(table, name, series)) is not None)


def _detect_lists(table: Table, name: str, series: Any) -> Choice:
    pl = import_polars()
    if series.dtype.is_nested():
        return "dropped", "cells are lists or tables that do not make a matrix"
    known = series.dtype.is_numeric() or series.dtype.is_temporal()
    known = known or series.dtype in (pl.String, pl.Boolean, pl.Categorical, pl.Enum, pl.Null)
    return None if known else ("dropped", f"cells of type {series.dtype!s:.40}")


def _detect_constant(table: Table, name: str, series: Any) -> Choice:
    cells = trim(series) if series.dtype == import_polars().String else series
    different = cells.drop_nulls().n_unique()
    reason = "the same in all cells" if different else "all cells are empty"
    return ("dropped", reason) if different <= 1 else None


def _detect_dates(table: Table, name: str, series: Any) -> Choice:
    found = _parse_mostly(series, parse_days)
    if found is None:
        return None
    day_first = series.dtype == import_polars().String and bool(trim(series).str.contains(DAY_FIRST).any())
    return "date", ", ".join(["the day before the month"] * day_first + _describe_gaps(found.n_empty, len(series)))


def _detect_numeric(table: Table, name: str, series: Any) -> Choice:
    pl = import_polars()
    if series.dtype in (pl.Boolean, pl.Categorical, pl.Enum) or series.dtype.is_temporal():
        return None
    text = trim(series.cast(pl.String))
    if series.dtype == pl.String and text.str.contains(CODE).any():
        return None  # postcodes and article numbers: 01234 is not 1234
    found = _parse_mostly(series, lambda cells: parse_numbers(cells, table.decimal))
    if found is None or (found.wrong.any() and _is_category(text)):
        return None  # such as sizes 36, 38, XL: few different words, so no mistakes
    if found.coerced.any():
        units = text.filter(pl.Series(found.coerced)).str.replace_all(r"[0-9., '’+-]", "").n_unique()
        if units > MOST_UNITS:
            return None
    why = ", ".join(_describe_gaps(found.n_empty, len(series)))
    return _detect_numeric_id(name, found.values[~np.isnan(found.values)]) or ("number", why)


def _parse_mostly(series: Any, parse: Callable[[Any], ParsedColumn]) -> ParsedColumn | None:
    """Return a column as numbers or dates; None where too many cells are others to be mistakes."""
    if len(series) > PROBE and parse(series.gather_every(len(series) // PROBE)).share < LEAST_SHARE:
        return None
    found = parse(series)
    return found if found.share >= MOSTLY else None


def _detect_numeric_id(name: str, values: FloatArray) -> Choice:
    # An id says nothing about its row, and as a feature it would order the rows of both files alike.
    if not (values == np.floor(values)).all() or len(np.unique(values)) < len(values):
        return None
    if len(values) >= SURE_OF_ID and np.ptp(values) == len(values) - 1:
        return "dropped", COUNTS
    return ("dropped", NAMED) if ID_NAME.search(name) else None


def _detect_words(table: Table, name: str, series: Any) -> Choice:
    text = trim(series.cast(import_polars().String))
    cells = text.drop_nulls()
    gaps = _describe_gaps(text.null_count(), len(text))
    if _is_category(text):
        return "category", ", ".join([f"{cells.n_unique():,} different words", *gaps])
    if cells.n_unique() == len(cells) and cells.str.contains(r"^[!-~]{1,64}$").all():
        return "dropped", ONE_WORD
    if not cells.str.contains(r"\w").any():
        return "dropped", "no words in it"
    per_cell = float(cells.str.count_matches(r"\S+").mean())
    return "text", ", ".join([f"{cells.n_unique():,} different texts, {per_cell:.3g} words per cell", *gaps])


def _is_category(text: Any) -> bool:
    cells = text.drop_nulls()
    different = cells.n_unique()
    few = different <= min(MOST_CATEGORIES, REPEATED * len(cells))
    return few and float(cells.str.len_chars().mean()) <= LONGEST_CATEGORY


def _describe_gaps(empty: int, n: int) -> list[str]:
    return [f"{empty:,} of {n:,} cells are empty"] if empty else []


# Dates come before numbers, for columns of dates such as 20240531.
RULES: tuple[Rule, ...] = (_detect_lists, _detect_constant, _detect_dates, _detect_numeric, _detect_words)


def settle_kinds(plans: Sequence[Plan], tables: Sequence[Table]) -> list[Plan]:
    """Return two plans in which columns of the same name are of the same kind.

    The kind is that of the cells of both together; numbers and dates have to be at least half of either. What the
    user asked for holds for both, and a number that looks like an id in one table is dropped in both.

    Examples
    --------
    >>> A, B = {"x": [1.5, 2, 9], "Size": [36, 38, 41]}, {"x": [1, 3, 4], "size": ["S", "M", "S"]}
    >>> tables = [Table.of(A), Table.of(B)]
    >>> [plan.columns[1].kind for plan in settle_kinds([Plan.of(table) for table in tables], tables)]
    ['text', 'text']
    """
    ours, theirs = ({plain_name(column.name): column for column in plan.columns} for plan in plans)
    changed: list[dict[str, Column]] = [{}, {}]
    for name in (name for name in ours if name in theirs and ours[name].kind != theirs[name].kind):
        both = ours[name], theirs[name]
        kind = _settle_kind(both, tables)
        for column, other, found in zip(both, reversed(both), changed, strict=True):
            if kind is not None and column.kind != kind:
                why = other.why if kind == "dropped" else f"as in the other file, not {column.kind}"
                found[column.name] = Column(column.name, kind, why)
    return [_change_columns(*given) for given in zip(plans, tables, changed, strict=True)]


def _change_columns(plan: Plan, table: Table, changed: Mapping[str, Column]) -> Plan:
    columns = [changed.get(column.name, column) for column in plan.columns]
    left = any(column.kind in FEATURES for column in columns)
    return Plan(_add_settings(columns, table)) if changed and left else plan


def _settle_kind(columns: tuple[Column, Column], tables: Sequence[Table]) -> str | None:
    """Return the kind for both columns: that of the cells of both together; None where each keeps its own."""
    kinds = {column.kind for column in columns}
    if kinds == {"number", "dropped"} and any(column.why in ID_LIKE for column in columns):
        return "dropped"
    if not kinds <= {"number", "date", "category", "text"}:
        return None
    asked = next((column.kind for column in columns if column.why == ASKED), None)
    if asked is not None:
        return asked
    pairs = list(zip(tables, columns, strict=True))
    cells = [_read_with_point(table, column.name) for table, column in pairs]
    both = Table.of({columns[0].name: import_polars().concat(cells)})
    kind, _ = _detect_column(both, columns[0].name)
    if kind == "category" and not all(map(_is_category, cells)):  # words repeat only because both files have them
        kind = "number" if "number" in kinds and parse_column(both, columns[0].name).share >= MOSTLY else "text"
    shares = (parse_column(table, column.name, days=kind == "date").share for table, column in pairs)
    return "text" if kind in ("number", "date") and min(shares) < LEAST_SHARE else kind


def _read_with_point(table: Table, name: str) -> Any:
    """Return a column as text without a name, numbers with a point as the decimal mark."""
    text = trim(table.column(name).cast(import_polars().String)).alias("")
    if table.decimal == ".":
        return text
    swapped = text.str.replace_all(".", "_", literal=True).str.replace_all(",", ".", literal=True)
    return text.zip_with(text.str.contains(DAY_FIRST), swapped.str.replace_all("_", ",", literal=True))


# Columns of a table of pairs, where there are more than two.
PAIR = "source", "target"
IDS = "ids are the cells of the id column (--id), or row numbers from 0 where there is none"


def read_labels(table: Table, plan: Plan) -> NDArray[Any]:
    """Return the classes of the rows as text (n,), None where the cell is empty or -1.

    Examples
    --------
    >>> table = Table.of({"x": [1.5, 2.0, 0.0, 3.0], "y": ["a", None, "b", "-1"]})
    >>> read_labels(table, Plan.of(table, label="y")).tolist()
    ['a', None, 'b', None]
    """
    if plan.label is None:
        raise InputError(f"{table.path}: expected a plan with a column of kind 'label', got none.")
    labels = np.empty(table.n_rows, dtype=object)
    labels[:] = [None if word == str(UNLABELLED) else word for word in read_words(table, plan.label)]
    return labels


def read_ids(table: Table, plan: Plan) -> tuple[str, ...]:
    """Return the names of the rows: the cells of the id column, or the numbers of the rows from 0, as text.

    Examples
    --------
    >>> table = Table.of({"x": [1.5, 2.0], "name": ["u", "v"]})
    >>> read_ids(table, Plan.of(table)), read_ids(table, Plan.of(table, id="name"))
    (('0', '1'), ('u', 'v'))
    """
    if plan.id is None:
        return tuple(map(str, range(table.first, table.first + table.n_rows)))
    first: dict[str, int] = {}
    for row, word in enumerate(read_words(table, plan.id)):
        if word is None:
            raise InputError(f"{table.locate(plan.id, row)}: the id is empty; fill it, or use another column (--id).")
        if first.setdefault(word, row) != row:
            place, remedy = table.locate(plan.id, first[word], row), "make ids unique, or use another column (--id)"
            raise InputError(f"{place}: the id {quote(word)} is there twice; {remedy}.")
    return tuple(first)


class IdRegister:
    """The ids of a file's rows, some rows at a time, checked as :func:`read_ids` checks those of a whole file.

    Eight bytes are kept per id. Where two of these are equal, the whole file is read to compare the ids themselves.
    """

    def __init__(self) -> None:
        self._hashes: list[NDArray[Any]] = []

    def read(self, table: Table, plan: Plan) -> tuple[str, ...]:
        """Return the ids of further rows."""
        ids = read_ids(table, plan)
        if plan.id is not None:
            self._hashes.append(import_polars().Series(ids).hash().to_numpy())
        return ids

    def check_unique(self, blocks: RowBlocks, plan: Plan) -> None:
        """Raise where two rows have the same id."""
        hashes = np.concatenate([np.empty(0, dtype=np.uint64), *self._hashes])
        if len(np.unique(hashes)) < len(hashes):
            read_ids(read_table(blocks.path, sep=blocks.sep, decimal=blocks.decimal), plan)


def read_pairs(path: str | os.PathLike[str], source_ids: Sequence[str], target_ids: Sequence[str]) -> IntArray:
    """Read known pairs from a file with two columns of ids, or with columns named ``source`` and ``target``.

    Parameters
    ----------
    path : str or path
        Of any kind that :func:`read_table` reads; columns named ``source`` and ``target``, as in a table of matches,
        or two columns of any name, the source's first. If these names are ids, the file has no header.
    source_ids, target_ids : sequence of str
        Of the rows, as :func:`read_ids` gives them.

    Returns
    -------
    pairs : array (m, 2)
        Row numbers in the source and in the target.
    """
    table = read_table(path)
    ids = (source_ids, target_ids)
    names = _find_id_columns(table)
    pairs = np.column_stack([_find_rows(table, *side) for side in zip(names, ids, PAIR, strict=True)])
    if all(name in known for name, known in zip(names, ids, strict=True)):
        # The file has no header: what was read as names of columns is its first pair.
        first = [list(known).index(name) for name, known in zip(names, ids, strict=True)]
        pairs = np.vstack([first, pairs])
    return pairs


def _find_id_columns(table: Table) -> tuple[str, ...]:
    """Return the columns of ids, the source's first."""
    if set(PAIR) <= set(table.names):
        return PAIR
    if len(table.names) != 2:
        got = f"{len(table.names)}: {table.show_names()}"
        raise InputError(f"{table.path}: expected two columns of ids, or some named source and target, got {got}.")
    return table.names


def _find_rows(table: Table, name: str, ids: Sequence[str], side: str) -> IntArray:
    place = {word: i for i, word in enumerate(ids)}
    cells = read_words(table, name)
    found = np.array([-1 if cell is None else find_word(cell, place) for cell in cells], dtype=np.intp)
    unknown = np.flatnonzero(found < 0)
    if len(unknown):
        row = int(unknown[0])
        cell = cells[row]
        problem = "the id is empty" if cell is None else f"no {side} row has the id {quote(cell)}"
        raise InputError(f"{table.locate(name, row)}: {problem}; {IDS}.")
    return found
