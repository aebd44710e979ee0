"""Answers as files: by the ending of the name, whole or not at all."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.exceptions import InputError
from isthmus.storage.files import shown, write_bytes
from isthmus.tables.frames import polars


def write_table(path: str | os.PathLike[str], columns: Mapping[str, Any]) -> None:
    """Write columns to a CSV, TSV, JSON lines or Parquet file.

    Parameters
    ----------
    path : str or path
        It ends in ``.csv``, ``.tsv``, ``.jsonl`` (also ``.ndjson``) or ``.parquet``. Its folder has to be there.
    columns : mapping of str to sequence
        Of equal length; None and NaN are empty cells.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(f"{folder}/answer.csv", {"id": ["u", "v"], "score": [0.5, None]})
    ...     print(Path(f"{folder}/answer.csv").read_text(), end="")
    id,score
    u,0.5
    v,
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path: expected the path of a file, got {path!r:.60}.")
    where, name = Path(path), shown(path)
    ending = where.suffix.lower()
    if ending not in WRITERS:
        raise InputError(f"{name}: expected a name that ends in one of {', '.join(WRITERS)}.")
    frame = _frame(columns)
    if not os.path.isdir(where.parent):
        raise InputError(f"{name}: expected a file that can be written, got no folder for it.")
    if os.path.isdir(where):
        raise InputError(f"{name}: expected a file, got a folder.")
    content = io.BytesIO()
    WRITERS[ending](frame, content)
    try:
        write_bytes(where, content.getvalue())
    except InputError:
        raise
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{name}: expected a file that can be written, got '{reason}'.") from None


def _frame(columns: Mapping[str, Any]) -> Any:
    pl = polars()
    sizes = {name: len(values) for name, values in columns.items()}
    if len(set(sizes.values())) != 1:
        got = ", ".join(f"{n} in {name!r:.40}" for name, n in list(sizes.items())[:3]) or "none"
        raise InputError(f"columns: expected columns of equal length, got {got}.")
    series = [pl.Series(name, _cells(values), strict=False) for name, values in columns.items()]
    return pl.DataFrame([column.fill_nan(None) if column.dtype.is_float() else column for column in series])


def _cells(values: Any) -> Any:
    # Text of NumPy would otherwise become a column of Python objects, which no format has.
    return values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind in "OUS" else values


WRITERS: Mapping[str, Callable[[Any, io.BytesIO], None]] = {
    ".csv": lambda frame, file: frame.write_csv(file),
    ".tsv": lambda frame, file: frame.write_csv(file, separator="\t"),
    ".jsonl": lambda frame, file: frame.write_ndjson(file),
    ".ndjson": lambda frame, file: frame.write_ndjson(file),
    ".parquet": lambda frame, file: frame.write_parquet(file),
}
