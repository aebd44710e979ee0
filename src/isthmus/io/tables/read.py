"""Files as tables, one reader per format; nothing is unpickled, and claims of headers are compared with the file."""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._core.archives import show_shape
from isthmus._core.files import open_regular, show_path
from isthmus._core.validation import is_sparse
from isthmus.exceptions import InputError, import_extra
from isthmus.io.tables.content import (
    check_content,
    check_room,
    check_width,
    import_polars,
    read_pieces,
    report_read_errors,
)
from isthmus.io.tables.delimited import check_utf8, detect_dialect, detect_encoding, read_csv, recode
from isthmus.io.tables.table import Table

# The name of the one matrix of an .npy file.
MATRIX = "data"


def _check_size(path: Path, name: str) -> int:
    """Return the size in bytes of a regular file; raise where it is empty."""
    with open_regular(path) as file:
        check_content(file.read(1), name)
        return os.fstat(file.fileno()).st_size


def read_npy(path: Path, name: str) -> Table:
    """Return one matrix (n, d), which stays in the file: a part of it is read when it is used."""
    _check_size(path, name)  # mmap can't be empty
    with report_read_errors(name, "an .npy file in good order (objects are never unpickled)"):
        array = np.asarray(np.lib.format.open_memmap(path, mode="r"))
    return Table.of({MATRIX: _check_matrix(array, name)}, name)


def _check_matrix(array: Any, name: str) -> Any:
    if array.ndim != 2 or not array.shape[1]:
        raise InputError(f"{name}: expected a matrix with one row per sample, got shape {show_shape(array.shape)}.")
    check_width(array.shape[1], name)
    if array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
        raise InputError(f"{name}: expected numbers, got type {array.dtype.str[1:41]!r}.")
    return array


def release_memory(array: Any) -> None:
    """Release the memory that holds parts of an array in a file; they are read again when they are used."""
    while array is not None and not isinstance(array, mmap.mmap):
        array = getattr(array, "base", None)
    if array is not None and hasattr(mmap, "MADV_DONTNEED"):
        array.madvise(mmap.MADV_DONTNEED)


# The ending of MuData's files.
MUDATA = ".h5mu"
# The column of the rows' own names, as AnnData calls them.
ROW_NAMES = "obs_names"
# Groups within groups, and objects in all, that are looked at.
DEEPEST_GROUP, MOST_OBJECTS = 6, 10_000


def read_h5ad(path: Path, name: str) -> Table:
    """Return the parts ``X``, ``obsm/…`` and the columns of ``obs``; nothing else in the file is read."""
    with open_cells(path, name, ("X", "obs", "obsm")) as (stored, read_elem):
        parts = _read_obs(read_elem(stored["obs"])) if "obs" in stored else {}
        annotations = tuple(parts)
        matrices = {"X": stored["X"]} if "X" in stored else {}
        matrices |= {f"obsm/{key}": stored["obsm"][key] for key in stored["obsm"]} if "obsm" in stored else {}
        for key, element in matrices.items():
            found = read_elem(element)
            found = found.tocsr() if is_sparse(found) else np.asarray(found)
            parts[key] = _check_matrix(found, f"{name}, {key}")
    return Table.of(parts, name, annotations)


def split_modality(path: Path) -> tuple[Path, str]:
    """Return the file and the modality of ``FILE.h5mu/NAME``; an empty name where none is given."""
    return (path.parent, path.name) if path.parent.suffix.lower() == MUDATA else (path, "")


@contextmanager
def open_cells(path: Path, name: str, wanted: Sequence[str] | None = None) -> Iterator[tuple[Any, Any]]:
    """Yield an ``.h5ad`` file, or a modality of an ``.h5mu`` file, and what reads its parts.

    The ``wanted`` parts (all) are in the file itself, and what they claim to hold is in proportion to its size.
    """
    h5py = import_extra("h5py", "anndata", "This format needs")
    read_elem = import_extra("anndata.io", "anndata", "This format needs").read_elem
    file, modality = split_modality(path)
    size, ending = _check_size(file, show_path(file)), file.suffix.lower()
    try:
        with report_read_errors(name, f"an {ending} file in good order"), h5py.File(file, "r") as stored:
            group = stored if ending != MUDATA else _open_modality(stored, modality, h5py, name)
            check_room(_count_bytes(group, [key for key in wanted or group if key in group], h5py, name), size, name)
            yield group, read_elem
    except OSError:
        raise InputError(f"{name}: expected an {ending} file in good order, got another or a damaged one.") from None


def _open_modality(stored: Any, modality: str, h5py: Any, name: str) -> Any:
    """Return the group of a modality, or of the only one."""
    # A link could read any file of the user.
    known = [*stored["mod"]] if isinstance(stored.get("mod", getlink=True), h5py.HardLink) else []
    chosen = modality or (known[0] if len(known) == 1 else "")
    if chosen not in known or not isinstance(stored["mod"].get(chosen, getlink=True), h5py.HardLink):
        got = show_path(modality) if modality else f"no name; it has {', '.join(map(show_path, known)) or 'none'}"
        raise InputError(f"{name}: expected one of its modalities, as in FILE{MUDATA}/NAME, got {got}.")
    return stored["mod"][chosen]


def _count_bytes(stored: Any, wanted: list[str], h5py: Any, name: str) -> int:
    """Return the bytes of all arrays in some groups, which have to lie in this file."""
    claim, seen, waiting = 0, 0, [(stored, key, 0) for key in wanted]
    while waiting:
        group, key, depth = waiting.pop()
        seen += 1
        if depth > DEEPEST_GROUP or seen > MOST_OBJECTS:
            raise InputError(f"{name}: expected at most {MOST_OBJECTS} arrays, got more, or groups within groups.")
        # A link could read any file of the user, or one without end.
        if not isinstance(group.get(key, getlink=True), h5py.HardLink):
            raise InputError(f"{name}: expected all of its arrays in this file, got a link to another.")
        element = group[key]
        if isinstance(element, h5py.Group):
            waiting += [(element, inner, depth + 1) for inner in element]
        elif element.external or element.is_virtual:
            raise InputError(f"{name}: expected all of its arrays in this file, got a part of another.")
        else:
            claim += int(element.size or 0) * max(element.dtype.itemsize, 1)
    return claim


def _read_obs(frame: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {ROW_NAMES: [str(cell) for cell in frame.index]}
    for key in frame.columns:
        values = frame[key]
        if isinstance(values.dtype, np.dtype) and values.dtype.kind in "fiu":
            columns[show_path(key)] = values.to_numpy()
        else:
            columns[show_path(key)] = [None if e else str(v) for v, e in zip(values, values.isna(), strict=True)]
    return columns


OBJECTS = "one JSON object per line, with cells of one type per column"
# Lists and objects within each other in a line of JSON: the time that polars takes grows with the cube of them.
DEEPEST = 64
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
IN_ORDER = "a Parquet file in good order"
# At most, of a number in memory; of a text or a list, what polars needs besides its content.
BYTES_PER_VALUE = 8


def read_table(path: str | os.PathLike[str], *, sep: str | None = None, decimal: str | None = None) -> Table:
    r"""Read a user's file as a table.

    Parameters
    ----------
    path : str or path
        Its ending says what it is: ``.csv``, ``.tsv``, ``.jsonl`` (also ``.ndjson``), each also with ``.gz`` behind;
        ``.parquet``, ``.npy``, ``.h5ad``, ``.h5mu``.
    sep : str, optional
        What separates the cells of a CSV or TSV file. None: detected from the first line and rows; tab in TSV.
    decimal : {".", ","}, optional
        The decimal mark of numbers in such a file. None: detected from the rows.

    Returns
    -------
    table : Table
        Cells of CSV and TSV are text until a plan says what they are; ``dialect`` has the separator, the decimal mark
        and the encoding (UTF-8, UTF-16 with a byte order mark, or else Windows-1252) that they were read by. An
        ``.npy`` file is one matrix, ``data``, that stays in the file. Of an ``.h5ad`` file, ``X`` and what is in
        ``obsm`` are matrices, what is in ``obs`` are columns; the same of a modality, ``FILE.h5mu/NAME``.

    Raises
    ------
    InputError
        One sentence that names the file. Nothing in a file is ever unpickled or run.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "people.csv"
    ...     _ = path.write_text("name,age\nAda,36\nAlan,41\n")
    ...     table = read_table(path)
    >>> table.names, table.n_rows, table.column("age").to_list()
    (('name', 'age'), 2, ['36', '41'])
    """
    name, (ending, packed) = show_path(path), detect_format(path)
    if ending not in PACKABLE:
        return READERS[ending](Path(path), name)
    with open_regular(path) as file:
        found = b"".join(read_pieces(file, name, packed=packed))
    if ending not in DELIMITED:
        check_content(found, name)
        table = Table.of(_split_columns(_read_json_lines(found, name), name), name)
        return replace(table, line=find_first_line(found, table.n_rows, 1))
    encoding = detect_encoding([found])
    found = b"".join(recode([found], encoding, name))
    dialect = detect_dialect(found, DELIMITED[ending] if sep is None else sep, decimal, name)
    table = Table.of(read_csv(found, name, dialect.sep), name)
    return replace(table, dialect=replace(dialect, encoding=encoding), line=find_first_line(found, table.n_rows, 2))


def find_first_line(content: bytes, n_rows: int, first: int) -> int | None:
    """Return the line of the first row, or None where lines and rows differ: blank lines, or newlines in cells."""
    lines = content.rstrip(b"\r\n").count(b"\n") + 1
    return first if lines == n_rows + first - 1 and content[:1] not in (b"\r", b"\n") else None


def detect_format(path: str | os.PathLike[str]) -> tuple[str, bool]:
    """Return the ending that says what a file is, and whether it is gzipped."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path: expected the path of a file, got {path!r:.60}.")
    lower = os.fspath(path).lower()
    packed = lower.endswith(".gz")
    ending = os.path.splitext(lower.removesuffix(".gz") if packed else lower)[1]
    if not packed and split_modality(Path(lower))[1]:
        return MUDATA, False
    if ending not in PACKABLE and (packed or ending not in READERS):
        if os.path.isdir(path):
            raise InputError(f"{show_path(path)}: expected a file, got a folder.")
        endings = f"{', '.join([*PACKABLE, *READERS])} (the first ones also .gz)"
        raise InputError(f"{show_path(path)}: expected a name that ends in one of {endings}.")
    return ending, packed


def _read_json_lines(found: bytes, name: str) -> Any:
    check_utf8(found, name)
    for number, text in enumerate(found.split(b"\n"), start=1):
        if text.count(b"[") + text.count(b"{") > DEEPEST and _measure_depth(text) > DEEPEST:
            raise InputError(f"{name}: expected {OBJECTS}, got more than {DEEPEST} lists in lists in line {number}.")
    with report_read_errors(name, OBJECTS):
        return import_polars().read_ndjson(found, infer_schema_length=None)


def _measure_depth(text: bytes) -> int:
    """Return the depth of nested lists and objects in a line of JSON."""
    codes = np.frombuffer(STRING.sub(b" ", text), np.uint8)
    opening, closing = (np.isin(codes, np.frombuffer(marks, np.uint8)) for marks in (b"[{", b"]}"))
    return int(np.cumsum(opening.astype(np.intp) - closing).max(initial=0))


def _read_parquet(path: Path, name: str) -> Table:
    lazy, _, size = scan_parquet(path, name)
    with report_read_errors(name, IN_ORDER):
        frame = lazy.collect()
        check_text_room(frame, size, name)
        return Table.of(_split_columns(frame, name), name)


def scan_parquet(path: Path, name: str, run: int | None = None) -> tuple[Any, int, int]:
    """Return a Parquet file as a lazy frame, its number of rows and its size in bytes.

    Rows × columns × bytes per value, all from the footer, are compared with the size of the file before a value is
    read. The footer doesn't say how long texts and lists are: files from strangers belong under a memory limit.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        Of the file, for messages.
    run : int, optional
        The number of rows read at a time; without, all of them.
    """
    size, pl = _check_size(path, name), import_polars()  # first: polars would wait for a pipe
    with report_read_errors(name, IN_ORDER):
        lazy = pl.scan_parquet(path.absolute(), glob=False, hive_partitioning=False)
        schema = lazy.collect_schema()
        check_width(len(schema), name)
        n = int(lazy.select(pl.len()).collect().item())  # from the footer
        claim = min(n, run or n) * sum(map(_value_bytes, schema.dtypes()))
        check_room(claim, size, name, "a file" if run is None else f"a run of {run} rows")
    return lazy, n, size


def _value_bytes(dtype: Any) -> int:
    """Return the bytes that a value of a column takes, as far as its type says."""
    pl = import_polars()
    if isinstance(dtype, pl.Array):
        return int(dtype.size) * _value_bytes(dtype.inner)
    if isinstance(dtype, pl.Struct):
        return sum(_value_bytes(field.dtype) for field in dtype.fields)
    return BYTES_PER_VALUE


def check_text_room(frame: Any, size: int, name: str) -> None:
    """Raise where a file of ``size`` bytes repeats texts so often that they would fill the memory."""
    pl = import_polars()
    texts = [column.str for column in frame.iter_columns() if column.dtype == pl.String]
    texts += [column.cat for column in frame.iter_columns() if column.dtype == pl.Categorical]
    check_room(sum(int(column.len_bytes().sum() or 0) for column in texts), size, name)


def _split_columns(frame: Any, name: str) -> dict[str, Any]:
    check_width(frame.width, name)
    return dict(zip(frame.columns, frame.iter_columns(), strict=True))


# Formats of text, and their separators; None: to be detected.
DELIMITED: Mapping[str, str | None] = {".csv": None, ".tsv": "\t"}
PACKABLE = (*DELIMITED, ".jsonl", ".ndjson")
READERS = {".parquet": _read_parquet, ".npy": read_npy, ".h5ad": read_h5ad, MUDATA: read_h5ad}
