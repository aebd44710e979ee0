"""Rows of the study of systems: nobody sees what it should not, and everyone sees the same."""

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus._core.validation import UNLABELLED
from isthmus.study.trial_rows import Trial
from studies.systems import rows as module
from studies.systems.data import Sides
from studies.systems.preparation import Reduced
from studies.systems.rows import Draw, Sees, named_by_source
from studies.views import Views, draw_split, take_rows

PAIR, N_CLASSES = "small", 6


def small(n=360, *, text=False, **facts):
    """Two descriptions of the same objects, whose number is in the first column of either."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % N_CLASSES
    centres = rng.normal(size=(N_CLASSES, 130)) * 3, rng.normal(size=(N_CLASSES, 120)) * 3
    X, Y = (np.abs(centre[y] + rng.normal(size=(n, centre.shape[1]))) for centre in centres)
    X[:, 0] = Y[:, 0] = np.arange(1, n + 1)
    return Sides(*(Z for M in (X, Y) for Z in (sp.csr_matrix(M) if text else M, y)), **facts)


def drawn(monkeypatch, both, n_pairs=0, seed=0):
    monkeypatch.setattr(module, "sides", lambda group, folder: both)
    return Draw((PAIR,), n_pairs)(Trial(PAIR, "", seed))


def ids(X):
    return set(np.asarray((X.toarray() if sp.issparse(X) else X)[:, 0]).astype(int))


@pytest.mark.parametrize("text", [False, True])
def test_no_object_has_two_parts(monkeypatch, text):
    raw = drawn(monkeypatch, small(text=text), 20).raw
    n_source = 20 * N_CLASSES
    parts = ids(raw.X_source[:n_source]), ids(raw.X_source[n_source:]), ids(raw.X_target), ids(raw.X_test)
    assert [len(part) for part in parts] == [n_source, 20, 21 * N_CLASSES + 20, 360 - 41 * N_CLASSES - 20]
    source, paired, target, test = parts
    assert paired < target
    assert not (source & target)
    assert not (source & test)
    assert not (target & test)


def test_pairs_are_the_same_object_and_of_unknown_class(monkeypatch):
    rows = drawn(monkeypatch, small(), 20)
    one, other = rows.pairs.T
    np.testing.assert_array_equal(rows.raw.X_source[one, 0], rows.raw.X_target[other, 0])
    assert (rows.y_source[one] == UNLABELLED).all()
    assert (rows.y_target[other] == UNLABELLED).all()
    assert np.bincount(rows.y_source[rows.y_source >= 0]).tolist() == [20] * N_CLASSES
    assert np.bincount(rows.y_target[rows.y_target >= 0]).tolist() == [1] * N_CLASSES


def test_where_objects_are_few_the_test_gives_way_to_the_pairs(monkeypatch):
    rows = drawn(monkeypatch, small(41 * N_CLASSES + 30), 20)
    assert len(rows.pairs) == 20
    assert len(rows.y_test) == 10


def test_the_pairs_leave_the_other_rows_as_they_were(monkeypatch):
    with_pairs, without = (drawn(monkeypatch, small(600), n).raw for n in (20, 0))
    n = len(without.y_source)
    np.testing.assert_array_equal(with_pairs.X_source[:n], without.X_source)
    np.testing.assert_array_equal(with_pairs.X_test, without.X_test)


def test_domains_without_common_objects_are_drawn_apart(monkeypatch):
    both = small(420, same_objects=False, counts=True)
    raw = drawn(monkeypatch, both).raw
    assert np.bincount(raw.y_source).tolist() == [20] * N_CLASSES
    assert len(raw.X_target) == 21 * N_CLASSES
    assert not ids(raw.X_target) & ids(raw.X_test)


@pytest.mark.parametrize("text", [False, True])
def test_forms(monkeypatch, text):
    rows = drawn(monkeypatch, small(text=text))
    assert rows.X_source.shape[1] == rows.X_test.shape[1] == 3 * N_CLASSES
    assert rows.seen("wide").X_source.shape[1] == (100 if text else 130)
    for form in ("narrow", "wide"):
        for X in (rows.seen(form).X_source, rows.seen(form).X_target):
            assert np.mean(np.sum(X**2, axis=1)) == pytest.approx(1.0)
    assert sp.issparse(rows.seen("raw").X_source) == sp.issparse(rows.unit.X_target) == text
    X = rows.seen("unit").X_test
    np.testing.assert_allclose(np.asarray(X.multiply(X).sum(axis=1)).ravel() if text else (X**2).sum(axis=1), 1.0)


def test_the_same_features_stay_the_same(monkeypatch):
    X = np.abs(np.random.default_rng(0).normal(size=(420, 30)))
    y = np.arange(420) % N_CLASSES
    both = Sides(X, y, X, y, same_objects=False, same_features=True, counts=True)
    rows = drawn(monkeypatch, both)
    at = {tuple(row): place for place, row in enumerate(rows.raw.X_source)}
    shared = [(at[tuple(row)], k) for k, row in enumerate(rows.raw.X_target) if tuple(row) in at]
    assert shared
    for i, j in shared:
        np.testing.assert_allclose(rows.X_source[i], rows.X_target[j])


@pytest.mark.parametrize("kind", ["noise", "permuted", "renamed"])
def test_a_spoilt_source_leaves_the_target_alone(monkeypatch, kind):
    rows = drawn(monkeypatch, small())
    seen, again, other = Sees(spoilt=kind)(rows, 5), Sees(spoilt=kind)(rows, 5), Sees(spoilt=kind)(rows, 6)
    for name in ("X_target", "y_target", "X_test", "y_test"):
        np.testing.assert_array_equal(getattr(seen, name), getattr(rows, name))
    spoilt = "X_source" if kind == "noise" else "y_source"
    np.testing.assert_array_equal(getattr(seen, spoilt), getattr(again, spoilt))
    assert (getattr(seen, spoilt) != getattr(rows, spoilt)).any()
    assert (getattr(seen, spoilt) != getattr(other, spoilt)).any()


def test_transductive_systems_see_the_features_of_the_test_and_no_more(monkeypatch):
    rows = drawn(monkeypatch, small())
    seen = Sees(test_rows=True)(rows, 0)
    np.testing.assert_array_equal(seen.X_target[len(rows.X_target) :], rows.X_test)
    assert (seen.y_target[len(rows.X_target) :] == UNLABELLED).all()


def test_what_is_told_of_pairs_and_labels(monkeypatch):
    rows = drawn(monkeypatch, small(), 20)
    without = Sees()(rows, 0)
    assert without.pairs is None
    assert (without.y_source >= 0).all()
    assert len(without.X_target) == len(rows.X_target)
    assert (Sees(pairs="true", labels=False)(rows, 0).y_target == UNLABELLED).all()
    wrong = Sees(pairs="shuffled")(rows, 0).pairs
    assert (wrong[:, 0] == rows.pairs[:, 0]).all()
    assert (wrong[:, 1] != rows.pairs[:, 1]).all()
    assert set(wrong[:, 1]) == set(rows.pairs[:, 1])


def test_without_a_map_the_sources_machine_names_paired_rows(monkeypatch):
    both = small()
    rows = drawn(monkeypatch, both, 20)
    seen = named_by_source(rows, 0)
    paired = rows.pairs[:, 1]
    true = both.z[rows.raw.X_target[paired, 0].astype(int) - 1]
    assert (seen.y_target[paired] == true).mean() > 0.9
    assert (np.delete(seen.y_target, paired) == UNLABELLED).all()
    assert seen.pairs is None


def test_a_domain_with_few_features_limits_both():
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(6), 60)
    X, Y = (rng.normal(size=(len(classes), d)) for d in (5, 30))
    seen = Reduced(3)(take_rows(Views(X, Y, classes), draw_split(classes, [0])), 0)
    assert (seen.X_source.shape[1], seen.X_target.shape[1], seen.X_test.shape[1]) == (5, 5, 5)
    for rows in (seen.X_source, seen.X_target):
        assert np.mean(np.sum(rows**2, axis=1)) == pytest.approx(1.0)
