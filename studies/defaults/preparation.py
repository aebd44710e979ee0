"""Preparations of rows, as what is done to the rows of a trial before a fit; test rows teach none of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

from isthmus._core.validation import Matrix, is_sparse
from isthmus.study.trial_rows import TrialRows, prepare_trial_rows

SINGULAR_VECTORS = 100
PREPARATIONS = {
    "standardised": "each feature with mean 0 and deviation 1; text by 100 singular vectors, centred",
    "as they are": "features centred, no more; text as before",
    "unit rows": "standardised, then each row with length 1; text by singular vectors with length 1; centred",
    "square roots": "of features that are not negative, then rows with length 1; others as unit rows; centred",
}


@dataclass(frozen=True)
class Preparation:
    """One of :data:`PREPARATIONS`, and maybe a number of principal axes per class."""

    name: str = "standardised"
    axes_per_class: int | None = None

    def __call__(self, rows: TrialRows, seed: int) -> TrialRows:
        """The rows of either domain prepared."""
        return _prepare(rows, self)


@lru_cache(maxsize=16)
def _prepare(rows: TrialRows, how: Preparation) -> TrialRows:
    """Once for all systems of a trial: rows are the same only where they are the same object."""
    size = how.axes_per_class and how.axes_per_class * len(np.unique(rows.y_source))
    return prepare_trial_rows(rows, *(_steps(X, how.name, size) for X in (rows.X_source, rows.X_target)))


def _steps(X: Matrix, name: str, size: int | None) -> Any:
    """A pipeline for a domain."""
    text, centre = is_sparse(X), StandardScaler(with_std=False)
    roots = name == "square roots" and X.min() >= 0.0
    steps: list[Any] = [FunctionTransformer(_root, accept_sparse=True), Normalizer()] if roots else []
    if text:
        steps.append(TruncatedSVD(min(SINGULAR_VECTORS, X.shape[0] - 1), algorithm="arpack", random_state=0))
    elif name != "as they are" and not roots:
        steps.append(StandardScaler())
    if name == "unit rows" or (name == "square roots" and not roots):
        steps.append(Normalizer())
    steps.append(centre)
    if size is not None:
        steps.append(PCA(min(size, X.shape[1], X.shape[0] - 1)))
    return make_pipeline(*steps)


def _root(X: Matrix) -> Matrix:
    """Square roots; what is negative in rows that were not seen counts as zero."""
    return np.sqrt(X) if is_sparse(X) else np.sqrt(np.maximum(X, 0.0))
