"""Two text embeddings of the same descriptions, as an old and a new model would give them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer

from isthmus._core.validation import IntArray
from studies.datasets import read_debian_texts
from studies.pairs.data import Paired, shared_columns

WORD_SIZE, CHARACTER_SIZE = 256, 384
"""Columns of the two embeddings."""


def word_embedding() -> Pipeline:
    """Latent semantic analysis of words: tf-idf and 256 singular vectors, rows of length one."""
    words = TfidfVectorizer(sublinear_tf=True, min_df=3, max_df=0.3, stop_words="english")
    return make_pipeline(words, TruncatedSVD(WORD_SIZE, random_state=0), Normalizer())


def character_embedding() -> Pipeline:
    """The same of hashed groups of three and four letters, with 384 singular vectors."""
    hashed = HashingVectorizer(
        analyzer="char_wb", ngram_range=(3, 4), n_features=2**15, alternate_sign=False, norm=None
    )
    reduced = TruncatedSVD(CHARACTER_SIZE, n_iter=2, random_state=1)
    return make_pipeline(hashed, TfidfTransformer(sublinear_tf=True), reduced, Normalizer())


def embedded_texts(folder: Path | None = None) -> Paired:
    """Every package by its words (n, 256) and by its groups of letters (n, 384); classes are the sections.

    Either model is given as it is, made from all texts: what is studied is the way from one to the other.
    """
    found = read_debian_texts(folder)
    sections: IntArray = np.unique(found.sections, return_inverse=True)[1]
    A, B = (model.fit_transform(found.texts) for model in (word_embedding(), character_embedding()))
    return Paired(A, B, sections, shared_columns((), ()))
