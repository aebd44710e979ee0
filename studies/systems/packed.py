"""Records of many seeds in few lines: what is the same for all seeds of a system and a pair stands once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from isthmus.exceptions import InputError
from isthmus.study.records import Record

SHARED = ("experiment", "group", "variant", "system", "setting", "versions", "fingerprint")
EACH = ("seed", "score", "seconds", "status", "gap")


def pack_records(records: Iterable[Record]) -> str:
    r"""Records as JSON lines, one for each system and pair.

    Examples
    --------
    >>> one = Record("labels", "a→b", "", 0, "arc", "default", {}, 0.5, 0.01, "optimal", 1e-9, "isthmus 1")
    >>> text = pack_records([one, Record(**{**vars(one), "seed": 1, "score": 0.6})])
    >>> text.count("\n"), [(record.seed, record.score) for record in unpack_records(text, "here")]
    (1, [(0, 0.5), (1, 0.6)])
    """
    lines: dict[tuple[object, ...], list[Record]] = {}
    for record in records:
        if record.parameters or record.grid or record.figures:
            raise InputError(f"records: expected fits with the defaults, and their scores, got {record.key}.")
        lines.setdefault(tuple(getattr(record, name) for name in SHARED), []).append(record)
    return "".join(_line(shared, some) for shared, some in lines.items())


def _line(shared: tuple[object, ...], records: list[Record]) -> str:
    values: dict[str, object] = dict(zip(SHARED, shared, strict=True))
    for name in EACH:
        column = [getattr(record, name) for record in records]
        alike = name in ("status", "gap") and len(set(column)) == 1
        values[name] = column[0] if alike else column
    return json.dumps(values, ensure_ascii=False, allow_nan=False) + "\n"


def unpack_records(text: str, where: str) -> Iterator[Record]:
    """The records of such lines; a line that is none is refused by its number."""
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else [], start=1):
        try:
            found = list(_records(json.loads(line)))
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            raise InputError(f"{where}, line {number}: expected packed records, got {line[:60]!r}.") from None
        yield from found


def _records(values: dict[str, object]) -> Iterator[Record]:
    shared = {name: values[name] for name in SHARED}
    texts = [value for name, value in shared.items() if value is not None or name != "fingerprint"]
    seeds = values["seed"]
    if not isinstance(seeds, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError
    columns = [values[name] if isinstance(values[name], list) else [values[name]] * len(seeds) for name in EACH]
    for row in zip(*columns, strict=True):
        each = dict(zip(EACH, row, strict=True))
        good = isinstance(each["seed"], int) and isinstance(each["status"], str) and each["seconds"] >= 0.0
        good = good and (each["score"] is None or 0.0 <= each["score"] <= 1.0)
        if not good or not (each["gap"] is None or isinstance(each["gap"], float | int)):
            raise ValueError
        yield Record(**shared, **each, parameters={})  # type: ignore[arg-type]


def read(path: Path) -> list[Record]:
    """The packed records of a file."""
    try:
        return list(unpack_records(path.read_text(encoding="utf-8"), str(path)))
    except UnicodeDecodeError:
        raise InputError(f"{path}: expected lines of JSON in UTF-8, got other bytes.") from None
