"""HTML by small pieces: text is escaped unless it is markup already."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from typing import Any

VOID = {"br", "input", "meta"}
"""Elements without an end."""


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: Any) -> Markup:
    """An element; children that are no markup are escaped, and so are all values of attributes.

    A trailing underscore is taken off the name of an attribute, one within becomes a hyphen; True is an attribute
    without a value, None and False are none.

    Examples
    --------
    >>> element("p", "a < b", element("br"), class_="note", data_row=3)
    '<p class="note" data-row="3">a &lt; b<br></p>'
    """
    given = "".join(
        f" {name.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{html.escape(_plain(value))}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    inner = joined(children)
    return Markup(f"<{tag}{given}>" if tag in VOID else f"<{tag}{given}>{inner}</{tag}>")


def joined(children: Iterable[str]) -> Markup:
    """Pieces one after the other, as markup."""
    return Markup("".join(child if isinstance(child, Markup) else html.escape(_plain(child)) for child in children))


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, kind: str = "", numbers: Sequence[int] = ()
) -> Markup:
    """A table; on a narrow screen each row is a card whose cells have the names of their columns.

    Parameters
    ----------
    head : sequence of str
        The names of the columns.
    rows : iterable of sequences of str
        The cells.
    kind : str
        A class of the style sheet.
    numbers : sequence of int
        Columns that hold numbers.
    """

    def cells(tag: str, row: Sequence[str]) -> list[Markup]:
        return [
            element(tag, cell, class_="number" if j in numbers else None, data_name=head[j] if tag == "td" else None)
            for j, cell in enumerate(row)
        ]

    top = element("thead", element("tr", *cells("th", head)))
    body = element("tbody", *(element("tr", *cells("td", row)) for row in rows))
    return element("div", element("table", top, body, class_=kind or None), class_="scroll")


def words(text: str) -> Markup:
    """A text of our own, in which names of commands stand between backticks.

    Examples
    --------
    >>> words("See `isthmus fit`.")
    'See <code>isthmus fit</code>.'
    """
    return joined(element("code", part) if i % 2 else part for i, part in enumerate(text.split("`")))


def find() -> Markup:
    """Where one can look for rows of the table below it."""
    return element(
        "input", type="search", class_="find", placeholder="find in this table", aria_label="find in this table"
    )


def facts(pairs: Iterable[tuple[str, str]]) -> Markup:
    """Names and what they are."""
    return element("dl", *(joined([element("dt", name), element("dd", value)]) for name, value in pairs))


def data_block(value: Any, name: str) -> Markup:
    r"""A value for a script to read: JSON that can't end the element it stands in.

    Examples
    --------
    >>> print(data_block({"x": "</script>"}, "data"))
    <script type="application/json" id="data">{"x":"\u003c/script>"}</script>
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return Markup(f'<script type="application/json" id="{html.escape(name)}">{text}</script>')


def _plain(text: Any) -> str:
    """Text without characters that HTML has no place for."""
    return "".join(c if c.isprintable() or c in "\n\t" else "�" if ord(c) < 32 else c for c in str(text))


def thousands(value: object) -> str:
    """A whole number with commas; anything else as it is.

    Examples
    --------
    >>> thousands(12345), thousands(None)
    ('12,345', 'None')
    """
    return f"{value:,}" if type(value) is int else str(value)
