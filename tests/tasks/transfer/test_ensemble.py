"""The target's own ensemble: clusters count by their confidence."""

import numpy as np
import pytest

from conftest import make_domains
from isthmus import LabelTransfer
from isthmus.tasks.transfer import engine, scoring
from isthmus.tasks.transfer.scoring import (
    average_rules,
    combine,
    fit_cluster_means,
    fit_discriminants,
    fit_target_ensemble,
    measure_confidence,
)


@pytest.fixture(scope="module")
def rows():
    """The rows that a fit passes to its recipe."""
    seen, recipe = [], engine.transfer_with_few_rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            engine, "transfer_with_few_rows", lambda rows, *others: seen.append(rows) or recipe(rows, *others)
        )
        LabelTransfer(shares="uniform").fit(*make_domains(n_classes=3, n_target=60, n_labelled=6).args)
    return seen[0]


def scores(rule, rows):
    return rule.scores(rows.target[rows.unlabelled])


def test_certain_guesses_are_sure_and_even_ones_are_not(rows):
    class Fixed:
        def __init__(self, S):
            self.S = S

        def scores(self, Z):
            return self.S

    n, rng = int(rows.unlabelled.sum()), np.random.default_rng(0)
    even = Fixed(np.zeros((n, 3)))
    certain = Fixed(1e3 * np.eye(3)[np.arange(n) % 3])
    vague = Fixed(rng.normal(size=(n, 3)))
    assert measure_confidence(even, rows) == pytest.approx(0.0, abs=1e-9)
    assert measure_confidence(vague, rows) < measure_confidence(certain, rows) <= 1.0


@pytest.mark.parametrize(("slope", "member"), [(0.0, 0), (1e9, 1)])
def test_the_ends_are_discriminants_and_clusters(rows, monkeypatch, slope, member):
    monkeypatch.setattr(scoring, "SLOPE", slope)
    monkeypatch.setattr(scoring, "LEAST_CONFIDENCE", -1.0)
    alone = (average_rules(fit_discriminants(rows)), fit_cluster_means(rows))[member]
    np.testing.assert_allclose(scores(fit_target_ensemble(rows), rows), scores(combine(rows, alone), rows))
