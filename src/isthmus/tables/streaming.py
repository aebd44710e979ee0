"""Users' files as tables of some rows at a time: whatever a whole table would say, with little memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from isthmus.exceptions import InputError
from isthmus.storage.files import opened, shown
from isthmus.tables.array_files import forget
from isthmus.tables.cells import are_whole_numbers
from isthmus.tables.delimited import SAMPLE, Dialect, delimited_columns, detect_dialect
from isthmus.tables.frames import complaints, polars
from isthmus.tables.limits import pieces, require_columns
from isthmus.tables.lines import first_row, whole_rows
from isthmus.tables.reading import (
    DELIMITED,
    IN_ORDER,
    json_frame,
    kind_of_file,
    read_table,
    require_text_room,
    scan_parquet,
)
from isthmus.tables.table import Table

BLOCK = 20_000
PART = 2**23
"""Bytes of a text that are made into cells at once."""
JSON = ".jsonl", ".ndjson"
Frames = Callable[["RowBlocks"], Iterator[Any]]


@dataclass(frozen=True, eq=False)
class RowBlocks:
    r"""A file, to be gone through as often as wanted, some rows at a time.

    CSV, TSV and JSON lines (also gzipped) and Parquet are read in parts; an ``.npy`` file stays where it is; ``.npz``
    and ``.h5ad`` are read whole. Cells are those of :func:`~isthmus.tables.read_table`, to the bit: what has to be
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
        return shown(self.path)

    @property
    def dialect(self) -> Dialect | None:
        """Separator and decimal mark of a CSV or TSV file, detected from its beginning; None of others."""
        ending, packed = kind_of_file(self.path)
        if ending in DELIMITED and "dialect" not in self.known:
            head = bytearray()
            with opened(self.path) as file:
                for piece in pieces(file, self.name, packed=packed):
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
        typed = kind_of_file(self.path)[0] in JSON
        passes = typed + bool(self.words)
        if typed:
            self.known["schema"] = _json_schema(self, lambda: told(self.part / passes))
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
        ending, _ = kind_of_file(self.path)
        if ending not in FRAMES:
            yield from self._parts_of_table()
            return
        first = 0
        for frame in _of_size(FRAMES[ending](self), self.size):
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
                forget(part)

    def _rows(self, *, quoted: bool) -> Iterator[bytes]:
        _, packed = kind_of_file(self.path)
        empty = True
        with opened(self.path) as file:
            size = os.fstat(file.fileno()).st_size
            for piece in whole_rows(pieces(file, self.name, packed=packed), quoted=quoted, most=PART):
                empty = empty and not piece.strip()
                self.known["part"] = file.tell() / max(1, size)
                yield piece
        if empty:
            raise InputError(f"{self.name}: expected a table, got an empty file.")


def _delimited(blocks: RowBlocks) -> Iterator[Any]:
    pl, names, row, line = polars(), b"", 0, 0
    separator = "," if blocks.dialect is None else blocks.dialect.sep
    for piece in blocks._rows(quoted=True):
        head = names
        names = names or first_row(piece, quoted=True)
        if not (head + piece).strip():
            continue
        columns = delimited_columns(head + piece, blocks.name, separator, row=row, line=line - head.count(b"\n"))
        frame = pl.DataFrame(columns)
        row, line = row + frame.height, line + piece.count(b"\n")
        yield frame


def _json_lines(blocks: RowBlocks) -> Iterator[Any]:
    line = 0
    for piece in blocks._rows(quoted=False):
        if piece.strip():
            yield json_frame(piece, blocks.name, blocks.known["schema"], line)
        line += piece.count(b"\n")


def _json_schema(blocks: RowBlocks, tick: Callable[[], None]) -> Any:
    """The types of the columns: those of all lines together."""
    schema, needed, line = None, b"", 0
    for piece in blocks._rows(quoted=False):
        tick()
        if piece.strip() and (schema is None or json_frame(piece, blocks.name, line=line).schema != schema):
            # A type is that of all its cells: parts that change no type any more say nothing new.
            found = json_frame(needed + piece, blocks.name, line=line - needed.count(b"\n")).schema
            if found != schema:
                needed, schema = needed + piece, found
        line += piece.count(b"\n")
    require_columns(len(schema or ()), blocks.name)
    return schema


def _parquet(blocks: RowBlocks) -> Iterator[Any]:
    lazy, n, size = scan_parquet(Path(blocks.path), blocks.name, blocks.size)
    for start in range(0, n, blocks.size):
        with complaints(blocks.name, IN_ORDER):
            frame = lazy.slice(start, blocks.size).collect()
            require_text_room(frame, size, blocks.name)
        blocks.known["part"] = min(1.0, (start + blocks.size) / n)
        yield frame


def _of_size(frames: Iterable[Any], size: int) -> Iterator[Any]:
    """The same rows in frames of one size, but for the last."""
    pl, held = polars(), None
    for frame in frames:
        held = frame if held is None else pl.concat([held, frame])
        while held.height >= size:
            yield held.head(size)
            held = held.slice(size)
    if held is not None and held.height:
        yield held


FRAMES: dict[str, Frames] = {
    ".csv": _delimited,
    ".tsv": _delimited,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".parquet": _parquet,
}
