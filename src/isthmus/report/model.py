"""The chapter of a model file: the common space, classes, neighbours, the certificate, the card."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._arrays import IntArray, Matrix
from isthmus.common_space import DISTANCE
from isthmus.controls import SelfTrainedLDA, TargetOnly
from isthmus.exceptions import InputError
from isthmus.files import load, load_parts, model_card
from isthmus.report.classes import classes_parts
from isthmus.report.cloud import DOMAINS, NO_CLASS, POINTS, Cloud, common_plane, own_plane
from isthmus.report.figures import convergence
from isthmus.report.html import Markup, element, facts, joined, table, thousands, words
from isthmus.report.learned import PART, Learned
from isthmus.report.parts import Chapter, Part, Section, section
from isthmus.report.request import Request
from isthmus.report.rows import Rows, named, sampled
from isthmus.retrieval import Index
from isthmus.storage.files import shown
from isthmus.tables import Features

TESTED = 20_000
"""Rows whose class is asked for at most."""
SEARCHED, QUERIES, NEIGHBOURS = 20_000, 60, 3
"""Source rows that are searched, target rows that are asked for, and how many neighbours each has."""


def model_chapter(path: Path, request: Request) -> Chapter:
    """From a file of ``isthmus fit``; the rows of both files are needed for more than its card and certificate."""
    card, parts = model_card(path), load_parts(path)
    learned = Learned.from_part(*parts[PART]) if PART in parts else None
    features = {name: Features.from_parts(*parts[name]) for name in DOMAINS if name in parts}
    if request.has_both(path):
        seen = _rows_sections(path, features, learned, request)
    else:
        seen = [section("Common space", [element("p", words(NO_ROWS), class_="note")])]
    return Chapter(
        "model",
        path.name,
        _sentence(card),
        (
            section("", [_mind(learned)]),
            *seen,
            section("Convergence and certificate", _certificate(card, learned)),
            section("Model card", [_card(card, features)]),
        ),
    ).without_empty()


def _rows_sections(
    path: Path, features: dict[str, Features], learned: Learned | None, request: Request
) -> list[Section]:
    if len(features) < 2:
        raise InputError(
            f"{shown(path)}: expected a model of `isthmus fit`, got one without the features of its files."
        )
    model = load(path)
    source, target = (request.rows(name, features[name].plan) for name in DOMAINS)
    some = [rows.some(sampled(rows, POINTS // 2)) for rows in (source, target)]
    X = [features[rows.domain].transform(rows.table) for rows in some]
    tested = section("Classes", _tested(model, features["target"], target, learned))
    if not _has_space(model):
        return [section("Common space", [element("p", NO_SPACE)]), tested]
    after = common_plane(model.transform, X[0], X[1])
    groups = [group or NO_CLASS for group in _classes(model, some, X[1])]
    alike = set(groups) == {NO_CLASS}
    known = [alike or label is not None for rows in some for label in rows.labels]
    planes, totals = (own_plane(X[0]), own_plane(X[1])), (len(source), len(target))
    cloud = Cloud((some[0], some[1]), groups, known, planes, after, totals, by_domain=alike)
    near = section("Neighbours", _neighbours(model, features, source, some[1], X[1]))
    return [section("Common space", [cloud]), tested, near]


NO_ROWS = "With `--source FILE --target FILE` there are pictures, classes and neighbours of the rows of these files."
NO_SPACE = "This system has no common space, so there is no picture of one."


def _has_space(model: Any) -> bool:
    """Whether rows of both domains have points: not in controls that never see the source."""
    inner = getattr(model, "estimator_", model)
    return hasattr(inner, "transform") and not isinstance(inner, TargetOnly | SelfTrainedLDA)


def _classes(model: Any, some: Sequence[Rows], X_target: Matrix) -> list[str | None]:
    """The labels, and for target rows without one what the model says, if it can."""
    source, target = (list(rows.labels) for rows in some)
    hidden = np.array([i for i, label in enumerate(target) if label is None], dtype=np.intp)
    if len(hidden) and len(getattr(model, "classes_", ())):
        for i, label in zip(hidden, model.predict(X_target[hidden]), strict=True):
            target[i] = None if label is None else str(label)
    return [*source, *target]


def _tested(model: Any, features: Features, target: Rows, learned: Learned | None) -> list[Part]:
    """The confusion matrix of labelled target rows that were not learned from."""
    labelled = np.array([i for i, label in enumerate(target.labels) if label is not None], dtype=np.intp)
    if not len(labelled) or not len(getattr(model, "classes_", ())):
        return []
    rows = target.some(labelled[_first(len(labelled))])
    old = None if learned is None else learned.is_learned(rows.table, features.plan)
    new = np.arange(len(rows)) if old is None else np.flatnonzero(~old)
    if not len(new):
        said = (
            f"All {len(rows):,} labelled rows of {target.file} were learned from: they say nothing of how often "
            "the model is right. A target file with further labels would, and so does `isthmus evaluate`."
        )
        return [element("p", words(said))]
    rows = rows.some(new)
    given = [None if c is None else str(c) for c in model.predict(features.transform(rows.table))]
    about = "labelled target rows that were not learned from." if old is not None else (
        "labelled target rows; rows that were learned from may be among them, and then this is no test."
    )  # fmt: skip
    return classes_parts([str(label) for label in rows.labels], given, about)


def _first(n: int) -> IntArray:
    return np.arange(n) if n <= TESTED else np.sort(np.random.default_rng(0).permutation(n)[:TESTED])


def _neighbours(
    model: Any, features: dict[str, Features], source: Rows, target: Rows, X_target: Matrix
) -> list[Part]:
    """Target rows and the source rows that are nearest to them."""
    there = source.some(sampled(source, SEARCHED))
    index = Index(model).add(features["source"].transform(there.table), "source")
    queries = np.sort(np.random.default_rng(0).permutation(len(target))[:QUERIES])
    found = index.search(X_target[queries], NEIGHBOURS, "target", among="source")
    asked, unit = target.some(queries), "distance" if index.measure.kind == DISTANCE else "minus similarity"
    cells = named(there.ids, there.excerpts())
    rows = [
        [one, *(joined([cells[int(i)], " ", element("span", f"{unit} {d:.3f}", class_="score")]) if i >= 0 else ""
                for i, d in zip(ids, distances, strict=True))]
        for one, ids, distances in zip(named(asked.ids, asked.excerpts()), found.ids, found.distances, strict=True)
    ]  # fmt: skip
    kept = f" of {len(source):,}, a sample" if len(there) < len(source) else ""
    note = f"{len(rows):,} target rows, and the nearest of {len(there):,} source rows{kept}; the smaller the number, "
    note += "the nearer."
    head = ("target row", *("nearest", "second", "third")[:NEIGHBOURS])
    return [element("p", note, class_="note"), table(head, rows, kind="cards")]


def _sentence(card: dict[str, Any]) -> str:
    known, proof, verdict = card.get("features"), card.get("certificate"), card.get("verdict")
    said = str(card.get("model"))
    if isinstance(known, dict):
        said += f" over {known.get('source')} and {known.get('target')} features"
    if card.get("n_classes"):
        said += f", {card.get('n_classes')} classes"
    if isinstance(proof, dict):
        said += f"; the solver's result is {proof.get('status')}"
    return f"{said}." + (f" {verdict}" if isinstance(verdict, str) else "")


def _mind(learned: Learned | None) -> Markup | None:
    if learned is None or not learned.warnings:
        return None
    return joined(element("p", f"Mind: {said}", class_="mind") for said in learned.warnings)


def _certificate(card: dict[str, Any], learned: Learned | None) -> list[Part]:
    proof = card.get("certificate")
    said: list[Part] = []
    if learned is not None and learned.certificate is not None:
        said.append(element("p", learned.certificate))
    elif isinstance(proof, dict):
        said.append(facts([(str(name).replace("_", " "), _words(value)) for name, value in proof.items()]))
    if learned is not None and len(learned.trace) > 1 and (learned.trace[:, 2] > 0).any():
        said.append(element("p", "The objective is proved to be at most this far, relatively, above its minimum.",
                            class_="note"))  # fmt: skip
        said.append(convergence(learned.trace[:, 2], learned.trace[:, 3]))
    return said or [element("p", "This system is not learned by iterations, so there is nothing to certify.")]


def _card(card: dict[str, Any], features: dict[str, Features]) -> Markup:
    rows = [(name.replace("_", " "), _words(value)) for name, value in card.items() if value not in (None, [], {})]
    columns = [
        element("details", element("summary", f"Columns of the {domain}"),
                element("ul", *(element("li", line) for line in (*known.plan_lines(), *known.lines()))))
        for domain, known in features.items()
    ]  # fmt: skip
    return joined([facts(rows), *columns])


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} = {_words(one)}" for name, one in value.items())
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, list) and value and all(type(one) is int for one in value):
        return ", ".join(map(thousands, value))
    if type(value) is int:
        return thousands(value)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
