"""Models on the command line: fitted, kept, opened again; searched, embedded, inspected."""

import csv
import json

import numpy as np
import pytest

import isthmus
from isthmus.cli.console import Console
from isthmus.cli.main import main

pytest.importorskip("polars")
pytest.importorskip("skops")


def run(capsys, *arguments):
    """Exit status, standard output, standard error."""
    try:
        status = main([str(argument) for argument in arguments])
    except SystemExit as end:
        status = end.code
    return (status, *capsys.readouterr())


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    return path


WORDS = ["sun", "moon", "rain", "snow", "wind", "leaf", "tree", "bird", "fish", "stone", "river", "cloud"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Texts of 60 objects in a language and in one whose words are the same backwards; numbers with labels."""
    where = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 6)) for _ in range(60)]
    other = [" ".join(word[::-1] for word in text.split()) for text in texts]
    write(where / "a.csv", ["name", "text"], [[f"a{i}", text] for i, text in enumerate(texts)])
    write(where / "b.csv", ["name", "text"], [[f"b{i}", text] for i, text in enumerate(other)])
    write(where / "pairs.csv", ["a", "b"], [[f"a{i}", f"b{i}"] for i in range(40)])
    y = np.arange(60) % 3
    X = 4.0 * rng.normal(size=(3, 5))[y] + rng.normal(size=(60, 5))
    Z = X @ rng.normal(size=(5, 7))
    write(where / "x.csv", ["kind", *"abcde"], [["uvw"[c], *row] for c, row in zip(y, X, strict=True)])
    kinds = ["uvw"[c] if i < 12 else "" for i, c in enumerate(y)]
    write(where / "z.csv", ["kind", *"fghijkl"], [[kind, *row] for kind, row in zip(kinds, Z, strict=True)])
    return where


@pytest.fixture(scope="module")
def model(folder):
    """Fitted to the texts, by pairs."""
    path = folder / "texts.isthmus"
    files = str(folder / "a.csv"), str(folder / "b.csv")
    options = ["--id", "name", "--text", "text", "--pairs", str(folder / "pairs.csv"), "-o", str(path), "--quiet"]
    assert main(["fit", *files, *options]) == 0
    return path


def test_search_finds_translations_in_either_direction(folder, model, tmp_path, capsys):
    out = tmp_path / "found.csv"
    for index, query, domain in (("a.csv", "b.csv", "target"), ("b.csv", "a.csv", "source")):
        files = ("--index", folder / index, "--query", folder / query, "--from", domain)
        status, said, wrong = run(capsys, "search", model, *files, "-k", 3, "-o", out)
        assert (status, wrong) == (0, "")
        assert "60 queries among 60 rows" in said
        with out.open(encoding="utf-8") as file:
            first = [row for row in csv.DictReader(file) if row["rank"] == "1"]
        assert np.mean([row["query"][1:] == row["found"][1:] for row in first]) > 0.9


def test_a_typed_text_is_searched_for(folder, model, capsys):
    status, said, _ = run(
        capsys, "search", model, "--index", folder / "a.csv", "--text", "nus noom", "-k", 1, "--json"
    )
    assert status == 0
    assert len(json.loads(said)["found"]) == 1
    asked = ("search", model, "--index", folder / "a.csv", "--text", "nus noom", "-k", 10**15, "--json")
    status, said, _ = run(capsys, *asked)
    assert (status, len(json.loads(said)["found"])) == (0, 60)


def test_points_are_those_of_the_loaded_model(folder, model, tmp_path, capsys):
    out = tmp_path / "points.npy"
    assert run(capsys, "embed", model, folder / "b.csv", "--domain", "target", "-o", out)[0] == 0
    points = np.load(out)
    table = tmp_path / "points.csv"
    assert run(capsys, "embed", model, folder / "b.csv", "--domain", "target", "-o", table)[0] == 0
    with table.open(encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    np.testing.assert_allclose(np.array([row[1:] for row in rows], dtype=float), points, rtol=1e-5, atol=1e-6)
    assert type(isthmus.load(model)).__name__ == "RidgeMap"


def test_blocks_change_nothing(folder, model, tmp_path, capsys, monkeypatch):
    from isthmus.cli import embed

    whole, parts = tmp_path / "whole.npy", tmp_path / "parts.npy"
    assert run(capsys, "embed", model, folder / "a.csv", "--domain", "source", "-o", whole)[0] == 0
    monkeypatch.setattr(embed, "BLOCK", 7)
    assert run(capsys, "embed", model, folder / "a.csv", "--domain", "source", "-o", parts)[0] == 0
    np.testing.assert_allclose(np.load(parts), np.load(whole), rtol=1e-5, atol=1e-6)


def test_a_model_tells_what_it_is(model, capsys):
    status, said, _ = run(capsys, "inspect", model)
    assert status == 0
    assert "model: RidgeMap" in said
    assert "text: text" in said
    assert json.loads(run(capsys, "inspect", model, "--json")[1])["columns"]["source"]


def test_another_kind_of_file_is_no_model(folder, capsys):
    for command in (("inspect",), ("search", "--index", folder / "a.csv", "--query", folder / "b.csv")):
        status, said, wrong = run(capsys, command[0], folder / "a.csv", *command[1:])
        assert (status, said, wrong.count("\n")) == (2, "", 1)
        assert "a.csv: expected a model file, got another file or a damaged one." in wrong


def test_only_features_are_shown_as_columns(tmp_path, capsys):
    model = isthmus.RidgeMap().fit(np.eye(4), None, np.eye(4), None, pairs="rows")
    isthmus.save(model, tmp_path / "m", parts={"source": {"mine": 3}})
    status, said, _ = run(capsys, "inspect", tmp_path / "m")
    assert status == 0
    assert "classes" not in said
    assert "mine" not in said


def test_labels_give_a_certified_metric(folder, tmp_path, capsys):
    out = tmp_path / "kinds.isthmus"
    status, said, wrong = run(capsys, "fit", folder / "x.csv", folder / "z.csv", "--label", "kind", "-o", out)
    assert (status, wrong) == (0, "")
    assert "optimal after" in said
    found = isthmus.load(out)
    assert found.classes_.tolist() == ["u", "v", "w"]


def test_empty_label_cells_are_unlabelled_in_both_files(folder, tmp_path, capsys, monkeypatch):
    lines = (folder / "x.csv").read_text(encoding="utf-8").splitlines()
    source = tmp_path / "x.csv"
    source.write_text("\n".join(",".join(["", *line.split(",")[1:]]) if i in (1, 5) else line
                                for i, line in enumerate(lines)), encoding="utf-8")  # fmt: skip
    asked = ("fit", source, folder / "z.csv", "--label", "kind", "-o", tmp_path / "m.isthmus")
    monkeypatch.setattr(Console, "progress", True)  # as on a terminal
    status, said, wrong = run(capsys, *asked)
    assert status == 0
    assert "MLHD" in wrong
    assert "source: 58 labels of 3 classes; 2 rows without a label are not used\n" in said
    assert "target: 12 labels of 3 classes\n" in said


def test_rows_with_the_same_id_are_pairs_where_nothing_else_is_known(folder, tmp_path, capsys):
    out, files = tmp_path / "m.isthmus", (tmp_path / "a.csv", tmp_path / "b.csv")
    for path, start in zip(files, (0, 20), strict=True):  # rows 20 to 59 of one are rows 0 to 39 of the other
        lines = (folder / path.name).read_text(encoding="utf-8").splitlines()
        names = [line.replace(path.stem, "", 1) for line in lines[1 + start :]]
        path.write_text("\n".join([lines[0], *names]), encoding="utf-8")
    asked = ("fit", *files, "--text", "text", "-o", out)
    status, said, _ = run(capsys, *asked, "--id", "name", "--json")
    assert (status, json.loads(said)["pairs"], json.loads(said)["system"]) == (0, 40, "ridge")
    assert "40 rows with the same id in both files" in run(capsys, *asked, "--id", "name")[1]
    assert run(capsys, *asked)[0] == 2


def test_known_pairs_name_rows_by_the_first_column_as_in_a_matching(folder, tmp_path, capsys):
    """Without --id: the command of the front page, and ids that are numbers, which are no row numbers."""
    files = folder / "a.csv", folder / "b.csv"
    status, said, _ = run(capsys, "fit", *files, "--pairs", folder / "pairs.csv", "-o", tmp_path / "m.isthmus")
    assert status == 0
    assert "name: id (the first column" in said
    for name in "ab":
        texts = [line.split(",")[1] for line in (folder / f"{name}.csv").read_text().splitlines()[1:]]
        write(tmp_path / f"{name}.csv", ["nr", "text"], [[i + 1, text] for i, text in enumerate(texts)])
    write(tmp_path / "pairs.csv", ["a", "b"], [[i, i] for i in range(21, 61)])
    words = "fit", tmp_path / "a.csv", tmp_path / "b.csv", "--pairs", tmp_path / "pairs.csv"
    status, said, wrong = run(capsys, *words, "-o", tmp_path / "n.isthmus")
    assert (status, wrong) == (0, ""), "60 is an id, and no row number"


def test_fit_writes_a_plan_and_needs_no_output_for_it(folder, tmp_path, capsys):
    plan, asked = tmp_path / "plan.toml", ("fit", folder / "x.csv", folder / "z.csv", "--label", "kind")
    status, said, wrong = run(capsys, *asked, "--plan", plan, "--json")
    assert (status, json.loads(said), wrong) == (0, {"plan": str(plan)}, "")
    status, said, wrong = run(capsys, *asked, "--plan", plan)
    assert (status, said, wrong) == (
        2,
        "",
        "isthmus: -o: expected the file that the model is written to, got none.\n",
    )
    assert run(capsys, *asked, "--plan", plan, "-o", tmp_path / "m.isthmus")[0] == 0


def test_what_can_not_be_learned_is_told(folder, model, tmp_path, capsys):
    status, said, wrong = run(capsys, "fit", folder / "a.csv", folder / "b.csv", "-o", tmp_path / "m.isthmus")
    assert (status, said) == (2, "")
    assert "expected labels in both files (--label), known pairs (--pairs) or common ids" in wrong
    assert list(tmp_path.iterdir()) == []
    status, _, wrong = run(capsys, "search", folder / "a.csv", "--index", folder / "a.csv", "--text", "x")
    assert status == 2
    assert wrong.count("\n") == 1
    plain = tmp_path / "plain.isthmus"
    isthmus.save(isthmus.RidgeMap().fit(np.eye(4), None, np.eye(4), None, pairs="rows"), plain)
    assert (
        "expected a model of `isthmus fit`"
        in run(capsys, "embed", plain, folder / "a.csv", "--domain", "source", "-o", tmp_path / "p.npy")[2]
    )


@pytest.mark.slow
def test_nothing_that_a_file_says_acts_on_a_terminal(tmp_path, capsys):
    """Names of columns, ids and labels with escape sequences, in words and as JSON, and in complaints."""
    table, model = tmp_path / "t.csv", tmp_path / "m.isthmus"
    rows = [[f"\x1b]0;t\x07{i}", f"\x1b[2J\x9b{i % 3}", i * 1.5, i % 7, i * i % 11] for i in range(45)]
    write(table, ["\u202eid", "kind", "\x1b[31mred\x9b", "b", "c"], rows)
    names = ("--id", "\u202eid", "--label", "kind")
    orders = [
        ("fit", table, table, *names, "-o", model),
        ("label", table, table, *names),
        ("inspect", model),
        ("search", model, "--index", table, "--query", table, "-k", 2),
        ("match", table, table, "--id", "\x1b"),
        ("embed", model, table, "--domain", "\x1b", "-o", tmp_path / "o.csv"),
    ]
    for words in orders:
        for more in ((), ("--json",)):
            status, out, err = run(capsys, *words, *more)
            assert all(character.isprintable() for character in (out + err).replace("\n", "")), words
            if more and status == 0:
                found = json.loads(out)
    assert found["found"][0]["query"].startswith("\x1b]0;t\x07")  # and machines get what is there
