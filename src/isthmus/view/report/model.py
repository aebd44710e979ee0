"""The report's chapter on a model file: its card, the common space and nearest neighbours across the domains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from isthmus._core.files import show_path
from isthmus._core.validation import FloatArray, IntArray, Matrix
from isthmus.estimators.controls import SelfTrainedLDA, TargetOnly
from isthmus.evidence.scores import OTHER_CLASSES
from isthmus.exceptions import InputError
from isthmus.geometry.common_space import DISTANCE
from isthmus.io.model_file import load, load_parts, model_card
from isthmus.io.tables.features import Features
from isthmus.retrieval.index import Index
from isthmus.view.canvas import choose_colours
from isthmus.view.plots import fit_plane
from isthmus.view.report.contents import (
    DOMAINS,
    NO_CLASS,
    Chapter,
    Inputs,
    ReportRows,
    order_classes,
    sample_rows,
    shorten,
)

# The name, among the parts of a model file, of what `isthmus fit` stores for a report.
PART = "fit"
# Maximum number of source rows that are searched.
SEARCHED = 20_000
# Number of target rows whose neighbours are shown, and number of neighbours of each.
QUERIES, NEIGHBOURS = 60, 3
# Points drawn at most, of both domains together.
POINTS = 5_000
# Rows of a domain that the axes of a plane are computed from, and rows that are embedded at a time.
AXES_FROM, BLOCK = 500, 500
# Larger coordinates have no finite squares.
LARGEST = 1e100
# Neither the darkest nor the lightest colours: they have to be visible on white and on black.
COLOURS = (
    *("#4e79a7", "#f28e2b", "#e15759", "#59a14f", "#b07aa1"),
    *("#17a2b8", "#c9a227", "#d37295", "#9c755f", "#8c6bf0"),
)
GREY = "#8a8f98"
# Points (n, 2) of a plane, and the shares (2,) of the variance along its axes.
Plane: TypeAlias = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Cloud:
    """Rows of both domains as points with names, classes and excerpts, in three planes.

    Parameters
    ----------
    rows : (Rows, Rows)
        Source and target rows; the points are in this order.
    groups : sequence of str
        The class of each point.
    known : sequence of bool
        Whether the class is a label; otherwise it was predicted.
    before : (Plane, Plane)
        Each domain along its own principal axes: points (n, 2), and the shares of the variance along both.
    after : Plane
        Both domains in the common space.
    totals : (int, int)
        The number of rows, shown or not.
    by_domain : bool
        Whether the colour shows the domain instead of the class.
    """

    rows: tuple[ReportRows, ReportRows]
    groups: Sequence[str]
    known: Sequence[bool]
    before: tuple[Plane, Plane]
    after: Plane
    totals: tuple[int, int]
    by_domain: bool = False

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of points of the source and of the target."""
        return len(self.rows[0]), len(self.rows[1])

    @property
    def has_predicted(self) -> bool:
        """Whether a point without a label has a class."""
        return any(name != NO_CLASS for name, known in zip(self.groups, self.known, strict=True) if not known)

    def legend(self) -> list[tuple[str, int, str]]:
        """Return name, number of points and colour of each class, as :func:`order_classes` orders them."""
        counts, names = Counter(self.groups), order_classes(self.groups)
        colours = choose_colours([name for name in names if name not in (OTHER_CLASSES, NO_CLASS)], COLOURS)
        rest = len(self.groups) - sum(counts[name] for name in names if name != OTHER_CLASSES)
        sizes = [rest if name == OTHER_CLASSES else counts[name] for name in names]
        return [(name, n, colours.get(name, GREY)) for name, n in zip(names, sizes, strict=True)]

    def to_json(self) -> dict[str, Any]:
        """Return the values that the page's script draws."""
        legend = self.legend()
        place, n = {name: i for i, (name, *_) in enumerate(legend)}, self.sizes[0]
        before, after = np.vstack([points for points, _ in self.before]), self.after[0]
        return {
            "names": [shorten(name) for name in place],
            "colours": [colour for *_, colour in legend],
            "byDomain": self.by_domain,
            "domain": [0] * n + [1] * self.sizes[1],
            "group": [place.get(name, place.get(OTHER_CLASSES, 0)) for name in self.groups],
            "known": [int(known) for known in self.known],
            "id": [shorten(id) for rows in self.rows for id in rows.ids],
            "class": [None if self.by_domain or name == NO_CLASS else shorten(name) for name in self.groups],
            "words": [text for rows in self.rows for text in rows.excerpts()],
            # Four digits are more than a screen resolves.
            "before": [[float(f"{value:.4g}") for value in axis] for axis in before.T],
            "beforeShare": [share.tolist() for _, share in self.before],
            "after": [[float(f"{value:.4g}") for value in axis] for axis in after.T],
            "afterShare": self.after[1].tolist(),
        }


def own_plane(X: Matrix) -> Plane:
    """Return rows along the two principal axes of their own domain."""
    axes, share = fit_plane(X[_sample_evenly(X.shape[0])])
    return axes.coordinates(X), share


def common_plane(embed: Callable[[Matrix, str], Any], X_source: Matrix, X_target: Matrix) -> Plane:
    """Return both domains, source first, in their plane of largest variance; each domain has half of the weight."""
    sides = list(zip(DOMAINS, (X_source, X_target), strict=True))
    axes, share = fit_plane(*(_embed_rows(embed, X[_sample_evenly(X.shape[0])], domain) for domain, X in sides))
    blocks = [
        axes.coordinates(_embed_rows(embed, X[start : start + BLOCK], domain))
        for domain, X in sides
        for start in range(0, X.shape[0], BLOCK)
    ]
    return np.vstack(blocks), share


def _embed_rows(embed: Callable[[Matrix, str], Any], X: Matrix, domain: str) -> FloatArray:
    """Return the points of rows, checked: a model file may come from a stranger."""
    points = np.asarray(embed(X, domain), dtype=np.float64)
    if not np.isfinite(points).all() or np.abs(points).max(initial=0.0) > LARGEST:
        raise InputError(f"model: expected finite points of the {domain}, got others, or beyond {LARGEST:.0e}.")
    return points


def _sample_evenly(n: int) -> IntArray:
    return np.unique(np.linspace(0, n - 1, min(n, AXES_FROM)).astype(np.intp))


def model_chapter(path: Path, inputs: Inputs) -> Chapter:
    """Return the chapter of a model file: card and certificate and, if both files are given, what it does to rows."""
    card, parts, model = model_card(path), load_parts(path), load(path)
    features = {name: parts[name] for name in DOMAINS if isinstance(parts.get(name), Features)}
    values: dict[str, Any] = {
        "warnings": read_warnings(parts.get(PART)),
        "card": card,
        "columns": {name: (*known.plan_lines(), *known.lines()) for name, known in features.items()},
        "has_rows": inputs.has_both(path),
        "result": getattr(getattr(model, "estimator_", model), "result_", None),
    }
    if values["has_rows"]:
        if len(features) < 2:
            got = "one without the features of its files"
            raise InputError(f"{show_path(path)}: expected a model of `isthmus fit`, got {got}.")
        values |= _show_rows(model, features, inputs)
    return Chapter("model", path.name, _summarise(card), values)


def read_warnings(stored: Any) -> tuple[str, ...]:
    """Return the warnings of a fit that `isthmus fit` stored; none where something else is there."""
    warnings = stored.get("warnings") if isinstance(stored, dict) else None
    return tuple(map(str, warnings)) if isinstance(warnings, tuple) else ()


def _show_rows(model: Any, features: dict[str, Features], inputs: Inputs) -> dict[str, Any]:
    """Return the template's variables about the rows of both files."""
    source, target = (inputs.rows(name, features[name].plan) for name in DOMAINS)
    inner = getattr(model, "estimator_", model)
    # Controls that never use the source have no common space to show.
    if not hasattr(inner, "transform") or isinstance(inner, TargetOnly | SelfTrainedLDA):
        return {}
    some = source.take(sample_rows(source, POINTS // 2)), target.take(sample_rows(target, POINTS // 2))
    X = [features[rows.domain].transform(rows.table) for rows in some]
    groups = [*some[0].labels, *_fill_labels(model, some[1].labels, X[1])]
    unlabelled = not any(groups)
    return {
        "cloud_of_rows": Cloud(
            some,
            [group or NO_CLASS for group in groups],
            [unlabelled or label is not None for rows in some for label in rows.labels],
            (own_plane(X[0]), own_plane(X[1])),
            common_plane(model.transform, X[0], X[1]),
            (len(source), len(target)),
            by_domain=unlabelled,
        ),
        "neighbours": _find_neighbours(model, features, source, some[1], X[1]),
    }


def _fill_labels(model: Any, labels: Sequence[str | None], X: Matrix) -> list[str | None]:
    """Return the labels; rows without one get the predicted class if the model predicts classes."""
    found, hidden = list(labels), np.array([i for i, label in enumerate(labels) if label is None], dtype=np.intp)
    if len(hidden) and len(getattr(model, "classes_", ())):
        for i, label in zip(hidden, model.predict(X[hidden]), strict=True):
            found[i] = None if label is None else str(label)
    return found


def _find_neighbours(
    model: Any, features: dict[str, Features], source: ReportRows, target: ReportRows, X_target: Matrix
) -> dict[str, Any]:
    """Return some target rows with their nearest source rows."""
    there = source.take(sample_rows(source, SEARCHED))
    index = Index(model).add(features["source"].transform(there.table), "source")
    queries = np.sort(np.random.default_rng(0).permutation(len(target))[:QUERIES])
    found = index.search(X_target[queries], NEIGHBOURS, "target", among="source")
    shown, texts = target.take(queries), there.excerpts()
    rows = [
        (query, text, [(there.ids[i], texts[i], d) for i, d in zip(ids, distances, strict=True) if i >= 0])
        for query, text, ids, distances in zip(shown.ids, shown.excerpts(), found.ids, found.distances, strict=True)
    ]
    unit = "distance" if index.measure.kind == DISTANCE else "negative similarity"
    return {"rows": rows, "unit": unit, "searched": len(there), "of": len(source)}


def _summarise(card: dict[str, Any]) -> str:
    sizes, proof, verdict = card.get("features"), card.get("certificate"), card.get("verdict")
    said = str(card.get("model"))
    if isinstance(sizes, dict):
        said += f" on {sizes.get('source')} source and {sizes.get('target')} target features"
    if card.get("n_classes"):
        said += f", {card.get('n_classes')} classes"
    if isinstance(proof, dict):
        said += f"; solver status: {proof.get('status')}"
    return f"{said}." + (f" {verdict}" if isinstance(verdict, str) else "")
