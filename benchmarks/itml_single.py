"""ITML over one space, on handwritten digits: isthmus to a certified optimum against metric-learn.

Both get the same pairs and the same bounds. metric-learn may take three times as many sweeps as by default,
because it does not reach its tolerance in those; were it not to reach it in these either, its time would be a lower
bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from benchmarks import itml
from benchmarks.record import Bar, Options, Record, Row, verdict
from benchmarks.task import SEED, WEIGHT, Array
from benchmarks.timing import median_seconds
from isthmus import ITML
from isthmus.solvers.logdet import LogDetProblem, Pairs
from isthmus.solvers.newton import DualNewton

NAME = "isthmus ITML"
BAR = 50.0
MAX_SWEEPS = 3000


@dataclass(frozen=True)
class DigitPairs:
    """20 · classes² pairs of digits, half of them of one class; bounded by percentiles of squared distances."""

    name: str
    scaled: Callable[[Array], Array]

    def __str__(self) -> str:
        return f"{self.name}: one domain, n {len(self.rows)}, d {self.rows.shape[1]}"

    @cached_property
    def rows(self) -> Array:
        """The digits (1797, 64)."""
        return np.asarray(self.scaled(load_digits(return_X_y=True)[0]))

    @cached_property
    def pairs(self) -> NDArray[np.intp]:
        """Row numbers (m, 2): similar pairs, then dissimilar ones."""
        y = load_digits(return_X_y=True)[1]
        each = 10 * len(np.unique(y)) ** 2
        left, right = np.random.default_rng(SEED).integers(len(y), size=(2, 100 * each))
        kinds = (y[left] == y[right]) & (left != right), y[left] != y[right]
        chosen = np.concatenate([np.flatnonzero(kind)[:each] for kind in kinds])
        return np.column_stack([left, right])[chosen]

    @property
    def n_pairs(self) -> int:
        """All pairs, of both kinds."""
        return len(self.pairs)

    @property
    def sign(self) -> Array:
        """+1 for similar pairs, -1 for others."""
        return np.repeat([1.0, -1.0], self.n_pairs // 2)

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """(u, l), the 5th and 95th percentile."""
        left, right = np.random.default_rng(SEED).integers(len(self.rows), size=(2, 10_000))
        squared = ((self.rows[left] - self.rows[right]) ** 2).sum(axis=1)
        u, l = np.percentile(squared[left != right], (5, 95))  # noqa: E741
        return float(u), float(l)

    def problem(self) -> LogDetProblem:
        """Every pair's difference, bounded in its distance from one more row, zero."""
        left, right = self.pairs.T
        rows = np.vstack([self.rows[left] - self.rows[right], np.zeros(self.rows.shape[1])])
        sign, m = self.sign[:, None], self.n_pairs
        bound = np.where(sign > 0, *self.bounds)
        return LogDetProblem(rows, (Pairs(slice(0, m), slice(m, m + 1), sign, WEIGHT, bound),))

    @cached_property
    def optimum(self) -> float:
        """The objective's minimum: the dual bound of a run to a far smaller gap than any that is timed."""
        return DualNewton(tol=1e-9).solve(self.problem()).dual

    def excess(self, objective: float) -> float:
        """How far an objective is above the minimum, relative to it."""
        return (objective - self.optimum) / max(1.0, abs(self.optimum))


TASKS = (DigitPairs("digits", lambda X: X / 16.0), DigitPairs("digits, standardised", StandardScaler().fit_transform))


def run(record: Record, options: Options, announce: Callable[[str], None]) -> None:
    """Both systems on both scalings of the digits, and the bar on the ratio of their times."""
    for task in TASKS:
        announce(f"{task.name}: {NAME}")
        ours = _ours(task, options)
        announce(f"{task.name}: {itml.NAME}, up to a minute")
        theirs = _theirs(task)
        record.rows += [ours, theirs]
        record.bars.append(_bar(task, ours, theirs))


def _bar(task: DigitPairs, ours: Row, theirs: Row) -> Bar:
    ratio, above = theirs.seconds / ours.seconds, task.excess(theirs.objective) - task.excess(ours.objective)
    no_worse = ours.objective <= theirs.objective
    return Bar(
        f"{task.name}: ITML at least {BAR:.0f}x faster than metric-learn, to an equal or better objective",
        f"{'>' if theirs.at_least else ''}{ratio:.1f}x; metric-learn's objective {above:+.0e} from ours, relative",
        verdict(no_worse and ratio >= BAR, theirs.at_least and no_worse),
    )


def _ours(task: DigitPairs, options: Options) -> Row:
    def fitted() -> ITML:
        return ITML(WEIGHT, bounds=task.bounds).fit_pairs(task.rows[task.pairs], task.sign)

    model = fitted()
    model.result_.raise_for_status()
    return Row(
        NAME,
        task,
        median_seconds(lambda: fitted().get_mahalanobis_matrix(), options.repeats),
        f"{model.n_iter_} iterations",
        task.problem().primal(model.get_mahalanobis_matrix()),
        f"certified, gap {model.result_.relative_gap:.0e}",
    )


def _theirs(task: DigitPairs) -> Row:
    figures, M = itml.run(
        {
            "rows": task.rows,
            "pairs": task.pairs,
            "sign": task.sign.astype(int),
            "bounds": np.array(task.bounds),
            "gamma": WEIGHT,
            "max_iter": MAX_SWEEPS,
        }
    )
    return Row(
        itml.NAME,
        task,
        figures["seconds"],
        f"{figures['sweeps']} sweeps",
        task.problem().primal(M),
        f"its tol {figures['tol']:g}" if figures["converged"] else f"max_iter {MAX_SWEEPS}",
        at_least=not figures["converged"],
    )
