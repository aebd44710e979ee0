"""A review: what to ask next, what was answered, what that says about the answer, and matching again meanwhile."""

from __future__ import annotations

import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

import numpy as np

from isthmus._core.validation import IntArray
from isthmus.exceptions import InputError, IsthmusError
from isthmus.tasks.questions import SURE, Proposal, is_resolved, measure_sample, reserve_rows
from isthmus.view.review.decisions import NO, UNSURE, YES, DecisionLog, Pair

# Chosen questions for each row of the random sample.
CHOSEN_PER_SAMPLED = 2
# Confidences from which on matches can be kept.
CUTS = (SURE, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
# After this many answers to learn from, a matching that changes less than this share of the claims has settled.
ENOUGH, UNCHANGED = 10, 0.005
# Asked of nobody: a question is a row and an option of it.
Question = tuple[int, int]
Progress = Callable[..., None]


@dataclass(frozen=True, eq=False)
class ReviewTask:
    """What is reviewed: rows, each of which has options, and how to answer again with decisions.

    Parameters
    ----------
    kind : {"match", "label"}
        Whether options are rows of the other file, or classes.
    rows, options : sequence of str
        Their ids.
    side : {0, 1}
        Whether rows are the sources of decisions, or the targets.
    propose : callable
        From confirmed and rejected (row, option) (k, 2), reserved rows (n,) and a progress function to a proposal.
    show, reveal : callable
        From a row and an option to what the page shows before the answer, and after it.
    again : str
        The command that uses all decisions.
    single : tuple of (bool, bool)
        Whether a row has one option at most, and an option one row.
    known : collection of (int, int)
        Rows with the options that are known to be right.
    """

    kind: str
    rows: Sequence[str]
    options: Sequence[str]
    side: int
    propose: Callable[[IntArray, IntArray, Any, Progress], Proposal]
    show: Callable[[int, int], dict[str, Any]]
    reveal: Callable[[int, int], dict[str, Any]]
    again: str
    single: tuple[bool, bool] = True, True
    known: Collection[Question] = ()

    def name(self, question: Question) -> Pair:
        """Return the ids of a question, the source first."""
        row, option = self.rows[question[0]], self.options[question[1]]
        return (option, row) if self.side else (row, option)


class Review:
    """The state of a review; every method can be called from any thread."""

    def __init__(self, task: ReviewTask, log: DecisionLog) -> None:
        self.task: ReviewTask = task
        self.log: DecisionLog = log
        self._lock = threading.RLock()
        self._places = [{id: k for k, id in enumerate(ids)} for ids in (task.rows, task.options)]
        self.reserved, self.sample = reserve_rows(task.rows)
        self._verdicts: defaultdict[int, dict[int, str]] = defaultdict(dict)
        # The right options of each row, and the rows of each option.
        self._right: tuple[defaultdict[int, set[int]], ...] = defaultdict(set), defaultdict(set)
        for row, option in task.known:
            self._add_right(row, option)
        for pair, verdict in log.verdicts.items():
            self._note(self._find(pair, verdict, "remove its line"), verdict)
        self._proposal: Proposal | None = None
        self._working: str | None = None
        self._error: str | None = None
        self._learned = 0
        self._changes: dict[str, int] | None = None
        self._last: dict[str, Any] | None = None

    def _find(self, pair: Pair, verdict: str = NO, remedy: str = "answer n, or undo the earlier one") -> Question:
        """Return the numbers of a pair of ids; raise where its confirmation contradicts an earlier one."""
        names = pair[:: -1 if self.task.side else 1]
        try:
            row, option = (places[name] for places, name in zip(self._places, names, strict=True))
        except KeyError as missing:
            got = f"{self.log.path}: expected decisions about rows of both files, got {missing.args[0]!r:.60}"
            raise InputError(f"{got}; name another file by --decisions.") from None
        for side, (own, other) in enumerate([(row, option), (option, row)] if verdict == YES else []):
            for rival in self._right[side][own] - {other} if self.task.single[side] else ():
                earlier = self.task.name((rival, option) if side else (row, rival))
                is_match = self.task.kind == "match"
                hint = remedy + ", or use --many-to-one" * (is_match and side != self.task.side)
                one = f"{self.log.path}: expected one {'partner' if is_match else 'class'} of each row"
                raise InputError(f"{one}, got {' and '.join(pair)} after {' and '.join(earlier)}; {hint}.")
        return row, option

    def _note(self, question: Question, verdict: str | None) -> None:
        row, option = question
        if self._verdicts[row].pop(option, None) == YES and question not in self.task.known:
            self._right[0][row].discard(option)
            self._right[1][option].discard(row)
        if verdict is not None:
            self._verdicts[row][option] = verdict
        if verdict == YES:
            self._add_right(row, option)

    def _add_right(self, row: int, option: int) -> None:
        self._right[0][row].add(option)
        self._right[1][option].add(row)

    def start(self) -> None:
        """Match (again) in the background, with the decisions so far; nothing where that goes on already."""
        with self._lock:
            if self._working is None:
                self._working, self._error = "starting", None
                threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        with self._lock:
            confirmed, rejected = (self._list_taught(verdict) for verdict in (YES, NO))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = self.task.propose(confirmed, rejected, self.reserved, self._report)
        except (IsthmusError, OSError, MemoryError) as error:
            with self._lock:
                self._working, self._error = None, str(error) or "out of memory"
            return
        with self._lock:
            learned = len(confirmed) + len(rejected)
            if self._proposal is not None:
                old, new = self._proposal.claim, found.claim
                self._changes = {
                    "answers": learned - self._learned,
                    "added": int(((new >= 0) & (new != old)).sum()),
                    "removed": int(((old >= 0) & (new != old)).sum()),
                    "of": int((new >= 0).sum()),
                }
            self._proposal, self._learned, self._working = found, learned, None

    def _report(self, what: str, *_: Any) -> None:
        self._working = what

    def _list(self, verdict: str) -> list[Question]:
        return [(row, o) for row, told in self._verdicts.items() for o, said in told.items() if said == verdict]

    def _list_taught(self, verdict: str) -> IntArray:
        """Return the answers (k, 2) that may be learned from: those on rows outside the random sample."""
        taught = [question for question in self._list(verdict) if not self.reserved[question[0]]]
        return np.array(taught, dtype=np.intp).reshape(-1, 2)

    def answer(self, source: str, target: str, verdict: str) -> None:
        """Write an answer to the file, then count it."""
        with self._lock:
            if verdict not in (YES, NO, UNSURE):
                raise InputError(f"verdict: expected y, n or ?, got {verdict!r:.20}.")
            question = self._find((source, target), verdict)
            self.log.append((source, target), verdict)
            self._note(question, verdict)
            self._last = {**self.task.reveal(*question), "source": source, "target": target, "verdict": verdict}

    def undo(self) -> None:
        """Take the last answer back."""
        with self._lock:
            pair = self.log.undo()
            if pair is not None:
                self._note(self._find(pair), None)
            self._last = None

    def state(self) -> dict[str, Any]:
        """Return all that the page shows."""
        with self._lock:
            found, question = self._proposal, self._choose()
            return {
                "kind": self.task.kind,
                "working": self._working,
                "error": self._error,
                "ready": found is not None,
                "sentence": None if found is None else found.sentence,
                "answered": len(self.log),
                "new": sum(len(self._list_taught(verdict)) for verdict in (YES, NO)) - self._learned,
                "question": None if question is None else self._show(question),
                "quality": self._measure(),
                "changes": self._changes,
                "settled": self._is_settled(),
                "last": self._last,
                "again": self.task.again,
            }

    def _show(self, question: Question) -> dict[str, Any]:
        source, target = self.task.name(question)
        return {"source": source, "target": target, **self.task.show(*question)}

    def _choose(self) -> Question | None:
        """Return the next question: of the random sample if it is behind, otherwise the one that teaches most."""
        found = self._proposal
        if found is None:
            return None
        sampled = sum(len(told) for row, told in self._verdicts.items() if self.reserved[row])
        behind = sampled * CHOSEN_PER_SAMPLED <= len(self.log) - sampled
        drawn, chosen = self._iterate_sample(found), self._iterate_chosen(found)
        return next(chain(drawn, chosen) if behind else chain(chosen, drawn), None)

    def _iterate_sample(self, found: Proposal) -> Any:
        for row in self.sample.tolist():
            told = self._verdicts[row]
            if not is_resolved(found, row, told):
                yield from ((row, option) for option in found.options(row) if option not in told)

    def _iterate_chosen(self, found: Proposal) -> Any:
        single, taken = self.task.single, {option for _, option in self._list(YES)}
        for row, option in found.questions:
            told = self._verdicts[row]
            if option not in told and not ((single[0] and YES in told.values()) or (single[1] and option in taken)):
                yield row, option

    def _measure(self) -> list[dict[str, Any]]:
        """Return precision and recall by the random sample, where matches below a confidence are left out."""
        found = self._proposal
        if found is None:
            return []
        rows = []
        for cut in CUTS:
            seen = measure_sample(found, self.sample.tolist(), lambda row: self._verdicts[row], cut)
            ends = {name: None if share is None else asdict(share) for name, share in seen.shares.items()}
            claims = int(((found.claim >= 0) & (found.confidence >= cut)).sum())
            rows.append({"cut": cut, "claims": claims, **asdict(seen), **ends})
        return rows

    def _is_settled(self) -> bool:
        """Return whether more answers would change next to nothing: nothing is doubtful, or nothing has changed."""
        found, changes = self._proposal, self._changes
        if found is None:
            return False
        steady = changes is not None and changes["answers"] >= ENOUGH
        moved = 0 if changes is None else changes["added"] + changes["removed"]
        return found.settled or (steady and moved <= UNCHANGED * max(1, changes["of"] if changes else 1))
