"""Cut-offs of the cosine similarity, carried over from old queries to adapted ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isthmus._arrays import FloatArray
from isthmus._validation import choice, number, short_repr

OLD, ADAPTED = "old", "adapted"
SHARES: FloatArray = np.concatenate([np.geomspace(1e-6, 0.1, 161), np.linspace(0.105, 1.0, 180)])
"""Of the rows that pass; close together where few do, since that is where cut-offs are."""


@short_repr
@dataclass(frozen=True, eq=False)
class Thresholds:
    """Cut-offs that let the same share of the index pass.

    Parameters
    ----------
    old : array (t,)
        Falling similarities between queries of the old model and rows of the old index.
    adapted : array (t,)
        Between the same queries of the new model, adapted, and the same rows.

    Examples
    --------
    >>> table = Thresholds(np.array([0.9, 0.5, 0.1]), np.array([0.7, 0.4, 0.1]))
    >>> round(table.equivalent(0.7, "adapted"), 6), table.equivalent(0.4, "old")
    (0.55, 0.5)
    """

    old: FloatArray
    adapted: FloatArray

    def equivalent(self, value: float, to: str) -> float:
        """The cut-off in one of the two scales that passes as many rows as ``value`` does in the other.

        Beyond the largest or smallest similarity that was seen, the largest or smallest of the other scale.
        """
        cut = number(value, "value", low=-1.0, high=1.0)
        scales = {OLD: (self.adapted, self.old), ADAPTED: (self.old, self.adapted)}
        start, end = scales[choice(to, "to", scales)]
        return float(np.interp(cut, start[::-1], end[::-1]))


def thresholds(old: FloatArray, adapted: FloatArray) -> Thresholds:
    """The table for similarities of the same queries with the same rows, in any order."""
    tables = (np.quantile(np.asarray(S, dtype=np.float64), 1.0 - SHARES) for S in (old, adapted))
    return Thresholds(*(np.clip(table, -1.0, 1.0) for table in tables))
