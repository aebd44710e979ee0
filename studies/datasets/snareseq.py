"""Cells measured twice: by the genes that they express and by the parts of the genome that are open."""

from __future__ import annotations

import os

import numpy as np

from isthmus._core.archives import Expected, read_npz
from isthmus.exceptions import InputError
from studies.datasets.about import About
from studies.datasets.collection import Collection
from studies.datasets.parts import domain

CELLS = 1047
COLUMNS = {"rna10": 10, "atac19": 19}

ABOUT = About(
    name="snareseq",
    title="cells by gene expression and by chromatin accessibility",
    files=("single_cell/snareseq.npz",),
    expects="rna10 1047 x 10, atac19 1047 x 19; 4 classes",
    licence="not stated",
    reference="Chen, Lake & Zhang 2019, as prepared for SCOT (Demetci et al. 2022)",
)


def load_snareseq(folder: str | os.PathLike[str] | None = None) -> Collection:
    """1,047 cells of four types by SNARE-seq: gene expression (10 columns) and chromatin accessibility (19 columns).

    The rows of both domains are the *same* cells: the object of a row is the number of its cell, and a fair split
    has a cell in one domain only. The file numbers the cell types; their names here are the numbers.

    Parameters
    ----------
    folder : path, optional
        The data folder (:func:`studies.datasets.data_folder`), with ``single_cell/snareseq.npz``.

    Returns
    -------
    Collection
        Domains rna10 (1047, 10) and atac19 (1047, 19), 4 classes.
    """
    (path,) = ABOUT.paths(folder)
    labels = {"rna10": "rna_y", "atac19": "atac_y"}
    expected = {name: Expected((CELLS, d), "number") for name, d in COLUMNS.items()}
    parts = read_npz(path, expected | {key: Expected((CELLS,), "whole") for key in labels.values()})
    if differ := int(np.count_nonzero(parts["rna_y"] != parts["atac_y"])):
        raise InputError(f"{path.name}: expected the same cell types in rna_y and atac_y, got {differ} that differ.")
    return ABOUT.collection(
        domains={name: domain(parts[name], parts[labels[name]], 4, f"{path.name}, {name}") for name in COLUMNS},
        objects={name: np.arange(CELLS) for name in COLUMNS},
        classes=("1", "2", "3", "4"),
    )
