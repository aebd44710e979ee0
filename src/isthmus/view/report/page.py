"""The page: chapters rendered by the templates, and the points and figures that its script draws."""

from __future__ import annotations

import base64
import colorsys
import hashlib
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isthmus._core.files import as_path, show_path, write_whole
from isthmus._core.linalg import PrincipalAxes, principal_axes
from isthmus._core.validation import FloatArray, IntArray, Matrix
from isthmus._version import __version__
from isthmus.evidence.scores import OTHER_CLASSES
from isthmus.exceptions import InputError, MissingDependencyError
from isthmus.view.report.rows import CELL, NO_CLASS, ReportRows, shorten, order_classes

__all__ = ["render_report", "write_report"]


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
PLAIN = ("page.js", "page.css")
"""Files of the templates that are no templates."""
CONTROL = {code: "\N{REPLACEMENT CHARACTER}" for code in range(32) if chr(code) not in "\n\t"}


@dataclass(frozen=True)
class Chapter:
    """What the page says about one file.

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


def convergence_figure(gaps: FloatArray, seconds: FloatArray) -> Figure:
    """Return the curve of the relative gap by iteration, without gaps that are infinite or zero."""
    shown = np.flatnonzero(np.isfinite(gaps) & (gaps > 0.0) & np.isfinite(seconds))
    values = {"iteration": shown.tolist(), "gap": gaps[shown].tolist(), "seconds": seconds[shown].round(2).tolist()}
    return Figure("convergence", "Relative gap by iteration", values, 320)


def confusion_figure(confusion: IntArray, classes: Sequence[str]) -> Figure:
    """Return a confusion matrix (C, C): true classes down, predicted ones across."""
    values = {
        "counts": confusion.tolist(),
        "names": [shorten(name) for name in classes],
        "ticks": [shorten(name, CELL) for name in classes],
    }
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
        plain = [name for name in names if name not in (OTHER_CLASSES, NO_CLASS)]
        colours = [*_choose_colours(len(plain)), *[GREY] * (len(names) - len(plain))]
        rest = len(self.groups) - sum(counts[name] for name in names if name != OTHER_CLASSES)
        sizes = [rest if name == OTHER_CLASSES else counts[name] for name in names]
        return list(zip(names, sizes, colours, strict=True))

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
    """Return finite points, also of a model file from a stranger."""
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


def _choose_colours(count: int) -> list[str]:
    if count <= len(COLOURS):
        return list(COLOURS[:count])
    wheel = (colorsys.hls_to_rgb(i / count, 0.52, 0.55) for i in range(count))
    return ["#" + "".join(f"{round(255 * part):02x}" for part in rgb) for rgb in wheel]


class PageParts(defaultdict[str, list[Any]]):
    """Collects, while the chapters are rendered, the figures and clouds to draw and the sections for the menu."""

    def add(self, kind: str, value: Any) -> int:
        """Keep a value, and return its number among those of its kind."""
        self[kind].append(value)
        return len(self[kind]) - 1


def render_page(chapters: Sequence[Chapter], title: str = "isthmus report", script: str | None = None) -> str:
    """Return the page as text.

    Parameters
    ----------
    chapters : sequence of Chapter
        Its contents.
    title : str
        Its title.
    script : str, optional
        Another plotly.js than that of the Python package.

    Examples
    --------
    >>> text = render_page([], "An empty page", script="")
    >>> text.splitlines()[0], "<title>An empty page</title>" in text
    ('<!DOCTYPE html>', True)
    """
    environment, library = load_libraries()
    canvas, sources = PageParts(list), [environment.loader.get_source(environment, name)[0] for name in PLAIN]
    scripts = [library if script is None else script, sources[0]]
    # The chapters come first: they tell the page its menu and what there is to draw.
    bodies = [
        environment.get_template(f"{chapter.kind}.html.j2").render(chapter.values, canvas=canvas)
        for chapter in chapters
    ]
    return str(
        environment.get_template("page.html.j2").render(
            title=title,
            chapters=list(zip(chapters, bodies, strict=True)),
            canvas=canvas,
            scripts=scripts,
            hashes=[base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts],
            style=sources[1],
            version=__version__,
        )
    )


def load_libraries() -> tuple[Any, str]:
    """Return the Jinja2 environment of the templates, which escapes every value, and the text of plotly.js."""
    try:
        import jinja2
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        name = str(error.name).partition(".")[0]
        raise MissingDependencyError(
            f'Reports need {name}, which is not installed: pip install "isthmus[report]".'
        ) from None
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_clean,
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "allow_nan": False, "separators": (",", ":")}
    environment.filters |= {"count": lambda n: f"{n:,}", "cut": shorten, "percent": format_percent}
    return environment, str(get_plotlyjs())


def format_percent(share: float, digits: int = 0) -> str:
    """Return a share in per cent.

    Examples
    --------
    >>> format_percent(0.3), format_percent(0.9975, 1)
    ('30 %', '99.8 %')
    """
    return f"{100.0 * share:.{digits}f} %"


def _clean(value: Any) -> Any:
    """Replace characters that HTML has no place for; text that is markup has none."""
    return value.translate(CONTROL) if isinstance(value, str) and not hasattr(value, "__html__") else value


TITLE = "isthmus report"
Formats = tuple[Mapping[str, str | None], Mapping[str, str | None]]
ENDINGS = (".html", ".htm")
File = str | os.PathLike[str]


def render_report(
    files: Sequence[File],
    *,
    source: File | None = None,
    target: File | None = None,
    id: Sequence[str] = (),
    label: str | None = None,
    title: str = TITLE,
    formats: Formats = ({}, {}),
) -> str:
    """Return a report as text: one self-contained HTML page.

    Parameters
    ----------
    files : sequence of paths
        Models of ``isthmus fit``, tables of ``isthmus match`` and ``isthmus label``, verdicts of ``isthmus
        evaluate``: a chapter for each.
    source, target : path, optional
        The files of both domains, to show their rows.
    id : sequence of str
        Columns that name the rows; by default those that the command used.
    label : str, optional
        The column of classes; by default the one that the command used.
    title : str
        The title of the page.
    formats : pair of mappings
        ``sep`` and ``decimal`` of the source and the target file; detected where not given.
    """
    if isinstance(files, str | os.PathLike) or not len(files):
        raise InputError("files: expected a list of files, got none.")
    # Imported here: other commands write records, and need not wait for the rest.
    from isthmus.view.report.answers import read_chapter
    from isthmus.view.report.rows import Inputs

    _, script = load_libraries()  # a missing package is reported before anything is computed
    given = [None if path is None else as_path(path) for path in (source, target)]
    inputs = Inputs(given[0], given[1], tuple(id), label, formats)
    return render_page([read_chapter(as_path(path), inputs) for path in files], title, script)


def write_report(
    files: Sequence[File],
    output: File,
    *,
    source: File | None = None,
    target: File | None = None,
    id: Sequence[str] = (),
    label: str | None = None,
    title: str = TITLE,
    formats: Formats = ({}, {}),
) -> None:
    """Write the page of :func:`render_report` to a file, whole or not at all."""
    where = as_path(output)
    if where.suffix.lower() not in ENDINGS:
        raise InputError(f"{show_path(output)}: expected a name that ends in .html, for a page.")
    text = render_report(files, source=source, target=target, id=id, label=label, title=title, formats=formats)
    write_whole(where, text.encode("utf-8", "replace"))
