"""Matches as values: what is in a table of them, and the common space that they teach."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus.estimators import RidgeMap
from isthmus.exceptions import DataWarning, InputError
from isthmus.report.cloud import POINTS, Cloud, common_plane, own_plane
from isthmus.report.rows import Rows, places, sampled
from isthmus.storage.files import shown
from isthmus.tables import Features, Table
from isthmus.tables.cells import numbers, words

COLUMNS = ("source", "target", "score", "confidence")
OTHERS = 3
"""Further candidates for each match."""
PAIRS, FEWEST = 1_500, 10
"""Matches that the common space is learned from: at most, and at least."""
LINKED = 300
"""Matches that are drawn as lines."""
MATCHED, UNMATCHED = "matched", "not matched"


@dataclass(frozen=True, eq=False)
class Matched:
    """A table of matches: ids of both files, scores and confidences."""

    source: list[str | None]
    target: list[str | None]
    score: FloatArray
    confidence: FloatArray

    @classmethod
    def of(cls, found: Table) -> Matched:
        """From the file."""
        ids, figures = [words(found, name) for name in COLUMNS[:2]], [numbers(found, name) for name in COLUMNS[2:]]
        return cls(ids[0], ids[1], figures[0], np.nan_to_num(figures[1]))


@dataclass(frozen=True, eq=False)
class Space:
    """Rows of both files, where the matches are among them, and what the matches teach.

    Parameters
    ----------
    sides : (Rows, Rows)
        All rows of both files.
    pairs : array (m, 2)
        The matches as row numbers.
    cloud : Cloud or None
        The common space; None where matches are too few to learn one.
    learned_from : int
        How many of the matches it was learned from.
    candidates : list of list of str
        For each match that is asked for, the ids of target rows that are nearest to its source row there.
    """

    sides: tuple[Rows, Rows]
    pairs: IntArray
    cloud: Cloud | None
    learned_from: int
    candidates: list[list[str]]

    @classmethod
    def of(cls, path: Path, matched: Matched, sides: tuple[Rows, Rows], asked: IntArray) -> Space:
        """Ridge maps both ways, from the surest matches, and candidates for those that are asked for."""
        pairs = _pairs(path, matched, sides)
        order = np.argsort(-matched.confidence, kind="stable")[:PAIRS]
        chosen = [sampled(rows, POINTS // 2, pairs[order, k]) for k, rows in enumerate(sides)]
        here = _among(pairs, chosen)
        known = here[order][(here[order] >= 0).all(axis=1)]
        if len(known) < FEWEST:
            return cls(sides, pairs, None, 0, [])
        some = sides[0].some(chosen[0]), sides[1].some(chosen[1])
        features = [Features.fit(rows.plan, rows.table) for rows in some]
        X = [made.transform(rows.table) for made, rows in zip(features, some, strict=True)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # about a picture, not about the matches
            model = RidgeMap().fit(X[0], None, X[1], None, pairs=known)
        queries = features[0].transform(sides[0].some(pairs[asked, 0]).table)
        best = model.search(queries, X[1], min(OTHERS + 1, len(some[1])), ("source", "target"))[1]
        found = [[some[1].ids[j] for j in row] for row in best]
        others = [[id for id in ids if id != matched.target[i]][:OTHERS] for i, ids in zip(asked, found, strict=True)]
        inside = np.concatenate([np.isin(np.arange(len(rows)), here[:, k]) for k, rows in enumerate(some)])
        cloud = Cloud(
            rows=some,
            groups=[MATCHED if one else UNMATCHED for one in inside],
            known=[True] * len(inside),
            before=(own_plane(X[0]), own_plane(X[1])),
            after=common_plane(model.transform, X[0], X[1]),
            totals=(len(sides[0]), len(sides[1])),
            links=known[np.random.default_rng(0).permutation(len(known))[:LINKED]].tolist(),
            by_domain=True,
        )
        return cls(sides, pairs, cloud, len(known), others)


def _pairs(path: Path, matched: Matched, sides: tuple[Rows, Rows]) -> IntArray:
    """The matches as row numbers (m, 2); a name that no row has is one sentence."""
    names = matched.source, matched.target
    pairs = np.column_stack([places(rows.ids, ids) for rows, ids in zip(sides, names, strict=True)])
    missing = np.argwhere(pairs < 0)
    if len(missing):
        row, side = missing[0]
        raise InputError(
            f"{sides[side].table.path}: expected the rows that {shown(path)} names, got none called "
            f"{shown(repr(names[side][row])[:60])}; --id says which column names the rows."
        )
    return pairs


def _among(pairs: IntArray, rows: list[IntArray]) -> IntArray:
    """Pairs of row numbers as places among some of the rows, -1 for those that are not.

    Examples
    --------
    >>> _among(np.array([[0, 5], [2, 6]]), [np.array([0, 2]), np.array([4, 6])]).tolist()
    [[0, -1], [1, 1]]
    """
    found = []
    for k, chosen in enumerate(rows):
        place = np.full(max(int(pairs[:, k].max()), int(chosen.max())) + 1, -1)
        place[chosen] = np.arange(len(chosen))
        found.append(place[pairs[:, k]])
    return np.column_stack(found)
