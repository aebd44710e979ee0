"""Archives from others: the right arrays, or one sentence; nothing is run, nothing warns, and memory stays bounded."""

from __future__ import annotations

import errno
import os
import pickle
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from hostile import FLIPS, LITTLE, Entry, archive, deflated, flipped, npy, npy_header, put, refused, saved
from isthmus._core.archives import Expected, read_npz
from isthmus.exceptions import InputError

RNG = np.random.default_rng(0)
X, Y, NAMES = RNG.normal(size=(6, 3)).astype(np.float32), np.arange(6) % 3 + 1, np.array(["bike", "mug", "élan"])
ARRAYS = {"X": X, "y": Y, "classes": NAMES}
WANTED = {
    "X": Expected((None, 3), "number"),
    "y": Expected((6,), "whole", low=1, high=3),
    "classes": Expected((3,), "text"),
}
NPZ = {"deflated": saved(np.savez_compressed, **ARRAYS), "stored": saved(np.savez, **ARRAYS)}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A place for one file after the other."""
    return tmp_path_factory.mktemp("files") / "given"


def assert_same(found, true):
    assert list(found) == list(true)
    for name, array in found.items():
        np.testing.assert_array_equal(array, true[name])


class TestGoodFiles:
    """What is in order is read, and read right: the readers here against NumPy's and SciPy's."""

    @given(
        array=arrays(
            st.sampled_from(["<f4", ">f8", "<f2", "|i1", ">i4", "<u8", "|u1"]),
            array_shapes(min_dims=0, max_dims=3, min_side=0),
            elements={"min_value": 0, "max_value": 100},
        ),
        fortran=st.booleans(),
        save=st.sampled_from([np.savez, np.savez_compressed]),
    )
    def test_numbers(self, path, array, fortran, save):
        array = np.asarray(array, order="F" if fortran else "C")
        put(path, saved(save, a=array, other=np.array([None])))
        found = read_npz(path, {"a": Expected((None,) * array.ndim, "number")})["a"]
        np.testing.assert_array_equal(found, array)
        assert found.dtype.isnative
        assert found.flags.writeable

    @given(arrays("U5", array_shapes(max_dims=2), elements=st.text(st.characters(categories=["L", "N"]), max_size=5)))
    def test_text(self, path, array):
        put(path, saved(np.savez, a=array))
        np.testing.assert_array_equal(read_npz(path, {"a": Expected((None,) * array.ndim, "text")})["a"], array)


@pytest.mark.parametrize("kind", NPZ)
class TestDamage:
    """Every byte counts, or does not matter."""

    def test_cut_short(self, path, kind):
        assert_same(read_npz(put(path, NPZ[kind]), WANTED), ARRAYS)
        for length in range(0, len(NPZ[kind]), 1 + len(NPZ[kind]) // 150):
            refused(read_npz, put(path, NPZ[kind][:length]), WANTED)

    @given(start=st.sampled_from([0, 5, 40]), content=st.binary(max_size=300))
    def test_any_bytes(self, path, kind, start, content):
        refused(read_npz, put(path, NPZ[kind][:start] + content), WANTED)

    @pytest.mark.slow
    @given(flips=FLIPS)
    @settings(max_examples=120)
    def test_flipped_bytes(self, path, kind, flips):
        put(path, flipped(NPZ[kind], flips))
        try:
            found = read_npz(path, WANTED)
        except InputError:
            refused(read_npz, path, WANTED)
        else:
            assert_same(found, ARRAYS)


class TestNoFile:
    """What is there in place of a file that can be read is said."""

    def test_missing(self, tmp_path):
        assert "found none" in refused(read_npz, tmp_path / "none", WANTED)

    def test_a_folder(self, tmp_path):
        assert "a folder" in refused(read_npz, tmp_path, WANTED)

    def test_a_loop_of_links(self, tmp_path):
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        refused(read_npz, tmp_path / "loop", WANTED)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
    def test_a_pipe_is_not_waited_for(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        assert "pipe" in refused(read_npz, tmp_path / "pipe", WANTED)

    def test_no_permission(self, path, monkeypatch):
        def closed(*_):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

        put(path, NPZ["stored"])
        with monkeypatch.context() as patch:  # and not by chmod: some users may read everything
            patch.setattr(os, "open", closed)
            assert os.strerror(errno.EACCES) in refused(read_npz, path, WANTED)

    def test_a_path_that_is_none(self):
        with pytest.raises(InputError, match="expected"):
            read_npz(Path("a\0b"), WANTED)

    def test_a_name_with_a_line_break_does_not_break_the_sentence(self, tmp_path):
        with pytest.raises(InputError) as caught:
            read_npz(put(tmp_path / "a\nb", b""), WANTED)
        assert str(caught.value).isprintable()


class Payload:
    """Unpickled, it leaves a folder behind."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


class TestPickles:
    """Nothing in a file is ever run."""

    @pytest.mark.parametrize("as_archive", ["objects", "fields", "pickle in a member", "npy", "pickle"])
    def test_nothing_is_unpickled(self, tmp_path, as_archive):
        marker = tmp_path / "marker"
        objects = np.array([Payload(marker)], dtype=object)
        stream = pickle.dumps(Payload(marker))
        content = {
            "objects": lambda: saved(np.savez, X=objects),
            "fields": lambda: saved(np.savez, X=np.array([(objects[0], 1.0)], dtype=[("a", "O"), ("b", "f8")])),
            "pickle in a member": lambda: archive(Entry(b"X.npy", stream)),
            "npy": lambda: npy(objects, allow_pickle=True),
            "pickle": lambda: stream,
        }[as_archive]()
        sentence = refused(read_npz, put(tmp_path / "bad.npz", content), {"X": Expected((None,), "number")})
        assert not marker.exists()
        assert as_archive != "objects" or "never unpickled" in sentence
        pickle.loads(stream)
        assert marker.exists(), "the payload would have worked"

    @pytest.mark.parametrize(
        "header",
        [
            "__import__('os').mkdir('marker')",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (__import__('os').mkdir('marker'),), }",
            "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (1,,2), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (1 1), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (" + "9" * 5000 + ",), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (" + "1," * 4000 + "), }",
            "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1,), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)" + " " * 9000,
            "{'descr': '\\d', 'fortran_order': False, 'shape': (1,), }",
            "(" * 9000,
            "-" * 9000 + "1",
            "",
        ],
    )
    def test_headers_are_matched_and_not_evaluated(self, tmp_path, monkeypatch, header):
        monkeypatch.chdir(tmp_path)
        content = archive(Entry(b"X.npy", npy_header(header) + bytes(8)))
        refused(read_npz, put(tmp_path / "bad.npz", content), {"X": Expected((None,), "number")})
        assert not (tmp_path / "marker").exists()


HEADER_10_GB = npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (1250000000,), }")
ZEROS = bytes(40 * 2**20)
TWO = npy(np.zeros(2))
BOMBS = {
    "claims 10 GB": Entry(b"X.npy", HEADER_10_GB, size=2**32 - 2, packed_content=deflated(HEADER_10_GB + ZEROS)),
    "claims what cannot be": Entry(b"X.npy", TWO, size=900 * 2**20),
    "zip64": Entry(b"X.npy", TWO, size=2**32 - 1),
    "header of 4 GB": Entry(b"X.npy", npy_header("", (2, 0), 2**32 - 1) + ZEROS),
    "shape beyond its bytes": Entry(b"X.npy", npy(np.zeros(3))[:-8]),
    "bytes beyond its shape": Entry(b"X.npy", npy(np.zeros(2)) + bytes(8)),
    "hidden by a length of zero": Entry(
        b"X.npy", npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 99999999999999999), }")
    ),
}


class TestLyingArchives:
    """What a directory says is checked, not believed."""

    @pytest.mark.parametrize("bomb", BOMBS)
    def test_bombs(self, path, bomb):
        content = archive(BOMBS[bomb])
        assert len(content) < 200_000
        axes = 2 if "zero" in bomb else 1
        refused(read_npz, put(path, content), {"X": Expected((None,) * axes, "number")})

    @pytest.mark.parametrize(
        "content",
        [
            archive(Entry(b"X.npy", TWO, crc=1)),
            archive(Entry(b"X.npy", TWO, flags=1)),
            archive(Entry(b"X.npy", TWO, method=12)),
            archive(Entry(b"X.npy", TWO, method=0, size=len(TWO) - 8)),
            archive(Entry(b"X.npy", TWO, method=0, packed=len(TWO) + 8, size=len(TWO) + 8)),
            archive(Entry(b"X.npy", TWO, packed_content=deflated(TWO)[:-3])),
            archive(Entry(b"X.npy", TWO, start=2**31)),
            archive(Entry(b"X.npy", TWO), shift=1),
            archive(Entry(b"X.npy", TWO), shift=2**31),
            archive(Entry(b"X.npy", TWO), Entry(b"\xff\xfe", TWO, flags=0x800)),
            archive(*(Entry(b"%d" % k, b"", method=0) for k in range(5000))),
            archive(),
            b"PK\x05\x06",
            npy(np.zeros(2)),
            b"",
        ],
    )
    def test_lies(self, path, content):
        refused(read_npz, put(path, content), {"X": Expected((None,), "number")})

    def test_what_a_member_inflates_to_beyond_its_size_is_left_alone(self, path):
        put(path, archive(Entry(b"X.npy", TWO, packed_content=deflated(TWO + ZEROS))))
        tracemalloc.start()
        assert read_npz(path, {"X": Expected((2,), "number")})["X"].tolist() == [0, 0]
        assert tracemalloc.get_traced_memory()[1] < LITTLE
        tracemalloc.stop()

    @pytest.mark.parametrize("comment", [b"", b"a comment", bytes(0xFFFF)])
    def test_what_does_not_lie_is_read(self, path, comment):
        content = archive(Entry(b"../X.npy", TWO), Entry(b"X.npy", TWO), Entry(b"X", b"?"), comment=comment)
        assert read_npz(put(path, content), {"X": Expected((2,), "number")})["X"].tolist() == [0, 0]

    @pytest.mark.parametrize(
        ("array", "expected", "said"),
        [
            (np.zeros((3, 2)), Expected((None, 3), "number"), r"shape \(any, 3\), got shape \(3, 2\)"),
            (np.zeros(3), Expected((None, 3), "number"), r"got shape \(3,\)"),
            (np.zeros(()), Expected((1,), "number"), r"got shape \(\)"),
            (np.zeros(2), Expected((2,), "whole"), "whole numbers of shape .*, got type 'f8'"),
            (np.array(["a"]), Expected((1,), "number"), "numbers of shape .*, got type 'U1'"),
            (np.zeros(2), Expected((2,), "text"), "text of shape .*, got type 'f8'"),
            (np.array([b"a"]), Expected((1,), "text"), "got type 'S1'"),
            (np.zeros(1, complex), Expected((1,), "number"), "got type 'c16'"),
            (np.zeros(1, "M8[s]"), Expected((1,), "number"), "got type 'M8"),
            (np.zeros(1, np.longdouble), Expected((1,), "number"), "got type 'f16'"),
            (np.array([1.0, np.nan]), Expected((2,), "number"), "finite numbers, got NaN or inf"),
            (np.array([1.0, -np.inf]), Expected((2,), "number"), "finite numbers, got NaN or inf"),
            (np.array([1, 7]), Expected((2,), "whole", low=1, high=6), "from 1 to 6, got 7"),
            (np.array([0, 6]), Expected((2,), "whole", low=1, high=6), "from 1 to 6, got 0"),
            (np.array([2**64 - 1], np.uint64), Expected((1,), "whole"), "got 18446744073709551615"),
            (np.array(["a\nb"]), Expected((1,), "text"), "printable text"),
            (np.array(["a\0b"]), Expected((1,), "text"), "printable text"),
            (np.array(["\x1b[2J"]), Expected((1,), "text"), "printable text"),
            (np.array(["\ud800"]), Expected((1,), "text"), "printable text"),
            (np.array([0x110000], np.uint32).view("U1"), Expected((1,), "text"), "printable text"),
        ],
    )
    def test_not_as_expected(self, path, array, expected, said):
        sentence = refused(read_npz, put(path, archive(Entry(b"X.npy", npy(array)))), {"X": expected})
        assert sentence.startswith(f"{path}, 'X': ")
        assert re.search(said, sentence), sentence

    def test_a_missing_array_is_named_beside_those_there_are(self, path):
        sentence = refused(read_npz, put(path, NPZ["stored"]), {"Z": WANTED["X"]})
        assert sentence == f"{path}: expected an array 'Z', got only 'X', 'y', 'classes'."


def test_bombs_in_a_process_that_has_no_memory_for_them(tmp_path):
    """The measure of the tests above counts what Python allocates; the system counts everything."""
    for k, bomb in enumerate(BOMBS.values()):
        put(tmp_path / f"{k}.npz", archive(bomb))
    script = """
import resource, sys
from pathlib import Path
from isthmus._core.archives import Expected, read_npz
from isthmus.exceptions import InputError
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 32 * 2**20,) * 2)
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        read_npz(path, {"X": Expected((None,), "number")})
    except InputError as error:
        assert "memory" not in str(error), error
    else:
        raise SystemExit(f"{path} was read")
"""
    if not Path("/proc/self/statm").exists():
        pytest.skip("this system does not say how much memory a process has")
    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_reader_may_allow_arrays_of_another_size(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.ones(4))
    assert len(read_npz(tmp_path / "a.npz", {"x": Expected((4,), "number", most_bytes=32)})["x"]) == 4
    with pytest.raises(InputError, match=r"expected at most 31 bytes, got a claim of \(4,\) at 8 bytes each\.$"):
        read_npz(tmp_path / "a.npz", {"x": Expected((4,), "number", most_bytes=31)})
