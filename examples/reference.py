"""Make the reference that comes with the package: one page without a network, from the docstrings.

python examples/reference.py            # writes src/isthmus/reference.html
python examples/reference.py --check    # whether that file is what the docstrings give
"""

import inspect
import re
import sys
from enum import Enum
from importlib import import_module
from importlib.resources import files

import isthmus
from isthmus._reference import PAGE
from isthmus.report.html import Markup, element, joined

MODULES = {
    "isthmus": "What most work needs",
    "isthmus.tables": "Users' files",
    "isthmus.datasets": "Data sets to try it on",
    "isthmus.plotting": "Pictures",
    "isthmus.controls": "Controls",
    "isthmus.anndata": "Single cells",
    "isthmus.solvers": "Solvers",
    "isthmus.scale": "Rows in blocks, and on a cluster",
}
LISTED = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns", "See Also", "Other Parameters")
HEADING = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,} *$", re.MULTILINE)
INLINE = re.compile(r":(\w+):`(~?)([^`<]+?)(?:<[^`]+>)?`|``(.+?)``|`([^`]+)`|\*\*(.+?)\*\*", re.DOTALL)
STYLE = """
html { scroll-behavior: auto; scroll-padding-top: 0.5rem; }
.layout { display: grid; grid-template-columns: 15rem minmax(0, 1fr); gap: 2rem; align-items: start; }
aside { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; padding: 1rem 0; font-size: 0.9rem; }
aside h2 { font-size: 0.84rem; color: var(--soft); margin: 1rem 0 0.2rem; }
aside a { display: block; color: var(--ink); text-decoration: none; overflow-wrap: anywhere; }
a { color: var(--first); } aside a:hover { color: var(--first); }
section.name { border-top: 1px solid var(--line); padding-top: 1rem; }
section.method { margin: 1rem 0 0 1rem; padding-left: 1rem; border-left: 3px solid var(--line); }
pre { background: var(--surface); padding: 0.6rem 0.8rem; border-radius: 6px; overflow-x: auto;
  font-size: 0.85rem; margin: 0.5rem 0; }
pre.formula { border-left: 3px solid var(--first); }
h4 { margin: 0.8rem 0 0.2rem; font-size: 0.9rem; color: var(--soft); }
.signature { font: 0.9rem/1.45 ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.signature b { color: var(--first); } .type { color: var(--soft); }
dl.names { display: block; } dl.names dd { margin: 0 0 0.4rem 1.2rem; }
dl.names dt { color: var(--ink); } dd p { margin: 0; } .also { font-size: 0.88rem; color: var(--soft); }
@media (max-width: 44rem) {
  .layout { grid-template-columns: minmax(0, 1fr); gap: 0; } section.method { margin-left: 0; }
  aside { position: static; max-height: 40vh; border-bottom: 1px solid var(--line); } }
@media print { aside { display: none; } .layout { display: block; } }
"""
SCRIPT = """
const find = document.getElementById("find"), links = [...document.querySelectorAll("aside a")];
find.addEventListener("input", () => {
  const word = find.value.trim().toLowerCase();
  const hit = new Set();
  for (const part of document.querySelectorAll("section.name")) {
    part.hidden = !part.dataset.words.includes(word);
    if (!part.hidden) hit.add(part.id);
  }
  for (const link of links) link.hidden = !hit.has(link.hash.slice(1));
  for (const group of document.querySelectorAll("[data-group]"))
    group.hidden = ![...group.querySelectorAll("a, section.name")].some(each => !each.hidden);
});
"""


def public():
    """What the page is about, by module: classes and functions, and then the classes that methods come from."""
    found = {}
    for module, about in MODULES.items():
        owner = import_module(module)
        each = [(name, getattr(owner, name)) for name in sorted(owner.__all__, key=str.lower)]
        found[module] = about, [(n, v) for n, v in each if inspect.isclass(v) or inspect.isfunction(v)]
    classes = {v for _, names in found.values() for _, v in names if inspect.isclass(v)}
    bases = {b for cls in classes for b in shared_bases(cls)} - classes
    found["isthmus.estimators"] = "What systems have in common", sorted((b.__name__, b) for b in bases)
    return found


def bases_of(cls):
    return [b for b in cls.__mro__[1:] if b.__module__.partition(".")[0] == "isthmus"]


def shared_bases(cls):
    """Where the methods are that several classes have: told once, under the classes they come from."""
    return [b for b in bases_of(cls) if not b.__name__.startswith("_") and own_members(b)]


def own_members(cls):
    """Public methods and properties that are written in a class itself or a private base, with their docstrings."""
    found = {}
    private = [b for b in bases_of(cls) if b.__name__.startswith("_")]
    for name, value in (item for owner in (*reversed(private), cls) for item in vars(owner).items()):
        function = inspect.unwrap(getattr(value, "__func__", None) or getattr(value, "fget", None) or value)
        function = getattr(function, "func", function)  # a cached property
        if name.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        found[name] = function, isinstance(value, property) or not callable(getattr(cls, name, None))
    return found


def anchors(names):
    every = {name for _, members in names.values() for name, _ in members}
    return every | {
        f"{name}.{member}"
        for _, members in names.values()
        for name, value in members
        if inspect.isclass(value)
        for member in own_members(value)
    }


class Text:
    """Docstrings as HTML; names that the page has become links."""

    def __init__(self, known):
        self.known, self.owner = known, ""

    def inline(self, text):
        pieces, end = [], 0
        for found in INLINE.finditer(text):
            role, short, target, code, name, strong = found.groups()
            pieces += [" ".join(text[end : found.start()].split("\n"))]
            pieces.append(element("b", strong) if strong else self._named(role, short, target or code or name))
            end = found.end()
        return joined([*pieces, text[end:]])

    def _named(self, role, short, target):
        word = target.rpartition(".")[2] if short else target
        if role == "math":
            return element("code", target)
        parts = target.split(".")
        for place in (".".join(parts[-2:]), f"{self.owner}.{parts[-1]}", parts[-1]):
            if place in self.known:
                return element("a", element("code", word), href=f"#{place}")
        return element("code", word)

    def blocks(self, text):
        """Paragraphs, formulas, examples and lists."""
        pieces = []
        for block in re.split(r"\n\s*\n", text.strip("\n")):
            if not block.strip():
                continue
            lines = inspect.cleandoc(block).splitlines()
            if lines[0].startswith(".. math::"):
                formula = inspect.cleandoc("\n".join([lines[0][9:].strip(), *lines[1:]])).strip()
                pieces.append(element("pre", formula, class_="formula"))
            elif pieces and block.startswith("   ") and pieces[-1].startswith('<pre class="formula"'):
                pieces[-1] = element("pre", *unescaped(pieces[-1]), "\n", "\n".join(lines), class_="formula")
            elif lines[0].startswith((">>> ", "...", "|", "+-")) or block.startswith("    "):
                pieces.append(element("pre", "\n".join(lines)))
            elif re.match(r"(-|\*|\d+\.) ", lines[0]):
                items = re.split(r"\n(?=(?:-|\*|\d+\.) )", "\n".join(lines))
                pieces.append(element("ul", *(element("li", self.inline(i.split(" ", 1)[1])) for i in items)))
            else:
                pieces.append(element("p", self.inline("\n".join(lines))))
        return joined(pieces)

    def entries(self, text):
        """Names with their types, and what they mean."""
        pieces = []
        for entry in re.split(r"\n(?=\S)", text.strip("\n")):
            head, _, body = entry.partition("\n")
            name, colon, kind = head.partition(" : ")
            shown = [element("code", name), " ", element("span", self.inline(kind), class_="type")] if colon else []
            pieces.append(element("dt", *(shown or [self.inline(head)])))
            if body.strip():
                pieces.append(element("dd", self.blocks(inspect.cleandoc(body))))
        return element("dl", *pieces, class_="names")

    def docstring(self, text):
        parts = HEADING.split(inspect.cleandoc(text))
        pieces = [self.blocks(parts[0])]
        for title, body in zip(parts[1::2], parts[2::2], strict=True):
            pieces += [element("h4", title), self.entries(body) if title in LISTED else self.blocks(body)]
        return joined(pieces)


def unescaped(markup):
    return [Markup(markup.removeprefix('<pre class="formula">').removesuffix("</pre>"))]


def signature(name, value):
    try:
        words = str(inspect.signature(value))
    except (TypeError, ValueError):
        return element("p", element("b", name), class_="signature")
    words = re.sub(r" at 0x[0-9a-f]+", "", words).replace("<factory>", "…")
    words = re.sub(r"\((?:self|cls)(?:, )?", "(", words)
    words = re.sub(r"(: |-> )'([^']*)'", r"\1\2", words)  # annotations are texts
    words = words.removesuffix(" -> None") if inspect.isclass(value) else words
    return element("p", element("b", name), words, class_="signature")


def section(name, value, module, text):
    text.owner = name
    home = module if module != "isthmus.estimators" else value.__module__
    pieces = [element("h3", name, " ", element("small", home, class_="type"))]
    doc = inspect.getdoc(value) if value.__doc__ or not inspect.isclass(value) else None
    if inspect.isclass(value) and (issubclass(value, Exception | Enum) or getattr(value, "_is_protocol", False)):
        pieces.append(element("p", element("b", name), class_="signature"))  # how these are made is Python's affair
    elif module != "isthmus.estimators":
        pieces.append(signature(name, value))
    pieces.append(text.docstring(doc or ""))
    words = [name]
    if inspect.isclass(value):
        for member, (function, plain) in own_members(value).items():
            head = element("p", element("b", member), class_="signature") if plain else signature(member, function)
            pieces.append(
                element("section", head, text.docstring(function.__doc__), id=f"{name}.{member}", class_="method")
            )
        inherited = inherited_members(value, text)
        words += [f"{name}.{member}" for member in (*own_members(value), *inherited)]
        pieces += also(name, inherited)
    return element("section", *pieces, id=name, class_="name", data_words=f"{module}.{' '.join(words)}".lower())


def inherited_members(cls, text):
    """The methods that a class has of others, nearest first, with the class that each comes from."""
    found = {}
    for base in shared_bases(cls):
        for member in sorted(own_members(base).keys() - own_members(cls).keys()):
            if f"{base.__name__}.{member}" in text.known:
                found.setdefault(member, base.__name__)
    return found


def also(name, inherited):
    """Links to the methods that come from other classes; ``isthmus docs`` reads them too."""
    pieces, before = ["Also: "], ""
    for base in dict.fromkeys(inherited.values()):
        for member in (m for m, where in inherited.items() if where == base):
            link = element("a", member, data_name=f"{name}.{member}", href=f"#{base}.{member}")
            pieces += [before, link]
            before = ", "
        pieces += [" of ", element("a", base, href=f"#{base}")]
        before = "; "
    return [element("p", *pieces, ".", class_="also")] if inherited else []


def page():
    names = public()
    text = Text(anchors(names))
    assert len(text.known) >= len({n for _, members in names.values() for n, _ in members})
    menu, body = [], []
    for module, (about, members) in names.items():
        links = [element("a", name, href=f"#{name}") for name, _ in members]
        menu.append(element("div", element("h2", about), *links, data_group=True))
        sections = [section(name, value, module, text) for name, value in members]
        body.append(element("div", element("h2", f"{about}: {module}"), *sections, data_group=True))
    style = files("isthmus.report").joinpath("page.css").read_text(encoding="utf-8") + STYLE
    box = element(
        "input", id="find", type="search", class_="find", placeholder="find a name", aria_label="find a name"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", "isthmus reference"),
        Markup(f"<style>{style}</style>"),
    )
    top = element("header", element("h1", f"isthmus {isthmus.__version__}: reference"))
    layout = element("div", element("aside", box, *menu), element("main", *body), class_="layout")
    made = element("footer", "Made from the docstrings by examples/reference.py.")
    whole = element("body", top, layout, made, Markup(f"<script>{SCRIPT}</script>"))
    return f"<!DOCTYPE html>\n{element('html', head, whole, lang='en')}\n"


def main():
    made = page()
    if "--check" in sys.argv[1:]:
        same = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == made
        print("reference.html: as the docstrings" if same else "reference.html: NOT as the docstrings")
        return not same
    PAGE.write_text(made, encoding="utf-8")
    print(f"{PAGE}: {len(made.encode()) / 1000:.0f} kB")
    return False


if __name__ == "__main__":
    sys.exit(main())
