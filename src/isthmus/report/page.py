"""The page: one file of HTML with its style, its scripts and its data, that asks no network for anything."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from isthmus._version import __version__
from isthmus.exceptions import MissingDependencyError
from isthmus.report.cloud import NO_CLASS, Cloud
from isthmus.report.figures import Figure
from isthmus.report.html import Markup, data_block, element, joined
from isthmus.report.parts import Chapter, Part
from isthmus.report.rows import cut


def plotly_script() -> str:
    """The text of plotly.js, which the Python package brings."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise MissingDependencyError(
            'Reports need plotly, which is not installed: pip install "isthmus[report]".'
        ) from None
    return str(get_plotlyjs())


@dataclass
class Canvas:
    """What the script of the page draws, collected while the page is written."""

    figures: list[dict[str, Any]] = field(default_factory=list)
    clouds: list[dict[str, Any]] = field(default_factory=list)

    def place(self, part: Part) -> Markup:
        """The HTML of a part; what is drawn there is kept."""
        if isinstance(part, Figure):
            self.figures.append({"data": part.data, "layout": part.layout})
            return _frame(part.name, part.height, figure=len(self.figures) - 1)
        if isinstance(part, Cloud):
            self.clouds.append(part.to_json())
            return _cloud(part, len(self.clouds) - 1)
        return part


def page(chapters: Sequence[Chapter], title: str = "isthmus report", script: str | None = None) -> str:
    """The whole page.

    Parameters
    ----------
    chapters : sequence of Chapter
        What it tells.
    title : str
        Its title.
    script : str, optional
        Another plotly.js than that of the Python package.

    Examples
    --------
    >>> text = page([Chapter("verdict", "verdict.json", "The source helps.", ())], script="")
    >>> text.splitlines()[0], "The source helps." in text
    ('<!DOCTYPE html>', True)
    """
    canvas = Canvas()
    body = joined(_chapter(chapter, i, canvas) for i, chapter in enumerate(chapters))
    own = files("isthmus.report")
    scripts = [plotly_script() if script is None else script, own.joinpath("page.js").read_text(encoding="utf-8")]
    style = own.joinpath("page.css").read_text(encoding="utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(scripts)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        Markup(f"<style>{style}</style>"),
    )
    top = element(
        "header",
        element("h1", title),
        element("button", "Dark", type="button", id="theme", aria_label="light or dark"),
    )
    below = element(
        "footer", f"Written by isthmus {__version__}. Everything is in this file; it asks no network for anything."
    )
    without = element("noscript", element("p", "Figures need JavaScript; all else is here.", class_="mind"))
    data = data_block({"figures": canvas.figures, "clouds": canvas.clouds}, "data")
    run = joined(Markup(f"<script>{text}</script>") for text in scripts)
    whole = element("body", top, without, _contents(chapters), element("main", body), below, data, run)
    return f'<!DOCTYPE html>\n<html lang="en">{head}{whole}</html>\n'


def _policy(scripts: Sequence[str]) -> str:
    """Only the page's own scripts run, by their hashes; nothing is fetched. plotly sets styles of elements."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "form-action 'none'; base-uri 'none'"
    )


def _contents(chapters: Sequence[Chapter]) -> Markup:
    links = [
        element("a", section.title, href=f"#s{i}-{j}")
        for i, chapter in enumerate(chapters)
        for j, section in enumerate(chapter.sections)
        if section.title
    ]
    return element("nav", *links)


def _chapter(chapter: Chapter, i: int, canvas: Canvas) -> Markup:
    inner = [
        element(
            "section",
            *([element("h2", section.title)] if section.title else []),
            *(canvas.place(part) for part in section.parts),
            id=f"s{i}-{j}",
        )
        for j, section in enumerate(chapter.sections)
    ]
    kind = element("p", chapter.kind, " ", element("code", chapter.file), class_="kind")
    return element(
        "article",
        kind,
        element("p", chapter.sentence[:1].upper() + chapter.sentence[1:], class_="sentence"),
        *inner,
        class_=chapter.kind,
    )


def _frame(name: str, height: int, **data: Any) -> Markup:
    given = {f"data_{key}": value for key, value in data.items()}
    return element("div", class_="figure", role="group", aria_label=name, style=f"--height:{height}px", **given)


def _cloud(cloud: Cloud, number: int) -> Markup:
    names = ("source", "target")
    domains = [
        _chip(f"{name}: {rows.file}", len(rows), "domain", k, _colour(k) if cloud.by_domain else None)
        for k, (name, rows) in enumerate(zip(names, cloud.rows, strict=True))
    ]
    groups = [
        _chip(name, n, "group", k, None if cloud.by_domain else colour)
        for k, ((name, n), colour) in enumerate(zip(cloud.names(), cloud.colours(), strict=True))
    ]
    several = [element("button", text, type="button", data_all=on) for text, on in (("all", 1), ("none", 0))]
    what = "rows" if cloud.by_domain else "classes"
    filters = [_filter("collections", domains)]
    if len(groups) > 1:
        filters.append(_filter(what, [*groups, *several]))
    before = [
        _frame(f"The {name} along its own principal axes", 340, plane="before", domain=k)
        for k, name in enumerate(names)
    ]
    drawn = [element("p", " ".join(_explained(cloud)), class_="note"), *filters]
    if cloud.after is not None:
        drawn += [_frame("Both collections in the common space", 540, plane="after"),
                  element("h3", "Before: each collection along its own principal axes")]  # fmt: skip
    return element("div", *drawn, element("div", *before, class_="beside"), class_="cloud", data_cloud=number)


def _explained(cloud: Cloud) -> Iterator[str]:
    if sum(cloud.totals) > sum(cloud.sizes):
        shown, every = cloud.sizes, cloud.totals
        yield f"A sample: {shown[0]:,} of {every[0]:,} source rows and {shown[1]:,} of {every[1]:,} target rows."
    yield "A dot is a source row, a triangle a target row."
    if cloud.by_domain:
        if cloud.links:
            yield f"Lines join {len(cloud.links):,} of the matches."
    else:
        if not all(cloud.known):
            yield "A hollow mark is a row without a label."
            if cloud.after is not None or any(
                g != NO_CLASS for g, k in zip(cloud.groups, cloud.known, strict=True) if not k
            ):
                yield "Its colour is the class that it was given, if it was given one."
    yield "Point at a mark, or touch it, to see its row; drag to zoom, click twice to go back."


def _filter(name: str, chips: Sequence[Markup]) -> Markup:
    return element("fieldset", element("legend", name), *chips)


def _chip(name: str, n: int, kind: str, place: int, colour: str | None) -> Markup:
    box = element("input", type="checkbox", checked=True, **{f"data_{kind}": place})
    dot = [] if colour is None else [element("i", style=f"background:{colour}")]
    return element("label", box, *dot, element("span", cut(name)), element("small", f"{n:,}"))


def _colour(domain: int) -> str:
    return ("var(--first)", "var(--second)")[domain]
