"""Qdrant, in a folder or on a server: a collection is written beside, and an alias is moved to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._core.validation import FloatArray
from isthmus.exceptions import InputError, import_extra
from isthmus.stores.chroma_collections import count_whole_blocks
from isthmus.stores.store import BLOCK, STAMP, Block, Columns, as_vectors, split_address

CURRENT = "-current"
COSINE = "Cosine"
# Points of one request.
BATCH = 512


class QdrantRows:
    """A collection beside the index."""

    def __init__(self, store: QdrantCollection, name: str) -> None:
        self._store, self._name = store, name
        self.n = count_whole_blocks(self.count())

    def count(self) -> int:
        """Return the points of the collection."""
        return int(self._store.client.count(self._name).count)

    def append(self, block: Block, vectors: FloatArray) -> None:
        """Write a block; ids that are there are replaced."""
        make, named = self._store.models.PointStruct, self._store.vector
        for start in range(0, len(vectors), BATCH):
            part = slice(start, start + BATCH)
            rows = zip(block.ids[part], vectors[part].tolist(), block.payload[part], strict=True)
            points = [make(id=i, vector={named: v} if named else v, payload=p) for i, v, p in rows]
            self._store.client.upsert(self._name, points, wait=True)
        self.n += len(vectors)

    def read(self, start: int, stop: int) -> tuple[Sequence[Any], FloatArray]:
        """Return ids and vectors of some rows."""
        found = next(self._store.scroll(self._name, start, stop - start))
        return found.ids, found.vectors


class QdrantCollection:
    """A collection, or an alias of one, with one vector per point."""

    def __init__(self, address: str, columns: Columns) -> None:
        qdrant = import_extra("qdrant_client", "qdrant", "Qdrant needs")
        self.models = qdrant.models
        place, self.name = split_address(address)
        where = {"url": place} if place.startswith("http") else {"path": place}
        if "path" in where and not Path(place, "meta.json").is_file():
            raise InputError(f"{address}: expected a folder of Qdrant, found no meta.json in it.")
        self.client, self.columns = qdrant.QdrantClient(**where), columns
        aliases = {a.alias_name: a.collection_name for a in self.client.get_aliases().aliases}
        # A collection can't be renamed: the alias is what moves.
        self.is_alias = self.name in aliases
        self.alias = self.name if self.is_alias else f"{self.name}{CURRENT}"
        self.collection = aliases.get(self.alias, self.name)
        if not self.client.collection_exists(self.collection):
            raise InputError(f"{address}: expected a collection or an alias, found none.")
        config = self.client.get_collection(self.collection).config.params.vectors
        self.vector = ""
        if isinstance(config, dict):
            self.vector = columns.vector
            if [*config] != [self.vector]:
                raise InputError(
                    f"--vector: expected {self.collection} with this vector only, got {', '.join(config)}."
                )
            config = config[self.vector]
        self.dimension, self._distance = int(config.size), config.distance
        self.n = self.client.count(self.collection).count
        notes = ["cosine collections keep directions and no norms"] if str(self._distance.value) == COSINE else []
        notes += [] if self.is_alias else [f"search the alias {self.alias}: a collection itself can't be replaced"]
        self.warning = "; ".join(notes)

    def scroll(self, name: str, start: int, size: int) -> Iterator[Block]:
        """Yield blocks of a collection by rising ids, without the first ``start`` rows."""
        after = None
        if start:
            skipped = start
            while skipped:
                found, after = self.client.scroll(
                    name, limit=min(skipped, BLOCK), offset=after, with_payload=False, with_vectors=False
                )
                skipped -= len(found)
                if after is None:
                    return
        while True:
            found, after = self.client.scroll(name, limit=size, offset=after, with_payload=True, with_vectors=True)
            if found:
                vectors = [p.vector[self.vector] if self.vector else p.vector for p in found]
                rows = as_vectors(np.array(vectors, dtype=np.float32), name)
                yield Block([p.id for p in found], rows, [p.payload for p in found])
            if after is None:
                return

    def blocks(self, start: int = 0, size: int = BLOCK) -> Iterator[Block]:
        """Yield the rows by rising ids."""
        return self.scroll(self.collection, start, size)

    def texts(self, block: Block) -> list[str]:
        """Return a key of the payload."""
        return [str((payload or {}).get(self.columns.text, "")) for payload in block.payload]

    def read_stamp(self) -> dict[str, Any]:
        """Read the metadata of the collection."""
        about = getattr(self.client.get_collection(self._current()).config, "metadata", None) or {}
        return dict(about.get(STAMP, {}))

    def _current(self) -> str:
        aliases = {a.alias_name: a.collection_name for a in self.client.get_aliases().aliases}
        return str(aliases.get(self.alias, self.collection))

    def stamp(self, about: Mapping[str, Any]) -> None:
        """Write the metadata of the collection."""
        self.client.update_collection(self._current(), metadata={STAMP: dict(about)})

    def open_beside(self, run: str, dimension: int, folder: Path, about: Mapping[str, Any]) -> QdrantRows:
        """Open the collection beside."""
        name = self._beside(run)
        if not self.client.collection_exists(name):
            config = self.models.VectorParams(size=dimension, distance=self._distance)
            vectors = {self.vector: config} if self.vector else config
            self.client.create_collection(name, vectors_config=vectors, metadata={STAMP: dict(about)})
        return QdrantRows(self, name)

    def _beside(self, run: str) -> str:
        return f"{self.alias.removesuffix(CURRENT)}-{run}"

    def plan_swap(self, run: str) -> dict[str, Any]:
        """Return the collection that the alias leads to."""
        return {"collection": self.collection}

    def swap(self, run: str, folder: Path, about: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Move the alias to the new collection."""
        self._move(self._beside(run))

    def restore(self, run: str, facts: Mapping[str, Any]) -> None:
        """Move the alias to the old collection."""
        self._move(facts["collection"])

    def _move(self, collection: str) -> None:
        m = self.models
        create = m.CreateAliasOperation(create_alias=m.CreateAlias(collection_name=collection, alias_name=self.alias))
        delete = m.DeleteAliasOperation(delete_alias=m.DeleteAlias(alias_name=self.alias))
        there = self.alias in {a.alias_name for a in self.client.get_aliases().aliases}
        self.client.update_collection_aliases([delete, create] if there else [create])
