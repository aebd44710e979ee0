"""Structures and cell arrays of a level 5 MATLAB file, as deep as they are expected and no deeper.

The reader follows what it was asked for and never the file: an array where cells were expected is refused, cells
where an array was expected too, and a field that nobody asked for is passed over by its length, whatever is in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from isthmus.datasets.files.expected import Expected, shown_shape
from isthmus.datasets.files.matlab_arrays import CELLS, STRUCTURE, Header, array_of, header_of
from isthmus.datasets.files.matlab_elements import Elements
from isthmus.exceptions import InputError

LONGEST_FIELD, MOST_FIELDS = 64, 256
"""Characters of a field's name, with the NUL at its end, and fields of a structure."""


@dataclass(frozen=True)
class Cells:
    """A row or a column of cells with an array in each.

    Parameters
    ----------
    each : Expected
        What every array has to be; its ``longest``, times ``most``, is the bound of what is read.
    most : int
        How many cells there may be.

    Examples
    --------
    >>> str(Cells(Expected((None,), "whole", low=1, longest=500), most=20))
    'at most 20 cells of whole numbers of shape (any,), from 1'
    """

    each: Expected
    most: int

    def __str__(self) -> str:
        return f"at most {self.most} cells of {self.each}"


@dataclass(frozen=True)
class Structure:
    """One structure: what its fields have to be; it may have more.

    Examples
    --------
    >>> str(Structure({"source": Expected((None,), "whole"), "target": Expected((None,), "whole")}))
    'a structure with the fields source, target'
    """

    fields: Mapping[str, Layout]

    def __str__(self) -> str:
        return f"a structure with the fields {', '.join(self.fields)}"


Layout: TypeAlias = Expected | Cells | Structure
"""What a variable has to be."""


def value_of(elements: Elements, header: Header, layout: Layout) -> Any:
    """What follows a header: an array, a list of arrays, or a dictionary by the names of fields."""
    if isinstance(layout, Expected):
        return array_of(elements, header, layout)
    if header.kind != (CELLS if isinstance(layout, Cells) else STRUCTURE):
        raise InputError(f"{elements.name}: expected {layout}, got {header}.")
    return _cells(elements, header, layout) if isinstance(layout, Cells) else _fields(elements, header, layout)


def _cells(elements: Elements, header: Header, layout: Cells) -> list[Any]:
    count = math.prod(header.shape)
    if len(header.shape) != 2 or (count and 1 not in header.shape) or count > layout.most:
        raise InputError(f"{elements.name}: expected {layout}, got shape {shown_shape(header.shape)}.")
    found = []
    for k in range(count):
        with elements.nested(f"{{{k + 1}}}"):
            found.append(array_of(elements, header_of(elements), layout.each))
    return found


def _fields(elements: Elements, header: Header, layout: Structure) -> dict[str, Any]:
    if header.shape != (1, 1):
        raise InputError(f"{elements.name}: expected one structure, got shape {shown_shape(header.shape)}.")
    names = _field_names(elements)
    for name in layout.fields:
        if names.count(name) != 1:
            raise InputError(f"{elements.name}: expected a field {name!r} once, got it {names.count(name)} times.")
    found = {}
    for name in names:
        if name not in layout.fields:
            elements.skip()
            continue
        with elements.nested(f".{name}"):
            found[name] = value_of(elements, header_of(elements), layout.fields[name])
    return {name: found[name] for name in layout.fields}


def _field_names(elements: Elements) -> list[str]:
    """The names, each in so many bytes as the element before them says, filled up with NUL."""
    width = elements.numbers((5,), most=1)
    if len(width) != 1 or not 1 <= width[0] <= LONGEST_FIELD:
        raise InputError(f"{elements.name}: expected names of fields of up to {LONGEST_FIELD} bytes, got others.")
    names = elements.numbers((1, 2), most=MOST_FIELDS * int(width[0])).tobytes()
    if len(names) % int(width[0]):
        raise InputError(f"{elements.name}: expected names of fields of {width[0]} bytes, got {len(names)} in all.")
    starts = range(0, len(names), int(width[0]))
    return [names[at : at + int(width[0])].split(b"\0")[0].decode("latin-1") for at in starts]
