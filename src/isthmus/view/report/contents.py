"""The contents of a page: chapters, figures, and clouds of points in planes, which the page's script draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isthmus._core.linalg import PrincipalAxes, principal_axes
from isthmus._core.validation import FloatArray, IntArray, Matrix
from isthmus.evidence.scores import OTHER_CLASSES
from isthmus.exceptions import InputError
from isthmus.solvers.result import TracePoint
from isthmus.view.canvas import choose_colours
from isthmus.view.report.report_rows import CELL, NAME, NO_CLASS, ReportRows, order_classes, shorten

DOMAINS = "source", "target"
POINTS = 5_000
"""Points drawn at most, of both domains together."""
AXES_FROM, BLOCK = 500, 500
"""Rows of a domain that the axes of a plane are computed from, and rows that are embedded at a time."""
LARGEST = 1e100
"""Larger coordinates have no finite squares."""
# Neither the darkest nor the lightest colours: they have to be visible on white and on black.
COLOURS = (
    *("#4e79a7", "#f28e2b", "#e15759", "#59a14f", "#b07aa1"),
    *("#17a2b8", "#c9a227", "#d37295", "#9c755f", "#8c6bf0"),
)
GREY = "#8a8f98"


@dataclass(frozen=True)
class Chapter:
    """The part of a page on one file.

    Parameters
    ----------
    kind : {"model", "matches", "labels", "verdict"}
        The kind of file, and the name of the template.
    file : str
        Its name.
    sentence : str
        The main result.
    values : mapping
        The template's variables.
    """

    kind: str
    file: str
    sentence: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    """Numbers for the figure ``kind`` of ``page.js``; ``name`` describes it to screen readers."""

    kind: str
    name: str
    values: Mapping[str, Any]
    height: int = 360


def convergence_figure(trace: Sequence[TracePoint]) -> Figure:
    """Return the curve of the relative gap by iteration, without gaps that are infinite or zero."""
    shown = [
        (i, point) for i, point in enumerate(trace) if 0.0 < point.relative_gap < np.inf and point.seconds < np.inf
    ]
    values = {
        "iteration": [i for i, _ in shown],
        "gap": [point.relative_gap for _, point in shown],
        "seconds": [round(point.seconds, 2) for _, point in shown],
    }
    return Figure("convergence", "Relative gap by iteration", values, 320)


def confusion_figure(confusion: IntArray, classes: Sequence[str]) -> Figure:
    """Return a confusion matrix (C, C): true classes down, predicted ones across."""
    names, ticks = ([shorten(name, most) for name in classes] for most in (NAME, CELL))
    values = {"counts": confusion.tolist(), "names": names, "ticks": ticks}
    height = min(900, max(320, 160 + 26 * len(classes)))
    return Figure("confusion", "Confusion matrix: true classes in rows, predicted classes in columns", values, height)


def histogram_figure(values: FloatArray, name: str) -> Figure:
    """Return the histogram of confidences or probabilities."""
    counts, _ = np.histogram(np.clip(values, 0.0, 1.0), bins=20, range=(0.0, 1.0))
    return Figure("histogram", f"Histogram of the {name}", {"counts": counts.tolist(), "name": name}, 260)


@dataclass(frozen=True, eq=False)
class Plane:
    """Points (n, 2) of a plane and the shares of the variance along its two axes."""

    points: FloatArray
    share: tuple[float, float]

    def columns(self) -> list[list[float]]:
        """Return both coordinates with four digits, more than a screen resolves."""
        return [[float(f"{value:.4g}") for value in column] for column in self.points.T.tolist()]


@dataclass(frozen=True, eq=False)
class Cloud:
    """Rows of both domains as points with names, classes and excerpts, in up to three planes.

    Parameters
    ----------
    rows : (Rows, Rows)
        Source and target rows; the points are in this order.
    groups : sequence of str
        The class of each point.
    known : sequence of bool
        Whether the class is a label; otherwise it was predicted.
    before : (Plane, Plane)
        Each domain along its own principal axes.
    after : Plane or None
        Both domains in the common space.
    totals : (int, int)
        The number of rows, shown or not.
    links : sequence of (int, int)
        Matched points, by their places in the two domains.
    by_domain : bool
        Whether the colour shows the domain instead of the class.
    """

    rows: tuple[ReportRows, ReportRows]
    groups: Sequence[str]
    known: Sequence[bool]
    before: tuple[Plane, Plane]
    after: Plane | None
    totals: tuple[int, int]
    links: Sequence[tuple[int, int]] = ()
    by_domain: bool = False

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of points of the source and of the target."""
        return len(self.rows[0]), len(self.rows[1])

    @property
    def has_predicted(self) -> bool:
        """Whether a point without a label has a class."""
        return any(name != NO_CLASS for name, known in zip(self.groups, self.known, strict=True) if not known)

    def legend(self) -> list[tuple[str, int, str]]:
        """Return name, number of points and colour of each class, as :func:`order_classes` orders them."""
        counts, names = Counter(self.groups), order_classes(self.groups)
        colours = choose_colours([name for name in names if name not in (OTHER_CLASSES, NO_CLASS)], COLOURS)
        rest = len(self.groups) - sum(counts[name] for name in names if name != OTHER_CLASSES)
        sizes = [rest if name == OTHER_CLASSES else counts[name] for name in names]
        return [(name, n, colours.get(name, GREY)) for name, n in zip(names, sizes, strict=True)]

    def to_json(self) -> dict[str, Any]:
        """Return the values that the page's script draws."""
        legend = self.legend()
        place, n = {name: i for i, (name, *_) in enumerate(legend)}, self.sizes[0]
        first, second = (plane.columns() for plane in self.before)
        return {
            "names": [shorten(name) for name in place],
            "colours": [colour for *_, colour in legend],
            "byDomain": self.by_domain,
            "domain": [0] * n + [1] * self.sizes[1],
            "group": [place.get(name, place.get(OTHER_CLASSES, 0)) for name in self.groups],
            "known": [int(known) for known in self.known],
            "id": [shorten(id) for rows in self.rows for id in rows.ids],
            "class": [None if self.by_domain or name == NO_CLASS else shorten(name) for name in self.groups],
            "words": [text for rows in self.rows for text in rows.excerpts()],
            "before": [first[0] + second[0], first[1] + second[1]],
            "beforeShare": [plane.share for plane in self.before],
            "after": None if self.after is None else self.after.columns(),
            "afterShare": None if self.after is None else self.after.share,
            "links": [[i, n + j] for i, j in self.links],
        }


def own_plane(X: Matrix) -> Plane:
    """Return rows along the two principal axes of their own domain."""
    return _project(principal_axes(X[_sample_evenly(X.shape[0])]), X)


def common_plane(embed: Callable[[Matrix, str], Any], X_source: Matrix, X_target: Matrix) -> Plane:
    """Return both domains, source first, in their plane of largest variance; each domain has half of the weight."""
    sides = list(zip(DOMAINS, (X_source, X_target), strict=True))
    some = [_embed_rows(embed, X[_sample_evenly(X.shape[0])], domain) for domain, X in sides]
    halves = np.concatenate([np.full(len(points), 0.5 / len(points)) for points in some])
    axes = principal_axes(np.vstack(some), weights=halves)
    blocks = [
        _project(axes, _embed_rows(embed, X[start : start + BLOCK], domain))
        for domain, X in sides
        for start in range(0, X.shape[0], BLOCK)
    ]
    return Plane(np.vstack([block.points for block in blocks]), blocks[0].share)


def _embed_rows(embed: Callable[[Matrix, str], Any], X: Matrix, domain: str) -> FloatArray:
    """Return the points of rows, checked: a model file may come from a stranger."""
    points = np.asarray(embed(X, domain), dtype=np.float64)
    if not np.isfinite(points).all() or np.abs(points).max(initial=0.0) > LARGEST:
        raise InputError(f"model: expected finite points of the {domain}, got others, or beyond {LARGEST:.0e}.")
    return points


def _project(axes: PrincipalAxes, X: Matrix) -> Plane:
    whole = float(np.sum(axes.deviations**2)) or 1.0
    two = axes.leading(2)
    first, second = (two.deviations**2 / whole).tolist()
    return Plane(two.coordinates(X), (first, second))


def _sample_evenly(n: int) -> IntArray:
    return np.unique(np.linspace(0, n - 1, min(n, AXES_FROM)).astype(np.intp))
