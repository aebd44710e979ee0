"""Handwritten digits as two domains: pixels of some images, shape features of others."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from sklearn import datasets

from isthmus._arrays import FloatArray, IntArray
from isthmus._validation import number
from isthmus.datasets.pair import DomainPair
from isthmus.exceptions import InputError

BRIGHTEST = 16.0
"""The largest pixel value of scikit-learn's digits."""

# A real image's spectrum is symmetric about the origin: one half-plane of the slow waves says all about them.
FREQUENCIES = tuple((u, v) for u, v in product(range(-2, 3), range(3)) if v > 0 or u >= 0)
MOMENTS = tuple((p, q) for p, q in product(range(4), range(4)) if 2 <= p + q <= 3)

PIXEL_NAMES = tuple(f"pixel_{row}_{column}" for row, column in product(range(8), range(8)))
SHAPE_NAMES = (
    *(f"row_{i}" for i in range(8)),
    *(f"column_{i}" for i in range(8)),
    *(f"fourier_{u}_{v}" for u, v in FREQUENCIES),
    *(f"moment_{p}_{q}" for p, q in MOMENTS),
)


def load_digits(
    labelled_per_class: int = 2, *, n_source: int = 300, n_target: int = 600, random_state: int = 0
) -> DomainPair:
    """Scikit-learn's 1,797 images of 8 x 8 pixels, each used once: as pixels or as shape features.

    The source sees the 64 pixels, in [0, 1]. The target sees 36 shape features (:func:`shape_features`) of other
    images. Both come in equal numbers per class; what remains is the test set. Nothing is downloaded.

    Parameters
    ----------
    labelled_per_class : int
        Labelled target rows per class.
    n_source, n_target : int
        Rows of the source and of the target, in all classes together: multiples of ten.
    random_state : int
        Which images go where.

    Examples
    --------
    >>> digits = load_digits(1)
    >>> digits.X_source.shape, digits.X_target.shape, digits.n_labelled
    ((300, 64), (600, 36), 10)
    """
    number(labelled_per_class, "labelled_per_class", low=1, whole=True)
    number(random_state, "random_state", low=0, whole=True)
    images, y = datasets.load_digits(return_X_y=True)
    images = (images / BRIGHTEST).reshape(-1, 8, 8)
    per_class = [_rows_per_class(n, name) for n, name in ((n_source, "n_source"), (n_target, "n_target"))]
    fewest = int(np.bincount(y).min())
    if sum(per_class) >= fewest:
        raise InputError(
            f"n_source + n_target: expected less than {10 * fewest}, to leave rows of every class for the test, "
            f"got {n_source + n_target}."
        )
    if labelled_per_class > per_class[1]:
        raise InputError(
            f"labelled_per_class: expected at most {per_class[1]}, the target rows per class, "
            f"got {labelled_per_class}."
        )
    rng = np.random.default_rng(random_state)
    source, target, test = _stratified(y, per_class, rng)
    # Stratified rows come class by class: the first labelled_per_class of each class keep their label.
    hidden = np.arange(len(target)) % per_class[1] >= labelled_per_class
    y_target = np.where(hidden, -1, y[target])
    mix = rng.permutation(len(target))
    target, y_target = target[mix], y_target[mix]
    shapes = shape_features(images)
    return DomainPair(
        name="digits",
        description="8 x 8 handwritten digits (UCI, by way of sklearn.datasets.load_digits): source = pixels, "
        "target = projections, Fourier magnitudes and moments of other images.",
        X_source=images[source].reshape(len(source), -1),
        y_source=y[source],
        X_target=shapes[target],
        y_target=y_target,
        X_test=shapes[test],
        y_test=y[test],
        source_features=PIXEL_NAMES,
        target_features=SHAPE_NAMES,
        source_ids=source,
        target_ids=target,
        test_ids=test,
        target_classes=y[target],
        licence="CC BY 4.0",
    )


def shape_features(images: Any) -> FloatArray:
    r"""Projections, Fourier magnitudes and central moments of 8 x 8 images, as (n, 36).

    - ink of each row and of each column (16 sums);
    - magnitudes of the 13 slowest waves, :math:`|\sum_{rc} f_{rc} e^{-2\pi i (ur + vc)/8}|`, which do not change
      when an image is shifted cyclically;
    - the 7 central moments of order two and three of the ink as a distribution,
      :math:`\sum f_{rc} (r - \bar r)^p (c - \bar c)^q / \sum f_{rc}`, which change neither when the ink is moved
      nor when it is made darker; zero for a blank image.

    Parameters
    ----------
    images : array (n, 8, 8)
        Non-negative grey values.

    Examples
    --------
    >>> dot = np.zeros((1, 8, 8))
    >>> dot[0, 3, 4] = 1.0
    >>> shape_features(dot)[0, 8:16]
    array([0., 0., 0., 0., 1., 0., 0., 0.])
    """
    f = np.asarray(images, dtype=np.float64)
    if f.ndim != 3 or f.shape[1:] != (8, 8):
        raise InputError(f"images: expected shape (n, 8, 8), got {f.shape}.")
    rows, columns = f.sum(axis=2), f.sum(axis=1)
    waves = np.abs(np.fft.fft2(f))
    magnitudes = np.stack([waves[:, u, v] for u, v in FREQUENCIES], axis=1)
    return np.hstack([rows, columns, magnitudes, _central_moments(f)])


def _central_moments(f: FloatArray) -> FloatArray:
    ink = f.sum(axis=(1, 2))
    density = f / np.where(ink > 0, ink, 1.0)[:, None, None]
    place = np.arange(8.0)
    r = place - (density.sum(axis=2) @ place)[:, None]
    c = place - (density.sum(axis=1) @ place)[:, None]
    return np.stack([np.einsum("nrc,nr,nc->n", density, r**p, c**q) for p, q in MOMENTS], axis=1)


def _rows_per_class(n: int, name: str) -> int:
    number(n, name, low=10, whole=True)
    if n % 10:
        raise InputError(f"{name}: expected a multiple of ten, the number of classes, got {n}.")
    return n // 10


def _stratified(y: IntArray, per_class: list[int], rng: np.random.Generator) -> tuple[IntArray, IntArray, IntArray]:
    """Two runs of row numbers with so many of each class, and the rest; class by class."""
    first, second = per_class
    shuffled = [rng.permutation(np.flatnonzero(y == label)) for label in np.unique(y)]
    cuts = [np.split(rows, [first, first + second]) for rows in shuffled]
    source, target, rest = (np.concatenate(part) for part in zip(*cuts, strict=True))
    return source, target, rest
