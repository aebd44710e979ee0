"""The pulled-back metric: M_t = R M_s Rᵀ, with R of ridge regression and M_s of the source alone."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from conftest import one_sentence
from isthmus import ITML, InputError, PulledBackMetric

rng = np.random.default_rng(0)
H = rng.normal(size=(60, 4))
A, B = H @ rng.normal(size=(4, 5)) + 2.0, H @ rng.normal(size=(4, 7)) + 0.3 * rng.normal(size=(60, 7))
Y = (H[:, 0] > 0).astype(int)
PAIRED, NEW = slice(0, 40), slice(40, 60)


def fitted(y=Y[PAIRED], **parameters):
    return PulledBackMetric(**parameters).fit(A[PAIRED], y, B[PAIRED], None, pairs="rows")


@pytest.mark.parametrize("y", [None, Y[PAIRED]], ids=["euclidean", "itml"])
def test_distances_are_those_of_the_formula(y):
    model = fitted(y)
    R = Ridge(alpha=model.penalty_).fit(B[PAIRED], A[PAIRED])
    L = np.eye(5) if y is None else ITML(random_state=0).fit(A[PAIRED], Y[PAIRED]).components_.T
    across = np.linalg.norm((A[NEW] - R.predict(B[NEW])) @ L, axis=1)
    np.testing.assert_allclose(model.pair_distance(A[NEW], B[NEW]), across, rtol=1e-6, atol=1e-8)
    M = R.coef_.T @ L @ L.T @ R.coef_
    difference = B[40] - B[41]
    within = model.pairwise_distances(B[40:41], B[41:42], ("target", "target"))
    assert within.item() == pytest.approx(np.sqrt(difference @ M @ difference), rel=1e-6)


def test_auto_learns_where_labels_are_and_measures_plainly_where_not():
    assert isinstance(fitted().learner_, ITML)
    assert PulledBackMetric().fit(A[PAIRED], None, B[PAIRED], None, pairs="rows").learner_ is None
    assert fitted().score(B[NEW], Y[NEW]) > 0.8


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: fitted(penalty=0.0), "penalty: expected a number above 0"),
        (lambda: PulledBackMetric().fit(A, Y, B, Y), "pairs: expected known pairs of rows, as PulledBackMetric"),
    ],
)
def test_bad_input_is_one_sentence(use, message):
    with pytest.raises(InputError, match=message) as caught:
        use()
    assert one_sentence(caught)
