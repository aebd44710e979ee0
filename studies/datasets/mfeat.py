"""Handwritten digits by six kinds of features."""

from __future__ import annotations

import os

import numpy as np

from isthmus._core.archives import Expected, read_npz
from studies.datasets.about import About
from studies.datasets.collection import Collection
from studies.datasets.parts import domain

DIGITS = 2000
VIEWS = {"fac216": 216, "fou76": 76, "kar64": 64, "mor6": 6, "pix240": 240, "zer47": 47}
"""Profile correlations, Fourier, Karhunen-Loève, morphology, pixel means, Zernike moments: the number of columns."""

ABOUT = About(
    name="mfeat",
    title="handwritten digits by six kinds of features",
    files=("mfeat/mfeat.npz",),
    expects="2000 rows x fac216, fou76, kar64, mor6, pix240, zer47 columns; 10 classes",
    licence="CC BY 4.0",
    reference="Duin, Multiple Features (UCI 72)",
)


def load_mfeat(folder: str | os.PathLike[str] | None = None) -> Collection:
    """2,000 handwritten digits from Dutch utility maps, 200 of each, by six kinds of features.

    The rows of every domain are the *same* digits: the object of a row is its number, and a fair split has a digit
    in one domain only. The units of the columns differ widely, above all in mor6.

    Parameters
    ----------
    folder : path, optional
        The data folder (:func:`studies.datasets.data_folder`), with ``mfeat/mfeat.npz``.

    Returns
    -------
    Collection
        2,000 rows of fac216, fou76, kar64, mor6, pix240, zer47 (the name ends in the number of columns), 10 classes.
    """
    (path,) = ABOUT.paths(folder)
    expected = {view: Expected((DIGITS, d), "number") for view, d in VIEWS.items()}
    parts = read_npz(path, expected | {"y": Expected((DIGITS,), "whole")})
    return ABOUT.collection(
        domains={view: domain(parts[view], parts["y"], 10, f"{path.name}, {view}") for view in VIEWS},
        objects={view: np.arange(DIGITS) for view in VIEWS},
        classes=tuple("0123456789"),
    )
