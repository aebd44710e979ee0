"""What the fits say: the tables of docs/bounds.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from isthmus._core.validation import FloatArray
from isthmus.study.board import Board, TextTable
from studies.defaults.rules import BEFORE, RULES, SHORT_LIST, Rule
from studies.defaults.specification import KERNELS, WEIGHTS, Weights, column


@dataclass(frozen=True)
class Merit:
    """Accuracy and mAP in per cent, means over splits: a row for each cell, a column for each rule.

    Parameters
    ----------
    pairs, kernels : array (n_cells,)
        Of every cell: a pair of views, a kernel and a number of labels.
    rules : tuple of Rule
        The columns.
    accuracy, retrieval : array (n_cells, n_rules)
        Of the nearest source row; of source rows ranked for a test row.
    """

    pairs: NDArray[np.str_]
    kernels: NDArray[np.str_]
    rules: tuple[Rule, ...]
    accuracy: FloatArray
    retrieval: FloatArray

    @classmethod
    def of(cls, boards: Sequence[Board], rules: tuple[Rule, ...], weights: Weights = (1.0, 1.0)) -> Self:
        """Of the fits with some rules and weights, on boards that differ in the number of labels."""
        cells = [(board, kernel) for board in boards for kernel in KERNELS]
        names = [(pair, kernel) for board, kernel in cells for pair in board.groups]

        def means(values: Callable[[Board, str], FloatArray]) -> FloatArray:
            parts = [[values(b, column(rule, k, weights)).mean(axis=1) for rule in rules] for b, k in cells]
            return 100 * np.concatenate(parts, axis=1).T

        pairs, kernels = np.array(names).T
        return cls(pairs, kernels, rules, means(Board.scores), means(lambda b, name: b.figures(name, "map")))

    @property
    def both(self) -> FloatArray:
        """Accuracy and mAP averaged."""
        return (self.accuracy + self.retrieval) / 2.0

    def regret(self) -> FloatArray:
        """Points below the best rule of each cell, accuracy and mAP averaged."""
        tables = self.accuracy, self.retrieval
        return np.asarray(np.mean([table.max(axis=1, keepdims=True) - table for table in tables], axis=0))

    def difference(self, table: FloatArray, rule: Rule) -> str:
        """A rule less the one before the study: the mean over pairs of views ± its standard error over pairs."""
        gain = table[:, self.rules.index(rule)] - table[:, self.rules.index(BEFORE)]
        means = np.array([gain[self.pairs == pair].mean() for pair in np.unique(self.pairs)])
        deviation = means.std(ddof=1) if len(means) > 1 else 0.0
        return f"{means.mean():+.2f} ± {deviation / np.sqrt(len(means)):.2f}"


def rules_tables(boards: Sequence[Board]) -> list[TextTable]:
    """All rules, least regret first; and their regret by collection and by kernel."""
    merit = Merit.of(boards, RULES)
    regret = merit.regret()
    rank = np.mean([rankdata(-table, axis=1) for table in (merit.accuracy, merit.retrieval)], axis=(0, 1))
    collections = np.array([pair.split()[0] for pair in merit.pairs])
    parts = {name: groups == name for groups in (collections, merit.kernels) for name in dict.fromkeys(groups)}
    rows, broken_down = [], []
    for k in np.argsort(regret.mean(axis=0)):
        rule = RULES[k]
        taken = _iterations(boards, [column(rule, kernel) for kernel in KERNELS])
        figures = merit.accuracy[:, k].mean(), merit.retrieval[:, k].mean()
        row = [f"{value:.1f}" for value in figures] + [f"{regret[:, k].mean():.2f}", f"{regret[:, k].max():.1f}"]
        row += [f"{rank[k]:.1f}", taken]
        row += [merit.difference(table, rule) for table in (merit.accuracy, merit.retrieval)]
        rows.append((str(rule), *row))
        broken_down.append((str(rule), *(f"{regret[mask, k].mean():.2f}" for mask in parts.values())))
    head = "rule", "accuracy", "mAP", "regret", "worst", "rank", "iterations", "Δ accuracy", "Δ mAP"
    return [
        TextTable("All rules, least regret first", head, tuple(rows)),
        TextTable("Regret by collection and by kernel", ("rule", *parts), tuple(broken_down)),
    ]


def weights_tables(boards: Sequence[Board]) -> list[TextTable]:
    """The mean of accuracy and mAP, less that of the rule before the study, at each (λ1, λ2)."""
    merits = {weights: Merit.of(boards, SHORT_LIST, weights) for weights in WEIGHTS["weights"]}
    rows = [(str(rule), *(m.difference(m.both, rule) for m in merits.values())) for rule in SHORT_LIST[1:]]
    head = "rule", *(f"λ1 = {a:g}, λ2 = {b:g}" for a, b in merits)
    return [TextTable(f"Accuracy and mAP averaged, less {BEFORE}", head, tuple(rows))]


def convergence_tables(boards: Sequence[Board]) -> list[TextTable]:
    """Iterations at each λ1 and λ2."""
    first, second = (sorted(set(values)) for values in zip(*WEIGHTS["convergence"], strict=True))

    def cell(a: float, b: float) -> str:
        names = [column(BEFORE, kernel, (a, b)) for kernel in KERNELS]
        found = [r for board in boards for name in names for row in board.records(name) for r in row]
        missed = sum(record is None or not record.certified for record in found)
        return _iterations(boards, names) + (f", {missed} missed" if missed else "")

    rows = [(f"{a:g}", *(cell(a, b) for b in second)) for a in first]
    head = "λ1", *(f"λ2 = {b:g}" for b in second)
    return [
        TextTable(f"Iterations of {BEFORE}, median (most), and fits that missed the tolerance", head, tuple(rows))
    ]


def _iterations(boards: Sequence[Board], names: Sequence[str]) -> str:
    """The median and the most."""
    taken = np.concatenate([board.figures(name, "iterations").ravel() for board in boards for name in names])
    return f"{np.nanmedian(taken):.0f} ({np.nanmax(taken):.0f})"


TABLES: dict[str, Callable[[Sequence[Board]], list[TextTable]]] = {
    "rules": rules_tables,
    "weights": weights_tables,
    "convergence": convergence_tables,
}
"""By the name of the study."""
