"""``isthmus systems``: the registry as a table."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def run(options: argparse.Namespace) -> None:
    """Print every system and control."""
    from isthmus.registry import systems

    print(systems())
