"""What a part of a model may look like in a file: each kind of part is packed, and read again, by one declaration.

A declaration is strict: what is not as declared is refused, whoever wrote it. Lengths that have a name have to be the
same wherever the name stands within one part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.typing import NDArray

from isthmus.storage.files import shown

MOST = 2**40
"""Larger whole numbers count nothing that is in a file."""
LARGEST_WHOLE = 2**63
DEEPEST = 24
"""Parts within parts."""


class MismatchError(Exception):
    """What was expected and what was got, in a file."""


def require(right: bool, expected: str, got: Any) -> None:
    """Raise unless a part of a file is right."""
    if not right:
        raise MismatchError(f"{expected}, got {shown(repr(got)[:60])}")


@dataclass
class Writer:
    """Arrays that were put aside while a text was made, and the names of foreign types that may be packed."""

    trust: frozenset[str] = frozenset()
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)

    def put(self, array: NDArray[Any], place: str) -> str:
        """Keep an array under the name of its place."""
        self.arrays[place] = array
        return place


@dataclass
class Reader:
    """Arrays that are still to be taken, and the named lengths of the part that is being read."""

    arrays: dict[str, NDArray[Any]]
    trust: frozenset[str] = frozenset()
    lengths: dict[str, int] = field(default_factory=dict)
    depth: int = 0

    def take(self, name: Any) -> NDArray[Any]:
        """An array, once: a text that names it a thousand times would multiply it."""
        require(isinstance(name, str) and name in self.arrays, "the name of an array", name)
        return self.arrays.pop(name)

    def require_shape(self, shape: tuple[int, ...], axes: tuple[str | int, ...], name: str) -> None:
        """Raise unless an array has these axes: a number, a name that was seen before, or a new one."""
        fits = len(shape) == len(axes) and all(
            n == (axis if isinstance(axis, int) else self.lengths.setdefault(axis, n))
            for axis, n in zip(axes, shape, strict=True)
        )
        require(fits, f"an array of shape ({', '.join(map(str, axes))}) that fits the others", name)

    def inner(self) -> Reader:
        """The same for a part within: it has lengths of its own."""
        require(self.depth < DEEPEST, f"parts within parts, {DEEPEST} at most", "more")
        return Reader(self.arrays, self.trust, {}, self.depth + 1)


class Shape(Protocol):
    """How one value is packed, and read."""

    def packed(self, value: Any, place: str, writer: Writer) -> Any:
        """JSON."""

    def read(self, node: Any, reader: Reader) -> Any:
        """The value."""


@dataclass(frozen=True)
class Scalar:
    """A number, a truth value, a text: of one type, and within limits."""

    kind: type
    low: float = -math.inf
    high: float = math.inf
    words: tuple[str, ...] = ()

    def packed(self, value: Any, place: str, writer: Writer) -> Any:
        """The value itself, without NumPy's types."""
        return self.kind(value)

    def read(self, node: Any, reader: Reader) -> Any:
        """The value, if it is one."""
        right = type(node) is self.kind or (self.kind is float and type(node) is int)
        if self.kind in (int, float):
            right = right and self.low <= node <= self.high
        if self.words:
            right = right and node in self.words
        require(right, f"{' or '.join(map(repr, self.words)) or self.kind.__name__} within its limits", node)
        return self.kind(node)


def packed_scalar(value: Any) -> Any:
    """None, a truth value, a number or a text in JSON, which has no word for infinity and NaN."""
    return {"float": repr(value)} if isinstance(value, float) and not math.isfinite(value) else value


def read_scalar(node: Any) -> Any:
    """The same, read again."""
    if isinstance(node, dict) and node.keys() == {"float"}:
        require(node["float"] in ("nan", "inf", "-inf"), "a float", node)
        return float(node["float"])
    require(node is None or isinstance(node, bool | int | float | str), "a number or a text", node)
    require(not isinstance(node, int) or abs(node) < LARGEST_WHOLE, "a whole number below 2**63", node)
    return node


NUMBER, FLAG, TEXT = Scalar(float), Scalar(bool), Scalar(str)
COUNT = Scalar(int, 0, MOST)


def word(*words: str) -> Scalar:
    """One of a few words."""
    return Scalar(str, words=words)


@dataclass(frozen=True)
class Maybe:
    """Something, or None."""

    shape: Shape

    def packed(self, value: Any, place: str, writer: Writer) -> Any:
        """None, or what there is."""
        return None if value is None else self.shape.packed(value, place, writer)

    def read(self, node: Any, reader: Reader) -> Any:
        """None, or what there is."""
        return None if node is None else self.shape.read(node, reader)


@dataclass(frozen=True)
class Many:
    """Any number of the same, as a tuple or a list."""

    shape: Shape
    made: Callable[[Iterable[Any]], Any] = tuple

    def packed(self, value: Any, place: str, writer: Writer) -> Any:
        """A list."""
        return [self.shape.packed(item, f"{place}.{k}", writer) for k, item in enumerate(value)]

    def read(self, node: Any, reader: Reader) -> Any:
        """All of them."""
        require(isinstance(node, list), "a list", node)
        return self.made([self.shape.read(item, reader) for item in node])


@dataclass(frozen=True)
class ByName:
    """A dictionary; where names are given, these and no others."""

    shape: Shape
    names: tuple[str, ...] = ()

    def packed(self, value: Any, place: str, writer: Writer) -> Any:
        """A dictionary."""
        return {str(name): self.shape.packed(item, f"{place}.{name}", writer) for name, item in value.items()}

    def read(self, node: Any, reader: Reader) -> Any:
        """All of them."""
        require(isinstance(node, dict) and (not self.names or {*node} == {*self.names}), "parts by name", node)
        return {name: self.shape.read(item, reader) for name, item in node.items()}


@dataclass(frozen=True)
class Fields:
    """A value with named fields, each of its own shape."""

    fields: Mapping[str, Shape]

    def packed(self, value: Any, place: str, writer: Writer) -> Any:
        """A dictionary of those that there are."""
        start = f"{place}." if place else ""
        return {name: self.fields[name].packed(item, f"{start}{name}", writer) for name, item in value.items()}

    def read(self, node: Any, reader: Reader) -> dict[str, Any]:
        """A dictionary."""
        require(isinstance(node, dict) and node.keys() <= self.fields.keys(), "known parts", node)
        return {name: self.fields[name].read(item, reader) for name, item in node.items()}
