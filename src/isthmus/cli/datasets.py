"""``isthmus datasets``: list the data sets included in the package."""

from __future__ import annotations

import argparse
import textwrap

from isthmus.cli.console import Console
from isthmus.cli.options import add_output_options

EXAMPLES = """\
examples:
  isthmus datasets
  isthmus datasets --json

In Python: from isthmus.data import load_digits; d = load_digits(3, random_state=0)
"""
WIDTH = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the output options."""
    add_output_options(parser)


def run(options: argparse.Namespace) -> None:
    """Print the description, licence and import line of each data set."""
    console = Console.of(options)
    from isthmus.data.datasets import load_digits, load_toy

    facts = []
    for load in (load_digits, load_toy):
        pair = load()
        lines = (f"{pair}", pair.description, f"licence: {pair.licence}")
        wrapped = [textwrap.wrap(line, WIDTH - 4, subsequent_indent="    ") for line in lines]
        first, *others = (part for parts in wrapped for part in parts)
        console.say(first, *(f"    {line}" for line in (*others, f"from isthmus.data import {load.__name__}")), "")
        name = load.__name__.removeprefix("load_")
        facts.append({"name": name, "description": pair.description, "licence": pair.licence})
    console.answer({"datasets": facts})
