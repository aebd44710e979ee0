"""Six hundred Reuters documents, each in five languages."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from isthmus._core.archives import Expected
from isthmus._core.files import open_regular, show_path
from isthmus._core.validation import FloatArray
from isthmus.data.domains import Domain
from isthmus.exceptions import InputError
from studies.datasets.about import About
from studies.datasets.collection import Collection
from studies.datasets.files.matlab import read_mat
from studies.datasets.parts import domain

DOCUMENTS = 600
VOCABULARIES = {"EN": 21531, "FR": 24893, "GR": 34279, "IT": 15506, "SP": 11547}
"""The language of a domain (GR is German, SP Spanish) and the number of its words."""
SHA256 = "7891013c24a821f56a5423387caaa4c609ff0a91c8df177a689dfaf0381c5761"

ABOUT = About(
    name="reuters600",
    title="600 Reuters documents in five languages",
    files=("reuters_multilingual/reuters.mat",),
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

    The file is public: ``datasets/reuters.mat`` of the repository mbrbic/Multi-view-LRSSC. One with another checksum
    is refused, so that the numbers of a study can be compared.

    Parameters
    ----------
    folder : path, optional
        The data folder (:func:`studies.datasets.data_folder`), with ``reuters_multilingual/reuters.mat``.

    Returns
    -------
    Collection
        Domains EN (600, 21531), FR (600, 24893), GR (600, 34279), IT (600, 15506), SP (600, 11547), all CSR.
    """
    (path,) = ABOUT.paths(folder)
    with open_regular(path) as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise InputError(f"{show_path(path)}: expected the file with the SHA-256 sum {SHA256}, got {found}.")
    return ABOUT.collection(
        domains=read_languages(path),
        objects={language: np.arange(DOCUMENTS) for language in VOCABULARIES},
        classes=("1", "2", "3", "4", "5", "6"),
    )


def read_languages(path: Path) -> dict[str, Domain]:
    """The rows of every language of a file such as ``reuters.mat``, and their classes.

    ``truth`` (600, 1) has the classes, from 1. ``EN_EN_sample``, ``EN_FR_sample`` and so on have rows of a document,
    a word and its weight, documents and words counted from 1. Weights are rounded to single precision: the committed
    records were made from them so, and any other rounding would move their last digits.
    """
    entries = {language: f"EN_{language}_sample" for language in VOCABULARIES}
    expected = {name: Expected((None, 3), "number") for name in entries.values()}
    parts = read_mat(path, {"truth": Expected((DOCUMENTS,), "whole"), **expected})
    return {
        language: domain(
            _table(parts[name], VOCABULARIES[language], f"{path.name}, {name}"),
            parts["truth"],
            6,
            f"{path.name}, {language}",
        )
        for language, name in entries.items()
    }


def _table(entries: FloatArray, words: int, where: str) -> sp.csr_matrix:
    places = entries[:, :2]
    if not ((places >= 1) & (places <= (DOCUMENTS, words)) & (places == np.rint(places))).all():
        raise InputError(
            f"{where}: expected documents from 1 to {DOCUMENTS} and words from 1 to {words}, got others."
        )
    rows, columns = places.T.astype(np.intp) - 1
    table = sp.csr_matrix((entries[:, 2].astype(np.float32), (rows, columns)), shape=(DOCUMENTS, words))
    if table.nnz < len(entries):
        raise InputError(f"{where}: expected every word of a document once, got {len(entries) - table.nnz} twice.")
    return table
