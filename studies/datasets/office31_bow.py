"""Office-31 as bags of visual words: three cameras, three vocabularies."""

from __future__ import annotations

import os
from itertools import product

import numpy as np

from isthmus._core.archives import Expected, read_npz
from studies.datasets.about import About
from studies.datasets.collection import Collection
from studies.datasets.parts import class_names, distinct, domain

IMAGES = {"amazon": 2817, "dslr": 498, "webcam": 795}
WORDS = {"surf600": 600, "surf800": 800, "sift900": 900}
CLASSES = 31

ABOUT = About(
    name="office31_bow",
    title="Office-31 images as bags of visual words made anew",
    files=("office31/office31_bow_own.npz",),
    expects="amazon 2817, dslr 498, webcam 795 images, each by surf600, surf800 and sift900; 31 classes",
    licence="not stated",
    reference="images of Saenko, Kulis, Fritz & Darrell 2010",
)


def load_office31_bow(folder: str | os.PathLike[str] | None = None) -> Collection:
    """The 4,110 images of Office-31 as counts of visual words, with three vocabularies for each of three cameras.

    Nine domains, from "amazon surf600" to "webcam sift900". The object of a row is its image, as in
    "amazon/bike/frame_0001.jpg": the same image with two vocabularies is one object. The words were made anew from
    the images, 300 pixels wide: they allow every group of the paper's table, but are not the published features, and
    results are not numerically comparable with those of other papers.

    Parameters
    ----------
    folder : path, optional
        The data folder (:func:`studies.datasets.data_folder`), with ``office31/office31_bow_own.npz``.

    Returns
    -------
    Collection
        {amazon 2817, dslr 498, webcam 795} rows by {surf600 600, surf800 800, sift900 900} words, 31 classes.
    """
    (path,) = ABOUT.paths(folder)
    expected = {"classes": Expected((CLASSES,), "text")}
    for camera, n in IMAGES.items():
        expected |= {f"{camera}_y": Expected((n,), "whole"), f"{camera}_file": Expected((n,), "text")}
        expected |= {f"{camera}_{words}": Expected((n, d), "number") for words, d in WORDS.items()}
    parts = read_npz(path, expected)
    objects = {
        camera: np.char.add(f"{camera}/", distinct(parts[f"{camera}_file"], n, f"{path.name}, {camera}_file"))
        for camera, n in IMAGES.items()
    }
    return ABOUT.collection(
        domains={
            f"{camera} {words}": domain(
                parts[f"{camera}_{words}"], parts[f"{camera}_y"], CLASSES, f"{path.name}, {camera}_{words}"
            )
            for camera, words in product(IMAGES, WORDS)
        },
        objects={f"{camera} {words}": objects[camera] for camera, words in product(IMAGES, WORDS)},
        classes=class_names(parts["classes"], CLASSES, path.name),
    )
