"""What a new user meets: gaps in labels, words that nobody knows, wrong turns, and what the commands say to them."""

import csv
import json

import numpy as np
import pytest

import isthmus
from isthmus.cli.main import main, make_parser

pytest.importorskip("polars")
pytest.importorskip("skops")

WORDS = ["sun", "moon", "rain", "snow", "wind", "leaf", "tree", "bird", "fish", "stone", "river", "cloud"]


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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Texts of 60 objects in a language and in one whose words are the same backwards; numbers with some labels."""
    where = tmp_path_factory.mktemp("manners")
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 6)) for _ in range(60)]
    other = [" ".join(word[::-1] for word in text.split()) for text in texts]
    write(where / "a.csv", ["name", "text"], [[f"a{i}", text] for i, text in enumerate(texts)])
    write(where / "b.csv", ["nom", "texte"], [[f"b{i}", text] for i, text in enumerate(other)])
    write(where / "pairs.csv", ["a", "b"], [[f"a{i}", f"b{i}"] for i in range(40)])
    matches = [[f"a{i}", f"b{i}", 0.5, 0.9] for i in range(30)]
    write(where / "matches.csv", ["source", "target", "score", "confidence"], matches)
    y = np.arange(60) % 3
    X = 4.0 * rng.normal(size=(3, 5))[y] + rng.normal(size=(60, 5))
    Z = X @ rng.normal(size=(5, 7))
    kinds = [["uvw"[c] if i < n else "" for i, c in enumerate(y)] for n in (42, 12)]
    write(where / "x.csv", ["kind", *"abcde"], [[kind, *row] for kind, row in zip(kinds[0], X, strict=True)])
    write(where / "z.csv", ["kind", *"fghijkl"], [[kind, *row] for kind, row in zip(kinds[1], Z, strict=True)])
    return where


COLUMNS = ("--id", "name", "--id", "nom", "--text", "text", "--text", "texte")


@pytest.fixture(scope="module")
def model(folder):
    """Fitted to the texts, by pairs."""
    path = folder / "texts.isthmus"
    files = [str(folder / name) for name in ("a.csv", "b.csv")]
    assert main(["fit", *files, *COLUMNS, "--pairs", str(folder / "pairs.csv"), "-o", str(path), "--quiet"]) == 0
    return path


def test_source_rows_without_a_label_are_left_out_of_a_fit_and_told(folder, tmp_path, capsys):
    out = tmp_path / "m.isthmus"
    asked = ("fit", folder / "x.csv", folder / "z.csv", "--label", "kind", "-o", out)
    status, said, wrong = run(capsys, *asked)
    assert (status, wrong) == (0, "")
    assert "x.csv (42 rows with 5 features) and " in said
    assert "z.csv (60 rows with 7 features), with 42 and 12 labels" in said
    assert "source: 42 labels of 3 classes; 18 rows without a label are not used" in said
    assert json.loads(run(capsys, *asked, "--json")[1])["source"]["rows"] == 42


def test_a_fit_by_pairs_prints_the_held_out_recall(folder, tmp_path, capsys):
    out = tmp_path / "m.isthmus"
    asked = ("fit", folder / "a.csv", folder / "b.csv", *COLUMNS, "-o", out)
    status, said, wrong = run(capsys, *asked, "--pairs", folder / "pairs.csv")
    assert (status, wrong) == (0, "")
    assert "b.csv (60 rows with 12 features), with 40 pairs." in said
    assert "% of 13 held-out pairs are found [" in said
    assert "Baseline: none, as no words or columns are shared." in said
    assert "use `isthmus match`" in said
    few = write(tmp_path / "few.csv", ["a", "b"], [[f"a{i}", f"b{i}"] for i in range(4)])
    facts = json.loads(run(capsys, *asked, "--pairs", few, "--json")[1])
    assert facts["held_out"] is None
    assert "fewer than 10 known pairs" in facts["warnings"][0]


def test_pairs_that_do_not_belong_are_told(folder, tmp_path, capsys):
    out, known = tmp_path / "m.isthmus", tmp_path / "known.csv"
    asked = ("fit", folder / "a.csv", folder / "a.csv", "--id", "name", "--text", "text", "-o", out)
    shuffled = write(known, ["a", "b"], [[f"a{i}", f"a{(7 * i + 11) % 60}"] for i in range(60)])
    facts = json.loads(run(capsys, *asked, "--pairs", shuffled, "--json")[1])
    assert facts["held_out"]["recall"] < 0.2
    right = write(known, ["a", "b"], [[f"a{i}", f"a{i}"] for i in range(60)])
    facts = json.loads(run(capsys, *asked, "--pairs", right, "--json")[1])
    assert facts["held_out"]["recall"] > 0.8
    assert facts["held_out"]["shared_recall"] == 1.0


def test_matches_are_pairs(folder, tmp_path, capsys):
    out = tmp_path / "m.isthmus"
    asked = ("fit", folder / "a.csv", folder / "b.csv", *COLUMNS, "-o", out, "--json")
    status, said, _ = run(capsys, *asked, "--pairs", folder / "matches.csv")
    assert (status, json.loads(said)["pairs"]) == (0, 30)
    three = write(tmp_path / "three.csv", ["a", "b", "c"], [["a1", "b1", 1]])
    status, said, wrong = run(capsys, *asked, "--pairs", three)
    assert (status, said) == (2, "")
    assert 'expected two columns of ids, or some named source and target, got 3: "a", "b", "c".' in wrong


def test_pairs_are_read_before_the_work_and_unknown_ids_lead_to_the_option(folder, tmp_path, capsys, monkeypatch):
    from isthmus.io.tables.features import Features

    def fit(plan, table):
        raise AssertionError("the work began")

    monkeypatch.setattr(Features, "fit", fit)
    texts, dropped = ("--text", "text", "--text", "texte"), ("--drop", "name", "--drop", "nom")
    status, said, wrong = run(
        capsys, "match", folder / "a.csv", folder / "b.csv", *texts, "--pairs", folder / "pairs.csv", *dropped
    )
    assert (status, said) == (2, "")
    assert 'has the id "a0"; ids are the cells of the id column (--id), or row numbers from 0' in wrong


@pytest.mark.parametrize("text", ["zzzqqq", "", "sun"], ids=["no word", "nothing", "a word of the other language"])
def test_a_typed_text_of_unknown_words_is_refused(folder, model, capsys, text):
    status, said, wrong = run(capsys, "search", model, "--index", folder / "a.csv", "--text", text)
    assert (status, said) == (2, "")
    assert wrong == f"isthmus: --text: expected a word that the model knows, got none in {text!r}.\n"


def test_queries_of_unknown_words_are_named(folder, model, tmp_path, capsys):
    asked = ("search", model, "--index", folder / "a.csv", "-k", 1, "--query")
    some = write(tmp_path / "some.csv", ["nom", "texte"], [["q0", "nus noom"], ["q1", "zzz"], ["q2", ""]])
    status, said, _ = run(capsys, *asked, some)
    assert status == 0
    assert "Mind: 2 queries have no word that the model knows: q1, q2." in said
    assert json.loads(run(capsys, *asked, some, "--json")[1])["unknown"] == ["q1", "q2"]
    none = write(tmp_path / "none.csv", ["nom", "texte"], [["q1", "zzz"]])
    assert run(capsys, *asked, none)[0] == 2


def test_neighbours_have_a_head_and_a_count(folder, model, capsys):
    said = run(capsys, "search", model, "--index", folder / "a.csv", "--query", folder / "b.csv", "-k", 2)[1]
    *files, head = said.splitlines()[:3]
    assert all(line.endswith('.csv: separator ",", decimal mark "."') for line in files)
    assert head.split() == ["query", "rank", "found", "distance"]
    lines = said.splitlines()[2:]
    assert len(lines) == 22
    assert lines[-1] == "These are the first 10 of 60 queries; -o has all."


def test_a_file_of_the_other_domain_is_recognised(folder, model, tmp_path, capsys):
    swapped = ("search", model, "--index", folder / "b.csv", "--query", folder / "a.csv")
    status, _, wrong = run(capsys, *swapped)
    assert status == 2
    assert (
        "expected the columns of the target, got those of the source; give that domain (--domain or --from)." in wrong
    )
    assert run(capsys, *swapped, "--from", "source")[0] == 0
    for out in ("points.npy", "points.csv"):
        status, _, wrong = run(capsys, "embed", model, folder / "a.csv", "--domain", "target", "-o", tmp_path / out)
        assert status == 2
        assert "got those of the source; give that domain (--domain or --from)." in wrong
    assert list(tmp_path.iterdir()) == []


def test_a_text_for_a_model_of_numbers_leads_to_a_file(folder, tmp_path, capsys):
    out = tmp_path / "m.isthmus"
    assert run(capsys, "fit", folder / "x.csv", folder / "z.csv", "--label", "kind", "-o", out)[0] == 0
    status, _, wrong = run(capsys, "search", out, "--index", folder / "x.csv", "--text", "sun")
    assert status == 2
    assert "--query FILE" in wrong


def test_an_adapter_of_texts_is_learned_on_axes(folder, capsys, monkeypatch):
    from isthmus.io.tables import plan as choosing

    monkeypatch.setattr(choosing, "COMPONENTS", 5)
    asked = ("migrate", folder / "a.csv", folder / "b.csv", *COLUMNS, "--kind", "ridge", "--json")
    facts = json.loads(run(capsys, *asked, "--pairs", folder / "pairs.csv")[1])
    assert (facts["old"]["features"], facts["new"]["features"], facts["pairs"]) == (5, 5, 40)
    assert r"\n" not in run(capsys, *asked[:-1], "--pairs", folder / "pairs.csv")[1]


def test_an_adapter_without_pairs_leads_to_the_option(folder, capsys, tmp_path):
    some = write(tmp_path / "some.csv", ["nom", "texte"], [["b0", "nus noom"], ["b1", "nus dniw"], ["b2", "dniw"]])
    status, _, wrong = run(capsys, "migrate", folder / "a.csv", some, *COLUMNS)
    assert status == 2
    assert wrong.startswith("isthmus: --pairs: expected known pairs")
    assert "got none, and 60 and 3 rows." in wrong


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fit", "{f}/x.csv", "{f}/z.csv", "--label", "kind", "--system", "mhld"), "(did you mean 'mlhd'?)"),
        (("fit", "{f}/x.csv", "{f}/z.csv", "--label", "kinds"), "(did you mean kind?)"),
        (("match", "{f}/x.csv", "{f}/z.csv", "-o", "{f}"), "expected a file, got a folder."),
        (
            ("fit", "{f}/x.csv", "{f}/z.csv", "--label", "kind", "-o", "{f}"),
            "expected a file, got a folder.",
        ),
    ],
    ids=["system", "column", "folder for a table", "folder for a model"],
)
def test_wrong_turns_are_put_right_in_one_sentence(folder, tmp_path, capsys, arguments, words):
    out = [] if "-o" in arguments else ["-o", tmp_path / "m.isthmus"]
    status, _, wrong = run(capsys, *(str(a).replace("{f}", str(folder)) for a in arguments), *out)
    assert (status, wrong.count("\n")) == (2, 1)
    assert words in wrong
    assert len(wrong) < 400


def test_a_failed_match_says_that_there_is_none(tmp_path, capsys):
    rng = np.random.default_rng(0)
    for name in "ab":
        write(tmp_path / f"{name}.csv", [f"{name}{i}" for i in range(4)], rng.normal(size=(40, 4)))
    out = tmp_path / "m.csv"
    status, said, _ = run(capsys, "match", tmp_path / "a.csv", tmp_path / "b.csv", "-o", out, "--jobs", 1)
    assert status == 0
    assert f"{out} has no matches; --all writes doubtful ones too." in said
    assert len(out.read_text().splitlines()) == 1


def test_a_card_has_a_line_per_parameter(folder, tmp_path, capsys):
    out = tmp_path / "m.isthmus"
    assert run(capsys, "fit", folder / "x.csv", folder / "z.csv", "--label", "kind", "-o", out)[0] == 0
    lines = run(capsys, "inspect", out)[1].splitlines()
    assert lines[1] == "parameters:"
    assert "    references: source" in lines
    assert not any("null" in line or line.startswith("verdict") for line in lines)


def test_the_convergence_of_a_loaded_model_can_be_drawn(folder, tmp_path, capsys):
    out = tmp_path / "m.isthmus"
    assert run(capsys, "fit", folder / "x.csv", folder / "z.csv", "--label", "kind", "-o", out)[0] == 0
    from isthmus.view.plots import plot_convergence

    model = isthmus.load(out)
    assert plot_convergence(model).lines[1].get_ydata()[0] == model.result_.relative_gap


@pytest.mark.slow
def test_a_terminal_sees_how_far_long_work_is_and_nobody_else(folder, tmp_path, capsys, monkeypatch):
    """A pipe, --quiet and --json hear nothing of it."""
    model, files = tmp_path / "m.isthmus", [folder / "a.csv", folder / "b.csv", *COLUMNS]
    pairs = ["--pairs", folder / "pairs.csv"]
    orders = {
        "fit: measuring on held-out pairs": ["fit", *files, *pairs, "-o", model],
        "embed: 60 rows": ["embed", model, folder / "a.csv", "--domain", "source", "-o", tmp_path / "points.npy"],
        "match: polishing": ["match", *files, *pairs, "--jobs", "1"],
        "label: held-out labels": [
            "label",
            folder / "x.csv",
            folder / "z.csv",
            "--label",
            "kind",
            "--check",
            "1",
        ],
        "migrate: controls": ["migrate", *files, *pairs],
    }
    for terminal in (False, True):
        for name, words in orders.items():
            for silent in ([], ["--quiet"], ["--json"])[: 3 if terminal else 1]:
                if terminal:
                    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
                assert main([*map(str, words), *silent]) == 0
                said = capsys.readouterr().err
                assert (f"\r{name}" in said) == (terminal and not silent), said
                assert terminal or said == ""


@pytest.mark.parametrize(
    ("words", "files"),
    [
        (["migrate", "--kind", "ridge", "a.npy", "b.npy"], ("a.npy", "b.npy")),
        (["migrate", "a.npy", "--kind", "ridge", "b.npy"], ("a.npy", "b.npy")),
        (["migrate", "a.npy", "--kind", "ridge"], ("a.npy", None)),
        (["match", "a.csv", "--seed", "1", "b.csv"], ("a.csv", "b.csv")),
        (["report", "a.csv", "-o", "r.html", "b.csv"], ("a.csv", "b.csv")),
    ],
)
def test_files_may_stand_around_options(words, files):
    found = vars(make_parser(words).parse_args(words))
    given = found.get("files") or [found[name] for name in ("old", "new", "a", "b") if name in found]
    assert [name and str(name) for name in given] == list(files)
