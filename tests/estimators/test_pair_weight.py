"""Automatic weights: shared by all pairs, so that their number does not matter, and free of the unit of features."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import make_domains
from isthmus import ITML, MLHD, InputError, Saenko
from isthmus.estimators.logdet_base import TOTAL_WEIGHT
from isthmus.solvers.newton import DualNewton

TIGHT = DualNewton(tol=1e-10)


def n_labelled(domains):
    return int((domains.y_target != -1).sum())


@pytest.mark.parametrize("within", [False, True])
def test_all_pairs_together_weigh_the_same(domains, within):
    n, m = len(domains.y_source), n_labelled(domains)
    pairs = n * m + (n * (n - 1) + m * (m - 1)) // 2 * within
    model = MLHD(within_domain=within).fit(*domains.args)
    assert model.pair_weight_ == pytest.approx(TOTAL_WEIGHT / pairs)
    assert model.result_.problem.graph.weight.sum() == pytest.approx(TOTAL_WEIGHT)
    assert model.pair_weight == "auto"


@settings(max_examples=6)
@given(times=st.integers(2, 4), seed=st.integers(0, 100))
def test_the_same_source_rows_several_times_change_nothing(times, seed):
    Xs, ys, Xt, yt = make_domains(seed, n_source=18).args
    once = MLHD(solver=TIGHT).fit(Xs, ys, Xt, yt)
    several = MLHD(solver=TIGHT).fit(np.repeat(Xs, times, axis=0), np.repeat(ys, times), Xt, yt)
    assert several.pair_weight_ == pytest.approx(once.pair_weight_ / times)
    np.testing.assert_allclose(several.pairwise_distances(Xs, Xt), once.pairwise_distances(Xs, Xt), rtol=1e-3)


@pytest.mark.parametrize("weight", [0.0, 0.5, 3])
def test_a_number_is_the_weight_of_each_pair(domains, weight):
    model = MLHD(pair_weight=weight).fit(*domains.args)
    assert model.pair_weight_ == weight
    n = len(domains.y_source) * n_labelled(domains)
    assert model.result_.problem.graph.weight.sum() == pytest.approx(weight * n)


def test_pairs_that_no_metric_can_tell_apart_are_not_counted():
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]]), [0, 0, 1, 1]
    with pytest.warns(UserWarning, match=r"1 pair\(s\) of equal rows"):
        model = Saenko().fit(X, y, np.vstack([X[:1], X + 0.5]), [1, 0, 0, 1, 1])
    assert model.pair_weight_ == pytest.approx(TOTAL_WEIGHT / (4 * 5 - 1))


def test_itml_shares_its_weight_too():
    pairs, y = np.random.default_rng(0).normal(size=(40, 2, 3)), np.where(np.arange(40) % 2, 1, -1)
    model = ITML(bounds=(1.0, 4.0), solver=TIGHT).fit_pairs(pairs, y)
    twice = ITML(bounds=(1.0, 4.0), solver=TIGHT).fit_pairs(np.concatenate([pairs, pairs]), np.r_[y, y])
    assert model.pair_weight_ * 40 == pytest.approx(twice.pair_weight_ * 80)
    np.testing.assert_allclose(twice.get_mahalanobis_matrix(), model.get_mahalanobis_matrix(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 1e4])
def test_the_automatic_weight_of_the_alignment_has_no_unit(domains, scale):
    Xs, ys, Xt, yt = domains.args
    one, other = (MLHD(solver=TIGHT).fit(Xs * c, ys, Xt * c, yt) for c in (1.0, scale))
    assert other.alignment_weight_ == pytest.approx(one.alignment_weight_ / scale**2)
    found = other.pairwise_distances(Xs * scale, Xt * scale)
    np.testing.assert_allclose(found, scale * one.pairwise_distances(Xs, Xt), rtol=1e-3)


def test_a_number_is_the_weight_of_the_alignment(domains):
    assert MLHD(alignment_weight=2).fit(*domains.args).alignment_weight_ == 2.0
    with pytest.raises(InputError, match=r'alignment_weight: expected "auto" or a number of at least 0, got \'1\''):
        MLHD(alignment_weight="1").fit(*domains.args)
