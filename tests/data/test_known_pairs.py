"""Known pairs: every way to give them, and one sentence for every wrong one."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus import CCA, InputError, KnownPairs
from isthmus.data.domains import TwoDomains, as_pairs

A = np.array([[0.0, 1.0], [2.0, 0.5], [3.0, 3.0], [1.0, 4.0]])
B = np.array([[1.0], [0.2], [2.5], [4.0]])


def test_three_ways_to_say_the_same_pairs():
    expected = np.repeat(np.arange(4)[:, None], 2, axis=1)
    for pairs in (expected, "rows", (["a", "b", "c", "d"], ["a", "b", "c", "d"]), KnownPairs(expected)):
        np.testing.assert_array_equal(as_pairs(pairs, 4, 4).rows, expected)


@given(st.permutations(range(6)), st.permutations(range(6)))
def test_rows_with_one_id_are_a_pair_wherever_they_are(left, right):
    rows = KnownPairs.from_ids([f"id {i}" for i in left], [f"id {i}" for i in right[:4]] + [None, ""]).rows
    assert {(left[i], right[j]) for i, j in rows} == {(k, k) for k in right[:4]}


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([[0, 1], [0, 1]], r"pairs: expected each pair once .*, got \(0, 1\) again"),
        ([[0, 4]], "pairs: expected target rows from 0 to 3, got 4"),
        ([[4, 0]], "pairs: expected source rows from 0 to 3, got 4"),
        ([[-1, 0]], "pairs: expected row numbers from 0, got -1"),
        ([[0, 1], [2]], "pairs: expected whole row numbers .* got rows of unequal length"),
        ("row", "pairs: expected row numbers .*, got 'row'"),
        (([1, 2, 3], [1, 2, 3, 4]), "pairs: expected an id for each of the 4 source rows, got 3"),
        (([1, 1, 2, 3], [1, 2, 3, 4]), "pairs: expected each id once among the source ids, got 1 in two rows"),
        (
            ([1, 2, 3, 4], list("1234")),
            r"pairs: expected ids that both sides have, got none \(of type int and str\)",
        ),
        ([[0, 0]], "pairs: expected at least 2 for CCA, got 1"),
        (((0, 0), (1, 1)), "each of the 4 source rows, got 2; a tuple is two columns of ids, a list or an array"),
        (([1, [2], 3, 4], [1, 2, 3, 4]), r"pairs \(source ids\): expected one id per row, got a row with several"),
        (([1, 2, 3, 4], None), r"pairs \(target ids\): expected one id per row, got None"),
        ([[0.0, 1.0]], r"pairs: expected whole row numbers \(m, 2\), got float64 of shape \(1, 2\)"),
        ([[0, None]], r"pairs: expected whole row numbers \(m, 2\), got list of objects of shape \(1, 2\)"),
        (np.array([[0, 2**63]], np.uint64), "pairs: expected row numbers from 0, got 9223372036854775808"),
        (zip([0], [1], strict=True), "pairs: expected row numbers .* or KnownPairs, got zip"),
        ({(0, 1)}, "pairs: expected row numbers .* or KnownPairs, got set"),
        ({0: 1}, "pairs: expected row numbers .* or KnownPairs, got dict"),
    ],
)
def test_wrong_pairs_get_one_sentence_and_leave_nothing_behind(pairs, message):
    cca = CCA()
    with pytest.raises(InputError, match=message):
        cca.fit(A, None, B, None, pairs=pairs)
    assert not hasattr(cca, "classes_")


@pytest.mark.parametrize("none", [[], (), np.zeros((0, 2)), np.zeros((0, 2), int), np.zeros(0)])
def test_no_pairs_are_refused_however_they_are_written(none):
    with pytest.raises(InputError, match=r"^pairs: expected at least one pair, got none\.$"):
        as_pairs(none, 4, 4)


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        ([[0, 4]], "pairs: expected B rows from 0 to 3, got 4."),
        ([[0, 1], [0, 2]], "pairs: expected each row in one pair at most, got A row 0 in 2."),
        (([1, 2, 3, 4], [1, 2, 2, 3]), "pairs: expected each id once among the B ids, got 2 in two rows."),
        (([1, 2, 3, 4], [1, 2]), "pairs: expected an id for each of the 4 B rows, got 2."),
    ],
)
def test_sides_have_the_names_of_the_caller(pairs, sentence):
    with pytest.raises(InputError) as caught:
        as_pairs(pairs, 4, 4, one_to_one=True, names=("A", "B"))
    assert str(caught.value) == sentence


def test_frames_that_allow_for_missing_numbers_have_row_numbers():
    frame = pd.DataFrame({"a": [0, 1], "b": [2, 3]}, dtype="Int64")
    np.testing.assert_array_equal(as_pairs(frame, 4, 4).rows, [[0, 2], [1, 3]])
    frame.iloc[0, 0] = pd.NA
    with pytest.raises(InputError, match=r"got DataFrame of objects of shape \(2, 2\)"):
        as_pairs(frame, 4, 4)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, np.nan], [0.0, 1.0], ["a", "b"]])
def test_wrong_weights(weights):
    with pytest.raises(InputError, match="pairs: expected"):
        KnownPairs([[0, 0], [1, 1]], weights)


@pytest.mark.parametrize(("weight", "shown"), [(1e300, "1e+300"), (1e-300, "1e-300"), (np.inf, "inf"), (-1.0, "-1")])
def test_weights_are_relative_to_one(weight, shown):
    with pytest.raises(InputError) as caught:
        KnownPairs([[0, 0], [1, 1]], [weight, weight])
    assert str(caught.value) == f"pairs: expected weights from 1e-06 to 1e+06, got {shown}."
    assert KnownPairs([[0, 0], [1, 1]], [1e-6, 1e6]).weights.tolist() == [1e-6, 1e6]


def test_a_claim_of_one_to_one_can_be_broken():
    with pytest.raises(InputError, match="pairs: expected each row in one pair at most, got target row 2 in 2"):
        as_pairs([[0, 2], [1, 2]], 4, 4, one_to_one=True)
    assert len(as_pairs([[0, 2], [1, 2]], 4, 4)) == 2


def test_labels_are_optional_where_pairs_are_given_and_classes_may_differ():
    domains = TwoDomains.of(A, ["x", None, "y", None], B, ["z", "x", None, None], "rows")
    assert domains.classes.tolist() == ["x", "y", "z"]
    np.testing.assert_array_equal(domains.source.y, [0, -1, 1, -1])
    np.testing.assert_array_equal(domains.target.y, [2, 0, -1, -1])
    with pytest.raises(InputError, match="y_source: expected one label per row, got None"):
        TwoDomains.of(A, None, B, ["x", "x", "y", "y"])


def test_without_labels_rows_are_compared_and_not_named():
    cca = CCA().fit(A, None, B, None, pairs="rows")
    assert cca.kneighbors(B, 2)[1].shape == (4, 2)
    with pytest.raises(InputError, match="references: expected labelled rows to predict a class from, got none"):
        cca.predict(B)
    named = CCA().fit(A, ["x", "x", "y", "y"], B, None, pairs="rows")
    assert set(named.predict(B)) <= {"x", "y"}


def test_the_arguments_are_not_changed():
    pairs, weights = np.array([[0, 0], [1, 1], [2, 2]]), np.ones(3)
    known = KnownPairs(pairs, weights)
    known.rows[0, 0] = 3
    known.weights[0] = 7.0
    assert pairs[0, 0] == 0
    assert weights[0] == 1.0


def test_systems_without_a_use_for_pairs_say_so():
    from isthmus import ARC

    with pytest.raises(InputError, match="pairs: expected None, as ARC learns from labels, got pairs"):
        ARC().fit(A, [0, 1, 0, 1], B, [0, 1, 0, 1], pairs="rows")
