"""Cosines of tf-idf over whole rows, or distances of shared numbers: candidates of every threshold.

The strong form: 1 + log tf, idf of both tables together, and no terms that several rows of one table have
and none of the other. Words include tokens with a digit whose punctuation is left out, such as model numbers.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.linkage.runners.exchange import Given, serve


def find_words(text: str) -> list[str]:
    """Return the words of a text, and its tokens that look like an id.

    Examples
    --------
    >>> find_words("Sony PS-LX350H")
    ['sony', 'ps', 'lx350h', '#pslx350h']
    """
    lower = text.lower()
    tokens = [re.sub("[^a-z0-9]", "", token) for token in lower.split()]
    ids = ["#" + token for token in tokens if len(token) >= 3 and re.search("[0-9]", token)]
    return re.findall("[a-z0-9]+", lower) + ids


ANALYZERS: dict[str, dict[str, Any]] = {
    "words": {"analyzer": find_words},
    "chars": {"analyzer": "char_wb", "ngram_range": (3, 5)},
}


def link(given: Given) -> dict[str, Any]:
    """Return rows that choose each other, or the best partner of each row of A where several may have the same."""
    similarity = _compare_rows(given.folder, sys.argv[2]).copy()
    for known_a, known_b in given.known:
        similarity[known_a] = -np.inf
        if given.one_to_one:
            similarity[:, known_b] = -np.inf
    i = np.arange(len(similarity))
    j = similarity.argmax(axis=1)
    kept = np.isfinite(similarity[i, j])
    if given.one_to_one:
        kept &= similarity.argmax(axis=0)[j] == i
    return {"pairs": np.stack([i, j], axis=1)[kept].tolist(), "scores": similarity[i, j][kept].tolist()}


@lru_cache(maxsize=1)  # the same for every number of known pairs
def _compare_rows(folder: Path, kind: str) -> NDArray[np.float32]:
    if kind == "distances":
        from scipy.spatial.distance import cdist

        with np.load(folder / "arrays.npz") as arrays:
            return np.asarray(-cdist(arrays["S"], arrays["T"]), dtype=np.float32)
    import pandas as pd
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    tables = [pd.read_csv(folder / name, dtype=str, keep_default_na=False) for name in ("a.csv", "b.csv")]
    texts = [table.agg(" ".join, axis=1).tolist() for table in tables]
    vectorizer = TfidfVectorizer(sublinear_tf=True, dtype=np.float32, **ANALYZERS[kind]).fit(texts[0] + texts[1])
    X, Y = (vectorizer.transform(some) for some in texts)
    in_a, in_b = X.getnnz(axis=0), Y.getnnz(axis=0)
    kept = (np.minimum(in_a, in_b) > 0) | (in_a + in_b == 1)
    return np.asarray((normalize(X[:, kept]) @ normalize(Y[:, kept]).T).toarray())


if __name__ == "__main__":
    serve(link)
