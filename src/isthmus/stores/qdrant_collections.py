"""Qdrant, in a folder or on a server: a collection is written beside, and an alias is moved to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._core.validation import FloatArray
from isthmus.exceptions import InputError, import_extra
from isthmus.stores.store import BLOCK, STAMP, Block, Columns, Store, as_vectors, split_address

CURRENT = "-current"
COSINE = "Cosine"
# Points of one request.
BATCH = 512


class QdrantCollection(Store):
    """A collection, or an alias of one, with one vector per point."""

    def __init__(self, address: str, columns: Columns) -> None:
        qdrant = import_extra("qdrant_client", "qdrant", "Qdrant needs")
        self.models = qdrant.models
        place, self.name = split_address(address)
        where = {"url": place} if place.startswith("http") else {"path": place}
        if "path" in where and not Path(place, "meta.json").is_file():
            raise InputError(f"{address}: expected a folder of Qdrant, found no meta.json in it.")
        self.client, self.columns = qdrant.QdrantClient(**where), columns
        aliases = self._read_aliases()
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
        self._distance, self.n = config.distance, self.count()
        notes = ["cosine collections keep directions and no norms"] if str(self._distance.value) == COSINE else []
        notes += [] if self.is_alias else [f"search the alias {self.alias}: a collection itself can't be replaced"]
        self.warning = "; ".join(notes)

    def _read_aliases(self) -> dict[str, str]:
        return {a.alias_name: a.collection_name for a in self.client.get_aliases().aliases}

    def count(self) -> int:
        """Return the points of the collection."""
        return int(self.client.count(self.collection).count)

    def append(self, start: int, block: Block, vectors: FloatArray) -> None:
        """Write a block; ids that are there are replaced."""
        make, named = self.models.PointStruct, self.vector
        for begin in range(0, len(vectors), BATCH):
            part = slice(begin, begin + BATCH)
            rows = zip(block.ids[part], vectors[part].tolist(), block.payload[part], strict=True)
            points = [make(id=i, vector={named: v} if named else v, payload=p) for i, v, p in rows]
            self.client.upsert(self.collection, points, wait=True)

    def blocks(self, start: int = 0, size: int = BLOCK) -> Iterator[Block]:
        """Yield the rows by rising ids."""
        name, after, skipped = self.collection, None, start
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

    def texts(self, block: Block) -> list[str]:
        """Return a key of the payload."""
        return [str((payload or {}).get(self.columns.text, "")) for payload in block.payload]

    def read_stamp(self) -> dict[str, Any]:
        """Read the metadata of the collection."""
        about = getattr(self.client.get_collection(self._current()).config, "metadata", None) or {}
        return dict(about.get(STAMP, {}))

    def _current(self) -> str:
        return self._read_aliases().get(self.alias, self.collection)

    def stamp(self, about: Mapping[str, Any]) -> None:
        """Write the metadata of the collection."""
        self.client.update_collection(self._current(), metadata={STAMP: dict(about)})

    def open_beside(self, run: str, dimension: int, folder: Path, about: Mapping[str, Any]) -> QdrantCollection:
        """Open the collection beside."""
        beside = copy(self)
        beside.collection = name = self._beside(run)
        if not self.client.collection_exists(name):
            config = self.models.VectorParams(size=dimension, distance=self._distance)
            vectors = {self.vector: config} if self.vector else config
            self.client.create_collection(name, vectors_config=vectors, metadata={STAMP: dict(about)})
        return beside

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
        self.client.update_collection_aliases([delete, create] if self.alias in self._read_aliases() else [create])
