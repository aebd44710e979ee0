"""Further parts of a model file: for each a text in JSON, and arrays by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus.exceptions import InputError
from isthmus.files.shapes import Reader, Writer, require

LONGEST_NAME = 200
PREFIX = "parts"


def packed_parts(parts: Any, writer: Writer) -> dict[str, Any]:
    """The parts in JSON, with the names under which their arrays are kept.

    Examples
    --------
    >>> writer = Writer()
    >>> packed_parts({"source": ({"columns": ["age"]}, {"mean": np.zeros(1)})}, writer)
    {'source': {'about': {'columns': ['age']}, 'arrays': {'mean': 'parts.source.mean'}}}
    """
    if not isinstance(parts, Mapping):
        raise InputError(f"parts: expected a dictionary of (JSON, arrays), got {type(parts).__name__}.")
    return {_name(name): _packed(part, str(name), writer) for name, part in parts.items()}


def _packed(part: Any, name: str, writer: Writer) -> dict[str, Any]:
    if not isinstance(part, tuple) or len(part) != 2 or not isinstance(part[1], Mapping):
        raise InputError(f"parts: expected (JSON, arrays) for {name!r}, got {type(part).__name__}.")
    about, arrays = part
    try:
        json.dumps(about, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"parts: expected values of JSON for {name!r}, got '{str(error)[:100]}'.") from None
    kept = {}
    for key, value in arrays.items():
        array = np.asarray(value)
        if array.dtype not in (np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_) or array.ndim > 4:
            raise InputError(f"parts: expected arrays of numbers for {name!r}, got {key!r} of type {array.dtype}.")
        kept[_name(key)] = writer.put(np.ascontiguousarray(array), f"{PREFIX}.{name}.{key}")
    return {"about": about, "arrays": kept}


def read_parts(node: Any, reader: Reader) -> dict[str, tuple[Any, dict[str, NDArray[Any]]]]:
    """The parts, their arrays as they were."""
    require(isinstance(node, dict), "parts by name", node)
    found = {}
    for name, part in node.items():
        require(isinstance(part, dict) and part.keys() == {"about", "arrays"}, "a text and arrays", name)
        require(isinstance(part["arrays"], dict), "arrays by name", name)
        found[name] = part["about"], {key: reader.take(place) for key, place in part["arrays"].items()}
    return found


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= LONGEST_NAME:
        raise InputError(f"parts: expected short names, got {name!r:.60}.")
    return name
