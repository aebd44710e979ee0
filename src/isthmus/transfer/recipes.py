"""Which recipe fits: by what is labelled and how much there is."""

from __future__ import annotations

import numpy as np

from isthmus.transfer.few_labels import discriminants, from_few_labels
from isthmus.transfer.naming import named
from isthmus.transfer.outcomes import Outcome, Tell, silent
from isthmus.transfer.rows import TransferRows
from isthmus.transfer.rules import Rule


def outcome(rows: TransferRows, rng: np.random.Generator, tell: Tell = silent) -> Outcome:
    """By the recipe for rows of this kind.

    - No unlabelled target row: discriminants of the labelled ones, over their classes.
    - A class of the source that no target row is labelled with: :func:`named`.
    - Every class labelled: :func:`from_few_labels`.
    """
    if not rows.unlabelled.any():
        return _labelled_only(rows)
    return named(rows, rng, tell) if len(rows.unknown) else from_few_labels(rows, rng, tell)


def _labelled_only(rows: TransferRows) -> Outcome:
    none = np.empty((0, rows.n_classes))

    def again(fewer: TransferRows) -> Rule:
        return discriminants(fewer, none, rounds=0)

    reason = "no target row is without a label, so there is nothing to carry over"
    return Outcome(again(rows), none, again, weights={"target": 1.0}, reason=reason)
