"""What class labels forbid."""

import numpy as np
import pytest

from isthmus import InputError
from isthmus.matching.labels import FAR, alike_by_class, class_codes, veto


def test_rows_of_different_known_classes_are_forbidden_and_no_others():
    ys, yt = np.array([0, 1, -1]), np.array([0, 1, -1, 2])
    expected = [[0, 1, 0, 1], [1, 0, 0, 1], [0, 0, 0, 0]]
    np.testing.assert_array_equal(-veto(ys, yt).table() / FAR, expected)


def test_without_labels_no_code_is_given():
    ys, yt = class_codes(None, 2, ["a", "b"], 2)
    np.testing.assert_array_equal(ys, [-1, -1])
    np.testing.assert_array_equal(yt, [0, 1])


@pytest.mark.parametrize(("ys", "yt"), [([1, 2, 3], None), ([1, 2], ["a", "b"])])
def test_labels_of_another_length_or_type_are_refused(ys, yt):
    with pytest.raises(InputError, match="y_"):
        class_codes(ys, 2, yt, 2)


def test_rows_near_the_same_class_are_alike():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    A, B = (rng.normal(size=(3, d))[y] * 3.0 + rng.normal(size=(60, d)) for d in (5, 8))
    few = np.where(np.arange(60) < 9, y, -1)
    S = alike_by_class(A, few, B, few).table()
    same = y[:, None] == y
    assert S[same].mean() > S[~same].mean() + 1.0
