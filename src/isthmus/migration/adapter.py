"""The adapter between two spaces."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from isthmus._arrays import FloatArray, Matrix
from isthmus._threads import cap_methods
from isthmus._validation import choice, matrix, ordinary, same_columns
from isthmus.migration.advice import Advice, advice
from isthmus.migration.kinds import Map, single
from isthmus.migration.recall import Recall
from isthmus.migration.search import directions, inner_products
from isthmus.migration.streaming import mapped
from isthmus.migration.thresholds import ADAPTED, Thresholds

TO_OLD, TO_NEW = "to_old", "to_new"


@cap_methods
@dataclass(frozen=True, eq=False)
class Adapter:
    """Maps between an old space and a new one, and what held-out pairs say about them; made by :func:`migrate`.

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
        Cut-offs that let the same share of the index pass.
    old_columns, new_columns : tuple of str, optional
        The names of the columns, where data frames were given.

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

    def to_old(self, X: Any, *, out: Any = None) -> FloatArray:
        """Rows of the new space (n, d_new) in the old one (n, d_old), where the index stays as it is.

        Parameters
        ----------
        X : array, memory map, CSR or data frame (n, d_new)
            Single precision gives single precision. Rows are mapped block by block.
        out : array or memory map (n, d_old), optional
            Where the result goes. Where a number is too large for its type, nothing is written.
        """
        same_columns(X, self.new_columns, "X")
        return mapped(X, lambda block: self._apply(TO_OLD, block), self.old_from_new.bound, self.shape, out)

    def to_new(self, X: Any, *, out: Any = None) -> FloatArray:
        """Rows of the old space (n, d_old) in the new one (n, d_new); see :meth:`to_old`."""
        same_columns(X, self.old_columns, "X")
        return mapped(X, lambda block: self._apply(TO_NEW, block), self.new_from_old.bound, self.shape[::-1], out)

    def stream(self, blocks: Iterable[Any], *, direction: str = TO_OLD) -> Iterator[FloatArray]:
        """Each block of rows, mapped, one at a time: for rows without end, or more than fit in memory.

        Parameters
        ----------
        blocks : iterable of arrays (n, d)
        direction : {"to_old", "to_new"}
        """
        map_rows = getattr(self, choice(direction, "direction", (TO_OLD, TO_NEW)))
        return (map_rows(block) for block in blocks)

    def similarity(self, X_new: Any, X_old: Any) -> FloatArray:
        r"""Scores (n, m) of new rows with old ones that use both maps.

        .. math:: \cos(f(b) - \bar a, a - \bar a) + \cos(b - \bar b, g(a) - \bar b)

        with f to the old space, g to the new one and the means of the pairs. They find more than the cosine in the
        old space alone, and need g for every row of the index.
        """
        for X, columns, name in ((X_new, self.new_columns, "X_new"), (X_old, self.old_columns, "X_old")):
            same_columns(X, columns, name)
        B, A = (
            ordinary(matrix(X, name, n_columns=n), name, smallest=0.0)
            for X, name, n in zip((X_new, X_old), ("X_new", "X_old"), self.shape, strict=True)
        )
        return both_ways(self.old_from_new, self.new_from_old, A)(B)

    def threshold(self, value: float, *, to: str = ADAPTED) -> float:
        """The cut-off of the cosine similarity that lets as many rows of the index pass as ``value`` does.

        Parameters
        ----------
        value : float
            A cut-off for queries of the old model, or (``to="old"``) for adapted ones.
        to : {"adapted", "old"}
            What the answer is a cut-off for.

        Notes
        -----
        Quantiles are matched: the similarities of held-out rows, as old queries and as adapted ones, with rows of the
        index other than their own. Beyond the largest or smallest that was seen, the answer is the largest or
        smallest of the other scale.
        """
        return self.thresholds.equivalent(value, to)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of columns of the new space and of the old one."""
        return len(self.new_from_old.output_mean), len(self.old_from_new.output_mean)

    @property
    def advice(self) -> Advice:
        """Whether to bridge, to bridge until re-embedded, or to re-embed, and why."""
        return advice(self.recall)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the adapter to one file in a folder that exists, whole or not at all; :meth:`load` reads it again."""
        from isthmus.migration.files import save

        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Adapter:
        """The adapter in a file that :meth:`save` wrote; nothing in it is executed."""
        from isthmus.migration.files import load

        return load(path)

    def export(self, path: str | os.PathLike[str], format: str = "npy", *, direction: str = TO_OLD) -> None:
        """Write one affine map for other programs: as a plain matrix, or as an ONNX graph.

        Parameters
        ----------
        path : path
            Where; its folder has to exist.
        format : {"npy", "safetensors", "onnx"}
            ``"npy"``: one array M (d + 1, e), ``X @ M[:-1] + M[-1]``. ``"safetensors"``: ``weight`` (e, d) and
            ``bias`` (e,), as linear layers have them. ``"onnx"``: a graph from ``rows`` to ``mapped``. Each is in
            single precision. The map of kind "kernel_ridge" is not affine, and is refused.
        direction : {"to_old", "to_new"}
        """
        from isthmus.files.onnx import export_map  # lazily: tasks don't depend on files

        export_map(self._map(choice(direction, "direction", (TO_OLD, TO_NEW))), path, format)

    def __str__(self) -> str:
        d_new, d_old = self.shape
        return (
            f"Adapter, {self.kind}: {d_new} new columns to {d_old} old ones from {self.n_pairs} pairs\n"
            f"{self.recall}\n{self.advice}"
        )

    def __repr__(self) -> str:
        return f"<{str(self).partition(chr(10))[0]}>"

    def _map(self, direction: str) -> Map:
        return self.old_from_new if direction == TO_OLD else self.new_from_old

    @cached_property
    def _single(self) -> dict[str, Map]:
        return {direction: single(self._map(direction)) for direction in (TO_OLD, TO_NEW)}

    def _apply(self, direction: str, X: Matrix) -> FloatArray:
        return self._single[direction](X) if X.dtype == np.float32 else self._map(direction)(X)


def both_ways(to_old: Map, to_new: Map, A: Matrix) -> Callable[[Matrix], FloatArray]:
    """A function from new rows B (n, d_new) to their scores (n, m) with the old rows A by both maps."""
    a, b = to_old.output_mean, to_new.output_mean
    plain, carried = directions(A, a), directions(to_new(A), b)

    def scores(B: Matrix) -> FloatArray:
        there = inner_products(directions(to_old(B), a), plain)
        return np.asarray(there + inner_products(directions(B, b), carried))

    return scores
