"""A store's vectors under a new model: sampled, written beside, verified, swapped, and put back.

What is done is in a manifest next to the adapter, from before the first row is written. The index changes at one
moment, the swap; whenever the work stops before, the old index answers as it did, and the work can be resumed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import numpy as np

from isthmus._core.files import open_regular, show_path, write_whole
from isthmus._core.progress import Progress
from isthmus._core.validation import FloatArray, IntArray
from isthmus.evidence.held_out import NEAR, inner_products, unit_rows
from isthmus.exceptions import InputError, IsthmusError
from isthmus.stores.store import (
    BLOCK,
    STAGED,
    Beside,
    Block,
    Columns,
    StagedVectors,
    Store,
    VersionedStore,
    as_vectors,
    check_fingerprint,
    fingerprint,
    open_store,
)
from isthmus.stores.vector_files import VectorFile
from isthmus.tasks.migration.options import BRIDGE, CONVERT, MOST_QUERIES, nearest_places

FORMAT, VERSION = "isthmus migration", 1
MANIFEST = "manifest.json"
# The action that embeds some rows and converts the others; the file of these rows, and of the sample.
SOME, SAMPLE = "progressive", "sample.npz"
UNCHANGED = "the old index is unchanged"
WRITING, VERIFIED, DONE, BACK = "writing", "verified", "applied", "rolled back"
# Rows of the index that held-out rows are searched among, and blocks that are read again to verify.
GALLERY, CHECKED = 20_000, 8
# The most queries that recall is measured again by.
SEARCHES = 200
# Rows of each block whose fingerprint is checked.
CHECKED_ROWS = 100
# Least cosine between a vector that was written and the same one read back: in a cosine collection norms are lost.
SAME = 0.9999
# What is not the fault of a store.
MISTAKES = IsthmusError, TypeError, ValueError, AttributeError, NameError, LookupError, AssertionError, MemoryError
# New vectors of the rows from a place on, given their block.
NewVectors: TypeAlias = Callable[[int, Block], FloatArray]


@dataclass(frozen=True, eq=False)
class Embedding:
    """The new model: a file of vectors in the store's order, a Python function, or a command.

    ``module:function`` takes a list of texts and returns their vectors; a command reads one JSON string per line and
    writes one JSON list per line.
    """

    spec: str
    embed: Callable[[list[str]], Any] | None = None
    rows: Any = None
    # Of one row in the last call; empty before.
    seconds: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, spec: str, n: int) -> Embedding:
        """Return the model of an option ``--embed``, for a store of n rows."""
        if spec.endswith(".npy"):
            with open_regular(spec):
                rows = np.load(spec, mmap_mode="r", allow_pickle=False)
            if rows.ndim != 2 or len(rows) != n:
                raise InputError(f"--embed: expected a vector for each of the {n:,} rows, got shape {rows.shape}.")
            return cls(spec, rows=rows)
        # As `python -m` does: a function of the folder that the command runs in is found.
        sys.path.insert(0, os.getcwd())
        module, colon, name = spec.partition(":")
        if not colon or " " in spec or "/" in spec:
            return cls(spec, lambda texts: _run_command(spec, texts))
        try:
            return cls(spec, getattr(import_module(module), name))
        except (ImportError, AttributeError, ValueError) as error:
            raise InputError(f"--embed: expected module:function, got {spec!r:.60}: {error}.") from None

    def __call__(self, store: Store, start: int, block: Block) -> FloatArray:
        """Return the new vectors of a block whose first row is the store's row ``start``."""
        return self.embed_some(store, start, block, np.arange(len(block.ids)))

    def embed_some(self, store: Store, start: int, block: Block, rows: IntArray) -> FloatArray:
        """Return the new vectors of some rows of a block."""
        if self.embed is None:
            return as_vectors(self.rows[start + rows], "--embed")
        texts = store.texts(block)
        if not any(texts):
            raise InputError("--text: expected texts to embed, found none in some rows; name their column or key.")
        began = time.perf_counter()
        found = as_vectors(self.embed([texts[i] for i in rows]), "--embed")
        if len(found) != len(rows):
            raise InputError(f"--embed: expected {len(rows)} vectors for as many texts, got {len(found)}.")
        self.seconds[:] = [(time.perf_counter() - began) / len(rows)]
        return found


def _run_command(command: str, texts: list[str]) -> Any:
    given = "".join(f"{json.dumps(text)}\n" for text in texts)
    try:
        found = subprocess.run(shlex.split(command), input=given, capture_output=True, text=True, check=True)
        return [json.loads(line) for line in found.stdout.splitlines()]
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        said = str(getattr(error, "stderr", None) or error).strip().splitlines()[-1:]
        raise InputError(f"--embed: the command {command[:60]!r} failed: {''.join(said)[:200]}.") from None


@dataclass(frozen=True, eq=False)
class StoreSample:
    """Some rows of a store in memory: old vectors, and the new ones of the first of them."""

    old: FloatArray
    new: FloatArray
    pairs: IntArray
    ids: tuple[str, ...]
    rows: IntArray

    def save(self, folder: Path, first: Any) -> None:
        """Write the new vectors and their rows, which recall is measured by again, and the rows to embed first."""
        np.savez(folder / SAMPLE, rows=self.rows, new=self.new, first=first)

    def expect(self, action: str, share: float, to_new: Callable[[Any], FloatArray]) -> FloatArray:
        """Return vectors as they will be written."""
        embedded = {CONVERT: 0, SOME: round(share * len(self.new))}.get(action, len(self.new))
        return np.concatenate([self.new[:embedded], to_new(self.old[embedded : len(self.new)])])


def sample_store(
    store: Store, embedding: Embedding, n: int, judged: Sequence[str], seed: int, bar: Progress
) -> StoreSample:
    """Read a random sample of the rows in one pass, and embed n of them, and the judged ones, by the new model.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for name in ("old", "new"):
    ...     np.save(f"{folder}/{name}.npy", np.random.default_rng(0).normal(size=(100, 4)))
    >>> store = open_store(f"{folder}/old.npy")
    >>> sample = sample_store(store, Embedding.of(f"{folder}/new.npy", 100), 30, ["7"], 0, Progress(False, ""))
    >>> len(sample.old), len(sample.new), "7" in [sample.ids[i] for i in sample.pairs[:, 0]]
    (100, 31, True)
    """
    rng, wanted = np.random.default_rng(seed), set(judged)
    order = rng.permutation(store.n)[:GALLERY]
    chosen, kept = np.sort(order[:n]), np.sort(order)
    old, ids, new, paired, rows, start, n_kept = [], [], [], [], [], 0, 0
    for block in store.blocks():
        bar.report(f"reading {start:,} of {store.n:,} rows", start / store.n)
        stop = start + len(block.ids)
        here = kept[np.searchsorted(kept, start) : np.searchsorted(kept, stop)] - start
        embedded = chosen[np.searchsorted(chosen, start) : np.searchsorted(chosen, stop)] - start
        if wanted:
            asked = np.array([i for i, name in enumerate(block.ids) if str(name) in wanted], dtype=np.intp)
            here, embedded = np.union1d(here, asked), np.union1d(embedded, asked)
        old.append(block.vectors[here])
        ids += [str(block.ids[i]) for i in here]
        if len(embedded):
            new.append(embedding.embed_some(store, start, block, embedded))
            paired.append(n_kept + np.searchsorted(here, embedded))
            rows.append(start + embedded)
        start, n_kept = stop, n_kept + len(here)
    pairs = np.c_[np.concatenate(paired), np.arange(sum(map(len, new)))]
    return StoreSample(np.concatenate(old), np.concatenate(new), pairs, tuple(ids), np.concatenate(rows))


def choose_rows(store: Store, queries: FloatArray, share: float, seed: int, bar: Progress) -> IntArray:
    """Return a share of the rows, rising: those that queries of the old model retrieve most, then any.

    Examples
    --------
    >>> import tempfile
    >>> place = f"{tempfile.mkdtemp()}/old.npy"
    >>> np.save(place, np.repeat(np.eye(2), [90, 10], axis=0))
    >>> choose_rows(open_store(place), np.array([[0.1, 0.9]]), 0.1, 0, Progress(False, ""))
    array([90, 91, 92, 93, 94, 95, 96, 97, 98, 99])
    """
    asked, start = unit_rows(queries[:MOST_QUERIES]), 0
    best, rows = np.full((len(asked), NEAR), -np.inf), np.zeros((len(asked), NEAR), dtype=np.intp)
    for block in store.blocks():
        bar.report(f"searching {start:,} of {store.n:,} rows", start / store.n)
        here = np.broadcast_to(np.arange(start, start + len(block.ids)), (len(asked), len(block.ids)))
        scores, places = np.c_[best, inner_products(asked, unit_rows(block.vectors))], np.c_[rows, here]
        top = nearest_places(scores)
        best, rows = (np.take_along_axis(found, top, 1) for found in (scores, places))
        start += len(block.ids)
    counts = np.bincount(rows.ravel(), minlength=store.n) + np.random.default_rng(seed).random(store.n)
    return np.sort(np.argsort(-counts)[: round(share * store.n)])


@dataclass
class Manifest:
    """What is being done to a store: enough to go on with it, or to undo it."""

    store: str
    columns: dict[str, Any]
    action: str
    embed: str
    before: dict[str, Any]
    after: dict[str, Any]
    run: str = field(default_factory=lambda: uuid4().hex[:8])
    state: str = WRITING
    restore: dict[str, Any] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Write the file, whole or not at all."""
        content = {"format": FORMAT, "version": VERSION, **asdict(self)}
        write_whole(folder / MANIFEST, json.dumps(content, indent=2).encode())

    @classmethod
    def load(cls, path: Path) -> Manifest:
        """Read a file, or the one of a folder."""
        path = path / MANIFEST if path.is_dir() else path
        with open_regular(path) as file:
            try:
                content = json.loads(file.read())
                if (content.pop("format"), content.pop("version")) != (FORMAT, VERSION):
                    raise ValueError
                return cls(**content)
            except (ValueError, KeyError, TypeError, AttributeError):
                what = "expected a manifest of `isthmus migrate`, got another file"
                raise InputError(f"{show_path(path)}: {what}.") from None

    def open(self) -> Store:
        """Open the store."""
        return open_store(self.store, Columns(**self.columns))

    @property
    def stamp(self) -> dict[str, Any]:
        """What the metadata of the new index say."""
        return {"run": self.run, "fingerprint": self.after["fingerprint"]}


def plan_migration(
    address: str, columns: Columns, store: Store, action: str, embed: str, sample: StoreSample, vectors: FloatArray
) -> Manifest:
    """Return the manifest of a migration that has not begun; ``vectors`` are some of those that will be written."""
    known = store.read_stamp().get("fingerprint")
    old = known or fingerprint(sample.old, "unknown")
    if known:
        check_fingerprint(known, sample.old, address)
    name = embed if action == "reembed" else f"{embed}, {'in part ' * (action == SOME)}mapped from the old vectors"
    after = old if action == BRIDGE else fingerprint(vectors, name)
    before = {"rows": store.n, "dimension": store.dimension, "fingerprint": old}
    return Manifest(address, asdict(columns), action, embed, before, {"fingerprint": after})


def run_migration(manifest: Manifest, folder: Path, make: NewVectors, bar: Progress, store: Store) -> None:
    """Write the new vectors beside the old ones, verify them, swap; go on where an earlier run has stopped."""
    if manifest.state in (DONE, BACK):
        got = f"expected a migration that has not ended, got one that is {manifest.state}"
        raise InputError(f"{show_path(folder)}: {got}.")
    # Rows that can be made again at no cost, by a map or from a file, are not written twice.
    repeatable = manifest.action == CONVERT or (manifest.action != BRIDGE and manifest.embed.endswith(".npy"))
    versions = store if isinstance(store, VersionedStore) and repeatable else None
    if manifest.action == BRIDGE:
        manifest.save(folder)
        store.stamp({"fingerprint": manifest.before["fingerprint"], "run": manifest.run})
    elif store.read_stamp().get("run") != manifest.run:
        if store.n != manifest.before["rows"]:
            got = f"expected {manifest.before['rows']:,} rows, as at the beginning, got {store.n:,}"
            raise InputError(f"{manifest.store}: {got}; migrate it again.")
        # A file that was swapped but not stamped yet has the new vectors already: they are not to be written again.
        if manifest.state == WRITING:
            manifest.restore = manifest.restore or store.plan_swap(manifest.run)
            manifest.save(folder)
            if versions is None:
                beside = _write_beside(manifest, store, folder, make, bar, repeatable=repeatable)
                manifest.after |= verify_rows(store, beside, make, bar, folder)
                manifest.state = VERIFIED
                manifest.save(folder)
        if versions is None:
            store.swap(manifest.run, folder, manifest.stamp, manifest.restore)
    if versions is not None:
        try:
            if store.read_stamp().get("run") != manifest.run:
                rows = _make_rows(manifest, store, 0, make, bar)
                versions.write_version(manifest.stamp, manifest.restore, ((block, new) for _, block, new in rows))
            versions.go_back(manifest.restore)
            manifest.after |= verify_rows(store, manifest.open(), make, bar, folder)
        except BaseException:  # Ctrl-C too: a version that was not verified does not stay
            if store.read_stamp().get("run") == manifest.run:
                store.restore(manifest.run, manifest.restore)
                manifest.restore = {}  # the old rows are a new version, from which --resume begins
                manifest.save(folder)
            raise
    manifest.state = DONE
    manifest.save(folder)
    # Only once the index has them: until then they are what a run is resumed from.
    (folder / STAGED).unlink(missing_ok=True)


def _make_rows(manifest: Manifest, store: Store, start: int, make: NewVectors, bar: Progress) -> Iterator[Any]:
    """Yield the first row of each block, the block and its new vectors."""
    for block in store.blocks(start):
        bar.report(f"writing {start:,} of {store.n:,} rows", start / store.n)
        vectors = make(start, block)
        # An interrupted run may have been resumed with another model.
        if len(vectors) >= CHECKED_ROWS:
            check_fingerprint(manifest.after["fingerprint"], vectors[:CHECKED_ROWS], manifest.embed)
        yield start, block, vectors
        start += len(block.ids)
    if start != store.n:
        raise InputError(f"{manifest.store}: expected {store.n:,} rows, read {start:,}; {UNCHANGED}.")


def _write_beside(
    manifest: Manifest, store: Store, folder: Path, make: NewVectors, bar: Progress, *, repeatable: bool
) -> Beside | Store:
    """Write the new vectors beside the old ones; a file at once, where no model would have to be called again."""
    run, d = manifest.run, manifest.after["fingerprint"]["dimension"]
    if isinstance(store, VectorFile) and repeatable:
        made = _make_rows(manifest, store, 0, make, bar)
        return store.write_beside(run, ((block, new) for _, block, new in made), d)
    beside = store.open_beside(run, d, folder, manifest.stamp)
    _write_rows(manifest, store, beside, make, bar)
    if not isinstance(store, VectorFile):
        return beside
    return store.write_beside(run, zip(store.blocks(), StagedVectors(folder, d).blocks(), strict=True), d)


def _write_rows(manifest: Manifest, store: Store, beside: Beside, make: NewVectors, bar: Progress) -> None:
    there = beside.count()
    # Whole blocks are surely there; what follows them is written once more.
    for written in _make_rows(manifest, store, there if there == store.n else there // BLOCK * BLOCK, make, bar):
        beside.append(*written)


def verify_rows(store: Store, new: Beside | Store, make: NewVectors, bar: Progress, folder: Path) -> dict[str, Any]:
    """Check the number of new rows, and the ids and vectors of some blocks; return what was found.

    That is the count, a checksum and, where the folder has the sample, recall@10 again: the new model's vectors of
    sampled rows of these blocks search for their rows, in the store itself where its index is approximate.
    """
    bar.report("verifying", 1.0)
    if new.count() != store.n:
        raise InputError(f"verification: expected {store.n:,} new rows, found {new.count():,}; {UNCHANGED}.")
    starts = np.unique(np.linspace(0, (store.n - 1) // BLOCK, CHECKED).round().astype(int)) * BLOCK
    asked, queries = _load_sample(folder, starts)
    checksum, names, scores, own = hashlib.sha256(), [], [], np.zeros(len(asked))
    for start in starts.tolist():
        block = next(store.blocks(start))
        ids, found = new.read(start, start + len(block.ids))
        expected = make(start, block)
        same = found.shape == expected.shape and (ids is None or list(ids) == list(block.ids))
        if not same or not (_cosines(found, expected) >= SAME).all():
            raise InputError(f"verification: rows {start:,} and on were not written as expected; {UNCHANGED}.")
        checksum.update(np.ascontiguousarray(found).tobytes())
        if len(asked):
            here = np.flatnonzero(asked // BLOCK * BLOCK == start)
            scores.append(inner_products(unit_rows(queries), unit_rows(found)))
            own[here] = scores[-1][here, asked[here] - start]
            names += [block.ids[i] for i in asked[here] - start]
    about = {"rows": store.n, "checksum": checksum.hexdigest()}
    if not len(asked):
        return about
    exact = hits = (np.hstack(scores) > own[:, None]).sum(axis=1) < NEAR
    answers = new.search(queries) if isinstance(new, Store) else None
    if answers is not None:
        hits = np.array([name in answer for name, answer in zip(names, answers, strict=True)])
    if not hits.any() and exact.mean() > 0.5:
        raise InputError(f"verification: the new index finds none of the sampled rows; {UNCHANGED}.")
    return {**about, "recall@10": float(np.mean(hits)), "recall_queries": len(asked)}


def _load_sample(folder: Path, starts: IntArray) -> tuple[IntArray, FloatArray]:
    """Return sampled rows of some blocks, rising, and their new vectors."""
    if not (folder / SAMPLE).exists():
        return np.zeros(0, dtype=np.intp), np.zeros((0, 1))
    found = np.load(folder / SAMPLE, allow_pickle=False)
    chosen = np.flatnonzero(np.isin(found["rows"] // BLOCK * BLOCK, starts))
    chosen = chosen[:: len(chosen) // SEARCHES + 1]
    return found["rows"][chosen], found["new"][chosen]


def _cosines(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return the cosines of rows with each other; one where both are zero."""
    products, a, b = (np.einsum("ij,ij->i", X, Y, dtype=np.float64) for X, Y in ((A, B), (A, A), (B, B)))
    return np.where((a == 0.0) & (b == 0.0), 1.0, products / np.sqrt(np.maximum(a * b, np.finfo(float).tiny)))


def roll_back(path: Path) -> Manifest:
    """Put the old index back, as a manifest says: a file, or the one of a folder."""
    manifest, folder = Manifest.load(path), path if path.is_dir() else path.parent
    if manifest.action != BRIDGE and manifest.restore:
        manifest.open().restore(manifest.run, manifest.restore)
    manifest.state = BACK
    manifest.save(folder)
    return manifest


def map_vectors(to_new: Callable[[Any], FloatArray]) -> NewVectors:
    """Return the new vectors of a block from its old ones."""
    return lambda start, block: to_new(block.vectors)


def mix_vectors(to_new: Callable[[Any], FloatArray], embedding: Embedding, store: Store, folder: Path) -> NewVectors:
    """Return the new vectors of a block from its old ones, but those of the rows in a folder from the new model."""
    first = np.load(folder / SAMPLE, allow_pickle=False)["first"]

    def make(start: int, block: Block) -> FloatArray:
        vectors = to_new(block.vectors)
        rows = first[slice(*np.searchsorted(first, [start, start + len(block.ids)]))] - start
        if len(rows):
            vectors[rows] = embedding.embed_some(store, start, block, rows)
        return vectors

    return make


@contextmanager
def name_failures(address: str, folder: Path | None, option: str = "--resume") -> Iterator[None]:
    """Raise one sentence where a store or a disc fails, whatever its client raises; ``option`` is what goes on.

    Examples
    --------
    >>> with name_failures("db/docs", None):
    ...     raise RuntimeError("connection lost")
    Traceback (most recent call last):
    isthmus.exceptions.InputError: db/docs: connection lost; nothing was written.
    """

    def say_next() -> str:
        if folder is None or not (folder / MANIFEST).exists():
            return "nothing was written."
        until = "until the swap the old index answers as before; " * (option == "--resume")
        return f"{until}go on with: isthmus migrate {folder} {option}"

    try:
        yield
    except MISTAKES:
        raise
    except KeyboardInterrupt as stop:
        if folder is not None and (folder / MANIFEST).exists():
            stop.args = (f"{str(stop) or 'Ctrl-C'}; {say_next()}",)
        raise
    except Exception as error:
        # Without what LanceDB puts around an error of ours or its own, and without a password in the address.
        around = r"^Arrow error.*?Invalid: |\.*\. Detail: Python.*|, /.*"
        said = re.sub(around, "", (str(error).strip() or type(error).__name__).splitlines()[0])[:300].rstrip(".")
        raise InputError(f"{address.split('@')[-1]}: {said}; {say_next()}") from error
