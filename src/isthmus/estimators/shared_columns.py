"""The shared-column baseline: where the domains share columns, no space has to be learned."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

from isthmus._core.validation import IntArray, as_dense, column_names, is_sparse
from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import TargetEstimator
from isthmus.exceptions import InputError
from isthmus.geometry.similarity import normalize_precisely

SHARED = "shared columns, SVM"


class SharedColumns(TargetEstimator):
    """Linear support vectors over source rows and labelled target rows, on the columns that both have.

    Parameters
    ----------
    columns : array (m, 2)
        The number of a source and of a target column for each.

    Examples
    --------
    >>> X_source, y_source = [[5.0, 1.0], [4.0, 0.0], [-5.0, 1.0]], ["a", "a", "b"]
    >>> X_target, y_target = [[0.0, 3.0], [0.0, -2.0]], ["a", None]
    >>> SharedColumns([[0, 1]]).fit(X_source, y_source, X_target, y_target).predict(X_target)
    array(['a', 'b'], dtype=object)
    """

    classifier_: Any
    columns: Any

    def __init__(self, columns: Any, *, source_transformer: Any = None, target_transformer: Any = None) -> None:
        self._set_parameters(locals())

    def _fit_domains(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        ours, theirs = np.asarray(self.columns).T
        known = domains.target.labelled
        parts = (
            normalize_precisely(domains.source.X[:, ours]),
            normalize_precisely(domains.target.X[known][:, theirs]),
        )
        sparse = all(map(is_sparse, parts))
        X = sp.vstack(parts, format="csr") if sparse else np.vstack([as_dense(part) for part in parts])
        classifier = LinearSVC(random_state=0).fit(X, np.r_[domains.source.y, domains.target.y[known]])
        return {"classifier_": classifier}

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """Return the class of each target row (n,)."""
        rows = normalize_precisely(self._rows(X, domain)[:, np.asarray(self.columns)[:, 1]])
        return np.asarray(self.classes_[np.asarray(self.classifier_.predict(rows), dtype=np.intp)])

    def _dimension(self) -> int:
        return len(self.columns)


def find_common_columns(given: Any, X_source: Any, X_target: Any) -> IntArray | None:
    """Return the columns of both domains that are the same (m, 2), or None where there are none.

    Parameters
    ----------
    given : sequence, optional
        Pairs of a source and a target column, by number or by name; or names that both have. None: columns of equal
        names, where both are data frames.
    X_source, X_target : array, sparse matrix or data frame
        As the user gave them.
    """
    names = column_names(X_source), column_names(X_target)
    if given is None:
        ours, theirs = (list(each or ()) for each in names)
        found = [(ours.index(name), theirs.index(name)) for name in ours if name in set(theirs)]
        return np.array(found, dtype=np.intp) if found else None
    if isinstance(given, str) or not np.iterable(given):
        raise InputError(f"shared_columns: expected columns in a list, got {given!r:.60}.")
    pairs = [(each, each) if isinstance(each, str) else tuple(each) for each in given]
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise InputError(f"shared_columns: expected names, or pairs of columns, got {given!r:.60}.")
    sizes = np.shape(X_source)[1], np.shape(X_target)[1]
    return np.array([[_check_column(c, names[k], sizes[k]) for k, c in enumerate(p)] for p in pairs], dtype=np.intp)


def _check_column(column: Hashable, names: Sequence[str] | None, size: int) -> int:
    """Return the number of a column, given by name or number; raise if it does not exist."""
    if isinstance(column, str) and names is not None and column in names:
        return names.index(column)
    if isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < size:
        return int(column)
    raise InputError(f"shared_columns: expected columns that both domains have, got {column!r:.60}.")
