"""Fitted systems in files: written whole or not at all, and read without running anything."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn import __version__ as sklearn_version

from isthmus._version import __version__
from isthmus.exceptions import InputError, IsthmusError
from isthmus.files.container import Container, read, write
from isthmus.files.kinds import Object
from isthmus.files.parts import packed_parts, read_parts
from isthmus.files.shapes import MismatchError, Reader, Writer, packed_scalar, require
from isthmus.files.systems import SYSTEMS, require_answers
from isthmus.migration import Adapter
from isthmus.storage.files import as_path, opened, shown

FORMAT = 1
"""Of files that are written; every format that was ever written has a reader below."""
ZIP = b"PK\x03\x04"
"""How an archive begins: adapters are archives of NumPy."""

Found = TypeVar("Found")
Path = str | os.PathLike[str]
Parts = Mapping[str, tuple[Any, Mapping[str, NDArray[Any]]]]


def save(model: Any, path: Path, *, parts: Parts | None = None, trust: Collection[str] = ()) -> None:
    """Write a fitted system to one file, whole or not at all; :func:`load` reads it again.

    The file has the maps and what answers need, and no rows of the fit but those that the system compares with: its
    reference rows as points of the common space, the landmarks of a kernel, neighbours. What a solver tells of its
    work (``result_``) is not kept, except the certificate.

    Parameters
    ----------
    model : system or Adapter
        Fitted. Its transformers may be ``StandardScaler``, ``MinMaxScaler``, ``MaxAbsScaler``, ``Normalizer``,
        ``TfidfVectorizer``, ``TfidfTransformer``, ``TruncatedSVD``, ``PCA``, ``OneHotEncoder``, ``SimpleImputer``,
        ``FunctionTransformer`` with a function of NumPy, and a ``Pipeline`` or ``ColumnTransformer`` of these.
    path : path
        Of the file; its folder has to exist.
    parts : mapping of str to (JSON, arrays), optional
        More to store in the same file, for :func:`load_parts`: a dictionary that JSON has words for, and arrays of
        numbers by name.
    trust : collection of str
        Full names of types, such as ``"sklearn.preprocessing._data.QuantileTransformer"``, that may be stored by
        skops, where isthmus does not know them.

    Examples
    --------
    >>> import tempfile
    >>> import isthmus
    >>> X, Y = np.arange(12.0).reshape(6, 2), np.arange(18.0).reshape(6, 3) ** 2
    >>> model = isthmus.RidgeMap().fit(X, None, Y, None, pairs="rows")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     isthmus.save(model, f"{folder}/ridge.isthmus")
    ...     loaded = isthmus.load(f"{folder}/ridge.isthmus")
    >>> bool((loaded.transform(Y) == model.transform(Y)).all())
    True
    """
    if isinstance(model, Adapter):
        if parts:
            raise InputError("parts: expected None with an adapter, whose file has no place for more, got some.")
        model.save(path)
        return
    writer = Writer(_names(trust))
    about = {
        "format": FORMAT,
        "written_by": {"isthmus": __version__, "scikit-learn": sklearn_version, "numpy": np.__version__},
        "model": _packed(model, writer),
        "card": _card(model),
        "parts": packed_parts({} if parts is None else parts, writer),
    }
    write(Container(about, writer.arrays), path)


def load(path: Path, *, trust: Collection[str] = ()) -> Any:
    """The system in a file of :func:`save`; it answers as the saved one does, to the bit.

    Nothing in the file is executed, whoever wrote it; whether its answers are true is another matter.

    Parameters
    ----------
    path : path
        Of the file.
    trust : collection of str
        Full names of types that skops may make objects of. Name only types of files whose writer you trust.
    """
    if _is_archive(path):
        return Adapter.load(path)
    trusted = _names(trust)
    return _in_order(path, lambda about, arrays: _model(about, Reader(arrays, trusted)))


def load_parts(path: Path) -> dict[str, tuple[Any, dict[str, NDArray[Any]]]]:
    """The further parts in a file, by name: what :func:`save` was given as ``parts``."""
    return _in_order(path, lambda about, arrays: read_parts(about.get("parts"), Reader(arrays)))


def model_card(path: Path) -> dict[str, Any]:
    """What a file says of its model, without making it: its type, parameters, sizes, certificate and versions."""

    def card(about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        model, said = (_dictionary(about, name) for name in ("model", "card"))
        values = sum(array.size for array in arrays.values())
        return {
            "model": model.get("is"),
            "parameters": model.get("parameters"),
            **said,
            "numbers": int(values),
            "format": about["format"],
            "written_by": about.get("written_by"),
            "parts": sorted(about.get("parts") or {}),
        }

    return _in_order(path, card)


def _dictionary(about: dict[str, Any], name: str) -> dict[str, Any]:
    value: Any = about.get(name)
    require(isinstance(value, dict), f"a {name}", value)
    return dict(value)


def _packed(model: Any, writer: Writer) -> Any:
    if SYSTEMS.of(model) is None:
        known = ", ".join(SYSTEMS.by_name)
        raise InputError(f"model: expected an Adapter or one of {known}, got {type(model).__name__}.")
    node = Object(SYSTEMS).packed(model, "", writer)
    if node["state"] is None:
        raise InputError(f"model: expected a fitted {type(model).__name__}, got one that is not.")
    return node


def _card(model: Any) -> dict[str, Any]:
    """What is worth knowing before a model is loaded."""
    inner = getattr(model, "estimator_", model)
    result = getattr(inner, "result_", None)
    certificate = None
    if result is not None:
        certificate = {"status": result.status.value, "relative_gap": packed_scalar(float(result.relative_gap))}
    return {
        "features": getattr(inner, "n_features_", None),
        "classes": [str(name)[:80] for name in getattr(inner, "classes_", ())[:50]],
        "n_classes": len(getattr(inner, "classes_", ())),
        "certificate": certificate,
        "verdict": getattr(inner, "verdict_", None),
    }


def _model(about: dict[str, Any], reader: Reader) -> Any:
    model = Object(SYSTEMS).read(about.get("model"), reader)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numbers may be odd, and still be numbers
            require_answers(model)
    except Exception as error:  # of any kind: who knows what parts that don't fit lead to
        reason = shown(str(error)[:100]) or type(error).__name__
        raise MismatchError(f"parts that fit each other, got others ({reason.rstrip('.')})") from None
    return model


def _in_order(path: Path, found: Callable[[dict[str, Any], dict[str, NDArray[Any]]], Found]) -> Found:
    """What is found in a file, by the reader of its format; what is not as expected is one sentence."""
    container = read(as_path(path))
    try:
        about = container.about
        require(isinstance(about, dict), "a model", about)
        return found(READERS[_format(about)](about), container.arrays)
    except MismatchError as error:
        raise InputError(f"{shown(path)}: expected {error}.") from None
    except RecursionError:
        raise InputError(f"{shown(path)}: expected a model, got parts within parts without end.") from None
    except MemoryError:
        raise InputError(f"{shown(path)}: expected a model that fits in memory, got a larger one.") from None
    except (IsthmusError, OSError):
        raise
    except Exception as error:  # of any kind: no file of a stranger may lead to another
        raise InputError(f"{shown(path)}: expected a model in order, got a {type(error).__name__}.") from None


def _format(about: dict[str, Any]) -> int:
    number: Any = about.get("format")
    require(type(number) is int and number >= 1, "the number of a format", number)
    if number not in READERS:
        by = about.get("written_by")
        version = str(by.get("isthmus"))[:20] if isinstance(by, dict) else "a later version"
        raise MismatchError(
            f"a model file of format {FORMAT} at most, got format {number}, written by isthmus {version}; "
            "install it with pip install --upgrade isthmus"
        )
    return int(number)


def _as_it_is(about: dict[str, Any]) -> dict[str, Any]:
    return about


READERS: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _as_it_is}
"""For each format, what makes of its text one of the format above it; the newest is read as it is."""


def _is_archive(path: Path) -> bool:
    with opened(as_path(path)) as file:
        return file.read(len(ZIP)) == ZIP


def _names(trust: Any) -> frozenset[str]:
    if (
        isinstance(trust, str)
        or not isinstance(trust, Collection)
        or not all(isinstance(name, str) for name in trust)
    ):
        raise InputError(f"trust: expected a list of names of types, got {trust!r:.60}.")
    return frozenset(trust)
