"""How features are prepared, for old and new runs alike: two steps, learned from training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from isthmus._core.validation import FloatArray, Matrix, is_sparse
from isthmus.study.trial_rows import TrialRows, prepare_trial_rows

SVD_SIZE, COMPONENTS_PER_CLASS = 100, 3


def standardising(X: Matrix) -> Any:
    """The first step: numbers are standardised, rows of text scaled to length one and reduced by a truncated SVD."""
    if not is_sparse(X):
        return StandardScaler()
    return make_pipeline(Normalizer(), TruncatedSVD(SVD_SIZE, algorithm="arpack", random_state=0))


@dataclass(frozen=True)
class Reduced:
    """The second step: as many principal components of either domain (None: its features), scaled to a common unit.

    The mean squared length of the rows is then one. Where a domain has fewer features than ``per_class`` components
    for each class, both domains get as many components as it has features.
    """

    per_class: int | None

    def __call__(self, rows: TrialRows, seed: int) -> TrialRows:
        """The rows, each domain prepared by its training rows."""
        each = self.transformer(rows)
        return prepare_trial_rows(rows, each, each)

    def transformer(self, rows: TrialRows) -> Any:
        """What either domain is prepared by."""
        most = rows.X_source.shape[1], rows.X_target.shape[1]
        n_classes = len(np.unique(rows.y_source[rows.y_source >= 0]))
        size = None if self.per_class is None else min(self.per_class * n_classes, *most)
        return make_pipeline("passthrough" if size is None else PCA(size, random_state=0), UnitLength())


class UnitLength(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """All features divided by one number: the rows of the fit then have a mean squared length of one."""

    length_: float

    def fit(self, X: FloatArray, y: Any = None) -> Self:
        """Take the length of these rows."""
        self.length_ = float(np.sqrt(np.mean(np.sum(X**2, axis=1))))
        return self

    def transform(self, X: FloatArray) -> FloatArray:
        """The rows in its unit."""
        return X / self.length_
