"""Which systems can be used with the data that there are, and which of them the studies favour."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sklearn.utils import get_tags

from isthmus._validation import choice, number
from isthmus.exceptions import InputError
from isthmus.registry import System, systems

__all__ = ["Advice", "Data", "Recommendation", "recommend"]

GOALS = ("classes", "same class", "same object", "distances", "ranking")
LARGEST_TABLE = 10**8
"""Numbers in a table of all source rows × all target rows, from which on systems that make one are left out."""
TABLES = ("kpg-rl", "gw", "fgw", "coot")
"""Systems that make such a table."""
MANY_PAIRS, SOME_PAIRS = 300, 100
MANY_ROWS = 350


@dataclass(frozen=True)
class Data:
    """What there is, as :func:`recommend` was told."""

    labels_source: int = 0
    labels_target: int = 0
    unlabelled_classes: int = 0
    pairs: int = 0
    unlabelled_rows: int = 0
    equal_features: bool = False
    n_source: int = 0
    n_target: int = 0

    @property
    def every_class(self) -> bool:
        """Whether every class has labelled rows in both domains."""
        return self.labels_source > 0 and self.labels_target > 0 and not self.unlabelled_classes


@dataclass(frozen=True)
class Advice:
    """One finding of a study that speaks for a system, for data of one kind."""

    system: str
    why: str
    page: str
    """Where it is told."""

    def __str__(self) -> str:
        return f"{self.system}: {self.why} ({self.page})"


@dataclass(frozen=True)
class Recommendation:
    """What can be used, and what the evidence favours.

    Parameters
    ----------
    goal : str
        What it is for.
    data : Data
        What there is.
    favoured : tuple of Advice
        What studies speak for, the first one first. Empty where none does.
    applicable : tuple of str
        The names of all systems that can be used, controls left out.
    remarks : tuple of str
        What else should be known.
    """

    goal: str
    data: Data
    favoured: tuple[Advice, ...]
    applicable: tuple[str, ...]
    remarks: tuple[str, ...]

    def __str__(self) -> str:
        found = [f"{k}. {advice}" for k, advice in enumerate(self.favoured, 1)] or ["No study favours a system here."]
        usable = f"Can be used: {', '.join(self.applicable) or 'none'}."
        return "\n".join([*found, usable, *self.remarks])


@dataclass(frozen=True)
class _Finding:
    goal: str
    holds: Callable[[Data], bool]
    advice: Advice
    labels_by_pairs: bool = False
    """Whether pairs bring the target labels that the system would otherwise lack."""


def _finding(
    goal: str,
    system: str,
    page: str,
    why: str,
    holds: Callable[[Data], bool],
    *,
    labels_by_pairs: bool = False,
) -> _Finding:
    return _Finding(goal, holds, Advice(system, why, page), labels_by_pairs)


def _source_and_pairs(d: Data) -> bool:
    """Whether it is pairs, and not labels of the target, that say the most of it."""
    return d.pairs >= SOME_PAIRS and d.labels_source > 0 and d.labels_target <= 1


_LDA = "target self-trained LDA"
_FINDINGS = (
    _finding(
        "classes",
        _LDA,
        "studies/systems/page.md#100-known-pairs",
        "no map: a linear SVM of the source names the paired source rows, their target rows take the names, and this "
        "rule learns from these; with 100 pairs every system that learns a map is shown to be below this way or the "
        "same with a target SVM, by 2 to 22 points",
        lambda d: _source_and_pairs(d) and d.unlabelled_rows > 0,
        labels_by_pairs=True,
    ),
    _finding(
        "classes",
        "label-transfer",
        "docs/labels.md#classes-that-nobody-labelled",
        "names classes without a labelled target row, 14 to 44 points above the best target-only rule",
        lambda d: d.labels_source > 0 and d.labels_target > 0 and d.unlabelled_classes > 0,
    ),
    _finding(
        "classes",
        "mlhd-rbf",
        "studies/systems/page.md#100-known-pairs",
        'with rule="linear"; with 100 pairs the best of the maps, 4 points above ridge and 11 above the best '
        "target-only rule with one label per class, but 2 below the best way without a map",
        _source_and_pairs,
    ),
    _finding(
        "classes",
        "kcca+nn",
        "docs/pairs.md#labels-through-pairs",
        'with rule="linear"; from 100 pairs on, on average 22 to 26 points above self-trained LDA with one label per '
        "class in the target; where the paired source rows have labels, these labels, copied to the target, give "
        "about as much or less",
        _source_and_pairs,
    ),
    _finding(
        "classes",
        "feature-augmentation",
        "studies/systems/page.md#labels-in-both-domains",
        "with the same features in both domains (one pair of domains, Office caltech→amazon, one label per class) 11 "
        "points above the best target-only rule; saenko is 7 above it",
        lambda d: d.every_class and d.equal_features and d.labels_target == 1,
    ),
    _finding(
        "classes",
        "label-transfer",
        "docs/labels.md#every-class-labelled-at-real-sizes",
        "9 to 14 points above the best target-only rule on Debian, 2 to 6 on Reuters, level on mfeat; it leaves out "
        "a source that does not help",
        lambda d: d.every_class and d.unlabelled_rows > 0 and d.n_source * d.n_target >= MANY_ROWS**2,
    ),
    _finding(
        "classes",
        "label-transfer",
        "docs/labels.md#every-class-labelled-at-the-papers-size",
        "up to 5 points above the best target-only rule on text, not shown to differ from it on digits, Office31 and "
        "cells, up to 1 below it on Office-Caltech",
        lambda d: d.every_class and d.unlabelled_rows > 0 and d.n_source * d.n_target < MANY_ROWS**2,
    ),
    _finding(
        "classes",
        _LDA,
        "studies/systems/page.md#labels-in-both-domains",
        "never sees the source; where features differ, label-transfer alone is shown to be above the best rule of "
        "this kind",
        lambda d: d.labels_target > 0 and not d.unlabelled_classes and d.unlabelled_rows > 0,
    ),
    _finding(
        "classes",
        "target SVM",
        "docs/labels.md#every-class-labelled-at-the-papers-size",
        "never sees the source nor unlabelled rows; with 3 or 5 labels per class above 1-NN on four of six data sets",
        lambda d: d.labels_target > 1 and not d.unlabelled_classes and not d.unlabelled_rows,
    ),
    _finding(
        "classes",
        "target 1-NN",
        "docs/labels.md#every-class-labelled-at-the-papers-size",
        "never sees the source nor unlabelled rows; with one label per class above the SVM on five of six data sets, "
        "but below it on five of six in studies/systems/page.md",
        lambda d: d.labels_target == 1 and not d.unlabelled_classes and not d.unlabelled_rows,
    ),
    _finding(
        "same class",
        "semantic",
        "docs/design.md#the-other-systems",
        "finds 2 to 14 points more rows of the same class among the first ten than MLHD on four of five data sets "
        "(development seeds)",
        lambda d: d.every_class,
    ),
    _finding(
        "same class",
        "kcca+nn",
        "docs/pairs.md#labels-through-pairs",
        "pairs carry classes over: with 100 pairs 61 to 93 % of rows get the right one",
        lambda d: d.pairs >= SOME_PAIRS,
    ),
    _finding(
        "same object",
        "ridge",
        "docs/pairs.md#which-one-to-use",
        "with 300 pairs the best on text, or not shown to be worse",
        lambda d: d.pairs >= MANY_PAIRS,
    ),
    _finding(
        "same object",
        "mlhd",
        "docs/pairs.md#which-one-to-use",
        "with 10 to 100 pairs among the best on images and on Debian, in 18 of 18 cells; on Reuters take ridge",
        lambda d: 0 < d.pairs < MANY_PAIRS,
    ),
    _finding(
        "same object",
        "ridge",
        "docs/pairs.md#which-one-to-use",
        "on Reuters 4 to 13 points above MLHD with few pairs, and ten times as fast",
        lambda d: 0 < d.pairs < MANY_PAIRS,
    ),
    _finding(
        "distances",
        "mlhd",
        "docs/defaults.md#the-weights-of-mlhd",
        "a metric within and across the domains with a certificate; its weights were chosen on data of their own",
        lambda d: (d.labels_source > 0 and d.labels_target > 0) or d.pairs > 0,
    ),
)


def recommend(
    goal: str = "classes",
    *,
    labels_source: int = 0,
    labels_target: int = 0,
    unlabelled_classes: int = 0,
    pairs: int = 0,
    unlabelled_rows: int = 0,
    equal_features: bool = False,
    n_source: int = 0,
    n_target: int = 0,
) -> Recommendation:
    """Which systems can be used with what there is, and which of them the studies favour.

    Parameters
    ----------
    goal : {"classes", "same class", "same object", "distances", "ranking"}
        What it is for: classes of target rows; rows of the same class, or the same object, across the domains;
        distances; the order of rows by grades.
    labels_source, labels_target : int
        Labelled rows per class, in classes that have any.
    unlabelled_classes : int
        Classes of the source that no target row is labelled with.
    pairs : int
        Known pairs: rows of both domains that are the same object.
    unlabelled_rows : int
        Target rows without a label.
    equal_features : bool
        Whether both domains have the same features.
    n_source, n_target : int
        Rows in all; zero where they are not known.

    Examples
    --------
    >>> found = recommend(labels_source=20, labels_target=3, unlabelled_rows=400, n_source=160, n_target=424)
    >>> [advice.system for advice in found.favoured]
    ['label-transfer', 'target self-trained LDA']
    >>> print(recommend("same object", pairs=30).favoured[0])
    mlhd: with 10 to 100 pairs among the best on images and on Debian, in 18 of 18 cells; on Reuters take ridge
    (docs/pairs.md#which-one-to-use)
    """
    choice(goal, "goal", GOALS)
    counts = {
        "labels_source": labels_source,
        "labels_target": labels_target,
        "unlabelled_classes": unlabelled_classes,
        "pairs": pairs,
        "unlabelled_rows": unlabelled_rows,
        "n_source": n_source,
        "n_target": n_target,
    }
    whole = {name: int(number(value, name, low=0, whole=True)) for name, value in counts.items()}
    if not isinstance(equal_features, bool):
        raise InputError(f"equal_features: expected True or False, got {equal_features!r}.")
    data = Data(**whole, equal_features=equal_features)
    usable = _usable(data)
    names = {system.name for system in usable}
    serving = [system for system in usable if not system.control and _serves(system, goal, data)]
    applicable = tuple(system.name for system in serving)
    favoured = tuple(
        f.advice
        for f in _FINDINGS
        if f.goal == goal and f.holds(data) and (f.labels_by_pairs or f.advice.system in names)
    )
    return Recommendation(goal, data, favoured, applicable, tuple(_remarks(data, goal, serving)))


def _usable(data: Data) -> list[System]:
    """The systems that the data allow."""
    has_labels, any_labels = (
        min(data.labels_source, data.labels_target) > 0,
        data.labels_source + data.labels_target > 0,
    )
    found = []
    for system in systems(unlabelled=data.unlabelled_rows > 0, equal_features=data.equal_features):
        # What is translated through pairs needs no label in the target.
        labels = has_labels or (system.needs_pairs and data.labels_source > 0)
        paired = system.takes_pairs and data.pairs >= system.make().fewest_pairs
        # A metric may be learned after pairs have made a space of both, but not without any label.
        taught = any_labels or not get_tags(system.make()).target_tags.required
        enough = labels if system.needs_labels else has_labels or (paired and taught)
        if enough and (paired or not system.needs_pairs) and not _too_large(system, data):
            found.append(system)
    return found


def _too_large(system: System, data: Data) -> bool:
    return system.name in TABLES and data.n_source * data.n_target > LARGEST_TABLE


def _serves(system: System, goal: str, data: Data) -> bool:
    """Whether what a system learns is of use for a goal."""
    if goal == "classes" and not (data.labels_source or data.labels_target):
        return False  # there are no names to give
    kinds: dict[str, tuple[str, ...]] = {
        "same class": ("metric", "similarity"),
        "same object": ("metric", "similarity"),
    }
    kinds |= {"classes": ("metric", "similarity", "labels"), "distances": ("metric",), "ranking": ("ranking",)}
    return system.learns in kinds[goal] and (goal != "same object" or system.takes_pairs)


def _remarks(data: Data, goal: str, serving: list[System]) -> Iterator[str]:
    counts = ", ".join(system.name for system in serving if system.non_negative)
    if counts:
        yield f"Only for features that are never negative, such as counts: {counts}."
    fixed = ", ".join(system.name for system in serving if system.transductive)
    if fixed:
        yield f"Only for the rows of the fit, without a map for new ones: {fixed}."
    if data.n_source * data.n_target > LARGEST_TABLE:
        yield f"Left out for their tables of n_s × n_t numbers: {', '.join(TABLES)}."
    if goal == "same object" and not data.pairs:
        yield "Without known pairs, isthmus.match finds some, and says whether it worked (docs/matching.md)."
    if goal == "classes" and data.every_class:
        yield "Whether your source helps, isthmus.does_source_help tells on your own labels (docs/verdict.md)."
    if goal == "ranking":
        yield "No study is about rankings; hcdrank needs equal features."
