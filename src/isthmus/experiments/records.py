"""Results as JSON lines: read with suspicion, written whole or not at all, never twice."""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from isthmus.exceptions import InputError

try:
    import fcntl
except ImportError:  # Windows, where folders can't be locked
    fcntl = None  # type: ignore[assignment]

Key: TypeAlias = tuple[str, str, str, int, str, str]
CERTIFIED = ("optimal", "done")
"""The states of a fit that may be trusted: proved optimal, or nothing to iterate."""


@dataclass(frozen=True)
class Record:
    """What one system did in one trial.

    Parameters
    ----------
    experiment, group, variant, seed
        The trial: which table, which source and target, which preparation of the features, which draw.
    system, setting : str
        The column, and how its parameters were chosen: "default", "oracle" (by test accuracy) or "selected".
    parameters : dict
        What differs from the defaults.
    score : float or None
        Accuracy on the test rows; None where the fit failed.
    seconds : float
        Time of the fit, or of all fits among which was chosen.
    status : str
        "optimal" (certified), "done" (nothing to certify), or what went wrong.
    gap : float or None
        The largest relative duality gap, where there is one.
    versions : str
        The software.
    grid : tuple of float, or None
        The quantity by which the parameters were chosen, at every point of the entrant's grid.
    figures : dict, or None
        Further numbers: retrieval of source rows by test rows, the toy problem's MMD.
    """

    experiment: str
    group: str
    variant: str
    seed: int
    system: str
    setting: str
    parameters: dict[str, float]
    score: float | None
    seconds: float
    status: str
    gap: float | None
    versions: str
    grid: tuple[float | None, ...] | None = None
    figures: dict[str, float] | None = None

    @property
    def key(self) -> Key:
        """What no two records share."""
        return (self.experiment, self.group, self.variant, self.seed, self.system, self.setting)

    @property
    def certified(self) -> bool:
        """Whether the fit, or all fits among which was chosen, ended as it should."""
        return self.status in CERTIFIED

    def line(self) -> str:
        """One line of JSON; what is None by default is left out."""
        values = {k: v for k, v in asdict(self).items() if v is not None or k not in ("grid", "figures")}
        return json.dumps(values, ensure_ascii=False, allow_nan=False) + "\n"


class Results:
    """The records of one experiment in a folder: one file, and a part for every trial that is not merged yet.

    A trial's records appear under their name at once or not at all, so that a run can be killed at any time. Parts
    are merged into the file when a run ends; one that never ended is merged by the next.

    Parameters
    ----------
    folder : Path
        Where the files are; made when the first record is written.
    experiment : str
        The name of the file, without its suffix.
    """

    def __init__(self, folder: Path, experiment: str) -> None:
        self.path = folder / f"{experiment}.jsonl"
        self.parts = folder / f"{experiment}.parts"

    def read(self) -> dict[Key, Record]:
        """All finished records by key, in the order of their keys."""
        files = [self.path] if self.path.exists() else []
        files += sorted(self.parts.glob("*.jsonl"))
        records = {record.key: record for path in files for record in _parsed(path)}
        return dict(sorted(records.items()))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other runs out of the folder, until this one ends or dies."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path.parent, os.O_RDONLY)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise InputError(
                f"{self.path.parent}: expected a folder that no other run is writing to, got one that is in use."
            ) from None
        finally:
            os.close(handle)

    def add(self, records: Iterable[Record]) -> None:
        """Write the records of one trial as a part."""
        text = "".join(record.line() for record in records)
        replaced(self.parts / f"{zlib.crc32(text.encode()):08x}.jsonl", text)

    def merge(self) -> None:
        """Gather the parts into the file."""
        parts = sorted(self.parts.glob("*.jsonl"))
        if parts:
            replaced(self.path, "".join(record.line() for record in self.read().values()))
        for part in parts:
            part.unlink(missing_ok=True)
        if self.parts.is_dir() and not any(self.parts.iterdir()):
            self.parts.rmdir()


def replaced(path: Path, text: str) -> None:
    """Give a file this text, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        with unfinished.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_seed(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_number_or_none(value: Any) -> bool:
    return value is None or _is_number(value)


def _is_numbers_by_name(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_number, value.values()))


def _is_numbers_by_name_or_none(value: Any) -> bool:
    return value is None or _is_numbers_by_name(value)


def _is_grid(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(map(_is_number_or_none, value)))


_SHAPES: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("experiment", "group", "variant", "system", "setting", "status", "versions"), _is_text),
    "seed": _is_seed,
    "parameters": _is_numbers_by_name,
    "score": _is_number_or_none,
    "seconds": _is_number,
    "gap": _is_number_or_none,
    "grid": _is_grid,
    "figures": _is_numbers_by_name_or_none,
}
"""What every field of a line has to be."""


def _parsed(path: Path) -> Iterator[Record]:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}: expected lines of JSON in UTF-8, got other bytes.") from None
    # Not splitlines: a message may hold one of the rarer ends of a line, which JSON leaves as they are.
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else [], start=1):
        try:
            values: Any = json.loads(line)
            if not isinstance(values, dict) or not all(_SHAPES[name](value) for name, value in values.items()):
                raise ValueError
            grid = values.pop("grid", None)
            yield Record(**values, grid=None if grid is None else tuple(grid))
        except (KeyError, ValueError, TypeError, RecursionError):
            raise InputError(
                f"{path}, line {number}: expected a record of an experiment, got {line[:60]!r}; mend or remove it."
            ) from None
