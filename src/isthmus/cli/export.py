"""``isthmus export``: the maps of a model as ONNX files, for programs without Python."""

from __future__ import annotations

import argparse
from pathlib import Path

from isthmus.cli.arguments import add_speech
from isthmus.cli.models import add_model
from isthmus.cli.screen import Screen
from isthmus.storage.folders import require_folder

EXAMPLES = """\
examples:
  isthmus export translations.isthmus -o maps/

The files map rows of features, in the order that `isthmus inspect` shows, to points of the common space. What turns a
table into features (scaling, categories, words) is not in them.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add_model(parser)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="for either domain's file")
    add_speech(parser)


def run(options: argparse.Namespace) -> None:
    """Make both graphs, then write them."""
    screen = Screen.of(options)
    require_folder(options.output)
    from isthmus.files import export_onnx, load

    written = [str(path) for path in export_onnx(load(options.model), options.output)]
    screen.say(f"The maps are in {' and '.join(written)}: from rows to mapped, in single precision.")
    screen.answer({"output": written})
