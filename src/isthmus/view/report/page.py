"""A report: one self-contained HTML page with a chapter for each file, rendered by Jinja2 templates.

:func:`render_report` reads the files, :func:`render_page` renders chapters, :func:`write_report` writes the page.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from isthmus._core.files import as_path, show_path, write_whole
from isthmus._version import __version__
from isthmus.exceptions import InputError, import_extra
from isthmus.view.report.chapters import Chapter, read_chapter
from isthmus.view.report.contents import Inputs, shorten

TITLE = "isthmus report"
# Files of the templates that are no templates.
PLAIN = ("page.js", "page.css")
CONTROL = {code: "\N{REPLACEMENT CHARACTER}" for code in range(32) if chr(code) not in "\n\t"}
File = str | os.PathLike[str]
Formats = tuple[Mapping[str, str | None], Mapping[str, str | None]]


class PageParts(defaultdict[str, list[Any]]):
    """Collects, while the chapters are rendered, the figures and clouds to draw and the sections for the menu."""

    def add(self, kind: str, value: Any) -> int:
        """Keep a value, and return its number among those of its kind."""
        self[kind].append(value)
        return len(self[kind]) - 1


def render_page(chapters: Sequence[Chapter], title: str = TITLE, script: str | None = None) -> str:
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
    templates = (environment.get_template(f"{chapter.kind}.html.j2") for chapter in chapters)
    bodies = [each.render(chapter.values, canvas=canvas) for each, chapter in zip(templates, chapters, strict=True)]
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
    jinja2 = import_extra("jinja2", "report", "Reports need")
    get_plotlyjs = import_extra("plotly.offline", "report", "Reports need").get_plotlyjs
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
    environment.filters |= {"count": lambda n: f"{n:,}", "shorten": shorten, "percent": format_percent}
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


def render_report(
    files: Sequence[File],
    *,
    source: File | None = None,
    target: File | None = None,
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
    title : str
        The title of the page.
    formats : pair of mappings
        ``sep`` and ``decimal`` of the source and the target file; detected where not given.
    """
    if isinstance(files, str | os.PathLike) or not len(files):
        raise InputError("files: expected a list of files, got none.")
    _, script = load_libraries()  # a missing package is reported before anything is computed
    given = [None if path is None else as_path(path) for path in (source, target)]
    inputs = Inputs(given[0], given[1], formats)
    return render_page([read_chapter(as_path(path), inputs) for path in files], title, script)


def write_report(files: Sequence[File], output: File, **options: Any) -> None:
    """Write the page of :func:`render_report`, which has the same options, to a file, whole or not at all."""
    where = as_path(output)
    if where.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{show_path(output)}: expected a name that ends in .html, for a page.")
    write_whole(where, render_report(files, **options).encode("utf-8", "replace"))
