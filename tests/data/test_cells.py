"""Cells as people write them: numbers and dates read back, and nothing else is one."""

import math
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.data.cells import MONTH_NAMES, choose_number_parser, clean_text, parse_date, parse_number

MONEY = st.integers(0, 10**9).map(lambda cents: cents / 100)
FRAMES = ["{}", "${}", "{} €", "EUR {}", "{} gbp", "US$ {}", "-{}", "{} kg", "{} km/h", "{}%", "{} m²", "£ -{}"]


@given(value=MONEY, frame=st.sampled_from(FRAMES), thousands=st.sampled_from(["", ",", "'", " ", "\u202f", "’"]))
def test_a_number_reads_back_in_any_dress(value, frame, thousands):
    text = clean_text(frame.format(f"{value:,.2f}".replace(",", thousands)))
    assert parse_number(text) == parse_number(text, ",") == (-value if "-" in frame else value)


@given(value=MONEY, frame=st.sampled_from(FRAMES), thousands=st.sampled_from(["", ".", " ", "'"]))
def test_a_decimal_comma_before_other_than_three_digits_has_one_meaning(value, frame, thousands):
    text = f"{value:,.2f}".replace(",", "_").replace(".", ",").replace("_", thousands)
    assert abs(parse_number(clean_text(frame.format(text)))) == value


@given(value=st.integers(1000, 999_999))
def test_the_decimal_mark_of_the_file_decides_what_can_be_both(value):
    for mark, other in ((",", "."), (".", ",")):
        text = f"{value:,}".replace(",", mark)
        assert parse_number(text, other) == value
        assert parse_number(text, mark) == value / 1000


@given(text=st.text(max_size=30) | st.text("0123456789.,' -+e$€%/kgm", max_size=20))
def test_any_text_is_a_finite_value_or_none(text):
    for value in (parse_number(clean_text(text)), parse_number(text, ","), parse_date(clean_text(text))):
        assert math.isfinite(value) or math.isnan(value)


@pytest.mark.parametrize(
    "text", ["", "b12", "3x2", "10-20", "1/2", "1.2.3", "1,23,4", "8 stanley street", "$", "inf", "nan", "12 and 13"]
)
def test_texts_are_no_numbers(text):
    assert math.isnan(parse_number(clean_text(text)))


@given(day=st.dates(date(1900, 1, 1), date(2099, 12, 31)))
def test_a_date_reads_back_in_any_form(day):
    month = MONTH_NAMES[day.month - 1]
    forms = [
        day.isoformat(),
        f"{day:%d/%m/%Y}",
        f"{day.day}.{day.month}.{day.year}",
        f"{month.title()} {day.day}, {day.year}",
        f"{day.day} {month[:3].upper()} {day.year}",
        f"{day.day}-{month[:3]}-{day.year}",
        f"{day:%Y%m%d}",
        f"{day.isoformat()}T00:00:00Z",
    ]
    expected = (day - date(1970, 1, 1)).days
    assert [parse_date(clean_text(form)) for form in forms] == [expected] * len(forms)
    assert parse_date(f"{day.isoformat()} 18:00") == expected + 0.75


@pytest.mark.parametrize(
    "text", ["2024-02-30", "05/31/2024", "31/05/24", "31 mayor 2024", "20241301", "2024-05-31 x"]
)
def test_what_is_no_day_is_no_date(text):
    assert math.isnan(parse_date(text))


@given(kilograms=st.lists(st.integers(1, 10**6), min_size=5, max_size=20, unique=True))
def test_units_of_one_dimension_are_converted(kilograms):
    mixed = [f"{value} kg" if k % 2 else f"{1000 * value} g" for k, value in enumerate(kilograms)]
    parse = choose_number_parser(mixed)
    assert [parse(cell) for cell in mixed] == pytest.approx(kilograms)
    # A number without unit is in the commonest one, and words that are no units of one dimension change nothing.
    assert choose_number_parser(["5 kg", "6 kg", "7 g"])("8") == 8.0
    assert choose_number_parser(["5 a", "6 b", "7 kg"])("7 kg") == 7.0
