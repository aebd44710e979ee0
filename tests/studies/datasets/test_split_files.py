"""Published splits as MATLAB files: the rows that were written, counted from 0, or one sentence."""

from __future__ import annotations

import io
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import savemat

from conftest import real_data
from hostile import compressed, element, matlab_file, matlab_variable
from isthmus.data.domains import Domain
from isthmus.exceptions import InputError
from studies.datasets import load_office31_released, read_hoffman_splits, read_shfa_split
from studies.datasets.collection import Collection

N_SOURCE, N_TARGET = 30, 20
PARTS = ("source", "labelled", "test")
LITTLE = 16 * 2**20


def drawn(n_splits, seed=0):
    """Rows from 0 of as many splits: 12 of the source, 4 labelled and the others of the target."""
    rng = np.random.default_rng(seed)
    orders = [(rng.permutation(N_SOURCE), rng.permutation(N_TARGET)) for _ in range(n_splits)]
    return [(source[:12], target[:4], target[4:]) for source, target in orders]


def cells(arrays, *, column=False):
    out = np.empty((len(arrays), 1) if column else (1, len(arrays)), dtype=object)
    out.flat = [None] * len(arrays)
    for k, array in enumerate(arrays):
        out.flat[k] = array
    return out


def hoffman(splits, *, dtype=float, rows_as_columns=False, column=False, **more):
    """The variables of such a file, as MATLAB would have them."""

    def written(part):
        arrays = [np.atleast_2d(split[part] + 1).astype(dtype) for split in splits]
        return cells([array.T if rows_as_columns else array for array in arrays], column=column)

    return {
        "param": {"num_trials": 20.0, "categories": cells(["bike", "mug"]), "held_out_categories": False},
        "train": {"source": written(0), "target": written(1)},
        "test": {"source": cells([np.zeros((1, 0)), "none", 7.0]), "target": written(2)},
        **more,
    }


def shfa(split):
    names = ("source_index", "target_training_index", "target_test_index")
    return {name: rows[:, None] + 1.0 for name, rows in zip(names, split, strict=True)}


def saved(variables, **kwargs) -> bytes:
    file = io.BytesIO()
    savemat(file, variables, **kwargs)
    return file.getvalue()


def assert_rows(splits, true):
    assert len(splits) == len(true)
    for split, rows in zip(splits, true, strict=True):
        for name, part in zip(PARTS, rows, strict=True):
            np.testing.assert_array_equal(getattr(split, name), part)
            assert getattr(split, name).dtype == np.intp
        assert not len(split.unlabelled)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("splits") / "given.mat"


def refused(path, content, read=read_hoffman_splits) -> str:
    """The sentence that a file is refused with: in one line, without much memory."""
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            read(path, N_SOURCE, N_TARGET)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    sentence = str(caught.value)
    assert sentence.startswith(str(path))
    assert sentence.endswith(".")
    assert ": expected " in sentence
    assert sentence.isprintable()
    assert len(sentence) < 400 + len(str(path))
    assert peak < LITTLE
    return sentence.removeprefix(str(path))


class TestGoodFiles:
    @given(
        n_splits=st.integers(1, 20),
        dtype=st.sampled_from(["f8", "f4", "u1", "i4", "u8"]),
        rows_as_columns=st.booleans(),
        column=st.booleans(),
        squeeze=st.booleans(),
        long_names=st.booleans(),
    )
    @settings(max_examples=40)
    def test_hoffman(self, path, n_splits, dtype, rows_as_columns, column, squeeze, long_names):
        true = drawn(n_splits)
        variables = hoffman(true, dtype=dtype, rows_as_columns=rows_as_columns, column=column)
        savemat(path, variables, do_compression=squeeze, long_field_names=long_names)
        assert_rows(read_hoffman_splits(path, N_SOURCE, N_TARGET), true)

    @pytest.mark.parametrize("squeeze", [True, False])
    def test_shfa(self, path, squeeze):
        (true,) = drawn(1)
        savemat(path, shfa(true), do_compression=squeeze)
        assert_rows([read_shfa_split(path, N_SOURCE, N_TARGET)], [true])

    def test_fields_in_any_order_beside_others(self, path):
        true = drawn(2)
        variables = hoffman(true)
        variables["train"] = {"deep": {"er": {"s": cells([{"t": 1}])}}, **dict(reversed(variables["train"].items()))}
        savemat(path, variables)
        assert_rows(read_hoffman_splits(str(path), N_SOURCE, N_TARGET), true)

    def test_a_collection_takes_them_as_they_are(self, path):
        true = drawn(3)
        savemat(path, hoffman(true))
        X, y = np.arange(N_SOURCE)[:, None] * 1.0, np.arange(N_SOURCE) % 3
        domains = {"a": Domain(X, y), "d": Domain(X[:N_TARGET] * [[1.0, 2.0]], y[:N_TARGET])}
        objects = {"a": np.arange(N_SOURCE), "d": np.arange(100, 100 + N_TARGET)}
        collection = Collection("two", "two cameras", domains, objects, ("x", "y", "z"), "made here", "free")
        splits = read_hoffman_splits(path, len(collection["a"].y), len(collection["d"].y))
        for split, (source, labelled, test) in zip(splits, true, strict=True):
            pair = collection.pair("a", "d", split)
            np.testing.assert_array_equal(pair.X_source[:, 0], source)
            np.testing.assert_array_equal(pair.X_target[:, 0], labelled)
            np.testing.assert_array_equal(pair.X_test[:, 0], test)
            np.testing.assert_array_equal(pair.y_test, test % 3)

    @pytest.mark.data
    def test_the_splits_of_the_archive_written_as_their_authors_did(self, path):
        office = load_office31_released(real_data("office31/office31_surf_released.npz"))
        n_source, n_target = (len(office[name].y) for name in office.split_domains["hoffman"])
        for name in ("hoffman", "shfa"):
            true = [tuple(getattr(split, part) for part in PARTS) for split in office.splits[name]]
            savemat(path, hoffman(true) if name == "hoffman" else shfa(true[0]), do_compression=True)
            read = read_hoffman_splits if name == "hoffman" else read_shfa_split
            found = read(path, n_source, n_target)
            assert_rows(found if isinstance(found, tuple) else [found], true)


def changed(part, k, rows):
    """A file of three splits, one part of one of them replaced by rows as the file counts them."""
    variables = hoffman(drawn(3))
    name, field = part.split(".")
    variables[name][field].flat[k] = rows
    return saved(variables)


ONES = np.ones((1, 1))
COMPLEX, TEXT, SPREAD = np.array([[1 + 1j]]), "12", np.arange(1, 5).reshape(2, 2)
WRONG = {
    "row 0": (("train.source", 1, [0, 1]), "'train'.source{2}: expected whole numbers of shape (any,), from 1 to 30"),
    "row beyond": (("train.source", 0, [31]), "'train'.source{1}: expected whole numbers"),
    "target row beyond": (("test.target", 2, [21]), "'test'.target{3}: expected whole numbers of shape (any,), from"),
    "fraction": (("train.target", 0, [1.5]), "'train'.target{1}: expected whole numbers, got fractions"),
    "nan": (("train.target", 0, [np.nan]), "got NaN or inf"),
    "twice": (("train.source", 1, [7, 3, 7]), "split 2, source rows: expected every entry once, got 7 2 times"),
    "more rows than there are": (("train.target", 0, [1] * 21), "split 1, labelled rows: expected every entry once"),
    "no rows": (("train.source", 2, np.zeros((1, 0))), "split 3: expected at least one source row, got none"),
    "no rows, as MATLAB has it": (("test.target", 2, np.zeros((0, 0))), "got shape (0, 0)"),
    "table": (("train.source", 0, SPREAD), "got shape (2, 2)"),
    "text": (
        ("train.source", 0, TEXT),
        "'train'.source{1}: expected whole numbers of shape (any,), from 1 to 30, got",
    ),
    "complex": (("train.source", 0, COMPLEX), "got complex numbers"),
    "cells in cells": (("train.source", 0, cells([ONES])), "got a cell array"),
    "structure in cells": (("train.source", 0, {"a": 1}), "got a structure"),
}


class TestWrongRows:
    @pytest.mark.parametrize("wrong", WRONG)
    def test_the_cell_is_named(self, path, wrong):
        change, said = WRONG[wrong]
        assert said in refused(path, changed(*change))

    def test_a_row_in_training_and_test(self, path):
        (source, labelled, test), *others = drawn(2)
        leak = [*others, (source, labelled, np.r_[test, labelled[:1]])]
        assert "split 2: expected test rows that are not labelled rows too, got 1" in refused(
            path, saved(hoffman(leak))
        )
        assert "got 1 in both" in refused(path, saved(shfa(leak[1])), read_shfa_split)

    @pytest.mark.parametrize("part", ["train.source", "train.target", "test.target"])
    def test_another_number_of_splits(self, path, part):
        variables = hoffman(drawn(3))
        name, field = part.split(".")
        variables[name][field] = variables[name][field][:, :2]
        assert "as many in every field, got " in refused(path, saved(variables))

    def test_no_splits(self, path):
        assert "at least one split" in refused(path, saved(hoffman([])))

    @pytest.mark.slow
    def test_too_many_splits(self, path):
        assert "at most 1000 cells" in refused(path, saved(hoffman(drawn(1) * 1001)))

    def test_missing_parts_are_named(self, path):
        variables = hoffman(drawn(2))
        assert "a variable 'test'" in refused(path, saved({"train": variables["train"]}))
        del variables["train"]["target"]
        assert "'train': expected a field 'target', got source." in refused(path, saved(variables))
        assert "a variable 'target_test_index'" in refused(path, saved({**shfa(drawn(1)[0]), "target_test_index": []})
            .replace(b"target_test_index", b"target_text_index"), read_shfa_split)  # fmt: skip

    @pytest.mark.parametrize("kind", [3.0, "text", cells([ONES, ONES]), np.zeros(2, dtype=[("source", object)])])
    def test_other_kinds_of_variables(self, path, kind):
        refused(path, saved({**hoffman(drawn(2)), "train": kind}))
        refused(path, saved({**hoffman(drawn(2)), "train": {"source": kind, "target": kind}}))
        refused(path, saved({**shfa(drawn(1)[0]), "source_index": {"a": kind}}), read_shfa_split)

    @pytest.mark.parametrize("n", [0, -1, 2.5, None, True])
    def test_numbers_of_rows_that_are_none(self, path, n):
        with pytest.raises(InputError, match="n_source: expected"):
            read_hoffman_splits(path, n, N_TARGET)
        with pytest.raises(InputError, match="n_target: expected"):
            read_shfa_split(path, N_SOURCE, n)


GOOD = {
    "stored": (saved(hoffman(drawn(3))), read_hoffman_splits),
    "deflated": (saved(hoffman(drawn(3)), do_compression=True), read_hoffman_splits),
    "shfa stored": (saved(shfa(drawn(1)[0])), read_shfa_split),
    "shfa deflated": (saved(shfa(drawn(1)[0]), do_compression=True), read_shfa_split),
}


@pytest.mark.parametrize("kind", GOOD)
class TestDamage:
    def test_cut_short(self, path, kind):
        content, read = GOOD[kind]
        for length in range(0, len(content), 1 + len(content) // 150):
            refused(path, content[:length], read)

    @pytest.mark.slow
    @given(flips=st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), min_size=1, max_size=4))
    @settings(max_examples=300)
    def test_flipped_bytes(self, path, kind, flips):
        content, read = GOOD[kind]
        damaged = bytearray(content)
        for place, mask in flips:
            damaged[place % len(damaged)] ^= mask
        path.write_bytes(damaged)
        try:
            found = read(path, N_SOURCE, N_TARGET)
        except InputError:
            refused(path, bytes(damaged), read)
            return
        # Nothing in a stored file tells a flipped row number from a true one, but what is read is a split.
        for split in found if isinstance(found, tuple) else [found]:
            target = np.r_[split.labelled, split.test]
            for rows, n in ((split.source, N_SOURCE), (target, N_TARGET)):
                assert len(rows)
                assert len(set(rows)) == len(rows)
                assert 0 <= rows.min() <= rows.max() < n
        if "deflated" in kind:
            true = drawn(3 if read is read_hoffman_splits else 1)
            assert_rows(found if isinstance(found, tuple) else [found], true)


def variable(content: bytes, length: int | None = None) -> bytes:
    return element(14, content, length)


def cell(name: str, *contents: bytes, shape: tuple[int, ...] | None = None) -> bytes:
    return matlab_variable(name, 1, shape or (1, len(contents)), *contents)


def structure(name: str, names: list[str], *contents: bytes, width: int = 32, shape=(1, 1), most=None) -> bytes:
    table = b"".join(field.encode().ljust(width, b"\0") for field in names)
    return matlab_variable(
        name, 2, shape, element(5, width.to_bytes(4, "little")), element(1, table[:most]), *contents
    )


def rows(*numbers: float, shape: tuple[int, ...] | None = None) -> bytes:
    return variable(
        matlab_variable("", 6, shape or (1, len(numbers)), element(9, np.array(numbers, "<f8").tobytes()))
    )


def nest(depth: int, field: str | None = None) -> bytes:
    """A variable in a variable, so many times."""
    content = rows(1)
    for _ in range(depth):
        content = variable(structure("", [field], content) if field else cell("", content))
    return content


ONE = variable(cell("", rows(1)))
TWO = variable(cell("", rows(2)))
FIELDS = ["source", "target"]
TEST = variable(structure("test", ["target"], TWO))
ZEROS = bytes(2**27)
HOSTILE = {
    "cells nested in place of rows": structure("train", FIELDS, variable(cell("", nest(5000))), ONE),
    "structures nested in place of cells": structure("train", FIELDS, nest(3000, "source"), ONE),
    "claims 2 billion cells": structure("train", FIELDS, variable(cell("", rows(1), shape=(1, 2**31 - 1))), ONE),
    "claims cells beyond all": structure("train", FIELDS, variable(cell("", rows(1), shape=(2**31 - 1,) * 31)), ONE),
    "claims more cells than there are": structure("train", FIELDS, variable(cell("", rows(1), shape=(1, 9))), ONE),
    "claims fewer cells": structure("train", FIELDS, variable(cell("", rows(1), rows(2), shape=(1, 1))), ONE),
    "negative cells": structure("train", FIELDS, variable(cell("", rows(1), shape=(-1, -1))), ONE),
    "square of cells": structure("train", FIELDS, variable(cell("", *4 * [rows(1)], shape=(2, 2))), ONE),
    "claims 8 GB in a cell": structure("train", FIELDS, variable(cell("", rows(1, shape=(1, 2**30)))), ONE),
    "cell larger than its array": structure("train", FIELDS, variable(cell("", variable(rows(1)[8:], 4096))), ONE),
    "cell of 4 GB": structure("train", FIELDS, variable(cell("", variable(rows(1)[8:], 2**32 - 8))), ONE),
    "cell smaller than its array": structure("train", FIELDS, variable(cell("", variable(rows(1)[8:], 40))), ONE),
    "empty place": structure("train", FIELDS, variable(cell("", variable(b""))), ONE),
    "not an array in a cell": structure("train", FIELDS, variable(cell("", element(9, bytes(8)))), ONE),
    "compressed in a cell": structure("train", FIELDS, variable(cell("", compressed(rows(1)[8:]))), ONE),
    "skipped field of 4 GB": structure("train", ["a", *FIELDS], variable(b"", 2**32 - 8), ONE, ONE),
    "skipped field inflates": structure("train", ["a", *FIELDS], variable(ZEROS), ONE, ONE),
    "skipped fields inflate": structure("train", [*"abc", *FIELDS], *3 * [variable(ZEROS[: 2**25])], ONE, ONE),
    "field twice": structure("train", [*FIELDS, "source"], ONE, ONE, ONE),
    "fewer fields than names": structure("train", FIELDS, ONE),
    "more fields than names": structure("train", FIELDS, ONE, ONE, ONE),
    "many fields": structure("train", FIELDS * 5000, *2 * [ONE]),
    "names of width 0": structure("train", FIELDS, ONE, ONE, width=0),
    "names of width 2**31 - 1": matlab_variable("train", 2, (1, 1), element(5, b"\xff\xff\xff\x7f"), element(1, b"")),
    "names cut": structure("train", FIELDS, ONE, ONE, most=50),
    "many structures": structure("train", FIELDS, ONE, ONE, shape=(1, 2**31 - 1)),
    "no structure": structure("train", FIELDS, shape=(0, 0)),
    "numbers after": structure("train", FIELDS, ONE, ONE) + element(9, bytes(8)),
}


def big_endian(content: bytes) -> bytes:
    """The same elements, as a machine of the other byte order writes them."""
    out, at = b"", 0
    while at < len(content):
        kind, length = struct.unpack_from("<2L", content, at)
        body = content[at + 8 : at + 8 + length]
        width = {1: 1, 5: 4, 6: 4, 9: 8}.get(kind, 0)
        swapped = (
            np.frombuffer(body, f"V{width}").view(f"u{width}").byteswap().tobytes() if width else big_endian(body)
        )
        out += struct.pack(">2L", kind, length) + swapped + bytes(-length % 8)
        at += 8 + length + -length % 8
    return out


def test_the_other_byte_order(path):
    train = variable(structure("train", ["other", *FIELDS], rows(300), variable(cell("", rows(1, 30))), ONE))
    header = matlab_file()[:124] + b"\x01\x00MI"
    path.write_bytes(header + big_endian(train + TEST))
    assert_rows(read_hoffman_splits(path, N_SOURCE, N_TARGET), [([0, 29], [0], [1])])


class TestHostile:
    @pytest.mark.parametrize("bad", [bad for bad in HOSTILE if "inflate" not in bad])
    def test_refused_stored(self, path, bad):
        refused(path, matlab_file(variable(HOSTILE[bad]), TEST))

    @pytest.mark.parametrize("bad", HOSTILE)
    def test_refused_compressed(self, path, bad):
        content = matlab_file(compressed(HOSTILE[bad]), TEST)
        assert len(content) < 2**20
        refused(path, content)

    def test_many_times_the_same_row(self, path):
        content = matlab_variable("source_index", 6, (2**21, 1), element(9, np.ones(2**21).tobytes()))
        assert "at most 8388608 bytes" in refused(path, matlab_file(compressed(content)), read_shfa_split)

    @pytest.mark.parametrize("wrap", [variable, compressed])
    def test_what_does_not_lie_is_read(self, path, wrap):
        nested = [nest(5), nest(5, "source")]
        good = structure("train", ["a", "source", "b", "target"], nested[0], ONE, nested[1], ONE)
        path.write_bytes(matlab_file(wrap(good), TEST, variable(cell("other", nest(3000)))))
        assert_rows(read_hoffman_splits(path, N_SOURCE, N_TARGET), [([0], [0], [1])])
