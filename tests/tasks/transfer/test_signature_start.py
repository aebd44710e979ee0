"""Signatures: the rule is kernel ridge regression, the gate follows the target's own guesses."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from isthmus.geometry.similarity import Prepared, prepare_rows, scale_rows
from isthmus.tasks.transfer.evidence import (
    RATE,
    SIGNATURE_PENALTY,
    SignatureRule,
    SignatureStart,
    estimate_trust,
    guess_by_signatures,
    is_separable,
    iterate_folds,
)
from isthmus.tasks.transfer.problem import TransferRows


def collection(seed: int, width: int, labels: np.ndarray) -> Prepared:
    """Classes that differ in place, and in how peaked their rows are."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(3, width))
    rows = rng.normal(size=(len(labels), width))
    return prepare_rows(scale_rows(means[labels] + np.sign(rows) * np.abs(rows) ** (1.0 + 1.5 * labels[:, None])))


@pytest.fixture(scope="module")
def labels() -> np.ndarray:
    """Of three classes."""
    return np.repeat(np.arange(3), 50)


@pytest.fixture(scope="module")
def sides(labels: np.ndarray) -> tuple[Prepared, Prepared]:
    """Source and target, of other features and other rows."""
    return collection(1, 30, labels), collection(2, 50, labels)


def transfer_rows(sides: tuple[Prepared, Prepared], ys: np.ndarray, yt: np.ndarray | None = None) -> TransferRows:
    """Return the rows as a recipe sees them; no target row is labelled unless given."""
    n = len(sides[1].centred)
    yt = np.full(n, -1) if yt is None else yt
    return TransferRows(sides[0].centred, ys, sides[1].centred, yt, np.full(3, 1 / 3), sides)


def test_a_rule_of_the_source_names_target_rows(sides: tuple[Prepared, Prepared], labels: np.ndarray) -> None:
    """Without any label of the target; its own guesses bear the rule out, and let it in."""
    result = guess_by_signatures(transfer_rows(sides, labels), np.eye(3)[labels])
    assert (result.scores.argmax(axis=1) == labels).mean() > 0.6
    assert result.source_learns
    assert result.gate == 1.0
    assert result.prior.sum(axis=1) == pytest.approx(0.0)


def test_renamed_and_permuted_sources_are_not_let_in(sides: tuple[Prepared, Prepared], labels: np.ndarray) -> None:
    """Names that disagree with the target's guesses; classes that the source itself can't tell apart."""
    guess = np.eye(3)[labels]
    true, renamed = (guess_by_signatures(transfer_rows(sides, y), guess) for y in (labels, (labels + 1) % 3))
    assert not renamed.gate
    assert renamed.names < 0.0 < true.names
    permuted = guess_by_signatures(transfer_rows(sides, np.random.default_rng(0).permutation(labels)), guess)
    assert not permuted.source_learns
    assert not permuted.gate


def test_only_rows_without_a_label_are_evidence(sides: tuple[Prepared, Prepared], labels: np.ndarray) -> None:
    """The scores of the others are not asked for."""
    asked = np.arange(len(labels)) % 2 == 0
    some = transfer_rows(sides, labels, np.where(asked, -1, labels))
    result, every = (guess_by_signatures(*of) for of in (
        (some, np.eye(3)[labels[asked]]), (transfer_rows(sides, labels), np.eye(3)[labels])
    ))  # fmt: skip
    np.testing.assert_allclose(result.scores, every.scores[asked])
    assert result.prior.shape == (asked.sum(), 3)


def test_the_gate_has_three_places() -> None:
    """Closed, half and full; and closed for a source that does not know its own classes."""
    zeros = np.zeros((2, 3))
    assert [SignatureStart(zeros, t, 0.0, True).gate for t in (0.05, 0.1, 0.15, 0.2)] == [0.0, 0.5, 0.5, 1.0]
    assert SignatureStart(zeros, 0.9, 0.0, False).gate == 0.0


def test_the_rule_is_kernel_ridge_regression() -> None:
    """scikit-learn is the oracle."""
    rng = np.random.default_rng(0)
    F, codes, new = rng.normal(size=(40, 12)), rng.integers(0, 3, 40), rng.normal(size=(7, 12))
    oracle = KernelRidge(alpha=SIGNATURE_PENALTY, kernel="rbf", gamma=RATE / 12).fit(F, np.eye(3)[codes] - 1 / 3)
    expected = oracle.predict(new)
    scores = SignatureRule.of(F, codes, 3).scores(new)
    np.testing.assert_allclose(scores, expected - expected.mean(axis=1, keepdims=True), atol=1e-10)


def test_a_rule_that_cannot_tell_is_silent() -> None:
    """Random classes get a slope near zero, so that all classes are as likely."""
    rng = np.random.default_rng(1)
    F, codes = rng.normal(size=(300, 12)), rng.integers(0, 3, 300)
    assert np.abs(SignatureRule.calibrate(F, codes, 3).scores(F)).max() < 0.5
    assert estimate_trust(np.zeros((5, 3)), np.eye(3)[[0, 1, 2, 0, 1]]) == 0.0


def test_folds_are_a_partition_and_a_class_of_one_row_is_no_harm() -> None:
    """Every row is asked once; a class that a fold does not know is not guessed."""
    codes = np.append(np.repeat([0, 1], 20), 2)
    asked = np.concatenate([part for _, part in iterate_folds(codes)])
    np.testing.assert_array_equal(np.sort(asked), np.arange(len(codes)))


def test_a_source_is_separable_by_its_own_discriminants(sides: tuple[Prepared, Prepared], labels: np.ndarray) -> None:
    """Not one whose labels are permuted."""
    assert is_separable(transfer_rows(sides, labels)) is True
    assert is_separable(transfer_rows(sides, np.random.default_rng(0).permutation(labels))) is False
