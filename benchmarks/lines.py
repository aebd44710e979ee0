"""Measurements as lines of JSON, a process for each, and tables made of them in pages between marks."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"


def read(path: Path) -> list[dict[str, Any]]:
    """What was measured so far."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def add(path: Path, record: dict[str, Any]) -> None:
    """Keep one more record."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record, ensure_ascii=False) + "\n")


def run_module(module: str, *arguments: object) -> dict[str, Any]:
    """The record that a module prints last, run in a process of its own."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    record: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return record


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def fill(page: Path, parts: dict[str, str]) -> None:
    """Put each part into a page, between ``<!-- made by NAME -->`` and ``<!-- end -->``."""
    text = page.read_text(encoding="utf-8")
    for name, part in parts.items():
        mark = re.compile(rf"(<!-- made by {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
        text, found = mark.subn(lambda m, part=part: f"{m[1]}{part}{m[2]}", text)  # type: ignore[misc]
        if found != 1:
            raise ValueError(f"{page.name}: expected one place for {name!r}, got {found}.")
    page.write_text(text, encoding="utf-8")
