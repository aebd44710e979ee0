"""How often ``does_source_help`` says "helps" of a source that was spoilt on purpose, and of the true one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from isthmus import Verdict, does_source_help
from isthmus._core.validation import UNLABELLED, IntArray, Matrix
from isthmus.data.domains import Domain
from isthmus.estimators.controls import KINDS
from isthmus.evidence.held_out import wilson_interval
from isthmus.study.board import Board, TextTable
from isthmus.study.design import Entrant, Fit
from isthmus.study.records import Record
from isthmus.study.study import Study
from isthmus.study.trial_rows import Trial, hash_name
from studies.datasets import load_debian, load_mfeat, load_reuters600, load_snareseq
from studies.datasets.collection import Collection
from studies.defaults.specification import load_digit_views
from studies.views import load_views

Loader = Callable[[Path | None], Collection]
CLASSES, PER_CLASS, LATENT = 8, 60, 6


def load_made_views(folder: Path | None = None) -> Collection:
    """Made data: class means in six dimensions, seen in two ways with noise; no row of one tells of one of the other.

    Examples
    --------
    >>> {name: domain.X.shape for name, domain in load_made_views().domains.items()}
    {'a': (480, 30), 'b': (480, 24)}
    """
    rng = np.random.default_rng(0)
    means, y = rng.normal(size=(CLASSES, LATENT)), np.repeat(np.arange(CLASSES), PER_CLASS)
    domains, objects = {}, np.arange(len(y))
    for name, d in (("a", 30), ("b", 24)):
        seen = means[y] + 0.9 * rng.normal(size=(len(y), LATENT))
        domains[name] = Domain(seen @ rng.normal(size=(LATENT, d)) + 0.5 * rng.normal(size=(len(y), d)), y)
    classes = tuple(map(str, range(CLASSES)))
    both = dict.fromkeys(domains, objects)
    return Collection("made", "two views of classes in six dimensions", domains, both, classes, "made here", "none")


PAIRS: dict[str, tuple[Loader, str, str]] = {
    "digits pixels→shape": (load_digit_views, "pixels", "shape"),
    "mfeat fou76→kar64": (load_mfeat, "fou76", "kar64"),
    "Debian en→fr": (load_debian, "en", "fr"),
    "Reuters EN→FR": (load_reuters600, "EN", "FR"),
    "SNARE-seq RNA→ATAC": (load_snareseq, "rna10", "atac19"),
    "Debian de→en": (load_debian, "de", "en"),
    "Debian fr→en": (load_debian, "fr", "en"),
    "Reuters EN→SP": (load_reuters600, "EN", "SP"),
    "Reuters FR→GR": (load_reuters600, "FR", "GR"),
    "Reuters GR→EN": (load_reuters600, "GR", "EN"),
    "Reuters IT→EN": (load_reuters600, "IT", "EN"),
    "Reuters IT→FR": (load_reuters600, "IT", "FR"),
    "made a→b": (load_made_views, "a", "b"),
    "made b→a": (load_made_views, "b", "a"),
}
"""A collection and two of its views. Of the Debian and Reuters pairs, all but EN→FR were chosen for a gain of three
points or more with one label per class in the committed records of the paper's size."""
QUESTIONS = {"few": "every class labelled", "names": "a third of the classes without a label"}
TRUE, SECONDS = "true", "processor seconds"
VARIANTS = {
    f"{question}, {kind}": f"{words}, {kind} source"
    for question, words in QUESTIONS.items()
    for kind in (TRUE, *KINDS)
}
SOURCE_PER_CLASS, TARGET_PER_CLASS = 20, 21
"""The paper's sizes, all of whose target rows are labelled here: with fewer, the verdict could only be open."""
ANSWERS = {"helps": 1.0, "does not help": 0.0, "can't tell": 0.5}


@dataclass(frozen=True, eq=False)
class TwoCollections:
    """What the verdict is asked about, and which of its splits."""

    X_source: Matrix
    y_source: IntArray
    X_target: Matrix
    y_target: IntArray
    seed: int


@dataclass(frozen=True)
class Draw:
    """The rows of a trial: disjoint objects, a source that is spoilt as the variant says."""

    folder: Path | None = field(default=None, compare=False)
    pairs: tuple[str, ...] = field(default=tuple(PAIRS), compare=False)
    source: int = SOURCE_PER_CLASS
    target: int = TARGET_PER_CLASS

    def check(self) -> None:
        """Raise if data are not there."""
        for pair in self.pairs:
            load, *names = PAIRS[pair]
            load_views(load, self.folder, *names)

    def __call__(self, trial: Trial) -> TwoCollections:
        """Both collections, by the seed alone but for what is spoilt."""
        load, source, target = PAIRS[trial.group]
        views = load_views(load, self.folder, source, target)
        question, _, kind = trial.variant.partition(", ")
        rng = np.random.default_rng([trial.seed, hash_name(trial.group)])
        order = [rng.permutation(np.flatnonzero(views.y == c)) for c in np.unique(views.y)]
        # A class of few objects gives as many to the target as to the source.
        ends = [(n := min(self.source, len(rows) // 2), n + self.target) for rows in order]
        ours = np.concatenate([rows[:first] for rows, (first, _) in zip(order, ends, strict=True)])
        theirs = np.concatenate([rows[first:last] for rows, (first, last) in zip(order, ends, strict=True)])
        X, y, y_target = views.X[ours], views.y[ours], views.y[theirs].copy()
        if question == "names":
            classes = rng.permutation(np.unique(y))
            y_target[np.isin(y_target, classes[: len(classes) // 3])] = UNLABELLED
        if kind != TRUE:
            X, y = KINDS[kind](X, y, np.random.default_rng([trial.seed, hash_name(trial.group), hash_name(kind)]))
        return TwoCollections(X, np.asarray(y, dtype=np.intp), views.Y[theirs], y_target, trial.seed)


class Asked(BaseEstimator):  # type: ignore[misc]
    """``does_source_help`` as something that a study can run."""

    verdict_: Verdict
    seconds_: float

    def __init__(self, system: Any = "auto", n_splits: int | None = None) -> None:
        self.system = system
        self.n_splits = n_splits

    def fit(self, rows: TwoCollections) -> Self:
        """Ask."""
        given = rows.X_source, rows.y_source, rows.X_target, rows.y_target
        # Other splits than those of the rows themselves, which are drawn by the seed too.
        seed = 10_000 + rows.seed
        options = {"system": self.system, "n_splits": self.n_splits, "random_state": seed}
        start = time.process_time()
        self.verdict_ = does_source_help(*given, **options, curve=False)  # what is judged, and nothing else
        self.seconds_ = time.process_time() - start
        return self


@dataclass(frozen=True)
class Asking:
    """To give a verdict; the score is 1 for "helps", 0 for "does not help", a half for "can't tell"."""

    measure: ClassVar[str] = "verdict"
    needs: ClassVar[tuple[str, ...]] = ("fit",)

    def fit(self, model: Any, rows: Any) -> None:
        """Ask."""
        model.fit(rows)

    def score(self, entrant: Entrant, column: str, fit: Fit) -> tuple[float, Mapping[str, float]]:
        """The verdict as a number, with the difference, its interval, and the splits that were needed."""
        verdict = fit.model.verdict_
        low, high = verdict.interval
        words = "can't tell" if verdict.helps is None else "helps" if verdict.helps else "does not help"
        found = {"difference": verdict.difference, "low": low, "high": high, "splits": verdict.n_splits}
        found[SECONDS] = round(fit.model.seconds_, 2)  # those of the record are by the clock
        return ANSWERS[words], found

    def agreement(self, entrant: Entrant, column: str, fit: Fit) -> float | None:
        """There is nothing to choose from."""
        return None


def study(
    folder: Path | None = None, pairs: Iterable[str] = PAIRS, system: Any = "auto", n_splits: int | None = None
) -> Study:
    """The study on some pairs. Of four classes none can be hidden: there, "names" asks of few labels too."""
    draw = Draw(folder, tuple(pairs))
    entrant = Entrant("verdict", partial(Asked, system, n_splits))
    return Study("error_rates", draw, (entrant,), groups=draw.pairs, variants=VARIANTS, task=Asking())


def rates(boards: Mapping[str, Board]) -> TextTable:
    """For each variant: how often each answer was given, and the interval of "helps" (Wilson)."""
    rows = []
    for variant, board in boards.items():
        scores = board.scores("verdict").ravel()
        rows.append(_row(VARIANTS[variant], scores[np.isfinite(scores)]))
    spoilt = [board.scores("verdict").ravel() for variant, board in boards.items() if not variant.endswith(TRUE)]
    every = np.concatenate(spoilt) if spoilt else np.zeros(0)
    rows.append(_row("all spoilt sources", every[np.isfinite(every)]))
    head = ("source", "runs", *ANSWERS, "helps, in per cent", "95 %")
    return TextTable("How often the verdict says what", head, tuple(rows), footer=1)


KNOWN = (("3 points or more", 3.0, np.inf), ("1 to 3 points", 1.0, 3.0), ("less than 1 point", -np.inf, 1.0))
"""Classes of gains that are known from other draws."""
UNKNOWN = "not known"


def power(errors: Sequence[Record], gains: Mapping[str, float]) -> TextTable:
    """How often a true source is called helpful, by what it gains on other draws, in points by pair of views.

    Below, by the difference that the run itself measured, which the answer depends on.
    """
    found = [r for r in errors if r.variant == f"few, {TRUE}" and r.score is not None]
    rows = []
    for name, low, high in (*KNOWN, (UNKNOWN, np.nan, np.nan)):
        some = [r for r in found if _is_within(gains.get(r.group), low, high)]
        pairs = len({r.group for r in some})
        scores = np.array([r.score for r in some])
        rows.append((name, str(pairs), *_row(name, scores)[1:]))
    measured = {r.key: 100.0 * (r.figures or {}).get("difference", np.nan) for r in found}
    for name, low, high in KNOWN:
        some = [r for r in found if _is_within(measured[r.key], low, high)]
        scores = np.array([r.score for r in some])
        rows.append((f"measured in the run: {name}", str(len({r.group for r in some})), *_row(name, scores)[1:]))
    head = ("gain with other draws", "pairs of views", "runs", *ANSWERS, "helps, in per cent", "95 %")
    return TextTable("True sources, every class labelled", head, tuple(rows))


def _is_within(gain: float | None, low: float, high: float) -> bool:
    return low != low if gain is None else low <= gain < high


def seconds(errors: Sequence[Record]) -> TextTable:
    """Processor seconds of a question by variant, where they were measured: the median and the largest."""
    rows = []
    for variant, words in VARIANTS.items():
        some = [(r.figures or {}).get(SECONDS) for r in errors if r.variant == variant]
        if known := [each for each in some if each is not None]:
            rows.append((words, str(len(known)), f"{np.median(known):.1f}", f"{max(known):.1f}"))
    return TextTable("Processor seconds of a question", ("source", "questions", "median", "largest"), tuple(rows))


def _row(name: str, scores: Any) -> tuple[str, ...]:
    n, hits = len(scores), int(np.sum(scores == 1.0))
    counts = [str(int(np.sum(scores == answer))) for answer in ANSWERS.values()]
    if not n:
        return name, "0", *counts, "–", "–"
    low, high = wilson_interval(hits, n)
    return name, str(n), *counts, f"{100 * hits / n:.1f}", f"[{100 * low:.1f}, {100 * high:.1f}]"
