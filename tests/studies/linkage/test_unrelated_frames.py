"""The frames of the study of false claims: same columns, and partners where there are said to be some."""

import numpy as np
import pytest

from isthmus import match
from studies.linkage import unrelated
from studies.linkage.unrelated_frames import MADE, PARTNERED_FRAMES, UNRELATED_FRAMES


@pytest.mark.parametrize("name", MADE)
def test_both_frames_have_the_same_columns_and_no_row_twice_by_chance(name):
    tables = UNRELATED_FRAMES[f"same columns: {name}, 25 rows"](np.random.default_rng(0), None)
    assert list(tables.A.columns) == list(tables.B.columns)
    assert len(tables.A) == len(tables.B) == 25
    again = UNRELATED_FRAMES[f"same columns: {name}, 25 rows"](np.random.default_rng(0), None)
    assert tables.A.equals(again.A)


def test_copies_have_their_partner_and_are_matched():
    tables = PARTNERED_FRAMES["copies of products, 25 rows, 100%"](np.random.default_rng(0), None)
    models = [frame["name"].str.split().str[0] for frame in (tables.A, tables.B)]
    assert (models[0].to_numpy() == models[1].to_numpy()[tables.partner]).mean() > 0.7
    found = match(tables.A, tables.B)
    assert found.ok is True
    assert (tables.partner[found.pairs[:, 0]] == found.pairs[:, 1]).mean() > 0.95


def test_a_case_of_frames_is_recorded(tmp_path):
    path = tmp_path / "unrelated.jsonl"
    unrelated.run_missing(path, ["copies of products, 25 rows, 100%"], [3], None)
    (case,) = unrelated.read_records(path)
    assert case.ok is True
    assert case.right > 0.9
    assert case.n == 25
