"""KPG-RL: relations, costs and plans against SciPy and POT, and the masked problem of the release."""

import numpy as np
import pytest
import scipy.special as special
from scipy.optimize import linprog
from scipy.spatial.distance import jensenshannon

from conftest import make_domains, one_sentence
from isthmus import KPGRL, ConvergenceWarning, InputError
from isthmus.estimators.transport import jensen_shannon, relations, sinkhorn

D = make_domains(seed=3, n_source=24, n_target=30, n_labelled=6, d_source=4, d_target=5, shift=3.0)


def masked_plan(cost, mask, p, q, eps, rounds):
    """Sinkhorn in logarithms, where some pairs are forbidden: the release's problem, dense."""
    L = np.where(mask, -cost / eps, -np.inf)
    u, v = np.zeros(len(p)), np.zeros(len(q))
    for _ in range(rounds):
        u = np.log(p) - special.logsumexp(L + v[None], axis=1)
        v = np.log(q) - special.logsumexp(L + u[:, None], axis=0)
    return np.exp(L + u[:, None] + v[None])


def test_costs_are_the_squares_of_scipys_distance():
    rng = np.random.default_rng(0)
    P, Q = rng.dirichlet(np.ones(4), 5), rng.dirichlet(np.ones(4), 6)
    expected = [[jensenshannon(p, q) ** 2 for q in Q] for p in P]
    np.testing.assert_allclose(jensen_shannon(P, Q), expected, atol=1e-12)


def test_relations_are_distributions_and_do_not_see_the_unit():
    X, keys = D.X_source, D.X_source[:3]
    R = relations(X, keys, 0.1)
    np.testing.assert_allclose(R.sum(axis=1), 1.0)
    np.testing.assert_array_equal(R[:3].argmax(axis=1), [0, 1, 2])
    np.testing.assert_allclose(relations(7.0 * X, 7.0 * keys, 0.1), R)


def test_a_plan_is_that_of_pot():
    ot = pytest.importorskip("ot")
    cost = np.random.default_rng(0).uniform(size=(9, 13))
    ours = sinkhorn(cost, 0.02, 1e-12, 100_000)[0]
    theirs = ot.sinkhorn(
        np.full(9, 1 / 9), np.full(13, 1 / 13), cost, 0.02, method="sinkhorn_log", numItermax=100_000
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-8)


def test_with_little_entropy_a_plan_is_nearly_the_linear_programs():
    cost = np.random.default_rng(2).uniform(size=(4, 4))
    plan = sinkhorn(cost, 0.01, 1e-6, 100_000)[0]
    rows = [np.kron(np.eye(4), np.ones(4)), np.kron(np.ones(4), np.eye(4))]
    best = linprog(cost.ravel(), A_eq=np.vstack(rows), b_eq=np.full(8, 1 / 4)).fun
    assert best - 1e-6 <= (plan * cost).sum() <= best + 0.01 * np.log(16)


def test_key_points_drop_out_of_the_masked_problem_of_the_release():
    """As many source rows as unlabelled ones, as it has them: key points are matched with each other alone."""
    X, Y, labelled = D.X_source, D.X_target, np.arange(6)
    free = np.arange(6, 30)
    means = np.stack([X[D.y_source == c].mean(axis=0) for c in D.y_true[:6]])
    R = [relations(np.vstack([means, X]), means, 0.1), relations(np.vstack([Y[labelled], Y[free]]), Y[labelled], 0.1)]
    cost = jensen_shannon(*R)
    cost /= cost.max()
    mask = np.ones(cost.shape, dtype=bool)
    mask[:6], mask[:, :6] = False, False
    mask[np.arange(6), np.arange(6)] = True
    plan = masked_plan(cost, mask, np.full(30, 1 / 30), np.full(30, 1 / 30), 0.2, 500)
    np.testing.assert_allclose(plan[:6, :6], np.eye(6) / 30, atol=1e-9)
    model = KPGRL(regularization=0.2, tol=1e-10)
    from isthmus.data.domains import TwoDomains

    ours = model._plan(TwoDomains.of(*D.args), X, Y, free)[0]
    np.testing.assert_allclose(ours * 24 / 30, plan[6:, 6:], atol=1e-8)


def test_a_plan_that_did_not_converge_is_told():
    with pytest.warns(ConvergenceWarning, match="of the mass is in wrong rows"):
        model = KPGRL(max_iter=1, tol=1e-9).fit(*D.args)
    assert model.n_iter_ == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"regularization": 0.001}, "regularization: expected a number of at least 0.00333333, got 0.001"),
        ({"temperature": 0.0}, "temperature: expected a number above 0"),
        ({"max_iter": 0}, "max_iter: expected a whole number of at least 1"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(InputError, match=message) as caught:
        KPGRL(**parameters).fit(*D.args)
    assert one_sentence(caught)


def test_without_unlabelled_rows_there_is_nowhere_to_move_to():
    with pytest.raises(
        InputError, match="y_target: expected rows without a label to move the source rows to, got none"
    ):
        KPGRL().fit(D.X_source, D.y_source, D.X_target, D.y_true)
