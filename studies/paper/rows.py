"""The rows of the paper's experiments: drawn by the protocol, with their features prepared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from isthmus._core.validation import UNLABELLED
from isthmus.data.splits import Protocol
from isthmus.study.trial_rows import Trial, TrialRows, hash_name, take_pair_rows
from studies.datasets.collection import Collection
from studies.datasets.toy import load_toy
from studies.paper.features import components, load_once, scale_rows, whole_domain

VARIANTS = {
    "whole": "PCA fitted to the whole domain, test rows included, as in the paper",
    "held-out": "PCA fitted without the test rows",
}
ARROW = " → "
"""Between source and target in the name of a group."""


@dataclass(frozen=True)
class Collected:
    """Trials out of a collection: a callable that draws rows and prepares their features.

    Parameters
    ----------
    load : callable
        The collection, given the data folder.
    protocol : Protocol
        Which rows are drawn for what.
    sizes : (int, int)
        Principal components of the source and of the target domain.
    histogram : bool
        Whether the features are counts.
    folder : Path, optional
        The data; no part of what a record is known by.
    """

    load: Callable[[Path | None], Collection]
    protocol: Protocol
    sizes: tuple[int, int] = (100, 150)
    histogram: bool = False
    folder: Path | None = field(default=None, compare=False)

    def check(self) -> None:
        """Raise if the data are not there."""
        load_once(self.load, self.folder)

    def __call__(self, trial: Trial) -> TrialRows:
        """The rows of a trial, with their features prepared as its variant says."""
        data = load_once(self.load, self.folder)
        names = source, target = tuple(trial.group.split(ARROW))
        y_source, y_target = (data[name].y for name in names)
        objects = [data.objects[name] for name in names]
        split = data.split(source, target, self.protocol, [trial.seed, hash_name(trial.group)])
        tested = objects[1][split.test]
        X_source, X_target = (
            whole_domain(self.load, self.folder, name, size, self.histogram)
            if trial.variant == "whole"
            else components(scale_rows(data[name].X, self.histogram), size, np.flatnonzero(~np.isin(things, tested)))
            for name, size, things in zip(names, self.sizes, objects, strict=True)
        )
        learned = np.concatenate([split.labelled, split.unlabelled])
        return TrialRows(
            X_source[split.source],
            y_source[split.source],
            X_target[learned],
            np.where(np.arange(len(learned)) < len(split.labelled), y_target[learned], UNLABELLED),
            X_target[split.test],
            y_target[split.test],
        )


def toy_rows(trial: Trial) -> TrialRows:
    """The toy problem, which needs no folder."""
    return take_pair_rows(load_toy(trial.seed))
