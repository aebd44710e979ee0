"""Model files: a fitted system in one archive of skops (zip and JSON, no pickle), opened without trust in its writer.

An archive has, uncompressed, ``isthmus.json`` (versions and a summary of the model), the members of skops
(``schema.json`` and arrays as ``.npy``: a dictionary of the model and further parts) and ``sha256`` of all of these.
Reading goes from the outside to the inside: sizes and names of the members, the checksum, every node of the schema
and every header of an array, and only then skops. What it made is checked as values
(:mod:`isthmus.io.stored_values`), and the model has to answer for rows of both domains
(:mod:`isthmus.io.model_probe`).
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from sklearn import __version__ as sklearn_version

from isthmus._core.archives import read_npy_header
from isthmus._core.files import as_path, open_regular, show_path, write_whole
from isthmus._version import __version__
from isthmus.exceptions import InputError, IsthmusError, MissingDependencyError, import_extra
from isthmus.io.model_probe import check_answers, inner_system
from isthmus.io.stored_values import FUNCTIONS, SCALARS, TRUSTED, StoredValueError, check, pack, type_name, unpack
from isthmus.tasks.migration.result import Adapter

# The format that is written and read; 1 was never released.
FORMAT = 2
ABOUT, SCHEMA, CHECKSUM = "isthmus.json", "schema.json", "sha256"
# Names of members. Nothing is ever extracted to a path.
MEMBER = re.compile(r"isthmus\.json|schema\.json|sha256|[0-9]{1,20}\.npy")
# Bytes of a file that is opened at all.
LARGEST_FILE = 2**32
MOST_MEMBERS = 20_000
# Bytes of a text in JSON and brackets in it: a parsed text takes at most some 100 MB.
LARGEST_TEXT, MOST_BRACKETS = 2**23, 200_000
# Brackets within brackets.
DEEPEST = 150
LONGEST_AXIS = 2**31
LONGEST_NAME = 200
REMEDY = "save the model again with this version of isthmus"

Path = str | os.PathLike[str]

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
    trusted = check_trust(trust)
    _check_model(model)
    # skops has one root; features and model share a file so that they can't be mixed up with those of another fit.
    parts = _check_parts({} if parts is None else parts)
    members = _dump({"model": model, "parts": parts}, trusted)
    written_by = {"isthmus": __version__, "scikit-learn": sklearn_version, "numpy": np.__version__}
    summary = {"format": FORMAT, "written_by": written_by, "card": _describe_model(model), "parts": sorted(parts)}
    write_whole(path, _archive(members | {ABOUT: _write_json(summary)}))


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
    trusted = check_trust(trust)
    raw = _read(path)
    with _report_errors(path), _open_archive(raw) as archive:
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
    trusted = check_trust(trust)
    raw = _read(path)
    with _report_errors(path):
        parts: dict[str, Any] = unpack(_construct(raw, trusted)["parts"], trusted)
        return parts


def _construct(raw: bytes, trusted: frozenset[str]) -> dict[str, Any]:
    """Return what skops makes of a file, after everything that can be checked before."""
    about, members = _read_members(raw)
    _check_format(about)
    found = _check_schema(_parse_json(members[SCHEMA]), members, trusted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns of other versions of itself; the probe decides
        stored = import_skops().loads(raw, trusted=sorted(found))
    right = type(stored) is dict and stored.keys() == {"model", "parts"} and type(stored["parts"]) is dict
    check(right, "a model and its parts", "another value")
    return stored  # type: ignore[no-any-return]


def model_card(path: Path) -> dict[str, Any]:
    """Return what a file says of its model without constructing it: type, parameters, sizes, certificate."""
    raw = _read(path)
    with _report_errors(path):
        about, members = _read_members(raw)
        _check_format(about)
        check(isinstance(about.get("card"), dict), "a summary of the model", about.get("card"))
        arrays = [_read_header(members[name]) for name in members if name.endswith(".npy")]
        return {
            **about["card"],
            "numbers": sum(map(math.prod, arrays)),
            "format": about["format"],
            "written_by": about.get("written_by"),
            "parts": about["parts"],
        }


def import_skops() -> Any:
    """Return skops' reader and writer, or say how to install them."""
    return import_extra("skops.io", "skops", "Model files need")


def check_trust(trust: Any) -> frozenset[str]:
    """Raise unless this is a collection of names."""
    listed = isinstance(trust, Collection) and not isinstance(trust, str)
    if not listed or not all(isinstance(name, str) for name in trust):
        raise InputError(f"trust: expected a list of names of types, got {trust!r:.60}.")
    return frozenset(trust)


def _dump(value: Any, trusted: frozenset[str]) -> dict[str, bytes]:
    """Return the members of skops; what a reader would refuse is refused here, before anything is written."""
    try:
        packed = pack(value)
        content = import_skops().dumps(packed)
        with ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        files: dict[str, str] = {}
        schema = _renumber(json.loads(members.pop(SCHEMA)), {}, files)
        members = {files[name]: content for name, content in members.items() if name in files}
        members[SCHEMA] = _write_json(schema)
        # Both checks of a reader, now: a file that can't be opened must not be written.
        _check_schema(schema, members, trusted)
        unpack(packed, trusted)
    except StoredValueError as error:
        raise InputError(f"model: expected {error}.") from None
    except IsthmusError:
        raise
    except Exception as error:  # of any kind: skops has many, and does not know all types
        raise InputError(
            f"model: expected a model that skops can store, got '{show_path(str(error)[:100])}'."
        ) from None
    return members


def _renumber(node: Any, seen: dict[int, Any], files: dict[str, str]) -> Any:
    """Return a schema whose nodes and files have small numbers, the same for equal models.

    skops numbers nodes by addresses, and describes an object that occurs twice by different parts each time.
    """
    if isinstance(node, list):
        return [_renumber(item, seen, files) for item in node]
    if not isinstance(node, dict):
        return node
    if "__id__" not in node:
        return {key: _renumber(item, seen, files) for key, item in node.items()}
    if node["__id__"] not in seen:
        found = {key: _renumber(item, seen, files) for key, item in node.items()}
        if "file" in found:
            found["file"] = files.setdefault(found["file"], f"{len(files)}.npy")
        seen[node["__id__"]] = found | {"__id__": len(seen)}
    return seen[node["__id__"]]


def _check_model(model: Any) -> None:
    if type_name(type(model)) not in TRUSTED or not hasattr(model, "get_params"):
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


def _write_json(value: Any) -> bytes:
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"model: expected values that JSON can hold, got '{show_path(str(error)[:100])}'.") from None
    try:
        _parse_json(text)
    except StoredValueError as error:
        raise InputError(f"model: expected {error}.") from None
    return text


def _archive(members: Mapping[str, bytes]) -> bytes:
    """Return the bytes of an archive with its checksum, the same for the same members."""
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_STORED) as archive:
        for name, content in {**members, CHECKSUM: _checksum(members)}.items():
            archive.writestr(ZipInfo(name), content)  # ZipInfo's date is 1980: equal models give equal files
    return buffer.getvalue()


def _checksum(members: Mapping[str, bytes]) -> bytes:
    """Return a checksum of all members. It finds accidents; whoever changes a file on purpose computes another."""
    digest = hashlib.sha256()
    for name in sorted(members.keys() - {CHECKSUM}):
        digest.update(f"{name} {len(members[name])}\n".encode())
        digest.update(members[name])
    return digest.hexdigest().encode()


def _read(path: Path) -> bytes:
    with open_regular(as_path(path)) as file:
        size = os.fstat(file.fileno()).st_size
        if size > LARGEST_FILE:
            raise InputError(f"{show_path(path)}: expected at most {LARGEST_FILE} bytes, got {size}.")
        return file.read(size)


def _open_archive(raw: bytes) -> ZipFile:
    try:
        return ZipFile(io.BytesIO(raw))
    except (BadZipFile, NotImplementedError, ValueError) as error:
        raise StoredValueError(f"a model file, got another kind of file, or a damaged one ({error})") from None


@contextmanager
def _report_errors(path: Path) -> Iterator[None]:
    """Raise whatever a file leads to as one sentence that names it."""
    try:
        yield
    except StoredValueError as error:
        raise InputError(f"{show_path(path)}: expected {error}.") from None
    except MissingDependencyError:
        raise
    except RecursionError:
        raise InputError(f"{show_path(path)}: expected a model, got values nested too deeply.") from None
    except MemoryError:
        raise InputError(f"{show_path(path)}: expected a model that fits in memory, got a larger one.") from None
    except Exception as error:  # of any kind: a stranger's file can lead to many
        reason = show_path(" ".join(str(error).split())[:150]).rstrip(".") or type(error).__name__
        raise InputError(f"{show_path(path)}: expected a model that works, got '{reason}'.") from None


def _read_members(raw: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the summary and all members of an archive, sizes and names checked before any is read."""
    with _open_archive(raw) as archive:
        infos = archive.infolist()
        check(len(infos) <= MOST_MEMBERS, f"at most {MOST_MEMBERS} members", len(infos))
        for info in infos:
            check(MEMBER.fullmatch(info.filename), "members of a model file", info.filename)
            # Uncompressed, so a member can't be larger than the file.
            stored = info.compress_type == ZIP_STORED and info.compress_size == info.file_size
            check(stored and not info.flag_bits & 1, "members that are not compressed", info.filename)
            check(info.filename.endswith(".npy") or info.file_size <= LARGEST_TEXT, "a shorter text", info.filename)
        names = [info.filename for info in infos]
        check(len({*names}) == len(names), "members with different names", "two with one name")
        total = sum(info.file_size for info in infos)
        check(total <= len(raw), f"at most {len(raw)} bytes in all members", total)
        members = {name: archive.read(name) for name in names}
    missing = {ABOUT, SCHEMA, CHECKSUM} - members.keys()
    check(not missing, "a model file", f"one without {', '.join(sorted(missing))}")
    right = members[CHECKSUM] == _checksum(members)
    check(right, "the content that was written", "another checksum; copy the file again")
    about = _parse_json(members[ABOUT])
    check(isinstance(about, dict), "a summary", about)
    return about, members


def _parse_json(text: bytes) -> Any:
    """Parse a text whose size, brackets and depth are bounded."""
    check(len(text) <= LARGEST_TEXT, f"a description of at most {LARGEST_TEXT} bytes", len(text))
    check(text.count(b"[") + text.count(b"{") <= MOST_BRACKETS, "fewer parts", "too many")
    return json.loads(text.decode())  # decoded here: of bytes, json would guess the encoding


def _check_format(about: dict[str, Any]) -> None:
    number: Any = about.get("format")
    by, parts = about.get("written_by"), about.get("parts")
    check(type(number) is int, "the number of a format", number)
    if number != FORMAT:
        version = str(by.get("isthmus"))[:20] if isinstance(by, dict) else "another version"
        remedy = "pip install --upgrade isthmus" if number > FORMAT else REMEDY
        raise StoredValueError(
            f"format {FORMAT}, got format {number}, written by isthmus {show_path(version)}; {remedy}"
        )
    right = isinstance(parts, list) and all(isinstance(name, str) for name in parts)
    check(right, "names of parts", parts)


def _check_schema(schema: Any, members: Mapping[str, bytes], trusted: frozenset[str]) -> set[str]:
    """Raise unless every node of a schema is known, and its arrays are what they say; return the types in it.

    A node with the number of an earlier one has to be equal to it: skops takes the earlier one, and references to it
    without its content could multiply a small file.
    """
    check(isinstance(schema, dict), "a schema", schema)
    seen: dict[int, dict[str, Any]] = {}
    owners: dict[str, int] = {}
    found: set[str] = {"numpy.dtype", *trusted}
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
                known = seen.setdefault(number, node)
                check(known is node or known == node, "one node for each number", place)
                if "file" in node:
                    _check_file(node, members, owners)
            # Names of attributes make messages that say where; deeper than that they would only be long.
            for key, item in reversed(node.items()):
                if isinstance(item, list | dict):
                    named = key not in ("content", "key_types") and len(place) <= 120
                    places.append((item, f"{place}.{key}" if named else place, depth + 1))
    return found & (TRUSTED | trusted | {"numpy.dtype"})


def _check_node(node: dict[str, Any], place: str, trusted: frozenset[str]) -> str:
    loader, module, name = (node.get(key) for key in ("__loader__", "__module__", "__class__"))
    full = f"{module}.{name}"
    if full in trusted:
        return full
    if not isinstance(loader, str) or loader not in LOADERS or full not in LOADERS[loader]:
        kind = "function" if loader in ("FunctionNode", "MethodNode", "PartialNode", "OperatorFuncNode") else "type"
        raise StoredValueError(
            f"types that isthmus stores, got the {kind} {show_path(full[:200])} in {show_path(place[1:150])}; "
            "if you trust it, name it in trust="
        )
    if loader == "JsonNode":
        content = node.get("content")
        value = json.loads(content) if isinstance(content, str) else content
        plain = isinstance(content, str) and (value is None or isinstance(value, bool | int | float | str))
        check(plain and not (type(value) is int and abs(value) >= 2**63), "a plain value", content)
    if loader == "DictNode":
        keys: Any = node.get("key_types")
        right = (
            isinstance(keys, dict) and isinstance(keys.get("content"), list) and isinstance(node.get("content"), dict)
        )
        check(right and len(keys["content"]) == len(node["content"]), "a type for each key", place)
    return full


def _check_file(node: dict[str, Any], members: Mapping[str, bytes], owners: dict[str, int]) -> None:
    """Raise unless an array is stored in order, and belongs to this node alone: it would be read once for each."""
    file = node["file"]
    check(isinstance(file, str) and file in members, "an array that is in the file", file)
    check(owners.setdefault(file, node["__id__"]) == node["__id__"], "an array that is used once", file)
    shape = _read_header(members[file])
    scalar = f"{node.get('__module__')}.{node.get('__class__')}" in SCALARS
    check(not scalar or shape == (), "a single number", shape)


def _read_header(content: bytes) -> tuple[int, ...]:
    """Return the shape of a stored array, whose bytes have to be as many as its shape and type say."""
    dtype, shape, start = read_npy_header(content, "model")
    check(dtype.kind in "biufU" and dtype.itemsize < 2**20, "an array of numbers or texts", dtype)
    check(len(shape) <= 8 and all(0 <= n <= LONGEST_AXIS for n in shape), "a shape", shape)
    # An array without numbers may have an axis of any length, and what is computed from it would be huge.
    check(math.prod(shape) or max(shape, default=0) <= len(content) + 2**20, "a shape", shape)
    expected = start + math.prod(shape) * dtype.itemsize
    check(expected == len(content), f"{expected} bytes of an array", len(content))
    return shape


def _check_parts(parts: Any) -> dict[str, Any]:
    """Raise unless these are values by short names."""
    if not isinstance(parts, Mapping):
        raise InputError(f"parts: expected a dictionary of values, got {type(parts).__name__}.")
    for name in parts:
        if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= LONGEST_NAME:
            raise InputError(f"parts: expected short texts as names, got {name!r:.60}.")
    return dict(parts)
