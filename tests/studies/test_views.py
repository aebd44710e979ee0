"""Rows drawn from two views of the same objects."""

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus._core.validation import UNLABELLED
from isthmus.data.domains import Domain
from studies.datasets.collection import Collection
from studies.views import Views, draw_split, load_views, take_rows

Y = np.repeat(np.arange(6), 90)


def part_by_part(split):
    return split.source, np.r_[split.labelled, split.unlabelled], split.test


@pytest.mark.parametrize("seed", range(5))
def test_no_object_is_in_two_parts(seed):
    parts = part_by_part(draw_split(Y, [seed]))
    assert [len(part) for part in parts] == [6 * 20, 6 * 21, 6 * 49]
    together = np.concatenate(parts)
    assert len(np.unique(together)) == len(together)


def test_labelled_rows_of_fewer_are_among_those_of_more_and_nothing_else_moves():
    few, many = (draw_split(Y, [1, 2], n, 3) for n in (1, 3))
    assert set(few.labelled) < set(many.labelled)
    np.testing.assert_array_equal(np.sort(Y[few.labelled]), np.arange(6))
    for name in ("source", "unlabelled", "test"):
        np.testing.assert_array_equal(getattr(few, name), getattr(many, name))


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_are_of_the_view_and_the_class_that_they_should_be(sparse):
    numbers = np.arange(len(Y), dtype=float)[:, None]
    X, Z = (sp.csr_matrix(table) if sparse else table for table in (numbers, 1000 + numbers))
    rows, split = take_rows(Views(X, Z, Y), draw_split(Y, [0])), draw_split(Y, [0])
    found = [
        np.asarray(part.todense() if sparse else part).ravel() for part in (rows.X_source, rows.X_target, rows.X_test)
    ]
    source, target, test = part_by_part(split)
    for values, expected in zip(found, (source, 1000 + target, 1000 + test), strict=True):
        np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(rows.y_source, Y[source])
    np.testing.assert_array_equal(rows.y_test, Y[test])
    np.testing.assert_array_equal(rows.y_target[:6], Y[split.labelled])
    assert (rows.y_target[6:] == UNLABELLED).all()


def test_views_are_of_the_objects_that_both_domains_have():
    def load(folder):
        domains = {"en": Domain(np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 2])),
                   "fr": Domain(np.array([[30.0], [10.0]]), np.array([2, 0]))}  # fmt: skip
        objects = {"en": np.array(["a", "b", "c"]), "fr": np.array(["c", "a"])}
        return Collection("c", "t", domains, objects, ("x", "y", "z"), "p", "l")

    views = load_views(load, None, "en", "fr")
    assert (views.X.ravel().tolist(), views.Y.ravel().tolist(), views.y.tolist()) == ([1, 3], [10, 30], [0, 2])
