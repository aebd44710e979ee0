"""The tasks: two tables and the rows that are the same object, whole or spoilt in one way."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from isthmus._core.validation import FloatArray, IntArray, check_choice
from studies.datasets import load_mfeat
from studies.datasets.debian_texts import read_debian_texts
from studies.datasets.folder import check_file, data_folder
from studies.pairs.data import views

KNOWN = (0, 10, 30, 100)
"""How many pairs are known."""
DEBIAN_ROWS, VIEW_ROWS, SHARED_COLUMNS = 1000, 1000, 8
TYPOS, COPIES = 0.15, 0.2
"""The share of cells with a typo in dirty tables, and of the paired rows of A that occur twice in many-to-one."""
MISSING = ("", "n/a", "NULL", "-", "?")
CURRENCIES = ("${}", "{} USD", "USD {}", "{}")
Generator = np.random.Generator


@dataclass(frozen=True, eq=False)
class Task:
    """Two tables and the truth about them.

    Parameters
    ----------
    A, B : data frame of texts or array
        The rows of either side.
    truth : array (p, 2)
        The rows of A and of B that are the same object.
    columns : tuple of (str, str)
        The columns of A and of B that mean the same: linkers that can't find out are given these.
    shared : tuple of two arrays, optional
        Numeric columns that both sides have, where A and B are arrays.
    one_to_one : bool
        Whether every row has at most one partner; otherwise several rows of A may have the same.
    seed : int
        The draw.
    """

    A: Any
    B: Any
    truth: IntArray
    columns: tuple[tuple[str, str], ...] = ()
    shared: tuple[FloatArray, FloatArray] | None = None
    one_to_one: bool = True
    seed: int = 0

    def known_pairs(self, n: int) -> IntArray:
        """Return n true pairs, drawn by the seed; fewer are among more."""
        return np.random.default_rng([self.seed, 21]).permutation(self.truth)[:n]

    def allows(self, n: int) -> bool:
        """Return whether at least half of the true pairs are left to find where n are known."""
        return n == 0 or 2 * n <= len(self.truth)


@dataclass(frozen=True)
class TableSource:
    """A folder of a.csv, b.csv and truth.csv, and the columns that are dropped, shuffled, or hold prices."""

    folder: str
    dropped: str
    shuffled: str
    prices: tuple[str, ...] = ()


TABLES = {
    "Abt–Buy": TableSource("abtbuy", "description", "name", ("price",)),
    "DBLP–ACM": TableSource("dblpacm", "authors", "title"),
    "FEBRL": TableSource("febrl", "soc_sec_id", "soc_sec_id"),
}
OVERLAPS = {"full": 1.0, "60 %": 0.6, "30 %": 0.3, "10 %": 0.1, "no common row": 0.0}
"""The share of the true pairs that stay whole."""


def keep_share(task: Task, share: float, rng: Generator) -> Task:
    """Return the task with this share of its pairs: half of the others lose their row of A, half their row of B."""
    order = rng.permutation(len(task.truth))
    kept = int(share * len(order))
    half = (len(order) - kept) // 2
    lost_a = task.truth[order[kept : kept + half], 0]
    lost_b = task.truth[order[kept + half :], 1]
    rows_a = np.setdiff1d(np.arange(len(task.A)), lost_a)
    rows_b = np.setdiff1d(np.arange(len(task.B)), lost_b)
    return select_rows(task, rows_a, rows_b)


def select_rows(task: Task, rows_a: IntArray, rows_b: IntArray) -> Task:
    """Return the task with these rows, in this order, and the true pairs among them."""
    place_a, place_b = np.full(len(task.A), -1), np.full(len(task.B), -1)
    place_a[rows_a], place_b[rows_b] = np.arange(len(rows_a)), np.arange(len(rows_b))
    truth = np.stack([place_a[task.truth[:, 0]], place_b[task.truth[:, 1]]], axis=1)
    A, B = (table.iloc[rows].reset_index(drop=True) for table, rows in ((task.A, rows_a), (task.B, rows_b)))
    return replace(task, A=A, B=B, truth=truth[(truth >= 0).all(axis=1)])


def rename_columns(task: Task, source: TableSource, rng: Generator) -> Task:
    """Give the columns of B other names, and another order."""
    names = {name: f"field {k}" for k, name in enumerate(reversed(task.B.columns), start=1)}
    B = task.B[list(names)].rename(columns=names)
    return replace(task, B=B, columns=tuple((a, names[b]) for a, b in task.columns))


def drop_column(task: Task, source: TableSource, rng: Generator) -> Task:
    """Drop a column of B."""
    columns = tuple(pair for pair in task.columns if pair[1] != source.dropped)
    return replace(task, B=task.B.drop(columns=source.dropped), columns=columns)


def shuffle_column(task: Task, source: TableSource, rng: Generator) -> Task:
    """Shuffle a main column of B: its name promises evidence, and it has none."""
    cells = task.B[source.shuffled].to_numpy()
    return replace(task, B=task.B.assign(**{source.shuffled: rng.permutation(cells)}))


def encipher(task: Task, source: TableSource, rng: Generator) -> Task:
    """Write the letters of B in ROT13."""
    return replace(task, B=task.B.map(partial(codecs.encode, encoding="rot13")))


def make_dirty(task: Task, source: TableSource, rng: Generator) -> Task:
    """Add typos, currencies, words for missing cells, and spaces and capitals in the names of columns."""
    A, B = (_spoil_cells(table, source.prices, rng) for table in (task.A, task.B))
    names = {name: f" {name.upper()} " for name in B.columns}
    return replace(task, A=A, B=B.rename(columns=names), columns=tuple((a, names[b]) for a, b in task.columns))


def _spoil_cells(table: Any, prices: Sequence[str], rng: Generator) -> Any:
    spoilt = {name: [_spoil_cell(cell, name in prices, rng) for cell in table[name]] for name in table.columns}
    return pd.DataFrame(spoilt)


def _spoil_cell(cell: str, is_price: bool, rng: Generator) -> str:
    if not cell:
        return str(rng.choice(MISSING))
    if is_price:
        return str(rng.choice(CURRENCIES)).format(cell)
    return add_typo(cell, rng) if rng.random() < TYPOS else cell


def add_typo(text: str, rng: Generator) -> str:
    """Return a text with one character left out, doubled or swapped with the next; short ones as they are."""
    if len(text) < 4:
        return text
    k = int(rng.integers(1, len(text) - 1))
    return text[:k] + (text[k + 1 :], text[k] + text[k:], text[k + 1] + text[k] + text[k + 2 :])[rng.integers(3)]


def copy_rows(task: Task, source: TableSource, rng: Generator) -> Task:
    """Give some rows of A a copy with typos, which has the same partner in B."""
    copied = rng.permutation(task.truth)[: int(COPIES * len(task.truth))]
    rows = task.A.iloc[copied[:, 0]].map(lambda cell: add_typo(cell, rng))
    truth = np.stack([len(task.A) + np.arange(len(copied)), copied[:, 1]], axis=1)
    A = pd.concat([task.A, rows], ignore_index=True)
    return replace(task, A=A, truth=np.concatenate([task.truth, truth]), one_to_one=False)


CHANGES: dict[str, Callable[[Task, TableSource, Generator], Task]] = {
    "renamed": rename_columns,
    "dropped": drop_column,
    "shuffled": shuffle_column,
    "enciphered": encipher,
    "dirty": make_dirty,
    "many-to-one": copy_rows,
}
LANGUAGES = {"Debian en–fr": ("en", "fr"), "Debian en–de": ("en", "de"), "Debian fr–de": ("fr", "de")}
TEXTS = {"short texts": True, "full texts": False}
VIEWS = {"mfeat fac–kar": "mfeat fac–kar", "digits": "digits pixels–shape"}
"""As :mod:`studies.pairs` calls them; no shape feature of the digits is linear in the pixels."""
NOISES = {"noise 0.35": 0.35, "noise 0.5": 0.5, "noise 1": 1.0, "noise 2": 2.0}
"""The deviation of the noise that either side adds to a shared column, whose own deviation is one."""
VARIANTS = {
    **dict.fromkeys(TABLES, (*OVERLAPS, *CHANGES)),
    **dict.fromkeys(LANGUAGES, tuple(TEXTS)),
    **dict.fromkeys(VIEWS, tuple(NOISES)),
}
"""The variants of each data set."""


def draw_task(name: str, variant: str, seed: int, folder: Path | None = None) -> Task:
    """Return the task of a data set, a variant and a seed; its rows are in random order."""
    check_choice(variant, "variant", VARIANTS[check_choice(name, "task", VARIANTS)])
    if name in TABLES:
        return spoil_tables(read_tables(TABLES[name].folder, folder), TABLES[name], variant, seed)
    if name in LANGUAGES:
        return _draw_texts(LANGUAGES[name], TEXTS[variant], seed, folder)
    return _draw_views(name, NOISES[variant], seed, folder)


def spoil_tables(task: Task, source: TableSource, variant: str, seed: int) -> Task:
    """Return two tables in the way that a variant names."""
    rng = np.random.default_rng([seed, 11])
    task = keep_share(replace(task, seed=seed), OVERLAPS.get(variant, 1.0), rng)
    if variant in CHANGES:
        task = CHANGES[variant](task, source, rng)
    return select_rows(task, rng.permutation(len(task.A)), rng.permutation(len(task.B)))


@lru_cache(maxsize=3)
def read_tables(name: str, folder: Path | None = None) -> Task:
    """Read two tables and their true pairs; ids are no evidence, and are left out."""
    root = data_folder(folder) / "record_linkage" / name
    paths = [check_file(root / f"{file}.csv", name, "a table with a header") for file in ("a", "b", "truth")]
    (ids_a, A), (ids_b, B), (first, second) = _read_table(paths[0]), _read_table(paths[1]), _read_table(paths[2])
    places = {key: i for i, key in enumerate(ids_a)}, {key: i for i, key in enumerate(ids_b)}
    truth = np.array([(places[0][a], places[1][b]) for a, b in zip(first, second.iloc[:, 0], strict=True)])
    return Task(A, B, truth, tuple((column, column) for column in A.columns))


def _read_table(path: Path) -> tuple[list[str], Any]:
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = ([cell.strip() for cell in row] for row in csv.reader(file, skipinitialspace=True))
    return [row[0] for row in rows], pd.DataFrame([row[1:] for row in rows], columns=head[1:])


def _draw_texts(languages: tuple[str, str], short: bool, seed: int, folder: Path | None) -> Task:
    """Draw packages that are described in both languages."""
    texts = [_read_texts(language, short, folder) for language in languages]
    both = sorted(texts[0].keys() & texts[1].keys())
    rng = np.random.default_rng([seed, 12])
    drawn = [both[k] for k in rng.permutation(len(both))[:DEBIAN_ROWS]]
    A, B = (pd.DataFrame({"description": [table[name] for name in drawn]}) for table in texts)
    truth = np.repeat(np.arange(len(drawn)), 2).reshape(-1, 2)
    task = Task(A, B, truth, (("description", "description"),), seed=seed)
    return select_rows(task, np.arange(len(drawn)), rng.permutation(len(drawn)))


@lru_cache(maxsize=6)
def _read_texts(language: str, short: bool, folder: Path | None) -> dict[str, str]:
    found = read_debian_texts(folder, language, short=short)
    return dict(zip(found.packages, found.texts, strict=True))


def _draw_views(name: str, noise: float, seed: int, folder: Path | None) -> Task:
    """Draw objects by two views, and eight columns that either side measures with noise of its own."""
    both = views(VIEWS[name], folder)
    rng = np.random.default_rng([seed, 13])
    rows = rng.permutation(len(both.y))[:VIEW_ROWS]
    order = rng.permutation(len(rows))
    X, Y = np.asarray(both.A), np.asarray(both.B)
    if name == "digits":  # eight pixels are measured by both sides, and are no other feature of A
        best = np.argsort(-X.std(axis=0))[:SHARED_COLUMNS]
        columns, X = X[:, best], np.delete(X, best, axis=1)
    else:
        columns = np.asarray(load_mfeat(folder)["zer47"].X)[:, :SHARED_COLUMNS]
    columns = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    S, T = (columns[rows] + noise * rng.normal(size=(len(rows), SHARED_COLUMNS)) for _ in range(2))
    truth = np.stack([order, np.arange(len(order))], axis=1)
    return Task(X[rows], Y[rows][order], truth, shared=(S, T[order]), seed=seed)
