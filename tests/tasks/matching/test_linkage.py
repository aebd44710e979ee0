"""Matching by shared columns: candidates, weights, probabilities, checks, and what ``match`` says of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus import match
from isthmus.data.shared_columns import SharedColumns
from isthmus.exceptions import InputError
from isthmus.tasks.matching import fields, fusion
from isthmus.tasks.matching.evidence import LinkageEvidence, judge_linkage
from isthmus.tasks.matching.fields import TableComparer
from isthmus.tasks.matching.fusion import find_misleading_fields, likeness
from isthmus.tasks.matching.linkage import DEVIATIONS, CandidateGraph, accept_by_expected_f1, fit_linkage, limit_wrong

NO_PAIRS = np.zeros((0, 2), np.intp)
SYLLABLES = ["ba", "ke", "lo", "mi", "nu", "ra", "so", "ti", "vu", "ze", "pa", "do"]


def make_products(n=80, overlap=1.0, seed=100):
    """Two shops' tables of the same products, with typos, other words and rounded prices; true pairs (p, 2)."""
    rng = np.random.default_rng(seed)

    def word(k=3):
        return "".join(rng.choice(SYLLABLES, k))

    brands = [word(2) for _ in range(12)]
    total = n + round((1 - overlap) * n)
    rows = [
        (rng.choice(brands), word(), word(), f"{word(1)}{rng.integers(100, 999)}", rng.integers(10, 2000))
        for _ in range(total)
    ]

    def show(row, shop):
        brand, noun, kind, model, price = row
        noise = word(2) if rng.random() < 0.5 else ""
        name = f"{brand} {noun} {model}" if shop else f"{brand} {kind} {noun} {model}"
        if rng.random() < 0.3:
            place = rng.integers(len(name) - 1)
            name = name[:place] + name[place + 1 :]
        text = f"{kind} {noun} {noise}" if rng.random() < 0.8 else ""
        return {"name": name, "description": text, "price": float(price) + (rng.random() < 0.2)}

    k = round(overlap * n)
    a, order = rows[:n], rng.permutation(n)
    others = rows[:k] + rows[n : 2 * n - k]
    A = pd.DataFrame([show(row, 0) for row in a])
    B = pd.DataFrame([show(others[i], 1) for i in order])
    true = np.array([(i, int(np.flatnonzero(order == i)[0])) for i in range(k)])
    return A, B, true


def score(pairs, true):
    right = len(set(map(tuple, pairs.tolist())) & set(map(tuple, true.tolist())))
    return right / max(1, len(pairs)), right / len(true)


@pytest.fixture(scope="module")
def products():
    return make_products()


@pytest.fixture(scope="module")
def found(products):
    return match(*products[:2])


def test_two_ordinary_tables_are_matched_without_a_pair(found, products):
    precision, recall = score(found.pairs, products[2])
    assert found.ok is True
    assert min(precision, recall) > 0.95
    assert "by" in found.sentence
    assert "of them should be right" in found.sentence


def test_each_row_has_one_partner_and_a_runner_up(found):
    for side in (0, 1):
        assert len(np.unique(found.pairs[:, side])) == len(found)
    assert (found.runner_up != found.pairs[:, 1]).all()
    assert ((found.confidence >= 0.5) & (found.confidence <= 1.0)).all()


def test_an_explanation_adds_up_to_the_log_odds(found):
    i, j = found.pairs[0]
    explained, linkage = found.explain(i, j), found.linkage
    place = linkage.agreement.find(np.array([[i, j]]))[0]
    rest = slice(len(linkage.agreement.features), None)
    others = linkage.design.rows(np.array([place]))[0][rest] @ linkage.weights[rest]
    assert sum(explained.parts.values()) + others == pytest.approx(linkage.log_odds[place])
    assert explained.confidence == found.confidence[0]
    assert "name" in str(explained)
    assert (
        found.explain(0, int(np.setdiff1d(np.arange(150), linkage.agreement.j[linkage.agreement.i == 0])[0])).parts
        == {}
    )


def test_features_on_disk_are_those_in_memory(found, products, monkeypatch):
    monkeypatch.setattr(fields, "SPILLED", 0)
    again = match(*products[:2])
    assert isinstance(again.linkage.agreement.values.base, np.memmap)
    np.testing.assert_array_equal(again.pairs, found.pairs)
    np.testing.assert_array_equal(again.confidence, found.confidence)


def test_dates_are_read_with_the_day_or_the_month_first():
    days = [f"{d:02}/{m:02}/1999" for d in range(10, 28) for m in (3, 7)]
    months = [f"{m:02}/{d:02}/1999" for d in range(10, 28) for m in (3, 7)]
    x, y = fields.read_numbers(days, months)
    np.testing.assert_allclose(x, y)


@pytest.mark.slow
def test_swapped_tables_give_the_same_pairs(found, products):
    A, B, _ = products
    back = match(B, A)
    assert set(map(tuple, back.pairs[:, ::-1].tolist())) == set(map(tuple, found.pairs.tolist()))


@pytest.mark.slow
def test_columns_of_other_names_are_found_by_their_content(products):
    A, B, true = products
    renamed = match(A, B.rename(columns={"name": "title", "description": "text", "price": "cost"}))
    assert min(score(renamed.pairs, true)) > 0.9


@pytest.fixture(scope="module")
def translated():
    """Names in two made languages: words have the same stem, no whole word is shared, and columns have other names."""
    rng = np.random.default_rng(101)
    stems = ["".join(rng.choice(SYLLABLES, 4)) for _ in range(900)]
    rows = [rng.choice(stems, 3) for _ in range(120)]
    order = rng.permutation(len(rows))
    A = pd.DataFrame({"name": [" ".join(f"{stem}o" for stem in row) for row in rows]})
    B = pd.DataFrame({"label": [" ".join(f"{stem}ung" for stem in rows[k]) for k in order]})
    return A, B, np.column_stack([order, np.arange(len(order))])


def test_texts_without_a_common_word_or_column_name_are_compared_as_whole_rows(translated):
    A, B, true = translated
    columns = SharedColumns.of(A, B)
    assert columns
    assert columns.pairs == ()
    found = match(A, B)
    precision, recall = score(found.pairs, true)
    assert found.ok, found
    assert min(precision, recall) > 0.8
    assert found.linkage.fields[0] == "whole row"


@pytest.mark.parametrize("shared", [None, []])
def test_whole_rows_are_not_compared_where_the_user_forbids_it(translated, shared):
    A, B, _ = translated
    assert match(A, B, shared=shared).linkage is None


def test_numbers_of_other_names_are_not_compared_as_whole_rows():
    rng = np.random.default_rng(102)
    A, B = (pd.DataFrame({name: rng.integers(0, 900, 60)}) for name in ("length", "count"))
    assert not SharedColumns.of(A, B)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 50), st.floats(0, 50)), min_size=1, max_size=40))
def test_no_more_wrong_matches_are_expected_than_there_are_matches(densities):
    total, wrong = np.array(densities).T
    factor = limit_wrong(total, wrong)
    matches, expected = np.cumsum(total), factor * np.cumsum(wrong)
    assert 0.0 <= factor <= 1.0
    assert (expected <= np.maximum(matches + DEVIATIONS * np.sqrt(matches) + DEVIATIONS**2, 5.0) + 1e-9).all()


@pytest.mark.slow
def test_a_shuffled_column_is_dropped(products):
    A, B, true = products
    rng = np.random.default_rng(0)
    wide = [X.assign(code=[f"{k}{k + 7} {'abcdefghij'[k % 10] * 3}{k}" for k in range(len(X))]) for X in (A, B)]
    wide[1]["code"] = wide[0]["code"].to_numpy()[rng.permutation(len(A))]
    found = match(*wide)
    assert found.evidence.dropped == ("code",)
    assert '"code" not used' in found.sentence
    assert min(score(found.pairs, true)) > 0.9


@pytest.mark.slow
def test_two_columns_that_contradict_each_other_are_doubtful_until_pairs_decide(products):
    A, B, true = products
    rng = np.random.default_rng(0)
    codes = np.array([f"{k}{k + 7} {'abcdefghij'[k % 10] * 3}{k}" for k in range(len(A))])
    A, B = (X[["name"]].copy() for X in (A, B))
    A["code"], B["code"] = codes, codes[rng.permutation(len(A))]
    columns = SharedColumns.of(A, B)
    comparer = TableComparer.of(columns)
    agreement = comparer.compare(comparer.candidates())
    assert find_misleading_fields(comparer, agreement, NO_PAIRS, rng)[1] == ("name", "code")
    assert match(A, B).ok is not True
    with_pairs = match(A, B, true[:12])
    assert with_pairs.evidence.dropped == ("code",)
    assert min(score(with_pairs.pairs, true)) > 0.9


@pytest.mark.slow
def test_tables_without_a_common_row_are_not_matched(products):
    A = products[0]
    assert match(A[:40], A[40:], n_restarts=2).ok is not True
    words = pd.DataFrame({"name": [f"q{k} w{k * 7}" for k in range(40)], "description": "", "price": 1.0})
    assert match(A[:40], words, n_restarts=2).ok is not True


@pytest.mark.slow
def test_partly_overlapping_tables():
    A, B, true = make_products(n=150, overlap=0.45)
    alone = match(A, B)
    assert alone.ok is not False
    assert alone.evidence.null_share is not None
    found = match(A, B, true[:15])
    precision, recall = score(found.pairs, true)
    assert found.ok is True
    assert min(precision, recall) > 0.85
    assert abs(found.confidence.mean() - precision) < 0.1
    assert found.evidence.null_share is None


def test_known_pairs_are_returned_and_rejected_ones_never(products, found):
    A, B, true = products
    wrong = found.pairs[0]
    known = true[~(true == wrong).all(axis=1)][:20]
    again = match(A, B, known, not_pairs=wrong[None])
    pairs = set(map(tuple, again.pairs.tolist()))
    assert set(map(tuple, known.tolist())) <= pairs
    assert tuple(wrong.tolist()) not in pairs
    assert again.evidence.held_out.n == 6
    assert again.recall > 0.5
    assert min(score(again.pairs, true)) > 0.9


@pytest.mark.slow
def test_labels_forbid_pairs(products):
    A, B, true = products
    ys = np.arange(len(A)) % 2
    yt = np.full(len(B), -1)
    yt[true[:, 1]] = ys[true[:, 0]]
    yt[true[0, 1]] = 1 - ys[true[0, 0]]
    found = match(A, B, y_source=ys, y_target=yt)
    assert tuple(true[0].tolist()) not in set(map(tuple, found.pairs.tolist()))
    assert (ys[found.pairs[:, 0]] == yt[found.pairs[:, 1]]).all()


@pytest.mark.slow
def test_several_rows_of_a_may_share_a_row_of_b(products):
    A, B, true = products
    double = pd.concat([A, A[:40]], ignore_index=True)
    single, many = match(double, B), match(double, B, one_to_one=False)
    assert len(np.unique(single.pairs[:, 1])) == len(single)
    assert single.evidence.sharing > 10
    assert "one_to_one=False" in single.sentence
    truth = np.vstack([true, [(len(A) + i, j) for i, j in true.tolist() if i < 40]])
    assert min(score(many.pairs, truth)) > 0.9


def test_without_shared_columns_it_is_geometry_as_before():
    rng = np.random.default_rng(0)
    A = rng.gamma(0.3, size=(60, 8)) @ rng.normal(size=(8, 30))
    B = A @ rng.normal(size=(30, 25))
    auto, none = match(A, B), match(A, B, shared=None)
    np.testing.assert_array_equal(auto.pairs, none.pairs)
    np.testing.assert_array_equal(auto.confidence, none.confidence)
    assert auto.linkage is None
    assert auto.explain(0, 0).parts.keys() <= {"other features"}


@pytest.fixture(scope="module")
def two_views():
    """Numbers of the same 200 objects in two views, with 6 noisy columns that both have."""
    rng = np.random.default_rng(5)
    hidden = rng.normal(size=(200, 12))
    A, B = (np.tanh(hidden @ rng.normal(size=(12, 40))) for _ in range(2))
    S = hidden[:, :6]
    order = rng.permutation(200)
    return (
        A,
        B[order],
        S + 0.2 * rng.normal(size=S.shape),
        (S + 0.2 * rng.normal(size=S.shape))[order],
        np.argsort(order),
    )


def test_shared_numbers_join_the_maps(two_views):
    A, B, SA, SB, partner = two_views
    found = match(A, B, shared=(SA, SB))
    assert found.ok
    assert (partner[found.pairs[:, 0]] == found.pairs[:, 1]).mean() > 0.95
    assert len(found) > 150
    assert "shared columns" in found.evidence.fields


def test_large_collections_are_confirmed_too(two_views, monkeypatch):
    # With many cells the maps propose no candidates, and hubs are measured on a sample.
    monkeypatch.setattr(fusion, "MOST_CELLS", 100)
    A, B, SA, SB, partner = two_views
    found = match(A, B, shared=(SA, SB))
    assert found.linkage is not None
    assert (partner[found.pairs[:, 0]] == found.pairs[:, 1]).mean() > 0.9


@pytest.mark.slow
def test_permuted_numbers_are_never_believed(two_views):
    A, B, SA, SB, partner = two_views
    for seed in range(2):
        rng = np.random.default_rng(seed)
        found = match(A, B, shared=(SA, SB[rng.permutation(len(SB))]))
        assert found.linkage is None or found.ok is not True
    known = np.column_stack([np.arange(20), partner[:20]])
    assert match(A, B, known, shared=(SA, SB[rng.permutation(len(SB))])).linkage is None


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0.0, 1.0), max_size=12))
def test_accepted_matches_have_the_highest_expected_f1(values):
    p = np.array(values)
    accepted = accept_by_expected_f1(p)

    def expected(mask):
        return 2 * p[mask].sum() / max(mask.sum() + p.sum(), 1e-12)

    assert (p[accepted] >= 0.5).all()
    best = max((expected(p >= t) for t in p[p >= 0.5]), default=0.0)
    assert expected(accepted) == pytest.approx(best) if accepted.any() else best == 0.0


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 10_000))
def test_best_rivals_are_those_of_the_table(n, m, seed):
    rng = np.random.default_rng(seed)
    i, j = np.nonzero(rng.random((n, m)) < 0.6)
    s = rng.integers(0, 5, len(i)).astype(float)
    graph = CandidateGraph(i, j, (n, m))
    for side, group in enumerate((i, j)):
        for k, value in enumerate(graph.best_other(s, side)):
            others = s[(group == group[k]) & (np.arange(len(s)) != k)]
            # Of equal best ones, the first is compared with the second, and the others with the first.
            assert value == (others.max() if len(others) else -np.inf)
    matched = graph.find_matches(s, one_to_one=True)
    assert len(np.unique(i[matched])) == len(np.unique(j[matched])) == len(matched)


def test_probabilities_rise_with_the_score(found):
    linkage = found.linkage
    order = np.argsort(linkage.scores[linkage.matches])
    assert (np.diff(linkage.probability[order]) >= -1e-9).all()


def test_permuted_rows_give_permuted_probabilities(products):
    A, B, _ = products
    order = np.random.default_rng(3).permutation(len(B))
    results = []
    for table, place in ((B, np.arange(len(B))), (B.iloc[order], order)):
        comparer = TableComparer.of(SharedColumns.of(A, table))
        agreement = comparer.compare(comparer.candidates())
        linkage = fit_linkage(agreement, likeness(agreement), NO_PAIRS, np.zeros(len(agreement), dtype=bool))
        results.append(
            {(i, int(place[j])): p for (i, j), p in zip(linkage.pairs.tolist(), linkage.probability, strict=True)}
        )
    same = results[0].keys() & results[1].keys()
    assert len(same) > 0.97 * len(results[0])
    assert max(abs(results[0][pair] - results[1][pair]) for pair in same) < 0.05


@pytest.mark.parametrize(
    ("accepted", "claimed", "null_share", "confirmed", "contradiction", "ok"),
    [
        (80, 0.95, None, True, (), True),
        (10, 0.95, 0.01, True, (), True),
        (1, 0.95, 0.01, True, (), False),
        (4, 0.95, 0.025, True, (), None),
        (2, 0.95, None, True, (), None),  # a few rows that look the same may be all that there is
        (0, 0.0, None, True, (), False),
        (80, 0.57, None, True, (), None),  # hardly more right than wrong
        (80, 0.63, None, True, (), True),
        (80, 0.95, None, False, (), False),
        (80, 0.95, None, True, ("a", "b"), None),
    ],
)
def test_the_verdict_needs_more_than_chance(accepted, claimed, null_share, confirmed, contradiction, ok):
    seen = LinkageEvidence(
        100, 1000, accepted, claimed, null_share, 0, None, ("a", "b"), (), contradiction, confirmed
    )
    assert judge_linkage(seen) is ok


def test_a_few_matches_are_a_success_only_with_known_pairs():
    few = LinkageEvidence(50, 1000, 4, 0.99, 0.0, 0, None, ("a", "b"))
    assert judge_linkage(few) is None
    assert judge_linkage(replace(few, accepted=5)) is True
    assert judge_linkage(replace(few, known=10)) is True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"not_pairs": [[0, 999]]}, "not_pairs: expected B rows from 0 to 79, got 999"),
        ({"pairs": [[0, 1]], "not_pairs": [[0, 1]]}, "expected no pair that is also in pairs"),
        ({"shared": [("name", "nothing")]}, "expected columns of the second table"),
    ],
)
def test_bad_arguments_are_one_sentence(products, arguments, message):
    with pytest.raises(InputError, match=message):
        match(*products[:2], **arguments)
    with pytest.raises(InputError, match="expected"):
        match(products[0][:0], products[1])
