"""Two views of the same objects, and rows drawn from them: no object is in two of source, target and test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import numpy as np

from isthmus._core.validation import UNLABELLED, IntArray, Matrix
from isthmus.data.domains import Split
from isthmus.study.trial_rows import TrialRows
from studies.datasets.collection import Collection

SOURCE_PER_CLASS, UNLABELLED_PER_CLASS, MOST_TESTED = 20, 20, 300
Loader: TypeAlias = Callable[[Path | None], Collection]


@dataclass(frozen=True, eq=False)
class Views:
    """Features of either view, row by row of the same objects, and their classes."""

    X: Matrix
    Y: Matrix
    y: IntArray


@lru_cache(maxsize=16)
def load_views(load: Loader, folder: Path | None, source: str, target: str) -> Views:
    """Two domains of a collection, of the objects that are in both; read once in each process."""
    data = load(folder)
    _, i, j = np.intersect1d(data.objects[source], data.objects[target], return_indices=True)
    return Views(data[source].X[i], data[target].X[j], data[source].y[i])


def draw_split(
    y: IntArray,
    seed: Sequence[int],
    labelled: int = 1,
    most_labelled: int = 1,
    *,
    source: int = SOURCE_PER_CLASS,
    most_source: int = SOURCE_PER_CLASS,
) -> Split:
    """Which objects take which part.

    Not a :class:`isthmus.data.splits.Protocol`: that one deals out other objects for the same seed, and the published
    tables of these studies stand on this.

    Parameters
    ----------
    y : array (n,)
        The class of each object.
    seed : sequence of int
        The same seed gives the same split.
    labelled, most_labelled : int
        Labelled target rows per class, and the most that any split of the study has: those of fewer are among them.
    source, most_source : int
        The same for source rows.
    """
    rng = np.random.default_rng(seed)
    classes = [rng.permutation(np.flatnonzero(y == c)) for c in np.unique(y)]
    ends = np.cumsum([most_source, most_labelled, UNLABELLED_PER_CLASS])
    parts = list(zip(*(np.split(rows, ends) for rows in classes), strict=True))
    unlabelled, rest = (np.concatenate(parts[k]) for k in (2, 3))
    learned = np.concatenate([rows[:source] for rows in parts[0]])
    known = np.concatenate([rows[:labelled] for rows in parts[1]])
    return Split(learned, known, unlabelled, rng.permutation(rest)[:MOST_TESTED])


def take_rows(views: Views, split: Split) -> TrialRows:
    """The rows of a split, as their collection has them: the source by one view, target and test by the other."""
    target = np.concatenate([split.labelled, split.unlabelled])
    y_target = np.where(np.arange(len(target)) < len(split.labelled), views.y[target], UNLABELLED)
    source = views.X[split.source], views.y[split.source]
    return TrialRows(*source, views.Y[target], y_target, views.Y[split.test], views.y[split.test])
