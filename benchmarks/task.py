"""The problem that every system gets: synthetic classes in two domains, all cross-domain pairs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from isthmus.solvers.logdet import LogDetProblem, Pairs
from isthmus.solvers.newton import DualNewton

SEED = 20240607
WEIGHT = 1.0
"""λ2 of every pair, which metric-learn calls gamma."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """Class means plus noise, both standard normal, in either domain; each domain centred.

    A pair of one class is bounded by ``u = m/2``, one of two classes by ``l = 3m/2``, where m is the sum of
    all variances of both domains, so that an average pair breaks its bound at the start. Rows are sorted by
    class: cyclic projections then need half the sweeps that they need with the classes mixed.
    """

    name: str
    n_classes: int
    n_source: int
    n_target: int
    d_source: int
    d_target: int

    def __str__(self) -> str:
        return f"{self.name}: n_s {self.n_source}, n_l {self.n_target}, d {self.d_source}+{self.d_target}"

    @cached_property
    def _domains(self) -> tuple[Array, Array]:
        rng = np.random.default_rng(SEED)
        source = _centred_classes(rng, self.source_labels, self.d_source)
        return source, _centred_classes(rng, self.target_labels, self.d_target)

    @property
    def source_labels(self) -> NDArray[np.intp]:
        """The classes of the source rows, (n_s,)."""
        return np.sort(np.arange(self.n_source) % self.n_classes)

    @property
    def target_labels(self) -> NDArray[np.intp]:
        """The classes of the labelled target rows, (n_l,)."""
        return np.sort(np.arange(self.n_target) % self.n_classes)

    @cached_property
    def rows(self) -> Array:
        """[x; 0] for every source row, then [0; y] for every target row: (n_s + n_l, d_s + d_t)."""
        X, Y = self._domains
        rows = np.zeros((len(X) + len(Y), X.shape[1] + Y.shape[1]))
        rows[: len(X), : X.shape[1]] = X
        rows[len(X) :, X.shape[1] :] = Y
        return rows

    @cached_property
    def sign(self) -> Array:
        """+1 where a pair is of one class, -1 elsewhere: (n_s, n_l)."""
        return np.where(self.source_labels[:, None] == self.target_labels, 1.0, -1.0)

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """(u, l), squared distances."""
        m = float(sum(domain.var(axis=0).sum() for domain in self._domains))
        return 0.5 * m, 1.5 * m

    @property
    def n_pairs(self) -> int:
        """All pairs of a source row and a target row."""
        return self.n_source * self.n_target

    @property
    def gram_bytes(self) -> int:
        """The size of the Gram matrix of the rows, in double precision."""
        return 8 * (self.n_source + self.n_target) ** 2

    def problem(self) -> LogDetProblem:
        """A new problem, with nothing cached in it."""
        n_s, n = self.n_source, self.n_source + self.n_target
        bound = np.where(self.sign > 0, *self.bounds)
        return LogDetProblem(self.rows, (Pairs(slice(0, n_s), slice(n_s, n), self.sign, WEIGHT, bound),))

    @cached_property
    def optimum(self) -> float:
        """The objective's minimum: the dual bound of a run to a far smaller gap than any that is timed."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rounding may stop it just short of the gap that is asked for
            return DualNewton(tol=1e-10).solve(self.problem()).dual

    def excess(self, objective: float) -> float:
        """How far an objective is above the minimum, relative to it."""
        return (objective - self.optimum) / max(1.0, abs(self.optimum))


def _centred_classes(rng: np.random.Generator, labels: NDArray[np.intp], d: int) -> Array:
    means = rng.standard_normal((labels.max() + 1, d))
    X = means[labels] + rng.standard_normal((len(labels), d))
    return np.asarray(X - X.mean(axis=0))


SMALL = Task("small", n_classes=6, n_source=120, n_target=6, d_source=100, d_target=150)
LARGE = Task("large", n_classes=31, n_source=620, n_target=31, d_source=800, d_target=600)
TASKS = (SMALL, LARGE)
