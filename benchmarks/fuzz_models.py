"""``python -m benchmarks.fuzz_models``: mutated model files, each opened once, and what came of it.

Some mutations change bytes, and the checksum finds them. Others are made by an enemy who can compute a checksum: the
text, the shapes, types and values of arrays are changed and the file is sealed again. A file has to be refused in one
sentence, or be a model that answers. An audit hook counts every attempt to run something, to write or to unpickle.
"""

from __future__ import annotations

import argparse
import copy
import io
import os
import pickle
import resource
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
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import isthmus
from isthmus.controls import Corrupted, TargetOnly
from isthmus.exceptions import InputError
from isthmus.files.container import Container, content, parsed

MOST_SECONDS, MOST_BYTES = 1.0, 200 * 2**20
FORBIDDEN = ("exec", "compile", "import", "os.system", "subprocess.Popen", "pickle.find_class", "socket.connect")
Random = np.random.Generator


class Evil:
    """What runs when it is unpickled."""

    def __reduce__(self) -> Any:
        return os.system, ("echo run",)


WORDS = ["", "MLHD", "Corrupted", "os.system", "../../etc/passwd", "model", "nan", "\x00", "x" * 5000, "linear"]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 3, 2**31, 2**62, -(2**70), 10**400, 0.5, -0.0, 1e308, 5e-324),
    *([], {}, [[]], {"is": "MLHD"}, {"object": {"is": "Pipeline"}}, {"tuple": [1]}, {"float": "nan"}),
    *(
        {"is": "skops", "type": "os.system", "content": "x"},
        {"function": "eval"},
        {"array": "x", "turned": True, "step": 2**39},
        *WORDS,
    ),
]


def models() -> dict[str, Any]:
    """Small fitted systems that have all kinds of parts between them."""
    rng = np.random.default_rng(100)
    y = np.arange(18) % 3
    A, B = rng.normal(size=(18, 4)) + y[:, None], rng.normal(size=(18, 3)) - y[:, None]
    names, some = np.array(["a", "b", "c"])[y], np.where(np.arange(18) < 12, np.array(["a", "b", "c"])[y], None)
    texts = [f"word{k} and {name}" for k, name in enumerate(names)]
    transformers = {"source_transformer": StandardScaler(), "target_transformer": make_pipeline(TfidfVectorizer())}
    encoded = {"source_transformer": OneHotEncoder(handle_unknown="ignore")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "mlhd": isthmus.MLHD("rbf", "linear", rule="linear").fit(A, names, B, some),
            "cca": isthmus.CCA(**transformers).fit(A, names, texts, names),
            "ridge": isthmus.RidgeMap(**encoded).fit(A.round(), None, sp.csr_array(B), None, pairs="rows"),
            "label-transfer": isthmus.LabelTransfer().fit(A, names, B, some),
            "semantic": isthmus.SemanticMatching(n_folds=None).fit(A, names, B, some),
            "corrupted": Corrupted(isthmus.ARC(), random_state=0).fit(A, names, B, some),
            "nearest": TargetOnly().fit(A, y, B, y),
        }


def files(folder: Path) -> dict[str, bytes]:
    """The bytes of their files."""
    found = {}
    for name, model in models().items():
        isthmus.save(model, folder / name, parts={"source": ({"columns": ["a"]}, {"mean": np.zeros(3)})})
        found[name] = (folder / name).read_bytes()
    return found


def _flipped(raw: bytes, rng: Random) -> bytes:
    changed = bytearray(raw)
    for place in rng.integers(len(raw), size=rng.integers(1, 9)):
        changed[place] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _truncated(raw: bytes, rng: Random) -> bytes:
    return raw[: int(rng.integers(len(raw)))]


def _spliced(raw: bytes, rng: Random) -> bytes:
    a, b, c = np.sort(rng.integers(len(raw), size=3))
    return [raw[:a] + raw[b:], raw[:b] + raw[a:], raw[:a] + raw[b:c] + raw[a:b] + raw[c:]][int(rng.integers(3))]


def _resized(raw: bytes, rng: Random) -> bytes:
    """The length of the header says something else."""
    claims = [0, 1, len(raw), len(raw) - 8, 2**24, 2**32, 2**63, 2**64 - 1, int(rng.integers(2**63))]
    return int(claims[int(rng.integers(len(claims)))]).to_bytes(8, "little") + raw[8:]


def _foreign(raw: bytes, rng: Random) -> bytes:
    """Another kind of file: pickles of several kinds, text, arrays, noise."""
    pickles = [pickle.dumps(Evil(), protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    objects = io.BytesIO()
    np.save(objects, np.array([Evil()], dtype=object), allow_pickle=True)
    kinds = [pickles[int(rng.integers(len(pickles)))], objects.getvalue(), b"", b"\0" * 64]
    kinds += [
        b"{" * int(rng.integers(1, 5000)),
        b"\x93NUMPY\x01\x00" + raw[:200],
        rng.bytes(int(rng.integers(1, 2000))),
    ]
    return kinds[int(rng.integers(len(kinds)))]


def _zipped(names: dict[str, bytes]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in names.items():
            file.writestr(name, content)
    return archive.getvalue()


def _tarred(names: dict[str, bytes]) -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as file:
        for name, content in names.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            file.addfile(entry, io.BytesIO(content))
    return archive.getvalue()


def _nested(raw: bytes, rng: Random) -> bytes:
    """Archives in archives, with names that climb, around models, pickles or much of nothing."""
    inner = [raw, b"\0" * 10**6, pickle.dumps(Evil())][int(rng.integers(3))]
    for _ in range(int(rng.integers(1, 6))):
        pack = _zipped if rng.random() < 0.7 else _tarred
        inner = pack({"../../evil.npy": pickle.dumps(Evil()), "about.npy": inner, "/etc/model": b"x"})
    return raw + inner if rng.random() < 0.2 else inner


def _nodes(node: Any, found: list[tuple[Any, Any]] | None = None) -> list[tuple[Any, Any]]:
    """Every place in a text: what it is in, and under which name."""
    found = [] if found is None else found
    entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in entries:
        found.append((node, key))
        _nodes(value, found)
    return found


def _other_text(box: Container, rng: Random) -> Container:
    about = copy.deepcopy(box.about)
    for _ in range(int(rng.integers(1, 4))):
        places = _nodes(about)
        owner, key = places[int(rng.integers(len(places)))]
        other, name = places[int(rng.integers(len(places)))]
        action = int(rng.integers(5))
        if action == 0:
            del owner[key]
        elif action == 1:
            owner[key] = copy.deepcopy(other[name])
        elif action == 2 and isinstance(owner, dict):
            owner[WORDS[int(rng.integers(len(WORDS)))]] = owner.pop(key)
        else:
            owner[key] = VALUES[int(rng.integers(len(VALUES)))]
    return Container(about, box.arrays)


def _other_array(box: Container, rng: Random) -> Container:
    name = list(box.arrays)[int(rng.integers(len(box.arrays)))]
    array = box.arrays[name]
    changes: list[Callable[[], Any]] = [
        lambda: array[:-1],
        lambda: np.concatenate([array, array]),
        lambda: array[..., None],
        lambda: array.reshape(-1),
        lambda: array.T,
        lambda: np.zeros((0, *array.shape[1:]), array.dtype),
        lambda: array.astype([np.float32, np.int64, np.uint8, bool][int(rng.integers(4))]),
        lambda: np.full_like(array, np.nan) if array.dtype.kind == "f" else array,
        lambda: np.where(rng.random(array.shape) < 0.1, np.inf, array),
        lambda: array * 1e300 if array.dtype.kind == "f" else array - 2**40,
        lambda: rng.permutation(array.reshape(-1)).reshape(array.shape),
        lambda: np.zeros((0, 2**40), array.dtype),
        lambda: np.zeros((2**12, 2**8), np.uint8),
    ]
    with np.errstate(all="ignore"):
        made = changes[int(rng.integers(len(changes)))]()
    return Container(box.about, {**box.arrays, name: np.ascontiguousarray(made)})


CLIMBING = [
    "../../evil",
    "/etc/passwd",
    "..",
    "model/../../evil",
    "C:\\evil",
    "\\\\host\\share",
    "a\x00b",
    "/dev/zero",
    "~/evil",
]


def _climbing(box: Container, rng: Random) -> Container:
    """Arrays under names that are paths, and the text that asks for these; a pickle as the bytes of one."""
    old = list(box.arrays)[int(rng.integers(len(box.arrays)))]
    new = CLIMBING[int(rng.integers(len(CLIMBING)))]
    about = copy.deepcopy(box.about)
    if rng.random() < 0.7:
        for owner, key in _nodes(about):
            if owner[key] == old:
                owner[key] = new
    arrays = {(new if name == old else name): array for name, array in box.arrays.items()}
    if rng.random() < 0.3:
        arrays[new] = np.frombuffer(pickle.dumps(Evil()), np.uint8)
    return Container(about, arrays)


def _deep(box: Container, rng: Random) -> Container:
    node: Any = 1
    for _ in range(int(rng.integers(20, 300))):
        node = [node] if rng.random() < 0.5 else {"tuple": [node]}
    about = copy.deepcopy(box.about)
    places = _nodes(about)
    owner, key = places[int(rng.integers(len(places)))]
    owner[key] = node
    return Container(about, box.arrays)


RAW = {
    "flips": _flipped,
    "truncated": _truncated,
    "spliced": _spliced,
    "resized": _resized,
    "foreign": _foreign,
    "nested": _nested,
}
SEALED = {"text": _other_text, "array": _other_array, "paths": _climbing, "deep": _deep}
KINDS = (*RAW, *SEALED)


def mutated(raw: bytes, kind: str, rng: Random) -> bytes:
    """One mutation of a file."""
    return RAW[kind](raw, rng) if kind in RAW else content(SEALED[kind](parsed(raw), rng))


@dataclass
class Outcome:
    """What came of all files."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    slowest: float = 0.0
    """Processor seconds."""
    longest: float = 0.0
    """Seconds on the clock, with whatever else the machine did."""
    events: list[str] = field(default_factory=list)
    peak: int = 0

    @property
    def right(self) -> bool:
        """Whether nothing happened that must not."""
        return not self.wrong and not self.events and self.slowest < MOST_SECONDS and self.peak < MOST_BYTES


def fuzzed(count: int, folder: Path, seed: int = 100) -> Outcome:
    """Open so many mutated files."""
    originals, rng, found = list(files(folder).values()), np.random.default_rng(seed), Outcome()
    path, watching = folder / "mutant", [False]
    for raw in originals:  # whatever is imported late is imported now
        path.write_bytes(raw)
        isthmus.load(path)
    isthmus.save(isthmus.migrate(np.eye(20, 3), np.eye(20, 3)), path)
    isthmus.load(path)
    repr(StandardScaler())  # for messages: scikit-learn imports its printer when it prints for the first time

    def heard(event: str, arguments: Any) -> None:
        written = event == "open" and isinstance(arguments[1], str) and any(c in arguments[1] for c in "wax+")
        if watching[0] and (event in FORBIDDEN or written):
            found.events.append(f"{event} {arguments!r:.80}")

    sys.addaudithook(heard)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        try:
            mutant = mutated(originals[int(rng.integers(len(originals)))], kind, rng)
        except (ValueError, OverflowError):  # of numbers that have no such type
            found.counts[kind, "not made"] += 1
            continue
        path.write_bytes(mutant)
        started, since, watching[0] = time.process_time(), time.perf_counter(), True
        try:
            isthmus.load(path)
            found.counts[kind, "a model"] += 1
        except InputError as error:
            found.counts[kind, "refused"] += 1
            if not str(error).isprintable() or not str(error).startswith(f"{path}: expected "):
                found.wrong.append(f"{kind}: {error!r:.200}")
        except Exception as error:
            found.wrong.append(f"{kind}: {error!r:.200}")
        finally:
            watching[0] = False
        found.slowest = max(found.slowest, time.process_time() - started)
        found.longest = max(found.longest, time.perf_counter() - since)
    found.peak = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    return found


def main() -> int:
    """Fuzz, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=100)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = fuzzed(args.count, Path(folder), args.seed)
    for (kind, what), n in sorted(found.counts.items()):
        print(f"{kind:10} {what:10} {n:7}")
    print(
        f"slowest {found.slowest:.3f} s of the processor, {found.longest:.3f} s on the clock, "
        f"memory {found.peak / 2**20:.0f} MB more than before"
    )
    print(f"{len(found.events)} events {found.events[:5]}, {len(found.wrong)} wrong")
    print("\n".join(found.wrong[:20]))
    return 0 if found.right else 1


if __name__ == "__main__":
    sys.exit(main())
