"""Texts as rows of terms: weights, cosines, and the nearest rows without a table of all pairs."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.geometry import terms
from isthmus.geometry.terms import TermRows, nearest_pairs, split_identifiers, split_words

A = ["sony turntable pslx350h", "bose speaker am53bk", "", "lg fridge 20 litres"]
B = ["turntable sony ps-lx350h black", "lg fridge", "philips radio"]


@pytest.mark.parametrize("analyzer", [split_words, (3, 5), split_identifiers])
def test_rows_have_unit_length_and_cosines_are_their_products(analyzer):
    rows = TermRows.of(A, B, analyzer)
    source, target = rows.rows(0), rows.rows(1)
    for X, texts in ((source, A), (target, B)):
        lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1))).ravel()
        has_terms = [bool(analyzer(text) if callable(analyzer) else text) for text in texts]
        np.testing.assert_allclose(lengths, np.array(has_terms, float), atol=1e-6)
    i, j = np.divmod(np.arange(len(A) * len(B)), len(B))
    table = (source @ target.T).toarray()
    np.testing.assert_allclose(rows.cosines(i, j), table[i, j], atol=1e-6)


def test_swapped_collections_have_transposed_cosines():
    i, j = np.divmod(np.arange(len(A) * len(B)), len(B))
    there, back = TermRows.of(A, B, (3, 5)), TermRows.of(B, A, (3, 5))
    np.testing.assert_allclose(there.cosines(i, j), back.cosines(j, i), atol=1e-6)


def test_an_identifier_counts_without_its_signs():
    rows = TermRows.of(A, B, split_words)
    assert rows.cosines(np.array([0]), np.array([0]))[0] > rows.cosines(np.array([3]), np.array([1]))[0] * 0.5 > 0


def test_terms_of_one_side_can_be_dropped():
    source, target = ["der rote hund", "der blaue hund"], ["the red dog hund", "the blue dog hund"]
    plain, dropped = (TermRows.of(source, target, split_words, drop_one_sided=flag) for flag in (False, True))
    here = np.array([0]), np.array([0])
    assert dropped.cosines(*here)[0] > plain.cosines(*here)[0]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 4), st.integers(0, 10_000))
def test_the_nearest_pairs_are_those_of_the_whole_table(n, m, k, seed):
    rng = np.random.default_rng(seed)
    X, Y = (sp.random_array((rows, 6), density=0.5, rng=rng, format="csr", dtype=np.float32) for rows in (n, m))
    table = (X @ Y.T).toarray()
    wanted = set()
    for S, swapped in ((table, False), (table.T, True)):
        for row, scores in enumerate(S):
            kept = np.flatnonzero((scores >= terms.CONTENDER * scores.max()) & (scores > 0))
            least = np.sort(scores[kept])[::-1][:k][-1] if len(kept) else np.inf
            wanted |= {(c, row) if swapped else (row, c) for c in kept[scores[kept] > least].tolist()}
    found = set(zip(*(part.tolist() for part in nearest_pairs(X, Y, k)), strict=True))
    assert wanted <= found <= set(zip(*(part.tolist() for part in np.nonzero(table)), strict=True))


def test_blocks_do_not_change_the_nearest_pairs(monkeypatch):
    rng = np.random.default_rng(0)
    X, Y = (sp.random_array((rows, 40), density=0.2, rng=rng, format="csr", dtype=np.float32) for rows in (30, 25))
    whole = nearest_pairs(X, Y, 3)
    monkeypatch.setattr(terms, "ENTRIES_PER_BLOCK", 50)
    for got, expected in zip(nearest_pairs(X, Y, 3), whole, strict=True):
        np.testing.assert_array_equal(got, expected)
