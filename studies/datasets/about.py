"""What is known of a data set without reading it: its files, its shapes, where it comes from and on what terms."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from isthmus.data.domains import Domain, Split
from studies.datasets.collection import Collection
from studies.datasets.folder import check_file, data_folder


@dataclass(frozen=True)
class About:
    """One data set, described.

    Parameters
    ----------
    name, title : str
        The name in ``python -m studies.datasets``, and what the data are, in one line.
    files : tuple of str
        What is read, as paths from the data folder on; none for data that are made or come with a library.
    expects : str
        The rows and columns of each domain, in one line.
    licence : str
        The terms of use as far as they are stated.
    reference : str
        Where the data come from.
    """

    name: str
    title: str
    files: tuple[str, ...]
    expects: str
    licence: str
    reference: str

    def paths(self, folder: str | os.PathLike[str] | None) -> tuple[Path, ...]:
        """The files in a data folder, or an error that says which one is missing and what it holds."""
        root = data_folder(folder)
        return tuple(check_file(root / file, self.name, self.expects) for file in self.files)

    def collection(
        self,
        domains: Mapping[str, Domain],
        objects: Mapping[str, NDArray[Any]],
        classes: tuple[str, ...],
        *,
        splits: Mapping[str, tuple[Split, ...]] | None = None,
        split_domains: Mapping[str, tuple[str, str]] | None = None,
    ) -> Collection:
        """What was read, with its description."""
        return Collection(
            self.name,
            self.title,
            domains,
            objects,
            classes,
            provenance=self.reference,
            licence=self.licence,
            splits=splits or {},
            split_domains=split_domains or {},
        )
