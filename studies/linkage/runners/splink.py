"""Splink as its tutorial uses it: levels of agreement for each column, EM, pairs of probability 0.5 and more.

Names agree by Jaro–Winkler, texts by their rare words as well, columns of few values exactly. Blocks: the first five
characters of each column of many values, and the rare words of each column of text.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from studies.linkage.runners.exchange import (
    LONG_TEXT,
    Given,
    Row,
    choose_best_first,
    count_distinct,
    median_length,
    serve,
)

FEW_VALUES, RARE, PREFIX = 50, 30, 5


def link(given: Given) -> dict[str, Any]:
    """Return the pairs that splink gives a probability of at least one half, the best of each row."""
    import pandas as pd
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on
    from splink import comparison_level_library as cll
    from splink import comparison_library as cl

    a, b = given.read_rows()
    names = list(a[0])
    few = [name for name in names if count_distinct(a + b, name) <= FEW_VALUES]
    texts = [name for name in names if median_length(a + b, name) >= LONG_TEXT]
    prefixes = [block_on(f"substr({name}, 1, {PREFIX})") for name in names if name not in few]
    rare = [block_on(f"{name}_words", arrays_to_explode=[f"{name}_words"]) for name in texts]

    def compare(name: str) -> Any:
        if name in few:
            return cl.ExactMatch(name).configure(term_frequency_adjustments=True)
        if name not in texts:
            return cl.JaroWinklerAtThresholds(name, [0.9, 0.7])
        words = [cll.ArrayIntersectLevel(f"{name}_words", n) for n in (3, 2, 1)]
        close = [cll.NullLevel(name), cll.ExactMatchLevel(name), cll.JaroWinklerLevel(name, 0.9)]
        return cl.CustomComparison([*close, *words, cll.ElseLevel()], output_column_name=name)

    settings = SettingsCreator(
        link_type="link_only",
        comparisons=[compare(name) for name in names],
        blocking_rules_to_generate_predictions=prefixes + rare,
    )
    frames = [pd.DataFrame(table).assign(unique_id=range(len(table))) for table in (a, b)]
    for name in texts:
        for frame, words in zip(frames, _find_rare_words(a, b, name), strict=True):
            frame[f"{name}_words"] = words

    def train(rules: list[Any]) -> Any:
        api = DuckDBAPI()
        tables = [api.register(frame, dataset_display_name=side) for frame, side in zip(frames, "ab", strict=True)]
        linker = Linker(tables, settings, log_level=None)
        training = linker.training
        exact = [block_on(name) for name in names if name not in few]
        training.estimate_probability_two_random_records_match(exact, 0.7)
        training.estimate_u_using_random_sampling(max_pairs=1e6, seed=given.seed)
        for rule in rules:
            try:
                training.estimate_parameters_using_expectation_maximisation(rule)
            except Exception as error:  # a block without pairs teaches nothing, and leaves the linker unusable
                print(f"without a block: {str(error)[:200]}", file=sys.stderr)
                return train([other for other in rules if other is not rule])
        return linker

    found = train(prefixes).inference.predict(threshold_match_probability=0.5).as_pandas_dataframe()
    swapped = found["source_dataset_l"] != "a"
    i = found["unique_id_l"].where(~swapped, found["unique_id_r"])
    j = found["unique_id_r"].where(~swapped, found["unique_id_l"])
    scored = zip(map(int, i), map(int, j), map(float, found["match_probability"]), strict=True)
    kept = choose_best_first(scored, given.one_to_one)
    return {"pairs": [(i, j) for i, j, _ in kept], "scores": [score for _, _, score in kept]}


def _find_rare_words(a: list[Row], b: list[Row], name: str) -> list[list[list[str]]]:
    """Return the words of each row that at most ``RARE`` rows of both tables have."""
    words = [[sorted(set((row[name] or "").split())) for row in table] for table in (a, b)]
    counts = Counter(word for table in words for row in table for word in row)
    return [[[word for word in row if counts[word] <= RARE] for row in table] for table in words]


if __name__ == "__main__":
    serve(link)
