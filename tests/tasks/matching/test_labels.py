"""What class labels forbid."""

import numpy as np
import pytest

from conftest import one_sentence
from isthmus import InputError
from isthmus.geometry.similarity import Scores, find_best
from isthmus.tasks.matching.problem import FAR, NONE, Links, check_labels, label_veto, score_by_class_profile
from isthmus.tasks.matching.refinement import mutual_pairs


def test_rows_of_different_known_classes_are_forbidden_and_no_others():
    ys, yt = np.array([0, 1, -1]), np.array([0, 1, -1, 2])
    expected = [[0, 1, 0, 1], [1, 0, 0, 1], [0, 0, 0, 0]]
    np.testing.assert_array_equal(-label_veto(ys, yt).table() / FAR, expected)


@pytest.mark.parametrize(
    ("ys", "yt", "message"),
    [
        ([0, 1, -1], [0, 2, 0], "pairs: expected rows of the same class, got row 1 of A and row 1 of B"),
        ([0, 0, 1], [2, 3, 3], "y_target: expected some labels that y_source has too"),
    ],
    ids=["a known pair", "all pairs"],
)
def test_labels_that_forbid_too_much_are_refused(ys, yt, message):
    known = Links.of([2, 1], [2, 1]) if message.startswith("pairs") else NONE
    with pytest.raises(InputError, match=message) as caught:
        check_labels(np.array(ys), np.array(yt), known)
    assert one_sentence(caught)


def test_labels_that_allow_something_are_taken():
    check_labels(np.array([0, 1, -1]), np.array([2, 3, 4]), Links.of([2], [0]))
    check_labels(np.array([0, 1]), np.array([1, 2]), NONE)


def test_rows_whose_candidates_are_all_forbidden_are_not_learned_from():
    ys, yt = np.array([0, 1, 1]), np.array([0, 0, 2])
    scores = Scores(np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32))
    np.testing.assert_array_equal(mutual_pairs(find_best(scores + label_veto(ys, yt))).i, [0])


def test_rows_near_the_same_class_are_alike():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    A, B = (rng.normal(size=(3, d))[y] * 3.0 + rng.normal(size=(60, d)) for d in (5, 8))
    few = np.where(np.arange(60) < 9, y, -1)
    S = score_by_class_profile(A, few, B, few).table()
    same = y[:, None] == y
    assert S[same].mean() > S[~same].mean() + 1.0
