"""Decision rules against scikit-learn's classifiers on the same points; changeable after fit, without refitting."""

import pickle

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.svm import SVC, LinearSVC

from conftest import make_domains
from isthmus import ARC, CCA, MLHD, InputError, RidgeMap

D = make_domains(n_target=40, n_labelled=12)
NEW = make_domains(seed=9).X_target


def references(model, which):
    """Reference points and their labels, straight from transform."""
    known = D.y_target != -1
    parts = {
        "source": (model.transform(D.X_source, "source"), D.y_source),
        "target": (model.transform(D.X_target[known]), D.y_target[known]),
    }
    if which != "both":
        return parts[which]
    return tuple(np.concatenate(each) for each in zip(*parts.values(), strict=True))


@pytest.mark.parametrize("which", ["source", "target", "both"])
@pytest.mark.parametrize("kernels", [("linear", "linear"), ("rbf", "rbf")], ids=["linear", "rbf"])
@pytest.mark.parametrize(
    ("rule", "n_neighbors", "peer"),
    [
        ("nearest", 1, KNeighborsClassifier(1)),
        ("nearest", 5, KNeighborsClassifier(5)),
        ("means", 1, NearestCentroid()),
        ("linear", 1, LinearSVC()),
        (LogisticRegression(), 1, LogisticRegression()),
    ],
    ids=["nearest", "five votes", "means", "linear", "a classifier"],
)
@pytest.mark.filterwarnings("ignore:self.within_class_std_dev_")  # the column of what is outside is zero
def test_a_rule_is_the_classifier_of_that_name_on_the_reference_points(rule, n_neighbors, peer, kernels, which):
    model = MLHD(*kernels, rule=rule, references=which, n_neighbors=n_neighbors).fit(*D.args)
    points, labels = references(model, which)
    peer.fit(points, labels)
    E = model.transform(NEW)
    np.testing.assert_array_equal(model.predict(NEW), peer.predict(E))
    if rule == "nearest":
        np.testing.assert_allclose(model.predict_proba(NEW), peer.predict_proba(E))
    if hasattr(model, "decision_function"):
        np.testing.assert_array_equal(model.classes_[model.decision_function(NEW).argmax(axis=1)], model.predict(NEW))


def test_rules_and_references_change_without_learning_anew():
    model = MLHD().fit(*D.args)
    space = model.common_space_
    for rule, which in (
        ("means", "both"),
        ("linear", "source"),
        ("nearest", "target"),
        (LogisticRegression(), "both"),
    ):
        model.set_params(rule=rule, references=which)
        fresh = MLHD(rule=rule, references=which).fit(*D.args)
        np.testing.assert_array_equal(model.predict(NEW), fresh.predict(NEW))
        np.testing.assert_array_equal(model.kneighbors(NEW, 3)[1], fresh.kneighbors(NEW, 3)[1])
        assert model.common_space_ is space
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(NEW), model.predict(NEW))


def test_what_a_rule_does_not_give_is_not_there():
    nearest, means, logistic = (MLHD(rule=rule) for rule in ("nearest", "means", LogisticRegression()))
    assert hasattr(nearest, "predict_proba")
    assert not hasattr(nearest, "decision_function")
    assert hasattr(means, "decision_function")
    assert not hasattr(means, "predict_proba")
    assert hasattr(logistic, "predict_proba")
    assert hasattr(logistic, "decision_function")
    over_target = logistic.given_source(D.X_source, D.y_source)
    assert hasattr(over_target, "predict_proba")
    assert not hasattr(means.given_source(D.X_source, D.y_source), "predict_proba")


def test_class_means_by_inner_product():
    model = ARC(rule="means").fit(*D.args)
    S = model.pairwise_similarities(D.X_source, NEW)
    means = np.stack([S[D.y_source == c].mean(axis=0) for c in range(3)], axis=1)
    np.testing.assert_array_equal(model.predict(NEW), means.argmax(axis=1))
    np.testing.assert_allclose(model.decision_function(NEW), means)


def test_two_classes_have_one_score_as_scikit_learn_expects():
    two = make_domains(n_classes=2)
    for rule in ("means", "linear"):
        model = CCA(rule=rule).fit(*two.args)
        scores = model.decision_function(two.X_target)
        assert scores.shape == (20,)
        np.testing.assert_array_equal(model.predict(two.X_target), (scores > 0).astype(int))


def test_over_the_target_probabilities_and_distances_are_those_of_the_system():
    direct = MLHD("rbf", "rbf").fit(*D.args)
    over_target = MLHD("rbf", "rbf").given_source(D.X_source, D.y_source).fit(D.X_target, D.y_target)
    np.testing.assert_array_equal(
        over_target.estimator_.pairwise_distances(D.X_source, NEW), direct.pairwise_distances(D.X_source, NEW)
    )
    P = over_target.predict_proba(NEW)
    assert P.shape == (len(NEW), len(over_target.classes_))
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(P, direct.predict_proba(NEW))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"rule": "median"},
            "rule: expected 'nearest', 'means', 'linear' or a classifier of scikit-learn, got 'median'",
        ),
        ({"rule": LinearSVC}, "rule: expected .* got <class"),
        ({"rule": None}, "rule: expected .* got None"),
        ({"rule": LinearRegression()}, "rule: expected .* got LinearRegression"),
        ({"rule": KMeans(3)}, "rule: expected .* got KMeans"),
        ({"references": "all"}, "references: expected one of"),
        ({"references": "target", "n_neighbors": 13}, "n_neighbors: expected at most the 12 reference rows, got 13"),
    ],
)
def test_bad_rules_are_refused_before_and_after_fit(parameters, message):
    with pytest.raises(InputError, match=message):
        MLHD(**parameters).fit(*D.args)
    model = MLHD().fit(*D.args).set_params(**parameters)
    with pytest.raises(InputError, match=message):
        model.predict(NEW)


@pytest.mark.parametrize("missing", [0, 1, 2])
@pytest.mark.parametrize("rule", ["nearest", "means", "linear", LogisticRegression()], ids=str)
def test_a_class_without_references_is_never_named(rule, missing):
    few = np.where(D.y_target == missing, -1, D.y_target)
    model = MLHD(rule=rule, references="target").fit(D.X_source, D.y_source, D.X_target, few)
    predicted = model.predict(NEW)
    assert set(predicted) <= {0, 1, 2} - {missing}
    for method, least in (("predict_proba", 0.0), ("decision_function", -np.inf)):
        if hasattr(model, method):
            values = getattr(model, method)(NEW)
            assert values.shape == (len(NEW), 3)
            assert (values[:, missing] == least).all()
            np.testing.assert_array_equal(values.argmax(axis=1), predicted)


def test_scores_of_one_class_against_another_are_not_taken_for_scores_of_classes():
    model = MLHD(rule=SVC(decision_function_shape="ovo")).fit(*make_domains(n_classes=4, n_labelled=12).args)
    model.predict(NEW)
    with pytest.raises(InputError, match=r"rule: expected one score per class, got 6 \(one against one\)"):
        model.decision_function(NEW)


def test_a_classifier_needs_two_classes_among_the_references():
    one = np.where((D.y_target == 0), D.y_target, -1)
    with pytest.raises(InputError, match="references: expected at least two classes for a classifier, got one"):
        MLHD(rule="linear", references="target").fit(D.X_source, D.y_source, D.X_target, one)


def test_without_labels_rows_become_references_when_they_are_asked_for():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(30, 4)), rng.normal(size=(30, 3))
    model, other = (RidgeMap(references="both").fit(A, None, B, None, pairs="rows") for _ in range(2))
    assert "points" not in vars(model.references_)
    points = np.vstack([model.transform(A, "source"), model.transform(B)])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).references_.points, points)
    np.testing.assert_array_equal(other.kneighbors(B, 3)[1][:, 0], np.arange(30, 60))
    assert vars(other.references_).keys() == vars(pickle.loads(pickle.dumps(other)).references_).keys()


def test_rows_that_were_changed_since_are_no_references():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(30, 4)), rng.normal(size=(30, 3))
    model = RidgeMap().fit(A, None, B, None, pairs="rows")
    A[3, 1] += 1.0
    with pytest.raises(InputError, match="rows changed in place since; fit again"):
        model.kneighbors(B, 3)
    with pytest.raises(AttributeError):
        model.references_.nothing  # noqa: B018
