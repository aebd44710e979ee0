"""Bad input is refused in one sentence: whole numbers without end, strings for numbers, rows of the wrong kind."""

from __future__ import annotations

import inspect
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

import isthmus
from isthmus import InputError, data, estimators, evidence, retrieval, solvers
from isthmus._core.validation import check_number, show_value
from isthmus.estimators import controls

HUGE = 2**70
RNG = np.random.default_rng(0)
X_S, Y_S = RNG.normal(size=(40, 5)), np.arange(40) % 2
X_T, Y_T = RNG.normal(size=(30, 4)), np.where(np.arange(30) < 10, np.arange(30) % 2, -1)
LABELS = [0, 1] * 20


def whole_parameters(made: Any) -> list[str]:
    found = inspect.signature(made).parameters.values()
    return [p.name for p in found if str(p.annotation).split(" | ")[0] == "int" and p.name != "random_state"]


def constructors() -> list[Any]:
    modules = estimators, solvers, data, evidence, retrieval
    found = {getattr(module, name) for module in modules for name in module.__all__}
    found |= {isthmus.Landmarks, isthmus.Polynomial, isthmus.LabelTransfer, isthmus.SemanticMatching}
    return sorted((each for each in found if inspect.isclass(each)), key=lambda each: each.__name__)


CASES = [
    pytest.param(each, name, id=f"{each.__name__}-{name}")
    for each in constructors()
    for name in whole_parameters(each)
    if all(p.default is not p.empty for p in inspect.signature(each).parameters.values())
]


def test_the_sweep_finds_the_parameters() -> None:
    assert len(CASES) > 40


@pytest.mark.parametrize(("made", "name"), CASES)
def test_a_whole_number_without_end_is_one_sentence(made: Any, name: str) -> None:
    for value in (HUGE, 10**400, 10**5000):
        with pytest.raises(InputError, match=f"^{name}: expected a whole number .* and at most .*, got .*[.]$"):
            made(**{name: value}).fit(*((X_S, Y_S) if made is isthmus.ITML else (X_S, Y_S, X_T, Y_T)))


FUNCTIONS = {
    "match n_restarts": lambda n: isthmus.match(X_S, X_S, n_restarts=n),
    "match n_jobs": lambda n: isthmus.match(X_S, X_S, n_jobs=n),
    "migrate max_pairs": lambda n: isthmus.migrate(X_S, X_S, max_pairs=n),
    "does_source_help n_splits": lambda n: isthmus.does_source_help(X_S, Y_S, X_T, Y_T, n_splits=n),
    "precision_at_k k": lambda n: evidence.precision_at_k(X_S, LABELS, [0] * 5, n),
    "split cv": lambda n: list(data.SemiSupervisedSplit(n).split(None, LABELS)),
    "load_digits n_source": lambda n: data.load_digits(n_source=n),
    "split seed": lambda n: data.Protocol().split(LABELS, LABELS, seed=-n),
    "random_state": lambda n: isthmus.match(X_S, X_S, random_state=-n),
    "align random_state": lambda n: isthmus.align(X_S, X_T, random_state=-n),
    "index search": lambda n: retrieval.Index().add(X_S, "source").search(X_S, n),
}


@pytest.mark.parametrize("value", [HUGE, 10**400], ids=["2**70", "10**400"])
@pytest.mark.parametrize("call", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_function_refuses_a_whole_number_without_end(call: Any, value: int) -> None:
    with pytest.raises(InputError, match=r"^\w+: expected [^\n]*a whole number [^\n]*, got [^\n]*[.]$"):
        call(value)


@pytest.mark.parametrize("method", ["search", "kneighbors", "rank"])
def test_a_fitted_system_refuses_more_neighbours_than_there_are(fitted: Any, method: str) -> None:
    calls = {
        "search": lambda: fitted.search(X_T, X_S, HUGE),
        "kneighbors": lambda: fitted.kneighbors(X_T, HUGE),
        "rank": lambda: fitted.common_space_.rank(X_S, X_S, HUGE),
    }
    with pytest.raises(InputError, match=r"expected a whole number of at least 1 and at most 40, got 118059"):
        calls[method]()


WORDS = {
    "accuracy": lambda x: evidence.accuracy(x, x),
    "precision_at_k": lambda x: evidence.precision_at_k(x, x, x, x),
    "precision_at_k k": lambda x: evidence.precision_at_k(X_S, LABELS, [0] * 5, x),
    "mean_average_precision": lambda x: evidence.mean_average_precision(x, x, x),
    "mean_average_precision y": lambda x: evidence.mean_average_precision(X_S, x, x),
    "foscttm": lambda x: evidence.foscttm(x, x),
    "foscttm Y": lambda x: evidence.foscttm(X_S, x),
    "holm": lambda x: evidence.holm(x),
    "paired_difference": lambda x: evidence.paired_difference(x, x),
    "paired_difference b": lambda x: evidence.paired_difference([1.0, 2.0], x),
    "paired_difference clusters": lambda x: evidence.paired_difference([1.0, 2.0], [1.0, 1.0], x),
    "paired_difference confidence": lambda x: evidence.paired_difference([1.0, 2.0], [1.0, 1.0], confidence=x),
    "paired_difference random_state": lambda x: evidence.paired_difference([1, 2], [1, 1], random_state=x),
    "Protocol": lambda x: data.Protocol(x),
    "Protocol test": lambda x: data.Protocol(test=x),
    "split": lambda x: data.Protocol().split(x, x, seed=0),
    "split seed": lambda x: data.Protocol().split(LABELS, LABELS, seed=x),
    "split objects": lambda x: data.Protocol().split(LABELS, LABELS, objects_source=x, objects_target=x, seed=0),
    "semi cv": lambda x: list(data.SemiSupervisedSplit(x).split(None, LABELS)),
    "semi y": lambda x: list(data.SemiSupervisedSplit(2).split(None, x)),
    "semi groups": lambda x: list(data.SemiSupervisedSplit(2).split(None, LABELS, x)),
}


@pytest.mark.parametrize(
    "value", ["x", b"x", -3.5, object(), [[1, 2], [3]], {"a": 1}], ids=lambda v: type(v).__name__
)
@pytest.mark.parametrize("call", WORDS.values(), ids=WORDS)
def test_evaluation_refuses_what_it_can_not_take(call: Any, value: Any) -> None:
    with pytest.raises(InputError, match=r"^[\w, ]+: expected [^\n]*, got [^\n]*[.]$"):
        call(value)


@pytest.fixture(scope="module")
def fitted() -> Any:
    return isthmus.MLHD().fit(X_S, Y_S, X_T, Y_T)


@pytest.fixture(scope="module")
def curved() -> Any:
    return isthmus.MLHD("rbf", "rbf").fit(X_S, Y_S, X_T, Y_T)


@pytest.mark.parametrize("name", ["fitted", "curved"])
def test_a_common_space_checks_its_rows(name: str, request: Any) -> None:
    space, broken = request.getfixturevalue(name).common_space_, X_T.copy()
    broken[0, 0] = np.nan
    for rows, problem in (
        (broken, "expected finite numbers without NaN or inf, got NaN"),
        (sp.csr_array(broken), "expected finite numbers without NaN or inf, got NaN"),
        (X_S, "expected 4 columns, as in fit, got 5"),
        (X_T[0], "expected a two-dimensional array, got 1 dimension"),
        ("x", "expected a two-dimensional array"),
    ):
        with pytest.raises(InputError, match=f"^X: {problem}"):
            space.embed(rows, "target")
        for domains in (("source", "target"), ("target", "target")):
            with pytest.raises(InputError, match=f"^B: {problem}"):
                space.squared_distances(X_S if domains[0] == "source" else X_T, rows, domains)
        with pytest.raises(InputError, match=f"^B: {problem}"):
            space.similarities(X_S, rows, ("source", "target"))
    with pytest.raises(InputError, match=r"^domains: expected two names"):
        space.squared_distances(X_S, X_T, ("source",))
    with pytest.raises(InputError, match=r"^domain: expected one of"):
        space.map("sauce")
    assert np.array_equal(space.embed(X_T.tolist(), "target"), space.embed(X_T, "target"))
    assert space.embed(X_T[:0], "target").shape == (0, space.dimension)


def test_one_class_is_too_few_for_some_classifiers() -> None:
    with pytest.raises(InputError, match=r"^classifier: expected one .* got LinearSVC: .* at least 2 classes .* one"):
        controls.TargetOnly(LinearSVC()).fit(X_S, Y_S, X_T, np.where(Y_T == 1, -1, Y_T))
    with pytest.raises(InputError, match=r"^classifier: expected one .* got LinearSVC: .*C"):
        controls.TargetOnly(LinearSVC(C=-1.0)).fit(X_S, Y_S, X_T, Y_T)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_partitions_are_of_one_kind(order: tuple[int, int]) -> None:
    kinds = [lambda: X_S[:20], lambda: sp.csr_array(X_S[20:])]
    parts = [da.from_delayed(dask.delayed(kinds[k])(), (20, 5), float) for k in order]
    with pytest.raises(InputError, match=r"^X: expected partitions that are all dense or all CSR, got both; use"):
        isthmus.MLHD().fit(da.concatenate(parts), Y_S, X_T, Y_T)


@pytest.mark.parametrize("fit_first", [False, True])
def test_given_source_checks_target_rows(fit_first: bool) -> None:
    system = isthmus.MLHD().given_source(X_S, Y_S)
    if fit_first:
        system.fit(X_T, Y_T)
    call = system.predict if fit_first else lambda rows: system.fit(rows, Y_T)
    with pytest.raises(InputError, match=r"^X: expected different column names, got 'a' twice; rename"):
        call(pd.DataFrame(X_T, columns=list("aabc")))
    for bad, word in ((np.nan, "NaN"), (np.inf, "inf")):
        rows = X_T.copy()
        rows[3, 1] = bad
        with pytest.raises(InputError, match=rf"^X: expected finite numbers without NaN or inf, got {word}[.]$"):
            call(rows)


def test_messages_are_short_whatever_they_show() -> None:
    for value in (np.zeros(999), pd.DataFrame(X_S), list(range(10_000)), "x" * 10_000, 10**5000, "a\nb"):
        assert len(show_value(value)) <= 60
        assert "\n" not in show_value(value)
        with pytest.raises(InputError) as caught:
            data.Protocol(value)
        assert len(str(caught.value)) < 200


def test_the_largest_whole_number_passes() -> None:
    assert check_number(2**63 - 1, "k", whole=True) == 2.0**63
    with pytest.raises(InputError):
        check_number(2**63, "k", whole=True)
    assert len(data.Protocol().split(LABELS, LABELS, seed=2**100).source)
