"""Multilingual Reuters as the collection ships it: native documents in five languages."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from isthmus._core.files import show_path
from isthmus.data.domains import Domain
from isthmus.exceptions import InputError
from studies.datasets.about import About
from studies.datasets.cameras import number_objects
from studies.datasets.collection import Collection
from studies.datasets.svmlight import read_index

CLASSES = ("C15", "CCAT", "E21", "ECAT", "GCAT", "M11")
SHAPES = {
    "EN": (18758, 21531),
    "FR": (26648, 24893),
    "GR": (29953, 34279),
    "IT": (24039, 15506),
    "SP": (12342, 11547),
}
"""The documents and the words of each language; GR is German, SP Spanish."""

ABOUT = About(
    name="reuters",
    title="Reuters documents in their native languages",
    files=tuple(f"reuters_multilingual/rcv1rcv2aminigoutte/{v}/Index_{v}-{v}" for v in SHAPES),
    expects="EN 18758 x 21531, FR 26648 x 24893, GR 29953 x 34279, IT 24039 x 15506, SP 12342 x 11547; 6 classes",
    licence="for research purposes only",
    reference="Amini, Usunier & Goutte 2009 (UCI 259)",
)


def load_reuters(folder: str | os.PathLike[str] | None = None) -> Collection:
    """The native documents of multilingual Reuters: 111,740 in five languages, six categories (UCI 259).

    Only the files of native documents are read, not those of machine translations. Documents of two languages are
    different documents: every object is there once.

    Parameters
    ----------
    folder : path, optional
        The data folder (:func:`studies.datasets.data_folder`), with the archive of UCI 259 unpacked in
        ``reuters_multilingual``: ``reuters_multilingual/rcv1rcv2aminigoutte/EN/Index_EN-EN`` and so for FR, GR, IT
        and SP. A line is a category and ``word:weight`` pairs.

    Returns
    -------
    Collection
        Domains EN (18758, 21531), FR (26648, 24893), GR (29953, 34279), IT (24039, 15506), SP (12342, 11547), CSR.
    """
    return _load(ABOUT.paths(folder), SHAPES)


def _load(paths: Iterable[Path], shapes: Mapping[str, tuple[int, int]]) -> Collection:
    return ABOUT.collection(
        domains={language: _language(path, shapes[language]) for language, path in zip(shapes, paths, strict=True)},
        objects={language: number_objects(language, n) for language, (n, _) in shapes.items()},
        classes=CLASSES,
    )


def _language(path: Path, shape: tuple[int, int]) -> Domain:
    rows, y = read_index(path, CLASSES, shape[1])
    if rows.shape != shape:
        got = " and ".join(map(str, rows.shape))
        raise InputError(f"{show_path(path)}: expected {shape[0]} documents and {shape[1]} words, got {got}.")
    return Domain(rows, y)
