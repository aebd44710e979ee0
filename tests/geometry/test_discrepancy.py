"""MMD: the estimators are their formulas, the test is exact, memory stays in blocks."""

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
from scipy import stats

from isthmus.exceptions import InputError
from isthmus.geometry import discrepancy as module
from isthmus.geometry.discrepancy import mmd, mmd_test
from isthmus.geometry.kernels import RBF, Cosine, Kernel, Laplacian, Linear, Polynomial, Precomputed

Array = NDArray[np.float64]
KERNELS = [Linear(), RBF(1.3), RBF(), Laplacian(2.0), Laplacian(), Polynomial(3, 0.5), Cosine()]


def samples(n: int, m: int, d: int = 3, shift: float = 0.0, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(m, d)) + shift


def naive(X: Array, Y: Array, kernel: Kernel, estimator: str) -> float:
    """The formula of the docstring, term by term."""
    kernel = kernel.resolve(np.vstack([X, Y]))

    def k(x: Array, y: Array) -> float:
        return float(kernel.gram(x[None], y[None])[0, 0])

    def mean(A: Array) -> float:
        pairs = itertools.product(range(len(A)), repeat=2)
        return float(np.mean([k(A[i], A[j]) for i, j in pairs if estimator == "biased" or i != j]))

    return mean(X) + mean(Y) - 2.0 * float(np.mean([k(x, y) for x in X for y in Y]))


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_equals_the_formula_term_by_term(kernel: Kernel, estimator: str) -> None:
    for n, m in [(5, 4), (3, 6), (4, 4)]:
        X, Y = samples(n, m, shift=0.7)
        assert mmd(X, Y, kernel, estimator) == pytest.approx(naive(X, Y, kernel, estimator), rel=1e-9, abs=1e-13)


def test_biased_with_the_linear_kernel_is_the_squared_distance_of_the_means() -> None:
    X, Y = samples(40, 25, shift=0.3)
    assert mmd(X, Y, "linear") == pytest.approx(np.sum((X.mean(0) - Y.mean(0)) ** 2), rel=1e-12)


@pytest.mark.slow
def test_mean_for_two_gaussians_is_the_mmd_known_in_closed_form() -> None:
    # x ~ N(0, 1), y ~ N(a, 1): E k(x, x') = c = b / √(b² + 2), E k(x, y) = c exp(−a² / (2b² + 4)).
    a, b = 1.0, 1.5
    truth = 2 * b / np.sqrt(b**2 + 2) * (1 - np.exp(-(a**2) / (2 * b**2 + 4)))
    draws = [mmd(*samples(300, 300, d=1, shift=a, seed=s), RBF(b), "unbiased") for s in range(60)]
    error = np.std(draws, ddof=1) / np.sqrt(len(draws))
    assert error < 0.03 * truth
    assert abs(np.mean(draws) - truth) < 3 * error


def test_mean_under_the_null_is_zero() -> None:
    draws = np.array([mmd(*samples(12, 9, seed=s), RBF(1.5), "unbiased") for s in range(300)])
    error = draws.std(ddof=1) / np.sqrt(len(draws))
    assert abs(draws.mean()) < 3 * error
    biased = np.mean([mmd(*samples(12, 9, seed=s), RBF(1.5)) for s in range(100)])
    assert biased > 10 * error  # the same draws tell a biased estimate apart


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_blocks_do_not_matter(kernel: Kernel, estimator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = samples(19, 12, shift=0.4)
    whole = mmd(X, Y, kernel, estimator)
    for rows in (1, 7, 30):
        monkeypatch.setattr(module, "BLOCK_BYTES", 8 * 31 * rows)
        assert mmd(X, Y, kernel, estimator) == pytest.approx(whole, rel=1e-10, abs=1e-13)


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
def test_blocks_of_permutations_do_not_matter(estimator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = samples(23, 14, shift=0.4)
    whole = mmd_test(X, Y, estimator=estimator, n_permutations=50, random_state=1)
    monkeypatch.setattr(module, "BLOCK_BYTES", 8 * 37 * 4)
    blocked = mmd_test(X, Y, estimator=estimator, n_permutations=50, random_state=1)
    assert blocked.p_value == whole.p_value
    np.testing.assert_allclose(blocked.null_statistics, whole.null_statistics, rtol=1e-10, atol=1e-14)


def test_memory_is_that_of_blocks_not_of_a_gram_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_BYTES", 2**20)
    X, Y = samples(1000, 1000, d=2)
    tests: list[Callable[[], object]] = [
        lambda: mmd(X, Y, RBF(1.0)),
        lambda: mmd(X, Y, RBF(1.0), "unbiased"),
        lambda: mmd_test(X, Y, RBF(1.0), n_permutations=99),
    ]
    for run in tests:
        tracemalloc.start()
        run()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8 * 2**20  # the Gram matrix of the 2000 rows is 31 MiB


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
@pytest.mark.parametrize(("n", "m"), [(1000, 2), (2, 1000)])
def test_very_unequal_sizes_lose_no_digits(n: int, m: int, estimator: str) -> None:
    X, Y = samples(n, m, shift=0.1)
    K, drop = RBF(1.0).gram, 0 if estimator == "biased" else 1
    xx, yy = ((K(A, A).sum() - drop * len(A)) / (len(A) * (len(A) - drop)) for A in (X, Y))
    assert mmd(X, Y, RBF(1.0), estimator) == pytest.approx(xx + yy - 2 * K(X, Y).mean(), rel=1e-12)


tables = st.integers(2, 9).flatmap(lambda n: arrays(np.float64, (n, 2), elements=st.floats(-5, 5, width=32)))


@given(X=tables, Y=tables, kernel=st.sampled_from(KERNELS), estimator=st.sampled_from(["biased", "unbiased"]))
@settings(max_examples=30, deadline=None)
def test_symmetric_in_the_samples_and_indifferent_to_row_order(
    X: Array, Y: Array, kernel: Kernel, estimator: str
) -> None:
    value = mmd(X, Y, kernel, estimator)
    near = pytest.approx(value, rel=1e-9, abs=1e-10 * (1 + np.abs(X).max() ** 2 + np.abs(Y).max() ** 2))
    assert mmd(Y, X, kernel, estimator) == near
    assert mmd(X[::-1], np.roll(Y, 1, axis=0), kernel, estimator) == near


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
    assert mmd_test(X, Y, n_permutations=1, random_state=0).kernel == pooled


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_sparse_single_and_frame_equal_dense(kernel: Kernel, estimator: str) -> None:
    X, Y = (np.where(np.abs(A) > 0.8, A, 0.0).astype(np.float32) for A in samples(40, 33, d=5, shift=0.2))
    value = pytest.approx(mmd(X.astype(np.float64), Y.astype(np.float64), kernel, estimator), rel=1e-6, abs=1e-9)
    assert mmd(X, Y, kernel, estimator) == value
    assert mmd(pd.DataFrame(X), pd.DataFrame(Y), kernel, estimator) == value
    for kind in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array):
        assert mmd(kind(X), kind(Y), kernel, estimator) == value
    assert mmd(sp.csr_array(X), Y, kernel, estimator) == value
    assert mmd(X, sp.csr_array(Y), kernel, estimator) == value


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
@pytest.mark.parametrize(("n", "m"), [(9, 9), (13, 5), (5, 13)])
def test_permuted_statistics_are_those_of_the_reindexed_samples(n: int, m: int, estimator: str) -> None:
    X, Y = samples(n, m, shift=0.5)
    outcome = mmd_test(X, Y, estimator=estimator, n_permutations=20, random_state=3)
    assert outcome.statistic == pytest.approx(mmd(X, Y, estimator=estimator), rel=1e-12)
    Z, dealt = np.vstack([X, Y]), np.tile(np.arange(n + m) < n, (20, 1))
    np.random.default_rng(3).permuted(dealt, axis=1, out=dealt)
    again = [mmd(Z[a], Z[~a], outcome.kernel, estimator) for a in dealt]
    np.testing.assert_allclose(outcome.null_statistics, again, rtol=1e-10, atol=1e-14)
    exceeding = np.sum(np.array(again) >= outcome.statistic - 1e-14)
    assert outcome.p_value == (1 + exceeding) / 21


def test_p_values_are_uniform_under_the_null() -> None:
    p = [mmd_test(*samples(14, 10, seed=s), n_permutations=99, random_state=s).p_value for s in range(400)]
    assert stats.kstest(p, "uniform").pvalue > 0.01
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.03)


def test_a_clear_shift_and_a_mere_change_of_scale_are_both_found() -> None:
    X, Y = samples(40, 40, shift=1.5)
    assert mmd_test(X, Y, random_state=0).p_value == 0.001
    X, Y = samples(80, 80)
    assert mmd_test(X, 4.0 * Y, random_state=0).p_value == 0.001  # equal means: only the linear kernel is blind
    assert mmd_test(X - X.mean(0), 4.0 * (Y - Y.mean(0)), "linear", random_state=0).p_value > 0.5


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
@pytest.mark.parametrize("kernel", [Linear(), RBF(), Laplacian(), Cosine()], ids=str)
def test_ties_count_whatever_the_rounding(kernel: Kernel, estimator: str) -> None:
    # 3 + 3 rows far apart: of the 20 ways to deal them, the observed one and its exchange are largest.
    X = np.array([[0.1, 0.3], [0.2, 0.7], [0.3, 0.9]])
    p = mmd_test(X, -X[:, ::-1], kernel, estimator=estimator, n_permutations=4000, random_state=0).p_value
    assert p == pytest.approx(2 / 20, abs=0.02)
    same = np.full((6, 3), 0.1)
    assert mmd_test(same, same[:5], kernel, estimator=estimator, random_state=0).p_value == 1.0


def test_the_seed_decides() -> None:
    X, Y = samples(15, 15, shift=0.3)

    def null(seed: int | np.random.Generator | np.random.RandomState | None) -> list[float]:
        return list(mmd_test(X, Y, n_permutations=30, random_state=seed).null_statistics)

    assert null(5) == null(5) == null(np.random.default_rng(5)) != null(6)
    for generator in (np.random.default_rng(5), np.random.RandomState(5)):
        assert null(generator) != null(generator)
    assert null(np.random.RandomState(5)) == null(np.random.RandomState(5))
    assert null(None) != null(None)


def test_the_outcome_is_a_value_told_in_one_line() -> None:
    X, Y = samples(15, 12, shift=2.0)
    outcome = mmd_test(X, Y, RBF(2.0), n_permutations=199, random_state=0)
    assert outcome == mmd_test(X, Y, RBF(2.0), n_permutations=199, random_state=0)
    assert outcome.n_permutations == len(outcome.null_statistics) == 199
    expected = f"MMD² = {outcome.statistic:.4g} (unbiased, RBF(bandwidth=2.0)), p = 0.005 from 199 permutations"
    assert str(outcome) == expected
    with pytest.raises(ValueError, match="read-only"):
        outcome.null_statistics[0] = 0.0


@pytest.mark.parametrize("kind", [np.array, sp.csr_array, pd.DataFrame])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_inputs_are_left_as_they_were(kernel: Kernel, kind: Callable[[Array], Any]) -> None:
    before = samples(12, 9)
    X, Y = (kind(A.copy()) for A in before)
    for estimator in ("biased", "unbiased"):
        mmd(X, Y, kernel, estimator)
    mmd_test(X, Y, kernel, n_permutations=5)
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
        (lambda: mmd(GOOD[:1], GOOD, estimator="unbiased"), "X: expected at least 2 row(s), got 1."),
        (lambda: mmd(GOOD, GOOD[:1], estimator="unbiased"), "Y: expected at least 2 row(s), got 1."),
        (lambda: mmd_test(GOOD, GOOD[:1]), "Y: expected at least 2 row(s), got 1."),
        (lambda: mmd(da.ones((4, 4)), GOOD), DASK),
        (lambda: mmd(GOOD, da.ones((4, 4)), estimator="unbiased"), DASK),
        (lambda: mmd_test(GOOD, da.ones((4, 4))), DASK),
        (
            lambda: mmd(GOOD, GOOD, estimator="exact"),
            "estimator: expected one of 'biased', 'unbiased', got 'exact'.",
        ),
        (
            lambda: mmd_test(GOOD, GOOD, estimator="linear"),
            "estimator: expected one of 'unbiased', 'biased', got 'linear'.",
        ),
        (
            lambda: mmd(GOOD, GOOD, Precomputed()),
            "kernel: expected a kernel that is computed from rows, got Precomputed.",
        ),
        (
            lambda: mmd_test(GOOD, GOOD, "precomputed"),
            "kernel: expected a kernel that is computed from rows, got Precomputed.",
        ),
        (
            lambda: mmd_test(GOOD, GOOD, n_permutations=0),
            "n_permutations: expected a whole number of at least 1, got 0.",
        ),
        (
            lambda: mmd_test(GOOD, GOOD, random_state=-1),
            "random_state: expected None, a whole number of at least 0, a Generator or a RandomState, got -1.",
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
