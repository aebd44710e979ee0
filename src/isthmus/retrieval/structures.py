"""What an index searches with: a structure over its points, and one without hubs for queries of either domain."""

from __future__ import annotations

import numpy as np

from isthmus._arrays import BoolArray, FloatArray, IntArray
from isthmus.common_space import INNER_PRODUCT
from isthmus.retrieval.catalogue import Catalogue
from isthmus.retrieval.engines import Engine, Structure
from isthmus.retrieval.hubness import NEIGHBOURHOOD, hub_scores
from isthmus.retrieval.measure import Measure


class Structures:
    """Structures over the rows of a catalogue, made when they are first needed.

    Parameters
    ----------
    engine : Engine
        How to make them.
    measure : Measure
        How points are compared.
    """

    def __init__(self, engine: Engine, measure: Measure) -> None:
        self.engine, self.measure = engine, measure
        self.plain: Structure | None = None
        self._n_plain = 0
        self._hubless: dict[str, tuple[Structure, FloatArray]] = {}

    def forget(self) -> None:
        """Make all of them anew: rows have changed their places."""
        self.plain = None
        self.forget_hubs()

    def forget_hubs(self) -> None:
        """Measure anew how near rows are to everything: there are others."""
        self._hubless = {}

    def nearest(
        self, rows: Catalogue, queries: FloatArray, k: int, allowed: BoolArray | None
    ) -> tuple[IntArray, FloatArray]:
        """The places and the similarities (n, k) of the nearest allowed rows, the nearest first."""
        if self.plain is None:
            self.plain, self._n_plain = self.engine.built(rows.points, self.measure.kind), rows.n
        elif self._n_plain < rows.n:
            self.plain, self._n_plain = self.plain.extended(rows.points), rows.n
        places = self.plain.nearest(queries, k, allowed)
        return _ordered(places, self.measure.scores_at(queries, rows.points, places))

    def has_hubs(self, domain: str) -> bool:
        """Whether it is known how near rows are to everything in a domain."""
        return domain in self._hubless

    def measure_hubs(self, rows: Catalogue, domain: str, background: FloatArray) -> None:
        """Measure how near rows are to everything in a domain, and make the structure without hubs."""
        hubs = hub_scores(self.measure, rows.points, background).astype(np.float64)
        last = hubs if self.measure.kind == INNER_PRODUCT else np.sqrt(hubs - hubs.min())
        points = np.hstack([rows.points, last[:, None].astype(rows.points.dtype)])
        self._hubless[domain] = self.engine.built(points, self.measure.kind), hubs

    def without_hubs(
        self, rows: Catalogue, queries: FloatArray, k: int, allowed: BoolArray | None, domain: str
    ) -> tuple[IntArray, FloatArray]:
        """The places and the scores (n, k) of CSLS, the best first."""
        product = self.measure.kind == INNER_PRODUCT
        structure, hubs = self._hubless[domain]
        last = np.full((len(queries), 1), -1.0 if product else 0.0, dtype=queries.dtype)
        places = structure.nearest(np.hstack([2.0 * queries if product else queries, last]), k, allowed)
        available = rows.n if allowed is None else int(allowed.sum())
        near = self.nearest(rows, queries, min(NEIGHBOURHOOD, available), allowed)[1].mean(axis=1)
        scores = 2.0 * self.measure.scores_at(queries, rows.points, places) - near[:, None] - hubs[places]
        return _ordered(places, scores)


def _ordered(places: IntArray, scores: FloatArray) -> tuple[IntArray, FloatArray]:
    """The best first, and of equals the one that was added first."""
    order = np.lexsort((places, -scores), axis=1)
    return np.take_along_axis(places, order, axis=1), np.take_along_axis(scores, order, axis=1)
