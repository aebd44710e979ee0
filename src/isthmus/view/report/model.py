"""The report's chapter on a model file, and the record that ``isthmus fit`` stores in the file for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._core.files import show_path
from isthmus._core.validation import BoolArray, Matrix, as_dense
from isthmus.estimators.controls import SelfTrainedLDA, TargetOnly
from isthmus.evidence.scores import score_classes
from isthmus.exceptions import InputError
from isthmus.geometry.common_space import DISTANCE
from isthmus.io.model_file import load, load_parts, model_card
from isthmus.io.tables.features import Features
from isthmus.io.tables.plan import Plan
from isthmus.io.tables.table import Table, read_numbers, read_words
from isthmus.retrieval.index import Index
from isthmus.view.report.contents import (
    DOMAINS,
    NO_CLASS,
    POINTS,
    Chapter,
    Cloud,
    Inputs,
    ReportRows,
    common_plane,
    confusion_figure,
    order_classes,
    own_plane,
    sample_rows,
)

# The name of the record among the parts of a model file.
PART = "fit"
FORMAT, VERSION = "isthmus fit", 1
# Maximum number of labelled rows whose hashes are stored; with more rows, none are.
MOST_HASHES = 100_000
# Maximum number of target rows whose class is predicted, and of source rows that are searched.
TESTED, SEARCHED = 20_000, 20_000
# Number of target rows whose neighbours are shown, and number of neighbours of each.
QUERIES, NEIGHBOURS = 60, 3


@dataclass(frozen=True, eq=False)
class FitRecord:
    """Facts of a fit that a report needs and the model does not keep.

    Parameters
    ----------
    warnings : tuple of str
        Warnings about the data.
    hashes : array (m,) or None
        Hashes of the labelled target rows, to exclude them from scores; None if there were too many.
    """

    warnings: tuple[str, ...]
    hashes: NDArray[np.int64] | None

    @classmethod
    def of(cls, warnings: Sequence[str], table: Table, plan: Plan) -> FitRecord:
        """Return the record of a fit, given its warnings and the target's table."""
        labels = [] if plan.label is None else read_words(table, plan.label)
        known = np.array([i for i, word in enumerate(labels) if word is not None], dtype=np.intp)
        return cls(tuple(warnings), hash_rows(table.take(known), plan) if len(known) <= MOST_HASHES else None)

    def to_part(self) -> dict[str, Any]:
        """Return the record as a part of a model file."""
        return {**vars(self), "format": FORMAT, "version": VERSION}

    @classmethod
    def from_part(cls, stored: Any) -> FitRecord:
        """Return the stored record, with every value checked: the file may come from a stranger."""
        if not isinstance(stored, dict) or stored.get("format") != FORMAT:
            raise InputError("fit: expected a record of `isthmus fit`, got something else.")
        if stored.get("version") != VERSION:
            raise InputError(f"fit, version: expected {VERSION}, got {show_path(repr(stored.get('version'))[:40])}.")
        hashes, warnings = stored.get("hashes"), stored.get("warnings")
        right = isinstance(hashes, np.ndarray) and hashes.dtype == np.int64 and hashes.ndim == 1
        if hashes is not None and not right:
            raise InputError("fit, hashes: expected one whole number per row, got something else.")
        return cls(tuple(map(str, warnings)) if isinstance(warnings, tuple) else (), hashes)

    def find_training_rows(self, table: Table, plan: Plan) -> BoolArray | None:
        """Return the mask of rows that are equal to labelled rows of the fit, or None if unknown."""
        return None if self.hashes is None else np.isin(hash_rows(table, plan), self.hashes)


def hash_rows(table: Table, plan: Plan) -> NDArray[np.int64]:
    """Return a hash of each row (n,), which depends on the values of its cells, not on file format or row order.

    Examples
    --------
    >>> first, second = Table.of({"x": ["1.0", "2.5"]}), Table.of({"x": [2.5, 1.0]})
    >>> bool((hash_rows(first, Plan.of(first)) == hash_rows(second, Plan.of(first))[::-1]).all())
    True
    """
    hashes = [blake2b(digest_size=8) for _ in range(table.n_rows)]
    for column in plan.features:
        for one, cell in zip(hashes, _cell_bytes(table, column.name, column.kind), strict=True):
            one.update(b"\0" + cell)
    return np.array([int.from_bytes(one.digest(), "little", signed=True) for one in hashes], dtype=np.int64)


def _cell_bytes(table: Table, name: str, kind: str) -> list[bytes]:
    if kind == "matrix":
        rows = table.matrix(name)
        return [as_dense(row.reshape(1, -1) if isinstance(row, np.ndarray) else row).tobytes() for row in rows]
    if kind in ("number", "date"):
        return [value.tobytes() for value in read_numbers(table, name, days=kind == "date")]
    cells = ("" if cell is None else cell.removesuffix(".0") for cell in read_words(table, name))
    return [cell.encode("utf-8", "replace") for cell in cells]


def model_chapter(path: Path, inputs: Inputs) -> Chapter:
    """Return the chapter of a model file: card and certificate and, if both files are given, what it does to rows."""
    card, parts, model = model_card(path), load_parts(path), load(path)
    record = FitRecord.from_part(parts[PART]) if PART in parts else None
    features = {name: parts[name] for name in DOMAINS if isinstance(parts.get(name), Features)}
    values: dict[str, Any] = {
        "record": record,
        "card": card,
        "columns": {name: (*known.plan_lines(), *known.lines()) for name, known in features.items()},
        "has_rows": inputs.has_both(path),
        "result": getattr(getattr(model, "estimator_", model), "result_", None),
    }
    if values["has_rows"]:
        if len(features) < 2:
            got = "one without the features of its files"
            raise InputError(f"{show_path(path)}: expected a model of `isthmus fit`, got {got}.")
        values |= _show_rows(model, features, record, inputs)
    return Chapter("model", path.name, _summarise(card), values)


def _show_rows(model: Any, features: dict[str, Features], record: FitRecord | None, inputs: Inputs) -> dict[str, Any]:
    """Return the template's variables about the rows of both files."""
    source, target = (inputs.rows(name, features[name].plan) for name in DOMAINS)
    seen = {"tested": _score_model(model, features["target"], target, record)}
    inner = getattr(model, "estimator_", model)
    # Controls that never use the source have no common space to show.
    if not hasattr(inner, "transform") or isinstance(inner, TargetOnly | SelfTrainedLDA):
        return seen
    some = source.take(sample_rows(source, POINTS // 2)), target.take(sample_rows(target, POINTS // 2))
    X = [features[rows.domain].transform(rows.table) for rows in some]
    groups = [*some[0].labels, *_fill_labels(model, some[1].labels, X[1])]
    unlabelled = not any(groups)
    return seen | {
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


def _score_model(
    model: Any, features: Features, target: ReportRows, record: FitRecord | None
) -> dict[str, Any] | None:
    """Return the scores on labelled target rows that the model was not fitted to; None without labels or classes."""
    labelled = np.array([i for i, label in enumerate(target.labels) if label is not None], dtype=np.intp)
    if not len(labelled) or not len(getattr(model, "classes_", ())):
        return None
    rows = target.take(np.sort(np.random.default_rng(0).permutation(labelled)[:TESTED]))
    fitted = None if record is None else record.find_training_rows(rows.table, features.plan)
    seen = {"n": len(rows), "file": target.file, "is_held_out": fitted is not None}
    if fitted is not None and fitted.all():
        return seen
    rows = rows if fitted is None else rows.take(np.flatnonzero(~fitted))
    return seen | describe_classes(rows.labels, model.predict(features.transform(rows.table)))


def describe_classes(true: Sequence[Any], predicted: Sequence[Any]) -> dict[str, Any]:
    """Return the scores of predicted classes and the figure of their confusion matrix."""
    y_true, y_predicted = ([NO_CLASS if y is None else str(y) for y in names] for names in (true, predicted))
    scores = score_classes(y_true, y_predicted, order_classes([*y_true, *y_predicted]))
    return {"scores": scores, "confusion": confusion_figure(scores.confusion, scores.classes)}


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
