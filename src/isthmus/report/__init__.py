"""Reports: what a model, matches, labels or a verdict say, as one page of HTML (extra ``report``).

``isthmus report`` on the command line; in Python, :func:`write_report`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from isthmus.exceptions import InputError
from isthmus.report.request import Request
from isthmus.storage.files import as_path, shown, write_whole

__all__ = ["Request", "report_page", "write_report"]

TITLE = "isthmus report"
ENDINGS = (".html", ".htm")


def report_page(things: Sequence[str | os.PathLike[str]], request: Request | None = None, title: str = TITLE) -> str:
    """A report as text: one page of HTML, with everything in it.

    Parameters
    ----------
    things : sequence of paths
        Models of ``isthmus fit``, tables of ``isthmus match`` and ``isthmus label``, verdicts of ``isthmus
        evaluate``: a chapter for each.
    request : Request, optional
        The files of both domains, for pictures and texts of their rows.
    title : str
        Of the page.
    """
    if isinstance(things, str | os.PathLike) or not len(things):
        raise InputError("things: expected a list of files, got none.")
    # Here: other commands import a part of this package only, and should not wait for all of it.
    from isthmus.report.page import page, plotly_script
    from isthmus.report.recognised import chapter

    script = plotly_script()  # first: nothing is computed for a page that can't be written
    asked = Request() if request is None else request
    return page([chapter(as_path(path), asked) for path in things], title, script)


def write_report(
    things: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    request: Request | None = None,
    title: str = TITLE,
) -> None:
    """Write the page of :func:`report_page` to a file, whole or not at all."""
    where = as_path(output)
    if where.suffix.lower() not in ENDINGS:
        raise InputError(f"{shown(output)}: expected a name that ends in .html, for a page.")
    write_whole(where, report_page(things, request, title).encode("utf-8", "replace"))
