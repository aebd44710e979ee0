"""The common contract: what holds of every registered system, whatever it learns."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from test_inputs import BAD_DATA

from conftest import each_system, make_domains
from isthmus import InputError, systems
from isthmus.data.splits import SemiSupervisedSplit

SYSTEMS = [system for system in systems() if not system.needs_pairs]  # the others: test_paired_contract
METRICS = [system for system in SYSTEMS if system.learns == "metric"]
ORDER_MATTERS = {
    "cca+itml": "ITML draws its pairs at random from the rows in the order given",
    "kcca+itml": "ITML draws its pairs at random from the rows in the order given",
    "mlhd, noise": "noise is drawn row by row",
    "mlhd, permuted": "labels are permuted in the order given",
}
D = make_domains(seed=3, n_source=45, n_target=40, n_labelled=12, d_source=6, d_target=6, shift=3.0)
Xs, ys, Xt, yt = D.args
COPIES = deepcopy(D.args)
FITTED = {}


each = each_system
every_system, every_metric = each(SYSTEMS), each(METRICS)


def fitted(system):
    """The system, fitted once to the rows of this file; tests only read it."""
    if system.name not in FITTED:
        estimator = system.make()
        assert estimator.fit(*D.args) is estimator
        FITTED[system.name] = estimator
    return FITTED[system.name]


@every_system
def test_fit_predict_score_and_transform_have_the_common_shape(system):
    estimator = fitted(system)
    predicted = estimator.predict(Xt)
    assert predicted.shape == (40,)
    assert set(predicted) <= {0, 1, 2}
    assert estimator.score(Xt, D.y_true) == pytest.approx(np.mean(predicted == D.y_true))
    assert estimator.transform(Xt).shape == (40, len(estimator.get_feature_names_out()))
    np.testing.assert_array_equal(estimator.classes_, [0, 1, 2])


@each([system for system in SYSTEMS if not system.name.startswith("mlhd,")])
def test_all_but_corrupted_sources_teach_something(system):
    assert fitted(system).score(Xt, D.y_true) > 0.5


@every_system
def test_clone_params_and_pickle(system):
    estimator = system.make()
    copy = clone(estimator)
    assert repr(copy) == repr(estimator)
    assert set(copy.get_params()) == set(estimator.get_params())
    model = fitted(system)
    assert repr(model) == repr(copy), "fit leaves the parameters alone"
    thawed = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(thawed.predict(Xt), model.predict(Xt))
    np.testing.assert_array_equal(thawed.transform(Xt), model.transform(Xt))
    if hasattr(model, "result_"):
        assert thawed.result_.relative_gap == model.result_.relative_gap
        assert str(thawed.result_) == str(model.result_)


@every_system
@pytest.mark.slow
def test_a_second_fit_forgets_the_first(system):
    other = make_domains(seed=8, n_classes=2, n_labelled=8, d_source=4, d_target=4)
    again = system.make().fit(*other.args).fit(Xs, ys, Xt, yt)
    once = fitted(system)
    np.testing.assert_array_equal(again.predict(Xt), once.predict(Xt))
    np.testing.assert_array_equal(again.transform(Xt), once.transform(Xt))


@pytest.mark.slow
@every_system
def test_labels_may_be_words_and_marks_of_any_kind(system):
    """One of the marks each, as all systems read them by the same lines; MLHD has a test of every mark."""
    words = np.array(["ant", "bee", "cat"])
    mark = (None, float("nan"), -1)[[each.name for each in SYSTEMS].index(system.name) % 3]
    estimator = system.make().fit(Xs, words[ys], Xt, [words[k] if k >= 0 else mark for k in yt])
    np.testing.assert_array_equal(estimator.predict(Xt), words[fitted(system).predict(Xt)])


@every_system
def test_arguments_are_left_alone(system):
    fitted(system).predict(Xt)
    for value, copy in zip(D.args, COPIES, strict=True):
        np.testing.assert_array_equal(value, copy)


@each([system for system in SYSTEMS if system.name not in ORDER_MATTERS])
@pytest.mark.slow
def test_the_order_of_rows_does_not_matter(system):
    rng = np.random.default_rng(0)
    s, t = rng.permutation(len(Xs)), rng.permutation(len(Xt))
    shuffled = system.make().fit(Xs[s], ys[s], Xt[t], yt[t])
    assert np.mean(shuffled.predict(Xt) == fitted(system).predict(Xt)) > 0.99


@each([system for system in SYSTEMS if system.name != "mlhd, noise"])  # sparse noise is drawn so as to stay sparse
@pytest.mark.slow
def test_sparse_rows_give_what_dense_rows_give(system):
    sparse = system.make().fit(sp.csr_matrix(Xs), ys, sp.csr_matrix(Xt), yt).predict(sp.csr_matrix(Xt))
    assert np.mean(sparse == fitted(system).predict(Xt)) > 0.95


@every_system
def test_bad_data_are_refused_in_one_sentence_and_nothing_is_fitted(system):
    for case, (data, message) in BAD_DATA.items():
        estimator = system.make()
        if case == "unknown class" and estimator.own_classes:
            assert 7 in estimator.fit(*data).classes_
            continue
        if case == "no labelled target" and not estimator.needs_target_labels:
            assert set(estimator.fit(*data).predict(data[2])) <= set(data[1])
            continue
        before = set(vars(estimator))
        with pytest.raises(InputError, match=message) as caught:  # noqa: PT012
            estimator.fit(*data)
            pytest.fail(f"{case} were taken")
        assert "\n" not in str(caught.value), case
        assert set(vars(estimator)) == before, case


@every_system
def test_new_rows_are_checked(system):
    estimator = system.make()
    with pytest.raises(NotFittedError):
        estimator.predict(Xt)
    estimator = fitted(system)
    with pytest.raises(InputError, match="X: expected 6 columns, as in fit, got 2"):
        estimator.predict(Xt[:, :2])
    with pytest.raises(InputError, match="X: expected finite numbers"):
        estimator.predict(np.full((2, 6), np.nan))


@each([system for system in SYSTEMS if system.transductive])
def test_what_knows_the_rows_of_the_fit_only_says_so(system):
    estimator = fitted(system)
    np.testing.assert_array_equal(estimator.predict(Xt[::-2]), estimator.predict(Xt)[::-2])
    np.testing.assert_array_equal(estimator.predict(Xt[yt >= 0]), yt[yt >= 0])
    with pytest.raises(InputError, match=r"X: expected target rows of the fit for .*, got 3 new"):
        estimator.predict(Xt[:3] + 1.0)


@each([system for system in SYSTEMS if not system.transductive])
def test_given_source_is_cross_validated(system):
    scores = cross_val_score(
        system.make().given_source(Xs, ys), Xt, yt, cv=SemiSupervisedSplit(2), error_score="raise"
    )
    assert scores.shape == (2,)


@each([system for system in SYSTEMS if "progress" in system.make().get_params(deep=False)])
def test_progress_ends_its_line_on_a_terminal(system, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    system.make().set_params(progress=True).fit(*D.args)
    shown = capsys.readouterr().err
    assert shown.startswith("\r")
    assert shown.endswith("\n")
    assert shown.count("\n") == 1


@every_metric
def test_a_metric_measures_all_four_ways(system):
    estimator = deepcopy(fitted(system))
    rows = {"source": Xs[:5], "target": Xt[:6]}
    D2 = np.block([[estimator.pairwise_distances(rows[a], rows[b], (a, b)) for b in rows] for a in rows])
    np.testing.assert_allclose(D2, D2.T, atol=1e-6)
    np.testing.assert_allclose(np.diagonal(D2), 0.0, atol=1e-5)
    assert (D2[:, None, :] <= D2[:, :, None] + D2[None, :, :] + 1e-6).all()
    estimator.set_params(rule="nearest", references="source")  # whatever the system's own rule is
    distances, numbers = estimator.kneighbors(Xt, 3)
    assert (np.diff(distances, axis=1) >= -1e-9).all()
    if estimator.rule == "nearest":
        np.testing.assert_array_equal(ys[numbers[:, 0]], estimator.predict(Xt))


def test_what_is_no_metric_does_not_pretend_to_be_one():
    for system in SYSTEMS:
        assert hasattr(system.make(), "pairwise_distances") == (system.learns == "metric"), system.name
