"""Files that hold, for each camera, rows and labels: the layout that the Office collections share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._core.archives import Expected, read_npz
from isthmus.data.domains import Domain
from studies.datasets.parts import class_names, domain

OFFICE_CLASSES = 31
CALTECH_CLASSES = 10
"""The classes that Office-31 and Caltech-256 share."""


def read_cameras(
    path: Path, shapes: Mapping[str, tuple[int, int]], n_classes: int
) -> tuple[dict[str, Domain], dict[str, NDArray[Any]], tuple[str, ...]]:
    """Domains, objects and classes of an npz file with ``<camera>_X``, ``<camera>_y`` (from 1) and ``classes``.

    An object is named by the camera and the number of its row: the files do not say more, and images of two cameras
    are different images.
    """
    expected = {"classes": Expected((n_classes,), "text")}
    for camera, shape in shapes.items():
        expected |= {f"{camera}_X": Expected(shape, "number"), f"{camera}_y": Expected(shape[:1], "whole")}
    parts = read_npz(path, expected)
    domains = {c: domain(parts[f"{c}_X"], parts[f"{c}_y"], n_classes, f"{path.name}, {c}") for c in shapes}
    objects = {camera: number_objects(camera, n) for camera, (n, _) in shapes.items()}
    return domains, objects, class_names(parts["classes"], n_classes, path.name)


def number_objects(name: str, n: int) -> NDArray[Any]:
    """The objects "name/0", …, "name/n-1".

    Examples
    --------
    >>> number_objects("dslr", 2)
    array(['dslr/0', 'dslr/1'], dtype='<U6')
    """
    return np.array([f"{name}/{k}" for k in range(n)])
