"""Pairs of data frames with other objects, and pairs of which rows are the same objects."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.random import Generator

from studies.linkage.tasks import TABLES, add_typo, read_tables
from studies.linkage.unrelated_tables import NOBODY, Draw, Tables

SYLLABLES = [consonant + vowel for consonant in "bdfghklmnprstvz" for vowel in "aeiou"]
SIZES = 25, 50, 100, 200
Words: TypeAlias = np.ndarray[Any, np.dtype[np.str_]]
MakeFrame: TypeAlias = Callable[[Generator, int, Words], pd.DataFrame]


def make_words(rng: Generator, n: int = 500) -> Words:
    """Return made words of two or three syllables."""
    return np.array(["".join(rng.choice(SYLLABLES, rng.integers(2, 4))) for _ in range(n)])


def _draw(rng: Generator, words: Words, n: int) -> Words:
    """Draw words by Zipf's law."""
    shares = 1.0 / np.arange(1, len(words) + 1)
    return rng.choice(words, n, p=shares / shares.sum())


def _phrases(rng: Generator, words: Words, n: int, length: int) -> list[str]:
    return [" ".join(_draw(rng, words, length)) for _ in range(n)]


def _days(rng: Generator, n: int, first: int, last: int) -> list[str]:
    parts = rng.integers(first, last, n), rng.integers(1, 13, n), rng.integers(1, 29, n)
    return [f"{year}-{month:02}-{day:02}" for year, month, day in zip(*parts, strict=True)]


def persons(rng: Generator, n: int, words: Words) -> pd.DataFrame:
    """Draw names, addresses and dates of birth."""
    return pd.DataFrame(
        {
            "given": _draw(rng, words[:200], n),
            "surname": _draw(rng, words[200:], n),
            "street": [f"{name} street {rng.integers(1, 200)}" for name in _draw(rng, words[100:250], n)],
            "town": _draw(rng, words[:40], n),
            "born": _days(rng, n, 1930, 2005),
        }
    )


def products(rng: Generator, n: int, words: Words) -> pd.DataFrame:
    """Draw brands with words, model numbers and prices."""
    models = [f"{rng.choice(list('ABCDEFG'))}{rng.integers(10, 999)}" for _ in range(n)]
    names = zip(_draw(rng, words[:15], n), _phrases(rng, words[15:], n, 4), models, strict=True)
    return pd.DataFrame({"name": [" ".join(parts) for parts in names], "price": rng.lognormal(3, 1, n).round(2)})


def records(rng: Generator, n: int, words: Words) -> pd.DataFrame:
    """Draw titles, years, categories and counts."""
    columns = {
        "year": rng.integers(1990, 2024, n),
        "kind": rng.choice(list("abc"), n),
        "pages": rng.integers(1, 500, n),
    }
    return pd.DataFrame({"title": _phrases(rng, words, n, 5), **columns})


def names(rng: Generator, n: int, words: Words) -> pd.DataFrame:
    """Draw names of two words."""
    return pd.DataFrame({"name": _phrases(rng, words[:300], n, 2)})


def texts(rng: Generator, n: int, words: Words) -> pd.DataFrame:
    """Draw texts of twenty words."""
    return pd.DataFrame({"text": _phrases(rng, words, n, 20)})


def rare_words(rng: Generator, n: int, words: Words) -> pd.DataFrame:
    """Draw texts of eight words that are equally frequent."""
    return pd.DataFrame({"text": [" ".join(rng.choice(words, 8)) for _ in range(n)]})


def categories(rng: Generator, n: int, words: Words) -> pd.DataFrame:
    """Draw few levels: most rows occur several times."""
    return pd.DataFrame({name: rng.choice(words[:k], n) for name, k in (("colour", 4), ("size", 3), ("country", 6))})


def numbers(rng: Generator, n: int, words: Words) -> pd.DataFrame:
    """Draw numbers of few digits."""
    columns = {"height": rng.normal(170, 10, n).round(1), "weight": rng.normal(70, 12, n).round(1)}
    return pd.DataFrame({**columns, "age": rng.integers(18, 90, n)})


def bookings(rng: Generator, n: int, words: Words) -> pd.DataFrame:
    """Draw days of one year and amounts."""
    return pd.DataFrame({"when": _days(rng, n, 2023, 2024), "amount": rng.lognormal(3, 1, n).round(2)})


def codes(rng: Generator, n: int, words: Words) -> pd.DataFrame:
    """Draw codes that look like ids."""
    made = [f"{rng.choice(list('ABC'))}{rng.integers(100, 999)}-{rng.integers(10, 99)}" for _ in range(n)]
    return pd.DataFrame({"sku": made, "quantity": rng.integers(1, 50, n)})


def variants(rng: Generator, n: int, words: Words) -> pd.DataFrame:
    """Draw texts of which ten rows each are alike."""
    base = np.array(_phrases(rng, words, max(3, n // 10), 15))
    return pd.DataFrame({"text": [f"{text} {' '.join(_draw(rng, words, 2))}" for text in rng.choice(base, n)]})


def _apart(make: MakeFrame, n: int, m: int) -> Draw:
    """Return a draw of two frames from the same words."""

    def draw(rng: Generator, folder: Path | None) -> Tables:
        words = make_words(rng)
        return Tables(make(rng, n, words), make(rng, m, words), NOBODY)

    return draw


def _renamed(make: MakeFrame, n: int) -> Draw:
    """Return a draw of two frames from the same words, whose columns have other names."""

    def draw(rng: Generator, folder: Path | None) -> Tables:
        words = make_words(rng)
        B = make(rng, n, words)
        return Tables(make(rng, n, words), B.rename(columns={name: f"other {name}" for name in B}), NOBODY)

    return draw


def _halves(rng: Generator, folder: Path | None, name: str, n: int) -> Tables:
    """Draw disjoint rows of one table of record linkage."""
    A = read_tables(TABLES[name].folder, folder).A
    order = rng.permutation(len(A))
    first, second = (A.iloc[rows].reset_index(drop=True) for rows in (order[:n], order[n : 2 * n]))
    return Tables(first, second, NOBODY)


def _others(rng: Generator, folder: Path | None, name: str, n: int) -> Tables:
    """Draw rows of both tables of record linkage, none of which has its partner among the others."""
    task = read_tables(TABLES[name].folder, folder)
    order = rng.permutation(len(task.truth))
    rows = task.truth[order[:n], 0], np.setdiff1d(task.truth[order[n : 2 * n], 1], task.truth[order[:n], 1])
    first, second = (
        table.iloc[some].reset_index(drop=True) for table, some in zip((task.A, task.B), rows, strict=True)
    )
    return Tables(first, second, NOBODY)


def _copied(rng: Generator, folder: Path | None, make: MakeFrame, n: int, share: float) -> Tables:
    """Draw a frame and a copy in another order, of which a share of the rows is the same object, with typos."""
    words = make_words(rng)
    A, B = make(rng, n, words).astype(str), make(rng, n, words).astype(str)
    common = int(share * n)
    B.iloc[:common] = A.iloc[:common].map(lambda cell: add_typo(cell, rng) if rng.random() < 0.2 else cell)
    order = rng.permutation(n)
    partner = np.where(np.arange(n) < common, np.argsort(order), -1)
    return Tables(A, B.iloc[order].reset_index(drop=True), partner)


MADE: dict[str, MakeFrame] = {
    "persons": persons, "products": products, "titles and years": records, "names": names, "texts": texts,
    "texts of rare words": rare_words, "categories": categories, "numbers": numbers, "bookings": bookings,
    "codes": codes, "variants of few texts": variants,
}  # fmt: skip
UNRELATED_FRAMES: dict[str, Draw] = {
    **{f"same columns: {name}, {n} rows": _apart(make, n, n) for name, make in MADE.items() for n in SIZES},
    "same columns: persons, 40 and 400 rows": _apart(persons, 40, 400),
    "same columns: products, 30 and 300 rows": _apart(products, 30, 300),
    **{
        f"other columns: {name}, {n} rows": _renamed(MADE[name], n)
        for name in ("persons", "titles and years", "names", "texts", "texts of rare words")
        for n in (50, 200)
    },
    **{
        f"{name}, {words}, {n} rows": partial(draw, name=name, n=n)
        for name in TABLES
        for words, draw in (("halves of one table", _halves), ("other objects", _others))
        for n in (25, 60, 150, 400)
    },
}
"""By name, two frames without a common object; most have the same columns."""
PARTNERED_FRAMES: dict[str, Draw] = {
    f"copies of {name}, {n} rows, {share:.0%}": partial(_copied, make=MADE[name], n=n, share=share)
    for name in ("persons", "products", "texts")
    for n in (25, 50, 100, 300)
    for share in (1.0, 0.5)
}
"""By name, two frames of which rows are the same objects."""
