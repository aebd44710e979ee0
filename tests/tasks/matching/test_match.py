"""The whole of ``match``: what it finds, what it says, and what it refuses."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from conftest import one_sentence
from isthmus import InputError, match
from isthmus.evidence.held_out import Answer
from isthmus.tasks.matching import refinement


def make_views(n=200, extra=0, seed=0, noise=0.0, factors=8):
    """Rows of A, rows of B (in another order, with other columns), and the true partner of each row of A or -1."""
    rng = np.random.default_rng(seed)
    hidden = rng.gamma(0.3, size=(n + 2 * extra, factors))
    left, right = hidden @ rng.normal(size=(factors, 30)), hidden @ rng.normal(size=(factors, 25))
    left, right = (X + noise * rng.normal(size=X.shape) for X in (left, right))
    in_a, in_b = np.arange(n + extra), rng.permutation(np.r_[np.arange(n), np.arange(n + extra, n + 2 * extra)])
    place = {o: k for k, o in enumerate(in_b)}
    true = np.array([place.get(o, -1) for o in in_a])
    return SimpleNamespace(A=left[in_a], B=right[in_b], true=true, has=np.flatnonzero(true >= 0))


@pytest.fixture(scope="module")
def views():
    return make_views()


def known(views, p):
    return np.stack([views.has[:p], views.true[views.has[:p]]], axis=1)


def precision(found, views):
    return (views.true[found.pairs[:, 0]] == found.pairs[:, 1]).mean()


@pytest.fixture(scope="module")
def found(views):
    return match(views.A, views.B)


@pytest.fixture(scope="module")
def half():
    """Half of the rows have a partner."""
    return make_views(n=150, extra=75, seed=1, noise=0.02)


def test_without_any_pair_the_rows_find_their_partners(views, found):
    assert found.ok is True
    assert len(found) > 180
    assert precision(found, views) == 1.0
    assert (found.nearest == views.true).mean() > 0.95
    assert isinstance(found, Answer)
    assert str(found) == found.sentence
    assert repr(found) == f"<Matching of 200 and 200 rows: {len(found)} pairs, ok=True>"
    assert found.sentence.startswith("matched: ")


def test_the_verdict_claims_the_mean_confidence_of_the_new_pairs(half):
    pairs = known(half, 16)
    found = match(half.A, half.B, pairs)
    new = ~np.isin(found.pairs[:, 0], pairs[:, 0])
    assert f"about {found.confidence[new].mean():.0%} of the new pairs should be right" in found.sentence


def test_pairs_come_in_order_once_per_row_with_scores_and_confidences(found):
    i, j = found.pairs.T
    assert (np.diff(i) > 0).all()
    assert len(set(j)) == len(j)
    assert found.score.shape == found.confidence.shape == (len(found),)
    assert ((found.confidence >= 0.5) & (found.confidence <= 1.0)).all()
    np.testing.assert_array_equal(found.partners[i], j)
    assert (found.partners < 0).sum() == 200 - len(found)


@pytest.mark.slow
def test_the_same_number_gives_the_same_matching_and_arguments_are_left_alone(views, found):
    A, B = views.A.copy(), views.B.copy()
    again = match(A, B)
    alone = match(A, B, n_jobs=1)
    np.testing.assert_array_equal(alone.pairs, found.pairs)
    np.testing.assert_array_equal(again.pairs, found.pairs)
    np.testing.assert_array_equal(again.confidence, found.confidence)
    np.testing.assert_array_equal(A, views.A)
    np.testing.assert_array_equal(B, views.B)


def test_known_pairs_are_returned_and_some_are_held_out(views):
    pairs = known(views, 30)
    found = match(views.A, views.B, pairs)
    assert found.ok is True
    assert found.evidence.held_out.n == len(found.held_out_pairs) == 10
    assert set(map(tuple, found.held_out_pairs)) < set(map(tuple, pairs))
    assert found.recall >= 0.9
    assert found.recall == found.evidence.held_out.at_1.value
    assert found.evidence.shuffled.at_1.value <= 0.2
    np.testing.assert_array_equal(found.partners[pairs[:, 0]], pairs[:, 1])
    assert (found.confidence[np.isin(found.pairs[:, 0], pairs[:, 0])] == 1.0).all()
    assert precision(found, views) == 1.0


@pytest.mark.parametrize("p", [8, 30])
def test_wrong_pairs_are_told(views, p):
    pairs = known(views, p)
    found = match(views.A, views.B, np.stack([pairs[:, 0], np.roll(pairs[:, 1], 1)], axis=1))
    assert found.ok is False
    assert len(found) == 0
    assert "failed" in str(found)


def test_unrelated_collections_fail_and_return_nothing_unless_asked():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(120, 8)), rng.normal(size=(90, 6))
    found = match(A, B)
    assert found.ok is False
    assert found.pairs.shape == (0, 2)
    every = match(A, B, keep="all")
    assert 0 < len(every) <= 90
    assert every.ok is False


def test_rows_without_a_partner_are_left_out(half):
    found = match(half.A, half.B, known(half, 30))
    assert found.ok is True
    assert precision(found, half) > 0.85
    assert 120 <= len(found) <= 175
    assert half.has.size == 150 < len(half.A) == 225


def test_more_confidence_means_fewer_matches(half):
    pairs = known(half, 30)
    few, many = (match(half.A, half.B, pairs, min_confidence=c) for c in (0.9, 0.1))
    assert set(map(tuple, few.pairs)) < set(map(tuple, many.pairs))


def test_several_rows_may_share_a_partner(views):
    A = np.vstack([views.A, views.A[:20] * 1.01])
    one, several = (match(A, views.B, known(views, 20), one_to_one=way) for way in (True, False))
    assert len(set(one.pairs[:, 1])) == len(one)
    assert (several.nearest[200:] == views.true[:20]).mean() > 0.8
    assert len(several) > len(set(several.pairs[:, 1]))


def test_collections_of_different_size(views):
    rows = np.flatnonzero(views.true < 140)
    pairs = np.stack([rows[:20], views.true[rows[:20]]], axis=1)
    found = match(views.A, views.B[:140], pairs)
    turned = match(views.B[:140], views.A, pairs[:, ::-1])
    assert found.shape == turned.shape[::-1] == (200, 140)
    assert precision(found, views) > 0.95
    assert len(found) > 110
    assert (views.true[turned.pairs[:, 1]] == turned.pairs[:, 0]).mean() > 0.95


def test_sparse_rows_and_frames_are_taken(views):
    pd = pytest.importorskip("pandas")
    A, B = np.maximum(views.A, 0.0), np.maximum(views.B, 0.0)
    ids = np.arange(200), np.empty(200)
    ids[1][views.true] = np.arange(200)
    ids[1][30:] = np.nan
    made = match(sp.csr_matrix(A), pd.DataFrame(B), ids)
    assert made.evidence.known == 30
    assert made.ok is True


@pytest.mark.slow
def test_labels_forbid_what_they_contradict(views):
    y = np.arange(200) % 2
    yt = np.empty(200, dtype=int)
    yt[views.true] = y
    swapped = match(views.A, views.B, y_source=y, y_target=1 - yt, keep="all", one_to_one=False)
    assert (y[swapped.pairs[:, 0]] == (1 - yt)[swapped.pairs[:, 1]]).all()
    helped = match(views.A, views.B, y_source=y, y_target=yt)
    assert precision(helped, views) == 1.0
    assert helped.ok is True


def test_no_forbidden_pair_is_returned_even_if_all_are_asked_for(views):
    y = np.arange(200) % 4
    yt = np.where(np.arange(200) % 2, 4, 0)
    found = match(views.A, views.B, y_source=y, y_target=yt, keep="all", one_to_one=False, n_restarts=2)
    np.testing.assert_array_equal(found.pairs[:, 0], np.flatnonzero(y == 0))
    assert (yt[found.pairs[:, 1]] == 0).all()
    assert (found.nearest[y > 0] == -1).all()


def test_without_refinement_only_the_known_pairs_are_learned_from(views):
    found = match(views.A, views.B, known(views, 40), refine=False)
    assert found.ok is True
    assert precision(found, views) > 0.95


def test_scaled_columns_need_no_scaling(views):
    usual = match(views.A, views.B, known(views, 20))
    scaled = (StandardScaler().fit_transform(X) for X in (views.A, views.B))
    given = match(*scaled, known(views, 20), scale=False)
    np.testing.assert_array_equal(given.nearest, usual.nearest)


def test_tiny_rows_are_matched_as_others_are(views):
    options = {"scale": False, "refine": False}
    tiny, usual = (match(size * views.A, views.B, known(views, 30), **options) for size in (1e-30, 1.0))
    np.testing.assert_array_equal(tiny.nearest, usual.nearest)


@pytest.mark.parametrize("p", [0, 1, 30])
def test_one_column_on_both_sides_is_no_error(p):
    x = np.random.default_rng(0).gamma(0.3, size=(60, 1))
    found = match(x, -2.0 * x, np.stack([np.arange(p)] * 2, axis=1), n_restarts=2)
    assert found.ok is False
    assert len(found) == 0


def test_one_known_pair_is_no_error(views):
    found = match(views.A[:60], views.B, known(views, 1), n_restarts=2)
    assert found.evidence.known == 1


@pytest.mark.parametrize("options", [{}, {"one_to_one": False}, {"refine": False}, {"keep": "all"}])
def test_where_all_rows_are_known_nothing_is_left_to_match(views, options):
    found = match(views.A, views.B, known(views, 200), **options)
    np.testing.assert_array_equal(found.pairs, known(views, 200))
    np.testing.assert_array_equal(found.nearest, views.true)
    assert np.isfinite(found.score).all()
    assert (found.confidence == 1.0).all()
    assert found.ok is True
    assert "no row is left to match, because all rows of A are in known pairs" in str(found)
    assert found.evidence is found.recall is None
    assert found.baseline.columns == 0


def test_where_all_rows_of_one_side_are_known_no_other_is_matched(views):
    A, B, pairs = views.A[::-1], views.B[views.true[::-1]][:30], np.stack([np.arange(30)] * 2, axis=1)
    found, turned = match(A, B, pairs[::-1]), match(B, A, pairs)
    for matching, side in ((found, "B"), (turned, "A")):
        np.testing.assert_array_equal(matching.pairs, pairs)
        assert f"all rows of {side}" in str(matching)
    assert (found.partners[30:] == -1).all()


def test_many_rows_are_refined_on_a_sample_first(views, monkeypatch):
    monkeypatch.setattr(refinement, "SAMPLE_CELLS", 120 * 150)
    monkeypatch.setattr(refinement, "SAMPLED", (120, 150))
    monkeypatch.setattr(refinement, "MANY", 1)
    found = match(views.A, views.B, known(views, 30))
    assert found.evidence.held_out.n == 10
    assert found.ok is True
    assert (found.nearest == views.true).mean() > 0.95


def test_progress_is_told_and_an_interruption_passes(views, capsys):
    told = []
    match(views.A, views.B, n_restarts=2, progress=lambda what, rounds: told.append((what, rounds)))
    assert {what for what, _ in told} >= {"coarse to fine", "flat", "control", "restart", "held-out rows"}
    assert [rounds for _, rounds in told] == list(range(1, len(told) + 1))

    def interrupted(what, rounds):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        match(views.A, views.B, progress=interrupted)
    match(views.A, views.B, n_restarts=2, progress=True)
    assert capsys.readouterr().out == ""


A, B = np.random.default_rng(0).normal(size=(2, 30, 4))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"A": A[:5]}, "A: expected at least 20"),
        ({"B": np.full((30, 4), np.nan)}, "B: expected finite"),
        ({"B": np.ones((30, 4))}, "B: expected rows that differ"),
        ({"pairs": [[0, 30]]}, "pairs: expected B rows from 0 to 29"),
        ({"pairs": [[0, 1], [0, 1]]}, "pairs: expected each pair once"),
        ({"pairs": [[0, 1], [0, 2]]}, "pairs: expected each row in one pair"),
        ({"pairs": [[0, 1], [0, 2]], "one_to_one": False}, "pairs: expected each row of A in one pair"),
        ({"pairs": "columns"}, "pairs: expected row numbers"),
        ({"refine": False}, "refine: expected True where no pairs are known"),
        ({"refine": False, "pairs": []}, "refine: expected True where no pairs are known"),
        ({"refine": 1}, "refine: expected True or False"),
        ({"one_to_one": "yes"}, "one_to_one: expected True or False"),
        ({"keep": "most"}, "keep: expected one of"),
        ({"min_confidence": 1.5}, "min_confidence: expected a number"),
        ({"n_restarts": 1}, "n_restarts: expected a whole number"),
        ({"y_source": [1, 2]}, "y_source: expected shape"),
        ({"scale": "no"}, "scale: expected True or False"),
        ({"n_jobs": 0}, "n_jobs: expected a whole number"),
        ({"random_state": -1}, "random_state: expected"),
        ({"progress": "yes"}, "progress: expected"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(arguments, name):
    with pytest.raises(InputError, match="^" + name) as caught:
        match(**{"A": A, "B": B, **arguments})
    assert one_sentence(caught)
