"""Fingerprints: a short text that changes when anything that produced a record does.

A value is described by a text that is the same in every process and differs where the content does; the fingerprint
is a hash of these texts and of the package's version.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import re
import types
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._version import __version__

# Hexadecimal digits of a fingerprint.
LENGTH = 16
# The prefix of every fingerprint. Those of an earlier scheme (no prefix) can't be compared with these.
SCHEME = "v2-"
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
    """Describe a value by the first rule that applies; the values that it contains are described in turn."""

    def describe_several(values: Iterable[Any]) -> str:
        return f"({', '.join(_describe(each, within) for each in values)})"

    def describe_mapping(values: Mapping[Any, Any]) -> str:
        items = sorted(f"{_describe(k, within)}: {_describe(v, within)}" for k, v in values.items())
        return f"{{{', '.join(items)}}}"

    if isinstance(value, np.ndarray | np.generic) or sp.issparse(value):
        return _describe_array(value, describe_several)
    if (columns := _frame_columns(value)) is not None:
        return f"{_name(type(value))}{describe_several(columns)}"
    if isinstance(value, enum.Enum):
        return f"{_name(type(value))}.{value.name}"
    if isinstance(value, Mapping):
        return describe_mapping(value)
    if type(value) in (list, tuple):
        return describe_several(value)
    if isinstance(value, AbstractSet):
        return f"set({', '.join(sorted(_describe(each, within) for each in value))})"
    if isinstance(value, functools.partial):
        return f"partial{describe_several((value.func, value.args, value.keywords))}"
    if isinstance(value, types.CodeType):
        return f"code{describe_several((value.co_code, value.co_names, value.co_consts))}"
    if isinstance(value, types.MethodType):
        return f"method{describe_several((value.__func__, value.__self__))}"
    if isinstance(value, types.FunctionType):
        return _name(value) if _is_ours(value) else f"{_name(value)}{describe_several(_function_parts(value))}"
    if isinstance(value, type):
        return _name(value)
    if isinstance(value, types.ModuleType):
        return value.__name__
    if hasattr(value, "get_params"):
        return f"{_name(type(value))}{describe_mapping(value.get_params(deep=False))}"
    if dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.compare}
        return f"{_name(type(value))}{describe_mapping(fields)}"
    return f"{_name(type(value))}{describe_several(_pickle_parts(value))}"


def _name(value: Any) -> str:
    """Return module and name of a class or function; without modules inside this package, which may be moved."""
    module = _PACKAGE if _is_ours(value) else value.__module__
    return f"{module}.{value.__qualname__}"


def _is_ours(value: Any) -> bool:
    named = "<" not in value.__qualname__  # a lambda, or a function within one, has no lasting name
    return named and str(value.__module__).partition(".")[0] == _PACKAGE


def _function_parts(value: types.FunctionType) -> list[Any]:
    closed = [cell.cell_contents for cell in value.__closure__ or ()]
    return [value.__code__, value.__defaults__, value.__kwdefaults__, closed]


def _describe_array(value: Any, describe_several: Callable[[Iterable[Any]], str]) -> str:
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
            digest.update(describe_several(part.ravel().tolist()).encode(errors="surrogatepass"))
        elif part.size and part.dtype.itemsize:
            digest.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
    kind = "sparse" if sp.issparse(value) else "array"
    return f"{kind}({shape}, {dtype.descr if dtype.names else dtype.str}, {digest.hexdigest()})"


def _frame_columns(value: Any) -> list[Any] | None:
    """Return the cells of a data frame or series of pandas or polars, with names and types; None for other values."""
    library, kind = type(value).__module__.partition(".")[0], type(value).__name__
    if library == "pandas" and kind in ("DataFrame", "Series"):
        columns = [value.iloc[:, i] for i in range(value.shape[1])] if kind == "DataFrame" else [value]
        return [value.index, *((c.name, str(c.dtype), c.array) for c in columns)]
    # An index, or an array of pandas' own.
    if library == "pandas" and hasattr(value, "dtype") and hasattr(value, "to_numpy"):
        names = list(getattr(value, "names", ()))
        categories = getattr(value, "categories", None)
        return [names, str(value.dtype), value.to_numpy(), None if categories is None else [*categories]]
    if library == "polars" and kind in ("DataFrame", "Series"):
        columns = value.get_columns() if kind == "DataFrame" else [value]
        return [(c.name, str(c.dtype), _polars_cells(c)) for c in columns]
    return None


def _polars_cells(column: Any) -> Any:
    plain = column.dtype.is_numeric() and not column.dtype.is_decimal() and not column.null_count()
    return column.to_numpy() if plain else column.to_list()


def _pickle_parts(value: Any) -> Any:
    """Return what pickle would store of an object; without a pickled form, its attributes or its text."""
    try:
        stored = value.__reduce_ex__(4)
    except (TypeError, AttributeError, NotImplementedError):  # a lock, an open file, an iterator
        attributes = getattr(value, "__dict__", None)
        return [_ADDRESS.sub("", repr(value))] if attributes is None else [attributes]
    if isinstance(stored, str):  # the name of something global
        return [stored]
    made, arguments, state, *items = (*stored, None)[: max(len(stored), 3)]
    return [made.__name__, arguments, state, *(None if part is None else list(part) for part in items)]
