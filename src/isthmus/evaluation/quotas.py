"""How many rows of one class go where, when there may not be enough of them."""

from __future__ import annotations

from typing import NamedTuple


class Supply(NamedTuple):
    """What there is of a class: rows of the source, rows of the target, and objects that are in both."""

    source: int
    target: int
    shared: int


class Quota(NamedTuple):
    """What is taken of a class."""

    source: int
    labelled: int
    unlabelled: int


def quota(supply: Supply, wanted: Quota) -> Quota | None:
    """As much of what is wanted as the class allows, or None where it can't fill every part with one row.

    One row is left for the test, one object is for the source and one row is labelled in any case. What is left
    goes to the labelled rows, then to the source, then to the unlabelled rows.

    Examples
    --------
    >>> wanted = Quota(source=20, labelled=1, unlabelled=20)
    >>> quota(Supply(source=100, target=100, shared=100), wanted) == wanted
    True
    >>> quota(Supply(source=12, target=15, shared=0), wanted)
    Quota(source=12, labelled=1, unlabelled=13)
    >>> quota(Supply(source=30, target=30, shared=30), wanted)
    Quota(source=20, labelled=1, unlabelled=8)
    >>> quota(Supply(source=2, target=2, shared=2), wanted) is None
    True
    """
    own = supply.source - supply.shared  # source rows that the target does not miss
    first = 0 if own else 1
    if supply.source < 1 or supply.target - first < 2:
        return None
    labelled = min(wanted.labelled, supply.target - first - 1)
    source = min(wanted.source, own + min(supply.shared, supply.target - labelled - 1))
    left = supply.target - max(0, source - own) - labelled - 1
    return Quota(source, labelled, min(wanted.unlabelled, left))
