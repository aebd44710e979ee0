"""A model file as the commands use it: the model, and the features of either domain."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.exceptions import InputError

if TYPE_CHECKING:
    from isthmus.tables import Features, Table

DOMAINS = "source", "target"


@dataclass(frozen=True, eq=False)
class Kept:
    """What a file of ``isthmus fit`` holds."""

    path: Path
    model: Any
    features: dict[str, Features]

    @classmethod
    def of(cls, path: Path) -> Kept:
        """From a file; one that was written in Python has no features, and is told so."""
        from isthmus.files import load, load_parts
        from isthmus.tables import Features

        parts = load_parts(path)
        missing = [domain for domain in DOMAINS if domain not in parts]
        if missing:
            raise InputError(f"{path}: expected a model of `isthmus fit`, got one without the features of its files.")
        return cls(path, load(path), {domain: Features.from_parts(*parts[domain]) for domain in DOMAINS})

    def rows(self, table: Table, domain: str, remedy: str = "the other domain") -> Any:
        """The features of a table's rows; it needs the columns that were learned from, and no others.

        The remedy is the option to give where the file has the columns of the other domain instead.
        """
        wanted, others = (self._columns(d) for d in (domain, other(domain)))
        if not wanted <= {*table.names} and others <= {*table.names}:
            got = f"those of the {other(domain)}; {remedy} turns that around"
            raise InputError(f"{table.path}: expected the columns of the {domain}, got {got}.")
        return self.features[domain].transform(table)

    def _columns(self, domain: str) -> set[str]:
        """The columns by which a file of a domain is known."""
        plan = self.features[domain].plan
        return {column.name for column in plan.features} | ({plan.id} if plan.id is not None else set())


def add_model(parser: argparse.ArgumentParser) -> None:
    """The file."""
    parser.add_argument("model", metavar="MODEL", type=Path, help="a file of `isthmus fit`")


def other(domain: str) -> str:
    """The other domain."""
    return DOMAINS[1 - DOMAINS.index(domain)]
