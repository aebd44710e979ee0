"""Folders of files that belong together: all of them, or none."""

import os
import threading

import pytest

from conftest import one_sentence
from isthmus import InputError
from isthmus._core import files as core_files
from isthmus._core.files import check_folder, fill_folder

NAMES = ("one", "two")


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def fill(path, **files):
    with fill_folder(path, NAMES) as place:
        for name, text in files.items():
            (place / name).write_text(text)


def test_a_second_filling_replaces_what_is_its_own(tmp_path):
    folder = tmp_path / "answer"
    fill(folder, one="1", two="2")
    (folder / "notes").write_text("mine")
    fill(folder, one="3")  # the old "two" would belong to another answer
    assert contents(folder) == {"one": "3", "notes": "mine"}
    assert [path.name for path in tmp_path.iterdir()] == ["answer"]


def test_what_fails_on_the_way_changes_nothing(tmp_path):
    for name in ("new", "old"):
        folder = tmp_path / name
        if name == "old":
            fill(folder, one="1")
        with pytest.raises(TypeError):
            fill(folder, one="half", two=2)
    assert {path.name for path in tmp_path.iterdir()} == {"old"}
    assert contents(tmp_path / "old") == {"one": "1"}


def test_a_folder_that_another_makes_meanwhile_is_filled_too(tmp_path):
    folder = tmp_path / "answer"
    with fill_folder(folder, NAMES) as place:
        (place / "one").write_text("late")
        fill(folder, one="early", two="early")
    assert contents(folder) == {"one": "late"}


def test_files_of_two_programs_are_not_mixed(tmp_path, monkeypatch):
    pytest.importorskip("fcntl")
    folder, rename = tmp_path / "answer", core_files.rename_written
    fill(folder, one="0", two="0")
    other = threading.Thread(target=fill, args=(folder,), kwargs={"one": "2", "two": "2"})

    def rename_slowly(unfinished, path):
        rename(unfinished, path)
        if not other.ident:  # between the two files of the first one
            other.start()
            other.join(0.2)

    monkeypatch.setattr(core_files, "rename_written", rename_slowly)
    fill(folder, one="1", two="1")
    other.join()
    assert contents(folder) == {"one": "2", "two": "2"}


def test_a_folder_that_can_not_be_opened_is_filled_all_the_same(tmp_path, monkeypatch):
    """As one in which anybody may put files that only its owner may list."""
    folder, open_path = tmp_path / "answer", os.open
    fill(folder, one="0")

    def refuse(path, *args, **options):
        if os.fspath(path) == os.fspath(folder):
            raise PermissionError(13, "Permission denied")
        return open_path(path, *args, **options)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.warns(UserWarning, match="could not be synchronised"):
        fill(folder, one="1")
    assert contents(folder) == {"one": "1"}


def test_places_that_can_not_be_filled(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "no" / "folder"):
        for use in (check_folder, fill):
            with pytest.raises(InputError) as caught:
                use(path)
            assert one_sentence(caught)
    monkeypatch.chdir(tmp_path)
    check_folder(".")
    assert os.listdir() == ["file"]
