"""The descriptions of Debian packages as they were written, before any vocabulary."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from isthmus._core.files import open_regular
from isthmus._core.validation import check_choice
from isthmus.exceptions import InputError
from studies.datasets.folder import check_file, data_folder

FILE = "debian_descriptions/debian_descriptions.jsonl.gz"
EXPECTS = "one JSON object per line with package, section and en: {short, long}"
LANGUAGES = ("en", "fr", "de")
MOST_BYTES = 100_000_000
"""Of the unpacked file, which has 13 million; a larger one is not read further."""


class Texts(NamedTuple):
    """One text per package, and the section of each."""

    packages: tuple[str, ...]
    sections: tuple[str, ...]
    texts: tuple[str, ...]


def read_debian_texts(
    folder: str | os.PathLike[str] | None = None, language: str = "en", *, short: bool = False
) -> Texts:
    """The short and the long description of every package that has one in a language, as one text.

    Parameters
    ----------
    folder : path, optional
        The data folder (:func:`studies.datasets.data_folder`), with ``debian_descriptions.jsonl.gz``.
    language : {"en", "fr", "de"}
        Every package has English text.
    short : bool
        Whether to return the short description only.
    """
    check_choice(language, "language", LANGUAGES)
    path = check_file(data_folder(folder) / FILE, "debian texts", EXPECTS)
    lines = enumerate(_unpack(path).splitlines(), start=1)
    rows = [row for k, line in lines if (row := _row(line, path, k, language, short)) is not None]
    if not rows:
        raise InputError(f"{path.name}: expected at least one line, got none.")
    return Texts(*map(tuple, zip(*rows, strict=True)))


def _unpack(path: Path) -> bytes:
    with open_regular(path) as file, gzip.GzipFile(fileobj=file) as packed:
        try:
            content = packed.read(MOST_BYTES + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"{path.name}: expected a whole gzip file, got '{str(error).rstrip('.')}'.") from None
    if len(content) > MOST_BYTES:
        raise InputError(f"{path.name}: expected at most {MOST_BYTES} bytes when unpacked, got more.")
    return content


def _row(line: bytes, path: Path, number: int, language: str, short: bool) -> tuple[str, str, str] | None:
    try:
        values: Any = json.loads(line)
        if language != "en" and not values.get(language):
            return None
        first, rest = values[language]["short"], values[language]["long"]
        row = values["package"], values["section"], first if short else f"{first}. {rest}"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        row = ("", 0, "")
    if not all(isinstance(text, str) for text in row):
        raise InputError(f"{path.name}, line {number}: expected {EXPECTS}, got {line[:60]!r}.")
    return row
