"""Small work takes one thread of BLAS, at every public entry point; large work takes what it is given."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import isthmus
from isthmus import estimators, retrieval
from isthmus import view as plotting
from isthmus._core.threads import UNCAPPED, cap_threads
from isthmus.estimators import controls
from isthmus.estimators.base import TwoDomainEstimator
from isthmus.solvers.newton import AutoNewton, DualNewton
from tests.problems import random_problem

RNG = np.random.default_rng(0)
X_S, Y_S = RNG.normal(size=(40, 5)), np.arange(40) % 2
X_T, Y_T = RNG.normal(size=(40, 4)) + Y_S[:, None], np.where(np.arange(40) < 12, np.arange(40) % 2, -1)
TABLES = {"X", "A", "B", "queries", "gallery", "X_source", "X_new", "old", "source", "rows"}


def threads() -> set[tuple[str, int]]:
    return {(each["user_api"], each["num_threads"]) for each in threadpool_info()}


class Probe:
    """Rows that note how many threads there are when they are read."""

    def __init__(self, rows: Any) -> None:
        self.rows, self.seen = rows, list[set[tuple[str, int]]]()
        self.shape, self.dtype, self.ndim = rows.shape, rows.dtype, rows.ndim

    def __len__(self) -> int:
        return len(self.rows)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self.seen.append(threads())
        return np.asarray(self.rows, dtype=dtype)


@pytest.fixture(scope="module")
def systems() -> dict[str, Any]:
    return {
        "mlhd": isthmus.MLHD().fit(X_S, Y_S, X_T, Y_T),
        "ridge": isthmus.RidgeMap().fit(X_S, Y_S, X_T, Y_T, pairs="rows"),
        "arc": isthmus.ARC().fit(X_S, Y_S, X_T, Y_T),
        "hfa": isthmus.HFA().fit(X_S, Y_S, X_T, Y_T),
        "itml": isthmus.ITML().fit(X_S, Y_S),
        "target": controls.TargetOnly().fit(X_S, Y_S, X_T, Y_T),
        "transfer": isthmus.LabelTransfer(calibrate=False).fit(X_S, Y_S, X_T, Y_T),
        "adapter": isthmus.migrate(X_S, X_T),
    }


CALLS = {
    "match": lambda m, s, t: isthmus.match(s, t),
    "align": lambda m, s, t: isthmus.align(s, t),
    "migrate": lambda m, s, t: isthmus.migrate(s, t),
    "does_source_help": lambda m, s, t: isthmus.does_source_help(s, Y_S, t, Y_T, n_splits=3),
    "plot_common_space": lambda m, s, t: plotting.plot_common_space(m["mlhd"], s, Y_S, t, Y_T),
    "principal_plane": lambda m, s, t: plotting.principal_plane(s, s),
    "transform": lambda m, s, t: m["mlhd"].transform(t),
    "predict": lambda m, s, t: m["mlhd"].predict(t),
    "predict_proba": lambda m, s, t: m["mlhd"].predict_proba(t),
    "score": lambda m, s, t: m["mlhd"].score(t, Y_S),
    "kneighbors": lambda m, s, t: m["mlhd"].kneighbors(t),
    "search": lambda m, s, t: m["mlhd"].search(t, s, 3),
    "pairwise_distances": lambda m, s, t: m["mlhd"].pairwise_distances(s, t),
    "pair_distance": lambda m, s, t: m["mlhd"].pair_distance(s, t),
    "ridge predict": lambda m, s, t: m["ridge"].predict(t),
    "pairwise_similarities": lambda m, s, t: m["arc"].pairwise_similarities(s, t),
    "decision_function": lambda m, s, t: m["hfa"].decision_function(t),
    "itml fit": lambda m, s, t: isthmus.ITML().fit(s, Y_S),
    "itml transform": lambda m, s, t: m["itml"].transform(s),
    "target only": lambda m, s, t: m["target"].predict(t),
    "label transfer": lambda m, s, t: m["transfer"].predict_proba(t),
    "to_old": lambda m, s, t: m["adapter"].to_old(t),
    "to_new": lambda m, s, t: m["adapter"].to_new(s),
    "similarity": lambda m, s, t: m["adapter"].similarity(t, s),
    "embed": lambda m, s, t: m["mlhd"].common_space_.embed(t, "target"),
    "squared_distances": lambda m, s, t: m["mlhd"].common_space_.squared_distances(s, t, ("source", "target")),
    "similarities": lambda m, s, t: m["mlhd"].common_space_.similarities(s, t, ("source", "target")),
    "index add": lambda m, s, t: isthmus.Index(m["mlhd"]).add(s, "source"),
    "index search": lambda m, s, t: isthmus.Index(m["mlhd"]).add(X_S, "source").search(t, 3),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_small_work_is_done_by_one_thread(name: str, systems: dict[str, Any]) -> None:
    source, target = Probe(X_S), Probe(X_T)
    with threadpool_limits(2):
        before = threads()
        CALLS[name](systems, source, target)
        assert threads() == before
    assert ("blas", 2) in before
    seen = source.seen + target.seen
    assert seen
    assert all(count == 1 for each in seen for _, count in each)


@pytest.mark.parametrize("solver", [AutoNewton(), DualNewton()])
def test_a_small_problem_is_solved_by_one_thread(solver: Any) -> None:
    seen: list[Any] = []
    with threadpool_limits(2):
        solver.solve(random_problem(0), callback=lambda point: seen.append(threads()))
    assert seen
    assert all(count == 1 for each in seen for _, count in each)


def public_methods() -> list[Any]:
    modules = isthmus, estimators, retrieval
    classes = {getattr(module, name) for module in modules for name in module.__all__}
    classes = {each for each in classes if inspect.isclass(each) and issubclass(each, CAPPED)}
    found = []
    for each in sorted(classes, key=lambda c: c.__name__):
        for name in dir(each):
            method = inspect.getattr_static(each, name)
            method = getattr(method, "fn", method)
            if (
                not name.startswith("_")
                and inspect.isfunction(method)
                and name not in UNCAPPED | {"stream", "fit_transform"}
            ):
                found.append((f"{each.__name__}.{name}", method))
    return found


CAPPED = TwoDomainEstimator, isthmus.Adapter, isthmus.CommonSpace, isthmus.Index, isthmus.ITML


def test_every_public_method_that_takes_rows_is_capped() -> None:
    found = public_methods()
    assert len(found) > 300
    for name, method in found:
        if TABLES & set(inspect.signature(method).parameters):
            while not hasattr(method, "caps_threads"):
                assert hasattr(method, "__wrapped__"), name
                method = method.__wrapped__  # what set_output puts around transform


def test_the_size_of_everything_counts() -> None:
    class Holder:
        held_shape = (500_000, 64)

    count = cap_threads(lambda *args, **options: threads())
    small, large = np.zeros((30, 20)), np.zeros((20_000, 2000))
    with threadpool_limits(2):
        for arguments in ((small,), (small.tolist(),), (small, small)):
            assert {n for _, n in count(*arguments)} == {1}
        for arguments in ((large,), (small, large), (Holder(), small), ()):
            assert ("blas", 2) in count(*arguments)
        assert ("blas", 2) in count(small, other=large)
        with pytest.raises(ZeroDivisionError):
            cap_threads(lambda X: 1 / 0)(small)
        assert ("blas", 2) in threads()


def test_libraries_that_are_loaded_later_are_capped_too():
    code = (
        "from isthmus._core.threads import cap_threads\n"
        "from threadpoolctl import threadpool_info\n"
        "import numpy as np\n"
        "count = cap_threads(lambda X: {(e['filepath'], e['num_threads']) for e in threadpool_info()})\n"
        "before = count(np.zeros((3, 2)))\n"
        "import faiss\n"
        "after = count(np.zeros((3, 2)))\n"
        "assert len(after) > len(before), 'faiss brings a library of its own'\n"
        "assert {n for _, n in after} == {1}, after\n"
    )
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
