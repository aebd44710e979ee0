"""``isthmus match``: find the rows of two files that are the same object.

Examples
--------
  isthmus match shop.csv catalogue.csv
  isthmus match shop.csv catalogue.csv --shared title=name --shared maker=brand -o matches.csv
  isthmus match english.csv french.csv --id package --text description --pairs known.csv -o matches.csv
  isthmus match rna.h5ad atac.h5ad -o matches.csv
  isthmus match cells.h5mu/rna cells.h5mu/atac -o matched.h5mu
  isthmus match a.csv b.csv --plan plan.toml            # writes the detected column types; edit them and run it again
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus._core.files import escape_for_terminal, show_path
from isthmus.cli.arguments import FIRST_IDS, add_column_options, add_file_options, add_output_options, parse_count
from isthmus.cli.console import Console, check_output, check_table_output
from isthmus.cli.inputs import load_decisions, load_pairs, read_inputs, shared_columns
from isthmus.exceptions import InputError, import_extra

if TYPE_CHECKING:
    from isthmus._core.validation import IntArray
    from isthmus.cli.inputs import InputFile
    from isthmus.data.shared_columns import SharedColumns
    from isthmus.tasks.matching.result import Matching

    Sides = tuple[InputFile, InputFile]
    Texts = tuple[str | None, str | None]


# Matches that are printed where no file is written, and characters of a cell.
SHOWN, WIDEST = 10, 32


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    add_file_options(parser, "A", "B", "rows of one collection", "rows of the other", shared=True)
    add = parser.add_argument
    rejected = "pairs that are not the same object, in a table as that of --pairs (default: none)"
    add("--not-pairs", type=Path, metavar="FILE", help=rejected)
    add("--decisions", type=Path, metavar="FILE", help="answers of `isthmus review`: more right and wrong pairs")
    table = "table of matches, with FILE.json for `isthmus report`; or, of cells, .h5mu with both and their partners"
    add("-o", "--output", type=Path, metavar="FILE", help=table)
    add("--many-to-one", action="store_true", help="several rows of A may be the same object as one row of B")
    add("--all", action="store_true", help="also write matches of low confidence, and those of a failed matching")
    add("--seed", type=parse_count, default=0, metavar="N", help="random seed (default: 0)")
    add("--jobs", type=int, default=2, metavar="N", help="number of parallel runs (default: 2)")
    add_column_options(parser, label=False, ids=FIRST_IDS)
    add_output_options(parser)


def run(options: Namespace, screen: Console) -> None:
    """Match, print the verdict, write the matches."""
    given = options.a, options.b, options.pairs, options.not_pairs, options.plan, options.decisions
    as_cells = options.output is not None and options.output.suffix.lower() == ".h5mu"
    (_check_cells_output if as_cells else check_table_output)(options.output, *given)
    from isthmus.tasks.matching.problem import FEWEST_ROWS

    first, second = inputs = read_inputs(options, (options.a, options.b), ("A", "B"), screen, least=FEWEST_ROWS)
    if options.a.resolve() == options.b.resolve():  # a modality is no file
        screen.say("Warning: both files are the same; `isthmus dedupe` finds the duplicates within one.")
    pairs = load_pairs(options.pairs, first, second, screen)
    rejected = load_pairs(options.not_pairs, first, second, screen, "not pairs")
    decided = load_decisions(options.decisions, first.ids, second.ids, screen)
    pairs, rejected = _add_pairs(pairs, decided["y"]), _add_pairs(rejected, decided["n"])
    _check_pairs(pairs, rejected, inputs, many_to_one=options.many_to_one)
    columns = shared_columns(first, second, options, screen)
    from isthmus import match, next_questions
    from isthmus.io.tables.write import write_table
    from isthmus.view.report.command_record import write_record

    known = {"shared": columns, "not_pairs": rejected, "one_to_one": not options.many_to_one}
    work = {"random_state": options.seed, "n_jobs": options.jobs, "progress": screen.progress}
    settings: dict[str, Any] = {"keep": "all" if options.all else "sure", **known, **work}
    found = match(first.X, second.X, pairs, scale=False, **settings)
    screen.say("", str(found), *([str(found.baseline)] if found.baseline.columns or columns is None else []))
    facts = _list_facts(options, found, inputs, columns)
    sides = inputs, _find_texts(inputs, columns, found)
    questions = next_questions(found, SHOWN)
    facts["questions"] = [] if found.ok else [[first.ids[i], second.ids[j]] for i, j in questions.tolist()]
    if not found.ok and len(questions):
        screen.say("", "Pairs to check first; those that are right go to --pairs, the others to --not-pairs:")
        screen.say(*_format_table(_list_rows(questions.tolist(), *sides)))
    if as_cells:
        from isthmus.io.anndata import write_matches

        write_matches(options.output, (options.a, options.b), found)
        screen.say(f"Both files are in {options.output}, with {len(found):,} matches in obs.")
    elif options.output is not None:
        write_table(options.output, _list_matches(found, *sides))
        screen.say(*write_record(options.output, "match", facts, first.plan, second.plan))
        none = f"{options.output} has no matches{'' if options.all else '; --all writes doubtful ones too'}."
        screen.say(f"The matches are in {options.output}." if len(found) else none)
    elif len(found):
        screen.say("", *_format_table(_list_matches(found, *sides, n=SHOWN)))
        more = f"These are the first {SHOWN} of {len(found):,} matches; -o FILE writes all."
        screen.say(*[more] * (len(found) > SHOWN))
    screen.answer(facts)


def _check_cells_output(path: Path, a: Path, b: Path, *others: Path | None) -> None:
    """Raise, before the work, if two files can't be written as one of MuData."""
    from isthmus.io.tables.read import detect_format

    import_extra("mudata", "anndata", "This format needs")
    check_output(path, a, b, *others)
    if other := next((file for file in (a, b) if detect_format(file)[0] not in (".h5ad", ".h5mu")), None):
        raise InputError(
            f"{show_path(path)}: expected .h5ad or .h5mu files to write it from, got {show_path(other)}."
        )


def _list_facts(options: Namespace, found: Matching, sides: Sides, columns: SharedColumns | None) -> dict[str, Any]:
    # None where no pair was held out.
    held_out, shuffled = (getattr(found.evidence, what, None) for what in ("held_out", "shuffled"))
    return {
        "a": sides[0].facts,
        "b": sides[1].facts,
        "succeeded": found.ok,
        "verdict": found.sentence,
        "matches": len(found),
        "recall": found.recall,
        "recall_interval": None if held_out is None else [held_out.at_1.low, held_out.at_1.high],
        "shuffled_recall": None if shuffled is None else shuffled.at_1.value,
        # Columns that were compared are evidence, not a baseline.
        "baseline": found.baseline.to_dict() if found.baseline.columns or columns is None else None,
        "shared_columns": [] if columns is None else [list(pair) for pair in columns.pairs],
        "output": None if options.output is None else str(options.output),
    }


def _add_pairs(pairs: IntArray | None, more: list[tuple[int, int]]) -> IntArray | None:
    """Return known pairs with those of decisions, each of them once."""
    import numpy as np

    return np.array(sorted({*map(tuple, [] if pairs is None else pairs.tolist()), *more})) if more else pairs


def _check_pairs(pairs: IntArray | None, rejected: IntArray | None, sides: Sides, *, many_to_one: bool) -> None:
    """Refuse pairs that contradict each other, by the ids of their rows: the library knows row numbers only."""
    if pairs is None:
        return
    wrong = set(map(tuple, pairs.tolist())) & set(map(tuple, [] if rejected is None else rejected.tolist()))
    for i, j in sorted(wrong):
        got = f"{sides[0].ids[i]!r} and {sides[1].ids[j]!r}"
        raise InputError(f"--not-pairs, --decisions: expected no confirmed pair, got {got}.")
    for side, rows in list(zip(sides, pairs.T.tolist(), strict=True))[: 1 if many_to_one else 2]:
        row, times = Counter(rows).most_common(1)[0]
        if times > 1:
            hint = "leave one partner" + ", or use --many-to-one" * (side is not sides[0])
            got = f"{side.name} row {side.ids[row]!r} with {times} partners"
            raise InputError(f"--pairs, --decisions: expected one partner of each row, got {got}; {hint}.")


def _list_matches(found: Matching, sides: Sides, texts: Texts, n: int | None = None) -> dict[str, Any]:
    """Return the columns of the table of matches; of the first ``n`` ones without explanations."""
    rows = found.pairs[:n].tolist()
    table = _list_rows(rows, sides, texts)
    table |= {"score": found.score[:n], "confidence": found.confidence[:n]}
    if found.runner_up is not None:
        table["runner_up"] = [None if j < 0 else sides[1].ids[j] for j in found.runner_up[:n]]
    if n is None:
        table["explanation"] = [str(found.explain(i, j)) for i, j in rows]
    return table


def _list_rows(rows: list[list[int]], sides: Sides, texts: Texts) -> dict[str, Any]:
    """Return the ids of pairs of rows, and a text of each."""
    from isthmus.io.tables.table import read_words

    named = list(zip(("source", "target"), sides, texts, strict=True))
    table: dict[str, Any] = {name: [side.ids[row[k]] for row in rows] for k, (name, side, _) in enumerate(named)}
    for k, (name, side, column) in enumerate(named):
        if column is not None:
            cells = read_words(side.table, column)
            table[f"{name}_text"] = [cells[row[k]] for row in rows]
    return table


def _find_texts(sides: Sides, shared: SharedColumns | None, found: Any) -> Texts:
    """Return the column of either file that shows a row best: the shared words of most weight, or the first text."""
    if shared is not None and shared.pairs:
        weighed = {name: -k for k, name in enumerate(getattr(found.evidence, "fields", ()))}

        def rank(pair: tuple[str, str]) -> tuple[bool, int]:
            cells = [cell for cell in (*shared.source[pair[0]], *shared.target[pair[1]]) if cell]
            words = sum(any(map(str.isalpha, cell)) for cell in cells) > len(cells) / 2
            return words, weighed.get(pair[0] if pair[0] == pair[1] else f"{pair[0]} ~ {pair[1]}", -len(weighed))

        return max(shared.pairs, key=rank)
    texts = [[c.name for c in side.plan.columns if c.kind == "text"] for side in sides]
    return next(iter(texts[0]), None), next(iter(texts[1]), None)


def _format_table(columns: Mapping[str, Any]) -> list[str]:
    """Return a table as lines, aligned by columns."""
    cells = {name: [_format_cell(cell) for cell in values] for name, values in columns.items()}
    widths = {name: max(map(len, (name, *some))) for name, some in cells.items()}
    rows = [dict(zip(cells, row, strict=True)) for row in (tuple(cells), *zip(*cells.values(), strict=True))]
    return ["  ".join(f"{cell:<{widths[name]}}" for name, cell in row.items()).rstrip() for row in rows]


def _format_cell(cell: Any) -> str:
    if isinstance(cell, float):
        return f"{cell:.3f}"
    text = "" if cell is None else escape_for_terminal(" ".join(str(cell).split()))
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
