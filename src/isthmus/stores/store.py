"""What every vector store can do, the fingerprint of its model, and how a store is opened by its address."""

from __future__ import annotations

import base64
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from isthmus._core.files import show_path
from isthmus._core.validation import FloatArray, check_matrix
from isthmus.evidence.held_out import unit_rows
from isthmus.exceptions import InputError

# Rows that are read, mapped and written at once: within the largest batch of Chroma (5,461).
BLOCK = 4096
# The key of a store's metadata that the fingerprint and the migration are under.
STAMP = "isthmus"
# The file of new vectors in the folder of a migration, and the type of its numbers.
STAGED, NUMBERS = "vectors.f32", np.dtype(np.float32)
# Schemes of addresses and endings of files.
KINDS: Mapping[str, str] = {
    "lancedb": "isthmus.stores.vector_files:LanceTable",
    "chroma": "isthmus.stores.vector_collections:ChromaCollection",
    "qdrant": "isthmus.stores.vector_collections:QdrantCollection",
    "qdrant+http": "isthmus.stores.vector_collections:QdrantCollection",
    "qdrant+https": "isthmus.stores.vector_collections:QdrantCollection",
    "postgresql": "isthmus.stores.postgres_tables:PostgresTable",
    ".npy": "isthmus.stores.vector_files:NumpyFile",
    ".parquet": "isthmus.stores.vector_files:ParquetFile",
    ".faiss": "isthmus.stores.vector_files:FaissFile",
}
ADDRESSES = (
    "lancedb://FOLDER/TABLE, chroma://FOLDER/COLLECTION, qdrant://FOLDER/COLLECTION, qdrant+http://HOST/COLLECTION, "
    "postgresql://…#TABLE, or a file .npy, .parquet or .faiss"
)
# Directions of a fingerprint, and the least share of their energy that rows of the same model keep.
AXES, ENERGY = 8, 0.5
# Of a norm, what another sample of the same model may differ by; in the larger of standard deviations and tenths.
NORMS = 3.0, 0.1


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a store: ids, vectors (b, d), and the rest in the store's own form."""

    ids: Sequence[Any]
    vectors: FloatArray
    payload: Any = None


@dataclass(frozen=True)
class Columns:
    """The names of the columns, where a store has names for them."""

    vector: str = "vector"
    id: str = "id"
    text: str | None = None


# Blocks and their new vectors.
NewRows: TypeAlias = Iterator[tuple[Block, FloatArray]]


class Beside(Protocol):
    """A place beside an index that new vectors are written to, in blocks."""

    def count(self) -> int:
        """Return the number of rows that are there; the last block may be there in part."""

    def append(self, start: int, block: Block, vectors: FloatArray) -> None:
        """Write the rows of a block, the first of which is ``start``, with other vectors; again where it was cut."""

    def read(self, start: int, stop: int) -> tuple[Sequence[Any] | None, FloatArray]:
        """Return ids (None where they are still those of the index) and vectors of some rows."""


class StagedVectors:
    """Vectors in a file (n, d) of the migration's folder that grows block by block: a place beside any index."""

    def __init__(self, folder: Path, dimension: int) -> None:
        self.path: Path = folder / STAGED
        self.dimension: int = dimension
        self._bytes = dimension * NUMBERS.itemsize
        self.path.touch()

    def count(self) -> int:
        """Return the whole rows of the file."""
        return self.path.stat().st_size // self._bytes

    def append(self, start: int, block: Block, vectors: FloatArray) -> None:
        """Write the vectors of a block, and wait until the disc has them."""
        with self.path.open("r+b") as file:
            file.seek(start * self._bytes)
            file.write(np.ascontiguousarray(vectors, dtype=NUMBERS).data)
            file.flush()
            os.fsync(file.fileno())

    def read(self, start: int, stop: int) -> tuple[None, FloatArray]:
        """Return some vectors; their ids are those of the index."""
        count, offset = (stop - start) * self.dimension, start * self._bytes
        return None, np.fromfile(self.path, NUMBERS, count, offset=offset).reshape(-1, self.dimension)

    def blocks(self) -> Iterator[FloatArray]:
        """Yield the vectors in blocks, as a store yields its rows."""
        n = self.count()
        return (self.read(start, min(start + BLOCK, n))[1] for start in range(0, n, BLOCK))


class Store(ABC):
    """An index of vectors: read in blocks, stamped, replaced by what was written beside it, and restored."""

    name: str
    columns: Columns
    n: int
    # What is lost when the vectors of this store are read, or has to be done after a swap; empty where nothing.
    warning = ""

    @cached_property
    def dimension(self) -> int:
        """The length of the vectors."""
        return int(next(self.blocks(size=1)).vectors.shape[1])

    @abstractmethod
    def blocks(self, start: int = 0, size: int = BLOCK) -> Iterator[Block]:
        """Yield the rows in an order that stays the same, without the first ``start``, a multiple of ``size``."""

    @abstractmethod
    def texts(self, block: Block) -> list[str]:
        """Return the texts of a block."""

    @abstractmethod
    def read_stamp(self) -> dict[str, Any]:
        """Return what :meth:`stamp` wrote, or nothing."""

    @abstractmethod
    def stamp(self, about: Mapping[str, Any]) -> None:
        """Write the fingerprint of the model into the metadata."""

    def count(self) -> int:
        """Return the number of rows."""
        return self.n

    def open_beside(self, run: str, dimension: int, folder: Path, about: Mapping[str, Any]) -> Beside:
        """Open the place beside the index, and make it where it is missing: a file in the folder, or a store."""
        return StagedVectors(folder, dimension)

    def read(self, start: int, stop: int) -> tuple[Sequence[Any] | None, FloatArray]:
        """Return ids and vectors of some rows, where a store is what is beside another one."""
        found = next(self.blocks(start, stop - start))
        return found.ids, found.vectors

    def search(self, queries: FloatArray) -> list[Any] | None:
        """Return the ids of the ten rows that the index finds for each query, or None where its search is exact."""
        return None

    @abstractmethod
    def plan_swap(self, run: str) -> dict[str, Any]:
        """Return what :meth:`restore` needs; nothing is changed."""

    @abstractmethod
    def swap(self, run: str, folder: Path, about: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Put what is beside in the place of the index at one moment."""

    @abstractmethod
    def restore(self, run: str, facts: Mapping[str, Any]) -> None:
        """Put the old index back; nothing happens where it is there."""


class VersionedStore(Store):
    """A store that keeps its versions: rows that can be made again are written to it once, as the next version."""

    @abstractmethod
    def write_version(self, about: Mapping[str, Any], facts: Mapping[str, Any], rows: NewRows) -> None:
        """Write the next version, which nobody sees before it is whole; the old one stays where ``rows`` raise."""

    @abstractmethod
    def go_back(self, facts: Mapping[str, Any]) -> None:
        """Read from now on the version that :meth:`restore` goes back to."""


def open_store(address: str, columns: Columns | None = None) -> Store:
    """Open a store by its address.

    Examples
    --------
    >>> open_store("redis://somewhere")
    Traceback (most recent call last):
    isthmus.exceptions.InputError: redis://somewhere: expected lancedb://FOLDER/TABLE, ...
    """
    scheme, found, _ = address.partition("://")
    kind = KINDS.get(scheme if found else Path(address).suffix)
    if kind is None:
        raise InputError(f"{show_path(address)}: expected {ADDRESSES}.")
    module, _, name = kind.partition(":")
    store: Store = getattr(import_module(module), name)(address, columns or Columns())
    if not store.n:
        raise InputError(f"{show_path(address)}: expected vectors, got none.")
    return store


def split_address(address: str) -> tuple[str, str]:
    """Return the folder or server of an address, and the name of the table or collection.

    Examples
    --------
    >>> split_address("lancedb://./db/docs"), split_address("qdrant+http://host:6333/docs")
    (('./db', 'docs'), ('http://host:6333', 'docs'))
    """
    found = re.fullmatch(r"(?:\w+\+(?=http)|\w+://)(.+)/([^/]+)", address)
    if found is None:
        raise InputError(f"{show_path(address)}: expected {ADDRESSES}.")
    return found[1], found[2]


def show_stamp(about: Mapping[str, Any]) -> dict[str, str]:
    """Return a stamp as one text under its key."""
    return {STAMP: json.dumps(dict(about))}


def as_vectors(rows: Any, name: str) -> FloatArray:
    """Return rows (n, d) in single precision, checked."""
    return np.ascontiguousarray(check_matrix(rows, name), dtype=np.float32)


def fingerprint(vectors: FloatArray, model: str) -> dict[str, Any]:
    """Return what vectors (n, d) of a model have in common: size, norms, and the directions that they lie along.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows, others = (rng.normal(size=(200, 3)) @ rng.normal(size=(3, 40)) for _ in range(2))
    >>> about = fingerprint(rows, "first")
    >>> check_fingerprint(about, rows[:50], "rows")
    >>> check_fingerprint(about, others, "rows")
    Traceback (most recent call last):
    isthmus.exceptions.InputError: rows: expected vectors of the model "first", got those of another one...
    """
    norms = np.linalg.norm(vectors, axis=1)
    # A quarter of the columns at most: more would hold much of any other model's rows too.
    most = max(1, min(AXES, vectors.shape[1] // 4))
    axes = np.linalg.svd(unit_rows(vectors), full_matrices=False)[2][:most].astype(np.float16)
    return {
        "model": model,
        "dimension": vectors.shape[1],
        "norm": [float(norms.mean()), float(norms.std())],
        "axes": base64.b64encode(axes.tobytes()).decode(),
        "energy": _measure_energy(vectors, axes),
    }


def check_fingerprint(about: Mapping[str, Any], vectors: FloatArray, name: str) -> None:
    """Raise where vectors (n, d) are not of the model that a fingerprint is of, although they may be as long."""
    d, (mean, deviation) = about["dimension"], about["norm"]
    got = f"{vectors.shape[1]} columns"
    if vectors.shape[1] == d:
        norm = float(np.linalg.norm(vectors, axis=1).mean())
        axes = np.frombuffer(base64.b64decode(about["axes"]), dtype=np.float16).reshape(-1, d)
        share = _measure_energy(vectors, axes) / about["energy"]
        if share >= ENERGY and abs(norm - mean) <= max(NORMS[0] * deviation, NORMS[1] * mean):
            return
        got = f"those of another one: norms {norm:.3g} (expected {mean:.3g}), {share:.0%} of the expected energy"
    raise InputError(f'{name}: expected vectors of the model "{about["model"]}", got {got}.')


def _measure_energy(vectors: FloatArray, axes: Any) -> float:
    """Return the share of the squared lengths of rows, scaled to one, along the axes."""
    return float(((unit_rows(vectors) @ axes.T.astype(np.float32)) ** 2).sum(axis=1).mean())
