"""Model files that lie: one sentence each, nothing run, little memory, no time."""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler

import isthmus
from benchmarks.model_file_fuzz import RAW, Evil, fuzz, members_of, nodes
from hostile import put, refused
from isthmus.exceptions import InputError
from isthmus.io.model_file import ABOUT, SCHEMA, _archive, _report_errors, load, load_parts, model_card, sample_row
from isthmus.io.stored_values import Packed, StoredValueError, unpack

SMALL = np.arange(6.0).reshape(3, 2)
LIST = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model"
    isthmus.save(isthmus.Procrustes().fit(SMALL, None, SMALL**2, None, pairs="rows"), path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A model over texts, with the members of its file."""
    path = tmp_path_factory.mktemp("models") / "model"
    words = [f"word{k} and more{k % 2}" for k in range(6)]
    model = isthmus.RidgeMap(target_transformer=TfidfVectorizer(ngram_range=(1, 2)))
    isthmus.save(model.fit(np.arange(12.0).reshape(6, 2) ** 2, None, words, None, pairs="rows"), path)
    return path.read_bytes()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_mutations(tmp_path):
    found = fuzz(range(420), tmp_path)
    assert not found.wrong
    assert not found.events
    counts = {key: n for key, n in found.counts.items() if key.endswith("|refused")}
    assert sum(counts.values()) > 300
    # The checksums find changed bytes; what is left are bits that say nothing, such as those of dates.
    changed = [n for key, n in found.counts.items() if key.split("|")[0] in RAW and not key.endswith("|refused")]
    assert sum(changed) < 30


def test_every_byte_of_a_member_counts(raw, tmp_path):
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        places = [
            info.header_offset + 30 + len(info.filename) + k
            for info in archive.infolist()
            for k in range(0, info.file_size, 101)
        ]
    for place in places:
        changed = bytearray(raw)
        changed[place] ^= 1 << place % 8
        with pytest.raises(isthmus.InputError):
            load(put(tmp_path / "model", bytes(changed)))


@pytest.mark.parametrize("read", [load, load_parts, model_card])
@pytest.mark.parametrize(
    "content",
    [b"", b"short", pickle.dumps(Evil()), b"PK\x03\x04" + b"\0" * 100, b"PK\x05\x06" + b"\0" * 18, b"[" * 10**6],
    ids=range(6),
)
def test_other_files(read, content, tmp_path):
    refused(read, put(tmp_path / "model", content))


def sealed(raw, path, change):
    """A file whose schema was changed, with checksums that fit."""
    members = members_of(raw)
    schema = json.loads(members[SCHEMA])
    change(schema)
    return put(path, _archive(members | {SCHEMA: json.dumps(schema).encode()}))


def model_node(schema):
    return schema["content"]["model"]


def node_of(schema, **wanted):
    found = [owner[key] for owner, key in nodes(schema) if isinstance(owner[key], dict)]
    return next(node for node in (schema, *found) if all(node.get(key) == value for key, value in wanted.items()))


@pytest.mark.parametrize(
    ("module", "name", "loader"),
    [
        ("os", "system", "FunctionNode"),
        ("builtins", "eval", "FunctionNode"),
        ("builtins", "eval", "TypeNode"),
        ("functools", "partial", "PartialNode"),
        ("operator", "methodcaller", "OperatorFuncNode"),
        ("isthmus.geometry.kernels", "Linear", "MethodNode"),
        ("isthmus.geometry.kernels", "Linear", "ListNode"),
        ("isthmus.geometry.kernels", "Linear", "ConstructorFromReduceNode"),
        ("isthmus.estimators.given_source", "GivenSource", "ObjectNode"),
        ("sklearn.tree._tree", "Tree", "TreeNode"),
        ("numpy.random", "Generator", "RandomGeneratorNode"),
        ("numpy", "void", "NdArrayNode"),
        ("scipy.sparse._csr", "csr_matrix", "SparseMatrixNode"),
    ],
)
def test_types_are_named_and_not_made(raw, module, name, loader, tmp_path):
    def change(schema):
        node = node_of(schema, __class__="Linear")
        node.update(__class__=name, __module__=module, __loader__=loader)

    assert f"{module}.{name}" in refused(load, sealed(raw, tmp_path / "model", change))


def attribute(schema, name):
    return next(owner[key] for owner, key in nodes(schema) if key == name and isinstance(owner[key], dict))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("n_neighbors", "1" + "0" * 400, "plain value"),
        ("rule", '"other"', "rule: expected"),
        ("rule", "[1]", "plain value"),
    ],
)
def test_parameters_are_checked(raw, name, content, message, tmp_path):
    def change(schema):
        number = attribute(schema, name)["__id__"]
        for owner, key in nodes(schema):
            if isinstance(owner[key], dict) and owner[key].get("__id__") == number:
                owner[key]["content"] = content

    assert message in refused(load, sealed(raw, tmp_path / "model", change))


def test_long_terms_are_refused(texts, tmp_path):
    """They would take memory in proportion to their length, in every text."""

    def change(schema):
        high = attribute(schema, "ngram_range")["content"][1]
        for owner, key in nodes(schema):
            if isinstance(owner[key], dict) and owner[key].get("__id__") == high["__id__"]:
                owner[key]["content"] = str(10**9)

    assert "ngram_range" in refused(load, sealed(texts, tmp_path / "model", change))


@pytest.mark.parametrize("d", [10**9, 0, -1, "3", True])
def test_the_probe_makes_no_huge_row(d):
    scaler = StandardScaler().fit(SMALL)
    columns = ColumnTransformer([("a", StandardScaler(), [0])]).fit(SMALL)
    for transformer in (scaler, columns):
        transformer.n_features_in_ = d
        with pytest.raises(StoredValueError, match="columns"):
            sample_row(transformer)


def test_functions_are_no_transformers(raw, tmp_path):
    function = {"__class__": "tanh", "__module__": "numpy", "__loader__": "FunctionNode", "__id__": 10**6}

    def change(schema):
        attribute(schema, "transformers_")["content"]["source"] = function

    assert "a transformer" in refused(load, sealed(raw, tmp_path / "model", change))


@pytest.mark.parametrize("name", ["transformers_", "_columns", "n_features_"])
def test_records_of_both_domains(raw, name, tmp_path):
    def change(schema):
        found = attribute(schema, name)
        del found["content"]["target"], found["key_types"]["content"][1]
        found["__id__"] = 10**6

    assert "both domains" in refused(load, sealed(raw, tmp_path / "model", change))


def test_parts_are_a_dictionary(raw, tmp_path):
    def change(schema):
        schema["content"]["parts"] = {**LIST, "__id__": 10**6, "content": []}

    for read in (load, load_parts):
        assert "a model and its parts" in refused(read, sealed(raw, tmp_path / "model", change))


def test_objects_do_not_hide_in_arrays(raw, tmp_path):
    """What is in an array of objects is no part of the model, and nobody checks it."""

    def change(schema):
        kernel = {**node_of(schema, __class__="Linear"), "__id__": 10**6}
        shape = {**LIST, "__loader__": "TupleNode", "__class__": "tuple", "__id__": 10**6 + 1, "content": []}
        size = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "__id__": 10**6 + 2}
        shape["content"] = [{**size, "is_json": True, "content": "1"}]
        array = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "__id__": 10**6 + 3}
        state = model_node(schema)["content"]["content"]
        state["rule"] = {**array, "type": "json", "content": [kernel], "shape": shape}

    assert "plain values" in refused(load, sealed(raw, tmp_path / "model", change))


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("list", b"[" * 2**21),
        ("list", b"{"),
        ("dict", b"[1]"),
        ("columns", b'[["a"],["other"]]'),
        ("columns", b"[[1],[2],[3]]"),
        ("trace", b'[[1],["x"],[0],[0],[0]]'),
        ("part", b"[1,2,3]"),
        ("csr", b"[1,2,3,4,5]"),
        ("status", b'"other"'),
        ("evil", b"[]"),
    ],
)
def test_packed_values_that_lie(kind, content):
    with pytest.raises(InputError, match="file: expected"), _report_errors("file"):
        unpack(Packed(kind, np.frombuffer(content, dtype=np.uint8)))


def test_methods_are_not_replaced(raw, tmp_path):
    def change(schema):
        state = model_node(schema)["content"]
        state["content"]["predict"] = state["content"]["rule"]
        state["key_types"]["content"].append(state["key_types"]["content"][0])

    assert "'predict'" in refused(load, sealed(raw, tmp_path / "model", change))


def test_references_do_not_multiply(raw, tmp_path):
    """Forty lists, each of the one before twice: a trillion values of a small text."""

    def change(schema):
        node = {**LIST, "__id__": 10**6, "content": []}
        for k in range(40):
            node = {**LIST, "__id__": 10**6 + 1 + k, "content": [node, {"__id__": node["__id__"]}]}
        model_node(schema)["content"]["content"]["rule"] = node

    refused(load, sealed(raw, tmp_path / "model", change))


def test_an_array_is_read_once(raw, tmp_path):
    """Else a small file could ask for many copies of it."""

    def change(schema):
        array = node_of(schema, __loader__="NdArrayNode")
        model_node(schema)["content"]["content"]["rule"] = {**array, "__id__": 10**6}

    assert "used once" in refused(load, sealed(raw, tmp_path / "model", change))


def npy(text):
    header = text.ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header


@pytest.mark.parametrize(
    "content",
    [
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 1099511627776), }"),
        npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }") + pickle.dumps([Evil()]),
        pickle.dumps(Evil()),
        b"",
    ],
    ids=range(5),
)
def test_arrays_that_lie(raw, content, tmp_path):
    refused(load, put(tmp_path / "model", _archive(members_of(raw) | {"0.npy": content})))


def test_compressed_members_are_refused_before_they_are_read(raw, tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (members_of(raw) | {"99.npy": b"\0" * 2**28}).items():
            archive.writestr(name, content)
    assert "not compressed" in refused(load, put(tmp_path / "model", buffer.getvalue()))


@pytest.mark.parametrize("name", ["../../evil.npy", "/etc/evil.npy", "parts/../1.npy", "1.npz", "inner.zip"])
def test_names_of_members(raw, name, tmp_path):
    assert "members of a model file" in refused(
        load, put(tmp_path / "model", _archive(members_of(raw) | {name: b""}))
    )


def test_long_texts_are_not_parsed(raw, tmp_path):
    for text in (b" " * (2**23 + 1), b"[" * 300_000, b'{"a":' * 5000):
        refused(load, put(tmp_path / "model", _archive(members_of(raw) | {ABOUT: text})))
        refused(load, put(tmp_path / "model", _archive(members_of(raw) | {SCHEMA: text})))


def test_a_model_that_does_not_answer_is_not_a_model(raw, tmp_path):
    """All is in order by itself, and the maps are not numbers."""
    members = members_of(raw)
    arrays = {name: np.load(io.BytesIO(content)) for name, content in members.items() if name.endswith(".npy")}
    for name, array in arrays.items():
        if array.ndim == 2:
            buffer = io.BytesIO()
            np.save(buffer, np.full_like(array, np.nan))
            members[name] = buffer.getvalue()
    refused(load, put(tmp_path / "model", _archive(members)))


def test_no_such_file(tmp_path):
    refused(load, tmp_path / "none")
    refused(load, tmp_path)
