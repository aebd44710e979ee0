"""The pieces of a page: text stays text, samples are fair."""

import ast
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("polars")
pytest.importorskip("jinja2")
pytest.importorskip("plotly")

import isthmus.view.report.page
from isthmus.evidence.scores import OTHER_CLASSES
from isthmus.exceptions import InputError
from isthmus.io.tables.plan import Column, Plan
from isthmus.io.tables.table import Table
from isthmus.view.report.chapters import (
    Chapter,
    Cloud,
    common_plane,
    describe_classes,
    histogram_figure,
    own_plane,
    read_warnings,
    verdict_chapter,
)
from isthmus.view.report.contents import MOST_CLASSES, NO_CLASS, ReportRows, order_classes, sample_rows
from isthmus.view.report.page import load_libraries, render_page

HOSTILE = st.text(alphabet=st.sampled_from("<>&\"'/`=;-!abc script\n\\u0000é"), max_size=60) | st.text(max_size=20)


class Seen(HTMLParser):
    """The tags, attributes and text of some HTML."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.given, self.said = [], {}, ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.given.update(attrs)

    def handle_data(self, data):
        self.said += data


def printable(text):
    return "".join(c if c.isprintable() or c in "\n\t" or ord(c) >= 32 else "�" for c in text)


HOME = Path(isthmus.view.report.__file__).parent
TEMPLATES, _ = load_libraries()


def test_templates_escape_every_value_and_python_holds_no_markup():
    """Style, scripts and rendered chapters are marked as safe, in one place; nothing else is."""
    marked = {path.name: path.read_text(encoding="utf-8") for path in (HOME / "templates").glob("*.j2")}
    assert re.findall(r"\{\{[^}]*\|\s*safe[^}]*\}\}", "".join(marked.values())) == [
        "{{ style | safe }}",
        "{{ text | safe }}",
        "{{ script | safe }}",
    ]
    assert not [
        name for name, text in marked.items() if re.search(r"autoescape|Markup|=\{\{", text)
    ]  # values of attributes are quoted
    assert TEMPLATES.autoescape is True
    for path in HOME.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        documented = {
            ast.get_docstring(node, clean=False)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module)
        }
        texts = {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        } - documented
        assert not [text for text in texts if re.search(r"</?[a-z]", text)]


def labels_values(text, name):
    """A chapter of one row, with a hostile text and a hostile class."""
    row = (text, text, name, 0.5, name, 0.25)
    values = {
        "record": None,
        "n": 1,
        "sizes": [(name, 1, 0)],
        "rows": [row],
        "file": text,
        **describe_classes([name], [text]),
    }
    return {**values, "histogram": histogram_figure(np.array([0.5]), "probability")}


@settings(max_examples=15)
@given(HOSTILE, HOSTILE)
@pytest.mark.slow
def test_texts_and_attributes_come_back_as_they_were_and_make_no_elements(text, name):
    plain = Seen(render_page([Chapter("labels", "", "", labels_values("x", "y"))], "title", ""))
    seen = Seen(render_page([Chapter("labels", text, name, labels_values(text, name))], text, ""))
    assert seen.tags == plain.tags or (text == name) or not text  # equal names make one class less
    assert set(seen.tags) <= set(plain.tags)
    assert printable(name) in seen.said
    assert printable(text) in seen.said


@given(HOSTILE)
def test_a_value_in_an_attribute_comes_back_as_it_was(value):
    seen = Seen(TEMPLATES.from_string('<p title="{{ value }}">{{ value }}</p>').render(value=value))
    assert (seen.tags, seen.said, seen.given["title"]) == (["p"], printable(value), printable(value))


@given(st.dictionaries(HOSTILE, st.lists(HOSTILE, max_size=3), max_size=3))
def test_data_comes_back_and_does_not_end_its_element(value):
    inner = TEMPLATES.from_string("{{ value | tojson }}").render(value=value)
    assert "<" not in inner
    assert json.loads(inner) == value


def test_small_classes_share_a_line_of_the_confusion_matrix_and_are_still_told_apart():
    names = [f"class {i}" for i in range(MOST_CLASSES + 5)]
    true = [name for i, name in enumerate(names) for _ in range(60 - i)] + [names[-1]]
    scores = describe_classes(true, [*true[:-1], names[-2]])["scores"]
    assert scores.classes == (*order_classes(names[:MOST_CLASSES]), OTHER_CLASSES)
    assert scores.n_correct == scores.n - 1 == len(true) - 1
    assert scores.confusion.trace() == scores.n
    (low, high), n = scores.interval, scores.n
    assert low < (n - 1) / n < high


def made(n, labels=(), domain="source"):
    cells = Table.of({"x": np.arange(float(n)) + 0.5})
    every = tuple(labels) + (None,) * (n - len(labels))
    return ReportRows(
        domain, cells, Plan((Column("x", "number"),)), tuple(f"{domain[0]}{i}" for i in range(n)), every
    )


@given(st.integers(1, 60), st.integers(1, 30), st.integers(0, 60))
def test_a_sample_is_in_order_without_repeats_and_has_labelled_rows(n, most, labelled):
    rows = made(n, ["a"] * min(labelled, n))
    found = sample_rows(rows, most)
    assert len(found) == min(n, most)
    assert (np.diff(found) > 0).all()
    assert sum(rows.labels[i] is not None for i in found) >= min(labelled, len(found) // 2, n)


def test_small_classes_share_a_colour():
    names = [f"class {i}" for i in range(MOST_CLASSES + 5)]
    groups = [name for i, name in enumerate(names) for _ in range(100 - i)] + [NO_CLASS]
    share = np.array([0.5, 0.25])
    before = (np.zeros((len(groups) - 1, 2)), share), (np.zeros((1, 2)), share)
    rows, after = (made(len(groups) - 1), made(1, domain="target")), (np.zeros((len(groups), 2)), share)
    cloud = Cloud(rows, groups, [True] * len(groups), before, after, (9, 9))
    found = cloud.legend()
    assert [name for name, *_ in found] == [*order_classes(names[:MOST_CLASSES]), OTHER_CLASSES, NO_CLASS]
    assert sum(n for _, n, _ in found) == len(groups)
    drawn = cloud.to_json()
    assert len(set(drawn["colours"][:MOST_CLASSES])) == MOST_CLASSES
    assert drawn["group"][groups.index(names[-1])] == MOST_CLASSES
    assert drawn["class"][-2] == names[-1]  # which is still told


def test_planes_are_those_of_scikit_learn():
    from sklearn.decomposition import PCA

    X = np.random.default_rng(100).normal(size=(80, 6)) * np.arange(1.0, 7.0)
    found, expected = own_plane(X), PCA(2).fit(X)
    np.testing.assert_allclose(np.abs(found[0]), np.abs(expected.transform(X)), atol=1e-9)
    np.testing.assert_allclose(found[1], expected.explained_variance_ratio_)
    both = common_plane(lambda rows, domain: rows, X[:40], X[40:])
    np.testing.assert_allclose(both[0].std(axis=0), found[0].std(axis=0))


def test_points_of_a_strange_model_are_refused():
    with pytest.raises(InputError, match="expected finite points of the target"):
        common_plane(
            lambda rows, domain: rows if domain == "source" else rows * np.inf, np.ones((3, 2)), np.ones((3, 2))
        )


@pytest.mark.parametrize("stored", [None, [], {}, {"warnings": 3}, {"warnings": ["a list"]}])
def test_what_a_stranger_wrote_of_a_fit_is_no_warning(stored):
    assert read_warnings(stored) == ()
    assert read_warnings({"warnings": ("a",), "hashes": np.zeros(2)}) == ("a",)  # of an earlier version


VERDICT = {
    "sentence": "It helps.", "helps": True, "rows": [{"group": "1", "against": "", "accuracy": 0.5, "difference": 0.1, "low": 0.0, "high": 0.2}],
    "curve": [dict.fromkeys(("labels", "with_source", "without", "difference", "low", "high"), 1)] * 2,
    "names": {"right": 0.5, "low": 0.1, "high": 0.9, "corrupted": 0.2, "classes": 3}, "geometry": {"correlation": 0.5, "p_value": 0.1}, "n_splits": 3,
}  # fmt: skip
ODD = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**400)
    | st.floats()
    | HOSTILE
    | st.lists(st.none())
    | st.just({})
)


@given(st.data())
def test_a_verdict_with_odd_parts_is_told_or_refused(data):
    about = json.loads(json.dumps(VERDICT))
    within = data.draw(
        st.sampled_from([about, about["rows"][0], about["curve"][0], about["names"], about["geometry"]])
    )
    within[data.draw(st.sampled_from(sorted(within)))] = data.draw(ODD)
    words = told(about)
    assert words.count("<script") == 3 or (words.startswith("verdict.json, ") and "\n" not in words)


def told(about):
    """The page of a verdict, or why there is none."""
    try:
        return render_page([verdict_chapter(Path("verdict.json"), about)], script="")
    except InputError as error:
        return str(error)
