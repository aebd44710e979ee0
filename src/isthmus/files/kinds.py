"""The kinds of objects that a file may speak of: a fixed list, by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from isthmus.exceptions import InputError
from isthmus.files.foreign import FOREIGN, foreign, packed_foreign
from isthmus.files.shapes import Fields, MismatchError, Reader, Shape, Writer, require
from isthmus.storage.files import shown


def _nothing(values: dict[str, Any]) -> None:
    """Nothing more to look at."""


def _always(value: Any) -> bool:
    return True


@dataclass(frozen=True, eq=False)
class Kind:
    """One type of objects: what of it is stored, and how it is made again.

    Parameters
    ----------
    type : type
        Of the objects, exactly; a subclass may have more to it.
    fields : mapping of str to Shape
        What is stored.
    taken : function
        The values of the fields, of an object.
    made : function
        An object, from the values of the fields.
    fits : function
        Whether an object of the type has nothing that the fields leave out.
    """

    type: type
    fields: Mapping[str, Shape]
    taken: Callable[[Any], dict[str, Any]]
    made: Callable[[dict[str, Any]], Any]
    fits: Callable[[Any], bool] = _always

    @property
    def name(self) -> str:
        """What it is called in files."""
        return self.type.__name__


def value_kind(of: type, fields: Mapping[str, Shape], check: Callable[[dict[str, Any]], None] = _nothing) -> Kind:
    """The kind of a frozen dataclass: its fields are what it is; the check raises where they do not fit together."""
    names = [each.name for each in dataclasses.fields(of)]
    assert [*fields] == names, of

    def taken(value: Any) -> dict[str, Any]:
        return {name: getattr(value, name) for name in names}

    def made(values: dict[str, Any]) -> Any:
        require(values.keys() == fields.keys(), f"all parts of {of.__name__}", [*values])
        check(values)
        return of(**values)

    return Kind(of, fields, taken, made)


@dataclass(frozen=True)
class Kinds:
    """Kinds by name, to which modules add theirs."""

    by_name: dict[str, Kind] = field(default_factory=dict)

    def of(self, value: Any) -> Kind | None:
        """The kind of an object, or None."""
        found = self.by_name.get(type(value).__name__)
        return found if found is not None and found.type is type(value) and found.fits(value) else None


@dataclass(frozen=True)
class Object:
    """An object of one of some kinds; where types of others may be trusted, of those too."""

    kinds: Kinds
    open: bool = False

    def packed(self, value: Any, place: str, writer: Writer) -> Any:
        """The name of the kind, and its fields."""
        kind = self.kinds.of(value)
        if kind is None and self.open:
            return packed_foreign(value, place, writer)
        if kind is None:
            known = ", ".join(self.kinds.by_name)
            raise InputError(f"model: expected {place} among {known} to save, got {type(value).__name__}.")
        return {"is": kind.name, **Fields(kind.fields).packed(kind.taken(value), place, writer)}

    def read(self, node: Any, reader: Reader) -> Any:
        """The object."""
        require(isinstance(node, dict) and isinstance(node.get("is"), str), "an object of a known kind", node)
        name = node["is"]
        if name == FOREIGN and self.open:
            return foreign(node, reader)
        require(name in self.kinds.by_name, "an object of a known kind", name)
        kind = self.kinds.by_name[name]
        own = reader.inner()
        values = Fields(kind.fields).read({key: item for key, item in node.items() if key != "is"}, own)
        try:
            return kind.made(values)
        except (MismatchError, MemoryError):
            raise
        except Exception as error:  # of any kind: what the object's own type says of wrong values
            raise MismatchError(
                f"a {name} in order, got '{shown(str(error)[:100]) or type(error).__name__}'"
            ) from None


def kinds(*entries: Kind) -> Kinds:
    """Kinds by their names."""
    return Kinds({entry.name: entry for entry in entries})
