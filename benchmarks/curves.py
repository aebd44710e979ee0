"""Figures of the benchmarks, drawn from their records: growth with the number of rows, and landmarks."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, median
from typing import Any

from benchmarks import lines
from isthmus.view.canvas import FAINT, INK, OKABE_ITO, new_figure, remove_frame, save_figure

PICTURES = lines.DOCS / "pictures"
WIDTH, HEIGHT = 10.5, 3.6
COLUMNS = {"mfeat": 216}
"""Of the source; 256 of all other data."""
CURVES = {
    ("blocks", "auto"): ("shared weights", OKABE_ITO[0], "-"),
    ("blocks", "1"): ("weight 1", OKABE_ITO[3], "-"),
    ("mfeat", "auto"): ("mfeat, shared weights", OKABE_ITO[4], "--"),
    ("mfeat", "1"): ("mfeat, weight 1", OKABE_ITO[1], "--"),
    ("auto", "1"): ("weight 1, automatic choice", OKABE_ITO[5], "-."),
    ("dual", "1"): ("weight 1, dual method", INK, ":"),
}
METHODS = {"kmeans": "k-means", "uniform": "uniform", "leverage": "leverage", "fourier": "random Fourier features"}


def draw_scale(records: Sequence[dict[str, Any]]) -> None:
    """Processor time, products XᵀX and peak memory against the number of source rows, in ``docs/pictures/scale``."""
    figure = new_figure(WIDTH, HEIGHT)
    time, products, memory = (remove_frame(ax) for ax in figure.subplots(1, 3))
    _panel(time, records, "processor time, s", lambda r: r["seconds"])
    _panel(products, records, "time in products XᵀX", lambda r: r["products"])
    _panel(memory, records, "peak memory, GB", lambda r: r["peak_over_data"] * _gigabytes(r))
    sizes = sorted({r["n"] for r in records if r["kind"] == "blocks"})
    data = [n * 256 * 4 / 1e9 for n in sizes]
    memory.plot(sizes, data, color=FAINT, label="the rows themselves (float32, 256 columns)")
    figure.legend(*_keys(time, memory), loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    save_figure(figure, PICTURES / "scale")


def draw_landmarks(found: dict[tuple[str, int, str, int], dict[str, Any]]) -> None:
    """Error of the kernel and of the objective against the number of landmarks, in ``docs/pictures/landmarks``."""
    from benchmarks.landmarks import NUMBERS, PERCENT, SETS, changes, column

    figure = new_figure(WIDTH, HEIGHT)
    first, *others = (remove_frame(ax) for ax in figure.subplots(1, 1 + len(SETS)))
    for colour, (sampling, label) in zip(OKABE_ITO, METHODS.items(), strict=False):
        style = {"color": colour, "marker": "o", "ms": 3.5, "label": label}
        errors = [mean(column(found, name, sampling, m, "kernel_error").mean() for name in SETS) for m in NUMBERS]
        first.loglog(NUMBERS, [100 * error for error in errors], **style)
        for ax, name in zip(others, SETS, strict=True):
            ax.loglog(NUMBERS, [changes(found, name, sampling, m).max() for m in NUMBERS], **style)
    first.set(title="kernel, all data", ylabel="error, %", xlabel="landmarks or features")
    for ax, name in zip(others, SETS, strict=True):
        ax.axhline(PERCENT, color=FAINT, zorder=0)
        ax.set(title=f"objective, {name}", xlabel="landmarks or features")
    figure.legend(*_keys(first), loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    save_figure(figure, PICTURES / "landmarks")


def _panel(ax: Any, records: Sequence[dict[str, Any]], label: str, figure_of: Any) -> None:
    """A line through the medians of the seeds, and a point for each of them."""
    for (kind, weight), (name, colour, style) in CURVES.items():
        seen: dict[int, list[float]] = {}
        for r in records:
            if (r["kind"], r["weight"]) == (kind, weight) and r.get("status") == "optimal":
                seen.setdefault(r["n"], []).append(figure_of(r))
        sizes = sorted(seen)
        ax.plot(sizes, [median(seen[n]) for n in sizes], style, color=colour, label=name)
        every = [(n, value) for n in sizes for value in seen[n]]
        ax.plot(*zip(*every, strict=True), "o", color=colour, ms=3.5)
    ax.set(xscale="log", yscale="log", xlabel="source rows", ylabel=label)


def _gigabytes(record: dict[str, Any]) -> float:
    return float(record["n"] * COLUMNS.get(record["kind"], 256) * 4 / 1e9)


def _keys(*axes: Any) -> tuple[list[Any], list[str]]:
    """What is in a legend, once each."""
    found: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)
