"""The chapter of a verdict: the sentence, the curve over labels per class, every comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from isthmus.exceptions import InputError
from isthmus.report.figures import labels_curve
from isthmus.report.html import Markup, element, table
from isthmus.report.parts import Chapter, Part, section
from isthmus.storage.files import shown
from isthmus.verdict.differences import points

CURVE = ("labels", "with_source", "without", "difference", "low", "high")
LARGEST = 1e9
"""No share and no number of labels is larger."""
MOST = 10_000
"""Comparisons, or points of a curve, that a verdict can have."""


def verdict_chapter(path: Path, about: dict[str, Any]) -> Chapter:
    """From what ``isthmus evaluate --json`` printed, or :meth:`isthmus.Verdict.to_dict` gave."""
    place = shown(path)
    sentence = about.get("sentence")
    if not isinstance(sentence, str):
        raise InputError(f"{place}, sentence: expected a text, got {type(sentence).__name__}.")
    rows = [_row(row, place) for row in _list(about, "rows", place)]
    curve = [{key: _number(point, key, place) for key in CURVE} for point in _list(about, "curve", place)]
    curve = [point for point in curve if point["labels"] > 0.0]
    system = about.get("system")
    every = [[row[0] or f"{system or 'the system'} itself", *row[1:]] for row in rows]
    note = (
        f"Accuracy in per cent, differences in points: what the system with the source is better. "
        f"{about.get('n_splits')} splits, {about.get('n_tested')} tested rows; intervals of 95 %, for splits that "
        "share rows."
    )
    band = "The band is the interval of the difference, laid about the curve without the source."
    tested: list[Part] = [labels_curve(curve), element("p", band, class_="note")] if len(curve) > 1 else []
    return Chapter(
        "verdict",
        path.name,
        sentence,
        (
            section("Labels per class", tested),
            section(
                "Comparisons",
                [element("p", note, class_="note"), *_comparisons(every)] if every else [],
            ),
            section("Other evidence", [_evidence(about, place)]),
        ),
    ).without_empty()


def _comparisons(every: list[list[str]]) -> list[Markup]:
    """Those that have an interval, which decide, and the system itself; all others can be opened."""
    head = ("compared with", "labels per class", "accuracy", "better by", "95 %")
    deciding = [row for row in every if row[4] or not row[3]]
    shown = table(head, deciding, kind="cards", numbers=(2, 3, 4))
    if len(deciding) == len(every):
        return [shown]
    whole = table(head, every, kind="cards", numbers=(2, 3, 4))
    return [shown, element("details", element("summary", f"All {len(every):,} comparisons"), whole)]


def _row(row: Any, place: str) -> list[str]:
    setting, against = (row.get(name) if isinstance(row, dict) else None for name in ("setting", "against"))
    if not isinstance(setting, str) or not isinstance(against, str):
        raise InputError(f"{place}, rows: expected comparisons with a setting and a name, got others.")
    accuracy, better = _number(row, "accuracy", place), row.get("difference")
    low, high = row.get("low"), row.get("high")
    span = ""
    if low is not None and high is not None:
        span = f"[{points(_number(row, 'low', place))}, {points(_number(row, 'high', place))}]"
    gain = "" if better is None else points(_number(row, "difference", place))
    return [against, "half hidden" if setting == "naming" else setting, f"{100 * accuracy:.1f}", gain, span]


def _evidence(about: dict[str, Any], place: str) -> Any:
    said = []
    if isinstance(about.get("names"), dict):
        names = about["names"]
        right, low, high = (100 * _number(names, key, place) for key in ("right", "low", "high"))
        said.append(
            f"Classes that no label named were named right in {right:.0f} % [{low:.0f}, {high:.0f}] of the cases."
        )
    if isinstance(about.get("geometry"), dict):
        found = about["geometry"]
        correlation, p = _number(found, "correlation", place), _number(found, "p_value", place)
        said.append(
            f"Without any test: the angles between classes correlate by {correlation:.2f} between the collections "
            f"(p = {p:.3f} under other names of the classes)."
        )
    return element("p", " ".join(said)) if said else None


def _list(about: dict[str, Any], name: str, place: str) -> list[Any]:
    value = about.get(name, [])
    if not isinstance(value, list) or len(value) > MOST:
        raise InputError(f"{place}, {name}: expected a list, got {type(value).__name__}.")
    return value


def _number(row: Any, name: str, place: str) -> float:
    value = row.get(name) if isinstance(row, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST:
        raise InputError(f"{place}, {name}: expected a number, got {shown(repr(value)[:40])}.")
    return float(value)
