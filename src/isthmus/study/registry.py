"""The table of systems and controls, collected from the ``systems`` that estimator classes declare."""

from __future__ import annotations

from dataclasses import dataclass, field

from sklearn.base import clone

from isthmus import estimators
from isthmus._core.validation import check_choice
from isthmus.estimators.base import SECTIONS, SystemFacts, TwoDomainEstimator
from isthmus.estimators.controls import Corrupted, SelfTrainedLDA, TargetOnly
from isthmus.tasks.transfer.result import LabelTransfer
from isthmus.tasks.transfer.semantic import SemanticMatching

__all__ = ["System", "Systems", "systems"]


HEAD = ("system", "learns", "from", "needs", "control", "reference", "best for")


def _property_of_model(name: str, about: str) -> property:
    """Return a property that is read from an unfitted estimator of a system: it may depend on the options."""
    return property(lambda system: getattr(system.make(), name), doc=about)


@dataclass(frozen=True)
class System(SystemFacts):
    """One line of the table of systems: an estimator class with options, and its facts.

    Parameters
    ----------
    estimator : type[TwoDomainEstimator]
        The class that declares it.
    """

    estimator: type[TwoDomainEstimator] = field(kw_only=True)

    def make(self) -> TwoDomainEstimator:
        """Return a new unfitted estimator; its random state, if it has one, is fixed."""
        # Cloned, so that no two share an estimator among their options, which set_params would change for both.
        made: TwoDomainEstimator = clone(self.estimator(**self.options))
        return made

    learns = _property_of_model("learns", "What it learns: a metric, a similarity, labels or a ranking.")
    takes_pairs = _property_of_model("takes_pairs", "Whether it can learn from known pairs.")
    needs_pairs = _property_of_model("needs_pairs", "Whether it learns from nothing else.")
    needs_unlabelled = _property_of_model("needs_unlabelled", "Whether it needs target rows without a label.")
    equal_features = _property_of_model("equal_features", "Whether both domains have to have the same features.")
    non_negative = _property_of_model("non_negative", "Whether no feature may be negative.")
    transductive = _property_of_model("transductive", "Whether it knows the rows of the fit only.")

    @property
    def needs_labels(self) -> bool:
        """Whether it needs labels even if pairs are known."""
        return self.make()._needs_labels()

    @property
    def needs(self) -> str:
        """The data that it requires, in words."""
        if not self.needs_labels:
            return "pairs" if self.needs_pairs else "labels or pairs"
        named = {"pairs": self.needs_pairs, "labels": True, "unlabelled rows": self.needs_unlabelled}
        named |= {"equal features": self.equal_features, "counts": self.non_negative}
        return ", ".join(word for word, needed in named.items() if needed)


class Systems(tuple[System, ...]):
    """Systems in a fixed order, looked up by name, printed as a table."""

    def __contains__(self, name: object) -> bool:
        return any(name in (system.name, system) for system in self)

    def __getitem__(self, name: str) -> System:  # type: ignore[override]
        entries = {system.name: system for system in self}
        return entries[check_choice(name, "system", entries)]

    def __str__(self) -> str:
        rows = [HEAD]
        for s in self:
            control = "yes" if s.control else "no"
            rows.append((s.name, s.learns, s.uses, s.needs, control, s.reference, s.best_for))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])

    __repr__ = __str__


def _collect_systems() -> tuple[System, ...]:
    """Return the systems that the public classes declare, by section and within it in the order of the classes."""
    classes = [getattr(estimators, name) for name in estimators.__all__]
    classes += [SemanticMatching, LabelTransfer, TargetOnly, SelfTrainedLDA, Corrupted]
    found = [System(**vars(facts), estimator=cls) for cls in classes for facts in vars(cls).get("systems", ())]
    return tuple(sorted(found, key=lambda system: SECTIONS.index(system.section)))


_SYSTEMS = _collect_systems()


def systems(
    *,
    labels: bool | None = None,
    pairs: bool | None = None,
    unlabelled: bool | None = None,
    equal_features: bool | None = None,
    control: bool | None = None,
) -> Systems:
    """Return the table of systems and controls: reference, what each learns from and needs, and what it is best for.

    To find rows of the same class across the domains, use ``semantic`` if every class has a labelled target row; to
    classify target rows, ``label-transfer``; for distances, also within a class, ``mlhd``; to find the same object, a
    system that learns from pairs. ``docs/systems.md`` lists which system the studies favour for which data.

    Parameters
    ----------
    labels, pairs, unlabelled, equal_features : bool, optional
        Whether there are labels in both domains, known pairs, target rows without a label, and the same features in
        both. False excludes the systems that need them; True and None exclude nothing.
    control : bool, optional
        True for controls only, False for none of them.

    Examples
    --------
    >>> systems()["arc"].learns
    'similarity'
    >>> systems()["semantic"].best_for
    'finding rows of the same class, where every class is labelled in the target'
    >>> [system.name for system in systems(control=False)][:3]
    ['mlhd', 'mlhd-rbf', 'cca+nn']
    >>> found = systems(pairs=False, unlabelled=False, equal_features=False)
    >>> "hfa" in found, "kpg-rl" in found, "saenko" in found, "ridge" in found
    (True, False, False, False)
    """
    given = {
        "needs_labels": labels, "needs_pairs": pairs, "needs_unlabelled": unlabelled, "equal_features": equal_features
    }  # fmt: skip
    lacking = [name for name, there in given.items() if there is False]
    nothing = labels is False and pairs is False
    kept = [s for s in _SYSTEMS if not nothing and not any(getattr(s, name) for name in lacking)]
    return Systems(tuple(s for s in kept if control is None or s.control == control))
