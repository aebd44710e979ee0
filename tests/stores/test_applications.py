"""Adapters in applications are the adapter: LangChain and LlamaIndex, with the real packages."""

import numpy as np
import pytest

import isthmus
from isthmus.io.applications import as_langchain, as_llama_index

pytestmark = pytest.mark.stores


@pytest.fixture(scope="module")
def adapter():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(80, 5))
    return isthmus.migrate(rows, rows @ rng.normal(size=(5, 7)), kind="ridge")


def vector(text):
    return np.random.default_rng(len(text)).normal(size=7).tolist()


def test_langchain(adapter):
    embeddings = pytest.importorskip("langchain_core.embeddings").Embeddings

    class New(embeddings):
        def embed_documents(self, texts):
            return [vector(text) for text in texts]

        def embed_query(self, text):
            return vector(text)

    adapted = as_langchain(adapter, New())
    expected = adapter.to_old(np.array([vector("a"), vector("bb")]))
    assert isinstance(adapted, embeddings)
    assert np.allclose(adapted.embed_documents(["a", "bb"]), expected)
    assert np.allclose(adapted.embed_query("bb"), expected[1])
    assert adapted.embed_documents([]) == []


def test_llama_index(adapter):
    base = pytest.importorskip("llama_index.core.base.embeddings.base").BaseEmbedding

    class New(base):
        def _get_query_embedding(self, query):
            return vector(query)

        async def _aget_query_embedding(self, query):
            return vector(query)

        def _get_text_embedding(self, text):
            return vector(text)

    adapted = as_llama_index(adapter, New(model_name="new"))
    expected = adapter.to_old(np.array([vector("bb")]))[0]
    assert np.allclose(adapted.get_query_embedding("bb"), expected)
    assert np.allclose(adapted.get_text_embedding("bb"), expected)
