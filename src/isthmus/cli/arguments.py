"""Options that several commands have: two files, what their columns are, and how the command speaks."""

from __future__ import annotations

import argparse
from pathlib import Path

from isthmus.exceptions import InputError

SIGNS = {"tab": "\t", "\\t": "\t"}
"""Words for separators that are hard to type."""
FORMATS = "CSV, TSV or JSON lines (also .gz), Parquet, NPY, NPZ or .h5ad"
COLUMNS = """\
Columns are turned into features without a word from you, and what became of each
is shown: numbers are scaled, a few different words become yes or no, texts become
weighted words. --plan FILE writes that to a new file and does nothing else: change
it there, and give the same command again."""


def natural(word: str) -> int:
    """A whole number of at least 0, as an option's word."""
    try:
        value = int(word)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 0, got {word!r:.60}")
    return value


def add_files(parser: argparse.ArgumentParser, first: str, second: str, what: tuple[str, str]) -> None:
    """The two files."""
    for name, about in zip((first, second), what, strict=True):
        parser.add_argument(name.lower(), metavar=name, type=Path, help=f"{about}: {FORMATS}")


def add_columns(parser: argparse.ArgumentParser, *, label: bool, required: bool = True) -> None:
    """What the columns are."""
    columns = parser.add_argument_group("columns", COLUMNS)
    add = columns.add_argument
    if label:
        add("--label", required=required, metavar="COL", help="the column of classes; an empty cell is no label")
    named = "the column that names the rows (their numbers, from 0); may be given again, for the other file"
    add("--id", action="append", default=[], metavar="COL", help=named)
    add("--text", action="append", default=[], metavar="COL", help="a column that is text; may be given again")
    add("--drop", action="append", default=[], metavar="COL", help="a column to leave out; may be given again")
    plan = "what the columns of both files are, as TOML: written if there is no such file, else done as it says"
    add("--plan", type=Path, metavar="FILE", help=plan)
    add_format(parser)


def add_format(parser: argparse.ArgumentParser, *, files: int = 2) -> None:
    """How the cells and numbers of CSV files are written."""
    add = parser.add_argument_group("CSV files", "Detected and shown, unless they are given.").add_argument
    again = "; may be given again, for the other file" if files > 1 else ""
    said = f"what separates the cells: one character, tab or auto (auto){again}"
    add("--sep", action="append", default=[], metavar="CHAR", help=said)
    said = f"the decimal mark of numbers: . or , or auto (auto){again}"
    add("--decimal", action="append", default=[], metavar="MARK", help=said)


def format_of(options: argparse.Namespace, file: int) -> dict[str, str | None]:
    """Return the arguments ``sep`` and ``decimal`` of ``read_table`` for the first file (0) or the second (1)."""
    found: dict[str, str | None] = {}
    for name in ("sep", "decimal"):
        given = getattr(options, name)
        if len(given) > 2:
            raise InputError(f"--{name}: expected one for each file, got {len(given)}.")
        word = given[min(file, len(given) - 1)] if given else "auto"
        found[name] = None if word == "auto" else SIGNS.get(word, word)
    return found


def add_speech(parser: argparse.ArgumentParser) -> None:
    """How the command speaks."""
    speech = parser.add_argument_group("output").add_mutually_exclusive_group()
    speech.add_argument("--json", action="store_true", help="one JSON object on standard output, for machines")
    speech.add_argument("--quiet", action="store_true", help="say nothing but errors")
