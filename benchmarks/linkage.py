"""``python -m benchmarks.linkage``: matching tables by their columns, from a thousand rows to a million; resumable.

Each size is a process of its own, so that its peak memory is its own. Each run adds a line to
``benchmarks/linkage.jsonl``, of which ``benchmarks/LINKAGE.md`` is made. ``--rows N`` runs one size.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import lines, machine, threads

RECORDS, PAGE = Path(__file__).with_name("linkage.jsonl"), Path(__file__).with_name("LINKAGE.md")
SIZES = 1_000, 5_000, 20_000, 100_000, 1_000_000
BARS = {1_000: 3.0, 20_000: 120.0}
"""Processor seconds that a size may take."""
FIGURES = "f1", "precision", "claimed"
SHARED = 0.75
"""The share of the persons of one table that the other has too."""
SYLLABLES = ("ba", "ke", "lo", "mi", "nu", "ra", "so", "ti", "vu", "ze", "pa", "do", "fen", "gri", "hal", "jor")


def main() -> int:
    """Run what is missing, write the page; exit status 1 if a bar is not cleared."""
    parser = argparse.ArgumentParser("python -m benchmarks.linkage", description=__doc__)
    parser.add_argument("--rows", type=int, metavar="N", help="measure this size, and print it")
    parser.add_argument("--most", type=int, default=SIZES[-1], metavar="N", help="the largest size (%(default)s)")
    options = parser.parse_args()
    if options.rows is not None:
        print(json.dumps(measure(options.rows)))
        return 0
    done = {record["rows"] for record in lines.read(RECORDS)}
    for n in (n for n in SIZES if n not in done and n <= options.most):
        print("…", f"{n:,} rows", file=sys.stderr, flush=True)
        lines.add(RECORDS, lines.run_module("benchmarks.linkage", "--rows", n))
    found = sorted(lines.read(RECORDS), key=lambda record: record["rows"])
    PAGE.write_text(render(found), encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))
    return int(any(record["seconds"] > BARS.get(record["rows"], np.inf) for record in found))


def measure(n: int) -> dict[str, Any]:
    """Match two tables of n persons each, and choose the next question for a review, in one thread."""
    threads.pin()
    import pandas as pd

    from isthmus import match, next_questions

    A, B, truth = make_persons(n)
    tables = pd.DataFrame(A), pd.DataFrame(B)
    before, start = _peak(), time.process_time()
    found = match(*tables)
    seconds, start = time.process_time() - start, time.process_time()
    next_questions(found, 1)
    question = time.process_time() - start
    right = int((truth[found.pairs[:, 0]] == found.pairs[:, 1]).sum())
    f1 = 2 * right / max(1, len(found) + int((truth >= 0).sum()))
    claimed = float(found.confidence.mean()) if len(found) else 0.0
    precision = right / max(1, len(found))
    figures = {"f1": round(f1, 4), "precision": round(precision, 4), "claimed": round(claimed, 4)}
    sizes = {"seconds": round(seconds, 1), "gigabytes": round(_peak(), 2), "tables": round(before, 2)}
    figures["question"] = round(question, 3)
    return {"rows": n, "candidates": found.evidence.candidates, "ok": found.ok, **sizes, **figures} | {
        "software": machine.description()["software"]
    }


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def make_persons(n: int, seed: int = 0) -> tuple[dict[str, list[str]], dict[str, list[str]], Any]:
    """Return two registers of n persons with mistakes, and the row of B of each row of A, -1 where it has none."""
    rng = np.random.default_rng(seed)
    total = n + n - int(SHARED * n)
    surnames, streets, towns = (
        np.array(["".join(rng.choice(SYLLABLES, k)) for _ in range(size)])
        for k, size in ((3, max(200, n // 20)), (4, max(100, n // 50)), (3, max(50, n // 200)))
    )
    names = np.array(["".join(rng.choice(SYLLABLES, 2)) for _ in range(400)])
    persons = {
        "given name": rng.choice(names, total),
        "surname": rng.choice(surnames, total),
        "street": np.char.add(np.char.add(rng.choice(streets, total), " "), rng.integers(1, 150, total).astype(str)),
        "town": rng.choice(towns, total),
        "born": np.char.add(rng.integers(1930, 2010, total).astype(str), rng.choice(DAYS, total)),
    }
    rows_a, rows_b = np.arange(n), rng.permutation(np.arange(total - n, total))
    place = np.full(total, -1)
    place[rows_b] = np.arange(n)
    A = {name: values[rows_a].tolist() for name, values in persons.items()}
    B = {name: [_spoil(cell, rng) for cell in values[rows_b]] for name, values in persons.items()}
    return A, B, place[rows_a]


DAYS = np.array([f"-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 29)])


def _spoil(cell: str, rng: np.random.Generator) -> str:
    """Return a cell as it is, without one character, or empty."""
    luck = rng.random()
    if luck < 0.03:
        return ""
    k = int(luck * 1e6) % len(cell)
    return str(cell[:k] + cell[k + 1 :]) if luck < 0.18 else str(cell)


SUMMARY = """\
## Summary

**Question.** How large may two tables be for `isthmus match` on one machine, and is the result still right?

**Answer.** {rows:,} rows on each side take {minutes:.0f} minutes of one thread and {gigabytes:.1f} GB, of which the
tables are {tables:.1f} GB. Time grows with the number of rows to the power {exponent:.2f} from {few:,} rows on.
The precision of the largest run is {precision:.3f}; F1 is {f1:.3f} there, and {best:.3f} with {few:,} rows.

**Limits.** The persons are made up, and their mistakes are random. Long texts have more candidates. Tables without a
common column are matched by geometry, which compares all pairs of rows.

**What to do.** Nothing up to a million rows. For larger tables split both by a column that is reliable (a country, a
year), and match part by part.

"""


def summarize(found: list[dict[str, Any]]) -> str:
    """Return the summary for practitioners; empty with fewer than two sizes."""
    if len(found) < 2:
        return ""
    few, most = min(found, key=lambda r: r["rows"]), max(found, key=lambda r: r["rows"])
    exponent = np.log(most["seconds"] / few["seconds"]) / np.log(most["rows"] / few["rows"])
    numbers = {name: most[name] for name in ("rows", "gigabytes", "tables", "precision", "f1")}
    return SUMMARY.format(**numbers, minutes=most["seconds"] / 60, exponent=exponent, few=few["rows"], best=few["f1"])


def render(found: list[dict[str, Any]]) -> str:
    """Return the page."""
    growth = [np.log(b["seconds"] / a["seconds"]) / np.log(b["rows"] / a["rows"]) for a, b in pairwise(found)]
    head = ("rows of either table", "candidates", "processor seconds", "growth exponent", "peak GB", "of it tables")
    rows = []
    for record, exponent in zip(found, ["–", *(f"{e:.2f}" for e in growth)], strict=True):
        sizes = f"{record['rows']:,}", f"{record['candidates']:,}", f"{record['seconds']:.1f}", exponent
        figures = (f"{record[name]:.3f}" for name in FIGURES)
        rows.append((*sizes, record["gigabytes"], record["tables"], *figures))
    asked = [f"{r['question']:.3f} s with {r['rows']:,} rows" for r in found if "question" in r]
    questions = f" The next question of a review (`next_questions`) takes {', '.join(asked)}." if asked else ""
    return f"""\
# Matching two tables by their columns: processor time and memory by the number of rows

{summarize(found)}\
Made by `python -m benchmarks.linkage` from `benchmarks/linkage.jsonl`. Two registers of made persons (given name,
surname, street, town, date of birth); three quarters of the persons of one are in the other, 15 % of the cells there
lack a character and 3 % are empty. No pair is known. One thread; `match` alone, without reading the tables, whose
memory is given apart. Features of candidates above 1 GB are on disk, and count as memory only while they are read.
{found[0]["software"] if found else ""}.{questions}

{lines.table((*head, *FIGURES), rows)}"""


if __name__ == "__main__":
    sys.exit(main())
