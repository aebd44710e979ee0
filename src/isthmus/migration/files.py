"""Adapters in files: arrays in an ``.npz`` archive, and one text in it that says what they are."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._validation import LARGEST
from isthmus.exceptions import InputError
from isthmus.maps import AffineMap, KernelMap
from isthmus.migration.adapter import Adapter
from isthmus.migration.kinds import CURVED, KINDS, Map
from isthmus.migration.recall import Figures, Recall, Share
from isthmus.migration.thresholds import Thresholds
from isthmus.storage.archives import Expected, read_npz
from isthmus.storage.files import as_path, shown, write_whole

FORMAT, VERSION = "isthmus adapter", 1
LONGEST_TEXT = 2**20
"""Characters of the text: more than any adapter has."""
MAPS = ("old_from_new", "new_from_old")
VECTOR, TABLE = Expected((None,), "number"), Expected((None, None), "number")
AFFINE: Mapping[str, Expected] = {"W": TABLE, "input_mean": VECTOR, "output_mean": VECTOR}
KERNEL: Mapping[str, Expected] = {
    "landmarks": Expected((None, None), "number", low=-LARGEST, high=LARGEST),
    "bandwidth": Expected((), "number", low=1e-100),
    "coefficients": TABLE,
    "offset": VECTOR,
    "output_mean": VECTOR,
}


def save(adapter: Adapter, path: str | os.PathLike[str]) -> None:
    """Write an adapter, whole or not at all."""
    recall = {**asdict(adapter.recall), "controls": {k: asdict(v) for k, v in adapter.recall.controls.items()}}
    about = {
        "format": FORMAT,
        "version": VERSION,
        "kind": adapter.kind,
        "n_pairs": adapter.n_pairs,
        "recall": recall,
        "old_columns": adapter.old_columns,
        "new_columns": adapter.new_columns,
    }
    arrays: dict[str, Any] = {"about": np.array(json.dumps(about))}
    for name in MAPS:
        arrays |= {f"{name}_{part}": getattr(getattr(adapter, name), part) for part in _parts(adapter.kind)}
    arrays |= {"threshold_old": adapter.thresholds.old, "threshold_adapted": adapter.thresholds.adapted}
    content = io.BytesIO()
    np.savez(content, **arrays)
    write_whole(path, content.getvalue())


def load(path: str | os.PathLike[str]) -> Adapter:
    """The adapter in a file, every part of it checked."""
    where = as_path(path)
    text = str(read_npz(where, {"about": Expected((), "text", high=LONGEST_TEXT)})["about"])
    try:
        about = _about(text)
        parts = _parts(about["kind"])
        expected = {f"{name}_{part}": parts[part] for name in MAPS for part in parts}
        similarity = Expected((None,), "number", low=-1.0, high=1.0)
        arrays = read_npz(where, {**expected, "threshold_old": similarity, "threshold_adapted": similarity})
        forth, back = (_map({part: arrays[f"{name}_{part}"] for part in parts}) for name in MAPS)
        _require(_sizes(forth) == _sizes(back)[::-1], "two maps that fit together", "others")
        table = Thresholds(arrays["threshold_old"], arrays["threshold_adapted"])
        _require_table(table)
        columns = [
            _columns(about[f"{side}_columns"], n) for side, n in zip(("old", "new"), _sizes(back), strict=True)
        ]
        return Adapter(
            about["kind"], forth, back, _count(about["n_pairs"]), _recall(about["recall"]), table, *columns
        )
    except _NotAsExpectedError as error:
        raise InputError(f"{shown(path)}: expected {error}.") from None
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"{shown(path)}: expected the text of an adapter, got one with parts missing.") from None


class _NotAsExpectedError(Exception):
    """What was expected and what was got."""


def _require(right: bool, expected: str, got: str) -> None:
    if not right:
        raise _NotAsExpectedError(f"{expected}, got {got}")


def _about(text: str) -> dict[str, Any]:
    try:
        about: dict[str, Any] = json.loads(text)
    except (ValueError, RecursionError):
        raise _NotAsExpectedError("a text in JSON, got another") from None
    _require(isinstance(about, dict) and about.get("format") == FORMAT, "an adapter", "another kind of file")
    _require(
        about.get("version") == VERSION, f"version {VERSION} of the format", shown(repr(about.get("version"))[:40])
    )
    kind = about.get("kind")
    _require(isinstance(kind, str) and kind in KINDS, f"a kind among {', '.join(KINDS)}", shown(repr(kind)[:40]))
    return about


def _parts(kind: str) -> Mapping[str, Expected]:
    return KERNEL if kind == CURVED else AFFINE


def _map(arrays: Mapping[str, NDArray[Any]]) -> Map:
    double = {name: np.asarray(array, dtype=np.float64) for name, array in arrays.items()}
    if "W" in double:
        W, x, y = double["W"], double["input_mean"], double["output_mean"]
        _require(W.shape == (len(x), len(y)), "a matrix that fits its means", f"shape {W.shape}")
        return AffineMap(W, x, y)
    Z, C, c, m = (double[name] for name in ("landmarks", "coefficients", "offset", "output_mean"))
    fits = C.shape == (len(Z), len(c)) and len(m) == len(c) and len(Z) > 0
    _require(fits, "coefficients that fit the landmarks", f"shape {C.shape}")
    return KernelMap(Z, float(double["bandwidth"]), C, c, m)


def _sizes(found: Map) -> tuple[int, int]:
    """Columns in, columns out."""
    d = len(found.input_mean) if isinstance(found, AffineMap) else found.landmarks.shape[1]
    return d, len(found.output_mean)


def _require_table(table: Thresholds) -> None:
    same = len(table.old) == len(table.adapted) > 0
    falling = same and all((np.diff(scale) <= 0.0).all() for scale in (table.old, table.adapted))
    _require(bool(falling), "two falling tables of similarities", "others")


def _columns(names: Any, n: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    right = isinstance(names, list) and len(names) == n and all(isinstance(name, str) for name in names)
    _require(right, f"the names of {n} columns", "others")
    return tuple(names)


def _recall(about: Any) -> Recall:
    sizes, curve = [_count(n) for n in about["n_pairs"]], [_figures(f) for f in about["figures"]]
    _require(len(sizes) == len(curve) > 0, "figures for each number of pairs", f"{len(sizes)} and {len(curve)}")
    controls = {str(name)[:40]: _figures(f) for name, f in about["controls"].items()}
    counts = (_count(about[name]) for name in ("n_queries", "n_gallery", "n_neighbours"))
    return Recall(tuple(sizes), tuple(curve), controls, *counts)


def _figures(about: Any) -> Figures:
    overlap = about["overlap"]
    shares = _share(about["at_1"]), _share(about["at_10"]), None if overlap is None else _share(overlap)
    return Figures(*shares, _fraction(about["mean_reciprocal_rank"]))


def _share(about: Any) -> Share:
    low, value, high = (_fraction(about[name]) for name in ("low", "value", "high"))
    _require(low <= value <= high, "a share within its interval", "another")
    return Share(value, low, high)


def _fraction(value: Any) -> float:
    _require(type(value) in (int, float) and 0.0 <= value <= 1.0, "shares from 0 to 1", shown(repr(value)[:40]))
    return float(value)


def _count(value: Any) -> int:
    _require(type(value) is int and 0 <= value < 2**62, "counts of at least 0", shown(repr(value)[:40]))
    return int(value)
