"""The formats that tables are written in: those of any table, and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable

from isthmus.study.board import TextTable

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "→": r"$\to$",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "†": r"$^\dagger$",
    "λ1": r"$\lambda_1$",
    "λ2": r"$\lambda_2$",
    "²": "$^2$",
    "<": "$<$",
    ">": "$>$",
}
_SPECIAL = re.compile("|".join(map(re.escape, _LATEX)))


def latex(table: TextTable) -> str:
    r"""For LaTeX: a floating table that needs no package.

    Examples
    --------
    >>> latex(TextTable("Scores", ("pair", "λ1"), (("a → b", "50 %"),))).splitlines()[7]
    'a $\\to$ b & 50 \\% \\\\'
    """
    cut = len(table.rows) - table.footer
    body = [_ampersands(row) for row in table.rows]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{' '.join(map(_escape, (table.title + '.', *table.notes)))}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(table.head) - 1)}}}",
        *(r"\hline", _ampersands(table.head), r"\hline", *body[:cut]),
        *((r"\hline", *body[cut:]) if table.footer else ()),
        *(r"\hline", r"\end{tabular}", r"\end{table}"),
    ]
    return "\n".join(lines)


def _ampersands(row: tuple[str, ...]) -> str:
    return " & ".join(map(_escape, row)) + r" \\"


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda match: _LATEX[match.group()], text)


FORMATS: dict[str, tuple[str, Callable[[TextTable], str]]] = {
    "text": (".txt", str),
    "markdown": (".md", lambda table: table.markdown),
    "latex": (".tex", latex),
}
"""By name: the ending of the file, and what prints a table."""
