"""Soft pairs: partners by blocks are those of the whole table, the gate knows renamed classes, new rows are scored."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn.metrics import cohen_kappa_score

from isthmus.geometry import similarity as score_tables
from isthmus.geometry.discriminants import balance, balancing_offsets
from isthmus.geometry.similarity import (
    Prepared,
    Scores,
    find_partners,
    prepare_rows,
    scale_rows,
)
from isthmus.tasks.transfer import soft_pairs as alignment
from isthmus.tasks.transfer.evidence import identity_share, kappa, naming_z
from isthmus.tasks.transfer.problem import TransferRows
from isthmus.tasks.transfer.scoring import LinearRule, MappedRule, correlate_shares, estimate_shares, self_train
from isthmus.tasks.transfer.soft_pairs import (
    ProbeEvidence,
    SoftPairs,
    compare_probe,
    compute_barycentres,
    guess_by_soft_pairs,
)

C, PER_CLASS = 6, 40


@pytest.fixture(scope="module")
def two() -> tuple[Prepared, np.ndarray, Prepared, np.ndarray]:
    """Two random images of one cloud of classes of unequal spread, of other objects."""
    rng = np.random.default_rng(3)
    means = rng.normal(size=(C, 8)) * np.linspace(1.0, 3.0, C)[:, None]
    sides = []
    for width in (20, 30):
        y = np.repeat(np.arange(C), PER_CLASS)
        hidden = means[y] + rng.normal(size=(len(y), 8)) * (0.3 + 0.15 * y[:, None])
        mixed = hidden @ rng.normal(size=(8, width)) + 0.1 * rng.normal(size=(len(y), width))
        sides += [prepare_rows(scale_rows(mixed)), y]
    return tuple(sides)


def known(y: np.ndarray, count: int) -> np.ndarray:
    """The labels of the first rows of each class."""
    return np.where(np.arange(len(y)) % PER_CLASS < count, y, -1)


def found(two: tuple, ys: np.ndarray, guess: np.ndarray | None = None) -> SoftPairs:
    """Soft pairs with two labels per class and good guesses."""
    source, _, target, y = two
    guess = 0.8 * np.eye(C)[y] + 0.2 / C if guess is None else guess
    return guess_by_soft_pairs(transfer_rows(source, ys, target, known(y, 2)), guess, np.full(C, 1 / C))


def transfer_rows(
    source: Prepared, ys: np.ndarray, target: Prepared, yt: np.ndarray, n_classes: int = C
) -> TransferRows:
    """Return the rows as a recipe sees them."""
    return TransferRows(source.centred, ys, target.centred, yt, np.full(n_classes, 1 / n_classes), (source, target))


def test_rows_of_the_target_find_their_classes_by_a_map_that_new_rows_can_take(two: tuple) -> None:
    """Row by row: whatever rows come with a row, and whether it was seen, don't matter."""
    _, ys, target, y = two
    rule = found(two, ys).rule
    P = rule.posterior(target.points)
    assert (P.argmax(axis=1) == y).mean() > 0.9
    np.testing.assert_allclose(P.mean(axis=0), 1 / C, atol=1e-3)
    np.testing.assert_allclose(rule.posterior(target.points[5:9]), P[5:9], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(softmax(rule.scores(3.0 * target.points), axis=1), P, rtol=1e-4, atol=1e-6)


def test_other_shares_are_another_rule(two: tuple) -> None:
    """Shares are kept by the offsets alone."""
    _, ys, target, _ = two
    shares = np.arange(1.0, C + 1.0) / np.arange(1.0, C + 1.0).sum()
    equal = found(two, ys).rule
    rule = MappedRule.of(equal.map, equal.rule, target.points, shares)
    np.testing.assert_allclose(rule.posterior(target.points).mean(axis=0), shares, atol=1e-3)


def test_a_renamed_source_does_not_pass_the_gate(two: tuple) -> None:
    """The probe knows no label: it agrees with the target under other names, and identity tells."""
    _, ys, _, _ = two
    true, renamed = found(two, ys), found(two, (ys + 1) % C)
    assert true.evidence.identity > renamed.evidence.identity
    assert not renamed.evidence.is_open
    np.testing.assert_array_equal((true.probe.argmax(axis=1) + 1) % C, renamed.probe.argmax(axis=1))


def test_the_probe_does_not_see_the_guesses(two: tuple) -> None:
    """Else its agreement with them would be no evidence."""
    _, ys, _, y = two
    first, second = found(two, ys), found(two, ys, np.eye(C)[np.random.default_rng(0).permutation(y)])
    np.testing.assert_array_equal(first.probe, second.probe)
    assert second.evidence.by_guesses < 2.0 < first.evidence.by_guesses
    assert second.evidence.by_labels == first.evidence.by_labels


def test_nothing_given_is_changed(two: tuple) -> None:
    """Not the guesses, not the codes."""
    source, ys, target, y = two
    given_ = ys.copy(), known(y, 2), np.full((len(y), C), 1 / C), np.full(C, 1 / C)
    kept = [a.copy() for a in given_]
    guess_by_soft_pairs(transfer_rows(source, given_[0], target, given_[1]), *given_[2:])
    for a, b in zip(given_, kept, strict=True):
        np.testing.assert_array_equal(a, b)


def test_many_rows_are_aligned_on_a_sample_and_end_on_all(two: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the sample smaller than the collections the classes are found all the same."""
    monkeypatch.setattr(alignment, "SAMPLED", 150)
    monkeypatch.setattr(alignment.sample_rows, "__defaults__", (150,))
    _, ys, target, y = two
    assert (found(two, ys).rule.posterior(target.points).argmax(axis=1) == y).mean() > 0.85


def test_few_classes_are_never_certified() -> None:
    """Of four classes, a chance naming is too often the true one."""
    assert ProbeEvidence(3.0, 3.0, 1.0, 0.9, 5).is_open
    assert not ProbeEvidence(3.0, 3.0, 1.0, 0.9, 4).is_open


def test_a_renaming_that_agrees_twice_as_well_closes_the_gate() -> None:
    """However far the names at hand are from a typical renaming."""
    assert not ProbeEvidence(3.0, 3.0, 0.4, 0.9, 8).is_open


def test_a_probe_teaches_less_where_labels_are_many() -> None:
    """A prior for want of labels; and none of it is more than its trust allows."""
    probe = np.array([[0.9, 0.1], [0.2, 0.8]])
    one, four = (ProbeEvidence(3.0, 3.0, 1.0, 0.5, 2, labels).prior(probe) for labels in (1.0, 4.0))
    np.testing.assert_allclose(four, one / 2.0)
    assert np.ptp(one, axis=1).max() < np.log(0.75 / 0.25)


def test_labels_open_a_gate_that_poor_guesses_cannot_close() -> None:
    """The probe knows neither; each is evidence for the names of the classes by itself."""
    y = np.repeat(np.arange(C), PER_CLASS)
    probe, poor = 0.8 * np.eye(C)[y] + 0.2 / C, np.full((len(y), C), 1 / C)
    assert compare_probe(probe, poor, known(y, 3)).is_open
    assert compare_probe(probe, np.eye(C)[y], np.full_like(y, -1)).is_open
    assert not compare_probe(probe, poor, np.full_like(y, -1)).is_open


@given(st.integers(2, 5), st.integers(0, 10**6))
def test_naming_z_is_that_of_all_renamings(n_classes: int, seed: int) -> None:
    """Every permutation, written out, is the oracle."""
    F = np.random.default_rng(seed).random((n_classes, n_classes))
    traces = [F[np.arange(n_classes), p].sum() for p in permutations(range(n_classes))]
    assert naming_z(F) == pytest.approx((np.trace(F) - np.mean(traces)) / np.std(traces))


def test_two_classes_and_few_rows_work() -> None:
    """Fewer rows than axes, two classes."""
    rng = np.random.default_rng(0)
    A, B = (prepare_rows(scale_rows(rng.normal(size=(12, 30)))) for _ in range(2))
    y = np.arange(12) % 2
    rows = transfer_rows(A, y, B, np.where(np.arange(12) < 4, y, -1), 2)
    P = guess_by_soft_pairs(rows, np.full((12, 2), 0.5), rows.shares).rule.posterior(B.points)
    assert np.isfinite(P).all()
    assert P.shape == (12, 2)


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 5), st.integers(1, 60), st.integers(0, 10**6))
def test_partners_by_blocks_are_the_best_of_the_table(n: int, m: int, k: int, cells: int, seed: int) -> None:
    """Whatever the size of the blocks; NumPy's sort of the whole table is the oracle."""
    rng, k = np.random.default_rng(seed), min(k, n, m)
    table = Scores(rng.normal(size=(n, 4)), rng.normal(size=(m, 4)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(score_tables, "CELLS_PER_BLOCK", cells)
        patch.setattr(score_tables, "CELLS_IN_CACHE", 3 * cells)
        (of_rows, row_scores), (of_columns, column_scores) = find_partners(table, k, k)
    S = table.table()
    np.testing.assert_allclose(np.sort(row_scores, axis=1), np.sort(S, axis=1)[:, m - k :])
    np.testing.assert_allclose(np.sort(column_scores, axis=1), np.sort(S.T, axis=1)[:, n - k :])
    np.testing.assert_allclose(np.take_along_axis(S, of_rows, axis=1), row_scores)
    np.testing.assert_allclose(np.take_along_axis(S.T, of_columns, axis=1), column_scores)


def test_other_labels_of_the_same_rows_need_no_other_probe(two: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was learned without labels is as it would be if learned anew; other source classes or rows learn it anew."""
    source, ys, target, y = two
    runs = []
    align = alignment.align
    monkeypatch.setattr(alignment, "align", lambda *given, **options: runs.append(1) or align(*given, **options))
    first = transfer_rows(source, ys, target, known(y, 3))
    guess, shares = 0.8 * np.eye(C)[y] + 0.2 / C, first.shares
    guess_by_soft_pairs(first, guess, shares)
    again = guess_by_soft_pairs(replace(first, yt=known(y, 2)), guess, shares)
    assert len(runs) == 4  # two probes and two ends
    anew = found(two, ys)
    np.testing.assert_array_equal(again.probe, anew.probe)
    np.testing.assert_array_equal(again.rule.posterior(target.points), anew.rule.posterior(target.points))
    before = len(runs)
    guess_by_soft_pairs(replace(first, ys=(ys + 1) % C), guess, shares)
    assert len(runs) == before + 3


def test_forbidden_partners_do_not_count() -> None:
    """The mean is of those that are allowed, or of all where none is."""
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    places, scores = np.array([[0, 1], [0, 1], [0, 1]]), np.array([[0.0, 0.0], [0.0, -100.0], [-100.0, -100.0]])
    half = np.sqrt(0.5)
    np.testing.assert_allclose(compute_barycentres(X, places, scores), [[half, half], [1.0, 0.0], [half, half]])


@given(st.integers(2, 6), st.integers(3, 40), st.integers(0, 10**6))
def test_kappa_is_cohens_and_identity_at_most_one(n_classes: int, n: int, seed: int) -> None:
    """scikit-learn is the oracle; a renaming of both guesses changes nothing."""
    rng = np.random.default_rng(seed)
    P, Q = rng.random((n, n_classes)), rng.random((n, n_classes))
    a, b = P.argmax(axis=1), Q.argmax(axis=1)
    if len(np.union1d(a, b)) > 1:
        assert kappa(P, Q) == pytest.approx(cohen_kappa_score(a, b))
    order = rng.permutation(n_classes)
    assert 0.0 <= identity_share(P, Q) <= 1.0
    assert identity_share(P[:, order], Q[:, order]) == identity_share(P, Q)
    assert identity_share(P, P) == 1.0


@given(st.integers(0, 10**6))
def test_balancing_gives_new_rows_what_balanced_gives_those_at_hand(seed: int) -> None:
    """The offsets of the classes are all that the rows have in common."""
    rng = np.random.default_rng(seed)
    S, shares = 3.0 * rng.normal(size=(20, 4)), rng.dirichlet(np.full(4, 5.0))
    np.testing.assert_allclose(softmax(S + balancing_offsets(S, shares), axis=1), balance(S, shares), atol=1e-9)


def test_a_linear_rule_of_two_classes_has_a_column_for_each() -> None:
    """scikit-learn gives one direction only."""
    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    X = rng.normal(size=(20, 3)) + 4.0 * y[:, None]
    assert (LinearRule.of(X, y).scores(X).argmax(axis=1) == y).all()


def test_the_targets_own_learner_keeps_labels_and_learns_shares(two: tuple) -> None:
    """Labelled rows keep their classes; unequal shares are found without being told."""
    _, _, target, y = two
    kept = np.concatenate([np.flatnonzero(y == c)[: 40 - 5 * c] for c in range(C)])
    Z, true = target.points[kept], y[kept]
    codes = np.where(np.arange(len(true)) % 4 == 0, true, -1)
    guess = 0.6 * np.eye(C)[true] + 0.4 / C
    shares = np.bincount(true) / len(true)
    P = self_train(Z, codes, guess, shares)
    np.testing.assert_array_equal(P[codes >= 0], np.eye(C)[true[codes >= 0]])
    assert (P.argmax(axis=1) == true).mean() > 0.9
    np.testing.assert_allclose(estimate_shares(Z, codes, guess), shares, atol=0.05)
    assert correlate_shares(Z, codes, guess, shares) > 0.7 > 0.0 > correlate_shares(Z, codes, guess, shares[::-1])
    assert correlate_shares(Z, codes, guess, np.full(C, 1 / C)) == 0.0
