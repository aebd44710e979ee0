"""Users' files as tables of some rows at a time: whatever a whole table would say, with little memory."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import numpy as np

from isthmus._core.files import as_path, open_regular, save_file, show_path, write_whole
from isthmus.exceptions import InputError
from isthmus.io.tables.content import (
    check_column_count,
    find_first_row,
    import_polars,
    read_pieces,
    report_read_errors,
    split_rows,
)
from isthmus.io.tables.delimited import SAMPLE, Dialect, detect_dialect, read_csv
from isthmus.io.tables.read import (
    DELIMITED,
    IN_ORDER,
    check_text_room,
    detect_format,
    read_json_lines,
    read_table,
    release_memory,
    scan_parquet,
)
from isthmus.io.tables.table import Table, are_whole_numbers

BLOCK = 20_000
PART = 2**23
"""Bytes of a text that are made into cells at once."""
JSON = ".jsonl", ".ndjson"
Frames = Callable[["RowBlocks"], Iterator[Any]]


@dataclass(frozen=True, eq=False)
class RowBlocks:
    r"""A file, to be gone through as often as wanted, some rows at a time.

    CSV, TSV and JSON lines (also gzipped) and Parquet are read in parts; an ``.npy`` file stays where it is; ``.npz``
    and ``.h5ad`` are read whole. Cells are those of :func:`~isthmus.io.tables.read.read_table`, to the bit: what has to be
    known of the whole file, types in JSON lines and whether all words of a column are whole numbers, is found out by
    going through it once more before.

    Parameters
    ----------
    path : str or path
        Of any kind that ``read_table`` reads.
    size : int
        How many rows each table has, but for the last.
    words : sequence of str
        Columns whose cells are words: ids, categories, texts.
    sep, decimal : str, optional
        As of ``read_table``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "people.csv"
    ...     _ = path.write_text("name,age\nAda,36\nAlan,41\nGrace,85\n")
    ...     [(table.first, table.column("name").to_list()) for table in RowBlocks(path, 2)]
    [(0, ['Ada', 'Alan']), (2, ['Grace'])]
    """

    path: str | os.PathLike[str]
    size: int = BLOCK
    words: Sequence[str] = ()
    sep: str | None = None
    decimal: str | None = None
    known: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def name(self) -> str:
        """The file, for messages."""
        return show_path(self.path)

    @property
    def dialect(self) -> Dialect | None:
        """Separator and decimal mark of a CSV or TSV file, detected from its beginning; None of others."""
        ending, packed = detect_format(self.path)
        if ending in DELIMITED and "dialect" not in self.known:
            head = bytearray()
            with open_regular(self.path) as file:
                for piece in read_pieces(file, self.name, packed=packed):
                    head += piece
                    if len(head) > SAMPLE:  # one more byte shows that this is not all
                        break
            sep = DELIMITED[ending] if self.sep is None else self.sep
            self.known["dialect"] = detect_dialect(bytes(head), sep, self.decimal)
        return self.known.get("dialect")

    @property
    def part(self) -> float:
        """Which part of the file the last table, or the last look, has come to."""
        return float(self.known.get("part", 0.0))

    def look(self, told: Callable[[float], None] = lambda part: None) -> None:
        """Find out what has to be known of the whole file, unless it is known; ``told`` hears which part is done."""
        if "whole" in self.known:
            return
        typed = detect_format(self.path)[0] in JSON
        passes = typed + bool(self.words)
        if typed:
            self.known["schema"] = _detect_json_schema(self, lambda: told(self.part / passes))
        whole: dict[str, bool] = {}
        for table in self._tables() if self.words else ():
            for name in self.words:
                if name in table.parts and not table.is_matrix(name) and whole.get(name, True):
                    whole[name] = are_whole_numbers(table, name)
            told((typed + self.part) / passes)
        self.known["whole"] = MappingProxyType(whole)

    def __iter__(self) -> Iterator[Table]:
        self.look()
        for table in self._tables():
            yield replace(table, whole_numbers=self.known["whole"])

    def _tables(self) -> Iterator[Table]:
        ending, _ = detect_format(self.path)
        if ending not in FRAMES:
            yield from self._parts_of_table()
            return
        first = 0
        for frame in _regroup(FRAMES[ending](self), self.size):
            columns = dict(zip(frame.columns, frame.iter_columns(), strict=True))
            yield replace(Table.of(columns, self.name), first=first, dialect=self.dialect)
            first += frame.height
        if not first:
            raise InputError(f"{self.name}: expected at least one row, got none below the names of the columns.")

    def _parts_of_table(self) -> Iterator[Table]:
        table = read_table(self.path)
        for start in range(0, table.n_rows, self.size):
            self.known["part"] = min(1.0, (start + self.size) / table.n_rows)
            yield table.rows(start, start + self.size)
            for part in table.parts.values():
                release_memory(part)

    def _rows(self, *, quoted: bool) -> Iterator[bytes]:
        _, packed = detect_format(self.path)
        empty = True
        with open_regular(self.path) as file:
            size = os.fstat(file.fileno()).st_size
            for piece in split_rows(read_pieces(file, self.name, packed=packed), quoted=quoted, most=PART):
                empty = empty and not piece.strip()
                self.known["part"] = file.tell() / max(1, size)
                yield piece
        if empty:
            raise InputError(f"{self.name}: expected a table, got an empty file.")


def _iterate_csv(blocks: RowBlocks) -> Iterator[Any]:
    pl, names, row, line = import_polars(), b"", 0, 0
    separator = "," if blocks.dialect is None else blocks.dialect.sep
    for piece in blocks._rows(quoted=True):
        head = names
        names = names or find_first_row(piece, quoted=True)
        if not (head + piece).strip():
            continue
        columns = read_csv(head + piece, blocks.name, separator, row=row, line=line - head.count(b"\n"))
        frame = pl.DataFrame(columns)
        row, line = row + frame.height, line + piece.count(b"\n")
        yield frame


def _iterate_json_lines(blocks: RowBlocks) -> Iterator[Any]:
    line = 0
    for piece in blocks._rows(quoted=False):
        if piece.strip():
            yield read_json_lines(piece, blocks.name, blocks.known["schema"], line)
        line += piece.count(b"\n")


def _detect_json_schema(blocks: RowBlocks, tick: Callable[[], None]) -> Any:
    """The types of the columns: those of all lines together."""
    schema, needed, line = None, b"", 0
    for piece in blocks._rows(quoted=False):
        tick()
        if piece.strip() and (schema is None or read_json_lines(piece, blocks.name, line=line).schema != schema):
            # A type is that of all its cells: parts that change no type any more say nothing new.
            found = read_json_lines(needed + piece, blocks.name, line=line - needed.count(b"\n")).schema
            if found != schema:
                needed, schema = needed + piece, found
        line += piece.count(b"\n")
    check_column_count(len(schema or ()), blocks.name)
    return schema


def _iterate_parquet(blocks: RowBlocks) -> Iterator[Any]:
    lazy, n, size = scan_parquet(Path(blocks.path), blocks.name, blocks.size)
    for start in range(0, n, blocks.size):
        with report_read_errors(blocks.name, IN_ORDER):
            frame = lazy.slice(start, blocks.size).collect()
            check_text_room(frame, size, blocks.name)
        blocks.known["part"] = min(1.0, (start + blocks.size) / n)
        yield frame


def _regroup(frames: Iterable[Any], size: int) -> Iterator[Any]:
    """The same rows in frames of one size, but for the last."""
    pl, held = import_polars(), None
    for frame in frames:
        held = frame if held is None else pl.concat([held, frame])
        while held.height >= size:
            yield held.head(size)
            held = held.slice(size)
    if held is not None and held.height:
        yield held


FRAMES: dict[str, Frames] = {
    ".csv": _iterate_csv,
    ".tsv": _iterate_csv,
    ".jsonl": _iterate_json_lines,
    ".ndjson": _iterate_json_lines,
    ".parquet": _iterate_parquet,
}


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
    ending, content = _ending(path), io.BytesIO()
    WRITERS[ending](_frame(columns), content)
    write_whole(path, content.getvalue())


def write_blocks(path: str | os.PathLike[str], blocks: Iterable[Mapping[str, Any]]) -> None:
    """Write columns to such a file, some rows at a time; Parquet gets a row group for each.

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
    ending = _ending(path)
    frames = map(_frame, blocks)
    with save_file(path) as file:
        if ending == ".parquet":
            _sink_parquet(frames, file)
            return
        for i, frame in enumerate(frames):
            named = {"include_header": not i} if ending in (".csv", ".tsv") else {}
            WRITERS[ending](frame, file, **named)


def _ending(path: str | os.PathLike[str]) -> str:
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
    # In a thread of its own, so that whoever asks this one to stop is heard before all is written.
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
