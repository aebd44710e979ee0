"""Rows through an adapter: blocks, precision, thresholds."""

import tracemalloc

import numpy as np
import pytest

import isthmus
from isthmus import InputError
from isthmus.tasks.migration import result as streaming
from isthmus.tasks.migration.evidence import fit_thresholds


@pytest.fixture(scope="module", params=["ridge", "kernel_ridge"])
def adapter(request):
    rng = np.random.default_rng(0)
    meaning = rng.normal(size=(200, 5))
    old, new = (meaning @ rng.normal(size=(5, d)) + 0.3 * rng.normal(size=(200, d)) for d in (6, 9))
    return isthmus.migrate(old, new, kind=request.param)


@pytest.fixture
def rows():
    return np.random.default_rng(1).normal(size=(103, 9))


def test_blocks_do_not_matter(adapter, rows, monkeypatch, tmp_path):
    whole = adapter.to_old(rows)
    monkeypatch.setattr(streaming, "BLOCK_VALUES", 9 * 10)
    np.testing.assert_allclose(adapter.to_old(rows), whole, atol=1e-12)
    np.save(tmp_path / "rows.npy", rows)
    on_disk = np.load(tmp_path / "rows.npy", mmap_mode="r")
    np.testing.assert_allclose(adapter.to_old(on_disk), whole, atol=1e-12)


def test_single_precision_in_is_single_precision_out(adapter, rows):
    single = adapter.to_old(rows.astype(np.float32))
    assert single.dtype == np.float32
    assert adapter.to_new(single).dtype == np.float32
    np.testing.assert_allclose(single, adapter.to_old(rows), atol=1e-4)
    for other in (rows.astype(int), rows.tolist(), rows.astype(np.float16)):
        assert adapter.to_old(other).dtype == np.float64


def test_no_rows_are_mapped_to_none(adapter):
    assert adapter.to_old(np.ones((0, 9), dtype=np.float32)).shape == (0, 6)
    with pytest.raises(InputError, match="expected 9 columns"):
        adapter.to_old(np.ones((0, 6)))


def test_memory_is_the_result_and_a_block(adapter, monkeypatch):
    monkeypatch.setattr(streaming, "BLOCK_VALUES", 2**14)
    X = np.zeros((200_000, 9), dtype=np.float32)
    adapter.to_old(X[:10])
    tracemalloc.start()
    try:
        out = adapter.to_old(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < out.nbytes + 0.25 * X.nbytes + 8 * 2**14 * 40


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_far_away_have_finite_images_or_one_sentence(dtype):
    rng = np.random.default_rng(0)
    new = rng.normal(size=(40, 2))
    old = new @ [[9.0, 0.0, 9.0], [0.0, 9.0, 1.0]]
    far = np.array([[1.0, -1.0], [-1.0, 1.0]], dtype) * np.finfo(dtype).max
    curved, plain = (isthmus.migrate(old, new, kind=kind) for kind in ("kernel_ridge", "ridge"))
    np.testing.assert_allclose(curved.to_old(far), np.tile(curved.old_from_new.offset, (2, 1)), rtol=1e-5)
    with pytest.raises(InputError, match=rf"^X: expected rows whose images are within {np.dtype(dtype)}, got one"):
        plain.to_old(np.vstack([new[:2].astype(dtype), far[:1]]))
    with pytest.raises(InputError, match="X_new: expected features whose largest is"):
        plain.similarity(np.full((1, 2), 1e300), old)


@pytest.mark.parametrize("kind", ["ridge", "kernel_ridge"])
@pytest.mark.parametrize(("old_unit", "new_unit"), [(1e-30, 1e20), (1e30, 1e-20)])
def test_single_precision_holds_in_any_unit(kind, old_unit, new_unit):
    rng = np.random.default_rng(0)
    old, new = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    adapter, plain = isthmus.migrate(old_unit * old, new_unit * new, kind=kind), isthmus.migrate(old, new, kind=kind)
    mapped = adapter.to_old((new_unit * new).astype(np.float32))
    assert mapped.dtype == np.float32
    np.testing.assert_allclose(mapped / old_unit, plain.to_old(new), atol=1e-4)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda a: a.to_old(np.ones((2, 6))), "X: expected 9 columns, as in fit, got 6."),
        (lambda a: a.to_new(np.ones((2, 9))), "X: expected 6 columns, as in fit, got 9."),
        (lambda a: a.to_old(np.ones(9)), "X: expected a two-dimensional array"),
        (lambda a: a.to_old(np.array([["a"] * 9])), "X: expected numbers"),
        (lambda a: a.similarity(np.ones((2, 6)), np.ones((2, 6))), "X_new: expected 9 columns"),
        (lambda a: a.threshold(1.5), "value: expected a number of at least -1 and at most 1, got 1.5."),
    ],
)
def test_bad_rows_get_one_sentence(adapter, call, sentence):
    with pytest.raises(InputError) as caught:
        call(adapter)
    assert str(caught.value).startswith(sentence)


def test_a_cut_off_lets_as_many_rows_pass():
    rng = np.random.default_rng(0)
    old, adapted = rng.uniform(-0.5, 1.0, size=20_000), rng.uniform(-1.0, 0.4, size=20_000)
    table = fit_thresholds(old, adapted)
    for cut in (-0.2, 0.3, 0.9, 0.999):
        passing = (old >= cut).mean()
        assert (adapted >= table.translate(cut)).mean() == pytest.approx(passing, abs=1e-3)
    assert table.translate(1.0) == pytest.approx(adapted.max(), abs=1e-3)


def test_a_cut_off_holds_for_rows_never_seen():
    rng = np.random.default_rng(1)
    meaning = rng.normal(size=(900, 12))
    old, new = (meaning @ rng.normal(size=(12, d)) + 1.5 * rng.normal(size=(900, d)) + 1.0 for d in (16, 24))
    adapter = isthmus.migrate(old[:600], new[:300], pairs=np.c_[:300, :300])
    unit = [M / np.linalg.norm(M, axis=1, keepdims=True) for M in (old[:600], old[600:], adapter.to_old(new[600:]))]
    before, after = unit[1] @ unit[0].T, unit[2] @ unit[0].T
    for cut in np.quantile(before, [0.5, 0.9, 0.99]):
        passing = (before >= cut).mean()
        assert (after >= adapter.threshold(cut)).mean() == pytest.approx(passing, rel=0.25)
