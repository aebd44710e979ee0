"""Landmarks: projections of a kernel, which are never longer than what they are of, and end in the kernel itself."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import one_sentence
from isthmus import MLHD, RBF, Cosine, InputError, Landmarks, Laplacian, Linear, Polynomial, Precomputed, load, save

X = np.random.default_rng(0).normal(size=(120, 4))
KERNELS = [Linear(), RBF(1.7), Laplacian(2.5), Polynomial(2, 0.5, 2.0), Cosine()]


def problem(n=60, sparse=False):
    rng = np.random.default_rng(1)
    y = np.arange(n) % 3
    centres, others = 3 * rng.normal(size=(3, 5)), 3 * rng.normal(size=(3, 4))
    A, B = centres[y] + rng.normal(size=(n, 5)), others[y] + rng.normal(size=(n, 4))
    known = np.where(np.arange(n) < 6, y, -1)
    return (sp.csr_matrix(A) if sparse else A), y, B, known


@given(kernel=st.sampled_from(KERNELS), m=st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_what_is_left_out_is_positive_semi_definite(kernel, m):
    left = kernel.gram(X, X) - Landmarks(kernel, m).resolve(X).gram(X, X)
    assert np.linalg.eigvalsh(left)[0] > -1e-7 * np.abs(kernel.gram(X, X)).max()


def test_inner_products_with_landmarks_are_exact():
    kernel = Landmarks(RBF(1.5), 30).resolve(X)
    exact = RBF(1.5).gram(kernel.rows, X)
    np.testing.assert_allclose(kernel.gram(kernel.rows, X), exact, atol=1e-8)
    np.testing.assert_allclose(kernel.diagonal(kernel.rows), 1.0, atol=1e-8)
    assert len(kernel.rows) == 30


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_all_rows_as_landmarks_are_the_exact_kernel(sparse):
    A, y, B, known = problem(sparse=sparse)
    exact = MLHD("rbf", "rbf", outside="zero", tol=1e-9).fit(A, y, B, known)
    seen = Landmarks("rbf", 60)
    made = MLHD(seen, seen, tol=1e-9).fit(A, y, B, known)
    assert made.result_.primal == pytest.approx(exact.result_.primal, rel=1e-6)
    distances = (each.pairwise_distances(A, B) for each in (made, exact))
    np.testing.assert_allclose(*distances, rtol=1e-4, atol=1e-6)


def test_more_landmarks_come_nearer():
    exact = RBF(2.0).gram(X, X)
    errors = [np.linalg.norm(Landmarks(RBF(2.0), m).resolve(X).gram(X, X) - exact) for m in (5, 20, 80)]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


def test_centres_are_as_many_as_asked_for_and_leave_less_of_the_rows_than_rows_at_random():
    centres = Landmarks(RBF(1.0), 90).resolve(X)
    rows = Landmarks(RBF(1.0), 90).resolve(X[np.random.default_rng(0).choice(120, 90, replace=False)])
    assert len(centres.rows) == 90
    assert (1.0 - centres.diagonal(X)).sum() < 0.7 * (1.0 - rows.diagonal(X)).sum()


def test_the_same_seed_gives_the_same_landmarks_and_arguments_stay():
    before = X.copy()
    first, second = (Landmarks("rbf", 20, random_state=4).resolve(X).rows for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(X, before)


def test_unlabelled_rows_count_through_their_mean():
    A, y, B, known = problem(200)
    model = MLHD(Landmarks("rbf", 50), Landmarks("rbf", 50)).fit(A, y, B, known)
    side = model.common_space_.target
    assert side.dimension == 50
    assert model.score(B, np.arange(200) % 3) > 0.9


def test_a_model_on_landmarks_is_kept_in_a_file(tmp_path):
    A, y, B, known = problem(100)
    model = MLHD(Landmarks(RBF(3.0), 20, 7), Landmarks("rbf", 20)).fit(A, y, B, known)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(B), model.transform(B))
    assert again.source_kernel == model.source_kernel


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernel": Precomputed()}, "kernel: expected a kernel of features"),
        ({"kernel": Landmarks()}, "kernel: expected a kernel of features"),
        ({"kernel": "round"}, "kernel: expected"),
        ({"n_landmarks": 0}, "n_landmarks: expected"),
        ({"n_landmarks": 2.5}, "n_landmarks: expected"),
        ({"random_state": -1}, "random_state: expected"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, message):
    with pytest.raises(InputError, match=message):
        Landmarks(**arguments)


def test_landmarks_are_asked_for_first():
    with pytest.raises(InputError, match="expected landmarks by now"):
        Landmarks().gram(X, X)


def test_rows_that_are_there_many_times_are_all_kept():
    rows = np.repeat(np.random.default_rng(0).normal(size=(5, 3)), 100, axis=0)
    kernel = Landmarks("rbf", 50).resolve(rows)
    np.testing.assert_allclose(kernel.diagonal(rows), 1.0, atol=1e-9)


def test_rows_of_zeros_have_no_landmark():
    with pytest.raises(InputError, match="kernel: expected rows that are not all zero to it") as caught:
        Landmarks("linear", 5).resolve(np.zeros((50, 3)))
    assert one_sentence(caught)
