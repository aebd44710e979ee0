"""Measure the shape of the source: files, code lines, functions, names, comments, and the modules that a job enters.

``make house`` prints the table for this checkout; ``python -m benchmarks.house FOLDER`` for another one, such as a
worktree of an earlier commit, whose package has to be first on ``PYTHONPATH`` for the last part.
"""

from __future__ import annotations

import ast
import collections
import io
import re
import statistics
import sys
import tempfile
import tokenize
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np

PARTICIPLE = re.compile(r"(?:[^e]ed|wn|told|found|held|left|kept|made|taken|given|chosen)$")
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def code_lines(source: str, tree: ast.AST) -> set[int]:
    """Return the numbers of the lines that hold code: no docstrings, comments or blank lines."""
    documentation: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, Documented) and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            documentation |= set(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    lines = enumerate(source.splitlines(), 1)
    return {i for i, line in lines if i not in documentation and line.strip() and not line.strip().startswith("#")}


def count_comments(source: str) -> int:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return sum(token.type == tokenize.COMMENT for token in tokens)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(d, ast.Name) and d.id in ("property", "cached_property") for d in node.decorator_list)


def imported_modules(tree: ast.AST, modules: set[str]) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("isthmus"):
            whole = {f"{node.module}.{alias.name}" for alias in node.names} & modules
            found |= whole or {node.module}
    return found


def measure_source(package: Path) -> dict[str, str]:
    """Return the measurements of a package as name and value."""
    sources = {path: path.read_text() for path in sorted(package.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in sources.items()}
    lines = {path: code_lines(sources[path], tree) for path, tree in trees.items()}
    sizes = sorted(len(found) for found in lines.values() if found)
    total = sum(sizes)
    bodies = sorted(
        len(lines[path] & set(range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)))
        for path, tree in trees.items()
        for node in functions(tree)
    )
    named = {".".join(["isthmus", *path.relative_to(package).with_suffix("").parts]): path for path in sources}
    modules = {name.removesuffix(".__init__"): path for name, path in named.items()}
    importers = collections.Counter(
        other for name, path in modules.items() for other in imported_modules(trees[path], set(modules)) - {name}
    )
    imports = sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    )
    public = sum(
        isinstance(node, Definition) and not node.name.startswith("_")
        for tree in trees.values()
        for node in tree.body
    )
    stems = collections.Counter(path.name for path in sources if path.stem not in ("__init__", "__main__"))
    classes = collections.Counter(n.name for t in trees.values() for n in ast.walk(t) if isinstance(n, ast.ClassDef))
    participles = [
        n.name for t in trees.values() for n in functions(t) if PARTICIPLE.search(n.name) and not is_property(n)
    ]
    comments = sum(count_comments(text) for text in sources.values())
    return {
        "files": f"{len(sources)}",
        "code lines": f"{total:,}",
        "code per file, median / p90 / longest": _spread(sizes),
        "function, median / p90 / longest": _spread(bodies),
        "public names per 1,000 code lines": f"{1000 * public / total:.0f}",
        "comment lines per 1,000 code lines": f"{1000 * comments / total:.0f}",
        "imports, share of the code": f"{imports / total:.0%}",
        "modules with a single importer": f"{sum(importers[name] == 1 for name in modules)}",
        "file names that occur more than once": f"{sum(n > 1 for n in stems.values())}",
        "class names defined more than once": f"{sum(n > 1 for n in classes.values())}",
        "functions named by a participle": f"{len(participles)} of {len(bodies)}",
    }


def _spread(values: list[int]) -> str:
    return f"{statistics.median(values):.0f} / {np.percentile(values, 90):.0f} / {values[-1]}"


def entered_modules(job: Callable[[], object]) -> set[str]:
    """Return the modules of the package in which a function was called while a job ran."""
    entered: set[str] = set()

    def note(frame, event, argument):
        if event == "call":
            name = frame.f_globals.get("__name__", "")
            if name.startswith("isthmus") and frame.f_code.co_name != "<module>":
                entered.add(name)

    sys.setprofile(note)
    try:
        job()
    finally:
        sys.setprofile(None)
    return entered


def walk_jobs() -> Iterator[tuple[str, int]]:
    """Yield five jobs and how many modules of the package each enters."""
    import isthmus
    from isthmus import MLHD, LabelTransfer, match, migrate
    from isthmus.cli.main import main as run_command

    rng = np.random.default_rng(100)
    y = np.arange(90) % 3
    hidden = rng.normal(size=(90, 8)) + 3 * rng.normal(size=(3, 8))[y]
    source, target = hidden @ rng.normal(size=(8, 20)), hidden @ rng.normal(size=(8, 12))
    known = np.where(np.arange(90) < 30, y, -1)
    jobs: dict[str, Callable[[], object]] = {
        "MLHD.fit": lambda: MLHD().fit(source, y, target, known),
        "LabelTransfer.fit and predict": lambda: (
            LabelTransfer(random_state=0).fit(source, y, target, known).predict(target)
        ),
        "match": lambda: match(source, target, pairs=np.c_[:20, :20], random_state=0),
        "migrate": lambda: migrate(source, target),
    }
    with tempfile.TemporaryDirectory() as folder:
        files = _write_tables(Path(folder), source, target, y, known)
        jobs["isthmus label"] = lambda: run_command(["label", *files, "--output", f"{folder}/labels.csv"])
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            assert isthmus.__version__
            for name, job in jobs.items():
                job()  # imports run class bodies and decorators, which are no part of the job
                yield name, len(entered_modules(job))


def _write_tables(folder: Path, source, target, y, known) -> list[str]:
    for name, rows, labels in (("a", source, y), ("b", target, known)):
        head = ",".join(["label", *(f"{name}{i}" for i in range(rows.shape[1]))])
        lines = [
            ",".join(["" if c < 0 else f"c{c}", *(f"{v:.5f}" for v in row)])
            for c, row in zip(labels, rows, strict=True)
        ]
        (folder / f"{name}.csv").write_text("\n".join([head, *lines]) + "\n")
    return [f"{folder}/a.csv", f"{folder}/b.csv", "--label", "label"]


def main() -> None:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    for name, value in measure_source(root / "src" / "isthmus").items():
        print(f"{name:42s} {value}")
    for name, count in list(walk_jobs()):  # the jobs print, too
        print(f"modules entered by {name:30s} {count}")


if __name__ == "__main__":
    main()
