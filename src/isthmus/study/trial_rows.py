"""The rows of a trial, the same for all systems, and how they are drawn from pairs of domains."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from isthmus._core.validation import UNLABELLED, IntArray, Matrix, ShortRepr, as_labels, encode, is_sparse
from isthmus.data.datasets import DomainPair
from isthmus.data.splits import Protocol
from isthmus.estimators.controls import KINDS
from isthmus.exceptions import InputError
from isthmus.geometry.spaces import apply_transformer, check_transformer, fit_transformer

# A function that loads a pair of domains, called as ``load(random_state=seed)``.
Loader: TypeAlias = Callable[..., DomainPair]


class Trial(NamedTuple):
    """One draw: the group (source and target, as tables name them), the variant of the features, the seed."""

    group: str
    variant: str
    seed: int


@dataclass(frozen=True, eq=False, repr=False)
class TrialRows(ShortRepr):
    """The rows that a system is fitted to and tested on; classes are codes, -1 where there is no label."""

    X_source: Matrix
    y_source: IntArray
    X_target: Matrix
    y_target: IntArray
    X_test: Matrix
    y_test: IntArray

    @property
    def fit(self) -> tuple[Matrix, IntArray, Matrix, IntArray]:
        """The arguments of ``fit``."""
        return self.X_source, self.y_source, self.X_target, self.y_target

    @property
    def labelled(self) -> IntArray:
        """The numbers of the labelled target rows."""
        return np.flatnonzero(self.y_target != UNLABELLED)


@dataclass(frozen=True)
class CorruptedRows:
    """A control: the rows with an uninformative source, "noise", "permuted" or "renamed".

    :mod:`isthmus.estimators.controls` describes the kinds. The draw depends on the seed alone: groups of one seed
    that are alike in size share it.
    """

    kind: str

    def __call__(self, rows: TrialRows, seed: int) -> TrialRows:
        """Return the rows with their source corrupted."""
        X, y = KINDS[self.kind](rows.X_source, rows.y_source, np.random.default_rng([seed, hash_name(self.kind)]))
        return replace(rows, X_source=X, y_source=np.asarray(y, dtype=np.intp))


def hash_name(name: str) -> int:
    """Return a number for a name, as part of a seed; the same on every machine."""
    return zlib.crc32(name.encode())


@dataclass(frozen=True, eq=False)
class PairRows:
    """The rows of trials from pairs of domains, in memory or loaded for each seed, by the name of the group.

    The other parameters are those of :meth:`isthmus.study.study.Study.of`.
    """

    pairs: Mapping[str, DomainPair | Loader]
    protocol: Protocol | None = None
    source_transformer: Any = None
    target_transformer: Any = None

    def __post_init__(self) -> None:
        if self.protocol is not None and not isinstance(self.protocol, Protocol):
            raise InputError(f"protocol: expected a Protocol or None, got {self.protocol!r:.60}.")
        check_transformer(self.source_transformer, "source_transformer")
        check_transformer(self.target_transformer, "target_transformer")
        for name, each in self.pairs.items():
            if not isinstance(name, str):
                raise InputError(f"data: expected names that are texts, got {name!r:.60}.")
            if not callable(each):
                self._check_pair(name, each)

    @property
    def redrawn(self) -> bool:
        """Whether another seed has other rows, in every group."""
        return self.protocol is not None or not any(isinstance(each, DomainPair) for each in self.pairs.values())

    def __call__(self, trial: Trial) -> TrialRows:
        """Return the rows of a trial."""
        return self.draw_rows(self.load_data(trial), trial)

    def load_data(self, trial: Trial) -> DomainPair | None:
        """Return the pair that a loader returns for the seed of a trial; None for a pair in memory."""
        each = self.pairs[trial.group]
        return None if isinstance(each, DomainPair) else each(random_state=trial.seed)

    def draw_rows(self, loaded: DomainPair | None, trial: Trial) -> TrialRows:
        """Return the rows of a trial, given what :meth:`load_data` returned for it."""
        pair: Any = self.pairs[trial.group] if loaded is None else loaded
        self._check_pair(trial.group, pair)
        seed = [trial.seed, hash_name(trial.group)]
        rows = take_pair_rows(pair) if self.protocol is None else draw_rows(pair, self.protocol, seed)
        return prepare_trial_rows(rows, self.source_transformer, self.target_transformer)

    def _check_pair(self, name: str, pair: Any) -> None:
        if not isinstance(pair, DomainPair):
            raise InputError(f"data: expected a DomainPair or a function that loads one, got {pair!r:.60}.")
        if self.protocol is None and pair.X_test is None:
            raise InputError(f"protocol: expected one, since {name or 'the pair'} has no test rows, got None.")


def take_pair_rows(pair: DomainPair) -> TrialRows:
    """Return the rows of a pair with its own test rows."""
    y_source, y_target, y_test = (_encode_classes(pair, name) for name in ("y_source", "y_target", "y_test"))
    return TrialRows(pair.X_source, y_source, pair.X_target, y_target, pair.X_test, y_test)


def draw_rows(pair: DomainPair, protocol: Protocol, seed: Sequence[int]) -> TrialRows:
    """Return a split of the target and test rows of known class.

    Target rows of unknown class can be neither labelled nor tested: they are unlabelled in every trial.
    """
    y_source, y = (_encode_classes(pair, name) for name in ("y_source", "y_target"))
    X, ids = pair.X_target, pair.target_ids
    if pair.target_classes is not None:
        y = np.where(y == UNLABELLED, _encode_classes(pair, "target_classes"), y)
    if pair.X_test is not None:
        X = sp.vstack([X, pair.X_test], format="csr") if is_sparse(X) else np.vstack([X, pair.X_test])
        y, ids = np.r_[y, _encode_classes(pair, "y_test")], np.r_[ids, pair.test_ids]
    known, unknown = np.flatnonzero(y != UNLABELLED), np.flatnonzero(y == UNLABELLED)
    if not len(known):
        raise InputError("pair: expected target rows of known class to draw from, got none.")
    split = protocol.split(y_source, y[known], objects_source=pair.source_ids, objects_target=ids[known], seed=seed)
    labelled, unlabelled, test = (known[part] for part in (split.labelled, split.unlabelled, split.test))
    unknown = unknown[~np.isin(ids[unknown], ids[test])]  # another row of a tested object would give it away
    learned = np.concatenate([labelled, unlabelled, unknown])
    y_target = np.where(np.arange(len(learned)) < len(labelled), y[learned], UNLABELLED)
    return TrialRows(pair.X_source[split.source], y_source[split.source], X[learned], y_target, X[test], y[test])


def prepare_trial_rows(rows: TrialRows, source_transformer: Any, target_transformer: Any) -> TrialRows:
    """Return the rows with each domain's features transformed; test rows play no part in fitting the transformers."""
    source = fit_transformer(source_transformer, rows.X_source, "source_transformer")
    target = fit_transformer(target_transformer, rows.X_target, "target_transformer")
    X_target, X_test = (apply_transformer(target, X, "target_transformer") for X in (rows.X_target, rows.X_test))
    X_source = apply_transformer(source, rows.X_source, "source_transformer")
    return replace(rows, X_source=X_source, X_target=X_target, X_test=X_test)


def _encode_classes(pair: DomainPair, name: str) -> IntArray:
    classes = np.unique(as_labels(pair.y_source, "y_source"))
    return encode(as_labels(getattr(pair, name), name), classes, name)
