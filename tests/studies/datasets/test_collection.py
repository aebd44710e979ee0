"""Collections of domains: no object in two parts of a pair."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus.data.domains import Domain, Split
from isthmus.data.splits import Protocol
from isthmus.exceptions import InputError
from studies.datasets.collection import Collection


def test_a_pair_of_sparse_rows_is_printed_and_a_leaking_split_is_refused():
    rows = sp.csr_matrix(np.eye(6))
    y = np.array([0, 0, 0, 1, 1, 1])
    both = {name: Domain(rows, y) for name in ("a", "b")}
    objects = {name: np.arange(6) for name in ("a", "b")}
    collection = Collection("small", "two views of six things", both, objects, ("x", "y"), "made up", "none")
    assert list(collection) == ["a", "b"]
    assert len(collection) == 2
    split = collection.split("a", "b", Protocol(1, 1, 0), seed=0)
    assert "test 2 rows; 2 classes" in str(collection.pair("a", "b", split)) == repr(collection.pair("a", "b", split))
    leaking = Protocol(1, 1, 0).split(y, y, seed=0)  # which does not know that the rows are the same things
    shared = replace(leaking, test=leaking.source)
    with pytest.raises(InputError, match=r"^\w+_ids: expected no object in two parts, got \d in source_ids too"):
        collection.pair("a", "b", shared)
    with pytest.raises(InputError, match=r"^split: expected target rows with a label or without, got some in both"):
        collection.pair("a", "b", replace(split, unlabelled=split.labelled))
    with pytest.raises(InputError, match=r"^split.test: expected row numbers of b, from 0 to 5, got 0 to 9\.$"):
        collection.pair("a", "b", replace(split, test=np.array([0, 9])))


def test_a_split_without_test_rows_makes_a_pair_without_a_test_set():
    y = np.array([0, 0, 1, 1])
    domains = {"a": Domain(np.eye(4), y), "b": Domain(np.eye(4)[:, :2], y)}
    objects = {"a": np.arange(4), "b": np.arange(4, 8)}
    collection = Collection("small", "eight things", domains, objects, ("x", "y"), "made up", "none")
    split = Split(np.arange(4), np.array([0, 2]), np.array([1, 3]), np.empty(0, dtype=np.intp))
    assert "no test rows" in str(collection.pair("a", "b", split))
