"""Which system to use, in sentences that the figures give."""

from __future__ import annotations

from collections.abc import Sequence

from isthmus.study.board import ABSENT, TextTable
from studies.pairs.tables import Cell

KINDS = {
    "text": ("Reuters", "Debian"),
    "images": ("digits", "mfeat"),
    "cells": ("SNARE",),
}
"""Kinds of data, by how the names of their groups begin."""
THREE = ("ridge", "cca", "mlhd")
"""Of whom the page has to say where each is the one to use."""
IN_WORDS = {"ridge": "ridge", "cca": "CCA", "mlhd": "LogDet (mlhd)"}


def kind(group: str) -> str:
    """What a group is.

    Examples
    --------
    >>> kind("Debian en–fr")
    'text'
    """
    return next(name for name, starts in KINDS.items() if group.startswith(starts))


def winners_table(found: Sequence[Cell], variants: Sequence[str], title: str) -> TextTable:
    """Groups by numbers of pairs: the best, and who is not shown to be worse."""
    by_place = {(cell.group, cell.variant): cell for cell in found}
    groups = dict.fromkeys(cell.group for cell in found)
    rows = [(group, *(_winners(by_place.get((group, variant))) for variant in variants)) for group in groups]
    return TextTable(title, ("data", *(f"{variant} pairs" for variant in variants)), tuple(rows))


def _winners(cell: Cell | None) -> str:
    if cell is None:
        return ABSENT
    if not cell.above:
        return "none above the control"
    others = [name for name in cell.level if name != cell.best]
    return f"**{cell.best}** {100 * cell.score:.0f}" + (f"; {', '.join(others)}" if others else "")


def use_sentences(found: Sequence[Cell], names: Sequence[str]) -> list[str]:
    """For each kind of data, whom to use; then where each of ridge, CCA and LogDet is the one."""
    return [*(_of_kind(name, found, names) for name in KINDS), *(_of_system(name, found) for name in THREE)]


def _of_kind(name: str, found: Sequence[Cell], names: Sequence[str]) -> str:
    here = [cell for cell in found if kind(cell.group) == name]
    decided = [cell for cell in here if cell.above]
    if not decided:
        return (
            f"- **{name.capitalize()}**: no system is shown to be above the class oracle, whatever the number of "
            "pairs. Pairs of this kind of data do not teach which row is which; use none of them for search."
        )
    counts = {system: sum(system in cell.level for cell in decided) for system in names}
    order = sorted(names, key=lambda system: (-counts[system], -_mean_of(system, decided)))
    first, *rest = [system for system in order if counts[system]]
    beside = ", ".join(f"{system} {counts[system]}" for system in rest) or "nobody else"
    said = (
        f"- **{name.capitalize()}**: use `{first}`, which is the best or not shown to be worse in {counts[first]} of "
        f"{len(decided)} cells of the table ({beside})."
    )
    by_size = [_best_at(decided, variant, names) for variant in dict.fromkeys(cell.variant for cell in decided)]
    left = len(here) - len(decided)
    more = f" In {left} more no system is above the class oracle." if left else ""
    return f"{said} By the number of pairs: {'; '.join(by_size)}.{more}"


def _mean_of(system: str, found: Sequence[Cell]) -> float:
    """Of a system over some cells, none where it is missing in one."""
    return sum(cell.means.get(system, 0.0) for cell in found) / len(found)


def _best_at(decided: Sequence[Cell], variant: str, names: Sequence[str]) -> str:
    here = [cell for cell in decided if cell.variant == variant]
    counts = {system: sum(system in cell.level for cell in here) for system in names}
    most = max(counts.values())
    leaders = [system for system, count in counts.items() if count == most]
    return f"{variant}: {', '.join(leaders)} ({most} of {len(here)})"


def _of_system(name: str, found: Sequence[Cell]) -> str:
    """Where a system is ahead of the two others of the three."""
    decided = [cell for cell in found if cell.above]
    alone = [cell for cell in decided if name in cell.level and not (set(THREE) - {name}) & set(cell.level)]
    among = [cell for cell in decided if name in cell.level]
    lost = len(decided) - len(among)
    words = IN_WORDS[name]
    if not among:
        return (
            f"- **{words}** is shown to be worse than another system in all {len(decided)} cells: not the one to use."
        )
    places = _places(alone)
    where = (
        f"and the only one of the three in {len(alone)}: {places}"
        if alone
        else "and nowhere the only one of the three"
    )
    counted = f"is among the best in {len(among)} of {len(decided)} cells, shown to be worse in {lost}"
    return f"- **{words}** {counted}, {where}."


def _places(found: Sequence[Cell]) -> str:
    """Cells in words: groups with their numbers of pairs."""
    sizes: dict[str, list[str]] = {}
    for cell in found:
        sizes.setdefault(cell.group, []).append(cell.variant)
    return "; ".join(f"{group} with {', '.join(each)}" for group, each in sizes.items())
