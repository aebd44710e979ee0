"""The committed runs, which were written before the engine had a format of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from isthmus.exceptions import InputError
from isthmus.study import Record

COMMITTED = Path(__file__).parents[1] / "records-0.1.jsonl"


def old_records(path: Path = COMMITTED) -> Iterator[Record]:
    """The runs of a file as records of the study, in its order; scores keep all digits that are there.

    Examples
    --------
    >>> first = next(old_records())
    >>> first.group, first.seed, first.system, first.score, first.status
    ('digits fou76→kar64', 0, 'mlhd', 0.403333, 'optimal')
    """
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            old = json.loads(line)
            trial = "systems", old["pair"], "", old["split"], old["system"], "default"
            status = old["status"] if old["converged"] else "not converged"
            record = Record(*trial, {}, old["accuracy"], old["seconds"], status, old["gap"], old["versions"])
            good = record.score is None or 0 <= record.score <= 1
        except (KeyError, TypeError, ValueError):
            good = False
        if not good:
            raise InputError(f"{path}, line {number}: expected a run of the systems, got {line[:60]!r}.")
        yield record
