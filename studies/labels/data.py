"""Two domains over the same classes, by the name that tables have: what the study of few labels is run on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

from isthmus._core.validation import Matrix, is_sparse
from isthmus.data.datasets import BRIGHTEST, shape_features
from isthmus.data.domains import Domain
from studies.datasets import (
    load_debian,
    load_mfeat,
    load_office31_released,
    load_office_caltech,
    load_reuters600,
    load_snareseq,
)
from studies.datasets.collection import Collection


@dataclass(frozen=True, eq=False)
class Pair:
    """A source and a target, and which object (image, document, cell) each row is.

    Parameters
    ----------
    source, target : Domain
        All rows of either, with their classes as codes.
    source_objects, target_objects : array (n_s,), (n_t,)
        A fair draw has an object in one of source, target and test only.
    counts : bool
        Whether features are counts of visual words or activations, compared by their square roots.
    """

    source: Domain
    target: Domain
    source_objects: NDArray[Any]
    target_objects: NDArray[Any]
    counts: bool = False

    def preparation(self, X: Matrix) -> Any:
        """Rows of unit length: of text as it is, of counts after their roots, of other numbers after z-scores."""
        if is_sparse(X):
            return Normalizer()
        return make_pipeline(FunctionTransformer(_roots) if self.counts else StandardScaler(), Normalizer())


def _roots(X: Matrix) -> Matrix:
    return np.sqrt(np.maximum(X, 0.0))


Load: TypeAlias = Callable[[Path | None], Pair]


def _of(load: Callable[[Path | None], Collection], source: str, target: str, folder: Path | None) -> Pair:
    """The objects that are in both domains: other objects of one would bring class shares of their own."""
    data = load(folder)
    objects, i, j = np.intersect1d(data.objects[source], data.objects[target], return_indices=True)
    one, other = data[source], data[target]
    return Pair(Domain(one.X[i], one.y[i]), Domain(other.X[j], other.y[j]), objects, objects)


def digit_pair(folder: Path | None = None) -> Pair:
    """Scikit-learn's digits by their pixels, and by 36 shape features.

    Examples
    --------
    >>> pair = digit_pair()
    >>> pair.source.X.shape, pair.target.X.shape
    ((1797, 64), (1797, 36))
    """
    images, y = datasets.load_digits(return_X_y=True)
    images, objects = images / BRIGHTEST, np.arange(len(y))
    return Pair(Domain(images, y), Domain(shape_features(images.reshape(-1, 8, 8)), y), objects, objects)


def _office31(folder: Path | None) -> Pair:
    data = load_office31_released(folder)
    source, target = "amazon surf800", "dslr surf600"
    return Pair(data[source], data[target], data.objects[source], data.objects[target], counts=True)


def _office_caltech(source: str, target: str, folder: Path | None) -> Pair:
    """SURF words of one camera and GoogLeNet's activations of another: no image can be in both."""
    words, nets = load_office_caltech(folder), load_office_caltech(folder, features="googlenet1024")
    return Pair(words[source], nets[target], words.objects[source], nets.objects[target], counts=True)


def _mfeat(source: str, target: str) -> Load:
    return partial(_of, load_mfeat, source, target)


def _debian(source: str, target: str) -> Load:
    return partial(_of, load_debian, source, target)


def _reuters(source: str, target: str) -> Load:
    return partial(_of, load_reuters600, source, target)


LANGUAGES = ("EN→FR", "IT→EN", "EN→SP", "GR→EN", "FR→GR", "IT→FR", "FR→SP", "GR→IT", "SP→GR", "SP→IT")
"""Every two of Reuters' five languages in one direction; each is twice the source and twice the target."""

SETS: dict[str, dict[str, Load]] = {
    "digits": {"digits": digit_pair},
    "mfeat": {
        "mfeat fac→kar": _mfeat("fac216", "kar64"),
        "mfeat pix→fou": _mfeat("pix240", "fou76"),
        "mfeat fac→zer": _mfeat("fac216", "zer47"),
    },
    "Debian": {
        f"Debian {a}→{b}": _debian(a, b)
        for a, b in (("en", "fr"), ("de", "en"), ("fr", "en"), ("fr", "de"), ("en", "de"), ("de", "fr"))
    },
    "Reuters": {f"Reuters {way}": _reuters(*way.split("→")) for way in LANGUAGES},
    "SNARE": {"SNARE RNA→ATAC": partial(_of, load_snareseq, "rna10", "atac19")},
    "Office31": {"Office31 amazon→dslr": _office31},
    "Office-Caltech": {
        "Office-Caltech amazon→webcam": partial(_office_caltech, "amazon", "webcam"),
        "Office-Caltech webcam→amazon": partial(_office_caltech, "webcam", "amazon"),
    },
}
"""Pairs by data set, and by the name that tables have."""
_LOADS = {group: load for some in SETS.values() for group, load in some.items()}


@lru_cache(maxsize=8)
def pair_of(group: str, folder: Path | None) -> Pair:
    """A pair by its name, read once in each process."""
    return _LOADS[group](folder)


def groups_of(*names: str) -> tuple[str, ...]:
    """The groups of some data sets, or groups by name.

    Examples
    --------
    >>> groups_of("SNARE", "Debian en→fr")
    ('SNARE RNA→ATAC', 'Debian en→fr')
    """
    return tuple(group for name in names for group in SETS.get(name, {name: None}))


def set_of(group: str) -> str:
    """The data set that a group is of: all before its first space; the demonstration is one of its own.

    Examples
    --------
    >>> set_of("Debian en→fr"), set_of("digits demo")
    ('Debian', 'digits demo')
    """
    return next((name for name, some in SETS.items() if group in some), group)
