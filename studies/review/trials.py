"""A review without a person: questions are answered by the truth, and matches are made again with the answers."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from isthmus import match
from isthmus._core.validation import IntArray
from isthmus.study.records import VERSIONS, Record
from isthmus.tasks.matching.result import Matching
from isthmus.tasks.questions import (
    Proposal,
    is_resolved,
    measure_sample,
    next_questions,
    propose_matches,
    reserve_rows,
)
from studies.linkage.environments import REQUIREMENTS, ROOT, ensure_environment
from studies.linkage.methods import write_task
from studies.linkage.tasks import Task

ANSWERS = (0, 10, 30, 100)
"""Numbers of answers, after each of which matches are made again."""
POLICIES = ("chosen", "random")
DEDUPE, DEDUPED = "dedupe", ("Abt–Buy", "DBLP–ACM")
"""The active learning of dedupe, and the data sets that it is run on."""
TASKS = {
    "Abt–Buy": "full",
    "DBLP–ACM": "full",
    "Debian en–fr": "short texts",
    "mfeat fac–kar": "noise 1",
    "digits": "noise 0.5",
}
ESTIMATED = (*TASKS.items(), ("Abt–Buy", "10 %"), ("Debian fr–de", "short texts"))
"""Where the estimate is compared with the truth: also where few rows have a partner, or many have a distant one."""
REVIEWS, SAMPLED = 50, 30
"""Reviews whose estimates are compared with the truth, and rows that are sampled in each."""
EXPERIMENT = "review"


def match_task(task: Task, confirmed: IntArray, rejected: IntArray) -> Matching:
    """Return all matches, with the answers so far."""
    settings: dict[str, Any] = {"not_pairs": rejected, "keep": "all", "random_state": task.seed, "n_jobs": 1}
    if task.shared is not None:
        settings["shared"] = task.shared
    return match(task.A, task.B, confirmed if len(confirmed) else None, **settings)


def ask_chosen(found: Matching, n: int, answered: IntArray, rng: np.random.Generator) -> IntArray:
    """Return the pairs that teach most."""
    return next_questions(found, n, answered=answered)


def ask_random(found: Matching, n: int, answered: IntArray, rng: np.random.Generator) -> IntArray:
    """Return matches at random, claimed or not."""
    pairs = found.pairs if found.linkage is None else found.linkage.pairs
    known = set(map(tuple, answered.tolist()))
    free = np.array([k for k, pair in enumerate(pairs.tolist()) if tuple(pair) not in known], dtype=np.intp)
    return np.asarray(pairs[rng.permutation(free)[:n]])


ASK: dict[str, Callable[..., IntArray]] = {"chosen": ask_chosen, "random": ask_random}


def run_policy(task: Task, name: str, policy: str, first: Matching) -> Iterator[Record]:
    """Yield a record for each number of answers."""
    truth, rng = set(map(tuple, task.truth.tolist())), np.random.default_rng([task.seed, 31])
    answered, found = np.zeros((0, 2), np.intp), first
    for n in ANSWERS:
        start = time.process_time()
        if n:
            answered = np.vstack([answered, ASK[policy](found, n - len(answered), answered, rng)])
            right = np.array([tuple(pair) in truth for pair in answered.tolist()], dtype=bool)
            found = match_task(task, answered[right], answered[~right])
        seconds = round(time.process_time() - start, 2)
        figures = score_matches(found, task, answered)
        key = EXPERIMENT, name, TASKS[name], task.seed, policy, f"{n} answers"
        f1 = figures.pop("f1")
        yield Record(*key, {}, f1, seconds, "done", None, VERSIONS, figures=figures)


def run_dedupe(task: Task, name: str) -> Iterator[Record]:
    """Yield a record for each number of answers to the questions of dedupe, which starts without any."""
    versions = ", ".join(REQUIREMENTS["dedupe"]).replace("==", " ")
    with TemporaryDirectory() as folder:
        write_task(task, (), Path(folder))
        path = Path(folder, "task.json")
        given = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps(given | {"truth": task.truth.tolist()}), encoding="utf-8")
        words = ["-W", "ignore", "-m", "studies.review.dedupe_active", folder, *map(str, ANSWERS[1:])]
        variables = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        subprocess.run([str(ensure_environment("dedupe")), *words], cwd=folder, env=variables, check=True)
        answers = json.loads(Path(folder, "answers.json").read_text(encoding="utf-8"))
    truth = set(map(tuple, task.truth.tolist()))
    for answer in answers:
        asked = set(map(tuple, answer["asked"]))
        # As in isthmus, what was confirmed is claimed, and what was rejected is not.
        claims = {pair for pair in map(tuple, answer["pairs"]) if pair not in asked} | (asked & truth)
        rows = [np.array(sorted(some), dtype=np.intp).reshape(-1, 2) for some in (claims, asked)]
        figures = score_claims(rows[0], task, rows[1]) | {"right answers": answer["right"]}
        key = EXPERIMENT, name, TASKS[name], task.seed, DEDUPE, f"{answer['answers']} answers"
        f1, seconds = figures.pop("f1"), round(answer["seconds"], 2)
        yield Record(*key, {}, f1, seconds, "done", answer["problem"] or None, versions, figures=figures)


def score_matches(found: Matching, task: Task, answered: IntArray) -> dict[str, float]:
    """Return F1, precision and recall of all claims, and F1 on the rows of A that no answer is about."""
    return score_claims(found.pairs[found.confidence >= 0.5], task, answered)


def score_claims(claims: IntArray, task: Task, answered: IntArray) -> dict[str, float]:
    """Return F1, precision and recall of claimed pairs, and F1 on the rows of A that no answer is about."""
    whole = _score(claims, task.truth)
    rest = [some[~np.isin(some[:, 0], answered[:, 0])] for some in (claims, task.truth)]
    figures = {"f1": whole[0], "precision": whole[1], "recall": whole[2], "rest": _score(rest[0], rest[1])[0]}
    return {key: round(value, 5) for key, value in figures.items()}


def _score(claims: IntArray, truth: IntArray) -> tuple[float, float, float]:
    right = len(set(map(tuple, claims.tolist())) & set(map(tuple, truth.tolist())))
    precision, recall = right / max(1, len(claims)), right / max(1, len(truth))
    return 2.0 * right / max(1, len(claims) + len(truth)), precision, recall


def measure_coverage(task: Task, name: str, variant: str, found: Matching) -> Record:
    """Return how often the intervals on the page contain the truth, over reviews with samples of their own.

    Also how wide they are on average.
    """
    start = time.process_time()
    side = int(found.shape[1] < found.shape[0])
    n = found.shape[side]
    truth = {int(pair[side]): int(pair[1 - side]) for pair in task.truth}
    hits: dict[str, list[float]] = {"precision": [], "recall": []}
    widths: dict[str, list[float]] = {"precision width": [], "recall width": []}
    whole = _score(found.pairs[found.confidence >= 0.5], task.truth)[1:]
    for review in range(REVIEWS):
        reserved, order = reserve_rows([f"{task.seed} {review} {k}" for k in range(n)])
        proposal = propose_matches(found, side, reserved)
        sample = order[:SAMPLED].tolist()
        verdicts = {row: answer_row(proposal, row, truth) for row in sample}
        seen = measure_sample(proposal, sample, verdicts.__getitem__)
        for (share_name, share), true in zip(seen.shares.items(), whole, strict=True):
            # Where no sampled row has a claim, or a partner, the page gives no interval.
            hits[share_name] += [] if share is None else [float(share.low <= true <= share.high)]
            widths[f"{share_name} width"] += [] if share is None else [share.high - share.low]
    figures = {each: round(float(np.mean(values)), 5) for each, values in (hits | widths).items() if values}
    figures |= {"true precision": round(whole[0], 5), "true recall": round(whole[1], 5)}
    key = EXPERIMENT, name, variant, task.seed, "estimate", f"{SAMPLED} sampled rows"
    seconds = round(time.process_time() - start, 2)
    return Record(*key, {}, None, seconds, "done", None, VERSIONS, figures=figures)


def answer_row(proposal: Proposal, row: int, truth: dict[int, int]) -> dict[int, str]:
    """Return the answers on a row, option by option, until it is resolved."""
    told: dict[int, str] = {}
    for option in proposal.options(row):
        if is_resolved(proposal, row, told):
            break
        told[option] = "y" if truth.get(row) == option else "n"
    return told
