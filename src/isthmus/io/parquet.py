"""Parquet files as :class:`~isthmus._core.rows.Rows`, read a run at a time: more rows than memory holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._core.files import show_path
from isthmus._core.rows import BLOCK, ArrayRows, Draw, Share, count_codes, take_sample
from isthmus._core.threads import add_parts
from isthmus._core.validation import FloatArray, IntArray, find_classes
from isthmus.data.blocks import encode_block
from isthmus.exceptions import InputError
from isthmus.io.tables.content import import_polars, report_read_errors
from isthmus.io.tables.read import scan_parquet

# Rows that are read at once: about a row group, so that none is decoded many times.
RUN = 65_536


@dataclass(frozen=True, eq=False)
class ParquetRows:
    """Source rows of one Parquet file, or of several with the same columns, for ``fit`` of :class:`isthmus.MLHD`.

    Each pass reads the files once more, and each sample too. In memory are a run of rows and, where there are over
    32,000, the samples that the solver begins with: a quarter of the rows at most.

    Parameters
    ----------
    path : path, or sequence of paths
        The files.
    label : str
        The column of the classes.
    columns : sequence of str, optional
        The columns that are features, all of them numbers; without, all but the label.
    dtype : {"float32", "float64"}
        The precision of the rows.

    Examples
    --------
    >>> import tempfile, polars
    >>> file = Path(tempfile.mkdtemp()) / "rows.parquet"
    >>> polars.DataFrame({"x": [1.0, 2.0, 4.0], "kind": ["a", "b", "a"]}).write_parquet(file)
    >>> rows = ParquetRows(file, label="kind")
    >>> rows.n, rows.d, rows.classes, float(rows.total(lambda X, codes: (X.sum(),))[0])
    (3, 1, array(['a', 'b'], dtype=object), 7.0)
    """

    path: Any
    label: str
    columns: Any = None
    dtype: str = "float32"

    def __post_init__(self) -> None:
        if np.dtype(self.dtype) not in (np.float32, np.float64):
            raise InputError(f"dtype: expected float32 or float64, got {self.dtype!r}.")
        with self._report_errors():
            for path in self._paths:
                scan_parquet(Path(path), show_path(path), RUN)
            schema = self._frame.collect_schema()
        columns = [c for c in schema if c != self.label] if self.columns is None else list(self.columns)
        missing = [name for name in (self.label, *columns) if name not in schema]
        if missing or not columns:
            expected = missing[:3] or "of features"
            raise InputError(f"{self._name}: expected the columns {expected}, got {list(schema)[:5]}.")
        boolean = import_polars().Boolean
        words = [name for name in columns if not (schema[name].is_numeric() or schema[name] == boolean)]
        if words:
            raise InputError(f"{self._name}: expected numbers in all feature columns, got others in {words[:3]}.")
        object.__setattr__(self, "columns", tuple(columns))
        if not self.n:
            raise InputError(f"{self._name}: expected at least one row, got none.")

    @property
    def _paths(self) -> list[Any]:
        return [self.path] if isinstance(self.path, str | Path) else list(self.path)

    @cached_property
    def _frame(self) -> Any:
        return import_polars().scan_parquet(self._paths, glob=False)

    @property
    def _name(self) -> str:
        return Path(self.path).name if isinstance(self.path, str | Path) else "path"

    def _report_errors(self) -> Any:
        return report_read_errors(self._name, "Parquet files with the same columns")

    @cached_property
    def n(self) -> int:
        """The number of rows."""
        with self._report_errors():
            return int(self._frame.select(import_polars().len()).collect().item())

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.columns)

    @cached_property
    def classes(self) -> NDArray[Any]:
        """The classes that the codes count."""
        return find_classes(np.concatenate([find_classes(y, self.label) for y in self._labels()]), self.label)

    @cached_property
    def counts(self) -> IntArray:
        """The number of rows of each code in each run (runs, C)."""
        C = len(self.classes)
        return np.stack([count_codes(encode_block(y, self.classes), C) for y in self._labels()])

    def total(self, share: Share) -> tuple[FloatArray, ...]:
        """Return the sum of all shares, a run at a time, in a few threads."""
        total: tuple[FloatArray, ...] = ()
        for start in self._starts:
            part = ArrayRows(*self._run(start)).total(share)
            total = add_parts([total, part]) if total else part
        return total

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[FloatArray, IntArray]]:
        """Yield all rows, in their order."""
        for start in self._starts:
            yield from ArrayRows(*self._run(start)).blocks(size)

    def sample(self, n: int, random: np.random.Generator) -> ArrayRows | ParquetRows:
        """Return about n rows in memory: of each code its share, and at least one."""
        if n >= self.n:
            return self
        draw = Draw(self.counts.sum(axis=0), n, int(random.integers(2**63)))
        before = np.cumsum(self.counts, axis=0) - self.counts
        parts = [take_sample(*self._run(start), draw, row) for start, row in zip(self._starts, before, strict=True)]
        X, codes = (np.concatenate(each) for each in zip(*parts, strict=True))
        return ArrayRows(X, codes)

    @property
    def _starts(self) -> range:
        return range(0, self.n, RUN)

    def _labels(self) -> Iterator[NDArray[Any]]:
        for start in self._starts:
            with self._report_errors():
                column = self._frame.select(self.label).slice(start, RUN).collect()[self.label]
            yield column.to_numpy()

    def _run(self, start: int) -> tuple[FloatArray, IntArray]:
        with self._report_errors():
            frame = self._frame.select(*self.columns, self.label).slice(start, RUN).collect()
            pl = import_polars()
            X = frame.select(self.columns).cast(pl.Float64 if self.dtype == "float64" else pl.Float32)
        return X.to_numpy(order="c"), encode_block(frame[self.label].to_numpy(), self.classes)
