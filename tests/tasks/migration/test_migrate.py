"""What an adapter learns, and what it says of itself."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.linalg import orthogonal_procrustes
from sklearn.linear_model import Ridge

import isthmus
from isthmus import InputError, KnownPairs
from isthmus.evidence.held_out import Answer
from isthmus.maps.regression import fit_ridge
from isthmus.tasks.migration.evidence import Advice

KINDS = ("ridge", "procrustes", "low_rank", "kernel_ridge")


def two_models(seed=0, n=300, d_old=8, d_new=12, noise=0.1, inner=6):
    rng = np.random.default_rng(seed)
    meaning = rng.normal(size=(n, inner))
    return tuple(
        meaning @ rng.normal(size=(inner, d)) + noise * rng.normal(size=(n, d)) + rng.normal(size=d)
        for d in (d_old, d_new)
    )


@pytest.fixture(scope="module")
def spaces():
    return two_models()


@pytest.fixture(scope="module")
def adapter(spaces):
    return isthmus.migrate(*spaces)


def test_ridge_is_that_of_scikit_learn_both_ways(spaces, adapter):
    old, new = spaces
    for X, Y, mapped in ((new, old, adapter.to_old(new)), (old, new, adapter.to_new(old))):
        penalty = fit_ridge(X, Y).penalty
        np.testing.assert_allclose(mapped, Ridge(alpha=penalty).fit(X, Y).predict(X), atol=1e-6)


def test_procrustes_is_that_of_scipy():
    old, new = two_models(d_new=8)
    W = isthmus.migrate(old, new, kind="procrustes").old_from_new.W
    A, B = new - new.mean(axis=0), old - old.mean(axis=0)
    R, total = orthogonal_procrustes(A, B)
    np.testing.assert_allclose(W, R * total / np.sum(A**2), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_the_new_model_find_their_object_in_the_old_index(spaces, kind):
    old, new = spaces
    if kind == "procrustes":  # a rotation, and noise
        rng = np.random.default_rng(5)
        new = old @ np.linalg.qr(rng.normal(size=(12, 8)))[0].T + 0.1 * rng.normal(size=(300, 12))
    adapter = isthmus.migrate(old, new[:150], pairs=np.c_[:150, :150], kind=kind)
    Q, G = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (adapter.to_old(new[150:]), old))
    found = (Q @ G.T).argmax(axis=1) == np.arange(150, 300)
    last = adapter.recall.last
    assert found.mean() > 0.7
    assert last.at_1.low - 0.05 <= found.mean() <= last.at_1.high + 0.05, (
        "rows never seen are found as often as it says"
    )
    assert adapter.recall.controls["shuffled pairs"].at_10.high < 0.2
    assert adapter.kind == kind


def test_pairs_in_any_order_and_form_are_the_same(spaces, adapter):
    old, new = spaces
    order = np.random.default_rng(1).permutation(len(new))
    ids = [f"row {i}" for i in range(len(old))]
    by_number = isthmus.migrate(old, new[order], pairs=np.c_[order, np.arange(len(new))])
    by_id = isthmus.migrate(old, new[order], pairs=(ids, [ids[i] for i in order]))
    for other in (by_number, by_id):
        np.testing.assert_allclose(other.to_old(new), adapter.to_old(new), atol=1e-9)


def test_a_pair_of_no_weight_hardly_counts(spaces):
    old, new = spaces
    wrong = old.copy()
    wrong[:20] = 100.0
    rows = np.repeat(np.arange(len(old))[:, None], 2, axis=1)
    weights = np.r_[np.full(20, 1e-6), np.ones(len(old) - 20)]
    light = isthmus.migrate(wrong, new, KnownPairs(rows, weights))
    without = isthmus.migrate(old[20:], new[20:])
    np.testing.assert_allclose(light.to_old(new), without.to_old(new), atol=0.05)


def test_the_same_seed_gives_the_same_adapter_and_arguments_stay_as_they_are(spaces, adapter):
    old, new = (M.copy() for M in spaces)
    again = isthmus.migrate(old, new)
    np.testing.assert_array_equal(again.to_old(new), adapter.to_old(new))
    assert again.recall.figures == adapter.recall.figures
    assert again.recall.controls == adapter.recall.controls
    for mine, given in zip((old, new), spaces, strict=True):
        np.testing.assert_array_equal(mine, given)


@pytest.mark.parametrize("kind", KINDS)
def test_units_do_not_matter(spaces, kind):
    old, new = spaces
    plain, scaled = isthmus.migrate(old, new, kind=kind), isthmus.migrate(1e40 * old, 1e-30 * new, kind=kind)
    np.testing.assert_allclose(scaled.to_old(1e-30 * new) / 1e40, plain.to_old(new), atol=1e-6)
    np.testing.assert_allclose(scaled.recall.at_10, plain.recall.at_10, atol=0.01)
    assert scaled.threshold(0.5) == pytest.approx(plain.threshold(0.5), abs=1e-4)


@pytest.mark.parametrize(
    ("old_unit", "new_unit", "form"),
    [
        (1e-30, 1.0, np.asarray),
        (1.0, 1e-30, sp.csr_matrix),
        (1e-20, 1e-55, sp.csr_matrix),
        (1e30, 1e-20, np.asarray),
    ],
)
def test_tiny_rows_are_found_as_often(spaces, adapter, old_unit, new_unit, form):
    old, new = spaces
    tiny = isthmus.migrate(form(old_unit * old), form(new_unit * new), kind="ridge")
    for name in ("at_1", "at_10", "overlap"):
        np.testing.assert_allclose(getattr(tiny.recall, name), getattr(adapter.recall, name), atol=0.01)
    for name, control in adapter.recall.controls.items():
        assert tiny.recall.controls[name].at_10.value == pytest.approx(control.at_10.value, abs=0.01)
    scores = tiny.similarity(form(new_unit * new[:9]), form(old_unit * old[:9]))
    np.testing.assert_allclose(scores, adapter.similarity(new[:9], old[:9]), atol=1e-4)


def test_sparse_rows_are_the_dense_ones(spaces, adapter):
    old, new = spaces
    sparse = isthmus.migrate(sp.csr_matrix(old), sp.csr_matrix(new))
    np.testing.assert_allclose(sparse.to_old(sp.csr_matrix(new)), adapter.to_old(new), atol=1e-9)
    np.testing.assert_allclose(sparse.recall.at_1, adapter.recall.at_1, atol=0.02)
    np.testing.assert_allclose(
        sparse.similarity(sp.csr_matrix(new), sp.csr_matrix(old)), adapter.similarity(new, old), atol=1e-5
    )


def test_the_curve_counts_pairs(adapter):
    recall = adapter.recall
    assert recall.n_pairs == (30, 100, 240)
    assert recall.at_1.shape == recall.at_10.shape == recall.overlap.shape == (3, 3)
    for curve in (recall.at_1, recall.at_10, recall.overlap):
        assert (curve[:, 1] <= curve[:, 0]).all()
        assert (curve[:, 0] <= curve[:, 2]).all()
    assert (recall.n_queries, recall.n_gallery, recall.n_neighbours) == (300, 300, 300)


def test_few_pairs_say_nothing_of_neighbours(spaces):
    old, new = spaces
    adapter = isthmus.migrate(old, new[:60], pairs=np.c_[:60, :60])
    assert adapter.recall.overlap is None
    assert adapter.recall.last.overlap is None
    assert adapter.advice.action == "bridge until re-embedded"
    assert "too few" in adapter.advice.reason


def test_both_ways_is_the_sum_of_two_cosines(spaces, adapter):
    old, new = spaces

    def cosines(X, Y):
        return (X / np.linalg.norm(X, axis=1, keepdims=True)) @ (Y / np.linalg.norm(Y, axis=1, keepdims=True)).T

    a, b = old.mean(axis=0), new.mean(axis=0)
    expected = cosines(adapter.to_old(new) - a, old - a) + cosines(new - b, adapter.to_new(old) - b)
    np.testing.assert_allclose(adapter.similarity(new, old), expected, atol=1e-5)


def test_auto_takes_a_curved_map_only_where_it_is_better():
    rng = np.random.default_rng(3)
    old = rng.normal(size=(250, 3))
    bent = np.c_[old**3, np.abs(old), np.sin(2 * old)]
    assert isthmus.migrate(bent, old, kind="auto").kind == "kernel_ridge"
    straight = old @ rng.normal(size=(3, 5))
    assert isthmus.migrate(straight, old, kind="auto").kind != "kernel_ridge"


def test_shared_columns_are_a_control(spaces):
    old, new = spaces
    a = pd.DataFrame(old, columns=[f"c{i}" for i in range(8)])
    b = pd.DataFrame(np.c_[old[:, [5, 2, 3]] * 2.0, new], columns=["c5", "c2", "c3", *(f"n{i}" for i in range(12))])
    adapter = isthmus.migrate(a, b)
    assert adapter.recall.controls["shared columns"].at_1.value == 1.0
    assert "shared columns" not in isthmus.migrate(old, new).recall.controls
    adapter.to_old(b)
    with pytest.raises(InputError, match="expected the columns"):
        adapter.to_old(b[b.columns[::-1]])
    assert adapter.similarity(b[:2], a[:3]).shape == (2, 3)
    with pytest.raises(InputError, match="X_new: expected the columns in the order"):
        adapter.similarity(b[b.columns[::-1]], a)
    with pytest.raises(InputError, match="X_old: expected the columns seen in fit"):
        adapter.similarity(b, a.rename(columns={"c1": "other"}))


def test_many_pairs_and_a_large_index_are_sampled(monkeypatch):
    monkeypatch.setattr("isthmus.tasks.migration.engine.MOST_GALLERY", 400)
    old, new = two_models(n=1500)
    adapter = isthmus.migrate(old, new, max_pairs=1100)
    recall = adapter.recall
    assert adapter.n_pairs == 1100
    assert recall.n_queries == 220, "one fold"
    assert recall.n_gallery == 400
    assert 220 <= recall.n_neighbours <= 400
    assert recall.last.at_10.value > 0.9


def test_progress_is_told(spaces, capsys, monkeypatch):
    said = []
    isthmus.migrate(*spaces, kind="ridge", progress=said.append)
    assert said[0] == "learning from 30 pairs"
    assert said[-1] == "learning from all 300 pairs"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    isthmus.migrate(*spaces, progress=True)
    assert "migrate: learning from all 300 pairs" in capsys.readouterr().err.splitlines()[-1]


def test_what_it_says_of_itself(adapter):
    assert isinstance(adapter, Answer)
    assert repr(adapter) == "<Adapter, ridge: 12 new columns to 8 old ones from 300 pairs>"
    assert str(adapter.recall).startswith("300 held-out pairs among 300 rows, learned from 240: recall@1 ")
    assert str(adapter) == adapter.sentence == str(adapter.advice)
    assert adapter.evidence is adapter.recall


@pytest.mark.parametrize(
    ("action", "ok"), [("bridge", True), ("bridge until re-embedded", None), ("re-embed", False)]
)
def test_an_adapter_is_ok_where_the_bridge_may_stay(adapter, monkeypatch, action, ok):
    monkeypatch.setattr("isthmus.tasks.migration.result.give_advice", lambda recall: Advice(action, "why."))
    assert adapter.ok is ok
    assert str(adapter) == f"{action}: why."


X = np.random.default_rng(0).normal(size=(20, 3))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"new": X[:19]}, 'pairs: expected equally many rows for "rows", got 20 and 19.'),
        ({"pairs": [[0, 0]]}, "pairs: expected at least 10 for an adapter, got 1."),
        ({"pairs": [[0, 20]]}, "pairs: expected new rows from 0 to 19, got 20."),
        ({"pairs": [[0, 1], [0, 2]]}, "pairs: expected each row in one pair at most, got old row 0 in 2."),
        ({"pairs": "columns"}, "pairs: expected row numbers"),
        ({"pairs": (range(20), [0] * 20)}, "pairs: expected each id once among the new ids, got 0 in two rows."),
        ({"kind": "neural"}, "kind: expected one of 'ridge', "),
        ({"max_pairs": 3}, "max_pairs: expected a whole number of at least 10, got 3."),
        ({"old": np.full((20, 2), np.nan)}, "old: expected finite numbers"),
        ({"new": [["a"]]}, "new: expected numbers"),
        ({"random_state": "x"}, "random_state: expected"),
        ({"progress": 3}, "progress: expected True, False or a function, got 3."),
    ],
)
def test_bad_arguments_get_one_sentence(arguments, sentence):
    with pytest.raises(InputError) as caught:
        isthmus.migrate(**{"old": X, "new": X[:, :2]} | arguments)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [np.zeros((12, 3)), np.ones((12, 3)), X[:12, :1] * np.ones(3)])
def test_rows_without_variation_are_no_error_and_no_bridge(rows, kind):
    with np.errstate(all="raise", under="ignore"):
        adapter = isthmus.migrate(rows, X[:12], kind=kind)
    assert np.isfinite(adapter.to_old(X)).all()
    assert np.isfinite(adapter.to_new(rows)).all()
    assert adapter.advice.action == "re-embed"
