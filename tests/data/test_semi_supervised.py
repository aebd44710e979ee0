"""The splitter: labelled rows are split, unlabelled rows are learned from and never scored."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, LeaveOneOut, ShuffleSplit, StratifiedKFold

from isthmus import InputError
from isthmus.data.splits import SemiSupervisedSplit

Y = np.append(np.arange(24) % 3, np.full(16, -1))


def test_unlabelled_rows_are_in_every_training_part_and_never_scored():
    unlabelled = np.flatnonzero(Y == -1)
    splits = list(SemiSupervisedSplit(4).split(None, Y))
    assert len(splits) == SemiSupervisedSplit(4).get_n_splits() == 4
    for train, test in splits:
        assert np.isin(unlabelled, train).all()
        assert not np.isin(unlabelled, test).any()
        assert not np.intersect1d(train, test).size
        assert len(train) + len(test) == 40
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(24))


@pytest.mark.parametrize(
    "cv",
    [StratifiedKFold(3, shuffle=True, random_state=0), ShuffleSplit(5, random_state=0), LeaveOneOut(), GroupKFold(3)],
)
def test_any_splitter_can_split_the_labelled_rows(cv):
    groups = np.arange(40) % 6
    given_groups = groups if isinstance(cv, GroupKFold) else None
    splits = list(SemiSupervisedSplit(cv).split(None, Y, given_groups))
    assert len(splits) == (24 if isinstance(cv, LeaveOneOut) else cv.get_n_splits())
    for train, test in splits:
        assert np.isin(np.arange(24, 40), train).all()
        if isinstance(cv, GroupKFold):
            assert not np.isin(groups[test], groups[np.setdiff1d(train, np.arange(24, 40))]).any()


def test_folds_are_stratified_whatever_integer_asks_for_them():
    y = np.repeat([0, 1, 2, -1], 6)
    for _, test in SemiSupervisedSplit(np.int64(3)).split(None, y):
        assert sorted(y[test]) == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("cv", [None, True, "five", [([0], [1])]])
def test_what_is_no_splitter_is_refused(cv):
    with pytest.raises(InputError, match="cv: expected a number of folds or a scikit-learn splitter"):
        list(SemiSupervisedSplit(cv).split(None, [0, 1, 0, 1]))


def test_labels_are_needed():
    with pytest.raises(InputError, match="y: expected at least one labelled row to split, got none"):
        next(SemiSupervisedSplit(2).split(None, -np.ones(40)))
    with pytest.raises(InputError, match="y: expected labels, got None"):
        next(SemiSupervisedSplit(2).split(None, None))
