"""Options that several commands have: two files, their columns, known pairs, and the form of the output."""

from __future__ import annotations

import argparse
from pathlib import Path

from isthmus._core.files import show_path
from isthmus.exceptions import InputError

# Names of separators that are hard to type.
SIGNS = {"tab": "\t", "\\t": "\t"}
FORMATS = "CSV, TSV or JSON lines (also .gz), Parquet, NPY, .h5ad or FILE.h5mu/NAME"
COLUMNS = """\
Column types are detected automatically and shown: numbers are scaled (but
not by migrate), columns with few different words become one column of 0 and
1 per word, texts become tf-idf weights of their words. To change that, write
the detected types to a new file with --plan FILE, edit the file, and run the
same command again."""
FIRST_IDS = "the first column if it looks like ids, else row numbers from 0"


def parse_count(word: str) -> int:
    """Return the whole number of at least 0 that an option has."""
    try:
        value = int(word)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 0, got {word!r:.60}")
    return value


def name_file(message: str, options: argparse.Namespace) -> str:
    """Replace the name of an array at the start of a message by the file that it is read from."""
    name, colon, rest = message.partition(":")
    path = getattr(options, name[2:], None) if name in ("X_source", "X_target") else None
    return message if path is None else f"{show_path(path)}{colon}{rest}"


def add_file_options(parser: argparse.ArgumentParser, a: str, b: str, *what: str, shared: bool = False) -> None:
    """Add the two files, a file of known pairs and, with ``shared``, the columns of both files that mean the same."""
    for name, about in zip((a, b), what, strict=True):
        parser.add_argument(name.lower(), metavar=name, type=Path, help=f"{about}: {FORMATS}")
    known = f"known pairs: ids of {a}, then of {b}; or columns source and target (default: none)"
    parser.add_argument("--pairs", type=Path, metavar="FILE", help=known)
    if shared:
        columns = parser.add_mutually_exclusive_group()
        default = "default: equal names, similar content, else the words of whole rows"
        pair = f"columns of {a} and {b} that mean the same; can be repeated ({default})"
        columns.add_argument("--shared", action="append", default=[], metavar="A=B", help=pair)
        columns.add_argument("--no-shared", action="store_true", help="compare no columns directly")


def add_column_options(
    parser: argparse.ArgumentParser, *, label: bool, required: bool = True, ids: str = f"with --pairs, {FIRST_IDS}"
) -> None:
    """Add the options that say what the columns are; ``ids`` describes the default of the ids."""
    columns = parser.add_argument_group("columns", COLUMNS)
    add = columns.add_argument
    if label:
        labels = "column of class labels; an empty cell or -1 means unlabelled"
        add("--label", required=required, metavar="COL", help=labels)
    named = f"column with the ids of the rows (default: {ids}); give it twice if names differ"
    add("--id", action="append", default=[], metavar="COL", help=named)
    add("--text", action="append", default=[], metavar="COL", help="column to read as text; can be repeated")
    add("--drop", action="append", default=[], metavar="COL", help="column to ignore; can be repeated")
    plan = "column types of both files as TOML: written if FILE does not exist (and nothing else), used if it does"
    add("--plan", type=Path, metavar="FILE", help=plan)
    add_format(parser)


def add_format(parser: argparse.ArgumentParser, *, files: int = 2) -> None:
    """Add the options for the dialect of CSV files."""
    add = parser.add_argument_group("CSV files", "Detected from the file and shown, unless given here.").add_argument
    again = "; give it twice if the second file differs" if files > 1 else ""
    separator = f"separator of the cells: one character, tab or auto (default: auto){again}"
    add("--sep", action="append", default=[], metavar="CHAR", help=separator)
    mark = f"decimal mark of numbers: . or , or auto (default: auto){again}"
    add("--decimal", action="append", default=[], metavar="MARK", help=mark)


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


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the form of the output."""
    forms = parser.add_argument_group("output").add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    forms.add_argument("--quiet", action="store_true", help="print nothing but errors")
