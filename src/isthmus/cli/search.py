"""``isthmus search``: the rows of one file that are nearest to rows of another, or to a typed text.

Examples
--------
  isthmus search translations.isthmus --index english.csv --query french.csv -k 5 -o found.csv
  isthmus search translations.isthmus --index english.csv --text "jeu de cartes pour deux"

By default, queries are target rows and the index has source rows; --from source exchanges them.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from isthmus._core.files import show_path
from isthmus.cli.arguments import FORMATS, add_format, add_output_options, format_of
from isthmus.cli.console import Console, check_table_output
from isthmus.cli.inputs import DOMAINS, StoredModel, add_model_option, coerced_facts, other_domain
from isthmus.exceptions import InputError

# Queries whose neighbours are shown on the screen.
SHOWN = 10


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    add_model_option(parser)
    add = parser.add_argument
    add("--index", type=Path, required=True, metavar="FILE", help=f"rows to search in: {FORMATS}")
    queries = parser.add_mutually_exclusive_group(required=True)
    queries.add_argument("--query", type=Path, metavar="FILE", help="rows to find neighbours for")
    queries.add_argument("--text", metavar="WORDS", help="one query as text, for models fitted on texts")
    add("-k", type=int, default=10, metavar="N", help="number of neighbours per query (default: 10)")
    add("--from", dest="domain", choices=DOMAINS, default="target", help="domain of the queries (default: target)")
    add("--csls", action="store_true", help="rank hubs (rows that are near to everything) lower, by CSLS")
    engines = "exact, or FAISS: Flat, HNSW32 or IVF256,Flat (default: exact)"
    add("--engine", default="exact", metavar="NAME", help=engines)
    add("-o", "--output", type=Path, metavar="FILE", help="table of query, rank, found, distance")
    add_format(parser)
    add_output_options(parser)


def run(options: Namespace, screen: Console) -> None:
    """Search, show and write the nearest rows."""
    check_table_output(options.output, options.model, options.index, options.query)
    from isthmus import Index
    from isthmus.io.tables.plan import read_ids
    from isthmus.io.tables.write import write_table

    kept, searched = StoredModel.of(options.model), other_domain(options.domain)
    names, queries, unknown = _read_queries(options, kept, screen)
    index, written = Index(kept.model, options.engine), format_of(options, 0)
    table, rows, coerced = kept.read(options.index, searched, written, screen)
    index.add(rows, searched, ids=list(read_ids(table, kept.features[searched].plan)))
    k = min(options.k, len(index))  # there are no more to find
    found = index.search(queries, k, options.domain, csls=options.csls)
    lines = [
        {"query": name, "rank": rank + 1, "found": str(id), "distance": float(distance)}
        for name, ids, distances in zip(names, found.ids, found.distances, strict=True)
        for rank, (id, distance) in enumerate(zip(ids, distances, strict=True))
        if id is not None
    ]
    screen.say(f"{'query':<30}  {'rank':>4}  {'found':<40}  distance")
    for line in lines[: SHOWN * k]:
        screen.say(f"{line['query']:<30.30}  {line['rank']:>4}  {line['found']:<40.40}  {line['distance']:8.3f}")
    if len(names) > SHOWN:
        more = "" if options.output else "; -o has all"
        screen.say(f"These are the first {SHOWN} of {len(names):,} queries{more}.")
    if unknown:
        which = ", ".join(unknown[:SHOWN]) + ", …" * (len(unknown) > SHOWN)
        screen.say(f"Mind: {len(unknown):,} queries have no word that the model knows: {which}.")
    if options.output is not None:
        write_table(options.output, {key: [line[key] for line in lines] for key in lines[0]})
        screen.say(f"{len(names):,} queries among {len(index):,} rows: all neighbours are in {options.output}.")
    facts = {"rows": len(index), "queries": len(names), "unknown": unknown, "coerced": coerced_facts(coerced)}
    screen.answer(facts | {"found": lines if options.output is None else None})


def _read_queries(options: Namespace, kept: StoredModel, screen: Console) -> tuple[tuple[str, ...], Any, list[str]]:
    """Return the names of the queries, their features, and those without a word that the model knows."""
    from isthmus.io.tables.plan import read_ids
    from isthmus.io.tables.table import Table

    features = kept.features[options.domain]
    if options.text is not None:
        if any(column.kind != "text" for column in features.plan.features):
            raise InputError("--text: expected a model of texts alone, got one with other columns; use --query FILE.")
        # A query is a row with this text in every column.
        typed = Table.of({column.name: [options.text] for column in features.plan.features})
        if features.unknown_rows(typed).any():
            got = show_path(repr(options.text)[:60])
            raise InputError(f"--text: expected a word that the model knows, got none in {got}.")
        return (options.text,), features.transform(typed), []
    table, queries, _ = kept.read(options.query, options.domain, format_of(options, 1), screen)
    names, unknown = tuple(read_ids(table, features.plan)), features.unknown_rows(table)
    if unknown.all():
        raise InputError(f"{table.path}: expected texts with a word that the model knows, got none.")
    return names, queries, [name for name, nothing in zip(names, unknown, strict=True) if nothing]
