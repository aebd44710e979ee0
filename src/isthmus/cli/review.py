"""``isthmus review``: confirm and reject matches, or classes, on a page of this machine.

Examples
--------
  isthmus review shop.csv catalogue.csv
  isthmus review shop.csv catalogue.csv --matches matches.csv --decisions decisions.csv
  isthmus match shop.csv catalogue.csv --decisions decisions.csv -o matches.csv      # uses the answers
  isthmus review english.csv french.csv --label section --id package --text description
  isthmus label english.csv french.csv --label section --id package --text description --decisions decisions.csv

With --label, the classes of rows of B are reviewed, as those of TARGET in `isthmus label`, instead of matches.
The page is served to this machine only, at an address with a random token; nothing is requested from elsewhere. End
it with Ctrl-C: every answer is in the file of decisions.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.cli.arguments import FIRST_IDS, add_column_options, add_file_options, add_output_options, parse_count
from isthmus.cli.console import Console, check_output
from isthmus.cli.inputs import load_pairs, read_inputs, shared_columns
from isthmus.exceptions import import_extra

if TYPE_CHECKING:
    from isthmus._core.validation import BoolArray, IntArray
    from isthmus.cli.inputs import InputFile
    from isthmus.tasks.matching.result import Matching
    from isthmus.tasks.questions import Proposal
    from isthmus.view.review.session import ReviewTask

    Report = Callable[..., None]

# Characters of a cell, and of a row nearby, that the page shows; nearby rows of either file; classes to choose from.
LONGEST_CELL, EXCERPT, NEAR, GUESSES = 4_000, 200, 2, 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_file_options(parser, "A", "B", "rows of one collection", "rows of the other", shared=True)
    add = parser.add_argument
    add("--decisions", type=Path, default=Path("decisions.csv"), metavar="FILE",
        help="answers, one line each; a file that exists is continued (default: decisions.csv)")  # fmt: skip
    stored = "matches that `isthmus match` wrote: they are asked about first, and no match is made before"
    add("--matches", type=Path, metavar="FILE", help=stored)
    add("--many-to-one", action="store_true", help="several rows of A may be the same object as one row of B")
    add("--no-browser", action="store_true", help="print the address instead of opening it")
    add("--port", type=parse_count, default=0, metavar="N", help="port of the page (default: a free one)")
    add("--seed", type=parse_count, default=0, metavar="N", help="random seed (default: 0)")
    add_column_options(parser, label=True, required=False, ids=FIRST_IDS)
    add_output_options(parser)


def run(options: argparse.Namespace, screen: Console) -> None:
    """Read both files, then serve the page until Ctrl-C."""
    for package in ("starlette", "uvicorn", "jinja2"):
        import_extra(package, "review", "The review page needs")
    from isthmus.view.review.decisions import DecisionLog
    from isthmus.view.review.server import serve
    from isthmus.view.review.session import Review

    check_output(options.decisions, options.a, options.b, options.matches, options.pairs, options.plan)
    task = make_match_task(options, screen) if options.label is None else make_label_task(options, screen)
    review = Review(task, DecisionLog(options.decisions))

    def tell(address: str) -> None:
        screen.say(f"The review is at {address}", "End it with Ctrl-C.")
        screen.answer({"address": address, "decisions": str(options.decisions)})

    title = f"{options.a.name} and {options.b.name}"
    # A signal ends the review as it should end: every answer has been written.
    with suppress(KeyboardInterrupt):
        serve(review, title, browser=not options.no_browser, port=options.port, tell=tell)
    screen.say(f"{len(review.log):,} decisions are in {options.decisions}. To use them: {task.again}")


def make_match_task(options: argparse.Namespace, screen: Console) -> ReviewTask:
    """Return what is asked about pairs of rows, by rows of the smaller file."""
    import numpy as np

    from isthmus import match
    from isthmus.tasks.matching.problem import FEWEST_ROWS
    from isthmus.tasks.questions import propose_matches
    from isthmus.view.report.contents import align_cells
    from isthmus.view.review.session import ReviewTask

    first, second = inputs = read_inputs(options, (options.a, options.b), ("A", "B"), screen, least=FEWEST_ROWS)
    given = load_pairs(options.pairs, first, second, screen)
    columns = shared_columns(first, second, options, screen)
    side = int(len(second.ids) < len(first.ids))
    latest: dict[str, Matching] = {}
    stored = None if options.matches is None else _read_matches(options.matches, first, second)

    def propose(confirmed: IntArray, rejected: IntArray, reserved: BoolArray, progress: Report) -> Proposal:
        if stored is not None and not latest and not len(confirmed) + len(rejected):
            latest["found"] = stored
            return propose_matches(stored, side, reserved)
        pairs, wrong = (each[:, [side, 1 - side]] for each in (confirmed, rejected))
        known = pairs if given is None else np.unique(np.vstack([given, pairs]), axis=0)
        settings: dict[str, Any] = {"not_pairs": wrong, "shared": columns, "keep": "all", "progress": progress}
        settings |= {"scale": False, "random_state": options.seed, "one_to_one": not options.many_to_one}
        found = latest["found"] = match(first.X, second.X, known if len(known) else None, **settings)
        return propose_matches(found, side, reserved)

    def show(row: int, option: int) -> dict[str, Any]:
        rows = (option, row) if side else (row, option)
        cells = [_read_cells(each, k) for each, k in zip(inputs, rows, strict=True)]
        pair = align_cells(cells[0], cells[1], () if columns is None else columns.pairs)
        return {"files": [options.a.name, options.b.name], **asdict(pair)}

    def reveal(row: int, option: int) -> dict[str, Any]:
        found = latest["found"].explain(*((option, row) if side else (row, option)))
        parts = sorted(found.parts.items(), key=lambda part: -abs(part[1]))
        return {"probability": found.confidence, "parts": parts}

    ids = inputs[side].ids, inputs[1 - side].ids
    single = (not options.many_to_one, True) if side else (True, not options.many_to_one)
    known = frozenset() if given is None else frozenset((row[side], row[1 - side]) for row in given.tolist())
    return ReviewTask("match", *ids, side, propose, show, reveal, _write_command(options, "match"), single, known)


def _read_matches(path: Path, first: InputFile, second: InputFile) -> Matching:
    """Return the matches of a table that `isthmus match` wrote, without what they were chosen from."""
    import numpy as np

    from isthmus.io.tables.plan import read_pairs
    from isthmus.io.tables.read import read_table
    from isthmus.io.tables.table import read_numbers
    from isthmus.tasks.matching.result import Matching

    table, pairs = read_table(path), read_pairs(path, first.ids, second.ids)
    score, confidence = (read_numbers(table, name, strict=True) for name in ("score", "confidence"))
    nearest = np.full(len(first.ids), -1, np.intp)
    nearest[pairs[:, 0]] = pairs[:, 1]
    shape, said = (len(first.ids), len(second.ids)), f"{len(pairs):,} matches of {path}."
    return Matching(pairs, score, confidence, nearest, shape, None, said, None)


def make_label_task(options: argparse.Namespace, screen: Console) -> ReviewTask:
    """Return what is asked about classes of the target rows that have none."""
    import numpy as np

    from isthmus import LabelTransfer
    from isthmus.cli.label import read_labelled_inputs
    from isthmus.tasks.questions import propose_labels
    from isthmus.tasks.transfer.shared_evidence import make_shared_features
    from isthmus.view.review.session import ReviewTask

    options.source, options.target = options.a, options.b
    source, target, ys, given = read_labelled_inputs(options, screen)
    pairs = load_pairs(options.pairs, source, target, screen)
    columns = shared_columns(source, target, options, screen)
    shared = None if columns is None else make_shared_features(columns)
    asked = np.flatnonzero([label is None for label in given])
    classes = sorted({*ys} | {label for label in given if label is not None})
    latest: dict[str, Any] = {}

    def propose(confirmed: IntArray, rejected: IntArray, reserved: BoolArray, progress: Report) -> Proposal:
        known = given.copy()
        known[asked[confirmed[:, 0]]] = np.array(classes, dtype=object)[confirmed[:, 1]]
        model = LabelTransfer(random_state=options.seed, progress=progress)
        model.fit(source.X, ys, target.X, known, pairs=pairs, shared=shared)
        P = model.predict_proba(target.X[asked], shared=None if shared is None else shared.target[asked])
        P[tuple(rejected.T)] = 0.0
        P[tuple(confirmed.T)] = 1e9
        P /= np.maximum(P.sum(axis=1, keepdims=True), 1e-12)
        latest.update(P=P, model=model, known=known)
        labelled = np.isin(classes, [label for label in known if label is not None])
        return propose_labels(P, labelled, reserved)

    def show(row: int, option: int) -> dict[str, Any]:
        best = np.argsort(-latest["P"][row], kind="stable")[:GUESSES].tolist()
        guesses = [classes[c] for c in dict.fromkeys([option, *best])]
        near = _find_near(latest, source, target, int(asked[row]))
        cells = _read_cells(target, int(asked[row]))
        return {"file": options.b.name, "cells": cells, "guesses": guesses, "classes": classes, "near": near}

    def reveal(row: int, option: int) -> dict[str, Any]:
        p = latest["P"][row]
        order = np.argsort(-p, kind="stable")[:GUESSES]
        return {"probability": float(p[option]), "parts": [(classes[c], float(p[c])) for c in order]}

    ids = [target.ids[row] for row in asked]
    return ReviewTask(
        "label", ids, classes, 1, propose, show, reveal, _write_command(options, "label"), (True, False)
    )


def _find_near(latest: dict[str, Any], source: InputFile, target: InputFile, row: int) -> list[dict[str, Any]]:
    """Return the labelled rows that are nearest to a target row: of the source by classes, of the target by angle."""
    import numpy as np
    from sklearn.metrics.pairwise import cosine_similarity

    query, known = target.X[[row]], latest["known"]
    labelled = np.flatnonzero([label is not None for label in known])
    alike = cosine_similarity(query, target.X[labelled])[0]
    ours = labelled[np.argsort(-alike, kind="stable")[:NEAR]]
    theirs = latest["model"].kneighbors(query, NEAR)[1][0]
    return [
        {"file": side.table.path, "id": side.ids[k], "class": labels[k],
         "text": " · ".join(text for _, text in _read_cells(side, int(k)))[:EXCERPT]}
        for side, labels, rows in ((target, known, ours), (source, source.labels, theirs)) for k in rows
    ]  # fmt: skip


def _read_cells(side: InputFile, row: int) -> list[tuple[str, str]]:
    import numpy as np

    from isthmus.view.report.contents import list_cells

    return list_cells(side.table, side.plan, LONGEST_CELL, np.array([row]))[0]


def _write_command(options: argparse.Namespace, command: str) -> str:
    """Return the command that uses the decisions, with the options of the columns."""
    words = ["isthmus", command, options.a, options.b]
    for name in ("shared", "id", "text", "drop", "sep", "decimal"):
        words += [word for value in getattr(options, name) for word in (f"--{name}", value)]
    for name in ("label", "plan", "pairs", "decisions"):
        words += [f"--{name}", getattr(options, name)] if getattr(options, name) is not None else []
    words += ["--many-to-one"] * (options.many_to_one and command == "match") + ["--no-shared"] * options.no_shared
    words += ["-o", "labels.csv" if command == "label" else "matches.csv"]
    return shlex.join(map(str, words))
