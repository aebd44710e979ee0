"""The pieces of a page: text stays text, samples are fair, rows are known again."""

import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("polars")

from isthmus.exceptions import InputError
from isthmus.report.cloud import MOST_GROUPS, NO_CLASS, OTHERS, Cloud, Plane, common_plane, own_plane
from isthmus.report.figures import confusion, convergence, plain
from isthmus.report.html import data_block, element, table
from isthmus.report.learned import Learned, row_marks
from isthmus.report.page import page
from isthmus.report.rows import Rows, in_order, sampled
from isthmus.report.verdict import verdict_chapter
from isthmus.tables import Column, Plan, Table

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


@given(HOSTILE, HOSTILE)
def test_text_and_attributes_come_back_as_they_were(text, value):
    seen = Seen(element("p", text, title=value))
    assert (seen.tags, seen.said, seen.given["title"]) == (["p"], printable(text), printable(value))


@given(st.lists(st.tuples(HOSTILE, HOSTILE), min_size=1, max_size=4))
def test_cells_make_no_elements(rows):
    seen = Seen(table(("first", "second"), rows))
    assert set(seen.tags) == {"div", "table", "thead", "tbody", "tr", "th", "td"}
    assert seen.tags.count("td") == 2 * len(rows)


@given(st.dictionaries(HOSTILE, st.lists(HOSTILE, max_size=3), max_size=3))
def test_data_comes_back_and_does_not_end_its_element(value):
    text = data_block(value, "data")
    inner = text.removeprefix('<script type="application/json" id="data">').removesuffix("</script>")
    assert "<" not in inner
    assert json.loads(inner) == value


def test_figures_show_names_as_they_are():
    figure = confusion(np.array([[2, 0], [1, 3]]), ["<b>a</b>", "b"])
    assert "<b>" not in json.dumps([figure.data, figure.layout])
    assert figure.layout["xaxis"]["ticktext"][0] == plain("<b>a</b>") == "&lt;b&gt;a&lt;/b&gt;"
    assert figure.data[0]["z"] == [[1.0, 0.0], [0.25, 0.75]]
    assert len(json.dumps(confusion(np.eye(2, dtype=int), ["a" * 10**4, "b" * 10**4]).data)) < 2_000


def test_gaps_that_are_none_are_left_out():
    drawn = convergence(np.array([np.inf, 0.5, 0.1, 0.0]), np.arange(4.0)).data[0]
    assert (drawn["x"], drawn["y"]) == ([1, 2], [0.5, 0.1])


def made(n, labels=(), domain="source"):
    cells = Table.of({"x": np.arange(float(n)) + 0.5})
    every = tuple(labels) + (None,) * (n - len(labels))
    return Rows(domain, cells, Plan((Column("x", "number"),)), tuple(f"{domain[0]}{i}" for i in range(n)), every)


@given(st.integers(1, 60), st.integers(1, 30), st.integers(0, 60))
def test_a_sample_is_in_order_without_repeats_and_has_labelled_rows(n, most, labelled):
    rows = made(n, ["a"] * min(labelled, n))
    found = sampled(rows, most)
    assert len(found) == min(n, most)
    assert (np.diff(found) > 0).all()
    assert sum(rows.labels[i] is not None for i in found) >= min(labelled, len(found) // 2, n)


def test_small_classes_share_a_colour():
    names = [f"class {i}" for i in range(MOST_GROUPS + 5)]
    groups = [name for i, name in enumerate(names) for _ in range(100 - i)] + [NO_CLASS]
    plane = Plane(np.zeros((len(groups) - 1, 2)), (0.5, 0.25))
    other = Plane(np.zeros((1, 2)), (0.5, 0.25))
    cloud = Cloud(
        (made(len(groups) - 1), made(1, domain="target")), groups, [True] * len(groups), (plane, other), None, (9, 9)
    )
    found = cloud.names()
    assert [name for name, _ in found] == [*in_order(names[:MOST_GROUPS]), OTHERS, NO_CLASS]
    assert sum(n for _, n in found) == len(groups)
    drawn = cloud.to_json()
    assert len(set(drawn["colours"][:MOST_GROUPS])) == MOST_GROUPS
    assert drawn["group"][groups.index(names[-1])] == MOST_GROUPS
    assert drawn["class"][-2] == names[-1]  # which is still told


def test_planes_are_those_of_scikit_learn():
    from sklearn.decomposition import PCA

    X = np.random.default_rng(100).normal(size=(80, 6)) * np.arange(1.0, 7.0)
    found, expected = own_plane(X), PCA(2).fit(X)
    np.testing.assert_allclose(np.abs(found.points), np.abs(expected.transform(X)), atol=1e-9)
    np.testing.assert_allclose(found.share, expected.explained_variance_ratio_)
    both = common_plane(lambda rows, domain: rows, X[:40], X[40:])
    np.testing.assert_allclose(both.points.std(axis=0), found.points.std(axis=0))


def test_points_of_a_strange_model_are_refused():
    with pytest.raises(InputError, match="expected finite points of the target"):
        common_plane(
            lambda rows, domain: rows if domain == "source" else rows * np.inf, np.ones((3, 2)), np.ones((3, 2))
        )


def test_rows_are_known_again_in_another_file_and_order():
    first = Table.of({"n": ["1.0", "2.50", ""], "w": ["red", "blue", "red"], "m": np.eye(3)})
    second = Table.of({"n": [None, 2.5, 1.0, 1.0], "w": ["red", "blue", "red", "blue"], "m": np.eye(3)[[2, 1, 0, 0]]})
    plan = Plan.from_toml(Plan.of(first).to_toml())
    marks = row_marks(first, plan)
    assert len(set(marks)) == 3
    assert row_marks(second, plan).tolist()[:3] == marks.tolist()[::-1]
    assert row_marks(second, plan)[3] not in marks


@pytest.mark.parametrize(
    ("about", "arrays"),
    [
        ({"format": "other"}, {}),
        ({"format": "isthmus fit", "version": 2}, {"trace": np.zeros((0, 4))}),
        ({"format": "isthmus fit", "version": 1}, {}),
        ({"format": "isthmus fit", "version": 1}, {"trace": np.zeros((2, 3))}),
        ({"format": "isthmus fit", "version": 1}, {"trace": np.zeros((2, 4)), "marks": np.zeros(2)}),
        ([], {}),
    ],
    ids=["format", "version", "no trace", "a short trace", "marks that are none", "no object"],
)
def test_what_a_stranger_wrote_of_a_fit_is_looked_at(about, arrays):
    with pytest.raises(InputError, match=r"^fit"):
        Learned.from_part(about, arrays)


VERDICT = {
    "sentence": "It helps.", "helps": True, "rows": [{"setting": "1", "against": "", "accuracy": 0.5, "difference": 0.1, "low": 0.0, "high": 0.2}],
    "curve": [dict.fromkeys(("labels", "with_source", "without", "difference", "low", "high"), 1)] * 2,
    "names": {"right": 0.5, "low": 0.1, "high": 0.9}, "geometry": {"correlation": 0.5, "p_value": 0.1}, "n_splits": 3,
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
        return page([verdict_chapter(Path("verdict.json"), about)], script="")
    except InputError as error:
        return str(error)
