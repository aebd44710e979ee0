"""Plans as TOML texts: read by the standard library, written by hand."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

from isthmus.exceptions import InputError
from isthmus.storage.files import shown
from isthmus.tables.plan import KINDS, SETTINGS, Column

if TYPE_CHECKING:
    from isthmus.tables.plan import Plan

VERSION = 1
LONGEST = 2**24
"""Characters of a text that is read."""
PARTS = ("kind", "why", "scale", "components", "terms")


def plan_text(plan: Plan, section: str = "") -> str:
    r"""The plan as TOML, one line per column.

    Examples
    --------
    >>> from isthmus.tables import Plan, Column
    >>> print(plan_text(Plan((Column("age", "number", "all cells are numbers"),))).split("\n\n")[1])
    [columns]
    "age" = { kind = "number", scale = true, why = "all cells are numbers" }
    """
    head = [f"# {kind}: {meaning}" for kind, meaning in KINDS.items()]
    table = f"{_quoted(section)}.columns" if section else "columns"
    version = [f"[{_quoted(section)}]"] * bool(section) + [f"version = {VERSION}"]
    lines = [f"{_quoted(column.name)} = {{ {_fields(column)} }}" for column in plan.columns]
    return "\n".join([*head, *version, "", f"[{table}]", *lines]) + "\n"


def plan_columns(text: str, section: str = "") -> tuple[Column, ...]:
    """The columns of the plan in a TOML text."""
    if not isinstance(text, str) or len(text) > LONGEST:
        raise InputError(f"plan: expected a TOML text of at most {LONGEST} characters, got another.")
    try:
        found: Any = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = shown(str(error)[:120]).rstrip(".") if isinstance(error, ValueError) else "tables within tables"
        raise InputError(f"plan: expected a text in TOML, got: {reason}.") from None
    if section:
        if not isinstance(found.get(section), dict):
            raise InputError(f"plan: expected a table [{shown(section)}], got none.")
        found = found[section]
    version = found.get("version", VERSION)
    if version != VERSION:
        raise InputError(f"plan, version: expected {VERSION}, got {shown(repr(version)[:40])}.")
    columns = found.get("columns")
    if not isinstance(columns, dict) or not columns:
        raise InputError("plan: expected a table [columns] with a line per column, got none.")
    return tuple(_column(name, about) for name, about in columns.items())


def _column(name: str, about: Any) -> Column:
    place = f"plan, column {shown(repr(name)[:60])}"
    if isinstance(about, str):
        about = {"kind": about}  # short for who writes by hand
    if not isinstance(about, dict) or "kind" not in about:
        raise InputError(f'{place}: expected {{ kind = "…" }}, got {shown(repr(about)[:60])}.')
    kind = about["kind"]
    settings = SETTINGS.get(kind, ()) if isinstance(kind, str) else ()
    unknown = next((part for part in about if part not in ("kind", "why", *settings)), None)
    if unknown is not None and isinstance(kind, str) and kind in KINDS:
        wanted = ", ".join(("kind", "why", *settings))
        raise InputError(f"{place}: expected {wanted}, got {shown(repr(unknown)[:40])}.")
    return Column(name, **{part: about[part] for part in PARTS if part in about})


def _fields(column: Column) -> str:
    fields = {"kind": column.kind, **column.settings, "why": column.why}
    return ", ".join(f"{part} = {_quoted(value)}" for part, value in fields.items())


def _quoted(value: Any) -> str:
    # JSON's strings, numbers and truth values are TOML's too, but for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
