"""The chapter of matches: whether to believe them, the rows beside each other, and the common space they make."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus.estimators import RidgeMap
from isthmus.exceptions import InputError
from isthmus.report.cloud import DOMAINS, POINTS, Cloud, common_plane, own_plane
from isthmus.report.figures import shares
from isthmus.report.html import Markup, element, facts, find, joined, table
from isthmus.report.html import words as html_words
from isthmus.report.parts import Chapter, Part, section
from isthmus.report.records import Record, is_plain
from isthmus.report.request import Request
from isthmus.report.rows import Rows, named, places, sampled
from isthmus.storage.files import shown
from isthmus.tables import Features, Table
from isthmus.tables.cells import numbers, words

COLUMNS = ("source", "target", "score", "confidence")
SHOWN, OTHERS = 1_000, 3
"""Matches in the table, and further candidates for each."""
PAIRS, FEWEST = 1_500, 10
"""Matches that the common space is learned from: at most, and at least."""
LINKED = 300
"""Matches that are drawn as lines."""
MATCHED, UNMATCHED = "matched", "not matched"


@dataclass(frozen=True, eq=False)
class Matched:
    """A table of matches: ids of both files, scores and confidences."""

    source: list[str | None]
    target: list[str | None]
    score: FloatArray
    confidence: FloatArray

    @classmethod
    def of(cls, found: Table) -> Matched:
        """From the file."""
        ids, figures = [words(found, name) for name in COLUMNS[:2]], [numbers(found, name) for name in COLUMNS[2:]]
        return cls(ids[0], ids[1], figures[0], np.nan_to_num(figures[1]))


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
        seen = None if sides is None else Space.of(path, matched, sides)
        if seen is not None and seen.cloud is not None:
            parts.append(section("Common space", [element("p", seen.note, class_="note"), seen.cloud]))
        parts.append(section("Matches", _matches(matched, seen)))
    return Chapter("matches", path.name, sentence, tuple(parts)).without_empty()


@dataclass(frozen=True, eq=False)
class Space:
    """Rows of both files, where the matches are among them, and what the matches teach."""

    sides: tuple[Rows, Rows]
    pairs: IntArray
    cloud: Cloud | None = None
    note: str = ""
    candidates: dict[int, list[str]] | None = None
    """For rows of the source by number, the ids of the target rows that are nearest."""

    @classmethod
    def of(cls, path: Path, matched: Matched, sides: tuple[Rows, Rows]) -> Space:
        """Ridge maps from the matches; too few of them teach nothing."""
        pairs = np.column_stack(
            [places(rows.ids, ids) for rows, ids in zip(sides, (matched.source, matched.target), strict=True)]
        )
        if not (pairs >= 0).all():
            row = int(np.flatnonzero((pairs < 0).any(axis=1))[0])
            side = int(pairs[row, 0] >= 0)
            name = shown(repr((matched.source, matched.target)[side][row])[:60])
            raise InputError(
                f"{sides[side].table.path}: expected the rows that {shown(path)} names, got none called {name}; "
                "--id says which column names the rows."
            )
        if len(pairs) < FEWEST:
            return cls(sides, pairs)
        order = np.argsort(-matched.confidence, kind="stable")[:PAIRS]
        shown_rows = [sampled(rows, POINTS // 2, pairs[order, k]) for k, rows in enumerate(sides)]
        some = sides[0].some(shown_rows[0]), sides[1].some(shown_rows[1])
        here = _among(pairs, shown_rows)
        known = here[order][(here[order] >= 0).all(axis=1)]
        X = [Features.fit(rows.plan, rows.table).transform(rows.table) for rows in some]
        model = RidgeMap().fit(X[0], None, X[1], None, pairs=known)
        best = model.search(X[0], X[1], min(OTHERS + 1, len(some[1])), ("source", "target"))[1]
        candidates = {int(i): [some[1].ids[j] for j in row] for i, row in zip(shown_rows[0], best, strict=True)}
        inside = [np.isin(np.arange(len(rows)), here[:, k]) for k, rows in enumerate(some)]
        groups = [MATCHED if matched_row else UNMATCHED for side in inside for matched_row in side]
        links = [(int(i), int(j)) for i, j in known[np.random.default_rng(0).permutation(len(known))[:LINKED]]]
        cloud = Cloud(
            some, groups, [True] * len(groups), (own_plane(X[0]), own_plane(X[1])),
            common_plane(model.transform, X[0], X[1]), (len(sides[0]), len(sides[1])), links, by_domain=True,
        )  # fmt: skip
        note = f"Ridge maps both ways, learned for this picture from {len(known):,} of the matches."
        return cls(sides, pairs, cloud, note, candidates)


def _among(pairs: IntArray, rows: list[IntArray]) -> IntArray:
    """Pairs of row numbers as places among some of the rows, -1 for those that are not."""
    found = []
    for k, chosen in enumerate(rows):
        place = np.full(max(int(pairs[:, k].max()), int(chosen.max())) + 1, -1)
        place[chosen] = np.arange(len(chosen))
        found.append(place[pairs[:, k]])
    return np.column_stack(found)


def _figures(known: dict[str, Any], n: int, record: Record | None) -> Markup:
    rows = [("matches", f"{n:,}")]
    for side in ("a", "b"):
        about = known.get(side)
        if isinstance(about, dict):
            rows.append((f"rows of {Path(str(about.get('file'))).name}", str(about.get("rows"))))
    recall, span = known.get("held_back_recall"), known.get("held_back_interval")
    if is_plain(recall):
        rows.append(("held-back pairs that were found", f"{recall:.0%}{_interval(span)}"))
    said = []
    if record is None:
        said.append("The file that `isthmus match` puts beside its table is missing: the verdict is in it.")
    elif record.changed:
        said.append("The table was changed after it was written; the verdict is about what it was.")
    return joined([facts(rows), *(element("p", html_words(text), class_="mind") for text in said)])


def _interval(span: Any) -> str:
    plain = isinstance(span, list) and len(span) == 2 and all(is_plain(end) for end in span)
    return f" [{span[0]:.0%}, {span[1]:.0%}]" if plain else ""


def _matches(matched: Matched, seen: Space | None) -> list[Part]:
    order = np.argsort(matched.confidence, kind="stable")[:SHOWN]
    cells = [_named(matched, k, order, seen) for k in range(len(DOMAINS))]
    head = ["source", "target", "score", "confidence"]
    rows: list[list[str]] = [
        [cells[0][place], cells[1][place], f"{matched.score[i]:.3f}", f"{matched.confidence[i]:.0%}"]
        for place, i in enumerate(order)
    ]
    if seen is not None and seen.candidates is not None:
        head.append("other candidates")
        for row, i in zip(rows, order, strict=True):
            others = [id for id in seen.candidates.get(int(seen.pairs[i, 0]), []) if id != matched.target[i]]
            row.append(", ".join(others[:OTHERS]))
    n = len(matched.score)
    most = f"The {SHOWN:,} least sure of {n:,} matches" if n > SHOWN else f"All {n:,} matches"
    note = f"{most}, the least sure first."
    return [shares(matched.confidence, "confidence"), element("p", note, class_="note"), find(),
            table(head, rows, kind="cards findable", numbers=(2, 3))]  # fmt: skip


def _named(matched: Matched, side: int, order: IntArray, seen: Space | None) -> list[Markup]:
    ids = [str((matched.source, matched.target)[side][i]) for i in order]
    if seen is None:
        return named(ids, [""] * len(ids))
    return named(ids, seen.sides[side].some(seen.pairs[order, side]).excerpts())
