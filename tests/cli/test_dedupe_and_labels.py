"""`isthmus dedupe`, and `isthmus label --decisions`: what they write."""

import argparse
import csv
import json

import numpy as np
import pytest

pytest.importorskip("polars")

from isthmus.cli.console import Console
from isthmus.cli.label import read_labelled_inputs
from isthmus.cli.main import main


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_dedupe_writes_a_line_for_each_row(tmp_path, capsys):
    rng = np.random.default_rng(100)
    names = [" ".join("".join(rng.choice(list("abcdefghijkl"), 6)) for _ in range(3)) for _ in range(60)]
    rows = [[f"r{k}", name] for k, name in enumerate([*names, *(name[1:] for name in names[:12])])]
    write(tmp_path / "a.csv", ["id", "name"], rows)
    status = main(["dedupe", str(tmp_path / "a.csv"), "-o", str(tmp_path / "out.csv"), "--json"])
    facts = json.loads(capsys.readouterr().out)
    found = read(tmp_path / "out.csv")
    assert (status, facts["ok"], facts["clusters"]) == (0, True, 12)
    assert [row["id"] for row in found] == [row[0] for row in rows]
    for k in range(12):
        assert found[k]["cluster"] == found[60 + k]["cluster"]
        assert found[k]["rows"] == "2"
        assert [found[k]["representative"], found[60 + k]["representative"]].count("true") == 1
    assert sum(row["representative"] == "true" for row in found) == 60
    assert main(["dedupe", str(tmp_path / "a.csv"), "-o", str(tmp_path / "a.csv")]) == 2


def test_no_cluster_is_said_and_few_rows_are_named(tmp_path, capsys):
    rng = np.random.default_rng(100)
    rows = [[f"r{k}", " ".join("".join(rng.choice(list("abcdefghijkl"), 6)) for _ in range(3))] for k in range(40)]
    write(tmp_path / "a.csv", ["id", "name"], rows)
    assert main(["dedupe", str(tmp_path / "a.csv"), "-o", str(tmp_path / "out.csv")]) == 0
    assert {row["rows"] for row in read(tmp_path / "out.csv")} == {"1"}
    assert "out.csv has no duplicates; --all writes doubtful ones too.\n" in capsys.readouterr().out
    write(tmp_path / "b.csv", ["id", "name"], rows[:7])
    assert main(["dedupe", str(tmp_path / "b.csv")]) == 2
    assert capsys.readouterr().err.endswith("b.csv: expected at least 20 rows to learn from, got 7.\n")


def write_labelled(folder, kinds):
    """Two tables of 30 rows with a column of numbers; the classes of the second repeat."""
    for name, own in (("a", ["u", "v", "w"]), ("b", kinds)):
        rows = [[f"{name}{k}", own[k % 3], k % 7, k % 5] for k in range(30)]
        write(folder / f"{name}.csv", ["id", "kind", f"{name}x", f"{name}y"], rows)
    return folder / "a.csv", folder / "b.csv"


@pytest.mark.parametrize(("kinds", "warned"), [(["1", "2", ""], True), (["u", "2", ""], False)])
def test_classes_of_other_names_are_warned_of(tmp_path, capsys, kinds, warned):
    options = argparse.Namespace(label="kind", id=[], text=[], drop=[], sep=[], decimal=[], plan=None, pairs=None)
    options.source, options.target = write_labelled(tmp_path, kinds)
    read_labelled_inputs(options, Console())
    assert (
        "Warning: no class has a label in both files, which have 'u' and '1'; " in capsys.readouterr().out
    ) is warned


def test_a_target_without_a_row_to_label_is_warned_of(tmp_path, capsys):
    """As when the files are exchanged, or when another word than an empty cell means unlabelled."""
    files = map(str, write_labelled(tmp_path, ["u", "v", "w"]))
    assert main(["label", *files, "--label", "kind", "--check", "0"]) == 0
    assert "b.csv have a class; empty the cells to be predicted.\n" in capsys.readouterr().out
    files = map(str, write_labelled(tmp_path, ["u", "v", "-1"]))
    assert main(["label", *files, "--label", "kind", "--check", "0"]) == 0
    said = capsys.readouterr().out
    assert "target: 20 labels of 2 classes\n" in said, "-1 is no class, as in Python"
    assert "Warning" not in said


def test_minus_one_is_no_label_of_either_file(tmp_path):
    options = argparse.Namespace(label="kind", id=[], text=[], drop=[], sep=[], decimal=[], plan=None, pairs=None)
    options.source, options.target = write_labelled(tmp_path, ["u", "v", "-1"])
    options.source.write_text(options.source.read_text().replace(",w,", ",-1,"))
    source, _, ys, yt = read_labelled_inputs(options, Console())
    assert source.table.n_rows == 20, "rows without a label are not used, as with empty cells"
    assert set(ys) == {"u", "v"}
    assert [label is None for label in yt[:3]] == [False, False, True], "review asks about these rows"


@pytest.mark.slow
def test_decided_classes_are_labels_and_rejected_ones_are_replaced(tmp_path):
    rng = np.random.default_rng(100)
    y = np.arange(90) % 3
    H = 1.5 * rng.normal(size=(3, 5))[y] + rng.normal(size=(90, 5))
    for name, d, labelled in (("a", 7, 90), ("b", 6, 9)):
        X = H @ rng.normal(size=(5, d))
        rows = [[f"{name}{i}", "uvw"[y[i]] if i < labelled else "", *X[i]] for i in range(90)]
        write(tmp_path / f"{name}.csv", ["id", "kind", *(f"{name}{k}" for k in range(d))], rows)
    words = [
        "label",
        *(str(tmp_path / f"{n}.csv") for n in "ab"),
        "--id",
        "id",
        "--label",
        "kind",
        "--check",
        "0",
        "--quiet",
    ]
    assert main([*words, "-o", str(tmp_path / "first.csv")]) == 0
    first = {row["id"]: row for row in read(tmp_path / "first.csv")}
    time = "2026-01-31T12:00:00+00:00"
    other = {kind: next(k for k in "uvw" if k != kind) for kind in "uvw"}
    confirmed = [[other[first["b20"]["class"]], "b20", "y", time]]
    write(tmp_path / "d.csv", ["source", "target", "verdict", "time"], confirmed)
    assert main([*words, "--decisions", str(tmp_path / "d.csv"), "-o", str(tmp_path / "second.csv")]) == 0
    second = {row["id"]: row for row in read(tmp_path / "second.csv")}
    assert (second["b20"]["class"], second["b20"]["given"]) == (other[first["b20"]["class"]], "true")
    rejected = [[row["class"], row["id"], "n", time] for row in list(second.values())[30:40]]
    write(tmp_path / "d.csv", ["source", "target", "verdict", "time"], confirmed + rejected)
    assert main([*words, "--decisions", str(tmp_path / "d.csv"), "-o", str(tmp_path / "third.csv")]) == 0
    third = {row["id"]: row for row in read(tmp_path / "third.csv")}
    for name, id, *_ in rejected:
        assert third[id]["class"] == second[id]["runner_up"] != name
