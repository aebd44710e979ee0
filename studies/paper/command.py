"""The command line of the paper's experiments."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from isthmus._core.files import write_text
from isthmus.cli.process import run_command
from isthmus.exceptions import InputError, MissingDependencyError
from studies.paper.formats import FORMATS
from studies.paper.page import page
from studies.paper.reproduction import NAMES, Request, page_records, reproduce, select_experiments
from studies.paper.rows import ARROW, VARIANTS

PROGRAM = "python -m studies.paper"
DESCRIPTION = """\
Run the paper's experiments on real data, with controls on the same rows, and print paper / ours / difference.

  toy            the figure: the data and every system's common space; needs no data
  table1         multilingual Reuters, 20 pairs of languages (data set reuters600)
  table2         Office, 16 pairs of domains (data set office31_bow)
  sensitivity    accuracy over the grid of λ1 and λ2, on the data of table1
  all            the first three; with --oracle, all four
  table1-native  table1 on the paper's own corpus (data set reuters), for those who have it
  table2-released  the group of table2 whose features were released (data set office31_released)

Records are JSON lines in the folder --out, a trial at a time. A run that was stopped, by Ctrl-C or otherwise, goes
on where it was when the same command is given again; nothing is run twice. Records that another version, other
systems or other rows have left there are set aside, and run again. With --records, nothing is run: tables and figures
are made from the records of that folder. On two cores table1 takes about 8 minutes, table2 about 20 for each variant,
and --oracle half an hour more.
"""
EXAMPLES = """\
examples:
  python -m studies.paper toy
  python -m studies.paper table1 --data ~/data --jobs 2
  python -m studies.paper table1 --data ~/data --groups "EN → FR" --seeds 0:3 --format markdown
  python -m studies.paper table2 --data ~/data --variants whole,held-out
  python -m studies.paper all --data ~/data --variants whole,held-out --seeds 0:10,10:20 --oracle --report page.md
  python -m studies.paper all --records results --out rendered --report page.md
"""
AFTER_STOP = "Finished trials are kept; the same command goes on from there."
MOST_SEEDS = 10_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0, 2 for bad input, 130 after Ctrl-C."""
    return run_command(PROGRAM, lambda: _run(parser().parse_args(arguments)), AFTER_STOP)


def parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        PROGRAM, description=DESCRIPTION, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("name", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    add("--data", type=Path, metavar="FOLDER", help="where the data are ($ISTHMUS_DATA, or a cache of the user)")
    add("--out", type=Path, default=Request.out, metavar="FOLDER", help="records, tables, figures (%(default)s)")
    add("--records", type=Path, metavar="FOLDER", help="run nothing: render the records that are there")
    add(
        "--seeds",
        type=_sets,
        default=_sets("0:10"),
        metavar="A:B[,C:D]",
        help="draws A to B - 1; tables are of the first set, verdicts of each (0:10)",
    )
    add("--oracle", action="store_true", help="search grids by test accuracy too: slow, an upper bound only")
    add(
        "--variants",
        type=_words,
        metavar="V,…",
        help="PCA with or without the test rows: whole,held-out (both; table2: whole)",
    )
    add("--groups", type=_words, metavar="G,…", help='sources and targets, such as "EN → FR" or EN-FR (all)')
    add("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="trials side by side (%(default)s)")
    add("--format", choices=FORMATS, default="text", help="of the tables that are printed (%(default)s)")
    add("--report", type=Path, metavar="FILE", help="write a page on all records")
    return parser


def _run(options: argparse.Namespace) -> None:
    request = _request(options)
    missing, tables = None, []
    for name in select_experiments(options.name, request):
        made = reproduce(name, request, progress=True)
        tables.append(made.text(options.format))
        try:
            paths = made.write(options.out)
        except MissingDependencyError as error:
            missing = error
            continue
        print(f"written: {', '.join(map(str, paths))}\n", file=sys.stderr)
    if options.report:
        write_text(options.report, page(page_records(request), options.seeds, options.out, options.report.parent))
        print(f"written: {options.report}", file=sys.stderr)
    print("\n".join(tables))  # at the end: whoever reads them may stop reading, and has the files all the same
    if missing:
        raise missing


def _request(options: argparse.Namespace) -> Request:
    """Return the request that the options describe, checked."""
    unknown = [variant for variant in options.variants or () if variant not in VARIANTS]
    if unknown:
        raise InputError(f"variants: expected some of {', '.join(VARIANTS)}, got {unknown[0]!r}.")
    if options.jobs < 1:
        raise InputError(f"--jobs: expected at least 1, got {options.jobs}.")
    if options.out.exists() and not options.out.is_dir():
        raise InputError(f"--out: expected a folder, got the file {options.out}.")
    if options.report and options.report.is_dir():
        raise InputError(f"--report: expected a file, got the folder {options.report}.")
    groups = options.groups and tuple(g if " " in g else g.replace("-", ARROW) for g in options.groups)
    return Request(
        options.data,
        options.out,
        options.seeds,
        options.oracle,
        options.variants,
        groups,
        options.jobs,
        options.records,
    )


def _words(text: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    if not words:
        raise argparse.ArgumentTypeError(f"expected names with commas between, got {text!r}")
    return words


def _sets(text: str) -> tuple[tuple[int, ...], ...]:
    """Sets of seeds: "0:10,10:20"."""
    try:
        ends = [tuple(map(int, part.split(":"))) for part in text.split(",")]
        sets = [range(first, end) for first, end in ends]
    except ValueError:
        sets = []
    if len({seed for seeds in sets for seed in seeds[: MOST_SEEDS + 1]}) < sum(map(len, sets)):
        raise argparse.ArgumentTypeError(f"expected sets of seeds that share none, got {text!r}")
    if not sets or not all(0 < seeds.stop - seeds.start <= MOST_SEEDS and seeds.start >= 0 for seeds in sets):
        raise argparse.ArgumentTypeError(f"expected sets of seeds such as 0:10 or 0:10,10:20, got {text!r}")
    return tuple(map(tuple, sets))
