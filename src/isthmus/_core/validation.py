"""What every function checks of its arguments: arrays, labels, numbers and words, each refused in one sentence.

Types of arrays come first, then tables of numbers, labels, single numbers and words, random numbers, and last how
values are shown in messages.
"""

from __future__ import annotations

import numbers
import sys
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, fields  # noqa: F401  (the first for an example)
from difflib import get_close_matches
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.random import Generator, RandomState
from numpy.typing import NDArray

from isthmus.exceptions import InputError

FloatArray: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]
# A dense two-dimensional float array or a SciPy CSR matrix.
Matrix: TypeAlias = Any

# Products of four features, as a Hessian has them, stay numbers between these.
SMALLEST, LARGEST = 1e-60, 1e60
# The code, and one of the user's marks, of a row without a label.
UNLABELLED = -1
# Words that a message lists; of more, the first ones.
MOST_OPTIONS = 8
# Characters of a representation, at most.
LONGEST_REPR = 300
# Characters of a value in a message, at most.
LONGEST_VALUE = 60


def is_sparse(X: Any) -> bool:
    """Return whether X is a SciPy sparse matrix or array."""
    return bool(sp.issparse(X))


def as_dense(X: Matrix) -> FloatArray:
    """Return rows as a dense array of double precision: the caller's own where they are that already."""
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)


def check_matrix(X: Any, name: str, *, n_columns: int | None = None, min_rows: int = 1) -> Matrix:
    """Return a finite two-dimensional float array or CSR matrix: float32 stays float32, all else is float64.

    Sparse input stays sparse. The caller's array is never written to.
    """
    if is_sparse(X):
        table: Any = X.tocsr()
        if not table.has_canonical_format:  # some kernels would put that right in the caller's own arrays
            table = table.copy()
            table.sum_duplicates()
        values = table.data
    else:
        table = values = _as_dense_table(X, name)
    if table.ndim != 2:
        hint = "; Reshape your data: one row per sample" if table.ndim < 2 else ""
        raise InputError(f"{name}: expected a two-dimensional array, got {table.ndim} dimension(s){hint}.")
    if values.dtype.kind == "c":
        raise InputError(f"{name}: expected real numbers, got complex ones: Complex data not supported.")
    if values.dtype.kind not in "fiub":
        raise InputError(f"{name}: expected numbers, got values of type {values.dtype}.")
    if table.dtype not in (np.float32, np.float64):
        table = table.astype(np.float64)
        values = table.data if is_sparse(table) else table
    rows, columns = table.shape
    # Shapes before values: a wrong table is named by its shape, not by the first odd entry.
    if rows < min_rows:
        raise InputError(f"{name}: expected at least {min_rows} row(s), got {rows}.")
    if columns < 1:
        raise InputError(f"{name}: expected at least one column, got 0.")
    if n_columns is not None and columns != n_columns:
        raise InputError(f"{name}: expected {n_columns} columns, as in fit, got {columns}.")
    with np.errstate(invalid="ignore", over="ignore"):
        total = values.sum(dtype=np.float64)  # one pass, and no array of booleans, where all is well
    if not np.isfinite(total) and not np.isfinite(values).all():
        bad = "NaN" if np.isnan(values).any() else "inf"
        raise InputError(f"{name}: expected finite numbers without NaN or inf, got {bad}.")
    return table


def _as_dense_table(X: Any, name: str) -> NDArray[Any]:
    if X is None:
        raise InputError(f"{name}: expected a table of numbers, got None.")
    try:
        table = np.asarray(X)
    except ValueError:
        raise InputError(f"{name}: expected a rectangular table of numbers, got rows of unequal length.") from None
    if np.ma.is_masked(X):
        raise InputError(f"{name}: expected numbers in every place, got a masked array.")
    if table.dtype.kind == "O":
        try:
            if any(isinstance(value, str) for value in table.flat):
                raise TypeError
            table = table.astype(np.float64)
        except (TypeError, ValueError):
            found = next((v for v in table.flat if not isinstance(v, numbers.Number)), table)
            text = f" {found!r:.40}" if isinstance(found, str | bytes) else ""  # whatever else may be a whole table
            raise InputError(f"{name}: expected numbers, got {type(found).__name__}{text}.") from None
    return table


def check_magnitude(X: Matrix, name: str, smallest: float = SMALLEST) -> Matrix:
    """Return the rows; raise where their size leaves no room for the products that distances are made of."""
    values = X.data if is_sparse(X) else X
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if largest > LARGEST or 0.0 < largest < smallest:
        raise _magnitude_error(name, f"{largest:.3g}", smallest)
    return X


def check_moments(mean: FloatArray, variances: FloatArray, name: str) -> None:
    """Raise where moments show rows too large or too small for products of their entries.

    Examples
    --------
    >>> check_moments(np.array([0.0]), np.array([1e-150]), "X")
    Traceback (most recent call last):
    isthmus.exceptions.InputError: X: expected features whose largest is between 1e-60 and 1e+60, got ...; scale ...
    """
    sizes = np.maximum(np.abs(mean), np.sqrt(np.maximum(variances, 0.0)))
    size = float(sizes.max(initial=0.0))
    if not size <= LARGEST:  # squares of the largest ones are no numbers any more
        raise _magnitude_error(name, "larger ones")
    if 0.0 < size < SMALLEST:
        raise _magnitude_error(name, "smaller ones")


def _magnitude_error(name: str, got: str, smallest: float = SMALLEST) -> InputError:
    limits = f"{smallest:.0e} and {LARGEST:.0e}"
    return InputError(f"{name}: expected features whose largest is between {limits}, got {got}; scale them first.")


def column_names(X: Any) -> tuple[str, ...] | None:
    """Return the names of a data frame's columns, or None for an array."""
    names = tuple(getattr(X, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def is_frame(table: Any) -> bool:
    """Return whether a table is a data frame: has named columns that can be looked up."""
    return hasattr(table, "columns") and hasattr(table, "__getitem__") and not isinstance(table, type)


def check_column_names(X: Any, name: str) -> None:
    """Raise where two columns of a data frame have one name."""
    repeated = [column for column, count in Counter(column_names(X) or ()).items() if count > 1]
    if repeated:
        raise InputError(f"{name}: expected different column names, got {repeated[0]!r} twice; rename one.")


def check_same_columns(X: Any, fitted: tuple[str, ...] | None, name: str) -> None:
    """Raise unless a frame has the columns, in the order, that fit saw."""
    names = column_names(X)
    if names is None or fitted is None or names == fitted:
        return
    missing = [column for column in fitted if column not in names]
    unknown = [column for column in names if column not in fitted]
    if missing or unknown:
        raise InputError(f"{name}: expected the columns seen in fit, got {unknown[:3]} and not {missing[:3]}.")
    raise InputError(f"{name}: expected the columns in the order of fit, {list(fitted[:3])}, got {list(names[:3])}.")


def check_length(y: Any, n: int, name: str, of: str) -> None:
    """Raise unless ``y`` has one entry per row of ``of``."""
    shape = np.shape(y)
    if shape != (n,):
        raise InputError(f"{name}: expected shape ({n},) to match {of}, got {shape}.")


def as_labels(y: Any, name: str, kind: str = "label") -> NDArray[Any]:
    """Return labels, or what ``kind`` calls them, as a one-dimensional array: numbers among strings stay numbers."""
    if y is None:
        raise InputError(f"{name}: expected one {kind} per row, got None.")
    try:
        # Of a list, NumPy would make strings of all values where one is a string: objects stay what they are.
        values = y.to_numpy() if hasattr(y, "to_numpy") else y
        array = np.asarray(values, dtype=object if isinstance(y, list | tuple) else None)
    except ValueError:
        raise InputError(f"{name}: expected one {kind} per row, got rows of unequal length.") from None
    if array.ndim != 1:
        raise InputError(f"{name}: expected a one-dimensional array, got shape {array.shape}.")
    if array.dtype.kind == "O" and any(isinstance(v, list | tuple | dict | set | np.ndarray) for v in array):
        raise InputError(f"{name}: expected one {kind} per row, got a row with several.")
    if array.dtype.kind == "O" and all(isinstance(v, numbers.Real) and not isinstance(v, bool) for v in array):
        return np.asarray(array.tolist())
    if array.dtype.kind == "O" and any(isinstance(v, np.str_ | np.bool_ | np.number) for v in array):
        plain = [v.item() if isinstance(v, np.str_ | np.bool_ | np.number) else v for v in array]
        return np.array([*plain, None], dtype=object)[:-1]  # None: or NumPy would look into strings
    return array


def is_unlabelled(y: Any) -> NDArray[np.bool_]:
    """Return a mask of the labels that mean none: -1, None, NaN, pandas' NA, and the string "-1"."""
    array = as_labels(y, "y")
    if array.dtype.kind in "iu":
        return np.asarray(array == UNLABELLED)
    return np.array([_is_missing(value) for value in array.tolist()], dtype=bool)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ == "NAType":
        return True
    if isinstance(value, numbers.Real):
        return bool(value == UNLABELLED or value != value)  # only NaN differs from itself
    return isinstance(value, str) and value == str(UNLABELLED)


def find_classes(labels: NDArray[Any], name: str) -> NDArray[Any]:
    """Return the different labels (C,), sorted; raise where one is missing, or they can't be sorted.

    Examples
    --------
    >>> find_classes(np.array(["b", "a", "b"]), "y")
    array(['a', 'b'], dtype='<U1')
    """
    if (missing := is_unlabelled(labels)).any():
        n = missing.sum()
        raise InputError(f"{name}: expected a label for every row (-1, None and NaN mean none), got {n} without.")
    try:
        return np.unique(labels)
    except TypeError:
        raise InputError(f"{name}: expected labels of one sortable type, got a mixture.") from None


def encode(y: NDArray[Any], classes: NDArray[Any], name: str) -> IntArray:
    """Return labels as positions in ``classes``, -1 for rows without one."""
    codes = {label: code for code, label in enumerate(classes.tolist())}
    values, missing = y.tolist(), is_unlabelled(y)
    unknown = sorted({str(v) for v, m in zip(values, missing, strict=True) if not m and v not in codes})
    if unknown:
        known = ", ".join(map(str, classes[:5])) + (", …" if len(classes) > 5 else "")
        raise InputError(f"{name}: expected only classes of the source ({known}), got {', '.join(unknown[:5])}.")
    return np.array([UNLABELLED if m else codes[v] for v, m in zip(values, missing, strict=True)], dtype=np.intp)


def encode_all(y: Any, name: str) -> tuple[IntArray, NDArray[Any]]:
    """Return the codes of labels, none of which may be missing, and the classes that they count through."""
    labels = as_labels(y, name)
    classes = find_classes(labels, name)
    return encode(labels, classes, name), classes


def encode_both(
    both: tuple[NDArray[Any], NDArray[Any]], names: tuple[str, str]
) -> tuple[tuple[IntArray, IntArray], NDArray[Any]]:
    """Return the codes of two sets of labels, any of which may be missing, and the classes of both together."""
    known = [value for y in both for value in y[~is_unlabelled(y)].tolist()]
    classes = find_classes(as_labels(known, names[0]), " and ".join(names))
    first, second = (encode(y, classes, name) for y, name in zip(both, names, strict=True))
    return (first, second), classes


def check_number(
    value: Any, name: str, *, low: float = -np.inf, high: float = np.inf, strict: bool = False, whole: bool = False
) -> float:
    """Check a finite real number within ``[low, high]``, or above ``low`` where ``strict``.

    A whole number is at most :data:`sys.maxsize`, unless ``high`` allows more: no array has more rows, and NumPy can
    not count further.

    Examples
    --------
    >>> check_number(2**70, "k", low=1, whole=True)
    Traceback (most recent call last):
    isthmus.exceptions.InputError: k: expected a whole number of at least 1 and at most 9223372036854775807, got ...
    """
    too_large = whole and high == np.inf and isinstance(value, numbers.Integral) and int(value) > sys.maxsize
    kind, digits = ("a whole number", ".15g") if whole else ("a number", "g")
    limits = f" {'above' if strict else 'of at least'} {low:{digits}}" if low > -np.inf else ""
    limits += f" and at most {sys.maxsize}" if too_large else f" and at most {high:{digits}}" if high < np.inf else ""
    wanted = numbers.Integral if whole else numbers.Real
    try:
        real = float(value) if isinstance(value, wanted) and not isinstance(value, bool | np.bool_) else np.nan
    except OverflowError:  # a whole number, or a fraction, beyond the range of floats
        real = np.inf
    if too_large or not np.isfinite(real) or real < low or real > high or (strict and real == low):
        raise InputError(f"{name}: expected {kind}{limits}, got {show_value(value)}.")
    return real


def check_numbers(values: Any, name: str, expected: str) -> FloatArray:
    """Check a one-dimensional array of numbers, which may be NaN; ``expected`` says what they are.

    Examples
    --------
    >>> check_numbers("x", "p_values", "one number per test")
    Traceback (most recent call last):
    isthmus.exceptions.InputError: p_values: expected one number per test, got 'x'.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        array = None
    if array is None or array.ndim != 1:
        raise InputError(f"{name}: expected {expected}, got {show_value(values)}.")
    return array


def check_flag(value: Any, name: str) -> bool:
    """Check True or False, of Python or NumPy."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name}: expected True or False, got {show_value(value)}.")
    return bool(value)


def check_choice(value: Any, name: str, options: Collection[str]) -> str:
    """Check one of a few words; where there are many, the message names the nearest.

    Examples
    --------
    >>> check_choice("mhld", "system", ["mlhd", *"abcdefgh"])
    Traceback (most recent call last):
    isthmus.exceptions.InputError: system: expected one of ..., … (9 in all), got 'mhld' (did you mean 'mlhd'?).
    """
    if isinstance(value, str) and value in options:
        return value
    words, more, hint = ", ".join(repr(option) for option in list(options)[:MOST_OPTIONS]), "", ""
    if len(options) > MOST_OPTIONS:
        more = f", … ({len(options)} in all)"
        near = get_close_matches(value, options, 1) if isinstance(value, str) else []
        hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise InputError(f"{name}: expected one of {words}{more}, got {show_value(value)}{hint}.")


def as_generator(value: Any) -> Generator:
    """Return a generator: from None (draws differ), a whole number (draws repeat), or one that moves on."""
    if isinstance(value, Generator):
        return value
    if isinstance(value, RandomState):
        return np.random.default_rng(value.randint(2**32, size=4, dtype=np.uint32))
    return np.random.default_rng(_seed(value))


def as_random_state(value: Any) -> RandomState:
    """Return a legacy generator from the same arguments, for code whose draws for a number have to stay."""
    if isinstance(value, RandomState):
        return value
    if isinstance(value, Generator):
        return RandomState(value.bit_generator)
    seed = _seed(value)
    return RandomState(seed if seed is None or seed < 2**32 else np.random.MT19937(seed))


def _seed(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= 0:
        return int(value)
    kinds = "None, a whole number of at least 0, a Generator or a RandomState"
    raise InputError(f"random_state: expected {kinds}, got {show_value(value)}.")


def show_value(value: Any) -> str:
    """Return a value as messages show it: short, on one line, with the shape of an array instead of its entries.

    Examples
    --------
    >>> show_value("x"), show_value(np.zeros((500, 2))), show_value(10**5000)
    ("'x'", 'array of shape (500, 2)', 'int')
    """
    if len(shape := getattr(value, "shape", ()) or ()):
        return f"{'array' if isinstance(value, np.ndarray) else type(value).__name__} of shape {shape}"
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python refuses to write whole numbers of thousands of digits
        return type(value).__name__
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


class ShortRepr:
    """The representation of dataclasses (with ``repr=False``): one short line, whatever they hold.

    Examples
    --------
    >>> @dataclass(repr=False)
    ... class Points(ShortRepr):
    ...     X: Any
    ...     name: str = "a"
    >>> Points(np.zeros((5000, 3)))
    Points(X=array of shape (5000, 3), name='a')
    """

    def __repr__(self: Any) -> str:
        parts = (f"{each.name}={show_value(getattr(self, each.name))}" for each in fields(self) if each.repr)
        text = f"{type(self).__name__}({', '.join(parts)})"
        return text if len(text) <= LONGEST_REPR else f"{text[: LONGEST_REPR - 2]}…)"
