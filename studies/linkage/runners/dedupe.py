"""Dedupe trained with the known pairs: names as String, long cells as Text, default recall and threshold.

It needs distinct pairs too: every known row of A with the partner of another.
"""

from __future__ import annotations

import io
import json
import random
from typing import Any

import numpy as np

from studies.linkage.runners.exchange import LONG_TEXT, Given, median_length, serve


def link(given: Given) -> dict[str, Any]:
    """Return the pairs that dedupe joins, with their scores."""
    import dedupe

    random.seed(given.seed)
    np.random.seed(given.seed)  # noqa: NPY002  (dedupe draws from it)
    rows_a, rows_b = given.read_rows()
    a, b = ({f"{side}{k}": row for k, row in enumerate(rows)} for side, rows in (("a", rows_a), ("b", rows_b)))
    variables = [
        (dedupe.variables.Text if median_length(rows_a + rows_b, name) >= LONG_TEXT else dedupe.variables.String)(
            name, has_missing=True
        )
        for name in rows_a[0]
    ]
    partners = [j for _, j in given.known]
    match = [(rows_a[i], rows_b[j]) for i, j in given.known]
    distinct = [(rows_a[i], rows_b[j]) for (i, _), j in zip(given.known, partners[1:] + partners[:1], strict=True)]
    linker = dedupe.RecordLink(variables, num_cores=1, in_memory=True)
    linker.prepare_training(a, b, training_file=io.StringIO(_to_training_file(match, distinct)))
    linker.train()
    constraint = "one-to-one" if given.one_to_one else "many-to-one"
    links = linker.join(a, b, threshold=0.5, constraint=constraint)
    return {
        "pairs": [(int(i[1:]), int(j[1:])) for (i, j), _ in links],
        "scores": [float(score) for _, score in links],
    }


def _to_training_file(match: list[Any], distinct: list[Any]) -> str:
    as_tuples = {"__class__": "tuple"}
    return json.dumps(
        {
            "match": [as_tuples | {"__value__": pair} for pair in match],
            "distinct": [as_tuples | {"__value__": pair} for pair in distinct],
        }
    )


if __name__ == "__main__":
    serve(link)
