"""``isthmus label``: classes of the rows of one file, by another file with other columns."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.cli.console import Console, check_table_output
from isthmus.cli.inputs import load_pairs, read_inputs
from isthmus.cli.options import add_column_options, add_file_options, add_output_options, parse_count, shared_rows
from isthmus.exceptions import InputError

if TYPE_CHECKING:
    from isthmus._core.progress import Progress
    from isthmus.cli.inputs import InputFile

    Labelled = tuple[InputFile, InputFile, Any, Any]


EXAMPLES = """\
examples:
  isthmus label english.csv french.csv --label section --id package --text description -o labels.csv
  isthmus label rna.h5ad atac.h5ad --label cell_type -o labels.csv

A class that no row of TARGET is labelled with can still be given: by its place among the others.
"""
NAMED = 20
"""Classes that are named in one line."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add_file_options(parser, "SOURCE", "TARGET", ("rows with many labels", "rows with few labels, and other columns"))
    add = parser.add_argument
    add(
        "--pairs",
        type=Path,
        metavar="FILE",
        help="known pairs: two columns of ids, or those named source and target (none)",
    )
    add(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="id, class, probability, runner-up, given; FILE.json, for `isthmus report`, beside",
    )
    add("--reject-below", type=float, metavar="P", help="no class where the best has a smaller probability")
    add(
        "--check",
        type=parse_count,
        metavar="N",
        help="how often known labels are hidden and asked for (by the rows; 0: never)",
    )
    add("--seed", type=parse_count, default=0, metavar="N", help="of restarts and renamings (0)")
    add_column_options(parser, label=True)
    add_output_options(parser)


def read_labelled_inputs(options: argparse.Namespace, screen: Console) -> Labelled | None:
    """Both files and their labels; source rows without one are not used, a target without the column has none."""
    import numpy as np

    sides = read_inputs(options, (options.source, options.target), ("source", "target"), screen)
    if sides is None:
        return None
    source, target = sides
    if source.labels is None:
        raise InputError(f"{source.table.path}: expected a column of classes {options.label!r:.60}, got none.")
    source = source.select_labels()
    y_target = np.full(target.table.n_rows, None, dtype=object) if target.labels is None else target.labels
    screen.say(source.labels_line(), target.labels_line())
    return source, target, source.labels, y_target


def run(options: argparse.Namespace) -> None:
    """Learn, tell what the source did, write the classes."""
    import numpy as np

    screen = Console.of(options)
    check_table_output(options.output, options.source, options.target, options.pairs, options.plan)
    found = read_labelled_inputs(options, screen)
    if found is None:
        return
    source, target, ys, yt = found
    pairs = load_pairs(options.pairs, source, target, screen)
    from isthmus import LabelTransfer
    from isthmus.view.report.rows import record_path, write_record

    model = LabelTransfer(reject_below=options.reject_below, random_state=options.seed, progress=screen.progress).fit(
        source.X, ys, target.X, yt, pairs=pairs
    )
    screen.say("", model.verdict_, *_list_unlabelled_classes(model.unlabelled_classes_))
    given = np.array([label is not None for label in yt])
    P, called = model.predict_proba(target.X), np.where(given, yt, model.predict(target.X))
    none = sum(label is None for label in called[~given])
    screen.say(
        f"{int((~given).sum()):,} rows without a label got a class" + (f", but for {none:,}." if none else ".")
    )
    with screen.bar("label") as bar:
        control = _hold_out_labels(options, model, found, pairs, bar)
    screen.say(control["sentence"])
    facts = {
        "source": source.facts,
        "target": target.facts,
        "verdict": model.verdict_,
        "source_used": bool(model.source_used_),
        "classes": [str(c) for c in model.classes_],
        "unlabelled_classes": [str(c) for c in model.unlabelled_classes_],
        "rejected": int(none),
        "held_back": control,
        "output": None if options.output is None else str(options.output),
    }
    if options.output is not None:
        _write_labels(options.output, target.ids, model.classes_, P, called, given)
        if not write_record(options.output, "label", facts, {"source": source.plan, "target": target.plan}):
            screen.say(f"{record_path(options.output)} is another file, and was left as it is.")
        screen.say(f"The classes are in {options.output}.")
    screen.answer(facts)


def _list_unlabelled_classes(classes: Any) -> list[str]:
    """The classes that no target row is labelled with, for the screen."""
    names = ", ".join(map(str, classes[:NAMED])) + (
        f" and {len(classes) - NAMED:,} more" if len(classes) > NAMED else ""
    )
    return [f"Without a label in the target: {names}."] if len(classes) else []


def _hold_out_labels(
    options: argparse.Namespace, model: Any, sides: Labelled, pairs: Any, bar: Progress
) -> dict[str, Any]:
    """How many known labels are found when they are hidden, beside the words and columns that both files share."""
    from sklearn.base import clone

    from isthmus.study.source_value.problem import hold_out_labels

    source, target, ys, yt = sides
    if options.check == 0 or len({label for label in yt if label is not None}) < 2:
        seen = None
    else:
        system, shared = clone(model).set_params(progress=False, reject_below=None), shared_rows(source, target)
        asked = {"pairs": pairs, "shared": shared, "times": options.check, "random_state": options.seed}

        def report(done: int, times: int) -> None:
            bar.report(f"measuring on held-out labels: {done + 1} of {times}", done / times)

        seen = hold_out_labels(source.X, ys, target.X, yt, system, progress=report, **asked)
    if seen is None:
        why = (
            "was not asked" if options.check == 0 else "can't be told: it takes classes with two labels in the target"
        )
        return {"labels": 0, "accuracy": None, "sentence": f"How many are right {why}."}
    low, high = seen.interval
    never = sum(label is not None for label in yt) - seen.tested
    others = f" (the other {never:,} of the target {'was' if never == 1 else 'were'} never hidden)" if never else ""
    columns = 0 if shared is None else int(shared[0].shape[1])
    alone = f"these alone find {seen.shared:.0%}" if columns else "nothing to compare with"
    return {
        "labels": seen.tested,
        "accuracy": seen.accuracy,
        "interval": seen.interval,
        "shared_columns": columns,
        "shared_accuracy": seen.shared,
        "sentence": f"Of {seen.tested:,} known labels{others}, half of them hidden at a time, {seen.accuracy:.0%} "
        f"were found [{low:.0%}, {high:.0%}]; the files share {columns:,} words or columns: {alone}.",
    }


def _write_labels(path: Path, ids: Any, classes: Any, P: Any, called: Any, given: Any) -> None:
    import numpy as np

    from isthmus.io.tables.write import write_table

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
