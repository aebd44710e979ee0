"""Data sets as values, and one that is built in.

:class:`DomainPair` is a source, a target and a test set; :func:`load_digits` returns one without a download.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._core.validation import (
    UNLABELLED,
    FloatArray,
    Matrix,
    as_labels,
    check_length,
    check_matrix,
    check_number,
    column_names,
    is_unlabelled,
)
from isthmus.exceptions import InputError


@dataclass(frozen=True, eq=False, repr=False)
class DomainPair:
    """A source and a target with different features, and held-out test rows of the target.

    Parameters
    ----------
    X_source, y_source : array or CSR (n_s, d_s), array (n_s,)
        The source rows and their labels.
    X_target, y_target : array or CSR (n_t, d_t), array (n_t,)
        The target rows and their labels, -1 where unlabelled.
    X_test, y_test : array or CSR (n_test, d_t), array (n_test,), optional
        Held-out target rows, for scoring only; a study that draws splits of its own needs none.
    name, description : str
        A short name, and one line on what the data are and where they come from.
    source_features, target_features : sequence of str, optional
        The names of the d_s and the d_t columns; by default x0, x1, ….
    source_ids, target_ids, test_ids : array, optional
        Ids of the objects (documents, images) that the rows describe; no object may be in two of the three parts. By
        default every row is an object of its own.
    target_classes : array (n_t,), optional
        The true classes of all target rows, for plots and scoring only.
    licence : str
        The terms of use, as far as they are stated.

    Examples
    --------
    >>> pair = DomainPair(np.eye(4), [0, 0, 1, 1], np.ones((3, 2)), [0, 1, -1])
    >>> print(pair)
    pair: source 4 rows x 4 features, all labelled; target 3 rows x 2 features, 2 labelled (1 per class),
    1 unlabelled; no test rows; 2 classes
    >>> pair.target_features, pair.target_ids
    (('x0', 'x1'), array([4, 5, 6]))
    """

    X_source: Matrix
    y_source: Any
    X_target: Matrix
    y_target: Any
    X_test: Matrix = None
    y_test: Any = None
    name: str = "pair"
    description: str = ""
    source_features: Sequence[str] = ()
    target_features: Sequence[str] = ()
    source_ids: Any = None
    target_ids: Any = None
    test_ids: Any = None
    target_classes: Any = None
    licence: str = "not stated"

    def __post_init__(self) -> None:
        if (self.X_test is None) != (self.y_test is None):
            raise InputError("X_test, y_test: expected both or neither, got one of them.")
        parts = ("source", "target") if self.X_test is None else ("source", "target", "test")
        sizes = [self._set_rows(part) for part in parts]
        if self.X_test is not None and self.X_test.shape[1] != self.X_target.shape[1]:
            d, got = self.X_target.shape[1], self.X_test.shape[1]
            raise InputError(f"X_test: expected {d} columns, as X_target has, got {got}.")
        if self.target_classes is not None:
            self._set("target_classes", as_labels(self.target_classes, "target_classes"))
            check_length(self.target_classes, len(self.y_target), "target_classes", "X_target")
        self._set_ids(parts, sizes)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)  # the dataclass is frozen

    def _set_rows(self, part: str) -> int:
        """Check and set the rows, labels and column names of a part; return the number of rows."""
        given = getattr(self, f"X_{part}")
        X, y = check_matrix(given, f"X_{part}"), as_labels(getattr(self, f"y_{part}"), f"y_{part}")
        n, d = X.shape
        check_length(y, n, f"y_{part}", f"X_{part}")
        self._set(f"X_{part}", X)
        self._set(f"y_{part}", y)
        if part != "test":
            named = tuple(getattr(self, f"{part}_features")) or column_names(given)
            names = named or tuple(f"x{k}" for k in range(d))
            check_length(names, d, f"{part}_features", f"the columns of X_{part}")
            self._set(f"{part}_features", names)
        return int(n)

    def _set_ids(self, parts: Sequence[str], sizes: Sequence[int]) -> None:
        given = [getattr(self, f"{part}_ids") for part in parts]
        if all(ids is None for ids in given):
            given = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
        elif any(ids is None for ids in given):
            raise InputError(f"{', '.join(f'{part}_ids' for part in parts)}: expected all or none, got some of them.")
        owners: dict[Any, str] = {}
        for part, ids, n in zip(parts, given, sizes, strict=True):
            name = f"{part}_ids"
            check_length(ids, n, name, f"X_{part}")
            self._set(name, np.asarray(ids))
            for thing in np.asarray(ids).tolist():
                if (owner := owners.setdefault(thing, name)) != name:
                    raise InputError(f"{name}: expected no object in two parts, got {thing!r} in {owner} too.")

    @property
    def classes(self) -> NDArray[Any]:
        """The distinct labels of the source, sorted."""
        return np.unique(self.y_source[~is_unlabelled(self.y_source)])

    @property
    def n_labelled(self) -> int:
        """The number of target rows with a label."""
        return int(np.count_nonzero(~is_unlabelled(self.y_target)))

    def __str__(self) -> str:
        (n_s, d_s), (n_t, d_t) = self.X_source.shape, self.X_target.shape
        missing = int(is_unlabelled(self.y_source).sum())
        counts = np.unique(self.y_target[~is_unlabelled(self.y_target)], return_counts=True)[1]
        per_class = f" ({' or '.join(map(str, sorted(set(counts.tolist()))))} per class)" if len(counts) else ""
        return (
            f"{self.name}: source {n_s} rows x {d_s} features, {f'{missing} not' if missing else 'all'} labelled; "
            f"target {n_t} rows x {d_t} features, {self.n_labelled} labelled{per_class}, "
            f"{n_t - self.n_labelled} unlabelled; "
            f"{'no test rows' if self.X_test is None else f'test {self.X_test.shape[0]} rows'}; "
            f"{len(self.classes)} classes"
        )

    __repr__ = __str__


# The largest pixel value of scikit-learn's digits.
BRIGHTEST = 16.0

# Low frequencies (u, v). The spectrum of a real image is symmetric about the origin, so a half-plane is enough.
FREQUENCIES = tuple((u, v) for u, v in product(range(-2, 3), range(3)) if v > 0 or u >= 0)
# Powers (p, q) of the central moments of order two and three.
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
    """Load scikit-learn's 1,797 digits as two domains, pixels and shape features, of different images.

    The source has the 64 pixels, in [0, 1]; the target has 36 shape features (:func:`shape_features`) of other
    images. Both have equally many rows per class; the remaining images are the test set. Nothing is downloaded.

    Parameters
    ----------
    labelled_per_class : int
        Labelled target rows per class.
    n_source, n_target : int
        Number of source and of target rows, over all ten classes: multiples of ten.
    random_state : int
        Seed of the split into source, target and test.

    Examples
    --------
    >>> digits = load_digits(1)
    >>> digits.X_source.shape, digits.X_target.shape, digits.n_labelled
    ((300, 64), (600, 36), 10)
    """
    check_number(random_state, "random_state", low=0, whole=True)
    per_source, per_target = _check_rows_per_class(n_source, "n_source"), _check_rows_per_class(n_target, "n_target")
    check_number(labelled_per_class, "labelled_per_class", low=1, high=per_target, whole=True)
    from sklearn import datasets

    images, y = datasets.load_digits(return_X_y=True)
    images = (images / BRIGHTEST).reshape(-1, 8, 8)
    fewest = int(np.bincount(y).min())
    if per_source + per_target >= fewest:
        most = f"less than {10 * fewest}, to leave rows of every class for the test"
        raise InputError(f"n_source + n_target: expected {most}, got {n_source + n_target}.")
    rng = np.random.default_rng(random_state)
    shuffled = [rng.permutation(np.flatnonzero(y == label)) for label in range(10)]
    cuts = [np.split(rows, [per_source, per_source + per_target]) for rows in shuffled]
    source, target, test = (np.concatenate(part) for part in zip(*cuts, strict=True))
    # Target rows are still sorted by class here: the first labelled_per_class of each class keep their label.
    hidden = np.arange(len(target)) % per_target >= labelled_per_class
    y_target = np.where(hidden, UNLABELLED, y[target])
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
    r"""Return projections, Fourier magnitudes and central moments of 8 x 8 images, as (n, 36).

    - sums of the pixels of each row and of each column (16);
    - magnitudes of the 13 lowest frequencies, :math:`|\sum_{rc} f_{rc} e^{-2\pi i (ur + vc)/8}|`, which do not change
      when an image is shifted cyclically;
    - the 7 central moments of order two and three of the pixels as a distribution,
      :math:`\sum f_{rc} (r - \bar r)^p (c - \bar c)^q / \sum f_{rc}`, which change neither when the digit is moved
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


def _check_rows_per_class(n: int, name: str) -> int:
    check_number(n, name, low=10, whole=True)
    if n % 10:
        raise InputError(f"{name}: expected a multiple of ten, the number of classes, got {n}.")
    return n // 10
