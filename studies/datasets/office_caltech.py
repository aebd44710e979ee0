"""Office-Caltech: four cameras and ten classes, by three kinds of features."""

from __future__ import annotations

import os

from isthmus._core.validation import check_choice
from studies.datasets.about import About
from studies.datasets.cameras import CALTECH_CLASSES, read_cameras
from studies.datasets.collection import Collection

SHAPES = {
    "surf800": {"amazon": (958, 800), "caltech10": (1123, 800), "dslr": (157, 800), "webcam": (295, 800)},
    "googlenet1024": {"amazon": (958, 1024), "dslr": (157, 1024), "webcam": (295, 1024)},
    "decaf4096": {"amazon200": (200, 4096), "dslr": (157, 4096), "webcam": (295, 4096)},
}
REFERENCES = {
    "surf800": "Gong, Shi, Sha & Grauman 2012",
    "googlenet1024": "images as in Gong et al. 2012, features of OfficeCaltechDomainAdaptation (Gautheron)",
    "decaf4096": "images as in Gong et al. 2012, features of the transferlearning collection (Wang) and of CDLS",
}

ABOUT = {
    features: About(
        name=f"office_caltech_{features}",
        title=f"Office-Caltech images by {features}",
        files=(f"office_caltech10/{features}.npz",),
        expects=", ".join(f"{camera} {n} x {d}" for camera, (n, d) in shapes.items()) + "; 10 classes",
        licence="not stated",
        reference=REFERENCES[features],
    )
    for features, shapes in SHAPES.items()
}


def load_office_caltech(folder: str | os.PathLike[str] | None = None, *, features: str = "surf800") -> Collection:
    """The ten classes that Office-31 and Caltech-256 share, photographed by up to four cameras.

    Within one collection all domains have the same columns. The rows of a camera are images of classes in the same
    order for all features, but the files do not name the images, so whether row k is the same image in two files is
    not known; do not pair them.

    Parameters
    ----------
    folder : path, optional
        The data folder (:func:`studies.datasets.data_folder`), with ``office_caltech10/<features>.npz``.
    features : {"surf800", "googlenet1024", "decaf4096"}
        Bags of 800 SURF words; 1,024 activations of GoogLeNet (no Caltech); 4,096 activations DeCAF (no Caltech, and
        of amazon only 200 images, on another scale: their largest value is 0.26, that of the others above 60).

    Returns
    -------
    Collection
        Domains amazon (958, d), caltech10 (1123, d), dslr (157, d), webcam (295, d), amazon200 (200, d), as far as
        the features have them; 10 classes.
    """
    check_choice(features, "features", SHAPES)
    (path,) = ABOUT[features].paths(folder)
    domains, objects, classes = read_cameras(path, SHAPES[features], CALTECH_CLASSES)
    return ABOUT[features].collection(domains, objects, classes)
