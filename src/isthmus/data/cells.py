"""Cells of tables as text, numbers and dates: what is missing, and what a number looks like when people write it."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable
from datetime import date
from functools import partial
from typing import Any

# Words that people write into cells without a value, in lower case.
MISSING = frozenset(
    ("", "nan", "null", "none", "nil", "n/a", "na", "n.a.", "#n/a", "<na>", "(null)", "-", "--", "---", "–", "—", "?")
) | {"\\n"}
SIGNS = "$€£¥₹₩₽₺₪₫฿¢"
CODES = "usd|eur|gbp|chf|jpy|cny|inr|aud|cad|nzd|sek|nok|dkk|pln|czk|huf|rub|try|brl|mxn|zar|krw|sgd|hkd|ils|rs|fr|kr"
# Letters after a number that may be its unit; longer words make it a text.
LONGEST_UNIT = 6
UNIT = rf"[-. ]{{0,2}}(?:[a-zµμω°%‰\"'″′/^{SIGNS}]{{1,{LONGEST_UNIT}}}|[a-z]?m[23])\.?"
NUMBER = re.compile(
    rf"(?P<sign>[-+−]?) ?(?:(?:[a-z]{{0,2}}[{SIGNS}]|(?:{CODES})\b\.?) ?(?P<inner>[-+−]?))?"
    rf"(?P<digits>[.,]?\d(?:[\d., '’]*\d)?)(?P<power>e[-+]?\d+)?[.,]?(?P<unit>{UNIT}|[.,]?[-–]+)?$"
)
# Digits in groups of three, and a fraction behind another mark; and digits with a fraction alone.
GROUPED = re.compile(r"(\d{1,3})([., '’])\d{3}(?:\2\d{3})*(?:(?!\2)[.,](?P<fraction>\d+))?$")
FRACTION = re.compile(r"(\d*)[.,](\d+)$")


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


def parse_number(text: str, decimal: str = ".") -> float:
    """Return the number in a cleaned cell, with or without unit, currency and thousands; NaN where there is none.

    Thousands are separated by comma, point, blank or apostrophe. Where one comma or point before three digits may be
    either, as in 1,234, ``decimal`` says which is the decimal mark.

    Examples
    --------
    >>> parse_number("69.71 gbp"), parse_number("$1,299"), parse_number("12 %"), parse_number("8-port switch 10")
    (69.71, 1299.0, 12.0, nan)
    >>> parse_number("1.299,50 €"), parse_number("1,5"), parse_number("1,234"), parse_number("1,234", ",")
    (1299.5, 1.5, 1234.0, 1.234)
    """
    if text.isdecimal():
        return _finite(text)
    found = NUMBER.match(text)
    digits = None if found is None else _read_digits(found["digits"], decimal)
    if found is None or digits is None:
        return math.nan
    sign = "-" if {found["sign"], found["inner"]} & {"-", "−"} else ""
    return _finite(f"{sign}{digits}{found['power'] or ''}")


def _read_digits(text: str, decimal: str) -> str | None:
    """Return digits with a point as the decimal mark and no thousands; None where the marks make no sense."""
    if text.isdecimal():
        return text
    grouped = GROUPED.match(text)
    if grouped is not None:
        first, mark = grouped[1], grouped[2]
        one = grouped["fraction"] is None and len(text) == len(first) + 4 and mark in ".,"
        if not one or (mark != decimal and first != "0"):
            whole = text.removesuffix(grouped["fraction"] or "")
            return re.sub(r"\D", "", whole) + f".{grouped['fraction'] or 0}"
    found = FRACTION.match(text)
    return None if found is None else f"{found[1]}.{found[2]}"


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else math.nan


MONTH_NAMES = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
               "november", "december")  # fmt: skip
MONTHS = {part: i for i, name in enumerate(MONTH_NAMES, start=1) for part in (name, name[:3])}
MONTHS |= {"sept": 9, "januar": 1, "februar": 2, "marz": 3, "mrz": 3, "mai": 5, "juni": 6, "juli": 7, "oktober": 10,
           "okt": 10, "dezember": 12, "dez": 12}  # fmt: skip
CLOCK = (
    r"(?:(?:t|,? )(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d(?:\.\d+)?))?(?: ?(?:z|[-+]\d\d:?\d\d))?)?$"
)
# Where all parts are numbers, and the year is last, the day comes first unless a caller says otherwise.
DATES = tuple(
    re.compile(form + CLOCK)
    for form in (
        r"(?P<y>\d{4})(?P<mark>[-/.])(?P<m>\d{1,2})(?P=mark)(?P<d>\d{1,2})",
        r"(?P<d>\d{1,2})(?P<mark>[-/.])(?P<m>\d{1,2})(?P=mark)(?P<y>\d{4})",
        r"(?P<y>(?:19|20)\d\d)(?P<m>\d\d)(?P<d>\d\d)",
        r"(?P<d>\d{1,2})(?:st|nd|rd|th|\.)?[ -](?P<m>[a-z]{3,9})\.?,?[ -](?P<y>\d{4})",
        r"(?P<m>[a-z]{3,9})\.? (?P<d>\d{1,2})(?:st|nd|rd|th)?,? (?P<y>\d{4})",
    )
)
NUMERIC_DATE = re.compile(r"\d{1,2}([-/.])\d{1,2}\1\d{4}")
EPOCH = date(1970, 1, 1).toordinal()
SECONDS = 86_400


def choose_date_parser(cells: Iterable[str]) -> Callable[[str], float]:
    """Return :func:`parse_date` for the cells of one column, with the month first if that reads more of them.

    Examples
    --------
    >>> parse = choose_date_parser(["02/01/1970", "01/31/1970"])
    >>> parse("02/01/1970"), parse("01/31/1970")
    (31.0, 30.0)
    """
    months_first = partial(parse_date, month_first=True)
    different = {cell for cell in cells if NUMERIC_DATE.match(cell)}
    read = [sum(not math.isnan(parse(cell)) for cell in different) for parse in (parse_date, months_first)]
    return months_first if read[1] > read[0] else parse_date


def parse_date(text: str, month_first: bool = False) -> float:
    """Return a date, with or without a time, as days since 1970-01-01; NaN where there is none.

    Eight digits such as 20240531 are a date, too: some numbers look so, but no whole column of numbers does.

    Examples
    --------
    >>> parse_date("1970-01-31"), parse_date("31/01/1970"), parse_date("jan 31, 1970"), parse_date("19700131")
    (30.0, 30.0, 30.0, 30.0)
    >>> parse_date("1970/02/01 12:00"), parse_date("31 potatoes"), parse_date("31/31/1970")
    (31.5, nan, nan)
    """
    found = next((match for form in DATES if (match := form.match(text))), None)
    if found is None:
        return math.nan
    month, day = int(found["m"]) if found["m"].isdecimal() else MONTHS.get(found["m"], 0), int(found["d"])
    if month_first and NUMERIC_DATE.match(text):
        month, day = day, month
    hour, minute, second = (float(found[part] or 0) for part in ("hour", "minute", "second"))
    if hour >= 24 or minute >= 60 or second >= 60:
        return math.nan
    try:
        days = date(int(found["y"]), month, day).toordinal() - EPOCH
    except ValueError:
        return math.nan
    return (days * SECONDS + hour * 3600 + minute * 60 + second) / SECONDS
