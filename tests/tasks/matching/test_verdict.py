"""What the figures say of a matching."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from isthmus.evidence.held_out import PairRecall
from isthmus.tasks.matching.evidence import (
    MOSTLY_RIGHT,
    MatchingEvidence,
    _shift_log_odds,
    add_null_runs,
    judge,
    write_sentence,
)

GOOD = MatchingEvidence(
    rows=100, agreement=0.9, refound=0.8, null_refound=0.2, value=0.8, null_value=0.5, mutual=0.8, null_mutual=0.5,
    known=0, known_near=0, held_out=None, shuffled=None, schedule="flat",
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


def test_without_held_out_pairs_an_excess_that_may_be_chance_is_doubtful():
    few = replace(GOOD, rows=20)
    assert few.excess < 3.0
    assert judge(few) is None
    assert judge(replace(few, held_out=HELD.held_out, shuffled=HELD.shuffled)) is True


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
def test_confidences_are_shifted_to_the_precision(precision):
    odds = np.linspace(-1.0, 4.0, 30)
    shifted = expit(odds + _shift_log_odds(odds, precision))
    # At best, half a pair is wrong.
    assert shifted.mean() == pytest.approx(min(precision, 1.0 - 0.5 / 30), abs=1e-6)
    assert (np.diff(shifted) >= 0.0).all()
    assert _shift_log_odds(odds[:0], precision) == 0.0


UNCLEAR = replace(GOOD, null_mutual=0.4, null_refound=0.5)


def run_nulls(seen, *shares):
    """Return the evidence with further controls, and how many of them were run."""
    done = []
    return add_null_runs(seen, [lambda share=share: done.append(share) or share for share in shares]), len(done)


def test_a_further_control_that_does_as_well_decides_and_is_the_last():
    assert judge(UNCLEAR) is True
    seen, n = run_nulls(UNCLEAR, 0.1, 0.6, 0.1, 0.1)
    assert n == 2
    assert seen.nulls == (0.1, 0.6)
    assert judge(seen) is None


def test_further_controls_that_do_worse_leave_the_verdict():
    seen, n = run_nulls(UNCLEAR, 0.1, 0.0, 0.2)
    assert n == 3
    assert judge(seen) is True
    assert seen.precision == UNCLEAR.precision
    assert seen.excess == UNCLEAR.excess


@pytest.mark.parametrize(
    "seen", [replace(UNCLEAR, rows=100_000), replace(UNCLEAR, agreement=0.0), replace(GOOD, mutual=0.2)],
    ids=["clear", "failed", "doubtful"],
)  # fmt: skip
def test_there_are_no_further_controls_where_the_case_is_clear(seen):
    assert run_nulls(seen, 0.9) == (seen, 0)


@given(st.lists(st.floats(0.0, 1.0), max_size=5), st.floats(0.0, 1.0))
def test_the_precision_falls_with_every_further_control(shares, another):
    seen = replace(UNCLEAR, nulls=tuple(shares))
    assert 0.0 <= replace(seen, nulls=(*shares, another)).precision <= seen.precision <= UNCLEAR.precision


@given(st.sampled_from([UNCLEAR, FEW_PARTNERS]), st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5))
def test_further_controls_cast_doubt_and_are_no_proof_of_failure(seen, shares):
    after = replace(seen, nulls=tuple(shares))
    assert judge(after) is (True if after.precision >= MOSTLY_RIGHT else None)


def test_the_sentence_tells_known_pairs_from_new_ones():
    assert "12 pairs of 20 and 30 rows, 5 of them known;" in write_sentence(
        replace(GOOD, known=5), True, 12, (20, 30)
    )
    assert "of the new pairs should be right" in write_sentence(GOOD, True, 12, (20, 30))
    assert "too few new pairs are sure enough" in write_sentence(GOOD, None, 0, (20, 30))
