"""What ``match`` is given, checked."""

import numpy as np
import pytest

from isthmus.matching.input import known_links


def test_ids_of_collections_of_different_size():
    links = known_links((np.arange(6), np.arange(2, 6)), 6, 4, one_to_one=True)
    np.testing.assert_array_equal(links.i, [2, 3, 4, 5])
    np.testing.assert_array_equal(links.j, [0, 1, 2, 3])


@pytest.mark.parametrize("pairs", [None, [], np.zeros((0, 2), dtype=int)], ids=["None", "list", "array"])
def test_no_pairs_are_taken(pairs):
    assert len(known_links(pairs, 6, 4, one_to_one=True)) == 0
