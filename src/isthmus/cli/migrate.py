"""``isthmus migrate``: search an old index of vectors with vectors of a new model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus._core.files import check_folder, fill_folder, write_whole
from isthmus.cli.console import Console
from isthmus.cli.inputs import load_pairs, read_inputs
from isthmus.cli.options import add_column_options, add_file_options, add_output_options, parse_count
from isthmus.exceptions import InputError

if TYPE_CHECKING:
    from isthmus.tasks.migration.result import Adapter

EXAMPLES = """\
examples:
  isthmus migrate old.npy new.npy -o adapter/                       # row i of both is the same object
  isthmus migrate old.parquet new.parquet --id doc --pairs pairs.csv -o adapter/

Files written to FOLDER: adapter.npz (for isthmus.Adapter.load), matrix.npy (the matrix from new to old vectors, with
the offset as its last row; only for affine maps) and recall.txt (recall on held-out pairs).
"""
# With more features than this, fitting takes minutes.
MANY = 2000
FILES = "adapter.npz", "recall.txt", "matrix.npy"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_file_options(parser, "OLD", "NEW", ("vectors of the old model", "vectors of the new model"), "row by row")
    add = parser.add_argument
    add("-o", "--output", type=Path, metavar="FOLDER", help="folder to write the adapter to")
    kinds = "kind of map: auto, ridge, procrustes, low_rank or kernel_ridge (default: auto)"
    add("--kind", default="auto", metavar="NAME", help=kinds)
    add("--seed", type=parse_count, default=0, metavar="N", help="random seed (default: 0)")
    add_column_options(parser, label=False)
    add_output_options(parser)


def run(options: argparse.Namespace) -> None:
    """Fit an adapter, print the figures of held-out pairs, write it."""
    screen = Console.of(options)
    if options.output is not None:
        check_folder(options.output)
    sides = read_inputs(options, (options.old, options.new), ("old", "new"), screen, scale=False)
    if sides is None:
        return
    old, new = sides
    pairs = load_pairs(options.pairs, old, new, screen)
    if pairs is None and old.table.n_rows != new.table.n_rows:
        got = f"none, and {old.table.n_rows:,} and {new.table.n_rows:,} rows"
        raise InputError(f"--pairs: expected known pairs, or files whose rows are the same objects, got {got}.")
    if max(old.X.shape[1], new.X.shape[1]) > MANY:
        screen.say(f"With more than {MANY:,} features this takes minutes; reduce texts by `components` in --plan.")
    from isthmus import migrate
    from isthmus.io.onnx import export_map

    known = "rows" if pairs is None else pairs
    adapter = migrate(old.X, new.X, known, kind=options.kind, random_state=options.seed, progress=screen.progress)
    recall, lines = adapter.recall, _describe(adapter)
    screen.say("", *lines)
    if options.output is not None:
        with fill_folder(options.output, FILES) as folder:
            adapter.save(folder / "adapter.npz")
            write_whole(folder / "recall.txt", "\n".join([*lines, ""]).encode())
            if adapter.kind != "kernel_ridge":
                export_map(adapter, folder / "matrix.npy")
        screen.say(f"The adapter is in {options.output}.")
    screen.answer(
        {
            "old": old.facts,
            "new": new.facts,
            "kind": adapter.kind,
            "pairs": adapter.n_pairs,
            "learned_from": list(recall.n_pairs),
            "recall_at_1": [float(row[0]) for row in recall.at_1],
            "recall_at_10": [float(row[0]) for row in recall.at_10],
            "action": adapter.advice.action,
            "advice": str(adapter.advice),
            "output": None if options.output is None else str(options.output),
        }
    )


def _describe(adapter: Adapter) -> list[str]:
    """Return the advice, the learning curve and the controls, for the screen and ``recall.txt``."""
    recall = adapter.recall
    curve = [f"    {n:,}: {figures}" for n, figures in zip(recall.n_pairs, recall.figures, strict=True)]
    controls = [f"    {name}: {figures}" for name, figures in recall.controls.items()]
    head = [repr(adapter).strip("<>"), str(recall), adapter.sentence]
    return [*head, "By the number of pairs learned from:", *curve, "Controls:", *controls]
