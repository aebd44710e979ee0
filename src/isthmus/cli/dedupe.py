"""``isthmus dedupe``: find the rows of one file that are the same object.

Examples
--------
  isthmus dedupe customers.csv -o clusters.csv
  isthmus dedupe customers.csv --drop customer_number --id row -o clusters.csv

The table written has a line for each row of FILE: its id, the number of its cluster, the number of rows in that, and
whether the row represents it. Keep the rows with true to have each object once.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from isthmus.cli.arguments import FORMATS, add_format, add_output_options, format_of, parse_count
from isthmus.cli.console import Console, check_table_output
from isthmus.cli.inputs import check_row_counts, own_columns


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("file", metavar="FILE", type=Path, help=f"rows, some of which are the same object: {FORMATS}")
    add("-o", "--output", type=Path, metavar="OUT", help="table of id, cluster, rows, representative")
    named = "column with the ids of the rows (default: the first, if it looks like ids)"
    add("--id", action="append", default=[], metavar="COL", help=named)
    add("--drop", action="append", default=[], metavar="COL", help="column to ignore; can be repeated")
    add("--all", action="store_true", help="also write doubtful clusters")
    add("--seed", type=parse_count, default=0, metavar="N", help="random seed (default: 0)")
    add_format(parser, files=1)
    add_output_options(parser)


def run(options: argparse.Namespace, screen: Console) -> None:
    """Find the clusters, print the verdict, write the table."""
    check_table_output(options.output, options.file)
    from isthmus.io.tables.plan import Plan, read_ids
    from isthmus.io.tables.read import read_table
    from isthmus.io.tables.write import write_table
    from isthmus.tasks.matching.clusters import dedupe
    from isthmus.tasks.matching.problem import FEWEST_ROWS

    table = read_table(options.file, **format_of(options, 0))
    check_row_counts([table], FEWEST_ROWS)
    plan = Plan.of(table, id=next(iter(options.id), None), drop=options.drop).detect_id(table)
    columns, ids = own_columns(table, plan), read_ids(table, plan)
    screen.say(f"{table.path}: {table.n_rows:,} rows, compared by {', '.join(columns.source)}")
    found = dedupe(columns, keep="all" if options.all else "sure", random_state=options.seed)
    screen.say("", str(found))
    if options.output is not None:
        marks = set(found.representative.tolist())
        rows = {"id": list(ids), "cluster": found.labels, "rows": found.sizes[found.labels]}
        write_table(options.output, {**rows, "representative": [k in marks for k in range(len(ids))]})
        none = f"{options.output} has no duplicates{'' if options.all else '; --all writes doubtful ones too'}."
        screen.say(f"The clusters are in {options.output}." if found.sizes.max() > 1 else none)
    facts = {"file": str(table.path), "rows": table.n_rows, "ok": found.ok, "sentence": str(found)}
    output = None if options.output is None else str(options.output)
    screen.answer({**facts, "clusters": int((found.sizes > 1).sum()), "output": output})
