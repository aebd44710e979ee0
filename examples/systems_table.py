"""Every system and every control of ``isthmus.systems()`` on real pairs of domains: one table, and what it says.

    python examples/systems_table.py --data FOLDER --splits 10 --jobs 2

The data folder (or the environment variable ISTHMUS_DATA) holds ``mfeat/mfeat.npz``, ``single_cell/snareseq.npz``,
``debian_descriptions/debian8_{en,fr}.npz`` and ``reuters_multilingual/reuters600_5lang.npz``. Results are JSON lines
beside the table, added a split at a time; a second run goes on where the first one stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import joblib
import numpy as np
import scipy
import scipy.sparse as sp
import sklearn
from numpy.typing import NDArray
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from systems_summary import Record, page
from threadpoolctl import threadpool_limits

import isthmus
from isthmus import MLHD
from isthmus.controls import Corrupted
from isthmus.exceptions import ConvergenceWarning, InputError
from isthmus.registry import System

Labels: TypeAlias = NDArray[np.int64]
SOURCE, LABELLED, UNLABELLED, MOST_TESTED = 20, 1, 20, 300
SVD_SIZE, COMPONENTS_A_CLASS = 100, 3
VERSIONS = ", ".join(f"{m.__name__} {m.__version__}" for m in (isthmus, np, scipy, sklearn))
LDA = "target self-trained LDA"
WIDE = replace(isthmus.systems()[LDA], name=f"{LDA}, all features")
BY_TARGET = replace(isthmus.systems()["mlhd"], name="mlhd by target rows", make=partial(MLHD, references="target"))
SPOILT = tuple(
    replace(BY_TARGET, name=f"{BY_TARGET.name}, {kind}", make=partial(Corrupted, BY_TARGET.make(), kind))
    for kind in ("noise", "permuted", "renamed")
)
SYSTEMS: tuple[System, ...] = (*isthmus.systems(), WIDE, BY_TARGET, *SPOILT)

PROTOCOL = f"""\
Fixed before any test label was seen: {SOURCE} labelled source rows a class; {LABELLED} labelled and {UNLABELLED} \
unlabelled target rows a class; at most {MOST_TESTED} test rows of the target domain. No object (image, package, \
cell, document) is in two of source, target and test. Every system gets the same rows, with its defaults:

1. numeric features are standardised; rows of text are scaled to length one and reduced to {SVD_SIZE} dimensions by \
a truncated SVD;
2. both domains are reduced to the same number of principal components, {COMPONENTS_A_CLASS} a class or as many as \
the smaller domain has features, and scaled to a mean squared length of one.

All of it is learned from the training rows of its own domain. The dimensions are then equal, so Saenko's method \
applies, though no feature of one domain corresponds to one of the other. The control "{LDA}" chooses up to 5 \
components a class itself, which step 2 cuts short: "{WIDE.name}" is the same without step 2. Spoilt sources are \
drawn afresh for every split. The unlabelled rows are balanced, as the self-trained LDA supposes.

By default MLHD calls a row by the nearest *source* row, so that noise or permuted labels must do harm there, \
whatever was learned. "{BY_TARGET.name}" is the same metric with the nearest labelled *target* row: there a spoilt \
source harms only through the metric. It was added after the results of the rest had been seen."""

# ------------------------------------------------------------------------------------------------------------ data


@dataclass(frozen=True)
class Views:
    """Two views of the same objects, row by row, and their classes."""

    X: Any
    Y: Any
    y: Labels


def mfeat(data: Path) -> Views:
    f = np.load(data / "mfeat" / "mfeat.npz")
    return Views(f["fou76"].astype(float), f["kar64"].astype(float), f["y"])


def debian(data: Path) -> Views:
    files = [np.load(data / "debian_descriptions" / f"debian8_{name}.npz") for name in ("en", "fr")]
    _, i, j = np.intersect1d(files[0]["package"], files[1]["package"], return_indices=True)
    return Views(_sparse(files[0])[i], _sparse(files[1])[j], files[0]["y"][i])


def snareseq(data: Path) -> Views:
    f = np.load(data / "single_cell" / "snareseq.npz")
    return Views(f["rna10"].astype(float), f["atac19"].astype(float), f["rna_y"])


def reuters(data: Path) -> Views:
    f = np.load(data / "reuters_multilingual" / "reuters600_5lang.npz")
    return Views(_sparse(f, "EN_"), _sparse(f, "FR_"), f["y"])


def _sparse(f: Any, prefix: str = "") -> sp.csr_matrix:
    data, indices, indptr, shape = (f[prefix + part] for part in ("data", "indices", "indptr", "shape"))
    return sp.csr_matrix((data.astype(float), indices, indptr), shape=tuple(shape))


PAIRS: dict[str, Callable[[Path], Views]] = {
    "digits fou76→kar64": mfeat,
    "Debian en→fr": debian,
    "SNARE-seq RNA→ATAC": snareseq,
    "Reuters EN→FR": reuters,
}


def drawn_rows(y: Labels, seed: Any) -> tuple[Labels, Labels, Labels]:
    """Objects of the source, of the target (labelled ones first) and of the test: none is in two of them."""
    rng = np.random.default_rng(seed)
    classes = [rng.permutation(np.flatnonzero(y == c)) for c in np.unique(y)]
    cuts = np.cumsum([SOURCE, LABELLED, UNLABELLED])
    source, labelled, unlabelled, rest = (
        np.concatenate(role) for role in zip(*(np.split(rows, cuts) for rows in classes), strict=True)
    )
    return source, np.concatenate([labelled, unlabelled]), rng.permutation(rest)[:MOST_TESTED]


@dataclass(frozen=True)
class Split:
    """What a system is fitted to, and what it is tested on."""

    fit: tuple[Any, Labels, Any, Labels]
    test: tuple[Any, Labels]


def drawn_split(views: Views, seed: Any, reduced: bool = True) -> Split:
    s, t, e = drawn_rows(views.y, seed)
    n_classes = len(np.unique(views.y))
    k = min(COMPONENTS_A_CLASS * n_classes, views.X.shape[1], views.Y.shape[1]) if reduced else None
    source, target = _preparation(views.X, k).fit(views.X[s]), _preparation(views.Y, k).fit(views.Y[t])
    S, T, E = source.transform(views.X[s]), target.transform(views.Y[t]), target.transform(views.Y[e])
    y_target = np.where(np.arange(len(t)) < LABELLED * n_classes, views.y[t], -1)
    return Split((S / _length(S), views.y[s], T / _length(T), y_target), (E / _length(T), views.y[e]))


def _preparation(X: Any, k: int | None) -> Pipeline:
    text = (Normalizer(), TruncatedSVD(SVD_SIZE, algorithm="arpack", random_state=0))
    return make_pipeline(
        *(text if sp.issparse(X) else (StandardScaler(),)), PCA(k, random_state=0) if k else "passthrough"
    )


def _length(X: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(np.sum(X**2, axis=1))))


# ------------------------------------------------------------------------------------------------------------ runs


def run_split(data: Path, pair: str, number: int, names: set[str]) -> list[Record]:
    """The named systems on one split of a pair."""
    views, seed = PAIRS[pair](data), [number, zlib.crc32(pair.encode())]
    reduced, whole = drawn_split(views, seed), drawn_split(views, seed, reduced=False)
    with threadpool_limits(1):
        return [
            {"pair": pair, "split": number, "system": system.name}
            | run_system(system, whole if system.name == WIDE.name else reduced, number)
            for system in SYSTEMS
            if system.name in names
        ]


def run_system(system: System, split: Split, seed: int) -> Record:
    model = system.make()
    model.set_params(**{name: seed for name in model.get_params() if name.endswith("random_state")})
    began, accuracy, status = time.perf_counter(), None, ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            accuracy = round(float(np.mean(model.fit(*split.fit).predict(split.test[0]) == split.test[1])), 6)
        except InputError as error:  # such as Saenko's method on domains of unequal dimension
            status = f"does not apply: {error}"
    seconds = round(time.perf_counter() - began, 4)
    complaints = [w for w in caught if issubclass(w.category, ConvergenceWarning | SklearnConvergenceWarning)]
    inner = next((getattr(model, a) for a in ("estimator_", "learner_") if hasattr(model, a)), model)
    result = getattr(inner, "result_", None)
    gap = None if result is None else float(f"{result.relative_gap:.2g}")
    status = status or (result.status.value if result else "not converged" if complaints else "done")
    figures = {"accuracy": accuracy, "seconds": seconds, "status": status, "gap": gap}
    return figures | {"converged": not complaints, "versions": VERSIONS}


def complete(path: Path, data: Path, splits: int, jobs: int) -> list[Record]:
    """Run what the file does not hold yet, and write it a split at a time, whole or not at all."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    records: list[Record] = [json.loads(line) for line in text.splitlines()]
    done = {(r["pair"], r["split"], r["system"]) for r in records}
    left = [
        (pair, n, missing)
        for n in range(splits)
        for pair in PAIRS
        if (missing := {s.name for s in SYSTEMS if (pair, n, s.name) not in done})
    ]
    runs = (joblib.delayed(run_split)(data, *task) for task in left)
    for k, new in enumerate(joblib.Parallel(jobs, return_as="generator_unordered")(runs), start=1):
        records += new
        records.sort(key=lambda r: (list(PAIRS).index(r["pair"]), r["split"]))
        replaced(path, "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records))
        print(f"{k} of {len(left)} splits", file=sys.stderr, flush=True)
    return [r for r in records if r["split"] < splits]


def replaced(path: Path, text: str) -> None:
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("ISTHMUS_DATA"), help="default: $ISTHMUS_DATA")
    parser.add_argument("--splits", type=int, default=10, metavar="N", help="at least 2 (default: 10)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="splits at a time (default: 2)")
    parser.add_argument("--out", type=Path, default=Path("systems_table.md"), help="the table (default: %(default)s)")
    options = parser.parse_args()
    if options.data is None:
        parser.error("--data: name the data folder, or set ISTHMUS_DATA.")
    if options.splits < 2:
        parser.error(f"--splits: expected at least 2, got {options.splits}.")
    lines = options.out.with_suffix(".jsonl")
    try:
        records = complete(lines, Path(options.data), options.splits, options.jobs)
        replaced(options.out, page(records, PROTOCOL))
    except KeyboardInterrupt:
        print(f"\nStopped by Ctrl-C: whole splits are in {lines}; the same command goes on.", file=sys.stderr)
        return 130
    except OSError as error:
        print(f"The table cannot be made: {error}", file=sys.stderr)
        return 2
    print(page(records, PROTOCOL))
    return 0


if __name__ == "__main__":
    sys.exit(main())
