"""Values of parameters in files: plain ones, and objects of some kinds; of functions, a few by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isthmus.exceptions import InputError
from isthmus.files.kinds import Kinds, Object
from isthmus.files.shapes import LARGEST_WHOLE, Reader, Writer, packed_scalar, read_scalar, require

DTYPES: Mapping[str, type] = {each.__name__: each for each in (np.float64, np.float32)}
_FUNCTIONS: tuple[Any, ...] = (
    *(np.absolute, np.arcsinh, np.cbrt, np.exp, np.expm1, np.log, np.log10, np.log1p, np.log2),
    *(np.negative, np.reciprocal, np.sign, np.sqrt, np.square, np.tanh),
)
FUNCTIONS: Mapping[str, Any] = {each.__name__: each for each in _FUNCTIONS}
"""Functions of NumPy that a FunctionTransformer may call."""


@dataclass(frozen=True)
class Setting:
    """The value of a parameter.

    None, a truth value, a number or a text; a tuple, a list or a dictionary of such values; a slice; a type of
    numbers; a function of NumPy from a short list; or an object of some kinds.
    """

    kinds: Kinds = field(default_factory=Kinds)
    open: bool = False
    """Whether objects of other kinds may be packed too, where their types are trusted."""

    def packed(self, value: Any, place: str, writer: Writer) -> Any:
        """JSON, with a mark on what JSON has no word for."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | float | str):
            if isinstance(value, int) and abs(value) >= LARGEST_WHOLE:
                raise InputError(f"model: expected {place} below 2**63 to save, got {value!r:.40}.")
            return packed_scalar(value)
        if isinstance(value, list):
            return [self.packed(item, f"{place}.{k}", writer) for k, item in enumerate(value)]
        for mark, content in self._marked(value).items():
            return {mark: self.packed(content, place, writer)}
        if self.kinds.of(value) is not None or (self.open and hasattr(value, "fit")):
            return {"object": Object(self.kinds, self.open).packed(value, place, writer)}
        raise InputError(
            f"model: expected {place} to be a plain value to save, got {type(value).__name__}; "
            "set_params can change it."
        )

    def _marked(self, value: Any) -> dict[str, Any]:
        """What a value is, and plain values that it is made of; empty for objects."""
        if isinstance(value, tuple):
            return {"tuple": list(value)}
        if isinstance(value, dict):
            return {"pairs": [list(pair) for pair in value.items()]}
        if isinstance(value, slice):
            return {"slice": [value.start, value.stop, value.step]}
        if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "fiub":
            return {"array": value.tolist()}
        if any(value is each for each in DTYPES.values()):
            return {"dtype": str(value.__name__)}
        if isinstance(value, np.ufunc) and any(value is each for each in _FUNCTIONS):
            return {"function": str(value.__name__)}
        return {}

    def read(self, node: Any, reader: Reader) -> Any:
        """The value."""
        if not isinstance(node, dict | list) or (isinstance(node, dict) and "float" in node):
            return read_scalar(node)
        own = reader.inner()
        if isinstance(node, list):
            return [self.read(item, own) for item in node]
        require(len(node) == 1, "the value of a parameter", node)
        mark, content = next(iter(node.items()))
        if mark == "object":
            return Object(self.kinds, self.open).read(content, own)
        require(mark in READERS, "the value of a parameter", mark)
        value = self.read(content, own)
        return READERS[mark](value)


def _tuple(value: Any) -> tuple[Any, ...]:
    require(isinstance(value, list), "a tuple", value)
    return tuple(value)


def _dictionary(value: Any) -> dict[Any, Any]:
    right = isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value)
    require(right and all(isinstance(key, bool | int | float | str) for key, _ in value), "names and values", value)
    return dict(value)


def _slice(value: Any) -> slice:
    right = isinstance(value, list) and len(value) == 3
    require(right and all(part is None or isinstance(part, int | str) for part in value), "a slice", value)
    return slice(*value)


def _array(value: Any) -> Any:
    require(isinstance(value, list) and all(type(item) in (bool, int, float) for item in value), "numbers", value)
    return np.array(value)


def _dtype(value: Any) -> type:
    require(isinstance(value, str) and value in DTYPES, "a type of numbers", value)
    return DTYPES[value]


def _function(value: Any) -> Any:
    require(isinstance(value, str) and value in FUNCTIONS, "a known function", value)
    return FUNCTIONS[value]


READERS = {
    "tuple": _tuple,
    "pairs": _dictionary,
    "slice": _slice,
    "array": _array,
    "dtype": _dtype,
    "function": _function,
}
