"""Dedupe with its own active learning: it asks, the truth answers. Runs in dedupe's environment only.

``python -m studies.review.dedupe_active FOLDER ANSWERS…``: the folder has ``a.csv``, ``b.csv`` and ``task.json`` as
:mod:`studies.linkage.runners.exchange` describes them, and the true pairs as ``truth`` in the latter. After each
number of answers the matcher is trained with these, and its pairs and the seconds so far go to ``answers.json``,
together with the number of right pairs that it has asked about.
"""

from __future__ import annotations

import io
import json
import random
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from studies.linkage.runners.exchange import LONG_TEXT, Given, median_length


def ask_and_train(given: Given, truth: set[tuple[int, int]], numbers: list[int], write: Any) -> None:
    """Give answers one after the other, and write the pairs found with each number of them."""
    import dedupe

    random.seed(given.seed)
    np.random.seed(given.seed)  # noqa: NPY002  (dedupe draws from it)
    tables = given.read_rows()
    text = {name: median_length(tables[0] + tables[1], name) >= LONG_TEXT for name in tables[0][0]}
    # dedupe compares the variables only; the number of a row says which row it asks about.
    a, b = (
        {f"{side}{k}": {**row, "row": k} for k, row in enumerate(rows)}
        for side, rows in zip("ab", tables, strict=True)
    )

    def prepare(**training: Any) -> Any:
        kinds = dedupe.variables.Text, dedupe.variables.String
        variables = [kinds[0 if text[name] else 1](name, has_missing=True) for name in text]
        linker = dedupe.RecordLink(variables, num_cores=1, in_memory=True)
        linker.prepare_training(a, b, **training)
        return linker

    asker, asked, right = prepare(), [], 0
    for start, stop in pairwise([0, *numbers]):
        for _ in range(start, stop):
            [(first, second)] = asker.uncertain_pairs()
            hit = (first["row"], second["row"]) in truth
            asker.mark_pairs({"match": [(first, second)] * hit, "distinct": [(first, second)] * (not hit)})
            asked.append((first["row"], second["row"]))
            right += hit
        problem, links = "", []
        # Training ends a session of questions: what was answered goes to another one, as the file that users keep.
        with io.StringIO() as file:
            asker.write_training(file)
            answers = file.getvalue()
        try:
            linker = prepare(training_file=io.StringIO(answers))
            linker.train()
            links = linker.join(a, b, threshold=0.5, constraint="one-to-one" if given.one_to_one else "many-to-one")
        except (ValueError, IndexError, dedupe.core.BlockingError) as error:  # too few answers to train with
            problem = f"{type(error).__name__}: {error}"[:200]
        pairs = [(int(i[1:]), int(j[1:])) for (i, j), _ in links]
        about = {"right": right, "problem": problem, "seconds": time.process_time()}
        write({"answers": stop, "pairs": pairs, "asked": asked, **about})


def main(folder: Path, numbers: list[int]) -> None:
    """Read a task, and write the answers so far after each number."""
    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    columns = [(a, b) for a, b in task["columns"]]
    found: list[Any] = []

    def write(answer: dict[str, Any]) -> None:
        found.append(json.loads(json.dumps(answer)))
        (folder / "answers.json").write_text(json.dumps(found), encoding="utf-8")

    given = Given(folder, columns, task["one_to_one"], task["seed"], [])
    ask_and_train(given, {(i, j) for i, j in task["truth"]}, numbers, write)


if __name__ == "__main__":
    main(Path(sys.argv[1]), [int(word) for word in sys.argv[2:]])
