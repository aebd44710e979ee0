"""The descriptions of Debian packages as they were written: English texts, before any vocabulary."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from isthmus.exceptions import InputError
from isthmus.storage.files import opened
from studies.datasets.folder import data_folder, required

FILE = "debian_descriptions/debian_descriptions.jsonl.gz"
EXPECTS = "one JSON object per line with package, section and en: {short, long}"
MOST_BYTES = 100_000_000
"""Of the unpacked file, which has 13 million; a larger one is not read further."""


class Texts(NamedTuple):
    """One English text per package, and the section of each."""

    packages: tuple[str, ...]
    sections: tuple[str, ...]
    texts: tuple[str, ...]


def read_debian_texts(folder: str | os.PathLike[str] | None = None) -> Texts:
    """The short and the long English description of every package, as one text.

    Parameters
    ----------
    folder : path, optional
        The data folder (:func:`studies.datasets.data_folder`), with ``debian_descriptions.jsonl.gz``.
    """
    path = required(data_folder(folder) / FILE, "debian texts", EXPECTS)
    rows = [_row(line, path, k) for k, line in enumerate(_unpacked(path).splitlines(), start=1)]
    if not rows:
        raise InputError(f"{path.name}: expected at least one line, got none.")
    return Texts(*map(tuple, zip(*rows, strict=True)))


def _unpacked(path: Path) -> bytes:
    with opened(path) as file, gzip.GzipFile(fileobj=file) as packed:
        try:
            content = packed.read(MOST_BYTES + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"{path.name}: expected a whole gzip file, got '{str(error).rstrip('.')}'.") from None
    if len(content) > MOST_BYTES:
        raise InputError(f"{path.name}: expected at most {MOST_BYTES} bytes when unpacked, got more.")
    return content


def _row(line: bytes, path: Path, number: int) -> tuple[str, str, str]:
    try:
        values: Any = json.loads(line)
        row = values["package"], values["section"], f"{values['en']['short']}. {values['en']['long']}"
    except (ValueError, KeyError, TypeError, RecursionError):
        row = ("", 0, "")
    if not all(isinstance(text, str) for text in row):
        raise InputError(f"{path.name}, line {number}: expected {EXPECTS}, got {line[:60]!r}.")
    return row
