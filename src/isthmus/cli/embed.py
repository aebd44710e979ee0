"""``isthmus embed``: rows of a file as points of the common space."""

from __future__ import annotations

import argparse
from pathlib import Path

from isthmus.cli.arguments import FORMATS, add_speech
from isthmus.cli.models import DOMAINS, Kept, add_model
from isthmus.cli.outputs import require_output, require_table
from isthmus.cli.screen import Screen
from isthmus.exceptions import InputError

EXAMPLES = """\
examples:
  isthmus embed translations.isthmus french.csv --domain target -o french.npy
  isthmus embed translations.isthmus english.parquet --domain source -o english.parquet
"""
BLOCK = 20_000
"""Rows that are mapped at once."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add_model(parser)
    add = parser.add_argument
    add("file", metavar="FILE", type=Path, help=f"rows of one domain: {FORMATS}")
    add("--domain", choices=DOMAINS, required=True, help="which")
    add("-o", "--output", type=Path, required=True, metavar="FILE", help="points as .npy (rows in order) or a table")
    add_speech(parser)


def run(options: argparse.Namespace) -> None:
    """Map block by block, and write."""
    import numpy as np

    screen = Screen.of(options)
    check = require_output if options.output.suffix == ".npy" else require_table
    check(options.output, options.model, options.file)
    from isthmus.storage.files import saving
    from isthmus.tables import ids_of, read_table, write_table

    kept, table = Kept.of(options.model), read_table(options.file)
    if not hasattr(kept.model, "transform"):
        raise InputError(f"{options.model}: expected a model with a common space, got {type(kept.model).__name__}.")

    def points(start: int) -> np.ndarray:
        rows = kept.rows(table.rows(start, start + BLOCK), options.domain)
        return np.asarray(kept.model.transform(rows, options.domain), dtype=np.float32)

    first = points(0)
    starts = range(BLOCK, table.n_rows, BLOCK)
    shape = table.n_rows, first.shape[1]
    if options.output.suffix == ".npy":
        with saving(options.output) as file:
            header = {"descr": np.lib.format.dtype_to_descr(first.dtype), "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            file.write(first.tobytes())
            for start in starts:
                file.write(points(start).tobytes())
    else:
        every = np.concatenate([first, *(points(start) for start in starts)])
        ids = list(ids_of(table, kept.features[options.domain].plan))
        write_table(options.output, {"id": ids} | {f"x{j}": every[:, j] for j in range(shape[1])})
    screen.say(f"{shape[0]:,} points of {shape[1]} coordinates are in {options.output}.")
    screen.answer({"rows": shape[0], "coordinates": shape[1], "output": str(options.output)})
