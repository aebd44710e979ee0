"""Office-31 by the released SURF features, with the splits that others published."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from isthmus._core.archives import Expected, read_npz
from isthmus._core.validation import IntArray
from isthmus.data.domains import Split
from studies.datasets.about import About
from studies.datasets.cameras import OFFICE_CLASSES, number_objects
from studies.datasets.collection import Collection
from studies.datasets.parts import class_names, domain, published_split

SHAPES = {"amazon surf800": (2813, 800), "dslr surf600": (498, 600)}
SPLIT_ROWS = {"source_train": 620, "target_train": 93, "target_test": 405}
"""20 per class of amazon, 3 per class of dslr, and the other rows of dslr."""
N_SPLITS = {"shfa": 1, "hoffman": 20}

ABOUT = About(
    name="office31_released",
    title="Office-31 images by the released SURF, published splits",
    files=("office31/office31_surf_released.npz",),
    expects="amazon surf800 2813 x 800, dslr surf600 498 x 600; 31 classes",
    licence="not stated",
    reference="Saenko et al. 2010, Kulis et al. 2011; splits of SHFA (Li et al. 2014) and Hoffman et al. 2013",
)


def load_office31_released(folder: str | os.PathLike[str] | None = None) -> Collection:
    """The SURF features of Office-31 that were released with the papers, and their splits from amazon to dslr.

    The splits "shfa" (one) and "hoffman" (20) have 20 labelled rows per class of amazon, 3 per class of dslr,
    and the other 405 rows of dslr as the test. They name no unlabelled rows; a transductive method would take the
    test rows for it.

    Parameters
    ----------
    folder : path, optional
        The data folder (:func:`studies.datasets.data_folder`), with ``office31/office31_surf_released.npz``.

    Returns
    -------
    Collection
        Domains "amazon surf800" (2813, 800) and "dslr surf600" (498, 600), 31 classes.
    """
    (path,) = ABOUT.paths(folder)
    parts = read_npz(path, _expected_contents())
    domains = {
        name: domain(
            parts[name.replace(" ", "_")], parts[f"{name.split()[0]}_y"], OFFICE_CLASSES, f"{path.name}, {name}"
        )
        for name in SHAPES
    }
    source, target = (d.y for d in domains.values())
    return ABOUT.collection(
        domains=domains,
        objects={name: number_objects(name.split()[0], n) for name, (n, _) in SHAPES.items()},
        classes=class_names(parts["classes"], OFFICE_CLASSES, path.name),
        splits={name: _splits(parts, name, source, target, path.name) for name in N_SPLITS},
        split_domains=dict.fromkeys(N_SPLITS, ("amazon surf800", "dslr surf600")),
    )


def _expected_contents() -> dict[str, Expected]:
    expected = {"classes": Expected((OFFICE_CLASSES,), "text")}
    for name, shape in SHAPES.items():
        expected |= {name.replace(" ", "_"): Expected(shape, "number")}
        expected |= {f"{name.split()[0]}_y": Expected(shape[:1], "whole")}
    for name, times in N_SPLITS.items():
        lead = () if times == 1 else (times,)
        expected |= {f"{name}_{part}": Expected((*lead, n), "whole") for part, n in SPLIT_ROWS.items()}
    return expected


def _splits(parts: Mapping[str, Any], name: str, source: IntArray, target: IntArray, file: str) -> tuple[Split, ...]:
    tables = [np.atleast_2d(parts[f"{name}_{part}"]) for part in SPLIT_ROWS]
    return tuple(
        published_split(first, labelled, test, len(source), len(target), f"{file}, {name} split {k}")
        for k, (first, labelled, test) in enumerate(zip(*tables, strict=True))
    )
