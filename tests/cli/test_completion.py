"""Completion: what bash offers after the script was read."""

import re
import subprocess

import pytest

from conftest import LIMIT
from isthmus.cli.main import COMMANDS, main

pytest.importorskip("shtab")


def script(capsys, shell):
    assert main(["completion", shell]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def offered(script, words, folder):
    """What bash offers for the last of some words: it runs the function that the script registers."""
    function = re.search(r"complete .*-F (\S+) isthmus", script).group(1)
    quoted = " ".join(f"'{word}'" for word in words)
    asked = (
        f"{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; COMP_LINE='{' '.join(words)}'; "
        f'COMP_POINT=${{#COMP_LINE}}; {function}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", asked], cwd=folder, text=True, capture_output=True, check=True, timeout=LIMIT
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def test_bash_completes_commands_options_choices_and_files(capsys, tmp_path):
    (tmp_path / "english.csv").touch()
    (tmp_path / "folder").mkdir()
    text = script(capsys, "bash")
    assert offered(text, ["isthmus", ""], tmp_path) >= set(COMMANDS)
    assert offered(text, ["isthmus", "mig"], tmp_path) == {"migrate"}
    assert {"--label", "--pairs", "--plan", "-o"} <= offered(text, ["isthmus", "fit", "-"], tmp_path)
    assert offered(text, ["isthmus", "fit", "--pl"], tmp_path) == {"--plan"}
    assert offered(text, ["isthmus", "fit", "engl"], tmp_path) == {"english.csv"}
    assert offered(text, ["isthmus", "fit", "english.csv", "english.csv", "--pairs", "e"], tmp_path) == {
        "english.csv"
    }
    assert offered(text, ["isthmus", "migrate", "a", "b", "-o", ""], tmp_path) == {"folder"}
    assert offered(text, ["isthmus", "embed", "m", "f", "--domain", "s"], tmp_path) == {"source"}


def test_other_shells_have_theirs(capsys):
    assert script(capsys, "zsh").startswith("#compdef isthmus")
    assert "complete isthmus" in script(capsys, "tcsh")
