"""The verdict is right where the answer is known, the same twice, and modest where nothing can be tested."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from conftest import make_domains, one_sentence
from isthmus import InputError, does_source_help
from isthmus.data.shared_columns import find_common_columns
from isthmus.estimators.controls import (
    SHARED,
    SharedColumnsOnly,
    TargetOnly,
    make_noise_source,
    permute_source,
    relabel_source,
)

COLUMNS = np.stack([np.arange(8), np.arange(8)], axis=1)
SPOILERS = {"noise": make_noise_source, "permuted": permute_source, "renamed": relabel_source}


def same_features(seed=0, n_classes=5, per_class=24, shift=0.8):
    """Two samples of the same classes by the same features, and a system that uses it: a source that must help."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, 8)) * shift
    y = np.repeat(np.arange(n_classes), per_class)
    X, Z = (centres[y] + rng.normal(size=(len(y), 8)) for _ in range(2))
    return X, y, Z, y.copy()


@pytest.fixture(scope="module")
def true_verdict():
    return does_source_help(*same_features(), system=SharedColumnsOnly(COLUMNS), n_splits=4)


def test_a_source_that_helps(true_verdict):
    v = true_verdict
    assert v.helps is True
    assert v.interval[0] > 0.0
    assert v.interval[0] < v.difference < v.interval[1]
    assert str(v).startswith("The source is worth +")
    assert "without it, target-only" in v.sentence
    assert 3 <= v.n_splits <= 4
    assert v.n_tested == 120


def test_the_curve_and_the_table_are_the_same_figures(true_verdict):
    v = true_verdict
    assert [point.labels for point in v.curve] == [1, 3, 10]
    first = v.curve[0]
    assert first.difference == v.difference == pytest.approx(first.with_source - first.without)
    judged = [row for row in v.rows if row.group == "1"]
    best = next(row for row in judged if row.against == "best target-only rule")
    assert (best.low, best.high) == v.interval
    assert any(row.against == "mean of the corrupted sources" and row.low > 0.0 for row in judged)
    assert all(row.low > 0.0 for row in judged if row.low is not None)
    text = str(v.table)
    assert all(row.against in text for row in v.rows)
    assert text.startswith(v.sentence)


def test_all_of_it_is_json(true_verdict):
    plain = true_verdict.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["helps"] is True
    assert plain["verdict"] == "helps"
    assert len(plain["curve"]) == 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", SPOILERS)
def test_a_corrupted_source_does_not_help(kind):
    X, y, Z, y_target = same_features(n_classes=4, per_class=16)
    X, y = SPOILERS[kind](X, y, np.random.default_rng(5))
    v = does_source_help(X, y.astype(int), Z, y_target, system=SharedColumnsOnly(COLUMNS), n_splits=3)
    assert v.helps is False
    assert "worth +" not in v.sentence


def test_a_system_that_ignores_the_source_is_seen_through():
    """Better than a weak target-only rule by itself or not: what corrupted sources do as well is not the source's."""
    given = same_features(n_classes=3, per_class=12)
    v = does_source_help(*given, system="target 1-NN", n_splits=3)
    assert v.helps is not True
    corrupted = [row for row in v.rows if row.against == "mean of the corrupted sources"]
    assert {row.difference for row in corrupted} == {0.0}


def test_names_of_classes_that_nobody_labelled():
    X, y, Z, y_target = same_features(n_classes=8, per_class=8, shift=2.0)
    y_target[y_target > 5] = -1
    v = does_source_help(X, y, Z, y_target, system=SharedColumnsOnly(COLUMNS), n_splits=3)
    assert v.helps is True
    assert v.sentence.startswith("The source names 2 classes without labels: ")
    assert v.names.right > 0.7 > 0.5 > v.names.corrupted
    assert v.names.classes == 3


@pytest.mark.slow
def test_one_label_per_class_is_no_proof():
    d = make_domains(n_classes=4, n_source=16, n_target=16, n_labelled=4)
    v = does_source_help(*d.args, n_splits=3)
    assert v.system == "LabelTransfer"
    assert v.helps is None
    assert v.difference is None
    assert v.interval is None
    assert v.n_tested == 4, "each class was hidden and its row tested"
    assert v.sentence.startswith("Can't tell: 0 labelled rows are left for testing")
    assert v.sentence.endswith("an indication, not a test.")
    assert v.to_dict()["interval"] is None


def test_two_classes_with_one_label_each_leave_nothing_to_run():
    d = make_domains(n_classes=2, n_target=20, n_labelled=2)
    v = does_source_help(*d.args, system="arc")
    assert (v.helps, v.rows, v.curve, v.n_splits) == (None, (), (), 0)
    assert v.names is None


@pytest.mark.slow
def test_the_verdict_is_the_same_twice_and_on_two_cores():
    given = same_features(n_classes=3, per_class=10)
    one, two = (does_source_help(*given, system=SharedColumnsOnly(COLUMNS), n_splits=3, n_jobs=n) for n in (1, 2))
    assert one == two


@pytest.mark.slow
def test_other_splits_by_another_random_state():
    given = same_features(n_classes=3, per_class=10)
    one, other = (does_source_help(*given, system="target 1-NN", n_splits=3, random_state=r) for r in (0, 1))
    assert one.rows != other.rows


def test_labels_may_be_words_and_rows_sparse_and_nothing_is_changed():
    X, y, Z, y_target = same_features(n_classes=3)
    words = np.array(["a", "b", "c"], dtype=object)
    labels = words[y_target]
    labels[:40:2] = None
    given = sp.csr_array(X), words[y], sp.csr_array(Z), labels
    kept = given[0].copy(), given[1].copy(), given[2].copy(), labels.copy()
    v = does_source_help(*given, system=SharedColumnsOnly(COLUMNS), n_splits=3)
    assert v.n_tested == 52
    for now, before in zip(given, kept, strict=True):
        same = (now != before).nnz == 0 if sp.issparse(now) else (now == before).all()
        assert same


def test_shared_columns_are_found_by_name():
    X, y, Z, y_target = same_features(n_classes=3, per_class=12)
    names = [f"c{k}" for k in range(8)]
    frames = pd.DataFrame(X, columns=names), y, pd.DataFrame(Z[:, ::-1], columns=names[::-1]), y_target
    turned = np.stack([np.arange(8), np.arange(8)[::-1]], axis=1)
    v = does_source_help(*frames, system=SharedColumnsOnly(turned), n_splits=3)
    own = [row for row in v.rows if row.against == SHARED]
    assert own
    assert {row.difference for row in own} == {0.0}


def test_columns_by_number_or_name():
    A, B = pd.DataFrame(np.eye(2), columns=["a", "b"]), pd.DataFrame(np.eye(3), columns=["b", "c", "a"])
    assert find_common_columns(None, A, B).tolist() == [[0, 2], [1, 0]]
    assert find_common_columns(["b"], A, B).tolist() == [[1, 0]]
    assert find_common_columns([("a", 1)], A, B).tolist() == [[0, 1]]
    assert find_common_columns(None, A.to_numpy(), B) is None


def test_partners_of_tested_rows_are_held_back():
    """Systems that pass a class on to a row's partner would know the tested rows otherwise."""
    X, y, _, _ = same_features(n_classes=3, per_class=12)
    noise = np.random.default_rng(1).normal(size=(len(y), 5))
    v = does_source_help(X, y, noise, y, pairs="rows", system="ridge", n_splits=3)
    assert v.curve[0].with_source < 0.6
    assert v.helps is not True


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"system": "nonsense"}, "system: expected one of"),
        ({"system": 3}, "system: expected 'auto', a name or a system over two domains, got 3"),
        ({"system": "arc", "pairs": [[0, 0], [1, 1]]}, "pairs: expected None, as ARC learns from labels"),
        ({"n_splits": 2}, "n_splits: expected a whole number of at least 3"),
        ({"random_state": -1}, "random_state: expected"),
        ({"n_jobs": 0}, "n_jobs: expected"),
        ({"shared_columns": "a"}, "shared_columns: expected columns in a list"),
        ({"shared_columns": [(0, 99)]}, "shared_columns: expected columns that both domains have, got 99"),
        ({"shared_columns": [(0, 1, 2)]}, "shared_columns: expected names, or pairs of columns"),
        ({"system": "saenko"}, "with the source: expected fits that succeed, got one that failed: "),
    ],
)
def test_bad_questions_are_one_sentence(change, message):
    X, y, Z, y_target = same_features(n_classes=2, per_class=12)
    with pytest.raises(InputError, match=message) as caught:
        does_source_help(X, y, Z[:, :7], y_target, **{"system": TargetOnly(), **change})
    assert one_sentence(caught)


def test_ctrl_c_stops_it():
    class Stopped(TargetOnly):
        def fit(self, *args, **kwargs):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        does_source_help(*same_features(n_classes=2), system=Stopped())
