"""The verdict's error rates: spoilt sources are spoilt, runs are kept, and the table counts."""

from dataclasses import replace

import numpy as np
import pytest

from isthmus.study.records import VERSIONS, Record
from isthmus.study.trial_rows import Trial
from studies.labels.__main__ import main
from studies.labels.error_rates import SECONDS, Draw, power, rates, seconds, study

DIGITS = "digits pixels→shape"


def drawn(variant, seed=100):
    return Draw()(Trial(DIGITS, variant, seed))


def test_only_the_source_is_spoilt():
    true, renamed, noise = (drawn(f"few, {kind}") for kind in ("true", "renamed", "noise"))
    for spoilt in (renamed, noise):
        np.testing.assert_array_equal(spoilt.X_target, true.X_target)
        np.testing.assert_array_equal(spoilt.y_target, true.y_target)
    np.testing.assert_array_equal(renamed.X_source, true.X_source)
    assert not (renamed.y_source == true.y_source).any()
    assert not np.allclose(noise.X_source, true.X_source)
    assert (true.y_target != -1).all()


def test_names_leaves_a_third_of_the_classes_without_a_label():
    rows = drawn("names, true")
    assert len(np.unique(rows.y_target[rows.y_target >= 0])) == 7
    assert len(np.unique(rows.y_source)) == 10


@pytest.mark.slow
def test_a_run_is_kept_and_counted(tmp_path, capsys):
    asked = ["error-rates", "--seeds", "100:101", "--pairs", DIGITS, "--questions", "few", "--sources", "renamed"]
    command = [*asked, "--system", "target 1-NN", "--splits", "3", "--jobs", "1", "--out", str(tmp_path)]
    assert main(command) == 0
    table = capsys.readouterr().out
    assert "| every class labelled, renamed source | 1 | 0 | 1 | 0 | 0.0 |" in table
    kept = (tmp_path / "error_rates.jsonl").read_text()
    assert main(command) == 0
    assert (tmp_path / "error_rates.jsonl").read_text() == kept
    assert capsys.readouterr().out == table


def test_the_table_counts_spoilt_sources_together(tmp_path):
    design = study(pairs=[DIGITS], system="target 1-NN", n_splits=3)
    empty = {variant: design.board([], (100,), variant) for variant in ("few, true", "few, noise")}
    assert [row[1] for row in rates(empty).rows] == ["0", "0", "0"]


def test_true_sources_are_counted_by_their_known_gains():
    plain = Record("error_rates", "p", "few, true", 0, "verdict", "default", {}, 1.0, 9.0, "done", None, VERSIONS)
    answers = {"a": (1.0, 1.0, 0.5), "b": (1.0, 0.0), "c": (0.0,), "d": (0.5,)}
    found = [
        replace(
            plain, group=group, seed=seed, score=score, figures={SECONDS: float(seed), "difference": 0.02 * score}
        )
        for group, scores in answers.items()
        for seed, score in enumerate(scores)
    ]
    found.append(replace(plain, group="a", variant="few, noise", score=0.0))
    table = power(found, {"a": 3.0, "b": 1.2, "c": -2.0})
    assert [row[1:6] for row in table.rows[:4]] == [
        ("1", "3", "2", "0", "1"),
        ("1", "2", "1", "1", "0"),
        ("1", "1", "0", "1", "0"),
        ("1", "1", "0", "0", "1"),
    ]
    assert [row[1:6] for row in table.rows[4:]] == [
        ("0", "0", "0", "0", "0"),
        ("3", "5", "3", "0", "2"),
        ("2", "2", "0", "2", "0"),
    ]
    assert seconds(found).rows == (("every class labelled, true source", "7", "0.0", "2.0"),)


@pytest.mark.parametrize("seeds", ["5", "5:5", "a:b"])
def test_bad_seeds_are_one_sentence(seeds, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["error-rates", "--seeds", seeds])
    assert f"--seeds: expected seeds such as 0:10, got '{seeds}'" in capsys.readouterr().err
