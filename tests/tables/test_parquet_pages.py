"""The headers of Parquet files: all that polars writes is let through, bombs and broken ones are one sentence."""

import datetime
import io
import subprocess
import sys
import time
from base64 import b85decode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isthmus.exceptions import InputError
from isthmus.tables import RowBlocks, limits, parquet_rows, read_table
from isthmus.tables.parquet_pages import _Claims, require_pages
from isthmus.tables.parquet_rows import ParquetRows
from isthmus.tables.thrift import Compact

pl = pytest.importorskip("polars")


def frame(n=500):
    words = [f"word {i % 7}" for i in range(n)]
    return pl.DataFrame(
        {
            "x": [i / 3 for i in range(n)],
            "some": [i if i % 3 else None for i in range(n)],
            "yes": [i % 2 == 0 for i in range(n)],
            "word": words,
            "text": [f"{i} {'long ' * (i % 20)}" for i in range(n)],
            "kind": pl.Series(words, dtype=pl.Categorical),
            "day": [datetime.date(2024, 1, 1)] * n,
            "list": [[1.0] * (i % 4) for i in range(n)],
            "pair": pl.Series([[1.0, 2.0]] * n, dtype=pl.Array(pl.Float32, 2)),
            "struct": [{"a": i, "b": {"c": str(i)}} for i in range(n)],
            "nothing": pl.Series([None] * n, dtype=pl.Float64),
        }
    )


def written(table, **settings):
    content = io.BytesIO()
    table.write_parquet(content, **settings)
    return content.getvalue()


@pytest.mark.parametrize("compression", ["uncompressed", "snappy", "gzip", "brotli", "lz4", "zstd"])
@pytest.mark.parametrize("more", [{}, {"statistics": False}, {"row_group_size": 70, "data_page_size": 100}])
def test_whatever_polars_writes_is_counted_to_the_last_value(compression, more):
    """The values that the pages claim are those that there are, and unpacked bytes no less than the values need."""
    table = frame()
    content = written(table, compression=compression, **more)
    require_pages(content, "table")
    claims = counted(content)
    assert claims.rows == table.height
    flat = table.select("x", "day", "list", "struct")
    assert claims.unpacked >= 8 * flat["x"].len() + sum(len(t) for t in table["text"])
    assert claims.cells >= 8 * (table.height * 10 + 2 * table.height)  # `pair` has two values a row


def counted(content):
    """What was added up."""
    found = []
    plain = _Claims.of_footer

    def of_footer(self, footer):
        plain(self, footer)
        found.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Claims, "of_footer", of_footer)
        require_pages(content, "table")
    return found[0]


@pytest.mark.parametrize("table", [frame(0), pl.DataFrame(), frame(1)])
def test_tables_with_hardly_anything_in_them_have_good_headers(table):
    require_pages(written(table), "table")


ASKED = """
import resource, sys, time
from isthmus.exceptions import InputError
from isthmus.tables import RowBlocks, read_table
import polars, isthmus.tables.parquet_rows
polars.DataFrame({"a": [1]}).lazy().collect()
before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
for read in (read_table, lambda path: next(iter(RowBlocks(path)))):
    try:
        read(sys.argv[1])
    except InputError as error:
        print(error)
print(time.process_time() - began, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def refused(path):
    """What a new process says to a file, the processor seconds, and the memory in MB that it took."""
    done = subprocess.run([sys.executable, "-c", ASKED, str(path)], capture_output=True, text=True, check=True)
    *said, figures = done.stdout.splitlines()
    seconds, memory = map(float, figures.split())
    return said, seconds, memory


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is in kB there")
@pytest.mark.parametrize("kind", ["text", "list", "numbers"])
def test_a_bomb_is_refused_at_once(tmp_path, kind):
    """Hundreds of megabytes in a small file: texts of one letter and many lengths, a list of zeros, zeros."""
    path = tmp_path / "bomb.parquet"
    bombs = {
        "text": lambda: ["a" * n for n in range(40_000, 46_500)],
        "list": lambda: pl.zeros(34_000_000, eager=True).reshape((-1, 1000)).arr.to_list(),
        "numbers": lambda: pl.zeros(34_000_000, eager=True),
    }
    pl.DataFrame({"a": bombs[kind]()}).write_parquet(path, compression="zstd", row_group_size=2**30)
    assert path.stat().st_size < 2**20
    said, seconds, memory = refused(path)
    for sentence, what in zip(said, ["a file", "a row group or a run of 20000 rows"], strict=True):
        assert sentence.startswith(
            f"{path}: expected {what} that unfolds to at most {limits.ROOM} bytes, got one that"
        )
    assert seconds < 1.0
    assert memory < 200.0


@pytest.mark.parametrize("group", [100, 1000, 10_000])
def test_of_rows_that_are_read_in_runs_only_a_run_counts(tmp_path, monkeypatch, group):
    """Forty columns of few values: a page is next to nothing, the whole is six times the room."""
    monkeypatch.setattr(limits, "ROOM", 2**20)
    monkeypatch.setattr(limits, "FACTOR", 1)
    path, n = tmp_path / "a.parquet", 20_000
    pl.DataFrame({f"c{i}": [0.0, 1.0] * (n // 2) for i in range(40)}).write_parquet(path, row_group_size=group)
    with pytest.raises(
        InputError, match=r"expected a file that unfolds to at most \d+ bytes, got one that claims \d+ or"
    ):
        read_table(path)
    monkeypatch.setattr(parquet_rows, "RUN", 1000)
    readers = [lambda: sum(t.n_rows for t in RowBlocks(path, 1000)), lambda: ParquetRows(path, "c0").n]
    for read in readers:
        if group <= 1000:
            assert read() == n
        else:  # a row group is more than a run, and is what is unpacked
            with pytest.raises(
                InputError, match=r"expected a row group or a run of 1000 rows that unfolds to at most"
            ):
                read()
    monkeypatch.setattr(parquet_rows, "RUN", n)
    for read in (lambda: list(RowBlocks(path, n)), lambda: ParquetRows(path, "c0")):  # many groups in one run
        with pytest.raises(InputError, match=r"expected a row group or a run of 20000 rows that unfolds to at most"):
            read()


def test_what_is_encrypted_cut_or_elsewhere_is_one_sentence(tmp_path):
    good, path = written(frame(50)), tmp_path / "a.parquet"
    length = int.from_bytes(good[-8:-4], "little")
    wrong = {
        "an encrypted one": good[:-4] + b"PARE",
        "another file, or a part of one": good[:-20],
        "a footer that is longer than the file": good[:-8] + (2**31).to_bytes(4, "little") + b"PAR1",
        "a header": good[:-8] + (length - 30).to_bytes(4, "little") + b"PAR1",
        "a column outside of the file": b"PAR1" + good[-length - 8 :],
    }
    for said, content in wrong.items():
        path.write_bytes(content)
        for read in (read_table, lambda file: next(iter(RowBlocks(file))), lambda file: ParquetRows(file, "x")):
            with pytest.raises(InputError, match=r"a\.parquet: expected .* got: ") as caught:
                read(path)
            assert said in str(caught.value) or said == "a header"


# By pyarrow 26: texts in the coding DELTA_BYTE_ARRAY, 2,000 of 200,000 letters and 50 of 100; a table without rows.
BOMB = (
    "P(e~L6#y09+!z(q0W1}u9~BN21{DSz0000ewJ-gkFBby<ECK)|0|Nj60H7ZMfB^*14*&oX0000$4Fdpx0R+$wg0&d`v=|Z+5)uFa"
    "05uHMFi^ul4Fh2W0Nwp~E(p9(a0H7wFeo4fwEzHEVK6Z=Gc+|eH#j*00K>QZxb={OD-{G8EHwZa26JO*Wo=;<0ss{ZB?1@$VI=@e"
    "8~^|S7N8#)92p!Y02~zz86^e|85jX!6$}=j9~O+=7#4y8CJ0F!6#x|u6#@V}7ND=Z{Q?;V872Ur9{>OV7L45(7N8#{2o{0@04N}E"
    "VRCVGWppiLaBwYQa&m8XAa-SPb7^mGATl;CFfK6}92@`u0FVFx08l|vF#"
)
DELTA = (
    "P(e~L6#x~C1QnP8EEQxG4iyF!1{?qY04TLD{a^+F6#@Vh0|Ed50AvAx0R%Dt00#g70Av7w0R%G20mlIc2LJ#7GMP*!lgVUZFflSS"
    "G&MFiI5`CXTS^3YdQ&(8DkNirFckzDEHwZa26JO*Wo=;<0ss{ZB?1@$VI=@e8~^|S7GxP585|}692E>1B?b-|7y)4w3>IV-wgeW!"
    "0VW7Z92Ec+4iy3bJQnm$83q|90Av6F02a0c7Gx#}7Qz7lC?IfQa&dKKbS-0Wa4lhSa&LDac4cyNX>V>IGBz$SE-@J#8~^|ShX4Qo"
    "P(e~L"
)
EMPTY = (
    "P(e~L6$BLk6#`5Z02Kfd0000L1Q{$f02l^yV`yb<VHE-Z6$~W;7y)4=08AVJ000&M85|iLCIB223>hT=1{oLuVHE-v02Uk;9wq=L"
    "2q_#D1Qh@k0ssI27917;CI}WD04N}EVRCVGWppiLaBwYQa&m8XAa-SPb7^mGATl;CFfK6}92@`u0D1rb08l|vF#"
)


def test_texts_that_say_how_much_they_share_are_let_in_where_that_is_little(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(b85decode(BOMB))
    for read in (read_table, lambda file: next(iter(RowBlocks(file))), lambda file: ParquetRows(file, "x")):
        with pytest.raises(InputError, match=r"got: texts in the coding DELTA_BYTE_ARRAY, which may fill the memory"):
            read(path)
    path.write_bytes(b85decode(DELTA))
    assert read_table(path).column("a").to_list() == ["a" * 100 + str(i % 10) for i in range(50)]


def test_a_table_without_rows_by_another_writer_has_good_headers():
    require_pages(b85decode(EMPTY), "table")


def test_a_dictionary_at_0_is_none():
    content = written(frame(10).select("x"))
    claims = _Claims(content, "table", len(content) - 8 - int.from_bytes(content[-8:-4], "little"), widths=[8])
    walked = []
    claims._pages = lambda *pages: walked.append(pages[0])
    for more in ({}, {11: 0}, {11: 7}):
        claims.walked = 0
        claims._chunk({3: {5: 10, 6: 80, 7: 1, 9: 4} | more}, 8)
    assert walked == [4, 4, 7]


def test_numbers_and_structures_without_an_end_are_refused():
    deep = b"\x1c" * 60 + b"\x00" * 60
    for content, wanted in (
        (b"\x16" + b"\xff" * 20, {1: int}),
        (deep, {}),
        (b"\x19\xfc\xff\xff\xff\x0f", {}),
        (b"", {}),
    ):
        with pytest.raises(ValueError, match=r"without an end|too deep|cut off"):
            Compact(content).structure(wanted)


SMALL = written(frame(40), compression="zstd", row_group_size=20)
FOOTER = len(SMALL) - 8 - int.from_bytes(SMALL[-8:-4], "little")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    flips=st.lists(st.tuples(st.integers(FOOTER, len(SMALL) - 1), st.integers(1, 255)), min_size=1, max_size=6),
    anywhere=st.lists(st.tuples(st.integers(0, len(SMALL) - 1), st.integers(1, 255)), max_size=2),
)
def test_mutated_footers_are_a_table_or_one_sentence(tmp_path, flips, anywhere):
    content = bytearray(SMALL)
    for place, change in [*flips, *anywhere]:
        content[place] ^= change
    path = tmp_path / "a.parquet"
    path.write_bytes(content)
    began, said = time.process_time(), []
    for read in (lambda file: read_table(file).names, lambda file: [t.names for t in RowBlocks(file)]):
        try:
            assert read(path)
        except InputError as error:
            said.append(str(error))
    assert all(sentence.startswith(f"{path}: expected ") for sentence in said)
    assert time.process_time() - began < 5.0
