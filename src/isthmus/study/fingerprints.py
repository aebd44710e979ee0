"""What produced a record, as a short text that changes when any part of it does."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from isthmus._arrays import is_sparse
from isthmus._version import __version__

LENGTH = 16
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def fingerprint(*parts: Any) -> str:
    """Sixteen hexadecimal digits for any values, and for the version of this package.

    Estimators count by class and parameters, arrays by their content, dataclasses by the fields that they compare
    by, functions by name, and those without a lasting name by what they do.

    Examples
    --------
    >>> from isthmus import MLHD
    >>> fingerprint(MLHD()) == fingerprint(MLHD()) != fingerprint(MLHD(pair_weight=2.0))
    True
    """
    text = "\n".join([__version__, *map(described, parts)])
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def described(value: Any) -> str:
    """A text for a value, the same in every process and on every machine."""
    if isinstance(value, np.ndarray) or is_sparse(value):
        return _array(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{k}: {described(v)}' for k, v in sorted(value.items()))}}}"
    if isinstance(value, list | tuple):
        return f"({', '.join(map(described, value))})"
    if isinstance(value, functools.partial):
        return f"partial({described((value.func, value.args, value.keywords))})"
    if isinstance(value, type) or hasattr(value, "__qualname__"):
        return _named(value)
    if hasattr(value, "get_params"):
        return f"{_named(type(value))}{described(value.get_params(deep=False))}"
    if dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.compare}
        return f"{_named(type(value))}{described(fields)}"
    text = repr(value)
    return f"{_named(type(value))}{described(getattr(value, '__dict__', {}))}" if _ADDRESS.search(text) else text


def _named(value: Any) -> str:
    """A function or class by its name; a lambda, or a function within one, by its code too."""
    name = f"{value.__module__}.{value.__qualname__}"
    code = getattr(value, "__code__", None)
    if code is None or "<" not in name:
        return name
    closed = [cell.cell_contents for cell in value.__closure__ or ()]
    constants = [c for c in code.co_consts if not hasattr(c, "co_code")]
    return f"{name}{described((code.co_code, code.co_names, constants, closed))}"


def _array(value: Any) -> str:
    parts = (value.data, value.indices, value.indptr) if is_sparse(value) else (value,)
    digest = hashlib.sha256()
    for part in parts:
        content = part.tolist() if part.dtype.hasobject else np.ascontiguousarray(part).data
        digest.update(repr(content).encode() if isinstance(content, list) else content)
    return f"array({value.shape}, {value.dtype}, {digest.hexdigest()})"
