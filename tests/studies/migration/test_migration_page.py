"""The page of the study is what its records say."""

import numpy as np

from studies.migration.__main__ import PAGE, RECORDS, read_records
from studies.migration.page import loss, write_page
from studies.migration.texts import Collection
from studies.migration.trials import draw, found_at_ten


def test_the_committed_page_is_made_from_the_committed_records():
    assert PAGE.read_text(encoding="utf-8") == write_page(read_records(RECORDS))


def test_queries_that_decide_are_no_queries_that_measure():
    rng = np.random.default_rng(0)
    found = Collection(("",) * 400, ("",) * 500, rng.integers(0, 400, 500), {}, {})
    asked, others, rows = draw(found, 120, 3)
    assert len(asked) == 60
    assert len(rows) == len(set(rows.tolist())) == 120
    assert set(found.answers[asked]) <= set(rows.tolist())
    assert not set(found.answers[others]) & set(found.answers[asked])


def test_ranks_and_losses():
    S = np.array([[0.9, 0.5, 0.1], [0.2, 0.9, 0.3]])
    assert found_at_ten(S, np.array([0, 0]), 1) == 0.5
    assert found_at_ten(S, np.array([0, 0]), 3) == 1.0
    assert loss({"true": {"keep": 0.75, "re-embed": 1.0}}, "keep") == 0.25
