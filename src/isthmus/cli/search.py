"""``isthmus search``: the rows of one file that are nearest to rows of another, or to a typed text."""

from __future__ import annotations

import argparse
from pathlib import Path

from isthmus.cli.arguments import FORMATS, add_speech
from isthmus.cli.models import DOMAINS, Kept, add_model, other
from isthmus.cli.outputs import require_table
from isthmus.cli.screen import Screen
from isthmus.exceptions import InputError

EXAMPLES = """\
examples:
  isthmus search translations.isthmus --index english.csv --query french.csv -k 5 -o found.csv
  isthmus search translations.isthmus --index english.csv --text "jeu de cartes pour deux"

Queries are of the target and the index of the source, unless --from source turns that around.
"""
SHOWN = 10
"""Queries whose neighbours are shown on the screen."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add_model(parser)
    add = parser.add_argument
    add("--index", type=Path, required=True, metavar="FILE", help=f"the rows that are searched: {FORMATS}")
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--query", type=Path, metavar="FILE", help="the rows that are asked for")
    asked.add_argument("--text", metavar="WORDS", help="a typed text, where the model was fitted on texts")
    add("-k", type=int, default=10, metavar="N", help="how many are found for each (10)")
    add("--from", dest="domain", choices=DOMAINS, default="target", help="where the queries come from (target)")
    add("--csls", action="store_true", help="set back rows that are near to everything")
    add("--engine", default="exact", metavar="NAME", help="exact, or flat, hnsw, ivf of FAISS (exact)")
    add("-o", "--output", type=Path, metavar="FILE", help="query, rank, found, distance")
    add_speech(parser)


def run(options: argparse.Namespace) -> None:
    """Search, show, write."""
    screen = Screen.of(options)
    require_table(options.output, options.model, options.index, options.query)
    from isthmus import Index
    from isthmus.tables import ids_of, read_table, write_table

    if options.k < 1:
        raise InputError(f"-k: expected a whole number of at least 1, got {options.k}.")
    kept, searched = Kept.of(options.model), other(options.domain)
    table = read_table(options.index)
    index = Index(kept.model, options.engine)
    index.add(kept.rows(table, searched), searched, ids=list(ids_of(table, kept.features[searched].plan)))
    if options.text is not None:
        names: tuple[str, ...] = (options.text,)
        queries = kept.features[options.domain].transform_texts([options.text])
    else:
        asked = read_table(options.query)
        names = tuple(ids_of(asked, kept.features[options.domain].plan))
        queries = kept.rows(asked, options.domain)
    k = min(options.k, len(index))  # there are no more to find
    found = index.search(queries, k, options.domain, csls=options.csls)
    lines = [
        {"query": name, "rank": rank + 1, "found": str(id), "distance": float(distance)}
        for name, ids, distances in zip(names, found.ids, found.distances, strict=True)
        for rank, (id, distance) in enumerate(zip(ids, distances, strict=True))
        if id is not None
    ]
    for line in lines[: SHOWN * k]:
        screen.say(f"{line['query']:<30.30}  {line['rank']:>3}  {line['found']:<40.40}  {line['distance']:.3f}")
    if options.output is not None:
        write_table(options.output, {key: [line[key] for line in lines] for key in lines[0]})
        screen.say(f"{len(names):,} queries among {len(index):,} rows: all neighbours are in {options.output}.")
    screen.answer({"rows": len(index), "queries": len(names), "found": lines if options.output is None else None})
