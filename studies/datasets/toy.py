"""The paper's toy problem, with parameters of our own: two Gaussian classes in the plane and in space."""

from __future__ import annotations

import numpy as np

from isthmus._core.validation import UNLABELLED, FloatArray, IntArray, check_number
from isthmus.data.datasets import DomainPair

# Standard deviation of a class along its long axis, and across it.
LENGTH, WIDTH = 1.5, 0.4
# Distance from the centre of a domain to the centre of either class, across the long axis.
APART = 1.2
# Offset of the labelled target rows from their class centre, in standard deviations, along and across the long axis.
BIAS = 2.0

# Columns: the long axis, the axis between the class centres and, in three dimensions, the third one.
SOURCE_AXES = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2.0)
TARGET_AXES = np.array([[2.0, -1.0, 2.0], [2.0, 2.0, -1.0], [-1.0, 2.0, 2.0]]) / 3.0
SOURCE_CENTRE = np.array([2.0, 3.0])
TARGET_CENTRE = np.array([4.0, -2.0, 3.0])


def load_toy(
    random_state: int = 0,
    *,
    source_per_class: int = 40,
    unlabelled_per_class: int = 40,
    labelled_per_class: int = 2,
    test_per_class: int = 200,
) -> DomainPair:
    """Draw a two-class toy problem: the source in two dimensions, the target in three, with biased target labels.

    Every class is an elongated Gaussian, and the two classes of a domain lie side by side; the target's are rotated
    and shifted. Unlabelled and test rows are drawn from these Gaussians. Labelled target rows lie about two standard
    deviations out, in the same corner of both classes, so that a model of these rows alone misjudges where the
    classes are. Target rows are sorted: the labelled ones first, then the unlabelled ones, both by class.

    It follows the toy problem of Qian and Chen (2012), who give the numbers of rows, two Gaussian classes in each
    domain, and labelled target rows that are "deliberately sampled with bias". They give no means and no covariances:
    those here are ours.

    Parameters
    ----------
    random_state : int
        Random seed.
    source_per_class, unlabelled_per_class, labelled_per_class, test_per_class : int
        Number of source rows, and of unlabelled, labelled and test rows of the target, per class.

    Examples
    --------
    >>> toy = load_toy()
    >>> toy.X_source.shape, toy.X_target.shape, toy.n_labelled
    ((80, 2), (84, 3), 4)
    """
    check_number(random_state, "random_state", low=0, whole=True)
    check_number(unlabelled_per_class, "unlabelled_per_class", low=0, whole=True)
    counts = (source_per_class, labelled_per_class, test_per_class)
    for name, count in zip(("source", "labelled", "test"), counts, strict=True):
        check_number(count, f"{name}_per_class", low=1, whole=True)
    rng = np.random.default_rng(random_state)
    X_source, y_source = _draw_classes(source_per_class, SOURCE_CENTRE, SOURCE_AXES, rng)
    X_labelled, y_labelled = _draw_classes(labelled_per_class, TARGET_CENTRE, TARGET_AXES, rng, end=BIAS)
    X_unlabelled, y_unlabelled = _draw_classes(unlabelled_per_class, TARGET_CENTRE, TARGET_AXES, rng)
    X_test, y_test = _draw_classes(test_per_class, TARGET_CENTRE, TARGET_AXES, rng)
    return DomainPair(
        name="toy",
        description="Two Gaussian classes in the plane and in space, after the paper's toy problem; the labelled "
        "target rows come from one corner of their classes.",
        X_source=X_source,
        y_source=y_source,
        X_target=np.vstack([X_labelled, X_unlabelled]),
        y_target=np.concatenate([y_labelled, np.full(len(X_unlabelled), UNLABELLED)]),
        X_test=X_test,
        y_test=y_test,
        target_classes=np.concatenate([y_labelled, y_unlabelled]),
        licence="that of this library",
    )


def _draw_classes(
    per_class: int, centre: FloatArray, axes: FloatArray, rng: np.random.Generator, *, end: float | None = None
) -> tuple[FloatArray, IntArray]:
    """Return rows of both classes and their codes; in one corner of each class if ``end`` is given."""
    y = np.repeat(np.arange(2), per_class)
    along, *across = rng.standard_normal((len(axes), len(y)))
    if end is not None:
        along = end + WIDTH * along
        across[0] = end + WIDTH * across[0]
    local = np.column_stack([LENGTH * along, *(WIDTH * t for t in across)])
    local[:, 1] += APART * (2 * y - 1)
    return centre + local @ axes.T, y
