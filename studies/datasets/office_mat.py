"""Office and Office-Caltech features in the MATLAB files that the literature passes on."""

from __future__ import annotations

import os
from pathlib import Path

from isthmus._core.archives import Expected
from isthmus._core.files import show_path
from isthmus._core.validation import check_choice, check_number
from isthmus.data.domains import Domain
from isthmus.exceptions import InputError
from studies.datasets.about import About
from studies.datasets.cameras import CALTECH_CLASSES, number_objects
from studies.datasets.collection import Collection
from studies.datasets.files.matlab import read_mat, variable_names
from studies.datasets.parts import domain

ROWS = ("fts", "feas", "fea", "features", "FTS", "X")
LABELS = ("labels", "label", "gnd", "LABELS", "Y", "y")
"""What others call the two variables, the usual first."""

IMAGES = {"amazon": 958, "caltech10": 1123, "dslr": 157, "webcam": 295}
COLUMNS = {"SURF_L10": 800, "decaf": 4096}
STEMS = {"SURF_L10": ("amazon", "Caltech10", "dslr", "webcam"), "decaf": ("amazon", "caltech", "dslr", "webcam")}
"""How the files of the four cameras begin; how they end is the name of the features."""
CLASSES = (
    "backpack",
    "bike",
    "calculator",
    "headphones",
    "keyboard",
    "laptop",
    "monitor",
    "mouse",
    "mug",
    "projector",
)
REFERENCES = {
    "SURF_L10": "Gong, Shi, Sha & Grauman 2012",
    "decaf": "images as in Gong et al. 2012, DeCAF features of the transferlearning collection (Wang)",
}

ABOUT = {
    features: About(
        name=f"office_caltech_mat_{features}",
        title=f"Office-Caltech images, MATLAB files of {features} features",
        files=tuple(f"office_caltech10/{stem}_{features}.mat" for stem in stems),
        expects=", ".join(f"{c} {n} x {COLUMNS[features]}" for c, n in IMAGES.items()) + "; 10 classes",
        licence="not stated",
        reference=REFERENCES[features],
    )
    for features, stems in STEMS.items()
}


def load_office_caltech_mat(
    folder: str | os.PathLike[str] | None = None, *, features: str = "SURF_L10"
) -> Collection:
    """Office-Caltech from four MATLAB files, as they go round among papers on domain adaptation.

    Parameters
    ----------
    folder : path, optional
        The data folder (:func:`studies.datasets.data_folder`), with ``amazon_SURF_L10.mat``,
        ``Caltech10_SURF_L10.mat``, ``dslr_SURF_L10.mat`` and ``webcam_SURF_L10.mat``, or ``amazon_decaf.mat``,
        ``caltech_decaf.mat``, ``dslr_decaf.mat`` and ``webcam_decaf.mat``, in ``office_caltech10``.
    features : {"SURF_L10", "decaf"}
        Bags of 800 SURF words, or 4,096 activations DeCAF.

    Returns
    -------
    Collection
        Domains amazon (958, d), caltech10 (1123, d), dslr (157, d), webcam (295, d), 10 classes.
    """
    about = ABOUT[check_choice(features, "features", ABOUT)]
    domains = {}
    for camera, path in zip(IMAGES, about.paths(folder), strict=True):
        domains[camera] = read_office_mat(path, shape=(IMAGES[camera], COLUMNS[features]))
    return about.collection(domains, {camera: number_objects(camera, n) for camera, n in IMAGES.items()}, CLASSES)


def read_office_mat(
    path: str | os.PathLike[str],
    *,
    n_classes: int = CALTECH_CLASSES,
    shape: tuple[int | None, int | None] = (None, None),
) -> Domain:
    """Rows and labels of one camera from a MATLAB file, whatever the two variables are called.

    The rows are ``fts``, ``feas``, ``fea``, ``features``, ``FTS`` or ``X`` (n, d), the labels, from 1, ``labels``,
    ``label``, ``gnd``, ``LABELS``, ``Y`` or ``y`` (n, 1) or (1, n): so the files of GFK, of SHFA, and of DeCAF
    features. For their splits see :func:`studies.datasets.read_hoffman_splits`.

    Parameters
    ----------
    path : path
        The file, saved with ``-v7`` or ``-v6``.
    n_classes : int
        How many classes there are: 10 for Office-Caltech, 31 for Office-31.
    shape : (int, int)
        Rows and columns, where they are known: a file of another shape is refused before it is read.

    Examples
    --------
    >>> import tempfile
    >>> from scipy.io import savemat
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "dslr_decaf.mat"
    ...     savemat(path, {"feas": [[0.5, 0.0], [0.0, 2.0]], "labels": [[2], [1]]})
    ...     read_office_mat(path).y
    array([1, 0])
    """
    check_number(n_classes, "n_classes", low=1, whole=True)
    file = Path(path)
    found = variable_names(file)
    rows, labels = _the_one(ROWS, found, "rows", file), _the_one(LABELS, found, "labels", file)
    parts = read_mat(file, {rows: Expected(shape, "number"), labels: Expected((shape[0],), "whole")})
    return domain(parts[rows], parts[labels], n_classes, show_path(file))


def _the_one(names: tuple[str, ...], found: tuple[str, ...], what: str, file: Path) -> str:
    known = [name for name in names if name in found]
    if len(known) != 1:
        got = ", ".join(show_path(name[:40]) for name in known or found[:8]) or "none"
        raise InputError(f"{show_path(file)}: expected the {what} as one of {', '.join(names)}, got {got}.")
    return known[0]
