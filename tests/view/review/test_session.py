"""The state of a review: what is asked, what is learned from, what the random sample says."""

from dataclasses import replace

import numpy as np
import pytest

from isthmus.evidence.held_out import Proportion
from isthmus.exceptions import InputError
from isthmus.tasks.questions import Proposal, measure_sample, reserve_rows
from isthmus.view.review.decisions import DecisionLog
from isthmus.view.review.session import Review
from reviews import N, make_review, make_task, true_verdict


@pytest.fixture
def path(tmp_path):
    return tmp_path / "decisions.csv"


def answer_all(review, most=500):
    asked = []
    while (question := review.state()["question"]) is not None and len(asked) < most:
        asked.append((question["source"], question["target"]))
        review.answer(*asked[-1], true_verdict(question))
    return asked


def test_every_third_question_is_of_the_sample_and_none_is_asked_twice(path):
    review = make_review(path)
    asked = answer_all(review)
    assert len(set(asked)) == len(asked)
    reserved = [bool(review.reserved[int(source[1:])]) for source, _ in asked]
    assert reserved[:7] == [True, False, False, True, False, False, True]
    assert {int(source[1:]) for source, _ in asked} >= {*range(N)} - {0, 1, 2, 3, 4}
    review.log.close()


def test_confirmations_that_contradict_answers_or_known_pairs_are_refused(path):
    review = Review(replace(make_task(), known={(0, 0)}), DecisionLog(path))
    review.answer("a1", "b1", "y")
    for pair, earlier in ((("a0", "b2"), "a0 and b0"), (("a3", "b0"), "a0 and b0"), (("a1", "b2"), "a1 and b1")):
        with pytest.raises(InputError, match=f"one partner of each row, got {' and '.join(pair)} after {earlier}"):
            review.answer(*pair, "y")
    review.undo()
    review.answer("a1", "b2", "y")
    review.log.close()
    assert [line.split(",")[:3] for line in path.read_text().splitlines()][-1] == ["a1", "b2", "y"]


def test_the_sample_counts_exactly_and_is_never_learned_from(path):
    seen = []
    review = make_review(path, seen)
    answer_all(review)
    review._work()
    confirmed, rejected = seen[-1]
    assert confirmed
    assert not {row for row, _ in confirmed + rejected} & set(np.flatnonzero(review.reserved).tolist())
    whole = review.state()["quality"][0]
    rows = review.sample
    wrong = int((rows >= N - 5).sum())
    assert (whole["right"], whole["wrong"]) == (len(rows) - wrong, wrong)
    assert whole["missed"] == wrong, "each has its partner as its second option"
    assert whole["precision"]["low"] <= whole["precision"]["value"] <= whole["precision"]["high"]
    assert [row["claims"] for row in review.state()["quality"]] == sorted(
        (row["claims"] for row in review.state()["quality"]), reverse=True
    )
    review.log.close()


def test_matching_again_says_what_changed_and_keeps_the_sample(path):
    review = make_review(path)
    answer_all(review)
    before = review.state()["quality"][0]["right"]
    review._work()
    changes = review.state()["changes"]
    free = [row for row in range(N - 5, N) if not review.reserved[row]]
    assert (changes["added"], changes["removed"]) == (len(free), len(free))
    assert changes["answers"] == len(review._list_taught("y")) + len(review._list_taught("n"))
    assert review.state()["quality"][0]["right"] == before
    review.log.close()


def test_a_review_goes_on_where_it_was(path):
    review = make_review(path)
    for _ in range(9):
        question = review.state()["question"]
        review.answer(question["source"], question["target"], true_verdict(question))
    expected = review.state()
    review.log.close()
    again = make_review(path)
    assert again.state()["question"] == expected["question"]
    assert again.state()["answered"] == 9
    assert again.state()["quality"][0]["right"] == expected["quality"][0]["right"]
    again.undo()
    assert again.state()["answered"] == 8
    again.log.close()


def test_nothing_about_scores_is_told_before_the_answer(path):
    review = make_review(path)
    state = review.state()
    assert not {"probability", "parts", "confidence"} & {*state["question"]}
    assert state["last"] is None
    review.answer(state["question"]["source"], state["question"]["target"], "?")
    assert review.state()["last"]["probability"] == 0.5
    review.undo()
    assert review.state()["last"] is None
    review.log.close()


def test_wrong_answers_are_refused_and_not_written(path):
    review = make_review(path)
    for words in (("a0", "nobody", "y"), ("a0", "b0", "maybe")):
        with pytest.raises(InputError):
            review.answer(*words)
    assert path.read_text(encoding="utf-8").count("\n") == 1
    review.log.close()
    path.write_text("source,target,verdict,time\nx,b0,y,2026\n", encoding="utf-8")
    with pytest.raises(InputError, match="expected decisions about rows of both files, got 'x'"):
        make_review(path)


def test_an_error_of_a_matching_is_told_and_the_review_goes_on(path):
    review = make_review(path)
    good = review.task.propose

    def fail(*_):
        raise InputError("pairs: expected others.")

    object.__setattr__(review.task, "propose", fail)
    review._work()
    state = review.state()
    assert (state["error"], state["working"], state["ready"]) == ("pairs: expected others.", None, True)
    object.__setattr__(review.task, "propose", good)
    review.log.close()


def test_the_interval_of_a_sample_has_the_truth_in_it(path):
    """Of 400 tables whose matches are right by chance 0.8, at least nine in ten have an interval with their share."""
    n, held = 400, 0
    for seed in range(400):
        rng = np.random.default_rng(seed + 1000)
        right = rng.random(n) < 0.8
        _, order = reserve_rows([f"{seed} {k}" for k in range(n)])
        proposal = Proposal(np.arange(n), np.ones(n), lambda row: [row], [], 0.0, "")
        sample = order[:30].tolist()
        found = measure_sample(proposal, sample, lambda row, right=right: {row: "y" if right[row] else "n"})
        assert found.right + found.wrong == 30
        held += found.precision.low <= right.mean() <= found.precision.high
    assert held >= 360


def test_the_interval_of_recall_has_the_truth_in_it_where_partners_are_beyond_the_candidates():
    """Three rows in ten are matched rightly, two have their partner as a candidate, the others further back."""
    n, held, naive = 400, 0, 0
    for seed in range(400):
        rng = np.random.default_rng(seed + 1000)
        kind = rng.choice(3, size=n, p=[0.3, 0.2, 0.5])
        _, order = reserve_rows([f"{seed} {k}" for k in range(n)])
        claim = np.where(kind == 0, np.arange(n), -1)
        proposal = Proposal(claim, np.ones(n), lambda row: [row, row + n], [], 0.0, "")
        verdicts = [{0: {k: "y"}, 1: {k: "n", k + n: "y"}, 2: {k: "n", k + n: "n"}}[kind[k]] for k in range(n)]
        found = measure_sample(proposal, order[:30].tolist(), verdicts.__getitem__)
        assert found.right + found.missed + found.unseen == 30
        true = (kind == 0).mean()
        held += found.recall.low <= true <= found.recall.high
        share = Proportion.of(found.right, found.right + found.missed)
        naive += share.low <= true <= share.high
    assert held >= 380 > 200 > naive


def test_a_row_that_is_not_resolved_ends_the_sample(path):
    proposal = Proposal(np.arange(4), np.ones(4), lambda row: [row], [], 0.0, "")
    told = {0: {0: "y"}, 1: {1: "?"}, 3: {3: "y"}}
    found = measure_sample(proposal, [0, 1, 2, 3], lambda row: told.get(row, {}))
    assert (found.right, found.wrong, found.missed) == (1, 0, 0)
