"""Commands on files: from two CSV files to an answer, in words or as JSON, and nothing written when it goes wrong."""

import csv
import json

import numpy as np
import pytest

from isthmus import Adapter
from isthmus.cli.main import main

pytest.importorskip("polars")


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows(rows)
    return path


def read(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two views of the same 80 objects of four classes, in other orders, and files with labels and pairs."""
    where = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    y = np.arange(80) % 4
    H = 3.0 * rng.normal(size=(4, 6))[y] + rng.gamma(0.3, size=(80, 6))
    A, B = H @ rng.normal(size=(6, 9)), H @ rng.normal(size=(6, 12))
    order = rng.permutation(80)
    names = [f"a{k}" for k in range(9)], [f"b{k}" for k in range(12)]
    write(where / "a.csv", ["object", "kind", *names[0]], [[f"o{i}", "wxyz"[y[i]], *A[i]] for i in range(80)])
    write(
        where / "b.csv",
        ["item", "kind", *names[1]],
        [[f"i{j}", "wxyz"[y[j]] if k < 20 else "", *B[j]] for k, j in enumerate(order)],
    )
    write(where / "all.csv", ["kind", *names[1]], [["wxyz"[y[j]], *B[j]] for j in order])
    write(where / "pairs.csv", ["a", "b"], [[f"o{i}", f"i{i}"] for i in range(30)])
    write(where / "bad_pairs.csv", ["a", "b"], [["o1", "nobody"]])
    np.save(where / "old.npy", A)
    np.save(where / "new.npy", B)
    return where


def run(capsys, *arguments):
    """Exit status, standard output, standard error."""
    try:
        status = main([str(argument) for argument in arguments])
    except SystemExit as end:
        status = end.code
    return (status, *capsys.readouterr())


IDS = ("--id", "object", "--id", "item")


def test_matches_are_written_and_told(folder, tmp_path, capsys):
    out = tmp_path / "matches.csv"
    files = folder / "a.csv", folder / "b.csv"
    asked = ("match", *files, *IDS, "--drop", "kind", "--pairs", folder / "pairs.csv", "-o", out, "--all")
    status, said, wrong = run(capsys, *asked)
    assert (status, wrong) == (0, "")
    assert "80 rows, 9 features" in said
    assert "object: id" in said
    found = read(out)
    assert list(found[0])[:4] == ["source", "target", "score", "confidence"]
    assert np.mean([row["source"][1:] == row["target"][1:] for row in found]) > 0.8
    status, said, _ = run(capsys, *asked, "--json")
    facts = json.loads(said)
    assert (facts["matches"], facts["a"]["rows"], facts["output"]) == (len(found), 80, str(out))
    assert run(capsys, *asked, "--quiet") == (0, "", "")


def test_labels_are_written_with_a_runner_up(folder, tmp_path, capsys):
    out = tmp_path / "labels.csv"
    asked = ("label", folder / "a.csv", folder / "b.csv", "--label", "kind", *IDS, "-o", out)
    status, said, wrong = run(capsys, *asked)
    assert (status, wrong) == (0, "")
    assert "target: 20 labels of 4 classes" in said
    found, truth = read(out), {f"i{j}": "wxyz"[j % 4] for j in range(80)}
    assert np.mean([row["class"] == truth[row["id"]] for row in found]) > 0.8
    assert all(row["class"] == truth[row["id"]] for row in found if row["given"] == "true")
    assert all(row["runner_up"] != row["class"] for row in found)
    assert sum(row["given"] == "true" for row in found) == 20
    status, said, _ = run(capsys, *asked, "--reject-below", "1.0", "--check", "0", "--json")
    assert json.loads(said)["rejected"] > 0
    assert any(row["class"] == row["probability"] == "" for row in read(out))


@pytest.mark.slow
def test_evaluation_begins_with_a_sentence(folder, capsys):
    asked = (
        "evaluate",
        folder / "a.csv",
        folder / "all.csv",
        "--label",
        "kind",
        "--drop",
        "object",
        "--system",
        "target 1-NN",
    )
    status, said, wrong = run(capsys, *asked, "--splits", 3, "--jobs", 1, "--json")
    assert (status, wrong) == (0, "")
    facts = json.loads(said)
    assert facts["helps"] is not True
    assert facts["sentence"] in run(capsys, *asked, "--splits", 3, "--jobs", 1)[1]


def test_an_adapter_is_written_to_a_folder(folder, tmp_path, capsys):
    out = tmp_path / "adapter"
    status, said, wrong = run(capsys, "migrate", folder / "old.npy", folder / "new.npy", "--kind", "ridge", "-o", out)
    assert (status, wrong) == (0, "")
    assert "By the number of pairs" in said
    new = np.load(folder / "new.npy")
    adapter, M = Adapter.load(out / "adapter.npz"), np.load(out / "matrix.npy")
    np.testing.assert_allclose(new @ M[:-1] + M[-1], adapter.to_old(new), rtol=1e-3, atol=1e-3)


def test_a_rollback_that_fails_names_the_rollback(tmp_path, capsys, monkeypatch):
    """Not --resume, which refuses a migration that has ended."""
    monkeypatch.chdir(tmp_path)
    meaning = np.random.default_rng(0).normal(size=(300, 4))
    for name, d in (("old", 6), ("new", 8)):
        np.save(f"{name}.npy", (meaning @ np.random.default_rng(d).normal(size=(4, d))).astype(np.float32))
    before = np.load("old.npy")
    asked = ("migrate", "old.npy", "--embed", "new.npy", "--kind", "ridge", "--sample", 60, "--quiet")
    assert run(capsys, *asked, "--apply", "convert", "-o", "run") == (0, "", "")

    def fail(*files):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("isthmus.stores.vector_files.rename_written", fail)
        status, _, wrong = run(capsys, "migrate", "run", "--rollback")
    assert status == 2
    assert wrong == "isthmus: run: [Errno 28] No space left on device; go on with: isthmus migrate run --rollback\n"
    assert run(capsys, "migrate", "run", "--rollback")[0] == 0
    np.testing.assert_array_equal(np.load("old.npy"), before)


def test_a_plan_is_written_changed_and_given_back(folder, tmp_path, capsys):
    plan, files = tmp_path / "plan.toml", (folder / "a.csv", folder / "b.csv")
    asked = ("match", *files, *IDS, "--plan", plan, "--all", "-o", tmp_path / "matches.csv")
    status, said, _ = run(capsys, *asked)
    assert status == 0
    assert f"The plan is in {plan}; nothing else was done" in said
    assert list(tmp_path.iterdir()) == [plan]
    text = plan.read_text(encoding="utf-8")
    assert '"kind" = { kind = "category"' in text
    status, said, _ = run(capsys, *asked)  # the same command, now by the plan
    assert status == 0
    assert "kind: category" in said
    assert plan.read_text(encoding="utf-8") == text
    plan.write_text(text.replace('"kind" = { kind = "category"', '"kind" = { kind = "dropped"'), encoding="utf-8")
    assert "kind: dropped" in run(capsys, *asked)[1]


@pytest.mark.parametrize(
    ("text", "extra", "words"),
    [
        ("A = 3", (), "plan: expected a table [A], got none"),
        ("A = [", (), "plan: expected a text in TOML"),
        (b"\xff\xfe", (), "expected a plan in UTF-8"),
        (None, ("--drop", "a0"), """expected the column "a0" to be of kind 'dropped', as --drop says"""),
        (None, ("--id", "kind"), """expected the column "kind" to be of kind 'id', as --id says"""),
    ],
    ids=["no table", "no TOML", "no UTF-8", "another opinion", "another id"],
)
def test_a_plan_that_can_not_be_followed_is_told(folder, tmp_path, capsys, text, extra, words):
    plan, asked = tmp_path / "plan.toml", ("match", folder / "a.csv", folder / "b.csv", "--plan")
    assert run(capsys, *asked, plan)[0] == 0
    if text is not None:
        plan.write_bytes(text if isinstance(text, bytes) else text.encode())
    status, said, wrong = run(capsys, *asked, plan, *extra)
    assert (status, said, wrong.count("\n")) == (2, "", 1)
    assert wrong.startswith(f"isthmus: {plan}: ")
    assert words in wrong
    assert run(capsys, *asked, tmp_path / "no" / "plan.toml")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("match", "{f}/none.csv", "{f}/b.csv"), "expected a file, found none"),
        (("match", "{f}/a.csv", "{f}"), "expected a file, got a folder"),
        (("match", "{f}/a.csv", "{f}/b.csv", "--id", "nothing"), 'expected a column "nothing" in one of them'),
        (("match", "{f}/a.csv", "{f}/b.csv", *IDS, "--pairs", "{f}/bad_pairs.csv"), "nobody"),
        (("label", "{f}/a.csv", "{f}/b.csv", "--label", "a0"), "expected"),
        (("evaluate", "{f}/a.csv", "{f}/b.csv", "--label", "kind", "--system", "magic"), "magic"),
    ],
    ids=["no file", "a folder", "no column", "an unknown id", "labels that are numbers", "no system"],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(folder, tmp_path, capsys, arguments, words):
    out = [] if arguments[0] == "evaluate" else ["-o", tmp_path / "out.csv"]
    status, said, wrong = run(capsys, *(str(a).replace("{f}", str(folder)) for a in arguments), *out, "--quiet")
    assert (status, said) == (2, "")
    assert words in wrong
    assert wrong.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "option"),
    [("match", ("--jobs", "0")), ("label", ("--reject-below", "7")), ("evaluate", ("--splits", "0"))],
)
def test_a_wrong_value_is_told_by_the_name_of_its_option(folder, capsys, command, option):
    label = ("--label", "kind") if command != "match" else ()
    status, said, wrong = run(capsys, command, folder / "a.csv", folder / "b.csv", *IDS, *label, *option)
    assert (status, said) == (2, "")
    assert wrong.startswith(f"isthmus: {option[0]}: expected a ")


@pytest.mark.parametrize("command", ["label", "evaluate"])
def test_files_without_usable_labels_are_named_with_their_column(folder, tmp_path, capsys, command):
    unlabelled = write(tmp_path / "unlabelled.csv", ["kind", "b0"], [["", k] for k in range(9)])
    no_column = write(tmp_path / "no_column.csv", ["b0", "b1"], [[k, k % 2] for k in range(9)])
    single = write(tmp_path / "single.csv", ["kind", "b0"], [["w", k] for k in range(9)])
    wanted = "column 'kind': expected the class of at least one row, got none; fill in the class of some."
    for files, said in (
        ((folder / "a.csv", unlabelled), f"{unlabelled}, {wanted}"),
        ((folder / "a.csv", no_column), f"{no_column}, {wanted}"),
        ((unlabelled, folder / "b.csv"), f"{unlabelled}, {wanted}"),
        ((single, folder / "b.csv"), f"{single}, column 'kind': expected at least two classes, got 1."),
    ):
        assert run(capsys, command, *files, "--label", "kind") == (2, "", f"isthmus: {said}\n")
