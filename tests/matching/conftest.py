"""Two collections that are two views of the same objects."""

from types import SimpleNamespace

import numpy as np
import pytest


def make_views(n=200, extra=0, seed=0, noise=0.0, factors=8):
    """Rows of A, rows of B (in another order, with other columns), and the true partner of each row of A or -1."""
    rng = np.random.default_rng(seed)
    hidden = rng.gamma(0.3, size=(n + 2 * extra, factors))
    left, right = hidden @ rng.normal(size=(factors, 30)), hidden @ rng.normal(size=(factors, 25))
    left, right = (X + noise * rng.normal(size=X.shape) for X in (left, right))
    in_a, in_b = np.arange(n + extra), rng.permutation(np.r_[np.arange(n), np.arange(n + extra, n + 2 * extra)])
    place = {o: k for k, o in enumerate(in_b)}
    true = np.array([place.get(o, -1) for o in in_a])
    return SimpleNamespace(A=left[in_a], B=right[in_b], true=true, has=np.flatnonzero(true >= 0))


@pytest.fixture(scope="session")
def views():
    return make_views()
