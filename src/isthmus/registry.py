"""The systems by name: the one list that tables, experiments and documents read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from isthmus._validation import choice
from isthmus.controls import Corrupted, SelfTrainedLDA, TargetOnly
from isthmus.estimators import ARC, CCA, ITML, KCCA, MLHD, Saenko
from isthmus.estimators.base import TwoDomainEstimator

__all__ = ["System", "Systems", "systems"]


@dataclass(frozen=True)
class System:
    """One way to label target rows, and what it is.

    Parameters
    ----------
    name : str
        What it is called in tables.
    make : callable
        Returns a fresh, unfitted estimator with the defaults.
    reference : str
        Where it comes from.
    uses : str
        The data that it learns from.
    metric : bool
        Whether it learns a metric: distances within and across the domains.
    control : bool
        Whether it is there to keep the others honest: it never sees the source, or sees a spoilt one.
    """

    name: str
    make: Callable[[], TwoDomainEstimator]
    reference: str
    uses: str
    metric: bool
    control: bool = False


class Systems:
    """Systems in a fixed order, looked up by name, printed as a table.

    Examples
    --------
    >>> from isthmus import systems
    >>> systems()["arc"].metric
    False
    >>> [system.name for system in systems() if not system.control][:3]
    ['mlhd', 'mlhd-rbf', 'cca+nn']
    """

    def __init__(self, entries: tuple[System, ...]) -> None:
        self._entries = {entry.name: entry for entry in entries}

    def __iter__(self) -> Iterator[System]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, name: str) -> System:
        return self._entries[choice(name, "system", self._entries)]

    def __str__(self) -> str:
        head = ("system", "learns from", "metric", "control", "reference")
        rows = [(s.name, s.uses, _mark(s.metric), _mark(s.control), s.reference) for s in self]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in (head, *rows)]
        return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])

    __repr__ = __str__


def _mark(yes: bool) -> str:
    return "yes" if yes else "no"


def _target_svm() -> TargetOnly:
    from sklearn.svm import LinearSVC

    return TargetOnly(LinearSVC())


def _target_label_spreading() -> TargetOnly:
    from sklearn.semi_supervised import LabelSpreading

    return TargetOnly(LabelSpreading(kernel="knn"))


# Classifiers are imported when they are made: importing isthmus should cost little more than its estimators need.
_LABELS, _ALL = "labels of both", "labels of both, unlabelled target rows"
_TARGET, _TARGET_ALL = "target labels", "target labels, unlabelled target rows"
_SYSTEMS = Systems(
    (
        System("mlhd", MLHD, "Qian & Chen 2012", _ALL, True),
        System("mlhd-rbf", lambda: MLHD("rbf", "rbf"), "Qian & Chen 2012", _ALL, True),
        System("cca+nn", CCA, "Hotelling 1936, pairs as in Kulis et al. 2011", _LABELS, True),
        System("kcca+nn", KCCA, "Akaho 2001, pairs as in Kulis et al. 2011", _LABELS, True),
        System("cca+itml", lambda: CCA(metric=ITML(random_state=0)), "Davis et al. 2007 after CCA", _LABELS, True),
        System("kcca+itml", lambda: KCCA(metric=ITML(random_state=0)), "Davis et al. 2007 after KCCA", _LABELS, True),
        System("saenko", Saenko, "Saenko et al. 2010, equal features only", _LABELS, True),
        System("arc", ARC, "Kulis et al. 2011", _LABELS, False),
        System("arc-rbf", lambda: ARC("rbf", "rbf"), "Kulis et al. 2011", _LABELS, False),
        System("target 1-NN", TargetOnly, "nearest labelled target row", _TARGET, False, True),
        System("target SVM", _target_svm, "linear support vectors", _TARGET, False, True),
        System(
            "target label spreading",
            _target_label_spreading,
            "Zhou et al. 2004",
            _TARGET_ALL,
            False,
            True,
        ),
        System("target self-trained LDA", SelfTrainedLDA, "Sinkhorn pseudo-labels", _TARGET_ALL, False, True),
        System("mlhd, noise", lambda: Corrupted(MLHD(), "noise"), "random source features", _ALL, False, True),
        System("mlhd, permuted", lambda: Corrupted(MLHD(), "permuted"), "permuted source labels", _ALL, False, True),
        System("mlhd, renamed", lambda: Corrupted(MLHD(), "renamed"), "renamed source classes", _ALL, False, True),
    )
)


def systems() -> Systems:
    """Every system and every control, with its reference and what it learns from.

    Examples
    --------
    >>> print(str(systems()).splitlines()[0].split())
    ['system', 'learns', 'from', 'metric', 'control', 'reference']
    """
    return _SYSTEMS
