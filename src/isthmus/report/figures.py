"""Figures as plain values for plotly.js; colours are names of the style sheet, so that they follow the theme."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from isthmus._arrays import FloatArray, IntArray

WITH, WITHOUT = "var(--first)", "var(--second)"
WRITTEN = 20
"""Up to so many classes, the cells of a confusion matrix have their numbers in them."""


@dataclass(frozen=True)
class Figure:
    """What plotly draws.

    Parameters
    ----------
    name : str
        What it shows, for those who can't see it.
    data : list of dict
        Traces.
    layout : dict
        What is not the page's own.
    height : int
        Pixels.
    """

    name: str
    data: list[dict[str, Any]]
    layout: dict[str, Any]
    height: int = 360


def plain(text: str) -> str:
    """A text of a file in a figure: plotly reads some HTML in all texts.

    Examples
    --------
    >>> plain("<b>bold</b>")
    '&lt;b&gt;bold&lt;/b&gt;'
    """
    return html.escape(text, quote=False)


def convergence(gaps: FloatArray, seconds: FloatArray) -> Figure:
    """The relative gap by iteration; infinite ones, before there is a bound, are left out."""
    shown = np.flatnonzero(np.isfinite(gaps) & (gaps > 0.0) & np.isfinite(seconds))
    trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": shown.tolist(),
        "y": gaps[shown].tolist(),
        "customdata": [f"{second:.2f}" for second in seconds[shown]],
        "hovertemplate": "iteration %{x}<br>relative gap %{y:.1e}<br>after %{customdata} s<extra></extra>",
        "line": {"color": WITH},
    }
    axes = {
        "xaxis": {"title": {"text": "iteration"}},
        "yaxis": {"title": {"text": "relative gap"}, "type": "log", "exponentformat": "power", "nticks": 7},
    }
    return Figure("The relative gap by iteration", [trace], axes, 320)


def confusion(table: IntArray, classes: Sequence[str]) -> Figure:
    """A confusion matrix (C, C): true classes in rows, given ones in columns."""
    share = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    names = [plain(_cut(name, 24)) for name in classes]
    full = [plain(_cut(name, 80)) for name in classes]
    hover = [
        [
            f"true: {true}<br>given: {given}<br>{table[i, j]:,} rows, {share[i, j]:.0%} of the class"
            for j, given in enumerate(full)
        ]
        for i, true in enumerate(full)
    ]
    places = list(range(len(classes)))
    trace = {
        "type": "heatmap",
        "x": places,
        "y": places,
        "z": share.round(4).tolist(),
        "zmin": 0.0,
        "zmax": 1.0,
        "text": hover,
        "hovertemplate": "%{text}<extra></extra>",
        "colorscale": [[0.0, "var(--surface)"], [1.0, WITH]],
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
    }
    written = [
        {
            "x": j,
            "y": i,
            "text": str(table[i, j]),
            "showarrow": False,
            "font": {"size": 11, "color": _ink(share[i, j])},
        }
        for i in places
        for j in places
        if table[i, j] and len(classes) <= WRITTEN
    ]
    ticks = {"tickvals": places, "ticktext": names, "showgrid": False, "zeroline": False, "automargin": True}
    layout = {
        "xaxis": {"title": {"text": "given"}, "tickangle": -45, **ticks},
        "yaxis": {"title": {"text": "true"}, "autorange": "reversed", **ticks},
        "annotations": written,
    }
    return Figure(
        "Confusion matrix: true classes in rows, given ones in columns", [trace], layout, _height(len(classes))
    )


def labels_curve(curve: Sequence[dict[str, float]]) -> Figure:
    """Accuracy over labels per class, with the source and without; the band is the interval of their difference."""
    labels = [point["labels"] for point in curve]
    low, high = ([100.0 * (point["without"] + point[end]) for point in curve] for end in ("low", "high"))
    band = {
        "type": "scatter",
        "x": [*labels, *reversed(labels)],
        "y": [*high, *reversed(low)],
        "mode": "lines",
        "fill": "toself",
        "fillcolor": "var(--band)",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "name": "95 % interval of the difference",
    }
    lines = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": labels,
            "y": [100.0 * point[key] for point in curve],
            "name": name,
            "line": {"color": colour, "dash": dash},
            "hovertemplate": "%{y:.1f} % with %{x} per class<extra></extra>",
        }
        for key, name, colour, dash in (
            ("with_source", "with the source", WITH, "solid"),
            ("without", "best rule without it", WITHOUT, "dash"),
        )
    ]
    layout = {
        "xaxis": {
            "title": {"text": "labels per class"},
            "type": "log",
            "tickvals": labels,
            "ticktext": [f"{n:g}" for n in labels],
        },
        "yaxis": {"title": {"text": "accuracy in per cent"}},
        "showlegend": True,
        "legend": {"orientation": "h", "y": -0.22, "yanchor": "top", "x": 0},
    }
    return Figure("Accuracy over labels per class, with the source and without", [band, *lines], layout, 400)


def shares(values: FloatArray, name: str) -> Figure:
    """How often confidences or probabilities between 0 and 1 occur."""
    counts, edges = np.histogram(np.clip(values, 0.0, 1.0), bins=20, range=(0.0, 1.0))
    trace = {
        "type": "bar",
        "x": ((edges[:-1] + edges[1:]) / 2.0).round(4).tolist(),
        "y": counts.tolist(),
        "width": 0.046,
        "marker": {"color": WITH},
        "customdata": [f"{low:.2f} to {high:.2f}" for low, high in pairwise(edges)],
        "hovertemplate": "%{y} rows of %{customdata}<extra></extra>",
    }
    axes = {"xaxis": {"title": {"text": name}, "range": [0, 1]}, "yaxis": {"title": {"text": "rows"}}}
    return Figure(f"How often each {name} occurs", [trace], axes, 260)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _ink(share: float) -> str:
    return "var(--on-first)" if share > 0.5 else "var(--ink)"


def _height(n: int) -> int:
    return int(min(900, max(320, 160 + 26 * n)))
