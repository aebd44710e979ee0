"""Adapters in files, and files that lie."""

import json
import sys
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings

import isthmus
from hostile import FLIPS, flipped, put, refused
from isthmus import Adapter, InputError, MissingDependencyError
from isthmus.io.onnx import export_map


def made(kind="ridge", n=120):
    rng = np.random.default_rng(0)
    meaning = rng.normal(size=(n, 4))
    return isthmus.migrate(meaning @ rng.normal(size=(4, 5)), meaning @ rng.normal(size=(4, 7)), kind=kind)


@pytest.fixture(scope="module")
def adapter():
    return made()


@pytest.fixture(scope="module")
def content(adapter, tmp_path_factory):
    path = tmp_path_factory.mktemp("adapter") / "adapter.npz"
    adapter.save(path)
    with np.load(path) as file:
        return path.read_bytes(), dict(file)


@pytest.mark.parametrize("kind", ["ridge", "procrustes", "low_rank", "kernel_ridge"])
def test_what_was_saved_is_what_is_loaded(kind, tmp_path):
    adapter = made(kind)
    adapter.save(tmp_path / "adapter.npz")
    again = Adapter.load(tmp_path / "adapter.npz")
    X = np.random.default_rng(1).normal(size=(9, 7))
    np.testing.assert_array_equal(again.to_old(X), adapter.to_old(X))
    np.testing.assert_array_equal(again.to_new(X[:, :5]), adapter.to_new(X[:, :5]))
    assert str(again) == str(adapter)
    assert again.recall.figures == adapter.recall.figures
    assert again.recall.controls == adapter.recall.controls
    assert again.recall.n_pairs == adapter.recall.n_pairs
    assert again.threshold(0.3) == adapter.threshold(0.3)


def test_names_of_columns_are_kept(tmp_path):
    import pandas as pd

    old = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 2)), columns=["ä\n", "b"])
    isthmus.migrate(old, old.to_numpy()).save(tmp_path / "a.npz")
    again = Adapter.load(tmp_path / "a.npz")
    assert again.old_columns == ("ä\n", "b")
    assert again.new_columns is None


def test_a_file_that_cannot_be_written_is_one_sentence(adapter, tmp_path):
    with pytest.raises(InputError, match=r"expected a file, got a folder\.$"):
        adapter.save(tmp_path)
    put(tmp_path / "file", b"x")
    with pytest.raises(InputError, match="expected a file that can be written"):
        export_map(adapter, tmp_path / "file" / "below.npy")
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_no_folder_is_made_for_a_file(adapter, tmp_path):
    for write in (adapter.save, partial(export_map, adapter)):
        with pytest.raises(InputError, match=r"none.x: expected a file that can be written, got no folder for it\.$"):
            write(tmp_path / "none" / "x")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", [None, 3, b"x", ["x"]])
def test_what_is_no_path_is_one_sentence(adapter, path):
    for call in (Adapter.load, adapter.save, partial(export_map, adapter)):
        with pytest.raises(InputError) as caught:
            call(path)
        assert str(caught.value) == f"path: expected the path of a file, got {type(path).__name__}."


def changed(arrays, **parts):
    return {k: v for k, v in {**arrays, **parts}.items() if v is not None}


def about(arrays, **parts):
    text = {k: v for k, v in {**json.loads(str(arrays["about"])), **parts}.items() if v != "left out"}
    return changed(arrays, about=np.array(json.dumps(text)))


LIES = {
    "no text": lambda a: changed(a, about=None),
    "not JSON": lambda a: changed(a, about=np.array("{")),
    "deep JSON": lambda a: changed(a, about=np.array("[" * 100_000)),
    "long text": lambda a: changed(a, about=np.array("x" * (2**20 + 1))),
    "a list": lambda a: changed(a, about=np.array("[]")),
    "another format": lambda a: about(a, format="model"),
    "a later version": lambda a: about(a, version=2),
    "unknown kind": lambda a: about(a, kind="neural"),
    "kind of no text": lambda a: about(a, kind=["ridge"]),
    "another kind": lambda a: about(a, kind="kernel_ridge"),
    "no recall": lambda a: about(a, recall="left out"),
    "recall of no kind": lambda a: about(a, recall=3),
    "empty recall": lambda a: about(a, recall={}),
    "negative count": lambda a: about(a, n_pairs=-1),
    "count of no number": lambda a: about(a, n_pairs=True),
    "wrong columns": lambda a: about(a, old_columns=["a"]),
    "pickled objects": lambda a: changed(a, threshold_old=np.array([{}], dtype=object)),
    "a matrix that does not fit": lambda a: changed(a, old_from_new_W=np.ones((7, 6))),
    "maps that do not fit": lambda a: changed(
        a, **{k: a[k.replace("new_from_old", "old_from_new")] for k in a if k.startswith("new_from_old")}
    ),
    "no matrix": lambda a: changed(a, new_from_old_W=None),
    "not a number": lambda a: changed(a, new_from_old_W=np.full((5, 7), np.nan)),
    "one dimension": lambda a: changed(a, new_from_old_W=np.ones(35)),
    "rising thresholds": lambda a: changed(a, threshold_old=a["threshold_old"][::-1]),
    "short thresholds": lambda a: changed(a, threshold_old=a["threshold_old"][:3]),
    "no thresholds": lambda a: changed(a, threshold_old=np.zeros(0), threshold_adapted=np.zeros(0)),
    "large thresholds": lambda a: changed(a, threshold_old=a["threshold_old"] + 3.0),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_file_that_lies_is_refused_in_one_sentence(lie, content, tmp_path):
    with open(tmp_path / "lie.npz", "wb") as file:
        np.savez(file, **LIES[lie](content[1]))
    refused(Adapter.load, tmp_path / "lie.npz")


def test_wrong_shares_are_refused(content, tmp_path):
    right = json.loads(str(content[1]["about"]))["recall"]
    share = {"value": 0.5, "low": 0.4, "high": 0.6}
    for wrong in ({**share, "value": 2.0}, {**share, "low": 0.55}, {"value": 0.5}, 3, {**share, "low": float("nan")}):
        recall = {**right, "figures": [{**right["figures"][0], "at_1": wrong}], "n_pairs": [3]}
        with open(tmp_path / "lie.npz", "wb") as file:
            np.savez(file, **about(content[1], recall=recall))
        refused(Adapter.load, tmp_path / "lie.npz")


@given(FLIPS)
@settings(max_examples=60, deadline=None)
def test_flipped_bytes_are_refused_or_harmless(content, tmp_path_factory, flips):
    path = put(tmp_path_factory.mktemp("flipped") / "adapter.npz", flipped(content[0], flips))
    try:
        adapter = Adapter.load(path)
    except InputError:
        return
    assert np.isfinite(adapter.to_old(np.ones((1, 7)))).all()


def test_missing_and_other_files(tmp_path):
    refused(Adapter.load, tmp_path / "none.npz")
    refused(Adapter.load, put(tmp_path / "text.npz", b"no archive"))
    with pytest.raises(InputError, match="got a folder"):
        Adapter.load(tmp_path)


@pytest.mark.parametrize("direction", ["to_old", "to_new"])
def test_exported_matrices_do_what_the_adapter_does(adapter, direction, tmp_path):
    X = np.random.default_rng(2).normal(size=(11, 7 if direction == "to_old" else 5)).astype(np.float32)
    expected = getattr(adapter, direction)(X)
    export_map(adapter, tmp_path / "map.npy", direction=direction)
    M = np.load(tmp_path / "map.npy")
    np.testing.assert_allclose(X @ M[:-1] + M[-1], expected, atol=1e-5)


def test_what_is_no_matrix_says_so(tmp_path):
    for write in (isthmus.to_onnx, lambda adapter: export_map(adapter, tmp_path / "map.npy")):
        with pytest.raises(InputError, match=r"^adapter: expected an affine map .* got kind 'kernel_ridge'"):
            write(made("kernel_ridge"))
    with pytest.raises(InputError, match="direction: expected one of"):
        export_map(made(), tmp_path / "map.npy", direction="up")
    with pytest.raises(InputError, match=r"^adapter: expected an Adapter of migrate, got ndarray\.$"):
        export_map(np.eye(3), tmp_path / "map.npy")
    assert not list(tmp_path.iterdir())


def test_both_maps_as_onnx_bytes(adapter):
    from onnx.reference import ReferenceEvaluator

    for domain, direction, d in (("target", "to_old", 7), ("source", "to_new", 5)):
        X = np.random.default_rng(2).normal(size=(11, d)).astype(np.float32)
        (mapped,) = ReferenceEvaluator(isthmus.to_onnx(adapter, domain)).run(None, {"rows": X})
        np.testing.assert_allclose(mapped, getattr(adapter, direction)(X), atol=1e-5)


def test_a_missing_extra_is_named(adapter, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingDependencyError, match=r'needs onnx.*pip install "isthmus\[onnx\]"'):
        isthmus.to_onnx(adapter)
