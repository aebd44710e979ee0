"""Office-31 by a deep network: ResNet-50 activations, reduced."""

from __future__ import annotations

import os

from studies.datasets.about import About
from studies.datasets.cameras import OFFICE_CLASSES, read_cameras
from studies.datasets.collection import Collection

SHAPES = {"amazon": (930, 800), "dslr": (497, 600), "webcam": (759, 800)}

ABOUT = About(
    name="office31_resnet",
    title="Office-31 images by ResNet-50, principal components",
    files=("office31/office31_resnet50_pca.npz",),
    expects="amazon 930 x 800, dslr 497 x 600, webcam 759 x 800; 31 classes",
    licence="not stated",
    reference="images of Saenko, Kulis, Fritz & Darrell 2010, features of a COMP7404 group project (illuViolet)",
)


def load_office31_resnet(folder: str | os.PathLike[str] | None = None) -> Collection:
    """Part of the images of Office-31 as principal components of ResNet-50 activations.

    Each camera has components of its own, so that column k of one has nothing to do with column k of another.

    Parameters
    ----------
    folder : path, optional
        The data folder (:func:`studies.datasets.data_folder`), with ``office31/office31_resnet50_pca.npz``.

    Returns
    -------
    Collection
        Domains amazon (930, 800), dslr (497, 600), webcam (759, 800), 31 classes.
    """
    (path,) = ABOUT.paths(folder)
    domains, objects, classes = read_cameras(path, SHAPES, OFFICE_CLASSES)
    return ABOUT.collection(
        domains=domains,
        objects=objects,
        classes=classes,
    )
