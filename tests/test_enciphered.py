"""The enciphered catalogue shares its objects with the manual, and no cell that would give a row away."""

import codecs
import csv
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def demo():
    spec = importlib.util.spec_from_file_location("enciphered", ROOT / "examples" / "enciphered.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def files(demo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("catalogues")
    truth = demo.export(folder)
    return folder, truth


def read(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_both_catalogues_have_the_same_objects_in_another_order(files):
    folder, truth = files
    manual, secret = read(folder / "manual.csv"), read(folder / "secret.csv")
    assert [row["name"] for row in manual] == list(dict.fromkeys(row["name"] for row in manual))
    assert sorted(truth.values()) == sorted(row["name"] for row in manual)
    assert list(truth) == [row["number"] for row in secret]
    assert list(truth.values()) != [row["name"] for row in manual]


def test_the_cipher_can_be_undone_and_the_sentences_were_drawn_separately(files):
    folder, truth = files
    manual = {row["name"]: row["text"] for row in read(folder / "manual.csv")}
    plain = {truth[row["number"]]: codecs.decode(row["grkg"], "rot13") for row in read(folder / "secret.csv")}
    shared = [len({*manual[n].split()} & {*plain[n].split()}) / len({*plain[n].split()}) for n in manual]
    assert sum(shared) / len(shared) > 0.7
    assert sum(manual[n] == plain[n] for n in manual) < 0.02 * len(manual)


def test_a_folder_that_can_not_be_written_ends_it_before_its_work(demo, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert demo.main(["--output", str(tmp_path / "file" / "below")]) == 2
    assert capsys.readouterr().out == ""
