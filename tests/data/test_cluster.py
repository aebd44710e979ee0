"""A real cluster: several processes, one of which is killed in the middle of a fit."""

import os
import signal
import time
import warnings

import dask
import dask.array as da
import numpy as np
import pytest

from benchmarks.cluster import QUIET
from isthmus import CCA, MLHD, Index, RidgeMap
from isthmus.data.blocks import DaskRows
from tests.conftest import make_domains

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings(), dask.config.set({**QUIET, "distributed.worker.multiprocessing-method": "spawn"}):
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


def test_an_index_takes_rows_from_the_workers(client, data):
    model = fitted(data)
    rows = da.from_array(data.X_source, chunks=(700, 8)).persist()
    ids, labels = (da.from_array(each, chunks=900) for each in (np.arange(6000) + 7, data.y_source))
    plain = Index(model, dtype="float32").add(data.X_source, "source", ids=np.arange(6000) + 7, labels=data.y_source)
    for kind in (model, model.common_space_):
        index = Index(kind, dtype="float32").add(rows, "source", ids=ids, labels=labels)
        assert index.ids.tolist() == list(range(7, 6007))
        np.testing.assert_allclose(index.rows.points, plain.rows.points, rtol=1e-5, atol=1e-6)
        found = index.search(da.from_array(data.X_target, chunks=(11, -1)), 5)
        expected = plain.search(data.X_target, 5)
        np.testing.assert_allclose(found.distances, expected.distances, rtol=1e-4)
        assert (found.labels[:, 0] == expected.labels[:, 0]).all()


def test_rows_stay_where_they_lie_even_if_others_have_nothing_to_do(client):
    holder, idle = sorted(client.scheduler_info()["workers"])[:2]
    with dask.annotate(workers=[holder]):
        X = da.random.default_rng(100).normal(size=(40_000, 32), chunks=(5000, -1)).persist(optimize_graph=False)
    rows = DaskRows.of(X, np.arange(40_000) % 3)
    rows.total(_slow_sum)  # codes may travel, once
    before = client.run(_sent)[holder]
    for _ in range(3):
        rows.total(_slow_sum)
        rows.sample(30, np.random.default_rng(100))
    assert client.run(_sent)[holder] - before < 5000 * 32 * 8  # less than one partition of eight
    assert idle not in {worker for holders in rows._holders for worker in holders}


def _slow_sum(X, codes):
    time.sleep(0.03)
    return (X.sum(axis=0),)


def _sent(dask_worker):
    return dask_worker.transfer_outgoing_bytes_total


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
