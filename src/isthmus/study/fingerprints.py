"""Fingerprints: a short text that changes when anything that produced a record does."""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import re
import types
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._version import __version__

LENGTH = 16
SCHEME = "v2-"
"""Before every fingerprint. What an earlier scheme wrote (no prefix) can't be compared with what this one writes."""
_PACKAGE = __name__.partition(".")[0]
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))


def fingerprint(*parts: Any) -> str:
    """Return sixteen hexadecimal digits for any values and the version of this package, after the scheme's prefix.

    Arrays, sparse matrices and data frames count by their content, random generators by their state, estimators by
    class and parameters, dataclasses by the fields that they compare by, functions by name and code, other objects
    by what pickle would store of them. Classes and functions of this package count by name alone, wherever in the
    package they are: its version stands for their code.

    Examples
    --------
    >>> from isthmus import MLHD
    >>> fingerprint(MLHD()) == fingerprint(MLHD()) != fingerprint(MLHD(pair_weight=2.0))
    True
    >>> fingerprint(np.random.default_rng(0)) == fingerprint(np.random.default_rng(1))
    False
    """
    text = "\n".join([__version__, *map(describe, parts)])
    return SCHEME + hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:LENGTH]


def describe(value: Any) -> str:
    """Return a text for a value that is the same in every process, and differs where the content does.

    Examples
    --------
    >>> describe({"b": (1.0, "x"), "a": None})
    "{'a': None, 'b': (1.0, 'x')}"
    """
    return _describe(value, ())


def _describe(value: Any, within: tuple[int, ...]) -> str:
    if type(value) in _PLAIN:
        return repr(value)
    if id(value) in within:  # an object that holds itself
        return f"<cycle {len(within) - within.index(id(value))}>"
    return _describe_object(value, (*within, id(value)))


def _describe_object(value: Any, within: tuple[int, ...]) -> str:
    """The first rule that fits; what holds other values describes them in turn."""

    def several(values: Iterable[Any]) -> str:
        return f"({', '.join(_describe(each, within) for each in values)})"

    def mapped(values: Mapping[Any, Any]) -> str:
        items = sorted(f"{_describe(k, within)}: {_describe(v, within)}" for k, v in values.items())
        return f"{{{', '.join(items)}}}"

    if isinstance(value, np.ndarray | np.generic) or sp.issparse(value):
        return _describe_array(value, several)
    if (columns := _columns_of_frame(value)) is not None:
        return f"{_name(type(value))}{several(columns)}"
    if isinstance(value, enum.Enum):
        return f"{_name(type(value))}.{value.name}"
    if isinstance(value, Mapping):
        return mapped(value)
    if type(value) in (list, tuple):
        return several(value)
    if isinstance(value, AbstractSet):
        return f"set({', '.join(sorted(_describe(each, within) for each in value))})"
    if isinstance(value, functools.partial):
        return f"partial{several((value.func, value.args, value.keywords))}"
    if isinstance(value, types.CodeType):
        return f"code{several((value.co_code, value.co_names, value.co_consts))}"
    if isinstance(value, types.MethodType):
        return f"method{several((value.__func__, value.__self__))}"
    if isinstance(value, types.FunctionType):
        return _name(value) if _is_ours(value) else f"{_name(value)}{several(_parts_of_function(value))}"
    if isinstance(value, type):
        return _name(value)
    if isinstance(value, types.ModuleType):
        return value.__name__
    if hasattr(value, "get_params"):
        return f"{_name(type(value))}{mapped(value.get_params(deep=False))}"
    if dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.compare}
        return f"{_name(type(value))}{mapped(fields)}"
    return f"{_name(type(value))}{several(_stored(value))}"


def _name(value: Any) -> str:
    """Where a class or function is found; of this package without the modules, which may be moved."""
    module = _PACKAGE if _is_ours(value) else value.__module__
    return f"{module}.{value.__qualname__}"


def _is_ours(value: Any) -> bool:
    named = "<" not in value.__qualname__  # a lambda, or a function within one, has no lasting name
    return named and str(value.__module__).partition(".")[0] == _PACKAGE


def _parts_of_function(value: types.FunctionType) -> list[Any]:
    closed = [cell.cell_contents for cell in value.__closure__ or ()]
    return [value.__code__, value.__defaults__, value.__kwdefaults__, closed]


def _describe_array(value: Any, several: Any) -> str:
    digest = hashlib.sha256()
    shape, dtype = value.shape, value.dtype
    if sp.issparse(value):
        matrix: Any = value
        csr = sp.csr_array(matrix.reshape(1, -1) if matrix.ndim == 1 else matrix, copy=True)
        csr.sum_duplicates()  # the same content in one order
        parts = [csr.data, csr.indices.astype(np.int64), csr.indptr.astype(np.int64)]
    elif isinstance(value, np.ma.MaskedArray):
        parts = [np.ma.getdata(value), np.ma.getmaskarray(value)]
    else:
        parts = [np.asarray(value)]
    for part in parts:
        if part.dtype.hasobject:
            digest.update(several(part.ravel().tolist()).encode(errors="surrogatepass"))
        elif part.size and part.dtype.itemsize:
            digest.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
    kind = "sparse" if sp.issparse(value) else "array"
    return f"{kind}({shape}, {dtype.descr if dtype.names else dtype.str}, {digest.hexdigest()})"


def _columns_of_frame(value: Any) -> list[Any] | None:
    """The cells of a data frame or series of pandas or polars, with names and types; None of other values."""
    library, kind = type(value).__module__.partition(".")[0], type(value).__name__
    if library == "pandas" and kind in ("DataFrame", "Series"):
        columns = [value.iloc[:, i] for i in range(value.shape[1])] if kind == "DataFrame" else [value]
        return [value.index, *((c.name, str(c.dtype), c.array) for c in columns)]
    if (
        library == "pandas" and hasattr(value, "dtype") and hasattr(value, "to_numpy")
    ):  # an index, an array of its own
        names = list(getattr(value, "names", ()))
        categories = getattr(value, "categories", None)
        return [names, str(value.dtype), value.to_numpy(), None if categories is None else [*categories]]
    if library == "polars" and kind in ("DataFrame", "Series"):
        columns = value.get_columns() if kind == "DataFrame" else [value]
        return [(c.name, str(c.dtype), _cells_of_polars(c)) for c in columns]
    return None


def _cells_of_polars(column: Any) -> Any:
    plain = column.dtype.is_numeric() and not column.dtype.is_decimal() and not column.null_count()
    return column.to_numpy() if plain else column.to_list()


def _stored(value: Any) -> Any:
    """What pickle would store of an object, without the version-dependent bytes; else its attributes or its text."""
    try:
        stored = value.__reduce_ex__(4)
    except (TypeError, AttributeError, NotImplementedError):  # a lock, an open file, an iterator
        attributes = getattr(value, "__dict__", None)
        return [_ADDRESS.sub("", repr(value))] if attributes is None else [attributes]
    if isinstance(stored, str):  # the name of something global
        return [stored]
    made, arguments, state, *items = (*stored, None)[: max(len(stored), 3)]
    return [made.__name__, arguments, state, *(None if part is None else list(part) for part in items)]
