"""What `isthmus review` asks about real files: pairs of rows, classes, and matches that were written before."""

import csv

import numpy as np
import pytest

pytest.importorskip("polars")

from isthmus.cli.console import Console
from isthmus.cli.main import main, make_parser
from isthmus.cli.review import make_label_task, make_match_task
from isthmus.exceptions import InputError
from isthmus.view.review.decisions import DecisionLog
from isthmus.view.review.session import Review

QUIET = Console(quiet=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two tables of 80 objects of three classes, with names in common; B has 70 of them, nine with their class."""
    where, rng = tmp_path_factory.mktemp("tasks"), np.random.default_rng(100)
    y = np.arange(80) % 3
    H = 1.5 * rng.normal(size=(3, 5))[y] + rng.normal(size=(80, 5))
    names = [" ".join("".join(rng.choice(list("abcdefgh"), 6)) for _ in range(3)) for _ in range(80)]
    for file, d, n, labelled in (("a", 7, 80, 80), ("b", 6, 70, 9)):
        X = H @ rng.normal(size=(5, d))
        rows = [
            [f"{file}{i}", names[i][file == "b" :], "uvw"[y[i]] if i < labelled else "", *X[i].round(3)]
            for i in range(n)
        ]
        with (where / f"{file}.csv").open("w", newline="", encoding="utf-8") as handle:
            csv.writer(handle).writerows([["id", "name", "kind", *(f"{file}{k}" for k in range(d))], *rows])
    return where


def read_options(folder, *words):
    files = [str(folder / "a.csv"), str(folder / "b.csv"), "--id", "id"]
    return make_parser(["review"]).parse_args(["review", *files, *words])


def start(task, path):
    review = Review(task, DecisionLog(path))
    review._working = ""
    review._work()
    assert review.state()["error"] is None
    return review


def test_pairs_of_the_smaller_file_with_their_cells(folder, tmp_path):
    task = make_match_task(read_options(folder, "--drop", "kind"), QUIET)
    assert (task.side, len(task.rows), task.rows[0]) == (1, 70, "b0")
    review = start(task, tmp_path / "d.csv")
    question = review.state()["question"]
    assert question["files"] == ["a.csv", "b.csv"]
    assert "name" in [name for name, *_ in question["shared"]]
    for _ in range(12):
        question = review.state()["question"]
        right = question["source"][1:] == question["target"][1:]
        review.answer(question["source"], question["target"], "y" if right else "n")
        assert {name for name, _ in review.state()["last"]["parts"]} >= {"name", "whole row"}
    review._work()
    assert review.state()["changes"]["answers"] == review._learned
    assert review.state()["quality"][0]["right"] > 0
    assert "--decisions decisions.csv -o matches.csv" in review.state()["again"]
    review.log.close()


def write_decisions(path, *rows):
    lines = ["source,target,verdict,time", *(f"{row},2026-01-31T12:00:00+00:00" for row in rows)]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")


def test_decisions_that_confirm_several_partners_of_a_row_are_used_or_refused(folder, tmp_path, capsys):
    decisions, out = tmp_path / "d.csv", tmp_path / "m.csv"
    write_decisions(decisions, "a3,b3,y", "a75,b3,y", "a5,b6,n")
    words = ["match", str(folder / "a.csv"), str(folder / "b.csv"), "--id", "id", "--drop", "kind", "--quiet"]
    words += ["--decisions", str(decisions), "-o", str(out)]
    assert main(words) == 2
    said = "--decisions: expected one partner of each row, got B row 'b3' with 2 partners; leave one partner, or use --man"
    assert said in capsys.readouterr().err
    assert main([*words, "--many-to-one"]) == 0
    with out.open(newline="", encoding="utf-8") as file:
        found = {(row["source"], row["target"]) for row in csv.DictReader(file)}
    assert {("a3", "b3"), ("a75", "b3")} <= found
    assert ("a5", "b6") not in found
    write_decisions(decisions, "a3,b3,y", "a3,b4,y")
    assert main([*words, "--many-to-one"]) == 2
    assert "got A row 'a3' with 2 partners; leave one partner.\n" in capsys.readouterr().err


def test_a_second_partner_is_refused_but_for_rows_of_a_in_a_review_of_many_to_one(folder, tmp_path):
    several = read_options(folder, "--drop", "kind", "--many-to-one")
    review = start(make_match_task(several, QUIET), tmp_path / "several.csv")
    for source, target in (("a3", "b3"), ("a75", "b3")):
        review.answer(source, target, "y")
    with pytest.raises(InputError, match=r"got a3 and b4 after a3 and b3; answer n, or undo the earlier one.$"):
        review.answer("a3", "b4", "y")
    review._work()
    state = review.state()
    assert state["error"] is None
    assert "--many-to-one" in state["again"]
    review.log.close()
    (tmp_path / "one.csv").write_bytes((tmp_path / "several.csv").read_bytes())
    task = make_match_task(read_options(folder, "--drop", "kind"), QUIET)
    log = DecisionLog(tmp_path / "one.csv")
    with pytest.raises(InputError, match=r"got a75 and b3 after a3 and b3; .*, or use --many-to-one.$"):
        Review(task, log)
    log.close()


@pytest.mark.slow
def test_matches_that_were_written_are_asked_about_without_matching(folder, tmp_path, monkeypatch):
    out = tmp_path / "matches.csv"
    files = [str(folder / "a.csv"), str(folder / "b.csv")]
    assert main(["match", *files, "--id", "id", "--drop", "kind", "-o", str(out), "--quiet"]) == 0
    monkeypatch.setattr("isthmus.match", None)
    task = make_match_task(read_options(folder, "--drop", "kind", "--matches", str(out)), QUIET)
    review = start(task, tmp_path / "d.csv")
    state = review.state()
    assert state["quality"][0]["claims"] == len(out.read_text(encoding="utf-8").splitlines()) - 1
    review.answer(state["question"]["source"], state["question"]["target"], "y")
    assert review.state()["quality"][0]["recall"] is None, "a table of matches does not say what was missed"
    review.log.close()


def test_classes_of_rows_that_have_none(folder, tmp_path):
    task = make_label_task(read_options(folder, "--label", "kind"), QUIET)
    assert (task.kind, task.options, len(task.rows)) == ("label", ["u", "v", "w"], 61)
    review = start(task, tmp_path / "d.csv")
    question = review.state()["question"]
    assert question["guesses"][0] == question["source"]
    assert {row["class"] for row in question["near"]} <= {"u", "v", "w"}
    assert "kind" not in [name for name, _ in question["cells"]]
    for _ in range(9):
        question = review.state()["question"]
        truth = "uvw"[int(question["target"][1:]) % 3]
        review.answer(question["source"], question["target"], "y" if truth == question["source"] else "n")
    review._work()
    state = review.state()
    assert state["error"] is None
    confirmed = review._list_taught("y")
    assert (review._proposal.claim[confirmed[:, 0]] == confirmed[:, 1]).all()
    rejected = review._list_taught("n")
    assert (review._proposal.claim[rejected[:, 0]] != rejected[:, 1]).all()
    review.log.close()
