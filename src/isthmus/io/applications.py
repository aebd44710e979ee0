"""An adapter inside an application: the embeddings of LangChain and the embedding model of LlamaIndex."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.exceptions import import_extra
from isthmus.tasks.migration.result import Adapter


def as_langchain(adapter: Adapter, embeddings: Any) -> Any:
    """Return LangChain ``Embeddings`` that search the old index: those of the new model, mapped to the old space."""
    base: Any = import_extra("langchain_core.embeddings", "langchain", "This adapter needs").Embeddings

    class AdaptedEmbeddings(base):  # type: ignore[misc]
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return _map(adapter, embeddings.embed_documents(texts))

        def embed_query(self, text: str) -> list[float]:
            return _map(adapter, [embeddings.embed_query(text)])[0]

    return AdaptedEmbeddings()


def as_llama_index(adapter: Adapter, model: Any) -> Any:
    """Return a LlamaIndex ``BaseEmbedding`` that searches the old index: the new model, mapped to the old space."""
    module = import_extra("llama_index.core.base.embeddings.base", "llamaindex", "This adapter needs")
    base: Any = module.BaseEmbedding

    class AdaptedEmbedding(base):  # type: ignore[misc]
        def _get_query_embedding(self, query: str) -> list[float]:
            return _map(adapter, [model.get_query_embedding(query)])[0]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return _map(adapter, [await model.aget_query_embedding(query)])[0]

        def _get_text_embedding(self, text: str) -> list[float]:
            return _map(adapter, [model.get_text_embedding(text)])[0]

    return AdaptedEmbedding(model_name=f"{model.model_name}, mapped by isthmus")


def _map(adapter: Adapter, rows: Any) -> list[list[float]]:
    found: list[list[float]] = adapter.to_old(np.asarray(rows, dtype=np.float64)).tolist() if len(rows) else []
    return found
