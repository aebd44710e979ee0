"""Rules that balance guesses take the shares of the classes as label transfer does: assumed, given or estimated."""

import numpy as np
import pytest

from conftest import make_domains, one_sentence
from isthmus import KPGRL, InputError
from isthmus.data.domains import TwoDomains
from isthmus.estimators.controls import BalancedKMeans, SelfTrainedLDA
from isthmus.estimators.transport import weigh_source

RULES = (SelfTrainedLDA, BalancedKMeans, KPGRL)
UNEQUAL = (8, 4, 2, 1, 1)


def draw(shares, seed, per_class=10, n=320, d=12):
    """Return the arguments of a fit, and the unlabelled rows with their classes, of rotated Gaussian classes."""
    rng, C = np.random.default_rng(seed), len(shares)
    means = rng.normal(size=(C, d))
    means *= 3.5 / np.linalg.norm(means, axis=1)[:, None]
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    ys, yl = np.repeat(np.arange(C), 20), np.repeat(np.arange(C), per_class)
    yu = np.repeat(np.arange(C), n * np.asarray(shares) // sum(shares))
    X, L, U = (
        M[y] + rng.normal(size=(len(y), d)) for M, y in ((means, ys), (means @ rotation, yl), (means @ rotation, yu))
    )
    return (X, ys, np.vstack([L, U]), np.r_[yl, np.full(len(yu), -1)]), U, yu


def accuracies(rule, shares, seeds=range(3)):
    """Return mean accuracies with assumed, estimated and true shares."""
    found = []
    for seed in seeds:
        args, U, y = draw(shares, seed)
        options = "auto", "labelled", np.bincount(y)
        found.append([np.mean(rule(shares=option).fit(*args).predict(U) == y) for option in options])
    return np.mean(found, axis=0)


@pytest.mark.parametrize("rule", RULES)
def test_labelled_shares_recover_half_of_what_true_ones_give(rule):
    assumed, estimated, true = accuracies(rule, UNEQUAL)
    assert true - assumed > 0.05
    assert estimated - assumed >= 0.5 * (true - assumed)


@pytest.mark.parametrize("rule", RULES)
def test_labelled_shares_cost_little_where_classes_are_equal(rule):
    assumed, estimated, true = accuracies(rule, (1, 1, 1, 1, 1), range(10))
    assert estimated >= assumed - 0.01
    assert true == assumed


@pytest.mark.parametrize("rule", RULES)
def test_without_the_option_shares_are_assumed(rule):
    args, U, _ = draw(UNEQUAL, 0)
    default, uniform = (model.fit(*args).predict(U) for model in (rule(), rule(shares="uniform")))
    np.testing.assert_array_equal(default, uniform)  # the source has classes of one size
    np.testing.assert_array_equal(default, rule(shares="source").fit(*args).predict(U))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("shares", ["equal", [1.0, 2.0], [-1.0, 1.0, 1.0], np.zeros(3), [[1.0, 1.0, 1.0]]])
def test_bad_shares_are_one_sentence(rule, shares):
    d = make_domains(n_classes=3, n_target=30, n_labelled=9)
    with pytest.raises(InputError, match=r"^shares: expected") as caught:
        rule(shares=shares).fit(*d.args)
    assert one_sentence(caught)


@pytest.mark.parametrize("shares", ["auto", "source", "uniform", "labelled", (1.0, 2.0, 3.0)])
def test_a_class_without_a_label_has_no_share_of_target_rules(shares):
    d = make_domains(n_classes=3, n_target=60, n_labelled=30)
    y = np.where(d.y_target == 1, -1, d.y_target)
    for rule in (SelfTrainedLDA, BalancedKMeans):
        fitted = rule(shares=shares).fit(d.X_source, d.y_source, d.X_target, y)
        assert set(fitted.predict(d.X_target).tolist()) == {0, 2}


def test_given_shares_hold_for_new_rows_although_every_row_has_a_label():
    (X, ys, Y, yt), U, _ = draw((1, 1), 0, d=3)
    Y, yt = Y[yt >= 0], yt[yt >= 0]
    found = [np.mean(SelfTrainedLDA(shares=shares).fit(X, ys, Y, yt).predict(U) == 0) for shares in ([1, 1], [99, 1])]
    assert found[1] > found[0]


def test_source_rows_weigh_by_the_shares_of_their_class():
    (X, ys, Y, yt), _, _ = draw(UNEQUAL, 0)
    ys = np.where(np.arange(len(ys)) < 30, 0, ys)  # classes of other sizes
    domains, free = TwoDomains.of(X, ys, Y, yt), np.flatnonzero(yt < 0)
    weights = weigh_source(domains, Y, free, np.asarray(UNEQUAL, dtype=float))
    np.testing.assert_allclose(np.bincount(ys, weights) / len(ys), np.asarray(UNEQUAL) / sum(UNEQUAL))
    assert weigh_source(domains, Y, free, "auto") == 1.0
    hidden = TwoDomains.of(X, ys, Y, np.where(yt == 2, -1, yt))
    assert weigh_source(hidden, Y, np.flatnonzero(hidden.target.y < 0), "labelled") == 1.0
