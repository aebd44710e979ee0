"""Index: rows of one or both domains in a common space, to be searched by rows of either."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isthmus._arrays import FloatArray
from isthmus._validation import choice, number
from isthmus.common_space import DOMAINS, INNER_PRODUCT, CommonSpace
from isthmus.domains.blocks import as_partitions
from isthmus.exceptions import InputError
from isthmus.retrieval.catalogue import Catalogue
from isthmus.retrieval.engines import Engine, Exact
from isthmus.retrieval.faiss_engines import HNSW, IVF, Flat
from isthmus.retrieval.matches import Matches
from isthmus.retrieval.measure import Measure, kept_points
from isthmus.retrieval.partitions import RowMap, fetched
from isthmus.retrieval.selection import allowed_rows, background, searched_domain
from isthmus.retrieval.structures import Structures

ENGINES = {engine.name: engine for engine in (Exact, Flat, HNSW, IVF)}


class Index:
    r"""Rows of one or both domains in the common space of a model, ready to be searched.

    With ``csls=True`` rows that are near to everything are set back: the score of a query q and a row r is
    :math:`2 s(q, r) - h(q) - h(r)`, with h the mean of the ten best similarities: of the query among the rows that
    are searched, of a row among those of the query's domain (at most 1,000 of them; of the index, or else of a fit
    with known pairs). It is a search for the nearest points all the same, with one more coordinate, for any engine:
    :math:`\|[q; 0] - [r; \sqrt{h(r) - \min h}]\|^2`.

    Parameters
    ----------
    model : fitted model, CommonSpace or None
        Anything with ``transform(X, domain)``. None: rows are points already.
    engine : {"exact", "flat", "hnsw", "ivf"} or Exact, Flat, HNSW, IVF
        How to search. "exact" looks at all rows, block by block, in double precision. The others are of FAISS (extra
        ``faiss``), in single precision: "flat" looks at all rows, "hnsw" and "ivf" are fast and miss some.
    dtype : {"float64", "float32"}, optional
        The precision in which points are kept, where it is not that of the engine.

    Examples
    --------
    >>> from isthmus import MLHD
    >>> from isthmus.datasets import load_digits
    >>> d = load_digits(3, random_state=100)
    >>> model = MLHD().fit(d.X_source, d.y_source, d.X_target, d.y_target)
    >>> index = Index(model).add(d.X_source, "source", labels=d.y_source)
    >>> found = index.search(d.X_test[:1], k=3)
    >>> found.labels, d.y_test[:1]
    (array([[0, 0, 0]]), array([0]))
    """

    def __init__(self, model: Any = None, engine: Any = "exact", *, dtype: str | None = None) -> None:
        if not (model is None or isinstance(model, CommonSpace) or callable(getattr(model, "transform", None))):
            raise InputError(f"model: expected one with transform(X, domain), got {type(model).__name__}.")
        self.model = model
        self.engine = as_engine(engine)
        self.engine.require()
        self.dtype = self.engine.dtype if dtype is None else choice(dtype, "dtype", ("float64", "float32"))
        self.measure = Measure.of(model)
        self._rows: Catalogue | None = None
        self._structures = Structures(self.engine, self.measure)

    def __len__(self) -> int:
        return 0 if self._rows is None else len(self._rows)

    def __contains__(self, id: Any) -> bool:
        return self._rows is not None and id in self._rows.places

    def __repr__(self) -> str:
        return f"Index({type(self.model).__name__}, engine={self.engine.name!r}): {len(self)} rows"

    @property
    def ids(self) -> NDArray[Any]:
        """The ids of all rows, in the order in which they were added."""
        return np.array(self.catalogue.kept()["ids"])

    @property
    def catalogue(self) -> Catalogue:
        """The rows; before the first is added, a catalogue without any."""
        return Catalogue(1, self.dtype) if self._rows is None else self._rows

    def add(self, X: Any, domain: str, ids: Any = None, labels: Any = None) -> Self:
        """Add rows; where anything is wrong with one, none is added.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Dask array (n, d)
            Rows of the domain. Those of a Dask array become points where they lie, and only points come here.
        domain : {"source", "target"}
            Where they come from.
        ids : array or Dask array (n,), optional
            Text, or whole numbers of at least 0; of one kind in the whole index, and each once. Without, rows are
            numbered on from the largest number so far.
        labels : array or Dask array (n,), optional
            Text or numbers; -1, None or NaN for none.
        """
        points = self._points(X, domain)
        rows = Catalogue(points.shape[1], self.dtype) if self._rows is None else self._rows
        rows.add(rows.batch(points, domain, ids, labels))
        self._rows = rows
        self._structures.forget_hubs()
        return self

    def remove(self, ids: Any) -> Self:
        """Remove rows by their ids; where one is not in the index, none is removed.

        They are struck off at once. Their room is freed at the next search, or, with engines that can't remove, when
        more than a quarter of the rows are gone: then the structure is built anew.
        """
        self.catalogue.remove(ids)
        self._structures.forget_hubs()
        return self

    def search(
        self,
        X: Any,
        k: int = 10,
        domain: str = "target",
        *,
        label: Any = None,
        among: str | None = None,
        csls: bool = False,
    ) -> Matches:
        """The k nearest rows of the index for each row.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Dask array (n, d)
            Rows to find neighbours of.
        k : int
            How many. Where the index, or the filter, has fewer, the rest is filled as :class:`Matches` says.
        domain : {"target", "source"}
            Where the rows come from.
        label : text or number, optional
            Only rows with this label are searched.
        among : {"source", "target"}, optional
            Only rows of this domain are. Where the similarity is defined across the domains only, they are always
            those of the other one.
        csls : bool
            Whether rows that are near to everything are set back.
        """
        number(k, "k", low=1, whole=True)
        queries = self._points(X, domain)
        among = searched_domain(among, domain, across=self.measure.across)
        rows = self._tidy()
        allowed = None if rows is None else allowed_rows(rows, label, among)
        available = 0 if rows is None else rows.n if allowed is None else int(allowed.sum())
        if rows is None or available == 0:
            return Matches.of(
                self.catalogue, np.empty((len(queries), 0), np.intp), np.empty((len(queries), 0)), int(k)
            )
        n, search = min(int(k), available), self._structures
        if csls and not search.has_hubs(domain):
            search.measure_hubs(rows, domain, background(rows, self.model, domain))
        places, scores = (
            search.without_hubs(rows, queries, n, allowed, domain)
            if csls
            else search.nearest(rows, queries, n, allowed)
        )
        distances = -scores if csls or self.measure.kind == INNER_PRODUCT else np.sqrt(np.maximum(-2.0 * scores, 0.0))
        return Matches.of(rows, places, distances, int(k))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write rows, ids, labels and the engine's parameters, whole or not at all; the model is not in the file."""
        from isthmus.retrieval.index_files import save

        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: Any = None) -> Index:
        """The index in a file, for the model that it was made with; without one, rows are points already.

        Every part is checked, and nothing in the file is run: the engine's structure is built anew from the points.
        """
        from isthmus.retrieval.index_files import load

        return load(path, model)

    def _points(self, X: Any, domain: str) -> FloatArray:
        """Rows as points, in the precision of the index."""
        choice(domain, "domain", DOMAINS)
        if isinstance(self.model, CommonSpace):
            points: Any = self._embedded(self.model, X, domain)
        else:
            points = X if self.model is None else self.model.transform(X, domain)
        width = None if self._rows is None else self._rows.points.shape[1]
        parts = as_partitions(points)
        return fetched(parts, self.dtype, width) if parts else kept_points(points, self.dtype, width=width)

    def _embedded(self, space: CommonSpace, X: Any, domain: str) -> Any:
        made = RowMap(None, space.space(domain).n_features, space, domain)
        parts = as_partitions(X)
        return parts.map(made, space.dimension, self.dtype) if parts else made(X)

    def _tidy(self) -> Catalogue | None:
        """The rows, after room has been freed where too many are gone."""
        rows = self._rows
        if rows is not None and rows.n - len(rows) > self.engine.idle * rows.n:
            rows.close_ranks()
            self._structures.forget()
        return rows


def as_engine(engine: Any) -> Engine:
    """An engine by its name, or as it is."""
    if isinstance(engine, str) and engine in ENGINES:
        made: Engine = ENGINES[engine]()
        return made
    if isinstance(engine, Exact | Flat | HNSW | IVF):
        return engine
    options = ", ".join(repr(name) for name in ENGINES)
    raise InputError(f"engine: expected one of {options}, or one with parameters, got {engine!r:.60}.")
