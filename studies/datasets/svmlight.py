"""The index files of the multilingual Reuters collection (Amini and Goutte 2009, UCI 259), as they ship.

What is documented by the collection's own README and its page at UCI: ``rcv1rcv2aminigoutte.tar.bz2`` unpacks to
the folders EN, FR, GR, IT and SP, one a language. The folder YY holds five files ``Index_XX-YY``: documents written
in XX, in their translation into YY; ``Index_YY-YY`` are the originals. A file has one document per line, "in a format
similar to SVM_light": the name of the category (C15, CCAT, E21, ECAT, GCAT or M11), then ``feature:value`` pairs,
TF-IDF weights. Documents and sizes of the vocabularies: EN 18,758 and 21,531, FR 26,648 and 24,893, GR 29,953 and
34,279, IT 24,039 and 15,506, SP 12,342 and 11,547.

What published readers and copies of these files show: features are numbered from 1 and ascend in a line, values can
be negative, fields are separated by one or more blanks, there is no header, and a line can be a category alone (a
document of which no word was kept). Files are plain text of 7 to 31 MB; next to each lies a ``._Index_XX-YY`` of 663
bytes, a leftover of the system they were packed on and no data. Line n of ``Index_XX-EN``, ``Index_XX-FR``, … is the
same document: work on several views relies on it.

What is assumed: the last line ends in a line break, so that a file that was cut short can be told.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import scipy.sparse as sp

from isthmus._core.files import open_regular, show_path
from isthmus._core.validation import IntArray
from isthmus.exceptions import InputError
from studies.datasets.files.compressed_rows import csr_from_parts

LARGEST_FILE, LONGEST_LINE = 2**30, 2**22
MOST_FEATURES = 2**24


def read_index(path: Path, classes: tuple[str, ...], n_features: int | None = None) -> tuple[sp.csr_matrix, IntArray]:
    r"""The documents of an index file as rows, and the position in ``classes`` of the category of each.

    Parameters
    ----------
    path : Path
        One ``Index_XX-YY``.
    classes : tuple of str
        The names of the categories. A line with another one is an error.
    n_features : int, optional
        The size of the vocabulary; by default the largest feature number of the file.

    Raises
    ------
    InputError
        One sentence with the file and the number of the first bad line. Feature numbers that do not ascend are bad:
        a feature that comes twice has no value.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "Index_EN-EN"
    ...     _ = path.write_text("M11 1:0.5 3:-1.25 \nC15 2:3\n")
    ...     X, y = read_index(path, ("C15", "M11"))
    >>> X.toarray(), y
    (array([[ 0.5 ,  0.  , -1.25],
           [ 0.  ,  3.  ,  0.  ]]), array([1, 0]))
    """
    codes = {name.encode(): code for code, name in enumerate(classes)}
    columns, values, ends, labels = array("i"), array("d"), array("q", [0]), array("l")
    most = MOST_FEATURES if n_features is None else n_features
    with open_regular(path) as file:
        for place, line in _lines(file, show_path(path)):
            category, *pairs = line.split()
            if category not in codes:
                raise InputError(f"{place}: expected a category of {_join_classes(classes)}, got {_quote(category)}.")
            numbers, weights = _entries(pairs, most, place)
            columns.extend(numbers)
            values.extend(weights)
            ends.append(len(columns))
            labels.append(codes[category])
    indices = np.asarray(columns, dtype=np.intp) - 1
    width = n_features if n_features is not None else int(indices.max(initial=-1)) + 1
    if width < 1:
        raise InputError(f"{show_path(path)}: expected documents with words, got {len(labels)} without.")
    shape = (len(labels), width)
    X = csr_from_parts(np.asarray(values), indices, np.asarray(ends), shape, show_path(path))
    return X, np.asarray(labels, dtype=np.intp)


def _lines(file: BinaryIO, name: str) -> Iterator[tuple[str, bytes]]:
    """Every line, and how messages call it."""
    size = file.seek(0, 2)
    file.seek(0)
    if not size:
        raise InputError(f"{name}: expected one document per line, got an empty file.")
    if size > LARGEST_FILE:
        raise InputError(f"{name}: expected at most {LARGEST_FILE} bytes, got {size}.")
    if file.read(3) in (b"BZh", b"\x1f\x8b\x08"):
        raise InputError(f"{name}: expected plain text, got a compressed file; unpack it first.")
    file.seek(0)
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        place = f"{name}, line {number}"
        if not line.endswith(b"\n"):
            got = f"more than {LONGEST_LINE} bytes" if len(line) == LONGEST_LINE else "the end of the file"
            raise InputError(f"{place}: expected a line break at the end of the document, got {got}.")
        if line.isspace():
            raise InputError(f"{place}: expected a category and its features, got an empty line.")
        yield place, line


def _entries(pairs: list[bytes], most: int, place: str) -> tuple[list[int], list[float]]:
    numbers: list[int] = []
    weights: list[float] = []
    last = 0
    for pair in pairs:
        feature, _, weight = pair.partition(b":")
        # Python's numbers are more liberal than the format: 1_000, nan and 10**5000 are none here.
        if not feature.isdigit() or len(feature) > 9 or b"_" in weight:
            raise InputError(f"{place}: expected feature:value, got {_quote(pair)}.")
        number = int(feature)
        try:
            value = float(weight)
        except ValueError:
            raise InputError(f"{place}: expected feature:value, got {_quote(pair)}.") from None
        if not last < number <= most:
            wanted = f"feature numbers that ascend from 1 to at most {most}"
            raise InputError(f"{place}: expected {wanted}, got {number}{f' after {last}' if last else ''}.")
        if not math.isfinite(value):
            raise InputError(f"{place}: expected finite values, got {_quote(pair)}.")
        numbers.append(number)
        weights.append(value)
        last = number
    return numbers, weights


def _join_classes(classes: tuple[str, ...]) -> str:
    return ", ".join(classes)


def _quote(token: bytes) -> str:
    """A piece of the file for a message: short, and in ASCII."""
    return ascii(token[:40].decode("latin-1")) + ("…" if len(token) > 40 else "")
