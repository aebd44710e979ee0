"""Reports: a model, matches, labels or a verdict as one HTML page (extra ``report``).

``isthmus report`` on the command line; in Python, :func:`write_report`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from isthmus._core.files import as_path, show_path, write_whole
from isthmus.exceptions import InputError

__all__ = ["render_report", "write_report"]


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
    from isthmus.view.report.page import load_libraries, render_page
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
