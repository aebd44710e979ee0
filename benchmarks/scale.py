"""``python -m benchmarks.scale``: growth to a million rows, and small sizes beside the dual method; resumable.

Each run has a process of its own and adds a line to ``benchmarks/scale.jsonl``; what is there is not run again.
The page, the figure and a table of docs/scale.md are made of these.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import lines

RECORDS, PAGE = Path(__file__).with_name("scale.jsonl"), Path(__file__).with_name("SCALE.md")
SIZES = 10_000, 100_000, 1_000_000
SMALL = 100, 200, 400, 1_000, 2_000, 4_000, 10_000
BAR, HOPELESS, PATIENCE = 2_000, 4_000, 5.0
"""Where the blocks have to be so much faster; from where on the dual is stopped, at so many times their seconds."""
SEEDS = 100, 101, 102
PRODUCTS = {"auto": 60.0, "1": 150.0}
"""Bare products XᵀX that a million rows may take, by weight."""
SLOPE, MEMORY, FASTER, SLOWER, SAME, TOLERANCE = 1.0, 1.8, 15.0, 1.2, 1e-5, 1e-4

Run = tuple[str, int, str, int]


def plan_runs(largest: int) -> list[Run]:
    """What should be there, small things first."""
    small: list[Run] = [(kind, n, "1", SEEDS[0]) for n in SMALL for kind in ("auto", "dual")]
    growth: list[Run] = [("blocks", n, w, seed) for n in SIZES for w in PRODUCTS for seed in SEEDS]
    real: list[Run] = [("mfeat", n, w, SEEDS[0]) for n in SIZES for w in PRODUCTS]
    return [run for run in [*small, *sorted([*growth, *real], key=lambda run: run[1])] if run[1] <= largest]


def records() -> dict[Run, dict[str, Any]]:
    """What was measured so far."""
    return {(record["kind"], record["n"], record["weight"], record["seed"]): record for record in lines.read(RECORDS)}


def measure(run: Run) -> None:
    """Run once more, and keep the record."""
    kind, n, weight, seed = run
    beside = records().get(("auto", n, weight, seed))
    limited = kind == "dual" and n >= HOPELESS and beside is not None
    limit = [PATIENCE * beside["seconds"]] if limited and beside else []
    lines.add(RECORDS, lines.run_module("benchmarks.scale_run", *run, *limit))


def bars(found: dict[Run, dict[str, Any]]) -> list[tuple[str, str, bool]]:
    """Promise, measured, kept: as far as it was measured."""
    rows: list[tuple[str, str, bool]] = []
    for kind in ("blocks", "mfeat"):
        for weight, most in PRODUCTS.items():
            group = [r for r in found.values() if r["kind"] == kind and r["weight"] == weight]
            million = [r for r in group if r["n"] == SIZES[-1]]
            if million:
                logs = np.log([[r["n"], r["seconds"]] for r in group])
                slope = float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])
                rows.append((f"{kind}, weight {weight}: slope ≤ {SLOPE}", f"{slope:.2f}", slope <= SLOPE))
                worst = max(r["products"] for r in million)
                rows.append(
                    (f"{kind}, weight {weight}, 10⁶ rows: ≤ {most:.0f} products", f"{worst:.0f}", worst <= most)
                )
                peak = max(r["peak_over_data"] for r in million)
                rows.append((f"{kind}, weight {weight}: peak < {MEMORY} × data", f"{peak:.2f}", peak < MEMORY))
    for n, auto, dual in _small(found):
        ratio = dual["seconds"] / auto["seconds"]
        least, near = (FASTER, SAME) if n == BAR else (1.0 / SLOWER, TOLERANCE)
        apart = abs(auto["objective"] - dual["objective"]) / abs(dual["objective"])
        text = f"{ratio:.2f} ({auto['solver']}), objectives {apart:.0e} apart"
        if dual["status"] == "stopped":
            apart, text = 0.0, f"> {ratio:.2f} ({auto['solver']}): the dual was stopped at a gap of {dual['gap']:.0e}"
        rows.append((f"{n} rows: ≥ {least:.2f} × as fast as the dual", text, ratio >= least and apart <= near))
    return rows


def _small(found: dict[Run, dict[str, Any]]) -> list[tuple[int, dict[str, Any], dict[str, Any]]]:
    """Sizes at which both the automatic choice and the dual were measured."""
    both = [(n, found.get(("auto", n, "1", SEEDS[0])), found.get(("dual", n, "1", SEEDS[0]))) for n in SMALL]
    return [(n, auto, dual) for n, auto, dual in both if auto and dual]


def small(found: dict[Run, dict[str, Any]]) -> str:
    """The automatic choice beside the dual method."""
    head = ("source rows", "dual, s", "choice, s", "which", "times as fast", "objectives, relative")
    rows = []
    for n, auto, dual in _small(found):
        change = (auto["objective"] - dual["objective"]) / abs(dual["objective"])
        words = "equal" if change == 0.0 else f"{abs(change):.0e}" + " (blocks is lower)" * (change < 0)
        least = "> " if dual["status"] == "stopped" else ""
        if least:
            words = f"the dual was stopped, at a gap of {dual['gap']:.0e}"
        which = {"BlockNewton": "blocks", "DualNewton": "dual"}[auto["solver"]]
        times = f"{least}{dual['seconds'] / auto['seconds']:.2g}"
        rows.append((f"{n:,}", f"{least}{dual['seconds']:.3g}", f"{auto['seconds']:.3g}", which, times, words))
    return lines.table(head, rows)


def growth(found: dict[Run, dict[str, Any]]) -> str:
    """Medians over the seeds of the blocks, and the one seed of real rows."""
    head = (
        "data",
        "source rows",
        "shared weights: seconds, products",
        "weight 1: seconds, products",
        "peak memory / data",
    )
    rows = []
    for kind, n in ((kind, n) for kind in ("blocks", "mfeat") for n in SIZES):
        groups = [[r for key, r in found.items() if key[:3] == (kind, n, weight)] for weight in PRODUCTS]
        if not all(groups):
            continue
        costs = [f"{median(r['seconds'] for r in g):.3g}, {median(r['products'] for r in g):.3g}" for g in groups]
        peak = max(r["peak_over_data"] for group in groups for r in group)
        rows.append(({"blocks": "made"}.get(kind, kind), f"{n:,}", *costs, f"{peak:.2f}"))
    return lines.table(head, rows)


SUMMARY = """\
**Question.** How many rows can be learned from on one machine, in what time and memory?

**Answer.** `MLHD` with its defaults learns a metric over 512 columns from {most:,} source rows in {auto:.0f} \
seconds of one thread, and from {fewer:,} in {auto_fewer:.1f}. The largest memory is {peak:.2f} times that of the \
rows. With a fixed weight on each pair (the paper's problem) a million rows take {fixed:.0f} seconds. With {bar:,} \
rows the solver over blocks is {times:.0f} times as fast as the dual, with the same certificate.

**Limits.** These are linear kernels with 60 labelled target rows. Kernels need landmarks (below). Thousands of \
*known pairs* are slow with `MLHD`; `RidgeMap` and `Procrustes` take them. Sparse text with a wide vocabulary should \
be reduced to 100 axes first. Times are of one machine: compare the ratios.

**What to do.** Leave `solver` and `pair_weight` at their defaults. Use [blocks](cluster.md) if the rows do not fit \
into memory. For tables that share columns, `match` has [measurements of its own](../benchmarks/LINKAGE.md).
"""


def summarize(found: dict[Run, dict[str, Any]]) -> str:
    """The summary for practitioners."""
    fewer, most = SIZES[1:]

    def middle(n: int, weight: str) -> float:
        return float(median(r["seconds"] for key, r in found.items() if key[:3] == ("blocks", n, weight)))

    blocks = [r["peak_over_data"] for key, r in found.items() if key[:2] == ("blocks", most)]
    ratios = {n: dual["seconds"] / auto["seconds"] for n, auto, dual in _small(found)}
    return SUMMARY.format(
        most=most,
        fewer=fewer,
        auto=middle(most, "auto"),
        auto_fewer=middle(fewer, "auto"),
        fixed=middle(most, "1"),
        peak=max(blocks),
        bar=BAR,
        times=ratios[BAR],
    )


# The summary is written for docs/scale.md: here its links start from another folder, and the tables are not below.
LINKS = {
    "(cluster.md)": "(../docs/cluster.md)",
    "(../benchmarks/LINKAGE.md)": "(LINKAGE.md)",
    "(below)": "([docs/scale.md](../docs/scale.md))",
}


def _summarize_here(found: dict[Run, dict[str, Any]]) -> str:
    text = summarize(found)
    for there, here in LINKS.items():
        text = text.replace(there, here)
    return f"## Summary\n\n{text}\n"


def page(found: dict[Run, dict[str, Any]]) -> str:
    """All records as a table, and the bars."""
    head = ["data", "rows", "weight", "seed", "solver", "CPU seconds", "products XᵀX", "iterations", "objective"]
    text = (
        f"# Growth to a million rows: all runs\n\n{_summarize_here(found)}"
        "Written by `python -m benchmarks.scale`; do not edit. d = 256 + 256, 60 labelled target rows,\n"
        "6 classes (mfeat: 216 + 240, 10 classes, bootstrap with noise); relative gap 1e-4, one thread.\n\n"
    )
    rows = []
    for r in sorted(found.values(), key=lambda r: (r["kind"], r["weight"], r["n"], r["seed"])):
        what = r["kind"], f"{r['n']:,}", r["weight"], r["seed"], r["solver"]
        costs = f"{r['seconds']:.4g}", f"{r['products']:.4g}", r["iterations"]
        rows.append((*what, *costs, f"{r['objective']:.7g}", f"{r['gap']:.0e}", f"{r['peak_over_data']:.2f}"))
    promises = [(what, text, "PASS" if kept else "FAIL") for what, text, kept in bars(found)]
    text += lines.table([*head, "gap", "peak / data"], rows)
    return text + "\n" + lines.table(("promise", "measured", ""), promises)


def main() -> int:
    """Measure what is missing, write the page; exit status 1 if a bar is not cleared."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="rows of the largest run (1,000,000)")
    parser.add_argument("--only", nargs="+", default=None, help="kinds to run: blocks, mfeat, auto, dual (all)")
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS, help="seeds to run (all)")
    args = parser.parse_args()
    for run in plan_runs(args.largest):
        if run not in records() and run[3] in args.seeds and (args.only is None or run[0] in args.only):
            print("…", *run, file=sys.stderr, flush=True)
            measure(run)
    found = records()
    PAGE.write_text(page(found), encoding="utf-8")
    parts = {f"benchmarks.scale: {make.__name__}": make(found) for make in (summarize, small, growth)}
    lines.fill(lines.DOCS / "scale.md", parts)
    from benchmarks.curves import draw_scale

    draw_scale(list(found.values()))
    print(page(found))
    return int(not all(kept for *_, kept in bars(found)))


if __name__ == "__main__":
    sys.exit(main())
