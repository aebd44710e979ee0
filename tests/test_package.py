"""The package as a whole: public names, optional parts, what an import costs."""

import importlib
import inspect
import pickle
import subprocess
import sys

import pytest

import isthmus

MODULES = ["isthmus", "isthmus.solvers", "isthmus.estimators", "isthmus.geometry.kernels", "isthmus.exceptions", "isthmus.data",
           "isthmus.evidence", "isthmus.io.tables", "isthmus.io.anndata", "isthmus.maps",
           "isthmus.retrieval", "isthmus.study", "isthmus.view"]  # fmt: skip


def public_things():
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        assert module.__doc__
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                yield f"{module_name}.{name}", thing


def test_every_public_name_and_method_is_documented():
    for name, thing in public_things():
        assert (thing.__doc__ or "").strip(), name
        if inspect.isclass(thing):
            for method, function in vars(thing).items():
                if not method.startswith("_") and (inspect.isfunction(function) or isinstance(function, property)):
                    assert inspect.getdoc(getattr(thing, method)), f"{name}.{method}"


def loaded_after(*statements):
    """The modules that are there after each of some statements, which one new process executes in turn."""
    code = "; ".join(["import sys", *(f"{statement}; print(*sys.modules)" for statement in statements)])
    return [
        set(line.split()) for line in subprocess.check_output([sys.executable, "-c", code], text=True).splitlines()
    ]


@pytest.mark.slow
def test_optional_packages_are_not_imported_until_they_are_needed():
    # scikit-learn itself may import pandas where it is installed.
    before, after = loaded_after("import sklearn.neighbors, sklearn.model_selection", "from isthmus import *")
    used = after - before
    assert not used & {"numba", "matplotlib", "pandas", "polars", "cvxpy", "tqdm", "faiss", "anndata", "ot"}


def test_an_import_loads_nothing_until_a_name_is_used():
    imported, used = loaded_after("import isthmus", "isthmus.MLHD")
    assert not imported & {"numpy", "scipy", "sklearn", "joblib"}
    assert "sklearn" in used


def test_every_public_name_is_there_listed_and_the_one_of_its_module():
    scope: dict[str, object] = {}
    exec("from isthmus import *", scope)
    assert set(isthmus.__all__) <= set(scope)
    assert set(isthmus.__all__) == set(dir(isthmus))
    assert {*isthmus._HOMES, "__version__"} <= set(isthmus.__all__)
    for name, home in isthmus._HOMES.items():
        assert getattr(isthmus, name) is getattr(importlib.import_module(home), name)
        assert pickle.loads(pickle.dumps(getattr(isthmus, name))) is getattr(isthmus, name)
    with pytest.raises(AttributeError, match="module 'isthmus' has no attribute 'MLDH'"):
        isthmus.MLDH  # noqa: B018


def test_the_version_is_in_one_place():
    from importlib.metadata import version

    assert isthmus.__version__ == version("isthmus")


@pytest.mark.slow
def test_modules_are_loaded_on_first_use_too():
    found = subprocess.check_output(
        [sys.executable, "-c", "import isthmus; print(isthmus.data.datasets.load_digits.__module__)"], text=True
    )
    assert found.startswith("isthmus.data.datasets")
    assert all(inspect.ismodule(getattr(isthmus, name)) for name in isthmus._PACKAGES)


def test_a_system_loads_what_it_needs_of_scikit_learn_and_no_other_system():
    needed, used = loaded_after("import sklearn.neighbors, sklearn.metrics", "from isthmus import MLHD")
    more = {name for name in used - needed if name.startswith(("sklearn", "scipy"))}
    assert len(more) <= 0.02 * len(needed), sorted(more)
    systems = {name.rpartition(".")[2] for name in used if name.startswith("isthmus.estimators.")}
    assert not systems & {
        "arc",
        "cca",
        "cdls",
        "correspondences",
        "eigenmaps",
        "hcdrank",
        "hfa",
        "kpg",
        "tlrisk",
        "transport",
    }
