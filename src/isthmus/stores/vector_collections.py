"""Collections of Chroma and Qdrant: a new one is written beside, then takes the name of the old one, or its alias."""

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
from isthmus.evidence.held_out import NEAR
from isthmus.exceptions import InputError, import_extra
from isthmus.stores.store import BLOCK, STAMP, Block, Columns, Store, as_vectors, show_stamp, split_address

# Of Chroma: what comes with a vector.
FIELDS = ("documents", "metadatas", "uris")
# Of Qdrant: the ending of an alias, the distance that forgets lengths, and points of one request.
CURRENT, COSINE, BATCH = "-current", "Cosine", 512


class ChromaCollection(Store):
    """A collection in a folder of Chroma: both collections are renamed in one transaction of its database."""

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
            limit = min(size, self.n - offset)
            found = self._collection.get(limit=limit, offset=offset, include=["embeddings", *FIELDS])
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

    def search(self, queries: FloatArray) -> list[Any]:
        """Ask the index of the collection."""
        return list(self._collection.query(query_embeddings=queries, n_results=NEAR, include=[])["ids"])

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


class QdrantCollection(Store):
    """A collection of Qdrant in a folder or on a server, or an alias of one, with one vector per point."""

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
                raise InputError(f"--vector: expected it alone in {self.collection}, got {', '.join(config)}.")
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
            limit = min(skipped, BLOCK)
            found, after = self.client.scroll(name, limit=limit, offset=after, with_payload=False)
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

    def search(self, queries: FloatArray) -> list[Any]:
        """Ask the index of the collection."""
        about: dict[str, Any] = {"using": self.vector or None, "limit": NEAR, "with_payload": False}
        found = (self.client.query_points(self.collection, query, **about) for query in queries.tolist())
        return [[point.id for point in answer.points] for answer in found]

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
