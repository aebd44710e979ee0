"""Two collections of rows, one set of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._arrays import IntArray, Matrix
from isthmus._validation import length, matrix, ordinary, short_repr
from isthmus.domains.labels import UNLABELLED, as_labels, encoded, encoded_classes, encoded_known
from isthmus.domains.pairs import KnownPairs, as_pairs
from isthmus.exceptions import InputError


@short_repr
@dataclass(frozen=True, eq=False)
class Domain:
    """One collection: rows X (n, d), label codes y (n,) with -1 for none, and the names of its columns."""

    X: Matrix
    y: IntArray
    columns: tuple[str, ...] | None = None

    @property
    def labelled(self) -> IntArray:
        """The numbers of the labelled rows."""
        return np.flatnonzero(self.y != UNLABELLED)


@short_repr
@dataclass(frozen=True, eq=False)
class TwoDomains:
    """A source and a target, with the classes that their codes count through, and what is known of them as pairs."""

    source: Domain
    target: Domain
    classes: NDArray[Any]
    """The classes (C,), sorted."""
    pairs: KnownPairs | None = None
    """Rows of both that are the same object."""


@short_repr
@dataclass(frozen=True, eq=False)
class Split:
    """Which rows of a source domain and of a target domain take which part, as row numbers."""

    source: IntArray
    """Rows of the source, all of them labelled."""
    labelled: IntArray
    """Rows of the target that are learned from with their label."""
    unlabelled: IntArray
    """Rows of the target that are learned from without it."""
    test: IntArray
    """Rows of the target that are held out."""


def two_domains(
    X_source: Any,
    y_source: Any,
    X_target: Any,
    y_target: Any,
    pairs: Any = None,
    needed: tuple[int, str] = (1, ""),
    own_classes: bool = False,
    needs_target_labels: bool = True,
) -> TwoDomains:
    """Check the arguments of ``fit`` and turn labels of any type into codes.

    Without pairs all that ties the domains are labels: every source row has one, and some target row. With pairs,
    labels are optional in both, all of them or for some rows, and the target may have classes of its own; so it may
    without, where ``own_classes`` says so. So many pairs are ``needed``, by whom. Where the labels of the source are
    enough, ``needs_target_labels`` is False, and ``y_target`` may be None.

    Examples
    --------
    >>> domains = two_domains([[0.0], [1.0]], ["cat", "dog"], [[5.0, 6.0], [7.0, 8.0]], ["dog", None])
    >>> domains.target.y, domains.classes
    (array([ 1, -1]), array(['cat', 'dog'], dtype=object))
    >>> two_domains([[0.0], [1.0]], None, [[5.0], [7.0]], ["dog", None], [[0, 0]]).source.y
    array([-1, -1])
    """
    Xs, Xt = (ordinary(matrix(X, name), name) for X, name in ((X_source, "X_source"), (X_target, "X_target")))
    optional = pairs is not None
    ys = _labels(y_source, Xs.shape[0], "y_source", "X_source", optional)
    yt = _labels(y_target, Xt.shape[0], "y_target", "X_target", optional or not needs_target_labels)
    if optional:
        (source, target), classes = encoded_known((ys, yt), ("y_source", "y_target"))
        known = as_pairs(pairs, len(ys), len(yt), fewest=needed[0], needs=needed[1])
        return TwoDomains(Domain(Xs, source), Domain(Xt, target), classes, known)
    source, classes = encoded_classes(ys, "y_source")
    if own_classes:
        (source, target), classes = encoded_known((ys, yt), ("y_source", "y_target"))
    else:
        target = encoded(yt, classes, "y_target")
    if needs_target_labels and (target == UNLABELLED).all():
        raise InputError(f"y_target: expected at least one labelled row, got none among {len(yt)}.")
    return TwoDomains(Domain(Xs, source), Domain(Xt, target), classes)


def _labels(y: Any, n: int, name: str, rows: str, optional: bool) -> NDArray[Any]:
    labels = np.full(n, UNLABELLED) if optional and y is None else as_labels(y, name)
    length(labels, n, name, rows)
    return labels
