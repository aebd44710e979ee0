"""What the figures say of a matching."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from isthmus.evidence.held_out import PairRecall
from isthmus.tasks.matching.evidence import MatchingEvidence, _shift_log_odds, judge, write_sentence

GOOD = MatchingEvidence(
    rows=100, agreement=0.9, refound=0.8, null_refound=0.2, value=0.8, null_value=0.5, mutual=0.8, null_mutual=0.5,
    known=0, known_near=0, held_out=None, shuffled=None, engine="ridge", schedule="flat",
)  # fmt: skip
FEW_PARTNERS = replace(GOOD, rows=1000, agreement=0.3, mutual=0.4, refound=0.6, null_mutual=0.3)
HELD = replace(GOOD, known=30, known_near=28, held_out=PairRecall(10, 6, 9), shuffled=PairRecall(10, 0, 1))


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (GOOD, True),
        (replace(GOOD, agreement=0.1), False),
        (replace(GOOD, null_refound=0.79), False),
        (replace(GOOD, null_value=0.79), False),
        (replace(GOOD, known=4, known_near=4), True),
        (replace(GOOD, known=4, known_near=1), False),
        (HELD, True),
        (replace(HELD, held_out=PairRecall(10, 3, 4)), False),
        (replace(HELD, shuffled=PairRecall(10, 0, 9)), False),
        (replace(HELD, null_mutual=0.8, null_refound=0.6), None),
        (replace(GOOD, mutual=0.2, null_mutual=0.5), None),
        (replace(HELD, agreement=0.05), None),
        (FEW_PARTNERS, True),
        (replace(FEW_PARTNERS, rows=50), False),
        (replace(FEW_PARTNERS, agreement=0.2), False),
    ],
    ids=["consensus", "runs differ", "no better than the control", "no better scores", "known pairs agree", "known pairs contradict",
         "held-out pairs found", "not found", "found by the control too",
         "no more partners than by chance", "the same without pairs", "found, but no other row", "few partners, beyond chance", "too few rows to tell",
         "few partners, runs differ"],
)  # fmt: skip
def test_success(seen, expected):
    assert judge(seen) is expected


def test_consensus_is_agreement_times_the_gain_over_the_control():
    assert GOOD.consensus == pytest.approx(0.9 * 0.75)
    assert replace(GOOD, refound=0.1).consensus == 0.0
    assert replace(GOOD, null_refound=1.0).consensus == 0.0


@pytest.mark.parametrize("seen", [GOOD, HELD, replace(GOOD, known=4), replace(HELD, agreement=0.0)])
def test_the_verdict_is_one_sentence(seen):
    text = write_sentence(seen, judge(seen), 12, (20, 30))
    assert text.endswith(".")
    assert "\n" not in text
    assert text.split(":")[0] in {"matched", "failed", "doubtful"}


def test_the_precision_is_what_wrong_pairs_would_not_have_done():
    """Half of the rows have a partner and find it; the others do as the control run does."""
    wrong = 0.4 * 0.5
    seen = replace(GOOD, mutual=1.0, refound=0.5 + 0.5 * wrong, null_mutual=0.4, null_refound=0.5)
    assert seen.precision == pytest.approx(0.5 / (0.5 + 0.5 * wrong))
    assert replace(GOOD, null_mutual=0.8, null_refound=0.8).precision == 0.0
    assert replace(GOOD, null_mutual=0.0).precision == 1.0


def test_the_excess_grows_with_the_root_of_the_number_of_rows():
    assert replace(GOOD, rows=400).excess == pytest.approx(2.0 * GOOD.excess)
    assert replace(GOOD, mutual=0.0, null_mutual=0.0).excess == 0.0


@pytest.mark.parametrize("precision", [0.0, 0.4, 0.9, 1.0])
def test_confidences_are_lowered_to_the_precision_and_never_raised(precision):
    odds = np.linspace(-1.0, 4.0, 30)
    lowered = expit(odds + _shift_log_odds(odds, precision))
    assert lowered.mean() == pytest.approx(min(precision, expit(odds).mean()), abs=1e-6)
    assert (lowered <= expit(odds)).all()
