"""Pairs of tables without a common object, of many kinds, and pairs of tables with known partners."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.random import Generator
from sklearn import datasets
from sklearn.feature_extraction.text import TfidfVectorizer

from isthmus._core.validation import FloatArray, IntArray, Matrix
from studies.datasets import (
    data_folder,
    load_debian,
    load_mfeat,
    load_reuters600,
    load_snareseq,
)
from studies.datasets.collection import Collection
from studies.pairs.data import make_pair

Loader: TypeAlias = Callable[[Path | None], Collection]
LOADERS: dict[str, Loader] = {
    "debian": load_debian,
    "mfeat": load_mfeat,
    "reuters": load_reuters600,
    "snare": load_snareseq,
}


@dataclass(frozen=True, eq=False)
class Tables:
    """Two tables.

    Parameters
    ----------
    A, B : array, CSR or data frame (n, d), (m, d')
        Their rows.
    partner : array (n,)
        The row of B that is the same object, -1 where there is none; empty where no row has one.
    ys, yt : array (n,), (m,), optional
        Class labels.
    pairs : array (p, 2), optional
        What is given as known pairs, and is wrong.
    """

    A: Any
    B: Any
    partner: IntArray
    ys: IntArray | None = None
    yt: IntArray | None = None
    pairs: IntArray | None = None


Make: TypeAlias = Callable[[Generator], Matrix]
Draw: TypeAlias = Callable[[Generator, Path | None], Tables]
NOBODY = np.zeros(0, np.intp)


def normal(rng: Generator, n: int, d: int) -> FloatArray:
    """Return independent normal entries."""
    return rng.normal(size=(n, d))


def binary(rng: Generator, n: int, d: int) -> FloatArray:
    """Return zeros and ones, each column with a frequency of its own."""
    return np.asarray(rng.random((n, d)) < rng.uniform(0.1, 0.9, d), dtype=float)


def one_hot(rng: Generator, n: int, levels: tuple[int, ...]) -> FloatArray:
    """Return an indicator of each level of some categories, of unequal frequencies."""
    parts = [np.eye(k)[rng.choice(k, n, p=rng.dirichlet(np.ones(k)))] for k in levels]
    return np.hstack(parts)


def low_rank(rng: Generator, n: int, d: int, rank: int, noise: float) -> FloatArray:
    """Return a product of two slim matrices, plus noise."""
    return np.asarray(normal(rng, n, rank) @ normal(rng, rank, d) + noise * normal(rng, n, d))


def heavy(rng: Generator, n: int, d: int, freedom: float) -> FloatArray:
    """Return Student's t."""
    return rng.standard_t(freedom, size=(n, d))


def clustered(rng: Generator, n: int, d: int, k: int, spread: float) -> FloatArray:
    """Return normal clusters."""
    return np.asarray(normal(rng, k, d)[rng.integers(k, size=n)] + spread * normal(rng, n, d))


def factors(rng: Generator, n: int, d: int, k: int) -> FloatArray:
    """Return a mixture of gamma factors of which few are active: rows that are easy to tell apart."""
    return np.asarray(rng.gamma(0.2, size=(n, k)) @ normal(rng, k, d) + 0.1 * normal(rng, n, d))


def counts(rng: Generator, n: int, d: int) -> Matrix:
    """Return sparse counts of words by Zipf's law, in a few topics."""
    rates = rng.dirichlet(0.2 * np.ones(6), n) @ (rng.gamma(0.3, size=(6, d)) / np.arange(1, d + 1))
    return sp.csr_matrix(rng.poisson(60.0 * rates / rates.sum(axis=1, keepdims=True)).astype(float) + 0.0)


def mixed(rng: Generator, n: int) -> FloatArray:
    """Return numbers, amounts, flags and a category: a table of customers."""
    amounts = rng.lognormal(3.0, 1.0, size=(n, 2)).round(2)
    return np.hstack([normal(rng, n, 3), amounts, binary(rng, n, 3), one_hot(rng, n, (4,))])


def repeated(rng: Generator, n: int, d: int, distinct: int) -> FloatArray:
    """Return rows of which few are distinct, with little noise."""
    return np.asarray(normal(rng, distinct, d)[rng.integers(distinct, size=n)] + 0.01 * normal(rng, n, d))


def ring(rng: Generator, n: int, d: int) -> FloatArray:
    """Return points of a circle, in d dimensions."""
    angles = rng.uniform(0.0, 2.0 * np.pi, n)
    return np.asarray(np.stack([np.cos(angles), np.sin(angles)], 1) @ normal(rng, 2, d) + 0.05 * normal(rng, n, d))


def falling(rng: Generator, n: int, d: int) -> FloatArray:
    """Return columns like principal components: of falling deviation, not correlated."""
    return normal(rng, n, d) * np.geomspace(1.0, 0.05, d)


def _apart(first: Make, second: Make | None = None) -> Draw:
    """Return a draw of two tables that have nothing in common."""

    def draw(rng: Generator, folder: Path | None) -> Tables:
        return Tables(first(rng), (second or first)(rng), NOBODY)

    return draw


def _same_columns(rng: Generator, folder: Path | None, n: int, k: int, d: int, gamma: bool) -> Tables:
    """Draw other objects with the same columns: one mixing matrix, disjoint rows."""
    hidden = rng.gamma(0.2, size=(2 * n, k)) if gamma else normal(rng, 2 * n, k)
    X = hidden @ normal(rng, k, d) + 0.1 * normal(rng, 2 * n, d)
    return Tables(X[:n], X[n:], NOBODY)


def _labelled(rng: Generator, folder: Path | None, n: int, aligned: bool) -> Tables:
    """Draw two tables with class labels; where aligned, classes are clusters in both."""
    ys, yt = (rng.integers(4, size=n) for _ in range(2))
    A, B = normal(rng, n, 12), normal(rng, n, 15)
    if aligned:
        A, B = A + 2.0 * normal(rng, 4, 12)[ys], B + 2.0 * normal(rng, 4, 15)[yt]
    return Tables(A, B, NOBODY, ys, yt)


def _with_wrong_pairs(rng: Generator, folder: Path | None, n: int, d: int, p: int) -> Tables:
    """Draw two unrelated tables with pairs that are given as known."""
    pairs = np.stack([rng.choice(n, p, replace=False) for _ in range(2)], axis=1)
    return Tables(low_rank(rng, n, d, 6, 0.3), low_rank(rng, n, d, 6, 0.3), NOBODY, pairs=pairs)


@lru_cache(maxsize=8)
def _load(name: str, folder: Path | None) -> Collection:
    return LOADERS[name](folder)


def _bundled(rng: Generator, folder: Path | None, first: str, second: str) -> Tables:
    """Draw rows of two of scikit-learn's tables."""
    A, B = (getattr(datasets, f"load_{name}")(return_X_y=True)[0] for name in (first, second))
    return Tables(_draw(A, rng, 150), _draw(B, rng, 150), NOBODY)


def _draw(X: Matrix, rng: Generator, n: int) -> Matrix:
    """Draw n rows, or all where there are fewer."""
    return X[rng.choice(X.shape[0], min(n, X.shape[0]), replace=False)]


def _disjoint(rng: Generator, folder: Path | None, data: str, first: str, second: str, n: int) -> Tables:
    """Draw disjoint objects of one data set, in two of its views or twice in one."""
    both = make_pair(_load(data, folder), first, second)
    order = rng.permutation(len(both.y))
    n = min(n, len(order) // 2)
    return Tables(both.A[order[:n]], both.B[order[n : 2 * n]], NOBODY)


def _real(rng: Generator, folder: Path | None, a: tuple[str, str], b: tuple[str, str], n: int) -> Tables:
    """Draw rows of two data sets."""
    A, B = (_load(name, folder)[view].X for name, view in (a, b))
    return Tables(_draw(A, rng, n), _draw(B, rng, n), NOBODY)


@lru_cache(maxsize=8)
def _texts(name: str, side: str, folder: Path | None) -> Matrix:
    """Return tf-idf of the words of a table of record linkage, a line being a text."""
    path = data_folder(folder) / "record_linkage" / name / f"{side}.csv"
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()[1:]
    return TfidfVectorizer(min_df=2, sublinear_tf=True).fit_transform(lines)


def _linkage(rng: Generator, folder: Path | None, a: tuple[str, str], b: tuple[str, str], n: int) -> Tables:
    """Draw rows of two tables of record linkage, which are of different objects."""
    A, B = (_texts(*each, folder) for each in (a, b))
    return Tables(_draw(A, rng, n), _draw(B, rng, n), NOBODY)


def _partnered(
    rng: Generator, folder: Path | None, data: str, first: str, second: str, n: int, share: float
) -> Tables:
    """Draw n rows of either view, of which a share is the same objects."""
    both = make_pair(_load(data, folder), first, second)
    n = min(n, int(len(both.y) / (2.0 - share)))
    common = int(share * n)
    objects = rng.permutation(len(both.y))[: 2 * n - common]
    rows, columns = objects[:n], rng.permutation(np.concatenate([objects[:common], objects[n:]]))
    place = np.full(len(both.y), -1)
    place[columns] = np.arange(n)
    return Tables(both.A[rows], both.B[columns], place[rows])


def _made_partnered(rng: Generator, folder: Path | None, n: int, k: int) -> Tables:
    """Draw two noisy views of the same few hidden factors."""
    hidden = rng.gamma(0.3, size=(n, k))
    A, B = (hidden @ normal(rng, k, d) + 0.01 * normal(rng, n, d) for d in (3 * k, 3 * k))
    order = rng.permutation(n)
    return Tables(A, B[order], np.argsort(order))


UNRELATED: dict[str, Draw] = {
    "normal, 100 rows": _apart(partial(normal, n=100, d=8), partial(normal, n=100, d=12)),
    "normal, 60 rows, 200 columns": _apart(partial(normal, n=60, d=200)),
    "normal, 400 rows": _apart(partial(normal, n=400, d=20), partial(normal, n=400, d=30)),
    "normal, 40 rows and 400": _apart(partial(normal, n=40, d=10), partial(normal, n=400, d=10)),
    "normal, 300 rows and 30": _apart(partial(normal, n=300, d=6), partial(normal, n=30, d=6)),
    "binary, 100 × 8": _apart(partial(binary, n=100, d=8)),
    "binary, 100 × 30": _apart(partial(binary, n=100, d=30)),
    "binary, 300 × 12": _apart(partial(binary, n=300, d=12)),
    "one-hot, few levels": _apart(partial(one_hot, n=150, levels=(3, 4, 5))),
    "one-hot, many levels": _apart(partial(one_hot, n=150, levels=(20, 30))),
    "tiny, 20 rows": _apart(partial(normal, n=20, d=5)),
    "tiny, 30 rows": _apart(partial(normal, n=30, d=12)),
    "tiny, binary": _apart(partial(binary, n=30, d=6)),
    "tiny, rank 5": _apart(partial(low_rank, n=25, d=12, rank=5, noise=0.0)),
    "tiny, two columns": _apart(partial(normal, n=24, d=2), partial(normal, n=24, d=3)),
    "rank 3": _apart(partial(low_rank, n=100, d=20, rank=3, noise=0.0)),
    "rank 6, noisy": _apart(partial(low_rank, n=150, d=20, rank=6, noise=0.3)),
    "rank 1, noisy": _apart(partial(low_rank, n=80, d=10, rank=1, noise=0.1)),
    "heavy-tailed, t with 1.5": _apart(partial(heavy, n=120, d=10, freedom=1.5)),
    "heavy-tailed, t with 3": _apart(partial(heavy, n=200, d=25, freedom=3.0)),
    "amounts": _apart(lambda rng: rng.lognormal(2.0, 1.5, size=(150, 6))),
    "clustered, 5": _apart(partial(clustered, n=150, d=10, k=5, spread=0.2)),
    "clustered, 3 and 12": _apart(
        partial(clustered, n=150, d=10, k=3, spread=0.5), partial(clustered, n=150, d=15, k=12, spread=0.1)
    ),
    "factors": _apart(partial(factors, n=200, d=40, k=20)),
    "factors, tiny": _apart(partial(factors, n=40, d=20, k=8)),
    "sparse counts": _apart(partial(counts, n=200, d=300)),
    "ratings from 1 to 5": _apart(lambda rng: rng.integers(1, 6, size=(120, 10)).astype(float)),
    "mixed types": _apart(partial(mixed, n=150)),
    "repeated rows": _apart(partial(repeated, n=120, d=8, distinct=30)),
    "random walks": _apart(lambda rng: normal(rng, 100, 50).cumsum(axis=1)),
    "ring": _apart(partial(ring, n=120, d=6)),
    "falling deviations": _apart(partial(falling, n=150, d=20)),
    "same columns, normal": partial(_same_columns, n=150, k=8, d=20, gamma=False),
    "same columns, factors": partial(_same_columns, n=200, k=20, d=40, gamma=True),
    "labels": partial(_labelled, n=120, aligned=False),
    "labels that are clusters": partial(_labelled, n=120, aligned=True),
    "5 wrong pairs": partial(_with_wrong_pairs, n=120, d=15, p=5),
    "30 wrong pairs": partial(_with_wrong_pairs, n=150, d=15, p=30),
    "iris and wine": partial(_bundled, first="iris", second="wine"),
    "wine and breast cancer": partial(_bundled, first="wine", second="breast_cancer"),
    "diabetes and digits": partial(_bundled, first="diabetes", second="digits"),
    "mfeat fac and kar, other digits": partial(_disjoint, data="mfeat", first="fac216", second="kar64", n=400),
    "mfeat fac twice, other digits": partial(_disjoint, data="mfeat", first="fac216", second="fac216", n=400),
    "mfeat mor and zer, other digits": partial(_disjoint, data="mfeat", first="mor6", second="zer47", n=300),
    "Debian en and fr, other packages": partial(_disjoint, data="debian", first="en", second="fr", n=400),
    "Debian en twice, other packages": partial(_disjoint, data="debian", first="en", second="en", n=400),
    "Reuters EN and FR, other documents": partial(_disjoint, data="reuters", first="EN", second="FR", n=300),
    "SNARE RNA and ATAC, other cells": partial(_disjoint, data="snare", first="rna10", second="atac19", n=400),
    "Debian en and mfeat pix": partial(_real, a=("debian", "en"), b=("mfeat", "pix240"), n=300),
    "Reuters GR and SNARE RNA": partial(_real, a=("reuters", "GR"), b=("snare", "rna10"), n=300),
    "Abt and DBLP": partial(_linkage, a=("abtbuy", "a"), b=("dblpacm", "a"), n=400),
    "FEBRL and Buy": partial(_linkage, a=("febrl", "a"), b=("abtbuy", "b"), n=400),
}
"""By name, two tables without a common object."""
VIEWS = {
    "Debian en–fr": ("debian", "en", "fr", 1000),
    "Debian en–de": ("debian", "en", "de", 1000),
    "Debian fr–de": ("debian", "fr", "de", 800),
    "Reuters EN–FR": ("reuters", "EN", "FR", 600),
    "Reuters EN–GR": ("reuters", "EN", "GR", 600),
    "Reuters FR–SP": ("reuters", "FR", "SP", 600),
    "mfeat fac–pix": ("mfeat", "fac216", "pix240", 1000),
}
PARTNERED: dict[str, Draw] = {
    **{
        f"{name}, {words}": partial(_partnered, data=data, first=a, second=b, n=n, share=share)
        for name, (data, a, b, n) in VIEWS.items()
        for words, share in (("all", 1.0), ("half", 0.5))
    },
    "made, 60 rows": partial(_made_partnered, n=60, k=6),
    "made, 150 rows": partial(_made_partnered, n=150, k=8),
    "made, 300 rows": partial(_made_partnered, n=300, k=8),
}
"""By name, two tables of which rows are the same objects."""
