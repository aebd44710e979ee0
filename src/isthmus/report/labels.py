"""The chapter of classes that were given to rows: how sure, which, and, where the truth is known, how often right."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.exceptions import InputError
from isthmus.report.classes import classes_parts
from isthmus.report.cloud import NO_CLASS, POINTS, Cloud, own_plane
from isthmus.report.figures import shares
from isthmus.report.html import Markup, element, find, table
from isthmus.report.html import words as html_words
from isthmus.report.parts import Chapter, Part, section
from isthmus.report.records import Record, sentence_of
from isthmus.report.request import Request
from isthmus.report.rows import Rows, named, places, sampled
from isthmus.storage.files import shown
from isthmus.tables import Features, Table
from isthmus.tables.cells import numbers, words

COLUMNS = ("id", "class", "probability", "runner_up", "runner_up_probability", "given")
SHOWN = 500
"""Rows in the table: the least sure ones."""


def labels_chapter(path: Path, found: Table, record: Record | None, request: Request) -> Chapter:
    """From a table of ``isthmus label``, its record and, for texts and the truth, the target's file."""
    known = {} if record is None else dict(record.facts)
    plans = {} if record is None else record.plans
    ids, classes = words(found, "id"), words(found, "class")
    was_given = np.array([str(cell).lower() in ("true", "1") for cell in words(found, "given")])
    target = None if request.target is None else request.rows("target", plans.get("target"))
    source = None if request.source is None else request.rows("source", plans.get("source"))
    where = None if target is None else _places(path, target, ids)
    verdict = known.get("verdict")
    n = int((~was_given).sum())
    said = verdict if isinstance(verdict, str) else "How the classes were found is not known: the record is missing."
    clouds: list[Part] = []
    if target is not None and source is not None and where is not None:
        clouds = [element("p", html_words(NOTE), class_="note"), _cloud(source, target, where, classes, was_given)]
    return Chapter(
        "labels",
        path.name,
        f"{said} {n:,} rows without a label got a class.",
        (
            section("Classes", [_changed(record), _held_back(known), _sizes(classes, was_given)]),
            section("Given and true", _truth(target, where, classes, was_given)),
            section("Both collections", clouds),
            section("The least sure rows", _rows(found, ids, classes, was_given, target, where)),
        ),
    ).without_empty()


NOTE = (
    "Each collection along its own principal axes, in the colours of the classes. `isthmus fit` makes a common space."
)


def _places(path: Path, target: Rows, ids: list[str | None]) -> Any:
    where = places(target.ids, ids)
    if (where < 0).any():
        name = shown(repr(ids[int(np.flatnonzero(where < 0)[0])])[:60])
        raise InputError(
            f"{target.table.path}: expected the rows that {shown(path)} names, got none called {name}; "
            "--id says which column names the rows."
        )
    return where


def _changed(record: Record | None) -> Markup | None:
    if record is None or not record.changed:
        return None
    return element(
        "p", "The table was changed after it was written; the verdict is about what it was.", class_="mind"
    )


def _held_back(known: dict[str, Any]) -> Markup | None:
    """How many labels were found that were hidden for a test, where the command measured it."""
    said = sentence_of(known, "held_back")
    return None if said is None else element("p", said)


def _sizes(classes: list[str | None], was_given: Any) -> Markup:
    every, labelled = Counter(classes), Counter(c for c, given in zip(classes, was_given, strict=True) if given)
    order = sorted(every.items(), key=lambda item: (-item[1], str(item[0])))
    rows = [
        [NO_CLASS if name is None else name, f"{labelled[name]:,}", f"{n - labelled[name]:,}"] for name, n in order
    ]
    return table(("class", "labelled", "given here"), rows[:SHOWN], kind="narrow", numbers=(1, 2))


def _truth(target: Rows | None, where: Any, classes: list[str | None], was_given: Any) -> list[Part]:
    """The confusion matrix of rows whose class was not given, where the target's file now has a label for them."""
    if target is None:
        return []
    true = [target.labels[i] for i in where]
    tested = [i for i, label in enumerate(true) if label is not None and not was_given[i]]
    if not tested:
        return []
    about = f"rows whose label was not given, and is in {target.file}."
    return classes_parts([str(true[i]) for i in tested], [classes[i] for i in tested], about)


def _cloud(source: Rows, target: Rows, where: Any, classes: list[str | None], was_given: Any) -> Cloud:
    by_row = {int(i): (name, bool(given)) for i, name, given in zip(where, classes, was_given, strict=True)}
    chosen = [sampled(rows, POINTS // 2) for rows in (source, target)]
    some = source.some(chosen[0]), target.some(chosen[1])
    called = [by_row.get(int(i), (None, False)) for i in chosen[1]]
    groups = [label or NO_CLASS for label in some[0].labels] + [name or NO_CLASS for name, _ in called]
    known = [label is not None for label in some[0].labels] + [given for _, given in called]
    planes = [own_plane(Features.fit(rows.plan, rows.table).transform(rows.table)) for rows in some]
    return Cloud(some, groups, known, (planes[0], planes[1]), None, (len(source), len(target)))


def _rows(found: Table, ids: Any, classes: Any, was_given: Any, target: Rows | None, where: Any) -> list[Part]:
    probability = np.nan_to_num(numbers(found, "probability"))
    second, runner_up = np.nan_to_num(numbers(found, "runner_up_probability")), words(found, "runner_up")
    new = np.flatnonzero(~was_given)
    order = new[np.argsort(probability[new], kind="stable")][:SHOWN]
    if not len(order):
        return []
    texts = [""] * len(order) if target is None else target.some(where[order]).excerpts()
    cells = named([str(ids[i]) for i in order], texts)
    rows = [
        [cell, classes[i] or NO_CLASS, f"{probability[i]:.0%}", runner_up[i] or "", f"{second[i]:.0%}"]
        for cell, i in zip(cells, order, strict=True)
    ]
    note = f"The {SHOWN} least sure of {len(new):,} rows" if len(new) > SHOWN else f"All {len(new):,} rows"
    head = ("row", "class", "probability", "runner-up", "its probability")
    return [shares(probability[new], "probability"), element("p", f"{note}, the least sure first.", class_="note"),
            find(), table(head, rows, kind="cards findable", numbers=(2, 4))]  # fmt: skip
