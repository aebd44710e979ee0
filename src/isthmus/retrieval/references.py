"""The labelled rows of both domains as points of a common space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus._validation import choice
from isthmus.common_space import DISTANCE, DOMAINS, CommonSpace
from isthmus.domains import TwoDomains
from isthmus.exceptions import InputError

REFERENCES = (*DOMAINS, "both")


@dataclass(frozen=True, eq=False)
class References:
    """Labelled points of a common space: those of the source, then those of the target.

    Parameters
    ----------
    space : CommonSpace
        How points are compared.
    points : array (n, k)
        All labelled rows.
    y : array (n,)
        Their label codes.
    n_source : int
        How many are of the source.
    """

    space: CommonSpace
    points: FloatArray
    y: IntArray
    n_source: int

    @classmethod
    def of(cls, domains: TwoDomains, space: CommonSpace) -> References:
        """Of the labelled rows of two domains."""
        parts = list(zip(DOMAINS, (domains.source, domains.target), strict=True))
        points = [space.embed(part.X[part.labelled], name).astype(np.float64) for name, part in parts]
        y = np.concatenate([part.y[part.labelled] for _, part in parts])
        return cls(space, np.vstack(points), y, len(points[0]))

    def among(self, which: str) -> References:
        """Those of "source", "target" or "both"."""
        if choice(which, "references", REFERENCES) == "both":
            return self
        kept = slice(None, self.n_source) if which == "source" else slice(self.n_source, None)
        y = self.y[kept]
        return References(self.space, self.points[kept], y, len(y) if which == "source" else 0)

    def rank(self, queries: FloatArray, k: int) -> tuple[FloatArray, IntArray]:
        """The k best references for each query point, best first: distances or inner products, and numbers."""
        return self.space.rank(queries, self.points, k)


def require_comparable(kind: str, references: str, domain: str) -> None:
    """Raise where rows of a domain can't be compared with the references: inner products are across domains only."""
    if kind != DISTANCE and references != "source":
        raise InputError(
            "references: expected 'source', as there is no similarity within the target to rank its rows by, "
            f"got {references!r}."
        )
    if kind != DISTANCE and domain != "target":
        raise InputError(
            "domain: expected 'target', as there is no similarity within the source to rank its rows by, "
            f"got {domain!r}."
        )
