"""Saved, loaded in a fresh process, identical to the bit: every system, kernels, sparse rows and dense ones."""

import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

import isthmus
from conftest import each_system
from isthmus.exceptions import InputError, MissingDependencyError
from isthmus.io import model_file
from isthmus.io.model_file import load, load_parts, model_card, save
from isthmus.io.stored_values import TRUSTED, type_name
from isthmus.study.registry import systems

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

METHODS = ("transform", "predict", "predict_proba", "decision_function", "kneighbors")
ANSWERS = """
import sys, warnings
import numpy as np, isthmus
warnings.simplefilter("ignore")
for folder in sys.argv[1:]:
    rows = np.load(f"{folder}/rows.npz")
    model, answers = isthmus.load(f"{folder}/model"), {}
    for method in rows["methods"].tolist():
        found = getattr(model, method)(rows["X"])
        for k, part in enumerate(found if isinstance(found, tuple) else (found,)):
            answers[f"{method}{k}"] = part.astype(str) if part.dtype == object else part
    np.savez(f"{folder}/answers.npz", **answers)
"""


def rows(seed=0):
    """Two domains of three classes, with four and three columns, and unlabelled target rows."""
    rng = np.random.default_rng(seed)
    y = np.arange(36) % 3
    centres = rng.normal(size=(3, 4)) * 3
    A = centres[y] + rng.normal(size=(36, 4))
    B = np.tanh(centres[y] @ rng.normal(size=(4, 3))) + 0.2 * rng.normal(size=(36, 3))
    names = np.array(["a", "b", "c"])
    return A, names[y], B, np.where(np.arange(36) < 24, names[y], None)


def fitted(system, sparse=False, seed=0):
    A, ya, B, yb = rows(seed)
    model = clone(system.make() if hasattr(system, "make") else system)
    if model.equal_features:
        A = A[:, :3]
    if model.non_negative:
        A, B = np.abs(A), np.abs(B)
    if sparse:
        A, B = sp.csr_array(np.where(np.abs(A) > 1, A, 0)), sp.csr_array(np.where(np.abs(B) > 0.3, B, 0))
    if model.needs_pairs:
        return model.fit(A, ya, B, yb, pairs="rows"), B
    return model.fit(A, ya, B, yb), B


def answers(model, X):
    found = {}
    for method in METHODS:
        if hasattr(model, method):
            parts = getattr(model, method)(X)
            for k, part in enumerate(parts if isinstance(parts, tuple) else (parts,)):
                found[f"{method}{k}"] = part.astype(str) if part.dtype == object else part
    return found


@pytest.mark.slow
def test_every_system_in_a_fresh_process(tmp_path):
    known = {}
    for k, system in enumerate(systems()):
        if system.transductive and find_spec("ot") is None:
            continue  # POT is an extra
        model, X = fitted(system)
        folder = tmp_path / str(k)
        folder.mkdir()
        save(model, folder / "model")
        known[system.name] = folder, answers(model, X)
        np.savez(folder / "rows.npz", X=X, methods=[name for name in METHODS if hasattr(model, name)])
    folders = [str(folder) for folder, _ in known.values()]
    subprocess.run([sys.executable, "-c", ANSWERS, *folders], check=True)
    for name, (folder, expected) in known.items():
        with np.load(folder / "answers.npz") as found:
            assert {*found} == {*expected}, name
            for method, values in expected.items():
                assert found[method].dtype == values.dtype, (name, method)
                np.testing.assert_array_equal(found[method], values, err_msg=f"{name}, {method}")


def again(model, tmp_path, **options):
    save(model, tmp_path / "model", **options)
    return load(tmp_path / "model", **options)


def assert_same(model, X, tmp_path):
    read = again(model, tmp_path)
    for (name, a), b in zip(answers(model, X).items(), answers(read, X).values(), strict=True):
        assert a.dtype == b.dtype, name
        np.testing.assert_array_equal(a, b, err_msg=name)
    return read


@each_system(systems(control=False))
def test_sparse_rows(system, tmp_path):
    model, X = fitted(system, sparse=True)
    assert_same(model, X, tmp_path)


@pytest.mark.parametrize(
    ("of", "kernel"),
    [
        *((isthmus.MLHD, kernel) for kernel in ("laplacian", "polynomial", "cosine", isthmus.RBF(2.0))),
        (isthmus.ARC, "laplacian"),
        (isthmus.KCCA, isthmus.RBF(2.0)),
    ],
    ids=str,
)
def test_kernels(of, kernel, tmp_path):
    model, X = fitted(of(kernel, "linear"))
    assert_same(model, X, tmp_path)
    model, X = fitted(of("linear", kernel))
    assert assert_same(model, X, tmp_path).kernels_ == model.kernels_


def test_precomputed(tmp_path):
    A, ya, B, yb = rows()
    model = isthmus.MLHD("precomputed", "precomputed").fit(A @ A.T, ya, B @ B.T, yb)
    assert_same(model, B @ B.T, tmp_path)


@pytest.mark.parametrize(
    ("rule", "references"),
    [("nearest", "source"), ("means", "target"), ("linear", "both"), (LogisticRegression(), "both")],
    ids=str,
)
def test_rules(rule, references, tmp_path):
    model, X = fitted(isthmus.MLHD(rule=rule, references=references, n_neighbors=3))
    read = assert_same(model, X, tmp_path)
    np.testing.assert_array_equal(
        read.set_params(rule="means").predict(X), model.set_params(rule="means").predict(X)
    )  # can be changed after a load, as after a fit


def test_single_precision_and_search(tmp_path):
    A, _, B, _ = rows()
    model = isthmus.RidgeMap().fit(A.astype(np.float32), None, B.astype(np.float32), None, pairs="rows")
    read = again(model, tmp_path)
    for a, b in zip(model.search(B, A, 5), read.search(B, A, 5), strict=True):
        np.testing.assert_array_equal(a, b)
    assert read.transform(B.astype(np.float32)).dtype == np.float32


@pytest.mark.slow
def test_parameters_come_back(tmp_path):
    kernel = isthmus.RBF(1.5)
    model, _ = fitted(
        isthmus.MLHD(kernel, bounds=(0.5, 2.0), solver="bregman", tol=1e-2, progress=lambda point: None)
    )
    read = again(model, tmp_path)
    expected = {**model.get_params(deep=False), "progress": False}  # whom to tell is no part of a model
    assert read.get_params(deep=False) == expected
    assert read.bounds_ == (0.5, 2.0)
    assert read.n_iter_ == model.n_iter_


@pytest.mark.parametrize(
    "names", [np.array([3, 5, 9]), np.array([0.5, 1.5, 2.5]), np.array(["ä", "b\x00b", "cc"], dtype="<U7")], ids=str
)
def test_classes_of_any_type(names, tmp_path):
    A, ya, B, _ = rows()
    y = names[np.searchsorted(["a", "b", "c"], ya)]
    read = again(isthmus.MLHD().fit(A, y, B, y), tmp_path)
    assert read.classes_.dtype == np.unique(y).dtype
    np.testing.assert_array_equal(read.predict(A, "source"), y)


def test_texts_and_frames(tmp_path):
    A, ya, _, _ = rows()
    words = {"a": "red apple", "b": "green grass", "c": "blue sky"}
    texts = [f"{words[label]} {k % 5}" for k, label in enumerate(ya)]
    frame = pd.DataFrame(A, columns=["w", "x", "y", "z"])
    model = isthmus.CCA(source_transformer=StandardScaler(), target_transformer=make_pipeline(TfidfVectorizer()))
    model.fit(frame, ya, texts, ya)
    read = assert_same(model, texts, tmp_path)
    np.testing.assert_array_equal(read.transform(frame, "source"), model.transform(frame, "source"))
    with pytest.raises(InputError, match="columns"):
        read.transform(frame[["x", "w", "y", "z"]], "source")
    assert repr(read) == repr(model)
    assert read.fit(frame, ya, texts, ya).classes_.tolist() == ["a", "b", "c"]


@pytest.mark.slow
def test_small(tmp_path):
    """Maps only: more unlabelled rows make no larger file."""
    A, ya, B, yb = rows()
    save(isthmus.LabelTransfer().fit(A, ya, B, yb), tmp_path / "few")
    many = np.vstack([B, *(B + 0.01 * k for k in range(20))]), [*yb, *[None] * 720]
    save(isthmus.LabelTransfer().fit(A, ya, *many), tmp_path / "many")
    few, more = ((tmp_path / name).stat().st_size for name in ("few", "many"))
    assert more < few + 8192


def test_adapters_have_one_way_in(tmp_path):
    A, _, B, _ = rows()
    adapter = isthmus.migrate(A, B)
    np.testing.assert_array_equal(again(adapter, tmp_path).to_old(B), adapter.to_old(B))
    with pytest.raises(InputError, match="parts"):
        save(adapter, tmp_path / "model", parts={"source": {}})


def test_parts_ride_along(tmp_path):
    model, _ = fitted(isthmus.Procrustes())
    texts = tuple(f"text {k}" for k in range(20))
    plain = {"columns": ["a", "b"], "deep": [1, {"x": None}], "texts": texts, "list": [*texts], "empty": ((), [])}
    save(model, tmp_path / "model", parts={"source": plain, "target": {"mean": np.arange(3.0)}})
    found = load_parts(tmp_path / "model")
    assert found["source"] == plain
    np.testing.assert_array_equal(found["target"]["mean"], np.arange(3.0))
    assert isinstance(load(tmp_path / "model"), isthmus.Procrustes)
    assert model_card(tmp_path / "model")["parts"] == ["source", "target"]


@pytest.mark.parametrize(
    "parts",
    [
        [],
        {3: {}},
        {"a\n": {}},
        {"a": {"x": print}},
        {"a": object()},
        {"a": {"x": np.random.default_rng()}},
    ],
)
def test_parts_that_are_none(parts, tmp_path):
    model, _ = fitted(isthmus.Procrustes())
    with pytest.raises(InputError, match=r"(parts|model): expected"):
        save(model, tmp_path / "model", parts=parts)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", sorted(TRUSTED))
def test_types_of_files_exist(name):
    module, _, own = name.rpartition(".")
    assert type_name(getattr(import_module(module), own)) == name


def test_card(tmp_path):
    model, _ = fitted(isthmus.MLHD())
    save(model, tmp_path / "model")
    card = model_card(tmp_path / "model")
    assert (card["model"], card["features"], card["n_classes"]) == ("MLHD", {"source": 4, "target": 3}, 3)
    assert card["certificate"]["relative_gap"] == model.result_.relative_gap
    assert card["parameters"]["alignment"] == "penalty"


def test_what_can_not_be_saved(tmp_path):
    A, ya, B, yb = rows()
    path = tmp_path / "model"

    class Own(isthmus.Kernel):
        def gram(self, A, B):
            return A @ B.T

    cases = [
        (isthmus.MLHD(), "fitted MLHD"),
        (3, "got int"),
        (isthmus.MLHD().given_source(A, ya).fit(B, ya), "got GivenSource"),
        (isthmus.MLHD(Own(), Own()).fit(A, ya, B, yb), "source_kernel"),
        (isthmus.LabelTransfer(random_state=np.random.default_rng(0)).fit(A, ya, B, yb), "random_state"),
        (isthmus.MLHD(rule=SVC()).fit(A, ya, B, yb), "SVC"),
        (isthmus.CCA(target_transformer=FunctionTransformer(lambda X: X)).fit(A, ya, B, yb), "function"),
        (
            isthmus.CCA(target_transformer=TfidfVectorizer(token_pattern="(a+)+b")).fit(
                A, ya, [f"{'a' * (1 + 'abc'.index(name))}b" for name in ya], ya
            ),
            "token_pattern",
        ),
        (
            isthmus.MLHD(source_transformer=PolynomialFeatures()).fit(A, ya, B, yb),
            r"PolynomialFeatures in model\.source_transformer",
        ),
    ]
    for model, message in cases:
        with pytest.raises(InputError, match=message):
            save(model, path)
    with pytest.raises(InputError, match="trust: expected a list"):
        save(fitted(isthmus.CCA())[0], path, trust="sklearn")
    assert not [*tmp_path.iterdir()]


def test_trust(tmp_path):
    pytest.importorskip("skops")
    A, ya, B, yb = rows()
    model = isthmus.MLHD(source_transformer=PolynomialFeatures()).fit(A, ya, B, yb)
    trust = ["sklearn.preprocessing._polynomial.PolynomialFeatures"]
    read = again(model, tmp_path, trust=trust)
    np.testing.assert_array_equal(read.transform(A, "source"), model.transform(A, "source"))
    with pytest.raises(InputError, match=r"PolynomialFeatures.*name it in trust="):
        load(tmp_path / "model")


@pytest.mark.parametrize(("number", "remedy"), [(7, "pip install --upgrade isthmus"), (1, "save the model again")])
def test_other_formats_say_what_to_do(number, remedy, tmp_path, monkeypatch):
    model, _ = fitted(isthmus.Procrustes())
    monkeypatch.setattr(model_file, "FORMAT", number)
    save(model, tmp_path / "model")
    monkeypatch.undo()
    for read in (load, load_parts, model_card):
        with pytest.raises(InputError, match=rf"got format {number}, written by isthmus .*; {remedy}"):
            read(tmp_path / "model")


@pytest.mark.parametrize("of", [isthmus.MLHD, isthmus.Saenko, isthmus.ARC])
def test_the_result_of_the_solver_comes_back(of, tmp_path):
    model, _ = fitted(of())
    read = again(model, tmp_path)
    ours, theirs = model.result_, read.result_
    assert str(ours) == str(theirs)
    assert (ours.status, ours.trace, ours.primal, ours.dual) == (
        theirs.status,
        theirs.trace,
        theirs.primal,
        theirs.dual,
    )
    assert ours.duality_gap == theirs.duality_gap
    np.testing.assert_array_equal(ours.components(), theirs.components())
    assert str(again(read, tmp_path).result_) == str(ours)


def test_distances_of_a_stored_result_need_the_rows(tmp_path):
    with pytest.raises(InputError, match="rows of the fit"):
        again(fitted(isthmus.MLHD())[0], tmp_path).result_.distances  # noqa: B018


def test_saving_changes_nothing(tmp_path):
    """The model is as before, and the same model makes the same file."""
    model, X = fitted(isthmus.MLHD(rule="linear", progress=lambda point: None))
    before, expected = vars(model).copy(), answers(model, X)
    save(model, tmp_path / "one")
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    save(model, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    np.testing.assert_array_equal(answers(model, X)["transform0"], expected["transform0"])


def test_without_skops(tmp_path, monkeypatch):
    model, _ = fitted(isthmus.Procrustes())
    save(model, tmp_path / "model")
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for work in (lambda: save(model, tmp_path / "other"), lambda: load(tmp_path / "model")):
        with pytest.raises(MissingDependencyError, match=r'pip install "isthmus\[skops\]"'):
            work()
    assert model_card(tmp_path / "model")["model"] == "Procrustes"  # needs nothing
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
