"""One trial: the options as estimated from some queries, and what they are worth on all other queries."""

from __future__ import annotations

import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import isthmus
from isthmus._core.validation import FloatArray, IntArray
from isthmus.tasks.migration.engine import KINDS
from isthmus.tasks.migration.options import BRIDGE, CONVERT, KEEP, PROGRESSIVE, REEMBED, SHARES
from studies.migration.texts import AXES, DESCRIPTIONS, LLAMA, MINILM, TITLES, Collection, read_collection

COLLECTIONS = TITLES, DESCRIPTIONS
CHANGES = (AXES, MINILM), (AXES, LLAMA), (LLAMA, MINILM), (MINILM, LLAMA), (MINILM, AXES)
PAIRS = 100, 300, 1000
ASKED = 300
"""Queries that options are compared on, at most half as many as pairs."""
KIND = "procrustes"
"""What `auto` selects between embeddings of texts, without trying the other three in each trial."""
OTHERS = 500
"""Rows without a pair that look for themselves."""


@lru_cache(maxsize=1)
def _collection(name: str, folder: Path | None, cache: Path) -> Collection:
    return read_collection(name, folder, cache)


def found_at_ten(S: FloatArray, answers: IntArray, depth: int = 10) -> float:
    """The share of queries whose answer is among the first ten."""
    own = S[np.arange(len(S)), answers][:, None]
    return float(np.mean((own < S).sum(axis=1) < depth))


def _unit(X: Any) -> FloatArray:
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(X / np.where(norms > 0.0, norms, 1.0))


def draw(found: Collection, n_pairs: int, seed: int) -> tuple[IntArray, IntArray, IntArray]:
    """The queries to decide by, the other queries, and the rows that both models embed."""
    rng = np.random.default_rng([seed, n_pairs])
    queries = rng.permutation(len(found.queries))
    asked, others = np.split(queries, [min(ASKED, n_pairs // 2)])
    judged = np.unique(found.answers[asked])
    # The answers of the queries to decide by are no questions any more: their rows are pairs.
    others = others[~np.isin(found.answers[others], judged)]
    rest = rng.permutation(np.setdiff1d(np.arange(len(found.texts)), judged))
    return asked, others, np.r_[judged, rest[: n_pairs - len(judged)]]


def run_trial(
    name: str, old: str, new: str, n_pairs: int, seed: int, folder: Path | None, cache: Path
) -> dict[str, Any] | None:
    """The estimates, the truth and the verdict of one draw; None where there are fewer rows than pairs."""
    found = _collection(name, folder, cache)
    if len(found.texts) < n_pairs:
        return None
    asked, others, rows = draw(found, n_pairs, seed)
    A, B = found.rows[old], found.rows[new]
    judgements = np.c_[np.arange(len(asked)), found.answers[asked]]
    pairs = np.c_[rows, np.arange(len(rows))]
    queries = found.asked[old][asked], found.asked[new][asked]
    adapter = isthmus.migrate(A, B[rows], pairs, kind=KIND, random_state=seed, queries=queries, judgements=judgements)
    assert adapter.options is not None
    answers, q_old, q_new = found.answers[others], found.asked[old][others], found.asked[new][others]
    kept, exact = q_old @ A.T, q_new @ B.T
    mapped = q_new @ _unit(adapter.to_new(A)).T
    true = {
        KEEP: found_at_ten(kept, answers),
        BRIDGE: found_at_ten(_unit(adapter.to_old(q_new)) @ A.T, answers),
        CONVERT: found_at_ten(mapped, answers),
        REEMBED: found_at_ten(exact, answers),
    }
    # As an application would: the rows first that the queries seen so far have retrieved.
    rng = np.random.default_rng(seed)
    tops = np.argpartition(-(queries[0] @ A.T), 9, axis=1)[:, :10]
    order = np.argsort(-(np.bincount(tops.ravel(), minlength=len(A)) + rng.random(len(A))))
    for share in SHARES:
        first = order[: round(share * len(A))]
        mixed = mapped.copy()
        mixed[:, first] = exact[:, first]
        true[f"{PROGRESSIVE} ({share:.0%} first)"] = found_at_ten(mixed, answers)
    blind = isthmus.tasks.migration.evidence.give_advice(adapter.recall)
    return {
        "collection": name,
        "old": old,
        "new": new,
        "pairs": n_pairs,
        "seed": seed,
        "kind": adapter.kind,
        "asked": len(asked),
        "others": len(others),
        "estimated": {o.label: [o.recall.value, o.ndcg.value] for o in adapter.options.options},
        "true": true,
        "verdict": adapter.options.verdict.label,
        "blind": blind.action,
    }


def run_maps(
    name: str, old: str, new: str, n_pairs: int, seed: int, folder: Path | None, cache: Path
) -> dict[str, Any] | None:
    """Recall@1 of unseen rows in the whole index, by each map of isthmus and of isotrieve, from the same pairs."""
    from isotrieve import OrthogonalProcrustesMapping, RidgeMapping

    found = _collection(name, folder, cache)
    if len(found.texts) < n_pairs + OTHERS:
        return None
    order = np.random.default_rng([seed, 7]).permutation(len(found.texts))
    rows, unseen = order[OTHERS:][:n_pairs], order[:OTHERS]
    A, B = (np.asarray(X, dtype=np.float64) for X in (found.rows[old], found.rows[new]))
    X, Y = B[rows], A[rows]

    def search(apply: Any) -> float:
        return found_at_ten(_unit(apply(B[unseen])) @ A.T, unseen, 1)

    figures = {kind: search(fit(X, Y, None)) for kind, fit in KINDS.items()}
    adapter = isthmus.migrate(A, X, np.c_[rows, np.arange(len(rows))], random_state=seed)
    figures["auto"] = search(adapter.to_old)
    scores = adapter.similarity(B[unseen], A)
    figures["auto, both ways"] = found_at_ten(scores, unseen, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figures["isotrieve ridge"] = search(RidgeMapping().fit(X, Y).transform)
        if X.shape[1] == Y.shape[1]:  # the only case that it takes
            figures["isotrieve Procrustes"] = search(OrthogonalProcrustesMapping().fit(X, Y).transform)
    return {"collection": name, "old": old, "new": new, "pairs": n_pairs, "seed": seed, "maps": figures}
