"""Clusters: duplicates within a table, many to many between two, their representatives and conflicts."""

import numpy as np
import pandas as pd
import pytest

import isthmus
from isthmus import dedupe, find_clusters, match

LETTERS = list("abcdefghijkl")


def make_names(n, seed=100):
    rng = np.random.default_rng(seed)
    return [" ".join("".join(rng.choice(LETTERS, 6)) for _ in range(3)) for _ in range(n)]


@pytest.fixture(scope="module")
def table():
    """120 names; 0 to 19 have a copy without a letter, 0 to 4 another one; the truth is the number of the name."""
    names = make_names(120)
    copies = [name[1:] for name in names[:20]] + [name + "x" for name in names[:5]]
    truth = np.array([*range(120), *range(20), *range(5)])
    order = np.random.default_rng(101).permutation(len(truth))
    every = [*names, *copies]
    return pd.DataFrame({"name": [every[k] for k in order]}), truth[order]


@pytest.fixture(scope="module")
def found(table):
    return dedupe(table[0])


def test_copies_are_found_and_nothing_else(table, found):
    frame, truth = table
    assert found.ok is True
    same = truth[:, None] == truth
    assert ((found.labels[:, None] == found.labels) == same).all()
    assert found.sizes.sum() == len(frame)
    assert sorted(found.sizes)[-20:] == [2] * 15 + [3] * 5
    assert str(found).startswith("20 clusters of 45 of 145 rows; ")


def test_that_nearly_every_row_has_a_duplicate_is_never_denied():
    """Two tables of the same objects, one under the other: no rows without a duplicate are left to compare with."""
    rng = np.random.default_rng(1)
    names = [" ".join("".join(rng.choice(LETTERS, 6)) for _ in range(3)) for _ in range(100)]
    copies = []
    for name in names:
        for _ in range(rng.integers(3)):
            place = rng.integers(len(name))
            name = name[:place] + str(rng.choice(LETTERS)) + name[place + 1 :]
        copies.append(name)
    found = dedupe(pd.DataFrame({"name": names + copies}))
    assert found.evidence["share"] > 0.5
    assert found.evidence["apart"] < 2.0
    assert found.ok is None
    assert "look like another" in str(found)


def test_a_number_beyond_single_precision_is_only_far_from_all_others():
    """A cell in which several numbers stand, such as "8 4223 19151111 5304218", can be read as one of that size."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(50.0, 10.0, (60, 2)).round(3)
    numbers[40:] = numbers[:20]
    numbers[3, 0] = 1e30
    numbers[4, 1] = -1e38
    found = dedupe(pd.DataFrame({"name": make_names(40) + make_names(20), "x": numbers[:, 0], "y": numbers[:, 1]}))
    assert found.pairs.tolist() == [[k, 40 + k] for k in range(20)]


def test_no_random_numbers_of_other_code_are_used(table):
    """The start of the mixture was drawn from NumPy's global state: the same rows could get other duplicates."""
    before = str(np.random.get_state())  # noqa: NPY002
    dedupe(table[0])
    assert str(np.random.get_state()) == before  # noqa: NPY002


def test_each_cluster_has_a_representative_of_its_own(found):
    assert found.labels[found.representative].tolist() == list(range(len(found.sizes)))


def test_links_are_pairs_of_different_rows_once(found):
    assert (found.pairs[:, 0] < found.pairs[:, 1]).all()
    assert len({tuple(pair) for pair in found.pairs.tolist()}) == len(found.pairs) == len(found.probability)
    assert (found.probability >= 0.5).all()


def test_conflicts_are_what_they_are_called(found):
    links = set(map(tuple, found.pairs.tolist()))
    for i, j in found.doubtful.tolist():
        assert found.labels[i] == found.labels[j]
        assert not {(i, j), (j, i)} & links
    assert all(found.labels[i] != found.labels[j] for i, j in found.cut.tolist())


def test_rejected_pairs_are_no_links(table, found):
    rejected = found.pairs[:3]
    again = dedupe(table[0], not_pairs=rejected)
    assert not set(map(tuple, rejected.tolist())) & set(map(tuple, again.pairs.tolist()))


def test_a_table_without_duplicates_has_no_cluster():
    found = dedupe(pd.DataFrame({"name": make_names(120, 102)}))
    assert found.ok is not True
    assert (found.sizes == 1).all()
    assert len(found.pairs) == 0


def test_too_few_rows_and_other_words_are_refused():
    with pytest.raises(isthmus.InputError, match="table, rows: expected"):
        dedupe(pd.DataFrame({"name": make_names(5)}))
    with pytest.raises(isthmus.InputError, match="keep: expected"):
        dedupe(pd.DataFrame({"name": make_names(30)}), keep="some")


def test_clusters_of_two_tables_are_many_to_many():
    """Five objects are twice in A and twice in B: four rows are one cluster each."""
    names = make_names(80, 103)
    A, B = [*names, *(n[1:] for n in names[:5])], [*(n[:-1] for n in names), *(f"{n}x" for n in names[:5])]
    truth = np.array([*range(80), *range(5)])
    both = match(pd.DataFrame({"name": A}), pd.DataFrame({"name": B}), one_to_one=False)
    found = find_clusters(both)
    assert len(found.labels) == len(A) + len(B)
    right = np.concatenate([truth, truth])
    together = found.labels[:, None] == found.labels
    assert (right[:, None] == right)[together].all(), "no cluster has two objects"
    across = together[: len(A), len(A) :]
    assert across.sum() >= 0.85 * (truth[:, None] == truth).sum(), "most pairs of the same object are together"
    assert (across.sum(axis=1) > 1).any(), "also where a row has two partners"


def test_geometry_alone_has_no_clusters():
    rng = np.random.default_rng(104)
    A = rng.gamma(0.3, size=(60, 8)) @ rng.normal(size=(8, 30))
    alone = match(A, A @ rng.normal(size=(30, 25)))
    with pytest.raises(isthmus.InputError, match="expected a matching by shared columns"):
        find_clusters(alone)
