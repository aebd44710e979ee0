"""The constants behind "auto", each by what it does: a change of any of them fails here."""

import warnings

import numpy as np
import pytest
import scipy.linalg as sla
from scipy.spatial.distance import cdist

from conftest import make_domains
from isthmus import CCA, KCCA, MLHD, Saenko

D = make_domains(d_source=5, d_target=5)


def spread_of(X, Y):
    """The mean squared distance across the domains once their means coincide, pair by pair."""
    rows = sla.block_diag(X - X.mean(axis=0), Y - Y.mean(axis=0))
    return cdist(rows[: len(X)], rows[len(X) :], "sqeuclidean").mean()


@pytest.mark.parametrize("system", [MLHD(), Saenko()])
def test_automatic_bounds_are_half_and_one_and_a_half_times_the_spread(system):
    u, l = system.fit(*D.args).bounds_  # noqa: E741
    assert u == pytest.approx(0.5 * spread_of(D.X_source, D.X_target))
    assert l == pytest.approx(1.5 * spread_of(D.X_source, D.X_target))


def test_the_automatic_slack_is_a_hundredth_of_the_spread():
    fitted = MLHD(alignment="constraint").fit(*D.args)
    assert fitted.result_.problem.alignment.slack == pytest.approx(0.01 * spread_of(D.X_source, D.X_target))


@pytest.mark.parametrize("system", [CCA, KCCA])
def test_the_automatic_regularization_is_a_tenth(system):
    automatic, tenth, less = (
        system(regularization=g).fit(*D.args).transform(D.X_target) for g in ("auto", 0.1, 0.0999)
    )
    np.testing.assert_array_equal(automatic, tenth)
    assert not np.allclose(automatic, less, rtol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize(("factor", "count"), [(0.99, 1), (1.01, 0)], ids=["just nearer", "just farther"])
def test_rows_of_two_classes_nearer_than_a_ten_thousandth_of_the_deviation_are_equal(factor, count, offset):
    X = D.X_source.copy()
    assert D.y_source[0] != D.y_source[1]
    X[1] = X[0]
    around_means = [rows - rows.mean(axis=0) for rows in (X, D.X_target[D.y_target >= 0])]
    deviation = np.sqrt(sla.block_diag(*around_means).var(axis=0).sum())
    X[1, 0] += factor * 1e-4 * deviation
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MLHD(within_domain=True, max_iter=1).fit(X + offset, D.y_source, D.X_target - offset, D.y_target)
    told = [str(w.message) for w in caught if "of equal rows have different labels" in str(w.message)]
    assert [message.split()[0] for message in told] == ["1"] * count
