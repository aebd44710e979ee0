"""The chapter of matches: whether to believe them, the rows beside each other, and the common space they make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from isthmus._arrays import IntArray
from isthmus.report.cloud import DOMAINS
from isthmus.report.figures import shares
from isthmus.report.html import Markup, element, facts, find, joined, table, thousands, words
from isthmus.report.matched import Matched, Space
from isthmus.report.parts import Chapter, Part, section
from isthmus.report.records import Record, is_plain, sentence_of
from isthmus.report.request import Request
from isthmus.report.rows import Rows, cut, named
from isthmus.tables import Table

SHOWN = 1_000
"""Matches in the table."""


def match_chapter(path: Path, found: Table | None, record: Record | None, request: Request) -> Chapter:
    """From a table of ``isthmus match`` (None: no match was found), its record and, for texts, both files."""
    known = {} if record is None else dict(record.facts)
    verdict = known.get("verdict")
    matched = None if found is None else Matched.of(found)
    n = 0 if matched is None else len(matched.score)
    sentence = verdict if isinstance(verdict, str) else f"{n:,} matches; how they were found is not known."
    sides: tuple[Rows, Rows] | None = None
    if request.has_both(path):
        plans = {} if record is None else record.plans
        sides = request.rows("source", plans.get("source")), request.rows("target", plans.get("target"))
    parts = [section("In figures", [_figures(known, n, record)])]
    if matched is not None:
        order = np.argsort(matched.confidence, kind="stable")[:SHOWN]
        seen = None if sides is None else Space.of(path, matched, sides, order)
        if seen is not None and seen.cloud is not None:
            note = f"Ridge maps both ways, learned for this picture from {seen.learned_from:,} of the matches."
            parts.append(section("Common space", [element("p", note, class_="note"), seen.cloud]))
        parts.append(section("Matches", _matches(matched, order, seen)))
    return Chapter("matches", path.name, sentence, tuple(parts)).without_empty()


def _figures(known: dict[str, Any], n: int, record: Record | None) -> Markup:
    rows = [("matches", f"{n:,}")]
    for side in ("a", "b"):
        about = known.get(side)
        if isinstance(about, dict):
            rows.append((f"rows of {Path(str(about.get('file'))).name}", thousands(about.get("rows"))))
    recall, span = known.get("held_back_recall"), known.get("held_back_interval")
    if is_plain(recall):
        rows.append(("held-back pairs that were found", f"{recall:.0%}{_interval(span)}"))
    shared = sentence_of(known, "shared")
    beside = [] if shared is None else [element("p", shared)]
    said = []
    if record is None:
        said.append("The file that `isthmus match` puts beside its table is missing: the verdict is in it.")
    elif record.changed:
        said.append("The table was changed after it was written; the verdict is about what it was.")
    return joined([facts(rows), *beside, *(element("p", words(text), class_="mind") for text in said)])


def _interval(span: Any) -> str:
    plain = isinstance(span, list) and len(span) == 2 and all(is_plain(end) for end in span)
    return f" [{span[0]:.0%}, {span[1]:.0%}]" if plain else ""


def _matches(matched: Matched, order: IntArray, seen: Space | None) -> list[Part]:
    cells = [_named(matched, k, order, seen) for k in range(len(DOMAINS))]
    head = ["source", "target", "score", "confidence"]
    rows: list[list[str]] = [
        [cells[0][place], cells[1][place], f"{matched.score[i]:.3f}", f"{matched.confidence[i]:.0%}"]
        for place, i in enumerate(order)
    ]
    if seen is not None and seen.candidates:
        head.append("other candidates")
        rows = [
            [*row, ", ".join(cut(id) for id in others)] for row, others in zip(rows, seen.candidates, strict=True)
        ]
    n = len(matched.score)
    most = f"The {SHOWN:,} least sure of {n:,} matches" if n > SHOWN else f"All {n:,} matches"
    note = f"{most}, the least sure first."
    if seen is not None and seen.cloud is not None and seen.cloud.sizes[1] < len(seen.sides[1]):
        note += f" Other candidates are looked for among {seen.cloud.sizes[1]:,} target rows."
    return [shares(matched.confidence, "confidence"), element("p", note, class_="note"), find(),
            table(head, rows, kind="cards findable", numbers=(2, 3))]  # fmt: skip


def _named(matched: Matched, side: int, order: IntArray, seen: Space | None) -> list[Markup]:
    ids = [str((matched.source, matched.target)[side][i]) for i in order]
    if seen is None:
        return named(ids, [""] * len(ids))
    return named(ids, seen.sides[side].some(seen.pairs[order, side]).excerpts())
