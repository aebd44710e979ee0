"""What else is to be told: of single systems, of those that have no part, and of how the runs ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isthmus import systems
from isthmus.study.records import Record
from studies.systems import by_labels, by_pairs
from studies.systems.data import FOR_PAIRS
from studies.systems.findings import Findings
from studies.systems.reading import join_names


def remarks() -> str:
    """What to know of single systems."""
    noted: dict[str, list[str]] = {}
    for system in by_labels.taking_part():
        if words := by_labels.remark(system):
            noted.setdefault(words, []).append(system.name)
    return "\n".join(f"- {join_names(names)}: {words}." for words, names in noted.items())


def absent() -> str:
    """The systems that have no part, with the reason."""
    whys: dict[str, list[str]] = {}
    for system in systems():
        if not system.control and (why := by_labels.why_not(system)):
            whys.setdefault(f"With labels: {why}", []).append(system.name)
    for system in by_pairs.taking_part():
        for group in FOR_PAIRS:
            if why := by_pairs.why_not(system, group):
                whys.setdefault(f"With pairs, {system.name}: {why}", []).append(group)
    whys["With pairs: learns from labels alone"] = [
        system.name for system in systems() if not system.control and not system.takes_pairs
    ]
    return "\n".join(f"- {why}: {', '.join(names)}." for why, names in whys.items())


def endings(records: Sequence[Record], found: Iterable[Findings]) -> str:
    """What failed, what was not certified, and what is out of date."""
    failed = [record for record in records if record.score is None]
    missed = [record for record in records if record.score is not None and not record.certified]
    counts: dict[str, int] = {}
    for record in (*failed, *missed):
        words = f"{record.system} on {record.group} ({record.status[:60]})"
        counts[words] = counts.get(words, 0) + 1
    said = [f"{len(records)} records; {len(failed)} failed, {len(missed)} were not certified"]
    said += [f"{words}: {n}" for words, n in counts.items()]
    old = sum(each.board.count_outdated_records() for each in found if each.board.seeds)
    return "; ".join(said) + "." + (f" {old} are of another version, or of other systems or rows." if old else "")
