"""Records of a study: the result of each system in each trial, as JSON lines in a folder.

Every field is checked when a file is read; files are written whole or not at all. A record has a fingerprint of what
produced it (:func:`fingerprint`): a short text that changes when anything that produced it does.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
import pickle
import re
import types
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

import joblib
import numpy as np
import scipy
import scipy.sparse as sp
import sklearn

from isthmus._core.files import lock_folder, show_path, write_text
from isthmus._version import __version__
from isthmus.exceptions import InputError

Key: TypeAlias = tuple[str, str, str, int, str, str]
# The statuses of a fit that may be trusted: certified optimal, or solved without iterating.
CERTIFIED = ("optimal", "done")
_PACKAGE = f"isthmus {__version__}"
VERSIONS = f"{_PACKAGE}, numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}"


@dataclass(frozen=True)
class Record:
    """The result of one system in one trial.

    Parameters
    ----------
    experiment, group, variant, seed, system, setting
        The key: the study, the trial, the column, and how parameters were chosen.
    parameters, grid
        Parameters that differ from the defaults, as :func:`as_json_value` returns them, and the values that they were
        chosen by, at every point of the entrant's grid.
    score, figures
        The score of the task on the test rows, such as accuracy, None where the fit failed; further numbers.
    seconds, status, gap
        Of all fits that were chosen from: their time, the status of the worst, the largest relative duality gap.
    versions, fingerprint : str
        The software, and the fingerprint of what produced the record (None in the oldest records).
    """

    experiment: str
    group: str
    variant: str
    seed: int
    system: str
    setting: str
    parameters: dict[str, Any]
    score: float | None
    seconds: float
    status: str
    gap: float | None
    versions: str
    grid: tuple[float | None, ...] | None = None
    figures: dict[str, float] | None = None
    fingerprint: str | None = None

    @property
    def key(self) -> Key:
        """The fields that identify a record."""
        return (self.experiment, self.group, self.variant, self.seed, self.system, self.setting)

    @property
    def certified(self) -> bool:
        """Whether all fits that were chosen from ended with a status of :data:`CERTIFIED`."""
        return self.status in CERTIFIED

    @property
    def of_this_version(self) -> bool:
        """Whether this version of the package wrote it."""
        return self.versions.split(", ")[0] == _PACKAGE

    def to_json(self) -> str:
        """Return one line of JSON, without optional fields that are None."""
        values = {k: v for k, v in asdict(self).items() if v is not None or k not in _OPTIONAL}
        return json.dumps(values, ensure_ascii=False, allow_nan=False) + "\n"


_OPTIONAL = ("grid", "figures", "fingerprint")
_TEXTS = ("experiment", "group", "variant", "system", "setting", "status", "versions")


class RecordStore:
    """The records of one study in a folder: one file, and a part for every trial that is not merged yet.

    A trial's records appear under their name at once or not at all, so that a run can be killed at any time. Parts
    are merged into the file when a run ends; one that never ended is merged by the next. The folder is made when it
    is needed.
    """

    def __init__(self, folder: str | os.PathLike[str], name: str) -> None:
        self.path: Path = Path(folder) / f"{name}.jsonl"
        self.parts: Path = self.path.with_suffix(".parts")
        self.aside: Path = self.path.with_suffix(".set-aside.jsonl")

    def read(self) -> dict[Key, Record]:
        """Return all finished records by key, in the order of their keys."""
        files = [self.path] if self.path.exists() else []
        files += sorted(self.parts.glob("*.jsonl"))
        records = {record.key: record for path in files for record in _parse(path)}
        return dict(sorted(records.items()))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the folder against other runs, until this one ends or is killed."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            where = show_path(self.path.parent)
            raise InputError(f"{where}: expected a folder that can be written, got '{error.strerror}'.") from None
        with lock_folder(self.path.parent, wait=False):
            yield

    def add(self, records: Iterable[Record]) -> None:
        """Write the records of one trial as a part."""
        text = _to_lines(records)
        write_text(self.parts / f"{zlib.crc32(text.encode()):08x}.jsonl", text)

    def set_aside(self, keys: Collection[Key]) -> None:
        """Move some records to the end of the file ``aside``."""
        self.merge()
        records = self.read()
        before = self.aside.read_text(encoding="utf-8") if self.aside.exists() else ""
        write_text(self.aside, before + _to_lines(record for key, record in records.items() if key in keys))
        write_text(self.path, _to_lines(record for key, record in records.items() if key not in keys))

    def merge(self) -> None:
        """Merge the parts into the file."""
        parts = sorted(self.parts.glob("*.jsonl"))
        if parts:
            write_text(self.path, _to_lines(self.read().values()))
        # Runs that were killed while they wrote leave unfinished files, and no other run is writing now.
        unfinished = [*self.parts.glob(".*.part"), *self.path.parent.glob(f".{self.path.name}.*.part")]
        for part in [*parts, *unfinished]:
            part.unlink(missing_ok=True)
        if self.parts.is_dir() and not any(self.parts.iterdir()):
            self.parts.rmdir()


def _to_lines(records: Iterable[Record]) -> str:
    return "".join(record.to_json() for record in records)


def _parse(path: Path) -> Iterator[Record]:
    """Yield the records of a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}: expected lines of JSON in UTF-8, got other bytes.") from None
    # Not splitlines: a message may hold one of the rarer ends of a line, which JSON leaves as they are.
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else [], start=1):
        try:
            values = json.loads(line)
            grid = values.pop("grid", None)
            record = Record(**values, grid=None if grid is None else tuple(grid))
            good = _has_types(record)
        except (AttributeError, KeyError, ValueError, TypeError, RecursionError):
            good = False
        if not good:
            raise InputError(f"{path} line {number}: expected a record of a study, got {line[:60]!r}; remove it.")
        wrong = [s for s in (record.score, *(record.grid or ())) if s is not None and not 0 <= s <= 1]
        if wrong:
            raise InputError(f"{path} line {number}: expected scores from 0 to 1, got {wrong[0]:g}.")
        yield record


def _has_types(record: Record) -> bool:
    """Return whether every field of a record has its type."""
    texts = [getattr(record, name) for name in _TEXTS] + [record.fingerprint or ""]
    numbers = [record.seed, record.seconds, *(record.figures or {}).values()]
    numbers += [value for value in (record.score, record.gap, *(record.grid or ())) if value is not None]
    plain = all(value is as_json_value(value) for value in record.parameters.values())
    good = all(isinstance(text, str) for text in texts) and all(map(_is_number, numbers))
    return plain and good and isinstance(record.seed, int)


def as_json_value(value: Any) -> Any:
    """Return a parameter as a record stores it: None, a bool, a finite number or a text; other values as a text.

    Examples
    --------
    >>> [as_json_value(value) for value in (None, True, 0.5, "rbf", float("inf"), (1.0, 2.0), np.int64(3))]
    [None, True, 0.5, 'rbf', 'inf', '(1.0, 2.0)', 3]
    """
    if isinstance(value, np.generic):
        return as_json_value(value.item())
    plain = value is None or isinstance(value, bool | str) or _is_number(value)
    return value if plain else _ADDRESS.sub("", repr(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -math.inf < value < math.inf


# Digits of a fingerprint, and the prefix of every one: those of earlier schemes can't be compared with these.
LENGTH, SCHEME = 16, "v3-"
_ROOT = __name__.partition(".")[0]
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def fingerprint(*parts: Any) -> str:
    """Return sixteen hexadecimal digits for any values and the version of this package, after the scheme's prefix.

    Arrays, sparse matrices and data frames count by their content, random generators by their state, estimators by
    class and parameters, dataclasses by the fields that they compare by, functions by name and code, other objects
    by what pickle would store of them. Classes and functions of this package count by name alone, wherever in the
    package they are: its version stands for their code.

    Examples
    --------
    >>> from isthmus import MLHD
    >>> fingerprint(MLHD()) == fingerprint(MLHD()) != fingerprint(MLHD(pair_weight=2.0))
    True
    >>> fingerprint(np.random.default_rng(0)) == fingerprint(np.random.default_rng(1))
    False
    """
    found: str = joblib.hash([__version__, *(_simplify(part) for part in parts)])
    return SCHEME + found[:LENGTH]


def _simplify(value: Any, within: tuple[int, ...] = ()) -> Any:
    """Return the content of a value as texts, numbers, lists and mappings, which hash alike in every process."""
    if type(value) in (type(None), bool, int, float, str, bytes):
        return value
    if id(value) in within:  # an object that holds itself
        return f"<cycle {len(within) - within.index(id(value))}>"

    def simplify_each(values: Iterable[Any]) -> list[Any]:
        return [_simplify(each, (*within, id(value))) for each in values]

    if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
        cells = np.asarray(value).ravel()  # in one order, whatever the layout
        return ["array", *value.shape, simplify_each(cells) if cells.dtype.hasobject else joblib.hash(cells)]
    if isinstance(value, Mapping):
        return dict(zip(map(joblib.hash, simplify_each(value)), simplify_each(value.values()), strict=True))
    if isinstance(value, AbstractSet):
        return ["set", *sorted(map(joblib.hash, simplify_each(value)))]
    if type(value) in (list, tuple):
        return simplify_each(value)
    parts = _take_apart(value)
    return _hash_pickle(value, simplify_each) if parts is None else simplify_each(parts)


def _take_apart(value: Any) -> list[Any] | None:
    """Return the parts of a value that identify it, where its pickled form does not; None for other values."""
    if isinstance(value, np.ma.MaskedArray):
        return ["masked", np.ma.getdata(value), np.ma.getmaskarray(value)]
    if sp.issparse(value):
        matrix: Any = value
        csr = sp.csr_array(matrix.reshape(1, -1) if matrix.ndim == 1 else matrix, copy=True)
        csr.sum_duplicates()  # the same content in one order
        return ["sparse", matrix.shape, csr.data, csr.indices.astype(np.int64), csr.indptr.astype(np.int64)]
    if isinstance(value, functools.partial):
        return ["partial", value.func, value.args, value.keywords]
    if isinstance(value, types.MethodType):
        return ["method", value.__func__, value.__self__]
    if isinstance(value, types.CodeType):
        return ["code", value.co_code, value.co_names, value.co_consts]
    if isinstance(value, types.FunctionType) and not _is_ours(value):
        closed = [cell.cell_contents for cell in value.__closure__ or ()]
        return [_name(value), value.__code__, value.__defaults__, value.__kwdefaults__, closed]
    if isinstance(value, type | types.FunctionType):
        return [_name(value)]
    if hasattr(value, "get_params"):
        return [_name(type(value)), value.get_params(deep=False)]
    if dataclasses.is_dataclass(value):
        return [_name(type(value)), {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.compare}]
    return None


def _name(value: Any) -> str:
    """Return module and name of a class or function; without modules inside this package, which may be moved."""
    module = _ROOT if _is_ours(value) else value.__module__
    return f"{module}.{value.__qualname__}"


def _is_ours(value: Any) -> bool:
    named = "<" not in value.__qualname__  # a lambda, or a function within one, has no lasting name
    return named and str(value.__module__).partition(".")[0] == _ROOT


def _hash_pickle(value: Any, simplify_each: Callable[[Iterable[Any]], list[Any]]) -> Any:
    """Return a hash of an object's pickled form; without one, its attributes or its text."""
    try:
        return joblib.hash(value)
    except (pickle.PicklingError, TypeError, AttributeError):  # a lock, an open file, an object that holds a lambda
        attributes = getattr(value, "__dict__", None)
        text = _ADDRESS.sub("", repr(value)) if attributes is None else _name(type(value))
        return simplify_each([text, attributes])
