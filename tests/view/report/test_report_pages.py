"""Reports on files that the commands wrote: what is on the page, what is not, and what is refused."""

import csv
import json
import re
import sys

import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("skops")
pytest.importorskip("plotly")

import isthmus
from isthmus.cli.main import main
from isthmus.io.model_file import load_parts
from isthmus.io.tables.read import read_table
from isthmus.study.source_value.result import CurvePoint, Row, Verdict
from isthmus.view.plots import principal_plane
from isthmus.view.report.page import load_libraries, render_report, write_report

EVIL = "<script>alert(1)</script>"
KINDS = [EVIL, '"><img src=x onerror=alert(2)>', "w</style>"]


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
    """Two views of 80 objects of three classes with hostile names; a model, matches, labels and a verdict."""
    where = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(100)
    y = np.arange(80) % 3
    H = 3.0 * rng.normal(size=(3, 6))[y] + rng.gamma(0.3, size=(80, 6))
    A, B = H @ rng.normal(size=(6, 9)), H @ rng.normal(size=(6, 12))
    heads = ["name", "kind", *(f"a{k}{EVIL}" for k in range(9))], ["name", "kind", *(f"b{k}" for k in range(12))]
    write(where / "a.csv", heads[0], [[f"a{i}{EVIL}", KINDS[y[i]], *A[i]] for i in range(80)])
    write(where / "b.csv", heads[1], [[f"b{i}", KINDS[y[i]] if i < 15 else "", *B[i]] for i in range(80)])
    write(where / "all.csv", heads[1], [[f"b{i}", KINDS[y[i]], *B[i]] for i in range(80)])
    write(where / "pairs.csv", ["a", "b"], [[f"a{i}{EVIL}", f"b{i}"] for i in range(30)])
    files = [str(where / "a.csv"), str(where / "b.csv")]
    columns = ["--id", "name", "--quiet"]
    assert main(["fit", *files, *columns, "--label", "kind", "-o", str(where / "model.isthmus")]) == 0
    assert main(["label", *files, *columns, "--label", "kind", "-o", str(where / "labels.csv")]) == 0
    pairs = ["--pairs", str(where / "pairs.csv"), "--drop", "kind", "--all"]
    assert main(["match", *files, *columns, *pairs, "-o", str(where / "matches.csv")]) == 0
    rows = Row("1", "", 0.8, None, None, None), Row("1", f"best {EVIL}", 0.7, 0.1, 0.05, 0.15)
    curve = CurvePoint(1, 0.8, 0.7, 0.1, 0.05, 0.15), CurvePoint(3, 0.9, 0.85, 0.05, -0.01, 0.1)
    said = Verdict(True, 0.1, (0.05, 0.15), f"The source helps, said {EVIL}.", rows, curve, "MLHD", 3, 60)
    (where / "verdict.json").write_text(json.dumps(said.to_dict()), encoding="utf-8")
    return where


@pytest.fixture
def pages(monkeypatch):
    """Pages without plotly.js, which is no part of what is looked at here."""
    found = load_libraries()
    monkeypatch.setattr("isthmus.view.report.page.load_libraries", lambda: (found[0], ""))


def drawn(text):
    """What the page's script draws."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(found.group(1))


def both(folder, target="b.csv", **more):
    return {"source": folder / "a.csv", "target": folder / target, **more}


def test_a_model_alone_has_its_card_and_certificate(folder, pages):
    text = render_report([folder / "model.isthmus"])
    assert "optimal after" in text
    assert "Columns of the target" in text
    assert drawn(text)["figures"] == []


def test_points_of_a_page_are_those_of_the_model(folder, pages):
    (cloud,) = drawn(render_report([folder / "model.isthmus"], **both(folder)))["clouds"]
    assert cloud["id"] == [f"a{i}{EVIL}" for i in range(80)] + [f"b{i}" for i in range(80)]
    assert cloud["names"] == sorted(KINDS)
    assert sum(cloud["known"]) == 80 + 15
    model, parts = isthmus.load(folder / "model.isthmus"), load_parts(folder / "model.isthmus")
    features = {name: parts[name] for name in ("source", "target")}
    rows = {
        name: features[name].transform(read_table(folder / f"{file}.csv"))
        for name, file in (("source", "a"), ("target", "b"))
    }
    S, T, share = principal_plane(*(model.transform(rows[name], name) for name in rows))
    np.testing.assert_allclose(np.array(cloud["after"]).T, np.vstack([S, T]), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(cloud["afterShare"], share)
    given = [cloud["class"][80 + i] for i in range(15, 80)]
    assert given == model.predict(rows["target"][15:]).tolist()


def test_a_control_that_never_sees_the_source_has_no_space(folder, tmp_path, pages):
    files, out = [str(folder / "a.csv"), str(folder / "b.csv")], tmp_path / "control.isthmus"
    options = ["--label", "kind", "--id", "name", "--system", "target 1-NN", "-o", str(out), "--quiet"]
    assert main(["fit", *files, *options]) == 0
    text = render_report([out], **both(folder, "all.csv"))
    assert "This system has no common space" in text
    assert drawn(text)["clouds"] == []


def test_matches_have_records(folder, pages):
    text = render_report([folder / "matches.csv"], **both(folder))
    assert "<dt>held-out pairs</dt>" in text
    assert "re-found" in text
    assert "(with shuffled pairs " in text
    facts = json.loads((folder / "matches.csv.json").read_text(encoding="utf-8"))["facts"]
    assert '<span class="badge good">matched</span>' in text
    assert facts["verdict"].removeprefix("matched: ") in text
    assert f"<li><b>{facts['matches']}</b> matches</li>" in text
    assert text.count('<div class="pair">') == facts["matches"]
    sure = [float(share) for share in re.findall(r'<span class="score">(\d+) %</span>', text)]
    assert sure == sorted(sure), "the least sure first"
    (cuts,) = drawn(text)["cuts"]
    assert [row[1] for row in cuts] == sorted((row[1] for row in cuts), reverse=True)
    assert (cuts[0][1], cuts[0][3]) == (facts["matches"], 1.0)


def test_reasons_are_a_waterfall(folder, tmp_path, pages):
    with (folder / "matches.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    told = {"explanation": f"{EVIL} +3.0, b -1.0, c +0.0", "runner_up": "b1"}
    write(tmp_path / "matches.csv", list(rows[0] | told), [(row | told).values() for row in rows])
    text = render_report([tmp_path / "matches.csv"], **both(folder))
    assert 'class="for" style="left:0.0%;width:100.0%"' in text
    assert 'class="against" style="left:66.6' in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; +3.0, b −1.0" in text
    assert "c +0.0" not in text
    assert text.count("next best: b1") == len(rows)


def test_matches_without_their_record_or_changed_say_so(folder, tmp_path, pages):
    copy = tmp_path / "matches.csv"
    copy.write_text((folder / "matches.csv").read_text(encoding="utf-8"), encoding="utf-8")
    assert "is missing" in render_report([copy])
    (tmp_path / "matches.csv.json").write_bytes((folder / "matches.csv.json").read_bytes())
    assert "was changed" not in render_report([copy])
    lines = copy.read_text(encoding="utf-8").splitlines()
    copy.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
    assert "was changed" in render_report([copy])


def test_a_matching_that_failed_has_a_page(folder, tmp_path, capsys, pages):
    rng = np.random.default_rng(100)
    for name in "ab":
        write(tmp_path / f"{name}.csv", [f"{name}{k}" for k in range(5)], rng.normal(size=(40, 5)).tolist())
    out = tmp_path / "none.csv"
    assert run(capsys, "match", tmp_path / "a.csv", tmp_path / "b.csv", "-o", out)[0] == 0
    text = render_report([out])
    assert "<dt>matches</dt><dd>0</dd>" in text
    assert '<span class="badge bad">failed</span>' in text
    steps = re.findall(r"<li><code>(.*?)</code>", text)
    assert steps[:3] == ["--shared A=B", "isthmus review", "--pairs FILE"], "what to try, in order"
    assert json.loads((tmp_path / "none.csv.json").read_text(encoding="utf-8"))["facts"]["matches"] == 0


def test_given_classes_stand_beside_true_ones(folder, pages):
    text = render_report([folder / "labels.csv"], **both(folder, "all.csv"))
    with (folder / "labels.csv").open(encoding="utf-8") as file:
        found = [row for row in csv.DictReader(file) if row["given"] == "false"]
    right = sum(row["class"] == KINDS[int(row["id"][1:]) % 3] for row in found)
    assert f"Accuracy: {100 * right / len(found):.1f} % [" in text
    assert "on 65 rows that were unlabelled and have a label in all.csv" in text
    assert "Predicted and true classes" not in render_report([folder / "labels.csv"], **both(folder))
    assert "Predicted and true classes" not in render_report([folder / "labels.csv"])


def test_a_verdict_begins_with_its_sentence(folder, pages):
    text = render_report([folder / "verdict.json"])
    assert text.index("The source helps, said") < text.index("+10.0")
    assert [point["with_source"] for point in drawn(text)["figures"][0]["values"]["curve"]] == [0.8, 0.9]
    assert "[+5.0, +15.0]" in text


def test_nothing_of_a_file_becomes_markup(folder):
    things = [folder / name for name in ("model.isthmus", "matches.csv", "labels.csv", "verdict.json")]
    text = render_report(things, **both(folder, "all.csv"), title=f"Title {EVIL}")
    assert len(re.findall(r"<script", page_without_plotly(text))) == 3  # data, plotly and our own
    assert not re.search(r"<(img|iframe|object|link|base|form)", page_without_plotly(text))
    assert text.count("<style>") == text.count("</style>") == 1
    assert "default-src 'none'; script-src 'sha256-" in text


def page_without_plotly(text):
    start = text.index("<script>")
    return text[:start] + "<script></script>" + text[text.index("</script>", start) + len("</script>") :]


def test_the_command_writes_a_whole_file_or_none(folder, tmp_path, capsys):
    out = tmp_path / "report.html"
    status, said, wrong = run(capsys, "report", folder / "verdict.json", folder / "model.isthmus", "-o", out)
    assert (status, wrong) == (0, "")
    assert "open it in a browser" in said
    assert out.read_text(encoding="utf-8").endswith("</html>\n")
    status, said, _ = run(capsys, "report", folder / "verdict.json", "-o", out, "--json")
    assert json.loads(said)["bytes"] == out.stat().st_size
    status, said, wrong = run(capsys, "report", folder / "a.csv", "-o", tmp_path / "other.html")
    assert (status, said, wrong.count("\n")) == (2, "", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_what_is_none_of_them_is_told_in_one_sentence(folder, tmp_path, pages):
    (tmp_path / "list.json").write_text("{}", encoding="utf-8")
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "later.json").write_text(
        '{"sentence": "x", "helps": null, "rows": [], "version": 9}', encoding="utf-8"
    )
    (tmp_path / "odd.json").write_text(
        '{"sentence": "x", "helps": null, "rows": [{"group": "1", "against": "", "accuracy": 1e999}]}',
        encoding="utf-8",
    )
    (tmp_path / "huge.json").write_text(
        f'{{"sentence": "x", "helps": null, "rows": [], "curve": [{{"labels": 1{"0" * 400}}}]}}', encoding="utf-8"
    )
    (tmp_path / "empty").write_text("", encoding="utf-8")
    np.savez(tmp_path / "arrays.npz", x=np.zeros(3))
    (tmp_path / "cut.isthmus").write_bytes((folder / "model.isthmus").read_bytes()[:2000])
    cases = {
        "list.json": "got another JSON object",
        "broken.json": "expected valid JSON",
        "later.json": "upgrade isthmus",
        "odd.json": "verdict: expected all parts",
        "huge.json": "verdict: expected all parts",
        "empty": "expected a name that ends in",
        "arrays.npz": "got an adapter or other arrays",
        "cut.isthmus": "expected a model",
        "none.csv": "found none",
    }
    for name, words in cases.items():
        with pytest.raises(isthmus.InputError, match=words) as caught:
            render_report([tmp_path / name])
        assert "\n" not in str(caught.value)
    with pytest.raises(isthmus.InputError, match=r"give matches\.csv itself"):
        render_report([folder / "matches.csv.json"])
    with pytest.raises(isthmus.InputError, match='got a table with the columns "name", "kind"'):
        render_report([folder / "a.csv"])


def test_what_does_not_fit_together_is_told(folder, tmp_path, pages):
    with pytest.raises(isthmus.InputError, match="expected both --source and --target, or neither"):
        render_report([folder / "model.isthmus"], source=folder / "a.csv")
    with pytest.raises(isthmus.InputError, match=r"expected the rows that .* names, got none called 'b0'"):
        render_report([folder / "matches.csv"], source=folder / "a.csv", target=folder / "a.csv")
    with pytest.raises(isthmus.InputError, match=r"expected a name that ends in \.html"):
        write_report([folder / "verdict.json"], tmp_path / "verdict.csv")
    plain = tmp_path / "plain.isthmus"
    isthmus.save(isthmus.RidgeMap().fit(np.eye(4), None, np.eye(4), None, pairs="rows"), plain)
    assert "RidgeMap" in render_report([plain])
    with pytest.raises(isthmus.InputError, match="without the features of its files"):
        render_report([plain], **both(folder))


@pytest.mark.parametrize("package", ["plotly.offline", "jinja2"])
def test_without_a_library_the_install_line_is_named(folder, tmp_path, capsys, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    status, _, wrong = run(capsys, "report", folder / "verdict.json", "-o", tmp_path / "report.html")
    assert status == 2
    assert f"need {package.partition('.')[0]}," in wrong
    assert 'pip install "isthmus[report]"' in wrong


def test_many_rows_are_sampled_and_it_is_said(folder, pages, monkeypatch):
    monkeypatch.setattr("isthmus.view.report.chapters.POINTS", 40)
    text = render_report([folder / "model.isthmus"], **both(folder))
    assert ("These two axes show" in text) is (sum(drawn(text)["clouds"][0]["afterShare"]) < 0.1)
    assert "A sample: 20 of 80 source rows and 20 of 80 target rows." in text
    assert len(drawn(text)["clouds"][0]["id"]) == 40


@pytest.mark.slow
def test_an_evaluation_is_written_for_a_report(folder, tmp_path, capsys, pages):
    out = tmp_path / "verdict.json"
    asked = ("--label", "kind", "--id", "name", "--system", "target 1-NN", "--splits", 3, "--jobs", 1, "-o", out)
    status, said, wrong = run(capsys, "evaluate", folder / "a.csv", folder / "all.csv", *asked)
    assert (status, wrong) == (0, "")
    known = json.loads(out.read_text(encoding="utf-8"))
    assert (known["format"], known["version"]) == ("isthmus verdict", 1)
    assert known["sentence"] in said
    assert "Comparisons" in render_report([out])


def test_another_file_of_the_name_of_a_record_is_left_alone(folder, tmp_path, capsys, pages):
    mine = tmp_path / "labels.csv.json"
    mine.write_text("my own notes", encoding="utf-8")
    asked = ("--label", "kind", "--id", "name", "--check", "0", "-o", tmp_path / "labels.csv")
    status, said, wrong = run(capsys, "label", folder / "a.csv", folder / "b.csv", *asked)
    assert (status, wrong) == (0, "")
    assert "is another file; it was not overwritten" in said
    assert mine.read_text(encoding="utf-8") == "my own notes"
    assert "There is no record of how the classes were found" in render_report([tmp_path / "labels.csv"])


def test_what_a_command_measured_beside_its_answer_is_on_the_page(folder, tmp_path, pages):
    for table, name in (("matches.csv", "baseline"), ("labels.csv", "held_out")):
        copy = tmp_path / table
        copy.write_bytes((folder / table).read_bytes())
        record = json.loads((folder / f"{table}.json").read_text(encoding="utf-8"))
        for value, seen in (
            ({"sentence": f"These alone find 12% {EVIL}."}, True),
            ({"sentence": 3}, False),
            (4, False),
        ):
            record["facts"][name] = value
            (tmp_path / f"{table}.json").write_text(json.dumps(record), encoding="utf-8")
            text = render_report([copy])
            assert ("These alone find 12% &lt;script&gt;" in text) is seen
