"""``isthmus embed``: rows of a file as points of the common space.

Examples
--------
  isthmus embed translations.isthmus french.csv --domain target -o french.npy
  isthmus embed translations.isthmus english.parquet --domain source -o english.parquet

Rows are read, mapped and written in blocks, so FILE can be larger than memory (except JSON lines and .h5ad).
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus._core.files import show_path
from isthmus.cli.arguments import FORMATS, add_format, add_output_options, format_of
from isthmus.cli.console import Console, check_output, check_table_output
from isthmus.cli.inputs import DOMAINS, StoredModel, add_model_option, coerced_facts
from isthmus.exceptions import InputError

if TYPE_CHECKING:
    import numpy as np

    from isthmus._core.progress import Progress
    from isthmus.io.tables.stream import RowBlocks
    from isthmus.io.tables.table import CoercedCells, Table

    Points = Iterator[tuple[Table, np.ndarray[Any, np.dtype[np.float32]]]]

# Rows that are read, mapped and written at once.
BLOCK = 20_000
# Kinds of columns whose cells are read as words.
WORDS = "category", "text"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    add_model_option(parser)
    add = parser.add_argument
    add("file", metavar="FILE", type=Path, help=f"rows with the columns of one of the two files: {FORMATS}")
    add("--domain", choices=DOMAINS, required=True, help="whose rows these are in `isthmus fit`")
    points = "points: .npy (rows in order), or a table with ids"
    add("-o", "--output", type=Path, required=True, metavar="FILE", help=points)
    add_format(parser, files=1)
    add_output_options(parser)


def run(options: Namespace, screen: Console) -> None:
    """Map some rows at a time and write their points."""
    check = check_output if options.output.suffix == ".npy" else check_table_output
    check(options.output, options.model, options.file)
    kept = StoredModel.of(options.model)
    if not hasattr(kept.model, "transform"):
        raise InputError(f"{options.model}: expected a model with a common space, got {type(kept.model).__name__}.")
    as_table = options.output.suffix != ".npy"
    blocks = _read_blocks(kept, options, ids=as_table)
    screen.say(*([] if blocks.dialect is None else [f"{show_path(options.file)}: {blocks.dialect}"]))
    coerced: dict[str, CoercedCells] = {}
    with screen.bar("embed") as bar:
        blocks.scan(lambda part: bar.report(f"scanning {show_path(options.file)}", part))
        bar.close()  # scanning and mapping take different times per row
        points = _map_blocks(kept, blocks, options.domain, bar, coerced)
        n, d = _write_table(kept, options, blocks, points) if as_table else _write_array(options.output, points)
    notes = [cells for cells in coerced.values() if cells]
    screen.say(*map(str, notes), f"{n:,} points of {d} coordinates are in {options.output}.")
    facts = {"rows": n, "coordinates": d, "output": str(options.output)}
    screen.answer(facts | {"coerced": coerced_facts(notes)})


def _read_blocks(kept: StoredModel, options: Namespace, *, ids: bool) -> RowBlocks:
    from isthmus.io.tables.stream import RowBlocks

    plan = kept.features[options.domain].plan
    words = [column.name for column in plan.columns if column.kind in WORDS]
    named = [*words, *([plan.id] if ids and plan.id is not None else [])]
    return RowBlocks(options.file, BLOCK, named, **format_of(options, 0))


def _map_blocks(
    kept: StoredModel, blocks: RowBlocks, domain: str, bar: Progress, coerced: dict[str, CoercedCells]
) -> Points:
    """Yield tables of some rows each, with their points; add up the coerced cells, and report progress."""
    import numpy as np

    for table in blocks:
        rows = kept.rows(table, domain)
        for name, cells in kept.features[domain].count_coerced_cells(table).items():
            coerced[name] = coerced[name] + cells if name in coerced else cells
        yield table, np.asarray(kept.model.transform(rows, domain), dtype=np.float32)
        bar.report(f"{table.first + table.n_rows:,} rows", blocks.part)


def _write_array(path: Path, points: Points) -> tuple[int, int]:
    """Write one array; the number of rows goes into its header at the end."""
    from numpy.lib.format import dtype_to_descr, write_array_header_1_0

    from isthmus._core.files import save_file

    n, d = 0, 0

    def write_head(file: Any, dtype: Any) -> None:
        write_array_header_1_0(file, {"descr": dtype_to_descr(dtype), "fortran_order": False, "shape": (n, d)})

    with save_file(path) as file:
        for _, found in points:
            if not n:
                d = found.shape[1]
                write_head(file, found.dtype)
            file.write(found.tobytes())
            n += len(found)
        file.seek(0)
        write_head(file, found.dtype)  # NumPy leaves room for a larger number of rows
    return n, d


def _write_table(kept: StoredModel, options: Namespace, blocks: RowBlocks, points: Points) -> tuple[int, int]:
    """Write a table of ids and points; raise where an id occurs twice."""
    from isthmus.io.tables.plan import IdRegister
    from isthmus.io.tables.write import write_blocks

    plan, seen, shape = kept.features[options.domain].plan, IdRegister(), [0, 0]

    def columns() -> Iterator[dict[str, Any]]:
        for table, found in points:
            ids = seen.read(table, plan)
            shape[:] = shape[0] + len(found), found.shape[1]
            yield {"id": list(ids)} | {f"x{j}": found[:, j] for j in range(shape[1])}
        seen.check_unique(blocks, plan)

    write_blocks(options.output, columns())
    return shape[0], shape[1]
