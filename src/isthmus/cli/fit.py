"""``isthmus fit``: one metric over two files, kept in a file of its own."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.cli.arguments import add_columns, add_files, add_speech
from isthmus.cli.outputs import require_output
from isthmus.cli.screen import Screen
from isthmus.cli.sides import both_sides, known_pairs, pairs_by_id
from isthmus.exceptions import DataWarning, InputError

if TYPE_CHECKING:
    from isthmus.cli.sides import Side

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
    add_files(parser, "SOURCE", "TARGET", ("rows of one collection", "rows of the other"))
    add = parser.add_argument
    add("--pairs", type=Path, metavar="FILE", help="known pairs: two columns, ids of SOURCE and of TARGET (none)")
    add("--system", metavar="NAME", help="a name of `isthmus systems` (by what is known)")
    add("-o", "--output", type=Path, metavar="MODEL", help="the file that the model goes to; needed to fit")
    add_columns(parser, label=True, required=False)
    add_speech(parser)


def run(options: argparse.Namespace) -> None:
    """Learn, tell what came of it, write the model."""
    screen = Screen.of(options)
    from isthmus.files.container import safetensors_library

    safetensors_library()  # what is missing is told before the work
    require_output(options.output, options.source, options.target, options.pairs, options.plan)
    sides = both_sides(options, (options.source, options.target), ("source", "target"), screen)
    if sides is None:
        return
    if options.output is None:
        raise InputError("-o: expected the file that the model goes to, got none.")
    source, target = sides
    pairs = known_pairs(options.pairs, source, target, screen)
    has_labels = source.labels is not None and target.labels is not None
    if pairs is None and not has_labels:
        pairs = pairs_by_id(source, target, screen)
    if pairs is None and not has_labels:
        raise InputError(
            "fit: expected labels in both files (--label), known pairs (--pairs) or ids that both files have (--id), "
            "got neither."
        )
    if pairs is None:  # with pairs, rows without a label are learned from too
        source = source.labelled()
    if source.labels is not None or target.labels is not None:
        screen.say(source.labels_line(), target.labels_line())
    from isthmus import save, systems

    name = options.system or (LABELS if pairs is None else PAIRS)
    model, told = _fitted(systems()[name].make(), source, target, pairs, screen)
    known = {"source": source.features.to_parts(), "target": target.features.to_parts()}
    from isthmus.report.learned import PART, Learned

    learned = Learned.of(model, name, told, target.table, target.plan)
    save(model, options.output, parts=known | {PART: learned.to_part()})
    certificate = getattr(model, "result_", None)
    screen.say("", f"{name}: {_summary(model)}", *([] if certificate is None else [str(certificate)]))
    screen.say(*(f"Mind: {words}" for words in told), f"The model is in {options.output}.")
    screen.answer(
        {
            "source": source.facts,
            "target": target.facts,
            "system": name,
            "pairs": None if pairs is None else len(pairs),
            "certificate": None if certificate is None else str(certificate),
            "warnings": told,
            "output": str(options.output),
        }
    )


def _fitted(system: Any, source: Side, target: Side, pairs: Any, screen: Screen) -> tuple[Any, list[str]]:
    """The system after it has learned, and what it said of the data."""
    if "progress" in system.get_params(deep=False):
        system.set_params(progress=screen.progress)
    known = {} if pairs is None else {"pairs": pairs}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        model = system.fit(source.X, source.labels, target.X, target.labels, **known)
    return model, [str(warning.message) for warning in caught]


def _summary(model: Any) -> str:
    classes = getattr(model, "classes_", None)
    named = "" if classes is None or not len(classes) else f", {len(classes)} classes"
    return f"{type(model).__name__}{named}"
