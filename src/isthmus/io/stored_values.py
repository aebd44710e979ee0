"""Values in model files: the types that may occur, how they are packed for skops, and their checks after reading.

Order of this file: the types and limits; ``pack`` (model → what skops stores); ``unpack`` (what skops made → model),
which checks every object. Values that skops would store badly are packed: many texts or numbers, columns of a plan
and traces as JSON in one array, sparse rows as their arrays; a solver's result, without the data of its problem.
Search trees and decision rules are not stored but built again from their rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, is_dataclass
from itertools import chain
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
from isthmus._core.validation import FloatArray, is_sparse
from isthmus.estimators.base import TwoDomainEstimator
from isthmus.estimators.controls import SelfTrainedLDA
from isthmus.estimators.itml import ITML
from isthmus.estimators.mapped import MappedEstimator
from isthmus.estimators.shared_block import SharedFeatureUnion
from isthmus.exceptions import InputError
from isthmus.io.tables.plan import Column
from isthmus.retrieval.rules import FittedClassifier
from isthmus.solvers.result import Result, Status, TracePoint
from isthmus.study.registry import systems
from isthmus.tasks.transfer.scoring import LinearScores, SubsetRule, TiedClasses

# Words or characters of a term: a text takes memory in proportion to it.
LONGEST_NGRAM = 32
# Words of two characters or more, or of one: another pattern could take forever.
TOKEN_PATTERNS = (r"(?u)\b\w\w+\b", r"(?u)\b\w+\b")
# Columns of a domain: of sparse rows, a file says a number only, and one row may become dense.
MOST_FEATURES = 2**22
# Lists of texts or numbers above this length are packed: one of them alone costs 100 bytes of schema.
MANY = 16
PLAIN = {str, int, float, bool, type(None)}
# Those whose tuples are packed, whatever their length.
RECORDS: Mapping[str, type] = {"columns": Column, "trace": TracePoint}
# Bytes of such a list in JSON, which takes at most some twelve times as many when parsed, and brackets in it.
LIST_LIMITS = 2**26, 2**20


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
        """Return this point, which knows the number of pairs of its problem and the value at its matrix."""
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
# Types of isthmus that systems and features are made of, by module.
PARTS_OF_SYSTEMS = {
    "_core.linalg": "PrincipalAxes",
    "estimators.hfa": "KernelMachine",
    "estimators.shared_block": "SharedSpace SharedBlock",
    "geometry.common_space": "CommonSpace",
    "geometry.discriminants": "SoftLDA",
    "geometry.kernels": "Linear RBF Laplacian Polynomial Cosine Precomputed Landmarks OnLandmarks",
    "geometry.similarity": "Background",
    "geometry.spaces": "FeatureSpace KernelSpace",
    "io.stored_values": "StoredPoint Packed",
    "io.tables.features": "Features Numbers Categories MatrixPart Words Characters",
    "io.tables.plan": "Plan",
    "maps.regression": "AffineMap",
    "retrieval.rules": "References",
    "solvers.blocks.solver": "BlockNewton",
    "solvers.bregman": "BregmanProjections",
    "solvers.newton": "AutoNewton DualNewton",
    "solvers.result": "Result",
    "tasks.transfer.problem": "Preparation",
    "tasks.transfer.scoring": "LinearRule MappedRule Discriminant NearestMean Vote Probabilities SubsetRule "
    "TiedClasses WeightedSum LinearScores Pool",
}
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
# Parameters that are about the work and not about the model, and neighbours (of LabelSpreading, found again from its
# rows), and what a file has instead.
NOT_STORED: Mapping[str, Any] = {"n_jobs": None, "verbose": False, "memory": None, "progress": False, "nn_fit": None}


def type_name(of: type) -> str:
    """Return the full name of a type, as skops writes it."""
    return f"{of.__module__}.{of.__name__}"


_NAMES = (f"isthmus.{home}.{name}" for home, names in PARTS_OF_SYSTEMS.items() for name in names.split())
TRUSTED = frozenset((*map(type_name, (*SYSTEMS, *SKLEARN)), *_NAMES))
_SCALARS = (np.float64, np.float32, np.int64, np.int32, np.bool_, np.str_)
SCALARS = frozenset(f"numpy.{of.__name__}" for of in _SCALARS)
_FUNCTIONS = "absolute arcsinh cbrt exp expm1 log log10 log1p log2 negative reciprocal sign sqrt square tanh"
# Functions of NumPy that a FunctionTransformer may call.
FUNCTIONS = frozenset(
    f"{home}.{name}" for home in ("numpy", "numpy.core._multiarray_umath") for name in _FUNCTIONS.split()
)
# The nodes of skops that a file may have, and the types of each. Methods, partials, operators, constructors, random
# generators, trees and nested archives are not among them.
LOADERS: Mapping[str, frozenset[str]] = {
    "JsonNode": frozenset({"builtins.str"}),
    "DictNode": frozenset({"builtins.dict"}),
    "ListNode": frozenset({"builtins.list"}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "SetNode": frozenset({"builtins.set"}),
    "SliceNode": frozenset({"builtins.slice"}),
    "TypeNode": SCALARS | {"builtins.str", "builtins.int", "builtins.float", "builtins.bool"},
    "NdArrayNode": SCALARS | {"numpy.ndarray"},
    "DTypeNode": frozenset({"numpy.dtype"}),
    "FunctionNode": FUNCTIONS,
    "ObjectNode": TRUSTED,
}


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
    if is_sparse(value) and value.format == "csr":
        parts = value.data, value.indices, value.indptr, int(value.shape[1]), isinstance(value, sp.spmatrix)
        return Packed("csr", parts)
    if kind is Status:
        return Packed("status", value.value)
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype == object and _is_long(value):
        return _pack_json("array", value.tolist())
    if isinstance(value, np.ndarray):
        return _pack_array(value)
    for name, record in RECORDS.items():
        if kind is tuple and {*map(type, value)} == {record}:
            return _pack_json(name, [*zip(*(vars(item).values() for item in value), strict=True)])
    if kind in (list, tuple, dict) and _is_long(value):
        return _pack_json(kind.__name__, value)
    if kind in (list, tuple, set):
        return kind(pack(item, memo) for item in value)
    if kind is dict:
        return {key: pack(item, memo) for key, item in value.items()}
    if hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value):
        return _pack_object(value, memo)
    return value


def _pack_array(array: NDArray[Any]) -> Any:
    """Return an array, or as a part of a larger one: where its rows lie decides how products are rounded."""
    if array.ndim != 2 or array.flags.c_contiguous or array.flags.f_contiguous:
        return array
    turned = abs(array.strides[0]) < abs(array.strides[1])
    rows = array.T if turned else array
    step = rows.strides[0] // rows.itemsize
    if rows.strides[1] != rows.itemsize or not rows.shape[1] <= step <= 4 * rows.shape[1]:
        return array
    table = np.pad(rows, ((0, 0), (0, step - rows.shape[1])))
    return Packed("part", (table.T if turned else table, *array.shape))


def _is_long(values: Any) -> bool:
    """Return whether plain values, or tuples of texts, are numerous enough to be stored as JSON."""
    if isinstance(values, dict) and {*map(type, values)} != {str}:
        return False
    kinds = {*map(type, values.values() if isinstance(values, dict) else values)}
    if type(values) is tuple and kinds == {tuple}:
        kinds = {*map(type, chain(*values))}
    return len(values) > MANY and kinds <= PLAIN


def _pack_json(kind: str, value: Any) -> Packed:
    text = json.dumps(value, separators=(",", ":"), default=np.generic.item)
    return Packed(kind, np.frombuffer(text.encode(), dtype=np.uint8))


def parse_json(text: bytes, longest: int, brackets: int) -> Any:
    """Parse a text whose size and brackets are bounded."""
    check(len(text) <= longest, f"a description of at most {longest} bytes", len(text))
    check(text.count(b"[") + text.count(b"{") <= brackets, "fewer parts", "too many")
    return json.loads(text.decode())  # decoded here: of bytes, json would guess the encoding


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
    twin = object.__new__(type(value))  # no constructor: it would check, copy or convert once more
    twin.__dict__.update({name: pack(item, memo) for name, item in state.items()})
    return twin


def _is_plain(value: Any) -> bool:
    """Return whether a value is nothing but its fields; of an estimator these are its parameters only."""
    return is_dataclass(value) and not isinstance(value, BaseEstimator)


def _unpack_tuple(values: Any) -> Any:
    """Return a tuple, also of tuples."""
    return tuple(map(_unpack_tuple, values)) if isinstance(values, list) else values


def _unpack_csr(parts: Any) -> Any:
    data, indices, indptr, columns, matrix = parts
    check(type(columns) is int and 0 <= columns < 2**31, "a number of columns", columns)
    made = (sp.csr_matrix if matrix else sp.csr_array)((data, indices, indptr), shape=(len(indptr) - 1, columns))
    made.check_format(full_check=True)  # SciPy would read beyond its arrays
    check(made.indices.dtype == indices.dtype and made.data.dtype.kind == "f", "sparse rows of numbers", data.dtype)
    return made


UNPACK: Mapping[str, Callable[[Any], Any]] = {
    "list": list,
    "tuple": _unpack_tuple,
    "dict": dict,
    "array": lambda values: np.array([*values, None], dtype=object)[:-1],  # None: or NumPy would look into texts
    "columns": lambda fields: tuple(Column(*row) for row in zip(*fields, strict=True)),
    "trace": lambda fields: tuple(TracePoint(int(n), *map(float, rest)) for n, *rest in zip(*fields, strict=True)),
    "part": lambda parts: parts[0][: parts[1], : parts[2]],
    "csr": _unpack_csr,
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
        parts = unpack(value.parts, trusted, memo)
        is_json = isinstance(parts, np.ndarray)
        return UNPACK[value.kind](parse_json(parts.tobytes(), *LIST_LIMITS) if is_json else parts)
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            check(all(item is None or np.isscalar(item) for item in value.flat), "plain values", value)
        elif value.dtype.kind == "U":
            value.tolist()  # raises where a text has no such character
        return value
    if kind in (dict, list):
        for key, item in [*(value.items() if kind is dict else enumerate(value))]:
            value[key] = unpack(item, trusted, memo)
        return value
    if kind in (tuple, set):
        return kind(unpack(item, trusted, memo) for item in value)
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
        check(not callable(getattr(of, key, None)), f"attributes of a {name}", key)
    if _is_plain(value):
        # skops sets attributes without the constructor, so the checks of the constructor are run here.
        expected = {field.name for field in fields(value)}
        check(expected == vars(value).keys(), f"the fields of a {name}", [*vars(value)])
        if hasattr(value, "__post_init__"):
            value.__post_init__()
    if isinstance(value, BaseEstimator):
        _check_parameters(value)
    for kind, check_kind in CHECKS.items():
        if isinstance(value, kind):
            check_kind(value)


def _check_parameters(estimator: Any) -> None:
    name = type(estimator).__name__
    for key in estimator.get_params(deep=False).keys() & NOT_STORED.keys():
        setattr(estimator, key, NOT_STORED[key])
    if type(estimator).__module__.startswith("sklearn."):
        estimator._validate_params()  # scikit-learn's own: types and ranges
    for kind, limits in LIMITS.items():
        for key, allowed in limits.items() if isinstance(estimator, kind) else ():
            got = vars(estimator).get(key)
            right = any(type(got) is type(value) and got == value for value in allowed)
            check(right, f"a {name} with {key}={allowed[0]!r} or another that files may have", got)  # type: ignore[index]


def _check_vectorizer(vectorizer: Any) -> None:
    low, high = vectorizer.ngram_range
    right = type(low) is int and type(high) is int and 1 <= low <= high <= LONGEST_NGRAM
    check(right, f"an ngram_range of at most {LONGEST_NGRAM}", vectorizer.ngram_range)
    # Columns beyond the last would be beyond the arrays of SciPy.
    if "vocabulary_" in vars(vectorizer):
        words = vectorizer.vocabulary_
        check(sorted(words.values()) == [*range(len(words))], "a column for each word", len(words))
        if isinstance(vectorizer, TfidfVectorizer) and vectorizer.use_idf:
            check(len(vectorizer._tfidf.idf_) == len(words), "a weight for each word", len(words))


def _check_encoder(encoder: Any) -> None:
    categories = vars(encoder).get("categories_", ())
    for names in categories:
        check(names.ndim == 1 and len(names), "categories", names)
        if names.dtype.kind in "biuf":  # numbers are looked up by bisection, which finds no place beyond the last
            known = names[:-1] if names.dtype.kind == "f" and np.isnan(names[-1]) else names
            check((known[:-1] < known[1:]).all(), "categories in order", names)
    # Numbers of categories, for each column: an array, one, or None.
    for name in ("_default_to_infrequent_mappings", "_infrequent_indices", "drop_idx_", "_drop_idx_after_grouping"):
        found = vars(encoder).get(name)
        for codes, names in () if found is None else zip(found, categories, strict=True):
            if codes is not None:
                _check_codes(np.atleast_1d(codes), len(names))


def _rebuild_neighbours(classifier: Any) -> None:
    if "_fit_X" in vars(classifier):
        check(classifier.classes_.ndim == 1, "one label for each row", "several")
        # A stored tree could point outside of its rows; one that is built again can't.
        classifier.fit(classifier._fit_X, classifier.classes_[classifier._y])


def _check_system(model: Any) -> None:
    """Raise unless a system has a bounded number of features, and its classifiers predict codes of its classes."""
    state = vars(model)
    sizes = state.get("n_features_", {})
    right = all(type(d) is int and 0 < d <= MOST_FEATURES for d in sizes.values())
    check(right, f"at most {MOST_FEATURES} features", sizes)
    for name in ("classifier_", "source_rule_", "target_rule_", "_rule"):
        codes = getattr(state.get(name), "classes_", None)
        if codes is not None:
            _check_codes(np.asarray(codes, dtype=np.intp), len(model.classes_))
    if isinstance(model, SelfTrainedLDA) and "_present" in state:
        _check_codes(model._present, len(model.classes_))


def _check_codes(codes: Any, n: float = np.inf) -> None:
    """Raise unless these are numbers of n classes; without n, any from 0, and maybe none."""
    right = codes.ndim == 1 and codes.dtype.kind == "i" and (len(codes) or n == np.inf)
    check(right and (not len(codes) or 0 <= codes.min() <= codes.max() < n), "classes of the model", codes)


def _rebuild_rule(model: Any) -> None:
    """Make the decision rule of a system again, from its reference rows."""
    if "references_" not in vars(model):
        return
    model._validate()
    rows, y, C = model.references_, model.references_.y, len(model.classes_)
    right = rows.points.ndim == 2 and y.shape == (len(rows.points),) and y.dtype.kind == "i"
    right = right and (rows.weights is None or len(rows.weights) == len(y))
    check(right and (not len(y) or -1 <= y.min() <= y.max() < C), "reference rows of the classes", y)
    rule, settings = model._rule, (model.references, model.rule, model.n_neighbors)
    model._rule = model._decision_rule(rows, C) if rule is None else (settings, FittedClassifier(rule, C))


# What has to hold of an object of a type; some also build again what is not stored.
CHECKS: Mapping[type, Callable[[Any], None]] = {
    CountVectorizer: _check_vectorizer,
    prep.OneHotEncoder: _check_encoder,
    KNeighborsClassifier: _rebuild_neighbours,
    TwoDomainEstimator: _check_system,
    MappedEstimator: _rebuild_rule,
    **dict.fromkeys((SubsetRule, TiedClasses, LinearScores), lambda rule: _check_codes(rule.classes)),
}
