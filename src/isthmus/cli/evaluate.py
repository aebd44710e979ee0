"""``isthmus evaluate``: whether the source helps, on the user's own rows.

Examples
--------
  isthmus evaluate english.csv french.csv --label section --id package --text description
  isthmus evaluate old.csv new.csv --label kind --system mlhd -o verdict.json

Labels of TARGET are held out in several random splits and predicted, so at least 20 labels are needed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from isthmus.cli.arguments import add_column_options, add_file_options, add_output_options, parse_count
from isthmus.cli.console import Console, check_output
from isthmus.cli.inputs import load_pairs, match_columns
from isthmus.cli.label import read_labelled_inputs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_file_options(parser, "SOURCE", "TARGET", "rows with labels", "rows with some labels, and other columns")
    add = parser.add_argument
    add("--system", default="auto", metavar="NAME", help="a name from `isthmus systems` (default: label-transfer)")
    add("--splits", type=int, metavar="N", help="number of random splits (default: by the number of rows)")
    add("-o", "--output", type=Path, metavar="FILE", help="write the verdict as JSON, for `isthmus report`")
    add("--seed", type=parse_count, default=0, metavar="N", help="random seed (default: 0)")
    add("--jobs", type=int, default=2, metavar="N", help="number of parallel splits (default: 2)")
    add_column_options(parser, label=True)
    add_output_options(parser)


def run(options: argparse.Namespace, screen: Console) -> None:
    """Measure, and print the verdict: one sentence first, the numbers under it."""
    check_output(options.output, options.source, options.target, options.pairs, options.plan)
    source, target, ys, yt = read_labelled_inputs(options, screen)
    pairs = load_pairs(options.pairs, source, target, screen)
    from isthmus import does_source_help

    known = {"pairs": pairs, "shared_columns": match_columns(source.features, target.features) or None}
    work = {"n_splits": options.splits, "n_jobs": options.jobs, "random_state": options.seed}
    settings: dict[str, Any] = {"system": options.system, "progress": screen.progress, **known, **work}
    verdict = does_source_help(source.X, ys, target.X, yt, **settings)
    table = str(verdict.table).splitlines()[1:] if verdict.rows else []
    screen.say("", verdict.sentence, "", *table)
    facts = {"source": source.facts, "target": target.facts} | verdict.to_dict()
    if options.output is not None:
        from isthmus.view.report.command_record import write_verdict

        write_verdict(options.output, facts)
        screen.say(f"The verdict is in {options.output}, for `isthmus report`.")
    screen.answer(facts)
