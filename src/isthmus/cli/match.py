"""``isthmus match``: find the rows of two files that are the same object."""

from __future__ import annotations

import argparse
from pathlib import Path

from isthmus.cli.console import Console, check_table_output
from isthmus.cli.inputs import load_pairs, read_inputs, shared_rows
from isthmus.cli.options import add_column_options, add_file_options, add_output_options, parse_count

EXAMPLES = """\
examples:
  isthmus match english.csv french.csv --id package --text description --pairs known.csv -o matches.csv
  isthmus match rna.h5ad atac.h5ad -o matches.csv
  isthmus match a.csv b.csv --plan plan.toml            # writes the detected column types; edit them and run it again
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_file_options(parser, "A", "B", ("rows of one collection", "rows of the other"), "none")
    add = parser.add_argument
    table = "table of matches; FILE.json, for `isthmus report`, is written next to it"
    add("-o", "--output", type=Path, metavar="FILE", help=table)
    add("--all", action="store_true", help="also write matches of low confidence, and those of a failed matching")
    add("--seed", type=parse_count, default=0, metavar="N", help="random seed (default: 0)")
    add("--jobs", type=int, default=2, metavar="N", help="number of parallel runs (default: 2)")
    add_column_options(parser, label=False)
    add_output_options(parser)


def run(options: argparse.Namespace) -> None:
    """Match, print the verdict, write the matches."""
    screen = Console.of(options)
    check_table_output(options.output, options.a, options.b, options.pairs, options.plan)
    sides = read_inputs(options, (options.a, options.b), ("A", "B"), screen)
    if sides is None:
        return
    first, second = sides
    pairs = load_pairs(options.pairs, first, second, screen)
    from isthmus import match
    from isthmus.io.tables.write import write_table
    from isthmus.view.report.command_record import write_record

    found = match(
        first.X,
        second.X,
        pairs,
        shared=shared_rows(first, second),
        keep="all" if options.all else "sure",
        source_transformer=None,
        target_transformer=None,
        random_state=options.seed,
        n_jobs=options.jobs,
        progress=screen.progress,
    )
    screen.say("", str(found), str(found.baseline))
    facts = {
        "a": first.facts,
        "b": second.facts,
        "succeeded": found.ok,
        "verdict": found.sentence,
        "matches": len(found),
        "recall": found.recall,
        "recall_interval": found.recall_interval,
        "shuffled_recall": found.shuffled_recall,
        "shared": found.baseline.to_dict(),
        "output": None if options.output is None else str(options.output),
    }
    if options.output is not None:
        columns = {
            "source": [first.ids[i] for i in found.pairs[:, 0]],
            "target": [second.ids[j] for j in found.pairs[:, 1]],
            "score": found.score,
            "confidence": found.confidence,
        }
        write_table(options.output, columns)
        plans = {"source": first.plan, "target": second.plan}
        screen.say(*write_record(options.output, "match", facts, plans))
        none = f"{options.output} has no matches{'' if options.all else '; --all writes doubtful ones too'}."
        screen.say(f"The matches are in {options.output}." if len(found) else none)
    screen.answer(facts)
