"""Labels of one kind, whatever they came in, and targets that need none."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import isthmus
from isthmus import InputError
from isthmus._core.validation import as_labels
from isthmus.data.domains import TwoDomains

MIXED = [np.str_("b"), "a", np.str_("a"), "c"]
RNG = np.random.default_rng(0)
Y = np.arange(40) % 2
X_S, X_T = RNG.normal(size=(40, 5)) + 2.0 * Y[:, None], RNG.normal(size=(40, 4)) + 2.0 * Y[:, None]


@pytest.mark.parametrize("make", [list, lambda y: np.array(y, dtype=object), lambda y: pd.Series(y, dtype=object)])
def test_strings_of_numpy_become_plain_ones(make: Any) -> None:
    X = np.eye(4)
    plain = TwoDomains.of(X, ["b", "a", "a", "c"], X, ["a", None, None, "b"])
    found = TwoDomains.of(X, make(MIXED), X, make([np.str_("a"), None, None, "b"]))
    assert [type(label) for label in found.classes] == [str] * 3
    assert found.classes.tolist() == plain.classes.tolist()
    np.testing.assert_array_equal(found.source.y, plain.source.y)
    np.testing.assert_array_equal(found.target.y, plain.target.y)
    with_pairs = TwoDomains.of(X, make(MIXED), X, None, "rows")
    assert {type(label) for label in with_pairs.classes} == {str}


def test_predictions_are_of_one_type() -> None:
    y = [np.str_("a") if i % 3 else "a" if i % 2 else "b" for i in range(40)]
    model = isthmus.MLHD().fit(X_S, y, X_T, [*y[:10], *[None] * 30])
    assert {type(label) for label in (*model.classes_, *model.predict(X_T))} == {str}


@pytest.mark.parametrize(
    ("labels", "types"),
    [
        ([np.int64(1), "a"], [int, str]),
        ([np.bool_(True), None], [bool, type(None)]),
        (["ab", np.str_("abc")], [str, str]),
    ],
)
def test_scalars_of_numpy_among_others_become_plain(labels: Any, types: Any) -> None:
    assert [type(label) for label in as_labels(labels, "y")] == types


UNLABELLED = {
    "GW": lambda: isthmus.GW(),
    "FGW": lambda: isthmus.FGW(),
    "FGW, structure alone": lambda: isthmus.FGW(structure=1.0),
    "COOT": lambda: isthmus.COOT(),
    "COOT without labels": lambda: isthmus.COOT(label_weight=0.0),
}


@pytest.mark.parametrize("none", [None, [-1] * 40, [None] * 40], ids=["None", "-1", "Nones"])
@pytest.mark.parametrize("name", UNLABELLED)
def test_systems_that_see_no_target_label_need_none(name: str, none: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", isthmus.DataWarning)
        X_s, X_t = X_S - X_S.mean(axis=0), X_T - X_T.mean(axis=0)
        model = UNLABELLED[name]().fit(X_s, Y, X_t, none)
    found = model.predict(X_t)
    assert model.classes_.tolist() == [0, 1]
    assert set(found) <= {0, 1}
    assert model.needs_target_labels is False


def test_gw_finds_the_same_plan_with_and_without_labels() -> None:
    few = np.where(np.arange(40) < 4, Y, -1)
    with_labels, without = (isthmus.GW().fit(X_S, Y, X_T, y) for y in (few, None))
    np.testing.assert_array_equal(with_labels.probabilities_[4:], without.probabilities_[4:])


@pytest.mark.parametrize(
    "make", [isthmus.MLHD, lambda: isthmus.FGW(structure=0.0), isthmus.ManifoldAlignment, isthmus.CDSPP]
)
def test_the_others_still_need_one(make: Any) -> None:
    for none in (None, [-1] * 40):
        with pytest.raises(InputError, match=r"^y_target: expected"):
            make().fit(X_S, Y, X_T, none)
