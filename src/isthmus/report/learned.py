"""What ``isthmus fit`` keeps in a model file for a report: how the solver went, and which rows were learned from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._arrays import BoolArray, FloatArray, as_dense
from isthmus.exceptions import InputError
from isthmus.storage.files import shown
from isthmus.tables import Plan, Table
from isthmus.tables.cells import numbers, words

PART = "fit"
"""The name of the part in a model file."""
FORMAT, VERSION = "isthmus fit", 1
MOST_MARKS = 100_000
"""Labelled rows whose marks are kept; of more none are."""
COLUMNS = ("primal", "dual", "relative_gap", "seconds")


@dataclass(frozen=True, eq=False)
class Learned:
    """How a model was learned.

    Parameters
    ----------
    system : str
        The name of the system.
    certificate : str or None
        What the solver says of its result.
    warnings : tuple of str
        What the system said of the data.
    trace : array (n, 4)
        For each iteration the objective, its lower bound, the relative gap, and seconds; no rows without a solver.
    marks : array (m,) or None
        Of the labelled target rows; None where they were too many.
    """

    system: str
    certificate: str | None
    warnings: tuple[str, ...]
    trace: FloatArray
    marks: NDArray[np.int64] | None

    @classmethod
    def of(cls, model: Any, system: str, warnings: Sequence[str], table: Table, plan: Plan) -> Learned:
        """From a model that has just been fitted, and the target's table."""
        result = getattr(getattr(model, "estimator_", model), "result_", None)
        trace = [[getattr(point, name) for name in COLUMNS] for point in getattr(result, "trace", ())]
        known = np.array([], dtype=np.intp)
        if plan.label is not None:
            known = np.array(
                [i for i, word in enumerate(words(table, plan.label)) if word is not None], dtype=np.intp
            )
        marks: NDArray[np.int64] | None = np.zeros(0, dtype=np.int64)
        if len(known):
            marks = row_marks(table.take(known), plan) if len(known) <= MOST_MARKS else None
        told = None if result is None else str(result)
        return cls(system, told, tuple(warnings), np.array(trace, dtype=np.float64).reshape(-1, len(COLUMNS)), marks)

    def to_part(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """For a model file: a value for JSON, and arrays by name."""
        about = {"format": FORMAT, "version": VERSION, "system": self.system, "certificate": self.certificate}
        arrays: dict[str, NDArray[Any]] = {"trace": self.trace}
        if self.marks is not None:
            arrays["marks"] = self.marks
        return about | {"warnings": list(self.warnings)}, arrays

    @classmethod
    def from_part(cls, about: Any, arrays: Mapping[str, NDArray[Any]]) -> Learned:
        """The same from a file, every part of it checked: it may come from a stranger."""
        if not isinstance(about, dict) or about.get("format") != FORMAT:
            raise InputError("fit: expected what `isthmus fit` keeps, got another kind of value.")
        if about.get("version") != VERSION:
            raise InputError(f"fit, version: expected {VERSION}, got {shown(repr(about.get('version'))[:40])}.")
        trace, marks = arrays.get("trace"), arrays.get("marks")
        if trace is None or trace.dtype != np.float64 or trace.ndim != 2 or trace.shape[1] != len(COLUMNS):
            raise InputError("fit, trace: expected four numbers per iteration, got others.")
        if marks is not None and (marks.dtype != np.int64 or marks.ndim != 1):
            raise InputError("fit, marks: expected one whole number per row, got others.")
        certificate, said = about.get("certificate"), about.get("warnings")
        told = tuple(str(words) for words in said) if isinstance(said, list) else ()
        return cls(str(about.get("system")), None if certificate is None else str(certificate), told, trace, marks)

    def is_learned(self, table: Table, plan: Plan) -> BoolArray | None:
        """Which rows of a table are equal to labelled rows that were learned from; None where that is not known."""
        return None if self.marks is None else np.isin(row_marks(table, plan), self.marks)


def row_marks(table: Table, plan: Plan) -> NDArray[np.int64]:
    """A number for each row (n,), by what its cells say, whatever the file and the order of the rows.

    Examples
    --------
    >>> first, second = Table.of({"x": ["1.0", "2.5"]}), Table.of({"x": [2.5, 1.0]})
    >>> bool((row_marks(first, Plan.of(first)) == row_marks(second, Plan.of(first))[::-1]).all())
    True
    """
    hashes = [blake2b(digest_size=8) for _ in range(table.n_rows)]
    for column in plan.features:
        for one, cell in zip(hashes, _cells(table, column.name, column.kind), strict=True):
            one.update(b"\0" + cell)
    return np.array([int.from_bytes(one.digest(), "little", signed=True) for one in hashes], dtype=np.int64)


def _cells(table: Table, name: str, kind: str) -> list[bytes]:
    if kind == "matrix":
        return [
            as_dense(row.reshape(1, -1) if isinstance(row, np.ndarray) else row).tobytes()
            for row in table.matrix(name)
        ]
    if kind in ("number", "date"):
        return [value.tobytes() for value in numbers(table, name, days=kind == "date")]
    return [
        b"" if cell is None else cell.removesuffix(".0").encode("utf-8", "replace") for cell in words(table, name)
    ]
