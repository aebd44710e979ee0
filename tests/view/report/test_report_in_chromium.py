"""The page in a browser: points tell their rows, filters hide them, nothing is complained of or asked for."""

import numpy as np
import pytest

pytest.importorskip("polars")
pytest.importorskip("plotly")
pytest.importorskip("jinja2")

from browser import CHROMIUM, Browser
from isthmus.io.tables.plan import Plan
from isthmus.io.tables.table import Table
from isthmus.study.source_value.result import Row, Verdict
from isthmus.view.report.chapters import Chapter, Cloud, Figure, describe_classes, histogram_figure, own_plane
from isthmus.view.report.contents import ReportRows
from isthmus.view.report.page import render_page

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH")

EVIL = "<img src=x onerror=document.title='evil'><b>bold</b>"
LONG = "antidisestablishmentarianism" * 4


def cloud():
    """Forty rows per domain of two classes, one of them with a hostile name."""
    rng = np.random.default_rng(100)
    sides = []
    for domain in ("source", "target"):
        cells = Table.of({"text": [f"words of {domain} {i} {EVIL}" for i in range(40)]}, path=f"{domain}.csv")
        classes = tuple("uv"[i % 2] if i % 2 else EVIL for i in range(40))
        sides.append(
            ReportRows(
                domain, cells, Plan.of(cells, text=["text"]), tuple(f"{domain}-{i}" for i in range(40)), classes
            )
        )
    before = own_plane(rng.normal(size=(40, 3))), own_plane(rng.normal(size=(40, 3)))
    apart = np.array([(i % 10, i // 10) for i in range(80)], dtype=float), np.array([0.5, 0.25])
    groups = [label for rows in sides for label in rows.labels]
    return Cloud(
        (sides[0], sides[1]),
        groups,
        [i % 4 > 0 for i in range(80)],
        before,
        apart,
        (40, 40),
    )


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    curve = [
        {"labels": n, "with_source": 0.9, "without": 0.8, "difference": 0.1, "low": 0.0, "high": 0.2} for n in (1, 3)
    ]
    rows = [(EVIL, LONG, EVIL, i / 80, LONG, 0.1) for i in range(80)]
    labels = {
        "record": None, "n": 80, "sizes": [(LONG, 1, 2), (EVIL, 3, 4)], "rows": rows, "file": LONG,
        "histogram": histogram_figure(np.array([0.2, 0.9]), "confidence"), **describe_classes([EVIL, LONG, LONG], [EVIL, EVIL, LONG]),
    }  # fmt: skip
    verdict = Verdict(True, 0.1, (0.0, 0.2), f"{LONG * 3} {EVIL}", (Row("1", LONG, 0.8, 0.1, 0.0, 0.2),))
    model = {
        "warnings": (),
        "cloud_of_rows": cloud(),
        "card": {"model": EVIL, LONG: [1, 2.5, None]},
        "columns": {"source": [LONG]},
        "has_rows": False,
        "result": EVIL,
    }
    chapters = [
        Chapter("labels", f"{LONG}.csv", f"A sentence with {EVIL}.", labels),
        Chapter("verdict", "verdict.json", verdict.sentence,
                {"verdict": verdict, "deciding": verdict.table.rows, "curve": Figure("labels", "curve", {"curve": curve})}),
        Chapter("model", "model", "A model.", model),
    ]  # fmt: skip
    path.write_text(render_page(chapters), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


AFTER = "document.querySelector('.figure[data-plane=after]')"
DRAWN = f"{AFTER}.querySelectorAll('.points path').length"


def seen(browser):
    """How many marks the common space shows."""
    browser.value(f"{AFTER}.scrollIntoView({{behavior: 'instant', block: 'center'}})")
    return browser.wait(DRAWN)


def test_the_page_in_a_browser(browser, report):
    browser.open(report)
    assert seen(browser) == 80
    place = browser.value(
        f"(() => {{ const p = {AFTER}, t = p._fullData.find(t => t.mode === 'markers'), b = p.getBoundingClientRect(), s = p._fullLayout;"
        " return {x: b.x + s.xaxis._offset + s.xaxis.d2p(t.x[0]), y: b.y + s.yaxis._offset + s.yaxis.d2p(t.y[0]), id: t.customdata[0][0]} })()"
    )
    browser.point(place["x"], place["y"])
    told = f"({AFTER}.querySelector('.hoverlayer .hovertext')?.textContent || '')"
    browser.wait(f"{told}.startsWith({place['id']!r})")
    told = browser.value(told)
    assert "words of" in told
    assert "<b>bold</b>" in told  # as it is in the file, and not in bold

    browser.value("document.querySelector('input[data-domain=\"0\"]').click()")
    assert seen(browser) == 40
    browser.value("document.querySelectorAll('input[data-group]')[1].click()")
    assert seen(browser) == 20
    assert browser.value("document.querySelectorAll('.figure[data-plane=before] .points path').length") == 20
    browser.value("document.querySelector('button[data-all=\"0\"]').click()")
    browser.wait(f"{DRAWN} === 0")

    assert browser.value("document.querySelectorAll('.labels table.cards tbody tr:not([hidden])').length") == 60
    browser.value("document.querySelector('.find ~ button').click()")
    assert browser.value("document.querySelectorAll('.labels table.cards tbody tr:not([hidden])').length") == 80

    colour = browser.value("getComputedStyle(document.body).backgroundColor")
    browser.value("document.getElementById('theme').click()")
    assert browser.value("getComputedStyle(document.body).backgroundColor") != colour
    browser.value("window.dispatchEvent(new Event('beforeprint'))")
    browser.wait("[...document.querySelectorAll('.figure')].every(f => f.querySelector('.main-svg'))")
    ticks = "[...document.querySelectorAll('.figure[data-figure=\"0\"] .ytick text')].map(t => t.textContent)"
    assert any(name.startswith("<img src=x onerror") for name in browser.value(ticks))  # as it is in the file
    quiet(browser)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_on_a_phone(browser, report, dark):
    browser.open(report, 390, 844, dark=dark, phone=True)
    assert seen(browser) == 80
    browser.value("window.dispatchEvent(new Event('beforeprint'))")
    browser.wait("[...document.querySelectorAll('.figure')].every(f => f.querySelector('.main-svg'))")
    assert browser.value("document.documentElement.scrollWidth") <= 390
    assert browser.value("document.querySelector('.modebar-container') !== null")
    light = browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert light is not dark
    quiet(browser)


def quiet(browser):
    """Nothing was complained of, and nothing asked for but the file itself and pictures within it."""
    assert browser.complaints == []
    assert browser.value("document.title") == "isthmus report"
    assert [url for url in browser.requests if not url.startswith(("data:", "blob:"))] == browser.requests[:1]
    assert browser.requests[0].startswith("file:")


def test_a_script_that_is_not_the_page_s_own_does_not_run(browser, tmp_path):
    plain, spoilt = tmp_path / "plain.html", tmp_path / "spoilt.html"
    text = render_page([], script="")
    plain.write_text(text, encoding="utf-8")
    spoilt.write_text(text.replace("<main>", "<main><script>document.title = 'evil'</script>"), encoding="utf-8")
    browser.open(plain)
    assert browser.complaints == []
    browser.open(spoilt)
    assert browser.value("document.title") == "isthmus report"
    assert any("Content Security Policy" in words for words in browser.complaints)
