"""Known duplicates: copies with noise within a table, both tables of a linkage task as one, and clusters of two."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from isthmus import dedupe, find_clusters, match
from isthmus._core.validation import IntArray
from isthmus.study.records import VERSIONS, Record
from isthmus.tasks.matching.clusters import Clusters
from studies.linkage.tasks import TABLES, Task, add_typo, draw_task, read_tables, select_rows

EXPERIMENT = "duplicates"
ROWS, COPIED, MOST_COPIES = 600, 0.2, 3
"""Rows of a table, the share of them that is copied, and copies of a row at most."""
MOST_PAIRS = 2500
"""True pairs of two tables whose clusters are found."""
TYPOS, EMPTY = 0.3, 0.1
"""Of the cells of a copy: the share with a typo, and the share that is emptied."""
WITHIN = ("copies", "no copies", "both tables, all paired", "both tables, a third paired")
BETWEEN = "many-to-one"
VERDICTS = {1.0: "yes", 0.0: "no", -1.0: "doubtful"}
MARKS = "<!-- made by studies.review duplicates -->", "<!-- end -->"


def draw_table(name: str, variant: str, seed: int, folder: Path | None) -> tuple[Any, IntArray]:
    """Return a table in random order, and the number of the object of each row."""
    rng, task = np.random.default_rng([seed, 41]), read_tables(TABLES[name].folder, folder)
    if variant in WITHIN[:2]:
        rows = task.A.iloc[rng.permutation(len(task.A))[:ROWS]].reset_index(drop=True)
        copied = rng.permutation(len(rows))[: int(COPIED * len(rows)) * (variant == WITHIN[0])]
        places = np.repeat(copied, rng.integers(1, MOST_COPIES + 1, len(copied)))
        table = pd.concat([rows, rows.iloc[places].map(lambda cell: _spoil(cell, rng))], ignore_index=True)
        objects = np.r_[np.arange(len(rows)), places]
    else:
        paired = task.truth[rng.permutation(len(task.truth))[:ROWS]]
        # Of the others only one row stays, of either table in turn: it has no duplicate.
        several = np.arange(len(paired)) < (len(paired) // 3 if variant == WITHIN[3] else len(paired))
        first, second = (paired[several | (np.arange(len(paired)) % 2 == k), k] for k in (0, 1))
        place = {(k, row): i for i, pair in enumerate(paired.tolist()) for k, row in enumerate(pair)}
        table = pd.concat([task.A.iloc[first], task.B.iloc[second]], ignore_index=True)
        objects = np.array([place[0, row] for row in first.tolist()] + [place[1, row] for row in second.tolist()])
    order = rng.permutation(len(table))
    return table.iloc[order].reset_index(drop=True), objects[order]


def _spoil(cell: str, rng: np.random.Generator) -> str:
    chance = rng.random()
    return "" if chance < EMPTY else add_typo(cell, rng) if chance < EMPTY + TYPOS else cell


def list_pairs(labels: IntArray) -> set[tuple[int, int]]:
    """Return all pairs of rows with the same label.

    Examples
    --------
    >>> sorted(list_pairs(np.array([5, 7, 5, 5])))
    [(0, 2), (0, 3), (2, 3)]
    """
    order = np.argsort(labels, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    return {pair for group in groups for pair in combinations(np.sort(group).tolist(), 2)}


def score_clusters(found: Clusters, objects: IntArray) -> dict[str, float]:
    """Return precision and recall of the pairs within clusters; precision is missing where there are none."""
    claims, truth = list_pairs(found.labels), list_pairs(objects)
    right = len(claims & truth)
    shares = {"precision": (right, len(claims)), "recall": (right, len(truth))}
    figures = {name: round(hits / n, 5) for name, (hits, n) in shares.items() if n}
    return figures | {"verdict": -1.0 if found.ok is None else float(found.ok)}


def take_pairs(task: Task, n: int) -> Task:
    """Return a task with the rows of n true pairs, where it has more."""
    rows = [np.unique(column) for column in task.truth[:n].T]
    return select_rows(task, rows[0], rows[1]) if len(task.truth) > n else task


def run_missing(name: str, seed: int, kept: set[Any], data: Path | None) -> Iterator[list[Record]]:
    """Run the variants of a table that have no records, and yield these."""
    for variant in (*WITHIN, BETWEEN) if name in TABLES else ():
        key = EXPERIMENT, name, variant, seed, "clusters", "keep all"
        if key in kept:
            continue
        start = time.process_time()
        if variant == BETWEEN:
            task = take_pairs(draw_task(name, variant, seed, data), MOST_PAIRS)
            found = find_clusters(match(task.A, task.B, one_to_one=False, random_state=seed, n_jobs=1))
            objects = np.r_[np.arange(len(task.A)), len(task.A) + np.arange(len(task.B))]
            for i, j in task.truth.tolist():
                objects[i] = objects[len(task.A) + j]
        else:
            table, objects = draw_table(name, variant, seed, data)
            found = dedupe(table, keep="all", random_state=seed)
        seconds = round(time.process_time() - start, 2)
        figures = score_clusters(found, objects)
        yield [Record(*key, {}, None, seconds, "done", None, VERSIONS, figures=figures)]


def write_table(records: Sequence[Record]) -> str:
    """Return the table of the page: means over the seeds, and the verdict of each."""
    rows = []
    for name in TABLES:
        for variant in (*WITHIN, BETWEEN):
            some = sorted((r for r in records if (r.group, r.variant) == (name, variant)), key=lambda r: r.seed)
            figures = [r.figures or {} for r in some]
            if not figures:
                continue
            cells = []
            for share in ("precision", "recall"):
                values = [f[share] for f in figures if share in f]
                cells.append(f"{np.mean(values):.3f}" if values else "–")
            rows.append([name, variant, ", ".join(VERDICTS[f["verdict"]] for f in figures), *cells])
    head = ["table", "rows", "duplicates? (by seed)", "precision", "recall"]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def replace_table(page: str, table: str) -> str:
    """Return a page with another table between its marks."""
    before, _, rest = page.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    return f"{before}{MARKS[0]}\n{table}\n{MARKS[1]}{after}"
