"""The house of STYLE.md: its size, its file names, and the words that name and describe functions."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import isthmus
from benchmarks.house import PARTICIPLE, code_lines, functions, is_property

SOURCE = Path(isthmus.__file__).parent
TASK_FILES = {"problem.py", "engine.py", "evidence.py", "result.py"}
"""Every task has these four, so that who knows one task knows all."""
MOST_FILES, MOST_LINES, LONGEST_FILE, LONGEST_FUNCTION = 160, 24_000, 500, 60
"""Lines of code: no docstrings, comments or blank lines."""

VERBS = {"are", "check", "count", "detect", "drop", "find", "fit", "format", "has", "is", "iterate", "make", "mark",
         "read", "rename", "restrict", "unpack", "write"}  # fmt: skip
"""First words of names whose last word may be a participle, as in ``is_fitted`` and ``check_fitted``."""
NO_PARTICIPLES = {"embed", "markdown"}


@cache
def files() -> dict[Path, tuple[ast.Module, set[int]]]:
    """Return the syntax tree and the numbers of the code lines of each file."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        found[path] = tree, code_lines(text, tree)
    return found


@cache
def every_function():
    return [
        (f"{path.relative_to(SOURCE)}: {node.name}", path, node)
        for path, (tree, _) in files().items()
        for node in functions(tree)
    ]


def test_there_are_few_files_and_none_is_long():
    sizes = {path: len(lines) for path, (_, lines) in files().items()}
    assert len(sizes) <= MOST_FILES
    assert {str(path.relative_to(SOURCE)): size for path, size in sizes.items() if size > LONGEST_FILE} == {}


def test_the_code_is_short():
    assert sum(len(lines) for _, lines in files().values()) <= MOST_LINES


def test_no_function_is_long():
    long = {}
    for name, path, node in every_function():
        lines = files()[path][1] & set(range(node.lineno + 1, node.end_lineno + 1))
        if len(lines) > LONGEST_FUNCTION:
            long[name] = len(lines)
    assert long == {}


def test_no_file_name_occurs_twice_but_those_of_the_tasks():
    own = [path for path in files() if path.parent.name != "cli"]  # a command's file has the name of the command
    names = Counter(path.name for path in own if path.name not in {"__init__.py"} | TASK_FILES)
    assert {name: n for name, n in names.items() if n > 1} == {}


def only_raises(node: ast.stmt) -> bool:
    """Return whether a statement does nothing but compute local names, loop, ask and raise."""
    if isinstance(node, ast.If | ast.For | ast.With):
        return all(map(only_raises, [*node.body, *getattr(node, "orelse", [])]))
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Name | ast.Tuple) for target in node.targets)
    if isinstance(node, ast.Return):
        return node.value is None
    return isinstance(node, ast.Raise | ast.Continue | ast.AnnAssign)


def test_what_only_checks_is_called_so():
    assert [name for name, _, node in every_function() if re.match("_?(require|ensure)", node.name)] == []
    others = []
    for name, _, node in every_function():
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        raises = any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
        if (
            raises
            and len(body) > 1
            and all(map(only_raises, body))
            and not re.match("__|_?check_|_?raise_", node.name)
        ):
            others.append(name)
    assert others == []


def test_no_function_is_called_by_a_participle():
    found = []
    for name, _, node in every_function():
        words = node.name.strip("_").split("_")
        if PARTICIPLE.search(node.name) and not is_property(node) and words[-1] not in NO_PARTICIPLES:
            found += [name] if len(words) == 1 or words[0] not in VERBS else []
    assert found == []


def test_a_public_docstring_begins_with_a_verb_or_a_noun():
    found = []
    for name, _, node in every_function():
        if not node.name.startswith("_") and not is_property(node):
            found += [name] if re.match(r"(What|Whether|Who)\b", ast.get_docstring(node) or "") else []
    assert found == []


def test_one_file_knows_which_arrays_are_of_dask():
    homes = {path for name, path, _ in every_function() if name.endswith(": is_dask")}
    using = {path for path in files() if "is_dask" in path.read_text(encoding="utf-8")}
    assert homes == using == {SOURCE / "data" / "blocks.py"}
