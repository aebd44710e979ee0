"""What is printed of a result is short, however large the arrays in it are."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import isthmus
from isthmus import data, estimators, evidence, maps, retrieval, solvers, study
from isthmus.tasks.migration import evidence as thresholds

MOST = 300
LARGE = np.arange(900.0).reshape(30, 30)  # NumPy writes arrays up to a thousand entries in full
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    hidden = RNG.gamma(0.3, size=(150, 8))
    A, B = hidden @ RNG.normal(size=(8, 30)), hidden @ RNG.normal(size=(8, 25))
    y, marked = np.arange(150) % 3, np.where(np.arange(150) < 30, np.arange(150) % 3, -1)
    model = isthmus.MLHD(tol=1e-2).fit(A, y, B, marked)
    curved = isthmus.MLHD("rbf", "rbf", tol=1e-2).fit(A[:60], y[:60], B[:60], marked[:60])
    adapter = isthmus.migrate(A, B)
    return {
        "matching": isthmus.match(A, B),
        "alignment": (aligned := isthmus.align(A[:60], B[:60])),
        "coupling": aligned.coupling,
        "transferred": aligned.transfer_labels(y[:60]),
        "adapter": adapter,
        "recall": adapter.recall,
        "thresholds": adapter.thresholds,
        "map": adapter.old_from_new,
        "advice": adapter.advice,
        "result": model.result_,
        "point": model.result_.point,
        "problem": model.result_.problem,
        "space": model.common_space_,
        "references": model.references_,
        "curved space": curved.common_space_,
        "kernel space": curved.common_space_.source,
        "index": isthmus.Index(model).add(A, "source"),
        "matches": isthmus.Index(model).add(A, "source").search(B, 5),
        "pairs": isthmus.KnownPairs(np.repeat(np.arange(150)[:, None], 2, axis=1)),
        "domains": data.TwoDomains.of(A, y, B, marked),
        "split": data.Protocol().split(y, y, seed=0),
        "protocol": data.Protocol(),
        "verdict": isthmus.does_source_help(A[:60, :5], y[:60], B[:60, :5], marked[:60], n_splits=3),
        "rows": data.ArrayRows(A),
        "digits": data.load_digits(),
        "given": isthmus.MLHD().given_source(A, y),
    }


def test_results_are_short(results: dict[str, Any]) -> None:
    for name, value in results.items():
        assert len(repr(value)) <= MOST, name
        assert "array([" not in repr(value), name
        assert "\n" not in repr(value) or name == "digits", name


def test_a_matching_tells_what_it_is(results: dict[str, Any]) -> None:
    found = results["matching"]
    sentence = f"<Matching of 150 and 150 rows: {len(found.pairs)} pairs, ok={found.ok}>"
    assert repr(found) == sentence


def public_dataclasses() -> list[Any]:
    modules = isthmus, data, estimators, evidence, maps, retrieval, solvers, study, thresholds
    found = {value for module in modules for value in vars(module).values() if inspect.isclass(value)}
    found |= {getattr(isthmus, name) for name in isthmus.__all__ if inspect.isclass(getattr(isthmus, name))}
    # Systems are dataclasses by their parameters, and are printed by scikit-learn, which shows what was changed.
    values = (each for each in found if dataclasses.is_dataclass(each) and not issubclass(each, BaseEstimator))
    return sorted(values, key=lambda each: each.__name__)


def test_a_public_dataclass_prints_no_array() -> None:
    for cls in public_dataclasses():
        value = object.__new__(cls)
        arrays = [
            field.name
            for field in dataclasses.fields(cls)
            if "Array" in str(field.type) or "Matrix" in str(field.type) or field.type == "Any"
        ]
        for field in dataclasses.fields(cls):
            object.__setattr__(value, field.name, LARGE if field.name in arrays else 1)
        if arrays and "__str__" not in vars(cls):
            assert len(repr(value)) <= MOST, cls.__name__
