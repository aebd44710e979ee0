"""Transformers in model files: the same answers to the bit, or one sentence."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.semi_supervised import LabelSpreading

from isthmus.exceptions import InputError
from isthmus.io.model_file import SCHEMA, _archive, _check_schema, _dump, import_skops, sample_row
from isthmus.io.stored_values import pack, unpack


def again(transformer, trust=frozenset()):
    """Written and read as a part of a model is."""
    members = _dump(transformer, trust)
    found = _check_schema(json.loads(members[SCHEMA]), members, trust)
    return unpack(import_skops().loads(_archive(members), trusted=sorted(found)), trust)


def dense(table):
    return table.toarray() if sp.issparse(table) else np.asarray(table)


def assert_same(transformer, X):
    read = again(transformer)
    a, b = transformer.transform(X), read.transform(X)
    assert type(a) is type(b)
    np.testing.assert_array_equal(dense(a), dense(b))
    assert repr(read) == repr(transformer)
    sample = sample_row(read)
    assert sample is None or read.transform(sample).shape[0] == 1, "the probe knows a row"
    return read


NUMERIC = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    Normalizer("l1"),
    MaxAbsScaler(),
    MinMaxScaler((-1, 2), clip=True),
    PCA(2),
    PCA(2, whiten=True, svd_solver="randomized", random_state=3),
    TruncatedSVD(2, random_state=0),
    SimpleImputer(strategy="median"),
    FunctionTransformer(np.tanh),
    FunctionTransformer(),
    make_pipeline(SimpleImputer(), "passthrough", StandardScaler(), make_pipeline(PCA(2), Normalizer())),
    ColumnTransformer([("a", StandardScaler(), [0, 2]), ("b", "passthrough", slice(1, 2))], remainder=MinMaxScaler()),
    ColumnTransformer([("a", StandardScaler(), [True, False, False, True])], remainder="drop", sparse_threshold=0),
]


@pytest.mark.parametrize("transformer", NUMERIC, ids=repr)
@settings(max_examples=5, deadline=None)
@given(
    hnp.arrays(
        st.sampled_from([np.float64, np.float32]), (7, 4), elements=st.floats(-100, 100, width=16), unique=True
    )
)
def test_numbers(transformer, X):
    assert_same(transformer.fit(X), X + 1)


@pytest.mark.parametrize(
    "transformer",
    [StandardScaler(with_mean=False), MaxAbsScaler(), TruncatedSVD(2), TfidfTransformer(), Normalizer()],
)
def test_sparse(transformer):
    X = sp.random_array((20, 30), density=0.2, random_state=0, format="csr")
    assert_same(transformer.fit(X), X)


TEXTS = ["der Hund bellt", "die Katze – schläft \x00 nie", "der Hund # und die Katze", "𝔘nicode ist überall"]


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5),
    st.sampled_from([("word", (1, 2)), ("char_wb", (2, 3)), ("char", (1, 1))]),
    st.booleans(),
)
def test_texts(more, words, sublinear):
    texts = TEXTS + more
    vectorizer = TfidfVectorizer(analyzer=words[0], ngram_range=words[1], sublinear_tf=sublinear).fit(texts)
    read = assert_same(vectorizer, texts)
    assert read.vocabulary_ == vectorizer.vocabulary_


@pytest.mark.parametrize("n", [0, 1, 20])
def test_many_plain_values(n):
    texts = [f"word{k} \ud800 [" for k in range(n)]
    numbers = [0.1 * k if k % 2 else k for k in range(n)]
    pairs = tuple((text, "") for text in texts)
    for values in (
        texts,
        (*texts,),
        numbers,
        dict(zip(texts, numbers, strict=True)),
        pairs,
        {1: texts},
        [True, None],
    ):
        read = unpack(pack(values))
        assert read == values
        assert [*map(type, read)] == [*map(type, values)]
    array = np.array([*texts, None], dtype=object)
    assert unpack(pack(array)).tolist() == array.tolist()


def test_stop_words_and_one_letter():
    assert_same(TfidfVectorizer(stop_words=["der", "die"], token_pattern=r"(?u)\b\w+\b").fit(TEXTS), TEXTS)


TABLE = pd.DataFrame(
    {
        "length": [1.0, np.nan, 3.0, 4.0],
        "colour": ["red", "blue", None, "red"],
        "count": [3, 1, 2, 2],
        "text": TEXTS,
    }
)


def test_a_whole_table():
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["length"]),
            ("words", OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["colour"]),
            ("text", make_pipeline(TfidfVectorizer(), TruncatedSVD(2)), "text"),
        ],
        remainder="passthrough",
    )
    read = assert_same(columns.fit(TABLE), TABLE)
    np.testing.assert_array_equal(read.get_feature_names_out(), columns.get_feature_names_out())
    fresh = pd.DataFrame({**TABLE, "colour": ["green", "red", "red", None]})
    np.testing.assert_array_equal(dense(columns.transform(fresh)), dense(read.transform(fresh)))


def test_frames_stay_frames():
    columns = ColumnTransformer([("a", StandardScaler(), ["length"])], remainder="drop").set_output(
        transform="pandas"
    )
    read = assert_same(make_pipeline(columns, StandardScaler()).fit(TABLE), TABLE)
    assert list(read[0].transform(TABLE).columns) == ["a__length"]


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(),
        OneHotEncoder(drop="first", dtype=np.float32),
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=2),
        OneHotEncoder(categories=[["blue", "red", "green"], [1, 2, 3]], sparse_output=False),
    ],
    ids=repr,
)
def test_categories(encoder):
    X = TABLE[["colour", "count"]].fillna("red")
    read = assert_same(encoder.fit(X), X)
    assert [list(c) for c in read.categories_] == [list(c) for c in encoder.categories_]


def test_missing_categories():
    X = TABLE[["colour"]]
    for rows in (X, X.to_numpy(), X.replace({None: np.nan})):
        assert_same(OneHotEncoder().fit(rows), rows)


@pytest.mark.parametrize(
    "transformer",
    [
        PolynomialFeatures(),
        FunctionTransformer(lambda X: X),
        TfidfVectorizer(tokenizer=str.split, token_pattern=None),
        TfidfVectorizer(token_pattern="(a+)+b"),
        TfidfVectorizer(input="filename"),
        make_pipeline(StandardScaler(), PolynomialFeatures()),
        SimpleImputer(add_indicator=True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_others_are_named(transformer):
    with pytest.raises(InputError, match=r"Polynomial|function|type builtins|Tfidf|Simple"):
        again(transformer)


def test_unfitted_ones_stay_unfitted():
    read = again(make_pipeline(StandardScaler(), PCA(2)))
    assert not hasattr(read[0], "scale_")
    assert read[1].n_components == 2


def test_how_work_is_done_is_no_part_of_a_file(tmp_path):
    pipeline = make_pipeline(StandardScaler(), memory=str(tmp_path)).fit(np.eye(3))
    assert again(pipeline).memory is None
    assert pipeline.memory == str(tmp_path)


def test_other_types_need_trust():
    trust = frozenset(["sklearn.preprocessing._polynomial.PolynomialFeatures"])
    fitted = make_pipeline(StandardScaler(), PolynomialFeatures()).fit(np.eye(3))
    np.testing.assert_array_equal(again(fitted, trust).transform(np.eye(3)), fitted.transform(np.eye(3)))


def test_columns_that_no_table_has():
    """SciPy would read beyond its arrays."""
    words, kinds = TfidfVectorizer().fit(["a few words"]), OneHotEncoder().fit([[1], [2], [3]])
    words.vocabulary_["words"] = 10**6
    kinds.categories_[0] = np.array([3, 1, 2])
    for transformer in (words, kinds):
        with pytest.raises(InputError, match="model: expected"):
            again(transformer)


def test_rows_that_no_table_has():
    X = sp.random_array((20, 30), density=0.2, random_state=0, format="csr")
    spread = LabelSpreading().fit(X, np.arange(20) % 3)
    assert sp.issparse(again(spread).X_)
    spread.X_ = sp.csr_matrix((X.data, X.indices + 100, X.indptr), shape=(20, 200))
    spread.X_.resize((20, 200))
    spread.X_._shape = (20, 30)
    with pytest.raises(InputError, match="model: expected"):
        again(spread)
