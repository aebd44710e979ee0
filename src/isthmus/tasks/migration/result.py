"""Rows through a map, block by block."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._core.archives import Expected, read_npz
from isthmus._core.files import as_path, show_path, write_whole
from isthmus._core.threads import cap_methods
from isthmus._core.validation import (
    LARGEST,
    FloatArray,
    Matrix,
    check_choice,
    check_magnitude,
    check_matrix,
    check_same_columns,
    is_sparse,
)
from isthmus.evidence.held_out import inner_products, unit_directions
from isthmus.exceptions import InputError
from isthmus.maps.regression import AffineMap, KernelMap
from isthmus.tasks.migration.engine import CURVED, KINDS, Map, to_single_precision
from isthmus.tasks.migration.evidence import ADAPTED, Advice, Figures, Recall, Share, Thresholds, give_advice

BLOCK_VALUES = 2**22
"""Numbers in a block of rows, in or out: 32 MB in double precision."""


def map_in_blocks(
    X: Any,
    apply: Callable[[Matrix], FloatArray],
    bound: Callable[[float], float],
    shape: tuple[int, int],
    out: Any = None,
) -> FloatArray:
    """Rows X (n, d) mapped to (n, e), with no more than a block beside the result.

    Parameters
    ----------
    X : array, memory map or CSR (n, d)
        All rows are checked before any is mapped.
    apply : function
        From rows to rows.
    bound : function
        From the largest entry of a row, in size, to what no entry of its image is above.
    shape : (d, e)
        The columns of either side.
    out : array or memory map (n, e), optional
        Where the result goes.
    """
    if not (is_sparse(X) or isinstance(X, np.ndarray)) or X.ndim != 2:
        X = check_matrix(X, "X", n_columns=shape[0])
    X = X.tocsr() if is_sparse(X) else X
    blocks = list(_blocks(X.shape[0], max(shape)))
    single = X.dtype == np.float32
    largest = max((_largest(check_matrix(X[block], "X", n_columns=shape[0])) for block in blocks), default=0.0)
    check_matrix(X[:0], "X", n_columns=shape[0], min_rows=0)
    result = _result(out, (X.shape[0], shape[1]), np.float32 if single else np.float64)
    limit = float(np.finfo(result.dtype).max)
    if not bound(largest) < limit:  # only then may an image be too large: look before anything is written
        for block in blocks:
            _check_below(limit, apply, check_matrix(X[block], "X"), result.dtype)
    for block in blocks:
        result[block] = apply(check_matrix(X[block], "X"))
    return result


def _largest(X: Matrix) -> float:
    values = X.data if is_sparse(X) else X
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def _check_below(limit: float, apply: Callable[[Matrix], FloatArray], X: Matrix, dtype: Any) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        fits = bool((np.abs(apply(X)) < limit).all())
    if not fits:
        raise InputError(f"X: expected rows whose images are within {dtype}, got one that is too large; scale first.")


def _blocks(n: int, widest: int) -> Iterator[slice]:
    step = max(1, BLOCK_VALUES // widest)
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def _result(out: Any, shape: tuple[int, int], dtype: Any) -> FloatArray:
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype.kind != "f" or not out.flags.writeable:
        got = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise InputError(f"out: expected a writeable array of floating-point numbers of shape {shape}, got {got}.")
    return out


TO_OLD, TO_NEW = "to_old", "to_new"


@cap_methods
@dataclass(frozen=True, eq=False)
class Adapter:
    """Maps between an old space and a new one, and what held-out pairs say about them; made by :func:`migrate`.

    Parameters
    ----------
    kind : str
        ``"ridge"``, ``"procrustes"``, ``"low_rank"`` or ``"kernel_ridge"``.
    old_from_new, new_from_old : AffineMap or KernelMap
        The two maps, in double precision.
    n_pairs : int
        How many pairs they were learned from.
    recall : Recall
        How well rows of held-out pairs are found.
    thresholds : Thresholds
        Cut-offs that let the same share of the index pass.
    old_columns, new_columns : tuple of str, optional
        The names of the columns, where data frames were given.

    Examples
    --------
    >>> import isthmus
    >>> rng = np.random.default_rng(0)
    >>> old = rng.normal(size=(200, 8))
    >>> adapter = isthmus.migrate(old, old @ rng.normal(size=(8, 12)))
    >>> adapter.to_old(np.zeros((3, 12))).shape, adapter.advice.action
    ((3, 8), 'bridge')
    """

    kind: str
    old_from_new: Map
    new_from_old: Map
    n_pairs: int
    recall: Recall
    thresholds: Thresholds
    old_columns: tuple[str, ...] | None = None
    new_columns: tuple[str, ...] | None = None

    def to_old(self, X: Any, *, out: Any = None) -> FloatArray:
        """Rows of the new space (n, d_new) in the old one (n, d_old), where the index stays as it is.

        Parameters
        ----------
        X : array, memory map, CSR or data frame (n, d_new)
            Single precision gives single precision. Rows are mapped block by block.
        out : array or memory map (n, d_old), optional
            Where the result goes. Where a number is too large for its type, nothing is written.
        """
        check_same_columns(X, self.new_columns, "X")
        return map_in_blocks(X, lambda block: self._apply(TO_OLD, block), self.old_from_new.bound, self.shape, out)

    def to_new(self, X: Any, *, out: Any = None) -> FloatArray:
        """Rows of the old space (n, d_old) in the new one (n, d_new); see :meth:`to_old`."""
        check_same_columns(X, self.old_columns, "X")
        return map_in_blocks(
            X, lambda block: self._apply(TO_NEW, block), self.new_from_old.bound, self.shape[::-1], out
        )

    def stream(self, blocks: Iterable[Any], *, direction: str = TO_OLD) -> Iterator[FloatArray]:
        """Each block of rows, mapped, one at a time: for rows without end, or more than fit in memory.

        Parameters
        ----------
        blocks : iterable of arrays (n, d)
        direction : {"to_old", "to_new"}
        """
        map_rows = getattr(self, check_choice(direction, "direction", (TO_OLD, TO_NEW)))
        return (map_rows(block) for block in blocks)

    def similarity(self, X_new: Any, X_old: Any) -> FloatArray:
        r"""Scores (n, m) of new rows with old ones that use both maps.

        .. math:: \cos(f(b) - \bar a, a - \bar a) + \cos(b - \bar b, g(a) - \bar b)

        with f to the old space, g to the new one and the means of the pairs. They find more than the cosine in the
        old space alone, and need g for every row of the index.
        """
        for X, columns, name in ((X_new, self.new_columns, "X_new"), (X_old, self.old_columns, "X_old")):
            check_same_columns(X, columns, name)
        B, A = (
            check_magnitude(check_matrix(X, name, n_columns=n), name, smallest=0.0)
            for X, name, n in zip((X_new, X_old), ("X_new", "X_old"), self.shape, strict=True)
        )
        return both_ways(self.old_from_new, self.new_from_old, A)(B)

    def threshold(self, value: float, *, to: str = ADAPTED) -> float:
        """The cut-off of the cosine similarity that lets as many rows of the index pass as ``value`` does.

        Parameters
        ----------
        value : float
            A cut-off for queries of the old model, or (``to="old"``) for adapted ones.
        to : {"adapted", "old"}
            What the answer is a cut-off for.

        Notes
        -----
        Quantiles are matched: the similarities of held-out rows, as old queries and as adapted ones, with rows of the
        index other than their own. Beyond the largest or smallest that was seen, the answer is the largest or
        smallest of the other scale.
        """
        return self.thresholds.equivalent(value, to)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of columns of the new space and of the old one."""
        return len(self.new_from_old.output_mean), len(self.old_from_new.output_mean)

    @property
    def advice(self) -> Advice:
        """Whether to bridge, to bridge until re-embedded, or to re-embed, and why."""
        return give_advice(self.recall)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the adapter to one file in a folder that exists, whole or not at all; :meth:`load` reads it again."""
        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Adapter:
        """The adapter in a file that :meth:`save` wrote; nothing in it is executed."""
        return load(path)

    def export(self, path: str | os.PathLike[str], format: str = "npy", *, direction: str = TO_OLD) -> None:
        """Write one affine map for other programs: as a plain matrix, or as an ONNX graph.

        Parameters
        ----------
        path : path
            Where; its folder has to exist.
        format : {"npy", "safetensors", "onnx"}
            ``"npy"``: one array M (d + 1, e), ``X @ M[:-1] + M[-1]``. ``"safetensors"``: ``weight`` (e, d) and
            ``bias`` (e,), as linear layers have them. ``"onnx"``: a graph from ``rows`` to ``mapped``. Each is in
            single precision. The map of kind "kernel_ridge" is not affine, and is refused.
        direction : {"to_old", "to_new"}
        """
        from isthmus.io.onnx import export_map

        export_map(self._map(check_choice(direction, "direction", (TO_OLD, TO_NEW))), path, format)

    def __str__(self) -> str:
        d_new, d_old = self.shape
        return (
            f"Adapter, {self.kind}: {d_new} new columns to {d_old} old ones from {self.n_pairs} pairs\n"
            f"{self.recall}\n{self.advice}"
        )

    def __repr__(self) -> str:
        return f"<{str(self).partition(chr(10))[0]}>"

    def _map(self, direction: str) -> Map:
        return self.old_from_new if direction == TO_OLD else self.new_from_old

    @cached_property
    def _single(self) -> dict[str, Map]:
        return {direction: to_single_precision(self._map(direction)) for direction in (TO_OLD, TO_NEW)}

    def _apply(self, direction: str, X: Matrix) -> FloatArray:
        return self._single[direction](X) if X.dtype == np.float32 else self._map(direction)(X)


def both_ways(to_old: Map, to_new: Map, A: Matrix) -> Callable[[Matrix], FloatArray]:
    """A function from new rows B (n, d_new) to their scores (n, m) with the old rows A by both maps."""
    a, b = to_old.output_mean, to_new.output_mean
    plain, carried = unit_directions(A, a), unit_directions(to_new(A), b)

    def scores(B: Matrix) -> FloatArray:
        there = inner_products(unit_directions(to_old(B), a), plain)
        return np.asarray(there + inner_products(unit_directions(B, b), carried))

    return scores


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
        _check(_sizes(forth) == _sizes(back)[::-1], "two maps that fit together", "others")
        table = Thresholds(arrays["threshold_old"], arrays["threshold_adapted"])
        _check_table(table)
        columns = [
            _columns(about[f"{side}_columns"], n) for side, n in zip(("old", "new"), _sizes(back), strict=True)
        ]
        return Adapter(
            about["kind"], forth, back, _count(about["n_pairs"]), _recall(about["recall"]), table, *columns
        )
    except _NotAsExpectedError as error:
        raise InputError(f"{show_path(path)}: expected {error}.") from None
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"{show_path(path)}: expected the text of an adapter, got one with parts missing.") from None


class _NotAsExpectedError(Exception):
    """What was expected and what was got."""


def _check(right: bool, expected: str, got: str) -> None:
    if not right:
        raise _NotAsExpectedError(f"{expected}, got {got}")


def _about(text: str) -> dict[str, Any]:
    try:
        about: dict[str, Any] = json.loads(text)
    except (ValueError, RecursionError):
        raise _NotAsExpectedError("a text in JSON, got another") from None
    _check(isinstance(about, dict) and about.get("format") == FORMAT, "an adapter", "another kind of file")
    _check(
        about.get("version") == VERSION,
        f"version {VERSION} of the format",
        show_path(repr(about.get("version"))[:40]),
    )
    kind = about.get("kind")
    _check(isinstance(kind, str) and kind in KINDS, f"a kind among {', '.join(KINDS)}", show_path(repr(kind)[:40]))
    return about


def _parts(kind: str) -> Mapping[str, Expected]:
    return KERNEL if kind == CURVED else AFFINE


def _map(arrays: Mapping[str, NDArray[Any]]) -> Map:
    double = {name: np.asarray(array, dtype=np.float64) for name, array in arrays.items()}
    if "W" in double:
        W, x, y = double["W"], double["input_mean"], double["output_mean"]
        _check(W.shape == (len(x), len(y)), "a matrix that fits its means", f"shape {W.shape}")
        return AffineMap(W, x, y)
    Z, C, c, m = (double[name] for name in ("landmarks", "coefficients", "offset", "output_mean"))
    fits = C.shape == (len(Z), len(c)) and len(m) == len(c) and len(Z) > 0
    _check(fits, "coefficients that fit the landmarks", f"shape {C.shape}")
    return KernelMap(Z, float(double["bandwidth"]), C, c, m)


def _sizes(found: Map) -> tuple[int, int]:
    """Columns in, columns out."""
    d = len(found.input_mean) if isinstance(found, AffineMap) else found.landmarks.shape[1]
    return d, len(found.output_mean)


def _check_table(table: Thresholds) -> None:
    same = len(table.old) == len(table.adapted) > 0
    falling = same and all((np.diff(scale) <= 0.0).all() for scale in (table.old, table.adapted))
    _check(bool(falling), "two falling tables of similarities", "others")


def _columns(names: Any, n: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    right = isinstance(names, list) and len(names) == n and all(isinstance(name, str) for name in names)
    _check(right, f"the names of {n} columns", "others")
    return tuple(names)


def _recall(about: Any) -> Recall:
    sizes, curve = [_count(n) for n in about["n_pairs"]], [_figures(f) for f in about["figures"]]
    _check(len(sizes) == len(curve) > 0, "figures for each number of pairs", f"{len(sizes)} and {len(curve)}")
    controls = {str(name)[:40]: _figures(f) for name, f in about["controls"].items()}
    counts = (_count(about[name]) for name in ("n_queries", "n_gallery", "n_neighbours"))
    return Recall(tuple(sizes), tuple(curve), controls, *counts)


def _figures(about: Any) -> Figures:
    overlap = about["overlap"]
    shares = _share(about["at_1"]), _share(about["at_10"]), None if overlap is None else _share(overlap)
    return Figures(*shares, _fraction(about["mean_reciprocal_rank"]))


def _share(about: Any) -> Share:
    low, value, high = (_fraction(about[name]) for name in ("low", "value", "high"))
    _check(low <= value <= high, "a share within its interval", "another")
    return Share(value, low, high)


def _fraction(value: Any) -> float:
    _check(type(value) in (int, float) and 0.0 <= value <= 1.0, "shares from 0 to 1", show_path(repr(value)[:40]))
    return float(value)


def _count(value: Any) -> int:
    _check(type(value) is int and 0 <= value < 2**62, "counts of at least 0", show_path(repr(value)[:40]))
    return int(value)
