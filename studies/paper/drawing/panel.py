"""The points of one panel of a figure: either domain or both, in two or three dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._core.validation import UNLABELLED, check_length, check_matrix
from isthmus.exceptions import InputError


@dataclass(frozen=True, eq=False)
class Panel:
    """Points of the source, of the target, or of both in one space, with what is said above and below them.

    Parameters
    ----------
    title : str
        Above the points.
    source, source_labels : array (n_s, 2 or 3), array (n_s,), optional
        Source points and their classes; None for a panel of the target alone.
    target, target_labels : array (n_t, 2 or 3), array (n_t,), optional
        Target points and their classes, -1 where unlabelled; None for a panel of the source alone.
    target_classes : array (n_t,), optional
        The true classes of all target points, to colour the unlabelled ones by. Without it they are grey.
    caption : str
        Under the points: numbers, say. May have several lines.

    Examples
    --------
    >>> Panel("Source", source=[[0.0, 1.0], [1.0, 0.0]], source_labels=[0, 1]).n_dimensions
    2
    """

    title: str
    source: Any = None
    source_labels: Any = None
    target: Any = None
    target_labels: Any = None
    target_classes: Any = None
    caption: str = ""

    def __post_init__(self) -> None:
        if self.source is None and self.target is None:
            raise InputError("source, target: expected the points of one domain at least, got None and None.")
        self._copy_arrays("source", "source_labels")
        self._copy_arrays("target", "target_labels", "target_classes")
        widths = {np.shape(X)[1] for X in (self.source, self.target) if X is not None}
        if len(widths) > 1:
            got = f"{np.shape(self.source)[1]} and {np.shape(self.target)[1]} columns"
            raise InputError(f"target: expected as many columns as source has, got {got}.")

    def _copy_arrays(self, domain: str, *labels: str) -> None:
        """Points and labels of one domain, checked, as arrays that nobody else can change."""
        if getattr(self, domain) is None:
            given = [name for name in labels if getattr(self, name) is not None]
            if given:
                raise InputError(f"{given[0]}: expected None where {domain} is None, got labels.")
            return
        points = np.array(check_matrix(getattr(self, domain), domain), dtype=np.float64)
        if points.shape[1] not in (2, 3):
            raise InputError(f"{domain}: expected 2 or 3 columns, got {points.shape[1]}.")
        object.__setattr__(self, domain, points)
        for name in labels:
            values = getattr(self, name)
            if values is None and name == "target_classes":
                continue
            check_length(values, len(points), name, domain)
            object.__setattr__(self, name, np.array(values))

    @property
    def n_dimensions(self) -> int:
        """2 or 3."""
        return int((self.source if self.source is not None else self.target).shape[1])

    @property
    def is_line(self) -> bool:
        """Whether the points lie on a line: two columns, of which the second is constant."""
        if self.n_dimensions != 2:
            return False
        spread = np.ptp(np.vstack([X for X in (self.source, self.target) if X is not None]), axis=0)
        return bool(spread[1] <= 1e-9 * spread[0])

    @property
    def classes(self) -> set[Any]:
        """All classes that are to be seen."""
        given = (self.source_labels, self.target_labels, self.target_classes)
        return {label for y in given if y is not None for label in y.tolist()} - {UNLABELLED}
