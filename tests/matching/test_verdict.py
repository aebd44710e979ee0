"""What the figures say of a matching."""

from dataclasses import replace

import pytest

from isthmus.matching.verdict import Evidence, sentence, success

GOOD = Evidence(
    agreement=0.9, confirmed=0.8, null_confirmed=0.2, value=0.8, null_value=0.5, known=0, known_near=0, held_back=0,
    held_back_first=0, held_back_near=0, shuffled_first=0, shuffled_near=0, engine="ridge", schedule="flat",
)  # fmt: skip
HELD = replace(GOOD, known=30, known_near=28, held_back=10, held_back_first=6, held_back_near=9, shuffled_near=1)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (GOOD, True),
        (replace(GOOD, agreement=0.2), False),
        (replace(GOOD, null_confirmed=0.79), False),
        (replace(GOOD, null_value=0.79), False),
        (replace(GOOD, known=4, known_near=4), True),
        (replace(GOOD, known=4, known_near=1), False),
        (HELD, True),
        (replace(HELD, held_back_near=4), False),
        (replace(HELD, held_back_near=9, shuffled_near=9), False),
        (replace(HELD, held_back_first=3), False),
        (replace(HELD, agreement=0.05), None),
    ],
    ids=["consensus", "runs differ", "no better than nothing", "no better scores", "known pairs agree", "known pairs contradict",
         "held-back pairs found", "not found", "found from nothing too",
         "near, not first", "found, but no other row"],
)  # fmt: skip
def test_success(seen, expected):
    assert success(seen) is expected


def test_consensus_is_agreement_times_the_gain_over_nothing():
    assert GOOD.consensus == pytest.approx(0.9 * 0.75)
    assert replace(GOOD, confirmed=0.1).consensus == 0.0
    assert replace(GOOD, null_confirmed=1.0).consensus == 0.0


def test_the_recall_of_held_back_pairs_has_an_interval():
    low, high = HELD.held_back_interval
    assert low < HELD.held_back_recall == 0.6 < high
    assert HELD.shuffled_recall == 0.0
    assert GOOD.held_back_recall is GOOD.held_back_interval is GOOD.shuffled_recall is None


@pytest.mark.parametrize("seen", [GOOD, HELD, replace(GOOD, known=4), replace(HELD, agreement=0.0)])
def test_the_verdict_is_one_sentence(seen):
    text = sentence(seen, success(seen), 12, (20, 30))
    assert text.endswith(".")
    assert "\n" not in text
    assert text.split(":")[0] in {"matched", "failed", "doubtful"}
