"""An index in a file: arrays in an ``.npz`` archive, and one text in it that says what they are.

Structures of FAISS are not in it. FAISS trusts its files, so files from others are never given to it: points are
stored, and the structure is built from them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus.common_space import DOMAINS
from isthmus.exceptions import InputError
from isthmus.retrieval.catalogue import LARGEST_ID, Catalogue
from isthmus.retrieval.index import ENGINES, Index
from isthmus.retrieval.measure import common_space, largest_entry
from isthmus.storage.archives import LARGEST_ARRAY, Expected, read_npz
from isthmus.storage.files import as_path, saving, shown

FORMAT, VERSION = "isthmus index", 1
LONGEST_TEXT = 2**24
"""Characters of the text: labels are in it, and they may be many."""
PART = 2**28
"""Bytes of points in one array; more are in several."""


class _WrongError(Exception):
    """What was expected and what was got."""


def save(index: Index, path: str | os.PathLike[str]) -> None:
    """Write an index."""
    rows = index.catalogue
    columns = rows.kept()
    if rows.text_ids:
        columns["ids"] = np.frombuffer(json.dumps(columns["ids"].tolist()).encode(), np.uint8)
    points = columns.pop("points")
    step = _rows_per_part(points.shape[1], index.dtype)
    parts = {f"points_{i}": points[start : start + step] for i, start in enumerate(range(0, len(points), step))}
    arrays = {**columns, **parts}
    about = {
        "format": FORMAT,
        "version": VERSION,
        "engine": {"name": index.engine.name, **asdict(index.engine)},  # type: ignore[call-overload]
        "dtype": index.dtype,
        "shape": [len(points), points.shape[1]],
        "text_ids": rows.text_ids,
        "next_id": rows.next_id,
        "classes": list(rows.classes),
        "model": fingerprint(index.model),
        "sha256": {name: _checksum(array) for name, array in arrays.items()},
    }
    text = json.dumps(about)
    # What could not be read again is not written.
    if len(text) > LONGEST_TEXT or max(array.nbytes for array in arrays.values()) > LARGEST_ARRAY:
        raise InputError(f"{shown(path)}: expected an index that fits a file, got one with too many ids or labels.")
    with saving(path) as file:
        np.savez(file, about=np.array(text), **arrays)  # type: ignore[arg-type]


def load(path: str | os.PathLike[str], model: Any) -> Index:
    """The index in a file, every part of it checked."""
    where = as_path(path)
    text = str(read_npz(where, {"about": Expected((), "text", high=LONGEST_TEXT)})["about"])
    try:
        about = _about(text)
        n, width = about["shape"]
        size = n * width * np.dtype(about["dtype"]).itemsize
        # Nothing is compressed: a file that is smaller than its points would be is made to exhaust the memory.
        _require(size <= os.path.getsize(where), f"a file of at least {size} bytes", "a smaller one")
        n_parts = -(-n // _rows_per_part(width, about["dtype"]))
        arrays = read_npz(where, _expected(about, n_parts))
        _require_checksums(arrays, about["sha256"], about["text_ids"])
        parts = [arrays[f"points_{i}"] for i in range(n_parts)]
        _require(sum(map(len, parts)) == n, f"{n} points", str(sum(map(len, parts))))
        points = np.concatenate(parts) if parts else np.empty((0, width), about["dtype"])
        _require(str(points.dtype) == about["dtype"], f"points in {about['dtype']}", str(points.dtype))
        ids = _ids(arrays["ids"], about["text_ids"], n, about["next_id"])
        index = Index(model, _engine(about["engine"]), dtype=about["dtype"])
        known, given = about["model"], fingerprint(model)
        _require(
            model is None or known is None or known == given, "the model that the index was made with", "another"
        )
    except _WrongError as error:
        raise InputError(f"{shown(path)}: expected {error}.") from None
    except (KeyError, TypeError, AttributeError, OverflowError):
        raise InputError(f"{shown(path)}: expected the text of an index, got one with parts missing.") from None
    if about["text_ids"] is not None:
        columns = {"points": points, "ids": ids, "codes": arrays["codes"], "domains": arrays["domains"]}
        index._rows = Catalogue.of(columns, tuple(about["classes"]), about["next_id"])
    return index


def _rows_per_part(width: int, dtype: str) -> int:
    return max(1, PART // (width * np.dtype(dtype).itemsize))


def _engine(about: dict[str, Any]) -> Any:
    try:
        return ENGINES[about["name"]](**{name: value for name, value in about.items() if name != "name"})
    except InputError:
        raise _WrongError("parameters of an engine, got others") from None


def fingerprint(model: Any) -> str | None:
    """What tells one common space from another; None for models that have none."""
    space = common_space(model)
    if space is None:
        return None
    offsets = np.zeros(0) if space.offsets is None else space.offsets
    said = json.dumps([space.kind, space.projected, list(space.parts)])
    return _checksum(np.frombuffer(said.encode(), np.uint8), np.asarray(space.components), np.asarray(offsets))


def _checksum(*arrays: NDArray[Any]) -> str:
    found = hashlib.sha256()
    for array in arrays:
        found.update(f"{array.dtype.str} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).data if array.size else b"")
    return found.hexdigest()


def _require(right: bool, expected: str, got: str) -> None:
    if not right:
        raise _WrongError(f"{expected}, got {got}")


def _about(text: str) -> dict[str, Any]:
    try:
        about: dict[str, Any] = json.loads(text)
    except (ValueError, RecursionError):
        raise _WrongError("a text in JSON, got another") from None
    _require(isinstance(about, dict) and about.get("format") == FORMAT, "an index", "another kind of file")
    got = shown(repr(about.get("version"))[:40])
    _require(about.get("version") == VERSION, f"version {VERSION} of the format (save the index again)", got)
    shape, engine, classes = about["shape"], about["engine"], about["classes"]
    counts = isinstance(shape, list) and len(shape) == 2 and all(type(c) is int and 0 <= c < 2**40 for c in shape)
    _require(counts and shape[1] > 0, "a shape", shown(repr(shape)[:40]))
    _require(about["dtype"] in ("float32", "float64"), "float32 or float64", shown(repr(about["dtype"])[:40]))
    _require(about["text_ids"] in (None, True, False), "a kind of ids", "another")
    _require(type(about["next_id"]) is int and 0 <= about["next_id"] <= LARGEST_ID, "a number of ids", "another")
    _require(isinstance(engine, dict) and engine.get("name") in (*ENGINES,), "the name of an engine", "another")
    _require_classes(classes)
    return about


def _require_classes(classes: Any) -> None:
    _require(isinstance(classes, list), "a list of labels", type(classes).__name__)
    words = [isinstance(each, str) for each in classes]
    plain = all(type(each) in (str, int, bool) or (type(each) is float and math.isfinite(each)) for each in classes)
    one_kind = all(words) or not any(words)
    _require(plain and one_kind and len(set(classes)) == len(classes), "labels that differ, of one kind", "others")


def _expected(about: dict[str, Any], n_parts: int) -> Mapping[str, Expected]:
    (n, width), text_ids, n_classes = about["shape"], about["text_ids"], len(about["classes"])
    limit = largest_entry(about["dtype"])
    return {
        "ids": Expected((None,), "whole", 0, 255) if text_ids else Expected((n,), "whole", 0),
        "codes": Expected((n,), "whole", -1, n_classes - 1),
        "domains": Expected((n,), "whole", 0, len(DOMAINS) - 1),
        **{f"points_{i}": Expected((None, width), "number", -limit, limit) for i in range(n_parts)},
    }


def _require_checksums(arrays: Mapping[str, NDArray[Any]], sums: Any, text_ids: bool | None) -> None:
    # Whole numbers were read as intp: back to the types in which they were written.
    written = {"codes": np.int32, "domains": np.uint8, "ids": np.uint8 if text_ids else np.int64}
    for name, array in arrays.items():
        same = _checksum(array.astype(written.get(name, array.dtype), copy=False)) == sums[name]
        _require(same, f"an array {name!r} with the checksum that was written", "another")


def _ids(array: NDArray[Any], text_ids: bool | None, n: int, next_id: int) -> NDArray[Any]:
    ids = array
    if text_ids:
        try:
            listed = json.loads(array.astype(np.uint8).tobytes().decode())
        except (ValueError, RecursionError):
            raise _WrongError("ids in JSON, got others") from None
        right = isinstance(listed, list) and len(listed) == n and all(isinstance(each, str) for each in listed)
        _require(right, f"{n} ids", "others")
        ids = np.array(listed, dtype=object)
    elif n:
        _require(int(ids.max()) < next_id, "ids below the next one", "others")
    _require(len(set(ids.tolist())) == n, "every id once", "one twice")
    return ids
