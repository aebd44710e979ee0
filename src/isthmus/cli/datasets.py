"""``isthmus datasets``: what comes with the library."""

from __future__ import annotations

import argparse
import textwrap

WIDTH = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def run(options: argparse.Namespace) -> None:
    """Print what each data set is, its terms of use, and how it is loaded."""
    from isthmus.datasets import load_digits, load_toy

    for load in (load_digits, load_toy):
        pair = load()
        lines = (f"{pair}", pair.description, f"licence: {pair.licence}")
        first, *others = (textwrap.fill(line, WIDTH - 4, subsequent_indent="    ") for line in lines)
        print("\n    ".join([first, *others, f"from isthmus.datasets import {load.__name__}"]), end="\n\n")
