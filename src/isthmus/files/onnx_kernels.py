"""Kernels as operators of ONNX, in double precision: the formulas of :mod:`isthmus.kernels`, once more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from isthmus._arrays import FloatArray, as_dense
from isthmus.exceptions import InputError
from isthmus.kernels import RBF, Cosine, Kernel, Laplacian, Linear, Polynomial, Precomputed
from isthmus.storage.onnx_graphs import Graph


def kernel_values(graph: Graph, rows: str, kernel: Kernel, landmarks: Any) -> str:
    """The kernel (n, m) of rows in double precision with landmarks (m, d); with row numbers, if it is precomputed."""
    if isinstance(kernel, Precomputed):
        return graph.apply("Gather", rows, graph.constant(landmarks, np.int64), axis=1)
    return _VALUES[known(kernel)](graph, rows, kernel, as_dense(landmarks))


def own_values(graph: Graph, rows: str, kernel: Kernel) -> str:
    """The kernel of each row in double precision with itself (n, 1)."""
    squares = graph.squares(rows)
    if isinstance(kernel, Linear):
        return squares
    if isinstance(kernel, Polynomial):
        return _power(graph, graph.with_number("Div", squares, float(kernel.scale)), kernel)
    if isinstance(kernel, Cosine):
        positive = graph.with_number("Greater", squares, 0.0)
        return graph.double(positive)
    return graph.constant([[1.0]], np.float64)


def known(kernel: Kernel) -> type[Kernel]:
    """The type of a kernel, if there is a formula for it here."""
    if type(kernel) in _VALUES or isinstance(kernel, Precomputed):
        return type(kernel)
    names = ", ".join(each.__name__ for each in (*_VALUES, Precomputed))
    raise InputError(f"kernel: expected one of {names} for ONNX, got {type(kernel).__name__}.")


def _products(graph: Graph, rows: str, landmarks: FloatArray) -> str:
    return graph.apply("MatMul", rows, graph.constant(landmarks.T, np.float64))


def _linear(graph: Graph, rows: str, kernel: Linear, landmarks: FloatArray) -> str:
    return _products(graph, rows, landmarks)


def _rbf(graph: Graph, rows: str, kernel: RBF, landmarks: FloatArray) -> str:
    return graph.gaussian(rows, landmarks, float(kernel.bandwidth))


def _laplacian(graph: Graph, rows: str, kernel: Laplacian, landmarks: FloatArray) -> str:
    """City-block distances are no matrix product: all differences (n, m, d) are held at once."""
    apart = graph.apply("Unsqueeze", rows, graph.constant([1], np.int64))
    apart = graph.apply("Abs", graph.with_number("Sub", apart, landmarks[None]))
    total = graph.apply("ReduceSum", apart, graph.constant([-1], np.int64), keepdims=0)
    return graph.apply("Exp", graph.with_number("Mul", total, -1.0 / float(kernel.bandwidth)))


def _polynomial(graph: Graph, rows: str, kernel: Polynomial, landmarks: FloatArray) -> str:
    # The scale is in the landmarks: a factor after a product of matrices is made single by some runtimes.
    return _power(graph, _products(graph, rows, landmarks / float(kernel.scale)), kernel)


def _power(graph: Graph, scaled: str, kernel: Polynomial) -> str:
    return graph.with_number("Pow", graph.with_number("Add", scaled, kernel.offset), float(kernel.degree))


def _cosine(graph: Graph, rows: str, kernel: Cosine, landmarks: FloatArray) -> str:
    lengths = np.linalg.norm(landmarks, axis=1, keepdims=True)
    directions = landmarks / np.where(lengths > 0.0, lengths, 1.0)
    unit = graph.ratio(rows, graph.apply("Sqrt", graph.squares(rows)))
    return _products(graph, unit, directions)


_VALUES: Mapping[type[Kernel], Callable[[Graph, str, Any, FloatArray], str]] = {
    Linear: _linear,
    RBF: _rbf,
    Laplacian: _laplacian,
    Polynomial: _polynomial,
    Cosine: _cosine,
}
