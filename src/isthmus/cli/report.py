"""``isthmus report``: the results of the other commands as one HTML page.

Examples
--------
  isthmus report matches.csv --source english.csv --target french.csv -o report.html
  isthmus report translations.isthmus --source english.csv --target french.csv -o report.html
  isthmus report labels.csv --source en.csv --target fr.csv -o report.html
  isthmus report verdict.json -o report.html
  isthmus report kinds.isthmus verdict.json --source a.csv --target b.csv -o report.html    # two chapters

The kind of FILE is detected from its contents:
  a model of `isthmus fit`        common space before and after, nearest neighbours, certificate, model card
  a table of `isthmus match`      verdict, matches with texts, reasons and other candidates
  a table of `isthmus label`      classes, least confident rows; confusion matrix where TARGET has the true classes
  a verdict of `isthmus evaluate` (-o verdict.json) sentence, accuracy by labels per class, comparisons

The page is self-contained: it can be sent and opened offline. With --source and --target it contains names and first
words of the rows of these files, so check who receives it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from isthmus.cli.arguments import FORMATS, add_format, add_output_options, format_of
from isthmus.cli.console import Console, check_output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", type=Path, help="model, matches, labels or verdict: one chapter each")
    add("-o", "--output", type=Path, required=True, metavar="FILE.html", help="the page to write")
    add("--source", type=Path, metavar="FILE", help=f"table of the source rows, to show them: {FORMATS}")
    add("--target", type=Path, metavar="FILE", help="table of the target rows, to show them")
    add("--title", default="isthmus report", metavar="TEXT", help="title of the page (default: isthmus report)")
    add_format(parser)
    add_output_options(parser)


def run(options: argparse.Namespace, screen: Console) -> None:
    """Write the page."""
    check_output(options.output, *options.files, options.source, options.target)
    from isthmus.view.report.page import write_report

    formats = format_of(options, 0), format_of(options, 1)
    rows = {"source": options.source, "target": options.target, "formats": formats}
    write_report(options.files, options.output, title=options.title, **rows)
    size = options.output.stat().st_size
    screen.say(f"The report is in {options.output} ({size / 1e6:.1f} MB): open it in a browser.")
    screen.answer({"files": [str(path) for path in options.files], "output": str(options.output), "bytes": size})
