"""CSV and TSV: detect separator and decimal mark, then read names in the first line and rows with as many cells."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from isthmus._core.files import show_path
from isthmus.data.cells import MISSING, NUMBER, clean_text
from isthmus.exceptions import InputError, IsthmusError
from isthmus.io.tables.content import check_content, check_width, find_first_row, import_polars, report_read_errors

SEPARATORS = (",", ";", "\t", "|")
DECIMAL_MARKS = (".", ",")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Bytes.
LONGEST_HEADER = 2**24
# Bytes at the beginning of a file, from which separator and decimal mark are detected.
SAMPLE = 2**16
# From this share of numbers on, the other cells of a column are taken for mistakes.
MOSTLY = 0.9
# Thousands may be separated by the other mark.
WITH_MARK = {
    mark: re.compile(rf"[+-]?[0-9]*([{other}][0-9]{{3}})*[{mark}][0-9]+([eE][+-]?[0-9]+)?")
    for mark, other in zip(DECIMAL_MARKS, reversed(DECIMAL_MARKS), strict=True)
}
WHOLE = re.compile(r"[+-]?[0-9]+([eE][+-]?[0-9]+)?")
# Such as 1,234: the mark may separate thousands, so these cells are no evidence for a decimal mark.
GROUPED = {mark: re.compile(rf"[+-]?[1-9][0-9]{{0,2}}([{mark}][0-9]{{3}})+") for mark in DECIMAL_MARKS}


@dataclass(frozen=True)
class Dialect:
    """The separator of cells, the decimal mark and the encoding of a CSV file.

    Examples
    --------
    >>> print(Dialect(";", ","))
    separator ";", decimal mark ","
    """

    sep: str
    decimal: str = "."
    encoding: str = "UTF-8"

    def __str__(self) -> str:
        other = f", encoding {self.encoding}" * (self.encoding != "UTF-8")
        return f'separator "{NAMES.get(self.sep, self.sep)}", decimal mark "{self.decimal}"{other}'


NAMES = {"\t": "tab"}
# Bytes that no text in Windows-1252 has.
NOT_1252 = (b"\0", b"\x81", b"\x8d", b"\x8f", b"\x90", b"\x9d")


def detect_encoding(pieces: Iterable[bytes]) -> str:
    """Return the encoding of a text: UTF-16 by its byte order mark, Windows-1252 where it can't be UTF-8.

    Examples
    --------
    >>> [detect_encoding(["naïve".encode(name)]) for name in ("utf-8", "utf-16", "cp1252")]
    ['UTF-8', 'UTF-16', 'Windows-1252']
    """
    decoder, valid, possible = codecs.getincrementaldecoder("utf-8")(), True, True
    for i, piece in enumerate(pieces):
        if not i and piece.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "UTF-16"
        possible = possible and not any(byte in piece for byte in NOT_1252)
        try:
            valid = valid and decoder.decode(piece) is not None
        except UnicodeDecodeError:
            valid = False
        if not valid and not possible:
            break
    return "UTF-8" if (valid and not decoder.getstate()[0]) or not possible else "Windows-1252"


def recode(pieces: Iterable[bytes], encoding: str, name: str) -> Iterator[bytes]:
    """Yield a text in UTF-8; one in UTF-8 as it is."""
    if encoding == "UTF-8":
        yield from pieces
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for piece in pieces:
            yield decoder.decode(piece).encode()
        yield decoder.decode(b"", final=True).encode()
    except UnicodeError:
        raise InputError(f"{name}: expected text in {encoding}, got other bytes; save it as UTF-8.") from None


def check_dialect(sep: str | None, decimal: str | None) -> None:
    """Raise unless separator and decimal mark are valid; None means that they are detected."""
    if sep is not None and (len(sep) != 1 or not sep.isascii() or sep.isalnum() or sep in '"\r\n\0'):
        raise InputError(f"sep: expected one character, such as , ; | or tab, got {show_path(repr(sep)[:60])}.")
    if decimal is not None and decimal not in DECIMAL_MARKS:
        raise InputError(f"decimal: expected . or , as the decimal mark, got {show_path(repr(decimal)[:60])}.")


def detect_dialect(
    content: bytes, sep: str | None = None, decimal: str | None = None, name: str = "the file"
) -> Dialect:
    r"""Detect the separator and the decimal mark from the beginning of a CSV file; what is given is taken as it is.

    The separator is the one of ``,``, ``;``, tab and ``|`` that is most frequent in the names of the columns, outside
    of quotes; among several, one that cuts all rows into as many cells comes first. The decimal mark is a comma where
    more columns hold numbers with a comma than with a point. A comma or point before groups of three digits may
    separate thousands, and is no evidence. Without plain numbers, numbers with units decide.

    Examples
    --------
    >>> detect_dialect(b"name;price\nnut;1,5\nbolt;0,25\n")
    Dialect(sep=';', decimal=',', encoding='UTF-8')
    >>> detect_dialect(b'name,price,note\nnut,"1,500",a;b\n')
    Dialect(sep=',', decimal='.', encoding='UTF-8')
    """
    check_dialect(sep, decimal)
    text = content[:SAMPLE].decode(errors="replace").removeprefix("\ufeff")
    header = re.sub(r'"[^"]*"', "", find_first_row(text.encode()).decode())
    found = {each: header.count(each) for each in SEPARATORS if each in header}
    complete = len(content) <= SAMPLE

    def fits(each: str) -> bool:
        return all(len(row) == found[each] + 1 for row in _sample_rows(text, each, complete=complete))

    if sep is None:  # rows are only compared where the names leave a choice
        sep = max(found, key=lambda each: (fits(each), found[each])) if len(found) > 1 else next(iter(found), ",")
    elif sep not in header:
        other = next((each for each in found if fits(each)), None)
        if other is not None:
            got, better = (f'"{NAMES.get(each, each)}"' for each in (sep, other))
            raise InputError(f"sep: expected the separator of {name}, got {got}; its first line has {better}.")
    return Dialect(sep, decimal or _detect_decimal_mark(_sample_rows(text, sep, complete=complete)[1:], sep))


def _sample_rows(text: str, sep: str, *, complete: bool) -> list[list[str]]:
    rows: list[list[str]] = []
    with suppress(csv.Error):  # cells longer than that module allows
        rows.extend(row for row in csv.reader(io.StringIO(text, newline=""), delimiter=sep) if row)
    return rows if complete else rows[:-1]  # the last one may be cut


def _detect_decimal_mark(rows: list[list[str]], sep: str) -> str:
    columns = [[cell.strip() for cell in column if cell is not None] for column in zip_longest(*rows)]
    votes = _count_marks(columns)
    if not any(votes.values()):  # prices, for example, may all have a currency
        votes = _count_marks([[_strip_unit(cell) for cell in column] for column in columns])
    if votes[","] == votes["."]:
        return "," if votes[","] and sep == ";" else "."
    return max(votes, key=lambda mark: votes[mark])


def _count_marks(columns: list[list[str]]) -> dict[str, int]:
    return {mark: sum(_has_mark([cell for cell in c if cell], mark) for c in columns) for mark in DECIMAL_MARKS}


def _strip_unit(cell: str) -> str:
    """Return the digits of a number with a unit or a currency; other cells as they are."""
    found = NUMBER.match(clean_text(cell))
    return cell if found is None else found["digits"]


def _has_mark(cells: list[str], mark: str) -> bool:
    """Return whether a column holds numbers, of which some have this decimal mark."""
    marked = [cell for cell in cells if WITH_MARK[mark].fullmatch(cell)]
    if all(GROUPED[mark].fullmatch(cell) for cell in marked):
        return False
    numbers = sum(any(f.fullmatch(cell) for f in (WITH_MARK[mark], WHOLE, *GROUPED.values())) for cell in cells)
    return numbers >= MOSTLY * sum(cell.lower() not in MISSING for cell in cells)


def read_csv(content: bytes, name: str, separator: str, *, line: int = 0) -> dict[str, Any]:
    r"""Return the columns of a CSV file, all of them as text, empty cells as nulls.

    Parameters
    ----------
    content : bytes
        In UTF-8.
    name : str
        Of the file, for messages.
    separator : str
        Of the cells.
    line : int
        How many lines of the file come before this part of it, which begins with the names, too.

    Examples
    --------
    >>> {name: column.to_list() for name, column in read_csv(b"a;b\n1;x\n;y\n", "t.csv", ";").items()}
    {'a': ['1', None], 'b': ['x', 'y']}
    """
    header = content[:LONGEST_HEADER].split(b"\n", 1)[0]
    check_content(content, name)
    check_utf8(content, name, line)
    check_width(header.count(separator.encode()) + 1, name)
    if separator.encode() in header:
        content = content.rstrip(b"\r\n")  # rows of several cells can't be blank lines
    if content.startswith(b"x"):  # with some characters after it, polars takes that for a file of zlib
        content = BYTE_ORDER_MARK + content
    pl = import_polars()
    try:
        with report_read_errors(name, "a table"):
            frame = pl.read_csv(content, has_header=False, infer_schema=False, separator=separator)
    except IsthmusError:  # what polars says is about polars
        _check_full_rows(content, name, separator, None, line)
        expected = "quotes only around whole cells, and quotes inside of them doubled"
        got = "one that is never closed, as in a cut file" if content.count(b'"') % 2 else "other quotes"
        raise InputError(f"{name}: expected {expected}, got {got}; correct them.") from None
    names = _check_names(frame.row(0), name)
    rows = frame.slice(1)
    if frame.width > 1 and rows.to_series(frame.width - 1).null_count():
        _check_full_rows(content, name, separator, frame.width, line)
    return dict(zip(names, rows.iter_columns(), strict=True))


def check_utf8(content: bytes, name: str, before: int = 0) -> None:
    """Raise, with the line, where a text is not in UTF-8; ``before`` lines come before it."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = before + content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name} line {line}: expected text in UTF-8, got other bytes; save it as UTF-8.") from None


def _check_names(cells: tuple[str | None, ...], name: str) -> list[str]:
    """Return the names of the columns; one without a name, such as a data frame's index, gets its number."""
    names = [(cell or "").strip() or f"column {i}" for i, cell in enumerate(cells)]
    if any("\r" in found for found in names):
        raise InputError(f"{name}: expected lines that end in LF or CR LF, got CR alone; save it with LF.")
    repeated = next((found for found, times in Counter(names).items() if times > 1), None)
    if repeated is not None:
        twice = show_path(repr(repeated)[:60])
        raise InputError(f"{name} line 1: expected different column names, got {twice} twice; rename one.")
    return names


def _check_full_rows(content: bytes, name: str, separator: str, width: int | None, before: int) -> None:
    """Raise, with the line, where a row has more or fewer cells than ``width``, or than the first."""
    # polars fills up short rows without an error, so where a last cell is empty the cells are counted.
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline=""), delimiter=separator)
    try:
        width = width or len(next((row for row in reader if row), []))
        got = next((len(row) for row in reader if len(row) != width), None)
    except csv.Error:  # cells longer than that module allows: polars has read them
        return
    if got is not None:
        place = f"{name} line {before + reader.line_num}"
        remedy = f'correct the line, or put cells with "{NAMES.get(separator, separator)}" in quotes'
        raise InputError(f"{place}: expected {width} cells, as in the first line, got {got}; {remedy}.")
