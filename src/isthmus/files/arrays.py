"""Arrays in files: numbers, tables, texts and names of classes, each with the type and the lengths of its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from isthmus._arrays import is_sparse
from isthmus.exceptions import InputError
from isthmus.files.shapes import COUNT, FLAG, MismatchError, Reader, Writer, packed_scalar, read_scalar, require

WIDEST = 2**26
"""Characters of an array of text, with all of its padding."""
FARTHEST, MOST_APART = 4, 2**20
"""Rows of a part of a table are kept apart up to four times their length, and so many numbers in all."""


@dataclass(frozen=True, init=False)
class Array:
    """Numbers: floats ("f"), whole numbers ("i") or truth values ("b"), with named or fixed lengths.

    All have to be finite, unless infinities ("inf") or NaN too ("nan") are allowed. How they lie in memory is kept,
    which axis is the inner one and how far rows are apart: products round differently otherwise.
    """

    axes: tuple[str | int, ...]
    kinds: str
    allowed: str

    def __init__(self, *axes: str | int, kinds: str = "f", allowed: str = "finite") -> None:
        self.__dict__.update(axes=axes, kinds=kinds, allowed=allowed)

    def packed(self, value: Any, place: str, writer: Writer) -> Any:
        """The name, with how the numbers lie where that is not row after row."""
        array = np.asarray(value)
        if array.dtype.kind in "iu":
            array = array.astype(np.int64 if array.dtype.itemsize > 4 else np.int32)
        if array.dtype.kind not in self.kinds or array.dtype.itemsize > 8 or not _all_right(array, self.allowed):
            raise InputError(f"model: expected finite numbers in {place} to save, got others (type {array.dtype}).")
        turned = array.ndim == 2 and abs(array.strides[0]) < abs(array.strides[1])
        lying = array.T if turned else array
        name = writer.put(np.ascontiguousarray(lying), place)
        step = _step(lying)
        return {"array": name, "turned": turned, "step": step} if turned or step else name

    def read(self, node: Any, reader: Reader) -> NDArray[Any]:
        """The array."""
        if not isinstance(node, dict):
            node = {"array": node, "turned": False, "step": 0}
        require(node.keys() == {"array", "turned", "step"}, "an array", node)
        name, turned, step = node["array"], FLAG.read(node["turned"], reader), COUNT.read(node["step"], reader)
        stored = reader.take(name)
        if step:
            stored = _stepped(stored, step)
        array = stored.T if turned else stored
        reader.require_shape(array.shape, self.axes, str(name))
        require(array.dtype.kind in self.kinds, f"an array of type {self.kinds!r}", name)
        require(_all_right(array, self.allowed), "finite numbers", name)
        return array.astype(np.intp) if array.dtype.kind == "i" and array.dtype.itemsize == 8 else array


def _step(array: NDArray[Any]) -> int:
    """How many numbers the rows of a part of a larger table lie apart; 0 where they follow each other."""
    if array.ndim != 2 or array.strides[1] != array.itemsize or array.strides[0] % array.itemsize:
        return 0
    step = array.strides[0] // array.itemsize
    return step if _apart(array, step) and step > array.shape[1] else 0


def _apart(array: NDArray[Any], step: int) -> bool:
    """Whether rows may lie so far apart: a small file must not take much memory."""
    n, d = array.shape
    return bool(d <= step <= FARTHEST * (d + FARTHEST) and n * step <= MOST_APART)


def _stepped(stored: NDArray[Any], step: int) -> NDArray[Any]:
    require(stored.ndim == 2 and _apart(stored, step), "rows that are not too far apart", step)
    table = np.zeros((len(stored), step), dtype=stored.dtype)
    table[:, : stored.shape[1]] = stored
    return table[:, : stored.shape[1]]


def _all_right(array: NDArray[Any], allowed: str) -> bool:
    """Whether all numbers are "finite", or "inf" but never NaN; "nan" allows any."""
    if array.dtype.kind != "f" or allowed == "nan":
        return True
    return bool(np.isfinite(array).all() if allowed == "finite" else not np.isnan(array).any())


@dataclass(frozen=True, init=False)
class Rows:
    """A table of floats (n, d), dense or CSR."""

    axes: tuple[str | int, ...]

    def __init__(self, *axes: str | int) -> None:
        self.__dict__.update(axes=axes)

    def packed(self, value: Any, place: str, writer: Writer) -> Any:
        """The array, or three of them."""
        if not is_sparse(value):
            return Array(*self.axes).packed(value, place, writer)
        parts = {"data": Array("m"), "indices": Array("m", kinds="i"), "indptr": Array("n", kinds="i")}
        packed = {
            name: shape.packed(getattr(value, name), f"{place}.{name}", writer) for name, shape in parts.items()
        }
        return {**packed, "columns": int(value.shape[1]), "matrix": isinstance(value, sp.spmatrix)}

    def read(self, node: Any, reader: Reader) -> Any:
        """The table."""
        if not (isinstance(node, dict) and "indptr" in node):
            return Array(*self.axes).read(node, reader)
        require(node.keys() == {"data", "indices", "indptr", "columns", "matrix"}, "a sparse table", node)
        own = reader.inner()
        data = Array("m").read(node["data"], own)
        indices, indptr = (own.take(node[name]) for name in ("indices", "indptr"))
        d, matrix = COUNT.read(node["columns"], reader), FLAG.read(node["matrix"], reader)
        require(_is_csr(data, indices, indptr, d), "a sparse table in order", "another")
        reader.require_shape((len(indptr) - 1, d), self.axes, "a sparse table")
        made = sp.csr_matrix if matrix else sp.csr_array
        return made((data, indices, indptr), shape=(len(indptr) - 1, d))


def _is_csr(data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], d: int) -> bool:
    """Whether all places of entries are within a table: SciPy would read beyond its arrays."""
    whole = all(a.ndim == 1 and a.dtype.kind == "i" for a in (indices, indptr)) and indices.dtype == indptr.dtype
    if not whole or not len(indptr) or len(indices) != len(data) or indptr[0] != 0 or indptr[-1] != len(data):
        return False
    outside = len(indices) and (indices.min() < 0 or indices.max() >= d)
    return not outside and bool((np.diff(indptr) >= 0).all())


@dataclass(frozen=True)
class Words:
    """Texts in order, as one run of UTF-8 and the places where each ends."""

    axis: str = "words"

    def packed(self, value: Any, place: str, writer: Writer) -> Any:
        """The names of both arrays."""
        try:
            runs = [text.encode() for text in value]
        except UnicodeEncodeError:
            raise InputError(f"model: expected {place} to be texts that can be written, got others.") from None
        ends = np.cumsum([len(run) for run in runs], dtype=np.int64)
        run = np.array(bytearray(b"".join(runs)), dtype=np.uint8)
        return [writer.put(run, f"{place}.text"), writer.put(ends, f"{place}.ends")]

    def read(self, node: Any, reader: Reader) -> list[str]:
        """The texts."""
        require(isinstance(node, list) and len(node) == 2, "texts", node)
        run, ends = (reader.take(name) for name in node)
        steps = np.diff(ends, prepend=0) if ends.ndim == 1 and ends.dtype.kind == "i" else np.array([-1])
        right = run.ndim == 1 and run.dtype == np.uint8 and (steps >= 0).all() and steps.sum() == len(run)
        require(bool(right), "texts that fill their place", node[0])
        reader.require_shape(ends.shape, (self.axis,), node[0])
        content, stops = run.tobytes(), ends.tolist()
        try:
            return [content[a:b].decode() for a, b in zip([0, *stops], stops, strict=False)]
        except UnicodeDecodeError:
            raise MismatchError("texts in UTF-8, got others") from None


@dataclass(frozen=True)
class Labels:
    """Names of classes or categories (n,): numbers, truth values or texts."""

    axis: str = "classes"

    def packed(self, value: Any, place: str, writer: Writer) -> Any:
        """Numbers as an array; texts with the type of their array, which is that of the answers."""
        array = np.asarray(value)
        if array.dtype.kind in "fiub":
            return {"numbers": Array(self.axis, kinds="fib", allowed="nan").packed(array, place, writer)}
        values = array.tolist()
        if array.dtype.kind == "U" or (array.dtype.kind == "O" and all(type(v) is str for v in values)):
            width = array.dtype.itemsize // 4 if array.dtype.kind == "U" else 0
            return {"texts": Words(self.axis).packed(values, place, writer), "width": width}
        if array.dtype.kind == "O" and all(isinstance(v, bool | int | float | str | None) for v in values):
            return {"mixed": [packed_scalar(v) for v in values]}
        kinds = ", ".join(sorted({type(v).__name__ for v in values})[:3])
        raise InputError(f"model: expected {place} to be numbers or texts to save, got {kinds}.")

    def read(self, node: Any, reader: Reader) -> NDArray[Any]:
        """The array."""
        require(isinstance(node, dict) and len(node) in (1, 2), "names of classes", node)
        if "numbers" in node:
            return Array(self.axis, kinds="fib", allowed="nan").read(node["numbers"], reader)
        if "mixed" in node:
            return self._mixed(node["mixed"], reader)
        require(node.keys() == {"texts", "width"}, "names of classes", node)
        texts, width = Words(self.axis).read(node["texts"], reader), COUNT.read(node["width"], reader)
        longest = max((len(text) for text in texts), default=0)
        require(width == 0 or longest <= width <= WIDEST // max(len(texts), 1), "texts of this width", width)
        return np.array(texts, dtype=f"<U{width}" if width else object)

    def _mixed(self, node: Any, reader: Reader) -> NDArray[Any]:
        require(isinstance(node, list), "names of classes", node)
        array = np.empty(len(node), dtype=object)
        array[:] = [read_scalar(item) for item in node]
        reader.require_shape(array.shape, (self.axis,), "names")
        return array


@dataclass(frozen=True)
class Length:
    """A whole number that is the length of a named axis."""

    axis: str

    def packed(self, value: Any, place: str, writer: Writer) -> Any:
        """The number."""
        return int(value)

    def read(self, node: Any, reader: Reader) -> Any:
        """The number, if it is that length."""
        n = COUNT.read(node, reader)
        reader.require_shape((n,), (self.axis,), "a length")
        return n
