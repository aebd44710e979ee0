"""One door: rows that are learned from are checked in one place, and every system is fitted by one method."""

import ast
import importlib
import pkgutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import isthmus
from isthmus._core.rows import ArrayRows, Rows
from isthmus.data.blocks import DaskRows
from isthmus.data.domains import SharedFeatures, TwoDomains
from isthmus.estimators.base import TwoDomainEstimator
from isthmus.exceptions import InputError
from isthmus.io.parquet import ParquetRows

SOURCE = Path(isthmus.__file__).parent

DOORS = {
    "data/domains: _check_rows": "TwoDomains.of: rows that are learned from",
    "data/domains: _check_shared_features": "TwoDomains.of: features that both domains have",
    "estimators/base: TwoDomainEstimator._rows": "new rows of a fitted system",
}
ELSEWHERE = {
    "data/datasets": "a data set, with test rows, when it is made",
    "estimators/controls": "a public function of a source alone, before any fit",
    "estimators/given_source": "rows of scikit-learn's fit(X, y), before they become the target of TwoDomains.of",
    "estimators/itml": "rows of one space: ITML has scikit-learn's fit(X, y)",
    "evidence/held_out": "columns that are compared as they are: nothing is learned",
    "evidence/scores": "a table of distances",
    "geometry/common_space": "new rows of a learned common space",
    "io/anndata": "a slot of an AnnData object, which messages name",
    "io/tables/features": "a column of a table that holds matrices",
    "retrieval/rules": "new rows of a fitted system in a partition of a Dask array, and points of an index",
    "stores/store": "vectors of a store, a block at a time",
    "tasks/migration/options": "queries by both models, that a migration is measured on",
    "tasks/migration/result": "new rows of an adapter, some of them a block at a time",
    "tasks/transfer/result": "shared features of new rows of a fitted system",
    "view": "pictures of rows as they are",
}
"""Where else a table of numbers is checked, and why that is no door for rows that are learned from."""


@cache
def every_call() -> set[tuple[str, str]]:
    """Return the name of each function that is called, with "package/file: qualified name" of who calls it."""
    found = set()

    def walk(node: ast.AST, place: tuple[str, ...], module: str) -> None:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            place = (*place, node.name)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found.add((node.func.id, f"{module}: {'.'.join(place)}"))
        for child in ast.iter_child_nodes(node):
            walk(child, place, module)

    for path in SOURCE.rglob("*.py"):
        module = path.relative_to(SOURCE).with_suffix("").as_posix()
        walk(ast.parse(path.read_text(encoding="utf-8")), (), module)
    return found


def calls(names: set[str]) -> set[str]:
    """Return "package/file: qualified name" of each function that calls one of these functions."""
    return {place for name, place in every_call() if name in names}


def modules(places: set[str]) -> set[str]:
    return {place.partition(":")[0] for place in places}


def test_rows_that_are_learned_from_are_checked_in_one_place():
    places = calls({"check_matrix"})
    assert places >= DOORS.keys()
    assert {"view" if m.startswith("view/") else m for m in modules(places - DOORS.keys())} == ELSEWHERE.keys()
    assert calls({"_check_rows", "_check_shared_features"}) == {
        "data/domains: TwoDomains.of",
        "data/domains: TwoDomains._of_labelled_blocks",
        "data/domains: _check_shared_features",
        "data/domains: check_shared_evidence",
    }


def test_one_module_asks_for_dask_arrays():
    assert modules(calls({"is_dask"})) == {"data/blocks"}
    assert modules(calls({"has_blocks"})) == {"data/blocks", "estimators/base"}


def every_system(base: type = TwoDomainEstimator) -> set[type]:
    below = set(base.__subclasses__())
    return below.union(*(every_system(each) for each in below)) if below else set()


def test_fit_is_not_overridden_below_the_base():
    for module in pkgutil.walk_packages(isthmus.__path__, "isthmus."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    systems = {each for each in every_system() if each.__module__.startswith("isthmus.")}
    assert len(systems) > 30
    assert [each.__name__ for each in systems if {"fit", "_fit"} & vars(each).keys()] == []


def test_arrays_files_and_dask_arrays_are_rows(tmp_path):
    import dask.array as da
    import polars

    X = np.arange(8.0).reshape(4, 2)
    polars.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": list("xyxy")}).write_parquet(tmp_path / "rows.parquet")
    kinds = [
        ArrayRows(X),
        ArrayRows(sp.csr_array(X)),
        DaskRows(da.from_array(X, chunks=(3, -1))),
        ParquetRows(tmp_path / "rows.parquet", label="kind", dtype="float64"),
    ]
    for rows in kinds:
        assert isinstance(rows, Rows)
        assert (rows.n, rows.d) == X.shape
        (total,) = rows.total(lambda block, codes: (np.asarray(block.sum(axis=0)).ravel(),))
        np.testing.assert_array_equal(total, X.sum(axis=0))
        assert sum(block.shape[0] for block, _ in rows.blocks(3)) == 4
        assert rows.sample(2, np.random.default_rng(0)).n == 2
    for rows in (X, sp.csr_array(X), polars.DataFrame(X), da.from_array(X), X.tolist()):
        assert not isinstance(rows, Rows)


def test_shared_features_are_checked_with_the_rows():
    rows = [[0.0], [1.0]], ["a", "b"], [[5.0, 6.0], [7.0, 8.0], [9.0, 1.0]], ["b", None, None]
    shared = np.eye(2), sp.csr_array(np.ones((3, 2)))
    found = TwoDomains.of(*rows, shared=shared).shared
    assert TwoDomains.of(*rows).shared is None
    np.testing.assert_array_equal(found.source, shared[0])
    assert TwoDomains.of(*rows, shared=found).shared.target.shape == (3, 2)


@pytest.mark.parametrize(
    ("shared", "message"),
    [
        ((np.eye(3), np.ones((3, 3))), r"shared \(source\): expected 2 rows, as X_source has, got 3"),
        ((np.eye(2), np.ones((2, 2))), r"shared \(target\): expected 3 rows, as X_target has, got 2"),
        ((np.eye(2), np.ones((3, 1))), r"shared \(target\): expected 2 columns, as the source has, got 1"),
        ((np.eye(2) * np.nan, np.ones((3, 2))), r"shared \(source\): expected finite numbers"),
        (np.eye(2), "shared: expected two tables"),
        (SharedFeatures(np.eye(2), None), r"shared \(target\): expected a table of numbers, got None"),
    ],
)
def test_shared_features_that_do_not_fit_are_refused(shared, message):
    rows = [[0.0], [1.0]], ["a", "b"], [[5.0, 6.0], [7.0, 8.0], [9.0, 1.0]], ["b", None, None]
    with pytest.raises(InputError, match=message):
        TwoDomains.of(*rows, shared=shared)
