"""``isthmus fit``: one metric over two files, kept in a file of its own."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.cli.console import Console, check_output
from isthmus.cli.inputs import load_pairs, pair_by_id, read_inputs
from isthmus.cli.options import ENOUGH, add_column_options, add_file_options, add_output_options, hold_out_pairs
from isthmus.exceptions import DataWarning, InputError

if TYPE_CHECKING:
    from isthmus.cli.inputs import InputFile
    from isthmus.cli.options import HeldOutPairs


EXAMPLES = """\
examples:
  isthmus fit english.csv french.csv --id package --text description --pairs known.csv -o translations.isthmus
  isthmus fit rna.h5ad atac.h5ad --label cell_type -o cells.isthmus
  isthmus fit a.csv b.csv --label kind --system mlhd-rbf -o kinds.isthmus
  isthmus fit a.csv b.csv --label kind --plan plan.toml          # writes what the columns are, to be changed

The system is ridge maps both ways where pairs are known, and MLHD where labels are. `isthmus systems` has the others.
Without --pairs and labels, rows with the same id in both files (--id) are the pairs.
The file is for `isthmus search`, `isthmus embed` and `isthmus inspect`, and for isthmus.load in Python.
"""
PAIRS, LABELS = "ridge", "mlhd"
"""What is learned with, where no system is asked for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add_file_options(parser, "SOURCE", "TARGET", ("rows of one collection", "rows of the other"))
    add = parser.add_argument
    add(
        "--pairs",
        type=Path,
        metavar="FILE",
        help="known pairs: two columns of ids, or those named source and target (none)",
    )
    add("--system", metavar="NAME", help="a name of `isthmus systems` (by what is known)")
    add("-o", "--output", type=Path, metavar="MODEL", help="the file that the model goes to; needed to fit")
    add_column_options(parser, label=True, required=False)
    add_output_options(parser)


def run(options: argparse.Namespace) -> None:
    """Learn, tell what came of it, write the model."""
    screen = Console.of(options)
    from isthmus.io.model_file import import_skops

    import_skops()  # what is missing is told before the work
    check_output(options.output, options.source, options.target, options.pairs, options.plan)
    sides = read_inputs(options, (options.source, options.target), ("source", "target"), screen)
    if sides is None:
        return
    if options.output is None:
        raise InputError("-o: expected the file that the model goes to, got none.")
    source, target = sides
    pairs = load_pairs(options.pairs, source, target, screen)
    has_labels = source.labels is not None and target.labels is not None
    if pairs is None and not has_labels:
        pairs = pair_by_id(source, target, screen)
    if pairs is None and not has_labels:
        raise InputError(
            "fit: expected labels in both files (--label), known pairs (--pairs) or ids that both files have (--id), "
            "got neither."
        )
    if pairs is None:  # with pairs, rows without a label are learned from too
        source = source.select_labels()
    if source.labels is not None or target.labels is not None:
        screen.say(source.labels_line(), target.labels_line())
    from isthmus import save, systems

    name = options.system or (LABELS if pairs is None else PAIRS)
    system = systems()[name]
    check = None
    with screen.bar("fit") as bar:
        bar.report("learning")
        model, told = _fit_system(system.make(), source, target, pairs, screen)
        if pairs is not None:
            bar.report("measuring on held-out pairs", 0.5)  # of two fits, one is done
            check = hold_out_pairs(
                lambda some: _fit_system(system.make(), source, target, some, screen)[0], source, target, pairs
            )
            told += _warn_about_pairs(pairs, check)
    from isthmus.view.report.model import PART, FitRecord

    record = FitRecord.of(model, name, told, target.table, target.plan)
    parts = {"source": source.features, "target": target.features, PART: record.to_part()}
    save(model, options.output, parts=parts)
    certificate = getattr(model, "result_", None)
    screen.say("", f"{name}: {type(model).__name__} of {_describe_inputs(source, target, pairs)}")
    screen.say(*([] if certificate is None else [str(certificate)]), *([] if check is None else [check.sentence]))
    screen.say(*(f"Mind: {words}" for words in told), f"The model is in {options.output}.")
    screen.say(*([] if pairs is None else ["For a one-to-one matching use `isthmus match`."]))
    screen.answer(
        {
            "source": source.facts,
            "target": target.facts,
            "system": name,
            "pairs": None if pairs is None else len(pairs),
            "held_back": None if check is None else check.facts,
            "certificate": None if certificate is None else str(certificate),
            "warnings": told,
            "output": str(options.output),
        }
    )


def _fit_system(
    system: Any, source: InputFile, target: InputFile, pairs: Any, screen: Console
) -> tuple[Any, list[str]]:
    """The system after it has learned, and what it said of the data."""
    if "progress" in system.get_params(deep=False):
        system.set_params(progress=screen.progress)
    known = {} if pairs is None else {"pairs": pairs}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        model = system.fit(source.X, source.labels, target.X, target.labels, **known)
    return model, list(dict.fromkeys(str(warning.message) for warning in caught))


def _describe_inputs(source: InputFile, target: InputFile, pairs: Any) -> str:
    """What was learned from: rows, features, labels, pairs."""
    sides = [f"{side.table.n_rows:,} rows with {side.X.shape[1]:,} features" for side in (source, target)]
    counts = [side.facts["labels"] for side in (source, target)]
    parts = [f"{counts[0]:,} and {counts[1]:,} labels"] * any(counts)
    parts += [] if pairs is None else [f"{len(pairs):,} pair{'s' * (len(pairs) > 1)}"]
    return f"{sides[0]} and {sides[1]}, by {' and '.join(parts)}."


def _warn_about_pairs(pairs: Any, check: HeldOutPairs | None) -> list[str]:
    """What speaks against what was learned from pairs."""
    if len(pairs) < ENOUGH:
        return [f"with fewer than {ENOUGH} known pairs, none can be held back to tell whether these are enough."]
    return [check.warning] if check is not None and check.warning else []
