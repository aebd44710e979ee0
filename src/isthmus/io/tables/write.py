"""Tables to files: whole, or some rows at a time; a file is complete or not there."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

import numpy as np

from isthmus._core.files import as_path, save_file, show_path, write_whole
from isthmus.exceptions import InputError
from isthmus.io.tables.content import import_polars


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
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(f"{folder}/answer.csv", {"id": ["u", "v"], "score": [0.5, None]})
    ...     print(pathlib.Path(f"{folder}/answer.csv").read_text(), end="")
    id,score
    u,0.5
    v,
    """
    ending, content = find_ending(path), io.BytesIO()
    WRITERS[ending](_frame(columns), content)
    write_whole(path, content.getvalue())


def write_blocks(path: str | os.PathLike[str], blocks: Iterable[Mapping[str, Any]]) -> None:
    """Write columns to a file, some rows at a time; Parquet gets a row group for each.

    Parameters
    ----------
    path : str or path
        As for :func:`write_table`.
    blocks : iterable of mapping of str to sequence
        The same columns each time; at least one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_blocks(f"{folder}/answer.csv", ({"id": [i], "score": [i / 2]} for i in range(2)))
    ...     print(pathlib.Path(f"{folder}/answer.csv").read_text(), end="")
    id,score
    0,0.0
    1,0.5
    """
    ending = find_ending(path)
    frames = map(_frame, blocks)
    with save_file(path) as file:
        if ending == ".parquet":
            _sink_parquet(frames, file)
            return
        for i, frame in enumerate(frames):
            named = {"include_header": not i} if ending in (".csv", ".tsv") else {}
            WRITERS[ending](frame, file, **named)


def find_ending(path: str | os.PathLike[str]) -> str:
    """Return the ending that says what a table is written as; raise where it is none of those known."""
    ending = as_path(path).suffix.lower()
    if ending not in WRITERS:
        raise InputError(f"{show_path(path)}: expected a name that ends in one of {', '.join(WRITERS)}.")
    return ending


def _sink_parquet(frames: Iterator[Any], file: IO[bytes]) -> None:
    from polars.io.plugins import register_io_source

    first, stopped = next(frames), threading.Event()
    failures: list[Exception] = []

    def source(columns: Any, predicate: Any, n_rows: Any, batch_size: Any) -> Iterator[Any]:
        yield first
        try:
            while not stopped.is_set() and (frame := next(frames, None)) is not None:
                yield frame
        except Exception as error:
            failures.append(error)
            raise

    lazy = register_io_source(source, schema=first.schema)
    # In its own thread, so that Ctrl-C reaches this one while polars writes.
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(lazy.sink_parquet, file, row_group_size=first.height)
        try:
            done.result()
        except import_polars().exceptions.PolarsError as error:
            if failures:  # older versions of polars raise an error of their own that quotes this one
                raise failures[0] from None
            raise OSError((str(error).splitlines() or ["no reason"])[0][:200]) from None
        finally:
            stopped.set()


def _frame(columns: Mapping[str, Any]) -> Any:
    pl = import_polars()
    sizes = {name: len(values) for name, values in columns.items()}
    if len(set(sizes.values())) != 1:
        got = ", ".join(f"{n} in {name!r:.40}" for name, n in list(sizes.items())[:3]) or "none"
        raise InputError(f"columns: expected columns of equal length, got {got}.")
    series = [pl.Series(name, _cells(values), strict=False) for name, values in columns.items()]
    return pl.DataFrame([column.fill_nan(None) if column.dtype.is_float() else column for column in series])


def _cells(values: Any) -> Any:
    # Text of NumPy would otherwise become a column of Python objects, which no format has.
    return values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind in "OUS" else values


WRITERS: Mapping[str, Callable[..., None]] = {
    ".csv": lambda frame, file, **named: frame.write_csv(file, **named),
    ".tsv": lambda frame, file, **named: frame.write_csv(file, separator="\t", **named),
    ".jsonl": lambda frame, file: frame.write_ndjson(file),
    ".ndjson": lambda frame, file: frame.write_ndjson(file),
    ".parquet": lambda frame, file: frame.write_parquet(file),
}
