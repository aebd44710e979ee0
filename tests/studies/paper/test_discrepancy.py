"""MMD is its formula, and memory stays in blocks."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from isthmus.exceptions import InputError
from isthmus.geometry import spaces as module
from isthmus.geometry.kernels import RBF, Cosine, Kernel, Laplacian, Linear, Polynomial, Precomputed
from studies.paper.discrepancy import mmd

Array = NDArray[np.float64]
KERNELS = [Linear(), RBF(1.3), RBF(), Laplacian(2.0), Laplacian(), Polynomial(3, 0.5), Cosine()]


def samples(n: int, m: int, d: int = 3, shift: float = 0.0, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(m, d)) + shift


def naive(X: Array, Y: Array, kernel: Kernel) -> float:
    """The formula of the docstring, term by term."""
    kernel = kernel.resolve(np.vstack([X, Y]))

    def k(x: Array, y: Array) -> float:
        return float(kernel.gram(x[None], y[None])[0, 0])

    def mean(A: Array) -> float:
        pairs = itertools.product(range(len(A)), repeat=2)
        return float(np.mean([k(A[i], A[j]) for i, j in pairs]))

    return mean(X) + mean(Y) - 2.0 * float(np.mean([k(x, y) for x in X for y in Y]))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_equals_the_formula_term_by_term(kernel: Kernel) -> None:
    for n, m in [(5, 4), (3, 6), (4, 4)]:
        X, Y = samples(n, m, shift=0.7)
        assert mmd(X, Y, kernel) == pytest.approx(naive(X, Y, kernel), rel=1e-9, abs=1e-13)


def test_biased_with_the_linear_kernel_is_the_squared_distance_of_the_means() -> None:
    X, Y = samples(40, 25, shift=0.3)
    assert mmd(X, Y, "linear") == pytest.approx(np.sum((X.mean(0) - Y.mean(0)) ** 2), rel=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_blocks_do_not_matter(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = samples(19, 12, shift=0.4)
    whole = mmd(X, Y, kernel)
    for rows in (1, 7, 30):
        monkeypatch.setattr(module, "BLOCK_BYTES", 8 * 31 * rows)
        assert mmd(X, Y, kernel) == pytest.approx(whole, rel=1e-10, abs=1e-13)


def test_memory_is_that_of_blocks_not_of_a_gram_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_BYTES", 2**20)
    X, Y = samples(1000, 1000, d=2)
    tracemalloc.start()
    mmd(X, Y, RBF(1.0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2**20  # the Gram matrix of the 2000 rows is 31 MiB


@pytest.mark.parametrize(("n", "m"), [(1000, 2), (2, 1000)])
def test_very_unequal_sizes_lose_no_digits(n: int, m: int) -> None:
    X, Y = samples(n, m, shift=0.1)
    K = RBF(1.0).gram
    assert mmd(X, Y, RBF(1.0)) == pytest.approx(K(X, X).mean() + K(Y, Y).mean() - 2 * K(X, Y).mean(), rel=1e-12)


tables = st.integers(2, 9).flatmap(lambda n: arrays(np.float64, (n, 2), elements=st.floats(-5, 5, width=32)))


@given(X=tables, Y=tables, kernel=st.sampled_from(KERNELS))
@settings(max_examples=30, deadline=None)
def test_symmetric_in_the_samples_and_indifferent_to_row_order(X: Array, Y: Array, kernel: Kernel) -> None:
    value = mmd(X, Y, kernel)
    near = pytest.approx(value, rel=1e-9, abs=1e-10 * (1 + np.abs(X).max() ** 2 + np.abs(Y).max() ** 2))
    assert mmd(Y, X, kernel) == near
    assert mmd(X[::-1], np.roll(Y, 1, axis=0), kernel) == near


@given(X=tables, Y=tables, kernel=st.sampled_from(KERNELS))
@settings(max_examples=30, deadline=None)
def test_biased_is_not_negative_and_zero_for_the_same_rows(X: Array, Y: Array, kernel: Kernel) -> None:
    assert mmd(X, Y, kernel) >= 0.0
    assert mmd(X, X[::-1], kernel) == pytest.approx(0.0, abs=1e-13 * (1 + np.abs(X).max() ** 2))


@given(X=tables, Y=tables, unit=st.floats(0.01, 100.0))
@settings(max_examples=20, deadline=None)
def test_the_median_bandwidth_makes_the_unit_of_the_features_irrelevant(X: Array, Y: Array, unit: float) -> None:
    assert mmd(unit * X, unit * Y) == pytest.approx(mmd(X, Y), abs=1e-7)


def test_words_are_resolved_on_the_pooled_rows() -> None:
    X, Y = samples(30, 20, shift=4.0)
    pooled = RBF().resolve(np.vstack([X, Y]))
    assert mmd(X, Y, "rbf") == mmd(X, Y, pooled) != mmd(X, Y, RBF().resolve(X))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_sparse_single_and_frame_equal_dense(kernel: Kernel) -> None:
    X, Y = (np.where(np.abs(A) > 0.8, A, 0.0).astype(np.float32) for A in samples(40, 33, d=5, shift=0.2))
    value = pytest.approx(mmd(X.astype(np.float64), Y.astype(np.float64), kernel), rel=1e-6, abs=1e-9)
    assert mmd(X, Y, kernel) == value
    assert mmd(pd.DataFrame(X), pd.DataFrame(Y), kernel) == value
    for kind in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array):
        assert mmd(kind(X), kind(Y), kernel) == value
    assert mmd(sp.csr_array(X), Y, kernel) == value
    assert mmd(X, sp.csr_array(Y), kernel) == value


@pytest.mark.parametrize("kind", [np.array, sp.csr_array, pd.DataFrame])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_inputs_are_left_as_they_were(kernel: Kernel, kind: Callable[[Array], Any]) -> None:
    before = samples(12, 9)
    X, Y = (kind(A.copy()) for A in before)
    mmd(X, Y, kernel)
    for A, after in zip(before, (X, Y), strict=True):
        np.testing.assert_array_equal(A, after.toarray() if kind is sp.csr_array else after)


DASK = "X, Y: expected rows in memory, got a Dask array; sample its rows, or call compute() first."
GOOD, WIDE, NAN = np.eye(4), np.eye(5), np.full((4, 4), np.nan)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mmd(GOOD, WIDE), "Y: expected 4 columns as in X, got 5."),
        (lambda: mmd(NAN, GOOD), "X: expected finite numbers without NaN or inf, got NaN."),
        (lambda: mmd(GOOD, NAN), "Y: expected finite numbers without NaN or inf, got NaN."),
        (lambda: mmd(da.ones((4, 4)), GOOD), DASK),
        (lambda: mmd(GOOD, da.ones((4, 4))), DASK),
        (
            lambda: mmd(GOOD, GOOD, Precomputed()),
            "kernel: expected a kernel that is computed from rows, got Precomputed.",
        ),
        (
            lambda: mmd(pd.DataFrame(GOOD[:, :2], columns=["a", "b"]), pd.DataFrame(GOOD[:, :2], columns=["b", "a"])),
            "Y: expected the columns of X in order, ('a', 'b'), got ('b', 'a').",
        ),
    ],
)
def test_errors_are_one_sentence(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian"])
def test_a_common_offset_costs_no_digits(kernel):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(40, 3)), rng.normal(size=(30, 3)) + 0.5
    assert mmd(A + 1e6, B + 1e6, kernel) == pytest.approx(mmd(A, B, kernel), rel=1e-6)
    assert mmd(A + 1e6, A + 1e6, kernel) == pytest.approx(0.0, abs=1e-9)
