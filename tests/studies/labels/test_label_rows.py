"""Rows of the study of few labels: no object twice, labels hidden and nothing else, fewer labels among more."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from conftest import real_data
from isthmus._core.validation import UNLABELLED
from isthmus.data.domains import Domain
from isthmus.data.splits import Protocol
from isthmus.study.trial_rows import CorruptedRows, Trial
from studies.labels import STUDIES
from studies.labels.data import SETS, Pair, groups_of, pair_of, set_of
from studies.labels.parts import REAL
from studies.labels.rows import (
    DEMO,
    NamingDraw,
    OnAxes,
    PaperDraw,
    RealDraw,
    disjoint_rows,
    draw_pair_split,
    half_hidden,
    label_all_classes,
    label_rows,
)

DRAW = NamingDraw(("digits", DEMO))


def made_pair(n_source=60, n_target=80, shared=40, n_classes=3, seed=0):
    """Objects 0 … n - 1 of the source, of which the last are the first of the target; the class is object mod C."""
    rng = np.random.default_rng(seed)
    objects = np.arange(n_source), np.arange(n_source - shared, n_source - shared + n_target)
    domains = [Domain(rng.normal(size=(len(o), d)), o % n_classes) for o, d in zip(objects, (4, 5), strict=True)]
    return Pair(*domains, *objects)


@given(st.integers(1, 60), st.integers(1, 80), st.integers(0, 40), st.integers(0, 99))
def test_no_object_is_in_both_domains_and_the_smaller_one_gets_its_rows(n_source, n_target, shared, seed):
    pair = made_pair(shared=shared)
    source, target = disjoint_rows(pair, n_source, n_target, np.random.default_rng(seed))
    assert not set(pair.source_objects[source]) & set(pair.target_objects[target])
    assert len(source) == len(set(source)) == n_source
    assert len(target) == len(set(target)) >= min(n_target, 80 - n_source)


@given(st.integers(1, 3), st.integers(0, 50))
def test_a_split_leaves_as_many_test_rows_as_unlabelled_ones_in_every_class(labels, seed):
    pair = made_pair()
    split = draw_pair_split(pair, Protocol(5, labels, 30), [seed])
    y = pair.target.y
    for c in range(3):
        unlabelled, tested = (int(np.sum(y[part] == c)) for part in (split.unlabelled, split.test))
        assert 0 < unlabelled <= tested
    parts = [pair.source_objects[split.source], *(pair.target_objects[p] for p in (split.labelled, split.unlabelled))]
    parts.append(pair.target_objects[split.test])
    assert len(np.concatenate(parts)) == len(np.unique(np.concatenate(parts)))


@pytest.mark.parametrize("group", ["digits", DEMO])
def test_half_of_the_classes_are_hidden_and_only_their_labels(group):
    rows = DRAW(Trial(group, "3", 100))
    np.testing.assert_array_equal(np.bincount(rows.y_all[rows.y_all >= 0]), [3] * 10)
    assert len(rows.known) == 5
    shown = np.isin(rows.y_all, rows.known)
    np.testing.assert_array_equal(rows.y_target, np.where(shown, rows.y_all, UNLABELLED))
    assert set(rows.y_true) == set(rows.y_test) == set(rows.y_source) == set(range(10))
    assert (rows.y_true[rows.y_all >= 0] == rows.y_all[rows.y_all >= 0]).all()
    np.testing.assert_array_equal(label_all_classes(rows, 0).y_target, rows.y_all)
    for X in (rows.X_source, rows.X_target, rows.X_test):
        np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0)


def test_naming_has_so_many_rows_per_class():
    rows = DRAW(Trial("digits", "3", 101))
    np.testing.assert_array_equal(np.bincount(rows.y_source), [20] * 10)
    np.testing.assert_array_equal(np.bincount(rows.y_true), [33] * 10)
    np.testing.assert_array_equal(np.bincount(rows.y_test), [50] * 10)
    assert any((DRAW(Trial("digits", "3", seed)).known != rows.known).any() for seed in (102, 103))


def test_an_odd_class_is_labelled():
    assert len(half_hidden(5, np.random.default_rng(0))) == 2


@pytest.mark.parametrize("draw", [PaperDraw(("digits",)), RealDraw(("digits",), (("digits", 850),))])
def test_fewer_labels_of_a_seed_are_among_more(draw):
    one, three = (draw(Trial("digits", labels, 100)) for labels in ("1", "3"))
    np.testing.assert_array_equal(np.bincount(one.y_target[one.labelled]), [1] * 10)
    np.testing.assert_array_equal(np.bincount(three.y_target[three.labelled]), [3] * 10)
    np.testing.assert_array_equal(one.X_source, three.X_source)
    if isinstance(draw, RealDraw):  # the same rows, so that they are prepared alike
        known = {tuple(row) for row in three.X_target[three.labelled].round(9)}
        assert {tuple(row) for row in one.X_target[one.labelled].round(9)} <= known
        np.testing.assert_allclose(one.X_test, three.X_test, atol=1e-12)


def test_real_sizes_take_rows_whatever_their_class_and_hold_out_what_is_left():
    rows = RealDraw(("digits",), (("digits", 850),))(Trial("digits", "10", 100))
    assert (len(rows.y_source), len(rows.y_target), len(rows.y_test)) == (850, 850, 97)
    assert len(set(np.bincount(rows.y_source))) > 1


def test_test_rows_do_not_change_how_rows_are_prepared():
    pair = made_pair()
    split = draw_pair_split(pair, Protocol(5, 1, 10), [0])
    fewer = replace(split, test=split.test[:2])
    np.testing.assert_array_equal(label_rows(pair, split).X_target, label_rows(pair, fewer).X_target)


def test_counts_are_compared_by_roots_and_text_is_only_scaled():
    counts = np.array([[4.0, 0.0], [9.0, 16.0]])
    pair = made_pair()
    rooted = replace(pair, counts=True).preparation(counts).fit_transform(counts)
    np.testing.assert_allclose(rooted, [[1.0, 0.0], [0.6, 0.8]])
    text = pair.preparation(sp.csr_array(counts)).fit_transform(sp.csr_array(counts))
    np.testing.assert_allclose(text.toarray(), [[1.0, 0.0], counts[1] / np.hypot(9, 16)])


def test_controls_keep_what_is_hidden():
    rows = DRAW(Trial("digits", "3", 100))
    on_axes = OnAxes(3)(rows, 100)
    assert on_axes.X_source.shape[1] == 30
    assert on_axes.X_target.shape[1] == on_axes.X_test.shape[1] <= 30
    np.testing.assert_allclose(np.linalg.norm(on_axes.X_test, axis=1), 1.0)
    spoilt = CorruptedRows("renamed")(rows, 100)
    assert (spoilt.y_source != rows.y_source).all()
    np.testing.assert_array_equal(spoilt.y_all, rows.y_all)


def test_groups_belong_to_data_sets_and_every_one_can_be_loaded_by_name():
    for study in (make(None) for make in STUDIES.values()):
        assert all(group == DEMO or group in SETS[set_of(group)] for group in study.groups)
        assert all(set_of(group) in (*SETS, DEMO) for group in study.groups)
    ways = [group.split()[1].split("→") for group in groups_of("Reuters")]
    assert len({frozenset(way) for way in ways}) == len(ways) == 10
    for language in ("EN", "FR", "GR", "IT", "SP"):
        assert [sum(way[k] == language for way in ways) for k in (0, 1)] == [2, 2]


@pytest.mark.data
@pytest.mark.parametrize("group", ["Debian de→en", "Debian fr→de"])
def test_real_sizes_fill_both_domains_without_a_shared_package(group):
    pair, n = pair_of(group, real_data()), REAL[group]
    source, target = disjoint_rows(pair, n, n + 500, np.random.default_rng(0))
    assert len(source) == n
    assert len(target) > n + 50
    np.testing.assert_array_equal(np.bincount(pair.source.y), np.bincount(pair.target.y))
    assert not np.isin(pair.source_objects[source], pair.target_objects[target]).any()
