"""A real cluster: several processes, one of which is killed in the middle of a fit."""

import os
import signal
import warnings

import dask
import dask.array as da
import numpy as np
import pytest

from isthmus import CCA, MLHD, RidgeMap
from tests.conftest import make_domains

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings(), dask.config.set({"distributed.worker.multiprocessing-method": "spawn"}):
        warnings.simplefilter("ignore")  # of the cluster's own
        with (
            distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client


@pytest.fixture(scope="module")
def data():
    found = make_domains(seed=100, n_source=6000, n_target=40, n_labelled=9, d_source=8)
    found.X_source -= found.X_source.mean(axis=0)
    found.X_target -= found.X_target.mean(axis=0)
    return found


def fitted(data, progress=False):
    mlhd = MLHD(tol=1e-8, rule="means", progress=progress)
    return mlhd.fit(da.from_array(data.X_source, chunks=(500, 8)), data.y_source, data.X_target, data.y_target)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_two_processes_find_what_one_finds_and_a_death_changes_nothing(client, data):
    with dask.config.set(scheduler="synchronous"):
        one = fitted(data)
    two = fitted(data)
    killed = []

    def kill_one(point):
        if point.iteration == 2 and not killed:
            killed.append(min(client.run(os.getpid).values()))
            os.kill(killed[0], signal.SIGKILL)

    survived = fitted(data, progress=kill_one)
    assert killed
    assert killed[0] not in client.run(os.getpid).values()
    for other in (two, survived):
        assert other.result_.relative_gap <= 1e-7
        assert np.array_equal(other.get_mahalanobis_matrix(), one.get_mahalanobis_matrix())
    new = da.from_array(data.X_target, chunks=(11, -1))
    assert (survived.predict(new).compute() == one.predict(data.X_target)).all()
    # Nobody uses more threads than the worker was given.
    assert set(client.run(_threads_of_blas).values()) == {1}


def _threads_of_blas():
    from threadpoolctl import threadpool_info

    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("system", [RidgeMap(), CCA()], ids=["ridge", "cca"])
def test_pairs_of_rows_meet_on_the_workers(client, data, system):
    rows, order = data.X_source, np.random.default_rng(100).normal(size=(8, 5))
    both = da.from_array(rows, chunks=(500, 8)), da.from_array(rows @ order, chunks=(700, 5))
    with dask.config.set(scheduler="synchronous"):
        one = system.fit(both[0], None, both[1], None, pairs="rows").common_space_.components
    two = system.fit(both[0], None, both[1], None, pairs="rows").common_space_.components
    assert np.array_equal(one, two)
