"""What is hidden stays hidden: labels, classes, and the partners of tested rows."""

import numpy as np
import pytest

from conftest import one_sentence
from isthmus import InputError
from isthmus.study.source_value.engine import NAMING, Splits, make_question, replace_source
from isthmus.study.trial_rows import Trial

SEEDS = (3, 14, 15, 9)


@pytest.fixture
def asked():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(5), 12)
    y_target = np.where(rng.random(60) < 0.8, y, -1)
    pairs = np.stack([np.arange(0, 60, 3), np.arange(0, 60, 3)], axis=1)
    return make_question(rng.normal(size=(60, 4)), y, rng.normal(size=(60, 6)), y_target, pairs)


def rows_of(asked, group, seed=14):
    return Splits(asked, SEEDS)(Trial(group, "", seed))


def test_a_row_is_labelled_tested_or_neither(asked):
    rows = rows_of(asked, "3")
    known = np.flatnonzero(rows.y_target != -1)
    assert not np.intersect1d(known, rows.test).size
    np.testing.assert_array_equal(rows.y_target[known], asked.y_target[known])
    np.testing.assert_array_equal(rows.y_test, asked.y_target[rows.test])
    np.testing.assert_array_equal(np.bincount(rows.y_target[known]), 3)
    assert (asked.y_target[rows.test] != -1).all()


def test_more_labels_are_further_labels(asked):
    one, three = (set(np.flatnonzero(rows_of(asked, k).y_target != -1)) for k in ("1", "3"))
    assert one < three


def test_half_of_the_classes_are_hidden_then_the_other_half(asked):
    splits = Splits(asked, SEEDS)
    hidden = [set(splits.hide_classes(seed).tolist()) for seed in SEEDS]
    assert all(len(each) == 2 for each in hidden)
    assert not hidden[0] & hidden[1]
    assert not hidden[2] & hidden[3]
    rows = rows_of(asked, NAMING)
    assert set(rows.y_target.tolist()) == {-1, *range(5)} - hidden[1]
    assert hidden[1] <= set(rows.y_test.tolist())


def test_the_partner_of_a_tested_row_is_not_shown(asked):
    rows = rows_of(asked, "1")
    assert not np.intersect1d(rows.pairs.target, rows.test).size
    hidden_with_partner = np.intersect1d(asked.pairs.target, asked.labelled[rows.y_target[asked.labelled] == -1])
    assert 0 < np.intersect1d(hidden_with_partner, rows.test).size < len(hidden_with_partner)


def test_rules_without_a_source_have_nothing_of_it(asked):
    rows = rows_of(asked, "3")
    alone = replace_source(asked.coordinates, rows, 0)
    np.testing.assert_array_equal(alone.X_source, asked.coordinates[rows.labelled])
    np.testing.assert_array_equal(alone.y_source, rows.y_target[rows.labelled])
    np.testing.assert_array_equal(alone.test, rows.test)
    assert alone.pairs is None


def test_labels_reach_as_far_as_half_of_them():
    X, y = np.random.default_rng(0).normal(size=(80, 3)), np.repeat([0, 1], 40)
    assert make_question(X, y, X, y).steps == (1, 3, 10)
    assert make_question(X, y, X, np.where(np.arange(80) % 2, y, -1)).steps == (1, 3, 10)
    assert make_question(X, y, X, np.where(np.arange(80) % 20, -1, y)).steps == ()
    sparse = make_question(X, y, X, np.where(np.isin(np.arange(80), [0, *range(40, 80)]), y, -1))
    assert sparse.shown_labels("3").tolist() == [1, 3]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_source": [0, 1, -1]}, "y_source: expected a label for every row"),
        ({"y_source": [0, 0, 0]}, "y_source: expected at least two classes"),
        ({"y_target": [0, 0, -1]}, "y_target: expected labels of at least two classes, got 1"),
        ({"y_target": [0, 1]}, "y_target: expected shape"),
        ({"X_target": [[np.nan], [0.0], [1.0]]}, "X_target: expected finite"),
        ({"pairs": [[0, 9]]}, "pairs: expected target rows from 0 to 2, got 9"),
    ],
)
def test_bad_input_is_one_sentence(change, message):
    given = {"X_source": [[0.0], [1.0], [2.0]], "y_source": [0, 1, 1], "X_target": [[0.0], [1.0], [2.0]]}
    with pytest.raises(InputError, match=message) as caught:
        make_question(**{**given, "y_target": [0, 1, -1], **change})
    assert one_sentence(caught)
