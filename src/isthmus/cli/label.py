"""``isthmus label``: classes of the rows of one file, by another file with other columns.

Examples
--------
  isthmus label english.csv french.csv --label section --id package --text description -o labels.csv
  isthmus label rna.h5ad atac.h5ad --label cell_type -o labels.csv

Rows can also get a class that has no label in TARGET: it is inferred from the geometry of the classes in SOURCE.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus._core.files import show_path
from isthmus.cli.arguments import FIRST_IDS, add_column_options, add_file_options, add_output_options, parse_count
from isthmus.cli.console import Console, check_table_output
from isthmus.cli.inputs import load_decisions, load_pairs, read_inputs, shared_columns, shared_rows
from isthmus.exceptions import InputError

if TYPE_CHECKING:
    from isthmus.cli.inputs import InputFile
    from isthmus.tasks.transfer.result import AssignedLabels

    Labelled = tuple[InputFile, InputFile, Any, Any]


# Classes that one line lists.
LISTED = 20


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    what = ("rows with many labels", "rows with few labels, and other columns")
    add_file_options(parser, "SOURCE", "TARGET", *what, shared=True)
    add = parser.add_argument
    table = "table of id, class, probability, runner-up; FILE.json, for `isthmus report`, is written next to it"
    add("-o", "--output", type=Path, metavar="FILE", help=table)
    add("--reject-below", type=float, metavar="P", help="assign no class if the best one has a probability below P")
    check = "rounds of testing on held-out labels, 0 for none (default: 1 to 3, by the number of rows)"
    add("--check", type=parse_count, metavar="N", help=check)
    add("--decisions", type=Path, metavar="FILE", help="answers of `isthmus review --label`: more labels of TARGET")
    add("--seed", type=parse_count, default=0, metavar="N", help="random seed (default: 0)")
    add_column_options(parser, label=True, ids=FIRST_IDS)
    add_output_options(parser)


def read_labelled_inputs(options: Namespace, screen: Console) -> Labelled:
    """Read both files and their labels; source rows without one are not used, a target may lack the column."""
    import numpy as np

    source, target = read_inputs(options, (options.source, options.target), ("source", "target"), screen)
    for side in (source, target):
        if not side.given_labels and (side is source or options.pairs is None):
            where = f"{side.table.path}, column {show_path(repr(options.label)[:60])}"
            raise InputError(f"{where}: expected the class of at least one row, got none; fill in the class of some.")
    source = source.select_labels()
    y_target = np.full(target.table.n_rows, None, dtype=object) if target.labels is None else target.labels
    screen.say(source.labels_line(), target.labels_line())
    ours, theirs = {*source.given_labels}, {*target.given_labels}
    if theirs and not ours & theirs:
        names = " and ".join(f"{min(some)!r:.40}" for some in (ours, theirs))
        screen.say(f"Warning: no class has a label in both files, which have {names}; are the same classes meant?")
    return source, target, source.labels, y_target


def run(options: Namespace, screen: Console) -> None:
    """Fit, report whether the source was used, write the classes."""
    check_table_output(options.output, options.source, options.target, options.pairs, options.plan, options.decisions)
    source, target, ys, yt = inputs = read_labelled_inputs(options, screen)
    if len(target.given_labels) == len(yt):
        screen.say(f"Warning: all rows of {target.table.path} have a class; empty the cells to be predicted.")
    classes = sorted({*ys, *(label for label in yt if label is not None)})
    decided = load_decisions(options.decisions, classes, target.ids, screen)
    for c, row in decided["y"]:
        yt[row] = classes[c]
    pairs = load_pairs(options.pairs, source, target, screen)
    columns = shared_columns(source, target, options, screen)
    from isthmus import LabelTransfer
    from isthmus.tasks.transfer.shared_evidence import make_shared_features
    from isthmus.view.report.command_record import write_record

    shared = None if columns is None else make_shared_features(columns)
    model = LabelTransfer(reject_below=options.reject_below, random_state=options.seed, progress=screen.progress)
    model.fit(source.X, ys, target.X, yt, pairs=pairs, shared=shared)
    screen.say("", model.answer_.sentence, *_list_unlabelled_classes(model.unlabelled_classes_))
    assigned = model.assign_labels(target.X, yt, None if shared is None else shared.target)
    _replace_rejected_classes(assigned, [(classes[c], row) for c, row in decided["n"]])
    screen.say(assigned.sentence)
    held_out = _hold_out_labels(options, model, inputs, pairs, shared, screen)
    screen.say(held_out["sentence"])
    facts = {
        "source": source.facts,
        "target": target.facts,
        "verdict": model.answer_.sentence,
        "source_used": model.source_used_,
        "classes": [str(c) for c in model.classes_],
        "unlabelled_classes": [str(c) for c in model.unlabelled_classes_],
        "rejected": assigned.n_rejected,
        "shared_columns": [] if columns is None else [list(pair) for pair in columns.pairs],
        "held_out": held_out,
        "output": None if options.output is None else str(options.output),
    }
    if options.output is not None:
        _write_labels(options.output, target.ids, assigned)
        screen.say(*write_record(options.output, "label", facts, source.plan, target.plan))
        screen.say(f"The classes are in {options.output}.")
    screen.answer(facts)


def _list_unlabelled_classes(classes: Any) -> list[str]:
    """Return the line of the classes without a labelled target row, if there are any."""
    more = f" and {len(classes) - LISTED:,} more" if len(classes) > LISTED else ""
    names = ", ".join(map(str, classes[:LISTED])) + more
    return [f"Without a label in the target: {names}."] if len(classes) else []


def _replace_rejected_classes(assigned: AssignedLabels, rejected: list[tuple[str, int]]) -> None:
    """Give rows whose class a person has rejected the second most likely one."""
    both = (assigned.labels, assigned.runner_up), (assigned.probability, assigned.runner_up_probability)
    for name, row in rejected:
        if assigned.labels[row] == name and not assigned.given[row]:
            for best, second in both:
                best[row], second[row] = second[row], best[row]


def _hold_out_labels(
    options: Namespace, model: Any, inputs: Labelled, pairs: Any, features: Any, screen: Console
) -> dict[str, Any]:
    """Return the accuracy on held-out labels, and that of the words and columns that both files share, for JSON."""
    from sklearn.base import clone

    from isthmus.study.source_value.evidence import hold_out_labels

    if options.check == 0:
        return {"accuracy": None, "sentence": "Held-out labels: not measured (--check 0)."}
    source, target, ys, yt = inputs
    system = clone(model).set_params(progress=False, reject_below=None)
    # Where no column is shared, words of any columns are the baseline.
    shared = shared_rows(source, target) if features is None else (features.source, features.target)
    settings: dict[str, Any] = {"pairs": pairs, "shared": shared, "learns_shared": features is not None}
    settings |= {"times": options.check, "random_state": options.seed}
    with screen.bar("label") as bar:
        settings["progress"] = lambda done, n: bar.report(f"held-out labels: {done + 1} of {n}", done / n)
        found = hold_out_labels(source.X, ys, target.X, yt, system, **settings)
    if found is None:
        why = "Held-out labels: not measured; it takes two classes, one of them with two labels, in the target."
        return {"accuracy": None, "sentence": why}
    return found.to_dict()


def _write_labels(path: Path, ids: Any, assigned: AssignedLabels) -> None:
    from isthmus.io.tables.write import write_table

    columns = {
        "id": list(ids),
        "class": list(assigned.labels),
        "probability": [None if p != p else float(p) for p in assigned.probability],  # NaN: rejected
        "runner_up": list(assigned.runner_up),
        "runner_up_probability": assigned.runner_up_probability,
        "given": assigned.given,
    }
    write_table(path, columns)
