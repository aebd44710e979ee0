"""Transformers of scikit-learn as operators of ONNX, in double precision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

from isthmus.exceptions import InputError
from isthmus.storage.onnx_graphs import Graph

OPERATORS: Mapping[Any, str] = {
    **{np.absolute: "Abs", np.exp: "Exp", np.log: "Log", np.negative: "Neg", np.reciprocal: "Reciprocal"},
    **{np.sign: "Sign", np.sqrt: "Sqrt", np.tanh: "Tanh"},
}
"""Functions of NumPy that are operators of ONNX."""


def transformed(graph: Graph, rows: str, transformer: Any, name: str) -> str:
    """Rows in double precision after a fitted transformer; ``name`` is what a complaint is about."""
    if transformer is None or transformer == "passthrough":
        return rows
    found = _STEPS.get(type(transformer))
    after = None if found is None else found(graph, rows, transformer, name)
    if after is None:
        known = ", ".join(each.__name__ for each in _STEPS)
        raise InputError(
            f"{name}: expected one of {known} in their numeric forms for ONNX, got {transformer!r:.80}; "
            "with transformed=True the graph takes rows that are transformed already."
        )
    return after


def width(transformer: Any, n_transformed: int) -> int:
    """The number of columns that a fitted transformer takes, given how many it gives."""
    steps = [step for _, step in transformer.steps] if isinstance(transformer, Pipeline) else [transformer]
    sizes = (getattr(step, "n_features_in_", None) for step in steps)
    return next((int(size) for size in sizes if size is not None), n_transformed)


Step = Callable[[Graph, str, Any, str], str | None]
"""From rows to rows; None where the transformer's parameters are none that it knows."""


def _standard(graph: Graph, rows: str, scaler: Any, name: str) -> str:
    centred = rows if not scaler.with_mean else graph.with_number("Sub", rows, scaler.mean_)
    return centred if not scaler.with_std else graph.with_number("Div", centred, scaler.scale_)


def _min_max(graph: Graph, rows: str, scaler: Any, name: str) -> str:
    scaled = graph.with_number("Add", graph.with_number("Mul", rows, scaler.scale_), scaler.min_)
    low, high = scaler.feature_range
    return scaled if not scaler.clip else _clipped(graph, scaled, low, high)


def _max_abs(graph: Graph, rows: str, scaler: Any, name: str) -> str:
    scaled = graph.with_number("Div", rows, scaler.scale_)
    return _clipped(graph, scaled, -1.0, 1.0) if getattr(scaler, "clip", False) else scaled


def _clipped(graph: Graph, rows: str, low: float, high: float) -> str:
    return graph.with_number("Min", graph.with_number("Max", rows, low), high)


def _normalizer(graph: Graph, rows: str, normalizer: Any, name: str) -> str:
    sizes = graph.apply("Abs", rows)
    lengths = {
        "l1": lambda: graph.row_sums(sizes),
        "l2": lambda: graph.apply("Sqrt", graph.squares(rows)),
        "max": lambda: graph.apply("ReduceMax", sizes, axes=[-1], keepdims=1),
    }
    return graph.ratio(rows, lengths[normalizer.norm]())


def _pca(graph: Graph, rows: str, pca: Any, name: str) -> str:
    W = pca.components_.T
    if pca.whiten:
        deviations = np.sqrt(pca.explained_variance_)
        W = W / np.maximum(deviations, np.finfo(deviations.dtype).eps)
    centred = graph.with_number("Sub", rows, pca.mean_)
    return graph.affine(centred, np.asarray(W, np.float64), np.zeros(W.shape[1]))


def _svd(graph: Graph, rows: str, svd: Any, name: str) -> str:
    return graph.affine(rows, np.asarray(svd.components_.T, np.float64), np.zeros(len(svd.components_)))


def _imputer(graph: Graph, rows: str, imputer: Any, name: str) -> str | None:
    filled = np.asarray(imputer.statistics_)
    missing = imputer.missing_values
    numeric = isinstance(missing, float) and np.isnan(missing) and filled.dtype.kind in "fiu"
    # A column without a value in fit is dropped, and an indicator adds columns.
    if not numeric or np.isnan(filled).any() or imputer.add_indicator:
        return None
    return graph.apply("Where", graph.apply("IsNaN", rows), graph.constant(filled, np.float64), rows)


def _function(graph: Graph, rows: str, transformer: Any, name: str) -> str | None:
    function = transformer.func
    if transformer.kw_args:
        return None
    if function is None:
        return rows
    if function is np.square:
        return graph.apply("Mul", rows, rows)
    if function is np.log1p:
        return graph.apply("Log", graph.with_number("Add", rows, 1.0))
    return graph.apply(OPERATORS[function], rows) if function in OPERATORS else None


def _pipeline(graph: Graph, rows: str, pipeline: Any, name: str) -> str:
    for _, step in pipeline.steps:
        rows = transformed(graph, rows, step, name)
    return rows


_STEPS: Mapping[type, Step] = {
    StandardScaler: _standard,
    MinMaxScaler: _min_max,
    MaxAbsScaler: _max_abs,
    Normalizer: _normalizer,
    PCA: _pca,
    TruncatedSVD: _svd,
    SimpleImputer: _imputer,
    FunctionTransformer: _function,
    Pipeline: _pipeline,
}
