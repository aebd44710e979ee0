"""Columns that two tables share, found by their names or by their content.

Two tables of the same objects mostly have something in common: names, numbers, dates, words. :class:`SharedColumns`
holds the cells of both tables as cleaned text and says which columns mean the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from isthmus._core.validation import FloatArray, IntArray, ShortRepr, column_names, show_value
from isthmus.data.cells import choose_number_parser, clean_text
from isthmus.exceptions import InputError

AUTO = "auto"
# The least overlap of the word frequencies of two columns with different names that are taken to mean the same.
LEAST_OVERLAP = 0.2
# Consecutive numbers in fewer rows may be a chance.
FEWEST_ROWS = 4
# A number is one word, with its fraction.
WORD, FRACTION = re.compile(r"\d+(?:[.,]\d+)+|\w+"), re.compile(r"\d+[.,]\d+")
LETTER = re.compile(r"[^\W\d_]")
# Columns of other names: the least number of different words, of a column of numbers the least share of these.
FEWEST_WORDS, MOSTLY, LEAST_DIFFERENT = 3, 0.9, 0.5
# Measurements of other names: the least share of values that are close to one of the other column, at most this share
# of the distance to its neighbours (so is a sixth of unrelated ones); the fewest values, the most columns to compare.
LEAST_CLOSE, CLOSE, FEWEST_NUMBERS, MOST_NUMBERS = 0.5, 0.1, 50, 30
# Cells by which columns are looked through for numbers first.
PROBED = 200
Cells = tuple[str, ...]
ColumnPairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False, repr=False)
class SharedColumns(ShortRepr):
    """The cells of two tables as cleaned text, and the columns that mean the same.

    Parameters
    ----------
    source, target : mapping of str to tuple of str
        All columns of either table, of n and m cells; "" where a cell has no value.
    pairs : tuple of (str, str)
        A column of the source and one of the target that mean the same, for each shared column.
    whole_rows : bool
        Whether rows are compared by all their words, also where no columns are paired.

    Examples
    --------
    >>> columns = SharedColumns.of({"Name": ["Ann", "Bob"], "age": [31, 4]}, {"name": ["bob", None], "size": [1, 2]})
    >>> columns.pairs, columns.target["name"]
    ((('Name', 'name'),), ('bob', ''))
    """

    source: Mapping[str, Cells]
    target: Mapping[str, Cells]
    pairs: ColumnPairs
    whole_rows: bool = True

    @classmethod
    def of(cls, source: Any, target: Any, shared: Any = AUTO) -> SharedColumns:
        """Read two tables (data frames, or mappings of names to cells) and pair their columns.

        ``shared`` is "auto" (the same name, otherwise similar content, otherwise the words of whole rows) or a list
        of pairs of column names.
        """
        tables = read_columns(source), read_columns(target)
        if isinstance(shared, str):
            if shared != AUTO:
                raise InputError(f'shared: expected "auto" or pairs of column names, got {shared!r}.')
            pairs = pair_columns(*tables)
            return cls(*tables, pairs, bool(pairs) or all(map(_has_words, tables)))
        pairs = _check_column_pairs(shared, *tables)
        return cls(*tables, pairs, bool(pairs))

    def __bool__(self) -> bool:
        return bool(self.pairs) or self.whole_rows

    def describe_pairs(self) -> str:
        """Return the pairs of columns with the reasons for them.

        Examples
        --------
        >>> A, B = {"Title": ["a hat"], "maker": ["x y z"]}, {"title": ["b"], "brand": ["y x z"]}
        >>> SharedColumns.of(A, B).describe_pairs()
        'Title = title (same name), maker = brand (similar content)'
        """
        why = {True: "same name", False: "similar content"}
        if not self.pairs:
            return (
                "whole rows only (no columns of the same name or of similar content)" if self.whole_rows else "none"
            )
        return ", ".join(f"{a} = {b} ({why[plain_name(a) == plain_name(b)]})" for a, b in self.pairs)

    @property
    def n_source(self) -> int:
        """The number of rows of the source."""
        return len(next(iter(self.source.values()), ()))

    @property
    def n_target(self) -> int:
        """The number of rows of the target."""
        return len(next(iter(self.target.values()), ()))

    def join_rows(self) -> tuple[list[str], list[str]]:
        """Return the cells of each row of the source, and of the target, as one text."""
        source, target = (
            [" ".join(cells) for cells in zip(*table.values(), strict=True)] for table in (self.source, self.target)
        )
        return source, target

    def shuffle_words(self, rng: Generator) -> SharedColumns:
        """Return a control: the words of each column of the target, shuffled among its cells."""
        target = {}
        for name, cells in self.target.items():
            words = [word for cell in cells for word in cell.split()]
            shuffled = iter([words[k] for k in rng.permutation(len(words))])
            target[name] = tuple(" ".join(next(shuffled) for _ in cell.split()) for cell in cells)
        return SharedColumns(self.source, target, self.pairs)

    def among(self, rows: IntArray, columns: IntArray) -> SharedColumns:
        """Return some rows of the source and of the target."""
        source, target = (
            {name: tuple(cells[i] for i in places.tolist()) for name, cells in table.items()}
            for table, places in ((self.source, rows), (self.target, columns))
        )
        return SharedColumns(source, target, self.pairs)


def read_columns(table: Any) -> dict[str, Cells]:
    """Return the columns of a data frame, or of a mapping of names to cells, as cleaned text."""
    names = list(table) if isinstance(table, Mapping) else list(table.columns)
    return {str(name): tuple(map(clean_text, _list_cells(table[name]))) for name in names}


def _list_cells(column: Any) -> Sequence[Any]:
    # pandas has tolist, polars to_list, and both have cells of plain Python.
    read = getattr(column, "to_list", None) or getattr(column, "tolist", None)
    cells: Sequence[Any] = column if read is None else read()
    return cells


def pair_columns(source: Mapping[str, Cells], target: Mapping[str, Cells]) -> ColumnPairs:
    """Pair columns of the same name; of others, those whose words overlap or whose numbers are close.

    A pair of other names is the best one of at least one of its columns.
    """
    tables = [{plain_name(n): n for n, cells in t.items() if _says_something(cells)} for t in (source, target)]
    pairs = [(name, tables[1][plain]) for plain, name in tables[0].items() if plain in tables[1]]
    left, right = (
        {name: _word_shares(table[name]) for plain, name in ours.items() if plain not in theirs}
        for ours, theirs, table in ((tables[0], tables[1], source), (tables[1], tables[0], target))
    )
    overlaps = {(a, b): _overlap(p, q) for a, p in left.items() if p for b, q in right.items() if q}
    for pair, share in _compare_numbers({a: source[a] for a in left}, {b: target[b] for b in right}).items():
        overlaps[pair] = max(share, overlaps.get(pair, 0.0))
    best: dict[tuple[int, str], float] = {}
    for pair, value in overlaps.items():
        for place in enumerate(pair):
            best[place] = max(value, best.get(place, 0.0))
    enough = {pair: value for pair, value in overlaps.items() if value >= LEAST_OVERLAP}
    return (*pairs, *((a, b) for (a, b), value in enough.items() if value in (best[0, a], best[1, b])))


def plain_name(name: str) -> str:
    """Return a name by which columns of two tables are compared: letters and digits, in lower case.

    Examples
    --------
    >>> plain_name(" Given_Name")
    'givenname'
    """
    return re.sub(r"[\W_]+", "", clean_text(name)) or name


def _has_words(table: Mapping[str, Cells]) -> bool:
    """Return whether a column has different cells with letters for most rows."""
    with_letters = ([cell for cell in cells if LETTER.search(cell)] for cells in table.values())
    rows = len(next(iter(table.values()), ()))
    return any(2 * len({*cells}) > rows for cells in with_letters)


def _says_something(cells: Cells) -> bool:
    """Return whether cells have values, other than the numbers of the rows: these say nothing about the objects."""
    if not cells or not all(cell.isdecimal() for cell in cells) or len({*cells}) < len(cells):
        return any(cells)
    numbers = [int(cell) for cell in cells]
    return max(numbers) - min(numbers) != len(cells) - 1 or len(cells) < FEWEST_ROWS


def _word_shares(cells: Cells) -> dict[str, float]:
    """Return the word frequencies of a column; empty for a column that its words do not identify."""
    counts = Counter(word for cell in cells for word in WORD.findall(cell))
    total = max(1, counts.total())
    # Truth values, counts and measurements look alike whatever they mean; only numbers that name an object do not,
    # and these have no fraction: equal ones of few digits are frequent by chance.
    numeric = sum(n for word, n in counts.items() if word[0].isdecimal() and word[-1].isdecimal()) >= MOSTLY * total
    measured = 2 * sum(n for word, n in counts.items() if FRACTION.fullmatch(word)) > total
    if len(counts) < (LEAST_DIFFERENT * total if numeric else FEWEST_WORDS) or (numeric and measured):
        return {}
    return {word: n / total for word, n in counts.items()}


def _compare_numbers(*tables: Mapping[str, Cells]) -> dict[tuple[str, str], float]:
    """Return the shares of close values for the columns of two tables that measure the same; none of many columns."""
    # Some cells tell most other columns: to read all cells of wide tables would take minutes.
    some = [[n for n, c in t.items() if len(_different_numbers(c[:: len(c) // PROBED + 1]))] for t in tables]
    if max(map(len, some)) > MOST_NUMBERS or not all(some):
        return {}
    left, right = ({n: _different_numbers(t[n]) for n in names} for names, t in zip(some, tables, strict=True))
    enough = ((a, b) for a in left for b in right if min(len(left[a]), len(right[b])) >= FEWEST_NUMBERS)
    return {(a, b): share for a, b in enough if (share := _share_of_close(left[a], right[b])) >= LEAST_CLOSE}


def _different_numbers(cells: Cells) -> FloatArray:
    """Return the different numbers of a column in order; none where cells are no numbers, or some are equal."""
    parse, used = choose_number_parser(cells), [cell for cell in cells if cell]
    values = np.array([parse(cell) for cell in {*used}])
    values = np.unique(values[np.isfinite(values)])
    return values if len(values) >= MOSTLY * len(used) else np.empty(0)


def _share_of_close(x: FloatArray, y: FloatArray) -> float:
    """Return the share of values of the shorter column that are much closer to one of the other than its neighbours.

    Values of the same objects are, whatever their distribution.
    """
    few, many = sorted((x, y), key=len)
    gaps = np.diff(many, prepend=-np.inf, append=np.inf)
    room = np.minimum(gaps[:-1], gaps[1:])
    right = np.clip(np.searchsorted(many, few), 1, len(many) - 1)
    nearest = np.where(few - many[right - 1] <= many[right] - few, right - 1, right)
    return float(np.mean(np.abs(few - many[nearest]) <= CLOSE * room[nearest]))


def _overlap(p: Mapping[str, float], q: Mapping[str, float]) -> float:
    return sum(min(share, q[word]) for word, share in p.items() if word in q)


def _check_column_pairs(shared: Any, source: Mapping[str, Cells], target: Mapping[str, Cells]) -> ColumnPairs:
    expected = 'shared: expected "auto" or a list of pairs of column names'
    if not isinstance(shared, Sequence):
        raise InputError(f"{expected}, got {show_value(shared)}.")
    for pair in shared:
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise InputError(f"{expected}, got {show_value(pair)} in it.")
        for name, table, which in zip(pair, (source, target), ("first", "second"), strict=True):
            if name not in table:
                raise InputError(f"shared: expected columns of the {which} table, got {show_value(name)}.")
    return tuple((str(a), str(b)) for a, b in shared)


def find_common_columns(given: Any, X_source: Any, X_target: Any, name: str = "shared_columns") -> IntArray | None:
    """Return the columns of both domains that are the same (m, 2), or None where there are none.

    Parameters
    ----------
    given : sequence, optional
        Pairs of a source and a target column, by number or by name; or names that both have. None: columns of equal
        names, where both are data frames.
    X_source, X_target : array, sparse matrix or data frame
        As the user gave them.
    name : str
        The name of the argument in messages.
    """
    names = column_names(X_source), column_names(X_target)
    if given is None:
        ours, theirs = (list(each or ()) for each in names)
        found = [(ours.index(each), theirs.index(each)) for each in ours if each in set(theirs)]
        return np.array(found, dtype=np.intp) if found else None
    if isinstance(given, str) or not np.iterable(given):
        raise InputError(f"{name}: expected columns in a list, got {given!r:.60}.")
    pairs = [(each, each) if isinstance(each, str) else tuple(each) for each in given]
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise InputError(f"{name}: expected names, or pairs of columns, got {given!r:.60}.")
    sizes = np.shape(X_source)[1], np.shape(X_target)[1]
    return np.array(
        [[_check_column(c, names[k], sizes[k], name) for k, c in enumerate(p)] for p in pairs], dtype=np.intp
    )


def _check_column(column: Hashable, names: Sequence[str] | None, size: int, name: str) -> int:
    """Return the number of a column, given by name or number; raise if it does not exist."""
    if isinstance(column, str) and names is not None and column in names:
        return names.index(column)
    if isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < size:
        return int(column)
    raise InputError(f"{name}: expected columns that both domains have, got {column!r:.60}.")
