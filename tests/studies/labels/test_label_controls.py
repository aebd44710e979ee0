"""Controls of the study of few labels: they never see the source, and do what their names say."""

import numpy as np
import pytest

from conftest import make_domains
from isthmus.estimators.controls import BalancedKMeans, SelfTrainedLDA
from isthmus.study.design import Entrant, Fit
from isthmus.study.trial_rows import Trial
from studies.labels import STUDIES
from studies.labels.controls import MeanOfBoth, RandomNames, SourceShares
from studies.labels.parts import FULL, LDA, RANDOM, SPOILT, TARGET_ONLY, TRANSFER
from studies.labels.rows import DEMO, NamingDraw
from studies.labels.task import HELD_OUT, NAMED, UNNAMED, USED, Calling, rightness

D = make_domains(seed=3, n_source=60, n_target=90, n_labelled=9, shift=3.0)
DIGITS = NamingDraw((DEMO,))(Trial(DEMO, "3", 100))


@pytest.mark.parametrize("control", [BalancedKMeans(), MeanOfBoth(), RandomNames()])
def test_they_never_see_the_source(control):
    other = np.random.default_rng(0).normal(size=D.X_source.shape)
    shuffled = np.random.default_rng(1).permutation(D.y_source)
    once = control.fit(*D.args).predict(D.X_target)
    again = control.fit(other, shuffled, D.X_target, D.y_target).predict(D.X_target)
    np.testing.assert_array_equal(once, again)
    assert np.mean(once == D.y_true) > 0.9


def test_the_only_word_of_the_source_is_its_shares():
    other = np.random.default_rng(0).normal(size=D.X_source.shape)
    control = SourceShares()
    once = control.fit(*D.args).predict(D.X_target)
    shuffled = control.fit(other, np.random.default_rng(1).permutation(D.y_source), D.X_target, D.y_target)
    np.testing.assert_array_equal(once, shuffled.predict(D.X_target))


def test_true_shares_of_the_source_help_where_classes_are_uneven():
    rng, sizes = np.random.default_rng(5), (120, 20, 20)
    y = np.repeat(np.arange(3), sizes)
    X = rng.normal(size=(160, 4)) + 1.6 * np.eye(3, 4)[y]
    labels = np.where(np.concatenate([np.arange(n) < 4 for n in sizes]), y, -1)
    source = rng.normal(size=(160, 3)), y
    scores = [model.fit(*source, X, labels).score(X, y) for model in (SelfTrainedLDA(), SourceShares())]
    assert scores[1] > scores[0] + 0.05


@pytest.mark.slow
def test_random_names_are_drawn_and_labelled_classes_keep_theirs():
    draws = [RandomNames(random_state=k).fit(*DIGITS.fit).predict(DIGITS.X_test) for k in range(3)]
    named = np.isin(DIGITS.y_test, DIGITS.known)
    assert all(np.mean(each[named] == DIGITS.y_test[named]) > 0.6 for each in draws)
    assert any((draws[0] != other).mean() > 0.1 for other in draws[1:])
    assert all(set(each) == set(range(10)) for each in draws)


def test_arbitrary_names_are_scored_by_the_mean_over_all_ways_to_give_them():
    called, y, names = np.array([0, 1, 2, 2, 1, 0]), np.array([0, 2, 1, 2, 0, 1]), np.array([1, 2])
    model = type("Model", (), {"predict": lambda self, X: called, "arbitrary_names_": names})()
    ways = [np.array([0, 1, 2]), np.array([0, 2, 1])]
    expected = np.mean([way[called] == y for way in ways], axis=0)
    np.testing.assert_allclose(rightness(model, None, y), expected)
    fitted = RandomNames().fit(*DIGITS.fit)
    np.testing.assert_array_equal(fitted.arbitrary_names_, np.setdiff1d(np.arange(10), DIGITS.known))
    assert rightness(fitted, DIGITS.X_test, DIGITS.y_test)[~np.isin(DIGITS.y_test, DIGITS.known)].mean() <= 0.2


def test_classes_without_a_label_are_never_called_by_k_means():
    assert set(BalancedKMeans().fit(*DIGITS.fit).predict(DIGITS.X_test)) == set(DIGITS.known)


# --- the task and the parts -------------------------------------------------------------------------------------------


class Oracle:
    """Knows the classes of the test rows, but for those that are hidden."""

    source_used_ = True

    def predict(self, X, domain="target"):
        if len(X) == len(DIGITS.y_test):
            return np.where(np.isin(DIGITS.y_test, DIGITS.known), DIGITS.y_test, -1)
        return np.full(len(X), 3)


def test_the_score_is_of_all_classes_and_noted_for_labelled_and_unlabelled_ones():
    fit = Fit(Oracle(), DIGITS)
    score, noted = Calling().score(Entrant("o", SelfTrainedLDA), "o", fit)
    assert score == pytest.approx(np.isin(DIGITS.y_test, DIGITS.known).mean())
    assert noted == {NAMED: 1.0, UNNAMED: 0.0, USED: 1.0}


def test_a_transductive_score_is_of_the_unlabelled_rows_of_the_fit():
    score, noted = Calling(transductive=True).score(Entrant("o", SelfTrainedLDA), "o", Fit(Oracle(), DIGITS))
    assert score == pytest.approx(np.mean(DIGITS.y_true[DIGITS.y_target == -1] == 3))
    assert noted[HELD_OUT] == pytest.approx(np.isin(DIGITS.y_test, DIGITS.known).mean())


def test_every_part_has_label_transfer_its_spoilt_sources_and_the_target_only_controls():
    for make in STUDIES.values():
        study = make(None)
        assert {TRANSFER, *SPOILT.values(), *(entrant.name for entrant in TARGET_ONLY)} <= set(study.columns)
        assert all(name in study.controls for name in study.columns if name.startswith(("target", f"{TRANSFER},")))
        assert TRANSFER not in study.controls
    assert {FULL, RANDOM, "mlhd, 1-NN", "arc, 1-NN", "cca, 1-NN"} <= set(STUDIES["naming"](None).columns)


@pytest.mark.slow
def test_on_the_demonstration_the_source_names_what_nobody_labelled():
    study = STUDIES["naming"](None)
    scores = {}
    for name in (TRANSFER, SPOILT["noise"], LDA, FULL):
        entrant = study.entrant(name)
        rows = DIGITS if entrant.rows is None else entrant.rows(DIGITS, 100)
        model = entrant.configure_model({}, 100)
        if hasattr(model, "calibrate"):
            model.set_params(calibrate=False)  # the classes are the same
        study.task.fit(model, rows)
        scores[name] = study.task.score(entrant, name, Fit(model, rows))[0]
    assert scores[LDA] < 0.5 < scores[TRANSFER] - 0.3 < scores[FULL] - 0.3
    assert scores[SPOILT["noise"]] < scores[TRANSFER] - 0.2
