"""No more threads than there should be, wherever a fit runs; and for so many threads the same to the last bit."""

import threading
import warnings

import dask
import dask.array as da
import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from isthmus import MLHD
from isthmus._core.rows import ArrayRows
from isthmus._core.threads import n_threads, single_threaded_blas
from isthmus.data.blocks import DaskRows
from tests.conftest import LIMIT, make_domains
from tests.solvers.blocks.test_block_sums import array_rows, blas_threads


def domains(n=9000):
    found = make_domains(seed=100, n_source=n, n_target=40, n_labelled=9)
    found.X_source -= found.X_source.mean(axis=0)
    found.X_target -= found.X_target.mean(axis=0)
    return found


def fitted(data, progress=False):
    """A fit over blocks, small enough for any test and large enough for several blocks."""
    rows = ArrayRows(data.X_source, data.y_source)
    return MLHD(tol=1e-8, rule="means", progress=progress).fit(rows, np.arange(3), data.X_target, data.y_target)


def crowd(X, codes):
    """One where BLAS would use more than one thread in this block."""
    return (np.asarray(float(blas_threads() != {1})),)


def threads_and_metric(data):
    """How many threads may work on blocks, whether BLAS would use more beside them, and what a fit finds."""
    seen = set()
    M = fitted(data, progress=lambda point: seen.update(blas_threads())).get_mahalanobis_matrix()
    return n_threads(), float(array_rows().total(crowd)[0]), seen, M


def test_a_fit_is_the_same_to_the_last_bit_for_so_many_threads():
    data, metrics = domains(), []
    for threads in (1, 3):
        with threadpool_limits(threads, user_api="blas"):
            one, again = (fitted(data).get_mahalanobis_matrix() for _ in range(2))
        assert np.array_equal(one, again), threads
        metrics.append(one)
    np.testing.assert_allclose(*metrics, rtol=1e-5, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("inner", [2])
def test_processes_of_joblib_use_the_threads_they_are_given(inner):
    data = domains()
    with joblib.parallel_config("loky", n_jobs=2, inner_max_num_threads=inner):
        found = joblib.Parallel()(joblib.delayed(threads_and_metric)(data) for _ in range(3))
    with threadpool_limits(inner, user_api="blas"):
        expected = threads_and_metric(data)
    for threads, crowded, seen, M in (*found, expected):
        assert (threads, crowded, seen) == (inner, 0.0, {1})
        assert np.array_equal(M, expected[3])


def test_threads_of_joblib_use_one_each():
    data = domains(3000)
    with threadpool_limits(2, user_api="blas"):
        with joblib.parallel_config("threading", n_jobs=2):
            found = joblib.Parallel()(joblib.delayed(threads_and_metric)(data) for _ in range(4))
        assert blas_threads() == {2}
    for threads, _, seen, M in found:
        assert (threads, seen) == (1, {1})
        assert np.array_equal(M, found[0][3])


def test_the_last_thread_out_restores_blas_and_nobody_keeps_control():
    with threadpool_limits(2, user_api="blas"):
        first_in, first_out, over, inside = (threading.Event() for _ in range(4))

        def first():
            with single_threaded_blas():
                first_in.set()
                inside.wait(LIMIT)
            first_out.set()
            over.wait(LIMIT)  # alive, as the threads of a pool are

        def last():
            first_in.wait(LIMIT)
            with single_threaded_blas():
                inside.set()
                first_out.wait(LIMIT)
                seen.update(blas_threads())

        seen, threads = set(), [threading.Thread(target=each) for each in (first, last)]
        for thread in threads:
            thread.start()
        threads[1].join()
        assert seen == {1}
        assert blas_threads() == {2}
        with threadpool_limits(3, user_api="blas"):  # the caller's word counts again
            assert blas_threads() == {3}
        over.set()
        threads[0].join()


def test_threads_of_dask_in_this_process_use_one_each():
    data, seen = domains(3000), set()
    mlhd = fitted(data)
    real = mlhd.common_space_
    lazy = da.from_array(data.X_target, chunks=(5, -1))
    with threadpool_limits(2, user_api="blas"), dask.config.set(scheduler="threads", num_workers=2):
        rows = DaskRows.of(da.from_array(data.X_source, chunks=(500, -1)), data.y_source)
        assert rows.total(crowd)[0] == 0.0
        mlhd.common_space_ = Watched(real, seen)
        points = mlhd.transform(lazy).compute()
        assert blas_threads() == {2}
    assert seen == {1}
    mlhd.common_space_ = real
    np.testing.assert_allclose(points, mlhd.transform(data.X_target), rtol=1e-12)


class Watched:
    """A common space that notes how many threads BLAS has while it works."""

    def __init__(self, space, seen):
        self.space, self.seen, self.dimension = space, seen, space.dimension

    def embed(self, X, domain):
        self.seen.update(blas_threads())
        return self.space.embed(X, domain)


@pytest.mark.slow
@pytest.mark.parametrize("processes", [True, False])
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_workers_of_dask_with_two_threads_each_use_two(processes):
    distributed = pytest.importorskip("distributed")
    data = domains()
    with warnings.catch_warnings(), threadpool_limits(2, user_api="blas"):
        warnings.simplefilter("ignore")  # of the cluster's own
        with (
            distributed.LocalCluster(
                n_workers=1, threads_per_worker=2, processes=processes, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster),
        ):
            rows = DaskRows.of(da.from_array(data.X_source, chunks=(800, -1)), data.y_source)
            assert rows.total(crowd)[0] == 0.0
            metrics = [
                MLHD(tol=1e-8, rule="means").fit(rows, None, data.X_target, data.y_target).get_mahalanobis_matrix()
                for _ in range(2)
            ]
            assert blas_threads() == {2}
    with dask.config.set(scheduler="synchronous"):
        rows = DaskRows.of(da.from_array(data.X_source, chunks=(800, -1)), data.y_source)
        with threadpool_limits(2, user_api="blas"):
            mlhd = MLHD(tol=1e-8, rule="means").fit(rows, None, data.X_target, data.y_target)
    for M in metrics:
        assert np.array_equal(M, mlhd.get_mahalanobis_matrix())
