"""Words and columns that two files share: a plain rule on them is the control of all that is learned."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isthmus._arrays import Matrix
    from isthmus.cli.sides import Side


def shared_features(source: Side, target: Side) -> list[tuple[int, int]] | None:
    """Features that both have: columns of equal names, words of texts whatever their columns are called."""
    ours, theirs = (_first_places(side.features.blocks) for side in (source, target))
    return [(ours[key], theirs[key]) for key in ours if key in theirs] or None


def shared_rows(source: Side, target: Side) -> tuple[Matrix, Matrix] | None:
    """These features as rows of either file, words also where the plan puts only their axes to use."""
    import numpy as np

    from isthmus.tables import Features

    plain = [Features(side.plan, tuple(map(_with_words, side.features.blocks))) for side in (source, target)]
    ours, theirs = (_first_places(features.blocks) for features in plain)
    shared = [key for key in ours if key in theirs]
    if not shared:
        return None
    places = (np.array([found[key] for key in shared], dtype=np.intp) for found in (ours, theirs))
    tables = source.table, target.table
    S, T = (f.transform(t)[:, columns] for f, t, columns in zip(plain, tables, places, strict=True))
    return S, T


def _first_places(blocks: Any) -> dict[Hashable, int]:
    """The place of each feature that means something by its name; the first of those of one name."""
    from isthmus.tables.blocks import MatrixPart, Words

    found: dict[Hashable, int] = {}
    place = 0
    for block in blocks:
        names: tuple[Hashable, ...] = block.names
        if isinstance(block, Words) and block.axes is None:
            names = tuple(("word", term) for term in block.terms)
        # An axis, or a column of a matrix, is only numbered: the same number means nothing.
        if not isinstance(block, MatrixPart) and not (isinstance(block, Words) and block.axes is not None):
            for i, name in enumerate(names):
                found.setdefault(name, place + i)
        place += len(names)
    return found


def _with_words(block: Any) -> Any:
    from isthmus.tables.blocks import Words

    return replace(block, axes=None) if isinstance(block, Words) else block
