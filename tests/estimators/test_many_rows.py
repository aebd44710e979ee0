"""ARC, CCA by labels, CDSPP and MTDA over source rows in blocks: what they are over arrays."""

import dask
import dask.array as da
import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from isthmus import ARC, CCA, CDSPP, ITML, KCCA, MTDA, InputError, Landmarks
from isthmus._core.rows import ArrayRows
from isthmus.estimators import arc as arc_module
from isthmus.io.parquet import ParquetRows
from isthmus.solvers import hinge as hinges
from isthmus.solvers.hinge import BlockHingeNewton, HingeBlocks, HingeNewton, HingeProblem
from tests.conftest import make_domains


@pytest.fixture(scope="module", autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def data():
    found = make_domains(seed=100, n_source=300, n_target=40, n_labelled=9)
    found.X_source -= found.X_source.mean(axis=0)
    found.X_target -= found.X_target.mean(axis=0)
    found.names = np.array(["cat", "dog", "eel"])
    found.labels = np.where(found.y_target >= 0, found.names[found.y_target], None)
    return found


def as_kind(kind, data, folder):
    X, y = data.X_source, data.y_source
    if kind == "dask":
        return da.from_array(X, chunks=(70, 3)), da.from_array(data.names[y], chunks=100)
    if kind == "dask, sparse":
        return da.from_array(X, chunks=(70, -1)).map_blocks(sp.csr_array), data.names[y]
    if kind == "parquet":
        frame = pl.DataFrame({f"x{k}": X[:, k] for k in range(X.shape[1])} | {"name": data.names[y]})
        frame.write_parquet(folder / "rows.parquet", row_group_size=64)
        return ParquetRows(folder / "rows.parquet", label="name", dtype="float64"), None
    return ArrayRows(sp.csr_array(X) if kind == "sparse" else X, y), data.names


KINDS = ["array", "sparse", "dask", "dask, sparse", "parquet"]
TIGHT = {"tol": 1e-16}


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        *(({}, kind) for kind in KINDS),
        *(({"pair_weight": 1.0, "bounds": (-1.0, 2.0)}, kind) for kind in ("sparse", "dask")),
        *(({"target_kernel": "rbf"}, kind) for kind in ("array", "parquet")),
    ],
)
def test_arc_is_that_over_arrays(kind, settings, data, tmp_path):
    exact = ARC(**TIGHT, **settings).fit(data.X_source, data.names[data.y_source], data.X_target, data.labels)
    rows, y = as_kind(kind, data, tmp_path)
    found = ARC(**TIGHT, **settings).fit(rows, y, data.X_target, data.labels)
    assert found.result_.solver == "BlockHingeNewton"
    assert found.objective_ == pytest.approx(exact.objective_, rel=1e-12)
    assert found.pair_weight_ == pytest.approx(exact.pair_weight_, rel=1e-12)
    products = (each.pairwise_similarities(data.X_source, data.X_target) for each in (found, exact))
    np.testing.assert_allclose(*products, atol=1e-6)
    assert (found.predict(data.X_target) == exact.predict(data.X_target)).all()


def test_many_pairs_in_arrays_go_the_same_way(data, monkeypatch):
    exact = ARC("rbf", "rbf").fit(*data.args)
    monkeypatch.setattr(arc_module, "MANY_PAIRS", 10)
    found = ARC("rbf", "rbf").fit(*data.args)
    assert (exact.result_.solver, found.result_.solver) == ("HingeNewton", "BlockHingeNewton")
    assert found.objective_ == pytest.approx(exact.objective_, rel=1e-9)


def hinge_blocks(seed=100, n=1500, weight=1.0):
    rng = np.random.default_rng(seed)
    X, Y, codes = rng.normal(size=(n, 6)), rng.normal(size=(9, 4)), rng.integers(3, size=n)
    X += codes[:, None]
    sign = np.where(np.arange(3)[:, None] == np.arange(9) % 3, 1.0, -1.0)
    return HingeBlocks(ArrayRows(X, codes), np.eye(6), Y, sign, np.maximum(sign, 0.0), weight)


@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("pairs", [3_000_000, 2000])
def test_curvature_of_a_sample_leads_to_the_optimum_of_all_rows(weight, pairs, monkeypatch):
    """Of 1,500 rows the smaller sample has 222; the certificate is that of all."""
    monkeypatch.setattr(hinges, "SAMPLE_PAIRS", pairs)
    problem = hinge_blocks(weight=weight)
    written = problem.write_out()
    assert isinstance(written, HingeProblem)
    exact, found = HingeNewton(tol=1e-14).solve(written), BlockHingeNewton(tol=1e-14).solve(problem)
    assert found.relative_gap <= 1e-14
    np.testing.assert_allclose(found.components(), exact.components(), atol=1e-6 * np.abs(exact.components()).max())
    assert found.primal == pytest.approx(exact.primal, rel=1e-12)
    W = np.random.default_rng(0).normal(size=(6, 4))
    np.testing.assert_allclose(problem.at(W).gradient, written.at(W).gradient, rtol=1e-10)
    assert problem.value(W) == pytest.approx(written.value(W))


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        *(({}, kind) for kind in KINDS),
        *(({"regularization": 0.0}, kind) for kind in ("array", "dask, sparse")),
        *(({"variates": "weighted"}, kind) for kind in ("sparse", "dask")),
        *(({"rule": "nearest"}, kind) for kind in ("array", "parquet")),
    ],
)
def test_cca_by_labels_is_that_over_arrays(kind, settings, data, tmp_path):
    exact = CCA(**settings).fit(data.X_source + 3.0, data.names[data.y_source], data.X_target, data.labels)
    data = make_shifted(data)
    rows, y = as_kind(kind, data, tmp_path)
    found = CCA(**settings).fit(rows, y, data.X_target, data.labels)
    np.testing.assert_allclose(found.correlations_, exact.correlations_, atol=1e-9)
    assert found.residual_ < 1e-12
    distances = (each.pairwise_distances(data.X_source, data.X_target) for each in (found, exact))
    np.testing.assert_allclose(*distances, atol=1e-7)
    assert (found.predict(data.X_target) == exact.predict(data.X_target)).all()
    assert found.regularization_ == exact.regularization_


def make_shifted(data):
    from copy import copy

    shifted = copy(data)
    shifted.X_source = data.X_source + 3.0
    return shifted


PROJECTIONS = {
    "cdspp": CDSPP(),
    "cdspp, plain": CDSPP("linear", "linear", points="plain"),
    "mtda": MTDA(),
    "mtda, cosine": MTDA("cosine", "rbf"),
    "mtda, landmarks": MTDA(Landmarks("rbf", 40), "linear"),
    "kcca": KCCA(Landmarks("rbf", 40), "rbf"),
    "arc, landmarks": ARC(Landmarks("rbf", 40), "linear", tol=1e-16),
}


@pytest.mark.parametrize("kind", ["array", "dask"])
@pytest.mark.parametrize("name", PROJECTIONS)
def test_projections_by_labels_are_those_over_arrays(name, kind, data, tmp_path):
    system, data = PROJECTIONS[name], make_shifted(data) if "cosine" not in name else data
    exact = clone(system).fit(data.X_source, data.names[data.y_source], data.X_target, data.labels)
    rows, y = as_kind(kind, data, tmp_path)
    found = clone(system).fit(rows, y, data.X_target, data.labels)
    measure = "pairwise_similarities" if "arc" in name else "pairwise_distances"
    values = (getattr(each, measure)(data.X_source, data.X_target) for each in (found, exact))
    np.testing.assert_allclose(*values, atol=1e-6)
    assert (found.predict(data.X_target) == exact.predict(data.X_target)).all()
    np.testing.assert_allclose(found.references_.points**2, exact.references_.points**2, atol=1e-6)


@pytest.mark.parametrize(
    ("system", "pairs", "message"),
    [
        (
            ARC("rbf"),
            None,
            "source_kernel: expected linear, cosine or Landmarks with source rows in blocks",
        ),
        (KCCA(), None, "source_kernel: expected linear, cosine or Landmarks with source rows in blocks"),
        (CDSPP(n_rounds=3), None, "n_rounds: expected 1 with source rows in blocks"),
        (ARC(source_transformer=StandardScaler()), None, "source_transformer: expected None with rows"),
        (CCA(metric=ITML()), None, "metric: expected .euclidean. with source rows in blocks"),
        (ARC(), [[0, 0]], "pairs: expected None"),
        (ARC(n_neighbors=301), None, "n_neighbors: expected at most the 300 reference rows"),
    ],
)
def test_what_blocks_can_not_do_is_told_in_one_sentence(system, pairs, message, data):
    with pytest.raises(InputError, match=message):
        system.fit(ArrayRows(data.X_source, data.y_source), data.names, data.X_target, data.labels, pairs=pairs)
    assert not hasattr(system, "common_space_")
