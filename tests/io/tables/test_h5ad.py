"""AnnData's files, where that library is installed."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp

from hostile import put, refused
from isthmus import InputError, MissingDependencyError
from isthmus.io.tables.features import Features
from isthmus.io.tables.plan import Plan, read_ids, read_labels
from isthmus.io.tables.read import read_table
from isthmus.io.tables.table import Table


def test_the_lack_of_anndata_is_told_with_the_install_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata", None)
    monkeypatch.setitem(sys.modules, "anndata.io", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "isthmus\[anndata\]"'):
        read_table(put(tmp_path / "a.h5ad", b"x"))


def test_the_lack_of_h5py_is_told_with_the_install_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingDependencyError, match=r'needs h5py, .* pip install "isthmus\[anndata\]"'):
        read_table(put(tmp_path / "a.h5ad", b"x"))


@pytest.fixture
def stored(tmp_path):
    anndata = pytest.importorskip("anndata", reason="the extra anndata is not installed")
    import pandas as pd

    obs = pd.DataFrame(
        {"kind": pd.Categorical(["T", None, "B"]), "depth": [1.5, 2.0, 0.5], "n": [1, 2, 3], "word": ["x", "y", "z"]},
        index=["c1", "c2", "c3"],
    )
    cells = anndata.AnnData(
        X=sp.csr_matrix(np.eye(3, 4, dtype=np.float32)), obs=obs, obsm={"X_pca": np.arange(6.0).reshape(3, 2)}
    )
    with anndata.settings.override(allow_write_nullable_strings=True):  # what pandas 3 makes of text
        cells.write_h5ad(tmp_path / "cells.h5ad")
    return tmp_path / "cells.h5ad"


@pytest.mark.filterwarnings("ignore")
def test_a_file_of_cells(stored):
    table = read_table(stored)
    plan = Plan.of(table, label="kind", id="obs_names")
    assert [column.name for column in plan.features] == ["X"]
    assert read_labels(table, plan).tolist() == ["T", None, "B"]
    assert read_ids(table, plan) == ("c1", "c2", "c3")
    assert Plan.of(table).detect_id(table).id == "obs_names"
    twice = Table.of({"obs_names": ["c1", "c1", "c2"], "X": np.eye(3)}, "a.h5ad", ("obs_names",))
    assert Plan.of(twice).detect_id(twice).id is None
    X = Features.fit(plan, table).transform(table)
    assert sp.issparse(X)
    assert (X.toarray() == np.eye(3, 4)).all()
    assert table.matrix("obsm/X_pca").tolist() == [[0, 1], [2, 3], [4, 5]]
    assert table.column("word").to_list() == ["x", "y", "z"]


@pytest.mark.filterwarnings("ignore")
def test_files_that_point_elsewhere_or_claim_too_much_are_refused(stored):
    import h5py

    with h5py.File(stored, "a") as file:
        file["obsm"]["far"] = h5py.ExternalLink("/etc/hostname", "/")
    assert "a link to another" in refused(read_table, stored)
    with h5py.File(stored, "a") as file:
        del file["obsm"]["far"]
        file["obsm"].create_dataset("big", shape=(3, 10**9), chunks=(1, 1000), dtype="f8")
    assert "that unpacks to at most" in refused(read_table, stored)
    with h5py.File(stored, "a") as file:
        del file["obsm"]["big"]
        file["obsm"].create_dataset("raw", shape=(3, 1), dtype="u1", external=[("/etc/hostname", 0, 3)])
    assert "a part of another" in refused(read_table, stored)
    assert "empty file" in refused(read_table, put(stored.parent / "none.h5ad", b""))
    assert "in good order" in refused(read_table, put(stored.parent / "csv.h5ad", b"a,b\n1,2\n"))


@pytest.fixture
def modalities(stored):
    import h5py

    path = stored.parent / "cells.h5mu"
    with h5py.File(stored) as one, h5py.File(path, "w") as both:
        for name in ("rna", "atac"):
            one.copy(one["/"], both, f"mod/{name}")
    return path


@pytest.mark.filterwarnings("ignore")
def test_a_modality_is_a_file_of_cells(stored, modalities):
    wanted, found = read_table(stored), read_table(modalities / "rna")
    assert found.names == wanted.names
    assert found.column("kind").to_list() == wanted.column("kind").to_list()
    assert (found.matrix("X") != wanted.matrix("X")).nnz == 0
    assert "as in FILE.h5mu/NAME, got no name; it has atac, rna." in refused(read_table, modalities)
    assert "as in FILE.h5mu/NAME, got protein." in refused(read_table, modalities / "protein")
    with pytest.raises(InputError, match=r"none\.h5mu: expected a file, found none\."):
        read_table(modalities.with_name("none.h5mu") / "rna")
    assert "got no name; it has none." in refused(read_table, stored.rename(stored.with_suffix(".h5mu")))


@pytest.mark.filterwarnings("ignore")
def test_modalities_that_point_elsewhere_are_refused(stored, modalities):
    import h5py

    with h5py.File(modalities, "a") as file:
        file["mod/far"] = h5py.ExternalLink(str(stored), "/")
    assert "one of its modalities" in refused(read_table, modalities / "far")
    with h5py.File(modalities, "w") as file:
        file["mod"] = h5py.ExternalLink("/etc/hostname", "/")
    assert "it has none" in refused(read_table, modalities)
