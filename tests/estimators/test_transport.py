"""Plans by POT: the costs that they get, what becomes of a plan, and what is said without POT."""

import sys

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from conftest import make_domains, one_sentence
from isthmus import COOT, FGW, GW, InputError, MissingDependencyError
from isthmus.data.domains import TwoDomains
from isthmus.estimators.transport import TransductiveEstimator, label_costs, scaled_distances
from isthmus.geometry.similarity import graph_distances

D = make_domains(seed=3, n_source=24, n_target=30, n_labelled=6, d_source=4, d_target=5, shift=3.0)


class Told(TransductiveEstimator):
    """With a plan from outside."""

    def __init__(self, plan, max_iter=1, source_transformer=None, target_transformer=None):
        self.plan = plan
        self.max_iter = max_iter
        self.source_transformer = source_transformer
        self.target_transformer = target_transformer

    def _plan(self, domains, X, Y):
        return self.plan


def test_a_row_is_of_the_class_that_most_of_what_it_gets_is_of():
    plan = np.random.default_rng(0).dirichlet(np.ones(30), 24)
    plan[:, 17] = 0.0
    model = Told(plan).fit(*D.args)
    shares = np.stack([plan[D.y_source == c].sum(axis=0) for c in range(3)], axis=1)
    unlabelled = np.setdiff1d(np.arange(6, 30), [17])
    expected = shares[unlabelled] / shares[unlabelled].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(D.X_target[unlabelled]), expected)
    np.testing.assert_allclose(model.predict_proba(D.X_target[17:18]), 1 / 3)
    np.testing.assert_array_equal(model.predict_proba(D.X_target[:6]), np.eye(3)[D.y_target[:6]])


def test_a_second_fit_forgets_the_rows_of_the_first():
    plan = np.random.default_rng(0).dirichlet(np.ones(30), 24)
    model = Told(plan).fit(*D.args)
    model.fit(D.X_source, D.y_source, D.X_target + 1.0, D.y_target)
    assert model.predict(D.X_target + 1.0).shape == (30,)
    with pytest.raises(InputError, match="expected target rows of the fit"):
        model.predict(D.X_target)


def test_labels_cost_one_between_classes_and_chance_where_there_is_none():
    costs = label_costs(TwoDomains.of(*D.args))
    np.testing.assert_array_equal(costs[:, :6], D.y_source[:, None] != D.y_target[None, :6])
    np.testing.assert_allclose(costs[:, 6:], 2 / 3)


def test_plans_are_those_of_pot():
    ot = pytest.importorskip("ot")
    from ot.coot import co_optimal_transport

    X, Y, domains = D.X_source, D.X_target, TwoDomains.of(*D.args)
    C = scaled_distances(X), scaled_distances(Y)
    fused = ot.gromov.fused_gromov_wasserstein(label_costs(domains), *C, alpha=0.3)
    unit = np.mean(np.concatenate([X.ravel() ** 2, Y.ravel() ** 2]))
    co = co_optimal_transport(X, Y, alpha=(2.0 * unit, 0.0), M_samp=label_costs(domains), nits_ot=100_000)[0]
    np.testing.assert_allclose(GW()._plan(domains, X, Y), ot.gromov.gromov_wasserstein(*C), atol=1e-9)
    np.testing.assert_allclose(FGW(structure=0.3)._plan(domains, X, Y), fused, atol=1e-9)
    np.testing.assert_allclose(COOT(label_weight=2.0)._plan(domains, X, Y), co, atol=1e-9)


@pytest.mark.parametrize("system", [GW(), FGW(), COOT()], ids=lambda s: type(s).__name__)
def test_without_pot_one_sentence_says_what_to_install(system, monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "isthmus\[transport\]"'):
        system.fit(*D.args)
    assert not hasattr(system, "classes_")


@pytest.mark.parametrize(
    ("system", "message"),
    [
        (GW(max_iter=0), "max_iter: expected a whole number of at least 1"),
        (GW(cost="hops"), "cost: expected one of 'euclidean', 'graph', got 'hops'"),
        (FGW(structure=1.5), "structure: expected a number of at least 0 and at most 1, got 1.5"),
        (COOT(label_weight=-1.0), "label_weight: expected a number of at least 0, got -1.0"),
    ],
)
def test_bad_parameters(system, message):
    with pytest.raises(InputError, match=message) as caught:
        system.fit(*D.args)
    assert one_sentence(caught)


def test_where_all_rows_are_labelled_there_is_nothing_to_name():
    with pytest.raises(
        InputError, match="y_target: expected rows without a label, the only ones to be named, got none"
    ):
        GW().fit(*D.args[:3], D.y_true)


def test_graph_costs_are_steps_between_neighbours():
    ot = pytest.importorskip("ot")
    X, Y, domains = D.X_source, D.X_target, TwoDomains.of(*D.args)
    C = [graph_distances(cdist(Z, Z), 0.05).astype(float) for Z in (X, Y)]
    np.testing.assert_allclose(GW(cost="graph")._plan(domains, X, Y), ot.gromov.gromov_wasserstein(*C), atol=1e-9)
    fused = FGW(structure=1.0, cost="graph")._plan(domains, X, Y)
    np.testing.assert_allclose(fused, GW(cost="graph")._plan(domains, X, Y), atol=1e-6)
    co = COOT(label_weight=0.0)._plan(domains, *C)
    np.testing.assert_allclose(COOT(label_weight=0.0, cost="graph")._plan(domains, X, Y), co, atol=1e-9)


def test_without_target_labels_fgw_finds_what_gw_finds():
    pytest.importorskip("ot")
    found = [system.fit(*D.args[:3], None).probabilities_ for system in (GW(), FGW(structure=0.5))]
    np.testing.assert_allclose(*found, atol=1e-6)
