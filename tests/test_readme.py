"""README and docs/command-line.md show the current outputs of their commands: they are run again and compared."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?%?")
POINTS, SHARE = 25.0, 0.15
"""Tolerances for other machines: one of ten held-out pairs is ten points, and its interval moves with it."""


@pytest.fixture(scope="module")
def script():
    sys.path.insert(0, str(ROOT / "examples"))
    spec = importlib.util.spec_from_file_location("readme", ROOT / "examples" / "readme.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.pop(0)
    return module


def value(text):
    return float(text.rstrip("%").replace(",", ""))


def differences(shown, printed):
    """Return the differences of two texts: words, or numbers beyond the tolerances."""
    texts = [" ".join(text.split()) for text in (shown, printed)]
    words = [NUMBER.split(text) for text in texts]
    if words[0] != words[1]:
        return [next(f"{a!r}, {b!r}" for a, b in zip(*words, strict=False) if a != b)]
    pairs = zip(*(NUMBER.findall(text) for text in texts), strict=True)
    far = [(a, b) for a, b in pairs if abs(value(a) - value(b)) > (POINTS if "%" in a else SHARE * value(a) + 2)]
    return [f"{a}, {b}" for a, b in far]


def test_what_counts_as_a_difference():
    assert not differences("found 80% of\n10 rows", "found 90% of 10 rows")
    assert differences("found 80% of 10 rows", "lost 80% of 10 rows")
    assert differences("found 80% of 10 rows", "found 40% of 10 rows")
    assert differences("1,200 rows", "900 rows")


@pytest.mark.slow
def test_the_commands_say_what_the_pages_show(script):
    made = script.make_parts()
    text = "".join(page.read_text(encoding="utf-8") for page in (script.README, script.COMMAND_LINE))
    shown = {name: block for _, name, block, _ in re.findall(MARKED, text, re.DOTALL)}
    assert shown.keys() == made.keys()
    for name, block in shown.items():
        assert differences(block, made[name]) == []
    assert script.replace_parts(text, shown) == text


MARKED = r"(<!-- made by examples/readme\.py: (\w+) -->\n)(.*?)(<!-- end -->)"


def test_outputs_of_python_are_updated_and_dots_are_kept(script):
    text = ">>> x = [1, 2, 3]\n>>> x\n[1, ..., 3]\n>>> print(len(x), 'of them')\n4 of them\n\nmore\n"
    assert script.update_python(text) == text.replace("4 of them", "3 of them")


def test_the_readme_is_short(script):
    words = re.sub(
        r"```.*?```|<!--.*?-->|\]\([^)]*\)", " ", script.README.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    assert len(words.split()) <= 900


def test_our_column_of_the_comparison_is_that_of_the_readme(script):
    readme = script.README.read_text(encoding="utf-8")
    page = (ROOT / "docs" / "readmes.md").read_text(encoding="utf-8")
    ours = {cells[1].strip(): cells[2].strip() for line in page.splitlines() if len(cells := line.split("|")) > 3}
    before = readme[: readme.index("pip install")]
    assert ours["characters, in thousands"] == f"{len(readme) / 1000:.1f}"
    assert ours["sections before the install line"] == str(before.count("\n## "))
    assert ours["pictures of what it does (no logos, no badges)"] == str(readme.count("!["))
    before_install = len(re.sub(r"\]\([^)]*\)", " ", before).split())
    assert f"{before_install} of them before the install line" in page
