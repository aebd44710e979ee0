"""Rows of the shapes that users have: pairs of embeddings, many rows with few columns, and wide sparse text."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

EMBEDDED, HIDDEN = (768, 1_536), 200
"""Columns of two embedding models, and of what both of them see."""
NARROW, CLASSES, LABELLED = 50, 10, 60
"""Columns of many rows; classes; labelled target rows."""
WORDS, LENGTH, ALL, TEXTS = 20_000, 50, 5_000, "debian_descriptions/debian_descriptions.jsonl.gz"


@dataclass(frozen=True)
class Rows:
    """Two domains of n rows, row for row the same objects where ``paired``, with classes."""

    source: Any
    target: Any
    y: Any
    paired: bool = True

    @property
    def known(self) -> Any:
        """The target's classes as far as they are known: so many rows of it, evenly; -1 for the rest."""
        target = self.y[: self.target.shape[0]]
        chosen = np.concatenate([np.flatnonzero(target == c)[: LABELLED // CLASSES] for c in range(CLASSES)])
        given = np.full(len(target), -1)
        given[chosen] = target[chosen]
        return given


def pairs(n: int, seed: int = 100) -> Rows:
    """The same objects under two embedding models: two views of hidden rows with a falling spectrum, and noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % CLASSES
    hidden = rng.standard_normal((CLASSES, HIDDEN))[y] + 2.0 * rng.standard_normal((n, HIDDEN))
    hidden *= np.arange(1, HIDDEN + 1.0) ** -0.5
    views = [hidden @ rng.standard_normal((HIDDEN, d)) + rng.standard_normal((n, d)) for d in EMBEDDED]
    return Rows(*(_centred_units(view) for view in views), y)


def narrow(n: int, seed: int = 100) -> Rows:
    """Many source rows in single precision, a few hundred target rows; no known pairs."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % CLASSES
    domains = []
    for size in (n, min(n, 360)):
        means, turn = rng.standard_normal((CLASSES, NARROW)), rng.standard_normal((NARROW, NARROW)) / np.sqrt(NARROW)
        X = means[y[:size]] + 2.0 * rng.standard_normal((size, NARROW), dtype=np.float32) @ turn
        domains.append(_centred_units(X).astype(np.float32))
    return Rows(*domains, y, paired=False)


def text(n: int, seed: int = 100) -> Rows:
    """Descriptions of packages in English and French as tf-idf over 20,000 words each; made text without the data."""
    path = Path(os.environ.get("ISTHMUS_DATA", "")) / TEXTS
    return _debian(path, n, seed) if path.is_file() else _make_texts(n, seed)


def _debian(path: Path, n: int, seed: int) -> Rows:
    from sklearn.feature_extraction.text import TfidfVectorizer

    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    rows = [row for row in rows if row.get("fr") and row["fr"].get("long")]
    names = [name for name, _ in Counter(row["section"] for row in rows).most_common(CLASSES)]
    rows = [row for row in rows if row["section"] in names]
    drawn = [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))[:ALL]]
    texts = [[f"{row[language]['short']}. {row[language]['long']}" for row in drawn] for language in ("en", "fr")]
    views = [TfidfVectorizer(max_features=WORDS).fit_transform(words) for words in texts]
    return Rows(views[0][:n], views[1][:n], np.array([names.index(row["section"]) for row in drawn[:n]]))


def _make_texts(n: int, seed: int) -> Rows:
    """Words of a falling frequency, half of them of the class, of objects that say the same twice."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % CLASSES
    ranks = np.minimum(rng.zipf(1.3, (n, LENGTH)) - 1, WORDS - 1)
    offsets = np.where(np.arange(LENGTH) % 2, 0, (WORDS // CLASSES) * y[:, None])
    views = []
    for order in (rng.permutation(WORDS), rng.permutation(WORDS)):
        columns = order[(ranks + offsets) % WORDS].ravel()
        X = sp.csr_matrix((np.ones(n * LENGTH), columns, np.arange(0, n * LENGTH + 1, LENGTH)), shape=(n, WORDS))
        lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)))
        views.append(sp.csr_matrix(X.multiply(1.0 / lengths)))
    return Rows(*views, y)


def _centred_units(X: Any) -> Any:
    X = X - X.mean(axis=0)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


SHAPES = {"pairs": pairs, "narrow": narrow, "text": text}
