"""Sums over blocks: the same in every run, whatever holds the rows, and no more threads than there should be."""

import pickle
import threading
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from isthmus._core.rows import ArrayRows
from isthmus._core.threads import add_parts, cap_inner_threads, n_threads, single_threaded_blas, sum_over_items
from isthmus.exceptions import InputError
from isthmus.solvers.blocks.problem import BlockProblem, evaluate_metric, reduce_problem, sum_block
from isthmus.solvers.blocks.solver import BlockNewton
from isthmus.solvers.logdet import MeanAlignment


def blas_threads():
    """Of NumPy and SciPy: other tests load libraries with a BLAS of their own."""
    found = threadpool_info()
    ours = [pool for pool in found if any(name in pool["filepath"] for name in ("numpy", "scipy"))]
    return {pool["num_threads"] for pool in ours or found if pool["user_api"] == "blas"}


def problem(rows, C=3, n_labelled=6, seed=100):
    random = np.random.default_rng(seed)
    y = np.arange(n_labelled) % C
    sign = np.where(np.arange(C)[:, None] == y, 1.0, -1.0)
    target = random.normal(size=(n_labelled, rows.d + 1))
    alignment = MeanAlignment(np.full(2 * rows.d + 1, 0.1), 1.0)
    return BlockProblem(rows, target, sign, 10.0 / rows.n, np.where(sign > 0, 5.0, 15.0), alignment)


def array_rows(n=5000, d=4, seed=100, dtype=np.float64):
    random = np.random.default_rng(seed)
    codes = np.arange(n) % 3
    return ArrayRows((random.normal(size=(n, d)) + codes[:, None]).astype(dtype), codes)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.integers(1, 5))
def test_sums_do_not_depend_on_threads_but_for_rounding(values, threads):
    with threadpool_limits(threads, user_api="blas"):
        total = sum_over_items(lambda x: (np.float64(x), np.full(2, x)), values)
        again = sum_over_items(lambda x: (np.float64(x), np.full(2, x)), values)
    np.testing.assert_allclose(total[0], np.sum(values), atol=1e-6)
    assert all(np.array_equal(a, b) for a, b in zip(total, again, strict=True))


def test_shares_of_single_precision_are_added_in_double():
    (total,) = sum_over_items(lambda x: (np.array([x], dtype=np.float32),), [1.0, 2.0**-30])
    assert total.dtype == np.float64
    assert total[0] == 1.0 + 2.0**-30


def test_shares_are_not_changed():
    first = np.zeros(2)
    add_parts([(first,), (np.ones(2),)])
    assert not first.any()


def test_as_many_threads_as_blas_may_use_and_blas_gets_one():
    seen, at_once = set(), set()

    def share(item):
        seen.add(threading.get_ident())
        at_once.update(blas_threads())
        barrier.wait(600)
        return (np.float64(item),)

    with threadpool_limits(2, user_api="blas"):
        barrier = threading.Barrier(2)
        assert n_threads() == 2
        sum_over_items(share, [1, 2, 3, 4])
        assert blas_threads() == {2}
    assert len(seen) == 2
    assert at_once == {1}


def test_there_is_one_thread_where_others_are_at_work():
    found = []
    with threadpool_limits(2, user_api="blas"):
        worker = threading.Thread(target=lambda: found.append(n_threads()))
        worker.start()
        worker.join()
        with cap_inner_threads():
            found.append(n_threads())
        with single_threaded_blas():
            found.append(n_threads())
    assert found == [1, 1, 2]


def test_the_last_one_out_restores_blas_in_whatever_order_they_leave():
    with threadpool_limits(2, user_api="blas"):
        first, second = single_threaded_blas(), single_threaded_blas()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == {2}


def test_blas_is_restored_after_an_error():
    def share(item):
        raise ValueError("no")

    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(ValueError, match="no"):
            sum_over_items(share, [1, 2, 3])
        assert blas_threads() == {2}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_pass_is_the_sum_of_its_blocks(dtype):
    rows = array_rows()
    task, _ = reduce_problem(problem(rows))
    L = np.linalg.cholesky(np.eye(task.d) + 0.1)
    at = evaluate_metric(task, rows, L, dtype)
    share = partial(sum_block, at.frame.metric)
    with threadpool_limits(2, user_api="blas"):
        total = rows.total(share)
    parts = [share(X, codes) for X, codes in rows.blocks(701)]
    for found, expected in zip(total, add_parts(parts), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4 if dtype == np.float32 else 1e-11, atol=1e-9)


@pytest.mark.parametrize("kind", ["sparse", "memory map", "single"])
def test_every_kind_of_rows_has_the_same_optimum(kind, tmp_path):
    rows = array_rows(n=2500)
    if kind == "sparse":
        other = ArrayRows(sp.csr_array(rows.X), rows.codes)
    elif kind == "single":
        other = array_rows(n=2500, dtype=np.float32)
    else:
        np.save(tmp_path / "rows.npy", rows.X)
        other = ArrayRows(np.load(tmp_path / "rows.npy", mmap_mode="r"), rows.codes)
    M, other_M = (BlockNewton(tol=1e-9).solve(problem(each)).matrix() for each in (rows, other))
    np.testing.assert_allclose(other_M, M, atol=1e-4)
    assert BlockNewton(tol=1e-9).solve(problem(other)).primal == pytest.approx(
        BlockNewton(tol=1e-9).solve(problem(rows)).primal, rel=1e-6
    )


def test_what_travels_does_not_grow_with_the_rows():
    sizes = []
    for n in (300, 6000):
        rows = array_rows(n)
        task, _ = reduce_problem(problem(rows))
        share = partial(sum_block, evaluate_metric(task, rows, np.eye(task.d)).frame.metric)
        sizes.append((len(pickle.dumps(share)), len(pickle.dumps(rows.total(share)))))
    assert sizes[0] == sizes[1]


def test_a_share_does_the_same_after_its_journey():
    rows = array_rows(300)
    task, _ = reduce_problem(problem(rows))
    share = partial(sum_block, evaluate_metric(task, rows, np.eye(task.d)).frame.metric)
    for found, expected in zip(
        pickle.loads(pickle.dumps(share))(rows.X, rows.codes), share(rows.X, rows.codes), strict=True
    ):
        assert np.array_equal(found, expected)


def test_no_rows_have_sums_too():
    rows = ArrayRows(np.empty((0, 4)), np.empty(0, dtype=int))
    task, _ = reduce_problem(problem(array_rows(30)))
    loss, *sums = rows.total(partial(sum_block, evaluate_metric(task, array_rows(30), np.eye(task.d)).frame.metric))
    assert loss == 0.0
    assert not any(part.any() for part in sums)


@pytest.mark.parametrize(
    ("X", "codes"), [(np.zeros(3), np.zeros(3, int)), (np.zeros((3, 1), int), np.zeros(3, int)), (np.zeros((3, 1)), np.zeros(2, int)), (sp.coo_array(np.eye(3)), np.zeros(3, int))]
)  # fmt: skip
def test_other_things_are_no_rows(X, codes):
    with pytest.raises(InputError, match="expected"):
        ArrayRows(X, codes)
