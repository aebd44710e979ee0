"""A table as rows of numbers, by a plan; what was learned can be stored as plain arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from isthmus._arrays import BoolArray, FloatArray, Matrix, is_sparse
from isthmus.exceptions import InputError
from isthmus.storage.files import shown
from isthmus.tables import cells
from isthmus.tables.blocks import Block, Categories, MatrixPart, Numbers, Words
from isthmus.tables.plan import Plan
from isthmus.tables.table import Table

FORMAT, VERSION = "isthmus features", 1
MOST_BLOCKS = 2**12
RESTORED: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Block]] = {
    "numbers": Numbers.restored,
    "categories": Categories.restored,
    "matrix": MatrixPart.restored,
    "words": Words.restored,
}
"""All kinds that a file may name."""
KIND_OF = {Numbers: "numbers", Categories: "categories", MatrixPart: "matrix", Words: "words"}


@dataclass(frozen=True, eq=False)
class Features:
    """What was learned from a table: blocks of features, side by side.

    Parameters
    ----------
    plan : Plan
        What the columns are.
    blocks : tuple of Block
        Numbers first, then words of categories, matrices and texts.

    Examples
    --------
    >>> table = Table.of({"age": [31, 4, 58], "job": ["cook", "cook", "nurse"]})
    >>> features = Features.fit(Plan.of(table), table)
    >>> features.names
    ('age', 'job = cook', 'job = nurse')
    >>> features.transform(Table.of({"age": [31, 31], "job": ["nurse", "pilot"]})).round(6)
    array([[0., 0., 1.],
           [0., 0., 0.]])
    >>> Features.from_parts(*features.to_parts()).names == features.names
    True
    """

    plan: Plan
    blocks: tuple[Block, ...]

    @classmethod
    def fit(cls, plan: Plan, table: Table) -> Features:
        """Learn what the plan asks for from the rows of a table."""
        return cls(plan, tuple(_fitted(plan, table)))

    @property
    def names(self) -> tuple[str, ...]:
        """One name per feature."""
        return tuple(name for block in self.blocks for name in block.names)

    def transform(self, table: Table) -> Matrix:
        """The features (n, d) of rows in double precision: an array, or CSR where a part is sparse."""
        return _side_by_side([block.transform(table) for block in self.blocks])

    def transform_texts(self, texts: Sequence[str]) -> Matrix:
        """The features of typed texts, where all columns that were learned from are text."""
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise InputError("texts: expected a list of texts, got another.")
        if not len(texts):
            raise InputError("texts: expected at least one text, got none.")
        found = [block.of_texts(texts) for block in self.blocks if isinstance(block, Words)]
        if len(found) < len(self.blocks):
            raise InputError("texts: expected features of text only, got a plan with other columns.")
        return _side_by_side(found)

    def unknown_texts(self, texts: Sequence[str]) -> BoolArray:
        """Which typed texts have no word that was learned from (n,), where all columns are text."""
        return self._unknown([(block, texts) for block in self.blocks if isinstance(block, Words)], len(texts))

    def unknown_rows(self, table: Table) -> BoolArray:
        """Which rows have no word that was learned from (n,); none, where not all columns are text."""
        found = [(block, cells.texts(table, block.column)) for block in self.blocks if isinstance(block, Words)]
        return self._unknown(found, table.n_rows)

    def _unknown(self, found: Sequence[tuple[Words, Sequence[str]]], n: int) -> BoolArray:
        if len(found) < len(self.blocks):
            return np.zeros(n, dtype=bool)
        return np.asarray(np.all([block.are_unknown(texts) for block, texts in found], axis=0))

    def plan_lines(self) -> list[str]:
        """What each column is, for the screen, with the axes of texts as many as there were."""
        axes = {b.column: 0 if b.axes is None else len(b.axes) for b in self.blocks if isinstance(b, Words)}
        return [str(replace(c, components=axes[c.name]) if c.name in axes else c) for c in self.plan.columns]

    def lines(self) -> list[str]:
        """What the features are, for the screen."""
        n = len(self.names)
        return [f"{n} feature{'s' * (n > 1)}", *(f"  {block.line}" for block in self.blocks)]

    def to_parts(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        """What was learned: a value fit for JSON, and arrays by name."""
        about = [{"kind": KIND_OF[type(block)], **block.about()} for block in self.blocks]
        arrays = {f"{i}_{part}": a for i, block in enumerate(self.blocks) for part, a in block.arrays().items()}
        return {"format": FORMAT, "version": VERSION, "plan": self.plan.to_toml(), "blocks": about}, arrays

    @classmethod
    def from_parts(cls, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Features:
        """The same from what :meth:`to_parts` gave, every part of it checked: it may come from a stranger."""
        if not isinstance(about, Mapping) or about.get("format") != FORMAT:
            raise InputError("features: expected stored features, got another kind of value.")
        if about.get("version") != VERSION:
            got = shown(repr(about.get("version"))[:40])
            raise InputError(f"features, version: expected {VERSION}, got {got}.")
        plan, blocks = Plan.from_toml(about.get("plan", "")), about.get("blocks")
        if not isinstance(blocks, list) or not 0 < len(blocks) <= MOST_BLOCKS:
            raise InputError(f"features, blocks: expected a list of 1 to {MOST_BLOCKS}, got another.")
        found = cls(plan, tuple(_restored(i, block, arrays) for i, block in enumerate(blocks)))
        _require_plan(found)
        return found


def _fitted(plan: Plan, table: Table) -> Iterator[Block]:
    by_kind: dict[str, list[Any]] = {"number": [], "category": [], "matrix": [], "text": []}
    for column in plan.features:
        by_kind["number" if column.kind == "date" else column.kind].append(column)
    if by_kind["number"]:
        yield Numbers.fit(table, by_kind["number"])
    if by_kind["category"]:
        yield Categories.fit(table, by_kind["category"])
    yield from (MatrixPart.fit(table, column) for column in by_kind["matrix"])
    yield from (Words.fit(table, column) for column in by_kind["text"])


def _side_by_side(parts: Sequence[Matrix]) -> Matrix:
    if len(parts) == 1:
        return parts[0]
    return sp.hstack(parts, format="csr") if any(map(is_sparse, parts)) else np.hstack(parts)


def _restored(i: int, block: Any, arrays: Mapping[str, NDArray[Any]]) -> Block:
    kind = block.get("kind") if isinstance(block, Mapping) else None
    if not isinstance(kind, str) or kind not in RESTORED:
        raise InputError(f"features, kind: expected one of {', '.join(RESTORED)}, got {shown(repr(kind)[:40])}.")
    mine = {name.removeprefix(f"{i}_"): array for name, array in arrays.items() if name.startswith(f"{i}_")}
    return RESTORED[kind](block, mine)


def _require_plan(found: Features) -> None:
    """Raise unless the blocks are about the columns that the plan names as features."""
    used = [name for block in found.blocks for name in getattr(block, "columns", None) or (block.about()["column"],)]
    if sorted(used) != sorted(column.name for column in found.plan.features):
        raise InputError("features, blocks: expected the columns of the plan, got others.")
