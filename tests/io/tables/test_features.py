"""Features against scikit-learn, and what was learned through files."""

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

import isthmus
from benchmarks.model_file_fuzz import members_of
from isthmus import InputError
from isthmus.io.model_file import load_parts
from isthmus.io.stored_values import pack, unpack
from isthmus.io.tables.features import Features
from isthmus.io.tables.plan import Column, Plan
from isthmus.io.tables.read import read_table
from isthmus.io.tables.table import Table
from isthmus.io.tables.write import write_table

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
    assert (
        features.transform(Table.of({"t": ["sea of fire", ""]})) != oracle.transform(["sea of fire", ""])
    ).nnz == 0
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
    for cells in (["02/01/1970", "4.1.1970 12:00"], ["02-01-1970 00:00:00", "1970-01-04 12:00"]):
        assert features.transform(Table.of({"d": cells}))[:, 0].tolist() == [1.0, 3.5]
    for cell in ("soon", "05/31/2024", "31/05/24", "31/05/2024 late", "1/2/3"):
        wrong = Table.of({"d": [cell]})
        assert features.transform(wrong).tolist() == [[2.25, 1.0]], "read as missing"
        assert (
            str(features.count_coerced_cells(wrong)["d"])
            == f'd: 1 of 1 cells is not a date ("{cell}"), read as missing'
        )


def test_axes_are_told_as_many_as_there_are():
    table = Table.of({"x": [*map(float, range(6))], "t": [f"one word{i} more" for i in range(6)]})
    plan = Plan((Column("x", "number"), Column("t", "text", components=100)))
    features = Features.fit(plan, table)
    assert features.plan_lines()[1] == f"t: text on {len(features.blocks[1].axes)} axes"
    assert len(features.blocks[1].axes) == 5


@given(rows=ROWS)
@pytest.mark.slow
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
    again = unpack(pack(features))
    assert again.plan == plan
    assert again.names == features.names
    assert dense(again.transform(table)).tobytes() == dense(features.transform(table)).tobytes()


@pytest.fixture(scope="module")
def features():
    table = table_of([(None, 1.0, None, text) for text in TEXTS])
    table = Table.of({**table.parts, "M": np.random.default_rng(100).normal(size=(8, 2))})
    return Features.fit(Plan((*PLAN.columns, Column("M", "matrix"))), table)


def test_features_come_back_from_a_model_file(features, tmp_path):
    model = isthmus.Procrustes().fit(np.eye(3), None, np.eye(3), None, pairs="rows")
    isthmus.save(model, tmp_path / "model", parts={"source": features})
    again = load_parts(tmp_path / "model")["source"]
    assert (again.plan, again.names) == (features.plan, features.names)
    assert isinstance(isthmus.load(tmp_path / "model"), isthmus.Procrustes)


@pytest.mark.slow
def test_many_columns_take_little_of_the_schema(tmp_path):
    """A list of thousands of texts or flags would be a node each, and the schema is bounded."""
    n = 3000
    numbers = {f"x{i}": [0.5 * i, 2.0, None] for i in range(n)}
    table = Table.of(numbers | {f"k{i}": ["a", "b", f"c{i}"] for i in range(n)})
    plan = Plan(tuple(Column(name, "number" if name[0] == "x" else "category") for name in table.names))
    features = Features.fit(plan, table)
    model = isthmus.Procrustes().fit(np.eye(3), None, np.eye(3), None, pairs="rows")
    isthmus.save(model, tmp_path / "model", parts={"source": features})
    assert len(members_of((tmp_path / "model").read_bytes())["schema.json"]) < 30_000
    again = load_parts(tmp_path / "model")["source"]
    assert again.plan == plan
    assert np.array_equal(again.transform(table), features.transform(table))


@pytest.mark.parametrize(
    ("block", "name", "value"),
    [
        (None, "plan", None),
        (None, "blocks", ()),
        (None, "blocks", [1]),
        (None, "blocks", (None,)),
        (0, "columns", ("a", "z")),
        (0, "columns", ("a", "a")),
        (0, "columns", "ab"),
        (0, "days", np.array([False])),
        (0, "flagged", np.array([0, 1])),
        (0, "flagged", None),
        (1, "words", (("red",), ("blue",))),
        (1, "words", (("red", "red"),)),
        (1, "words", ((1,),)),
        (2, "width", 10**9),
        (2, "width", 3),
        (2, "width", True),
        (2, "column", None),
        (2, "mean", None),
        (3, "terms", ()),
        (3, "terms", (1,)),
        (3, "terms", ("land", "land")),
        (3, "axes", np.zeros((0, 3))),
        (3, "axes", np.zeros((20_000, 1))),
    ],
)
def test_what_a_stranger_says_is_checked(features, block, name, value):
    with pytest.raises(InputError) as caught:
        spoil(features, block, name, value)
    assert str(caught.value).isprintable()


def spoil(features, block, name, value):
    """Features as a file would have them that says something else of one part."""
    if block is None:
        return unpack(pack(change(features, name, value)))
    blocks = [*features.blocks]
    blocks[block] = change(blocks[block], name, value)
    return unpack(pack(change(features, "blocks", tuple(blocks))))


def change(value, name, new):
    twin = object.__new__(type(value))
    twin.__dict__.update(vars(value) | {name: new})
    return twin


NAMES = [(0, "mean"), (0, "median"), (0, "scale"), (2, "mean"), (2, "scale"), (3, "idf"), (3, "axes")]


@pytest.mark.parametrize(("block", "name"), NAMES)
@pytest.mark.parametrize("wrong", ["nan", "shape", "type", "huge", "object", "order"])
def test_what_a_stranger_stores_is_checked(features, block, name, wrong):
    array = getattr(features.blocks[block], name)
    spoilt = {
        "nan": array * np.nan,
        "shape": np.concatenate([array, array], axis=-1),
        "type": array.astype(np.float32),
        "huge": array + 1e300,
        "object": array.astype(object),
        "order": array.astype(">f8"),
    }
    with pytest.raises(InputError, match=f"features, {name}"):
        spoil(features, block, name, spoilt[wrong])


def test_zero_is_no_scale(features):
    with pytest.raises(InputError, match="scale: expected positive numbers"):
        spoil(features, 0, "scale", np.zeros(2))


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
    with pytest.raises(InputError, match=r'table, column "X": expected 4 columns, as in fit, got 3\.'):
        features.transform(Table.of({"X": X[:, :3]}))
    with pytest.raises(InputError, match='column "X": expected finite numbers, got NaN or inf'):
        features.transform(Table.of({"X": np.full((2, 4), np.nan)}))
    with pytest.raises(InputError, match="expected scale = false for a sparse matrix"):
        Features.fit(Plan((Column("X", "matrix"),)), table)


def test_a_plan_has_to_fit_its_table():
    table = Table.of({"x": [1.0, 2.0], "e": [None, None]}, "t.csv")
    with pytest.raises(InputError, match=r't.csv: expected a column "z", got "x", "e"\.'):
        Features.fit(Plan((Column("z", "number"),)), table)
    for kind in ("number", "date", "category", "text"):
        with pytest.raises(InputError, match=r't.csv, column "e": expected .*, got (only empty cells|none)[.;]'):
            Features.fit(Plan((Column("e", kind),)), table)
    with pytest.raises(InputError, match="got a matrix of 2 columns"):
        Features.fit(Plan((Column("x", "number"),)), Table.of({"x": np.eye(2)}))
