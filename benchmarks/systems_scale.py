"""``python -m benchmarks.systems_scale``: other systems over blocks of rows, to a million rows; resumable.

Each run has a process of its own and adds a line to ``benchmarks/systems_scale.jsonl``; what is there stays.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

RECORDS, PAGE = Path(__file__).with_name("systems_scale.jsonl"), Path(__file__).with_name("SYSTEMS_SCALE.md")
SIZES = 10_000, 100_000, 1_000_000
SEEDS = 100, 101, 102
NARROW, WIDE = (256, 256), (768, 1536)
PAIRED = "procrustes", "ridge", "cca"
LABELLED = "cca by labels", "arc"
SLOPE, MEMORY = 1.0, 1.8
"""Growth, and the peak over the data at the largest size: the bars of ``benchmarks.scale``."""

Run = tuple[str, int, int, int, int]


def plan_runs(largest: int) -> list[Run]:
    """What should be there, small things first."""
    narrow: list[Run] = [(kind, n, *NARROW, seed) for kind in PAIRED + LABELLED for n in SIZES for seed in SEEDS]
    wide: list[Run] = [(kind, n, *WIDE, SEEDS[0]) for kind in PAIRED for n in SIZES[:2]]
    marks: list[Run] = [("kcca", n, *NARROW, SEEDS[0]) for n in SIZES]
    return sorted((run for run in [*narrow, *wide, *marks] if run[1] <= largest), key=lambda run: run[1])


def key(record: dict[str, Any]) -> Run:
    """Which run a record is of."""
    return record["kind"], record["n"], record["d_source"], record["d_target"], record["seed"]


def records() -> dict[Run, dict[str, Any]]:
    """What was measured so far."""
    lines = RECORDS.read_text(encoding="utf-8").splitlines() if RECORDS.exists() else []
    return {key(record): record for record in map(json.loads, lines)}


def measure(run: Run) -> None:
    """Run once more, and keep the record."""
    command = [sys.executable, "-m", "benchmarks.systems_scale_run", *map(str, run)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    with RECORDS.open("a", encoding="utf-8") as file:
        file.write(done.stdout.splitlines()[-1] + "\n")


def bars(found: dict[Run, dict[str, Any]]) -> list[tuple[str, str, bool]]:
    """Promise, measured, kept: as far as it was measured to the end."""
    rows: list[tuple[str, str, bool]] = []
    for kind in dict.fromkeys(run[0] for run in plan_runs(SIZES[-1])):
        group = [r for run, r in found.items() if run[0] == kind and run[2:4] == NARROW]
        largest = [r for r in group if r["n"] == SIZES[-1]]
        if largest:
            logs = np.log([[r["n"], r["seconds"]] for r in group])
            slope = float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])
            peak = max(r["peak_over_data"] for r in largest)
            rows.append((f"{kind}: slope ≤ {SLOPE}", f"{slope:.2f}", slope <= SLOPE))
            rows.append((f"{kind}, 10⁶ rows: peak < {MEMORY} × data", f"{peak:.2f}", peak < MEMORY))
    return rows


SUMMARY = """\
## Summary

**Question.** Which systems besides `MLHD` learn from a million rows on one machine, and at what cost?

**Answer.** With {most:,} source rows of {d_source} columns and as many target columns, one thread needs {times}.
The largest memory is {peak:.2f} times that of the rows. {kept} of {promised} promises below are kept{broken}.
Recall of new pairs is at least {recall:.2f} ({paired}); accuracy by labels is {accuracies}.

**Limits.** The rows are synthetic, with linear relations; each seed is one drawing, and the largest size has few.
Times are of one machine: compare the ratios. Quality says that a fit is right, not which system suits your data.

**What to do.** With known pairs compare some systems on your own rows, of which `isthmus fit` holds pairs out; the
fastest here is {fastest}. Without pairs, `cca by labels` takes {labels:.0f} seconds and `arc` {arc:.0f}.
`isthmus systems` says what each of them learns.

"""


def summarize(found: dict[Run, dict[str, Any]]) -> str:
    """The summary for practitioners; empty until every system has run at the largest size."""
    most = [r for run, r in found.items() if run[1] == SIZES[-1] and run[2:4] == NARROW]
    kinds = *PAIRED, "kcca", *LABELLED
    if not {*kinds} <= {r["kind"] for r in most}:
        return ""

    def middle(kind: str, name: str) -> float:
        return float(median(r[name] for r in most if r["kind"] == kind))

    seconds = {kind: middle(kind, "seconds") for kind in kinds}
    promises = bars(found)
    broken = [what for what, _, kept in promises if not kept]
    by_pairs = *PAIRED, "kcca"
    return SUMMARY.format(
        most=SIZES[-1],
        d_source=NARROW[0],
        times=", ".join(f"{s:.0f} seconds for `{kind}`" for kind, s in sorted(seconds.items(), key=lambda p: p[1])),
        peak=max(r["peak_over_data"] for r in most),
        kept=len(promises) - len(broken),
        promised=len(promises),
        broken=f" (not: {'; '.join(broken)})" if broken else "",
        recall=min(middle(kind, "quality") for kind in by_pairs),
        paired=", ".join(by_pairs),
        accuracies=", ".join(f"{middle(kind, 'quality'):.2f} (`{kind}`)" for kind in LABELLED),
        fastest=f"`{min(by_pairs, key=seconds.__getitem__)}`",
        labels=seconds["cca by labels"],
        arc=seconds["arc"],
    )


def page(found: dict[Run, dict[str, Any]]) -> str:
    """Medians over the seeds as a table, and the bars."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for run in sorted(found, key=lambda run: (run[0], *run[2:4], run[1])):
        groups[run[:4]].append(found[run])
    head = ["system", "d_s + d_t", "rows", "seeds", "CPU seconds", "products", "peak / data", "quality"]
    lines = ["# Other systems over blocks of rows", "", *summarize(found).splitlines()]
    lines += [
        "Written by `python -m benchmarks.systems_scale`; do not edit. Medians over the seeds, one thread, rows"
    ]
    lines += [
        "in single precision. A product is that of all rows of the fit with themselves, ZᵀZ, in double precision:"
    ]
    lines += ["by pairs Z = [X Y], by labels Z = X (60 labelled target rows, 6 classes). Quality is recall at one of"]
    lines += ["1,000 new pairs, or accuracy on 600 new target rows. Data are the rows, in memory before ``fit``.", ""]
    lines += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for (kind, n, d_source, d_target), group in groups.items():
        middle = {
            name: median(r[name] for r in group) for name in ("seconds", "products", "peak_over_data", "quality")
        }
        cells = [kind, f"{d_source} + {d_target}", f"{n:,}", len(group), f"{middle['seconds']:.3g}"]
        cells += [f"{middle['products']:.3g}", f"{middle['peak_over_data']:.2f}", f"{middle['quality']:.3f}"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    lines += ["", "| promise | measured | |", "|---|---|---|"]
    lines += [f"| {what} | {text} | {'PASS' if kept else 'FAIL'} |" for what, text, kept in bars(found)]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure what is missing, write the page; exit status 1 if a bar is not cleared."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.systems_scale", description=__doc__)
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="rows of the largest run (1,000,000)")
    parser.add_argument("--only", nargs="+", default=None, help="systems to run (all)")
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS, help="seeds to run (all)")
    args = parser.parse_args()
    for run in plan_runs(args.largest):
        if run not in records() and run[-1] in args.seeds and (args.only is None or run[0] in args.only):
            print("…", *run, file=sys.stderr, flush=True)
            measure(run)
    found = records()
    PAGE.write_text(page(found), encoding="utf-8")
    print(page(found))
    return int(not all(kept for *_, kept in bars(found)))


if __name__ == "__main__":
    sys.exit(main())
