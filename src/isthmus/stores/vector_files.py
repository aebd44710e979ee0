"""Files of vectors: NumPy arrays, Parquet and FAISS. New vectors are staged in a file and replace it at once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._core.files import rename_written, replace_file, show_path, sync_folder, temporary_name
from isthmus._core.validation import FloatArray
from isthmus.exceptions import InputError, import_extra
from isthmus.stores.store import BLOCK, STAMP, Block, Columns, as_vectors

NUMBERS = np.dtype(np.float32)


class StagedVectors:
    """Vectors in a file (n, d) of their own that grows block by block; what was half written is cut off."""

    def __init__(self, folder: Path, dimension: int) -> None:
        self.path, self.dimension = folder / "vectors.f32", dimension
        self._bytes = dimension * NUMBERS.itemsize
        self.path.touch()
        self.n = self.count() // BLOCK * BLOCK
        # The last block may be short, and then it is written again.
        os.truncate(self.path, self.n * self._bytes)

    def count(self) -> int:
        """Return the rows of the file."""
        return self.path.stat().st_size // self._bytes

    def append(self, block: Block, vectors: FloatArray) -> None:
        """Write the vectors of a block at the end, and wait until the disc has them."""
        with self.path.open("ab") as file:
            file.write(np.ascontiguousarray(vectors, dtype=NUMBERS).tobytes())
            file.flush()
            os.fsync(file.fileno())
        self.n += len(vectors)

    def read(self, start: int, stop: int) -> tuple[None, FloatArray]:
        """Return some vectors; their ids are those of the index."""
        return None, read_staged(self.path, self.dimension, start, stop)


def read_staged(path: Path, dimension: int, start: int, stop: int) -> FloatArray:
    """Return some rows of a file of staged vectors."""
    count, offset = (stop - start) * dimension, start * dimension * NUMBERS.itemsize
    return np.fromfile(path, NUMBERS, count, offset=offset).reshape(-1, dimension)


class VectorFile:
    """Vectors in a .npy, .parquet or .faiss file; metadata are in a second file with the ending .isthmus.json."""

    warning = ""

    def __init__(self, address: str, columns: Columns) -> None:
        self.path, self.columns = Path(address), columns
        self.suffix = self.path.suffix
        module = {".faiss": "faiss", ".parquet": "pyarrow.parquet", ".npy": "numpy"}[self.suffix]
        self._library = import_extra(module, "faiss" if self.suffix == ".faiss" else "parquet", "These files need")
        if not self.path.is_file():
            raise InputError(f"{show_path(self.path)}: expected a file, found none.")
        self._open()

    def _open(self) -> None:
        if self.suffix == ".npy":
            self._rows = np.load(self.path, mmap_mode="r", allow_pickle=False)
            if self._rows.ndim != 2:
                raise InputError(f"{show_path(self.path)}: expected a matrix, got shape {self._rows.shape}.")
            self.n, self.dimension = self._rows.shape
        elif self.suffix == ".faiss":
            self._rows = self._library.read_index(str(self.path))
            inner = getattr(self._rows, "index", self._rows)
            self.n, self.dimension = int(self._rows.ntotal), int(self._rows.d)
            if "Flat" not in type(self._library.downcast_index(inner)).__name__ or "IVF" in type(inner).__name__:
                self.warning = "the vectors of this index are read back with an error; the new index is flat."
        else:
            self._rows = self._library.ParquetFile(self.path)
            names = self._rows.schema_arrow.names
            if self.columns.vector not in names:
                raise InputError(
                    f"--vector: expected one of the columns {', '.join(names)}, got {self.columns.vector}."
                )
            self.n = self._rows.metadata.num_rows
            self.dimension = next(self.blocks(size=1)).vectors.shape[1] if self.n else 0

    def blocks(self, start: int = 0, size: int = BLOCK) -> Iterator[Block]:
        """Yield the rows in the order of the file."""
        if self.suffix == ".parquet":
            yield from self._parquet_blocks(start, size)
            return
        ids = self._faiss_ids() if self.suffix == ".faiss" else None
        for begin in range(start, self.n, size):
            end = min(begin + size, self.n)
            if ids is None:
                rows, names = self._rows[begin:end], range(begin, end)
            else:
                inner = getattr(self._rows, "index", self._rows)
                rows, names = inner.reconstruct_n(begin, end - begin), ids[begin:end].tolist()
            yield Block(names, as_vectors(rows, str(self.path)))

    def _faiss_ids(self) -> Any:
        has_ids = hasattr(self._rows, "id_map")
        return self._library.vector_to_array(self._rows.id_map) if has_ids else np.arange(self.n)

    def _parquet_blocks(self, start: int, size: int) -> Iterator[Block]:
        first, column = 0, self.columns.vector
        for batch in self._rows.iter_batches(size):
            if first >= start:
                names = batch.column(self.columns.id).to_pylist() if self.columns.id in batch.schema.names else None
                ids = names if names is not None else range(first, first + len(batch))
                yield Block(ids, read_lists(batch.column(column), str(self.path)), batch)
            first += len(batch)

    def texts(self, block: Block) -> list[str]:
        """Return the column of texts of a Parquet file."""
        if self.suffix != ".parquet" or self.columns.text is None:
            raise InputError(f"{show_path(self.path)}: no texts to embed; give the new vectors as --embed FILE.npy.")
        return [text or "" for text in block.payload.column(self.columns.text).to_pylist()]

    @property
    def _side(self) -> Path:
        return self.path.with_name(f"{self.path.name}.isthmus.json")

    def read_stamp(self) -> dict[str, Any]:
        """Read the second file."""
        return dict(json.loads(self._side.read_text("utf-8"))) if self._side.exists() else {}

    def stamp(self, about: Mapping[str, Any]) -> None:
        """Write the second file."""
        with replace_file(self._side) as file:
            file.write(json.dumps(dict(about)).encode())

    def open_beside(self, run: str, dimension: int, folder: Path, about: Mapping[str, Any]) -> StagedVectors:
        """Open the staged vectors in the folder of the migration."""
        return StagedVectors(folder, dimension)

    def plan_swap(self, run: str) -> dict[str, Any]:
        """Return the name that the old file gets."""
        return {"backup": str(self.path.with_name(f"{self.path.stem}.before-{run}{self.suffix}"))}

    def swap(self, run: str, folder: Path, about: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Give the old file a second name, write the new one under a temporary name, and rename it."""
        if self.read_stamp().get("run") == run:
            return
        backup = Path(facts["backup"])
        if not backup.exists():
            os.link(self.path, backup)
            sync_folder(self.path.parent)
        # The old rows are read under their second name: the first may be the new file already.
        old, d = VectorFile(str(backup), self.columns), about["fingerprint"]["dimension"]
        with replace_file(self.path) as file:
            old.write_with(folder / "vectors.f32", d, file)
        self.stamp(about)
        self._open()

    def write_with(self, path: Path, dimension: int, file: Any) -> None:
        """Write this file with other vectors to an open one."""
        staged = (read_staged(path, dimension, b, min(b + BLOCK, self.n)) for b in range(0, self.n, BLOCK))
        if self.suffix == ".npy":
            head = {"descr": NUMBERS.str, "fortran_order": False, "shape": (self.n, dimension)}
            np.lib.format.write_array_header_1_0(file, head)
            for vectors in staged:
                file.write(vectors.tobytes())
        elif self.suffix == ".faiss":
            index = self._library.IndexFlat(dimension, self._rows.metric_type)
            index = self._library.IndexIDMap(index) if hasattr(self._rows, "id_map") else index
            for block, vectors in zip(self.blocks(), staged, strict=True):
                index.add_with_ids(vectors, np.array(block.ids)) if hasattr(index, "id_map") else index.add(vectors)
            file.write(self._library.serialize_index(index).tobytes())
        else:
            writer = None
            for block, vectors in zip(self.blocks(), staged, strict=True):
                batch = replace_lists(block.payload, self.columns.vector, vectors)
                writer = writer or self._library.ParquetWriter(file, batch.schema)
                writer.write_batch(batch)
            if writer is not None:
                writer.close()

    def restore(self, run: str, facts: Mapping[str, Any]) -> None:
        """Rename the old file to its first name."""
        backup = Path(facts["backup"])
        if backup.exists():
            trial = temporary_name(self.path)
            os.link(backup, trial)
            rename_written(trial, self.path)
            sync_folder(self.path.parent)
            self._side.unlink(missing_ok=True)
            backup.unlink()


def read_lists(column: Any, name: str) -> FloatArray:
    """Return the vectors (n, d) of an Arrow column of lists of numbers."""
    if column.null_count:
        raise InputError(f"{name}: expected a vector in each row, got {column.null_count} rows without one.")
    values = column.flatten().to_numpy(zero_copy_only=False)
    if len(column) and len(values) % len(column):
        raise InputError(f"{name}: expected vectors of one length, got several.")
    return as_vectors(values.reshape(len(column), -1), name)


def replace_lists(batch: Any, column: str, vectors: FloatArray, metadata: Any = None) -> Any:
    """Return an Arrow batch with other vectors in a column."""
    pyarrow = import_extra("pyarrow", "parquet", "Arrow batches need")
    d, place = vectors.shape[1], batch.schema.get_field_index(column)
    field = pyarrow.field(column, pyarrow.list_(pyarrow.float32(), d), metadata=metadata)
    lists = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors.ravel()), d)
    columns = [lists if i == place else batch.column(i) for i in range(batch.num_columns)]
    return pyarrow.record_batch(columns, schema=batch.schema.set(place, field))


def show_stamp(about: Mapping[str, Any]) -> dict[str, str]:
    """Return a stamp as one text under its key."""
    return {STAMP: json.dumps(dict(about))}
