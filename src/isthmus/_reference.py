"""The reference: one page that comes with the package, made from the docstrings by ``examples/reference.py``."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).with_name("reference.html")
NAME = re.compile(r'<section id="([\w.]+)"')
INHERITED = re.compile(r'data-name="([\w.]+)" href="#([\w.]+)"')


def reference_uri() -> str:
    """The address of the page as a file; empty where the package is not in files.

    Examples
    --------
    >>> reference_uri().endswith("isthmus/reference.html")
    True
    """
    return PAGE.as_uri() if PAGE.is_file() else ""


def reference_names() -> list[str]:
    """The names that the page has an anchor for.

    Examples
    --------
    >>> {"MLHD", "match", "MappedEstimator.transform"} <= set(reference_names())
    True
    """
    return NAME.findall(PAGE.read_text(encoding="utf-8"))


def reference_places() -> dict[str, str]:
    """The anchor that tells of each name: of an inherited method, that of the class which it comes from.

    Examples
    --------
    >>> places = reference_places()
    >>> places["MLHD"], places["MLHD.update"]
    ('MLHD', 'LogDetEstimator.update')
    """
    page = PAGE.read_text(encoding="utf-8")
    return dict(INHERITED.findall(page)) | {name: name for name in NAME.findall(page)}
