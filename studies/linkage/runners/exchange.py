"""The folder that a runner reads its task from and writes its answers to; needs the standard library only.

``task.json`` has the columns that mean the same, whether matches are one to one, the seed, lists of known pairs, and
a limit of processor time; ``a.csv`` and ``b.csv`` have the rows. The answers in ``answers.json`` are pairs of row
numbers with scores, one answer for each list of known pairs, and the processor time of each; ``memory`` is the most
that the process held.
"""

from __future__ import annotations

import csv
import json
import resource
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

Row = dict[str, "str | None"]
Scored = list[tuple[int, int, float]]
LONG_TEXT = 30
"""The median number of characters from which cells are taken to be text, not names."""


@dataclass(frozen=True)
class Given:
    """A task as a runner sees it.

    Parameters
    ----------
    folder : Path
        The files.
    columns : list of (str, str)
        The columns of A and of B that mean the same.
    one_to_one : bool
        Whether a row has at most one partner.
    seed : int
        For linkers that draw numbers.
    known : list of (int, int)
        The known pairs.
    """

    folder: Path
    columns: list[tuple[str, str]]
    one_to_one: bool
    seed: int
    known: list[tuple[int, int]]

    def read_rows(self) -> tuple[list[Row], list[Row]]:
        """Return the shared columns of either table in lower case under plain common names, None where empty."""
        names = [f"c{k}" for k in range(len(self.columns))]
        tables = []
        for side, file in enumerate(("a.csv", "b.csv")):
            with (self.folder / file).open(newline="", encoding="utf-8") as handle:
                rows = list(csv.DictReader(handle))
            columns = [pair[side] for pair in self.columns]
            tables.append([{n: row[c].strip().lower() or None for n, c in zip(names, columns)} for row in rows])  # noqa: B905
        return tables[0], tables[1]


def median_length(rows: Sequence[Row], name: str) -> float:
    """Return the median number of characters of the cells of a column that are not empty."""
    return median([len(cell) for row in rows if (cell := row[name])] or [0])


def count_distinct(rows: Sequence[Row], name: str) -> int:
    """Return how many values a column has."""
    return len({row[name] for row in rows} - {None})


def choose_best_first(scored: Iterable[tuple[int, int, float]], one_to_one: bool) -> Scored:
    """Return the pairs that a walk from the best one on leaves: rows of A once, rows of B too if one to one."""
    seen_a: set[int] = set()
    seen_b: set[int] = set()
    kept = []
    for i, j, score in sorted(scored, key=lambda pair: -pair[2]):
        if i not in seen_a and not (one_to_one and j in seen_b):
            kept.append((i, j, score))
            seen_a.add(i)
            seen_b.add(j)
    return kept


def serve(link: Callable[[Given], dict[str, Any]]) -> None:
    """Answer for every list of known pairs."""
    folder = Path(sys.argv[1])
    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    if limit := task.get("limit"):  # of processor time, so that a busy machine stops nobody
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    columns = [(a, b) for a, b in task["columns"]]
    answers = []
    for pairs in task["known"]:
        before = _processor_seconds()
        known = [(i, j) for i, j in pairs]
        answer = link(Given(folder, columns, task["one_to_one"], task["seed"], known))
        answers.append(answer | {"seconds": _processor_seconds() - before})
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    memory = peak * (1 if sys.platform == "darwin" else 1024)
    (folder / "answers.json").write_text(json.dumps({"answers": answers, "memory": memory}), encoding="utf-8")


def _processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
