"""The maps of a fitted system as ONNX files: one for either domain, from rows to points of the common space."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg as sla
from sklearn.utils.validation import check_is_fitted

from isthmus._arrays import FloatArray
from isthmus._validation import choice
from isthmus.common_space import DOMAINS, CommonSpace
from isthmus.controls import Corrupted
from isthmus.estimators import ITML
from isthmus.estimators.given_source import GivenSource
from isthmus.exceptions import InputError
from isthmus.files.onnx_kernels import kernel_values, known, own_values
from isthmus.files.onnx_transformers import transformed as after
from isthmus.files.onnx_transformers import width
from isthmus.kernels import Cosine, Linear
from isthmus.linalg import RANK_TOLERANCE
from isthmus.spaces import FeatureSpace
from isthmus.storage.files import write_whole
from isthmus.storage.folders import filling
from isthmus.storage.onnx_graphs import ROWS, Graph


def to_onnx(model: Any, domain: str = "target", *, transformed: bool = False) -> bytes:
    r"""The map of a domain into the common space as an ONNX file: ``rows`` (n, d) to ``mapped`` (n, k).

    Linear maps are one matrix, in single precision. With a kernel, or a transformer, numbers that nearly cancel are
    on the way: there the graph works in double precision, between input and output in single precision.

    Parameters
    ----------
    model : fitted system, ITML or CommonSpace
        Any whose points are linear in the features or in kernel values. Points of :class:`~isthmus.LabelTransfer` and
        :class:`~isthmus.SemanticMatching` are probabilities of classes, and are refused.
    domain : {"target", "source"}
        Where the rows come from.
    transformed : bool
        Whether rows will be given after the domain's transformer. Otherwise the transformer is a part of the graph:
        ``StandardScaler``, ``MinMaxScaler``, ``MaxAbsScaler``, ``Normalizer``, ``PCA``, ``TruncatedSVD``,
        ``SimpleImputer``, ``FunctionTransformer`` with a function that ONNX has, or a ``Pipeline`` of these.

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
    choice(domain, "domain", DOMAINS)
    fitted = _fitted(model)
    if isinstance(fitted, ITML):
        W = fitted.components_.T.astype(np.float32)
        graph = Graph("ITML", W.shape[0])
        return graph.content(graph.affine(ROWS, W, np.zeros(W.shape[1])), W.shape[1])
    space = fitted if isinstance(fitted, CommonSpace) else fitted.common_space_
    transformer = None if transformed else getattr(fitted, "transformers_", {}).get(domain)
    graph = Graph(f"{type(fitted).__name__}, {domain}", width(transformer, space.space(domain).n_features))
    plain = _one_matrix(space, domain)
    if transformer is None and plain is not None and not space.parts:
        mapped = graph.affine(ROWS, *(part.astype(np.float32) for part in plain))
        return graph.content(mapped, space.dimension)
    rows = after(graph, graph.double(ROWS), transformer, f"{domain}_transformer")
    points = _by_kernel(graph, rows, space, domain) if plain is None else graph.affine(rows, *plain)
    return graph.content(graph.single(_scaled(graph, points, space)), space.dimension)


def export_onnx(model: Any, folder: str | os.PathLike[str], *, transformed: bool = False) -> list[Path]:
    """Write ``source.onnx`` and ``target.onnx``, the maps of :func:`to_onnx`, into a folder, and return the paths.

    Both are made before either is written, and a new folder appears with both of them or not at all.

    Parameters
    ----------
    model : fitted system or CommonSpace
        As in :func:`to_onnx`; ITML has one map only.
    folder : path
        Where.
    transformed : bool
        As in :func:`to_onnx`, for both domains.
    """
    if isinstance(_fitted(model), ITML):
        raise InputError("model: expected one over two domains, got ITML, whose one map is to_onnx(model).")
    where = Path(folder)
    if where.exists() and not where.is_dir():
        raise InputError(f"folder: expected a folder, got the file {str(where)!r}.")
    files = {f"{domain}.onnx": to_onnx(model, domain, transformed=transformed) for domain in DOMAINS}
    with filling(where, tuple(files)) as unfinished:
        for name, content in files.items():
            write_whole(unfinished / name, content)
    return [where / name for name in files]


def _fitted(model: Any) -> Any:
    """The part of a model that has the maps."""
    if isinstance(model, CommonSpace):
        return model
    if hasattr(model, "get_params"):
        check_is_fitted(model)
    if isinstance(model, Corrupted | GivenSource):
        return _fitted(model.estimator_)
    if not isinstance(getattr(model, "common_space_", None), CommonSpace) and not isinstance(model, ITML):
        raise InputError(
            "model: expected a system that maps rows by a matrix or a kernel, as MLHD, CCA or RidgeMap do, "
            f"got {type(model).__name__}."
        )
    return model


def _one_matrix(space: CommonSpace, domain: str) -> tuple[FloatArray, FloatArray] | None:
    """The map as a matrix (d, k) over the features and an offset (k,); None where a kernel bends it."""
    own = space.space(domain)
    known(own.kernel)
    if not isinstance(own.kernel, Linear) or space.outside_axis(domain) is not None:
        return None
    W = space.map(domain) if isinstance(own, FeatureSpace) else own.basis() @ space.map(domain)
    return _padded(W, space.dimension), _offset(space, domain)


def _by_kernel(graph: Graph, rows: str, space: CommonSpace, domain: str) -> str:
    """The map by kernel values; what lies outside the span of the anchors has a column of its own."""
    own: Any = space.space(domain)
    if isinstance(own, FeatureSpace):
        return graph.affine(
            _unit_rows(graph, rows, own), _padded(space.map(domain), space.dimension), _offset(space, domain)
        )
    if own.centre is not None:
        rows = graph.with_number("Sub", rows, own.centre)
    K, factor = kernel_values(graph, rows, own.kernel, own.landmarks), own.factor
    # Coordinates are K L⁻ᵀ: its rows are in the order of the anchors, and the mean, where it is one, goes last.
    inverse = sla.solve_triangular(factor, np.eye(len(factor)), lower=True).T
    if own.averaged is not None:
        every = kernel_values(graph, rows, own.kernel, own.averaged)
        mean = graph.apply("ReduceMean", every, axes=[-1], keepdims=1)
        K = graph.apply("Concat", K, mean, axis=1)
        inverse = np.vstack([np.delete(inverse, own.place, axis=0), inverse[own.place]])
    W, offset, axis = space.map(domain), _offset(space, domain), space.outside_axis(domain)
    if axis is None:
        return graph.affine(K, _padded(inverse @ W, space.dimension), offset)
    C = graph.affine(K, inverse, np.zeros(len(inverse)))
    points = graph.affine(C, _padded(W, space.dimension), offset)
    total = own_values(graph, rows, own.kernel)
    left = graph.apply("Sub", total, graph.squares(C))
    counts = graph.apply("Greater", left, graph.with_number("Mul", total, 10 * RANK_TOLERANCE))
    length = graph.apply("Sqrt", graph.apply("Where", counts, left, graph.constant(0.0, np.float64)))
    return graph.apply("Add", points, graph.with_number("MatMul", length, np.eye(space.dimension)[[axis]]))


def _unit_rows(graph: Graph, rows: str, own: FeatureSpace) -> str:
    """Features as coordinates under a kernel that is not linear: under the cosine, at unit length."""
    if not isinstance(own.kernel, Cosine):
        raise InputError(f"kernel: expected Linear or Cosine where features are coordinates, got {own.kernel!r:.60}.")
    return graph.ratio(rows, graph.apply("Sqrt", graph.squares(rows)))


def _scaled(graph: Graph, points: str, space: CommonSpace) -> str:
    """Points whose parts have unit length."""
    if not space.parts:
        return points
    member = np.repeat(np.eye(len(space.parts)), space.parts, axis=1)
    squares = graph.with_number("MatMul", graph.apply("Mul", points, points), member.T)
    return graph.ratio(points, graph.with_number("MatMul", graph.apply("Sqrt", squares), member))


def _offset(space: CommonSpace, domain: str) -> FloatArray:
    if space.offsets is None:
        return np.zeros(space.dimension)
    return np.asarray(_padded(space.offsets[[DOMAINS.index(domain)]], space.dimension)[0])


def _padded(W: FloatArray, n_columns: int) -> FloatArray:
    """With columns of zeros for the lengths outside the spans."""
    return np.pad(W, ((0, 0), (0, n_columns - W.shape[1])))
