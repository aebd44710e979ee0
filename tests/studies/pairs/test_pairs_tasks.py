"""Scores of the study of known pairs: right on tables that can be checked by hand, and honest controls."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import rankdata
from small_pairs import NUMBERS, TEXT, retrieval, small_study, transfer, use_small_data

from isthmus import RidgeMap
from isthmus.study.design import Entrant, Fit
from isthmus.study.trial_rows import Trial
from isthmus.tasks.matching.result import Matching
from studies.pairs import data, matching, migration
from studies.pairs.controls import Chance, ClassOracle, SharedColumns
from studies.pairs.ranking import csls, partner_scores
from studies.pairs.retrieval import Retrieval, as_the_library_does, by_queries, plain


@pytest.fixture
def small(monkeypatch):
    use_small_data(monkeypatch)
    yield
    data.views.cache_clear()


# --- ranks ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(arrays(float, (12, 12), elements=st.floats(-1, 1), unique=True))
def test_without_ties_scores_are_those_of_ranks(S):
    ranks = [rankdata(-T, axis=1)[np.arange(12), np.arange(12)] for T in (S, S.T)]
    found, ranks = partner_scores(S, S.T), np.concatenate(ranks)
    assert found["recall@1"] == pytest.approx(np.mean(ranks <= 1))
    assert found["recall@10"] == pytest.approx(np.mean(ranks <= 10))
    assert found["mrr"] == pytest.approx(np.mean(1 / ranks))


@pytest.mark.slow
@given(arrays(np.int64, (5, 5), elements=st.integers(0, 2)), st.integers(0, 100))
def test_ties_are_worth_the_mean_of_their_orders(S, seed):
    """The mean over many small disturbances, which order the ties at random, comes to the same."""
    rng = np.random.default_rng(seed)
    noisy = [S + 1e-6 * rng.random(S.shape) for _ in range(600)]
    drawn = [partner_scores(T, T.T) for T in noisy]
    for name, value in partner_scores(S.astype(float), S.T.astype(float)).items():
        assert value == pytest.approx(np.mean([each[name] for each in drawn]), abs=0.08)


def test_csls_demotes_a_hub_and_leaves_equal_neighbourhoods_alone():
    hub = np.array([[0.5, 0.6, 0.0], [0.0, 0.9, 0.1], [0.0, 0.6, 0.5]])
    assert hub.argmax(axis=1).tolist() == [1, 1, 1]
    assert csls(hub, k=2).argmax(axis=1).tolist() == [0, 1, 2]
    circular = np.array([[3.0, 1.0, 2.0], [2.0, 3.0, 1.0], [1.0, 2.0, 3.0]])
    np.testing.assert_allclose(csls(circular, k=2), 2 * circular - 5.0)


@pytest.mark.usefixtures("small")
def test_tables_have_the_order_of_a_search_and_directions_differ_only_by_hubs():
    rows = small_study(retrieval).rows(Trial(NUMBERS, "60", 100))
    model = RidgeMap().fit(rows.X_source, None, rows.X_target, None, pairs=rows.pairs)
    forth, back = as_the_library_does(Fit(model, rows))
    for table, queries, gallery, domains in (
        (forth, rows.Q_source, rows.Q_target, ("source", "target")),
        (back, rows.Q_target, rows.Q_source, ("target", "source")),
    ):
        np.testing.assert_array_equal(table.argmax(axis=1), model.search(queries, gallery, 1, domains)[1][:, 0])
    forth, back = plain(Fit(model, rows))
    np.testing.assert_allclose(forth, back.T, atol=1e-10)
    np.testing.assert_allclose(by_queries(Fit(model, rows))[0], csls(forth))


# --- retrieval ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
def test_systems_find_partners_and_controls_do_not():
    board = small_study(retrieval).run([100, 101], variants=("60",))
    means = {name: board.scores(name).mean(axis=1) for name in board.design.columns}
    assert (means["ridge"] > 0.8).all()
    assert (means["cca"] > 0.8).all()
    assert (means["ridge, shuffled pairs"] < 0.15).all()
    assert means["random"] == pytest.approx(1 / 60, abs=1e-4)
    assert means["class oracle"] == pytest.approx(1 / 20, abs=0.01)
    assert np.isnan(means["shared columns"][0])  # takes part where columns have names in common
    assert means["shared columns"][1] > 0.3
    within = board.scores("ridge, pairs shuffled within classes").mean(axis=1)
    assert (within < means["ridge"] - 0.3).all()
    for name in ("recall@10", "mrr"):
        assert (board.figures("ridge", name) >= board.scores("ridge") - 1e-9).all()


@pytest.mark.usefixtures("small")
def test_rankings_that_learn_nothing_by_hand():
    rows = small_study(retrieval).rows(Trial(TEXT, "10", 100))
    assert not Chance().similarities(rows).any()
    np.testing.assert_array_equal(ClassOracle().similarities(rows)[0], rows.y_test == rows.y_test[0])
    A, B = (Q.toarray()[:, k] for Q, k in zip((rows.Q_source, rows.Q_target), rows.shared.T, strict=True))
    lengths = np.outer(np.linalg.norm(A, axis=1), np.linalg.norm(B, axis=1))
    expected = np.divide(A @ B.T, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    np.testing.assert_allclose(SharedColumns().similarities(rows), expected, atol=1e-12)


@pytest.mark.usefixtures("small")
def test_a_fit_without_labels_is_what_is_scored():
    seen = {}

    class Watching(RidgeMap):
        def fit(self, X_source, y_source, X_target, y_target, *, pairs=None):
            seen.update(y=(y_source, y_target), pairs=pairs)
            return super().fit(X_source, y_source, X_target, y_target, pairs=pairs)

    rows = small_study(retrieval).rows(Trial(NUMBERS, "10", 100))
    Retrieval().fit(Watching(), rows)
    assert seen["y"] == (None, None)
    np.testing.assert_array_equal(seen["pairs"], rows.pairs)


# --- label transfer -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_labels_go_through_pairs_and_wrong_pairs_carry_none():
    board = small_study(transfer).run([100, 101], variants=("60",))
    assert (board.scores("ridge").mean(axis=1) > 0.7).all()
    assert (board.scores("ridge, shuffled pairs").mean(axis=1) < 0.6).all()
    assert (board.scores(f"{transfer.COPIED}, SVM").mean(axis=1) > 0.6).all()
    assert board.scores("largest class").mean() == pytest.approx(1 / 3, abs=0.1)


# --- matching and migration -----------------------------------------------------------------------------------------


def test_scores_of_a_matching_by_hand():
    """Two of three unknown partners are the nearest, one of them is returned, and so is a row without a partner."""
    model = matching.Matched()
    model.matching_ = Matching(
        pairs=np.array([[0, 7], [3, 3], [4, 4]]), score=np.ones(3), confidence=np.array([0.9, 0.6, 1.0]),
        nearest=np.array([7, 6, 5, 3, 4]), shape=(5, 9), ok=None, sentence="", evidence=None,
    )  # fmt: skip
    rows = matching.TwoCollections(
        np.eye(5), np.eye(5), np.array([7, 6, 1, -1, 4]), np.array([[4, 4]]), np.zeros(5), np.zeros(5)
    )
    score, others = matching.Match().score(Entrant("match", matching.Matched), "match", Fit(model, rows))
    assert score == pytest.approx(2 / 3)
    assert others == {
        "precision": 0.5,
        "recall": pytest.approx(1 / 3),
        "returned": 0.5,
        "confidence": 0.75,
        "worked": 0.5,
    }


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_a_matching_with_pairs_finds_partners_and_wrong_pairs_are_called_a_failure():
    study = replace(matching.study(), rows=matching.MatchingDraw({NUMBERS: 150}), groups=(NUMBERS,))
    board, half = (study.run([100], variants=(variant,)) for variant in ("all, 30", "half, 30"))
    assert board.scores(matching.MATCH).item() > 0.9
    assert board.figures(matching.MATCH, "precision").item() > 0.9
    assert board.figures(matching.MATCH, "worked").item() == 1.0
    assert board.scores(matching.UNREFINED).item() > 0.5
    assert half.figures(matching.WRONG, "worked").item() == 0.0
    assert half.scores(matching.WRONG).item() < 0.2


def made_texts(folder=None):
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(900, 8))
    A, B = (hidden @ rng.normal(size=(8, d)) for d in (12, 14))
    return data.Paired(A, B, np.zeros(900, dtype=int), data.shared_columns((), ()))


def test_an_adapter_finds_what_the_new_model_would(monkeypatch):
    monkeypatch.setattr(migration, "_texts", made_texts)
    monkeypatch.setattr(migration, "QUERIES", 40)
    rows = migration.MigrationDraw()(Trial(migration.GROUPS[1], "100", 100))
    assert rows.old.shape == (860, 14)
    assert rows.new.shape == (100, 12)
    found = {}
    for entrant in migration.ENTRANTS:
        if entrant.name in ("ridge", "ridge, shuffled pairs", migration.OLD):
            model, given = entrant.configure_model({}, 0), rows if entrant.rows is None else entrant.rows(rows, 0)
            migration.Search().fit(model, given)
            found[entrant.name] = migration.Search().score(entrant, entrant.name, Fit(model, given))
    assert found["ridge"][1]["recall@1"] == 1.0
    assert found["ridge"][0] > 2 * found["ridge, shuffled pairs"][0]
    assert found[migration.OLD][1]["recall@1"] == 1.0
    assert found["ridge"][1]["advice"] > found["ridge, shuffled pairs"][1]["advice"] == 0.0


def test_labels_are_given_for_so_many_rows_per_class():
    y = np.repeat([3, 5, 8], [6, 2, 4])
    rows = matching.TwoCollections(np.eye(12), np.eye(12), np.arange(12), np.zeros((0, 2), int), y, y)
    assert rows.labels == {}
    given = matching.WithLabels(3)(rows, 100).labels
    assert (given["y_source"] == y).all()
    known = given["y_target"] >= 0
    assert (given["y_target"][known] == y[known]).all()
    assert np.bincount(given["y_target"][known], minlength=9)[[3, 5, 8]].tolist() == [3, 2, 3]
    assert (matching.WithLabels(None)(rows, 100).labels["y_target"] == y).all()
