"""The Python Record Linkage Toolkit: sorted neighbourhoods of each column, agreement of each, the ECM classifier.

Names agree from a Jaro–Winkler similarity of 0.85 on, texts from a cosine of 0.5 on, columns of few values exactly.
"""

from __future__ import annotations

from typing import Any

from studies.linkage.runners.exchange import (
    LONG_TEXT,
    Given,
    choose_best_first,
    count_distinct,
    median_length,
    serve,
)

FEW_VALUES, WINDOW, AGREES, ALIKE = 50, 9, 0.85, 0.5


def link(given: Given) -> dict[str, Any]:
    """Return the pairs that the classifier calls matches, the best of each row."""
    import pandas as pd
    import recordlinkage as rl

    rows_a, rows_b = given.read_rows()
    names = list(rows_a[0])
    few = [name for name in names if count_distinct(rows_a + rows_b, name) <= FEW_VALUES]
    texts = [name for name in names if median_length(rows_a + rows_b, name) >= LONG_TEXT]
    a, b = pd.DataFrame(rows_a), pd.DataFrame(rows_b)
    indexer = rl.Index()
    for name in names:
        if name not in few:
            indexer.sortedneighbourhood(name, window=WINDOW)
    candidates = indexer.index(a, b)
    compare = rl.Compare()
    for name in names:
        if name in few:
            compare.exact(name, name, label=name)
        else:
            method, agrees = ("cosine", ALIKE) if name in texts else ("jarowinkler", AGREES)
            compare.string(name, name, method=method, threshold=agrees, label=name)
    features = compare.compute(candidates, a, b)
    classifier = rl.ECMClassifier()
    matches = classifier.fit_predict(features)
    probability = classifier.prob(features).loc[matches]
    scored = ((int(i), int(j), float(p)) for (i, j), p in probability.items())
    kept = choose_best_first(scored, given.one_to_one)
    return {"pairs": [(i, j) for i, j, _ in kept], "scores": [score for _, _, score in kept]}


if __name__ == "__main__":
    serve(link)
