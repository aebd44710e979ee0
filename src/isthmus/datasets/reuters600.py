"""Six hundred Reuters documents, each in five languages."""

from __future__ import annotations

import os

import numpy as np

from isthmus.datasets.about import About
from isthmus.datasets.collection import Collection
from isthmus.datasets.files.archives import Expected, read_csr, read_npz
from isthmus.datasets.parts import domain

DOCUMENTS = 600
VOCABULARIES = {"EN": 21531, "FR": 24893, "GR": 34279, "IT": 15506, "SP": 11547}
"""The language of a domain (GR is German, SP Spanish) and the number of its words."""

ABOUT = About(
    name="reuters600",
    title="600 Reuters documents in five languages",
    files=("reuters_multilingual/reuters600_5lang.npz",),
    expects="EN 600 x 21531, FR 600 x 24893, GR 600 x 34279, IT 600 x 15506, SP 600 x 11547; 6 classes",
    licence="for research purposes only",
    reference="Amini, Usunier & Goutte 2009 (UCI 259), by way of the Multi-view-LRSSC code",
)


def load_reuters600(folder: str | os.PathLike[str] | None = None) -> Collection:
    """600 documents of multilingual Reuters, 100 of each of six classes, weighted by their words in five languages.

    The rows of every domain are the *same* English documents, in machine translation except for EN: the object of
    a row is the number of its document, and a fair split has a document in one domain only. The file numbers its
    classes without saying which is which category of Reuters, so their names here are the numbers. Some values are
    negative, as in the origin.

    Parameters
    ----------
    folder : path, optional
        The data folder (:func:`isthmus.datasets.data_folder`), with ``reuters_multilingual/reuters600_5lang.npz``.

    Returns
    -------
    Collection
        Domains EN (600, 21531), FR (600, 24893), GR (600, 34279), IT (600, 15506), SP (600, 11547), all CSR.
    """
    (path,) = ABOUT.paths(folder)
    y = read_npz(path, {"y": Expected((DOCUMENTS,), "whole")})["y"]
    tables = {v: read_csr(path, f"{v}_", (DOCUMENTS, words)) for v, words in VOCABULARIES.items()}
    return ABOUT.collection(
        domains={v: domain(X, y, 6, f"{path.name}, {v}") for v, X in tables.items()},
        objects={v: np.arange(DOCUMENTS) for v in tables},
        classes=("1", "2", "3", "4", "5", "6"),
    )
