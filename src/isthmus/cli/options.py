"""Options that several commands have: two files, what their columns are, and how the command speaks."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.exceptions import InputError

if TYPE_CHECKING:
    from isthmus._core.validation import IntArray, Matrix
    from isthmus.cli.inputs import InputFile


SIGNS = {"tab": "\t", "\\t": "\t"}
"""Words for separators that are hard to type."""
FORMATS = "CSV, TSV or JSON lines (also .gz), Parquet, NPY, NPZ or .h5ad"
COLUMNS = """\
Column types are detected automatically and shown: numbers are scaled, columns
with few different words become one column of 0 and 1 per word, texts become tf-idf
weights of their words. To change that, write the detected types to a new file
with --plan FILE, edit the file, and run the same command again."""


def parse_count(word: str) -> int:
    """A whole number of at least 0, as an option's word."""
    try:
        value = int(word)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 0, got {word!r:.60}")
    return value


def add_file_options(parser: argparse.ArgumentParser, first: str, second: str, what: tuple[str, str]) -> None:
    """The two files."""
    for name, about in zip((first, second), what, strict=True):
        parser.add_argument(name.lower(), metavar=name, type=Path, help=f"{about}: {FORMATS}")


def add_column_options(parser: argparse.ArgumentParser, *, label: bool, required: bool = True) -> None:
    """What the columns are."""
    columns = parser.add_argument_group("columns", COLUMNS)
    add = columns.add_argument
    if label:
        add(
            "--label", required=required, metavar="COL", help="column of class labels; an empty cell means unlabelled"
        )
    named = "column with the ids of the rows (default: row numbers from 0); repeat it for the other file"
    add("--id", action="append", default=[], metavar="COL", help=named)
    add("--text", action="append", default=[], metavar="COL", help="column to read as text; can be repeated")
    add("--drop", action="append", default=[], metavar="COL", help="column to ignore; can be repeated")
    plan = "column types of both files as TOML: written if FILE does not exist (and nothing else), used if it does"
    add("--plan", type=Path, metavar="FILE", help=plan)
    add_format(parser)


def add_format(parser: argparse.ArgumentParser, *, files: int = 2) -> None:
    """How the cells and numbers of CSV files are written."""
    add = parser.add_argument_group("CSV files", "Detected from the file and shown, unless given here.").add_argument
    again = "; repeat it for the other file" if files > 1 else ""
    said = f"separator of the cells: one character, tab or auto (default: auto){again}"
    add("--sep", action="append", default=[], metavar="CHAR", help=said)
    said = f"decimal mark of numbers: . or , or auto (default: auto){again}"
    add("--decimal", action="append", default=[], metavar="MARK", help=said)


def format_of(options: argparse.Namespace, file: int) -> dict[str, str | None]:
    """Return the arguments ``sep`` and ``decimal`` of ``read_table`` for the first file (0) or the second (1)."""
    found: dict[str, str | None] = {}
    for name in ("sep", "decimal"):
        given = getattr(options, name)
        if len(given) > 2:
            raise InputError(f"--{name}: expected one for each file, got {len(given)}.")
        word = given[min(file, len(given) - 1)] if given else "auto"
        found[name] = None if word == "auto" else SIGNS.get(word, word)
    return found


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """How the command speaks."""
    speech = parser.add_argument_group("output").add_mutually_exclusive_group()
    speech.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    speech.add_argument("--quiet", action="store_true", help="print nothing but errors")


def shared_features(source: InputFile, target: InputFile) -> list[tuple[int, int]] | None:
    """Features that both have: columns of equal names, words of texts whatever their columns are called."""
    ours, theirs = (_first_positions(side.features.blocks) for side in (source, target))
    return [(ours[key], theirs[key]) for key in ours if key in theirs] or None


def shared_rows(source: InputFile, target: InputFile) -> tuple[Matrix, Matrix] | None:
    """These features as rows of either file, words also where the plan puts only their axes to use."""
    import numpy as np

    from isthmus.io.tables.features import Features

    plain = [Features(side.plan, tuple(map(_has_words, side.features.blocks))) for side in (source, target)]
    ours, theirs = (_first_positions(features.blocks) for features in plain)
    shared = [key for key in ours if key in theirs]
    if not shared:
        return None
    places = (np.array([found[key] for key in shared], dtype=np.intp) for found in (ours, theirs))
    tables = source.table, target.table
    S, T = (f.transform(t)[:, columns] for f, t, columns in zip(plain, tables, places, strict=True))
    return S, T


def _first_positions(blocks: Any) -> dict[Hashable, int]:
    """The place of each feature that means something by its name; the first of those of one name."""
    from isthmus.io.tables.features import MatrixPart, Words

    found: dict[Hashable, int] = {}
    place = 0
    for block in blocks:
        names: tuple[Hashable, ...] = block.names
        if isinstance(block, Words) and block.axes is None:
            names = tuple(("word", term) for term in block.terms)
        # An axis, or a column of a matrix, is only numbered: the same number means nothing.
        if not isinstance(block, MatrixPart) and not (isinstance(block, Words) and block.axes is not None):
            for i, name in enumerate(names):
                found.setdefault(name, place + i)
        place += len(names)
    return found


def _has_words(block: Any) -> Any:
    from isthmus.io.tables.features import Words

    return replace(block, axes=None) if isinstance(block, Words) else block


ENOUGH = 10
"""Pairs from which on a third is held back."""
AMONG = 10
"""The partner is looked for among so many neighbours, too."""


@dataclass(frozen=True)
class HeldOutPairs:
    """Shares of held-back pairs.

    Parameters
    ----------
    pairs : int
        How many were held back.
    recall, among : float
        The share whose partner comes first, and among the first ten.
    interval : (float, float)
        Of the recall.
    columns : int
        Words and columns that the files share.
    shared : float or None
        The share whose partner comes first by these alone.
    """

    pairs: int
    recall: float
    among: float
    interval: tuple[float, float]
    columns: int
    shared: float | None

    @property
    def sentence(self) -> str:
        """For the screen."""
        low, high = self.interval
        alone = "nothing to compare with" if self.shared is None else f"these alone find {self.shared:.0%}"
        return (
            f"Of {self.pairs:,} known pairs that were held back, {self.recall:.0%} were found "
            f"[{low:.0%}, {high:.0%}], {self.among:.0%} among the first {AMONG}; the files share {self.columns:,} "
            f"words or columns: {alone}."
        )

    @property
    def warning(self) -> str | None:
        """What speaks against using the model, if anything."""
        if not self.among:
            return "none of the pairs that were held back is found: these pairs do not teach how the files belong."
        if self.shared is not None and self.shared > self.recall:
            return "the words and columns that the files share find more by themselves than what was learned."
        return None

    @property
    def facts(self) -> dict[str, Any]:
        """For machines."""
        shares = {"recall": self.recall, "recall_among_10": self.among, "interval": list(self.interval)}
        return {"pairs": self.pairs, **shares, "shared_columns": self.columns, "shared_recall": self.shared}


def hold_out_pairs(
    fitted: Callable[[IntArray], Any], source: InputFile, target: InputFile, pairs: IntArray
) -> HeldOutPairs | None:
    """A third of the pairs, by a model of the others; None where they are too few, or the model can't search.

    Parameters
    ----------
    fitted : callable
        From pairs (m, 2) to a model.
    source, target : Side
        The files.
    pairs : array (p, 2)
        Row numbers.
    """
    import numpy as np

    from isthmus.evidence.held_out import measure_shared_recall
    from isthmus.evidence.scores import wilson_interval

    if len(pairs) < ENOUGH:
        return None
    order = np.random.default_rng(0).permutation(len(pairs))
    held, kept = pairs[order[: len(pairs) // 3]], pairs[order[len(pairs) // 3 :]]
    model = fitted(kept)
    if not hasattr(model, "search"):
        return None
    others = np.setdiff1d(kept[:, 1], held[:, 1])
    candidates = np.setdiff1d(np.arange(target.table.n_rows), others)
    k = min(AMONG, len(candidates))
    _, found = model.search(source.X[held[:, 0]], target.X[candidates], k, ("source", "target"))
    right = candidates[found] == held[:, 1:]
    hits, shared = int(right[:, 0].sum()), shared_rows(source, target)
    return HeldOutPairs(
        pairs=len(held),
        recall=hits / len(held),
        among=float(right.any(axis=1).mean()),
        interval=wilson_interval(hits, len(held)),
        columns=0 if shared is None else int(shared[0].shape[1]),
        shared=None if shared is None else measure_shared_recall(*shared, held, others),
    )
