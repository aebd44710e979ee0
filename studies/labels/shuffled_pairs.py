"""How often label transfer notices shuffled pairs, where no target row is labelled: a bullet of the page.

``python -m studies.labels.shuffled_pairs 100:105`` runs what is missing of some seeds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isthmus import LabelTransfer
from isthmus._core.files import write_text
from isthmus.study.trial_rows import Trial
from studies.options import parse_seeds
from studies.pairs.retrieval import TESTED
from studies.pairs.rows import PairedDraw, ShuffledPairs
from studies.pairs.transfer import GROUPS, PAIRS

HERE = Path(__file__).parent / "records"
FILE = "shuffled_pairs.jsonl"
FEWEST = PAIRS[0]
TRUE, SHUFFLED = "true", "shuffled"
WORDS = """\
- **Shuffled pairs** ({n} known pairs and no target label, development seeds {first} to {last}, {groups} pairs of \
views, by the test of held-out pairs): {noticed} of {shuffled} draws with shuffled pairs are noticed and name no \
class, {doubtful} are called doubtful ("check the pairs"), {missed} pass; of {true} with true pairs {passed} pass. z \
is at most {largest:.1f} with shuffled pairs and at least {smallest:.1f} with true ones. Noticed pairs cost what \
pairs are worth: accuracy is {level:.0f} % instead of {right:.0f} %.
"""


def ask(draw: PairedDraw, group: str, seed: int, n: int) -> Iterator[dict[str, Any]]:
    """Fit with true and with shuffled pairs."""
    rows = draw(Trial(group, str(n), seed))
    for kind, some in ((TRUE, rows), (SHUFFLED, ShuffledPairs()(rows, seed))):
        model = LabelTransfer().fit(some.X_source, some.y_source, some.X_target, None, pairs=some.pairs)
        accuracy = round(float(np.mean(model.predict(some.Q_target) == some.y_test)), 4)
        z = round(model.evidence_["pairs"], 4)
        yield {
            "group": group, "pairs": n, "seed": seed, "kind": kind,
            "ok": model.answer_.ok, "z": z, "accuracy": accuracy,
        }  # fmt: skip


def read(folder: Path = HERE) -> list[dict[str, Any]]:
    """The records of a folder."""
    path = folder / FILE
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def run(seeds: Sequence[int], folder: Path = HERE, data: Path | None = None) -> None:
    """Run what is missing."""
    kept, draw = read(folder), PairedDraw({group: TESTED[group] for group in GROUPS}, max(PAIRS), data)
    for seed in seeds:
        for group in GROUPS:
            if not any((each["group"], each["seed"]) == (group, seed) for each in kept):
                kept += ask(draw, group, seed, FEWEST)
                write_text(folder / FILE, "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in kept))


def describe(records: Sequence[Mapping[str, Any]]) -> str:
    """The bullet of the page; empty without records of both kinds."""
    by = {kind: [each for each in records if each["kind"] == kind] for kind in (TRUE, SHUFFLED)}
    if not all(by.values()):
        return ""
    seeds, shuffled = sorted({each["seed"] for each in records}), [each["ok"] for each in by[SHUFFLED]]
    return WORDS.format(
        n=FEWEST, first=seeds[0], last=seeds[-1], groups=len({each["group"] for each in records}),
        noticed=shuffled.count(False), doubtful=shuffled.count(None), missed=shuffled.count(True),
        shuffled=len(shuffled), true=len(by[TRUE]), passed=sum(each["ok"] is True for each in by[TRUE]),
        largest=max(each["z"] for each in by[SHUFFLED]), smallest=min(each["z"] for each in by[TRUE]),
        level=100 * np.mean([each["accuracy"] for each in by[SHUFFLED]]),
        right=100 * np.mean([each["accuracy"] for each in by[TRUE]]),
    )  # fmt: skip


if __name__ == "__main__":
    run(parse_seeds(sys.argv[1]))
