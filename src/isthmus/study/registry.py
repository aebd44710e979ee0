"""The systems by name: the one list that tables, experiments and documents read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from html import escape

from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import LinearSVC

from isthmus._core.validation import check_choice
from isthmus.estimators.arc import ARC
from isthmus.estimators.augmentation import FeatureAugmentation
from isthmus.estimators.base import TwoDomainEstimator
from isthmus.estimators.cca import CCA, KCCA
from isthmus.estimators.cdls import CDLS
from isthmus.estimators.controls import Corrupted, SelfTrainedLDA, TargetOnly
from isthmus.estimators.eigenmaps import CDSPP, DAMA, MTDA
from isthmus.estimators.hcdrank import HCDRank
from isthmus.estimators.hemap import HeMap
from isthmus.estimators.hfa import HFA
from isthmus.estimators.itml import ITML
from isthmus.estimators.kpg import KPGRL
from isthmus.estimators.manifold_alignment import ManifoldAlignment
from isthmus.estimators.mlhd import MLHD
from isthmus.estimators.paired_maps import Procrustes, PulledBackMetric, RelativeRepresentations, RidgeMap
from isthmus.estimators.saenko import Saenko
from isthmus.estimators.tlrisk import TLRisk
from isthmus.estimators.transport import COOT, FGW, GW
from isthmus.tasks.transfer.result import LabelTransfer
from isthmus.tasks.transfer.semantic import SemanticMatching

__all__ = ["System", "Systems", "systems"]


HEAD = ("system", "learns", "from", "needs", "control", "reference", "best for")


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
    """Distances within and across the domains ("metric"), a "similarity" across them, nothing but "labels" of target
    rows, or the "ranking" of rows."""
    control: bool = False
    """Whether it is there to keep the others honest: it never sees the source, or sees a corrupted one."""
    best_for: str = ""
    """What to take it for rather than another; empty where no measurement says so."""

    def __post_init__(self) -> None:
        check_choice(self.learns, "learns", ("metric", "similarity", "labels", "ranking"))

    @property
    def takes_pairs(self) -> bool:
        """Whether it can learn from known pairs."""
        return self.make().takes_pairs

    @property
    def needs_pairs(self) -> bool:
        """Whether it learns from nothing else."""
        return self.make().needs_pairs

    @property
    def needs_labels(self) -> bool:
        """Whether known pairs can't take the place of labels."""
        return self.learns in ("labels", "ranking") or not self.takes_pairs

    @property
    def needs_unlabelled(self) -> bool:
        """Whether it learns nothing without target rows that have no label."""
        return self.make().needs_unlabelled

    @property
    def equal_features(self) -> bool:
        """Whether both domains have to have the same features."""
        return self.make().equal_features

    @property
    def non_negative(self) -> bool:
        """Whether no feature may be negative."""
        return self.make().non_negative

    @property
    def transductive(self) -> bool:
        """Whether it knows the rows of the fit only."""
        return self.make().transductive

    @property
    def needs(self) -> str:
        """What it can't do without, in words."""
        if not self.needs_labels:
            return "pairs" if self.needs_pairs else "labels or pairs"
        named = {"pairs": self.needs_pairs, "labels": True, "unlabelled rows": self.needs_unlabelled}
        named |= {"equal features": self.equal_features, "counts": self.non_negative}
        return ", ".join(word for word, needed in named.items() if needed)


class Systems:
    """Systems in a fixed order, looked up by name, printed as a table."""

    def __init__(self, entries: tuple[System, ...]) -> None:
        self._entries = {entry.name: entry for entry in entries}

    def __iter__(self) -> Iterator[System]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries or name in self._entries.values()

    def __getitem__(self, name: str) -> System:
        return self._entries[check_choice(name, "system", self._entries)]

    def where(
        self,
        *,
        labels: bool | None = None,
        pairs: bool | None = None,
        unlabelled: bool | None = None,
        equal_features: bool | None = None,
        control: bool | None = None,
    ) -> Systems:
        """Those that can be used with what there is; None leaves a question open.

        Parameters
        ----------
        labels, pairs, unlabelled, equal_features : bool, optional
            Whether there are labels in both domains, known pairs, target rows without a label, and the same features
            in both. To have more than a system asks for excludes nothing.
        control : bool, optional
            Only controls, or none of them.

        Examples
        --------
        >>> [system.name for system in systems().where(labels=False, control=False)][:4]
        ['mlhd', 'mlhd-rbf', 'cca+nn', 'kcca+nn']
        """
        missing = {
            "needs_labels": labels is False,
            "needs_pairs": pairs is False,
            "needs_unlabelled": unlabelled is False,
            "equal_features": equal_features is False,
        }
        nothing = labels is False and pairs is False
        kept = (s for s in self if not nothing and not any(lack and getattr(s, n) for n, lack in missing.items()))
        return Systems(tuple(s for s in kept if control is None or s.control == control))

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (s.name, s.learns, s.uses, s.needs, "yes" if s.control else "no", s.reference, s.best_for) for s in self
        ]

    def _repr_html_(self) -> str:
        """The table for notebooks."""
        cells = [("th", HEAD), *(("td", row) for row in self._rows())]
        lines = ["".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) for tag, row in cells]
        return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"

    def __str__(self) -> str:
        head, rows = HEAD, self._rows()
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in (head, *rows)]
        return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])

    __repr__ = __str__


def _target_svm() -> TargetOnly:
    return TargetOnly(LinearSVC(random_state=0))


def _target_label_spreading() -> TargetOnly:
    return TargetOnly(LabelSpreading(kernel="knn"))


def _add_itml(projection: Callable[..., CCA]) -> CCA:
    return projection(metric=ITML(random_state=0), rule="nearest")


def _make_corrupted(kind: str) -> Corrupted:
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
_CO_OCCURRENCE, _GEOMETRY = "pairs that features occur in together, source labels", "source labels, all rows"
_CLASSIFIERS = (
    System("tlrisk", TLRisk, "Dai et al. 2008, from memory", _CO_OCCURRENCE, "labels"),
    System("pulled-back", PulledBackMetric, "after Qi et al. 2012, our reading", "pairs, source labels", "metric"),
    System("hfa", HFA, "Duan et al. 2012, solved exactly", _BOTH, "labels"),
    System("feature-augmentation", FeatureAugmentation, "Daumé 2007, equal features only", _BOTH, "metric"),
    System("cdls", CDLS, "Tsai et al. 2016", _ALL, "metric"),
    System("kpg-rl", KPGRL, "Gu et al. 2022", _ALL, "labels"),
    System("hcdrank", HCDRank, "Wang et al. 2009, equal features only, from memory", _BOTH, "ranking"),
    System("gw", GW, "Mémoli 2011, rows of the fit only, by POT", _GEOMETRY, "labels"),
    System("fgw", FGW, "Vayer et al. 2020, rows of the fit only, by POT", _ALL, "labels"),
    System("coot", COOT, "Redko et al. 2020, rows of the fit only, by POT", _ALL, "labels"),
)
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
        System("cca+itml", partial(_add_itml, CCA), "Davis et al. 2007 after CCA", _BOTH, "metric"),
        System("kcca+itml", partial(_add_itml, KCCA), "Davis et al. 2007 after KCCA", _BOTH, "metric"),
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
        *_CLASSIFIERS,
        System("target 1-NN", TargetOnly, "nearest labelled target row", _TARGET, "labels", True),
        System("target SVM", _target_svm, "linear support vectors", _TARGET, "labels", True),
        System("target label spreading", _target_label_spreading, "Zhou et al. 2004", _TARGET_ALL, "labels", True),
        System("target self-trained LDA", SelfTrainedLDA, "Sinkhorn pseudo-labels", _TARGET_ALL, "labels", True),
        System("mlhd, noise", partial(_make_corrupted, "noise"), "random source features", _ALL, "labels", True),
        System(
            "mlhd, permuted", partial(_make_corrupted, "permuted"), "permuted source labels", _ALL, "labels", True
        ),
        System("mlhd, renamed", partial(_make_corrupted, "renamed"), "renamed source classes", _ALL, "labels", True),
    )
)


def systems(
    *,
    labels: bool | None = None,
    pairs: bool | None = None,
    unlabelled: bool | None = None,
    equal_features: bool | None = None,
) -> Systems:
    """Every system and every control, with its reference, what it learns from and needs, and what it is best for.

    To find rows of the same class across the domains, take ``semantic`` where every class has a labelled target row;
    to name target rows, ``label-transfer``; to measure rows, within a class too, ``mlhd``; to find the same object, a
    system that learns from pairs. ``docs/systems.md`` lists which system the studies favour for which data.

    Parameters
    ----------
    labels, pairs, unlabelled, equal_features : bool, optional
        What there is: labels in both domains, known pairs, target rows without a label, the same features in both.
        Only systems that can do with it are listed; None leaves a question open.

    Examples
    --------
    >>> systems()["arc"].learns
    'similarity'
    >>> systems()["semantic"].best_for
    'finding rows of the same class, where every class is labelled in the target'
    >>> [system.name for system in systems() if not system.control][:3]
    ['mlhd', 'mlhd-rbf', 'cca+nn']
    >>> found = systems(pairs=False, unlabelled=False, equal_features=False)
    >>> "hfa" in found, "kpg-rl" in found, "saenko" in found, "ridge" in found
    (True, False, False, False)
    """
    return _SYSTEMS.where(labels=labels, pairs=pairs, unlabelled=unlabelled, equal_features=equal_features)
