"""``isthmus match``: which rows of two files are the same object."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.cli.console import Console, check_table_output
from isthmus.cli.inputs import load_pairs, read_inputs
from isthmus.cli.options import add_column_options, add_file_options, add_output_options, parse_count, shared_rows

if TYPE_CHECKING:
    from isthmus.cli.inputs import InputFile
    from isthmus.tasks.matching.result import Matching


EXAMPLES = """\
examples:
  isthmus match english.csv french.csv --id package --text description --pairs known.csv -o matches.csv
  isthmus match rna.h5ad atac.h5ad -o matches.csv
  isthmus match a.csv b.csv --plan plan.toml            # writes what the columns are; change it, and run it again
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add_file_options(parser, "A", "B", ("rows of one collection", "rows of the other"))
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
        help="the matches; FILE.json, for `isthmus report`, comes beside it",
    )
    add("--all", action="store_true", help="matches of little confidence too, and those of a matching that failed")
    add("--seed", type=parse_count, default=0, metavar="N", help="which candidates are hidden (0)")
    add("--jobs", type=int, default=2, metavar="N", help="runs at the same time (2)")
    add_column_options(parser, label=False)
    add_output_options(parser)


def run(options: argparse.Namespace) -> None:
    """Match, tell the verdict, write the matches."""
    screen = Console.of(options)
    check_table_output(options.output, options.a, options.b, options.pairs, options.plan)
    sides = read_inputs(options, (options.a, options.b), ("A", "B"), screen)
    if sides is None:
        return
    first, second = sides
    ids = first.ids, second.ids
    pairs = load_pairs(options.pairs, first, second, screen)
    from isthmus import match
    from isthmus.io.tables.write import write_table
    from isthmus.view.report.rows import record_path, write_record

    found = match(
        first.X,
        second.X,
        pairs,
        keep="all" if options.all else "sure",
        source_transformer=None,
        target_transformer=None,
        random_state=options.seed,
        n_jobs=options.jobs,
        progress=screen.progress,
    )
    screen.say("", f"{found}")
    control = _shared_control(found, pairs, first, second)
    screen.say(control["sentence"])
    facts = {
        "a": first.facts,
        "b": second.facts,
        "succeeded": found.succeeded,
        "verdict": found.verdict,
        "matches": len(found),
        "held_back_recall": found.held_back_recall,
        "held_back_interval": found.held_back_interval,
        "shuffled_recall": found.shuffled_recall,
        "shared": control,
        "output": None if options.output is None else str(options.output),
    }
    if options.output is not None:
        write_table(
            options.output,
            {
                "source": [ids[0][i] for i in found.pairs[:, 0]],
                "target": [ids[1][j] for j in found.pairs[:, 1]],
                "score": found.score,
                "confidence": found.confidence,
            },
        )
        if not write_record(options.output, "match", facts, {"source": first.plan, "target": second.plan}):
            screen.say(f"{record_path(options.output)} is another file, and was left as it is.")
        none = f"No match is in {options.output}{'' if options.all else '; --all writes doubtful ones too'}."
        screen.say(f"The matches are in {options.output}." if len(found) else none)
    screen.answer(facts)


def _shared_control(found: Matching, pairs: Any, first: InputFile, second: InputFile) -> dict[str, Any]:
    """What the words and columns that both files share find by themselves, of the pairs that were held back."""
    import numpy as np

    from isthmus.evidence.held_out import measure_shared_recall

    shared = shared_rows(first, second)
    if shared is None:
        return {"columns": 0, "recall": None, "sentence": "The files share no words or columns to compare with."}
    columns, asked = int(shared[0].shape[1]), found.held_back_pairs
    said = f"The files share {columns:,} words or columns"
    if not len(asked):
        return {"columns": columns, "recall": None, "sentence": f"{said}; what these find alone takes pairs to tell."}
    others = np.setdiff1d(pairs[:, 1], asked[:, 1])
    recall = measure_shared_recall(*shared, asked, others)
    which = f"of the {len(asked)} pairs that were held back"
    return {"columns": columns, "recall": recall, "sentence": f"{said}: these alone find {recall:.0%} {which}."}
