"""Find the translations among documents in two languages, with few known pairs or none.

The documents are simulated, so that the truth is known: each is a bag of concepts, and each language has its own
words for a concept (one or two, some of them ambiguous), omits some and adds others. The two collections share no
word. Rows are tf-idf vectors; only the similarities within each collection can be compared.
"""

from __future__ import annotations

import argparse

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer

from isthmus import match

CONCEPTS, TOPICS, LENGTH = 1000, 60, 150


def draw_concepts(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return counts of concepts in n documents (n, c), each with a few topics, some of which are common."""
    popularity = 1.0 / np.arange(1, CONCEPTS + 1) ** 0.8
    topics = rng.dirichlet(0.05 * CONCEPTS * popularity / popularity.sum(), size=TOPICS)
    shares = rng.dirichlet(4.0 * np.geomspace(1.0, 0.05, TOPICS) / TOPICS, size=n)
    lengths = rng.poisson(LENGTH * rng.gamma(2.0, 0.5, size=n)) + 20
    return np.stack([rng.multinomial(k, share @ topics) for k, share in zip(lengths, shares, strict=True)])


def translate(counts: np.ndarray, rng: np.random.Generator) -> sp.csr_matrix:
    """Return the documents in a random language: tf-idf of words, one or two per concept."""
    words = 2 * CONCEPTS
    dictionary = np.zeros((CONCEPTS, words))
    for concept in range(CONCEPTS):
        own = rng.choice(words, size=rng.integers(1, 3), replace=False)
        dictionary[concept, own] = rng.dirichlet(np.ones(len(own)))
    said = rng.binomial(counts, 0.9) + rng.poisson(0.05 * counts.mean(axis=0), size=counts.shape)
    return TfidfTransformer(sublinear_tf=True).fit_transform(sp.csr_matrix(rng.poisson(said @ dictionary)))


def make_collections(n: int, share: float, rng: np.random.Generator):
    """Return n documents per language, a share of them translations, and for each row of A its row in B, or -1."""
    both = int(n * share)
    counts = draw_concepts(2 * n - both, rng)
    in_a, in_b = np.arange(n), rng.permutation(np.r_[np.arange(both), np.arange(n, 2 * n - both)])
    row = {document: k for k, document in enumerate(in_b)}
    true = np.array([row.get(document, -1) for document in in_a])
    return translate(counts, rng)[in_a], translate(counts, rng)[in_b], true


def main() -> None:
    """Match the collections and compare with the truth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=600, help="documents per language (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for share, n_known in ((1.0, 0), (0.5, 0), (0.5, 30), (0.0, 0)):
        A, B, true = make_collections(options.documents, share, np.random.default_rng(options.seed))
        rows = np.flatnonzero(true >= 0)[:n_known]
        found = match(A, B, np.stack([rows, true[rows]], axis=1) if n_known else None, progress=True)
        unknown = np.setdiff1d(np.flatnonzero(true >= 0), rows)
        print(f"\n{share:.0%} of the documents have a translation, {n_known} are known")
        print(f"  {found}")
        if len(unknown):
            print(f"  the nearest document is the translation for {(found.nearest == true)[unknown].mean():.0%}")
        if len(found):
            right = (true[found.pairs[:, 0]] == found.pairs[:, 1]).mean()
            print(f"  of the pairs that are returned, {right:.0%} are right")


if __name__ == "__main__":
    main()
