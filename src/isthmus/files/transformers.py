"""Transformers of scikit-learn that can be stored as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    StandardScaler,
)

from isthmus.files.arrays import Array, Labels, Words
from isthmus.files.fitted import fitted_kind
from isthmus.files.kinds import Kinds, Object, kinds
from isthmus.files.settings import FUNCTIONS, Setting
from isthmus.files.shapes import COUNT, FLAG, NUMBER, TEXT, Many, Maybe, Reader, Shape, Writer, require, word

PREPARING = Kinds()
"""Transformers, and pipelines and column transformers of them: the list is filled below."""
TOKEN_PATTERNS = (r"(?u)\b\w\w+\b", r"(?u)\b\w+\b")
"""Words of two characters or more, or of one: a stranger's pattern could take for ever."""
_D = Maybe(Array("d"))
_K = Array("k")


class Vocabulary:
    """Words by their columns, as texts in the order of these."""

    def packed(self, value: Any, place: str, writer: Writer) -> Any:
        """The texts."""
        return Words().packed(sorted(value, key=value.__getitem__), place, writer)

    def read(self, node: Any, reader: Reader) -> dict[str, int]:
        """A dictionary."""
        texts = Words().read(node, reader)
        require(len({*texts}) == len(texts), "words that differ", len(texts))
        return {text: k for k, text in enumerate(texts)}


class Dtype:
    """A type of arrays, by its name."""

    NAMES = ("float64", "float32", "int64", "int32", "bool", "object")

    def packed(self, value: Any, place: str, writer: Writer) -> Any:
        """The name; texts of any width are objects here."""
        name = np.dtype(value).name
        return name if name in self.NAMES else "object"

    def read(self, node: Any, reader: Reader) -> Any:
        """The type."""
        return np.dtype(word(*self.NAMES).read(node, reader))


class Lists:
    """Labels or places for each column."""

    def __init__(self, axis: str, *, places: bool = False) -> None:
        self.axis, self.places = axis, places

    def _shape(self, k: int) -> Any:
        axis = f"{self.axis} {k}"
        return Maybe(Array(axis, kinds="i")) if self.places else Labels(axis)

    def packed(self, value: Any, place: str, writer: Writer) -> Any:
        """A list."""
        return [self._shape(k).packed(item, f"{place}.{k}", writer) for k, item in enumerate(value)]

    def read(self, node: Any, reader: Reader) -> Any:
        """A list of arrays, one per column."""
        require(isinstance(node, list), "a list", node)
        reader.require_shape((len(node),), ("d",), "a list")
        return [self._shape(k).read(item, reader) for k, item in enumerate(node)]


def _without_indicator(imputer: Any) -> None:
    imputer.indicator_ = None


def _require_weights(vectorizer: Any) -> None:
    n = len(vectorizer.vocabulary_)
    require(getattr(vectorizer._tfidf, "n_features_in_", n) == n, "a weight for each word", n)


_DIRECTIONS: Mapping[str, Shape] = {
    "components_": Array("k", "d"),
    "explained_variance_": _K,
    "explained_variance_ratio_": Array("k", allowed="nan"),
    "singular_values_": _K,
}
_TFIDF = fitted_kind(TfidfTransformer, {"idf_": Array("d")})
_ENCODED: Mapping[str, Shape] = {
    "categories_": Lists("categories"),
    "_infrequent_enabled": FLAG,
    "_infrequent_indices": Lists("infrequent", places=True),
    "_default_to_infrequent_mappings": Lists("categories", places=True),
    "drop_idx_": Maybe(Labels("d")),
    "_drop_idx_after_grouping": Maybe(Labels("d")),
    "_n_features_outs": Many(COUNT, list),
}
_NESTED = Setting(PREPARING, open=True)
_JOINED: Mapping[str, Shape] = {
    "transformers_": _NESTED,
    "_columns": _NESTED,
    "_transformer_to_input_indices": _NESTED,
    "_remainder": _NESTED,
    "_name_to_fitted_passthrough": _NESTED,
    "_n_features": COUNT,
    "sparse_output_": FLAG,
    "output_indices_": _NESTED,
}
PREPARING.by_name.update(
    kinds(
        fitted_kind(StandardScaler, {"mean_": _D, "var_": _D, "scale_": _D}),
        fitted_kind(Normalizer, {}),
        fitted_kind(MaxAbsScaler, {"max_abs_": _D, "scale_": _D}),
        fitted_kind(MinMaxScaler, {name: _D for name in ("scale_", "min_", "data_min_", "data_max_", "data_range_")}),
        fitted_kind(
            PCA,
            {**_DIRECTIONS, "mean_": Array("d"), "n_components_": COUNT, "n_samples_": COUNT}
            | {"noise_variance_": NUMBER, "_fit_svd_solver": TEXT},
        ),
        fitted_kind(TruncatedSVD, _DIRECTIONS),
        _TFIDF,
        fitted_kind(
            TfidfVectorizer,
            {"_tfidf": Object(kinds(_TFIDF)), "fixed_vocabulary_": FLAG, "vocabulary_": Vocabulary()},
            {
                "input": ("content",),  # the others would open files
                "analyzer": ("word", "char", "char_wb"),
                "token_pattern": TOKEN_PATTERNS,
                "tokenizer": (None,),
                "preprocessor": (None,),
                "encoding": ("utf-8", "latin-1", "ascii"),
            },
            finish=_require_weights,
        ),
        fitted_kind(
            SimpleImputer,
            {"statistics_": Labels("d"), "_fit_dtype": Dtype(), "_fill_dtype": Dtype()},
            {"add_indicator": (False,), "strategy": ("mean", "median", "most_frequent", "constant")},
            finish=_without_indicator,
        ),
        fitted_kind(OneHotEncoder, _ENCODED, {"feature_name_combiner": ("concat",)}),
        fitted_kind(
            FunctionTransformer,
            {},
            {
                **dict.fromkeys(("func", "inverse_func"), (None, *FUNCTIONS.values())),
                "kw_args": (None,),
                "inv_kw_args": (None,),
                "feature_names_out": (None, "one-to-one"),
            },
        ),
        fitted_kind(Pipeline, {}, {"transform_input": (None,)}, within=PREPARING),
        fitted_kind(ColumnTransformer, _JOINED, within=PREPARING),
    ).by_name
)
