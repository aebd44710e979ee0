"""Small indexes in each store, and what is in them afterwards, read by the stores' own clients."""

from contextlib import contextmanager

import numpy as np

D_OLD, D_NEW = 12, 16
SIZES = {
    "npy": 9000,
    "parquet": 9000,
    "faiss": 9000,
    "lancedb": 9000,
    "chroma": 4500,
    "qdrant": 120,
    "pgvector": 9000,
}
"""More than one block of 4,096 rows, but in Qdrant: its local mode waits for the disc at each point."""


def make_vectors(n):
    rng = np.random.default_rng(0)
    meaning = rng.normal(size=(n, 6))
    return [(meaning @ rng.normal(size=(6, d)) + 0.7 * rng.normal(size=(n, d))).astype("f4") for d in (D_OLD, D_NEW)]


@contextmanager
def make_store(kind, folder):
    """Yield the address of an index of a kind, and the rows of both models."""
    n = SIZES[kind]
    old, new = make_vectors(n)
    np.save(folder / "new.npy", new)
    texts = [f"text {i}" for i in range(n)]
    if kind == "npy":
        np.save(folder / "old.npy", old)
        yield f"{folder}/old.npy", old, new
    elif kind == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"id": range(n), "body": texts, "vector": list(old)}), folder / "old.parquet")
        yield f"{folder}/old.parquet", old, new
    elif kind == "faiss":
        import faiss

        index = faiss.IndexIDMap(faiss.IndexFlatIP(D_OLD))
        index.add_with_ids(old, np.arange(n) + 5)
        faiss.write_index(index, f"{folder}/old.faiss")
        yield f"{folder}/old.faiss", old, new
    elif kind == "lancedb":
        import lancedb
        import pyarrow as pa

        vectors = pa.FixedSizeListArray.from_arrays(pa.array(old.ravel()), D_OLD)
        lancedb.connect(folder / "db").create_table(
            "docs", pa.table({"id": range(n), "body": texts, "vector": vectors})
        )
        yield f"lancedb://{folder}/db/docs", old, new
    elif kind == "chroma":
        import chromadb

        client = chromadb.PersistentClient(f"{folder}/db")
        found = client.create_collection("docs", embedding_function=None, metadata={"owner": "shop"})
        found.add(ids=[f"{i:05d}" for i in range(n)], embeddings=old, documents=texts)
        yield f"chroma://{folder}/db/docs", old, new
    elif kind == "qdrant":
        from qdrant_client import QdrantClient, models

        client = QdrantClient(path=f"{folder}/db")
        client.create_collection("docs", models.VectorParams(size=D_OLD, distance=models.Distance.DOT))
        rows = zip(range(n), old.tolist(), texts, strict=True)
        client.upsert("docs", [models.PointStruct(id=i, vector=v, payload={"body": t}) for i, v, t in rows])
        alias = models.CreateAlias(collection_name="docs", alias_name="live")
        client.update_collection_aliases([models.CreateAliasOperation(create_alias=alias)])
        client.close()
        yield f"qdrant://{folder}/db/live", old, new
    else:
        import pgserver
        import psycopg

        server = pgserver.get_server(folder / "pg", cleanup_mode="stop")
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                connection.execute("CREATE EXTENSION vector")
                connection.execute(f"CREATE TABLE docs (id bigserial PRIMARY KEY, body text, vector vector({D_OLD}))")
                with connection.cursor().copy("COPY docs (id, body, vector) FROM STDIN") as copy:
                    for i in range(n):
                        copy.write_row((i, texts[i], str(old[i].tolist())))
            yield f"{server.get_uri()}#docs", old, new
        finally:
            server.cleanup()


def read_rows(kind, address):
    """Return ids, texts and vectors by the store's own client, as an application sees them, in the order of the ids."""
    place, name = address.partition("://")[2].rpartition("/")[::2]
    if kind == "npy":
        vectors = np.load(address)
        return list(range(len(vectors))), None, vectors
    if kind == "faiss":
        import faiss

        index = faiss.read_index(address)
        return faiss.vector_to_array(index.id_map).tolist(), None, index.index.reconstruct_n(0, index.ntotal)
    if kind == "parquet":
        import pyarrow.parquet as pq

        rows = pq.read_table(address).to_pydict()
        return rows["id"], rows["body"], np.array(rows["vector"], dtype="f4")
    if kind == "lancedb":
        import lancedb

        rows = lancedb.connect(place).open_table(name).to_arrow().to_pydict()
        return rows["id"], rows["body"], np.array(rows["vector"], dtype="f4")
    if kind == "chroma":
        import chromadb
        from chromadb.api.shared_system_client import SharedSystemClient

        SharedSystemClient.clear_system_cache()  # as a process that has just started
        found = chromadb.PersistentClient(place).get_collection(name, embedding_function=None)
        rows = found.get(include=["embeddings", "documents"])
        order = np.argsort(rows["ids"])
        texts = [rows["documents"][i] for i in order]
        return [rows["ids"][i] for i in order], texts, np.array(rows["embeddings"], dtype="f4")[order]
    if kind == "qdrant":
        from qdrant_client import QdrantClient

        client = QdrantClient(path=place)
        try:
            found = client.scroll(name, limit=10_000, with_vectors=True)[0]
        finally:
            client.close()
        return (
            [p.id for p in found],
            [p.payload["body"] for p in found],
            np.array([p.vector for p in found], dtype="f4"),
        )
    import psycopg

    with psycopg.connect(address.partition("#")[0]) as connection:
        rows = connection.execute("SELECT id, body, vector::real[] FROM docs ORDER BY id").fetchall()
    return [r[0] for r in rows], [r[1] for r in rows], np.array([r[2] for r in rows], dtype="f4")
