"""Rows of known pairs: no object in two places, the same test for every number of pairs, nothing learned from it."""

import gzip
import json

import numpy as np
import pytest
import scipy.sparse as sp
from small_pairs import NUMBERS, TEXT, numbers, texts, use_small_data

from conftest import one_sentence, real_data
from isthmus.exceptions import InputError
from isthmus.study.trial_rows import Trial, hash_name
from studies.datasets import read_debian_texts
from studies.datasets.debian_texts import FILE
from studies.pairs import data, matching
from studies.pairs.data import Paired, digit_views, shared_columns
from studies.pairs.rows import PairedDraw, PairedRows, ShuffledPairs
from studies.pairs.transfer import FewLabels, copied_labels


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    use_small_data(monkeypatch)
    yield
    data.views.cache_clear()


def numbered(n=400):
    """Both views of an object tell its number, in a column that scaling can't hide among others of one length."""
    angle = np.arange(n) / n
    circle = np.c_[np.cos(angle), np.sin(angle)]
    return Paired(sp.csr_matrix(circle), sp.csr_matrix(circle), np.arange(n) % 4, shared_columns((), ()))


def objects(X, n=400):
    """The numbers of the objects of some rows."""
    X = X.toarray()
    return np.rint(np.arctan2(X[:, 1], X[:, 0]) * n).astype(int)


@pytest.mark.parametrize("seed", range(3))
def test_no_object_is_in_two_of_anchors_unpaired_rows_and_test(monkeypatch, seed):
    monkeypatch.setitem(data.SETS, "numbered", lambda folder: numbered())
    draw = PairedDraw({"numbered": 50}, 40)
    few, many = (draw(Trial("numbered", str(P), seed)) for P in (10, 40))
    for rows, P in ((few, 10), (many, 40)):
        source, target, test = objects(rows.X_source), objects(rows.X_target), objects(rows.Q_source)
        np.testing.assert_array_equal(test, objects(rows.Q_target))
        np.testing.assert_array_equal(source[rows.pairs[:, 0]], target[rows.pairs[:, 1]])
        assert len(np.intersect1d(source, target)) == len(rows.pairs) == P
        assert not len(np.intersect1d(np.r_[source, target], test))
        np.testing.assert_array_equal(rows.y_test, test % 4)
        np.testing.assert_array_equal(rows.y_source, source % 4)
        np.testing.assert_array_equal(rows.y_target, target % 4)
    np.testing.assert_array_equal(objects(few.Q_source), objects(many.Q_source))
    assert set(objects(few.X_source)[:10]) <= set(objects(many.X_source)[:40])
    assert not np.array_equal(objects(few.Q_source), objects(draw(Trial("numbered", "10", seed + 1)).Q_source))


@pytest.mark.parametrize("group", [NUMBERS, TEXT])
def test_preparation_never_sees_the_test(monkeypatch, group):
    draw, trial = PairedDraw({group: 60}, 40), Trial(group, "20", 0)
    before = draw(trial)
    both = data.views(group, None)
    moved = dense(both.A).copy()
    test = np.random.default_rng([trial.seed, hash_name(group)]).permutation(len(both.y))[:60]
    moved[test] *= 1000.0  # nothing that is learned may move with them
    changed = Paired(sp.csr_matrix(moved) if sp.issparse(both.A) else moved, both.B, both.y, both.shared)
    monkeypatch.setitem(data.SETS, group, lambda folder: changed)
    data.views.cache_clear()
    after = draw(trial)
    np.testing.assert_array_equal(dense(before.X_source), dense(after.X_source))
    np.testing.assert_allclose(np.linalg.norm(dense(after.X_source), axis=1), 1.0)


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def test_more_pairs_than_there_are_objects_are_refused():
    with pytest.raises(InputError) as caught:
        PairedDraw({NUMBERS: 200}, 100)(Trial(NUMBERS, "100", 0))
    assert one_sentence(caught)


def small_rows():
    y = np.array([0, 0, 1, 1, 2, 0, 1, 2])
    X, pairs = np.arange(16.0).reshape(8, 2), np.array([[0, 0], [1, 1], [2, 2], [3, 3]])
    return PairedRows(X, X, pairs, X, X, y, y, y, shared_columns((), ()))


def test_shuffled_pairs_leave_the_rows_as_they_are():
    rows = small_rows()
    wrong, within = ShuffledPairs()(rows, 0), ShuffledPairs(within_class=True)(rows, 0)
    assert (wrong.pairs[:, 1] != rows.pairs[:, 1]).all()
    np.testing.assert_array_equal(within.pairs, [[0, 1], [1, 0], [2, 3], [3, 2]])
    assert wrong.X_source is rows.X_source


def test_controls_of_label_transfer_know_what_they_say():
    rows = small_rows()
    np.testing.assert_array_equal(FewLabels(1)(rows, 0).y_target, [-1, -1, -1, -1, 2, 0, 1, -1])
    copied = copied_labels(rows, 0)
    assert copied.pairs is None
    np.testing.assert_array_equal(copied.y_target, [0, 0, 1, 1, -1, -1, -1, -1])


# --- matching -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", matching.VARIANTS)
def test_so_many_rows_have_a_partner_and_it_is_the_same_object(monkeypatch, variant):
    monkeypatch.setitem(data.SETS, "numbered", lambda folder: numbered())
    rows = matching.MatchingDraw({"numbered": 210})(Trial("numbered", variant, 0))
    words, _, known = variant.rpartition(", ")
    A, B = objects(rows.A), objects(rows.B)
    there = rows.partner >= 0
    np.testing.assert_array_equal(A[there], B[rows.partner[there]])
    assert len(np.intersect1d(A, B)) == there.sum() == round(matching.SHARES[words] * len(A))
    assert len(A) == len(B) == min(210, int(400 / (2 - matching.SHARES[words])))
    assert len(rows.pairs) == int(known)
    np.testing.assert_array_equal(A[rows.pairs[:, 0]], B[rows.pairs[:, 1]])
    assert not np.array_equal(np.sort(rows.partner[there]), rows.partner[there])  # the order gives nothing away


def test_unrelated_rows_have_no_partner():
    group = f"{NUMBERS}{matching.BETWEEN}{TEXT}"
    rows = matching.MatchingDraw({group: 100})(Trial(group, "none, 0", 0))
    assert rows.A.shape == (100, 9)
    assert rows.B.shape == (100, 30)
    assert (rows.partner == -1).all()
    same = matching.MatchingDraw({NUMBERS: 100})(Trial(NUMBERS, "none, 0", 0))
    assert (same.partner == -1).all()


# --- data -----------------------------------------------------------------------------------------------------------


def test_no_shape_feature_of_the_digits_is_linear_in_the_pixels():
    """A linear map with an intercept predicts none of them exactly; the sums that are left out it would."""
    digits = digit_views()
    X = np.c_[np.ones(len(digits.A)), digits.A]
    left = digits.B - X @ np.linalg.lstsq(X, digits.B, rcond=None)[0]
    assert ((left**2).mean(axis=0) / digits.B.var(axis=0)).min() > 0.01


def test_shared_columns_are_those_of_the_same_name():
    np.testing.assert_array_equal(shared_columns(("a", "b", "c"), ("c", "x", "a")), [[0, 2], [2, 0]])
    assert shared_columns((), ("a",)).shape == (0, 2)
    assert len(texts().shared) == 5
    assert len(numbers().shared) == 0


def packed(folder, lines):
    path = folder / FILE
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress("\n".join(lines).encode()))


def test_texts_are_read_line_by_line(tmp_path):
    row = {"package": "p", "section": "s", "en": {"short": "A game", "long": "It is fun"}}
    packed(tmp_path, [json.dumps(row), json.dumps({**row, "package": "q"})])
    assert read_debian_texts(tmp_path) == (("p", "q"), ("s", "s"), ("A game. It is fun",) * 2)


@pytest.mark.parametrize(
    "line", ["no JSON", "{}", "[]", '{"package": 1, "section": "s", "en": {"short": "", "long": ""}}']
)
def test_a_line_that_is_no_text_is_refused_by_its_number(tmp_path, line):
    packed(tmp_path, [line])
    with pytest.raises(InputError, match="line 1: expected one JSON object") as caught:
        read_debian_texts(tmp_path)
    assert one_sentence(caught)


def test_files_that_are_cut_off_or_too_large_are_refused(tmp_path, monkeypatch):
    packed(tmp_path, ["x" * 5000])
    path = tmp_path / FILE
    monkeypatch.setattr("studies.datasets.debian_texts.MOST_BYTES", 100)
    with pytest.raises(InputError, match="at most 100 bytes"):
        read_debian_texts(tmp_path)
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(InputError, match="expected a whole gzip file"):
        read_debian_texts(tmp_path)
    path.write_bytes(b"no gzip")
    with pytest.raises(InputError, match="expected a whole gzip file"):
        read_debian_texts(tmp_path)
    with pytest.raises(InputError, match="expected the file"):
        read_debian_texts(tmp_path / "elsewhere")


@pytest.mark.data
def test_the_real_texts_are_there():
    found = read_debian_texts(real_data(FILE))
    assert len(found.texts) == len(set(found.packages)) == 10_992
    assert len(set(found.sections)) == 22
