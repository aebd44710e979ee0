"""The view over the target: an ordinary scikit-learn estimator, by scikit-learn's own checks and tools."""

import pickle
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    LeaveOneOut,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from conftest import CANNOT_HOLD, make_domains
from isthmus import MLHD, RBF, InputError
from isthmus.data.splits import SemiSupervisedSplit
from isthmus.estimators.given_source import GivenSource

D = make_domains(n_target=40, n_labelled=24)


@cache
def scores_of_three_folds():
    over_target = MLHD().given_source(D.X_source, D.y_source)
    return cross_val_score(over_target, D.X_target, D.y_target, cv=SemiSupervisedSplit(3))


def source_for_checks(names):
    """Clean classes by the names that scikit-learn's checks use."""
    rng = np.random.default_rng(0)
    codes = np.arange(4 * len(names)) % len(names)
    return rng.normal(size=(len(codes), 6)) * 0.1 + 3 * np.eye(len(names), 6)[codes], np.array(names)[codes]


@pytest.mark.slow
def test_scikit_learns_own_checks_hold_but_for_those_listed():
    # Nearest rows of both domains: the checks want a classifier that knows its own training rows again.
    over_target = MLHD(references="both", tol=1e-3).given_source(*source_for_checks([0, 1, 2, 3]))
    done = check_estimator(over_target, expected_failed_checks=CANNOT_HOLD, on_fail=None, on_skip=None)
    failed = {c["check_name"]: c["exception"] for c in done if c["status"] == "failed"}
    assert not failed
    assert {c["check_name"] for c in done if c["status"] == "xfail"} == set(CANNOT_HOLD)
    assert sum(c["status"] == "passed" for c in done) > 45


def test_it_is_the_estimator_itself_with_the_source_held_fixed():
    over_target = MLHD("rbf", "rbf").given_source(D.X_source, D.y_source).fit(D.X_target, D.y_target)
    direct = MLHD("rbf", "rbf").fit(*D.args)
    np.testing.assert_array_equal(over_target.transform(D.X_target), direct.transform(D.X_target))
    np.testing.assert_array_equal(over_target.predict(D.X_target), direct.predict(D.X_target))
    assert over_target.score(D.X_target, D.y_true) == direct.score(D.X_target, D.y_true)
    assert not hasattr(over_target.estimator, "common_space_"), "the given estimator stays unfitted"


@pytest.mark.slow
def test_grid_search_and_cross_validation_over_target_rows():
    over_target = MLHD().given_source(D.X_source, D.y_source)
    scores = cross_val_score(over_target, D.X_target, D.y_target, cv=SemiSupervisedSplit(3))
    assert scores.shape == (3,)
    grid = {"estimator__alignment_weight": [0.1, 10.0], "estimator__target_kernel": ["linear", RBF()]}
    search = GridSearchCV(over_target, grid, cv=SemiSupervisedSplit(2), error_score="raise")
    search.fit(D.X_target, D.y_target)
    assert set(search.best_params_) == set(grid)
    assert isinstance(search.best_estimator_, GivenSource)


@pytest.mark.parametrize("n_target", [30, 40], ids=["as many target as source rows", "not as many"])
def test_the_source_is_never_sliced(n_target):
    data = make_domains(n_source=30, n_target=n_target, n_labelled=24)
    sizes = []

    class Spy(MLHD):
        def fit(self, X_source, y_source, X_target, y_target):
            sizes.append((len(X_source), len(X_target), int((np.asarray(y_target) == -1).sum())))
            return super().fit(X_source, y_source, X_target, y_target)

    over_target = GivenSource(Spy(), MLHD().given_source(data.X_source, data.y_source).source)
    cross_val_score(over_target, data.X_target, data.y_target, cv=SemiSupervisedSplit(4))
    assert sizes == [(30, n_target - 6, n_target - 24)] * 4


def test_clones_share_the_source_and_copies_can_be_pickled():
    over_target = MLHD().given_source(D.X_source, D.y_source)
    assert clone(over_target).source is over_target.source
    thawed = pickle.loads(pickle.dumps(over_target.fit(D.X_target, D.y_target)))
    np.testing.assert_array_equal(thawed.predict(D.X_target), over_target.predict(D.X_target))
    assert "D.X_source" not in repr(over_target)
    assert "Source(30 × 5)" in repr(over_target)


@pytest.mark.slow
def test_pipeline_set_output_and_parallel_fits():
    pd = pytest.importorskip("pandas")
    names = [f"f{k}" for k in range(7)]
    frame = pd.DataFrame(D.X_target, columns=names)
    pipeline = make_pipeline(StandardScaler(), MLHD().given_source(D.X_source, D.y_source))
    pipeline.set_output(transform="pandas").fit(frame, D.y_target)
    out = pipeline.transform(frame)
    assert list(out.columns) == list(pipeline.get_feature_names_out())
    assert out.columns[0] == "mlhd0"
    fits = Parallel(n_jobs=2)(
        delayed(clone(pipeline).fit)(frame, np.where(np.arange(40) < n, D.y_true, -1)) for n in (6, 12)
    )
    assert all(fit.predict(frame).shape == (40,) for fit in fits)


@pytest.mark.parametrize("unknown", [None, float("nan"), "-1"])
def test_words_with_any_mark_can_be_cross_validated(unknown):
    words = np.array(["ant", "bee", "cat"])
    y = np.array([words[k] if k >= 0 else unknown for k in D.y_target], dtype=object)
    over_target = MLHD().given_source(D.X_source, words[D.y_source])
    scores = cross_val_score(over_target, D.X_target, y, cv=SemiSupervisedSplit(3), error_score="raise")
    np.testing.assert_allclose(scores, scores_of_three_folds())


def test_sparse_targets_and_precomputed_kernels_are_cross_validated():
    expected = scores_of_three_folds()
    sparse = cross_val_score(
        MLHD().given_source(D.X_source, D.y_source), sp.csr_matrix(D.X_target), D.y_target,
        cv=SemiSupervisedSplit(3), error_score="raise",
    )  # fmt: skip
    np.testing.assert_allclose(sparse, expected)
    gram = D.X_target @ D.X_target.T
    precomputed = cross_val_score(
        MLHD(target_kernel="precomputed").given_source(D.X_source, D.y_source), gram, D.y_target,
        cv=SemiSupervisedSplit(3), error_score="raise",
    )  # fmt: skip
    np.testing.assert_allclose(precomputed, expected)


def test_bad_use_is_told_in_one_sentence():
    over_target = MLHD().given_source(D.X_source, D.y_source[:-1])
    with pytest.raises(InputError, match="y_source: expected shape"):
        over_target.fit(D.X_target, D.y_target)
    assert set(vars(over_target)) == {"estimator", "source"}, "a failed fit leaves nothing behind"


@pytest.mark.slow
@pytest.mark.parametrize("cv", [LeaveOneOut(), np.int64(2)])
def test_a_grid_search_sees_as_many_splits_as_there_are(cv):
    small = make_domains(n_source=12, n_target=12, n_labelled=6)
    over_target = MLHD().given_source(small.X_source, small.y_source)
    grid = {"estimator__alignment_weight": [0.1, 1.0]}
    search = GridSearchCV(over_target, grid, cv=SemiSupervisedSplit(cv), error_score="raise").fit(
        small.X_target, small.y_target
    )
    assert search.n_splits_ == (6 if isinstance(cv, LeaveOneOut) else 2)


def test_labels_may_be_a_tuple_with_marks():
    words = np.array(["ant", "bee", "cat"])
    y = tuple(words[k] if k >= 0 else float("nan") for k in D.y_target)
    over_target = MLHD().given_source(D.X_source, words[D.y_source]).fit(D.X_target, y)
    assert set(over_target.predict(D.X_target)) <= set(words)


def test_it_works_in_a_pipeline_with_metadata_routing_on():
    # With routing, scikit-learn passes weights to every score, and refuses estimators that don't know the word.
    over_target = MLHD(tol=1e-3).given_source(D.X_source, D.y_source)
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(FunctionTransformer(), over_target).fit(D.X_target, D.y_target)
        assert pipeline.score(D.X_target, D.y_true) == pipeline[-1].score(D.X_target, D.y_true)


def test_the_score_counts_rows_by_weight_and_labelled_ones_only():
    over_target = MLHD(tol=1e-3).given_source(D.X_source, D.y_source).fit(D.X_target, D.y_target)
    weights = np.arange(1.0, len(D.y_true) + 1)
    right = over_target.predict(D.X_target) == D.y_true
    assert over_target.score(D.X_target, D.y_true, weights) == pytest.approx((right * weights).sum() / weights.sum())
    known = D.y_target >= 0
    assert over_target.score(D.X_target, D.y_target, weights) == pytest.approx(
        np.average(right[known], weights=weights[known])
    )
    ones = over_target.score(D.X_target, D.y_true, np.ones(len(weights)))
    assert ones == pytest.approx(over_target.score(D.X_target, D.y_true))
    for wrong, message in ((weights[1:], "sample_weight: expected shape"), (0.0 * weights, "a positive weight of a")):
        with pytest.raises(InputError, match=message):
            over_target.score(D.X_target, D.y_true, wrong)
