"""Rows of both domains as points of a plane: each domain along its own axes before, all in the common space after."""

from __future__ import annotations

import colorsys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._arrays import FloatArray, Matrix
from isthmus.exceptions import InputError
from isthmus.linalg import PrincipalAxes, principal_axes
from isthmus.report.rows import Rows, cut, in_order

POINTS = 5_000
"""Points that are shown at most, of both domains together."""
AXES_FROM = 500
"""Rows of a domain that the axes of a plane are computed from."""
BLOCK = 500
"""Rows that are points of a common space of many dimensions at the same time."""
LARGEST = 1e100
"""Coordinates beyond have no squares."""
MOST_GROUPS = 40
"""Classes with a colour and a switch of their own; the smaller ones share one."""
NO_CLASS, OTHERS = "no class", "other classes"
# Neither the darkest nor the lightest colours: they have to be seen on white and on black.
COLOURS = (
    *("#4e79a7", "#f28e2b", "#e15759", "#59a14f", "#b07aa1"),
    *("#17a2b8", "#c9a227", "#d37295", "#9c755f", "#8c6bf0"),
)
GREY = "#8a8f98"
DOMAINS = "source", "target"

Embedding = Callable[[Matrix, str], Any]


@dataclass(frozen=True, eq=False)
class Plane:
    """Points of a plane, and what part of the variance is along each of its axes."""

    points: FloatArray
    share: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points with names, classes and a few words, in up to three planes.

    Parameters
    ----------
    rows : (Rows, Rows)
        Of the source and of the target; the points come in this order.
    groups : sequence of str
        The class of each point as it is coloured.
    known : sequence of bool
        Whether the class is a label; if not, it was given by the model.
    before : (Plane, Plane)
        Each domain along its own principal axes.
    after : Plane or None
        Both in the common space.
    totals : (int, int)
        How many rows there are, shown or not.
    links : sequence of (int, int)
        Points of the source and of the target, by their place in the domain, that belong together.
    by_domain : bool
        Whether the colour is the domain, because there are no classes.
    """

    rows: tuple[Rows, Rows]
    groups: Sequence[str]
    known: Sequence[bool]
    before: tuple[Plane, Plane]
    after: Plane | None
    totals: tuple[int, int]
    links: Sequence[tuple[int, int]] = ()
    by_domain: bool = False

    @property
    def sizes(self) -> tuple[int, int]:
        """Points of the source and of the target."""
        return len(self.rows[0]), len(self.rows[1])

    def names(self) -> list[tuple[str, int]]:
        """The classes and how many points each has: in alphabetic order, the rest and those without a class last."""
        counts = Counter(self.groups)
        no_class = counts.pop(NO_CLASS, 0)
        kept = in_order(
            name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_GROUPS]
        )
        rest = counts.total() - sum(counts[name] for name in kept)
        last = [(OTHERS, rest)] * bool(rest) + [(NO_CLASS, no_class)] * bool(no_class)
        return [(name, counts[name]) for name in kept] + last

    def colours(self) -> list[str]:
        """A colour for each of the names."""
        names = [name for name, _ in self.names()]
        plain = [name for name in names if name not in (OTHERS, NO_CLASS)]
        return [*_colours(len(plain)), *[GREY] * (len(names) - len(plain))]

    def to_json(self) -> dict[str, Any]:
        """For the script of the page."""
        place = {name: i for i, (name, _) in enumerate(self.names())}
        n = self.sizes[0]
        sides = [_columns(self.before[0]), _columns(self.before[1])]
        return {
            "names": [cut(name) for name in place],
            "colours": self.colours(),
            "byDomain": self.by_domain,
            "domain": [0] * n + [1] * self.sizes[1],
            "group": [place.get(name, place.get(OTHERS, 0)) for name in self.groups],
            "known": [int(known) for known in self.known],
            "id": [cut(id) for rows in self.rows for id in rows.ids],
            "class": [cut(name) for name in self.groups],
            "words": [text for rows in self.rows for text in rows.excerpts()],
            "before": [sides[0][0] + sides[1][0], sides[0][1] + sides[1][1]],
            "beforeShare": [_percent(plane.share) for plane in self.before],
            "after": None if self.after is None else _columns(self.after),
            "afterShare": None if self.after is None else _percent(self.after.share),
            "links": [[i, n + j] for i, j in self.links],
        }


def own_plane(X: Matrix) -> Plane:
    """Rows along the two principal axes of their own domain."""
    return _plane(principal_axes(X[_spread(X.shape[0])]), X)


def common_plane(embedding: Embedding, X_source: Matrix, X_target: Matrix) -> Plane:
    """Rows of both domains in their plane of largest variance, each domain counting one half; the source first."""
    sides = list(zip(DOMAINS, (X_source, X_target), strict=True))
    some = [_points(embedding, X[_spread(X.shape[0])], domain) for domain, X in sides]
    halves = np.concatenate([np.full(len(points), 0.5 / len(points)) for points in some])
    axes = principal_axes(np.vstack(some), weights=halves)
    parts = [
        _plane(axes, _points(embedding, X[start : start + BLOCK], domain))
        for domain, X in sides
        for start in range(0, X.shape[0], BLOCK)
    ]
    return Plane(np.vstack([part.points for part in parts]), parts[0].share)


def _points(embedding: Embedding, X: Matrix, domain: str) -> FloatArray:
    """Rows as points, of a model that may come from a stranger."""
    points = np.asarray(embedding(X, domain), dtype=np.float64)
    if not np.isfinite(points).all() or np.abs(points).max(initial=0.0) > LARGEST:
        raise InputError(f"model: expected finite points of the {domain}, got others, or beyond {LARGEST:.0e}.")
    return points


def _plane(axes: PrincipalAxes, X: Matrix) -> Plane:
    whole = float(np.sum(axes.deviations**2)) or 1.0
    two = axes.leading(2)
    return Plane(two.coordinates(X), (float(two.deviations[0] ** 2) / whole, float(two.deviations[1] ** 2) / whole))


def _spread(n: int) -> Any:
    return np.unique(np.linspace(0, n - 1, min(n, AXES_FROM)).astype(np.intp))


def _columns(plane: Plane) -> list[list[float]]:
    """Both coordinates with four digits, which is more than a screen has."""
    return [[float(f"{value:.4g}") for value in column] for column in plane.points.T.tolist()]


def _percent(share: tuple[float, float]) -> list[str]:
    return [f"{value:.0%}" for value in share]


def _colours(count: int) -> list[str]:
    if count <= len(COLOURS):
        return list(COLOURS[:count])
    wheel = (colorsys.hls_to_rgb(i / count, 0.52, 0.55) for i in range(count))
    return ["#" + "".join(f"{round(255 * part):02x}" for part in rgb) for rgb in wheel]
