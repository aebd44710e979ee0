"""Which rows are learned from and which are held out: a split protocol as a small frozen value."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus._validation import check_flag, choice, number
from isthmus.domains import Split
from isthmus.evaluation.quotas import Quota, Supply, check_one_class, numbered, one_row_per_object, quota
from isthmus.exceptions import InputError

SMALL_CLASSES = {
    "refuse": "classes with fewer rows are refused",
    "shrink": "classes with fewer rows give what they have",
    "drop": "classes with fewer rows are left out",
}


@dataclass(frozen=True)
class Protocol:
    """How many rows of each class are drawn at random for which part of a split.

    Parameters
    ----------
    source_per_class : int
        Labelled rows of the source domain.
    labelled_per_class, unlabelled_per_class : int
        Rows of the target domain that are learned from, with and without their label.
    test : int, optional
        Test rows in all classes together, drawn at random from the remaining target rows, whatever their class.
        None: all that remain.
    disjoint : bool
        Whether an object may be in one only of source, target (labelled and unlabelled) and test. Where the objects
        are not given to :meth:`split`, each row is an object of its own.
    small_classes : {"refuse", "shrink", "drop"}
        What to do with a class that has too few rows to fill its share and to leave one row for the test.

        - ``"refuse"``: an error that names the class.
        - ``"shrink"``: take as many as the class allows. One row is left for the test, one is the source's and one
          is labelled in any case; a class with fewer is refused. What is left goes, in this order, to the labelled
          rows, the source, the unlabelled rows. (Domains that share no object do not compete: the source takes what
          there is.) If fewer than ``test`` rows remain, all of them are the test.
        - ``"drop"``: the class is in no part of the split.

    Examples
    --------
    >>> protocol = Protocol(source_per_class=3, labelled_per_class=1, unlabelled_per_class=2)
    >>> print(protocol)
    3 labelled source rows per class; 1 labelled and 2 unlabelled target rows per class; the rest for testing;
    no object in two of source, target and test; classes with fewer rows give what they have
    >>> y = [0, 1] * 8
    >>> split = protocol.split(y, y, objects_source=range(16), objects_target=range(16), seed=0)
    >>> len(split.source), len(split.labelled), len(split.unlabelled), len(split.test)
    (6, 2, 4, 4)
    """

    source_per_class: int = 20
    labelled_per_class: int = 1
    unlabelled_per_class: int = 20
    test: int | None = None
    disjoint: bool = True
    small_classes: str = "shrink"

    def __post_init__(self) -> None:
        lows = {"source_per_class": 1, "labelled_per_class": 1, "unlabelled_per_class": 0, "test": 1}
        for name, low in lows.items():
            if name != "test" or self.test is not None:
                whole = int(number(getattr(self, name), name, low=low, whole=True))
                object.__setattr__(self, name, whole)  # NumPy's integers can't be written as JSON
        object.__setattr__(self, "disjoint", check_flag(self.disjoint, "disjoint"))
        choice(self.small_classes, "small_classes", SMALL_CLASSES)

    def split(
        self,
        y_source: Any,
        y_target: Any,
        *,
        objects_source: Any = None,
        objects_target: Any = None,
        seed: int | Sequence[int],
    ) -> Split:
        """Draw a split: row numbers of each part, in ascending order.

        Each row gets a random number, and each class takes its rows in the order of these: the source first, then
        the labelled rows, then the unlabelled ones. So a larger part contains the smaller one that the same seed
        draws, as long as the parts before it stay the same. Where domains share only some of their objects, the
        source passes over a shared one if the target could not have its rows otherwise. Of several rows of an object
        in a domain, one, drawn at random, takes part.

        Parameters
        ----------
        y_source, y_target : array (n_s,), (n_t,)
            The class of each row of the whole source and target domain, as a code of at least 0.
        objects_source, objects_target : array (n_s,), (n_t,), optional
            Which object (document, image, cell) each row is.
        seed : int or sequence of int
            The same seed gives the same split.
        """
        ys, yt = _codes(y_source, "y_source"), _codes(y_target, "y_target")
        both = numbered(objects_source, objects_target, len(ys), len(yt))
        if not self.disjoint or both is None:
            objects_s, objects_t = np.arange(len(ys)), np.arange(len(ys), len(ys) + len(yt))
        else:
            objects_s, objects_t = both
            check_one_class(np.concatenate([objects_s, objects_t]), np.concatenate([ys, yt]))
        rng = _generator(seed)
        rows_s = one_row_per_object(rng.random(len(ys)), objects_s)
        rows_t = one_row_per_object(rng.random(len(yt)), objects_t)
        lots = rng.random(len(yt))  # for the test: the order within a class says nothing across classes
        parts: list[tuple[IntArray, ...]] = []
        for label in np.union1d(ys, yt):
            rows = rows_s[ys[rows_s] == label], rows_t[yt[rows_t] == label]
            part = self._of_class(int(label), *rows, objects_s, objects_t)
            if part is not None:
                parts.append(part)
        if not parts:
            raise InputError("y_source, y_target: expected a class with rows for every part, got none.")
        source, labelled, unlabelled, rest = (np.concatenate(part) for part in zip(*parts, strict=True))
        test = self._tested(rest, lots)
        return Split(*(np.sort(part) for part in (source, labelled, unlabelled, test)))

    def _of_class(
        self, label: int, rows_s: IntArray, rows_t: IntArray, objects_s: IntArray, objects_t: IntArray
    ) -> tuple[IntArray, ...] | None:
        """The source, labelled, unlabelled and remaining rows of a class, or None where it is left out."""
        shared = np.isin(objects_s[rows_s], objects_t[rows_t])
        supply = Supply(len(rows_s), len(rows_t), int(shared.sum()))
        wanted = Quota(self.source_per_class, self.labelled_per_class, self.unlabelled_per_class)
        taken = quota(supply, wanted)
        if taken != wanted and self.small_classes == "drop":
            return None
        if taken is None or (taken != wanted and self.small_classes == "refuse"):
            raise InputError(_too_small(label, supply, wanted if self.small_classes == "refuse" else Quota(1, 1, 0)))
        most_shared = supply.target - taken.labelled - taken.unlabelled - 1  # or the target could not have its rows
        allowed = ~shared | (np.cumsum(shared) <= most_shared)
        source = rows_s[allowed][: taken.source]
        free = rows_t[~np.isin(objects_t[rows_t], objects_s[source])]
        ends = np.cumsum([taken.labelled, taken.unlabelled])
        return (source, *np.split(free, ends))

    def _tested(self, rest: IntArray, lots: FloatArray) -> IntArray:
        n = len(rest) if self.test is None else self.test
        if n > len(rest) and self.small_classes != "shrink":
            raise InputError(f"test: expected at most {len(rest)}, the target rows that remain, got {n}.")
        return rest[np.lexsort((rest, lots[rest]))[:n]]

    def __str__(self) -> str:
        test = "the rest for testing" if self.test is None else f"{_rows(self.test, 'test')}"
        objects = "no object in two of source, target and test; " if self.disjoint else ""
        return (
            f"{_rows(self.source_per_class, 'labelled source')} per class; {self.labelled_per_class} labelled and "
            f"{_rows(self.unlabelled_per_class, 'unlabelled target')} per class; {test}; "
            f"{objects}{SMALL_CLASSES[self.small_classes]}"
        )


def _rows(n: int, kind: str) -> str:
    return f"{n} {kind} row{'' if n == 1 else 's'}"


def _codes(y: Any, name: str) -> IntArray:
    try:
        codes = np.asarray(y)
    except ValueError:
        raise InputError(f"{name}: expected one whole number per row, got rows of unequal length.") from None
    if codes.ndim != 1 or not len(codes) or codes.dtype.kind not in "iu":
        raise InputError(
            f"{name}: expected one whole number per row, got values of type {codes.dtype} in shape {codes.shape}."
        )
    if codes.min() < 0:
        raise InputError(f"{name}: expected the class of every row as a code of at least 0, got {codes.min()}.")
    return codes.astype(np.intp)


def _generator(seed: Any) -> np.random.Generator:
    for part in seed if isinstance(seed, Sequence) and not isinstance(seed, str | bytes) and len(seed) else [seed]:
        if not isinstance(part, int) or part <= sys.maxsize:  # NumPy takes seeds of any size
            number(part, "seed", low=0, whole=True)
    return np.random.default_rng(seed)


def _too_small(label: int, supply: Supply, wanted: Quota) -> str:
    needed = wanted.labelled + wanted.unlabelled + 1
    shared = f", of which {supply.shared} objects are the same" if supply.shared else ""
    return (
        f"class {label}: expected at least {wanted.source} source and {needed} target row(s) (one of them for the "
        f"test), got {supply.source} and {supply.target}{shared}."
    )
