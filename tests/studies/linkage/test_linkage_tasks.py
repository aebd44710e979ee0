"""The tasks of the linkage study: what is spoilt is spoilt, and the truth stays true."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

from studies.linkage.methods import Answer, write_task
from studies.linkage.runners import tfidf
from studies.linkage.runners.exchange import Given, choose_best_first, serve
from studies.linkage.scoring import choose_threshold, find_ece, measure_calibration, measure_pairs, score_answer
from studies.linkage.tasks import CHANGES, OVERLAPS, TableSource, Task, add_typo, spoil_tables

N = 60
SOURCE = TableSource("made", "colour", "name", ("price",))


def made_task(n=N):
    """Two tables whose partners have the same key of three characters, which no change touches."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefghijklm"), 9)) for _ in range(n)]
    A = pd.DataFrame(
        {"key": [f"{k:03}" for k in range(n)], "name": words, "colour": ["red", "blue"] * (n // 2), "price": "9.5"}
    )
    order = rng.permutation(n)
    B = A.iloc[order].reset_index(drop=True)
    truth = np.stack([order, np.arange(n)], axis=1)
    return Task(A, B, truth, tuple((name, name) for name in A.columns))


def keys_of(task):
    column_a, column_b = next(pair for pair in task.columns if pair[0] == "key")
    return task.A[column_a].to_numpy(), task.B[column_b].to_numpy()


@pytest.mark.parametrize("variant", [*OVERLAPS, *CHANGES])
def test_the_truth_is_every_pair_of_partners_and_no_other(variant):
    task = spoil_tables(made_task(), SOURCE, variant, seed=3)
    a, b = keys_of(task)
    expected = {(i, j) for i in range(len(a)) for j in range(len(b)) if a[i] == b[j]}
    assert set(map(tuple, task.truth.tolist())) == expected
    assert len(task.truth) == len(expected)


@pytest.mark.parametrize(("variant", "share"), OVERLAPS.items())
def test_the_share_of_pairs_is_kept_and_the_others_lose_one_row(variant, share):
    task = spoil_tables(made_task(), SOURCE, variant, seed=1)
    kept = int(share * N)
    assert len(task.truth) == kept
    assert len(task.A) + len(task.B) == 2 * N - (N - kept)
    assert abs(len(task.A) - len(task.B)) <= 1


def test_each_change_does_what_it_says():
    tasks = {name: spoil_tables(made_task(), SOURCE, name, seed=2) for name in CHANGES}
    assert not set(tasks["renamed"].B.columns) & set(tasks["renamed"].A.columns)
    assert "colour" not in tasks["dropped"].B
    assert len(tasks["dropped"].columns) == 3
    i, j = tasks["shuffled"].truth.T
    agree = tasks["shuffled"].A["name"].to_numpy()[i] == tasks["shuffled"].B["name"].to_numpy()[j]
    assert agree.mean() < 0.2
    assert not set(tasks["enciphered"].A["name"]) & set(tasks["enciphered"].B["name"])
    assert set(tasks["dirty"].B[" PRICE "]) > {"$9.5"}
    assert not tasks["many-to-one"].one_to_one
    assert len(tasks["many-to-one"].truth) == N + N // 5


def test_a_seed_gives_the_same_task_and_another_seed_another():
    first, again, other = (spoil_tables(made_task(), SOURCE, "dirty", seed) for seed in (5, 5, 6))
    pd.testing.assert_frame_equal(first.A, again.A)
    assert first.truth.tolist() == again.truth.tolist() != other.truth.tolist()


def test_fewer_known_pairs_are_among_more_and_half_of_the_truth_stays_unknown():
    task = made_task()
    ten, thirty = task.known_pairs(10).tolist(), task.known_pairs(30).tolist()
    assert thirty[:10] == ten
    assert all(pair in task.truth.tolist() for pair in thirty)
    assert [task.allows(n) for n in (0, 10, 30, 31)] == [True, True, True, False]
    assert not spoil_tables(task, SOURCE, "no common row", 0).allows(10)


def test_a_typo_changes_a_text_by_one_edit():
    rng = np.random.default_rng(0)
    assert {len(add_typo("abcdef", rng)) for _ in range(50)} == {5, 6, 7}
    assert add_typo("abc", rng) == "abc"


def test_the_threshold_is_the_best_of_all():
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 15, 80) / 10.0
    right = rng.random(80) < scores / 1.5
    every = [measure_pairs(right[scores >= t], 60)["f1"] for t in np.unique(scores)]
    assert measure_pairs(right[choose_threshold(scores, right, 60)], 60)["f1"] == max(every)


def test_known_pairs_count_neither_as_found_nor_as_missed():
    task = made_task()
    known = task.known_pairs(10)
    new = task.truth[[pair not in known.tolist() for pair in task.truth.tolist()]]
    wrong = np.array([[task.truth[0, 0], task.truth[1, 1]]])
    found = np.concatenate([known, new[:40], wrong])
    figures = score_answer(task, 10, Answer(found, np.full(len(found), 0.9), 1.0, 1.0), oracle=False)
    assert figures["recall"] == 40 / 50
    assert figures["precision"] == 40 / 41
    assert figures["claimed"] == pytest.approx(0.9)


def test_the_calibration_error_is_zero_where_the_probability_is_the_precision():
    right = np.arange(100) % 4 > 0
    assert measure_calibration(np.full(100, 0.75), right)["ece"] == pytest.approx(0.0)
    sure = measure_calibration(np.ones(100), right)
    assert sure["ece"] == pytest.approx(0.25)
    assert find_ece([sure, measure_calibration(np.full(100, 0.75), right)]) == pytest.approx(0.125)
    assert measure_calibration(np.zeros(0), np.zeros(0, dtype=bool)) == {}


def test_the_best_pairs_come_first_and_rows_are_taken_once():
    scored = [(0, 0, 0.5), (0, 1, 0.9), (1, 1, 0.8), (2, 1, 0.7)]
    assert choose_best_first(scored, one_to_one=True) == [(0, 1, 0.9)]
    assert choose_best_first(scored, one_to_one=False) == [(0, 1, 0.9), (1, 1, 0.8), (2, 1, 0.7)]


@pytest.mark.parametrize("variant", ["renamed", "many-to-one"])
def test_a_runner_reads_a_task_and_answers_for_each_number_of_known_pairs(tmp_path, monkeypatch, variant):
    task = spoil_tables(made_task(), SOURCE, variant, seed=0)
    write_task(task, (0, 10), tmp_path)
    monkeypatch.setattr(sys, "argv", ["runner", str(tmp_path), "chars"])
    serve(tfidf.link)
    answers = json.loads((tmp_path / "answers.json").read_text())["answers"]
    known = task.known_pairs(10).tolist()
    assert len(answers) == 2
    assert not [pair for pair in answers[1]["pairs"] if pair in known]
    for n, found in zip((0, 10), answers, strict=True):
        answer = Answer(np.array(found["pairs"]), np.array(found["scores"]), 0.0, 0.0)
        assert score_answer(task, n, answer, oracle=True)["f1"] > 0.9


def test_other_linkers_get_the_columns_that_mean_the_same_under_one_name(tmp_path):
    task = spoil_tables(made_task(), SOURCE, "renamed", seed=0)
    write_task(task, (0,), tmp_path)
    a, b = Given(tmp_path, list(task.columns), True, 0, []).read_rows()
    i, j = task.truth[0]
    assert a[i] == b[j]
