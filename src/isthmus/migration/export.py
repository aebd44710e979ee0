"""A map for other programs: as a plain matrix, or as an ONNX graph."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from isthmus._validation import choice
from isthmus.exceptions import InputError, MissingDependencyError
from isthmus.maps import AffineMap
from isthmus.migration.kinds import CURVED, KINDS, Map
from isthmus.storage.files import write_whole
from isthmus.storage.onnx_graphs import ROWS, Graph


def export(found: Map, path: str | os.PathLike[str], format: str) -> None:
    """Write a map in single precision: one matrix and its offset, or, as ONNX, a curved one too."""
    content = FORMATS[choice(format, "format", FORMATS)]
    if content is _onnx:
        write_whole(path, _onnx(found))
        return
    if not isinstance(found, AffineMap):
        plain = ", ".join(repr(kind) for kind in KINDS if kind != CURVED)
        raise InputError(
            f"export: expected a map that is one matrix (kind {plain}), or format 'onnx', got {CURVED!r}."
        )
    write_whole(path, content(found.astype(np.float32)))


def _npy(found: AffineMap) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.vstack([found.W, found.offset]), allow_pickle=False)
    return file.getvalue()


def _safetensors(found: AffineMap) -> bytes:
    try:
        from safetensors.numpy import save
    except ImportError:
        message = 'This format needs safetensors, which is not installed: pip install "isthmus[safetensors]".'
        raise MissingDependencyError(message) from None
    return bytes(save({"weight": np.ascontiguousarray(found.W.T), "bias": found.offset}))


def _onnx(found: Map) -> bytes:
    if isinstance(found, AffineMap):
        plain = found.astype(np.float32)
        graph = Graph("adapter", plain.W.shape[0])
        return graph.content(graph.affine(ROWS, plain.W, plain.offset), plain.W.shape[1])
    graph = Graph("adapter", found.landmarks.shape[1])
    # Coefficients of a kernel cancel each other: in single precision too little would be left of their sum.
    values = graph.gaussian(graph.double(ROWS), found.landmarks, found.bandwidth)
    mapped = graph.affine(values, found.coefficients.astype(np.float64), found.offset)
    return graph.content(graph.single(mapped), len(found.offset))


FORMATS: Mapping[str, Callable[[Any], bytes]] = {"npy": _npy, "safetensors": _safetensors, "onnx": _onnx}
