"""Model files: a fitted system in one archive of skops (zip and JSON, no pickle), opened without trust in its writer.

An archive has, uncompressed, ``isthmus.json`` (versions and a summary of the model) and the members of skops
(``schema.json`` and arrays as ``.npy``: a dictionary of the model and further parts).
Reading goes from the outside to the inside: sizes, names and checksums of the members, every node of the schema
and every header of an array, and only then skops. What it made is checked as values
(:mod:`isthmus.io.stored_values`), and the model has to answer for a few rows of both domains before anybody relies on
it (:func:`check_answers`).
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
import scipy.sparse as sp
from sklearn import __version__ as sklearn_version
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from isthmus._core.archives import read_npy_header
from isthmus._core.files import as_path, open_regular, show_path, write_whole
from isthmus._core.threads import openmp_controller, single_threaded_blas
from isthmus._version import __version__
from isthmus.estimators.base import TargetClassifier
from isthmus.estimators.controls import Corrupted, SelfTrainedLDA, TargetOnly
from isthmus.estimators.itml import ITML
from isthmus.exceptions import InputError, IsthmusError, MissingDependencyError, import_extra
from isthmus.geometry.common_space import DOMAINS
from isthmus.io.stored_values import LOADERS, SYSTEMS, TRUSTED, StoredValueError, check, pack, parse_json, unpack
from isthmus.tasks.migration.result import Adapter

# The format that is written and read; 1 was never released.
FORMAT = 2
ABOUT, SCHEMA = "isthmus.json", "schema.json"
# Names of members. Nothing is ever extracted to a path.
MEMBER = re.compile(r"isthmus\.json|schema\.json|[0-9]{1,20}\.npy")
# Bytes of a file that is opened at all.
LARGEST_FILE = 2**32
MOST_MEMBERS = 20_000
# Bytes of a text in JSON and brackets in it: a parsed text takes at most some 100 MB.
TEXT_LIMITS = 2**23, 200_000
# Brackets within brackets.
DEEPEST = 150
# Length that an axis of an array without numbers may claim beyond the bytes of its member: what is computed from it
# would be huge.
LONGEST_EMPTY = 2**20
REMEDY = "save the model again with this version of isthmus"
# Rows of zeros, of ones, and at random.
ROWS = 4
# Longer rows are sparse: their zeros would take more than the model.
LONGEST_ROW = 2**18
# Columns of a table for a transformer.
LONGEST_INPUT = 2**20
METHODS = ("transform", "predict", "predict_proba", "decision_function", "kneighbors")

Path = str | os.PathLike[str]


def save(model: Any, path: Path, *, parts: Mapping[str, Any] | None = None, trust: Collection[str] = ()) -> None:
    """Write a fitted system to one file, completely or not at all; :func:`load` reads it.

    The file holds the maps and what predictions need. It has no rows of the fit except those that the system compares
    with: reference rows as points of the common space, landmarks of a kernel, neighbours. Of a solver's result it has
    the status, both values, the gap, the trace, the multipliers and the matrix, not the problem.

    Parameters
    ----------
    model : system or Adapter
        Fitted. docs/files.md lists the transformers and classifiers of scikit-learn that can be stored.
    path : path
        Of the file; its folder has to exist.
    parts : mapping of str to value, optional
        More to store in the same file, for :func:`load_parts`: :class:`~isthmus.io.tables.Features` of the tables
        that the model was fitted to, arrays, plain values, and dictionaries, lists or tuples of these.
    trust : collection of str
        Full names of further types, such as ``"sklearn.preprocessing._polynomial.PolynomialFeatures"``, that may be
        stored. Whoever loads the file has to name them too.

    Examples
    --------
    >>> import tempfile
    >>> import isthmus
    >>> X, Y = np.arange(12.0).reshape(6, 2), np.arange(18.0).reshape(6, 3) ** 2
    >>> model = isthmus.RidgeMap().fit(X, None, Y, None, pairs="rows")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     isthmus.save(model, f"{folder}/ridge.isthmus")
    ...     loaded = isthmus.load(f"{folder}/ridge.isthmus")
    >>> bool((loaded.transform(Y) == model.transform(Y)).all())
    True
    """
    if isinstance(model, Adapter):
        if parts:
            raise InputError("parts: expected None with an adapter, whose file has no place for more, got some.")
        model.save(path)
        return
    trusted = _check_trust(trust)
    _check_model(model)
    # skops has one root; features and model share a file so that they can't be mixed up with those of another fit.
    parts = {} if parts is None else parts
    if not isinstance(parts, Mapping) or not all(isinstance(name, str) and name.isprintable() for name in parts):
        raise InputError(f"parts: expected a dictionary with printable texts as names, got {parts!r:.60}.")
    members = _dump({"model": model, "parts": dict(parts)}, trusted)
    written_by = {"isthmus": __version__, "scikit-learn": sklearn_version, "numpy": np.__version__}
    summary = {"format": FORMAT, "written_by": written_by, "card": _describe_model(model), "parts": sorted(parts)}
    write_whole(path, _archive(members | {ABOUT: json.dumps(summary).encode()}))


def load(path: Path, *, trust: Collection[str] = ()) -> Any:
    """Read the system in a file of :func:`save`; it answers as the saved one does, bit for bit.

    Nothing in the file is executed, whoever wrote it. Whether its answers are right is another matter.

    Parameters
    ----------
    path : path
        Of the file.
    trust : collection of str
        Full names of further types that may be constructed. Name only types in files whose writer you trust.
    """
    trusted = _check_trust(trust)
    raw = _read(path)
    with _report_errors(path), ZipFile(io.BytesIO(raw)) as archive:
        names = archive.namelist()
    if SCHEMA not in names and ABOUT not in names:
        return Adapter.load(path)
    with _report_errors(path), np.errstate(all="ignore"):
        # The features of tables are checked too: nobody would notice later that they and the model are damaged.
        stored = unpack(_construct(raw, trusted), trusted)
        _check_model(stored["model"])
        check_answers(stored["model"])
    return stored["model"]


def load_parts(path: Path, *, trust: Collection[str] = ()) -> dict[str, Any]:
    """Read the further parts of a file by name: what :func:`save` was given as ``parts``."""
    trusted = _check_trust(trust)
    raw = _read(path)
    with _report_errors(path):
        parts: dict[str, Any] = unpack(_construct(raw, trusted)["parts"], trusted)
        return parts


def _construct(raw: bytes, trusted: frozenset[str]) -> dict[str, Any]:
    """Construct the content of a file by skops, after all checks that need no construction."""
    members = _read_members(raw)[1]
    found = _check_schema(parse_json(members[SCHEMA], *TEXT_LIMITS), members, trusted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns of other versions of itself; the probe decides
        stored = import_skops().loads(raw, trusted=sorted(found))
    right = type(stored) is dict and stored.keys() == {"model", "parts"} and type(stored["parts"]) is dict
    check(right, "a model and its parts", "another value")
    return stored  # type: ignore[no-any-return]


def model_card(path: Path) -> dict[str, Any]:
    """Return the summary of a model file without loading the model: type, parameters, sizes, certificate."""
    raw = _read(path)
    with _report_errors(path):
        about, members = _read_members(raw)
        arrays = [_read_header(members[name]) for name in members if name.endswith(".npy")]
        return {
            **about["card"],
            "numbers": sum(map(math.prod, arrays)),
            "format": about["format"],
            "written_by": about.get("written_by"),
            "parts": [str(name) for name in about["parts"]],
        }


def import_skops() -> Any:
    """Return skops' reader and writer, or say how to install them."""
    return import_extra("skops.io", "skops", "Model files need")


def _check_trust(trust: Any) -> frozenset[str]:
    """Raise unless this is a collection of names."""
    listed = isinstance(trust, Collection) and not isinstance(trust, str)
    if not listed or not all(isinstance(name, str) for name in trust):
        raise InputError(f"trust: expected a list of names of types, got {trust!r:.60}.")
    return frozenset(trust)


def _dump(value: Any, trusted: frozenset[str]) -> dict[str, bytes]:
    """Return the members of skops; what a reader would refuse is refused here, before anything is written."""
    try:
        files: dict[str, str] = {}
        packed = pack(value)
        with ZipFile(io.BytesIO(import_skops().dumps(packed))) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        schema = json.dumps(_renumber(json.loads(members.pop(SCHEMA)), {}, files), separators=(",", ":")).encode()
        members = {files[name]: content for name, content in members.items() if name in files} | {SCHEMA: schema}
        # Both checks of a reader, now: a file that can't be opened must not be written.
        _check_schema(parse_json(schema, *TEXT_LIMITS), members, trusted)
        unpack(packed, trusted)
    except StoredValueError as error:
        raise InputError(f"model: expected {error}.") from None
    except IsthmusError:
        raise
    except Exception as error:  # of any kind: skops has many, and does not know all types
        reason = show_path(str(error)[:100])
        raise InputError(f"model: expected a model that skops can store, got '{reason}'.") from None
    return members


def _renumber(node: Any, seen: dict[int, Any], files: dict[str, str]) -> Any:
    """Return a schema whose nodes and files have small numbers, the same for equal models.

    skops numbers nodes by addresses, and describes an object that occurs twice by different parts each time.
    """
    if isinstance(node, list):
        return [_renumber(item, seen, files) for item in node]
    if not isinstance(node, dict):
        return node
    number = node.get("__id__")
    if number not in seen:
        found = {key: _renumber(item, seen, files) for key, item in node.items()}
        if number is None:  # the content of a dictionary
            return found
        if "file" in found:
            found["file"] = files.setdefault(found["file"], f"{len(files)}.npy")
        seen[number] = found | {"__id__": len(seen)}
    return seen[number]


def _check_model(model: Any) -> None:
    if type(model) not in SYSTEMS:
        raise InputError(f"model: expected an Adapter or a system of isthmus.systems(), got {type(model).__name__}.")
    if not any(name.endswith("_") and not name.startswith("_") for name in vars(model)):
        raise InputError(f"model: expected a fitted {type(model).__name__}, got one that is not.")


def _describe_model(model: Any) -> dict[str, Any]:
    """Return the summary that is read before a model is loaded."""
    inner = inner_system(model)
    result = getattr(inner, "result_", None)
    proof = None
    if result is not None:
        gap = float(result.relative_gap)
        proof = {"status": result.status.value, "relative_gap": gap if np.isfinite(gap) else None}
    classes = getattr(inner, "classes_", ())
    parameters = model.get_params(deep=False).items()
    return {
        "model": type(model).__name__,
        "parameters": {name: _show_parameter(value) for name, value in parameters if name != "progress"},
        "features": getattr(inner, "n_features_", None),
        "classes": [str(name)[:80] for name in classes[:50]],
        "n_classes": len(classes),
        "certificate": proof,
        "verdict": getattr(inner, "verdict_", None),
    }


def _show_parameter(value: Any) -> Any:
    plain = value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and np.isfinite(value))
    return value if plain else " ".join(repr(value).split())[:200]


def _archive(members: Mapping[str, bytes]) -> bytes:
    """Return the bytes of an archive, the same for the same members."""
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(ZipInfo(name), content)  # ZipInfo's date is 1980: equal models give equal files
    return buffer.getvalue()


def _read(path: Path) -> bytes:
    with open_regular(as_path(path)) as file:
        size = os.fstat(file.fileno()).st_size
        if size > LARGEST_FILE:
            raise InputError(f"{show_path(path)}: expected at most {LARGEST_FILE} bytes, got {size}.")
        return file.read(size)


@contextmanager
def _report_errors(path: Path) -> Iterator[None]:
    """Raise whatever a file leads to as one sentence that names it."""
    try:
        yield
    except StoredValueError as error:
        raise InputError(f"{show_path(path)}: expected {error}.") from None
    except MissingDependencyError:
        raise
    except BadZipFile:
        raise InputError(f"{show_path(path)}: expected a model file, got another file or a damaged one.") from None
    except Exception as error:  # of any kind: a stranger's file can lead to many
        reason = show_path(" ".join(str(error).split())[:150]).rstrip(".") or type(error).__name__
        raise InputError(f"{show_path(path)}: expected a model file that works, got '{reason}'.") from None


def _read_members(raw: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the summary and all members of an archive, sizes and names checked before any is read."""
    with ZipFile(io.BytesIO(raw)) as archive:
        infos = archive.infolist()
        names = {info.filename for info in infos}
        check(len(names) == len(infos) <= MOST_MEMBERS, f"at most {MOST_MEMBERS} different members", len(infos))
        for info in infos:
            check(MEMBER.fullmatch(info.filename), "members of a model file", info.filename)
            # Uncompressed, so a member can't be larger than the file.
            stored = info.compress_type == ZIP_STORED and info.compress_size == info.file_size
            check(stored, "members that are not compressed", info.filename)
            check(info.filename.endswith(".npy") or info.file_size <= TEXT_LIMITS[0], "a shorter text", info.filename)
        check(sum(info.file_size for info in infos) <= len(raw), "members within the file", "larger ones")
        check(names >= {ABOUT, SCHEMA}, "a model file", "one without a summary or a schema")
        members = {name: archive.read(name) for name in names}  # zipfile compares their checksums
    about = parse_json(members[ABOUT], *TEXT_LIMITS)
    if about["format"] != FORMAT:
        number, version = (show_path(str(got)[:20]) for got in (about["format"], about["written_by"]["isthmus"]))
        remedy = "pip install --upgrade isthmus" if about["format"] > FORMAT else REMEDY
        raise StoredValueError(f"format {FORMAT}, got format {number}, written by isthmus {version}; {remedy}")
    return about, members


def _check_schema(schema: Any, members: Mapping[str, bytes], trusted: frozenset[str]) -> set[str]:
    """Raise unless every node of a schema is known, and its arrays are what they say; return the types in it.

    A node with the number of an earlier one has to be equal to it: skops takes the earlier one, and references to it
    without its content could multiply a small file.
    """
    seen: dict[int, dict[str, Any]] = {}
    owners: dict[str, int] = {}
    found: set[str] = set()
    places: list[tuple[Any, str, int]] = [(schema, "", 0)]
    while places:
        node, place, depth = places.pop()
        # A stack instead of recursion: a hostile depth must not end in Python's own limit.
        check(depth < DEEPEST, "fewer values within values", depth)
        if isinstance(node, list):
            places += [(item, place, depth + 1) for item in reversed(node) if isinstance(item, list | dict)]
        elif isinstance(node, dict):
            if "__loader__" in node or "__id__" in node:
                found.add(_check_node(node, place, trusted))
                number: Any = node.get("__id__")
                check(type(number) is int, "a number of each node", number)
                check(seen.setdefault(number, node) == node, "one node for each number", place)
                if "file" in node:
                    file = node["file"]
                    check(file in members, "an array that is in the file", file)
                    # It would be read once for each node.
                    check(owners.setdefault(file, number) == number, "an array that is used once", file)
                    _read_header(members[file])
            for key, item in reversed(node.items()):
                if isinstance(item, list | dict):
                    # Names of attributes make messages that say where.
                    named = place if key in ("content", "key_types") else f"{place}.{key}"[:150]
                    places.append((item, named, depth + 1))
    return found & {*TRUSTED, *trusted} | {"numpy.dtype"}


def _check_node(node: dict[str, Any], place: str, trusted: frozenset[str]) -> str:
    loader, full = node["__loader__"], f"{node['__module__']}.{node['__class__']}"
    if full in trusted:
        return full
    if full not in LOADERS.get(loader, ()):
        name, at = show_path(full[:200]), show_path(place[1:])
        raise StoredValueError(f"known types and functions, got {name} in {at}; if you trust it, name it in trust=")
    if loader == "JsonNode":
        value = json.loads(node["content"])
        plain = isinstance(value, int | float | str | None) and not (type(value) is int and abs(value) >= 2**63)
        check(plain, "a plain value", value)
    return full


def _read_header(content: bytes) -> tuple[int, ...]:
    """Return the shape of a stored array, whose bytes have to be as many as its shape and type say."""
    dtype, shape, start = read_npy_header(content, "model")
    check(dtype.kind in "biufU" and 0 < dtype.itemsize < 2**20, "an array of numbers or texts", dtype)
    check(math.prod(shape) or max(shape, default=0) <= len(content) + LONGEST_EMPTY, "a shape", shape)
    expected = start + math.prod(shape) * dtype.itemsize
    check(expected == len(content), f"{expected} bytes of an array", len(content))
    return shape


def inner_system(model: Any) -> Any:
    """Return the system within corrupted sources."""
    while isinstance(model, Corrupted):
        model = model.estimator_
    return model


def check_answers(model: Any) -> None:
    """Raise unless a fitted system answers for rows of each domain, behind its transformer and through it.

    What a system refuses in a sentence of its own (a similarity has no neighbours within a domain) is an answer, as
    long as one method has another.
    """
    inner = inner_system(model)
    # On a busy machine, threads for a handful of rows would wait for each other longer than they work.
    with single_threaded_blas(), openmp_controller().limit(limits=1):
        inner._validate()
        if isinstance(inner, ITML):
            X = _make_rows(inner.n_features_in_)
            _check_points(inner.transform(X), X.shape[0])
        else:
            _check_domains(inner)


def _check_domains(inner: Any) -> None:
    of_target = isinstance(inner, TargetOnly | SelfTrainedLDA | TargetClassifier)
    found = inner.n_features_, inner.transformers_, inner._columns
    check(all(value.keys() == {*DOMAINS} for value in found), "both domains", inner.n_features_)
    # Behind the transformers first: rows of any numbers do, and what the transformers take need not be known.
    behind = copy(inner)
    behind.transformers_ = behind._columns = dict.fromkeys(DOMAINS)
    for domain in DOMAINS[1:] if of_target else DOMAINS:
        X = inner._fit_rows[:ROWS] if inner.transductive else _make_rows(inner.n_features_[domain])
        _check_methods(behind, X, domain)
        transformer = inner.transformers_[domain]
        check(transformer is None or hasattr(transformer, "transform"), "a transformer", transformer)
        sample = sample_row(transformer)
        if sample is not None and not inner.transductive:
            inner._rows(sample, domain)
    str(getattr(inner, "result_", ""))


def _check_methods(model: Any, X: Any, domain: str) -> None:
    found = {}
    for method in METHODS:
        if hasattr(model, method):
            with suppress(InputError):
                found[method] = getattr(model, method)(X, domain=domain)
    check(found, f"a model that answers for the {domain}", "none")
    if "predict" in found:
        check(np.shape(found.pop("predict")) == (X.shape[0],), "a class for each row", "others")
    if "predict_proba" in found:
        check(found["predict_proba"].shape[1] == len(model.classes_), "a number for each class", "others")
    for answer in found.values():
        for part in answer if isinstance(answer, tuple) else (answer,):
            _check_points(part, X.shape[0])


def _check_points(points: Any, n: int) -> None:
    points = np.asarray(points)
    right = points.ndim in (1, 2) and len(points) == n and points.dtype.kind in "fi"
    check(right and not np.isnan(points).any(), "numbers for each row", f"{points.dtype} {points.shape}")


def _make_rows(d: Any) -> Any:
    check(type(d) is int and 1 <= d < 2**31, "a number of features", d)
    n = ROWS + (d == ROWS)  # else arrays that were turned would fit too
    if d > LONGEST_ROW:
        return sp.csr_array((np.ones(ROWS), np.arange(ROWS), np.arange(ROWS + 1)), shape=(ROWS, d))
    rows = np.abs(np.random.default_rng(0).normal(size=(n, d)))
    rows[0], rows[1] = 0.0, 1.0  # a division by a length or a deviation of zero would show here
    return rows


def sample_row(transformer: Any) -> Any:
    """Return one row that a fitted transformer of scikit-learn takes, or None where that is unknown.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> sample_row(StandardScaler().fit([[1.0, 2.0]]))
    array([[0., 0.]])
    """
    if not type(transformer).__module__.startswith("sklearn."):
        return None
    if isinstance(transformer, CountVectorizer):
        return ["a b"]
    if isinstance(transformer, Pipeline | FeatureUnion):
        steps = transformer.steps if isinstance(transformer, Pipeline) else transformer.transformer_list
        return next((sample_row(step) for _, step in steps if not isinstance(step, str | None)), None)
    d: Any = vars(transformer).get("n_features_in_")
    if d is None:
        return None
    check(type(d) is int and 0 < d <= LONGEST_INPUT, f"a transformer of at most {LONGEST_INPUT} columns", d)
    row = np.zeros((1, d), dtype=object)
    if isinstance(transformer, OneHotEncoder | OrdinalEncoder):
        row[0] = [names[0] for names in transformer.categories_]
    elif isinstance(transformer, SimpleImputer):
        row[0] = transformer.statistics_
    elif isinstance(transformer, ColumnTransformer):
        for name, inner, _ in transformer.transformers_:
            cells = None if isinstance(inner, str) else sample_row(inner)
            if cells is not None:
                places = transformer._transformer_to_input_indices[name]
                row[0, places] = cells if isinstance(cells, list) else np.asarray(cells)[0]
    if all(isinstance(cell, int | float | np.number) for cell in row[0]):
        row = row.astype(np.float64)
    names = vars(transformer).get("feature_names_in_")
    if names is None:
        return row
    # A data frame where the transformer was fitted to one, and pandas is there.
    try:
        import pandas
    except ImportError:
        return None
    return pandas.DataFrame(row, columns=names).infer_objects()
