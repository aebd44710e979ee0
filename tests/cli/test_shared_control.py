"""The baseline of shared words and columns is printed with what was learned."""

import csv
import json

import numpy as np
import pytest

from isthmus.cli.main import main
from isthmus.study.source_value.evidence import hold_out_labels

pytest.importorskip("polars")
WORDS = ["sun", "moon", "rain", "snow", "wind", "leaf", "tree", "bird", "fish", "stone", "river", "cloud"]


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    return str(path)


def answer(capsys, *arguments):
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def texts(rng, n=60):
    return [" ".join(rng.choice(WORDS, 6)) for _ in range(n)]


@pytest.mark.parametrize("foreign", [False, True])
@pytest.mark.slow
def test_a_matching_uses_the_words_that_both_have(tmp_path, capsys, foreign):
    rng = np.random.default_rng(0)
    ours = [f"{text} own{i}" for i, text in enumerate(texts(rng))]
    theirs = [" ".join(word[::-1] for word in text.split()) if foreign else text for text in ours]
    a = write(tmp_path / "a.csv", ["name", "words"], [[f"a{i}", text] for i, text in enumerate(ours)])
    b = write(tmp_path / "b.csv", ["nom", "mots"], [[f"b{i}", text] for i, text in enumerate(theirs)])
    pairs = write(tmp_path / "p.csv", ["a", "b"], [[f"a{i}", f"b{i}"] for i in range(30)])
    columns = ("--id", "name", "--id", "nom", "--text", "words", "--text", "mots")
    facts = answer(capsys, "match", a, b, *columns, "--pairs", pairs, "--jobs", 1)
    assert facts["shared_columns"] == ([] if foreign else [["words", "mots"]])
    if not foreign:
        assert (facts["succeeded"], facts["matches"], facts["recall"]) == (True, 60, 1.0)
    # Texts that stand beside numbers are compared, too.
    a = write(tmp_path / "a.csv", ["words", "x"], [[t, x] for t, x in zip(ours, rng.normal(size=60), strict=True)])
    b = write(tmp_path / "b.csv", ["mots", "z"], [[t, x] for t, x in zip(theirs, rng.normal(size=60), strict=True)])
    facts = answer(capsys, "match", a, b, "--text", "words", "--text", "mots", "--jobs", 1)
    assert facts["shared_columns"] == ([] if foreign else [["words", "mots"]])


@pytest.mark.slow
def test_labels_beside_the_columns_that_both_have(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = np.arange(80) % 4
    H = 4.0 * rng.normal(size=(4, 5))[y] + rng.normal(size=(80, 5))
    shared = y + 0.05 * rng.normal(size=80)
    kinds = np.array(list("wxyz"))[y]
    rows = [[k if i < 60 else "", s, *x] for i, (k, s, x) in enumerate(zip(kinds, shared, H, strict=True))]
    source = write(tmp_path / "s.csv", ["kind", "both", *"abcde"], rows)
    Z = H @ rng.normal(size=(5, 6))
    given = [k if i < 24 else "" for i, k in enumerate(kinds)]
    rows = [[k, s, *z] for k, s, z in zip(given, shared, Z, strict=True)]
    target = write(tmp_path / "t.csv", ["kind", "both", *"fghijk"], rows)
    facts = answer(capsys, "label", source, target, "--label", "kind")
    seen = facts["held_out"]
    assert (seen["n_shared"], facts["source"]["rows"]) == (1, 60)  # 20 source rows have no label
    assert (facts["source"]["labels"], facts["target"]["labels"]) == (60, 24)
    assert 12 <= seen["tested"] <= 24
    assert seen["accuracy"] > 0.7
    assert seen["interval"][0] <= seen["accuracy"] <= seen["interval"][1]
    assert 0.0 <= seen["shared_accuracy"] <= 1.0
    assert answer(capsys, "label", source, target, "--label", "kind", "--check", 0)["held_out"]["accuracy"] is None
    # Pairs of source rows that have no label are left out, and pairs of none.
    pairs = write(tmp_path / "p.csv", ["s", "t"], [[70, 70], [71, 71]])
    target = write(
        tmp_path / "u.csv", ["kind", "both", *"fghijk"], [["", *row[1:]] if row[0] == "w" else row for row in rows]
    )
    assert main(["label", source, target, "--label", "kind", "--pairs", pairs, "--check", "0"]) == 0
    said = capsys.readouterr().out
    assert "pairs: " + pairs + ", 2, of which 2 have no label in the source" in said
    assert "\nWithout a label in the target: w.\n" in said


def test_no_label_is_hidden_where_each_class_has_one():
    X, y = np.eye(6), np.array([0, 1, 2, 0, 1, 2])
    from isthmus import ARC

    few = np.array([0, 1, 2, -1, -1, -1])
    assert hold_out_labels(X, y, X, few, ARC()) is None
    assert hold_out_labels(X, y, X, np.array([0, 0, 0, -1, -1, -1]), ARC()) is None


def test_pairs_by_row_numbers_are_of_the_rows_of_the_file(tmp_path):
    """Source rows without a label are not used, and the numbers of the others stay what they are."""
    from types import SimpleNamespace

    from isthmus.cli.console import Console
    from isthmus.cli.inputs import load_pairs
    from isthmus.cli.label import read_labelled_inputs

    source = write(
        tmp_path / "s.csv", ["kind", "a"], [["" if i % 3 == 0 else "uv"[i % 2], i + 0.5] for i in range(12)]
    )
    target = write(tmp_path / "t.csv", ["kind", "b"], [["uv"[i % 2], -i - 0.5] for i in range(12)])
    pairs = write(tmp_path / "p.csv", ["s", "t"], [[i, i] for i in range(12)])
    asked = SimpleNamespace(
        source=source, target=target, label="kind", id=[], text=[], drop=[], plan=None, sep=[], decimal=[]
    )
    first, second, _, _ = read_labelled_inputs(asked, Console(quiet=True))
    found = load_pairs(pairs, first, second, Console(quiet=True))
    same = [(float(first.table.column("a")[i]), -float(second.table.column("b")[j])) for i, j in found.tolist()]
    assert same == [(i + 0.5, i + 0.5) for i in range(12) if i % 3]


@pytest.mark.parametrize("numbers", [True, False])
def test_a_fit_uses_what_both_files_have_and_search_uses_it_too(tmp_path, capsys, numbers):
    pytest.importorskip("skops")
    rng = np.random.default_rng(0)
    size = rng.normal(50.0, 9.0, size=(80, 3)).round(2)
    name = ["".join(rng.choice(list("abcdefghijklm"), 7)) for _ in range(80)]
    tables = {"a": [], "b": []}
    for side, rows in tables.items():
        for i in range(80):
            shared = (
                [*(size[i] + rng.normal(size=3)).round(2)] if numbers else [f"{side * 3} {name[i]} {rng.integers(9)}"]
            )
            rows.append([f"{side}{i}", *shared, *rng.normal(size=4).round(3)])
    head = {"a": [*"ABCD"], "b": [*"EFGH"]}
    names = ["width", "height", "depth"] if numbers else ["title"]
    files = {s: write(tmp_path / f"{s}.csv", ["key", *names, *head[s]], rows) for s, rows in tables.items()}
    pairs = write(tmp_path / "p.csv", ["source", "target"], [[f"a{i}", f"b{i}"] for i in range(30)])
    columns = ("--id", "key", *(() if numbers else ("--text", "title")))
    model = tmp_path / "m.isthmus"
    facts = answer(capsys, "fit", files["a"], files["b"], *columns, "--pairs", pairs, "-o", model)
    kind = "numbers" if numbers else "terms"
    assert facts["weights"][kind] > 0.0
    assert facts["held_out"]["recall"] >= max(facts["held_out"]["shared_recall"], facts["held_out"]["learned_recall"])
    assert facts["source"]["features"] < 200
    found = answer(capsys, "search", model, "--index", files["a"], "--query", files["b"], "-k", 1)["found"]
    assert np.mean([line["query"][1:] == line["found"][1:] for line in found]) > 0.5
    points = tmp_path / "points.npy"
    assert answer(capsys, "embed", model, files["b"], "--domain", "target", "-o", points)["rows"] == 80
    plain = answer(capsys, "fit", files["a"], files["b"], *columns, "--pairs", pairs, "-o", model, "--no-shared")
    assert plain["weights"] is None
    assert plain["held_out"]["recall"] == facts["held_out"]["learned_recall"]
