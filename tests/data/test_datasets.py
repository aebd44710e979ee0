"""Loaders: no object in two places, labels as promised, features that mean what their names say."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets as sklearn_datasets

from isthmus.data.datasets import (
    SHAPE_NAMES,
    DomainPair,
    load_digits,
    shape_features,
)
from isthmus.exceptions import InputError
from studies.datasets.toy import load_toy

IMAGES, DIGITS = sklearn_datasets.load_digits().images / 16.0, sklearn_datasets.load_digits().target


def columns(prefix: str) -> list[int]:
    return [k for k, name in enumerate(SHAPE_NAMES) if name.startswith(prefix)]


@pytest.fixture(params=[1, 2, 60])
def pair(request):
    return load_digits(request.param, random_state=3)


def test_every_image_is_used_exactly_once(pair):
    ids = np.concatenate([pair.source_ids, pair.target_ids, pair.test_ids])
    np.testing.assert_array_equal(np.sort(ids), np.arange(1797))


def test_rows_are_those_of_the_images_they_name(pair):
    np.testing.assert_array_equal(pair.X_source, IMAGES[pair.source_ids].reshape(-1, 64))
    np.testing.assert_allclose(pair.X_target, shape_features(IMAGES[pair.target_ids]), atol=1e-12)
    np.testing.assert_allclose(pair.X_test, shape_features(IMAGES[pair.test_ids]), atol=1e-12)
    np.testing.assert_array_equal(pair.y_source, DIGITS[pair.source_ids])
    np.testing.assert_array_equal(pair.y_test, DIGITS[pair.test_ids])
    known = pair.y_target != -1
    np.testing.assert_array_equal(pair.y_target[known], DIGITS[pair.target_ids][known])


@pytest.mark.parametrize("n_labelled", [1, 2, 5])
def test_equal_numbers_per_class(n_labelled):
    pair = load_digits(n_labelled, n_source=100, n_target=200)
    assert np.bincount(pair.y_source).tolist() == [10] * 10
    assert np.bincount(DIGITS[pair.target_ids]).tolist() == [20] * 10
    assert np.bincount(pair.y_target + 1).tolist() == [200 - 10 * n_labelled] + [n_labelled] * 10
    assert pair.n_labelled == 10 * n_labelled


def test_more_labels_do_not_change_the_split():
    few, many = load_digits(1, random_state=5), load_digits(4, random_state=5)
    np.testing.assert_array_equal(few.target_ids, many.target_ids)
    assert set(np.flatnonzero(few.y_target != -1)) < set(np.flatnonzero(many.y_target != -1))


def test_a_seed_fixes_everything_and_another_changes_it():
    one, same, other = (load_digits(random_state=seed) for seed in (7, 7, 8))
    for name in ("X_source", "y_source", "X_target", "y_target", "X_test", "y_test"):
        np.testing.assert_array_equal(getattr(one, name), getattr(same, name))
    assert not np.array_equal(one.source_ids, other.source_ids)


def test_names_match_columns_and_values_are_in_range(pair):
    assert len(pair.source_features) == len(set(pair.source_features)) == pair.X_source.shape[1]
    assert len(pair.target_features) == len(set(pair.target_features)) == pair.X_target.shape[1]
    assert pair.X_source.min() >= 0.0
    assert pair.X_source.max() == 1.0
    assert np.isfinite(pair.X_target).all()
    assert (pair.X_target.std(axis=0) > 0).all()


@pytest.mark.parametrize("shift", [(1, 0), (0, 3), (5, 6)])
def test_fourier_magnitudes_do_not_change_when_an_image_is_shifted_cyclically(shift):
    waves = columns("fourier")
    moved = shape_features(np.roll(IMAGES[:50], shift, axis=(1, 2)))
    np.testing.assert_allclose(moved[:, waves], shape_features(IMAGES[:50])[:, waves], atol=1e-12)


def test_fourier_magnitudes_are_of_distinct_waves():
    noise = np.random.default_rng(0).random((1, 8, 8))
    assert len(np.unique(shape_features(noise)[0, columns("fourier")].round(9))) == 13


def test_moments_change_neither_with_place_nor_with_darkness():
    blot = np.zeros((20, 8, 8))
    blot[:, 1:6, 1:6] = np.random.default_rng(0).random((20, 5, 5))
    moments = columns("moment")
    still = shape_features(blot)[:, moments]
    np.testing.assert_allclose(shape_features(np.roll(blot, (2, 1), axis=(1, 2)))[:, moments], still, atol=1e-12)
    np.testing.assert_allclose(shape_features(3.0 * blot)[:, moments], still, atol=1e-12)


def test_moments_of_a_known_shape():
    bar = np.zeros((1, 8, 8))
    bar[0, 2, 3:6] = 1.0  # three dots in a row: column variance 2/3, nothing else
    named = dict(zip(SHAPE_NAMES, shape_features(bar)[0], strict=True))
    moments = {name: value for name, value in named.items() if name.startswith("moment")}
    assert moments.pop("moment_0_2") == pytest.approx(2 / 3)
    assert max(map(abs, moments.values())) < 1e-12


def test_a_transposed_image_swaps_rows_and_columns():
    features, flipped = shape_features(IMAGES[:9]), shape_features(IMAGES[:9].transpose(0, 2, 1))
    np.testing.assert_allclose(features[:, columns("row")], flipped[:, columns("column")])


def test_projections_and_the_constant_wave_agree_on_the_ink():
    features = shape_features(IMAGES)
    ink = IMAGES.sum(axis=(1, 2))
    for part in (columns("row"), columns("column"), columns("fourier_0_0")):
        np.testing.assert_allclose(features[:, part].sum(axis=1), ink)


def test_a_blank_image_has_finite_features():
    assert not shape_features(np.zeros((1, 8, 8))).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"labelled_per_class": 0},
            "labelled_per_class: expected a whole number of at least 1 and at most 60, got 0",
        ),
        (
            {"labelled_per_class": 61},
            "labelled_per_class: expected a whole number of at least 1 and at most 60, got 61",
        ),
        ({"n_source": 105}, "n_source: expected a multiple of ten, the number of classes, got 105"),
        ({"n_source": 1200}, "n_source \\+ n_target: expected less than 1740, .*, got 1800"),
        ({"random_state": None}, "random_state: expected a whole number of at least 0, got None"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(InputError, match=message):
        load_digits(**arguments)


def test_images_of_another_size_are_refused():
    with pytest.raises(InputError, match=r"images: expected shape \(n, 8, 8\), got \(5, 64\)"):
        shape_features(np.zeros((5, 64)))


def checksum(pair) -> str:
    """Of all numbers of a pair, to nine decimals: further digits are those of the machine."""
    parts = ("X_source", "y_source", "X_target", "y_target", "X_test", "y_test")
    names = (*parts, "source_ids", "target_ids", "test_ids", "target_classes")
    rounded = (np.round(np.asarray(getattr(pair, name), dtype=float), 9) + 0.0 for name in names)
    return hashlib.sha256(b"".join(array.tobytes() for array in rounded)).hexdigest()[:16]


@pytest.mark.parametrize(
    ("load", "sum_"),
    [
        (lambda: load_toy(0), "e7da36e9aa8e7199"),
        (lambda: load_toy(5), "68373761ac6da5ab"),
        (lambda: load_digits(2), "65a2a2e0cf1e1cf2"),
        (lambda: load_digits(1, n_source=100, n_target=200, random_state=3), "c61045bdcacd8fd5"),
    ],
)
def test_a_seed_draws_the_same_rows_for_ever(load, sum_):
    assert checksum(load()) == sum_


# ------------------------------------------------------------------ a pair of one's own

ROWS, OTHERS = np.eye(4), np.ones((3, 2))


def test_four_arrays_make_a_pair():
    pair = DomainPair(ROWS, ["b", "b", "a", "a"], sp.csr_matrix(OTHERS), ["a", None, "b"], OTHERS, ["a", "b", "a"])
    assert list(pair.classes) == ["a", "b"]
    assert pair.n_labelled == 2
    assert (pair.source_features, pair.target_features) == (("x0", "x1", "x2", "x3"), ("x0", "x1"))
    assert sp.issparse(pair.X_target)
    ids = np.concatenate([pair.source_ids, pair.target_ids, pair.test_ids])
    np.testing.assert_array_equal(ids, np.arange(10))
    assert str(pair) == (
        "pair: source 4 rows x 4 features, all labelled; target 3 rows x 2 features, 2 labelled (1 per class), "
        "1 unlabelled; test 3 rows; 2 classes"
    )


def test_columns_of_a_frame_are_the_features():
    frame = pytest.importorskip("pandas").DataFrame(OTHERS, columns=["red", "green"])
    assert DomainPair(ROWS, [0, 0, 1, 1], frame, [0, 1, -1]).target_features == ("red", "green")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X_source": np.ones(4)}, "X_source: expected a two-dimensional array, got 1"),
        ({"X_target": OTHERS * np.nan}, "X_target: expected finite numbers"),
        ({"y_source": [0, 1]}, r"y_source: expected shape \(4,\) to match X_source, got \(2,\)"),
        ({"y_target": [[0], [1], [0]]}, "y_target: expected a one-dimensional array"),
        ({"X_test": OTHERS}, "X_test, y_test: expected both or neither"),
        ({"X_test": ROWS, "y_test": [0, 1, 0, 1]}, "X_test: expected 2 columns, as X_target has, got 4"),
        ({"source_features": ["a"]}, r"source_features: expected shape \(4,\) to match the columns of X_source"),
        ({"source_ids": [0, 1, 2, 3]}, "source_ids, target_ids: expected all or none"),
        (
            {"source_ids": [0, 1, 2, 3], "target_ids": [3, 4, 5]},
            "target_ids: expected no object in two parts, got 3 in",
        ),
        ({"source_ids": [0, 1], "target_ids": [3, 4, 5]}, r"source_ids: expected shape \(4,\) to match X_source"),
        ({"target_classes": [0]}, r"target_classes: expected shape \(3,\) to match X_target"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes, message):
    good = {"X_source": ROWS, "y_source": [0, 0, 1, 1], "X_target": OTHERS, "y_target": [0, 1, -1]}
    with pytest.raises(InputError, match=f"^{message}"):
        DomainPair(**(good | changes))
