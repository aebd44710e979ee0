"""MATLAB files, sparse parts and index files from others: what they hold, or one sentence, within a bound of memory."""

from __future__ import annotations

import gzip
import subprocess
import sys
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.io import loadmat, savemat

from hostile import FLIPS, compressed, element, flipped, matlab_file, matlab_variable, put, refused, saved
from isthmus._core.archives import Expected
from isthmus.exceptions import InputError
from studies.datasets.files.compressed_rows import read_csr
from studies.datasets.files.matlab import read_mat
from studies.datasets.folder import check_file
from studies.datasets.svmlight import read_index

RNG = np.random.default_rng(0)
X, Y, NAMES = RNG.normal(size=(6, 3)).astype(np.float32), np.arange(6) % 3 + 1, np.array(["bike", "mug", "élan"])
SPARSE = sp.csr_matrix(RNG.normal(size=(5, 7)) * (RNG.random(size=(5, 7)) < 0.4))
CLASSES = ("C15", "CCAT", "M11")
INDEX = b"CCAT 1:-0.5 3:1.25 7:2e-1 \nM11  2:4\r\nC15\nCCAT 6:0.125\t7:3\n"
TABLES = {"classes": NAMES[:2], "X": X, "y": Y[:, None].astype(float)}
MAT_WANTED = {"X": Expected((None, 3), "number"), "y": Expected((6,), "whole", low=1, high=3)}
MAT = {name: saved(savemat, TABLES, do_compression=name == "deflated") for name in ("deflated", "stored")}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A place for one file after the other."""
    return tmp_path_factory.mktemp("files") / "given"


class TestGoodFiles:
    """What is in order is read, and read right: the readers here against SciPy's."""

    @given(arrays(np.float32, (4, 9), elements=st.sampled_from([0, 0, 1, -2.5]), fill=st.just(0)))
    def test_sparse_parts(self, path, table):
        S = sp.csr_matrix(table)
        parts = {"data": S.data, "indices": S.indices, "indptr": S.indptr, "shape": np.array(S.shape)}
        put(path, saved(np.savez, **{f"EN_{name}": part for name, part in parts.items()}))
        found = read_csr(path, "EN_", (4, None))
        np.testing.assert_array_equal(found.toarray(), S.toarray())
        assert found.has_canonical_format
        assert found.dtype == np.float32

    def test_columns_are_sorted_and_places_that_come_twice_are_summed(self, path):
        put(path, saved(np.savez, data=[1, 2, 4], indices=[2, 0, 2], indptr=[0, 3], shape=[1, 3]))
        found = read_csr(path, "", (1, 3))
        np.testing.assert_array_equal(found.toarray(), [[2, 0, 5]])
        assert found.indices.tolist() == [0, 2]

    @pytest.mark.parametrize("how", MAT)
    def test_matlab(self, path, how):
        found = read_mat(put(path, MAT[how]), MAT_WANTED)
        np.testing.assert_array_equal(found["X"], X)
        np.testing.assert_array_equal(found["y"], Y)

    @given(
        array=arrays(
            st.sampled_from(["f4", "f8", "i1", "u2", "i4", "u8", "bool"]),
            array_shapes(min_dims=2, max_dims=3, min_side=0),
            elements={"min_value": 0, "max_value": 100},
        ),
        squeeze=st.booleans(),
    )
    def test_matlab_agrees_with_scipy(self, path, array, squeeze):
        content = saved(savemat, {"a": array, "cell": np.array([1, "x"], dtype=object)}, do_compression=squeeze)
        found = read_mat(put(path, content), {"a": Expected((None,) * array.ndim, "number")})["a"]
        np.testing.assert_array_equal(found, loadmat(path)["a"])

    @pytest.mark.parametrize("squeeze", [True, False])
    def test_matlab_sparse(self, path, squeeze):
        put(path, saved(savemat, {"S": SPARSE.tocsc()}, do_compression=squeeze))
        found = read_mat(path, {"S": Expected((None, 7), "number")})["S"]
        assert isinstance(found, sp.csr_matrix)
        np.testing.assert_array_equal(found.toarray(), SPARSE.toarray())

    def test_index(self, path):
        found, labels = read_index(put(path, INDEX), CLASSES)
        table = np.zeros((4, 7))
        table[0, [0, 2, 6]], table[1, 1], table[3, [5, 6]] = [-0.5, 1.25, 0.2], 4, [0.125, 3]
        np.testing.assert_array_equal(found.toarray(), table)
        assert labels.tolist() == [1, 2, 0, 1]
        assert read_index(path, CLASSES, 12)[0].shape == (4, 12)


READERS = {
    "mat": (MAT["deflated"], lambda path: read_mat(path, MAT_WANTED)),
    "mat stored": (MAT["stored"], lambda path: read_mat(path, MAT_WANTED)),
    "index": (INDEX, lambda path: read_index(path, CLASSES)),
}


@pytest.mark.parametrize("kind", READERS)
class TestAnyFile:
    """What holds for every reader."""

    def test_cut_short(self, path, kind):
        content, read = READERS[kind]
        for length in range(0, len(content), 1 + len(content) // 150):
            if kind != "index" or content[:length][-1:] != b"\n":  # whole lines are a file
                refused(read, put(path, content[:length]))

    @given(st.binary(max_size=300))
    def test_any_bytes(self, path, kind, content):
        refused(READERS[kind][1], put(path, content))

    @given(st.binary(max_size=300))
    def test_any_bytes_after_a_good_start(self, path, kind, content):
        good, read = READERS[kind]
        put(path, good[: 5 if kind == "index" else 136] + content)
        with suppress(InputError):
            read(path)

    @pytest.mark.slow
    @given(flips=FLIPS)
    @settings(max_examples=300)
    def test_flipped_bytes(self, path, kind, flips):
        content, read = READERS[kind]
        true = read(put(path, content))
        put(path, flipped(content, flips))
        try:
            found = read(path)
        except InputError:
            refused(read, path)
            return
        if kind == "index":
            assert found[0].shape[0] == len(found[1])
            assert np.isfinite(found[0].data).all()
            assert set(found[1]) <= {0, 1, 2}
        elif kind == "mat stored":  # nothing in such a file tells a flipped number from a true one
            assert all(found[name].shape == true[name].shape for name in true)
            assert np.isfinite(found["X"]).all()
            assert set(found["y"]) <= {1, 2, 3}
        else:
            assert all((found[name] == true[name]).all() for name in true)


GOOD_PARTS = {"data": [1.0, 2.0], "indices": [0, 3], "indptr": [0, 1, 2], "shape": [2, 4]}
BAD_PARTS = [
    {"shape": [10**12, 10**12]},
    {"shape": [2**31 - 1, 4]},
    {"shape": [2**63 - 1, 2**63 - 1]},
    {"shape": [2, 4, 1]},
    {"shape": [0, 4]},
    {"shape": [-2, 4]},
    {"shape": [2.0, 4.0]},
    {"shape": [3, 4]},
    {"shape": [2, 3]},
    {"indptr": [0, 2]},
    {"indptr": [0, 3, 2]},
    {"indptr": [0, -1, 2]},
    {"indptr": [1, 1, 2]},
    {"indptr": [0, 1, 3]},
    {"indptr": [0, 1, 2**62]},
    {"indptr": np.zeros(0, int)},
    {"indptr": [0.0, 1.0, 2.0]},
    {"indices": [0, 4]},
    {"indices": [0, -1]},
    {"indices": [0, 2**40]},
    {"indices": [0]},
    {"indices": [[0, 3]]},
    {"data": [1.0]},
    {"data": [1.0, np.nan]},
    {"data": ["a", "b"]},
    {"data": [1e308, 1e308], "indices": [0, 0], "indptr": [0, 2, 2]},
]


class TestSparseParts:
    """Parts that do not make a matrix are refused before there is one."""

    @pytest.mark.parametrize("parts", BAD_PARTS, ids=str)
    def test_parts_that_do_not_fit(self, path, parts):
        put(path, saved(np.savez, **GOOD_PARTS))
        assert read_csr(path, "", (2, 4)).nnz == 2
        refused(read_csr, put(path, saved(np.savez, **{**GOOD_PARTS, **parts})), "", (None, None))

    @pytest.mark.parametrize("shape", [(3, None), (None, 5), (4, 2)])
    def test_another_shape_than_expected(self, path, shape):
        assert "got (2, 4)" in refused(read_csr, put(path, saved(np.savez, **GOOD_PARTS)), "", shape)


def doubles(*numbers: float) -> bytes:
    return element(9, np.array(numbers, "<f8").tobytes())


def integers(*numbers: int) -> bytes:
    return element(5, np.array(numbers, "<i4").tobytes())


def variable(content: bytes) -> bytes:
    return element(14, content)


ZEROS = bytes(40 * 2**20)
EYE = matlab_variable("X", 6, (2, 2), doubles(1, 0, 0, 1))
BAD_MATLAB = {
    "7.3": matlab_file(version=0x0200, text=b"MATLAB 7.3 MAT-file"),
    "hdf5": b"\x89HDF\r\n\x1a\n" + bytes(600),
    "level 4": bytes(200),
    "no variables": matlab_file(),
    "text before": b" " * 200,
    "claims 16 GB": matlab_file(compressed(matlab_variable("X", 6, (2**16, 2**15), doubles(1)))),
    "claims a shape beyond all": matlab_file(variable(matlab_variable("X", 6, (2**31 - 1,) * 31, doubles(1)))),
    "negative shape": matlab_file(variable(matlab_variable("X", 6, (-2, -2), doubles(1, 0, 0, 1)))),
    "one axis": matlab_file(variable(matlab_variable("X", 6, (4,), doubles(1, 0, 0, 1)))),
    "inflates beyond": matlab_file(compressed(EYE + ZEROS, length=len(EYE))),
    "inflates to more": matlab_file(compressed(EYE + ZEROS[: 2**20])),
    "long name": matlab_file(compressed(matlab_variable("X" * 10**7, 6, (2, 2)))),
    "many axes": matlab_file(compressed(matlab_variable("X", 6, (1,) * 10**6))),
    "element of 4 GB": matlab_file(variable(EYE[:-40] + element(9, b"", length=2**32 - 8))),
    "variable of 4 GB": matlab_file(element(14, EYE, length=2**32 - 8)),
    "too few numbers": matlab_file(variable(matlab_variable("X", 6, (2, 2), doubles(1, 0, 0)))),
    "too many numbers": matlab_file(variable(matlab_variable("X", 6, (2, 2), doubles(1, 0, 0, 1, 2)))),
    "more elements": matlab_file(variable(EYE + doubles(1))),
    "twice": matlab_file(variable(EYE), variable(EYE)),
    "not finite": matlab_file(variable(matlab_variable("X", 6, (2, 2), doubles(1, np.nan, 0, 1)))),
    "complex": matlab_file(
        variable(matlab_variable("X", 6, (2, 2), doubles(*4 * [1]), doubles(*4 * [1]), flags=0x800))
    ),
    "cell": matlab_file(variable(matlab_variable("X", 1, (1, 1), variable(EYE)))),
    "structure": matlab_file(variable(matlab_variable("X", 2, (1, 1)))),
    "object": matlab_file(variable(matlab_variable("X", 17, (1, 1)))),
    "unknown class": matlab_file(variable(matlab_variable("X", 99, (2, 2), doubles(*4 * [1])))),
    "text for numbers": matlab_file(variable(matlab_variable("X", 4, (2, 2), element(4, bytes(8))))),
    "fractions in whole class": matlab_file(variable(matlab_variable("X", 12, (2, 2), doubles(*4 * [0.5])))),
    "too large for its class": matlab_file(variable(matlab_variable("X", 8, (2, 2), integers(1, 2, 3, 400)))),
    "matrix in a matrix": matlab_file(compressed(element(15, zlib.compress(EYE)))),
    "compressed rubbish": matlab_file(element(15, b"not zlib")),
    "sparse beyond all": matlab_file(
        variable(matlab_variable("X", 5, (2**31 - 1, 2**31 - 1), integers(0), integers(0, 1), doubles(1)))
    ),
    "sparse rows beyond all": matlab_file(
        variable(matlab_variable("X", 5, (2**31 - 1, 1), integers(0), integers(0, 1), doubles(1)))
    ),
    "sparse columns beyond all": matlab_file(
        variable(matlab_variable("X", 5, (1, 2**31 - 1), integers(0), integers(0, 1), doubles(1)))
    ),
    "sparse row": matlab_file(variable(matlab_variable("X", 5, (2, 2), integers(7), integers(0, 1, 1), doubles(1)))),
    "sparse negative row": matlab_file(
        variable(matlab_variable("X", 5, (2, 2), integers(-1), integers(0, 1, 1), doubles(1)))
    ),
    "sparse ends": matlab_file(variable(matlab_variable("X", 5, (2, 2), integers(0), integers(0, 9, 1), doubles(1)))),
    "sparse count": matlab_file(
        variable(matlab_variable("X", 5, (2, 2), integers(0), integers(0, 1, 9), doubles(1)))
    ),
    "sparse empty": matlab_file(variable(matlab_variable("X", 5, (2, 0), integers(), integers(0), doubles()))),
    "many variables": matlab_file(*5000 * [variable(matlab_variable("Z", 6, (0, 0), doubles()))]),
}


class TestMatlab:
    """The same for MATLAB's files."""

    @pytest.mark.parametrize("bad", BAD_MATLAB)
    def test_refused(self, path, bad):
        assert len(BAD_MATLAB[bad]) < 400_000
        sentence = refused(read_mat, put(path, BAD_MATLAB[bad]), {"X": Expected((None, None), "number")})
        assert bad not in ("7.3", "hdf5") or "save it with -v7." in sentence

    @pytest.mark.parametrize("wrap", [variable, compressed])
    def test_what_does_not_lie_is_read(self, path, wrap):
        others = [wrap(matlab_variable(name, 1, (1, 1), variable(EYE))) for name in ("cell", "other")]
        found = read_mat(put(path, matlab_file(*others, wrap(EYE))), {"X": Expected((2, 2), "number", low=0, high=1)})
        np.testing.assert_array_equal(found["X"], np.eye(2))

    @pytest.mark.parametrize("value", [0.5, 7.0, 0.0, 1e300])
    def test_a_label_out_of_range(self, path, value):
        put(path, saved(savemat, {"y": np.array([[1.0, value]])}))
        refused(read_mat, path, {"y": Expected((2,), "whole", low=1, high=6)})

    @pytest.mark.parametrize("codes", [element(16, b"\xff\xff"), element(4, b"a\0b\0"), element(2, b"a")])
    def test_text_is_not_numbers(self, path, codes):
        put(path, matlab_file(variable(matlab_variable("t", 4, (1, 2), codes))))
        refused(read_mat, path, {"t": Expected((None,), "number")})

    def test_a_missing_variable_is_named_beside_those_there_are(self, path):
        sentence = refused(read_mat, put(path, MAT["stored"]), {"Z": MAT_WANTED["X"]})
        assert sentence == f"{path}: expected a variable 'Z', got only 'classes', 'X', 'y'."


BAD_LINES = {
    "unknown category": (b"GCAT 1:1\n", "a category of C15, CCAT, M11, got 'GCAT'"),
    "no category": (b"1:1\n", "a category"),
    "empty line": (b" \n", "got an empty line"),
    "feature 0": (b"C15 0:1\n", "ascend from 1 to at most 7, got 0"),
    "feature beyond": (b"C15 8:1\n", "at most 7, got 8"),
    "feature far beyond": (b"C15 99999999999999999999:1\n", "feature:value"),
    "negative feature": (b"C15 -1:1\n", "feature:value"),
    "descending": (b"C15 3:1 2:1\n", "got 2 after 3"),
    "twice": (b"C15 3:1 3:1\n", "got 3 after 3"),
    "no value": (b"C15 3:\n", "feature:value, got '3:'"),
    "no colon": (b"C15 3\n", "feature:value, got '3'"),
    "two colons": (b"C15 3:1:2\n", "feature:value"),
    "not a number": (b"C15 3:nan\n", "finite values"),
    "infinite": (b"C15 3:1e999\n", "finite values"),
    "underscore": (b"C15 3:1_0\n", "feature:value"),
    "bytes": (b"C15 3:\xff\xfe\x00\x1b\n", r"feature:value, got '3:\xff\xfe\x00\x1b'"),
    "bytes as category": (b"\x00\x80\x1b[2J 1:1\n", "a category"),
    "cut short": (b"C15 3:1", "got the end of the file"),
    "long line": (b"C15" + b" 1:1" * 2**20 + b"\n", "bytes"),
}


class TestIndex:
    """The lines of an index file."""

    @pytest.mark.parametrize("bad", BAD_LINES)
    def test_the_line_is_named(self, path, bad):
        line, said = BAD_LINES[bad]
        sentence = refused(read_index, put(path, INDEX + line), CLASSES, 7)
        assert sentence.startswith(f"{path}, line 5: ")
        assert said in sentence

    def test_nothing_in_it(self, path):
        assert "an empty file" in refused(read_index, put(path, b""), CLASSES)
        assert "documents with words" in refused(read_index, put(path, b"C15\n"), CLASSES)

    def test_compressed(self, path):
        assert "unpack it first" in refused(read_index, put(path, gzip.compress(INDEX)), CLASSES)

    def test_the_leftovers_of_another_system(self, path):
        refused(read_index, put(path, b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        " + bytes(639)), CLASSES)

    @given(st.text("C15M 1:0.-e\n", max_size=40))
    @example("C15 1:1 \n")
    def test_nearly_right_lines(self, path, text):
        with suppress(InputError):
            found, labels = read_index(put(path, text.encode()), CLASSES)
            assert found.shape[0] == len(labels) == text.count("\n")


def test_a_missing_file_says_what_to_put_where(tmp_path):
    place = tmp_path / "reuters600.npz"
    with pytest.raises(InputError) as caught:
        check_file(place, "reuters600", "600 documents in five languages")
    assert str(caught.value) == (
        f"reuters600: expected the file {place} (600 documents in five languages), found none; put it there, or name "
        "its folder by the argument 'folder' (--data on the command line) or the environment variable ISTHMUS_DATA."
    )
    assert check_file(put(place, b""), "reuters600", "") == place


@pytest.mark.slow
def test_lies_in_a_process_that_has_no_memory_for_them(tmp_path):
    """The measure of the tests above counts what Python allocates; the system counts everything."""
    for k, bad in enumerate(BAD_MATLAB.values()):
        put(tmp_path / f"{k}.mat", bad)
    script = """
import resource, sys
from pathlib import Path
from studies.datasets.files.matlab import Expected, read_mat
from isthmus.exceptions import InputError
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 32 * 2**20,) * 2)
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        read_mat(path, {"X": Expected((None, None), "number")})
    except InputError as error:
        assert "memory" not in str(error), error
    else:
        raise SystemExit(f"{path} was read")
"""
    if not Path("/proc/self/statm").exists():
        pytest.skip("this system does not say how much memory a process has")
    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


FUZZ = """
import random, struct, sys, zlib
from pathlib import Path
from studies.datasets.files.matlab import Expected, read_mat, read_variables
from isthmus.exceptions import InputError

path, draw = Path(sys.argv[1]), random.Random(0)
content, names, places = path.read_bytes(), sys.argv[2].split(), []
at = 128
while at < len(content):
    places.append((at, 8 + struct.unpack_from("<L", content, at + 4)[0]))
    at += places[-1][1]
NUMBERS = (*range(20), 255, 2**16 + 1, 3 << 16 | 5, 2**31 - 1, 2**31, 2**32 - 8, 0x806, 0x206)
read = 0
for trial in range(750):
    k = draw.randrange(len(names))
    start, length = places[k]
    damaged = bytearray(content[start : start + length])
    for _ in range(draw.choice((1, 1, 2, 4))):
        if draw.random() < 0.5:
            damaged[draw.randrange(8, length)] ^= 1 << draw.randrange(8)
        else:
            struct.pack_into("<L", damaged, 8 + 4 * draw.randrange(length // 4 - 2), draw.choice(NUMBERS))
    if trial % 3 == 0:
        packed = zlib.compress(damaged)
        damaged = struct.pack("<2L", 15, len(packed)) + packed
    path.write_bytes(content[:128] + damaged)
    for read_one in (lambda: read_variables(path, [names[k]]), lambda: read_mat(path, {names[k]: Expected((None, None), "number")})):
        try:
            read_one()
            read += 1
        except InputError as error:
            assert str(error).isprintable() and len(str(error)) < 400 + len(str(path)), error
assert read > 200, "most of what the guard lets through has to be seen by SciPy"
"""


@pytest.mark.slow
def test_no_damage_ends_the_process(tmp_path):
    """SciPy's reader is compiled: what the guard overlooks is a crash. Without the guard these bytes cause one."""
    nested, cell = {"a": {"b": SPARSE.tocsc()}}, np.array([[np.arange(3.0), "text", 7.0]], dtype=object)
    variables = {"x": X, "whole": Y, "flag": Y > 1, "text": NAMES[:2], "sparse": SPARSE.tocsc(), "cell": cell}
    variables |= {"structure": {"source": cell, "deep": nested}, "complex": X * 1j, "empty": np.zeros((0, 0))}
    path = put(tmp_path / "given.mat", saved(savemat, variables))
    done = subprocess.run([sys.executable, "-c", FUZZ, path, " ".join(variables)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
