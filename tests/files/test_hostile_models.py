"""Model files that lie: one sentence each, nothing run, little memory, no time."""

import json
import pickle

import numpy as np
import pytest

import isthmus
from benchmarks.fuzz_models import Evil, fuzzed
from hostile import put, refused
from isthmus.files import load
from isthmus.files.container import Container, content, parsed

SMALL = np.arange(6.0).reshape(3, 2)


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model"
    isthmus.save(isthmus.Procrustes().fit(SMALL, None, SMALL**2, None, pairs="rows"), path)
    return path.read_bytes()


@pytest.mark.filterwarnings("ignore")
def test_mutations(tmp_path):
    found = fuzzed(1000, tmp_path)
    assert not found.wrong
    assert not found.events
    assert found.right, found
    refusals = sum(n for (_, what), n in found.counts.items() if what == "refused")
    assert refusals > 750
    # Whoever changes bytes, the checksum knows.
    assert not any(what == "a model" for kind, what in found.counts if kind in ("truncated", "flips", "resized"))


def test_every_byte_counts(raw, tmp_path):
    for place in range(0, len(raw), 7):
        changed = bytearray(raw)
        changed[place] ^= 1 << place % 8
        with pytest.raises(isthmus.InputError):
            load(put(tmp_path / "model", bytes(changed)))


def header(tensors, length=None):
    text = json.dumps(tensors).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text


METADATA = {"isthmus": "{}", "sha256": "0" * 64}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"short",
        pickle.dumps(Evil()),
        header({}, 2**63),
        header({}),
        header([]),
        header({"__metadata__": METADATA}),
        header({"__metadata__": {"format": "pt"}, "x": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}),
        header({"__metadata__": METADATA, "x": {"dtype": "F64", "shape": [2**60], "data_offsets": [0, 8]}}),
        (10**6).to_bytes(8, "little") + b"[" * 10**6,
        (30).to_bytes(8, "little") + b"\xff" * 30,
        (32).to_bytes(8, "little") + '{"a": 1}'.encode("utf-32-be"),
    ],
    ids=range(12),
)
def test_other_files(content, tmp_path):
    assert "model file" in refused(load, put(tmp_path / "model", content))


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("model", "is"), "Popen"),
        (("model", "is"), "GivenSource"),
        (("model", "parameters", "n_neighbors"), "many"),
        (("model", "parameters", "n_neighbors"), -1),
        (("model", "parameters", "rule"), {"object": {"is": "skops", "type": "os.system", "content": "x"}}),
        (("model", "parameters", "no_such"), 1),
        (("model", "state"), None),
        (("model", "state", "classes_"), None),
        (("model", "state", "n_features_"), {"source": 2**40, "target": 2}),
        (("model", "state", "reference_points"), "model"),
        (("model", "state", "__class__"), "x"),
        (("format",), 2**40),
        (("format",), True),
        (("model",), []),
    ],
    ids=str,
)
def test_sealed_again(raw, where, value, tmp_path):
    box = parsed(raw)
    *path, last = where
    node = box.about
    for key in path:
        node = node[key]
    node[last] = value
    refused(load, put(tmp_path / "model", content(box)))


def test_an_array_is_taken_once(raw, tmp_path):
    """Else a small file could ask for many copies of it."""
    box = parsed(raw)
    box.about["model"]["state"]["common_space_"]["offsets"] = box.about["model"]["state"]["common_space_"][
        "components"
    ]
    assert "the name of an array" in refused(load, put(tmp_path / "model", content(box)))


def test_shapes_that_hide_others(raw, tmp_path):
    box = parsed(raw)
    arrays = {**box.arrays, "state.reference_points": np.zeros((0, 2**45))}
    refused(load, put(tmp_path / "model", content(Container(box.about, arrays))))


def test_no_such_file(tmp_path):
    refused(load, tmp_path / "none")
    refused(load, tmp_path)
