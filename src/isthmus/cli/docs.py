"""``isthmus docs``: the reference that comes with the package, in the browser."""

from __future__ import annotations

import argparse
import webbrowser
from difflib import get_close_matches

from isthmus._reference import PAGE, reference_names
from isthmus.cli.arguments import add_speech
from isthmus.cli.screen import Screen
from isthmus.exceptions import InputError
from isthmus.storage.files import shown

EXAMPLES = """\
examples:
  isthmus docs                # opens the reference; it is one file, and asks no network for anything
  isthmus docs LabelTransfer
  isthmus docs --path         # prints where it is
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add = parser.add_argument
    add("name", metavar="NAME", nargs="?", help="a class or function, such as LabelTransfer or Index.search")
    add("--path", action="store_true", help="print the path of the page, and open nothing")
    add_speech(parser)


def run(options: argparse.Namespace) -> None:
    """Open the page, or tell where it is."""
    screen = Screen.of(options)
    if not PAGE.is_file():
        raise InputError(f"{shown(PAGE)}: expected the reference beside the package, found none.")
    place = "" if options.name is None else f"#{_known(options.name)}"
    address = PAGE.as_uri() + place
    opened = not options.path and webbrowser.open(address)
    if options.path:
        screen.say(str(PAGE))
    else:
        screen.say(f"The reference is {address}{'' if opened else ': no browser was found to open it'}.")
    screen.answer({"path": str(PAGE), "address": address, "opened": opened})


def _known(name: str) -> str:
    """The anchor of a name, in large or small letters, which may begin with the modules that it is in."""
    known, parts = {each.lower(): each for each in reference_names()}, name.lower().split(".")
    for place in (".".join(parts[-2:]), parts[-1]):
        if place in known:
            return known[place]
    hint = "".join(f" (did you mean {known[near]}?)" for near in get_close_matches(parts[-1], known, 1))
    raise InputError(f"NAME: expected a name of the reference, got {shown(repr(name)[:60])}{hint}.")
