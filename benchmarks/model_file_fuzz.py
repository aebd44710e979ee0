"""``python -m benchmarks.model_file_fuzz``: mutated model files, each opened once in a worker process.

A file has to be refused in one sentence, or be a model that answers for the rows it was fitted to. Some mutations
change bytes or members of the archive; others are made by somebody who writes valid checksums ("sealed"): nodes of
the schema, parameters, arrays. An audit hook counts every attempt to run, import, unpickle or write something.
"""

from __future__ import annotations

import argparse
import copy
import io
import json
import os
import pickle
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import isthmus
from isthmus.estimators.controls import Corrupted, TargetOnly
from isthmus.exceptions import InputError
from isthmus.io.model_file import ABOUT, SCHEMA, _archive, load_parts
from isthmus.io.tables.features import Features
from isthmus.io.tables.plan import Plan
from isthmus.io.tables.table import Table

MOST_SECONDS, MOST_BYTES = 1.0, 300 * 2**20
FORBIDDEN = ("exec", "compile", "import", "os.system", "subprocess.Popen", "pickle.find_class", "socket.connect")
Random = np.random.Generator
Members = dict[str, bytes]


class Evil:
    """What runs when it is unpickled."""

    def __reduce__(self) -> Any:
        return os.system, ("echo run",)


WORDS = ["", "MLHD", "os.system", "../../etc/passwd", "model", "nan", "\x00", "x" * 5000, "linear", "precomputed"]
NUMBERS = [0, 1, -1, 3, 2**31, 10**9, 2**62, -(2**70), 10**400, 0.5, -0.0, 1e308, 5e-324]
VALUES: list[Any] = [None, True, False, *NUMBERS, [], {}, [[]], *WORDS, {"__id__": 3}]
CONTENTS = [
    "null",
    "true",
    "0",
    "-1",
    "1000000000",
    "9" * 5000,
    "1e999",
    "NaN",
    '"x"',
    '"linear"',
    "[]",
    "{}",
    "[" * 5000,
    "",
]
LOADERS = ["DictNode", "ListNode", "TupleNode", "SetNode", "JsonNode", "NdArrayNode", "ObjectNode", "TypeNode"]
LOADERS += ["FunctionNode", "PartialNode", "MethodNode", "OperatorFuncNode", "ConstructorFromReduceNode", "TreeNode"]
LOADERS += [
    "SparseMatrixNode",
    "RandomGeneratorNode",
    "BytesNode",
    "CachedNode",
    "DTypeNode",
    "SliceNode",
    "LossNode",
]
TYPES = [
    "os.system",
    "builtins.eval",
    "builtins.exec",
    "builtins.list",
    "builtins.dict",
    "subprocess.Popen",
    "numpy.load",
]
TYPES += [
    "numpy.void",
    "numpy.float64",
    "numpy.tanh",
    "isthmus.geometry.kernels.RBF",
    "isthmus.cli.main",
    "functools.partial",
]
TYPES += [
    "isthmus.estimators.mlhd.MLHD",
    "sklearn.pipeline.Pipeline",
    "sklearn.tree._tree.Tree",
    "operator.call",
]
PATHS = [
    "../../evil",
    "/etc/passwd",
    "..",
    "parts/../../evil.npy",
    "C:\\evil",
    "\\\\host\\share",
    "/dev/zero",
    "~/evil",
    "0.npz",
]


@dataclass(frozen=True)
class Case:
    """A model, and rows of both domains that it answers for."""

    model: Any
    source: Any
    target: Any
    parts: dict[str, Any] = field(default_factory=dict)
    table: Any = None
    """Rows that the features among the parts answer for."""


def features_case() -> Case:
    """Fit a model to features of a table that has columns of all kinds, as ``isthmus fit`` does."""
    rng = np.random.default_rng(100)
    words = [f"word{k % 7} and more{k % 5}" for k in range(24)]
    days = [f"2024-05-{1 + k:02d}" for k in range(24)]
    numbers = {f"number {j}": [None if k == j else k * j % 17 / 3 for k in range(24)] for j in range(20)}
    kinds = {f"kind {j}": [f"k{(k + j) % 3}" for k in range(24)] for j in range(18)}
    table = Table.of(
        {"day": days, "text": words, "title": words[::-1], "M": rng.normal(size=(24, 3)), **numbers, **kinds}
    )
    features = Features.fit(Plan.of(table, text=["text", "title"]), table)
    text = Table.of({"text": words})
    texts = Features.fit(Plan.of(text, text="text"), text)
    X, Y = features.transform(table), texts.transform(text)
    model = isthmus.RidgeMap().fit(X, None, Y, None, pairs="rows")
    return Case(
        model,
        X,
        Y,
        {"source": features, "target": texts, "fit": {"system": "ridge", "trace": np.zeros((2, 4))}},
        table,
    )


def cases() -> dict[str, Case]:
    """Fit small systems that have all kinds of values between them."""
    rng = np.random.default_rng(100)
    y = np.arange(18) % 3
    A, B = rng.normal(size=(18, 4)) + y[:, None], rng.normal(size=(18, 3)) - y[:, None]
    names, some = np.array(["a", "b", "c"])[y], np.where(np.arange(18) < 12, np.array(["a", "b", "c"])[y], None)
    texts = [f"word{k} and {name}" for k, name in enumerate(names)]
    frame = pd.DataFrame({"length": A[:, 0], "kind": names[::-1], "text": texts})
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(FunctionTransformer(np.tanh), StandardScaler()), ["length"]),
            ("kinds", OneHotEncoder(handle_unknown="ignore", drop="first"), ["kind"]),
            ("text", TfidfVectorizer(ngram_range=(1, 2)), "text"),
        ]
    )
    transformers = {"source_transformer": StandardScaler(), "target_transformer": make_pipeline(TfidfVectorizer())}
    encoded = {"source_transformer": OneHotEncoder(handle_unknown="ignore")}
    sparse = sp.csr_array(B)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "mlhd": Case(isthmus.MLHD("rbf", "linear", rule="linear").fit(A, names, B, some), A, B),
            "nearest": Case(isthmus.MLHD().fit(A, names, B, some), A, B),
            "cca": Case(isthmus.CCA(**transformers).fit(A, names, texts, names), A, texts),
            "frames": Case(isthmus.CCA(source_transformer=columns).fit(frame, names, B, names), frame, B),
            "ridge": Case(
                isthmus.RidgeMap(**encoded).fit(A.round(), None, sparse, None, pairs="rows"), A.round(), sparse
            ),
            "label-transfer": Case(isthmus.LabelTransfer().fit(A, names, B, some), A, B),
            "semantic": Case(isthmus.SemanticMatching().fit(A, names, B, some), A, B),
            "corrupted": Case(Corrupted(isthmus.ARC(), random_state=0).fit(A, names, B, some), A, B),
            "target 1-NN": Case(TargetOnly().fit(A, y, B, y), None, B),
            "tables": features_case(),
        }


def files(folder: Path, found: dict[str, Case]) -> dict[str, bytes]:
    """Return the bytes of their files."""
    contents = {}
    for name, case in found.items():
        isthmus.save(case.model, folder / "model", parts=case.parts)
        contents[name] = (folder / "model").read_bytes()
    return contents


def members_of(raw: bytes) -> Members:
    """Return the members of an archive."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def one(values: Any, rng: Random) -> Any:
    """Return one of several values."""
    return values[int(rng.integers(len(values)))]


def _flip(raw: bytes, rng: Random) -> bytes:
    changed = bytearray(raw)
    for place in rng.integers(len(raw), size=rng.integers(1, 9)):
        changed[place] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _truncate(raw: bytes, rng: Random) -> bytes:
    return raw[: int(rng.integers(len(raw)))]


def _splice(raw: bytes, rng: Random) -> bytes:
    a, b, c = np.sort(rng.integers(len(raw), size=3))
    return one([raw[:a] + raw[b:], raw[:b] + raw[a:], raw[:a] + raw[b:c] + raw[a:b] + raw[c:]], rng)


def _resize(raw: bytes, rng: Random) -> bytes:
    """Let a record of the archive declare another size, place or method."""
    mark, fields = one(
        [
            (b"PK\x01\x02", (10, 16, 20, 24, 28, 42)),
            (b"PK\x05\x06", (8, 10, 12, 16)),
            (b"PK\x03\x04", (8, 14, 18, 22, 26)),
        ],
        rng,
    )
    places = [k for k in range(len(raw)) if raw.startswith(mark, k)] if mark != b"PK\x05\x06" else [raw.rfind(mark)]
    start = one(places, rng) + one(fields, rng)
    claim = int(one([0, 1, 8, 2**16 - 1, 2**31, 2**32 - 1, int(rng.integers(2**32))], rng))
    return raw[:start] + claim.to_bytes(4, "little") + raw[start + 4 :]


def _foreign(raw: bytes, rng: Random) -> bytes:
    """Return another kind of file: pickles, arrays of objects, text, noise."""
    objects = io.BytesIO()
    np.save(objects, np.array([Evil()], dtype=object), allow_pickle=True)
    kinds = [pickle.dumps(Evil(), int(rng.integers(6))), objects.getvalue(), b"", b"\0" * 64]
    kinds += [
        b"{" * int(rng.integers(1, 5000)),
        b"\x93NUMPY\x01\x00" + raw[:200],
        rng.bytes(int(rng.integers(1, 2000))),
    ]
    return one(kinds, rng)


def _zip(names: Members, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, content in names.items():
            file.writestr(name, content)
    return buffer.getvalue()


def _tar(names: Members) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as file:
        for name, content in names.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            file.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _nest(raw: bytes, rng: Random) -> bytes:
    """Return archives in archives, with names that climb, around models, pickles or zeros."""
    inner = one([raw, b"\0" * 10**6, pickle.dumps(Evil())], rng)
    for _ in range(int(rng.integers(1, 6))):
        pack = _zip if rng.random() < 0.7 else _tar
        inner = pack({"../../evil.npy": pickle.dumps(Evil()), SCHEMA: inner, "/etc/model": b"x"})
    return raw + inner if rng.random() < 0.2 else inner


def _bomb(raw: bytes, rng: Random) -> bytes:
    """Return an archive whose members are compressed, repeated or huge when unpacked."""
    members = members_of(raw)
    name = one([*members], rng)
    action = int(rng.integers(3))
    if action == 0:
        return _zip(members | {name: b"\0" * 2**24})
    if action == 1:
        return _zip(members, zipfile.ZIP_LZMA if rng.random() < 0.5 else zipfile.ZIP_BZIP2)
    buffer = io.BytesIO(raw)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(buffer, "a") as archive:
            archive.writestr(name, pickle.dumps(Evil()))
    return buffer.getvalue()


def nodes(value: Any, found: list[tuple[Any, Any]] | None = None) -> list[tuple[Any, Any]]:
    """Return every place in a text: what it is in, and its key."""
    found = [] if found is None else found
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        found.append((value, key))
        nodes(item, found)
    return found


def _edit_text(members: Members, rng: Random) -> Members:
    """Change any values of the summary or the schema."""
    name = SCHEMA if rng.random() < 0.85 else ABOUT
    text = json.loads(members[name])
    for _ in range(int(rng.integers(1, 4))):
        places = nodes(text)
        if not places:
            break
        (owner, key), (other, label), action = one(places, rng), one(places, rng), int(rng.integers(5))
        if action == 0:
            del owner[key]
        elif action == 1:
            owner[key] = copy.deepcopy(other[label])
        elif action == 2 and isinstance(owner, dict):
            owner[one(WORDS, rng)] = owner.pop(key)
        else:
            owner[key] = one(VALUES, rng)
    return members | {name: json.dumps(text).encode()}


def _edit_parameters(members: Members, rng: Random) -> Members:
    """Change plain values of objects, wherever the same node occurs."""
    schema = json.loads(members[SCHEMA])
    plain = [owner[key] for owner, key in nodes(schema) if isinstance(owner[key], dict) and owner[key].get("is_json")]
    for _ in range(int(rng.integers(1, 3))):
        number, content = one(plain, rng)["__id__"], one(CONTENTS, rng)
        for node in plain:
            if node["__id__"] == number:
                node["content"] = content
    return members | {SCHEMA: json.dumps(schema).encode()}


def _edit_types(members: Members, rng: Random) -> Members:
    """Let nodes be of other types, loaders or numbers."""
    schema = json.loads(members[SCHEMA])
    known = [
        owner[key] for owner, key in nodes(schema) if isinstance(owner[key], dict) and "__loader__" in owner[key]
    ]
    for _ in range(int(rng.integers(1, 3))):
        node, action = one(known, rng), int(rng.integers(5))
        if action in (0, 1):
            node["__module__"], node["__class__"] = one(TYPES, rng).rsplit(".", 1)
        if action in (1, 2):
            node["__loader__"] = one(LOADERS, rng)
        if action == 3:
            node["__id__"] = one(known, rng)["__id__"]
        if action == 4:
            other = one(known, rng)
            node["__module__"], node["__class__"] = other["__module__"], other["__class__"]
    return members | {SCHEMA: json.dumps(schema).encode()}


def _edit_array(members: Members, rng: Random) -> Members:
    name = one([name for name in members if name.endswith(".npy")], rng)
    array = np.load(io.BytesIO(members[name]))
    changes: list[Callable[[], Any]] = [
        lambda: array[:-1],
        lambda: np.concatenate([array, array]),
        lambda: array[..., None],
        lambda: array.reshape(-1),
        lambda: array.T,
        lambda: np.zeros((0, *array.shape[1:]), array.dtype),
        lambda: array.astype(one([np.float32, np.int64, np.uint8, bool, "U3"], rng)),
        lambda: np.full_like(array, np.nan) if array.dtype.kind == "f" else array,
        lambda: np.where(rng.random(array.shape) < 0.1, np.inf, array),
        lambda: array * 1e300 if array.dtype.kind == "f" else array - 2**40,
        lambda: rng.permutation(array.reshape(-1)).reshape(array.shape),
        lambda: np.zeros((0, 2**40), array.dtype),
        lambda: np.zeros((2**12, 2**8), np.uint8),
    ]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = one(changes, rng)()
    buffer = io.BytesIO()
    np.save(buffer, made)
    return members | {name: buffer.getvalue()}


def _edit_header(members: Members, rng: Random) -> Members:
    """Let an array claim another shape or type: huge, negative, of objects."""
    name = one([name for name in members if name.endswith(".npy")], rng)
    content = members[name]
    shape = one(
        ["(1000000000000,)", "(2147483647, 2147483647)", "(-1,)", "(0, 99999999999)", "()", "(3,)", "(True,)"], rng
    )
    kind = one(["<f8", "|O", "<U1000000", "|V8", "<c16", "<M8[s]", ">f8", "|S0"], rng)
    header = (
        f"{{'descr': '{kind}', 'fortran_order': {one(['True', 'False'], rng)}, 'shape': {shape}, }}".ljust(
            117
        ).encode()
        + b"\n"
    )
    made = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content[128:]
    return members | {name: made if rng.random() < 0.8 else pickle.dumps(np.array([Evil()], dtype=object))}


def _edit_names(members: Members, rng: Random) -> Members:
    """Give a member a name that is a path, and let the schema ask for it."""
    old, new = one([name for name in members if name.endswith(".npy")], rng), one(PATHS, rng)
    found = {(new if name == old else name): content for name, content in members.items()}
    if rng.random() < 0.7:
        for text in (SCHEMA, ABOUT):
            found[text] = found[text].replace(json.dumps(old).encode(), json.dumps(new).encode())
    if rng.random() < 0.3:
        found[new] = pickle.dumps(Evil())
    return found


def _deepen(members: Members, rng: Random) -> Members:
    schema = json.loads(members[SCHEMA])
    owner, key = one(nodes(schema), rng)
    node = copy.deepcopy(owner[key])
    for k in range(int(rng.integers(20, 300))):
        kind = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "__id__": 10**6 + k}
        node = {
            **kind,
            "content": [node, {"__id__": node["__id__"]}] if isinstance(node, dict) and "__id__" in node else [node],
        }
    owner[key] = node
    return members | {SCHEMA: json.dumps(schema).encode()}


RAW = {
    "bits": _flip,
    "truncation": _truncate,
    "splices": _splice,
    "declared sizes": _resize,
    "foreign files": _foreign,
    "nested archives": _nest,
    "compressed and repeated members": _bomb,
}
SEALED = {
    "sealed: text": _edit_text,
    "sealed: parameters": _edit_parameters,
    "sealed: types": _edit_types,
    "sealed: arrays": _edit_array,
    "sealed: headers": _edit_header,
    "sealed: paths": _edit_names,
    "sealed: depth": _deepen,
}
KINDS = (*RAW, *SEALED)


def mutate(raw: bytes, kind: str, rng: Random) -> bytes:
    """Return one mutation of a file."""
    return RAW[kind](raw, rng) if kind in RAW else _archive(SEALED[kind](members_of(raw), rng))


@dataclass
class Outcome:
    """What came of all files."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    slowest: float = 0.0
    """Processor seconds of one file."""
    peak: int = 0
    """Bytes of the process, with Python and all libraries."""

    def add(self, other: dict[str, Any]) -> None:
        """Add what another process found."""
        self.counts.update(other["counts"])
        self.wrong += other["wrong"]
        self.events += other["events"]
        self.slowest, self.peak = max(self.slowest, other["slowest"]), max(self.peak, other["peak"])

    @property
    def right(self) -> bool:
        """Return whether nothing happened that must not."""
        return not self.wrong and not self.events and self.slowest < MOST_SECONDS and self.peak < MOST_BYTES


def ask(path: Path, case: Case) -> str:
    """Return whether the model of a file answers for its rows, or refuses them in one sentence; features likewise."""
    model, parts = isthmus.load(path), load_parts(path)
    try:
        for features in parts.values():
            if isinstance(features, Features):
                features.plan_lines(), features.plan.to_toml()
                features.transform(case.table)
        for domain, X in (("source", case.source), ("target", case.target)):
            if X is not None:
                model.transform(X, domain)
        if len(model.classes_):
            model.predict(case.target)
    except InputError:
        return "refuses its rows"
    return "answers"


def fuzz(numbers: range, folder: Path, seed: int = 100, *, current: Path | None = None) -> Outcome:
    """Open mutated files, each made from its number alone."""
    known, found = cases(), Outcome()
    originals = files(folder, known)
    path, watching = folder / "mutant", [False]
    for name, raw in originals.items():  # whatever is imported late is imported now
        path.write_bytes(raw)
        assert ask(path, known[name]) == "answers"
    isthmus.save(isthmus.migrate(np.eye(20, 3), np.eye(20, 3)), path)
    isthmus.load(path)
    repr(StandardScaler())

    def heard(event: str, arguments: Any) -> None:
        written = event == "open" and isinstance(arguments[1], str) and any(c in arguments[1] for c in "wax+")
        # NumPy parses the header of an array as a literal, which compiles to a tree and is not run.
        literal = event == "compile" and arguments[1] == "<unknown>" and arguments[0][:1] in (b"{", "{")
        if watching[0] and not literal and (event in FORBIDDEN or written):
            found.events.append(f"{event} {arguments!r:.80}")

    sys.addaudithook(heard)
    for number in numbers:
        rng = np.random.default_rng([seed, number])
        kind, name = KINDS[number % len(KINDS)], one([*originals], rng)
        try:
            mutant = mutate(originals[name], kind, rng)
        except (ValueError, OverflowError, TypeError, IndexError):  # of arrays that have no such change
            found.counts[f"{kind}|not made"] += 1
            continue
        path.write_bytes(mutant)
        if current is not None:
            current.write_text(f"{number} {kind} {name}")
        started, watching[0] = time.process_time(), True
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.counts[f"{kind}|{ask(path, known[name])}"] += 1
        except InputError as error:
            found.counts[f"{kind}|refused"] += 1
            if not str(error).isprintable() or not str(error).startswith(f"{path}: expected "):
                found.wrong.append(f"{number} {kind} {name}: {error!r:.200}")
        except Exception as error:
            found.wrong.append(f"{number} {kind} {name}: {error!r:.200}")
        finally:
            watching[0] = False
        taken = time.process_time() - started
        if taken > MOST_SECONDS:
            found.wrong.append(f"{number} {kind} {name}: {taken:.2f} s")
        found.slowest = max(found.slowest, taken)
    found.peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found


def run_workers(count: int, chunk: int, seed: int) -> Outcome:
    """Fuzz in one process after another; one that dies or hangs is an event, and names its file."""
    found = Outcome()
    with tempfile.TemporaryDirectory() as folder:
        current = Path(folder) / "current"
        for start in range(0, count, chunk):
            command = [
                sys.executable,
                "-m",
                "benchmarks.model_file_fuzz",
                "--worker",
                str(start),
                str(min(start + chunk, count)),
                folder,
            ]
            try:
                done = subprocess.run(
                    [*command, "--seed", str(seed)], stdout=subprocess.PIPE, timeout=chunk, check=False
                )
                found.add(
                    json.loads(done.stdout)
                    if done.returncode == 0
                    else {**vars(Outcome()), "wrong": [f"died with {done.returncode}: {current.read_text()}"]}
                )
            except subprocess.TimeoutExpired:
                found.wrong.append(f"hung: {current.read_text()}")
            print("\n".join(found.wrong[-10:]), file=sys.stderr)
            print(
                f"{min(start + chunk, count)} files, {len(found.wrong)} wrong, {len(found.events)} events",
                file=sys.stderr,
                flush=True,
            )
    return found


def main() -> int:
    """Fuzz, and print a table of what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--chunk", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--worker", nargs=3, metavar=("START", "STOP", "FOLDER"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        start, stop, folder = args.worker
        with tempfile.TemporaryDirectory(dir=folder) as own:
            found = fuzz(range(int(start), int(stop)), Path(own), args.seed, current=Path(folder) / "current")
        print(json.dumps(vars(found)))
        return 0
    found = run_workers(args.count, args.chunk, args.seed)
    print("| mutation | refused in one sentence | a model that answers | a model that refuses its rows |")
    print("|---|---|---|---|")
    for kind in KINDS:
        row = [found.counts[f"{kind}|{what}"] for what in ("refused", "answers", "refuses its rows")]
        print(f"| {kind} | " + " | ".join(f"{n:,}" for n in row) + " |")
    print(f"\nslowest {found.slowest:.3f} s of the processor, process at most {found.peak / 2**20:.0f} MB")
    print(f"{len(found.events)} events {found.events[:5]}, {len(found.wrong)} wrong")
    print("\n".join(found.wrong[:30]))
    return 0 if found.right else 1


if __name__ == "__main__":
    sys.exit(main())
