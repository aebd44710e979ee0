"""The manners of scikit-learn: frames on demand, tags that are true."""

from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils import get_tags

import isthmus
from conftest import each_system, make_domains, one_sentence
from isthmus import ITML, MLHD, InputError, LabelTransfer, RidgeMap, SemanticMatching, systems
from isthmus.estimators.controls import BalancedKMeans, TargetOnly

D = make_domains(seed=103, n_source=45, n_target=40, n_labelled=12, d_source=6, d_target=6, shift=3.0)
for X in (D.X_source, D.X_target):
    X -= X.min()  # some systems are for counts, which are never negative
PAIRS = np.stack([np.arange(25), np.arange(25)], axis=1)
every_system = each_system(systems())
FITTED_TO_SPARSE_ROWS = (
    "mlhd",
    "cca+nn",
    "ridge",
    "semantic",
    "label-transfer",
    "target SVM",
    "kpg-rl",
    "gw",
    "mlhd, noise",
)
"""With frames everywhere: one of each base class, as that keeps frames out of all fits."""
PREPARED = "semantic", "label-transfer"
"""They scale the columns of dense rows, and leave those of sparse ones alone."""
KERNELS = ["linear", "rbf", "laplacian", "polynomial", "cosine"]
FITTED = {}


def fitted(estimator, args=D.args):
    return estimator.fit(*args, pairs=PAIRS) if estimator.needs_pairs else estimator.fit(*args)


def model_of(system, kind="dense"):
    """The system, fitted once to the dense or the sparse rows; tests only read it."""
    if (system.name, kind) not in FITTED:
        FITTED[system.name, kind] = fitted(system.make(), D.args if kind == "dense" else sparse_args())
    return FITTED[system.name, kind]


def sparse_args():
    return sp.csr_matrix(D.X_source), D.y_source, sp.csr_matrix(D.X_target), D.y_target


def refused_sparse(estimator):
    before = set(vars(estimator))
    with pytest.raises(InputError, match=r"^X_(source|target): expected (dense rows|rows that)") as caught:
        fitted(estimator, sparse_args())
    assert one_sentence(caught)
    assert set(vars(estimator)) == before


@every_system
def test_frames_have_the_names_of_the_columns_and_the_index_of_the_rows(system):
    model = deepcopy(model_of(system))
    points, classes = model.transform(D.X_target), model.predict(D.X_target)
    rows = pd.DataFrame(D.X_target, index=[f"r{i}" for i in range(40)])
    frame = model.set_output(transform="pandas").transform(rows)
    assert [*frame.columns] == [*model.get_feature_names_out()]
    assert [*frame.index] == [*rows.index]
    np.testing.assert_allclose(frame.to_numpy(), points, rtol=1e-12, atol=1e-12)  # frames may be stored by columns
    assert isinstance(model.set_output(transform="polars").transform(D.X_target), pl.DataFrame)
    np.testing.assert_array_equal(model.predict(D.X_target), classes)
    assert isinstance(model.set_output(transform="default").transform(D.X_target), np.ndarray)


@pytest.mark.parametrize("domain", ["source", "target"])
def test_either_domain_comes_in_a_frame_and_neighbours_do_not_care(domain):
    model = fitted(MLHD())
    rows = {"source": D.X_source, "target": D.X_target}[domain]
    before = model.kneighbors(rows, 3, domain=domain), model.predict(rows, domain), model.transform(rows, domain)
    model.set_output(transform="pandas")
    assert isinstance(model.transform(X=rows, domain=domain), pd.DataFrame)
    np.testing.assert_allclose(model.transform(rows, domain=domain).to_numpy(), before[2], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.kneighbors(rows, 3, domain=domain)[1], before[0][1])
    np.testing.assert_array_equal(model.predict(rows, domain), before[1])


@every_system
def test_frames_everywhere_change_no_answer(system):
    """Every system is asked with both kinds of rows, and fitted to dense ones; some are fitted to sparse ones."""
    for kind, args in (("dense", D.args), ("sparse", sparse_args())):
        model = model_of(system, kind)
        plain = model.predict(args[2])
        with sklearn.config_context(transform_output="pandas"):
            models = [model]
            if kind == "dense" or system.name in FITTED_TO_SPARSE_ROWS:
                models.append(fitted(system.make(), args))
            for each in models:
                np.testing.assert_array_equal(each.predict(args[2]), plain, kind)
                assert isinstance(each.transform(args[2]), pd.DataFrame), kind


def test_other_users_of_points_take_frames():
    with sklearn.config_context(transform_output="polars"):
        model = fitted(MLHD())
        index = isthmus.Index(model).add(D.X_source, "source")
        assert index.search(D.X_target[:2], k=3).ids.shape == (2, 3)
        view = MLHD().given_source(D.X_source, D.y_source).fit(D.X_target, D.y_target)
        assert isinstance(view.transform(D.X_target), pl.DataFrame)


def test_a_file_remembers_the_container(tmp_path):
    model = fitted(MLHD()).set_output(transform="pandas")
    isthmus.save(model, tmp_path / "model")
    loaded = isthmus.load(tmp_path / "model")
    pd.testing.assert_frame_equal(loaded.transform(D.X_target), model.transform(D.X_target))


def test_two_domains_have_no_one_result():
    assert not hasattr(MLHD(), "fit_transform")
    assert hasattr(MLHD(), "set_output")


@every_system
@pytest.mark.slow
def test_tags_of_every_system_are_true(system):
    tags = get_tags(system.make())
    assert is_classifier(system.make())
    assert set(model_of(system).predict(D.X_target)) <= {0, 1, 2}
    # sparse
    assert tags.input_tags.sparse
    if system.name != "mlhd, noise":  # sparse noise is drawn so as to stay sparse
        agreed = model_of(system, "sparse").predict(sp.csr_matrix(D.X_target)) == model_of(system).predict(D.X_target)
        assert np.mean(agreed) > (0.9 if system.name in PREPARED else 0.95)
    # types
    for dtype in tags.transformer_tags.preserves_dtype:
        rows = D.X_target.astype(dtype)
        args = D.X_source.astype(dtype), D.y_source, rows, D.y_target
        model = model_of(system) if rows.dtype == D.X_target.dtype else fitted(system.make(), args)
        assert model.transform(rows).dtype == dtype
    assert not tags.input_tags.pairwise


@every_system
def test_labels_are_required_where_the_tag_says_so(system):
    estimator = system.make()
    args = D.X_source, None, D.X_target, None
    pairs = {"pairs": PAIRS} if estimator.takes_pairs else {}
    if not get_tags(estimator).target_tags.required:
        estimator.fit(*args, **pairs).transform(D.X_target)
        return
    with pytest.raises(InputError) as caught:
        estimator.fit(*args, **pairs)
    assert one_sentence(caught)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("system", [MLHD, RidgeMap])
def test_sparse_rows_under_every_kernel(system, kernel):
    estimator = system(kernel, kernel)
    assert get_tags(estimator).input_tags.sparse
    dense, sparse = fitted(estimator), fitted(clone(estimator), sparse_args())
    assert sparse.transform(sp.csr_matrix(D.X_target)).shape == dense.transform(D.X_target).shape
    classes = sparse.predict(sp.csr_matrix(D.X_target))
    assert np.mean(classes == dense.predict(D.X_target)) > 0.9


DENSE_ONLY = {
    "classifier": TargetOnly(GaussianNB()),
    "rule of the source": SemanticMatching(source_rule=GaussianNB()),
    "transformer of the target": MLHD(target_transformer=StandardScaler()),
    "transformer of the source": LabelTransfer(source_transformer=make_pipeline(StandardScaler(), MaxAbsScaler())),
}


@pytest.mark.parametrize("name", DENSE_ONLY)
def test_who_takes_dense_rows_only_says_so_twice(name):
    estimator = DENSE_ONLY[name]
    assert not get_tags(estimator).input_tags.sparse
    refused_sparse(estimator)
    fitted(clone(estimator))


@pytest.mark.parametrize(
    "estimator",
    [
        MLHD(source_transformer=MaxAbsScaler(), target_transformer=StandardScaler(with_mean=False)),
        TargetOnly(LogisticRegression()),
        BalancedKMeans(),
    ],
    ids=["transformers", "classifier", "means"],
)
def test_who_takes_sparse_rows_says_so(estimator):
    assert get_tags(estimator).input_tags.sparse
    fitted(estimator, sparse_args())


def test_words_are_told_by_the_transformer():
    words = TfidfVectorizer()
    tags = get_tags(MLHD(source_transformer=words, target_transformer=words)).input_tags
    assert tags.string
    assert not tags.two_d_array
    assert not get_tags(MLHD(target_transformer=words)).input_tags.string


@pytest.mark.parametrize(
    "kernels", [("precomputed", "linear"), ("linear", "precomputed"), (isthmus.Precomputed(),) * 2]
)
def test_gram_matrices_are_pairwise(kernels):
    estimator = MLHD(*kernels)
    assert get_tags(estimator).input_tags.pairwise
    view = estimator.given_source(D.X_source, D.y_source)
    assert get_tags(view).input_tags.pairwise == (kernels[1] != "linear")
    with pytest.raises(InputError, match="expected a square Gram matrix") as caught:
        estimator.fit(*D.args)
    assert one_sentence(caught)


def test_views_and_one_space():
    view = TargetOnly(GaussianNB()).given_source(D.X_source, D.y_source)
    assert not get_tags(view).input_tags.sparse
    with pytest.raises(TypeError, match="Sparse data"):
        view.fit(sp.csr_matrix(D.X_target), D.y_target)
    itml = ITML(random_state=0)
    assert not get_tags(itml).input_tags.sparse
    with pytest.raises(InputError) as caught:
        itml.fit(sp.csr_matrix(D.X_source), D.y_source)
    assert one_sentence(caught)


def test_a_system_over_two_domains_is_no_rule():
    for estimator in (MLHD(rule=MLHD()), SemanticMatching(source_rule=LabelTransfer())):
        with pytest.raises(InputError, match=r"^(rule|source_rule): expected") as caught:
            estimator.fit(*D.args)
        assert one_sentence(caught)
