"""The command line: what it says, how it ends, and that a run may be killed at any time."""

import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from small_tables import PAUSE, quick

import isthmus
from conftest import LIMIT, real_data, start_process, wait_until
from isthmus.study.records import RecordStore
from studies.paper.command import EXAMPLES, main, parser
from studies.paper.experiment import EXPERIMENTS
from studies.paper.reproduction import NAMES

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
FILES = {
    "table1": "reuters_multilingual/reuters.mat",
    "table2": "office31/office31_bow_own.npz",
}


@pytest.fixture
def small_experiments(monkeypatch):
    for name, experiment in quick().items():
        monkeypatch.setitem(EXPERIMENTS, name, experiment)


def run(*arguments, capsys):
    """Exit status, standard output, standard error."""
    try:
        status = main([str(a) for a in arguments])
    except SystemExit as end:
        status = end.code
    return (status, *capsys.readouterr())


def command(stack, *arguments, module="studies.paper", **options):
    path = os.pathsep.join([str(HERE), str(ROOT), str(Path(isthmus.__file__).parents[1])])
    environment = os.environ | {"PYTHONPATH": path} | options.pop("env", {})
    output = {"stdout": options.pop("stdout", subprocess.PIPE), "stderr": subprocess.PIPE}
    return start_process(stack, [sys.executable, "-m", module, *arguments], env=environment, **output)


# --- help -----------------------------------------------------------------------------------------------------------


def test_help_has_every_option_and_examples(capsys):
    status, out, _ = run("--help", capsys=capsys)
    assert status == 0
    for option in ("data", "out", "records", "seeds", "oracle", "variants", "groups", "jobs", "format", "report"):
        assert f"--{option}" in out.split("examples:")[0]
    for name in NAMES:
        assert f"\n  {name} " in out
    assert out.count("  python -m studies.paper ") >= 3


def test_the_examples_in_the_help_are_commands_that_parse():
    lines = [line.strip() for line in EXAMPLES.splitlines() if line.startswith("  python")]
    for line in lines:
        assert parser().parse_args(shlex.split(line)[3:]).name in NAMES


def test_nothing_is_written_to_the_committed_results_by_default():
    assert parser().parse_args(["all"]).out == Path("reproduced")


def assert_one_line(err, *parts):
    lines = [line for line in err.splitlines() if line.startswith("python -m studies.paper: ")]
    assert len(lines) == 1, err
    assert "Traceback" not in err
    for part in parts:
        assert part in lines[0]


# --- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*FILES, "sensitivity"])
def test_missing_data_say_what_to_put_where(capsys, tmp_path, name):
    status, out, err = run(name, "--data", tmp_path, "--out", tmp_path / "out", "--jobs", 1, capsys=capsys)
    assert (status, out) == (2, "")
    file = FILES.get(name, FILES["table1"])
    assert_one_line(err, str(tmp_path / file), "put it there", "ISTHMUS_DATA", "classes")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--groups", "EN-XX"], ["groups: expected some of EN → FR", "got 'EN → XX'"]),
        (["--groups", "EN → FR,nonsense"], ["groups: expected", "got 'nonsense'"]),
        (["--variants", "honest"], ["variants: expected some of whole, held-out, got 'honest'"]),
        (["--jobs", "0"], ["--jobs: expected at least 1, got 0"]),
        (["--jobs", "-3"], ["--jobs: expected at least 1, got -3"]),
    ],
)
def test_bad_values_are_one_line(capsys, tmp_path, small_experiments, arguments, parts):
    status, out, err = run("table1", "--out", tmp_path, *arguments, capsys=capsys)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert_one_line(err, *parts)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        *(["--seeds", s] for s in ("", "3", "a:b", "5:5", "5:3", "0:2:3", "0:10,", "0:2,7", "0:99999999999999", "0:1e3")),
        ["--seeds=-3:2"], ["--jobs", "many"], ["--format", "html"], ["--groups", ""], ["--groups", ","],
        ["--variants", ""], ["--colour", "red"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_does_not_parse_ends_with_a_sentence(capsys, tmp_path, arguments):
    status, out, err = run("table1", "--out", tmp_path, *arguments, capsys=capsys)
    assert (status, out) == (2, "")
    last = err.splitlines()[-1]
    assert last.startswith("python -m studies.paper: error: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [[], ["table3"], ["nonsense"]], ids=" ".join)
def test_what_is_no_command_is_refused(capsys, arguments):
    status, out, err = run(*arguments, capsys=capsys)
    assert (status, out) == (2, "")
    assert "error" in err


def test_a_folder_that_cannot_be_written_is_one_line(capsys, tmp_path, small_experiments):
    (tmp_path / "file").write_text("mine")
    arguments = ("--out", tmp_path / "file" / "out", "--seeds", "0:1", "--groups", "EN-FR", "--jobs", 1)
    status, out, err = run("table1", *arguments, capsys=capsys)
    assert (status, out) == (2, "")
    assert_one_line(err, str(tmp_path / "file"))
    assert (tmp_path / "file").read_text() == "mine"


def test_damaged_records_are_one_line_and_stay(capsys, tmp_path, small_experiments):
    (tmp_path / "table1.jsonl").write_text('{"experiment": "table1", "gro')
    status, out, err = run("table1", "--out", tmp_path, "--seeds", "0:1", capsys=capsys)
    assert (status, out) == (2, "")
    assert_one_line(err, "table1.jsonl line 1: expected a record", "remove it")
    assert (tmp_path / "table1.jsonl").read_text() == '{"experiment": "table1", "gro'


def test_records_to_render_must_be_there(capsys, tmp_path):
    status, out, err = run("toy", "--records", tmp_path, "--out", tmp_path / "out", capsys=capsys)
    assert (status, out) == (2, "")
    assert_one_line(err, f"{tmp_path}: expected records of toy (*.jsonl), got none.")


# --- what a run leaves ----------------------------------------------------------------------------------------------

QUICK = ("--seeds", "0:2", "--variants", "whole", "--jobs", 1)


@pytest.fixture(scope="module")
def one_group_of_table1(tmp_path_factory):
    """The folder of a run of one group, which tests copy, and what it printed."""
    folder = tmp_path_factory.mktemp("one_group")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as out:
        patch.setitem(EXPERIMENTS, "table1", quick()["table1"])
        assert main([*map(str, ("table1", "--out", folder, *QUICK, "--groups", "EN-FR"))]) == 0
    return folder, out.getvalue()


@pytest.mark.slow
def test_tables_are_printed_in_the_format_asked_for(capsys, tmp_path, small_experiments):
    group = "dslr sift900 → webcam surf600"
    signs = {"text": ("-----", ".txt"), "markdown": ("| --- |", ".md"), "latex": (r"\begin{tabular}", ".tex")}
    for form, (sign, suffix) in signs.items():
        arguments = ("table2", "--out", tmp_path, *QUICK, "--groups", group, "--format", form)
        status, out, err = run(*arguments, capsys=capsys)
        assert status == 0
        assert sign in out
        assert out.rstrip() == (tmp_path / f"table2-part{suffix}").read_text().rstrip()
        assert "written: " in err
        assert ("nothing to run: all records are there" in err) == (form != "text")
    files = {"table2.jsonl", "table2-part.txt", "table2-part.md", "table2-part.tex", "table2-whole-part.png"}
    assert files <= set(os.listdir(tmp_path))


@pytest.mark.slow
def test_all_of_it_makes_a_report_that_links_to_figures_that_are_there(capsys, tmp_path, small_experiments):
    out, report = tmp_path / "results", tmp_path / "docs" / "page.md"
    arguments = ("--out", out, *QUICK, "--variants", "whole,held-out", "--oracle", "--report", report)
    status, printed, err = run("all", *arguments, capsys=capsys)
    assert status == 0, err
    assert f"written: {report}" in err
    for title in ("Toy problem, accuracy", "Multilingual Reuters, accuracy", "Office, accuracy", "over λ1 (rows)"):
        assert title in printed
    text = report.read_text(encoding="utf-8")
    links = re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)
    assert len(links) == 12  # the toy, each table and its differences in two variants, three readings of the grid
    assert all((report.parent / link).is_file() for link in links)
    assert not re.search(r"\bnan\b|None", text)


@pytest.mark.slow
def test_old_records_are_rendered_but_not_taken_for_new_ones(
    capsys, tmp_path, small_experiments, one_group_of_table1
):
    arguments = ("--out", tmp_path, *QUICK, "--groups", "EN-FR")
    shutil.copy(one_group_of_table1[0] / "table1.jsonl", tmp_path)
    file = tmp_path / "table1.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    old = [{k: v for k, v in line.items() if k != "fingerprint"} for line in lines]
    before = "".join(json.dumps(line) + "\n" for line in old)
    file.write_text(before)
    status, out, err = run("table1", "--records", tmp_path, *arguments[:4], "--groups", "EN-FR", capsys=capsys)
    assert status == 0
    assert "mlhd-rbf" in out
    assert "a new run replaces them" not in out
    assert file.read_text() == before  # rendering leaves the records as they are
    status, out, err = run("table1", *arguments, capsys=capsys)
    assert status == 0
    assert f"table1: {len(lines)} records of another version, or of other systems or rows, moved to" in err
    assert "2 of 2 trials" in err
    again = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line | {"seconds": 0} for line in again] == [line | {"seconds": 0} for line in lines]
    assert len((tmp_path / "table1.set-aside.jsonl").read_text().splitlines()) == len(lines)


@pytest.mark.slow
def test_groups_may_be_written_with_a_hyphen(one_group_of_table1):
    _, out = one_group_of_table1
    assert "EN → FR" in out
    assert "EN → GR" not in out


@pytest.mark.slow
def test_without_matplotlib_the_tables_are_made_and_the_figures_asked_for(
    capsys, tmp_path, small_experiments, monkeypatch, one_group_of_table1
):
    shutil.copy(one_group_of_table1[0] / "table1.jsonl", tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for module in [m for m in sys.modules if m.startswith("matplotlib.")]:
        monkeypatch.setitem(sys.modules, module, None)
    status, out, err = run("table1", "--out", tmp_path, *QUICK, "--groups", "EN-FR", capsys=capsys)
    assert status == 2
    assert "EN → FR" in out
    assert "Traceback" not in err
    assert "isthmus[plot]" in err
    assert (tmp_path / "table1-part.txt").exists()


# --- processes ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_closed_pipe_is_quiet(tmp_path, processes):
    read, write = os.pipe()
    os.close(read)
    process = command(processes, "toy", "--records", ROOT / "results", "--out", tmp_path, stdout=write)
    os.close(write)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0
    assert [line.split(":")[0] for line in err.split("\n") if line] == ["written"]
    assert (tmp_path / "toy.md").read_bytes() == (ROOT / "results" / "toy.md").read_bytes()


@pytest.mark.slow
def test_a_terminal_without_arrows_is_no_reason_to_fail(processes):
    process = command(processes, "--help", env={"PYTHONIOENCODING": "ascii"})
    out, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, err) == (0, "")
    assert "EN ? FR" in out


def made(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.suffix in (".txt", ".md", ".tex", ".png", ".svg")}


LONG = ("table1", "--seeds", "0:1,1:2", "--variants", "whole", "--jobs")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as out:
        for name, experiment in quick().items():
            patch.setitem(EXPERIMENTS, name, experiment)
        assert main([*map(str, LONG), "1", "--out", str(folder)]) == 0
    return out.getvalue(), made(folder)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_is_stopped_in_the_middle_goes_on_to_the_same_bytes(undisturbed, tmp_path, jobs, processes):
    process = command(processes, *LONG, jobs, "--out", tmp_path, module="small_tables", env={PAUSE: "3"})
    wait_until(lambda: len(list((tmp_path / "table1.parts").glob("*.jsonl"))) == 3, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers are told too
    out, err = process.communicate(timeout=LIMIT)
    kept = RecordStore(tmp_path, "table1").read()
    assert len(kept) == 3 * len(quick()["table1"].columns)
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines()[-1] == (
        "python -m studies.paper: stopped by Ctrl-C. Finished trials are kept; the same command goes on from there."
    )
    assert jobs > 1 or "Traceback" not in err  # a worker that is still starting may have its own last words
    assert not (tmp_path / "table1.parts").exists()
    before = {key: record.seconds for key, record in kept.items()}
    process = command(processes, *LONG, 1, "--out", tmp_path, module="small_tables")
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, err
    assert (out, made(tmp_path)) == undisturbed
    after = RecordStore(tmp_path, "table1").read()
    assert all(after[key].seconds == seconds for key, seconds in before.items())  # none was run again
    assert not list(tmp_path.rglob(".*.part"))


# --- real data ------------------------------------------------------------------------------------------------------


def one_group(name, group, tmp_path, capsys, variants):
    arguments = (
        "--data",
        real_data(FILES[name]),
        "--out",
        tmp_path,
        "--groups",
        group,
        "--seeds",
        "0:1",
        "--jobs",
        1,
    )
    arguments += ("--variants", ",".join(variants))
    status, out, err = run(name, *arguments, capsys=capsys)
    assert status == 0, err
    experiment = EXPERIMENTS[name]
    records = RecordStore(tmp_path, name).read().values()
    assert len(records) == len(experiment.columns) * len(variants)
    assert all(record.certified for record in records)
    assert "†" not in out
    assert "nan" not in out
    return {(r.system, r.variant): r.score for r in records}


@pytest.mark.data
@pytest.mark.slow
def test_a_group_of_the_real_table1(tmp_path, capsys):
    scores = one_group("table1", "EN-FR", tmp_path, capsys, ("whole",))
    assert all(score > 1 / 6 for (system, _), score in scores.items() if system.startswith("target"))


@pytest.mark.data
@pytest.mark.slow
def test_a_group_of_the_real_table2(tmp_path, capsys):
    scores = one_group("table2", "dslr surf600 → webcam sift900", tmp_path, capsys, ("held-out",))
    assert all(score > 1 / 31 for (system, _), score in scores.items() if system.startswith("target"))


@pytest.mark.slow
def test_two_seeds_of_the_toy_problem(tmp_path, capsys):
    status, out, _ = run("toy", "--out", tmp_path, "--seeds", "0:2", "--jobs", 1, capsys=capsys)
    assert status == 0
    assert "MMD²" in out
    assert "mlhd without alignment" in out
    assert "nan" not in out
    assert {"toy.png", "toy.svg", "toy.md"} <= set(os.listdir(tmp_path))
