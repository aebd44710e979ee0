"""A ready split of the CDLS authors: deep features of amazon, SURF words of dslr."""

from __future__ import annotations

import os

import numpy as np

from isthmus._core.archives import Expected, read_npz
from studies.datasets.about import About
from studies.datasets.cameras import CALTECH_CLASSES, number_objects
from studies.datasets.collection import Collection
from studies.datasets.parts import class_names, domain, published_split

SHAPES = {"source": (200, 4096), "target_train": (30, 800), "target_test": (127, 800)}

ABOUT = About(
    name="cdls",
    title="Office-Caltech images by DeCAF and by SURF, split by CDLS",
    files=("office_caltech10/cdls_amazon_decaf_to_dslr_surf.npz",),
    expects="amazon decaf4096 200 x 4096, dslr surf800 157 x 800; 10 classes",
    licence="not stated",
    reference="Tsai, Yeh & Wang 2016 (CDLS)",
)


def load_cdls(folder: str | os.PathLike[str] | None = None) -> Collection:
    """200 amazon images by DeCAF and 157 dslr images by SURF, as the authors of CDLS split them.

    The split "cdls" has all amazon rows (20 per class), 3 labelled rows per class of dslr, which come first, and the
    other 127 as the test. It names no unlabelled rows; CDLS itself takes the test rows for it.

    Parameters
    ----------
    folder : path, optional
        The data folder (:func:`studies.datasets.data_folder`), with
        ``office_caltech10/cdls_amazon_decaf_to_dslr_surf.npz``.

    Returns
    -------
    Collection
        Domains "amazon decaf4096" (200, 4096) and "dslr surf800" (157, 800), 10 classes.
    """
    (path,) = ABOUT.paths(folder)
    expected = {"classes": Expected((CALTECH_CLASSES,), "text")}
    for part, shape in SHAPES.items():
        expected |= {f"{part}_X": Expected(shape, "number"), f"{part}_y": Expected(shape[:1], "whole")}
    parts = read_npz(path, expected)
    X_target, y_target = (np.concatenate([parts[f"target_train_{v}"], parts[f"target_test_{v}"]]) for v in "Xy")
    n_source, n_target, n_labelled = len(parts["source_y"]), len(y_target), len(parts["target_train_y"])
    rows = np.arange(n_target)
    where = f"{path.name}, the split"
    return ABOUT.collection(
        domains={
            "amazon decaf4096": domain(parts["source_X"], parts["source_y"], CALTECH_CLASSES, f"{path.name}, source"),
            "dslr surf800": domain(X_target, y_target, CALTECH_CLASSES, f"{path.name}, target"),
        },
        objects={
            "amazon decaf4096": number_objects("amazon", n_source),
            "dslr surf800": number_objects("dslr", n_target),
        },
        classes=class_names(parts["classes"], CALTECH_CLASSES, path.name),
        splits={
            "cdls": (
                published_split(np.arange(n_source), rows[:n_labelled], rows[n_labelled:], n_source, n_target, where),
            )
        },
        split_domains={"cdls": ("amazon decaf4096", "dslr surf800")},
    )
