"""How often :func:`isthmus.match` calls unrelated tables matched, and how many true successes its verdict keeps.

``python -m studies.linkage.unrelated --data FOLDER`` runs what is not recorded yet, and prints the tables. Seeds from
100 on are for development. Seeds 0 to 7 were the first final run (``unrelated-first.jsonl``, stopped before its end):
it showed that further control runs turned true successes with few partners into failures, where they can only cast
doubt. After that was changed, fresh seeds were run once, from 20 on. Frames with the same columns came
later: of their first final run (seeds 20 and 21, ``unrelated-frames-first.jsonl``) 8 of 109 cases were claimed. Then
chance levels of small tables were made to grow with the pairs of rows, and few matches by geometry alone became
doubtful; seeds from 30 on are the run after that. Two false claims among its first 119 cases led to the least excess
of three standard errors: the five cases that it changes, arrays included, were run again. Since whole rows are
compared where no columns are paired, and expected wrong matches are limited by all matches, frames count from seed 40
on, with columns of other names among them; the cases before are in ``unrelated-frames-second.jsonl``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from isthmus import Matching, match
from isthmus.cli.process import run_command
from isthmus.evidence.held_out import wilson_interval
from isthmus.study.trial_rows import hash_name
from isthmus.tasks.matching.evidence import MatchingEvidence, judge
from studies.linkage.unrelated_frames import PARTNERED_FRAMES, UNRELATED_FRAMES
from studies.linkage.unrelated_tables import PARTNERED as PARTNERED_ARRAYS
from studies.linkage.unrelated_tables import UNRELATED as UNRELATED_ARRAYS
from studies.linkage.unrelated_tables import Tables
from studies.options import parse_seeds

HALF = 0.5
"""The recall from which on a matching is a true success."""
UNRELATED = UNRELATED_ARRAYS | UNRELATED_FRAMES
PARTNERED = PARTNERED_ARRAYS | PARTNERED_FRAMES
RECORDS = Path(__file__).with_name("unrelated.jsonl")
FALSE = "tables without a common object", "cases", "called matched", "with one control run", "highest excess"
TRUE = "tables with partners", "cases", "true successes", "kept", "recall", "right", "claimed", "seconds"
PROGRAM = "python -m studies.linkage.unrelated"


@dataclass(frozen=True)
class Case:
    """One matching and its verdict.

    Parameters
    ----------
    kind, seed, n
        The tables, the draw, and the number of rows of A.
    related : bool
        Whether rows have partners.
    ok, before : bool or None
        The verdict, and what it is with one control run only.
    excess, precision : float
        As in :class:`~isthmus.tasks.matching.evidence.MatchingEvidence`.
    nulls, returned : int
        The number of further control runs, and of returned pairs.
    right, claimed, recall : float
        Of the returned new pairs, the share that is right and the mean confidence; of all rows with a partner, the
        share whose nearest row it is.
    seconds : float
        Processor time.
    """

    kind: str
    seed: int
    n: int
    related: bool
    ok: bool | None
    before: bool | None
    excess: float
    precision: float
    nulls: int
    returned: int
    right: float
    claimed: float
    recall: float
    seconds: float


def run_case(kind: str, seed: int, folder: Path | None) -> Case:
    """Draw two tables and match them."""
    related = kind in PARTNERED
    draw = (PARTNERED if related else UNRELATED)[kind]
    tables = draw(np.random.default_rng([seed, hash_name(kind)]), folder)
    start = time.process_time()
    with threadpool_limits(1):
        found = match(
            tables.A, tables.B, tables.pairs, y_source=tables.ys, y_target=tables.yt, random_state=seed, n_jobs=1
        )
    return _measure(kind, seed, related, tables, found, time.process_time() - start)


def _measure(kind: str, seed: int, related: bool, tables: Tables, found: Matching, seconds: float) -> Case:
    seen = found.evidence
    assert seen is not None  # rows are left to match
    maps = seen if isinstance(seen, MatchingEvidence) else None
    i, j = found.pairs.T
    right = claimed = recall = 0.0
    if related:
        has = tables.partner >= 0
        recall = float((found.nearest == tables.partner)[has].mean())
    if len(i):
        right = float((tables.partner[i] == j).mean()) if related else 0.0
        claimed = float(found.confidence.mean())
    return Case(
        kind=kind,
        seed=seed,
        n=tables.A.shape[0],
        related=related,
        ok=found.ok,
        before=found.ok if maps is None else judge(replace(maps, nulls=())),
        excess=0.0 if maps is None else round(maps.excess, 2),
        precision=round(seen.precision, 4),
        nulls=0 if maps is None else len(maps.nulls),
        returned=len(i),
        right=round(right, 4),
        claimed=round(claimed, 4),
        recall=round(recall, 4),
        seconds=round(seconds, 2),
    )


def read_records(path: Path = RECORDS) -> list[Case]:
    """Return the recorded cases; none where there is no file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Case(**json.loads(line)) for line in lines if line]


def run_missing(path: Path, kinds: Iterable[str], seeds: Iterable[int], folder: Path | None) -> None:
    """Run the cases that are not recorded yet; each is written when it is done."""
    done = {(case.kind, case.seed) for case in read_records(path)}
    kinds = list(kinds)
    for seed in seeds:
        for kind in kinds:
            if (kind, seed) in done:
                continue
            line = json.dumps(asdict(run_case(kind, seed, folder)), ensure_ascii=False)
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")


def render_unrelated(cases: Sequence[Case]) -> str:
    """Return a markdown table: how often each kind of unrelated tables was called matched."""
    rows = []
    apart = [case for case in cases if not case.related]
    for kind in [kind for kind in UNRELATED if any(case.kind == kind for case in apart)]:
        rows.append(_count_false(kind, [case for case in apart if case.kind == kind]))
    return _write_table(FALSE, [*rows, _count_false("**all**", apart)])


def summarize_cases(cases: Sequence[Case]) -> str:
    """Return markdown tables of all cases by what the tables share, and a list of the kinds that were claimed."""
    groups = {"arrays that share nothing": UNRELATED_ARRAYS | PARTNERED_ARRAYS}
    groups["frames, most with the same columns"] = UNRELATED_FRAMES | PARTNERED_FRAMES
    parts = {
        f"**{name}, {len({case.kind for case in some})} kinds**": some
        for name, kinds in groups.items()
        for related in (False, True)
        if (some := [case for case in cases if case.kind in kinds and case.related is related])
    }
    false = [_count_false(name, some) for name, some in parts.items() if not some[0].related]
    true = [_count_true(name, some) for name, some in parts.items() if some[0].related]
    claimed = Counter(case.kind for case in cases if not case.related and case.ok is True)
    listed = ", ".join(f"{kind} ({n})" for kind, n in claimed.items()) or "none"
    return f"{_write_table(FALSE, false)}\n\nClaimed: {listed}.\n\n{_write_table(TRUE, true)}"


def _count_false(name: str, cases: Sequence[Case]) -> tuple[str, ...]:
    after, before = (sum(answer is True for answer in answers) for answers in _answers(cases))
    text = str(after)
    if name.startswith("**") and cases:
        low, high = wilson_interval(after, len(cases))
        text = f"{after} ({after / len(cases):.1%}; 95 % {low:.1%} to {high:.1%})"
    return name, str(len(cases)), text, str(before), f"{max((case.excess for case in cases), default=0.0):.1f}"


def _answers(cases: Sequence[Case]) -> tuple[list[bool | None], list[bool | None]]:
    return [case.ok for case in cases], [case.before for case in cases]


def render_related(cases: Sequence[Case]) -> str:
    """Return a markdown table: the true successes that the verdict keeps, with what it claims and what is true.

    A true success is a case that is matched by one control run, and right for half of the rows with a partner.
    """
    rows = []
    true = [case for case in cases if case.related]
    for kind in [kind for kind in PARTNERED if any(case.kind == kind for case in true)]:
        rows.append(_count_true(kind, [case for case in true if case.kind == kind]))
    return _write_table(TRUE, [*rows, _count_true("**all**", true)])


def _count_true(name: str, cases: Sequence[Case]) -> tuple[str, ...]:
    successes = [case for case in cases if case.before is True and case.recall >= HALF]
    kept = sum(case.ok is True for case in successes)
    text = f"{kept} ({kept / len(successes):.0%})" if name.startswith("**") and successes else str(kept)
    returned = [case for case in cases if case.returned]
    fields = (("recall", cases, 2), ("right", returned, 3), ("claimed", returned, 3), ("seconds", cases, 1))
    means = [f"{np.mean([getattr(case, name) for case in of]):.{d}f}" if of else "–" for name, of, d in fields]
    return name, str(len(cases)), str(len(successes)), text, *means


def _write_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing and print the tables; the exit status is 0, 2 for bad input, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(PROGRAM, description=__doc__)
    add = parser.add_argument
    add("--data", type=Path, metavar="FOLDER", help="where the data are ($ISTHMUS_DATA, or a cache of the user)")
    add("--seeds", type=parse_seeds, default=range(20, 28), metavar="A:B", help="draws A to B - 1 (20:28)")
    add("--related-seeds", type=parse_seeds, default=range(20, 24), metavar="A:B", help="of related tables (20:24)")
    add("--records", type=Path, default=RECORDS, metavar="FILE", help="JSON lines, which are added to (%(default)s)")
    options = parser.parse_args(arguments)
    return run_command(PROGRAM, partial(_run, options), "Cases are kept; the same command goes on from there.")


def _run(options: argparse.Namespace) -> None:
    run_missing(options.records, UNRELATED, options.seeds, options.data)
    run_missing(options.records, PARTNERED, options.related_seeds, options.data)
    cases = read_records(options.records)
    sys.stdout.write(f"{render_unrelated(cases)}\n\n{render_related(cases)}\n")


if __name__ == "__main__":
    sys.exit(main())
