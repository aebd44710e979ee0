"""A data set as it is loaded: several domains over the same classes, before any split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._validation import choice
from isthmus.datasets.pair import DomainPair
from isthmus.domains import UNLABELLED, Domain, Split
from isthmus.exceptions import InputError


@dataclass(frozen=True, eq=False, repr=False)
class Collection:
    """Domains with the same classes and different features, where they come from, and on what terms.

    Parameters
    ----------
    name, title : str
        The name, and what the data are, in one line.
    domains : mapping of str to Domain
        Rows X (n, d), dense or CSR, and the class y (n,) of each, as a position in ``classes``.
    objects : mapping of str to array (n,)
        Which object (document, image, cell) each row of a domain is. Rows of two domains with the same object are
        two descriptions of one thing: a fair split has it in one of them only.
    classes : tuple of str
        The names of the classes.
    provenance, licence : str
        Where the data come from, and the terms of use as far as they are stated.
    splits : mapping of str to tuple of Split
        Published splits, by name.
    split_domains : mapping of str to (str, str)
        For every published split, the source and the target domain that its row numbers count through.
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
        return self.domains[choice(domain, "domain", self.domains)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.domains)

    def __len__(self) -> int:
        return len(self.domains)

    def split(self, source: str, target: str, protocol: Any, seed: int | Sequence[int]) -> Split:
        """Draw a split of two domains; an object that both describe is in one of its parts only.

        Parameters
        ----------
        source, target : str
            The domains.
        protocol : Protocol
            How many rows of each class are drawn for what (:class:`isthmus.evaluation.Protocol`).
        seed : int or sequence of int
            The same seed gives the same split.
        """
        s, t = self[source], self[target]
        objects = {"objects_source": self.objects[source], "objects_target": self.objects[target]}
        drawn: Split = protocol.split(s.y, t.y, **objects, seed=seed)
        return drawn

    def pair(self, source: str, target: str, split: Split) -> DomainPair:
        """The rows of a split as two domains and a test set; refused if an object would be in two of them."""
        s, t = self[source], self[target]
        self._check(source, target, split)
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

    def _check(self, source: str, target: str, split: Split) -> None:
        parts = {
            "source": split.source,
            "labelled": split.labelled,
            "unlabelled": split.unlabelled,
            "test": split.test,
        }
        objects: dict[Any, str] = {}
        for part, rows in parts.items():
            domain = source if part == "source" else target
            n = len(self.objects[domain])
            if len(rows) and not 0 <= rows.min() <= rows.max() < n:
                got = f"{rows.min()} to {rows.max()}"
                raise InputError(f"split.{part}: expected row numbers of {domain}, from 0 to {n - 1}, got {got}.")
            for thing in self.objects[domain][rows].tolist():
                if objects.setdefault(thing, part) != part:
                    both = f"{objects[thing]} and {part}"
                    raise InputError(f"split: expected no object in two of its parts, got {thing!r} in {both}.")

    def __str__(self) -> str:
        sizes = ", ".join(f"{name} {d.X.shape[0]} x {d.X.shape[1]}" for name, d in self.domains.items())
        return f"{self.name}: {self.title}; {len(self.classes)} classes; {sizes}"

    __repr__ = __str__
