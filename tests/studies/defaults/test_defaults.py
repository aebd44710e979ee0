"""Rules for the bounds are what their names say, and the tables what the fits say."""

from itertools import combinations

import numpy as np
import pytest

from conftest import make_domains
from isthmus import MLHD
from isthmus.data.domains import TwoDomains
from isthmus.geometry.kernels import Linear
from isthmus.geometry.spaces import JointSpace
from isthmus.study.records import Record
from studies.defaults import TABLES, Rule, RuledMLHD, specification, study
from studies.defaults.__main__ import main
from studies.defaults.rules import BEFORE, RULES, SCALES, SHORT_LIST
from studies.defaults.specification import load_digit_views

DIGITS = "digits pixels→shape"


@pytest.fixture
def joint(domains):
    return JointSpace.of(TwoDomains.of(*domains.args), (Linear(), Linear()))


def across(domains, M):
    """Squared distances of the labelled pairs under a matrix of both domains' features."""
    X, Y = domains.X_source, domains.X_target[domains.y_target != -1]
    Z = [np.concatenate([x, -y]) for x in X for y in Y]
    return [z @ M @ z for z in Z]


def test_median_at_identity(domains, joint):
    assert SCALES["median at I"](joint, 1.0) == pytest.approx([np.median(across(domains, np.eye(12)))] * 2)


@pytest.mark.parametrize("weight", [0.1, 10.0])
def test_median_at_prior(domains, joint, weight):
    z = np.concatenate([domains.X_source.mean(axis=0), -domains.X_target.mean(axis=0)])
    M = np.linalg.inv(np.eye(12) + weight * np.outer(z, z))
    assert SCALES["median at prior"](joint, weight) == pytest.approx([np.median(across(domains, M))] * 2)


def test_source_classes(domains, joint):
    X, y = domains.X_source, domains.y_source
    pairs = [(((X[i] - X[j]) ** 2).sum(), y[i] == y[j]) for i, j in combinations(range(len(y)), 2)]
    ratio = joint.spread / (2 * X.var(axis=0).sum())
    medians = [ratio * np.median([d for d, same in pairs if same == which]) for which in (True, False)]
    assert SCALES["source classes"](joint, 1.0) == pytest.approx(medians)


def test_bounds_are_in_order_where_the_classes_of_the_source_are_not():
    d = make_domains(shift=0.0)
    joint = JointSpace.of(TwoDomains.of(*d.args), (Linear(), Linear()))
    upper, lower = Rule("source classes", 1.5, 1.0).bounds(joint, 1.0)
    assert upper == pytest.approx(0.99 * lower)


@pytest.mark.parametrize("kernel", specification.KERNELS)
def test_the_rule_before_the_study_is_the_library_s_own(domains, kernel):
    ruled, own = (
        m.fit(*domains.args)
        for m in (RuledMLHD(BEFORE, kernel), MLHD(kernel, kernel, alignment_weight=1.0, pair_weight=1.0))
    )
    assert ruled.bounds_ == pytest.approx(own.bounds_)
    assert ruled.bounds == "auto"
    np.testing.assert_allclose(
        *(model.pairwise_distances(domains.X_source, domains.X_target) for model in (ruled, own))
    )


def test_the_studies_are_as_large_as_the_page_says():
    assert len(RULES) == 19
    assert BEFORE in RULES
    assert set(SHORT_LIST) <= set(RULES)
    sizes = {name: len(study(name).columns) for name in TABLES}
    assert sizes == {"rules": 19 * 2, "weights": 5 * 2 * 4, "convergence": 2 * 12}


def test_both_views_of_a_digit_are_of_the_same_image():
    digits = load_digit_views()
    assert digits["shape"].X.shape == (1797, 22)
    np.testing.assert_allclose(digits["shape"].X[:, :8].sum(axis=1), digits["pixels"].X.sum(axis=1))
    np.testing.assert_allclose(digits["shape"].X[:, 16], digits["pixels"].X.sum(axis=1))


# --- tables -----------------------------------------------------------------------------------------------------------


def boards(name, score, pairs=("mfeat fou76→kar64", DIGITS)):
    """A study whose scores and mAP are functions of the column and the pair; two splits with the same."""
    design = study(name, pairs=pairs)
    records = [
        Record(name, pair, "1", seed, each, "default", {}, score(each, pair), 0.1, "optimal", 1e-7, "v",
               figures={"map": score(each, pair) / 2, "iterations": 10.0 + seed})
        for pair in pairs for each in design.columns for seed in (0, 1)
    ]  # fmt: skip
    return [design.board(records, (0, 1), "1")]


def test_rules_are_ordered_by_regret():
    best = RULES[7]

    def score(name, pair):
        return 0.5 + 0.1 * name.startswith(str(best)) + 0.2 * (pair == DIGITS and name.startswith(str(BEFORE)))

    all_rules, by_part = TABLES["rules"](boards("rules", score))
    cells = {row[0]: row[1:] for row in all_rules.rows}
    # Of the rule before: 10 points of accuracy and 5 of mAP below on one pair, 20 and 10 above all others on digits.
    assert cells[str(BEFORE)][:4] == ("60.0", "30.0", "3.75", "7.5")
    assert cells[str(best)][:4] == ("60.0", "30.0", "3.75", "7.5")
    assert cells[str(best)][5:] == ("10 (11)", "+0.00 ± 10.00", "+0.00 ± 5.00")
    assert cells[str(RULES[0])][2:4] == ("11.25", "15.0")
    assert {row[0] for row in all_rules.rows[:2]} == {str(best), str(BEFORE)}
    assert by_part.head == ("rule", "mfeat", "digits", "linear", "rbf")
    assert dict((row[0], row[1:]) for row in by_part.rows)[str(BEFORE)] == ("7.50", "0.00", "3.75", "3.75")


def test_other_weights_are_compared_with_the_rule_before_at_the_same_weights():
    (table,) = TABLES["weights"](
        boards("weights", lambda name, pair: 0.6 if name.endswith("λ2 = 0.1") and str(BEFORE) in name else 0.5)
    )
    assert [row[0] for row in table.rows] == [str(rule) for rule in SHORT_LIST[1:]]
    assert table.rows[0][1:] == ("+0.00 ± 0.00", "+0.00 ± 0.00", "-7.50 ± 0.00", "+0.00 ± 0.00")


def test_a_study_runs_resumes_and_prints_its_table(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(specification.WEIGHTS, "convergence", ((1.0, 0.01), (1.0, 0.1)))
    command = ["convergence", "--pairs", DIGITS, "--jobs", "1", "--out", str(tmp_path)]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "| λ1 | λ2 = 0.01 | λ2 = 0.1 |" in printed
    assert "missed |" not in printed
    before = (tmp_path / "convergence.jsonl").read_bytes()
    assert before.count(b"\n") == 4
    assert main(command) == 0
    again = capsys.readouterr()
    assert again.out == printed
    assert "nothing to run: all records are there" in again.err
    assert (tmp_path / "convergence.jsonl").read_bytes() == before


def test_an_unknown_pair_is_refused(capsys):
    assert main(["rules", "--pairs", "office a→b"]) == 2
    assert "--pairs: expected one of" in capsys.readouterr().err
