"""One metric across two descriptions of handwritten digits, with the controls that show what it is worth.

The source sees pixels and has all its labels. The target sees shape features of other images and has a few.
MLHD learns one metric over both; a target row is then classified by its nearest source row. Whether the source
was of any use is asked in two ways: against methods that never saw it, and against sources that know nothing.

Everything is fixed before a test label is seen: the features are centred and scaled, and 3 x classes principal
components kept, on training rows only; MLHD and the controls run with the library's defaults. The test labels
are used for scoring, and to pick the best target-only control, which favours the control.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy import stats
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import LinearSVC

from isthmus import MLHD
from isthmus.datasets import DomainPair, load_digits_domains
from isthmus.exceptions import InputError, MissingDependencyError
from isthmus.mmd import mmd
from isthmus.plotting import plot_before_after

COMPONENTS_A_CLASS = 3
RULES = {"source": "nearest source row", "both": "nearest of both"}
TARGET_ONLY = {
    "1-NN": lambda: KNeighborsClassifier(1),
    "linear SVM": lambda: LinearSVC(),
    "self-trained LDA": lambda: SelfTrainingClassifier(LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")),
    "label spreading": lambda: LabelSpreading(kernel="knn", n_neighbors=7),
}
USES_UNLABELLED = {"self-trained LDA", "label spreading"}
TRUE_SOURCE = "true source"


@dataclass(frozen=True)
class Split:
    """Prepared rows: the source S, the training target T, the test rows E, and their labels."""

    S: np.ndarray
    y_source: np.ndarray
    T: np.ndarray
    y_target: np.ndarray
    E: np.ndarray
    y_test: np.ndarray

    @property
    def labelled(self) -> np.ndarray:
        return self.y_target != -1


def prepared(pair: DomainPair) -> Split:
    """Centred principal components of unit mean squared norm, learned without test rows."""
    k = COMPONENTS_A_CLASS * len(pair.classes)
    source = PCA(k, random_state=0).fit(pair.X_source)  # pixels share a unit; shape features do not
    target = make_pipeline(StandardScaler(), PCA(k, random_state=0)).fit(pair.X_target)
    S, T = source.transform(pair.X_source), target.transform(pair.X_target)
    E = target.transform(pair.X_test)
    return Split(S / norm(S), pair.y_source, T / norm(T), pair.y_target, E / norm(T), pair.y_test)


def norm(X: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.sum(X**2, axis=1))))


def sources(split: Split, seed: int) -> Iterator[tuple[str, Split]]:
    """The true source, then three that cannot help."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=split.S.shape)
    n_classes = int(split.y_source.max()) + 1
    yield TRUE_SOURCE, split
    yield "noise features", replace(split, S=noise / norm(noise))
    yield "permuted labels", replace(split, y_source=rng.permutation(split.y_source))
    yield "renamed classes", replace(split, y_source=(split.y_source + 3) % n_classes)


def target_only(split: Split) -> Iterator[tuple[str, float]]:
    """Accuracy of methods that never see the source."""
    known = split.labelled
    for name, method in TARGET_ONLY.items():
        rows = slice(None) if name in USES_UNLABELLED else known
        fitted = method().fit(split.T[rows], split.y_target[rows])
        yield name, fitted.score(split.E, split.y_test)


def with_source(split: Split, model: MLHD) -> dict[str, float]:
    """Accuracy by the nearest source row, and by the nearest of source rows and labelled target rows."""
    known = split.labelled
    S, T, E = (model.transform(X, domain) for X, domain in ((split.S, "source"), (split.T[known], "target"), (split.E, "target")))
    references = {
        "source": (S, split.y_source),
        "both": (np.vstack([S, T]), np.concatenate([split.y_source, split.y_target[known]])),
    }
    return {rule: KNeighborsClassifier(1).fit(*rows).score(E, split.y_test) for rule, rows in references.items()}


def fitted(split: Split, progress: bool = False) -> MLHD:
    return MLHD(progress=progress).fit(split.S, split.y_source, split.T, split.y_target)


def accuracies(pair: DomainPair, seed: int) -> dict[tuple[str, str], float]:
    """Every method on one split, by (method, rule)."""
    split = prepared(pair)
    scores = {(name, ""): score for name, score in target_only(split)}
    for name, variant in sources(split, seed):
        scores |= {(name, rule): score for rule, score in with_source(variant, fitted(variant)).items()}
    return scores
