"""Records of commands: what `isthmus match` and `isthmus label` store next to their tables for a report, as JSON."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isthmus._core.files import open_regular, show_path, write_whole
from isthmus.exceptions import InputError
from isthmus.io.tables.plan import Plan

RECORD, VERDICT, VERSION = "isthmus record", "isthmus verdict", 1
# The name, among the parts of a model file, of what `isthmus fit` stores for a report.
FIT = "fit"
# The first bytes of a record.
START = b'{"format": "isthmus record"'
# Bytes of a JSON file that are read at most.
LARGEST_JSON = 2**24


@dataclass(frozen=True)
class CommandRecord:
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


def write_record(path: Path, kind: str, facts: Mapping[str, Any], source: Plan, target: Plan) -> list[str]:
    """Write the record of a table; where another file has its name, write nothing and return a line that says so."""
    place = record_path(path)
    if place.exists() and not _is_record(place):
        return [f"{place} is another file; it was not overwritten."]
    stored = {"source": source.to_toml(), "target": target.to_toml()}
    about = {"kind": kind, "table": _hash_file(path), "facts": dict(facts), "plans": stored}
    _write_json(place, {"format": RECORD, "version": VERSION, **about})
    return []


def write_verdict(path: Path, facts: Mapping[str, Any]) -> None:
    """Write a verdict as JSON."""
    _write_json(path, {"format": VERDICT, "version": VERSION, **facts})


def read_record(path: Path) -> CommandRecord | None:
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
    return CommandRecord(kind, facts, found, about.get("table") != _hash_file(path))


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
