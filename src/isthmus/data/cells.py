"""Cells of tables as text, numbers and dates: what is missing, and what a number looks like when people write it."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import date
from functools import partial
from typing import Any

# Words that people write into cells without a value, in lower case.
MISSING = frozenset((
    "", "nan", "null", "none", "nil", "n/a", "na", "n.a.", "n.a", "#n/a", "<na>", "(null)", "-", "--", "---", "–",
    "—", "?", "\\n", "unknown", "tbd", "tba", "tbc", "missing", "unspecified", "undefined", "not available",
    "not applicable", "n/d",
))  # fmt: skip
SIGNS = "$€£¥₹₩₽₺₪₫฿¢"
CODES = "usd|eur|gbp|chf|jpy|cny|inr|aud|cad|nzd|sek|nok|dkk|pln|czk|huf|rub|try|brl|mxn|zar|krw|sgd|hkd|ils|rs|fr|kr"
# Letters after a number that may be its unit; longer words make it a text.
LONGEST_UNIT = 6
# The share of the units of a column that have to be of one dimension to be converted.
MOSTLY = 0.8
# Units of one dimension, by how many of the first unit they are; a number without unit is one of the commonest unit.
DIMENSIONS: tuple[dict[str, float], ...] = (
    {"kg": 1.0, "g": 1e-3, "mg": 1e-6, "t": 1e3, "lb": 0.45359237, "lbs": 0.45359237, "oz": 0.028349523125},
    {"m": 1.0, "km": 1e3, "cm": 1e-2, "mm": 1e-3, "ft": 0.3048, "yd": 0.9144, "mi": 1609.344, "miles": 1609.344,
     **dict.fromkeys(("in", "inch", "inches", '"', "″", "''"), 0.0254)},
    {"gb": 1.0, "tb": 1e3, "mb": 1e-3, "kb": 1e-6},
    {"l": 1.0, "dl": 0.1, "cl": 1e-2, "ml": 1e-3},
    {**dict.fromkeys(("days", "day", "d"), 1.0), **dict.fromkeys(("weeks", "week"), 7.0),
     **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 1 / 24), **dict.fromkeys(("min", "mins"), 1 / 1440),
     **dict.fromkeys(("s", "sec", "secs"), 1 / 86_400)},
    {"ghz": 1.0, "mhz": 1e-3, "khz": 1e-6, "hz": 1e-9},
    {"w": 1.0, "kw": 1e3},
    {"%": 1.0, "‰": 0.1},
    {"": 1.0, "k": 1e3, "thousand": 1e3, "m": 1e6, "mn": 1e6, "mio": 1e6, "million": 1e6, "bn": 1e9, "billion": 1e9},
)  # fmt: skip
# An ambiguous unit, m, is of the first dimension unless other cells of its column decide.
FACTORS = {unit: factor for units in reversed(DIMENSIONS) for unit, factor in units.items()}
UNIT = rf"[-. ]{{0,2}}(?:[a-zµμω°%‰\"'″′/^{SIGNS}]{{1,{LONGEST_UNIT}}}|[a-z]?m[23]|thousand|[mb]illion)\.?"
NUMBER = re.compile(
    rf"(?P<sign>[-+−]?) ?(?:(?:[a-z]{{0,2}}[{SIGNS}]|(?:{CODES})\b\.?) ?(?P<inner>[-+−]?))?"
    rf"(?P<digits>[.,]?\d(?:[\d., '’]*\d)?)(?P<power>e[-+]?\d+)?[.,]?(?P<unit>{UNIT}|[.,]?[-–]+)?$"
)
# Digits in groups of three, and a fraction behind another mark; and digits with a fraction alone.
GROUPED = re.compile(r"(\d{1,3})([., '’])\d{3}(?:\2\d{3})*(?:(?!\2)[.,](?P<fraction>\d+))?$")
FRACTION = re.compile(r"(\d*)[.,](\d+)$")
# What Python reads as it stands, many times faster.
PLAIN = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


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
    either, as in 1,234, ``decimal`` says which is the decimal mark. Units in :data:`DIMENSIONS` are converted to the
    first of their dimension.

    Examples
    --------
    >>> parse_number("69.71 gbp"), parse_number("$1,299"), parse_number("12 %"), parse_number("8-port switch 10")
    (69.71, 1299.0, 12.0, nan)
    >>> parse_number("1.299,50 €"), parse_number("1,5"), parse_number("1,234"), parse_number("1,234", ",")
    (1299.5, 1.5, 1234.0, 1.234)
    >>> parse_number("1.5 kg"), parse_number("1500 g"), parse_number("2.5k"), parse_number("512 mb")
    (1.5, 1.5, 2500.0, 0.512)
    """
    number, unit = split_unit(text, decimal)
    return _finite(number * FACTORS.get(unit, 1.0))


def choose_number_parser(cells: Iterable[str]) -> Callable[[str], float]:
    """Return a parser of the numbers of a column; units are converted if most of them are of one dimension.

    Numbers without unit are read in the commonest unit, and m is a million next to numbers with k.

    Examples
    --------
    >>> parse = choose_number_parser(["500 g", "250 g", "1 kg"])
    >>> parse("500 g"), parse("500"), parse("0.5 kg"), choose_number_parser(["12a", "7k"])("7k")
    (0.5, 0.5, 0.5, 7.0)
    """
    counts = Counter(split_unit(cell)[1] for cell in {*cells})
    del counts[""]
    best = max(DIMENSIONS, key=lambda units: sum(counts[unit] for unit in units))
    if sum(counts[unit] for unit in best) < MOSTLY * counts.total():
        best = {}
    commonest = max(best, key=lambda unit: counts[unit], default="")
    factors = {"": best.get(commonest, 1.0)} | best

    def parse(text: str) -> float:
        number, unit = split_unit(text)
        return _finite(number * factors.get(unit, 1.0))

    return parse


def split_unit(text: str, decimal: str = ".") -> tuple[float, str]:
    """Return the number in a cleaned cell as it is written, NaN where there is none, and its unit or ""."""
    if text.isdecimal() or (decimal == "." and PLAIN.fullmatch(text)):
        return float(text), ""
    found = NUMBER.match(text)
    digits = None if found is None else _read_digits(found["digits"], decimal)
    if found is None or digits is None:
        return math.nan, ""
    sign = "-" if {found["sign"], found["inner"]} & {"-", "−"} else ""
    return float(f"{sign}{digits}{found['power'] or ''}"), (found["unit"] or "").strip(f"-–. {SIGNS}")


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


def _finite(value: float) -> float:
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
