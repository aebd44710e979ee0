"""What follows from a similarity across two domains that is not a metric."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from isthmus._arrays import FloatArray, IntArray
from isthmus._validation import choice, number
from isthmus.domains import TwoDomains
from isthmus.estimators.base import REFERENCES, TwoDomainEstimator
from isthmus.exceptions import InputError
from isthmus.similarity import CrossDomainSimilarity

QUERY_BLOCK = 1024
"""Rows that are compared with all source rows at once."""


class SimilarityEstimator(TwoDomainEstimator):
    """The base of systems that learn a similarity across the domains, and none within either.

    A subclass has the parameters ``n_neighbors`` and ``references``, and a ``fit`` that ends in :meth:`_learned`.
    """

    n_neighbors: int
    references: str
    similarity_: CrossDomainSimilarity

    def _learned(self, domains: TwoDomains, similarity: CrossDomainSimilarity) -> None:
        """Set what all methods below read. Nothing is set before everything has been computed."""
        self._references = similarity.embed(domains.source.X, "source").astype(np.float64), domains.source.y
        self.similarity_ = similarity
        self._note(domains)

    def _checked_neighbors(self, domains: TwoDomains) -> None:
        """Raise unless target rows can be classified by their most similar source rows."""
        if choice(self.references, "references", REFERENCES) != "source":
            raise InputError(
                "references: expected 'source', as there is no similarity within the target to rank its rows by, "
                f"got {self.references!r}."
            )
        if number(self.n_neighbors, "n_neighbors", low=1, whole=True) > (n := len(domains.source.y)):
            raise InputError(f"n_neighbors: expected at most the {n} reference rows, got {self.n_neighbors}.")

    def transform(self, X: Any, domain: str = "target") -> FloatArray:
        """Rows as points of the common space (n, k), where inner products across the domains are the similarity.

        Distances there, and inner products within a domain, mean nothing. Single precision stays single.
        """
        rows = self._rows(X, domain)
        return self.similarity_.embed(rows, domain)

    def _dimension(self) -> int:
        return self.similarity_.dimension

    def pairwise_similarities(self, A: Any, B: Any, domains: tuple[str, str] = ("source", "target")) -> FloatArray:
        """All similarities (n, m) between rows A of one domain and rows B of the other."""
        a, b = self._both(A, B, domains)
        return self.similarity_.between(a, b, domains)

    def get_similarity_matrix(self) -> FloatArray:
        """W over the features of both domains (d_s, d_t); linear kernels only."""
        check_is_fitted(self, "similarity_")
        return self.similarity_.feature_matrix()

    def kneighbors(
        self, X: Any, n_neighbors: int | None = None, domain: str = "target"
    ) -> tuple[FloatArray, IntArray]:
        """Similarities and row numbers of the most similar source rows, most similar first, both (n, k)."""
        points = self.transform(X, domain)
        if domain != "target":
            raise InputError(
                "domain: expected 'target', as there is no similarity within the source to rank its rows by, "
                f"got {domain!r}."
            )
        rows, _ = self._references
        k = int(number(self.n_neighbors if n_neighbors is None else n_neighbors, "n_neighbors", low=1,
                       high=len(rows), whole=True))  # fmt: skip
        blocks = [_most_similar(points[i : i + QUERY_BLOCK] @ rows.T, k) for i in range(0, len(points), QUERY_BLOCK)]
        similarities, numbers = zip(*blocks, strict=True)
        return np.concatenate(similarities), np.concatenate(numbers)

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """The class of each target row, by a vote of its most similar source rows (n,)."""
        _, rows = self.kneighbors(X, domain=domain)
        votes = np.eye(len(self.classes_))[self._references[1][rows]].sum(axis=1)
        return np.asarray(self.classes_[votes.argmax(axis=1)])


def _most_similar(S: FloatArray, k: int) -> tuple[FloatArray, IntArray]:
    """The k largest of each row, largest first, the first of equals first."""
    order = np.argsort(-S, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(S, order, axis=1), order
