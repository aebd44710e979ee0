"""What runs start from."""

import numpy as np
import pytest

from isthmus.tasks.matching.problem import Links
from isthmus.tasks.matching.refinement import shuffle_links


@pytest.mark.parametrize("p", [0, 1, 2, 9])
def test_no_shuffled_pair_is_right(p):
    wrong = shuffle_links(Links.of(np.arange(p), np.arange(p)), np.random.default_rng(0))
    assert len(wrong) == (p if p > 1 else 0)
    assert (wrong.i != wrong.j).all()
