"""Features against scikit-learn, and what was learned through files."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from isthmus import InputError
from isthmus.io.tables.features import Features
from isthmus.io.tables.plan import Column, Plan
from isthmus.io.tables.read import read_table
from isthmus.io.tables.stream import write_table
from isthmus.io.tables.table import Table

TEXTS = ["the sea and the land", "a sky of fire", "land and sky", "wind wind wind over the sea", "", "fire on land"]
NUMBER = st.one_of(st.none(), st.floats(-1e6, 1e6, allow_subnormal=False))
WORD = st.one_of(st.none(), st.sampled_from(["red", "blue", "green", "ash"]))
ROWS = st.lists(st.tuples(NUMBER, NUMBER, WORD, st.sampled_from(TEXTS)), min_size=2, max_size=12)
PLAN = Plan(
    (Column("a", "number"), Column("b", "number"), Column("c", "category"), Column("t", "text", components=2))
)


def table_of(rows, path="table"):
    rows = [(1.0, 2.0, "red", "the sea"), (2.0, 5.0, "blue", "the land"), *rows]
    return Table.of(dict(zip("abct", map(list, zip(*rows, strict=True)), strict=True)), path)


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def test_numbers_and_categories_are_those_of_scikit_learn():
    rng = np.random.default_rng(100)
    A, B = rng.normal(size=(30, 3)) * 9 + 4, rng.normal(size=(9, 3))
    A[rng.random(A.shape) < 0.2] = B[2, 1] = np.nan
    words, others = rng.choice(["x", "y", "z"], 30), rng.choice(["x", "y", "new"], 9)
    plan = Plan((*(Column(f"n{i}", "number") for i in range(3)), Column("w", "category")))

    def table(X, w):
        return Table.of({**{f"n{i}": X[:, i] for i in range(3)}, "w": w.tolist()})

    oracle = ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), [0, 1, 2]),
            ("flag", SimpleImputer(strategy="median", add_indicator=True), [0, 1, 2]),
            ("w", OneHotEncoder(handle_unknown="ignore", sparse_output=False), [3]),
        ]
    )
    as_objects = [np.column_stack([X.astype(object), w]) for X, w in ((A, words), (B, others))]
    expected = [oracle.fit(as_objects[0]).transform(X) for X in as_objects]
    features = Features.fit(plan, table(A, words))
    keep = [0, 1, 2, 6, 7, 8, 9, 10, 11]  # the imputed columns come twice
    for X, w, wanted in ((A, words, expected[0]), (B, others, expected[1])):
        np.testing.assert_allclose(features.transform(table(X, w)), wanted[:, keep].astype(float), atol=1e-12)
    assert features.names == (
        "n0",
        "n1",
        "n2",
        "n0 is empty",
        "n1 is empty",
        "n2 is empty",
        "w = x",
        "w = y",
        "w = z",
    )


def test_text_is_that_of_scikit_learn_and_sparse():
    table = Table.of({"t": TEXTS})
    features = Features.fit(Plan.of(table, text="t"), table)
    X = features.transform(table)
    assert sp.issparse(X)
    assert X.format == "csr"
    assert X.dtype == np.float64
    oracle = TfidfVectorizer(sublinear_tf=True)
    assert (oracle.fit_transform(TEXTS) != X).nnz == 0
    assert (features.transform_texts(["sea of fire", ""]) != oracle.transform(["sea of fire", ""])).nnz == 0
    assert features.names == tuple(f"t: {term}" for term in oracle.get_feature_names_out())


def test_text_beside_numbers_weighs_as_a_number_does():
    rng = np.random.default_rng(101)
    texts = [" ".join(rng.choice([f"w{j}" for j in range(50)], 20)) for _ in range(200)]
    table = Table.of({"x": rng.normal(size=200) * 50, "t": texts})
    features = Features.fit(Plan.of(table), table)
    spread = features.transform(table).std(axis=0)
    assert len(features.names) == 1 + 49, "as many axes as the words allow"
    assert spread[0] == pytest.approx(1.0)
    assert spread[1:].max() == pytest.approx(1.0)
    axes = features.blocks[1].axes
    gram = axes @ axes.T
    np.testing.assert_allclose(
        gram, gram[0, 0] * np.eye(49), atol=1e-9 * gram[0, 0], err_msg="one scale for all axes"
    )


def test_dates_are_days():
    table = Table.of({"d": ["1970-01-02", "1970-01-04T12:00:00", None]})
    features = Features.fit(Plan((Column("d", "date", scale=False),)), table)
    assert features.transform(table).tolist() == [[1.0, 0.0], [3.5, 0.0], [2.25, 1.0]]
    with pytest.raises(InputError, match="expected dates such as 2024-05-31 or 31/05/2024, got 'soon' in row 0"):
        features.transform(Table.of({"d": ["soon"]}))
    for cells in (["02/01/1970", "4.1.1970 12:00"], ["02-01-1970 00:00:00", "1970-01-04 12:00"]):
        assert features.transform(Table.of({"d": cells}))[:, 0].tolist() == [1.0, 3.5]
    for cell in ("05/31/2024", "31/05/24", "31/05/2024 late", "1/2/3"):
        with pytest.raises(InputError, match="expected dates"):
            features.transform(Table.of({"d": [cell]}))


def test_axes_are_told_as_many_as_there_are():
    table = Table.of({"x": [*map(float, range(6))], "t": [f"one word{i} more" for i in range(6)]})
    plan = Plan((Column("x", "number"), Column("t", "text", components=100)))
    features = Features.fit(plan, table)
    assert features.plan_lines()[1] == f"t: text on {len(features.blocks[1].axes)} axes"
    assert len(features.blocks[1].axes) == 5


@given(rows=ROWS)
def test_a_file_gives_the_features_of_its_columns(tmp_path_factory, rows):
    table = table_of(rows)
    path = tmp_path_factory.getbasetemp() / "features.csv"
    write_table(path, {name: table.column(name) for name in table.names})
    read = read_table(path)
    features = Features.fit(PLAN, table)
    assert np.array_equal(features.transform(read), features.transform(table))
    assert np.array_equal(Features.fit(PLAN, read).transform(read), features.transform(table))
    again = [features.transform(read.rows(i, i + 1)) for i in range(read.n_rows)]
    np.testing.assert_allclose(np.vstack(again), features.transform(table), atol=1e-12)
    assert np.isfinite(features.transform(table)).all()
    assert len(features.names) == features.transform(table).shape[1]


@given(rows=ROWS, sparse=st.booleans(), with_matrix=st.booleans())
def test_parts_give_the_same_features_to_the_bit(rows, sparse, with_matrix):
    table = table_of(rows)
    text = Column("t", "text", components=0 if sparse else 2)
    plan = Plan((*PLAN.columns[:3], text, *[Column("M", "matrix")] * with_matrix))
    if with_matrix:
        M = np.random.default_rng(100).normal(size=(table.n_rows, 3)).astype(np.float32)
        table = Table.of({**table.parts, "M": M})
    features = Features.fit(plan, table)
    about, arrays = features.to_parts()
    again = Features.from_parts(json.loads(json.dumps(about)), {name: a.copy() for name, a in arrays.items()})
    assert again.plan == plan
    assert again.names == features.names
    assert again.lines() == features.lines()
    assert dense(again.transform(table)).tobytes() == dense(features.transform(table)).tobytes()


@pytest.fixture(scope="module")
def parts():
    table = table_of([(None, 1.0, None, text) for text in TEXTS])
    table = Table.of({**table.parts, "M": np.random.default_rng(100).normal(size=(8, 2))})
    return Features.fit(Plan((*PLAN.columns, Column("M", "matrix"))), table).to_parts()


def changed(value, path, new):
    copy = json.loads(json.dumps(value))
    place = copy
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = new
    return copy


@pytest.mark.parametrize(
    ("path", "new"),
    [
        (["format"], "another"),
        (["version"], 2),
        (["plan"], "[columns]\na = 'number'"),
        (["plan"], 3),
        (["blocks"], []),
        (["blocks"], {}),
        (["blocks", 0], None),
        (["blocks", 0, "kind"], "os.system"),
        (["blocks", 0, "kind"], ["numbers"]),
        (["blocks", 0, "columns"], ["a", "z"]),
        (["blocks", 0, "columns"], ["a", "a"]),
        (["blocks", 0, "columns"], "ab"),
        (["blocks", 0, "days"], [False]),
        (["blocks", 0, "flagged"], [0, 1]),
        (["blocks", 1, "words"], [["red"], ["blue"]]),
        (["blocks", 1, "words"], [["red", "red"]]),
        (["blocks", 2, "width"], 10**9),
        (["blocks", 2, "width"], 3),
        (["blocks", 2, "width"], True),
        (["blocks", 2, "column"], None),
        (["blocks", 3, "terms"], []),
        (["blocks", 3, "terms"], [1]),
        (["blocks", 3, "components"], 10**9),
        (["blocks", 3, "components"], -1),
    ],
)
def test_what_a_stranger_says_is_checked(parts, path, new):
    about, arrays = parts
    with pytest.raises(InputError) as caught:
        Features.from_parts(changed(about, path, new), arrays)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["0_mean", "0_median", "0_scale", "2_mean", "2_scale", "3_idf", "3_axes"])
@pytest.mark.parametrize("spoil", ["none", "nan", "shape", "type", "huge", "object"])
def test_what_a_stranger_stores_is_checked(parts, name, spoil):
    about, arrays = parts
    array = arrays[name]
    wrong = {
        "nan": array * np.nan,
        "shape": np.concatenate([array, array]),
        "type": array.astype(np.float32),
        "huge": array + 1e300,
        "object": array.astype(object),
    }
    spoilt = {key: value for key, value in arrays.items() if key != name} | (
        {} if spoil == "none" else {name: wrong[spoil]}
    )
    with pytest.raises(InputError, match=name[2:]):
        Features.from_parts(about, spoilt)


def test_zero_is_no_scale(parts):
    about, arrays = parts
    with pytest.raises(InputError, match="scale: expected positive numbers"):
        Features.from_parts(about, arrays | {"0_scale": np.zeros(2)})


def test_some_rows_have_the_features_they_have_among_all():
    table = Table.of({"size": ["1.0", "2.0", "XL", "1.0"]})
    features = Features.fit(Plan((Column("size", "category"),)), table)
    every, rows = features.transform(table), np.array([0, 3, 1])
    np.testing.assert_array_equal(every.sum(axis=1), 1.0)
    np.testing.assert_array_equal(features.transform(table.take(rows)), every[rows])
    np.testing.assert_array_equal(features.transform(Table.of({"size": [1, 2]})), every[:2])


def test_matrices_alone_are_left_as_they_are():
    X = sp.csr_matrix(np.eye(4, dtype=np.float32))
    table = Table.of({"X": X})
    features = Features.fit(Plan.of(table), table)
    assert (features.transform(table) != X).nnz == 0
    assert features.transform(table).dtype == np.float64
    with pytest.raises(InputError, match=r"table, column 'X': expected 4 columns, as in fit, got 3\."):
        features.transform(Table.of({"X": X[:, :3]}))
    with pytest.raises(InputError, match="column 'X': expected finite numbers without NaN or inf, got NaN"):
        features.transform(Table.of({"X": np.full((2, 4), np.nan)}))
    with pytest.raises(InputError, match="expected scale = false for a sparse matrix"):
        Features.fit(Plan((Column("X", "matrix"),)), table)


def test_a_plan_has_to_fit_its_table():
    table = Table.of({"x": [1.0, 2.0], "e": [None, None]}, "t.csv")
    with pytest.raises(InputError, match=r"t.csv: expected a column 'z', got 'x', 'e'\."):
        Features.fit(Plan((Column("z", "number"),)), table)
    for kind in ("number", "date", "category", "text"):
        with pytest.raises(InputError, match=r"t.csv, column 'e': expected .*, got (only empty cells|none)\."):
            Features.fit(Plan((Column("e", kind),)), table)
    with pytest.raises(InputError, match="got a matrix of 2 columns"):
        Features.fit(Plan((Column("x", "number"),)), Table.of({"x": np.eye(2)}))
    with pytest.raises(InputError, match="features of text only"):
        Features.fit(Plan((Column("x", "number"),)), table).transform_texts(["a"])
    text = Features.fit(Plan((Column("t", "text"),)), Table.of({"t": TEXTS}))
    for wrong in ("one", [1], []):
        with pytest.raises(InputError, match="texts: expected"):
            text.transform_texts(wrong)
