"""What ``match`` is given, checked."""

import numpy as np
import pytest

from isthmus.exceptions import InputError
from isthmus.tasks.matching.problem import as_links, make_domains

A, B = (np.random.default_rng(seed).normal(size=(n, 3)) for seed, n in ((0, 24), (1, 22)))


def given(pairs=None, y_source=None, y_target=None):
    return make_domains(A, B, y_source, y_target, pairs, None, scale=True, one_to_one=True)


def test_ids_of_collections_of_different_size():
    links = as_links(given((np.arange(24), np.arange(2, 24))).pairs)
    np.testing.assert_array_equal(links.i, np.arange(2, 24))
    np.testing.assert_array_equal(links.j, np.arange(22))


@pytest.mark.parametrize("pairs", [None, [], np.zeros((0, 2), dtype=int)], ids=["None", "list", "array"])
def test_no_pairs_are_taken(pairs):
    assert len(as_links(given(pairs).pairs)) == 0


def test_rows_have_unit_length():
    for domain in (given().source, given().target):
        np.testing.assert_allclose(np.linalg.norm(domain.X, axis=1), 1.0)


def test_without_labels_on_a_side_none_is_known():
    domains = given(y_target=["b", "a"] * 11)
    np.testing.assert_array_equal(domains.source.y, np.full(24, -1))
    np.testing.assert_array_equal(domains.target.y, [1, 0] * 11)


@pytest.mark.parametrize(("ys", "yt"), [([1, 2, 3], None), ([1, 2] * 12, ["a", "b"] * 11)])
def test_labels_of_another_length_or_type_are_refused(ys, yt):
    with pytest.raises(InputError, match="y_"):
        given(y_source=ys, y_target=yt)
