"""The example on made-up documents runs, and tells success from failure."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "match_documents.py"


@pytest.mark.slow
def test_the_example_matches_where_it_can_and_says_so_where_it_can_not(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), "--documents", "300"])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    parts = capsys.readouterr().out.strip().split("\n\n")
    assert [part.splitlines()[1].split(":")[0].strip() for part in (parts[0], parts[-1])] == ["matched", "failed"]
    assert len(parts) == 4
