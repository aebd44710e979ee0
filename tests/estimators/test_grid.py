"""Every cell of the paper's grid of weights, at the paper's Reuters size, with the defaults."""

from itertools import product

import numpy as np
import pytest
from sklearn.decomposition import PCA

from conftest import real_data
from isthmus import MLHD
from isthmus.solvers.result import Status
from studies.datasets import load_reuters600

PRIOR_WEIGHTS = [1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2]
POSTERIOR_WEIGHTS = [1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3]


def split(X_source, X_target, y, seed=0):
    """20 labelled per class in the source; 1 labelled and 20 unlabelled per class, of other documents, in the target."""
    rng = np.random.default_rng(seed)
    order = [rng.permutation(np.flatnonzero(y == c)) for c in np.unique(y)]
    source, labelled, unlabelled = (np.concatenate([o[part] for o in order]) for part in
                                    (slice(0, 20), slice(20, 21), slice(21, 41)))  # fmt: skip
    target = np.concatenate([labelled, unlabelled])
    y_target = np.where(np.arange(len(target)) < len(labelled), y[target], -1)
    return X_source[source], y[source], X_target[target], y_target


def synthetic():
    """Six overlapping classes, 100 and 150 columns of decaying variance, as principal components have."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(6), 60)

    def view(d):
        spectrum = 1.0 / np.sqrt(1.0 + np.arange(d))
        return (rng.normal(size=(6, d))[y] + 1.5 * rng.normal(size=(len(y), d))) * spectrum

    return split(view(100), view(150), y)


def reuters():
    documents = load_reuters600(real_data("reuters_multilingual/reuters.mat"))
    views, y = [documents[v].X for v in ("EN", "FR")], documents["EN"].y
    X = [PCA(n, random_state=0).fit_transform(view.toarray()) for view, n in zip(views, (100, 150), strict=True)]
    return split(*X, y)


@pytest.fixture(scope="module", params=[synthetic, pytest.param(reuters, marks=pytest.mark.data)])
def data(request):
    return request.param, request.param()


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("alignment", ["penalty", "constraint"])
def test_every_cell_reaches_the_gap_within_the_default_limit(data, kernel, alignment):
    (rows, args), iterations = data, {}
    cells = [*product(PRIOR_WEIGHTS, POSTERIOR_WEIGHTS)]
    if rows is synthetic:  # each cell with two of the four: as on a chessboard
        odd = (kernel == "linear") == (alignment == "penalty")
        cells = [(PRIOR_WEIGHTS[i], POSTERIOR_WEIGHTS[j]) for i, j in np.ndindex(6, 6) if (i + j) % 2 == odd]
    for prior, posterior in cells:
        mlhd = MLHD(kernel, kernel, alignment_weight=prior, pair_weight=posterior, alignment=alignment).fit(*args)
        assert mlhd.result_.status is Status.OPTIMAL, (prior, posterior, str(mlhd.result_))
        assert mlhd.result_.relative_gap <= 1e-6
        iterations[prior, posterior] = mlhd.n_iter_
    assert max(iterations.values()) <= 200
