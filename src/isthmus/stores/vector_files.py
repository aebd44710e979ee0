"""Files of vectors: NumPy arrays, FAISS, Parquet, and tables of LanceDB; new vectors are staged, then swapped."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._core.files import copy_mode, rename_written, replace_file, show_path, sync_folder, write_whole
from isthmus._core.validation import FloatArray
from isthmus.exceptions import InputError, import_extra
from isthmus.stores.store import (
    BLOCK,
    NUMBERS,
    STAMP,
    Block,
    Columns,
    NewRows,
    StagedVectors,
    Store,
    VersionedStore,
    as_vectors,
    show_stamp,
    split_address,
)


class VectorFile(Store):
    """Vectors in a file; metadata are in a second one with the ending .isthmus.json."""

    module, extra = "numpy", "parquet"

    def __init__(self, address: str, columns: Columns) -> None:
        path = Path(address)
        # The file that a link leads to is what is replaced, and what gets a second name.
        self.path, self.name, self.columns = path.resolve() if path.is_symlink() else path, address, columns
        self._module = import_extra(self.module, self.extra, "These files need")
        if not self.path.is_file():
            raise InputError(f"{show_path(self.path)}: expected a file, found none.")
        self._open()

    @abstractmethod
    def _open(self) -> None:
        """Open the file and count its rows."""

    @abstractmethod
    def write(self, file: Any, rows: NewRows, dimension: int) -> None:
        """Write this file with other vectors to an open one."""

    def write_beside(self, run: str, rows: NewRows, dimension: int) -> VectorFile:
        """Write the file that takes the place of this one, under another name, and open it."""
        place = self._beside(run)
        for unfinished in place.parent.glob(f".{escape(place.name[:100])}.*.part"):  # of a run that was killed
            unfinished.unlink()
        place.touch(0o600)  # nobody may read it before it has the mode of this one
        try:
            with replace_file(place) as file:
                self.write(file, rows, dimension)
        except BaseException:
            place.unlink(missing_ok=True)
            raise
        return type(self)(str(place), self.columns)

    def _beside(self, run: str) -> Path:
        return self.path.with_name(f"{self.path.stem}.new-{run}{self.path.suffix}")

    def texts(self, block: Block) -> list[str]:
        """Raise: there are no texts."""
        raise InputError(f"{show_path(self.path)}: no texts to embed; give the new vectors as --embed FILE.npy.")

    @property
    def _side(self) -> Path:
        return self.path.with_name(f"{self.path.name}.isthmus.json")

    def read_stamp(self) -> dict[str, Any]:
        """Read the second file."""
        return dict(json.loads(self._side.read_text("utf-8"))) if self._side.exists() else {}

    def stamp(self, about: Mapping[str, Any]) -> None:
        """Write the second file."""
        write_whole(self._side, json.dumps(dict(about)).encode())

    def plan_swap(self, run: str) -> dict[str, Any]:
        """Return the name that the old file gets."""
        return {"backup": str(self.path.with_name(f"{self.path.stem}.before-{run}{self.path.suffix}"))}

    def swap(self, run: str, folder: Path, about: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Give the old file a second name, and the new one its first name."""
        backup, new = Path(facts["backup"]), self._beside(run)
        if not backup.exists():
            os.link(self.path, backup)
            sync_folder(self.path.parent)
        if self.path.samefile(backup):  # otherwise a run that was stopped has renamed the new one
            copy_mode(new, self.path)
            rename_written(new, self.path)
            sync_folder(self.path.parent)
        self.stamp(about)

    def restore(self, run: str, facts: Mapping[str, Any]) -> None:
        """Rename the old file to its first name, and remove a new one that has not been swapped."""
        self._beside(run).unlink(missing_ok=True)
        backup = Path(facts["backup"])
        if backup.exists():
            self._side.unlink(missing_ok=True)
            rename_written(backup, self.path)
            backup.unlink(missing_ok=True)  # two names of one file, where nothing was swapped
            sync_folder(self.path.parent)


class NumpyFile(VectorFile):
    """Vectors in a .npy file; their ids are the numbers of the rows."""

    def _open(self) -> None:
        self._rows = np.load(self.path, mmap_mode="r", allow_pickle=False)
        if self._rows.ndim != 2:
            raise InputError(f"{show_path(self.path)}: expected a matrix, got shape {self._rows.shape}.")
        self.n = len(self._rows)

    def blocks(self, start: int = 0, size: int = BLOCK) -> Iterator[Block]:
        """Yield the rows in the order of the file."""
        for begin in range(start, self.n, size):
            rows = as_vectors(self._rows[begin : begin + size], self.name)
            yield Block(range(begin, begin + len(rows)), rows)

    def write(self, file: Any, rows: NewRows, dimension: int) -> None:
        """Write the header of an array, then the vectors."""
        head = {"descr": NUMBERS.str, "fortran_order": False, "shape": (self.n, dimension)}
        np.lib.format.write_array_header_1_0(file, head)
        for _, vectors in rows:
            file.write(np.ascontiguousarray(vectors, dtype=NUMBERS).data)


class FaissFile(VectorFile):
    """Vectors in an index of FAISS, with or without ids."""

    module, extra = "faiss", "faiss"

    def _open(self) -> None:
        self._index = self._module.read_index(str(self.path))
        self._flat, self.n = getattr(self._index, "index", self._index), int(self._index.ntotal)
        has_ids = hasattr(self._index, "id_map")
        self._ids = self._module.vector_to_array(self._index.id_map) if has_ids else np.arange(self.n)
        kind = type(self._module.downcast_index(self._flat)).__name__
        if "Flat" not in kind or "IVF" in kind:
            self.warning = "the vectors of this index are read back with an error; the new index is flat."

    def blocks(self, start: int = 0, size: int = BLOCK) -> Iterator[Block]:
        """Yield the rows in the order of the index."""
        for begin in range(start, self.n, size):
            ids = self._ids[begin : begin + size].tolist()
            yield Block(ids, as_vectors(self._flat.reconstruct_n(begin, len(ids)), self.name))

    def write(self, file: Any, rows: NewRows, dimension: int) -> None:
        """Write a flat index."""
        index = self._module.IndexFlat(dimension, self._index.metric_type)
        index = self._module.IndexIDMap(index) if hasattr(self._index, "id_map") else index
        for block, vectors in rows:
            index.add_with_ids(vectors, np.array(block.ids)) if hasattr(index, "id_map") else index.add(vectors)
        file.write(self._module.serialize_index(index).tobytes())


class ArrowStore(Store):
    """A store whose rows are batches of Arrow, one column of which has the vectors."""

    @abstractmethod
    def _batches(self, size: int, start: int) -> Iterator[Any]:
        """Yield batches of at most ``size`` rows, without the first ``start``."""

    @abstractmethod
    def _schema(self) -> Any:
        """Return the schema."""

    def blocks(self, start: int = 0, size: int = BLOCK) -> Iterator[Block]:
        """Yield the rows in their order."""
        for batch in regroup_batches(self._batches(size, start), size):
            vectors = read_lists(batch.column(self.columns.vector), self.name)
            has_ids = self.columns.id in batch.schema.names
            ids = batch.column(self.columns.id).to_pylist() if has_ids else range(start, start + len(batch))
            yield Block(ids, vectors, batch)
            start += len(batch)

    def replace_vectors(self, rows: NewRows, dimension: int, metadata: Any = None) -> tuple[Any, Iterator[Any]]:
        """Return the schema and the batches of a table with new vectors."""
        pyarrow = import_extra("pyarrow", "parquet", "Arrow batches need")
        schema, column = self._schema(), self.columns.vector
        place, kind = schema.get_field_index(column), pyarrow.list_(pyarrow.float32(), dimension)
        after = schema.set(place, pyarrow.field(column, kind, metadata=metadata))

        def replace(batch: Any, vectors: FloatArray) -> Any:
            columns = batch.columns
            columns[place] = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors.ravel()), dimension)
            return pyarrow.record_batch(columns, after)

        return after, (replace(block.payload, vectors) for block, vectors in rows)

    def texts(self, block: Block) -> list[str]:
        """Return the column of texts."""
        names = block.payload.schema.names
        if self.columns.text not in names:
            raise InputError(f"--text: expected one of the columns {', '.join(names)}, got {self.columns.text}.")
        return [text or "" for text in block.payload.column(self.columns.text).to_pylist()]

    def check_vector_column(self, names: Sequence[str]) -> None:
        """Raise where no column has the name of the vectors."""
        if self.columns.vector not in names:
            raise InputError(f"--vector: expected one of the columns {', '.join(names)}, got {self.columns.vector}.")


class ParquetFile(ArrowStore, VectorFile):
    """Vectors in a column of a .parquet file."""

    module = "pyarrow.parquet"

    def _open(self) -> None:
        self._rows = self._module.ParquetFile(self.path)
        self.check_vector_column(self._rows.schema_arrow.names)
        self.n = self._rows.metadata.num_rows

    def _schema(self) -> Any:
        return self._rows.schema_arrow

    def _batches(self, size: int, start: int) -> Iterator[Any]:
        for batch in self._rows.iter_batches(size):
            if start < len(batch):
                yield batch.slice(start)
            start = max(0, start - len(batch))

    def write(self, file: Any, rows: NewRows, dimension: int) -> None:
        """Write all columns, with other vectors."""
        schema, batches = self.replace_vectors(rows, dimension)
        with self._module.ParquetWriter(file, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)


class LanceTable(ArrowStore, VersionedStore):
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

    def _schema(self) -> Any:
        return self._table.schema

    def _batches(self, size: int, start: int) -> Iterator[Any]:
        names = self._table.schema.names
        found = self._table.search().select(names).offset(start).to_batches(size)
        return (batch.select(names) for batch in found)

    def read_stamp(self) -> dict[str, Any]:
        """Read the metadata of the column of vectors, in the latest version."""
        about = self._database.open_table(self.name).schema.field(self.columns.vector).metadata or {}
        return dict(json.loads(about.get(STAMP.encode(), b"{}")))

    def stamp(self, about: Mapping[str, Any]) -> None:
        """Write the metadata of the column, as a new version of the table."""
        change = {"path": self.columns.vector, "metadata": show_stamp(about)}
        self._database.open_table(self.name).update_field_metadata(change)

    def plan_swap(self, run: str) -> dict[str, Any]:
        """Return the version to restore."""
        return {"version": self.version}

    def swap(self, run: str, folder: Path, about: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Write the next version."""
        staged = StagedVectors(folder, about["fingerprint"]["dimension"])
        self.write_version(about, facts, zip(self.blocks(), staged.blocks(), strict=True))

    def write_version(self, about: Mapping[str, Any], facts: Mapping[str, Any], rows: NewRows) -> None:
        """Write the next version: it is there when all its rows are, and nobody has changed the table meanwhile."""
        pyarrow, dimension = import_extra("pyarrow", "lancedb", "LanceDB needs"), about["fingerprint"]["dimension"]

        stopped = False

        def watch() -> NewRows:
            for part in (iter(()), rows):  # before the first row, and after the last one
                for row in part:
                    yield row
                    if stopped:
                        raise InputError(f"{self.name}: stopped.")
                if self._database.open_table(self.name).version != facts["version"]:
                    raise InputError(f"{self.name}: was changed meanwhile; stop the writers, begin in a new folder.")

        reader = pyarrow.RecordBatchReader.from_batches(*self.replace_vectors(watch(), dimension, show_stamp(about)))
        # LanceDB would go on behind an exception such as Ctrl-C, and commit: leaving the block waits for its end.
        with ThreadPoolExecutor(1) as pool:
            try:
                pool.submit(self._database.create_table, self.name, reader, mode="overwrite").result()
            except BaseException:
                stopped = True
                raise

    def go_back(self, facts: Mapping[str, Any]) -> None:
        """Read the version that is restored."""
        self.version = facts["version"]
        self._table.checkout(self.version)

    def restore(self, run: str, facts: Mapping[str, Any]) -> None:
        """Restore the version."""
        if self.read_stamp().get("run") == run:
            self._database.open_table(self.name).restore(facts["version"])


def regroup_batches(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """Yield Arrow batches of exactly ``size`` rows: those of a library end where a part of its file ends."""
    pyarrow = import_extra("pyarrow", "parquet", "Arrow batches need")
    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if len(waiting) == 1 and len(batch) == size:
            yield waiting.pop()  # as it is, without a copy
        while sum(map(len, waiting)) >= size:
            merged = pyarrow.Table.from_batches(waiting).combine_chunks()
            yield merged.slice(0, size).to_batches()[0]
            waiting = merged.slice(size).to_batches()
    if sum(map(len, waiting)):
        yield pyarrow.Table.from_batches(waiting).combine_chunks().to_batches()[0]


def read_lists(column: Any, name: str) -> FloatArray:
    """Return the vectors (n, d) of an Arrow column of lists of numbers."""
    if column.null_count:
        raise InputError(f"{name}: expected a vector in each row, got {column.null_count} rows without one.")
    values = column.flatten().to_numpy(zero_copy_only=False)
    if len(column) and len(values) % len(column):
        raise InputError(f"{name}: expected vectors of one length, got several.")
    return as_vectors(values.reshape(len(column), -1), name)
