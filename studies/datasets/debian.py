"""Descriptions of Debian packages in three languages."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isthmus._core.archives import Expected, read_npz
from isthmus.data.domains import Domain
from isthmus.exceptions import InputError
from studies.datasets.about import About
from studies.datasets.collection import Collection
from studies.datasets.files.compressed_rows import read_csr
from studies.datasets.parts import class_names, distinct, domain

SHAPES = {"en": (5527, 8279), "fr": (3560, 7038), "de": (1990, 4819)}
SECTIONS = 8

ABOUT = About(
    name="debian",
    title="Debian package descriptions in three languages",
    files=tuple(f"debian_descriptions/debian8_{language}.npz" for language in SHAPES),
    expects="en 5527 x 8279, fr 3560 x 7038, de 1990 x 4819; 8 classes",
    licence="free, on the terms of each package and its translation",
    reference="Debian 12 main, package descriptions and their translations",
)


def load_debian(folder: str | os.PathLike[str] | None = None) -> Collection:
    """Descriptions of Debian packages of eight sections, in English, French and German, as tf-idf.

    All text is by human hand, and each language has a vocabulary of its own. The object of a row is the name of its
    package: French and German are translations of English rows, so a fair split has a package in one domain only.

    Parameters
    ----------
    folder : path, optional
        The data folder (:func:`studies.datasets.data_folder`), with ``debian_descriptions/debian8_{en,fr,de}.npz``.

    Returns
    -------
    Collection
        Domains en (5527, 8279), fr (3560, 7038), de (1990, 4819), all CSR, 8 classes.
    """
    paths = dict(zip(SHAPES, ABOUT.paths(folder), strict=True))
    read = {language: _language(path, SHAPES[language]) for language, path in paths.items()}
    for language, path in paths.items():
        _require_agreement(read["en"], read[language], path.name)
    return ABOUT.collection(
        domains={language: part.rows for language, part in read.items()},
        objects={language: part.packages for language, part in read.items()},
        classes=read["en"].classes,
    )


class _Language(NamedTuple):
    rows: Domain
    packages: NDArray[Any]
    classes: tuple[str, ...]


def _language(path: Path, shape: tuple[int, int]) -> _Language:
    n, d = shape
    parts = read_npz(
        path,
        {
            "y": Expected((n,), "whole"),
            "classes": Expected((SECTIONS,), "text"),
            "package": Expected((n,), "text"),
            "vocabulary": Expected((d,), "text"),
        },
    )
    words = distinct(parts["vocabulary"], d, f"{path.name}, vocabulary").tolist()
    rows = domain(read_csr(path, "", shape), parts["y"], SECTIONS, path.name, first=0, columns=words)
    packages = distinct(parts["package"], n, f"{path.name}, package")
    return _Language(rows, packages, class_names(parts["classes"], SECTIONS, path.name))


def _require_agreement(english: _Language, other: _Language, file: str) -> None:
    """Raise unless two files have the same sections, and the same section for every package of both."""
    if other.classes != english.classes:
        names = ", ".join(english.classes)
        raise InputError(f"{file}, classes: expected {names}, as in English, got {', '.join(other.classes)}.")
    _, first, second = np.intersect1d(english.packages, other.packages, return_indices=True)
    differ = second[english.rows.y[first] != other.rows.y[second]]
    if len(differ):
        raise InputError(
            f"{file}: expected the sections of the English file, got another of {other.packages[differ[0]]}."
        )
