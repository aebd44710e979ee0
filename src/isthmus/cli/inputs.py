"""Inputs of the commands: two tables as features, and model files with the features of either domain."""

from __future__ import annotations

import json
import os
import tomllib
from argparse import ArgumentParser, Namespace
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus._core.files import check_writable, open_regular, show_path, write_whole
from isthmus.cli.arguments import format_of
from isthmus.cli.console import Console, PlanWrittenError
from isthmus.exceptions import InputError

if TYPE_CHECKING:
    from isthmus._core.progress import Progress
    from isthmus._core.validation import BoolArray, IntArray, Matrix
    from isthmus.data.shared_columns import SharedColumns
    from isthmus.io.tables.features import Features
    from isthmus.io.tables.plan import Column, Plan
    from isthmus.io.tables.table import CoercedCells, Table


DOMAINS = "source", "target"


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A model file of ``isthmus fit``: the model, and the features of either domain."""

    model: Any
    features: dict[str, Features]

    @classmethod
    def of(cls, path: Path) -> StoredModel:
        """Read a file; one that was written in Python has no features, which is an error."""
        from isthmus.io.model_file import load, load_parts
        from isthmus.io.tables.features import Features

        parts = load_parts(path)
        features = {domain: parts[domain] for domain in DOMAINS if isinstance(parts.get(domain), Features)}
        if len(features) < len(DOMAINS):
            raise InputError(f"{path}: expected a model of `isthmus fit`, got one without the features of its files.")
        return cls(load(path), features)

    def rows(self, table: Table, domain: str) -> Any:
        """Return the features of a table's rows; it needs the columns of the fit, and no others."""
        plans = [self.features[name].plan for name in (domain, other_domain(domain))]
        wanted, others = ({column.name for column in plan.features} for plan in plans)
        if not wanted <= {*table.names} and others <= {*table.names}:
            got = f"those of the {other_domain(domain)}; give that domain (--domain or --from)"
            raise InputError(f"{table.path}: expected the columns of the {domain}, got {got}.")
        return self.features[domain].transform(table)

    def read(
        self, path: Path, domain: str, written: Mapping[str, str | None], screen: Console
    ) -> tuple[Table, Any, tuple[CoercedCells, ...]]:
        """Read a file with rows of a domain, and say what was detected; return its table, features, coerced cells."""
        from isthmus.io.tables.read import read_table

        table = read_table(path, **written)
        screen.say(*([] if table.dialect is None else [f"{table.path}: {table.dialect}"]))
        rows, coerced = self.rows(table, domain), list_coerced_cells(self.features[domain], table)
        screen.say(*(f"{table.path}, {cells}" for cells in coerced))
        return table, rows, coerced


def add_model_option(parser: ArgumentParser) -> None:
    """Add the model file."""
    parser.add_argument("model", metavar="MODEL", type=Path, help="model file written by `isthmus fit`")


def other_domain(domain: str) -> str:
    """Return the other domain."""
    return DOMAINS[1 - DOMAINS.index(domain)]


# Bytes.
LONGEST_PLAN = 2**24


@dataclass(frozen=True, eq=False)
class InputFile:
    """An input file, or some rows of it, with their ids; ``unused`` are the ids of its other rows."""

    name: str
    table: Table
    plan: Plan
    features: Features
    X: Matrix
    ids: tuple[str, ...]
    coerced: tuple[CoercedCells, ...] = ()
    unused: tuple[str, ...] = ()

    @property
    def labels(self) -> Any:
        """The classes (n,), None for rows without one; None without such a column."""
        from isthmus.io.tables.plan import read_labels

        return None if self.plan.label is None else read_labels(self.table, self.plan)

    @property
    def facts(self) -> dict[str, Any]:
        """Sizes and dialect, for ``--json``."""
        sizes = {"rows": self.table.n_rows, "features": int(self.X.shape[1]), "labels": len(self.given_labels)}
        dialect = self.table.dialect
        written = {} if dialect is None else asdict(dialect) | {"separator": dialect.sep}
        return {"file": str(self.table.path)} | sizes | written | {"coerced": coerced_facts(self.coerced)}

    @property
    def given_labels(self) -> list[str]:
        """The labels of the rows that have one."""
        return [] if self.labels is None else [label for label in self.labels if label is not None]

    def select(self, kept: BoolArray) -> InputFile:
        """Return some of the rows; the features stay those of all."""
        import numpy as np

        rows, others = np.flatnonzero(kept), np.flatnonzero(~kept)
        ids, unused = (tuple(self.ids[i] for i in some) for some in (rows, others))
        return replace(self, table=self.table.take(rows), X=self.X[rows], ids=ids, unused=unused)

    def select_labels(self) -> InputFile:
        """Return the rows that have a label; all rows where none has one."""
        import numpy as np

        known = np.array([label is not None for label in self.labels])
        return self if known.all() or not known.any() else self.select(known)

    def labels_line(self) -> str:
        """Return the number of labels, for the screen."""
        others = f"; {len(self.unused):,} rows without a label are not used" if self.unused else ""
        return f"{self.name}: {len(self.given_labels):,} labels of {len(set(self.given_labels))} classes{others}"

    def lines(self) -> list[str]:
        """Return sizes, dialect and columns, for the screen."""
        head = f"{self.name}: {self.table.path}, {self.table.n_rows:,} rows, {self.X.shape[1]:,} features"
        written = "" if self.table.dialect is None else f"; {self.table.dialect}"
        notes = map(str, self.coerced)
        return [f"{head}{written}", *(f"    {line}" for line in (*self.features.plan_lines(), *notes))]


def list_coerced_cells(features: Features, table: Table) -> tuple[CoercedCells, ...]:
    """Return the columns with cells that are not plain numbers or dates, counted."""
    return tuple(cells for cells in features.count_coerced_cells(table).values() if cells)


def coerced_facts(coerced: Iterable[CoercedCells]) -> list[dict[str, Any]]:
    """Return counts of cells that are not plain numbers or dates, for ``--json``."""
    return [asdict(cells) | {"sentence": str(cells)} for cells in coerced]


def read_inputs(
    options: Namespace,
    files: tuple[Path, Path],
    names: tuple[str, str],
    screen: Console,
    *,
    scale: bool = True,
    least: int = 1,
) -> tuple[InputFile, InputFile]:
    """Read both files; where a plan is to be written first, write it, and end the command.

    Without ``scale``, numbers are not scaled, and texts are reduced to axes, unless a plan says otherwise. Files of
    fewer than ``least`` rows are refused.
    """
    from isthmus._core.threads import single_threaded_blas
    from isthmus.io.tables.features import Features
    from isthmus.io.tables.plan import read_ids, read_pairs

    new_plan = options.plan is not None and not os.path.lexists(options.plan)
    if new_plan:
        check_writable(options.plan)
    bar = screen.bar("isthmus")
    tables = tuple(_read_table(path, bar, format_of(options, i)) for i, path in enumerate(files))
    check_row_counts(tables, least)
    plans = _detect_plans(options, tables, scale) if new_plan or options.plan is None else _load_plans(options, names)
    if new_plan:
        texts = [plan.to_toml(name) for plan, name in zip(plans, names, strict=True)]
        if hasattr(options, "shared"):
            found = _pair_columns(tables, plans, options)
            # Without the section, columns are detected when the plan is read; an empty one forbids all.
            texts += [_write_shared_pairs(found)] * (bool(found.pairs) or not found)
        write_whole(options.plan, "\n".join(texts).encode())
        screen.say(f"The plan is in {options.plan}; nothing else was done. Correct it, and run this command again.")
        screen.answer({"plan": str(options.plan)})
        raise PlanWrittenError
    # Repeated ids, and pairs of unknown rows, are reported before the work begins.
    ids = [read_ids(table, plan) for table, plan in zip(tables, plans, strict=True)]
    for path in (getattr(options, name, None) for name in ("pairs", "not_pairs")):
        if path is not None:
            read_pairs(path, *ids)
    sides = []
    for name, table, plan, own in zip(names, tables, plans, ids, strict=True):
        with bar, single_threaded_blas():  # texts on axes are many small products
            bar.report(f"features of {table.path}")
            features = Features.fit(plan, table)
            X, coerced = features.transform(table), list_coerced_cells(features, table)
            sides.append(InputFile(name, table, plan, features, X, own, coerced))
        screen.say(*sides[-1].lines())
    return sides[0], sides[1]


def check_row_counts(tables: Iterable[Table], least: int) -> None:
    """Refuse tables of fewer rows than it takes to learn from them."""
    for table in tables:
        if table.n_rows < least:
            raise InputError(f"{table.path}: expected at least {least} rows to learn from, got {table.n_rows:,}.")


def _read_table(path: Path, bar: Progress, written: Mapping[str, str | None]) -> Table:
    from isthmus.io.tables.read import read_table

    with bar:
        bar.report(f"reading {show_path(path)}")
        return read_table(path, **written)


def _load_plans(options: Namespace, names: tuple[str, str]) -> list[Plan]:
    from isthmus.io.tables.plan import Plan
    from isthmus.io.tables.table import quote

    path = show_path(options.plan)
    with open_regular(options.plan) as file:
        text = file.read(LONGEST_PLAN)
    try:
        plans = [Plan.from_toml(text.decode(), name) for name in names]
    except UnicodeDecodeError:
        raise InputError(f"{path}: expected a plan in UTF-8, got other bytes.") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    label = getattr(options, "label", None)
    roles = {"label": [label] * (label is not None), "id": options.id, "text": options.text, "dropped": options.drop}
    for kind, columns in roles.items():
        for name in columns:
            if not any(column.name == name and column.kind == kind for plan in plans for column in plan.columns):
                option = "--drop" if kind == "dropped" else f"--{kind}"
                expected = f"the column {quote(name)} to be of kind {kind!r}, as {option} says"
                raise InputError(f"{path}: expected {expected}, got a plan that says otherwise.")
    return plans


def _detect_plans(options: Namespace, tables: tuple[Table, ...], scale: bool) -> list[Plan]:
    from isthmus.io.tables.plan import Plan, settle_kinds
    from isthmus.io.tables.table import quote

    label = getattr(options, "label", None)
    asked = [name for name in (label, *options.id, *options.text, *options.drop) if name is not None]
    for column in asked:
        if not any(column in table.names for table in tables):
            names = list(dict.fromkeys(show_path(n) for t in tables for n in t.names))
            near = get_close_matches(column, names, 1)
            got = ", ".join(names)[:200] + "".join(f" (did you mean {name}?)" for name in near)
            both = f"{tables[0].path} and {tables[1].path}"
            raise InputError(f"{both}: expected a column {quote(column)} in one of them, got {got}.")

    plans = [
        Plan.of(
            table,
            label=label if label in table.names else None,
            id=next((name for name in options.id if name in table.names), None),
            text=[name for name in options.text if name in table.names],
            drop=[name for name in options.drop if name in table.names],
        )
        for table in tables
    ]
    plans = settle_kinds(plans, tables)
    # Pairs name rows, and so does a matching; other models ask no file for a column of ids.
    if hasattr(options, "shared") or getattr(options, "pairs", None) is not None:
        plans = [plan.detect_id(table) for plan, table in zip(plans, tables, strict=True)]
    return plans if scale else [_reduce_texts(plan) for plan in plans]


def pair_by_id(first: InputFile, second: InputFile, screen: Console) -> IntArray | None:
    """Return rows with the same id in both files, as row numbers (m, 2); None without ids or such rows."""
    import numpy as np

    if first.plan.id is None or second.plan.id is None:
        return None
    rows = {name: row for row, name in enumerate(second.ids)}
    found = [(row, rows[name]) for row, name in enumerate(first.ids) if name in rows]
    if not found:
        return None
    screen.say(f"pairs: {len(found):,} rows with the same id in both files")
    return np.array(found, dtype=np.intp)


def _reduce_texts(plan: Plan) -> Plan:
    """Return the plan with unscaled numbers, and texts reduced to axes: maps between columns per word take long."""
    from isthmus.io.tables.plan import COMPONENTS

    def change_kind(column: Column) -> Column:
        if column.kind == "text":
            return replace(column, components=COMPONENTS)
        return replace(column, scale=False) if "scale" in column.settings else column

    return replace(plan, columns=tuple(map(change_kind, plan.columns)))


def load_pairs(
    path: Path | None, first: InputFile, second: InputFile, screen: Console, what: str = "pairs"
) -> IntArray | None:
    """Read the pairs of a file as row numbers (m, 2), without those of unused rows; None where there is no other."""
    if path is None:
        return None
    from isthmus.io.tables.plan import read_pairs

    every = read_pairs(path, (*first.ids, *first.unused), second.ids)
    pairs = every[every[:, 0] < first.table.n_rows]
    others = f", of which {len(every) - len(pairs):,} have no label in the {first.name}, and are not used"
    screen.say(f"{what}: {path}, {len(every):,}{others if len(pairs) < len(every) else ''}")
    return pairs if len(pairs) else None


def load_decisions(
    path: Path | None, first: Sequence[str], second: Sequence[str], screen: Console
) -> dict[str, list[tuple[int, int]]]:
    """Read the answers of `isthmus review` as places (i, j) among two lists of ids, by their verdicts."""
    found: dict[str, list[tuple[int, int]]] = {"y": [], "n": [], "?": []}
    if path is None:
        return found
    from isthmus.view.review.decisions import read_decisions

    places = [{id: k for k, id in enumerate(ids)} for ids in (first, second)]
    for names, verdict in read_decisions(path).items():
        for name, known in zip(names, places, strict=True):
            if name not in known:
                raise InputError(f"{show_path(path)}: expected ids of the files' rows, got {show_path(name)!r:.60}.")
        found[verdict].append((places[0][names[0]], places[1][names[1]]))
    words = {"y": "confirmed", "n": "rejected", "?": "unsure"}
    counts = ", ".join(f"{len(found[verdict]):,} {word}" for verdict, word in words.items())
    screen.say(f"decisions: {path}, {counts}")
    return found


def shared_columns(first: InputFile, second: InputFile, options: Namespace, screen: Console) -> SharedColumns | None:
    """Return the columns that both files share: those of --shared, of the plan, or detected; None without any."""
    found = _pair_columns((first.table, second.table), (first.plan, second.plan), options)
    hint = f"; use --shared A=B if column A of {first.table.path} means the same as column B of {second.table.path}"
    screen.say(f"shared: {found.describe_pairs()}{hint * (not found.pairs and not options.no_shared)}")
    return found or None


def _pair_columns(tables: Sequence[Table], plans: Sequence[Plan], options: Namespace) -> SharedColumns:
    from isthmus.data.shared_columns import AUTO, SharedColumns, plain_name

    given: list[Any] | None = [] if options.no_shared else None
    if options.shared:
        given = [(name, other or name) for name, _, other in (word.partition("=") for word in options.shared)]
    elif given is None and options.plan is not None and os.path.lexists(options.plan):
        given = _read_shared_pairs(options.plan)
    for table, name in ((t, n) for pair in given or () for t, n in zip(tables, pair, strict=True)):
        if name not in table.names:
            got = f"({table.show_names()}), got {show_path(repr(name)[:60])}"
            raise InputError(f"shared: expected a column of {table.path} {got}.")
    named = {name for pair in given or () for name in pair}
    ours, theirs = ({plain_name(name) for name in table.names} for table in tables)
    cells = [_read_evidence(table, plan, named, ours & theirs) for table, plan in zip(tables, plans, strict=True)]
    if not _share_ids(cells, plans):
        sides = zip(cells, plans, strict=True)
        cells = [{n: c for n, c in some.items() if n != plan.id or n in named} for some, plan in sides]
    return SharedColumns.of(cells[0], cells[1], AUTO if given is None else given)


def _read_shared_pairs(path: Path) -> list[Any] | None:
    """Return the pairs of columns in a plan that was read before; None where it has none."""
    found = tomllib.loads(path.read_text(encoding="utf-8")).get("shared")
    pairs = found.get("columns") if isinstance(found, dict) else found
    if found is None:
        return None
    if not isinstance(pairs, list) or not all(isinstance(p, list) and [*map(type, p)] == [str, str] for p in pairs):
        expected = 'columns = [["column of A", "column of B"], …]'
        raise InputError(f"{show_path(path)}: plan, [shared]: expected {expected}, got something else.")
    return pairs


def _write_shared_pairs(shared: SharedColumns) -> str:
    pairs = json.dumps(shared.pairs, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"# columns of the first and of the second file that mean the same\n[shared]\ncolumns = {pairs}\n"


def _read_evidence(table: Table, plan: Plan, named: set[str], both: set[str]) -> dict[str, list[Any]]:
    """Return the cells of the columns that are features or look like ids, and of those that the user names."""
    from isthmus.data.shared_columns import MOST_NUMBERS, plain_name
    from isthmus.io.tables.plan import FEATURES, FIRST, ID_LIKE

    numbers = {c.name for c in plan.columns if c.kind == "number" and plain_name(c.name) not in both}

    def is_evidence(column: Column) -> bool:
        if column.name in numbers:  # others would not be paired
            return _are_different(table.column(column.name), whole=len(numbers) > MOST_NUMBERS)
        found = column.kind in FEATURES or (column.kind == "dropped" and column.why in ID_LIKE)
        return found or (column.kind == "id" and column.why.startswith(FIRST))

    used = named | {column.name for column in plan.columns if is_evidence(column)}
    columns = {name: table.column(name) for name in table.names if name in used and not table.is_matrix(name)}
    return {name: column.to_list() for name, column in columns.items() if not column.dtype.is_nested()}


def _are_different(series: Any, *, whole: bool) -> bool:
    """Return whether at least half of a column's numbers differ; with ``whole``, also whether none has a fraction."""
    from isthmus.io.tables.content import import_polars

    text = series.cast(import_polars().String)
    return bool(2 * text.n_unique() >= len(text) and not (whole and text.str.contains("[.,]").any()))


def own_columns(table: Table, plan: Plan) -> SharedColumns:
    """Return the columns of a table, but its ids, as shared with itself."""
    from isthmus.data.shared_columns import SharedColumns, plain_name

    cells = _read_evidence(table, plan, set(), set(map(plain_name, table.names)))
    kept = {name: column for name, column in cells.items() if name != plan.id}
    return SharedColumns.of(kept, kept)


def _share_ids(cells: Sequence[Mapping[str, Sequence[Any]]], plans: Sequence[Plan]) -> bool:
    """Return whether the ids that were detected are keys of the objects: some of them are in both files."""
    from isthmus.data.cells import clean_text
    from isthmus.data.shared_columns import LEAST_OVERLAP

    both = zip(cells, plans, strict=True)
    ids = [{clean_text(cell) for cell in columns.get(plan.id or "", ())} for columns, plan in both]
    return len(ids[0] & ids[1]) >= LEAST_OVERLAP * min(map(len, ids))


def match_columns(source: Features, target: Features) -> list[tuple[int, int]]:
    """Return the places of features that both have: columns of equal names, and words of any text column."""
    ours, theirs = (_locate_features(features.blocks) for features in (source, target))
    return [(ours[key], theirs[key]) for key in ours if key in theirs]


def shared_rows(source: InputFile, target: InputFile) -> tuple[Matrix, Matrix] | None:
    """Return the features that both have as rows of either file; words too where a plan reduces them to axes."""
    from isthmus.io.tables.features import Features, Words

    sides = source, target
    ours, theirs = (
        Features(side.plan, tuple(replace(b, axes=None) if isinstance(b, Words) else b for b in side.features.blocks))
        for side in sides
    )
    pairs = match_columns(ours, theirs)
    if not pairs:
        return None
    columns = map(list, zip(*pairs, strict=True))
    S, T = (f.transform(side.table)[:, c] for f, side, c in zip((ours, theirs), sides, columns, strict=True))
    return S, T


def _locate_features(blocks: Any) -> dict[Hashable, int]:
    """Return the place of each feature that has a name of its own; the first of those of one name."""
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
