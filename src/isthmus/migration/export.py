"""A map as a plain matrix, for other programs."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping

import numpy as np

from isthmus._validation import choice
from isthmus.exceptions import InputError, MissingDependencyError
from isthmus.maps import AffineMap
from isthmus.migration.kinds import CURVED, KINDS, Map
from isthmus.storage.files import write_whole

OPSET = 13
"""Of ONNX: Gemm is as it is now since then, and every runtime of today has it."""
IR_VERSION = 8
"""Of ONNX files with that operator set."""


def export(found: Map, path: str | os.PathLike[str], format: str) -> None:
    """Write the matrix and offset of an affine map in single precision."""
    content = FORMATS[choice(format, "format", FORMATS)]
    if not isinstance(found, AffineMap):
        plain = ", ".join(repr(kind) for kind in KINDS if kind != CURVED)
        raise InputError(f"export: expected a map that is one matrix (kind {plain}), got {CURVED!r}, which is none.")
    write_whole(path, content(found.astype(np.float32)))


def _npy(found: AffineMap) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.vstack([found.W, found.offset]), allow_pickle=False)
    return file.getvalue()


def _safetensors(found: AffineMap) -> bytes:
    try:
        from safetensors.numpy import save
    except ImportError:
        raise _missing("safetensors") from None
    return bytes(save({"weight": np.ascontiguousarray(found.W.T), "bias": found.offset}))


def _onnx(found: AffineMap) -> bytes:
    try:
        from onnx import TensorProto, checker, helper, numpy_helper
    except ImportError:
        raise _missing("onnx") from None
    d, e = found.W.shape
    constants = [
        numpy_helper.from_array(np.ascontiguousarray(found.W), "weight"),
        numpy_helper.from_array(found.offset, "offset"),
    ]
    sides = (("rows", d), ("mapped", e))
    rows, mapped = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", width]) for name, width in sides)
    node = helper.make_node("Gemm", ["rows", "weight", "offset"], ["mapped"])
    graph = helper.make_graph([node], "adapter", [rows], [mapped], constants)
    opset = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION, producer_name="isthmus")
    checker.check_model(model)
    return bytes(model.SerializeToString())


def _missing(name: str) -> MissingDependencyError:
    return MissingDependencyError(f'This format needs {name}, which is not installed: pip install "isthmus[{name}]".')


FORMATS: Mapping[str, Callable[[AffineMap], bytes]] = {"npy": _npy, "safetensors": _safetensors, "onnx": _onnx}
