"""What a command keeps beside the table that it writes, for a report: one small file of JSON."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isthmus.exceptions import InputError
from isthmus.storage.files import opened, shown, write_whole
from isthmus.tables import Plan

FORMAT, VERDICT, VERSION = "isthmus record", "isthmus verdict", 1
START = b'{"format": "isthmus record"'
"""How a record begins."""
MOST = 1e9
"""No number in one is larger."""
LARGEST = 2**24
"""Bytes of a file of JSON that is read at all."""


@dataclass(frozen=True)
class Record:
    """What is known of a table that a command wrote.

    Parameters
    ----------
    kind : {"match", "label"}
        The command.
    facts : mapping
        What it prints for machines.
    plans : mapping of str to Plan
        What the columns of the two files are, by domain.
    changed : bool
        Whether the table is no longer the one that was written.
    """

    kind: str
    facts: Mapping[str, Any]
    plans: Mapping[str, Plan]
    changed: bool


def record_path(path: str | os.PathLike[str]) -> Path:
    """Where the record of a table is.

    Examples
    --------
    >>> record_path("matches.csv").name
    'matches.csv.json'
    """
    table = Path(path)
    return table.with_name(f"{table.name}.json")


def write_record(path: Path, kind: str, facts: Mapping[str, Any], plans: Mapping[str, Plan]) -> bool:
    """Write the record of a table that has just been written, whole or not at all.

    Whether it was: another file that happens to have its name is left as it is.
    """
    if record_path(path).exists() and not is_record(record_path(path)):
        return False
    about = {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "table": _digest(path),
        "facts": dict(facts),
        "plans": {domain: plan.to_toml() for domain, plan in plans.items()},
    }
    write_whole(record_path(path), json.dumps(about, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace"))
    return True


def read_record(path: Path, kind: str) -> Record | None:
    """The record of a table; None where there is none."""
    place = record_path(path)
    if not place.exists() or not is_record(place):
        return None
    about = read_json(place)
    if about.get("kind") != kind:
        raise InputError(f"{shown(place)}: expected the record of a table of `isthmus {kind}`, got another.")
    require_version(about, VERSION, place)
    known, plans = about.get("facts"), about.get("plans")
    if not isinstance(known, dict) or not isinstance(plans, dict):
        raise InputError(f"{shown(place)}: expected facts and plans in a record, got others.")
    found = {name: Plan.from_toml(plans[name]) for name in ("source", "target") if isinstance(plans.get(name), str)}
    return Record(kind, known, found, about.get("table") != _digest(path))


def require_version(about: Mapping[str, Any], newest: int, path: Path) -> None:
    """Raise where a file was written by a later version."""
    version = about.get("version")
    if not isinstance(version, int) or not 1 <= version <= newest:
        got = shown(repr(version)[:40])
        raise InputError(f"{shown(path)}, version: expected {newest} at most, got {got}; upgrade isthmus.")


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file of JSON; anything else is one sentence."""
    with opened(path) as file:
        raw = file.read(LARGEST + 1)
    if len(raw) > LARGEST:
        raise InputError(f"{shown(path)}: expected at most {LARGEST} bytes of JSON, got more.")
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        raise InputError(f"{shown(path)}: expected JSON in good order, got other text.") from None
    if not isinstance(value, dict):
        raise InputError(f"{shown(path)}: expected one JSON object, got {type(value).__name__}.")
    return value


def sentence_of(facts: Mapping[str, Any], name: str) -> str | None:
    """What a command said of one thing that it measured, such as what both files share.

    Examples
    --------
    >>> sentence_of({"shared": {"sentence": "These alone find 12%."}}, "shared")
    'These alone find 12%.'
    """
    about = facts.get(name)
    said = about.get("sentence") if isinstance(about, dict) else None
    return said if isinstance(said, str) else None


def is_plain(value: Any) -> bool:
    """Whether a value of a stranger's file is a number that can be told."""
    return isinstance(value, int | float) and abs(value) < MOST


def is_record(path: Path) -> bool:
    """Whether a file begins as a record does."""
    with opened(path) as file:
        return file.read(len(START)) == START


def _digest(path: Path) -> str:
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_verdict(path: Path, facts: Mapping[str, Any]) -> None:
    """Write a verdict as JSON, whole or not at all."""
    about = {"format": VERDICT, "version": VERSION} | dict(facts)
    write_whole(path, json.dumps(about, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace"))
