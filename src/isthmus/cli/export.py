"""``isthmus export``: write the maps of a model as ONNX files, for programs without Python."""

from __future__ import annotations

import argparse
from pathlib import Path

from isthmus._core.files import check_folder
from isthmus.cli.console import Console
from isthmus.cli.inputs import add_model_option
from isthmus.cli.options import add_output_options

EXAMPLES = """\
examples:
  isthmus export translations.isthmus -o maps/

Writes source.onnx and target.onnx: maps from rows of features, in the order shown by `isthmus inspect`, to points of
the common space. They do not include the conversion of table columns to features (scaling, categories, words).
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_model_option(parser)
    folder = "folder for source.onnx and target.onnx"
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help=folder)
    add_output_options(parser)


def run(options: argparse.Namespace) -> None:
    """Compute both graphs, then write them."""
    screen = Console.of(options)
    check_folder(options.output)
    from isthmus.io.model_file import load
    from isthmus.io.onnx import export_onnx

    written = [str(path) for path in export_onnx(load(options.model), options.output)]
    screen.say(f"The maps are in {' and '.join(written)}: input `rows`, output `mapped`, single precision.")
    screen.answer({"output": written})
