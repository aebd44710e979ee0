"""Two domains and a test set as one value: what a built-in loader returns, and what your own arrays fit into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._arrays import Matrix
from isthmus._validation import column_names, length, matrix
from isthmus.domains import as_labels, is_unlabelled
from isthmus.exceptions import InputError


@dataclass(frozen=True, eq=False, repr=False)
class DomainPair:
    """Two collections described by different features, and held-out rows of the second.

    Parameters
    ----------
    X_source, y_source : array or CSR (n_s, d_s), array (n_s,)
        The source: every row has its label.
    X_target, y_target : array or CSR (n_t, d_t), array (n_t,)
        The target: labels, -1 where there is none.
    X_test, y_test : array or CSR (n_test, d_t), array (n_test,), optional
        Held-out target rows, for scoring only; a study that draws splits of its own needs none.
    name, description : str
        What the data are and where they come from, the latter in one line.
    source_features, target_features : sequence of str, optional
        The names of the d_s and the d_t columns; by default x0, x1, ….
    source_ids, target_ids, test_ids : array, optional
        Which objects of the original collection the rows are: no object is in two of the three. By default every row
        is an object of its own.
    target_classes : array (n_t,), optional
        The true classes of all target rows, for pictures and for scoring only.
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
            got = f"{self.X_test.shape[1]} and {self.X_target.shape[1]}"
            raise InputError(f"X_test: expected as many columns as X_target has, got {got}.")
        if self.target_classes is not None:
            self._set(target_classes=as_labels(self.target_classes, "target_classes"))
            length(self.target_classes, len(self.y_target), "target_classes", "X_target")
        self._set_ids(parts, sizes)

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)  # the way to complete a frozen value while it is being made

    def _set_rows(self, part: str) -> int:
        """Check the rows, the labels and the names of the columns of a part; how many rows there are."""
        given = getattr(self, f"X_{part}")
        X, y = matrix(given, f"X_{part}"), as_labels(getattr(self, f"y_{part}"), f"y_{part}")
        n, d = X.shape
        length(y, n, f"y_{part}", f"X_{part}")
        self._set(**{f"X_{part}": X, f"y_{part}": y})
        if part != "test":
            names = (
                tuple(getattr(self, f"{part}_features")) or column_names(given) or tuple(f"x{k}" for k in range(d))
            )
            length(names, d, f"{part}_features", f"the columns of X_{part}")
            self._set(**{f"{part}_features": names})
        return int(n)

    def _set_ids(self, parts: Sequence[str], sizes: Sequence[int]) -> None:
        names = [f"{part}_ids" for part in parts]
        given = [getattr(self, name) is not None for name in names]
        if not any(given):
            self._set(**dict(zip(names, np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1]), strict=True)))
            return
        if not all(given):
            raise InputError(f"{', '.join(names)}: expected all or none, got some of them.")
        owners: dict[Any, str] = {}
        for name, n in zip(names, sizes, strict=True):
            ids = np.asarray(getattr(self, name))
            length(ids, n, name, f"X_{name.removesuffix('_ids')}")
            self._set(**{name: ids})
            for thing in np.unique(ids).tolist():
                if owners.setdefault(thing, name) != name:
                    raise InputError(
                        f"{name}: expected no object in two parts, got {thing!r} in {owners[thing]} too."
                    )

    @property
    def classes(self) -> NDArray[Any]:
        """The distinct labels of the source, sorted."""
        return np.unique(self.y_source[~is_unlabelled(self.y_source)])

    @property
    def n_labelled(self) -> int:
        """How many target rows have a label."""
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
