"""The systems by name: the one list that tables, experiments and documents read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import LinearSVC

from isthmus._validation import choice
from isthmus.controls import Corrupted, SelfTrainedLDA, TargetOnly
from isthmus.estimators import (
    ARC,
    CCA,
    CDSPP,
    DAMA,
    ITML,
    KCCA,
    MLHD,
    MTDA,
    HeMap,
    ManifoldAlignment,
    Procrustes,
    RelativeRepresentations,
    RidgeMap,
    Saenko,
)
from isthmus.estimators.base import TwoDomainEstimator
from isthmus.transfer import LabelTransfer, SemanticMatching

__all__ = ["System", "Systems", "systems"]


@dataclass(frozen=True)
class System:
    """One way to join two domains, and what it is."""

    name: str
    """What it is called in tables."""
    make: Callable[[], TwoDomainEstimator]
    """Returns a fresh, unfitted estimator with the defaults; where chance plays a part, it is seeded."""
    reference: str
    """Where it comes from."""
    uses: str
    """The data that it learns from."""
    learns: str
    """Distances within and across the domains ("metric"), a "similarity" across them, or nothing but "labels"."""
    control: bool = False
    """Whether it is there to keep the others honest: it never sees the source, or sees a corrupted one."""
    best_for: str = ""
    """What to take it for rather than another; empty where no measurement says so."""

    def __post_init__(self) -> None:
        choice(self.learns, "learns", ("metric", "similarity", "labels"))

    @property
    def takes_pairs(self) -> bool:
        """Whether it can learn from known pairs."""
        return self.make().takes_pairs

    @property
    def needs_pairs(self) -> bool:
        """Whether it learns from nothing else."""
        return self.make().needs_pairs


class Systems:
    """Systems in a fixed order, looked up by name, printed as a table."""

    def __init__(self, entries: tuple[System, ...]) -> None:
        self._entries = {entry.name: entry for entry in entries}

    def __iter__(self) -> Iterator[System]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, name: str) -> System:
        return self._entries[choice(name, "system", self._entries)]

    def __str__(self) -> str:
        head = ("system", "learns", "from", "control", "reference", "best for")
        rows = [(s.name, s.learns, s.uses, "yes" if s.control else "no", s.reference, s.best_for) for s in self]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in (head, *rows)]
        return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])

    __repr__ = __str__


def _target_svm() -> TargetOnly:
    return TargetOnly(LinearSVC(random_state=0))


def _target_label_spreading() -> TargetOnly:
    return TargetOnly(LabelSpreading(kernel="knn"))


def _with_itml(projection: Callable[..., CCA]) -> CCA:
    return projection(metric=ITML(random_state=0), rule="nearest")


def _corrupted(kind: str) -> Corrupted:
    return Corrupted(MLHD(), kind, random_state=0)


_BOTH, _ALL = "labels of both", "labels of both, unlabelled target rows"
_EITHER, _PAIRS = "labels of both, or pairs", "pairs"
_ANY = "labels of both, unlabelled rows, pairs"
_TARGET, _TARGET_ALL = "target labels", "target labels, unlabelled target rows"
_PROJECTIONS = (
    System("dama", DAMA, "Wang & Mahadevan 2011", "labels of both, unlabelled rows", "metric"),
    System("cdspp", CDSPP, "Wang & Breckon 2022", _BOTH, "metric"),
    System("cdspp-self", partial(CDSPP, n_rounds=5), "Wang & Breckon 2022, self-trained", _ALL, "metric"),
    System("manifold-alignment", ManifoldAlignment, "Wang & Mahadevan 2009", _ANY, "metric"),
    System("mtda", MTDA, "after Zhang & Yeung 2011: LDA of the direct sum", _BOTH, "metric"),
    System("hemap", HeMap, "Shi et al. 2010", _PAIRS, "metric"),
)
_DISTANCES = "distances, also within a domain and within a class"
_SAME_OBJECT = "finding the same object, from known pairs"
_SAME_CLASS = "finding rows of the same class, where every class is labelled in the target"
_NAMES = "naming rows of the target, also of classes that no target row is labelled with"
_SYSTEMS = Systems(
    (
        System("mlhd", MLHD, "Qian & Chen 2012", _ANY, "metric", best_for=_DISTANCES),
        System("mlhd-rbf", partial(MLHD, "rbf", "rbf"), "Qian & Chen 2012", _ANY, "metric"),
        System(
            "cca+nn", partial(CCA, rule="nearest"), "Hotelling 1936, pairs as in Kulis et al. 2011", _EITHER, "metric"
        ),
        System(
            "kcca+nn", partial(KCCA, rule="nearest"), "Akaho 2001, pairs as in Kulis et al. 2011", _EITHER, "metric"
        ),
        System("cca+itml", partial(_with_itml, CCA), "Davis et al. 2007 after CCA", _BOTH, "metric"),
        System("kcca+itml", partial(_with_itml, KCCA), "Davis et al. 2007 after KCCA", _BOTH, "metric"),
        System("saenko", Saenko, "Saenko et al. 2010, equal features only", _BOTH, "metric"),
        System("arc", ARC, "Kulis et al. 2011", _BOTH, "similarity"),
        System("arc-rbf", partial(ARC, "rbf", "rbf"), "Kulis et al. 2011", _BOTH, "similarity"),
        System("ridge", RidgeMap, "Hoerl & Kennard 1970, both ways", _PAIRS, "metric", best_for=_SAME_OBJECT),
        System("ridge-rbf", partial(RidgeMap, "rbf", "rbf"), "kernel ridge, both ways", _PAIRS, "metric"),
        System("procrustes", Procrustes, "Schönemann 1966", _PAIRS, "metric"),
        System("relative", RelativeRepresentations, "Moschella et al. 2023", _PAIRS, "metric"),
        *_PROJECTIONS,
        System(
            "semantic", SemanticMatching, "target's rule × source's rule", _ALL, "similarity", best_for=_SAME_CLASS
        ),
        System(
            "label-transfer",
            LabelTransfer,
            "starts by evidence, balanced and polished",
            _ANY,
            "labels",
            best_for=_NAMES,
        ),
        System("target 1-NN", TargetOnly, "nearest labelled target row", _TARGET, "labels", True),
        System("target SVM", _target_svm, "linear support vectors", _TARGET, "labels", True),
        System("target label spreading", _target_label_spreading, "Zhou et al. 2004", _TARGET_ALL, "labels", True),
        System("target self-trained LDA", SelfTrainedLDA, "Sinkhorn pseudo-labels", _TARGET_ALL, "labels", True),
        System("mlhd, noise", partial(_corrupted, "noise"), "random source features", _ALL, "labels", True),
        System("mlhd, permuted", partial(_corrupted, "permuted"), "permuted source labels", _ALL, "labels", True),
        System("mlhd, renamed", partial(_corrupted, "renamed"), "renamed source classes", _ALL, "labels", True),
    )
)


def systems() -> Systems:
    """Every system and every control, with its reference, what it learns from, and what it is best for.

    To find rows of the same class across the domains, take ``semantic`` where every class has a labelled target row;
    to name target rows, ``label-transfer``; to measure rows, within a class too, ``mlhd``; to find the same object, a
    system that learns from pairs.

    Examples
    --------
    >>> systems()["arc"].learns
    'similarity'
    >>> systems()["semantic"].best_for
    'finding rows of the same class, where every class is labelled in the target'
    >>> [system.name for system in systems() if not system.control][:3]
    ['mlhd', 'mlhd-rbf', 'cca+nn']
    """
    return _SYSTEMS
