"""LanceDB: the new vectors are staged in a file, then become one new version of the table; versions restore it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from isthmus.exceptions import InputError, import_extra
from isthmus.stores.store import STAMP, Columns, StagedVectors, show_stamp, split_address
from isthmus.stores.vector_files import ArrowStore, replace_lists


class LanceTable(ArrowStore):
    """A table of a LanceDB folder, as it was when it was opened."""

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
        self.check_vector_column(self._table.schema.names)
        self.n = self._table.count_rows()
        if self._table.list_indices():
            self.warning = "the new version has no indexes: create them again after the swap."

    def _batches(self, size: int) -> Iterator[Any]:
        names = self._table.schema.names
        return (batch.select(names) for batch in self._table.search().select(names).to_batches(size))

    def read_stamp(self) -> dict[str, Any]:
        """Read the metadata of the column of vectors, in the latest version."""
        about = self._database.open_table(self.name).schema.field(self.columns.vector).metadata or {}
        return dict(json.loads(about.get(STAMP.encode(), b"{}")))

    def stamp(self, about: Mapping[str, Any]) -> None:
        """Write the metadata of the column, as a new version of the table."""
        self._database.open_table(self.name).update_field_metadata(
            {"path": self.columns.vector, "metadata": show_stamp(about)}
        )

    def plan_swap(self, run: str) -> dict[str, Any]:
        """Return the version to restore."""
        return {"version": self.version}

    def swap(self, run: str, folder: Path, about: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Write the next version: it is there when all its rows are."""
        if self.version != facts["version"]:
            raise InputError(f"{self.name}: the table was changed while it was migrated; migrate it again.")
        pyarrow = import_extra("pyarrow", "lancedb", "LanceDB needs")
        staged, column = StagedVectors(folder, about["fingerprint"]["dimension"]), self.columns.vector
        pairs = zip(self.blocks(), staged.blocks(), strict=True)
        batches = (replace_lists(block.payload, column, vectors, show_stamp(about)) for block, vectors in pairs)
        field = pyarrow.field(column, pyarrow.list_(pyarrow.float32(), staged.dimension), metadata=show_stamp(about))
        schema = self._table.schema
        schema = schema.set(schema.get_field_index(column), field)
        reader = pyarrow.RecordBatchReader.from_batches(schema, batches)
        self._database.create_table(self.name, reader, mode="overwrite")

    def restore(self, run: str, facts: Mapping[str, Any]) -> None:
        """Restore the version."""
        if self.read_stamp().get("run") == run:
            self._database.open_table(self.name).restore(facts["version"])
