"""The wheel with its core dependencies and nothing else: it works, and each extra that is missing is named."""

import json
import os
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from conftest import LIMIT

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FOR_DEVELOPERS = {"test", "bench", "docs", "dev"}

pytestmark = pytest.mark.slow


def run(*words, **options):
    """A process that knows nothing of this one's packages."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    ready = {"text": True, "capture_output": True, "env": kept | {"OPENBLAS_NUM_THREADS": "1"}, "timeout": LIMIT}
    return subprocess.run([str(word) for word in words], check=False, **ready | options)


def core_packages():
    """What the core dependencies bring, by name: they and all that they need themselves."""
    left, found = [Requirement(each).name for each in PROJECT["dependencies"]], {}
    while left:
        package = distribution(left.pop())
        found[package.metadata["Name"]] = package
        needs = [Requirement(each) for each in package.requires or ()]
        left += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
        left = [name for name in left if distribution(name).metadata["Name"] not in found]
    return found.values()


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A new environment: core packages as links to those that are tested with, and the wheel, installed by pip."""
    where = tmp_path_factory.mktemp("bare")
    isolation = ["--no-build-isolation"] if find_spec("hatchling") else []
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    built = run(*pip, "wheel", "--quiet", "--no-deps", *isolation, ROOT, "-w", where / "wheels")
    assert built.returncode == 0, built.stderr
    assert run(sys.executable, "-m", "venv", "--without-pip", where / "venv").returncode == 0
    python = where / "venv" / "bin" / "python"
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip())
    for package in core_packages():
        for name in {file.parts[0] for file in package.files} - {"..", "__pycache__"}:
            (packages / name).symlink_to(Path(package.locate_file(name)))
    (wheel,) = (where / "wheels").glob("*.whl")
    done = run(*pip, "--python", python, "install", "--quiet", "--no-index", wheel)  # fails where a need is not met
    assert done.returncode == 0, done.stderr
    return python


def test_the_two_ways_to_start_it(bare, tmp_path):
    script = bare.with_name("isthmus")
    for program in ([script], [bare, "-m", "isthmus"]):
        done = run(*program, "--version", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("isthmus ")


WORK = """
import importlib.util, json, sys
import numpy as np
import isthmus
from isthmus.cli.main import main

assert isthmus.__file__.startswith(sys.prefix), isthmus.__file__
for name in isthmus.__all__:
    getattr(isthmus, name)
for name in sys.argv[1:]:
    assert importlib.util.find_spec(name) is None, name
d = isthmus.data.datasets.load_digits(3, random_state=100)
score = isthmus.MLHD().fit(d.X_source, d.y_source, d.X_target, d.y_target).score(d.X_test, d.y_test)
H = np.random.default_rng(100).normal(size=(60, 5))
adapter = isthmus.migrate(H, H @ np.diag(np.arange(1.0, 6.0)), "rows", kind="ridge")
adapter.save("adapter.npz")
found = isthmus.Adapter.load("adapter.npz").to_old(H @ np.diag(np.arange(1.0, 6.0)))
print(json.dumps({"score": score, "error": float(abs(found - H).max()), "systems": main(["systems", "--quiet"])}))
"""


def test_it_imports_everything_fits_and_keeps_an_adapter(bare, tmp_path):
    optional = {Requirement(each).name for many in PROJECT["optional-dependencies"].values() for each in many}
    absent = optional - {package.metadata["Name"] for package in core_packages()} - {"isthmus"}
    names = ("faiss" if name == "faiss-cpu" else name.replace("-", "_") for name in absent)
    done = run(bare, "-c", WORK, *names, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["score"] > 0.5
    assert told["error"] < 0.1
    assert told["systems"] == 0


MISSING = {
    "tables": ("isthmus.io.tables.read.read_table('a.csv')", ["match", "a.npy", "b.npy", "-o", "m.csv"]),
    "anndata": ("isthmus.io.anndata.transfer_labels(None, None, 'kind')", ["match", "a.h5ad", "a.h5ad"]),
    "skops": (
        "isthmus.save(isthmus.RidgeMap().fit(E, None, E, None, pairs='rows'), 'm.isthmus')",
        ["fit", "a.csv", "a.csv", "-o", "m.isthmus"],
    ),
    "faiss": ("isthmus.Index(isthmus.RidgeMap().fit(E, None, E, None, pairs='rows'), 'HNSW32')", None),
    "plot": ("isthmus.view.canvas.new_figure(1, 1)", None),
    "onnx": ("isthmus.to_onnx(isthmus.migrate(H, H, 'rows', kind='ridge'))", None),
    "fast": ("isthmus.MLHD(solver=isthmus.solvers.bregman.BregmanProjections(compiled=True)).fit(*small)", None),
    "review": ("isthmus.cli.review.run(None, None)", ["review", "a.csv", "a.csv"]),
    "report": ("isthmus.view.report.page.load_libraries()", None),
    "transport": ("isthmus.GW().fit(*small)", None),
    "dask": ("isthmus.data.blocks.import_dask()", None),
    "parquet": ("isthmus.stores.store.open_store('v.parquet')", None),
    "lancedb": ("isthmus.stores.store.open_store('lancedb://a/b')", ["migrate", "lancedb://a/b", "--embed", "c"]),
    "chroma": ("isthmus.stores.store.open_store('chroma://a/b')", None),
    "qdrant": ("isthmus.stores.store.open_store('qdrant://a/b')", None),
    "pgvector": ("isthmus.stores.store.open_store('postgresql://a#b')", None),
    "langchain": ("isthmus.io.applications.as_langchain(None, None)", None),
    "llamaindex": ("isthmus.io.applications.as_llama_index(None, None)", None),
    "progress": ("raised(lambda: isthmus.migrate(H, H, 'rows', kind='ridge', progress=True))", None),
}
"""For each extra: what needs it in Python, and a command that does, where there is one."""
ASKED = """
import contextlib, importlib, io, json, sys, warnings
import numpy as np
import isthmus
from isthmus.cli.main import main

for name in ("io.anndata", "io.applications", "stores.store", "cli.review", "view.canvas", "data.blocks", "solvers", "io.tables"):
    importlib.import_module(f"isthmus.{name}")
if "report" in sys.argv[2]:
    import isthmus.view.report.page

def raised(work):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    raise isthmus.MissingDependencyError(*(str(each.message) for each in caught))

E, H = np.eye(4), np.random.default_rng(100).normal(size=(60, 5))
small = (np.arange(12.0).reshape(6, 2), [0, 1] * 3, np.arange(12.0).reshape(6, 2) ** 2, [0, 1, 0, 1, -1, -1])
open("a.csv", "w").write("a,b\\n1,x\\n2,y\\n")
open("a.h5ad", "w").write("nothing")
told = {}
for extra, (code, words) in json.loads(sys.argv[1]).items():
    try:
        eval(code)
        told[extra] = ["nothing was missing"]
    except isthmus.MissingDependencyError as error:
        told[extra] = [str(error)]
    if words is not None:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(words)
        told[extra].append([status, out.getvalue(), err.getvalue()])
print(json.dumps(told))
"""


def test_each_missing_extra_is_named_with_the_line_that_installs_it(bare, tmp_path):
    extras = set(PROJECT["optional-dependencies"]) - FOR_DEVELOPERS
    assert extras <= set(MISSING)
    asked = {extra: MISSING[extra] for extra in sorted(extras)}
    done = run(bare, "-c", ASKED, json.dumps(asked), " ".join(extras), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    before = {"a.csv", "a.h5ad"}
    assert {path.name for path in tmp_path.iterdir()} == before
    for extra, (sentence, *command) in json.loads(done.stdout).items():
        line = f'pip install "isthmus[{extra}]"'
        assert sentence.endswith(f"{line}."), (extra, sentence)
        assert "\n" not in sentence
        for status, out, err in command:
            assert (status, out) == (2, ""), (extra, err)
            assert err.startswith("isthmus: ")
            assert err.endswith(f"{line}.\n"), (extra, err)
            assert err.count("\n") == 1


def test_the_wheel_contains_the_templates_of_reports(bare):
    for page in ("report", "review"):
        code = f"from importlib.resources import files; print(*(p.name for p in files('isthmus.view.{page}').joinpath('templates').iterdir()))"
        found = set(run(bare, "-c", code).stdout.split()) - {"__pycache__"}
        assert found == {path.name for path in (ROOT / f"src/isthmus/view/{page}/templates").iterdir()}
        assert any(name.endswith(".html.j2") for name in found)
