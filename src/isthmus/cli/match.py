"""``isthmus match``: which rows of two files are the same object."""

from __future__ import annotations

import argparse
from pathlib import Path

from isthmus.cli.arguments import add_columns, add_files, add_speech
from isthmus.cli.outputs import require_table
from isthmus.cli.screen import Screen
from isthmus.cli.sides import both_sides, known_pairs

EXAMPLES = """\
examples:
  isthmus match english.csv french.csv --id package --text description --pairs known.csv -o matches.csv
  isthmus match rna.h5ad atac.h5ad -o matches.csv
  isthmus match a.csv b.csv --plan plan.toml            # writes what the columns are; change it, and run it again
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add_files(parser, "A", "B", ("rows of one collection", "rows of the other"))
    add = parser.add_argument
    add("--pairs", type=Path, metavar="FILE", help="known pairs: two columns, ids of A and of B (none)")
    add("-o", "--output", type=Path, metavar="FILE", help="the matches: source, target, score, confidence")
    add("--all", action="store_true", help="matches of little confidence too, and those of a matching that failed")
    add("--seed", type=int, default=0, metavar="N", help="which candidates are hidden (0)")
    add("--jobs", type=int, default=2, metavar="N", help="runs at the same time (2)")
    add_columns(parser, label=False)
    add_speech(parser)


def run(options: argparse.Namespace) -> None:
    """Match, tell the verdict, write the matches."""
    screen = Screen.of(options)
    require_table(options.output, options.a, options.b, options.pairs, options.plan)
    sides = both_sides(options, (options.a, options.b), ("A", "B"), screen)
    if sides is None:
        return
    first, second = sides
    ids = first.ids, second.ids
    pairs = known_pairs(options.pairs, first, second, screen)
    from isthmus import match
    from isthmus.tables import write_table

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
    screen.say("", f"{found}", f"{len(found):,} matches of {found.shape[0]:,} and {found.shape[1]:,} rows.")
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
        screen.say(f"They are in {options.output}.")
    screen.answer(
        {
            "a": first.facts,
            "b": second.facts,
            "succeeded": found.succeeded,
            "verdict": found.verdict,
            "matches": len(found),
            "held_back_recall": found.held_back_recall,
            "held_back_interval": found.held_back_interval,
            "output": None if options.output is None else str(options.output),
        }
    )
