"""Chroma: a collection is written beside, and both are renamed in one transaction of its database."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._core.validation import FloatArray
from isthmus.exceptions import InputError, import_extra
from isthmus.stores.store import BLOCK, Block, Columns, Store, as_vectors, show_stamp, split_address

FIELDS = ("documents", "metadatas", "uris")


class ChromaCollection(Store):
    """A collection in a folder of Chroma."""

    warning = "applications see the new collection when they open it by its name again."

    def __init__(self, address: str, columns: Columns) -> None:
        chromadb = import_extra("chromadb", "chroma", "Chroma needs")
        self._folder, self.name = split_address(address)
        if not Path(self._folder, "chroma.sqlite3").is_file():
            raise InputError(f"{address}: expected a folder of Chroma, found no chroma.sqlite3 in it.")
        self._client = chromadb.PersistentClient(self._folder)
        if self.name not in self._names():
            raise InputError(f"{address}: expected one of the collections {', '.join(self._names())[:200]}.")
        self._collection = self._client.get_collection(self.name, embedding_function=None)
        self.n, self.columns = self.count(), columns

    def _names(self) -> list[str]:
        return [getattr(found, "name", found) for found in self._client.list_collections()]

    def blocks(self, start: int = 0, size: int = BLOCK) -> Iterator[Block]:
        """Yield the rows in the order in which they were added."""
        for offset in range(start, self.n, size):
            found = self._collection.get(
                limit=min(size, self.n - offset), offset=offset, include=["embeddings", *FIELDS]
            )
            yield Block(found["ids"], as_vectors(np.asarray(found["embeddings"], dtype=np.float32), self.name), found)

    def texts(self, block: Block) -> list[str]:
        """Return the documents, or a key of the metadata."""
        key = self.columns.text
        if key is None or key == "document":
            return [text or "" for text in block.payload["documents"]]
        return [str((about or {}).get(key, "")) for about in block.payload["metadatas"]]

    def count(self) -> int:
        """Return the rows of the collection."""
        return int(self._collection.count())

    def append(self, start: int, block: Block, vectors: FloatArray) -> None:
        """Write a block; ids that are there are replaced."""
        rest = {key: block.payload[key] for key in FIELDS if any(v is not None for v in block.payload[key] or ())}
        self._collection.upsert(ids=list(block.ids), embeddings=vectors, **rest)

    def read_stamp(self) -> dict[str, Any]:
        """Read the metadata of the collection of that name."""
        about = self._client.get_collection(self.name, embedding_function=None).metadata or {}
        return dict(json.loads(about.get("isthmus", "{}")))

    def stamp(self, about: Mapping[str, Any]) -> None:
        """Write the metadata, without those that can't be changed."""
        self._collection.modify(metadata=self._mark(about))

    def _mark(self, about: Mapping[str, Any]) -> dict[str, Any]:
        kept = {k: v for k, v in (self._collection.metadata or {}).items() if not k.startswith("hnsw:")}
        return {**kept, **show_stamp(about)}

    def open_beside(self, run: str, dimension: int, folder: Path, about: Mapping[str, Any]) -> ChromaCollection:
        """Open the collection beside, with the same index."""
        settings = self._collection.configuration_json.get("hnsw") or {}
        beside = copy(self)
        beside._collection = self._client.get_or_create_collection(
            f"{self.name}-new-{run}",
            metadata=self._mark(about),
            configuration={"hnsw": {"space": settings.get("space", "l2")}},
            embedding_function=None,
        )
        return beside

    def plan_swap(self, run: str) -> dict[str, Any]:
        """Return the name that the old collection gets."""
        return {"backup": f"{self.name}-before-{run}"}

    def swap(self, run: str, folder: Path, about: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Rename the old collection, and the new one to its name."""
        self._rename((self.name, facts["backup"]), (f"{self.name}-new-{run}", self.name))

    def restore(self, run: str, facts: Mapping[str, Any]) -> None:
        """Rename both back."""
        if facts["backup"] in self._names():
            self._rename((self.name, f"{self.name}-new-{run}"), (facts["backup"], self.name))

    def _rename(self, *names: tuple[str, str]) -> None:
        # Chroma renames one collection at a time, and for a moment the name would be nobody's.
        try:
            with closing(sqlite3.connect(Path(self._folder, "chroma.sqlite3"), timeout=60.0)) as database, database:
                for old, new in names:
                    if database.execute("UPDATE collections SET name = ? WHERE name = ?", (new, old)).rowcount != 1:
                        raise InputError(f"{self._folder}: expected one collection {old}.")
        except sqlite3.Error as error:
            raise InputError(f"{self._folder}: could not rename collections: {error}; nothing was changed.") from None
