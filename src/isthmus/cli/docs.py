"""``isthmus docs``: the reference that comes with the package, in the browser."""

from __future__ import annotations

import argparse
import webbrowser
from difflib import get_close_matches

from isthmus._reference import PAGE, reference_places
from isthmus.cli.arguments import add_speech
from isthmus.cli.screen import Screen
from isthmus.exceptions import InputError
from isthmus.storage.files import shown

NEAR = 0.75
"""How like a name a hint has to be, from 0 to 1."""
EXAMPLES = """\
examples:
  isthmus docs                # opens the reference; it is one file, and asks no network for anything
  isthmus docs LabelTransfer
  isthmus docs MLHD.update
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
    places, parts = reference_places(), name.split(".")
    known = {each.lower(): place for each, place in places.items()}
    in_class = len(parts) > 1 and parts[-2] in places
    for words in (parts[-2:],) if in_class else (parts[-2:], parts[-1:]):
        if (place := known.get(".".join(words).lower())) is not None:
            return place
    hint = "".join(f" (did you mean {near}?)" for near in _near(parts, list(places)))
    raise InputError(f"NAME: expected a name of the reference, got {shown(repr(name)[:60])}{hint}.")


def _near(parts: list[str], names: list[str]) -> list[str]:
    """The name that was probably meant: of the same class, on its own, or of any class; none if nothing is near."""
    alone = {n.lower(): n for n in names if "." not in n}
    owner = [alone[near] for near in get_close_matches(".".join(parts[-2:-1]).lower(), alone, 1, NEAR)]
    methods = {n.partition(".")[2].lower(): n for n in names if "." in n}
    within = {n.partition(".")[2].lower(): n for n in names if n.partition(".")[0] in owner and "." in n}
    for known in (within, alone, methods):
        for near in get_close_matches(parts[-1].lower(), known, 1, NEAR):
            return [known[near]]
    return []
