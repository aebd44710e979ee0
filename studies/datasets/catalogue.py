"""Every data set that can be loaded: what it is, and whether its files are there."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from isthmus._core.files import show_path
from isthmus.data.datasets import load_digits
from studies.datasets import (
    cdls,
    debian,
    mfeat,
    office31_bow,
    office31_released,
    office31_resnet,
    office_caltech,
    office_mat,
    reuters,
    reuters600,
    snareseq,
)
from studies.datasets.about import About
from studies.datasets.folder import VARIABLE, data_folder
from studies.datasets.toy import load_toy

WIDTH = 100
"""Columns of the printed list."""

TOY = About(
    name="toy",
    title="two Gaussian classes in the plane and in space",
    files=(),
    expects="source 80 x 2, target 84 x 3 (4 labelled), test 400; 2 classes",
    licence="that of this library",
    reference="the paper's toy problem, with parameters of our own",
)
DIGITS = About(
    name="digits",
    title="handwritten digits: pixels of some, shapes of others",
    files=(),
    expects="source 300 x 64, target 600 x 36 (20 labelled), test 897; 10 classes",
    licence="CC BY 4.0",
    reference="Alpaydin & Kaynak 1998 (UCI 80), by way of scikit-learn",
)


@dataclass(frozen=True)
class Dataset(About):
    """A data set and its loader.

    Parameters
    ----------
    name, title, files, expects, licence, reference
        As in :class:`~studies.datasets.about.About`.
    load : callable
        Returns a :class:`Collection` (a :class:`DomainPair` where there are no files); a data folder is its first
        argument (where there are files).
    """

    load: Callable[..., Any]

    def missing(self, folder: str | os.PathLike[str] | None = None) -> tuple[Path, ...]:
        """The files that are not in a data folder."""
        root = data_folder(folder)
        return tuple(root / file for file in self.files if not (root / file).is_file())

    def present(self, folder: str | os.PathLike[str] | None = None) -> bool:
        """Whether all files are in a data folder; true where none is needed."""
        return not self.missing(folder)


def catalogue() -> tuple[Dataset, ...]:
    """All data sets: first those without files, then the paper's, then others.

    Examples
    --------
    >>> [dataset.name for dataset in catalogue()][:4]
    ['toy', 'digits', 'reuters', 'reuters600']
    """
    loaders: list[tuple[About, Callable[..., Any]]] = [
        (TOY, load_toy),
        (DIGITS, load_digits),
        (reuters.ABOUT, reuters.load_reuters),
        (reuters600.ABOUT, reuters600.load_reuters600),
        (office31_bow.ABOUT, office31_bow.load_office31_bow),
        (office31_released.ABOUT, office31_released.load_office31_released),
        (office31_resnet.ABOUT, office31_resnet.load_office31_resnet),
        *((a, partial(office_caltech.load_office_caltech, features=f)) for f, a in office_caltech.ABOUT.items()),
        *((a, partial(office_mat.load_office_caltech_mat, features=f)) for f, a in office_mat.ABOUT.items()),
        (cdls.ABOUT, cdls.load_cdls),
        (debian.ABOUT, debian.load_debian),
        (mfeat.ABOUT, mfeat.load_mfeat),
        (snareseq.ABOUT, snareseq.load_snareseq),
    ]
    return tuple(Dataset(**vars(about), load=load) for about, load in loaders)


def listing(folder: str | os.PathLike[str] | None = None) -> str:
    """The catalogue as text for 100 columns: what every data set is, and what is missing of it.

    Examples
    --------
    >>> print(listing("nowhere")[:64])
    Looked in nowhere; to name another folder, set ISTHMUS_DATA or g
    """
    datasets = catalogue()
    column = max(len(dataset.name) for dataset in datasets) + 2
    intro = (
        f"Looked in {show_path(data_folder(folder))}; to name another folder, set {VARIABLE} or give --data FOLDER."
    )
    head = f"{'name':{column}}{'files':10}what it is; rows x columns of each domain; terms of use"
    return "\n".join([intro, "", head, "-" * WIDTH, *(_block(dataset, folder, column) for dataset in datasets)])


def _block(dataset: Dataset, folder: str | os.PathLike[str] | None, column: int) -> str:
    missing = dataset.missing(folder)
    state = "missing" if missing else "present" if dataset.files else "built in"
    lines = [
        f"{dataset.name:{column}}{state:10}{dataset.title}",
        _indent(dataset.expects),
        _indent(f"licence: {dataset.licence}"),
    ]
    # A path is never broken, however long: it is there to be copied.
    return "\n".join([*lines, f"    missing: {show_path(missing[0])}"] if missing else lines)


def _indent(text: str) -> str:
    unbroken = text.replace(" x ", "\u00a0x\u00a0")
    return textwrap.fill(unbroken, WIDTH, initial_indent="    ", subsequent_indent="    ").replace("\u00a0", " ")
