"""Rows of the user's files as a report shows them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._core.files import show_path
from isthmus._core.linalg import PrincipalAxes, principal_axes
from isthmus._core.validation import FloatArray, IntArray, Matrix
from isthmus.evidence.scores import OTHER_CLASSES
from isthmus.exceptions import InputError
from isthmus.io.tables.plan import Column, Plan, read_ids, read_labels
from isthmus.io.tables.read import read_table
from isthmus.io.tables.table import Table, find_word, read_words
from isthmus.view.canvas import choose_colours

# Characters shown of a row's text, of the name of a row or class, and of a single cell.
EXCERPT, NAME, CELL = 140, 80, 24
# Columns shown of rows without text.
COLUMNS_SHOWN = 4
NO_CLASS = "no class"
# Classes with a name and colour of their own; the smaller ones are shown together.
MOST_CLASSES = 40


@dataclass(frozen=True, eq=False)
class ReportRows:
    """Rows of one domain with their names and labels.

    Parameters
    ----------
    domain : {"source", "target"}
        The domain.
    table : Table
        The cells.
    plan : Plan
        The types of the columns.
    ids : tuple of str
        The names of the rows.
    labels : tuple of str or None
        The classes, None where unknown.
    """

    domain: str
    table: Table
    plan: Plan
    ids: tuple[str, ...]
    labels: tuple[str | None, ...]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def file(self) -> str:
        """The name of the file without its folder, because a report may be passed on."""
        return Path(self.table.path).name

    def take(self, rows: IntArray) -> ReportRows:
        """Return some of the rows."""
        ids, labels = (tuple(values[i] for i in rows) for values in (self.ids, self.labels))
        return ReportRows(self.domain, self.table.take(rows), self.plan, ids, labels)

    def excerpts(self) -> list[str]:
        """Return a short text for each row: the start of its text, or its first columns."""
        texts = [c.name for c in self.plan.columns if c.kind == "text" and c.name in self.table.names]
        if texts:
            cells = [read_words(self.table, name) for name in texts]
            return [shorten(" · ".join(filter(None, row)), EXCERPT) for row in zip(*cells, strict=True)]
        plain = [c.name for c in self.plan.columns if c.kind in ("category", "number", "date")]
        names = [name for name in plain if name in self.table.names][:COLUMNS_SHOWN]
        cells = [[_shorten_cell(cell or "") for cell in read_words(self.table, name)] for name in names]
        rows = zip(*cells, strict=True) if names else [()] * len(self)
        named = ([f"{n} {cell}" for n, cell in zip(names, row, strict=True) if cell] for row in rows)
        return [shorten(", ".join(row), EXCERPT) for row in named]


@dataclass(frozen=True)
class Inputs:
    """The files of both domains, and the columns that name and label their rows where the plan has others."""

    source: Path | None = None
    target: Path | None = None
    id: Sequence[str] = ()
    label: str | None = None
    formats: tuple[Mapping[str, str | None], Mapping[str, str | None]] = ({}, {})

    def has_both(self, path: Path) -> bool:
        """Return whether both files are given; one without the other is refused."""
        if (self.source is None) != (self.target is None):
            missing = "--target" if self.target is None else "--source"
            raise InputError(f"{show_path(path)}: expected both --source and --target, or neither, got no {missing}.")
        return self.source is not None

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The given files, each read once."""
        given = zip(DOMAINS, (self.source, self.target), self.formats, strict=True)
        found = {name: read_table(path, **written) for name, path, written in given if path is not None}
        for column in filter(None, (*self.id, self.label)):
            if not any(column in table.names for table in found.values()):
                files = " and ".join(table.path for table in found.values())
                got = ", ".join(dict.fromkeys(name for table in found.values() for name in table.names))
                raise InputError(
                    f"{files}: expected a column {show_path(repr(column)[:60])}, got {show_path(got[:200])}."
                )
        return found

    def rows(self, domain: str, plan: Plan | None) -> ReportRows:
        """Return the rows of a given file, by a stored plan or one detected from its columns."""
        table = self.tables[domain]
        id = next((name for name in self.id if name in table.names), None)
        label = self.label if self.label in table.names else None
        plan = Plan.of(table, id=id, label=label) if plan is None else plan
        here = adapt_plan(plan, table, id, label)
        labels = [None] * table.n_rows if here.label is None else read_labels(table, here)
        return ReportRows(domain, table, here, read_ids(table, here), tuple(labels))


def adapt_plan(plan: Plan, table: Table, id: str | None, label: str | None) -> Plan:
    """Return the plan for a table that may lack the columns of names and labels, or have others for them."""
    if id is not None and id == label:
        raise InputError(f"report: expected different columns for --id and --label, got {id!r:.60} for both.")
    wanted = {"id": id or plan.id, "label": label or plan.label}
    roles = {name: kind for kind, name in wanted.items() if name is not None and name in table.names}
    kept = [column for column in plan.columns if column.kind not in wanted and column.name not in roles]
    return Plan((*kept, *(Column(name, kind) for name, kind in roles.items())))


def sample_rows(rows: ReportRows, most: int, first: IntArray | None = None) -> IntArray:
    """Draw at most ``most`` row numbers, sorted: up to half of them from ``first`` (the labelled rows by default).

    Examples
    --------
    >>> table = Table.of({"x": [0.5, 1.5, 2.5]})
    >>> rows = ReportRows("source", table, Plan.of(table), ("a", "b", "c"), ("u", None, None))
    >>> sample_rows(rows, 3), 0 in sample_rows(rows, 2)
    (array([0, 1, 2]), True)
    """
    if len(rows) <= most:
        return np.arange(len(rows))
    rng = np.random.default_rng(0)
    if first is None:
        first = np.array([i for i, label in enumerate(rows.labels) if label is not None], dtype=np.intp)
    chosen = rng.permutation(first)[: (most + 1) // 2]
    others = rng.permutation(np.setdiff1d(np.arange(len(rows)), chosen))[: most - len(chosen)]
    return np.sort(np.concatenate([chosen, others]))


def order_classes(names: Iterable[str]) -> list[str]:
    """Return the largest classes in alphabetic order, numbers by their size; "other classes", "no class" come last.

    Examples
    --------
    >>> order_classes(["digit 10", "no class", "digit 9", "cat"])
    ['cat', 'digit 9', 'digit 10', 'no class']
    """
    counts = Counter(names)
    without = counts.pop(NO_CLASS, 0)
    kept = [name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_CLASSES]]
    kept.sort(key=lambda name: [(len(p), p) if p.isdecimal() else (0, p) for p in re.split(r"([0-9]+)", name)])
    return kept + [OTHER_CLASSES] * (len(counts) > len(kept)) + [NO_CLASS] * bool(without)


def shorten(text: str, most: int = NAME) -> str:
    """Return a text on one line, shortened to ``most`` characters."""
    text = " ".join(text[: 20 * most].split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def find_rows(path: Path, rows: ReportRows, ids: Sequence[str | None]) -> IntArray:
    """Return the row numbers (m,) of the ids in a table of answers; an id that no row has is refused."""
    place = {name: i for i, name in enumerate(rows.ids)}
    found = np.array([-1 if id is None else find_word(id, place) for id in ids], dtype=np.intp)
    if (found < 0).any():
        name = show_path(repr(ids[int(np.argmax(found < 0))])[:60])
        raise InputError(
            f"{rows.table.path}: expected the rows that {show_path(path)} names, got none called {name}; "
            "--id says which column names the rows."
        )
    return found


def _shorten_cell(cell: str) -> str:
    try:
        return f"{float(cell):.4g}"
    except ValueError:
        return shorten(cell, CELL)


DOMAINS = "source", "target"
# Points drawn at most, of both domains together.
POINTS = 5_000
# Rows of a domain that the axes of a plane are computed from, and rows that are embedded at a time.
AXES_FROM, BLOCK = 500, 500
# Larger coordinates have no finite squares.
LARGEST = 1e100
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
