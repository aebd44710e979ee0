"""Rules that never see the source: each is what its name says, and none of them looks."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from conftest import make_domains
from isthmus._core.linalg import normalize_rows, principal_axes
from isthmus.estimators.controls import SelfTrainedLDA
from isthmus.study.source_value.engine import BOTH, LDA, READINGS, TargetRules


@pytest.fixture
def problem():
    d = make_domains(n_classes=4, n_target=80, n_labelled=12, d_target=30, shift=1.2)
    Z = principal_axes(d.X_target).coordinates(d.X_target)
    known = d.y_target != -1
    return d, Z, known, TargetRules().fit(Z[known], d.y_target[known], Z, d.y_target)


def test_the_simple_rules_are_those_of_scikit_learn(problem):
    d, Z, known, rules = problem
    U = normalize_rows(Z[:, :12])
    nearest = KNeighborsClassifier(1).fit(U[known], d.y_target[known])
    np.testing.assert_array_equal(rules.predict_by("target 1-NN", Z), nearest.predict(U))


def test_discriminants_are_averaged_over_numbers_of_axes(problem):
    d, Z, known, rules = problem
    P = 0
    for m in (2, 3, 5):
        U = normalize_rows(Z[:, : 4 * m])
        P = P + SelfTrainedLDA((m,)).fit(U[known], d.y_target[known], U, d.y_target).predict_proba(U)
    np.testing.assert_array_equal(rules.predict_by(LDA, Z), P.argmax(axis=1))


def test_the_vote_is_with_the_majority(problem):
    _, Z, _, rules = problem
    five = np.stack([rules.predict_by(name, Z) for name in READINGS if name != BOTH])
    counts = np.stack([(five == c).sum(axis=0) for c in range(4)])
    assert (counts[rules.predict(Z), np.arange(len(Z))] == counts.max(axis=0)).all()


def test_all_rules_learn(problem):
    d, Z, _, rules = problem
    assert min(np.mean(rules.predict_by(name, Z) == d.y_true) for name in READINGS) > 0.8
