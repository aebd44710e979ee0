"""Values in model files: the types that may occur, how they are packed for skops, and their checks after reading.

Order of this file: the types and limits; ``pack`` (model → what skops stores); ``unpack`` (what skops made → model),
which checks every object. Values that skops would store badly are packed: texts, columns of a plan, sparse rows and
traces, which it would store at length or as archives within the archive; a solver's result, without the data of its
problem. Search trees and decision rules are not stored but built again from their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, is_dataclass
from itertools import chain, islice, pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import compose, decomposition, discriminant_analysis, impute, linear_model, naive_bayes
from sklearn import preprocessing as prep
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.semi_supervised import LabelPropagation, LabelSpreading
from sklearn.svm import LinearSVC

from isthmus._core.files import show_path
from isthmus._core.linalg import PrincipalAxes
from isthmus._core.validation import FloatArray, is_sparse
from isthmus.estimators.base import TwoDomainEstimator
from isthmus.estimators.controls import SelfTrainedLDA
from isthmus.estimators.hfa import KernelMachine
from isthmus.estimators.itml import ITML
from isthmus.estimators.mapped import MappedEstimator
from isthmus.estimators.shared_block import SharedBlock, SharedFeatureUnion, SharedSpace
from isthmus.exceptions import InputError
from isthmus.geometry.common_space import KINDS, CommonSpace
from isthmus.geometry.discriminants import SoftLDA
from isthmus.geometry.kernels import RBF, Cosine, Landmarks, Laplacian, Linear, OnLandmarks, Polynomial, Precomputed
from isthmus.geometry.similarity import Background
from isthmus.geometry.spaces import FeatureSpace, KernelSpace
from isthmus.io.tables.features import Categories, Characters, Features, MatrixPart, Numbers, Words
from isthmus.io.tables.plan import Column, Plan
from isthmus.maps.regression import AffineMap
from isthmus.retrieval.rules import FittedClassifier, References
from isthmus.solvers.blocks.solver import BlockNewton
from isthmus.solvers.bregman import BregmanProjections
from isthmus.solvers.newton import AutoNewton, DualNewton
from isthmus.solvers.result import Result, Status, TracePoint
from isthmus.study.registry import systems
from isthmus.tasks.transfer.problem import Preparation
from isthmus.tasks.transfer.result import LabelTransfer
from isthmus.tasks.transfer.scoring import (
    Discriminant,
    LinearRule,
    LinearScores,
    MappedRule,
    NearestMean,
    Pool,
    Probabilities,
    SubsetRule,
    TiedClasses,
    Vote,
    WeightedSum,
)

# Words or characters of a term: a text takes memory in proportion to it.
LONGEST_NGRAM = 32
# Words of two characters or more, or of one: another pattern could take forever.
TOKEN_PATTERNS = (r"(?u)\b\w\w+\b", r"(?u)\b\w+\b")
# Columns of a domain: of sparse rows, a file says a number only, and one row may become dense.
MOST_FEATURES = 2**22
# Lists of texts above this length are packed: a text alone costs 100 bytes of schema.
MANY = 16


class StoredValueError(Exception):
    """A value of a file is not what it has to be; the message is the end of "FILE: expected …"."""


@dataclass(frozen=True, eq=False)
class Packed:
    """A value that skops would store badly: the name of its kind, and plain values that it is made of."""

    kind: str
    parts: Any


@dataclass(frozen=True, eq=False)
class StoredPoint:
    """A solver's last point without the data of its problem: both values, the matrix, the multipliers."""

    primal: float
    dual: float
    gap: float
    scale: float
    n_pairs: int
    objective: float
    W: FloatArray
    multipliers: FloatArray | None

    @classmethod
    def of(cls, result: Result[Any]) -> StoredPoint:
        """Return the last point of a result."""
        point, multipliers = result.point, getattr(result.point, "multipliers", None)
        primal, dual, gap, scale = (float(number) for number in (point.primal, point.dual, point.gap, point.scale))
        n, objective, W = int(result.problem.n_pairs), float(result.primal), result.components()
        return cls(primal, dual, gap, scale, n, objective, W, multipliers)

    @property
    def problem(self) -> StoredPoint:
        """Return what is known of the problem: its number of pairs, and its value at the matrix."""
        return self

    def value(self, W: FloatArray) -> float:
        """Return the objective at the matrix of this point."""
        return self.objective

    def components(self) -> FloatArray:
        """Return the matrix W."""
        return self.W

    def block_distances(self, W: FloatArray) -> list[FloatArray]:
        """Raise: distances of pairs need the rows of the fit."""
        raise InputError("result_.distances: expected a result with the rows of the fit, got one from a file.")


SYSTEMS: tuple[type, ...] = (*dict.fromkeys(system.estimator for system in systems()), SharedFeatureUnion, ITML)
VALUES: tuple[type, ...] = (
    *(Linear, RBF, Laplacian, Polynomial, Cosine, Precomputed, Landmarks, OnLandmarks),
    *(CommonSpace, SharedSpace, SharedBlock, FeatureSpace, KernelSpace),
    *(References, Background, PrincipalAxes, AffineMap),
    *(AutoNewton, DualNewton, BlockNewton, BregmanProjections, Result, StoredPoint, Packed),
    *(KernelMachine, SoftLDA, Preparation, LinearRule, MappedRule),
    *(Discriminant, NearestMean, Vote, Probabilities, SubsetRule, TiedClasses, WeightedSum),
    *(LinearScores, Pool),
    *(Features, Plan, Numbers, Categories, MatrixPart, Words, Characters),
)
# Those whose work and memory are bounded by their input and their arrays, within `LIMITS`.
SKLEARN: tuple[type, ...] = (
    *(prep.StandardScaler, prep.MinMaxScaler, prep.MaxAbsScaler, prep.RobustScaler, prep.Normalizer),
    *(prep.OneHotEncoder, prep.OrdinalEncoder, prep.FunctionTransformer, prep.PowerTransformer),
    *(impute.SimpleImputer, decomposition.PCA, decomposition.TruncatedSVD),
    *(CountVectorizer, TfidfVectorizer, TfidfTransformer),
    *(Pipeline, FeatureUnion, compose.ColumnTransformer),
    *(LinearSVC, linear_model.LogisticRegression, linear_model.RidgeClassifier, linear_model.Ridge),
    *(discriminant_analysis.LinearDiscriminantAnalysis, naive_bayes.GaussianNB, NearestCentroid),
    *(KNeighborsClassifier, LabelSpreading, LabelPropagation),
)
# Values of parameters: others would run functions, open files or take forever.
LIMITS: Mapping[type, Mapping[str, Collection[Any]]] = {
    CountVectorizer: {  # and TfidfVectorizer, which is one
        "input": ("content",),  # others open files
        "analyzer": ("word", "char", "char_wb"),
        "token_pattern": TOKEN_PATTERNS,
        "tokenizer": (None,),
        "preprocessor": (None,),
        "encoding": ("utf-8", "latin-1", "ascii"),
    },
    impute.SimpleImputer: {"add_indicator": (False,), "strategy": ("mean", "median", "most_frequent", "constant")},
    prep.FunctionTransformer: {"kw_args": (None,), "inv_kw_args": (None,)},
    Pipeline: {"transform_input": (None,)},
    KNeighborsClassifier: {
        "metric": ("minkowski", "euclidean", "manhattan", "chebyshev", "cosine"),
        "metric_params": (None,),
        "weights": ("uniform", "distance"),
    },
    LabelSpreading: {"kernel": ("knn", "rbf")},
    LabelPropagation: {"kernel": ("knn", "rbf")},
}
# Parameters that are about the work and not about the model, and what a file has instead.
NOT_STORED: Mapping[str, Any] = {"n_jobs": None, "verbose": False, "memory": None, "progress": False}


def type_name(of: type) -> str:
    """Return the full name of a type, as skops writes it."""
    return f"{of.__module__}.{of.__name__}"


TRUSTED = frozenset(map(type_name, (*SYSTEMS, *VALUES, *SKLEARN)))
_SCALAR_TYPES = (np.float64, np.float32, np.int64, np.int32, np.intp, np.bool_, np.str_)
SCALARS = frozenset(f"numpy.{of.__name__}" for of in _SCALAR_TYPES)
_FUNCTIONS = (
    *("absolute", "arcsinh", "cbrt", "exp", "expm1", "log", "log10", "log1p", "log2"),
    *("negative", "reciprocal", "sign", "sqrt", "square", "tanh"),
)
# Functions of NumPy that a FunctionTransformer may call.
FUNCTIONS = frozenset(f"{home}.{name}" for home in ("numpy", "numpy.core._multiarray_umath") for name in _FUNCTIONS)


def check(right: Any, expected: str, got: Any) -> None:
    """Raise unless a condition on a value of a file holds."""
    if not right:
        raise StoredValueError(f"{expected}, got {show_path(repr(got)[:80])}")


def pack(value: Any, memo: dict[int, tuple[Any, Any]] | None = None) -> Any:
    """Return a copy of a value for skops; arrays are shared with the original, everything else is new."""
    # By identity: what two objects share (a space of the model and of its references) is shared again after reading.
    memo = {} if memo is None else memo
    if id(value) not in memo:
        memo[id(value)] = value, _pack(value, memo)  # the value is kept, so its id stays its own
    return memo[id(value)][1]


def _pack(value: Any, memo: dict[int, tuple[Any, Any]]) -> Any:
    kind = type(value)
    if isinstance(value, np.ndarray):
        return _pack_array(value)
    if is_sparse(value) and value.format == "csr":
        parts = value.data, value.indices, value.indptr, int(value.shape[1]), isinstance(value, sp.spmatrix)
        return Packed("csr", parts)
    if kind is Status:
        return Packed("status", value.value)
    if kind in (list, tuple) and value:
        packed = _pack_items(value)
        return kind(pack(item, memo) for item in value) if packed is None else packed
    if kind is dict and len(value) > MANY and all(type(k) is str and type(v) is int for k, v in value.items()):
        return Packed("dict", (_pack_list([*value]), _pack_list([*value.values()])))
    if kind is dict:
        return {key: pack(item, memo) for key, item in value.items()}
    if kind is set:
        return {pack(item, memo) for item in value}
    if hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value):
        return _pack_object(value, memo)
    return value


def _pack_items(items: Any) -> Packed | None:
    """Return a list or tuple in few arrays, or None where its items have to be stored one by one."""
    kind, inner = type(items), {type(item) for item in items}
    # A table of 20,000 columns would be 200,000 nodes of JSON as objects, and six arrays as columns of a plan.
    if kind is tuple and inner == {TracePoint}:
        return Packed("trace", np.array([astuple(point) for point in items], dtype=np.float64))
    if kind is tuple and inner == {Column}:
        names = [field.name for field in fields(Column)]
        return Packed("columns", tuple(_pack_list([getattr(column, name) for column in items]) for name in names))
    if len(items) > MANY and inner == {str}:
        return _pack_list(items) if kind is list else Packed("tuple", _pack_list(items))
    if kind is tuple and len(items) > MANY and inner == {tuple} and {*map(type, chain(*items))} == {str}:
        return Packed("tuples", (_pack_list([*chain(*items)]), _pack_list([len(item) for item in items])))
    return None


def _pack_object(value: Any, memo: dict[int, tuple[Any, Any]]) -> Any:
    state = value.__getstate__()
    if not isinstance(state, dict):
        return value
    if _is_plain(value):  # without what was cached
        state = {field.name: getattr(value, field.name) for field in fields(value)}
    state = {name: NOT_STORED.get(name, item) for name, item in state.items() if name != "_sklearn_version"}
    if isinstance(value, Result) and not isinstance(value.point, StoredPoint):
        state["point"] = StoredPoint.of(value)
    if isinstance(value, MappedEstimator) and "_rule" in state:  # its rule is made again, except for a classifier
        rule = state["_rule"][1]
        state["_rule"] = rule.classifier if isinstance(rule, FittedClassifier) else None
    if isinstance(value, KNeighborsClassifier):
        state.pop("_tree", None)
    if "nn_fit" in state:
        state["nn_fit"] = None  # the neighbours of LabelSpreading, found again from its rows
    twin = object.__new__(type(value))  # no constructor: it would check, copy or convert once more
    twin.__dict__.update({name: pack(item, memo) for name, item in state.items()})
    return twin


def _is_plain(value: Any) -> bool:
    """Return whether a value is nothing but its fields; of an estimator these are its parameters only."""
    return is_dataclass(value) and not isinstance(value, BaseEstimator)


def _pack_array(array: NDArray[Any]) -> Any:
    if array.dtype == object:
        texts = array.ndim == 1 and len(array) > MANY and all(type(item) is str for item in array)
        return Packed("array", _pack_list(array.tolist())) if texts else array
    if array.ndim != 2 or array.flags.c_contiguous or array.flags.f_contiguous:
        return array
    # Rows that lie apart, as in a part of a larger table: where they lie decides how products are rounded.
    turned = abs(array.strides[0]) < abs(array.strides[1])
    rows = array.T if turned else array
    step = rows.strides[0] // rows.itemsize
    if rows.strides[1] != rows.itemsize or not rows.shape[1] <= step <= 4 * rows.shape[1]:
        return array
    table = np.zeros((len(rows), step), dtype=rows.dtype)
    table[:, : rows.shape[1]] = rows
    return Packed("strided", (table, int(rows.shape[1]), turned))


def _pack_list(items: Sequence[Any]) -> Packed:
    """Return plain values as an array, or texts as one run of UTF-8 and the place where each text ends."""
    if len(items) and type(items[0]) is not str:
        return Packed("numbers", np.array(items))
    try:
        runs = [text.encode() for text in items]
    except UnicodeEncodeError:
        raise InputError("model: expected texts that UTF-8 can hold, got others; remove lone surrogates.") from None
    ends = np.cumsum([len(run) for run in runs], dtype=np.int64)
    return Packed("texts", (np.frombuffer(b"".join(runs), dtype=np.uint8), ends))


def _unpack_texts(parts: Any) -> list[str]:
    run, ends = parts
    steps = np.diff(ends, prepend=0)
    right = run.ndim == ends.ndim == 1 and run.dtype == np.uint8 and ends.dtype == np.int64
    check(right and (steps >= 0).all() and steps.sum() == len(run), "texts that fill their place", "others")
    content, stops = run.tobytes(), ends.tolist()
    return [content[start:stop].decode() for start, stop in pairwise([0, *stops])]


def _unpack_tuples(parts: Any) -> tuple[tuple[str, ...], ...]:
    texts, sizes = iter(parts[0]), parts[1]
    return tuple(tuple(islice(texts, size)) for size in sizes)


def _unpack_csr(parts: Any) -> Any:
    data, indices, indptr, columns, matrix = parts
    check(type(columns) is int and 0 <= columns < 2**31, "a number of columns", columns)
    made = (sp.csr_matrix if matrix else sp.csr_array)((data, indices, indptr), shape=(len(indptr) - 1, columns))
    made.check_format(full_check=True)  # SciPy would read beyond its arrays
    check(made.indices.dtype == indices.dtype and made.data.dtype.kind == "f", "sparse rows of numbers", data.dtype)
    return made


def _unpack_trace(table: Any) -> tuple[TracePoint, ...]:
    check(table.ndim == 2 and table.dtype == np.float64, "a trace", table.shape)
    return tuple(TracePoint(int(number), *rest) for number, *rest in table.tolist())


def _unpack_strides(parts: Any) -> NDArray[Any]:
    table, width, turned = parts
    check(table.ndim == 2 and 0 < width <= table.shape[1], "rows that lie apart", width)
    return np.asarray(table[:, :width].T if turned else table[:, :width])


UNPACK: Mapping[str, Callable[[Any], Any]] = {
    "texts": _unpack_texts,
    "numbers": np.ndarray.tolist,
    "tuple": tuple,
    "tuples": _unpack_tuples,
    "columns": lambda parts: tuple(Column(*row) for row in zip(*parts, strict=True)),
    "array": lambda texts: np.array([*texts, None], dtype=object)[:-1],  # None: or NumPy would look into the texts
    "dict": lambda parts: dict(zip(*parts, strict=True)),
    "csr": _unpack_csr,
    "trace": _unpack_trace,
    "strided": _unpack_strides,
    "status": Status,
}


def unpack(value: Any, trusted: frozenset[str] = frozenset(), memo: dict[int, tuple[Any, Any]] | None = None) -> Any:
    """Return the value that :func:`pack` was given, from what skops made of its copy; objects are checked.

    Objects of trusted types are taken as they are.
    """
    memo = {} if memo is None else memo
    if id(value) not in memo:
        memo[id(value)] = value, _unpack(value, trusted, memo)
    return memo[id(value)][1]


def _unpack(value: Any, trusted: frozenset[str], memo: dict[int, tuple[Any, Any]]) -> Any:
    kind = type(value)
    if kind is Packed:
        check({*vars(value)} == {"kind", "parts"} and value.kind in UNPACK, "a packed value", [*vars(value)])
        return UNPACK[value.kind](unpack(value.parts, trusted, memo))
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "U":
            value.tolist()  # raises where a text has no such character
        return value
    if kind in (dict, list):
        for key, item in [*(value.items() if kind is dict else enumerate(value))]:
            value[key] = unpack(item, trusted, memo)
        return value
    if kind is tuple:
        return tuple(unpack(item, trusted, memo) for item in value)
    if not hasattr(value, "__dict__") or isinstance(value, type) or callable(value):
        return value
    for name, item in [*vars(value).items()]:
        value.__dict__[name] = unpack(item, trusted, memo)
    if type_name(kind) not in trusted:
        _check_object(value)
    return value


def _check_object(value: Any) -> None:
    """Raise unless an object has what its type asks for, and nothing in the place of a method."""
    of, name = type(value), type(value).__name__
    for key in vars(value):  # an attribute named "predict" would be called instead of the method
        check(isinstance(key, str) and not callable(getattr(of, key, None)), f"attributes of a {name}", key)
    if _is_plain(value):
        # skops sets attributes without the constructor, so the checks of the constructor are run here.
        right = {field.name for field in fields(value)} == vars(value).keys()
        check(right, f"the fields of a {name}", [*vars(value)])
        if hasattr(value, "__post_init__"):
            value.__post_init__()
    if isinstance(value, BaseEstimator):
        _check_parameters(value)
    for kind, check_kind in CHECKS.items():
        if isinstance(value, kind):
            check_kind(value)


def _check_parameters(estimator: Any) -> None:
    name, parameters = type(estimator).__name__, estimator._get_param_names()
    missing = sorted({*parameters} - vars(estimator).keys())
    check(not missing, f"all parameters of a {name}", missing)
    for key, plain in NOT_STORED.items():
        got = vars(estimator).get(key, plain)
        check(got is plain or key not in parameters or got == plain, f"{key}={plain} in a {name}", got)
    if is_from_sklearn(estimator):
        estimator._validate_params()  # scikit-learn's own: types and ranges
    for kind, limits in LIMITS.items():
        for key, allowed in limits.items() if isinstance(estimator, kind) else ():
            got = vars(estimator).get(key)
            right = any(type(got) is type(value) and got == value for value in allowed)
            check(right, f"a {name} with {key}={allowed[0]!r} or another that files may have", got)  # type: ignore[index]


def is_from_sklearn(estimator: Any) -> bool:
    """Return whether an estimator is scikit-learn's."""
    return type(estimator).__module__.startswith("sklearn.")


def _check_vectorizer(vectorizer: Any) -> None:
    low, high = vectorizer.ngram_range
    right = type(low) is int and type(high) is int and 1 <= low <= high <= LONGEST_NGRAM
    check(right, f"an ngram_range of at most {LONGEST_NGRAM}", vectorizer.ngram_range)
    if "vocabulary_" not in vars(vectorizer):
        return
    # Columns beyond the last would be beyond the arrays of SciPy.
    words = vectorizer.vocabulary_
    right = isinstance(words, dict) and all(type(word) is str for word in words)
    check(right and sorted(words.values()) == [*range(len(words))], "a column for each word", len(words))
    if isinstance(vectorizer, TfidfVectorizer) and vectorizer.use_idf:
        check(len(vectorizer._tfidf.idf_) == len(words), "a weight for each word", len(words))


def _check_encoder(encoder: Any) -> None:
    sizes = [len(names) for names in vars(encoder).get("categories_", ())]
    for names in vars(encoder).get("categories_", ()):
        check(names.ndim == 1 and len(names), "categories", names)
        if names.dtype.kind in "biuf":  # numbers are looked up by bisection, which finds no place beyond the last
            known = names[:-1] if names.dtype.kind == "f" and np.isnan(names[-1]) else names
            check((known[:-1] < known[1:]).all(), "categories in order", names)
    for name in ("_default_to_infrequent_mappings", "_infrequent_indices"):
        for found, size in zip(vars(encoder).get(name, ()) or (), sizes, strict=False):
            if found is not None:
                check(len(found) <= size, name, found)
                _check_codes(found)
                check(not len(found) or found.max() < size, name, found)
    for name in ("drop_idx_", "_drop_idx_after_grouping"):
        found = vars(encoder).get(name)
        if found is not None:
            right = len(found) == len(sizes)
            right = right and all(i is None or 0 <= i < size for i, size in zip(found, sizes, strict=True))
            check(right, "a category to drop", found)


def _rebuild_neighbours(classifier: Any) -> None:
    if "_fit_X" in vars(classifier):
        check(classifier.classes_.ndim == 1, "one label for each row", "several")
        # A stored tree could point outside of its rows; one that is built again can't.
        classifier.fit(classifier._fit_X, classifier.classes_[classifier._y])


def _check_system(model: Any) -> None:
    """Raise unless a system has a bounded number of features, and its classifiers predict codes of its classes."""
    state = vars(model)
    sizes = state.get("n_features_", {})
    right = isinstance(sizes, dict) and all(type(d) is int and 0 < d <= MOST_FEATURES for d in sizes.values())
    check(right, f"at most {MOST_FEATURES} features", sizes)
    for name in ("classifier_", "source_rule_", "target_rule_", "_rule"):
        codes = getattr(state.get(name), "classes_", None)
        if codes is not None:
            _check_codes(np.asarray(codes, dtype=np.intp), len(model.classes_))
    if isinstance(model, SelfTrainedLDA) and "_present" in state:
        _check_codes(model._present, len(model.classes_))
    if isinstance(model, LabelTransfer) and "_references" in state:
        points, numbers = model._references
        check(len(points) == len(numbers), "a number of each reference row", len(numbers))


def _check_codes(codes: Any, n: float = np.inf) -> None:
    """Raise unless these are numbers of n classes; without n, any from 0, and maybe none."""
    right = codes.ndim == 1 and codes.dtype.kind == "i" and (len(codes) or n == np.inf)
    check(right and (not len(codes) or 0 <= codes.min() <= codes.max() < n), "classes of the model", codes)


def _rebuild_rule(model: Any) -> None:
    """Make the decision rule of a system again, and check its reference rows."""
    if "references_" not in vars(model):
        return
    model._validate()
    points, C = model.references_, len(model.classes_)
    space, y = model.common_space_, points.y
    check(points.space is space, "reference rows of the common space", "others")
    check(not len(y) or (y.min() >= -1 and y.max() < C), "reference rows of the classes", y)
    sizes = {name: space.n_features(name) for name in ("source", "target")}
    check(sizes == model.n_features_, "as many features as the maps have", sizes)
    classifier = model._rule
    if classifier is None:
        model._rule = model._decision_rule(points, C)
    else:
        rule = FittedClassifier(classifier, C)
        model._rule = (model.references, model.rule, model.n_neighbors), rule


def _check_references(rows: Any) -> None:
    points, y = rows.points, rows.y
    right = points.ndim == 2 and y.shape == (len(points),) and y.dtype.kind == "i"
    check(right and points.shape[1] == rows.space.dimension, "points of the common space", points.shape)
    check(type(rows.n_source) is int and 0 <= rows.n_source <= len(y), "a number of rows", rows.n_source)
    check(rows.weights is None or len(rows.weights) == len(y), "a weight for each row", "others")


def _check_space(space: Any) -> None:
    r, k = space.components.shape
    dimensions = [side.dimension for side in (space.source, space.target)]
    check(space.kind in KINDS and r == sum(dimensions), "maps of both spaces", (r, k, space.kind))
    check(space.offsets is None or space.offsets.shape == (2, k), "offsets of the maps", space.offsets)
    check(not space.parts or sum(space.parts) == k, "parts that fill the space", space.parts)


def _check_shared_space(space: Any) -> None:
    block, right = space.block, isinstance(space.scales, tuple) and len(space.scales) == 3
    check(isinstance(block, SharedBlock), "a shared block", block)
    check(right and np.isfinite(np.array(space.scales, dtype=np.float64)).all(), "three factors", space.scales)
    for places, n in zip(block.columns.T, block.n_features, strict=True):
        within = places.dtype.kind == "i" and (not len(places) or 0 <= places.min() <= places.max() < n)
        check(within, "places of shared columns", places)


def _check_kernel_space(space: Any) -> None:
    rows, d, precomputed = space.landmarks, space.n_features, isinstance(space.kernel, Precomputed)
    check(precomputed == (rows.ndim == 1), "landmarks that fit the kernel", rows.shape)
    if precomputed:
        within = rows.dtype.kind == "i" and (not len(rows) or 0 <= rows.min() <= rows.max() < d)
    else:
        within = rows.shape[1] == d
    check(within, "landmarks among the features", rows.shape)
    n = rows.shape[0] + (space.averaged is not None)
    check(space.factor.shape == (n, n), "a factor of all landmarks", space.factor.shape)
    check(type(space.place) is int and 0 <= space.place <= rows.shape[0], "the place of a landmark", space.place)


def _check_finite(value: Any) -> None:
    for name, item in vars(value).items():
        numbers = item.data if is_sparse(item) else item
        if isinstance(numbers, np.ndarray):
            check(numbers.dtype.kind in "if" and np.isfinite(numbers).all(), f"finite numbers in {name}", "others")


def _check_result(result: Any) -> None:
    right = isinstance(result.point, StoredPoint) and type(result.status) is Status
    check(right, "the result of a solver", result.status)
    check(result.trace and type(result.trace[0]) is TracePoint, "a trace", result.trace)
    str(result)


# What has to hold of an object of a type; some also build again what is not stored.
CHECKS: Mapping[type, Callable[[Any], None]] = {
    CountVectorizer: _check_vectorizer,
    prep.OneHotEncoder: _check_encoder,
    KNeighborsClassifier: _rebuild_neighbours,
    TwoDomainEstimator: _check_system,
    MappedEstimator: _rebuild_rule,
    References: _check_references,
    CommonSpace: _check_space,
    SharedSpace: _check_shared_space,
    KernelSpace: _check_kernel_space,
    SubsetRule: lambda rule: _check_codes(rule.classes),
    TiedClasses: lambda rule: _check_codes(rule.classes),
    LinearScores: lambda rule: _check_codes(rule.classes),
    Result: _check_result,
    **dict.fromkeys((Background, PrincipalAxes, FeatureSpace, SharedBlock, AffineMap), _check_finite),
}
