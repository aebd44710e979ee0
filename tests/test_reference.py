"""The page that comes with the package: what the docstrings say, whole, and without a network."""

import inspect
import json
import re
import subprocess
import sys
import webbrowser
from html.parser import HTMLParser
from pathlib import Path

import pytest

import isthmus
from browser import CHROMIUM, Browser
from isthmus._reference import PAGE, reference_names, reference_places
from isthmus.cli import main

ROOT = Path(__file__).parents[1]


def test_it_is_what_the_docstrings_give():
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "reference.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}: `make reference` makes it anew"


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.loads = [], [], [], []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids += [value for name, value in attributes if name == "id"]
        self.links += [value for name, value in attributes if name == "href"]
        self.loads += [value for name, value in given.items() if name in ("src", "srcset") or tag == "link"]
        if tag not in ("meta", "br", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_every_public_name_has_a_place_and_every_link_leads_somewhere():
    text = PAGE.read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert page.open == []
    assert len(set(page.ids)) == len(page.ids)
    assert set(isthmus.__all__) - {"__version__"} <= set(reference_names())
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert page.loads == []
    assert not re.search(
        r"@import|url\(|https?://", re.sub(r"<(p|dd|pre|li|code)\b.*?</\1>", "", text, flags=re.DOTALL)
    )
    assert len(text.encode()) < 600_000
    assert "0x7f" not in text  # no address of this process


def documented(cls, name):
    """Whether a class, or a base of this package, has a docstring for a public method or property."""
    inside = [b for b in cls.__mro__ if b.__module__.startswith("isthmus.") and name in vars(b)]
    return not name.startswith("_") and any(
        (callable(vars(b)[name]) or isinstance(vars(b)[name], property)) and inspect.getdoc(vars(b)[name])
        for b in inside
    )


def test_every_method_has_a_place_also_where_it_is_inherited():
    places = reference_places()
    assert set(places.values()) == set(reference_names())
    classes = [each for name in isthmus.__all__ if inspect.isclass(each := getattr(isthmus, name))]
    wanted = {f"{cls.__name__}.{name}": cls for cls in classes for name in dir(cls) if documented(cls, name)}
    assert len(wanted) > 200
    assert wanted.keys() <= places.keys()
    for name, cls in wanted.items():
        assert places[name].partition(".")[0] in {b.__name__ for b in cls.__mro__}


def test_docs_opens_the_page_at_a_name(monkeypatch, capsys):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    for words, place in (
        ([], ""),
        (["mlhd"], "#MLHD"),
        (["isthmus.Index.search"], "#Index.search"),
        (["isthmus.matching.match"], "#match"),
        (["mlhd.update"], "#LogDetEstimator.update"),
        (["MLHD.predict"], "#MappedEstimator.predict"),
    ):
        assert main(["docs", *words]) == 0
        assert opened.pop() == PAGE.as_uri() + place
        assert capsys.readouterr() == (f"The reference is {PAGE.as_uri()}{place}.\n", "")
    assert main(["docs", "--path"]) == 0
    assert (opened, capsys.readouterr().out) == ([], f"{PAGE}\n")
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    assert main(["docs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"path": str(PAGE), "address": PAGE.as_uri(), "opened": False}
    assert main(["docs"]) == 0
    assert "no browser was found" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("mlh", "MLHD"),
        ("Indx", "Index"),
        ("MLHD.updat", "MLHD.update"),
        ("MLDH.predict", "MLHD.predict"),
        ("predict", "TwoDomainEstimator.predict"),
        ("MLHD.match", "match"),
        ("MLHD.xyz", None),
        ("??", None),
    ],
)
def test_a_name_that_is_not_there_is_one_sentence(monkeypatch, capsys, name, near):
    monkeypatch.setattr(webbrowser, "open", None)
    hint = f" (did you mean {near}?)" if near else ""
    assert main(["docs", name]) == 2
    assert capsys.readouterr() == ("", f"isthmus: NAME: expected a name of the reference, got {name!r}{hint}.\n")


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH")
def test_in_a_browser_names_are_found_a_phone_is_wide_enough_and_nothing_is_asked_for(tmp_path):
    shown = "[...document.querySelectorAll('section.name')].filter(each => each.offsetParent).map(each => each.id)"
    with Browser(tmp_path) as browser:
        for width, phone, dark in ((1200, False, False), (390, True, True)):
            browser.open(PAGE, width, dark=dark, phone=phone)
            assert browser.value("document.documentElement.scrollWidth") <= width
            browser.value("location.hash = '#MLHD'")
            assert 0 <= browser.wait("document.getElementById('MLHD').getBoundingClientRect().top + 1") <= 100
            assert len(browser.value(shown)) > len(isthmus.__all__)
            browser.value("find.value = 'labeltr'; find.dispatchEvent(new Event('input'))")
            assert browser.value(shown) == ["LabelTransfer"]
            assert browser.value("[...document.querySelectorAll('aside a')].filter(each => !each.hidden).length") == 1
            assert browser.complaints == []
            assert browser.requests == [PAGE.as_uri()]
