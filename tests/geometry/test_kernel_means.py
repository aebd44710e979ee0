"""MMD over partitions: the same number as over arrays."""

import dask
import dask.array as da
import numpy as np
import pytest

from isthmus.exceptions import InputError
from isthmus.geometry.discrepancy import mmd
from isthmus.geometry.kernels import RBF, Polynomial

RANDOM = np.random.default_rng(100)
X, Y = RANDOM.normal(size=(90, 3)) + 50.0, RANDOM.normal(size=(70, 3)) + 50.5


@pytest.fixture(scope="module", autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize("estimator", ["biased", "unbiased", "linear"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", RBF(2.0), "laplacian", "cosine", Polynomial(degree=2)])
def test_it_is_that_of_the_arrays(kernel, estimator):
    expected = mmd(X, Y, kernel, estimator)
    lazy = da.from_array(X, chunks=(31, 2)), da.from_array(Y, chunks=(20, 3))
    assert mmd(*lazy, kernel, estimator) == pytest.approx(expected, rel=1e-8, abs=1e-9)
    assert mmd(lazy[0], Y, kernel, estimator) == pytest.approx(expected, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize(
    ("other", "kernel", "message"),
    [
        (da.ones((4, 2)), "rbf", "Y: expected 3 columns"),
        (da.ones(4), "rbf", "Y: expected a two-dimensional"),
        (da.full((4, 3), np.nan), "rbf", "expected finite numbers"),
        (da.ones((4, 3)), "precomputed", "kernel: expected a kernel that is computed from rows"),
    ],
)
def test_bad_input_is_told(other, kernel, message):
    with pytest.raises(InputError, match=message):
        mmd(X, other, kernel)
