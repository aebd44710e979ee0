"""Labels carried over between AnnData objects: what is written, and that files keep it."""

import numpy as np
import pytest
import scipy.sparse as sp

import isthmus
from conftest import make_domains, real_data
from isthmus import InputError, LabelTransfer, MissingDependencyError
from isthmus.io.anndata import match, transfer_labels

FILE = "single_cell/snareseq.npz"


@pytest.fixture
def ad():
    return pytest.importorskip("anndata", reason="the extra is not installed")


def words(y):
    return np.array([None if code < 0 else f"class {code}" for code in y], dtype=object)


def objects(ad, **options):
    import pandas as pd

    d = make_domains(**options)
    reference = ad.AnnData(
        d.X_source, obs=pd.DataFrame({"kind": words(d.y_source)}, index=[f"s{i}" for i in range(30)])
    )
    obs = pd.DataFrame({"kind": pd.Categorical(words(d.y_target))}, index=[f"t{i}" for i in range(20)])
    query = ad.AnnData(sp.csr_matrix(np.zeros((20, 2))), obs=obs, obsm={"X_pca": d.X_target})
    return reference, query, d


def test_what_is_written_is_what_label_transfer_says(ad):
    reference, query, d = objects(ad)
    returned = transfer_labels(reference, query, "kind", ("X", "X_pca"))
    model = LabelTransfer().fit(d.X_source, words(d.y_source), d.X_target, words(d.y_target))
    given = d.y_target >= 0
    np.testing.assert_array_equal(query.obs["kind"][~given], model.predict(d.X_target)[~given])
    np.testing.assert_array_equal(query.obs["kind"][given], words(d.y_target)[given])
    np.testing.assert_array_equal(query.obs["kind_given"], given)
    P = model.predict_proba(d.X_target).max(axis=1)
    np.testing.assert_array_equal(query.obs["kind_confidence"], np.where(given, 1.0, P))
    np.testing.assert_array_equal(query.obsm["X_isthmus"], model.transform(d.X_target))
    np.testing.assert_array_equal(reference.obsm["X_isthmus"], model.transform(d.X_source, "source"))
    assert query.uns["isthmus"]["verdict"] == model.verdict_
    np.testing.assert_array_equal(returned.predict_proba(d.X_target), model.predict_proba(d.X_target))
    assert query.uns["isthmus"]["versions"]["isthmus"] == isthmus.__version__
    assert list(reference.obs) == ["kind"]


def test_files_keep_all_of_it(ad, tmp_path):
    reference, query, _ = objects(ad)
    reference.write_h5ad(tmp_path / "reference.h5ad")
    query.write_h5ad(tmp_path / "query.h5ad")
    both = [ad.read_h5ad(tmp_path / f"{name}.h5ad") for name in ("reference", "query")]
    transfer_labels(*both, "kind", ("X", "X_pca"))
    for data in both:
        data.write_h5ad(tmp_path / "again.h5ad")
        again = ad.read_h5ad(tmp_path / "again.h5ad")
        np.testing.assert_array_equal(again.obsm["X_isthmus"], data.obsm["X_isthmus"])
        assert again.obs.equals(data.obs)
        before, after = data.uns["isthmus"], again.uns["isthmus"]
        assert set(after) == set(before)
        for key in ("verdict", "source_used", "field", "parameters", "versions"):
            assert after[key] == before[key]
        for key in ("use_rep", "unlabelled_classes", "shares"):
            np.testing.assert_array_equal(after[key], before[key])


def test_copies_leave_both_alone_and_a_view_needs_them(ad):
    reference, query, _ = objects(ad)
    part = query[:15]
    first, second = transfer_labels(reference, part, "kind", ("X", "X_pca"), copy=True)
    assert second.n_obs == 15
    assert "X_isthmus" in first.obsm
    assert "X_isthmus" not in reference.obsm
    assert "kind_given" not in query.obs
    assert query.obs["kind"].isna().sum() == 14
    with pytest.raises(
        InputError, match=r"^query: expected an object that can be written to, got a view: use copy\(\)\.$"
    ):
        transfer_labels(reference, part, "kind", ("X", "X_pca"))


def test_parameters_come_with_a_model_which_is_not_changed(ad):
    reference, query, _ = objects(ad, shift=0.3)
    model = LabelTransfer(reject_below=0.99)
    transfer_labels(reference, query, "kind", ("X", "X_pca"), model=model)
    sure = query.obs["kind_confidence"] >= 0.99
    np.testing.assert_array_equal(query.obs["kind"].notna(), sure)
    assert not sure.all()
    assert '"reject_below": 0.99' in query.uns["isthmus"]["parameters"]
    assert not hasattr(model, "classes_")


def test_rows_of_the_reference_without_a_label_are_mapped_too(ad):
    reference, query, _ = objects(ad)
    reference.obs.loc["s3", "kind"] = None
    transfer_labels(reference, query, "kind", ("X", "X_pca"))
    assert reference.obsm["X_isthmus"].shape == (30, 3)


WRONG = [
    (("cells", ("X", "X_pca")), r"^field: expected a column of reference.obs \(it has 'kind'\), got 'cells'\.$"),
    (("kind", "X_umap"), r"^use_rep: expected one of 'X' of the reference, got 'X_umap'\.$"),
    (("kind", ("X", "X_umap")), r"^use_rep: expected one of 'X', 'X_pca' of the query, got 'X_umap'\.$"),
    (("kind", 3), r"^use_rep: expected a key of obsm, 'X', or two of them, got 3\.$"),
]


@pytest.mark.parametrize(("args", "sentence"), WRONG)
def test_what_is_wrong_is_one_sentence_and_nothing_is_written(ad, args, sentence):
    reference, query, _ = objects(ad)
    with pytest.raises(InputError, match=sentence):
        transfer_labels(reference, query, *args)
    with pytest.raises(InputError, match=r"^query: expected an AnnData object, got ndarray\.$"):
        transfer_labels(reference, query.obsm["X_pca"], "kind")
    query.obs["none"] = reference.obs["none"] = np.nan
    with pytest.raises(InputError, match=r"^reference.obs\['none'\]: expected labels in some rows, got none\.$"):
        transfer_labels(reference, query, "none", ("X", "X_pca"))
    assert list(query.obsm) == ["X_pca"]
    assert not query.uns
    assert not reference.uns


def test_without_anndata_the_install_line_is_said(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "anndata", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "isthmus\[anndata\]"'):
        transfer_labels(None, None, "kind")


@pytest.mark.data
@pytest.mark.slow
def test_cell_types_from_genes_to_chromatin(ad, tmp_path):
    with np.load(real_data(FILE) / FILE) as file:
        X, Z, y = file["rna10"], file["atac19"], file["rna_y"]
        np.testing.assert_array_equal(y, file["atac_y"])
    order = np.random.default_rng(100).permutation(len(y))[:600]
    cells, others = order[:300], order[300:]
    shown = np.concatenate([np.flatnonzero(y[others] == c)[:3] for c in np.unique(y)])
    labels = words(np.where(np.isin(np.arange(300), shown), y[others], -1))
    for name, rows, kinds in (("rna", X[cells], words(y[cells])), ("atac", Z[others], labels)):
        data = ad.AnnData(rows)
        data.obs_names = [f"{name}{i}" for i in range(300)]
        data.obs["cell_type"] = kinds
        data.write_h5ad(tmp_path / f"{name}.h5ad")
    rna, atac = (ad.read_h5ad(tmp_path / f"{name}.h5ad") for name in ("rna", "atac"))
    transfer_labels(rna, atac, "cell_type")
    right = (atac.obs["cell_type"].astype(object) == words(y[others]))[~atac.obs["cell_type_given"]]
    assert right.mean() > 0.8


def test_rows_are_matched_and_partners_survive_a_file(ad, tmp_path):
    rng = np.random.default_rng(0)
    A = rng.gamma(0.3, size=(80, 8)) @ rng.normal(size=(8, 20))
    rna = ad.AnnData(A)
    rna.obs_names = [f"rna {i}" for i in range(80)]
    atac = ad.AnnData((A @ rng.normal(size=(20, 15)))[::-1].copy())
    first, second = match(rna, atac, key_added="same", random_state=0, copy=True)
    assert "same" not in rna.uns
    assert first.uns["same"]["ok"] == "True"
    second.write_h5ad(tmp_path / "atac.h5ad")
    stored = ad.read_h5ad(tmp_path / "atac.h5ad").obs["same_partner"]
    sure = stored.notna()
    assert sure.mean() > 0.9
    assert [*stored[sure]] == [f"rna {79 - int(name)}" for name in stored.index[sure]]
    assert [*first.obs["same_confidence"]] == [*second.obs["same_confidence"]][::-1]


@pytest.mark.filterwarnings("ignore:var_names are not unique")
def test_modalities_are_matched_and_partners_survive_a_file_of_mudata(ad, tmp_path):
    mudata = pytest.importorskip("mudata", reason="the extra is not installed")
    rng = np.random.default_rng(0)
    A = rng.gamma(0.3, size=(80, 8)) @ rng.normal(size=(8, 20))
    rna, atac = ad.AnnData(A), ad.AnnData((A @ rng.normal(size=(20, 15)))[::-1].copy())
    rna.obs_names, atac.obs_names = [f"rna {i}" for i in range(80)], [f"atac {79 - i}" for i in range(80)]
    cells = mudata.MuData({"rna": rna, "atac": atac})
    match(cells["rna"], cells["atac"], random_state=0)
    cells.update()
    cells.write(tmp_path / "cells.h5mu")
    stored = mudata.read(tmp_path / "cells.h5mu")["atac"].obs["isthmus_partner"]
    sure = stored.notna()
    assert sure.mean() > 0.9
    assert [*stored[sure]] == [f"rna {name.split()[1]}" for name in stored.index[sure]]
