"""Indexes in files: the same to the bit, and files that lie."""

import json

import numpy as np
import pytest
from hypothesis import given, settings

from conftest import make_domains, one_sentence
from hostile import FLIPS, flipped, put, refused
from isthmus import MLHD, Index, InputError
from isthmus.retrieval import index as index_module
from isthmus.retrieval.engines import Engine


def filled(model=None, engine="exact", text=True, **options):
    d = make_domains()
    ids = [f"ä{i}\n" for i in range(30)] if text else None
    index = Index(model or MLHD().fit(*d.args), engine, **options)
    index.add(d.X_source, "source", ids=ids, labels=d.y_source)
    return index.add(d.X_target, "target", ids=[f"t{i}" for i in range(20)] if text else None), d


def same(a, b):
    for name in ("ids", "distances", "labels", "domains"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@pytest.mark.parametrize("engine", ["exact", "Flat", "HNSW8", Engine("IVF3,Flat", breadth=3)])
@pytest.mark.parametrize("text", [True, False])
def test_what_was_saved_is_what_is_loaded(engine, text, tmp_path):
    if engine != "exact":
        pytest.importorskip("faiss", reason="the extra is not installed")
    index, d = filled(engine=engine, text=text)
    index.save(tmp_path / "index")
    again = Index.load(tmp_path / "index", index.model)
    assert again.engine == index.engine
    assert again.dtype == index.dtype
    for options in ({}, {"csls": True}, {"label": 1}, {"among": "target"}):
        same(index.search(d.X_target, 6, **options), again.search(d.X_target, 6, **options))
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "index").read_bytes()


def test_numbers_go_on_after_loading(tmp_path):
    index, d = filled(text=False)
    index.save(tmp_path / "index")
    again = Index.load(tmp_path / "index", index.model).add(d.X_target[:2], "target")
    assert again.ids.tolist() == list(range(52))


def test_an_empty_index(tmp_path):
    Index(dtype="float32").save(tmp_path / "empty")
    assert len(Index.load(tmp_path / "empty")) == 0


def test_without_its_model_rows_are_points_and_another_model_is_refused(tmp_path):
    index, d = filled()
    index.save(tmp_path / "index")
    same(index.search(d.X_target), Index.load(tmp_path / "index").search(index.model.transform(d.X_target)))
    other = MLHD(alignment="none").fit(*d.args)
    with pytest.raises(InputError, match="expected the model that the index was made with, got another") as caught:
        Index.load(tmp_path / "index", other)
    assert one_sentence(caught)


def test_a_file_that_cannot_be_written_is_one_sentence(tmp_path):
    index, _ = filled()
    with pytest.raises(InputError, match=r"expected a file that can be written, got no folder for it\.$"):
        index.save(tmp_path / "none" / "index")
    with pytest.raises(InputError, match=r"expected a file, got a folder\.$"):
        index.save(tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_could_not_be_read_again_is_not_written(monkeypatch, tmp_path):
    index, _ = filled()
    monkeypatch.setattr(index_module, "LONGEST_HEADER", 100)
    with pytest.raises(InputError, match=r"expected an index that fits a file, got one with too many labels\.$"):
        index.save(tmp_path / "index")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("index") / "index"
    filled()[0].save(path)
    with np.load(path) as file:
        return path.read_bytes(), dict(file)


@given(flips=FLIPS)
@settings(max_examples=150)
def test_a_damaged_file_is_one_error_or_the_same_index(flips, content, tmp_path_factory):
    path = put(tmp_path_factory.mktemp("flipped") / "index", flipped(content[0], flips))
    try:
        again = Index.load(path)
    except InputError as error:
        sentence = str(error)
    else:  # bytes that nobody reads, such as the dates in the archive
        assert len(again) == 50
        return
    assert sentence.startswith(str(path))
    assert sentence.endswith(".")


def rewritten(path, arrays, header=(), **changed):
    said = {**json.loads(str(arrays["header"])), **dict(header)}
    arrays = {**arrays, **changed}
    with path.open("wb") as file:
        np.savez(file, **{**arrays, "header": np.array(json.dumps(said))})
    return path


LIES = [
    {"header": {"format": "isthmus adapter"}},
    {"header": {"version": 2}},
    {"header": {"version": [1]}},
    {"header": {"shape": [2**39, 2**39]}},
    {"header": {"shape": [51, 12]}},
    {"header": {"shape": "50"}},
    {"header": {"shape": [-1, 12]}},
    {"header": {"dtype": "object"}},
    {"header": {"dtype": "float32"}},
    {"header": {"engine": {"name": "pickle"}}},
    {"header": {"engine": {"name": ["exact"]}}},
    {"header": {"engine": {"name": "HNSW32", "breadth": -4}}},
    {"header": {"engine": {"name": "exact", "links": 4}}},
    {"header": {"engine": {"name": "HNSW99999", "breadth": None}}},
    {"header": {"classes": [0, "x", 2]}},
    {"header": {"classes": [0]}},
    {"header": {"classes": [[0], 1, 2]}},
    {"header": {"model": {}, "format": None}},
    {"header": {"text_ids": 3}},
    {"header": {"classes": None}},
    {"header": {"classes": [0, 0, 2]}},
    {"ids": np.frombuffer(json.dumps(["same"] * 50).encode(), np.uint8)},
    {"ids": np.frombuffer(b"[" * 10_000, np.uint8)},
    {"ids": np.frombuffer(json.dumps(list(range(50))).encode(), np.uint8)},
    {"codes": np.full(50, 3, np.int32)},
    {"domains": np.full(50, 2, np.uint8)},
    {"points": np.full((50, 12), np.nan)},
    {"points": np.full((50, 12), 1e300)},
    {"points": np.array([["x"]], dtype=object)},
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: str(lie)[:50])
def test_a_file_that_lies_is_refused(lie, content, tmp_path):
    arrays = content[1]
    assert arrays["points"].shape == (50, 12)
    refused(Index.load, rewritten(tmp_path / "index", arrays, **lie))


def test_a_small_file_does_not_become_a_large_array(tmp_path):
    index = Index().add(np.zeros((1000, 8000)), "source")
    index.save(tmp_path / "large")
    with np.load(tmp_path / "large") as file, (tmp_path / "small").open("wb") as small:
        np.savez_compressed(small, **dict(file))
    assert (tmp_path / "small").stat().st_size < 1e6
    assert "a file with 1000 x 8000 points" in refused(Index.load, tmp_path / "small")
