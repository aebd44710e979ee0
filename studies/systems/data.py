"""The pairs of domains that the systems are run on, by the name that tables have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeAlias

from isthmus._core.validation import IntArray, Matrix
from studies.datasets import load_debian, load_mfeat, load_office_caltech, load_reuters600, load_snareseq
from studies.labels.data import digit_pair
from studies.views import Loader, load_views


@dataclass(frozen=True, eq=False)
class Sides:
    """All rows of a source and of a target, with their classes as codes.

    Parameters
    ----------
    X, y : array or CSR (n, d_s), array (n,)
        The source.
    Y, z : array or CSR (m, d_t), array (m,)
        The target.
    same_objects : bool
        Whether row i of both is the same object: pairs are then known. Otherwise no object is in both.
    same_features : bool
        Whether both have the same columns.
    counts : bool
        Whether features are counts of visual words or activations, compared by their square roots.
    """

    X: Matrix
    y: IntArray
    Y: Matrix
    z: IntArray
    same_objects: bool = True
    same_features: bool = False
    counts: bool = False


Load: TypeAlias = Callable[[Path | None], Sides]


def _views(load: Loader, source: str, target: str, folder: Path | None) -> Sides:
    found = load_views(load, folder, source, target)
    return Sides(found.X, found.y, found.Y, found.y)


def _digits(folder: Path | None) -> Sides:
    pair = digit_pair(folder)
    return Sides(pair.source.X, pair.source.y, pair.target.X, pair.target.y)


def _cameras(source: tuple[str, str], target: tuple[str, str], folder: Path | None) -> Sides:
    """Images of two cameras, which share none, each by a name of features."""
    one, other = (load_office_caltech(folder, features=features)[camera] for camera, features in (source, target))
    return Sides(one.X, one.y, other.X, other.y, False, source[1] == target[1], counts=True)


SURF, NET = "surf800", "googlenet1024"
LOADS: dict[str, Load] = {
    "digits fou76→kar64": partial(_views, load_mfeat, "fou76", "kar64"),
    "Debian en→fr": partial(_views, load_debian, "en", "fr"),
    "SNARE-seq RNA→ATAC": partial(_views, load_snareseq, "rna10", "atac19"),
    "Reuters EN→FR": partial(_views, load_reuters600, "EN", "FR"),
    "digits pixels→shapes": _digits,
    "Debian de→en": partial(_views, load_debian, "de", "en"),
    "Office webcam→amazon": partial(_cameras, ("webcam", SURF), ("amazon", NET)),
    "Office caltech→amazon": partial(_cameras, ("caltech10", SURF), ("amazon", SURF)),
}
"""Every pair. The last but one goes from SURF words to GoogLeNet; the last has SURF words on both sides."""
SAME_FEATURES = ("Office caltech→amazon",)
"""Pairs whose columns are the same in both domains."""
NON_NEGATIVE = ("Debian en→fr", "Debian de→en")
"""Pairs whose features are never negative on either side, and are weights of words (those of Reuters are centred)."""
FOR_LABELS = (*tuple(LOADS)[:4], *tuple(LOADS)[-2:])
"""Six pairs of six kinds of features."""
FOR_PAIRS = tuple(LOADS)[:6]
"""Those whose objects are described in both domains."""


@lru_cache(maxsize=8)
def sides(group: str, folder: Path | None) -> Sides:
    """A pair by its name, read once in each process."""
    return LOADS[group](folder)
