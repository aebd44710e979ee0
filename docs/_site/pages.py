"""What the site makes of the pages in ``docs``, which read on their own in any viewer of Markdown.

- The links of a section's page, in their order, are its table of contents.
- Pages outside of ``docs`` and the reference (names, commands) are written to ``docs/auto`` before anything is read.
- `isthmus.NAME` in backticks becomes a link to its place in the reference.
- ``llms.txt``: every page with its address and its first sentence, or two short ones.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

import isthmus
from isthmus.cli.main import COMMANDS, make_parser

ROOT = Path(__file__).parents[2]
OUTSIDE = {
    "CHANGELOG.md": "changes",
    "CONTRIBUTING.md": "contributing",
    "studies/systems/page.md": "systems-study",
    "benchmarks/RESULTS.md": "benchmarks",
    "benchmarks/SCALE.md": "benchmarks-scale",
    "benchmarks/LINKAGE.md": "benchmarks-linkage",
    "benchmarks/SPEED.md": "benchmarks-speed",
    "benchmarks/SYSTEMS_SCALE.md": "benchmarks-systems",
}
SECTIONS = ("index", "tutorials", "how-to", "reference", "explanation", "evidence")
# The parts of the top-level package, by the first word of the module that a name comes from.
PARTS = {
    "tasks": "Tasks",
    "estimators": "Systems",
    "geometry": "Kernels, common space",
    "retrieval": "Search",
    "study": "Evidence for your own rows",
    "io": "Files",
    "data": "Known pairs",
    "exceptions": "Errors and warnings",
}
PACKAGES = ("data", "evidence", "estimators", "retrieval", "study", "maps", "solvers", "geometry.kernels")
PACKAGES += ("io.tables", "io.anndata", "io.model_file", "view", "study.registry")
SHORT = 60
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")


def _write(path: Path, text: str) -> None:
    """Write a page if it changed, so that a second build reads only what is new."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def make_pages(app: Sphinx, config: Any) -> None:
    """Write the pages of ``docs/auto``."""
    auto = Path(app.srcdir) / "auto"
    for place, name in OUTSIDE.items():
        _write(
            auto / "pages" / f"{name}.md", _move_links((ROOT / place).read_text(encoding="utf-8"), ROOT / place, auto)
        )
    _write(auto / "pages" / "api.rst", make_reference())
    _write(auto / "pages" / "commands.md", make_commands())


def _move_links(text: str, page: Path, auto: Path) -> str:
    """Return a page of the project with its relative links as seen from ``docs/auto/pages``."""

    def move(found: re.Match[str]) -> str:
        address, _, anchor = found[2].partition("#")
        if re.match(r"[a-z]+:", found[2]) or not address:
            return found[0]
        place = (page.parent / address).resolve().relative_to(ROOT)
        copy = OUTSIDE.get(str(place))
        moved = f"{copy}.md" if copy else os.path.relpath(ROOT / place, auto / "pages")
        return f"[{found[1]}]({moved}{'#' if anchor else ''}{anchor})"

    return re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", move, text)


def list_public_names() -> dict[str, list[str]]:
    """Return the full names of everything public, each once, by the heading that it stands under."""
    found: dict[str, list[str]] = {title: [] for title in PARTS.values()}
    for name in isthmus.__all__:
        if name != "__version__":
            home = isthmus._HOMES.get(name, "isthmus.estimators").split(".")[1]
            found[PARTS[home]].append(f"isthmus.{name}")
    top = set(isthmus.__all__)
    for package in PACKAGES:
        module = importlib.import_module(f"isthmus.{package}")
        own = getattr(module, "__all__", None) or [
            name
            for name, value in vars(module).items()
            if not name.startswith("_")
            and getattr(value, "__module__", "") == module.__name__
            and inspect.getdoc(value)
        ]
        found[f"isthmus.{package}"] = [f"isthmus.{package}.{name}" for name in sorted(set(own) - top)]
    return {title: names for title, names in found.items() if names}


def make_reference() -> str:
    """Return the page of names: a table per part, and a page per name."""
    parts = ["Names\n=====\n\nEverything public. What is listed first is imported from ``isthmus`` itself.\n"]
    for title, names in list_public_names().items():
        lines = "\n".join(f"   ~{name}" for name in names)
        parts.append(f"{title}\n{'-' * len(title)}\n\n.. autosummary::\n   :toctree: ../api\n\n{lines}\n")
    return "\n".join(parts)


def make_commands() -> str:
    """Return the page of commands, from the parser itself."""
    os.environ["COLUMNS"] = "80"
    parser = make_parser()
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction)).choices
    parts = ["# Commands", "Generated from the parser of `isthmus`; `isthmus COMMAND --help` prints the same."]
    for name in COMMANDS:
        command = commands[name]
        usage = command.format_usage().removeprefix("usage: ").rstrip()
        parts += [f"## isthmus {name}", str(command.description), f"```text\n{usage}\n```"]
        for group in command._action_groups:
            actions = [action for action in group._group_actions if action.help != argparse.SUPPRESS]
            if actions and name != "help":
                parts.append(f"**{group.title}**")
                parts += [_describe_option(command, action) for action in actions if action.dest != "help"]
        if command.epilog:
            parts.append(f"```text\n{str(command.epilog).strip()}\n```")
    return "\n\n".join(parts) + "\n"


def _describe_option(command: argparse.ArgumentParser, action: argparse.Action) -> str:
    value = str(action.metavar or ("{" + ",".join(map(str, action.choices)) + "}" if action.choices else ""))
    words = [
        f"`{option} {value}`".replace(" `", "`") if action.nargs != 0 else f"`{option}`"
        for option in action.option_strings
    ]
    about = command._get_formatter()._expand_help(action) if action.help else ""
    about = " ".join(about.split()).replace("*", r"\*").replace("<", r"\<").replace("_", r"\_")
    return f"{', '.join(words) or f'`{value or action.dest}`'}\n: {about or '-'}"


def read_page(app: Sphinx, name: str, content: list[str]) -> None:
    """Point links to pages outside of ``docs`` at their copies, and give a section its table of contents."""
    text = content[0]
    for place, copy in OUTSIDE.items():
        text = text.replace(f"](../{place}", f"](auto/pages/{copy}.md").replace(
            f"](../../{place}", f"](../auto/pages/{copy}.md"
        )
    if name in SECTIONS:
        pages = [target.partition("#")[0] for _, target in LINK.findall(text) if not re.match(r"[a-z]+:|#", target)]
        own = [page for page in dict.fromkeys(pages) if page.endswith((".md", ".rst"))]
        if name == "index":
            own = [page for page in own if page.removesuffix(".md") in SECTIONS] + ["auto/examples/index"]
        if name == "reference":
            text += "\n- [Names](auto/pages/api.rst): everything public."
            text += "\n- [Commands](auto/pages/commands.md): every option.\n"
            own = ["auto/pages/api", "auto/pages/commands", *own]
        text += "\n\n```{toctree}\n:hidden:\n:maxdepth: 2\n\n" + "\n".join(own) + "\n```\n"
    content[0] = text


class LinkNames(SphinxTransform):
    """Make `isthmus.NAME` in backticks a link to the reference, where it has the name."""

    default_priority = 100

    def apply(self, **kwargs: Any) -> None:
        """Wrap the literals of a page."""
        for literal in list(self.document.findall(nodes.literal)):
            found = re.fullmatch(r"(isthmus(?:\.\w+)+)(?:\(.*\))?", literal.astext())
            if found and not isinstance(literal.parent, nodes.reference | addnodes.pending_xref):
                link = addnodes.pending_xref(
                    "", refdomain="py", reftype="obj", reftarget=found[1], refexplicit=True, refwarn=False
                )
                literal.replace_self(link)
                link += literal


def skip_member(app: Sphinx, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn gives to every estimator."""
    own = getattr(thing, "__module__", None) or getattr(getattr(thing, "fget", None), "__module__", None) or ""
    given = name in ("__init__", "get_metadata_routing", "set_output") or re.fullmatch(r"set_\w+_request", name)
    return True if given or own.startswith("sklearn.") else None


def write_llms(app: Sphinx, error: Exception | None) -> None:
    """Write ``llms.txt``: what isthmus is, and every page with its first sentence."""
    if error is not None or app.builder.name != "html":
        return
    lines = [
        "# isthmus",
        "",
        "> " + " ".join((ROOT / "README.md").read_text(encoding="utf-8").split("\n\n")[1].split()),
    ]
    for section in SECTIONS[1:]:
        tree = app.env.toctree_includes.get(section, [])
        lines += ["", f"## {app.env.titles[section].astext()}", ""]
        for page in tree:
            source = app.env.get_doctree(page)
            first = next((p.astext() for p in source.findall(nodes.paragraph)), "")
            sentences = re.split(r"(?<=[.?]) ", " ".join(first.split()).removeprefix("Question. "))
            # A short first sentence says too little by itself.
            sentence = " ".join(sentences[: 1 + (len(sentences[0]) < SHORT)]).rstrip(":")
            lines.append(f"- [{app.env.titles[page].astext()}]({page}.html): {sentence}")
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect all of it."""
    app.connect("config-inited", make_pages)
    app.connect("source-read", read_page)
    app.connect("autodoc-skip-member", skip_member)
    app.connect("build-finished", write_llms)
    app.add_transform(LinkNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
