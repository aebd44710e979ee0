"""Texts of two indexes with real queries whose answers are known, embedded by every model once."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from isthmus._core.validation import FloatArray, IntArray
from studies.datasets import read_debian_texts
from studies.datasets.folder import data_folder
from studies.migration.models import Embed, axes_of_words, minilm, wordllama

TITLES, DESCRIPTIONS = "product titles", "package descriptions"
AXES, LLAMA, MINILM = "axes of words", "wordllama", "MiniLM"
PACKAGES, CHARACTERS = 3000, 250
"""Packages of the index, and characters of each description."""


@dataclass(frozen=True, eq=False)
class Collection:
    """Texts, queries, the row that answers each query, and both embedded by each model."""

    texts: tuple[str, ...]
    queries: tuple[str, ...]
    answers: IntArray
    rows: dict[str, FloatArray]
    asked: dict[str, FloatArray]


def read_collection(name: str, folder: Path | None, cache: Path) -> Collection:
    """Read the texts of a data folder and embed them; embeddings are kept in another folder."""
    texts, queries, answers = _read_titles(folder) if name == TITLES else _read_descriptions(folder)
    models: dict[str, Embed] = {AXES: axes_of_words(texts), LLAMA: wordllama(), MINILM: minilm()}
    rows, asked = ({m: _embed(embed, m, t, cache) for m, embed in models.items()} for t in (texts, queries))
    return Collection(tuple(texts), tuple(queries), answers, rows, asked)


def _embed(embed: Embed, name: str, texts: Sequence[str], cache: Path) -> FloatArray:
    key = hashlib.sha256("\n".join([name, *texts]).encode()).hexdigest()[:16]
    path = cache / f"{key}.npy"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        np.save(path, embed(texts))
    return np.asarray(np.load(path))


def _read_titles(folder: Path | None) -> tuple[list[str], list[str], IntArray]:
    """The titles of one shop and of one bibliography, searched by those of another shop and another bibliography."""
    texts: list[str] = []
    queries: list[str] = []
    answers: list[int] = []
    for part, column in (("abtbuy", "name"), ("dblpacm", "title")):
        at = data_folder(folder) / "record_linkage" / part
        left, right, truth = (
            list(csv.DictReader((at / f).open(encoding="utf-8"))) for f in ("a.csv", "b.csv", "truth.csv")
        )
        place = {row["id"]: len(texts) + i for i, row in enumerate(right)}
        asked = {row["id"]: row[column] for row in left}
        texts += [row[column] for row in right]
        # Pairs of the same title would be found by any model.
        known = [(asked[t["source"]], place[t["target"]]) for t in truth]
        different = [(q, row) for q, row in known if q.strip().lower() != texts[row].strip().lower()]
        queries += [q for q, _ in different]
        answers += [row for _, row in different]
    return texts, queries, np.array(answers)


def _read_descriptions(folder: Path | None) -> tuple[list[str], list[str], IntArray]:
    """The long descriptions of packages, searched by their short ones."""
    whole, short = (read_debian_texts(folder, short=s).texts for s in (False, True))
    chosen = np.random.default_rng(0).permutation(len(whole))[:PACKAGES]
    texts = [whole[i][len(short[i]) :].strip()[:CHARACTERS] for i in chosen]
    return texts, [short[i] for i in chosen], np.arange(len(chosen))
