"""The documentation is correct: names exist, links resolve, the table of notation holds for the code."""

import dataclasses
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isthmus import MLHD, Polynomial

ROOT = Path(__file__).parent.parent
MADE = ROOT / "docs" / "auto"
"""What `make docs` writes."""
PAGES = sorted(page for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")] if MADE not in page.parents)
MADE_BY_SPHINX = {"search", "genindex", "py-modindex"}
"""Pages of the site that would replace a page of the same name."""
SECTIONS = ("tutorials", "how-to", "reference", "explanation", "evidence")
PRESENT = [page for page in PAGES if page.name != "CHANGELOG.md"]
"""A change log also names what has been removed."""
NOTATION = ROOT / "docs" / "notation.md"
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"`(isthmus(?:\.\w+)+)(?:\([^`]*\))?`")
LINK = re.compile(r"\]\(([^)\s]+)\)")

SIZES = {"n_s": 13, "n_l": 5, "n_u": 9, "d_s": 2, "d_t": 3, "r_s": 6, "r_t": 4, "d": 10, "k": 12, "K": 1, "C": 8}
"""Of the models below, all different, so that no shape is right by accident."""


def has_attribute(owner: Any, name: str) -> bool:
    """Return whether an object has an attribute, or a class declares one for its instances."""
    if hasattr(owner, name):
        return True
    if not inspect.isclass(owner):
        return False
    declared = {key for base in owner.__mro__ for key in getattr(base, "__annotations__", {})}
    fields = {field.name for field in dataclasses.fields(owner)} if dataclasses.is_dataclass(owner) else set()
    return name in declared | fields


def resolves(dotted: str) -> bool:
    """Return whether a dotted name is a module, an attribute of one, or an attribute of a class in one."""
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        try:
            owner: Any = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for name in parts[end:-1]:
            if not hasattr(owner, name):
                return False
            owner = getattr(owner, name)
        return end == len(parts) or has_attribute(owner, parts[-1])
    return False


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub writes them."""
    headings = re.findall(r"^#+ +(.+?) *$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def table(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading of the page on notation, without its head."""
    section = NOTATION.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


def rows(heading: str, *columns: int) -> list[Any]:
    """Some columns of a table as parameters of a test, named by the first cell of the row."""
    return [pytest.param(*(cells[column] for column in columns), id=cells[0]) for cells in table(heading)]


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the expressions of the page may use."""
    rng = np.random.default_rng(0)
    y_source = np.arange(SIZES["n_s"]) % SIZES["C"]
    y_target = np.r_[np.arange(SIZES["n_l"]), np.full(SIZES["n_u"], -1)]
    X_source = rng.normal(size=(SIZES["n_s"], SIZES["d_s"])) + y_source[:, None]
    X_target = rng.normal(size=(SIZES["n_l"] + SIZES["n_u"], SIZES["d_t"])) + 2.0
    # Quadratic functions of two features and affine ones of three: six and four coordinates.
    kernels = Polynomial(degree=2), Polynomial(degree=1)
    mlhd = MLHD(*kernels).fit(X_source, y_source, X_target, y_target)
    relaxed = MLHD(*kernels, alignment="constraint").fit(X_source, y_source, X_target, y_target)
    problem = mlhd.result_.problem
    return {
        "np": np,
        "X_source": X_source,
        "y_source": y_source,
        "X_target": X_target,
        "y_target": y_target,
        "mlhd": mlhd,
        "relaxed": relaxed,
        "problem": problem,
        "point": problem.at(mlhd.result_.multipliers),
        **SIZES,
    }


def test_no_page_is_replaced_by_one_that_sphinx_makes():
    assert not MADE_BY_SPHINX & {page.stem for page in ROOT.glob("docs/*.md")}


@pytest.mark.parametrize("page", PRESENT, ids=lambda page: page.name)
def test_every_name_in_backticks_exists(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    missing = [name for name in NAME.findall(text) if not resolves(name)]
    assert not missing


def test_a_wrong_name_is_detected() -> None:
    assert resolves("isthmus.solvers.logdet.Pairs.left")  # a field without default
    assert resolves("isthmus.MLHD.common_space_")  # set in fit
    assert not resolves("isthmus.MLHD.nonsense")
    assert not resolves("isthmus.nonsense")
    assert not resolves("isthmus.nonsense.MLHD")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_resolves(page: Path) -> None:
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        if anchor and linked.suffix == ".md":
            assert anchor in anchors(linked), target


def test_every_page_is_in_a_section_of_the_site() -> None:
    """The links of the sections' pages are the contents of the site."""
    docs = ROOT / "docs"
    sections = [docs / f"{name}.md" for name in SECTIONS]
    links = {
        target.partition("#")[0] for page in sections for target in LINK.findall(page.read_text(encoding="utf-8"))
    }
    listed = {(docs / link).resolve() for link in links}
    assert {page for page in PAGES if docs in page.parents} - {docs / "index.md", *sections} <= listed


@pytest.mark.parametrize(("letter", "expression"), rows("Sizes", 0, 2))
def test_sizes(letter: str, expression: str, names: dict[str, Any]) -> None:
    assert eval(expression, names) == SIZES[letter]


@pytest.mark.parametrize(("expression", "shape"), rows("Symbols", 1, 2))
def test_shapes(expression: str, shape: str, names: dict[str, Any]) -> None:
    assert np.shape(eval(expression, names)) == eval(shape, dict(SIZES))


@pytest.mark.parametrize(("left", "right"), rows("What holds between them", 1, 2))
def test_identities(left: str, right: str, names: dict[str, Any]) -> None:
    np.testing.assert_allclose(eval(left, names), eval(right, names), rtol=1e-8, atol=1e-10)


def test_the_sizes_of_the_page_are_all_different_and_complete() -> None:
    assert len(set(SIZES.values())) == len(SIZES)
    assert [cells[0] for cells in table("Sizes")] == list(SIZES)


def advice(system: str, figure: str) -> bool:
    """Return whether a row of the table "Which one to use" that names a system contains a figure."""
    section = (ROOT / "docs" / "systems.md").read_text(encoding="utf-8").split("\n## Which one to use\n")[1]
    lines = [line for line in section.split("\n## ")[0].splitlines() if line.startswith("|")]
    return any(f"`{system}`" in line and figure in line for line in lines)


def differences(heading: str, column: str) -> dict[str, float]:
    """Return the differences by system in a column of the last such table below a heading of the study of systems."""
    page = (ROOT / "studies" / "systems" / "page.md").read_text(encoding="utf-8").replace("−", "-")
    found, place = {}, None
    for line in page.split(f"\n## {heading}\n")[1].split("\n## ")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == "system":
            place = cells.index(column) if column in cells else None
        elif place is not None and (number := re.search(r"[+-]\d+\.\d", cells[place] if line[:1] == "|" else "")):
            found[cells[0]] = float(number.group())
    return found


def test_the_table_of_systems_has_the_figures_of_the_studies():
    labels = (ROOT / "docs" / "labels.md").read_text(encoding="utf-8")
    nobody = labels.split("## Classes that nobody labelled")[1].split("\n## ")[0]
    line = next(x for x in nobody.splitlines() if x.startswith("| label transfer less best target-only"))
    gains = [float(x) for x in re.findall(r"\+(\d+\.\d)\*?\*? \[", line)]
    assert advice("label-transfer", f"{min(gains):.0f} to {max(gains):.0f} points")
    below = differences("100 known pairs", "less the best without a map")
    assert advice("target self-trained LDA", f"{-max(below.values()):.0f} to {-min(below.values()):.0f} points")
    assert max(below, key=below.__getitem__) == "mlhd-rbf"
    assert advice("mlhd-rbf", f"{differences('100 known pairs', 'less ridge')['mlhd-rbf']:.0f} points above `ridge`")
    above = differences("100 known pairs", "less the best target-only rule")["mlhd-rbf"]
    assert advice("mlhd-rbf", f"{above:.0f} above the best target-only rule")
    equal = differences("Labels in both domains", "Office caltech→amazon")
    assert advice("feature-augmentation", f"{equal['feature-augmentation']:.0f} points")
    assert advice("feature-augmentation", f"(`saenko`: {equal['saenko']:.0f})")
    both = differences("Labels in both domains", "all pairs")
    assert [name for name, points in both.items() if points > 0.0] == ["label-transfer"]
