"""The rows of a trial, and what an entrant sees of them: its features, a spoilt source, or wrong pairs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler
from sklearn.svm import LinearSVC

from isthmus._core.validation import UNLABELLED, IntArray, Matrix, is_sparse
from isthmus.data.domains import Split
from isthmus.estimators.controls import shuffle_pairs
from isthmus.study.trial_rows import CorruptedRows, Trial, TrialRows, hash_name, prepare_trial_rows
from studies.systems.data import Sides, sides
from studies.systems.preparation import COMPONENTS_PER_CLASS, Reduced, standardising
from studies.views import draw_split

N_PAIRS = 100


@dataclass(frozen=True, eq=False)
class SystemRows(TrialRows):
    """Rows on the same number of principal components in both domains, and the same rows in other forms.

    Parameters
    ----------
    wide : Rows
        With all features that the first step of the preparation leaves.
    unit : Rows
        With all features and rows of unit length, for those who choose among the principal axes themselves.
    raw : Rows
        As the collection has them.
    pairs : array (P, 2) or None
        Numbers of source and target rows that are the same object.
    """

    wide: TrialRows
    unit: TrialRows
    raw: TrialRows
    pairs: IntArray | None = None

    def seen(self, form: str) -> SystemRows:
        """The same in one of the forms "narrow", "wide", "unit" or "raw"."""
        if form == "narrow":
            return self
        other = getattr(self, form)
        return replace(self, X_source=other.X_source, X_target=other.X_target, X_test=other.X_test)


@dataclass(frozen=True)
class Draw:
    """The rows of a trial: 20 source rows, 1 labelled and 20 unlabelled target rows per class, at most 300 test rows.

    No object is in two of source, target and test; the pairs, where there are some, are of further objects, whose
    class nobody knows. ``folder`` has the data.
    """

    groups: tuple[str, ...]
    n_pairs: int = 0
    folder: Path | None = field(default=None, compare=False, kw_only=True)

    def check(self) -> None:
        """Raise if data are not there."""
        for group in self.groups:
            sides(group, self.folder)

    def __call__(self, trial: Trial) -> SystemRows:
        """The rows of a trial in all forms."""
        both = sides(trial.group, self.folder)
        split = split_of(both, [trial.seed, hash_name(trial.group)])
        paired = np.empty(0, dtype=np.intp)
        if self.n_pairs:
            split, paired = with_pairs(split, len(both.y), self.n_pairs)
        return in_all_forms(both, split, paired)


def split_of(both: Sides, seed: list[int]) -> Split:
    """Which rows take which part."""
    if both.same_objects:
        return draw_split(both.y, seed)
    source = draw_split(both.y, [*seed, 1]).source
    return replace(draw_split(both.z, [*seed, 2], source=0, most_source=0), source=source)


def with_pairs(split: Split, n: int, n_pairs: int) -> tuple[Split, IntArray]:
    """Objects for the pairs: those that have no part yet and, where they are too few, the last ones of the test."""
    used = np.concatenate([split.source, split.labelled, split.unlabelled])
    free = np.setdiff1d(np.arange(n), np.r_[used, split.test])
    short = max(n_pairs - len(free), 0)
    cut = len(split.test) - short
    order = np.random.default_rng([n_pairs, *split.source[:4]]).permutation(free)[: n_pairs - short]
    return replace(split, test=split.test[:cut]), np.concatenate([order, split.test[cut:]])


def in_all_forms(both: Sides, split: Split, paired: IntArray) -> SystemRows:
    """The rows of a split; paired objects come last on either side, without a label."""
    target = np.concatenate([split.labelled, split.unlabelled, paired])
    source = np.concatenate([split.source, paired])
    known = np.arange(len(source)) < len(split.source), np.arange(len(target)) < len(split.labelled)
    raw = TrialRows(
        both.X[source], np.where(known[0], both.y[source], UNLABELLED),
        both.Y[target], np.where(known[1], both.z[target], UNLABELLED),
        both.Y[split.test], both.z[split.test],
    )  # fmt: skip
    first = prepare_trial_rows(raw, *(first_step(both, X) for X in (raw.X_source, raw.X_target)))
    narrow, wide = (second_step(both, first, size) for size in (COMPONENTS_PER_CLASS, None))
    m = len(paired)
    pairs = np.stack([len(split.source) + np.arange(m), len(target) - m + np.arange(m)], axis=1) if m else None
    unit = prepare_trial_rows(raw, *(unit_step(both, X) for X in (raw.X_source, raw.X_target)))
    return SystemRows(**vars(narrow), wide=wide, unit=unit, raw=raw, pairs=pairs)


def first_step(both: Sides, X: Matrix) -> Any:
    """Standardised numbers; text and counts of unit length."""
    return unit_step(both, X) if both.counts else standardising(X)


def unit_step(both: Sides, X: Matrix) -> Any:
    """Rows of unit length: of text as it is, of counts after their roots, of other numbers after z-scores."""
    if is_sparse(X):
        return Normalizer()
    return make_pipeline(FunctionTransformer(_roots) if both.counts else StandardScaler(), Normalizer())


def _roots(X: Matrix) -> Matrix:
    return np.sqrt(np.maximum(X, 0.0))


def second_step(both: Sides, rows: TrialRows, per_class: int | None) -> TrialRows:
    """Components of either domain; where the features are the same, of both together, so that they stay the same."""
    step = Reduced(per_class)
    if not both.same_features:
        return step(rows, 0)
    fitted = step.transformer(rows).fit(np.vstack([rows.X_source, rows.X_target]))
    X = {name: fitted.transform(getattr(rows, name)) for name in ("X_source", "X_target", "X_test")}
    return replace(rows, **X)


@dataclass(frozen=True)
class Sees:
    """What an entrant sees of the rows of a trial.

    Parameters
    ----------
    form : {"narrow", "wide", "unit", "raw"}
        The features.
    spoilt : {"noise", "permuted", "renamed"}, optional
        How the source is spoilt (:mod:`isthmus.estimators.controls`).
    test_rows : bool
        Whether the features of the test rows are among the unlabelled target rows, as a transductive system needs.
    pairs : {"true", "shuffled", "none"}
        What it is told of pairs. Without them paired rows are unlabelled rows like others, on the target's side.
    labels : bool
        Whether target rows keep the labels they have.
    """

    form: str = "narrow"
    spoilt: str | None = None
    test_rows: bool = False
    pairs: str = "none"
    labels: bool = True

    def __call__(self, rows: SystemRows, seed: int) -> SystemRows:
        """The rows as they are seen."""
        seen = rows.seen(self.form)
        if self.pairs == "shuffled" and seen.pairs is not None:
            rng = np.random.default_rng([seed, hash_name("shuffled pairs")])
            seen = replace(seen, pairs=shuffle_pairs(seen.pairs, rng))
        if self.pairs == "none":
            seen = without_pairs(seen)
        if not self.labels:
            seen = replace(seen, y_target=np.full_like(seen.y_target, UNLABELLED))
        if self.spoilt is not None:
            corrupted = CorruptedRows(self.spoilt)(seen, seed)
            assert isinstance(corrupted, SystemRows)
            seen = corrupted
        return with_test_rows(seen) if self.test_rows else seen


def without_pairs(rows: SystemRows) -> SystemRows:
    """The same rows, labelled source rows only, and nothing said of pairs."""
    labelled = rows.y_source != UNLABELLED
    return replace(rows, X_source=rows.X_source[labelled], y_source=rows.y_source[labelled], pairs=None)


def with_test_rows(rows: SystemRows) -> SystemRows:
    """The same with the test rows among the unlabelled ones."""
    both = rows.X_target, rows.X_test
    X = sp.vstack(both, format="csr") if is_sparse(rows.X_test) else np.vstack(both)
    return replace(rows, X_target=X, y_target=np.r_[rows.y_target, np.full(len(rows.y_test), UNLABELLED)])


def named_by_source(rows: SystemRows, seed: int) -> SystemRows:
    """No map: a linear machine of the source names the paired source rows, and their target rows take the names.

    The source is then not needed any more, nor is any other label of the target.
    """
    seen = rows.seen("unit")
    assert seen.pairs is not None
    labelled = seen.y_source != UNLABELLED
    machine = LinearSVC(random_state=0).fit(seen.X_source[labelled], seen.y_source[labelled])
    y = np.full_like(seen.y_target, UNLABELLED)
    y[seen.pairs[:, 1]] = machine.predict(seen.X_source[seen.pairs[:, 0]])
    return without_pairs(replace(seen, y_target=y))
