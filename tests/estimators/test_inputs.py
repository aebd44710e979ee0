"""Bad input: one sentence that names the parameter, what was expected and what was got."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from conftest import make_domains, one_sentence
from isthmus import MLHD, InputError, Kernel
from isthmus._core.rows import ArrayRows
from isthmus.solvers.newton import DualNewton

D = make_domains()
Xs, ys, Xt, yt = D.args


def changed(X, value, at=(2, 1)):
    X = np.array(X, dtype=object if isinstance(value, str) else float)
    X[at] = value
    return X


BAD_DATA = {
    "1-d source": ((Xs[0], ys, Xt, yt), "X_source: expected a two-dimensional array, got 1 dimension"),
    "3-d target": ((Xs, ys, Xt[None], yt), "X_target: expected a two-dimensional array, got 3 dimension"),
    "ragged": (([[1.0], [1.0, 2.0]], [0, 1], Xt, yt), "X_source: expected a rectangular table"),
    "no rows": ((Xs[:0], ys[:0], Xt, yt), r"X_source: expected at least 1 row\(s\), got 0"),
    "no columns": ((Xs[:, :0], ys, Xt, yt), "X_source: expected at least one column, got 0"),
    "NaN": ((changed(Xs, np.nan), ys, Xt, yt), "X_source: expected finite numbers without NaN or inf, got NaN"),
    "inf": ((Xs, ys, changed(Xt, np.inf), yt), "X_target: expected finite numbers without NaN or inf, got inf"),
    "sparse NaN": ((sp.csr_matrix(changed(Xs, np.nan)), ys, Xt, yt), "X_source: expected finite numbers"),
    "opposite infinities": ((changed(changed(Xs, np.inf), -np.inf, (3, 1)), ys, Xt, yt), "got inf"),
    "strings": ((changed(Xs, "red"), ys, Xt, yt), "X_source: expected numbers, got str 'red'"),
    "numbers as strings": (([["1.5", "2"]] * 30, ys, Xt, yt), "X_source: expected numbers, got"),
    "objects as strings": ((Xs.astype(str).astype(object), ys, Xt, yt), "X_source: expected numbers, got str"),
    "masked": ((np.ma.masked_less(Xs, 0), ys, Xt, yt), "X_source: expected numbers in every place, got a masked array"),
    "nothing": ((None, ys, Xt, yt), "X_source: expected a table of numbers, got None"),
    "ragged labels": ((Xs, [[0]] * 29 + [[0, 1]], Xt, yt), "y_source: expected one label per row"),
    "complex": ((Xs * 1j, ys, Xt, yt), "X_source: expected real numbers, got complex"),
    "short y_source": ((Xs, ys[:-1], Xt, yt), r"y_source: expected shape \(30,\) to match X_source, got \(29,\)"),
    "long y_target": ((Xs, ys, Xt, np.append(yt, 0)), r"y_target: expected shape \(20,\) to match X_target, got \(21,\)"),
    "2-d labels": ((Xs, ys[:, None], Xt, yt), r"y_source: expected a one-dimensional array, got shape \(30, 1\)"),
    "no labels at all": ((Xs, None, Xt, yt), "y_source: expected one label per row, got None"),
    "unlabelled source": ((Xs, np.where(ys == 0, -1, ys), Xt, yt), r"y_source: expected a label for every row .*, got 10 without"),
    "unknown class": ((Xs, ys, Xt, np.where(yt == 0, 7, yt)), r"y_target: expected only classes of the source \(0, 1, 2\), got 7"),
    "no labelled target": ((Xs, ys, Xt, -np.ones(20)), "y_target: expected at least one labelled row, got none among 20"),
    "mixed labels": ((Xs, ["a", *ys[1:]], Xt, yt), "y_source: expected labels of one sortable type"),
}  # fmt: skip

BAD_PARAMETERS = {
    "u >= l": ({"bounds": (2.0, 1.0)}, "bounds: expected u < l, got u = 2 and l = 1"),
    "u = l": ({"bounds": (1.0, 1.0)}, "bounds: expected u < l"),
    "negative bound": ({"bounds": (-1.0, 1.0)}, "bounds: expected a number above 0, got -1.0"),
    "one bound": ({"bounds": 3.0}, r'bounds: expected "auto" or two squared distances \(u, l\), got 3.0'),
    "word for bounds": ({"bounds": "best"}, 'bounds: expected "auto" or two'),
    "negative prior": ({"alignment_weight": -1.0}, "alignment_weight: expected a number of at least 0, got -1.0"),
    "negative posterior": ({"pair_weight": -0.5}, "pair_weight: expected a number of at least 0, got -0.5"),
    "string weight": ({"pair_weight": "1"}, "pair_weight: expected \"auto\" or a number of at least 0, got '1'"),
    "NaN weight": ({"alignment_weight": float("nan")}, "alignment_weight: expected a number of at least 0, got nan"),
    "alignment": ({"alignment": "hard"}, "alignment: expected one of 'penalty', 'constraint', 'none', got 'hard'"),
    "slack": ({"alignment": "constraint", "alignment_slack": 0.0}, "alignment_slack: expected a number above 0, got 0.0"),
    "kernel": ({"target_kernel": "gauss"}, "target_kernel: expected one of 'linear'.*got 'gauss'"),
    "solver": ({"solver": "sgd"}, "solver: expected one of 'newton', 'dual', 'blocks', 'bregman', got 'sgd'"),
    "solver object": ({"solver": 3}, r'solver: expected one of newton, dual, blocks, bregman or an object with solve\(\), got 3'),
    "solver class": ({"solver": DualNewton}, r"an object with solve\(\)"),
    "tol": ({"tol": 0.0}, "tol: expected a number above 0, got 0.0"),
    "max_iter": ({"max_iter": 0}, "max_iter: expected a whole number of at least 1, got 0"),
    "n_neighbors": ({"n_neighbors": 0}, "n_neighbors: expected a whole number of at least 1, got 0"),
    "too many neighbours": ({"n_neighbors": 99}, "n_neighbors: expected at most the 30 reference rows, got 99"),
    "references": ({"references": "all"}, "references: expected one of 'source', 'target', 'both', got 'all'"),
    "n_components": ({"n_components": 2.5}, "n_components: expected a whole number of at least 1, got 2.5"),
    "too many components": ({"n_components": 13}, "n_components: expected at most 12 with these rows, got 13"),
    "outside": ({"outside": "one"}, "outside: expected one of 'identity', 'zero', got 'one'"),
    "within": ({"within_domain": "no"}, "within_domain: expected True or False, got 'no'"),
    "unused slack": ({"alignment_slack": "big"}, "alignment_slack: expected a number above 0, got 'big'"),
    "nested bounds": ({"bounds": (1.0, (2.0, 3.0))}, "bounds: expected a number above 0"),
    "a bare kernel": ({"source_kernel": Kernel()}, "source_kernel: expected one of"),
    "progress": ({"progress": "yes"}, "progress: expected True, False or a function, got 'yes'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_PARAMETERS)
def test_bad_parameters(case):
    parameters, message = BAD_PARAMETERS[case]
    with pytest.raises(InputError, match=message) as caught:
        MLHD(**parameters).fit(*D.args)
    assert one_sentence(caught)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda m: m.transform(Xt[:, :3]), "X: expected 7 columns, as in fit, got 3"),
        (lambda m: m.transform(Xt, domain="src"), "domain: expected one of 'source', 'target', got 'src'"),
        (lambda m: m.transform(Xt, domain="source"), "X: expected 5 columns, as in fit, got 7"),
        (lambda m: m.predict(Xt[0]), "X: expected a two-dimensional array"),
        (
            lambda m: m.kneighbors(Xt, 31),
            "n_neighbors: expected a whole number of at least 1 and at most 30, got 31",
        ),
        (lambda m: m.pairwise_distances(Xs, Xt, "source"), "domains: expected two names"),
        (lambda m: m.pairwise_distances(Xs, Xt, ("source", "test")), "domains: expected one of"),
        (lambda m: m.pairwise_distances(Xt, Xt), "A: expected 5 columns"),
        (lambda m: m.pair_distance(Xs, Xt), "B: expected 30 rows, as many as A, got 20"),
        (lambda m: m.pairwise_distances(Xs, Xt, None), "domains: expected two names"),
        (lambda m: m.pairwise_distances(Xs, Xt, {"source", "target"}), "domains: expected two names"),
        (lambda m: m.score(Xt, D.y_true[:3]), r"y: expected shape \(20,\) to match X, got \(3,\)"),
        (lambda m: m.score(Xt, -np.ones(20)), "y: expected at least one labelled row to score"),
        (
            lambda m: m.score(Xt, D.y_true.astype(str)),
            r"y: expected labels of the same type as the predictions \(numbers\), got strings",
        ),
    ],
)
def test_bad_use(use, message):
    with pytest.raises(InputError, match=message) as caught:
        use(MLHD().fit(*D.args))
    assert one_sentence(caught)


def test_a_matrix_over_features_needs_linear_kernels():
    with pytest.raises(InputError, match="kernel: expected a linear one"):
        MLHD("rbf", "linear").fit(*D.args).get_mahalanobis_matrix()


@pytest.mark.parametrize("method", ["transform", "predict", "kneighbors", "get_mahalanobis_matrix",
                                    "get_feature_names_out", "pairwise_distances", "score"])  # fmt: skip
def test_nothing_works_before_fit(method):
    arguments = {"pairwise_distances": (Xs, Xt), "score": (Xt, D.y_true)}
    single = (Xt,) if method in ("transform", "predict", "kneighbors") else ()
    with pytest.raises(NotFittedError):
        getattr(MLHD(), method)(*arguments.get(method, single))


def test_of_an_object_that_is_no_table_the_type_is_told():
    with pytest.raises(InputError, match=r"^X_target: expected numbers, got ArrayRows\.$"):
        MLHD().fit(Xs, ys, ArrayRows(np.eye(3)), yt)
