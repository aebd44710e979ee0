"""The adapter between an old space and a new one, with its evidence and its file; :func:`migrate` makes it."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from isthmus._core.archives import Expected, check_part, read_npz
from isthmus._core.files import as_path, write_whole
from isthmus._core.progress import Progress, WorkCounter
from isthmus._core.threads import cap_methods, cap_threads
from isthmus._core.validation import (
    LARGEST,
    FloatArray,
    IntArray,
    as_generator,
    check_choice,
    check_magnitude,
    check_matrix,
    check_number,
    check_same_columns,
    column_names,
    is_sparse,
)
from isthmus.data.domains import FORMS, KnownPairs, TwoDomains
from isthmus.evidence.held_out import read_value
from isthmus.exceptions import InputError
from isthmus.maps.regression import AffineMap, KernelMap
from isthmus.tasks.migration.engine import COST_OF_BOTH, CURVED, KINDS, Gallery, HeldOutSearch, Map, score_both_ways
from isthmus.tasks.migration.evidence import (
    BRIDGE,
    CUT_OFFS,
    UNTIL,
    Advice,
    Recall,
    Thresholds,
    give_advice,
)
from isthmus.tasks.migration.options import CONVERT, KEEP, PROGRESSIVE, REEMBED, Comparison, Queries, compare_options

AUTO = "auto"
# The options that every comparison has.
ALWAYS = {KEEP, BRIDGE, CONVERT, REEMBED}
# Pairs: with fewer no figure on held-out ones means anything.
FEWEST = 10
# Pairs that are learned from; a random sample of more. Held-out figures have long stopped rising there.
MOST = 20_000
TO_OLD, TO_NEW = "to_old", "to_new"
# Numbers in a block of rows, in or out: 32 MB in double precision.
BLOCK_VALUES = 2**22
# Between these are the largest numbers of a map whose products single precision can hold.
ORDINARY = 1e-10, 1e10
FORMAT, VERSION = "isthmus adapter", 1
# Characters of the text: more than any adapter has.
LONGEST_TEXT = 2**20
# The maps of a file, and the spaces that they lead from and to.
MAPS = {"old_from_new": ("new", "old"), "new_from_old": ("old", "new")}
# The arrays of a map, in the order of its fields, and the letters of their axes: i columns in, j out, k landmarks.
AFFINE = {"W": "ij", "input_mean": "i", "output_mean": "j"}
KERNEL = {"landmarks": "ki", "bandwidth": "", "coefficients": "kj", "offset": "j", "output_mean": "j"}
LIMITS: dict[str, dict[str, Any]] = {"landmarks": {"low": -LARGEST, "high": LARGEST}, "bandwidth": {"low": 1e-100}}


def map_in_blocks(X: Any, found: Map, single: Map, shape: tuple[int, int]) -> FloatArray:
    """Map rows X (n, d) to (n, e), with no more than a block in memory besides the result.

    Parameters
    ----------
    X : array, memory map or CSR (n, d)
    found, single : AffineMap or KernelMap
        The map, and the one for rows in single precision.
    shape : (d, e)
        The columns of either side.
    """
    if not (is_sparse(X) or isinstance(X, np.ndarray)) or X.ndim != 2:
        X = check_matrix(X, "X", n_columns=shape[0])
    X = X.tocsr() if is_sparse(X) else X
    check_matrix(X[:0], "X", n_columns=shape[0], min_rows=0)
    dtype, apply = (np.float32, single) if X.dtype == np.float32 else (np.float64, found)
    result = np.empty((X.shape[0], shape[1]), dtype)
    step = max(1, BLOCK_VALUES // max(shape))
    for start in range(0, len(result), step):
        rows = check_matrix(X[start : start + step], "X")
        with np.errstate(over="ignore", invalid="ignore"):
            result[start : start + step] = apply(rows)
        if not np.isfinite(result[start : start + step]).all():
            got = "got one that is too large; scale first"
            raise InputError(f"X: expected rows whose images are within {result.dtype}, {got}.")
    return result


def to_single_precision(found: Map) -> Map:
    """Return the map in single precision; as it is where its numbers are too large or too small for that."""
    low, high = ORDINARY
    sizes = [(np.ndim(part), float(np.abs(part).max(initial=0.0))) for part in vars(found).values()]
    # Means and offsets (one dimension) may be tiny; a matrix may not, since its products would vanish.
    fits = all(size == 0.0 or (size <= high and (ndim == 1 or low <= size)) for ndim, size in sizes)
    return found.astype(np.float32) if fits else found


@cap_methods
@dataclass(frozen=True, eq=False)
class Adapter:
    """Maps between an old space and a new one, with the figures of held-out pairs; made by :func:`migrate`.

    An :class:`~isthmus.evidence.Answer`: ``ok``, ``sentence`` (the advice) and ``evidence`` (the recall).

    Parameters
    ----------
    kind : str
        ``"ridge"``, ``"procrustes"``, ``"low_rank"`` or ``"kernel_ridge"``.
    old_from_new, new_from_old : AffineMap or KernelMap
        The two maps, in double precision.
    n_pairs : int
        How many pairs they were learned from.
    recall : Recall
        How well rows of held-out pairs are found.
    thresholds : Thresholds
        Equivalent thresholds, which let the same share of the index pass.
    old_columns, new_columns : tuple of str, optional
        The names of the columns, where data frames were given.
    options : Comparison, optional
        What to keep, map or embed again, measured on the queries, where any were given.

    Examples
    --------
    >>> import isthmus
    >>> rng = np.random.default_rng(0)
    >>> old = rng.normal(size=(200, 8))
    >>> adapter = isthmus.migrate(old, old @ rng.normal(size=(8, 12)))
    >>> adapter.to_old(np.zeros((3, 12))).shape, adapter.advice.action
    ((3, 8), 'bridge')
    """

    kind: str
    old_from_new: Map
    new_from_old: Map
    n_pairs: int
    recall: Recall
    thresholds: Thresholds
    old_columns: tuple[str, ...] | None = None
    new_columns: tuple[str, ...] | None = None
    options: Comparison | None = None

    def to_old(self, X: Any) -> FloatArray:
        """Map rows of the new space (n, d_new) to the old one (n, d_old), where the index stays as it is.

        Parameters
        ----------
        X : array, memory map, CSR or data frame (n, d_new)
            Single precision gives single precision. Rows are mapped block by block.
        """
        check_same_columns(X, self.new_columns, "X")
        return map_in_blocks(X, self.old_from_new, self._single[0], self.shape)

    def to_new(self, X: Any) -> FloatArray:
        """Map rows of the old space (n, d_old) to the new one (n, d_new); see :meth:`to_old`."""
        check_same_columns(X, self.old_columns, "X")
        return map_in_blocks(X, self.new_from_old, self._single[1], self.shape[::-1])

    @cached_property
    def _single(self) -> tuple[Map, Map]:
        return to_single_precision(self.old_from_new), to_single_precision(self.new_from_old)

    def similarity(self, X_new: Any, X_old: Any) -> FloatArray:
        r"""Return the scores (n, m) of new rows with old ones by both maps.

        .. math:: \cos(f(b) - \bar a, a - \bar a) + \cos(b - \bar b, g(a) - \bar b)

        with f to the old space, g to the new one and the means of the pairs. They find more than the cosine in the
        old space alone, and need g for every row of the index.
        """
        for X, columns, name in ((X_new, self.new_columns, "X_new"), (X_old, self.old_columns, "X_old")):
            check_same_columns(X, columns, name)
        B, A = (
            check_magnitude(check_matrix(X, name, n_columns=n), name, smallest=0.0)
            for X, name, n in zip((X_new, X_old), ("X_new", "X_old"), self.shape, strict=True)
        )
        return score_both_ways(self.old_from_new, self.new_from_old, A)(B)

    def threshold(self, value: float) -> float:
        """Return the threshold of the cosine similarity that passes as many rows of the index as ``value`` does.

        Parameters
        ----------
        value : float
            A threshold for queries of the old model; the result is for adapted ones.

        Notes
        -----
        Quantiles are matched: the similarities of held-out rows, as old queries and as adapted ones, with rows of the
        index other than their own. Beyond the largest or smallest that was seen, the answer is the largest or
        smallest of the other scale.
        """
        return self.thresholds.translate(value)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of columns of the new space and of the old one."""
        return len(self.new_from_old.output_mean), len(self.old_from_new.output_mean)

    @property
    def advice(self) -> Advice:
        """What to do and why: by the comparison on queries where there is one, else by held-out rows."""
        if self.options is None:
            return give_advice(self.recall)
        return Advice(self.options.verdict.name, f"{self.options.sentence} {CUT_OFFS}")

    @property
    def ok(self) -> bool | None:
        """True: bridge or convert. None: bridge until re-embedded. False: what needs no map."""
        return {BRIDGE: True, CONVERT: True, UNTIL: None}.get(self.advice.action, False)

    @property
    def sentence(self) -> str:
        """The advice in one sentence; what ``str`` returns."""
        return str(self.advice)

    @property
    def evidence(self) -> Recall:
        """The figures of held-out pairs: another name of ``recall``."""
        return self.recall

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the adapter to one file in a folder that exists, whole or not at all; :meth:`load` reads it again."""
        about = {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "n_pairs": self.n_pairs,
            "recall": asdict(self.recall),
            "old_columns": self.old_columns,
            "new_columns": self.new_columns,
            "options": None if self.options is None else asdict(self.options),
        }
        arrays: dict[str, Any] = {"about": np.array(json.dumps(about))}
        for name in MAPS:
            arrays |= {f"{name}_{part}": getattr(getattr(self, name), part) for part in _parts(self.kind)}
        arrays |= {"threshold_old": self.thresholds.old, "threshold_adapted": self.thresholds.adapted}
        content = io.BytesIO()
        np.savez(content, **arrays)
        write_whole(path, content.getvalue())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Adapter:
        """Read an adapter that :meth:`save` wrote; every part is checked, and nothing in the file is executed."""
        where = as_path(path)
        text = str(read_npz(where, {"about": Expected((), "text", high=LONGEST_TEXT)})["about"])
        try:
            about: dict[str, Any] = json.loads(text)
            right = (about["format"], about["version"]) == (FORMAT, VERSION) and about["kind"] in KINDS
            parts, n_pairs = _parts(about["kind"]), read_value(int, about["n_pairs"])
            recall = read_value(Recall, about["recall"])
            columns = [read_value(tuple[str, ...] | None, about[f"{side}_columns"]) for side in ("old", "new")]
            options = read_value(Comparison | None, about.get("options"))
            right &= len(recall.n_pairs) == len(recall.figures) > 0
            right &= options is None or {option.name for option in options.options} - {PROGRESSIVE} == ALWAYS
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            right = False
        check_part(right, path, f"the text of an adapter (version {VERSION} of the format)")
        similarities = Expected((None,), "number", low=-1.0, high=1.0)
        # The kind says which arrays there have to be; no others are read.
        expected = {
            f"{name}_{part}": Expected((None,) * len(axes), "number", **LIMITS.get(part, {}))
            for name in MAPS
            for part, axes in parts.items()
        }
        arrays = read_npz(where, {**expected, "threshold_old": similarities, "threshold_adapted": similarities})
        (forth, back), sizes = _read_maps(about["kind"], arrays, path)
        for names, size in zip(columns, (sizes["old"], sizes["new"]), strict=True):
            check_part(names is None or len(names) == size, path, f"the names of {size} columns")
        table = Thresholds(arrays["threshold_old"], arrays["threshold_adapted"])
        falling = all((np.diff(scale) <= 0.0).all() for scale in (table.old, table.adapted))
        check_part(falling and len(table.old) == len(table.adapted) > 0, path, "two falling tables of similarities")
        return cls(about["kind"], forth, back, n_pairs, recall, table, columns[0], columns[1], options)

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        d_new, d_old = self.shape
        return f"<Adapter, {self.kind}: {d_new} new columns to {d_old} old ones from {self.n_pairs} pairs>"


@cap_threads
def migrate(
    old: Any,
    new: Any,
    pairs: Any = "rows",
    *,
    queries: Any = None,
    judgements: Any = None,
    kind: str = AUTO,
    max_pairs: int = MOST,
    random_state: Any = 0,
    progress: bool | Callable[[str], None] = False,
) -> Adapter:
    """Learn to search an old index with rows of a new model.

    Parameters
    ----------
    old : array, CSR or data frame (n, d_old)
        The index: rows of the old model. It is never changed. Rows without a pair are what held-out rows are searched
        among.
    new : array, CSR or data frame (m, d_new)
        Rows of the new model.
    pairs : array (p, 2), "rows", (ids, ids) or KnownPairs
        Which rows of ``old`` and of ``new`` are the same object, each in one pair at most: row numbers; or that row i
        is row i; or, as a tuple, the ids of all rows of either side.
    queries : (array (q, d_old), array (q, d_new)), optional
        Real queries by both models, at least 20: then keeping the old model, bridging, converting and re-embedding
        are compared on them. Rows that search for rows are no queries, and a map does better on them.
    judgements : array (j, 2) of int, optional
        Relevant rows: the number of a query and of a row of ``old``, which has to be in a pair. Without them, the
        rows that the new model itself finds nearest count as relevant.
    kind : {"auto", "ridge", "procrustes", "low_rank", "kernel_ridge"}
        The map. ``"auto"`` takes the kind that finds held-out pairs, and their neighbours, best; kinds are compared
        on at most 2,000 pairs.
    max_pairs : int
        The most pairs that are used: of more, a random sample.
    random_state : None, int, Generator or RandomState
        Which pairs are held out, shuffled and sampled.
    progress : bool or function
        Whether to show a bar with the time left; or a function that is called with what is being done.

    Returns
    -------
    Adapter

    Notes
    -----
    Rows are compared by the cosine of the vectors as they are, as the old index does. Columns of very different units
    should be scaled before. Figures in ``adapter.recall`` are for pairs that the map was not learned from (five
    folds, or one where there are 1,000 pairs or more); the adapter itself is learned from all.

    Examples
    --------
    >>> import isthmus
    >>> rng = np.random.default_rng(0)
    >>> meaning = rng.normal(size=(300, 6))
    >>> old, new = (meaning @ rng.normal(size=(6, d)) + 0.1 * rng.normal(size=(300, d)) for d in (8, 10))
    >>> adapter = isthmus.migrate(old, new[:150], pairs=np.c_[:150, :150])
    >>> adapter
    <Adapter, ridge: 10 new columns to 8 old ones from 150 pairs>
    >>> print(adapter.recall)
    150 held-out pairs among 300 rows, learned from 120: recall@1 ...
    >>> print(adapter)
    bridge...
    """
    check_choice(kind, "kind", (*KINDS, AUTO))
    most = int(check_number(max_pairs, "max_pairs", low=FEWEST, whole=True))
    reports = Progress(progress, "migrate")
    rng = as_generator(random_state)
    needed: dict[str, Any] = {"fewest_pairs": FEWEST, "pairs_for": "an adapter", "one_to_one": True}
    domains = TwoDomains.of(old, None, new, None, pairs, names=("old", "new"), optional_labels=True, **needed)
    if domains.pairs is None:
        raise InputError(f"pairs: expected {FORMS}, got None.")
    # Sampled before pairs are held out: the figures are those of an adapter of that many pairs.
    known = domains.pairs
    if len(known) > most:
        kept = np.sort(rng.permutation(len(known))[:most])
        known = KnownPairs(known.rows[kept], known.weights[kept])
    names = column_names(old), column_names(new)
    if judgements is not None and queries is None:
        raise InputError("judgements: expected queries with them, got none.")
    shape = domains.source.shape[1], domains.target.shape[1]
    asked = None if queries is None else Queries.of(queries, judgements, shape, domains.source.shape[0])
    with reports:
        work = WorkCounter(reports, numbered=False)
        search = HeldOutSearch.of(domains.source.X, domains.target.X, known, _find_shared_columns(*names), work, rng)
        work.expect(search.count_steps(auto=kind == AUTO) + COST_OF_BOTH)
        if kind == AUTO:
            kind = search.select_kind()
        recall, table = search.measure_recall(kind)
        work.count(f"learning from all {len(known)} pairs", COST_OF_BOTH)
        # The adapter learns from all pairs; the figures are of folds, which know fewer, and so err on the safe side.
        everything = np.arange(len(known))
        forth, back = (search.gallery.fit_map(kind, everything, back=reverse) for reverse in (False, True))
        n = domains.source.shape[0]
        options = None if asked is None else _compare(search.gallery, kind, asked, known, n, rng)
        return Adapter(kind, forth, back, len(known), recall, table, *names, options)


def _compare(gallery: Gallery, kind: str, asked: Queries, known: KnownPairs, n: int, rng: Generator) -> Comparison:
    place = np.full(n, -1, dtype=np.intp)
    place[known.source] = np.arange(len(known))
    queries, relevant = asked.locate(place, rng)
    old, new = gallery.old, gallery.new
    fit = lambda pairs, back: gallery.fit_map(kind, pairs, back=back)  # noqa: E731
    return compare_options(old, new, fit, queries, relevant, n, rng)


def _find_shared_columns(old: tuple[str, ...] | None, new: tuple[str, ...] | None) -> IntArray | None:
    """Return the places (2, k) of the columns of the same name, in the old and the new rows; None without any."""
    old, new = old or (), new or ()
    places = [(i, new.index(name)) for i, name in enumerate(old) if name in new]
    return np.array(places).T if places else None


def _parts(kind: str) -> Mapping[str, str]:
    return KERNEL if kind == CURVED else AFFINE


def _read_maps(kind: str, arrays: Mapping[str, NDArray[Any]], path: Any) -> tuple[list[Map], dict[str, int]]:
    """Return both maps, and the numbers of columns of the spaces "new" and "old"."""
    maps: list[Map] = []
    sizes: dict[str, int] = {}
    found: dict[str, Any]
    for name, (start, end) in MAPS.items():
        found = {part: np.asarray(arrays[f"{name}_{part}"], dtype=np.float64)[()] for part in _parts(kind)}
        letters = {"i": start, "j": end, "k": f"landmarks of {name}"}
        for part, axes in _parts(kind).items():
            lengths = zip(axes, found[part].shape, strict=True)
            fits = all(sizes.setdefault(letters[axis], n) == n > 0 for axis, n in lengths)
            check_part(fits, path, f"maps whose parts fit together, with {part} of {name} among them")
        maps.append(KernelMap(**found) if kind == CURVED else AffineMap(**found))
    return maps, sizes
