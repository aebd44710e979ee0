"""The chapters of matches, labels and verdicts, and the choice of the chapter by the contents of a file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._core.files import open_regular, show_path
from isthmus._core.validation import IntArray
from isthmus.evidence.scores import expect_at_cuts, score_classes
from isthmus.exceptions import InputError
from isthmus.io.tables.read import read_table
from isthmus.io.tables.table import Table, read_numbers, read_words
from isthmus.study.source_value.result import Verdict
from isthmus.view.report.command_record import RECORD, CommandRecord, check_version, read_json, read_record
from isthmus.view.report.contents import (
    NO_CLASS,
    AlignedCells,
    Chapter,
    Figure,
    Inputs,
    ReportRows,
    align_cells,
    confusion_figure,
    find_rows,
    histogram_figure,
    list_cells,
    order_classes,
)
from isthmus.view.report.model import model_chapter

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
    curve = [point._asdict() for point in verdict.curve if point.labels > 0]
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
        "asked": _align_rows(sides, np.column_stack(rows), columns) if sides else [],
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
