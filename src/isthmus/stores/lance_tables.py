"""LanceDB: the new vectors are staged in a file, then become one new version of the table; versions restore it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from isthmus.exceptions import InputError, import_extra
from isthmus.stores.store import BLOCK, STAMP, Block, Columns, split_address
from isthmus.stores.vector_files import StagedVectors, read_lists, read_staged, replace_lists, show_stamp


class LanceTable:
    """A table of a LanceDB folder, as it was when it was opened."""

    warning = ""

    def __init__(self, address: str, columns: Columns) -> None:
        lancedb = import_extra("lancedb", "lancedb", "LanceDB needs")
        folder, self.name = split_address(address)
        self.columns, self._database = columns, lancedb.connect(folder)
        try:
            self._table = self._database.open_table(self.name)
        except ValueError as error:
            raise InputError(f"{address}: expected a table, got '{str(error).splitlines()[0][:200]}'.") from None
        # A version stays as it is, whatever others write meanwhile.
        self.version = self._table.version
        self._table.checkout(self.version)
        names = self._table.schema.names
        if columns.vector not in names:
            raise InputError(f"--vector: expected one of the columns {', '.join(names)}, got {columns.vector}.")
        self.n = self._table.count_rows()
        self.dimension = self._table.schema.field(columns.vector).type.list_size
        if self._table.list_indices():
            self.warning = "the new version has no indexes: create them again after the swap."

    def _batches(self, size: int) -> Iterator[Any]:
        """Yield batches of exactly ``size`` rows: those of LanceDB end where a fragment ends."""
        pyarrow = import_extra("pyarrow", "lancedb", "LanceDB needs")
        waiting: list[Any] = []
        for batch in self._table.search().select(self._table.schema.names).to_batches(size):
            waiting.append(batch.select(self._table.schema.names))
            while sum(map(len, waiting)) >= size:
                merged = pyarrow.Table.from_batches(waiting).combine_chunks()
                yield merged.slice(0, size).to_batches()[0]
                waiting = merged.slice(size).to_batches()
        if sum(map(len, waiting)):
            yield pyarrow.Table.from_batches(waiting).combine_chunks().to_batches()[0]

    def blocks(self, start: int = 0, size: int = BLOCK) -> Iterator[Block]:
        """Yield the rows of the version in their order."""
        first, column = 0, self.columns.id
        for batch in self._batches(size):
            if first >= start:
                names = batch.column(column).to_pylist() if column in batch.schema.names else None
                vectors = read_lists(batch.column(self.columns.vector), self.name)
                yield Block(range(first, first + len(batch)) if names is None else names, vectors, batch)
            first += len(batch)

    def texts(self, block: Block) -> list[str]:
        """Return the column of texts."""
        if self.columns.text not in block.payload.schema.names:
            raise InputError(f"--text: expected a column of {', '.join(block.payload.schema.names)}.")
        return [text or "" for text in block.payload.column(self.columns.text).to_pylist()]

    def read_stamp(self) -> dict[str, Any]:
        """Read the metadata of the column of vectors, in the latest version."""
        about = self._database.open_table(self.name).schema.field(self.columns.vector).metadata or {}
        return dict(json.loads(about.get(STAMP.encode(), b"{}")))

    def stamp(self, about: Mapping[str, Any]) -> None:
        """Write the metadata of the column, as a new version of the table."""
        self._database.open_table(self.name).update_field_metadata(
            {"path": self.columns.vector, "metadata": show_stamp(about)}
        )

    def open_beside(self, run: str, dimension: int, folder: Path, about: Mapping[str, Any]) -> StagedVectors:
        """Open the staged vectors in the folder of the migration."""
        return StagedVectors(folder, dimension)

    def plan_swap(self, run: str) -> dict[str, Any]:
        """Return the version to restore."""
        return {"version": self.version}

    def swap(self, run: str, folder: Path, about: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Write the next version: it is there when all its rows are."""
        if self.read_stamp().get("run") == run:
            return
        if self._database.open_table(self.name).version != self.version:
            raise InputError(f"{self.name}: the table was changed while it was migrated; migrate it again.")
        pyarrow = import_extra("pyarrow", "lancedb", "LanceDB needs")
        d, column = about["fingerprint"]["dimension"], self.columns.vector

        def write() -> Iterator[Any]:
            for i, batch in enumerate(self._batches(BLOCK)):
                vectors = read_staged(folder / "vectors.f32", d, i * BLOCK, i * BLOCK + len(batch))
                yield replace_lists(batch, column, vectors, show_stamp(about))

        field = pyarrow.field(column, pyarrow.list_(pyarrow.float32(), d), metadata=show_stamp(about))
        schema = self._table.schema
        schema = schema.set(schema.get_field_index(column), field)
        reader = pyarrow.RecordBatchReader.from_batches(schema, write())
        self._database.create_table(self.name, reader, mode="overwrite")

    def restore(self, run: str, facts: Mapping[str, Any]) -> None:
        """Restore the version."""
        if self.read_stamp().get("run") == run:
            self._database.open_table(self.name).restore(facts["version"])
