"""Cells of tables as text, numbers and dates: what is missing, and what a number looks like when people write it."""

from __future__ import annotations

import math
import re
import unicodedata
from datetime import date
from typing import Any

# Words that people write into cells without a value, in lower case.
MISSING = frozenset({"", "nan", "null", "none", "n/a", "na", "-", "?", "\\n"})
ISO_DATE = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[t ].*)?$")
NUMBER = re.compile(r"[-+]?(?:\d[\d ,']*)?\.?\d+(?:e[-+]?\d+)?")
# Letters next to a number that may be its unit or currency; longer words make it a text.
LONGEST_UNIT = 6
EPOCH = date(1970, 1, 1).toordinal()


def clean_text(cell: Any) -> str:
    """Return a cell in lower case, without accents and repeated blanks; "" where it has no value.

    Examples
    --------
    >>> clean_text("  Crème  Brûlée "), clean_text("N/A"), clean_text(None), clean_text(float("nan")), clean_text(2.0)
    ('creme brulee', '', '', '', '2')
    """
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return ""
    # "2.0" is what other programs make of a whole number in a column with empty cells.
    text = f"{cell:.0f}" if isinstance(cell, float) and cell.is_integer() else str(cell)
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    text = " ".join(text.lower().split())
    return "" if text in MISSING else text


def parse_number(text: str) -> float:
    """Return the number in a cleaned cell, with or without unit, currency and thousands; NaN where there is none.

    Examples
    --------
    >>> parse_number("69.71 gbp"), parse_number("$1,299"), parse_number("12 %"), parse_number("8-port switch 10")
    (69.71, 1299.0, 12.0, nan)
    """
    found = NUMBER.findall(text)
    if len(found) != 1 or sum(c.isalpha() for c in text.replace(found[0], "")) > LONGEST_UNIT:
        return math.nan
    try:
        return float(re.sub("[ ,']", "", found[0]))
    except ValueError:
        return math.nan


def parse_date(text: str) -> float:
    """Return the day of a date as days since 1970-01-01; NaN where there is none.

    Examples
    --------
    >>> parse_date("1970-01-31"), parse_date("1970/02/01 10:30"), parse_date("31 potatoes")
    (30.0, 31.0, nan)
    """
    found = ISO_DATE.match(text)
    if found is None:
        return math.nan
    try:
        return float(date(*map(int, found.groups()[:3])).toordinal() - EPOCH)
    except ValueError:
        return math.nan
