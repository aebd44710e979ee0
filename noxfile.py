#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.2"]
# ///
"""Tests in environments of their own; `nox -s oldest` tests the lower bounds of the dependencies."""

import json
import re
import tomllib
from pathlib import Path

import nox

nox.needs_version = ">=2025.2"
nox.options.default_venv_backend = "venv"
# The least share of public symbols whose type is known without scikit-learn's own.
LEAST_TYPED = 0.98
FAST = ("-m", "not slow and not data", "-n", "2", "--dist", "worksteal")


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def tests(session: nox.Session) -> None:
    """Run the fast tests with the newest dependencies."""
    session.install("-e", ".[test]")
    session.run("pytest", *FAST, *session.posargs)


@nox.session(python="3.11")
def oldest(session: nox.Session) -> None:
    """Run the fast tests with the oldest NumPy, SciPy, scikit-learn and joblib that the project names."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    bounds = [re.sub(r">=([\d.]+).*", r"==\1.*", each) for each in project["dependencies"]]
    session.install("-e", ".[test]", *bounds)
    session.run("pytest", *FAST, *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site."""
    session.run("make", "docs", external=True)


@nox.session
def checks(session: nox.Session) -> None:
    """Check workflows, metadata, dependencies, docstrings and spelling."""
    tools = ("sp-repo-review[cli]", "check-jsonschema", "deptry", "interrogate", "codespell", "pyright")
    session.install("-e", ".[report,review,anndata,plot,dask,onnx]", *tools)
    workflows = [str(path) for path in Path(".github/workflows").glob("*.yml")]
    forms = [str(path) for path in Path(".github/ISSUE_TEMPLATE").glob("*.yml")]
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-issue-forms", *forms)
    session.run("check-jsonschema", "--builtin-schema", "vendor.dependabot", ".github/dependabot.yml")
    session.run("sp-repo-review", ".")
    _check_types(session)
    session.run("deptry", ".")
    session.run("interrogate", "-q", "-imps", "--fail-under", "95", "src/isthmus")
    session.run(
        "codespell", "--ignore-words-list=fo", "--skip=docs/auto,docs/gallery.md", "README.md", "CHANGELOG.md", "docs"
    )


def _check_types(session: nox.Session) -> None:
    """Check how much of the public interface a user's type checker knows; the exit status of pyright asks for all."""
    call = "pyright", "--verifytypes", "isthmus", "--ignoreexternal", "--outputjson"
    said = str(session.run(*call, silent=True, success_codes=[0, 1]))
    known = json.loads(said[said.index("{") :])["typeCompleteness"]["completenessScore"]
    if known < LEAST_TYPED:
        session.error(f"pyright: {known:.2%} of the public symbols have a known type, expected {LEAST_TYPED:.0%}.")
    session.log(f"{known:.2%} of the public symbols have a known type.")


@nox.session
def package(session: nox.Session) -> None:
    """Build sdist and wheel, check both, and use the wheel in an empty environment."""
    session.install("build", "twine", "check-wheel-contents")
    for old in Path("dist").glob("isthmus-*"):
        old.unlink()
    session.run("python", "-m", "build")
    wheel, sdist = next(Path("dist").glob("*.whl")), next(Path("dist").glob("*.tar.gz"))
    session.run("twine", "check", "--strict", str(wheel), str(sdist))
    session.run("check-wheel-contents", str(wheel))
    if sdist.stat().st_size > 2_000_000:
        session.error(f"{sdist}: {sdist.stat().st_size / 1e6:.1f} MB, expected at most 2.")
    session.run("python", "-m", "venv", f"{session.create_tmp()}/empty", silent=True)
    python = f"{session.create_tmp()}/empty/bin/python"
    session.run(python, "-m", "pip", "install", "--quiet", str(wheel), external=True)
    session.run(python, "-m", "isthmus", "--version", external=True)


if __name__ == "__main__":
    nox.main()
