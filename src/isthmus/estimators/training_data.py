"""The arguments of a fit, and the same with more rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._arrays import IntArray
from isthmus.domains import KnownPairs, as_labels, as_pairs, is_unlabelled
from isthmus.domains.blocks import append_labels, append_rows
from isthmus.exceptions import InputError


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The arguments of a fit as they were given, unchecked: references to the caller's arrays, no copies."""

    X_source: Any
    y_source: Any
    X_target: Any
    y_target: Any
    pairs: Any = None

    def rows(self, domain: str) -> Any:
        """Return the rows of a domain."""
        return getattr(self, f"X_{domain}")

    def labelled(self, domain: str) -> IntArray:
        """Return the numbers of the labelled rows of a domain."""
        y = getattr(self, f"y_{domain}")
        return np.flatnonzero(~is_unlabelled(as_labels(y, f"y_{domain}")))

    def numbered_pairs(self) -> KnownPairs | None:
        """Return the known pairs by row numbers, which rows that come after do not change."""
        if self.pairs is None:
            return None
        return as_pairs(self.pairs, _count(self.X_source), _count(self.X_target))

    def with_more(self, domain: str, X: Any, y: Any) -> tuple[Any, Any]:
        """Return the rows and labels of a domain followed by new ones, or, without rows, with other labels."""
        name, labels = f"y_{domain}", getattr(self, f"y_{domain}")
        if X is None:
            return self.rows(domain), labels if y is None else y
        rows = append_rows(self.rows(domain), X, f"X_{domain}")
        if y is None and labels is not None:
            raise InputError(f"{name}: expected a label for each new row (-1 where there is none), got None.")
        if y is None:
            return rows, None
        if labels is None:
            labels = np.full(_count(self.rows(domain)), -1)
        return rows, append_labels(labels, y, _count(X), name)


def _count(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
