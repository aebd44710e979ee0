r"""Affine maps for other programs: as ONNX graphs, and those of adapters as plain matrices too.

A linear map, its intercept and the scaler before it are one affine map :math:`x \mapsto W^T (x - c) + o`. The graph
subtracts c first, so that single precision loses nothing on features far from the origin.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from isthmus._core.files import write_whole
from isthmus._core.validation import FloatArray, check_choice
from isthmus.estimators.controls import Corrupted
from isthmus.estimators.given_source import GivenSource
from isthmus.estimators.itml import ITML
from isthmus.estimators.shared_block import SharedSpace
from isthmus.exceptions import InputError, import_extra
from isthmus.geometry.common_space import DOMAINS, CommonSpace
from isthmus.geometry.kernels import Linear
from isthmus.geometry.spaces import FeatureSpace
from isthmus.maps.regression import AffineMap
from isthmus.tasks.migration.result import TO_NEW, TO_OLD, Adapter

# Of ONNX: Gemm is as it is now since then, and every runtime of today has it.
OPSET, IR_VERSION = 13, 8
# Bytes of numbers in a file: the format has no room for more.
LARGEST = 2**31 - 2**20
# The names of the input (n, d) and of the output (n, k), both in single precision.
ROWS, MAPPED = "rows", "mapped"


def to_onnx(model: Any, domain: str = "target", *, transformed: bool = False) -> bytes:
    r"""Return the affine map of a domain into the common space as an ONNX file: ``rows`` (n, d) to ``mapped`` (n, k).

    Parameters
    ----------
    model : fitted system, ITML, CommonSpace or Adapter
        Any whose points are affine in the features; parts of unit length, as those of :class:`~isthmus.RidgeMap`, are
        scaled in the graph. Kernels other than the linear one are refused.
    domain : {"target", "source"}
        Where the rows come from. Of an adapter, "target" maps new rows to the old space, and "source" the reverse.
    transformed : bool
        Whether rows will be given after the domain's transformer. Otherwise the transformer is a part of the map:
        ``StandardScaler``, ``MinMaxScaler`` and ``MaxAbsScaler`` without clipping, ``PCA``, ``TruncatedSVD``, or a
        ``Pipeline`` of these.

    Examples
    --------
    >>> import isthmus
    >>> from onnx.reference import ReferenceEvaluator
    >>> X, Y = np.arange(12.0).reshape(6, 2), np.arange(18.0).reshape(6, 3) ** 2
    >>> model = isthmus.RidgeMap().fit(X, None, Y, None, pairs="rows")
    >>> (mapped,) = ReferenceEvaluator(isthmus.to_onnx(model)).run(None, {"rows": Y.astype("float32")})
    >>> bool(np.allclose(mapped, model.transform(Y), atol=1e-5))
    True
    """
    check_choice(domain, "domain", DOMAINS)
    if isinstance(model, Adapter):
        return _write_graph("adapter", _adapter_map(model, TO_OLD if domain == "target" else TO_NEW))
    fitted = _find_maps(model)
    if isinstance(fitted, ITML):
        return _write_graph("ITML", _linear(fitted.components_.T))
    space = fitted if isinstance(fitted, CommonSpace) else fitted.common_space_
    transformer = None if transformed else getattr(fitted, "transformers_", {}).get(domain)
    found = _prepend(_affine_map(space, domain), transformer, f"{domain}_transformer")
    return _write_graph(f"{type(fitted).__name__}, {domain}", found, space.parts)


def export_map(adapter: Adapter, path: str | os.PathLike[str], *, direction: str = TO_OLD) -> None:
    """Write one affine map of an adapter as a matrix M (d + 1, e) in an ``.npy`` file: ``X @ M[:-1] + M[-1]``.

    It is in single precision. :func:`to_onnx` makes an ONNX graph of the same map.

    Parameters
    ----------
    adapter : Adapter
        Of any kind but "kernel_ridge", whose map is not affine.
    path : path
        The file; its folder has to exist.
    direction : {"to_old", "to_new"}
        Which of the two maps.
    """
    found = _adapter_map(adapter, check_choice(direction, "direction", (TO_OLD, TO_NEW))).astype(np.float32)
    content = io.BytesIO()
    np.save(content, np.vstack([found.W, found.offset]))
    write_whole(path, content.getvalue())


def _adapter_map(adapter: Adapter, direction: str) -> AffineMap:
    if not isinstance(adapter, Adapter):
        raise InputError(f"adapter: expected an Adapter of migrate, got {type(adapter).__name__}.")
    found = adapter.old_from_new if direction == TO_OLD else adapter.new_from_old
    if not isinstance(found, AffineMap):
        kinds = "kind 'ridge', 'procrustes' or 'low_rank'"
        raise InputError(f"adapter: expected an affine map ({kinds} of migrate), got kind {adapter.kind!r}.")
    return found


def _find_maps(model: Any) -> Any:
    """Return the part of a model that has the maps."""
    if isinstance(model, CommonSpace):
        return model
    if hasattr(model, "get_params"):
        check_is_fitted(model)
    if isinstance(model, Corrupted | GivenSource):
        return _find_maps(model.estimator_)
    if not isinstance(getattr(model, "common_space_", None), CommonSpace) and not isinstance(model, ITML):
        expected = "a system that maps rows by a matrix, such as MLHD, CCA or RidgeMap"
        raise InputError(f"model: expected {expected}, got {type(model).__name__}.")
    return model


def _affine_map(space: CommonSpace, domain: str) -> AffineMap:
    """Return the map from the features of a domain (after its transformer) to the common space."""
    own = space.space(domain)
    if isinstance(space, SharedSpace):  # its terms are no affine function of rows
        raise InputError("model: expected an affine map for ONNX, got shared features too; fit with --no-shared.")
    if not isinstance(own.kernel, Linear):
        raise InputError(f"model: expected the linear kernel for ONNX, got {own.kernel!r:.60} in the {domain}.")
    if domain in space.outside_axes:
        got = f"distances outside the span of the {domain} rows; set outside='zero' or n_components"
        raise InputError(f"model: expected an affine map for ONNX, got {got}.")
    W = space.map(domain) if isinstance(own, FeatureSpace) else own.basis() @ space.map(domain)
    # The other domain may have a column of its own for what lies outside its span: here it is zero.
    spare = space.dimension - W.shape[1]
    offset = np.zeros(W.shape[1]) if space.offsets is None else space.offsets[DOMAINS.index(domain)]
    return _linear(np.pad(W, ((0, 0), (0, spare))), np.pad(offset, (0, spare)))


def _linear(W: FloatArray, offset: FloatArray | None = None) -> AffineMap:
    return AffineMap(W, np.zeros(len(W)), np.zeros(W.shape[1]) if offset is None else offset)


def _prepend(found: AffineMap, transformer: Any, name: str) -> AffineMap:
    """Return the map of rows before a fitted transformer, given that of rows after it."""
    if isinstance(transformer, Pipeline):
        for _, step in reversed(transformer.steps):
            found = _prepend(found, step, name)
        return found
    if transformer is None or transformer == "passthrough":
        return found
    step = _STEPS.get(type(transformer))
    before = None if step is None else step(found, transformer)
    if before is None:
        known = ", ".join(each.__name__ for each in _STEPS)
        remedy = "transformed=True exports the map of transformed rows"
        raise InputError(f"{name}: expected {known} for ONNX, got {transformer!r:.80}; {remedy}.")
    return before


def _scale(found: AffineMap, centre: Any, factors: Any, low: float = 0.0) -> AffineMap:
    """Return the map before x ↦ (x − centre) · factors + low, column by column."""
    s = np.broadcast_to(factors, len(found.W))
    return AffineMap(s[:, None] * found.W, centre + (found.input_mean - low) / s, found.output_mean)


def _project(found: AffineMap, V: FloatArray, centre: FloatArray) -> AffineMap:
    """Return the map before x ↦ Vᵀ (x − centre)."""
    return AffineMap(np.asarray(V @ found.W), centre, found.offset)


def _standard(found: AffineMap, scaler: Any) -> AffineMap:
    return _scale(found, scaler.mean_ if scaler.with_mean else 0.0, 1.0 / scaler.scale_ if scaler.with_std else 1.0)


def _pca(found: AffineMap, pca: Any) -> AffineMap:
    deviations = np.sqrt(pca.explained_variance_) if pca.whiten else np.ones(len(pca.components_))
    return _project(found, pca.components_.T / np.maximum(deviations, np.finfo(deviations.dtype).eps), pca.mean_)


_STEPS: Mapping[type, Callable[[AffineMap, Any], AffineMap | None]] = {
    StandardScaler: _standard,
    MinMaxScaler: lambda found, s: None if s.clip else _scale(found, s.data_min_, s.scale_, s.feature_range[0]),
    MaxAbsScaler: lambda found, s: None if getattr(s, "clip", False) else _scale(found, 0.0, 1.0 / s.scale_),
    PCA: _pca,
    TruncatedSVD: lambda found, svd: _project(found, svd.components_.T, np.zeros(svd.components_.shape[1])),
    FunctionTransformer: lambda found, transformer: found if transformer.func is None else None,
}


def _write_graph(title: str, found: AffineMap, parts: tuple[int, ...] = ()) -> bytes:
    """Return the ONNX file of a map; ``parts`` are runs of columns of the output that are scaled to unit length."""
    onnx = import_extra("onnx", "onnx", "This format needs")
    node, value, single = onnx.helper.make_node, onnx.helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    # What the centre loses in single precision goes to the offset.
    centre = found.input_mean.astype(np.float32)
    constants = {"W": found.W, "offset": found.output_mean - (found.input_mean - centre) @ found.W}
    nodes, points = [], "points" if parts else MAPPED
    if centre.any():
        constants["centre"] = centre
        nodes.append(node("Sub", [ROWS, "centre"], ["centred"]))
    nodes.append(node("Gemm", ["centred" if nodes else ROWS, "W", "offset"], [points]))
    if parts:
        member = np.repeat(np.eye(len(parts)), parts, axis=1)  # (parts, k): which part a column belongs to
        constants |= {"sums": member.T, "spread": member, "zero": np.zeros(1), "one": np.ones(1)}
        nodes += [
            node("Mul", [points, points], ["squares"]),
            node("MatMul", ["squares", "sums"], ["totals"]),
            node("Greater", ["totals", "zero"], ["positive"]),
            node("Where", ["positive", "totals", "one"], ["divisors"]),  # a part that is zero stays zero
            node("Sqrt", ["divisors"], ["lengths"]),
            node("MatMul", ["lengths", "spread"], ["every"]),
            node("Div", [points, "every"], [MAPPED]),
        ]
    single_constants = {name: np.ascontiguousarray(array, np.float32) for name, array in constants.items()}
    size = sum(array.nbytes for array in single_constants.values())
    if size > LARGEST:
        raise InputError(f"onnx: expected a map of less than {LARGEST:,} bytes, got {size:,}.")
    graph = onnx.helper.make_graph(
        nodes,
        title,
        [value(ROWS, single, ["n", found.W.shape[0]])],
        [value(MAPPED, single, ["n", found.W.shape[1]])],
        [onnx.numpy_helper.from_array(array, name) for name, array in single_constants.items()],
    )
    opset = [onnx.helper.make_opsetid("", OPSET)]
    model = onnx.helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION, producer_name="isthmus")
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())
