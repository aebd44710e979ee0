"""The command line: ``isthmus datasets`` and ``isthmus reproduce``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

from isthmus._version import __version__
from isthmus.datasets import load_digits, load_toy
from isthmus.exceptions import InputError, IsthmusError, MissingDependencyError
from isthmus.experiments.records import replaced
from isthmus.experiments.report import page
from isthmus.experiments.reproduction import ALL, EVERYTHING, NAMES, Request, has_groups, reproduce
from isthmus.experiments.rows import VARIANTS
from isthmus.experiments.table import FORMATS

DESCRIPTION = """\
Learn one metric across two collections that are described by different features.
"""
REPRODUCE = """\
Run the paper's experiments on real data, with controls on the same rows, and print paper / ours / difference.

  toy            the figure: the data and every system's common space; needs no data
  table1         multilingual Reuters, 20 pairs of languages (data set reuters600)
  table2         Office, 16 pairs of domains (data set office31_bow)
  sensitivity    accuracy over the grid of λ1 and λ2, on the data of table1
  all            these four
  table1-native  table1 on the paper's own corpus (data set reuters), for those who have it

Records are JSON lines in the folder --out, a trial at a time. A run that was stopped, by Ctrl-C or otherwise, goes
on where it was when the same command is given again; nothing is run twice. On two cores table1 takes about 3 minutes,
table2 about 12 for each variant, and --oracle half an hour more.
"""
EXAMPLES = """\
examples:
  isthmus reproduce toy
  isthmus reproduce table1 --data ~/data --jobs 2
  isthmus reproduce table1 --data ~/data --groups "EN → FR" --seeds 0:3 --format markdown
  isthmus reproduce table2 --data ~/data --variants whole,held-out
  isthmus reproduce all --data ~/data --variants whole,held-out --seeds 0:10,10:20 --oracle --report page.md
"""
INTERRUPTED = 130
MOST_SEEDS = 10_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0, 2 for bad input, 130 after Ctrl-C."""
    if isinstance(sys.stdout, TextIOWrapper):  # a terminal that has no "→" gets another sign, not a traceback
        sys.stdout.reconfigure(errors="replace")
    options = _parser().parse_args(arguments)
    try:
        status = int(options.run(options))
        sys.stdout.flush()  # here, where a closed pipe is expected, rather than when Python ends
        return status
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (IsthmusError, OSError) as error:
        print(f"isthmus: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"isthmus: stopped by Ctrl-C. {options.after_stop}", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("isthmus", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"isthmus {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _datasets_parser(commands)
    _reproduce_parser(commands)
    return parser


def _datasets_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "datasets",
        help="list the data sets that come with isthmus",
        description="List the data sets that come with isthmus, one per line.",
    )
    parser.set_defaults(run=_datasets, after_stop="")


def _reproduce_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "reproduce",
        help="run the paper's experiments, with controls",
        description=REPRODUCE,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("name", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    _add_data(parser)
    add("--out", type=Path, default=Path("results"), metavar="FOLDER", help="records, tables, figures (%(default)s)")
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
    add("--report", type=Path, metavar="FILE", help="write a page on everything that is in --out")
    parser.set_defaults(run=_reproduce, after_stop="Finished trials are kept; the same command goes on from there.")


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="where the data are ($ISTHMUS_DATA, or a cache of the user)"
    )


def _datasets(options: argparse.Namespace) -> int:
    print(load_toy(), load_digits(), sep="\n")
    return 0


def _reproduce(options: argparse.Namespace) -> int:
    request = Request(
        options.data,
        options.out,
        options.seeds,
        options.oracle,
        options.variants,
        options.groups and tuple(group if " " in group else group.replace("-", " → ") for group in options.groups),
        _positive(options.jobs),
    )
    unknown = [variant for variant in options.variants or () if variant not in VARIANTS]
    if unknown:
        raise InputError(f"variants: expected some of {', '.join(VARIANTS)}, got {unknown[0]!r}.")
    if options.out.exists() and not options.out.is_dir():
        raise InputError(f"--out: expected a folder, got the file {options.out}.")
    if options.report and options.report.is_dir():
        raise InputError(f"--report: expected a file, got the folder {options.report}.")
    missing, tables = None, []
    for name in _names(options.name, request):
        made = reproduce(name, request, progress=True)
        tables.append(made.text(options.format))
        try:
            paths = made.write(options.out)
        except MissingDependencyError as error:
            missing = error
            continue
        print(f"written: {', '.join(map(str, paths))}\n", file=sys.stderr)
    if options.report:
        replaced(options.report, page(options.out, options.seeds, options.report.parent))
        print(f"written: {options.report}", file=sys.stderr)
    print("\n".join(tables))  # at the end: whoever reads them may stop reading, and has the files all the same
    if missing:
        raise missing
    return 0


def _names(name: str, request: Request) -> tuple[str, ...]:
    """The experiments to run; of "all", those that have one of the groups that were asked for."""
    return tuple(each for each in EVERYTHING if has_groups(each, request)) or EVERYTHING if name == ALL else (name,)


def _positive(jobs: int) -> int:
    if jobs < 1:
        raise InputError(f"--jobs: expected at least 1, got {jobs}.")
    return jobs


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
