"""The toy problem of the paper: a plane, a space, and four labelled target rows that mislead."""

from __future__ import annotations

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus._validation import number
from isthmus.datasets.pair import DomainPair

LENGTH, WIDTH = 1.5, 0.4
"""Standard deviation of a class along its long axis, and across it."""
APART = 1.2
"""From the centre of a domain to the centre of either class, across the long axis."""
BIAS = 2.0
"""How many standard deviations out, along the long axis and towards one of the classes, labelled target rows lie."""

# Columns: the long axis, the axis from class to class and, in space, the third one.
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
    """Two classes in the plane and the same two in space, where the few labelled rows are drawn from one end.

    Every class is an elongated Gaussian, and the two classes of a domain lie side by side. The target's are turned
    and moved elsewhere. Its unlabelled and test rows follow them; its labelled rows lie about two standard
    deviations out at the same end of both classes, so that whoever looks at them alone is misled about where the
    classes are.

    In the target the labelled rows come first, then the unlabelled ones, and both class by class: so pictures can
    show the classes of the unlabelled rows.

    The paper gives the numbers of rows, two Gaussian classes in each domain, and that the labelled target rows are
    "deliberately sampled with bias". It gives no means and no covariances: those here are ours.

    Parameters
    ----------
    random_state : int
        Which rows are drawn.
    source_per_class, unlabelled_per_class, labelled_per_class, test_per_class : int
        Labelled rows of the source; unlabelled, labelled and held-out ones of the target.

    Examples
    --------
    >>> toy = load_toy()
    >>> toy.X_source.shape, toy.X_target.shape, toy.n_labelled
    ((80, 2), (84, 3), 4)
    """
    number(random_state, "random_state", low=0, whole=True)
    number(source_per_class, "source_per_class", low=1, whole=True)
    number(unlabelled_per_class, "unlabelled_per_class", low=0, whole=True)
    number(labelled_per_class, "labelled_per_class", low=1, whole=True)
    number(test_per_class, "test_per_class", low=1, whole=True)
    rng = np.random.default_rng(random_state)
    X_source, y_source = _classes(source_per_class, SOURCE_CENTRE, SOURCE_AXES, rng)
    X_labelled, y_labelled = _classes(labelled_per_class, TARGET_CENTRE, TARGET_AXES, rng, end=BIAS)
    X_unlabelled, y_unlabelled = _classes(unlabelled_per_class, TARGET_CENTRE, TARGET_AXES, rng)
    X_test, y_test = _classes(test_per_class, TARGET_CENTRE, TARGET_AXES, rng)
    return DomainPair(
        name="toy",
        description="Two Gaussian classes in the plane and in space, after the paper's toy problem; the labelled "
        "target rows come from one corner of their classes.",
        X_source=X_source,
        y_source=y_source,
        X_target=np.vstack([X_labelled, X_unlabelled]),
        y_target=np.concatenate([y_labelled, np.full(len(X_unlabelled), -1)]),
        X_test=X_test,
        y_test=y_test,
        target_classes=np.concatenate([y_labelled, y_unlabelled]),
        licence="that of this library",
    )


def _classes(
    per_class: int, centre: FloatArray, axes: FloatArray, rng: np.random.Generator, *, end: float | None = None
) -> tuple[FloatArray, IntArray]:
    """Rows of both classes and their codes; near one corner of each, where it is named."""
    y = np.repeat(np.arange(2), per_class)
    along, *across = rng.standard_normal((len(axes), len(y)))
    if end is not None:
        along = end + WIDTH * along
        across[0] = end + WIDTH * across[0]
    local = np.column_stack([LENGTH * along, *(WIDTH * t for t in across)])
    local[:, 1] += APART * (2 * y - 1)
    return centre + local @ axes.T, y
