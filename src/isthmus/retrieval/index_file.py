"""An index in a file: plain arrays in an ``.npz`` archive, and a header in JSON that says what they are.

Structures of FAISS are not in it. FAISS trusts its files, so files from others are never given to it: points are
stored, and the structure is built from them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._core.archives import LARGEST_ARRAY, Expected, read_npz
from isthmus._core.files import as_path, save_file, show_path
from isthmus.exceptions import InputError
from isthmus.geometry.common_space import DOMAINS
from isthmus.retrieval.engines import ENGINES
from isthmus.retrieval.index import LARGEST_ID, Index, IndexedRows
from isthmus.retrieval.rules import common_space, largest_entry

FORMAT, VERSION = "isthmus index", 1
LONGEST_HEADER = 2**24
"""Characters of the header, which holds the labels, of which there may be many."""
PART = 2**28
"""Bytes of points in one array; more are in several."""


def save(index: Index, path: str | os.PathLike[str]) -> None:
    """Write an index."""
    rows = index.rows
    n, width = rows.points.shape
    step = _rows_per_part(width, index.dtype)
    arrays: dict[str, NDArray[Any]]
    arrays = {f"points_{i}": rows.points[start : start + step] for i, start in enumerate(range(0, n, step))}
    ids = np.frombuffer(json.dumps(rows.ids.tolist()).encode(), np.uint8) if rows.text_ids else rows.ids
    arrays |= {"ids": ids, "codes": rows.codes, "domains": rows.domains}
    header = json.dumps(
        {
            "format": FORMAT,
            "version": VERSION,
            "engine": {"name": index.engine.name, **asdict(index.engine)},
            "dtype": index.dtype,
            "shape": [n, width],
            "text_ids": rows.text_ids,
            "classes": list(rows.classes),
            "model": fingerprint(index.model),
        }
    )
    # What could not be read again is not written.
    if len(header) > LONGEST_HEADER or max(array.nbytes for array in arrays.values()) > LARGEST_ARRAY:
        raise InputError(
            f"{show_path(path)}: expected an index that fits a file, got one with too many ids or labels."
        )
    with save_file(path) as file:
        np.savez(file, header=np.array(header), **arrays)  # type: ignore[arg-type]


def load(path: str | os.PathLike[str], model: Any) -> Index:
    """Return the index in a file, every part of it checked."""
    where = as_path(path)
    text = str(read_npz(where, {"header": Expected((), "text", high=LONGEST_HEADER)})["header"])
    header = _check_header(text, show_path(path))
    (n, width), dtype, text_ids = header["shape"], header["dtype"], header["text_ids"]
    # Nothing is compressed: a file that is smaller than its points would be is made to exhaust the memory.
    _check_part(n * width * np.dtype(dtype).itemsize <= os.path.getsize(where), path, f"a file with {n} x {width} points")
    step, limit = _rows_per_part(width, dtype), largest_entry(dtype)
    parts = {
        f"points_{i}": Expected((min(step, n - start), width), "number", -limit, limit)
        for i, start in enumerate(range(0, n, step))
    }
    arrays = read_npz(
        where,
        parts
        | {
            "ids": Expected((None,), "whole", 0, 255) if text_ids else Expected((n,), "whole", 0, LARGEST_ID),
            "codes": Expected((n,), "whole", -1, len(header["classes"]) - 1),
            "domains": Expected((n,), "whole", 0, len(DOMAINS) - 1),
        },
    )
    same = model is None or header["model"] in (None, fingerprint(model))
    _check_part(same, path, "the model that the index was made with")
    index = Index(model, header["engine"], dtype=dtype)
    if n:
        points = np.concatenate([arrays[name] for name in parts])
        _check_part(points.dtype == dtype, path, f"points in {dtype}")
        ids = _read_ids(arrays["ids"], n, path) if text_ids else arrays["ids"].astype(np.int64)
        _check_part(len(set(ids.tolist())) == n, path, "every id once")
        domains = arrays["domains"].astype(np.uint8)
        index._put(IndexedRows(points, ids, arrays["codes"], domains, tuple(header["classes"])))
    return index


def fingerprint(model: Any) -> str | None:
    """Return a hash that tells one common space from another; None for models that have none."""
    space = common_space(model)
    if space is None:
        return None
    found = hashlib.sha256(json.dumps([space.kind, space.projected, list(space.parts)]).encode())
    for array in (space.components, np.zeros(0) if space.offsets is None else space.offsets):
        found.update(f"{array.dtype.str} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def _rows_per_part(width: int, dtype: str) -> int:
    return max(1, PART // (width * np.dtype(dtype).itemsize))


def _check_part(right: bool, path: Any, expected: str) -> None:
    if not right:
        raise InputError(f"{show_path(path)}: expected {expected}, got another.")


def _check_header(text: str, path: str) -> dict[str, Any]:
    """Return the header with the engine that it names; raise unless every entry is one that :func:`save` writes."""
    try:
        header: dict[str, Any] = json.loads(text)
        (n, width), classes, options = header["shape"], header["classes"], dict(header["engine"])
        right = [
            (header["format"], header["version"]) == (FORMAT, VERSION),
            all(type(size) is int and 0 <= size < 2**40 for size in (n, width)) and width > 0,
            header["dtype"] in ("float32", "float64") and type(header["text_ids"]) is bool,
            type(header["model"]) in (str, type(None)),
            type(classes) is list and len(set(classes)) == len(classes),
            all(type(c) in (str, int, bool) or (type(c) is float and math.isfinite(c)) for c in classes),
            len({type(c) is str for c in classes}) < 2,
        ]
        header["engine"] = ENGINES[options.pop("name")](**options)
    except (InputError, KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
        right = [False]
    _check_part(all(right), path, f"the header of an index (version {VERSION} of the format)")
    return header


def _read_ids(content: NDArray[Any], n: int, path: Any) -> NDArray[Any]:
    try:
        listed = json.loads(content.astype(np.uint8).tobytes().decode())
    except (ValueError, RecursionError):
        listed = None
    right = isinstance(listed, list) and len(listed) == n and all(isinstance(each, str) for each in listed)
    _check_part(right, path, f"{n} ids")
    return np.array(listed, dtype=object)
