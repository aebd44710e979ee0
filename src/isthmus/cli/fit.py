"""``isthmus fit``: learn one metric over two files, and write it to a model file.

Examples
--------
  isthmus fit english.csv french.csv --id package --text description --pairs known.csv -o translations.isthmus
  isthmus fit rna.h5ad atac.h5ad --label cell_type -o cells.isthmus
  isthmus fit a.csv b.csv --label kind --system mlhd-rbf -o kinds.isthmus
  isthmus fit a.csv b.csv --label kind --plan plan.toml   # writes the detected column types; edit and run again

Default system: ridge (linear maps in both directions) with known pairs, else mlhd. `isthmus systems` lists all.
Without --pairs and labels, rows with the same id (--id) in both files are the pairs.
With pairs, texts and columns of equal names count beside what is learned where they help to find partners.
Use the model file with `isthmus search`, `embed`, `inspect` and `report`, or with isthmus.load in Python.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.cli.arguments import add_column_options, add_file_options, add_output_options, name_file
from isthmus.cli.console import Console, check_output
from isthmus.cli.inputs import load_pairs, pair_by_id, read_inputs, shared_rows
from isthmus.exceptions import DataWarning, InputError

if TYPE_CHECKING:
    from isthmus.cli.inputs import InputFile
    from isthmus.evidence.held_out import HeldOutPairs

    Sides = tuple[InputFile, InputFile]

# The default systems for pairs and for labels.
PAIRS, LABELS = "ridge", "mlhd"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_file_options(parser, "SOURCE", "TARGET", "rows of one collection", "rows of the other")
    add = parser.add_argument
    add("--system", metavar="NAME", help="a name listed by `isthmus systems` (default: see below)")
    add("-o", "--output", type=Path, metavar="MODEL", help="model file to write; required, except with a new --plan")
    add("--no-shared", action="store_true", help="with pairs: compare no texts or columns directly")
    add_column_options(parser, label=True, required=False)
    add_output_options(parser)


def run(options: argparse.Namespace, screen: Console) -> None:
    """Fit, print the held-out measurement, write the model."""
    from isthmus.io.model_file import import_skops

    import_skops()  # raises before the work if it is missing
    check_output(options.output, options.source, options.target, options.pairs, options.plan)
    source, target = read_inputs(options, (options.source, options.target), ("source", "target"), screen)
    if options.output is None:
        raise InputError("-o: expected the file that the model is written to, got none.")
    pairs = _find_pairs(options.pairs, source, target, screen)
    if pairs is None:  # with pairs, rows without a label are learned from too
        source = source.select_labels()
    if source.labels is not None or target.labels is not None:
        screen.say(source.labels_line(), target.labels_line())
    from isthmus import save, systems
    from isthmus.view.report.command_record import FIT

    name = options.system or (LABELS if pairs is None else PAIRS)
    found = _learn(options, systems()[name].make, (source, target), pairs, screen)
    stored = {"source": found.sides[0].features, "target": found.sides[1].features, FIT: {"warnings": found.warnings}}
    save(found.model, options.output, parts=stored)
    certificate, check = getattr(found.model, "result_", None), found.check
    head = f"{name}: fitted to {_describe_inputs(source, target, pairs)}"
    weights = found.model.weights_ if getattr(found.model, "shared_used_", False) else {}
    proofs = [str(each) for each in (certificate, check) if each is not None]
    screen.say("", head, *_describe_weights(weights), *proofs)
    hint = "" if pairs is None else " For a one-to-one matching use `isthmus match`."
    screen.say(*(f"Warning: {words}" for words in found.warnings), f"The model is in {options.output}.{hint}")
    facts = {"source": source.facts, "target": target.facts, "system": name, "output": str(options.output)}
    facts |= {"pairs": None if pairs is None else len(pairs), "weights": weights or None}
    facts |= {"held_out": None if check is None else check.to_dict(), "warnings": list(found.warnings)}
    screen.answer(facts | {"certificate": None if certificate is None else str(certificate)})


@dataclass(frozen=True, eq=False)
class Learned:
    """A fitted system, the files as it saw them, its measurement on held-out pairs, and warnings."""

    model: Any
    sides: Sides
    check: HeldOutPairs | None
    warnings: tuple[str, ...]


def _learn(options: argparse.Namespace, make: Any, sides: Sides, pairs: Any, screen: Console) -> Learned:
    """Fit a system; with pairs, measure it, and take it beside shared columns where these count."""
    with screen.bar("fit") as bar:
        bar.report("learning")
        model, warned = _fit_system(make(), sides, pairs, screen)
        warned = [name_file(words, options) for words in warned]
        if pairs is None:
            return Learned(model, sides, None, tuple(warned))
        bar.report("measuring on held-out pairs", 0.3)
        known, check = sides, _measure(make, sides, pairs, screen, sides)
        shared = None if options.no_shared else _append_shared_columns(make(), sides)
        if shared is not None:
            bar.report("learning beside shared columns", 0.5)
            make_union, wide = shared
            union = _fit_system(make_union(), wide, pairs, screen)[0]
            if union.shared_used_:
                model, known, learned = union, wide, check
                check = _measure(make_union, wide, pairs, screen, sides)
                check = check and learned and replace(check, learned=learned.evidence)
        return Learned(model, known, check, (*warned, *_warn_about_pairs(pairs, check)))


def _append_shared_columns(system: Any, sides: Sides) -> tuple[Callable[[], Any], Sides] | None:
    """Return a constructor of the union with shared columns, and both files with these appended; None without any.

    Shared are numbers of equal names, and texts, whatever their columns are called. Only systems that learn a metric
    can have them beside it.
    """
    from isthmus import SharedFeatureUnion
    from isthmus.estimators.mapped import MetricEstimator
    from isthmus.io.tables.features import HASHED

    ours, theirs = ({c.name: c.kind for c in side.plan.features} for side in sides)
    numbers = [name for name, kind in ours.items() if kind in ("number", "date") and theirs.get(name) == kind]
    texts = [[name for name, kind in kinds.items() if kind == "text"] for kinds in (ours, theirs)]
    if not (numbers or all(texts)) or not (isinstance(system, MetricEstimator) and system.takes_pairs):
        return None
    wide = []
    for side, some in zip(sides, texts, strict=True):
        features = side.features.append_evidence(numbers, some if all(texts) else [])
        wide.append(replace(side, features=features, X=features.transform(side.table)))
    places = [tuple(side.X.shape[1] + k for side in sides) for k in range(len(numbers))]
    return partial(SharedFeatureUnion, system, places, HASHED * all(texts)), (wide[0], wide[1])


def _measure(make: Any, sides: Sides, pairs: Any, screen: Console, plain: Sides) -> Any:
    """Search held-out pairs by a system of the others; the baseline is that of the ``plain`` files."""
    from isthmus.evidence.held_out import search_held_out_pairs

    rows = sides[0].X, sides[1].X, pairs, shared_rows(*plain)
    return search_held_out_pairs(lambda some: _fit_system(make(), sides, some, screen)[0], *rows)


def _find_pairs(path: Path | None, source: InputFile, target: InputFile, screen: Console) -> Any:
    """Return the known pairs; without them and without labels, the rows with the same id in both files."""
    pairs = load_pairs(path, source, target, screen)
    if pairs is not None or (source.labels is not None and target.labels is not None):
        return pairs
    pairs = pair_by_id(source, target, screen)
    if pairs is None:
        raise InputError("fit: expected labels in both files (--label), known pairs (--pairs) or common ids (--id).")
    return pairs


def _fit_system(system: Any, sides: Sides, pairs: Any, screen: Console) -> tuple[Any, list[str]]:
    """Return the fitted system and its warnings about the data."""
    if "progress" in system.get_params(deep=False):
        system.set_params(progress=screen.progress)
    (source, target), known = sides, {} if pairs is None else {"pairs": pairs}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        model = system.fit(source.X, source.labels, target.X, target.labels, **known)
    return model, list(dict.fromkeys(str(warning.message) for warning in caught))


def _describe_inputs(source: InputFile, target: InputFile, pairs: Any) -> str:
    """Return the files, with their numbers of rows and features, and the numbers of labels and pairs as a phrase."""
    files = [(side.table.path, side.table.n_rows, side.X.shape[1]) for side in (source, target)]
    sides = [f"{path} ({n:,} rows with {d:,} features)" for path, n, d in files]
    counts = [side.facts["labels"] for side in (source, target)]
    parts = [f"{counts[0]:,} and {counts[1]:,} labels"] * any(counts)
    parts += [] if pairs is None else [f"{len(pairs):,} pair{'s' * (len(pairs) > 1)}"]
    return f"{sides[0]} and {sides[1]}, with {' and '.join(parts)}."


def _describe_weights(weights: dict[str, float]) -> list[str]:
    """Return the line about shared columns, where they count."""
    parts = ", ".join(f"{part} {weight:.2f}" for part, weight in weights.items())
    return [f"Shared columns count beside the map; weights: {parts}."] if weights else []


def _warn_about_pairs(pairs: Any, check: HeldOutPairs | None) -> list[str]:
    """Return warnings about a model of these pairs."""
    from isthmus.evidence.held_out import FEWEST_PAIRS

    if len(pairs) < FEWEST_PAIRS:
        return [f"with fewer than {FEWEST_PAIRS} known pairs, none is held out to measure whether they are enough."]
    return [check.warning] if check is not None and check.warning else []
