"""The chapters of a report: on a model, matches, labels or a verdict, by the contents of a file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from isthmus._core.files import open_regular, show_path
from isthmus._core.validation import FloatArray, IntArray, Matrix
from isthmus.estimators.controls import SelfTrainedLDA, TargetOnly
from isthmus.evidence.scores import OTHER_CLASSES, expect_at_cuts, score_classes
from isthmus.exceptions import InputError
from isthmus.geometry.common_space import DISTANCE
from isthmus.io.model_file import load, load_parts, model_card
from isthmus.io.tables.features import Features
from isthmus.io.tables.read import read_table
from isthmus.io.tables.table import Table, read_numbers, read_words
from isthmus.retrieval.index import Index
from isthmus.study.source_value.result import Verdict
from isthmus.view.canvas import choose_colours
from isthmus.view.plots import fit_plane
from isthmus.view.report.command_record import FIT, RECORD, CommandRecord, check_version, read_json, read_record
from isthmus.view.report.contents import (
    CELL,
    DOMAINS,
    NAME,
    NO_CLASS,
    AlignedCells,
    Inputs,
    ReportRows,
    align_cells,
    find_rows,
    list_cells,
    order_classes,
    sample_rows,
    shorten,
)

EXPECTED = (
    "expected a model of `isthmus fit`, matches of `isthmus match`, classes of `isthmus label` or a verdict of "
    "`isthmus evaluate`"
)
LINES = (".jsonl", ".ndjson")
MATCHES = ("source", "target", "score", "confidence")
# The columns of the two tables.
LABELS = ("id", "class", "probability", "runner_up", "runner_up_probability", "given")
# The least confident matches and rows that the page lists; matches that it shows as records; characters of a cell.
MATCHES_SHOWN, LABELS_SHOWN, CARDS, CELLS = 1_000, 500, 200, 400
# The word and the tone of a verdict.
BADGES = {True: ("matched", "good"), False: ("failed", "bad"), None: ("doubtful", "doubt")}
HELP_BADGES = {True: ("helps", "good"), False: ("does not help", "bad"), None: ("can't tell", "doubt")}
# A part of an explanation.
PART = re.compile(r"(\S.*?) ([+-]\d+\.\d)(?:, |$)")
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


@dataclass(frozen=True)
class Chapter:
    """The part of a page on one file.

    Parameters
    ----------
    kind : {"model", "matches", "labels", "verdict"}
        The kind of file, and the name of the template.
    file : str
        Its name.
    sentence : str
        The main result.
    values : mapping
        The template's variables.
    badge : (str, str) or None
        The verdict in a word, and its tone: "good", "doubt" or "bad".
    """

    kind: str
    file: str
    sentence: str
    values: Mapping[str, Any] = field(default_factory=dict)
    badge: tuple[str, str] | None = None


@dataclass(frozen=True)
class Figure:
    """Numbers for the figure ``kind`` of ``page.js``; ``name`` describes it to screen readers."""

    kind: str
    name: str
    values: Mapping[str, Any]
    height: int = 360


def confusion_figure(confusion: IntArray, classes: Sequence[str]) -> Figure:
    """Return a confusion matrix (C, C): true classes down, predicted ones across."""
    names, ticks = ([shorten(name, most) for name in classes] for most in (NAME, CELL))
    values = {"counts": confusion.tolist(), "names": names, "ticks": ticks}
    height = min(900, max(320, 160 + 26 * len(classes)))
    return Figure("confusion", "Confusion matrix: true classes in rows, predicted classes in columns", values, height)


def histogram_figure(values: FloatArray, name: str) -> Figure:
    """Return the histogram of confidences or probabilities."""
    counts, _ = np.histogram(np.clip(values, 0.0, 1.0), bins=20, range=(0.0, 1.0))
    return Figure("histogram", f"Histogram of the {name}", {"counts": counts.tolist(), "name": name}, 260)


def read_chapter(path: Path, inputs: Inputs) -> Chapter:
    """Return the chapter of a file, whatever of the four kinds it is."""
    with open_regular(path) as file:
        start = file.read(9)
    if start.startswith(b"PK\x03\x04"):  # an archive: a model, or arrays
        if path.suffix == ".npz":
            raise InputError(f"{show_path(path)}: {EXPECTED}, got an adapter or other arrays.")
        return model_chapter(path, inputs)
    if start.lstrip().startswith(b"{") and path.suffix.lower() not in LINES:
        return verdict_chapter(path, read_json(path))
    return _table_chapter(path, inputs)


def _table_chapter(path: Path, inputs: Inputs) -> Chapter:
    record = read_record(path)
    if record is not None and record.kind == "match" and record.facts.get("matches") == 0:
        return match_chapter(path, None, record, inputs)  # a table without rows can't be read
    found = read_table(path)
    for kind, columns, make in (("match", MATCHES, match_chapter), ("label", LABELS, labels_chapter)):
        if set(columns) <= set(found.names):
            if record is not None and record.kind != kind:
                raise InputError(f"{show_path(path)}.json: expected the record of `isthmus {kind}`, got another.")
            return make(path, found, record, inputs)
    raise InputError(f"{show_path(path)}: {EXPECTED}, got a table with the columns {found.show_names()}.")


def verdict_chapter(path: Path, about: Mapping[str, Any]) -> Chapter:
    """Return the chapter of what ``isthmus evaluate -o`` wrote or :meth:`isthmus.Verdict.to_dict` returned."""
    if about.get("format") == RECORD:
        table = show_path(path.name.removesuffix(".json"))
        raise InputError(f"{show_path(path)}: {EXPECTED}, got the record of a table; give {table} itself.")
    if not {"sentence", "helps", "rows"} <= about.keys():
        raise InputError(f"{show_path(path)}: {EXPECTED}, got another JSON object.")
    if "version" in about:
        check_version(about, path)
    try:
        verdict = Verdict.from_dict(about)
    except InputError as error:
        raise InputError(f"{show_path(path)}, {error}") from None
    curve = [vars(point) for point in verdict.curve if point.labels > 0]
    name = "Accuracy by labels per class, with the source and without"
    every = list(zip(verdict.rows, verdict.table.rows, strict=True))
    values: dict[str, Any] = {
        "verdict": verdict,
        # The rows with an interval decide; single target-only rules have none.
        "deciding": [cells for row, cells in every if row.difference is None or row.low is not None],
    }
    if len(curve) > 1:
        values["curve"] = Figure("labels", name, {"curve": curve}, 400)
    return Chapter("verdict", path.name, verdict.sentence, values, HELP_BADGES[verdict.helps])


def match_chapter(path: Path, found: Table | None, record: CommandRecord | None, inputs: Inputs) -> Chapter:
    """Return the chapter of matches (None: no match was found), with the rows of both files where given."""
    facts, plans = ({}, {}) if record is None else (record.facts, record.plans)
    sides = None
    if inputs.has_both(path):
        sides = inputs.rows("source", plans.get("source")), inputs.rows("target", plans.get("target"))
    columns, asked = (_read_pairs(facts.get(name)) for name in ("shared_columns", "questions"))
    seen = {"n": 0, "cards": []} if found is None else _show_matches(path, found, sides, columns)
    rows = [find_rows(path, side, [pair[k] for pair in asked]) for k, side in enumerate(sides or ())]
    values = {
        "record": record,
        "files": [_describe_file(facts[side]) for side in ("a", "b") if isinstance(facts.get(side), dict)],
        "recall": _read_recall(facts),
        "columns": columns,
        "asked": [*zip(asked, _align_rows(sides, np.column_stack(rows), columns), strict=True)] if sides else [],
    }
    verdict = None if record is None else record.sentence("verdict")
    said = verdict or f"{seen['n']:,} matches; there is no record of how they were found."
    badge = None if record is None else BADGES[facts.get("succeeded")]
    return Chapter("matches", path.name, said.removeprefix(f"{(badge or said)[0]}: "), values | seen, badge)


def _read_pairs(stored: Any) -> list[tuple[str, str]]:
    """Return pairs of names of a record; none where it has something else there."""
    pairs = stored if isinstance(stored, list) else []
    return [(str(pair[0]), str(pair[1])) for pair in pairs if isinstance(pair, list) and len(pair) == 2]


def _align_rows(
    sides: tuple[ReportRows, ReportRows], pairs: IntArray, columns: list[tuple[str, str]]
) -> list[AlignedCells]:
    """Return the cells of pairs of rows next to each other."""
    cells = [list_cells(side.table, side.plan, CELLS, pairs[:, k]) for k, side in enumerate(sides)]
    return [align_cells(first, second, columns) for first, second in zip(*cells, strict=True)]


def _show_matches(
    path: Path, found: Table, sides: tuple[ReportRows, ReportRows] | None, columns: list[tuple[str, str]]
) -> dict[str, Any]:
    """Return the least confident matches with their records and reasons."""
    ids = read_words(found, "source"), read_words(found, "target")
    confidence = np.nan_to_num(read_numbers(found, "confidence", strict=True))
    order = np.argsort(confidence, kind="stable")[:MATCHES_SHOWN]
    pairs = [(str(ids[0][i]), str(ids[1][i])) for i in order]
    reasons, others = (
        [read_words(found, name)[i] or "" for i in order] if name in found.names else [""] * len(order)
        for name in ("explanation", "runner_up")
    )
    cells: list[AlignedCells | None] = [None] * len(order)
    if sides is not None:
        rows = np.column_stack([find_rows(path, side, names) for side, names in zip(sides, ids, strict=True)])
        cells[:CARDS] = _align_rows(sides, rows[order[:CARDS]], columns)
    shown = zip(pairs, confidence[order].tolist(), cells, reasons, others, strict=True)
    cards = [
        {"pair": pair, "confidence": sure, "cells": aligned, "bars": stack_bars(why), "other": other}
        for pair, sure, aligned, why, other in shown
    ]
    histogram, cuts = histogram_figure(confidence, "confidence"), expect_at_cuts(confidence)
    return {"n": len(confidence), "cards": cards, "histogram": histogram, "cuts": cuts}


def stack_bars(explanation: str) -> list[tuple[str, float, float, float]]:
    """Return the parts of an explanation as a waterfall: name, value, and left end and width in per cent.

    Examples
    --------
    >>> stack_bars("name +3.0, price -1.0")
    [('name', 3.0, 0.0, 100.0), ('price', -1.0, 66.6..., 33.3...)]
    """
    parts = [(name, float(value)) for name, value in PART.findall(explanation) if float(value)]
    ends = np.cumsum([0.0, *(value for _, value in parts)])
    low, spread = ends.min(), max(float(np.ptp(ends)), 1e-9)
    return [
        (name, value, float(min(ends[k : k + 2]) - low) / spread * 100, abs(value) / spread * 100)
        for k, (name, value) in enumerate(parts)
    ]


def _describe_file(about: Mapping[str, Any]) -> tuple[str, int]:
    rows = about.get("rows")
    return Path(str(about.get("file"))).name, rows if type(rows) is int else 0


def _read_recall(facts: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the held-out recall, its interval and the recall with shuffled pairs, as far as they are shares."""
    ends = facts.get("recall_interval")
    found = [facts.get("recall"), facts.get("shuffled_recall"), *(ends if isinstance(ends, list) else ())]
    shares = [share if isinstance(share, int | float) and 0 <= share <= 1 else None for share in found]
    interval = shares[2:] if len(shares) == 4 and None not in shares[2:] else None
    return None if shares[0] is None else {"share": shares[0], "shuffled": shares[1], "interval": interval}


def labels_chapter(path: Path, found: Table, record: CommandRecord | None, inputs: Inputs) -> Chapter:
    """Return the chapter of predicted classes, with texts and true classes where the files have them."""
    plans = {} if record is None else record.plans
    classes = [NO_CLASS if name is None else name for name in read_words(found, "class")]
    labelled = np.array([str(cell).lower() in ("true", "1") for cell in read_words(found, "given")])
    new = np.flatnonzero(~labelled)
    sizes = _count_classes(classes, labelled)[:LABELS_SHOWN]
    values: dict[str, Any] = {"record": record, "n": len(new), "sizes": sizes}
    where = target = None
    if inputs.target is not None:
        target = inputs.rows("target", plans.get("target"))
        where = find_rows(path, target, read_words(found, "id"))
        tested = [i for i in new if target.labels[where[i]] is not None]
        if tested:
            values |= describe_classes([target.labels[where[i]] for i in tested], [classes[i] for i in tested])
            values["file"] = target.file
    values |= _least_confident(found, classes, new, target, where)
    verdict = None if record is None else record.sentence("verdict")
    said = verdict or "There is no record of how the classes were found."
    return Chapter("labels", path.name, f"{said} Classes were predicted for {len(new):,} unlabelled rows.", values)


def _count_classes(classes: list[str], labelled: Any) -> list[tuple[str, int, int]]:
    """Return each class with its labelled and its predicted rows, the largest first."""
    every, known = Counter(classes), Counter(name for name, one in zip(classes, labelled, strict=True) if one)
    order = sorted(every.items(), key=lambda item: (-item[1], item[0]))
    return [(name, known[name], n - known[name]) for name, n in order]


def describe_classes(true: Sequence[Any], predicted: Sequence[Any]) -> dict[str, Any]:
    """Return the scores of predicted classes and the figure of their confusion matrix."""
    y_true, y_predicted = ([NO_CLASS if y is None else str(y) for y in names] for names in (true, predicted))
    scores = score_classes(y_true, y_predicted, order_classes([*y_true, *y_predicted]))
    return {"scores": scores, "confusion": confusion_figure(scores.confusion, scores.classes)}


def _least_confident(
    found: Table, classes: list[str], new: IntArray, target: ReportRows | None, where: IntArray | None
) -> dict[str, Any]:
    """Return the predicted rows of smallest probability, with their second classes."""
    ids, second = read_words(found, "id"), read_words(found, "runner_up")
    names = "probability", "runner_up_probability"
    probability, other = (np.nan_to_num(read_numbers(found, name, strict=True)) for name in names)
    order = new[np.argsort(probability[new], kind="stable")][:LABELS_SHOWN]
    texts = [""] * len(order) if target is None or where is None else target.take(where[order]).excerpts()
    rows = [
        (str(ids[i]), text, classes[i], probability[i], second[i] or "", other[i])
        for i, text in zip(order, texts, strict=True)
    ]
    return {"rows": rows, "histogram": histogram_figure(probability[new], "probability")}


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
        "warnings": read_warnings(parts.get(FIT)),
        "card": card,
        "columns": {name: known.plan_lines() for name, known in features.items()},
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
