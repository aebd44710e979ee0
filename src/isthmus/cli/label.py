"""``isthmus label``: classes of the rows of one file, by another file with other columns."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.cli.arguments import add_columns, add_files, add_speech
from isthmus.cli.outputs import require_table
from isthmus.cli.screen import Screen
from isthmus.cli.sides import both_sides, known_pairs
from isthmus.exceptions import InputError

if TYPE_CHECKING:
    from isthmus.cli.sides import Side

EXAMPLES = """\
examples:
  isthmus label english.csv french.csv --label section --id package --text description -o labels.csv
  isthmus label rna.h5ad atac.h5ad --label cell_type -o labels.csv

A class that no row of TARGET is labelled with can still be given: by its place among the others.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add_files(parser, "SOURCE", "TARGET", ("rows with many labels", "rows with few labels, and other columns"))
    add = parser.add_argument
    add("--pairs", type=Path, metavar="FILE", help="known pairs: two columns, ids of SOURCE and of TARGET (none)")
    add("-o", "--output", type=Path, metavar="FILE", help="id, class, probability, runner-up, given")
    add("--reject-below", type=float, metavar="P", help="no class where the best has a smaller probability")
    add("--seed", type=int, default=0, metavar="N", help="of restarts and renamings (0)")
    add_columns(parser, label=True)
    add_speech(parser)


def labelled_sides(options: argparse.Namespace, screen: Screen) -> tuple[Side, Side, Any, Any] | None:
    """Both files and their labels; a target without the column has none."""
    import numpy as np

    sides = both_sides(options, (options.source, options.target), ("source", "target"), screen)
    if sides is None:
        return None
    source, target = sides
    if source.labels is None:
        raise InputError(f"{source.table.path}: expected a column of classes {options.label!r:.60}, got none.")
    y_target = np.full(target.table.n_rows, None, dtype=object) if target.labels is None else target.labels
    for side, y in ((source, source.labels), (target, y_target)):
        given = [label for label in y if label is not None]
        screen.say(f"{side.name}: {len(given):,} labels of {len(set(given))} classes")
    return source, target, source.labels, y_target


def run(options: argparse.Namespace) -> None:
    """Learn, tell what the source did, write the classes."""
    import numpy as np

    screen = Screen.of(options)
    require_table(options.output, options.source, options.target, options.pairs, options.plan)
    found = labelled_sides(options, screen)
    if found is None:
        return
    source, target, ys, yt = found
    pairs = known_pairs(options.pairs, source, target, screen)
    from isthmus import LabelTransfer

    model = LabelTransfer(reject_below=options.reject_below, random_state=options.seed, progress=screen.progress).fit(
        source.X, ys, target.X, yt, pairs=pairs
    )
    screen.say("", model.verdict_)
    given = np.array([label is not None for label in yt])
    P, called = model.predict_proba(target.X), np.where(given, yt, model.predict(target.X))
    none = sum(label is None for label in called[~given])
    screen.say(
        f"{int((~given).sum()):,} rows without a label got a class" + (f", but for {none:,}." if none else ".")
    )
    if options.output is not None:
        _write(options.output, target.ids, model.classes_, P, called, given)
        screen.say(f"They are in {options.output}.")
    screen.answer(
        {
            "source": source.facts,
            "target": target.facts,
            "verdict": model.verdict_,
            "source_used": bool(model.source_used_),
            "classes": [str(c) for c in model.classes_],
            "unlabelled_classes": [str(c) for c in model.unlabelled_classes_],
            "rejected": int(none),
            "output": None if options.output is None else str(options.output),
        }
    )


def _write(path: Path, ids: Any, classes: Any, P: Any, called: Any, given: Any) -> None:
    import numpy as np

    from isthmus.tables import write_table

    # A row that was rejected has no class: the best one is told as its runner-up.
    best = np.array([-1 if label is None else int(np.flatnonzero(classes == label)[0]) for label in called])
    rows, found = np.arange(len(P)), best >= 0
    others = P.copy()
    others[rows[found], best[found]] = -1.0
    second = others.argmax(axis=1)
    write_table(
        path,
        {
            "id": list(ids),
            "class": list(called),
            "probability": [float(P[i, c]) if c >= 0 else None for i, c in enumerate(best)],
            "runner_up": [classes[c] for c in second],
            "runner_up_probability": P[rows, second],
            "given": given,
        },
    )
