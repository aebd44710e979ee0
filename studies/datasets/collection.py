"""Several domains with the same classes, from which pairs are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._core.validation import UNLABELLED, check_choice
from isthmus.data.datasets import DomainPair
from isthmus.data.domains import Domain, Split
from isthmus.data.splits import Protocol
from isthmus.exceptions import InputError


@dataclass(frozen=True, eq=False, repr=False)
class Collection:
    """Domains with the same classes and different features, with their provenance and licence.

    Parameters
    ----------
    name, title : str
        A short name, and one line on what the data are.
    domains : mapping of str to Domain
        Rows X (n, d), dense or CSR, and the class y (n,) of each row, as an index into ``classes``.
    objects : mapping of str to array (n,)
        The object (document, image, cell) that each row of a domain describes. If rows of two domains describe the
        same object, a fair split uses only one of them.
    classes : tuple of str
        The names of the classes.
    provenance, licence : str
        Where the data come from, and the terms of use as far as they are stated.
    splits : mapping of str to tuple of Split
        Published splits, by name.
    split_domains : mapping of str to (str, str)
        For every published split, the source and the target domain to which its row numbers refer.
    """

    name: str
    title: str
    domains: Mapping[str, Domain]
    objects: Mapping[str, NDArray[Any]]
    classes: tuple[str, ...]
    provenance: str
    licence: str
    splits: Mapping[str, tuple[Split, ...]] = field(default_factory=dict)
    split_domains: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def __getitem__(self, domain: str) -> Domain:
        return self.domains[check_choice(domain, "domain", self.domains)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.domains)

    def __len__(self) -> int:
        return len(self.domains)

    def split(self, source: str, target: str, protocol: Protocol, seed: int | Sequence[int]) -> Split:
        """Draw a split of two domains by a protocol; no object is in two parts."""
        s, t = self[source], self[target]
        objects = {"objects_source": self.objects[source], "objects_target": self.objects[target]}
        return protocol.split(s.y, t.y, **objects, seed=seed)

    def pair(self, source: str, target: str, split: Split) -> DomainPair:
        """Return the rows of a split as two domains and a test set; raise if an object would be in two of them."""
        s, t = self[source], self[target]
        for part, rows in vars(split).items():
            domain = source if part == "source" else target
            n = len(self[domain].y)
            if len(rows) and not 0 <= rows.min() <= rows.max() < n:
                got = f"{rows.min()} to {rows.max()}"
                raise InputError(f"split.{part}: expected row numbers of {domain}, from 0 to {n - 1}, got {got}.")
        if np.isin(split.labelled, split.unlabelled).any():
            raise InputError("split: expected target rows with a label or without, got some in both parts.")
        rows = np.concatenate([split.labelled, split.unlabelled])
        tested = len(split.test) > 0
        y = np.concatenate([t.y[split.labelled], np.full(len(split.unlabelled), UNLABELLED)])
        return DomainPair(
            name=f"{self.name} {source} → {target}",
            description=f"{self.title} ({self.provenance})",
            X_source=s.X[split.source],
            y_source=s.y[split.source],
            X_target=t.X[rows],
            y_target=y,
            X_test=t.X[split.test] if tested else None,
            y_test=t.y[split.test] if tested else None,
            source_features=s.columns or (),
            target_features=t.columns or (),
            source_ids=self.objects[source][split.source],
            target_ids=self.objects[target][rows],
            test_ids=self.objects[target][split.test] if tested else None,
            target_classes=t.y[rows],
            licence=self.licence,
        )

    def __str__(self) -> str:
        sizes = ", ".join(f"{name} {d.X.shape[0]} x {d.X.shape[1]}" for name, d in self.domains.items())
        return f"{self.name}: {self.title}; {len(self.classes)} classes; {sizes}"

    __repr__ = __str__
