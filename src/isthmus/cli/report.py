"""``isthmus report``: what the other commands found, as one page for the browser."""

from __future__ import annotations

import argparse
from pathlib import Path

from isthmus.cli.arguments import FORMATS, add_format, add_speech, format_of
from isthmus.cli.outputs import require_output
from isthmus.cli.screen import Screen

EXAMPLES = """\
examples:
  isthmus report matches.csv --source english.csv --target french.csv -o report.html
  isthmus report translations.isthmus --source english.csv --target french.csv -o report.html
  isthmus report labels.csv --source en.csv --target fr.csv -o report.html
  isthmus report verdict.json -o report.html
  isthmus report kinds.isthmus verdict.json --source a.csv --target b.csv -o report.html    # two chapters

What THING is, is seen by what is in it:
  a model of `isthmus fit`        the common space, before and after; classes, neighbours; certificate, card
  a table of `isthmus match`      the verdict, the matches with texts and other candidates, the space they make
  a table of `isthmus label`      classes, the least sure rows; given beside true ones, where TARGET has the truth
  a verdict of `isthmus evaluate` (-o verdict.json) the sentence, the curve over labels per class, comparisons

The page is one file with everything in it: it can be sent, and opened without a network. With --source and --target
it holds names and first words of rows of these files: mind who gets it.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add = parser.add_argument
    add(
        "things",
        metavar="THING",
        nargs="+",
        type=Path,
        help="a model, matches, labels or a verdict; a chapter for each",
    )
    add("-o", "--output", type=Path, required=True, metavar="FILE.html", help="the file that the page goes to")
    add("--source", type=Path, metavar="FILE", help=f"the rows of the source, to show them: {FORMATS} (none)")
    add("--target", type=Path, metavar="FILE", help="the rows of the target (none)")
    named = "the column that names the rows (as it was before); may be given again, for the other file"
    add("--id", action="append", default=[], metavar="COL", help=named)
    add("--label", metavar="COL", help="the column of classes (as it was before)")
    add("--title", default="isthmus report", metavar="TEXT", help="above the page (isthmus report)")
    add_format(parser)
    add_speech(parser)


def run(options: argparse.Namespace) -> None:
    """Write the page."""
    screen = Screen.of(options)
    require_output(options.output, *options.things, options.source, options.target)
    from isthmus.report import Request, write_report

    written = format_of(options, 0), format_of(options, 1)
    request = Request(options.source, options.target, tuple(options.id), options.label, written)
    write_report(options.things, options.output, request, options.title)
    size = options.output.stat().st_size
    screen.say(f"The report is in {options.output} ({size / 1e6:.1f} MB): open it in a browser.")
    screen.answer({"things": [str(path) for path in options.things], "output": str(options.output), "bytes": size})
