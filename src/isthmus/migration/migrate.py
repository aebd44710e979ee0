"""From an old index, rows of a new model and known pairs to an adapter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator

from isthmus._arrays import IntArray
from isthmus._progress import Progress, WorkCounter
from isthmus._threads import cap_threads
from isthmus._validation import as_generator, choice, column_names, number
from isthmus.domains import KnownPairs, TwoDomains
from isthmus.domains.pairs import FORMS
from isthmus.exceptions import InputError
from isthmus.migration.adapter import Adapter
from isthmus.migration.kinds import AUTO, KINDS
from isthmus.migration.measures import BOTH_WAYS, Measures

FEWEST = 10
"""Pairs: with fewer no figure on held-out ones means anything."""
MOST = 20_000
"""Pairs that are learned from; a random sample of more. Held-out figures have long stopped rising there."""


@cap_threads
def migrate(
    old: Any,
    new: Any,
    pairs: Any = "rows",
    *,
    kind: str = AUTO,
    max_pairs: int = MOST,
    random_state: Any = 0,
    progress: bool | Callable[[str], None] = False,
) -> Adapter:
    """Learn to search an old index with rows of a new model.

    Parameters
    ----------
    old : array, CSR or data frame (n, d_old)
        The index: rows of the old model. It is never changed. Rows without a pair are what held-out rows are searched
        among.
    new : array, CSR or data frame (m, d_new)
        Rows of the new model.
    pairs : array (p, 2), "rows", (ids, ids) or KnownPairs
        Which rows of ``old`` and of ``new`` are the same object, each in one pair at most: row numbers; or that row i
        is row i; or, as a tuple, the ids of all rows of either side.
    kind : {"auto", "ridge", "procrustes", "low_rank", "kernel_ridge"}
        The map. ``"auto"`` takes the kind that finds held-out pairs, and their neighbours, best; kinds are compared
        on at most 2,000 pairs.
    max_pairs : int
        A random sample of so many pairs is used where there are more.
    random_state : None, int, Generator or RandomState
        Which pairs are held out, shuffled and sampled.
    progress : bool or function
        Whether to show a bar with the time left; or a function that is called with what is being done.

    Returns
    -------
    Adapter

    Notes
    -----
    Rows are compared by the cosine of the vectors as they are, as the old index does. Columns of very different units
    should be scaled before. Figures in ``adapter.recall`` are for pairs that the map was not learned from (five
    folds, or one where there are 1,000 pairs or more); the adapter itself is learned from all.

    Examples
    --------
    >>> import isthmus
    >>> rng = np.random.default_rng(0)
    >>> meaning = rng.normal(size=(300, 6))
    >>> old, new = (meaning @ rng.normal(size=(6, d)) + 0.1 * rng.normal(size=(300, d)) for d in (8, 10))
    >>> adapter = isthmus.migrate(old, new[:150], pairs=np.c_[:150, :150])
    >>> print(adapter)
    Adapter, ridge: 10 new columns to 8 old ones from 150 pairs
    150 held-out pairs among 300 rows, learned from 120: recall@1 ...
    bridge...
    """
    choice(kind, "kind", (*KINDS, AUTO))
    most = int(number(max_pairs, "max_pairs", low=FEWEST, whole=True))
    reports = Progress(progress, "migrate")
    rng = as_generator(random_state)
    needed: dict[str, Any] = {"fewest_pairs": FEWEST, "pairs_for": "an adapter", "one_to_one": True}
    domains = TwoDomains.of(old, None, new, None, pairs, names=("old", "new"), optional_labels=True, **needed)
    if domains.pairs is None:
        raise InputError(f"pairs: expected {FORMS}, got None.")
    known = _sampled(domains.pairs, most, rng)
    names = column_names(old), column_names(new)
    with reports:
        work = WorkCounter(reports, numbered=False)
        measures = Measures.of(domains.source.X, domains.target.X, known, _shared_columns(*names), work, rng)
        work.expect(measures.n_steps(auto=kind == AUTO) + BOTH_WAYS)
        if kind == AUTO:
            kind = measures.chosen_kind()
        recall, maps = measures.recall(kind)
        table = measures.rows.thresholds(
            tuple((to_old, fold.queries) for (to_old, _), fold in zip(maps, measures.folds, strict=True))
        )
        work.count(f"learning from all {len(known)} pairs", BOTH_WAYS)
        everything = np.arange(len(known))
        forth, back = measures.rows.fitted(kind, everything), measures.rows.fitted(kind, everything, back=True)
        return Adapter(kind, forth, back, len(known), recall, table, *names)


def _sampled(known: KnownPairs, most: int, rng: Generator) -> KnownPairs:
    if len(known) <= most:
        return known
    kept = np.sort(rng.permutation(len(known))[:most])
    return KnownPairs(known.rows[kept], known.weights[kept])


def _shared_columns(old: tuple[str, ...] | None, new: tuple[str, ...] | None) -> tuple[IntArray, IntArray] | None:
    """The places of the columns of the same name, in the old and the new rows."""
    common = [name for name in old or () if name in set(new or ())]
    if old is None or new is None or not common:
        return None
    return tuple(np.array([names.index(name) for name in common]) for names in (old, new))  # type: ignore[return-value]
