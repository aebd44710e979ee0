"""Two descriptions of the same objects, row by row: what the study of known pairs is run on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
from sklearn import datasets

from isthmus._core.validation import IntArray, Matrix
from isthmus.data.datasets import BRIGHTEST, SHAPE_NAMES, shape_features
from studies.datasets import load_debian, load_mfeat, load_reuters600, load_snareseq
from studies.datasets.collection import Collection

LINEAR_SHAPES = ("row_", "column_", "fourier_0_0")
"""How the names of the digits' shape features begin that are linear in the pixels: sums of rows and columns, and the
wave of frequency zero, which is the sum of all. Any linear map finds them."""


@dataclass(frozen=True, eq=False)
class Paired:
    """Row i of A and row i of B are the same object, of class y[i].

    Parameters
    ----------
    A, B : array or CSR (n, d_A), (n, d_B)
        Two descriptions.
    y : array (n,)
        Classes as codes, for controls and for label transfer.
    shared : array (m, 2)
        Numbers of columns of A and of B that have the same name: these need no learning to be compared.
    """

    A: Matrix
    B: Matrix
    y: IntArray
    shared: IntArray


Load: TypeAlias = Callable[[Path | None], Paired]


def make_pair(collection: Collection, first: str, second: str) -> Paired:
    """Two domains of a collection, of the objects that are in both.

    Examples
    --------
    >>> from isthmus.data.domains import Domain
    >>> domains = {
    ...     "en": Domain(np.eye(3), np.array([0, 1, 1]), ("a", "b", "c")),
    ...     "fr": Domain(np.ones((2, 2)), np.array([1, 0]), ("c", "d")),
    ... }
    >>> objects = {"en": np.array([7, 8, 9]), "fr": np.array([9, 7])}
    >>> found = make_pair(Collection("c", "t", domains, objects, ("x", "y"), "p", "l"), "en", "fr")
    >>> found.A.shape, found.y, found.shared
    ((2, 3), array([0, 1]), array([[2, 0]]))
    """
    _, i, j = np.intersect1d(collection.objects[first], collection.objects[second], return_indices=True)
    one, other = collection[first], collection[second]
    return Paired(one.X[i], other.X[j], one.y[i], shared_columns(one.columns or (), other.columns or ()))


def shared_columns(first: tuple[str, ...], second: tuple[str, ...]) -> IntArray:
    """The numbers of columns that have the same name (m, 2), in the order of the first."""
    places = {name: k for k, name in enumerate(second)}
    found = [(k, places[name]) for k, name in enumerate(first) if name in places]
    return np.array(found, dtype=np.intp).reshape(-1, 2)


def digit_views(folder: Path | None = None) -> Paired:
    """Scikit-learn's digits by their pixels, and by the 19 shape features that are not linear in the pixels.

    Examples
    --------
    >>> digits = digit_views()
    >>> digits.A.shape, digits.B.shape, len(digits.shared)
    ((1797, 64), (1797, 19), 0)
    """
    images, y = datasets.load_digits(return_X_y=True)
    images = images / BRIGHTEST
    kept = [k for k, name in enumerate(SHAPE_NAMES) if not name.startswith(LINEAR_SHAPES)]
    return Paired(images, shape_features(images.reshape(-1, 8, 8))[:, kept], y, shared_columns((), ()))


def _of(load: Callable[[Path | None], Collection], first: str, second: str, folder: Path | None) -> Paired:
    return make_pair(load(folder), first, second)


def _make_loader(load: Callable[[Path | None], Collection], first: str, second: str) -> Load:
    return partial(_of, load, first, second)


SETS: dict[str, Load] = {
    "digits pixels–shape": digit_views,
    "mfeat fac–kar": _make_loader(load_mfeat, "fac216", "kar64"),
    "mfeat fac–pix": _make_loader(load_mfeat, "fac216", "pix240"),
    "Reuters EN–FR": _make_loader(load_reuters600, "EN", "FR"),
    "Debian en–fr": _make_loader(load_debian, "en", "fr"),
    "Debian en–de": _make_loader(load_debian, "en", "de"),
    "Debian fr–de": _make_loader(load_debian, "fr", "de"),
    "SNARE RNA–ATAC": _make_loader(load_snareseq, "rna10", "atac19"),
}
"""By the name that tables have."""


@lru_cache(maxsize=16)
def views(name: str, folder: Path | None) -> Paired:
    """Two views by the name that tables have, read once in each process."""
    return SETS[name](folder)
