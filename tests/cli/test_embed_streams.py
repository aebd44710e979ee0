"""``isthmus embed`` some rows at a time: the points of a whole table to the bit, in every format; or no file."""

import gzip
import json
import os
import signal
import threading

import numpy as np
import pytest

from isthmus.cli import embed
from isthmus.cli.inputs import StoredModel
from isthmus.cli.main import main
from isthmus.io.tables import content as limits
from isthmus.io.tables import stream as streaming
from isthmus.io.tables.read import read_table

pl = pytest.importorskip("polars")
pytest.importorskip("skops")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Numbers, a category and a text, with labels, and a model of them."""
    where = tmp_path_factory.mktemp("embed")
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = 4.0 * rng.normal(size=(3, 4))[y] + rng.normal(size=(90, 4))
    frame = pl.DataFrame(
        {
            "name": [f"r{i}" for i in range(90)],
            "kind": [f"k{c}" for c in y],
            "grade": [str(g) for g in (y + 1) * 1.0],
            "words": [" ".join(rng.choice(["sun", "moon", "rain", "wind"], 4)) for _ in y],
            **{f"x{j}": X[:, j] for j in range(4)},
        }
    )
    frame.write_csv(where / "a.csv")
    frame.write_ndjson(where / "a.jsonl")
    frame.write_parquet(where / "a.parquet", row_group_size=25)
    (where / "a.csv.gz").write_bytes(gzip.compress((where / "a.csv").read_bytes()))
    np.save(where / "a.npy", X)
    y_other = [f"k{c}" if i < 30 else None for i, c in enumerate(y)]
    other = pl.DataFrame({"kind": y_other, **{f"z{j}": (X @ rng.normal(size=(4, 5)))[:, j] for j in range(5)}})
    other.write_csv(where / "b.csv")
    asked = [str(where / "a.csv"), str(where / "b.csv"), "--label", "kind", "--id", "name", "--text", "words"]
    assert main(["fit", *asked, "-o", str(where / "m.isthmus"), "--quiet"]) == 0
    return where


def small(monkeypatch):
    for module, name, value in ((embed, "BLOCK", 16), (streaming, "PART", 300), (limits, "PIECE", 50)):
        monkeypatch.setattr(module, name, value)


def as_a_whole(folder, file):
    """The points by the whole table, in the same blocks."""
    kept, table = StoredModel.of(folder / "m.isthmus"), read_table(folder / file)
    X = kept.rows(table, "source")
    return np.vstack([kept.model.transform(X[s : s + 16], "source").astype(np.float32) for s in range(0, 90, 16)])


@pytest.mark.parametrize(
    ("file", "ending"), [("a.csv", "npy"), ("a.jsonl", "parquet"), ("a.parquet", "csv"), ("a.csv.gz", "jsonl")]
)
def test_points_to_the_bit(folder, tmp_path, monkeypatch, file, ending):
    small(monkeypatch)
    out = tmp_path / f"points.{ending}"
    asked = [str(folder / "m.isthmus"), str(folder / file), "--domain", "source", "-o", str(out), "--quiet"]
    assert main(["embed", *asked]) == 0
    assert [path.name for path in tmp_path.iterdir()] == [out.name]
    if ending == "npy":
        found = np.load(out)
    else:
        table = read_table(out)
        assert table.column("id").to_list() == [f"r{i}" for i in range(90)]
        columns = [table.column(name) for name in table.names[1:]]
        found = np.column_stack([column.cast(pl.Float32).to_numpy() for column in columns])
    np.testing.assert_array_equal(found, as_a_whole(folder, file))
    if ending == "parquet":
        assert found.dtype == np.float32


def test_cells_that_are_no_numbers_are_counted_over_all_blocks(folder, tmp_path, monkeypatch, capsys):
    small(monkeypatch)
    lines = (folder / "a.csv").read_text(encoding="utf-8").splitlines()
    name = lines[0].rsplit(",", 1)[1]
    for row, cell in ((3, "x"), (40, "x"), (80, "1,5 kg")):
        lines[row] = lines[row].rsplit(",", 1)[0] + f',"{cell}"'
    file, out = tmp_path / "dirty.csv", tmp_path / "points.npy"
    file.write_text("\n".join(lines), encoding="utf-8")
    asked = ["embed", str(folder / "m.isthmus"), str(file), "--domain", "source", "-o", str(out)]
    assert main(asked) == 0
    read = f'{name}: 1 of 90 cells has a unit or another form ("1,5 kg"), read as a number; '
    assert f'{read}2 of 90 cells are not numbers ("x"), read as missing\n' in capsys.readouterr().out
    assert np.isfinite(np.load(out)).all()
    assert main([*asked, "--json"]) == 0
    (note,) = json.loads(capsys.readouterr().out)["coerced"]
    assert (note["column"], note["cells"], note["read"], note["missing"]) == (name, 90, 1, 2)


def test_a_row_that_is_no_good_leaves_the_old_file(folder, tmp_path, monkeypatch, capsys):
    small(monkeypatch)
    lines = (folder / "a.csv").read_text(encoding="utf-8").splitlines()
    broken = {"twice": [*lines, lines[5]], "short": [*lines, lines[5].replace("r4,", "r99,").rsplit(",", 1)[0]]}
    words = {"twice": 'the id "r4" is there twice', "short": "cells, as in the first line, got"}
    for what, text in broken.items():
        file, out = tmp_path / f"{what}.csv", tmp_path / "points.parquet"
        file.write_text("\n".join(text), encoding="utf-8")
        out.write_bytes(b"old")
        assert main(["embed", str(folder / "m.isthmus"), str(file), "--domain", "source", "-o", str(out)]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert words[what] in said
        assert out.read_bytes() == b"old"
        assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("ending", ["npy", "parquet"])
def test_ctrl_c_leaves_nothing(folder, tmp_path, monkeypatch, usual_signals, ending):
    small(monkeypatch)
    plain, blocks = StoredModel.rows, []

    def interrupted(*given):
        blocks.append(1)
        if len(blocks) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(0.2)
        return plain(*given)

    monkeypatch.setattr(StoredModel, "rows", interrupted)
    out = tmp_path / f"points.{ending}"
    asked = [str(folder / "m.isthmus"), str(folder / "a.csv"), "--domain", "source", "-o", str(out), "--quiet"]
    assert main(["embed", *asked]) == 130
    assert list(tmp_path.iterdir()) == []
