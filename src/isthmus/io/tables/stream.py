"""A user's file as tables of some rows at a time: the same cells as of the whole table, with little memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from isthmus._core.files import open_regular, show_path
from isthmus.exceptions import InputError
from isthmus.io.tables.content import find_first_row, import_polars, read_pieces, report_read_errors, split_rows
from isthmus.io.tables.delimited import SAMPLE, Dialect, detect_dialect, detect_encoding, read_csv, recode
from isthmus.io.tables.read import (
    DELIMITED,
    IN_ORDER,
    check_text_room,
    detect_format,
    find_first_line,
    read_table,
    release_memory,
    scan_parquet,
)
from isthmus.io.tables.table import Table, are_whole_numbers

BLOCK = 20_000
# Bytes of a text that are made into cells at once.
PART = 2**23
# Numbers of a Parquet file that are read at once.
NUMBERS = 2**21
Frames = Callable[["RowBlocks"], Iterator[Any]]


@dataclass(frozen=True, eq=False)
class RowBlocks:
    r"""A file that can be read again and again, some rows at a time.

    CSV and TSV (also gzipped) and Parquet are read in parts; an ``.npy`` file stays where it is; JSON lines and
    ``.h5ad`` are read whole. Cells are those of :func:`~isthmus.io.tables.read.read_table`, to the bit: whether
    all words of a column are whole numbers depends on the whole file, which is read once before the first table.

    Parameters
    ----------
    path : str or path
        Of any kind that ``read_table`` reads.
    size : int
        How many rows each table has, except for the last.
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
        """Separator, decimal mark and encoding of a CSV or TSV file; None of others.

        The encoding is that of the whole file; the others are detected from its beginning.
        """
        ending, packed = detect_format(self.path)
        if ending in DELIMITED and "dialect" not in self.known:
            with open_regular(self.path) as file:
                encoding = detect_encoding(read_pieces(file, self.name, packed=packed))
            head = bytearray()
            with open_regular(self.path) as file:
                for piece in recode(read_pieces(file, self.name, packed=packed), encoding, self.name):
                    head += piece
                    if len(head) > SAMPLE:  # one more byte shows that this is not all
                        break
            sep = DELIMITED[ending] if self.sep is None else self.sep
            found = detect_dialect(bytes(head), sep, self.decimal, self.name)
            self.known["dialect"] = replace(found, encoding=encoding)
        return self.known.get("dialect")

    @property
    def part(self) -> float:
        """The share of the file that the current pass has read."""
        return float(self.known.get("part", 0.0))

    def scan(self, progress: Callable[[float], None] = lambda part: None) -> None:
        """Find what depends on the whole file, unless it is known; ``progress`` is called with the share done."""
        if "whole" in self.known:
            return
        whole: dict[str, bool] = {}
        for table in self._tables() if self.words else ():
            for name in self.words:
                if name in table.parts and not table.is_matrix(name) and whole.get(name, True):
                    whole[name] = are_whole_numbers(table, name)
            progress(self.part)
        self.known["whole"] = MappingProxyType(whole)

    def __iter__(self) -> Iterator[Table]:
        self.scan()
        for table in self._tables():
            yield replace(table, whole_numbers=self.known["whole"])

    def _tables(self) -> Iterator[Table]:
        ending, _ = detect_format(self.path)
        if ending not in FRAMES:
            yield from self._parts_of_table()
            return
        first = 0
        self.known["line"] = None
        for frame in _regroup(FRAMES[ending](self), self.size):
            columns = dict(zip(frame.columns, frame.iter_columns(), strict=True))
            line = None if self.known["line"] is None else self.known["line"] + first
            yield replace(Table.of(columns, self.name), first=first, line=line, dialect=self.dialect)
            first += frame.height
        if not first:
            raise InputError(f"{self.name}: expected at least one row below the header, got none.")

    def _parts_of_table(self) -> Iterator[Table]:
        table = read_table(self.path)
        for start in range(0, table.n_rows, self.size):
            self.known["part"] = min(1.0, (start + self.size) / table.n_rows)
            yield table.rows(start, start + self.size)
            for part in table.parts.values():
                release_memory(part)

    def _rows(self) -> Iterator[bytes]:
        _, packed = detect_format(self.path)
        empty = True
        with open_regular(self.path) as file:
            size = os.fstat(file.fileno()).st_size
            encoding = "UTF-8" if self.dialect is None else self.dialect.encoding
            pieces = recode(read_pieces(file, self.name, packed=packed), encoding, self.name)
            for piece in split_rows(pieces, most=PART):
                empty = empty and not piece.strip()
                self.known["part"] = file.tell() / max(1, size)
                yield piece
        if empty:
            raise InputError(f"{self.name}: expected a table, got an empty file.")


def _iterate_csv(blocks: RowBlocks) -> Iterator[Any]:
    pl, names, row, line = import_polars(), b"", 0, 0
    separator = "," if blocks.dialect is None else blocks.dialect.sep
    for piece in blocks._rows():
        head = names
        names = names or find_first_row(piece)
        if not (head + piece).strip():
            continue
        columns = read_csv(head + piece, blocks.name, separator, line=line - head.count(b"\n"))
        frame = pl.DataFrame(columns)
        # Lines of the file are rows only as long as no cell has had a newline, and no line has been blank.
        is_line = row + (row > 0) == line
        blocks.known["line"] = find_first_line(head + piece, frame.height, 2) if is_line else None
        row, line = row + frame.height, line + piece.count(b"\n")
        yield frame


def _iterate_parquet(blocks: RowBlocks) -> Iterator[Any]:
    lazy, n, size = scan_parquet(Path(blocks.path), blocks.name, blocks.size)
    types = lazy.collect_schema().dtypes()
    # A run costs the decoding of all row groups that it touches: of numbers, runs are longer.
    step = (
        max(blocks.size, NUMBERS // max(1, len(types))) if all(each.is_numeric() for each in types) else blocks.size
    )
    for start in range(0, n, step):
        with report_read_errors(blocks.name, IN_ORDER):
            frame = lazy.slice(start, step).collect()
            check_text_room(frame, size, blocks.name)
        blocks.known["part"] = min(1.0, (start + step) / n)
        yield frame


def _regroup(frames: Iterable[Any], size: int) -> Iterator[Any]:
    """Yield the same rows in frames of one size, except for the last."""
    pl, held = import_polars(), None
    for frame in frames:
        held = frame if held is None else pl.concat([held, frame])  # chunks are referenced, not copied
        while held.height >= size:
            yield held.head(size)
            held = held.slice(size)
    if held is not None and held.height:
        yield held


FRAMES: dict[str, Frames] = {".csv": _iterate_csv, ".tsv": _iterate_csv, ".parquet": _iterate_parquet}
