"""Index: rows of one or both domains in a common space, searched by rows of either.

An index in a file is plain arrays in an ``.npz`` archive, and a header in JSON that says what they are. Structures of
FAISS are not in it: FAISS trusts its files, so they are built from the points.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isthmus._core.archives import Expected, check_part, read_npz
from isthmus._core.files import as_path, save_file, show_path
from isthmus._core.threads import cap_methods
from isthmus._core.validation import (
    UNLABELLED,
    BoolArray,
    FloatArray,
    IntArray,
    ShortRepr,
    as_labels,
    check_choice,
    check_length,
    check_number,
    is_unlabelled,
    show_value,
)
from isthmus.data.blocks import as_partitions
from isthmus.exceptions import InputError
from isthmus.geometry.common_space import DOMAINS, INNER_PRODUCT, CommonSpace
from isthmus.geometry.similarity import NEIGHBOURHOOD, SAMPLE, Background, hub_scores
from isthmus.retrieval.engines import Engine, Structure, as_engine
from isthmus.retrieval.rules import Measure, RowMap, check_points, common_space, fetch_points, largest_entry

# The largest id that may be given: later rows are numbered on from there.
LARGEST_ID = 2**62
# Queries times neighbours of one search, at most: these are several gigabytes of answers.
MOST_FOUND = 2**27
COLUMNS = ("points", "ids", "codes", "domains")
FORMAT, VERSION = "isthmus index", 1
# Characters of the header of a file, which holds the labels, of which there may be many.
LONGEST_HEADER = 2**24


@dataclass(frozen=True, eq=False, repr=False)
class Matches(ShortRepr):
    """The nearest rows of an index for each query, the nearest first.

    Where fewer than k rows can be found, the remaining entries of a row hold the id -1 (None where ids are text), the
    distance infinity, the label -1 (None where labels are not numbers), and the domain "".

    Parameters
    ----------
    ids : array (n, k)
        Of the rows that were found.
    distances : array (n, k)
        The smaller the nearer: Euclidean distances; for a similarity, minus the inner product; with CSLS, minus the
        score.
    labels : array (n, k)
        Of the rows that were found; -1 (None where labels are not numbers) for those without one.
    domains : array (n, k)
        "source" or "target".

    Examples
    --------
    >>> ids, distances = np.array([[7, -1]]), np.array([[0.5, np.inf]])
    >>> found = Matches(ids, distances, labels=ids, domains=np.array([["source", ""]]))
    >>> np.isfinite(found.distances).sum(axis=1)  # the number of rows found for each query
    array([1])
    """

    ids: NDArray[Any]
    distances: FloatArray
    labels: NDArray[Any]
    domains: NDArray[Any]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, eq=False)
class IndexedRows:
    """The rows of an index, as plain arrays.

    Parameters
    ----------
    points : array (n, d)
    ids : array (n,)
        Whole numbers, or text as objects.
    codes : array (n,)
        Labels as positions in ``classes``, -1 for none.
    domains : array (n,)
        Positions in ("source", "target").
    classes : tuple
        The labels, in the order in which they came.
    """

    points: FloatArray
    ids: NDArray[Any]
    codes: IntArray
    domains: NDArray[Any]
    classes: tuple[Any, ...] = ()

    @property
    def text_ids(self) -> bool:
        """Whether ids are text."""
        return self.ids.dtype == object

    def select(self, label: Any, among: str | None) -> BoolArray | None:
        """Return a mask of the rows with a label and of a domain; None for all rows."""
        if label is None and among is None:
            return None
        allowed = np.ones(len(self.ids), dtype=np.bool_)
        if label is not None:
            value = label.item() if isinstance(label, np.generic) else label
            if value not in self.classes:
                some = ", ".join(repr(each) for each in self.classes[:5]) or "none"
                some += ", …" if len(self.classes) > 5 else ""
                raise InputError(f"label: expected one of those in the index ({some}), got {show_value(label)}.")
            allowed &= self.codes == self.classes.index(value)
        if among is not None:
            allowed &= self.domains == DOMAINS.index(among)
        return None if allowed.all() else allowed

    def matches(self, positions: IntArray, distances: FloatArray, k: int) -> Matches:
        """Return the rows at some positions (n, at most k), filled up to k."""
        n, found = positions.shape
        ids: NDArray[Any] = np.full((n, k), None if self.text_ids else -1, dtype=self.ids.dtype)
        codes, domains = np.full((n, k), -1, dtype=np.intp), np.full((n, k), len(DOMAINS))
        far = np.full((n, k), np.inf)
        ids[:, :found], codes[:, :found] = self.ids[positions], self.codes[positions]
        domains[:, :found], far[:, :found] = self.domains[positions], distances
        return Matches(ids, far, label_names(self.classes)[codes], np.array([*DOMAINS, ""])[domains])


@cap_methods
class Index:
    r"""Rows of one or both domains in the common space of a model, ready to be searched.

    With ``csls=True`` hubs, rows that are near to everything, are ranked lower: the score of a query q and a row r is
    :math:`2 s(q, r) - h(q) - h(r)`, with h the mean of the ten best similarities: of the query among the rows that
    are searched, of a row among those of the query's domain (at most 1,000 of them; of the index, or else of a fit
    with known pairs). It is a search for the nearest points all the same, with one more coordinate, for any engine:
    :math:`\|[q; 0] - [r; \sqrt{h(r) - \min h}]\|^2`.

    Parameters
    ----------
    model : fitted model, CommonSpace or None
        Anything with ``transform(X, domain)``. None: rows are points already.
    engine : str or Engine
        How to search. "exact" looks at all rows, block by block, in double precision. The others are of FAISS (extra
        ``faiss``), in single precision, by the strings of its ``index_factory``: "Flat" looks at all rows, "HNSW32"
        and "IVF256,Flat" are fast and miss some (:class:`~isthmus.retrieval.Engine`).
    dtype : {"float64", "float32"}, optional
        The precision in which points are kept, where it is not that of the engine.

    Examples
    --------
    >>> from isthmus import MLHD
    >>> from isthmus.data.datasets import load_digits
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
        self.engine: Engine = as_engine(engine)
        self.dtype: str = self.engine.dtype if dtype is None else check_choice(dtype, "dtype", ("float64", "float32"))
        self.measure: Measure = Measure.of(model)
        self._blocks: list[IndexedRows] = []
        self._ids: set[Any] = set()
        self._next_id = 0
        self._structure: Structure | None = None
        self._n_built = 0
        self._hubs: dict[str, tuple[Structure, FloatArray]] = {}

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def held_shape(self) -> tuple[int, int]:
        """Rows and columns of the index, for :func:`isthmus._core.threads.cap_threads`."""
        return len(self), self._blocks[0].points.shape[1] if self._blocks else 0

    def __repr__(self) -> str:
        return f"Index({type(self.model).__name__}, engine={self.engine.name!r}): {len(self)} rows"

    @property
    def rows(self) -> IndexedRows:
        """All rows, in the order in which they were added."""
        if not self._blocks:
            nothing = np.empty(0, np.int64)
            return IndexedRows(np.empty((0, 1), self.dtype), nothing, nothing, nothing)
        if len(self._blocks) > 1:  # only now, so that adding row by row doesn't copy all rows each time
            columns = {name: np.concatenate([getattr(b, name) for b in self._blocks]) for name in COLUMNS}
            self._blocks = [IndexedRows(**columns, classes=self._blocks[-1].classes)]
        return self._blocks[0]

    @property
    def ids(self) -> NDArray[Any]:
        """The ids of all rows, in the order in which they were added."""
        return self.rows.ids.copy()

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
        points = self._points(X, domain).copy()  # without a model they may be the caller's array
        n = len(points)
        numbers = self._check_ids(ids, n)
        codes, classes = encode_labels(labels, n, self._blocks[-1].classes if self._blocks else ())
        self._put(IndexedRows(points, numbers, codes, np.full(n, DOMAINS.index(domain), np.uint8), classes))
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
        """Return the k nearest rows of the index for each row.

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
            Whether hubs are ranked lower.
        """
        check_number(k, "k", low=1, whole=True)
        queries = self._points(X, domain)
        check_number(k, "k", low=1, high=MOST_FOUND // len(queries), whole=True)
        among, rows = self._searched_domain(among, domain), self.rows
        allowed = rows.select(label, among)
        available = len(rows.ids) if allowed is None else int(allowed.sum())
        if not available:
            return rows.matches(np.empty((len(queries), 0), np.intp), np.empty((len(queries), 0)), int(k))
        n = min(int(k), available)
        search = self._search_csls if csls else self._search
        positions, scores = search(rows, queries, n, allowed, domain)
        similarity = csls or self.measure.kind == INNER_PRODUCT
        return rows.matches(positions, -scores if similarity else np.sqrt(np.maximum(-2.0 * scores, 0.0)), int(k))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write rows, ids, labels and the engine's parameters, whole or not at all; the model is not in the file."""
        rows = self.rows
        ids = np.frombuffer(json.dumps(rows.ids.tolist()).encode(), np.uint8) if rows.text_ids else rows.ids
        about = {"format": FORMAT, "version": VERSION, "engine": asdict(self.engine), "dtype": self.dtype}
        about |= {"shape": list(rows.points.shape), "text_ids": rows.text_ids}
        about |= {"classes": list(rows.classes), "model": fingerprint(self.model)}
        header = json.dumps(about)
        if len(header) > LONGEST_HEADER:  # what could not be read again is not written
            raise InputError(f"{show_path(path)}: expected an index that fits a file, got one with too many labels.")
        with save_file(path) as file:
            arrays = {"points": rows.points, "ids": ids, "codes": rows.codes, "domains": rows.domains}
            np.savez(file, header=np.array(header), **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: Any = None) -> Index:
        """Return the index in a file, for the model that it was made with; without one, rows are points already.

        Every part is checked, and nothing in the file is run: the engine's structure is built from the points.
        """
        where = as_path(path)
        text = str(read_npz(where, {"header": Expected((), "text", high=LONGEST_HEADER)})["header"])
        header = _check_header(text, path)
        (n, width), dtype, text_ids = header["shape"], header["dtype"], header["text_ids"]
        size, limit = os.path.getsize(where), largest_entry(dtype)
        # Nothing is compressed: a file that is smaller than its points would be is made to exhaust the memory.
        check_part(n * width * np.dtype(dtype).itemsize <= size, path, f"a file with {n} x {width} points")
        whole = partial(Expected, kind="whole", most_bytes=size)
        expected = {
            "points": Expected((n, width), "number", -limit, limit, most_bytes=size),
            "ids": whole((None,), low=0, high=255) if text_ids else whole((n,), low=0, high=LARGEST_ID),
            "codes": whole((n,), low=-1, high=len(header["classes"]) - 1),
            "domains": whole((n,), low=0, high=len(DOMAINS) - 1),
        }
        arrays = read_npz(where, expected)
        same = model is None or header["model"] in (None, fingerprint(model))
        check_part(same, path, "the model that the index was made with")
        index = Index(model, header["engine"], dtype=dtype)
        if n:
            check_part(arrays["points"].dtype == dtype, path, f"points in {dtype}")
            numbers = _read_text_ids(arrays["ids"], n, path) if text_ids else arrays["ids"].astype(np.int64)
            check_part(len(set(numbers.tolist())) == n, path, "every id once")
            domains = arrays["domains"].astype(np.uint8)
            index._put(IndexedRows(arrays["points"], numbers, arrays["codes"], domains, tuple(header["classes"])))
        return index

    def _put(self, rows: IndexedRows) -> None:
        """Add rows that have been checked."""
        self._blocks.append(rows)
        self._ids |= set(rows.ids.tolist())
        self._next_id = 0 if rows.text_ids else max(self._next_id, int(rows.ids.max()) + 1)
        self._hubs = {}  # how near rows are to everything has changed

    def _points(self, X: Any, domain: str) -> FloatArray:
        """Return rows as points, in the precision of the index."""
        check_choice(domain, "domain", DOMAINS)
        if isinstance(self.model, CommonSpace):
            made = RowMap(None, self.model.n_features(domain), self.model, domain)
            parts = as_partitions(X)
            points = parts.map(made, self.model.dimension, self.dtype) if parts else made(X)
        else:
            points = X if self.model is None else self.model.transform(X, domain)
        width = self._blocks[0].points.shape[1] if self._blocks else None
        parts = as_partitions(points)
        return fetch_points(parts, self.dtype, width) if parts else check_points(points, self.dtype, width=width)

    def _check_ids(self, ids: Any, n: int) -> NDArray[Any]:
        """Return the ids of n new rows; raise where they are not of the kind of those in the index, or not new."""
        text = self._blocks[0].text_ids if self._blocks else None
        if ids is None and text:
            raise InputError("ids: expected an id for each row, as the rows before have ids that are text, got None.")
        if ids is None:
            return np.arange(self._next_id, self._next_id + n, dtype=np.int64)
        values = as_labels(ids, "ids", "id")
        check_length(values, n, "ids", "X")
        words = values.dtype.kind in "UO" and all(isinstance(value, str) for value in values.tolist())
        if not words and not (values.dtype.kind in "iu" and values.min() >= 0 and values.max() <= LARGEST_ID):
            raise InputError("ids: expected text or whole numbers of at least 0, got others.")
        if text is not None and words != text:
            kinds = {True: "text", False: "whole numbers"}
            raise InputError(f"ids: expected {kinds[text]}, as the rows before have, got {kinds[words]}.")
        listed = values.tolist()
        if len(set(listed)) < n:
            raise InputError("ids: expected every id once, got one twice.")
        if (known := next((each for each in listed if each in self._ids), None)) is not None:
            raise InputError(f"ids: expected ids that are not in the index, got {known!r:.60}, which is.")
        return np.array(listed, dtype=object if words else np.int64)

    def _searched_domain(self, among: str | None, domain: str) -> str | None:
        """Return the domain whose rows are searched by rows of a domain; None for both."""
        if among is not None:
            check_choice(among, "among", DOMAINS)
        if not self.measure.across:
            return among
        other = DOMAINS[1 - DOMAINS.index(domain)]
        if among not in (None, other):
            raise InputError(f"among: expected {other!r}, as there is no similarity within a domain, got {among!r}.")
        return other

    def _search(
        self, rows: IndexedRows, queries: FloatArray, k: int, allowed: BoolArray | None, domain: str
    ) -> tuple[IntArray, FloatArray]:
        """Return the positions and the similarities (n, k) of the nearest allowed rows, the nearest first."""
        if self._structure is None:
            self._structure = self.engine.build(rows.points, self.measure.kind)
        elif self._n_built < len(rows.ids):
            self._structure = self._structure.extend(rows.points)
        self._n_built = len(rows.ids)
        positions = self._structure.nearest(queries, k, allowed)
        # Engines find in their own precision; distances and order are those of double precision.
        return _sort(positions, self.measure.scores_at(queries, rows.points, positions))

    def _search_csls(
        self, rows: IndexedRows, queries: FloatArray, k: int, allowed: BoolArray | None, domain: str
    ) -> tuple[IntArray, FloatArray]:
        """Return the positions and the CSLS scores (n, k), the best first."""
        product = self.measure.kind == INNER_PRODUCT
        if domain not in self._hubs:
            near = hub_scores(self.measure, rows.points, self._background(rows, domain)).astype(np.float64)
            # One more coordinate makes CSLS a search for the nearest points: see the formula of the class.
            more = near if product else np.sqrt(near - near.min())
            points = np.hstack([rows.points, more[:, None].astype(rows.points.dtype)])
            self._hubs[domain] = self.engine.build(points, self.measure.kind), near
        structure, hubs = self._hubs[domain]
        last = np.full((len(queries), 1), -1.0 if product else 0.0, dtype=queries.dtype)
        positions = structure.nearest(np.hstack([2.0 * queries if product else queries, last]), k, allowed)
        available = len(rows.ids) if allowed is None else int(allowed.sum())
        # h(q) changes no ranking, only the score that is reported.
        own = self._search(rows, queries, min(NEIGHBOURHOOD, available), allowed, domain)[1].mean(axis=1)
        scores = 2.0 * self.measure.scores_at(queries, rows.points, positions) - own[:, None] - hubs[positions]
        return _sort(positions, scores)

    def _background(self, rows: IndexedRows, domain: str) -> FloatArray:
        """Return points of a domain, evenly spaced among those of the index, or else those of the model's fit."""
        own = np.flatnonzero(rows.domains == DOMAINS.index(domain))
        # Evenly spaced and not random: the same index gives the same answers.
        if len(own):
            chosen = own[np.unique(np.linspace(0, len(own) - 1, min(SAMPLE, len(own))).astype(np.intp))]
            return rows.points[chosen]
        fitted = getattr(self.model, "_background", None)
        if isinstance(fitted, Background):
            return np.asarray(fitted.source if domain == "source" else fitted.target, dtype=rows.points.dtype)
        expected = f"rows of the {domain} in the index, or a model fitted with known pairs"
        raise InputError(f"csls: expected {expected}, got neither; add some, or search without csls.")


def encode_labels(labels: Any, n: int, classes: Sequence[Any]) -> tuple[IntArray, tuple[Any, ...]]:
    """Return labels as positions among the classes, -1 for none, and the classes with the new ones behind."""
    if labels is None:
        return np.full(n, UNLABELLED, dtype=np.intp), tuple(classes)
    values = as_labels(labels, "labels")
    check_length(values, n, "labels", "X")
    listed = [None if none else v for v, none in zip(values.tolist(), is_unlabelled(values), strict=True)]
    codes = {label: code for code, label in enumerate(classes)}
    for value in listed:
        if value is None:
            continue
        if not isinstance(value, str | int | float) or value in (np.inf, -np.inf):
            raise InputError(f"labels: expected text or finite numbers, got {show_value(value)}.")
        codes.setdefault(value, len(codes))
    if len({isinstance(value, str) for value in codes}) > 1:
        raise InputError("labels: expected text only or numbers only, got a mixture.")
    codes[None] = UNLABELLED
    coded = np.array([codes[value] for value in listed], dtype=np.intp)
    return coded, tuple(codes)[:-1]


def label_names(classes: Sequence[Any]) -> NDArray[Any]:
    """Return labels by their codes (C + 1,), the mark for none last, where the code -1 finds it.

    Examples
    --------
    >>> label_names([3, 5])[[0, -1]], label_names(["a"])[[0, -1]]
    (array([ 3, -1]), array(['a', None], dtype=object))
    """
    plain = np.asarray(classes) if len(classes) else np.empty(0, dtype=object)
    if plain.dtype.kind in "iuf":
        return np.append(plain, UNLABELLED)
    return np.array([*classes, None], dtype=object)


def _sort(positions: IntArray, scores: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the best first, and of equals the one that was added first."""
    order = np.lexsort((positions, -scores), axis=1)
    return np.take_along_axis(positions, order, axis=1), np.take_along_axis(scores, order, axis=1)


def fingerprint(model: Any) -> str | None:
    """Return a hash of the common space of a model; None for models without one."""
    space = common_space(model)
    if space is None:
        return None
    found = hashlib.sha256(json.dumps([space.kind, space.projected, list(space.parts)]).encode())
    for array in space.arrays:
        found.update(f"{array.dtype.str} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def _check_header(text: str, path: Any) -> dict[str, Any]:
    """Return the header with the engine that it names; raise unless :meth:`Index.save` could have written it."""
    try:
        header: dict[str, Any] = json.loads(text)
        (n, width), classes, options = header["shape"], header["classes"], dict(header["engine"])
        right = [
            (header["format"], header["version"]) == (FORMAT, VERSION),
            all(type(size) is int and 0 <= size < 2**40 for size in (n, width)) and width > 0,
            header["dtype"] in ("float32", "float64") and type(header["text_ids"]) is bool,
            type(header["model"]) in (str, type(None)),
            type(classes) is list and len(set(classes)) == len(classes),
            all(type(c) in (str, int, bool) or (type(c) is float and math.isfinite(c)) for c in classes),
            len({type(c) is str for c in classes}) < 2,
        ]
        header["engine"] = Engine(**options)
    except (InputError, KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
        right = [False]
    check_part(all(right), path, f"the header of an index (version {VERSION} of the format)")
    return header


def _read_text_ids(content: NDArray[Any], n: int, path: Any) -> NDArray[Any]:
    try:
        listed = json.loads(content.astype(np.uint8).tobytes().decode())
    except (ValueError, RecursionError):
        listed = None
    right = isinstance(listed, list) and len(listed) == n and all(isinstance(each, str) for each in listed)
    check_part(right, path, f"{n} ids")
    return np.array(listed, dtype=object)
