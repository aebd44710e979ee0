"""Which rule should ``bounds="auto"`` follow? Every candidate on development data, and a Markdown table.

    python benchmarks/bounds_study.py rules --data FOLDER --splits 10 --jobs 2
    python benchmarks/bounds_study.py weights --data FOLDER --splits 5
    python benchmarks/bounds_study.py convergence --data FOLDER --splits 1

The data folder (or the environment variable ISTHMUS_DATA) holds ``mfeat/mfeat.npz``, ``single_cell/snareseq.npz``
and ``debian_descriptions/debian8_{en,fr,de}.npz``. Results are JSON lines, one a fit, added a task at a time; a
second run goes on where the first one stopped. Reuters and Office, the data of the paper's tables, are not read.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
import warnings
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

import joblib
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from isthmus import MLHD
from isthmus.estimators.logdet.constraints import spread
from isthmus.exceptions import ConvergenceWarning
from isthmus.kernels import as_kernel
from isthmus.spaces import fitted_space

Floats: TypeAlias = NDArray[np.floating[Any]]
Ints: TypeAlias = NDArray[np.int64]
Record: TypeAlias = dict[str, Any]

# ---------------------------------------------------------------------------------------------- candidate rules


@dataclass(frozen=True)
class Fitted:
    """What a rule may look at: coordinates and labels of the rows of fit (-1 = unlabelled), and λ1."""

    A: Floats
    y_source: Ints
    B: Floats
    y_target: Ints
    alignment_weight: float

    @property
    def labelled(self) -> Floats:
        return self.B[self.y_target >= 0]


def median_at_identity(rows: Fitted) -> tuple[float, float]:
    """B: the median squared distance of the labelled pairs at M = I."""
    m = float(np.median(_cross(rows)))
    return m, m


def median_at_prior(rows: Fitted) -> tuple[float, float]:
    """C: the same under the prior P⁻¹ = (I + λ1 z̄ z̄ᵀ)⁻¹, by Sherman and Morrison."""
    a, b = rows.A.mean(axis=0), rows.B.mean(axis=0)
    along = (rows.A @ a)[:, None] + (rows.labelled @ b)[None, :]
    shrink = rows.alignment_weight / (1.0 + rows.alignment_weight * (a @ a + b @ b))
    m = float(np.median(_cross(rows) - shrink * along**2))
    return m, m


def spread_of_both(rows: Fitted) -> tuple[float, float]:
    """A: the sum of the variances of both domains."""
    m = spread(rows.A, rows.B)
    return m, m


def source_classes(rows: Fitted) -> tuple[float, float]:
    """D: median distances within the source, same class and different class, brought to the spread of both."""
    norms = np.einsum("ij,ij->i", rows.A, rows.A)
    D = norms[:, None] + norms[None, :] - 2.0 * rows.A @ rows.A.T
    i, j = np.triu_indices(len(D), 1)
    same = rows.y_source[i] == rows.y_source[j]
    ratio = spread(rows.A, rows.B) / (2.0 * float(rows.A.var(axis=0).sum()))
    return ratio * float(np.median(D[i, j][same])), ratio * float(np.median(D[i, j][~same]))


def _cross(rows: Fitted) -> Floats:
    return np.asarray((rows.A**2).sum(axis=1)[:, None] + (rows.labelled**2).sum(axis=1)[None, :])


SCALES: dict[str, Callable[[Fitted], tuple[float, float]]] = {
    "spread": spread_of_both,
    "median at I": median_at_identity,
    "median at prior": median_at_prior,
    "source classes": source_classes,
}

FACTORS = {
    "spread": (
        *((0.25, 1.0), (0.5, 1.0), (0.75, 1.0), (0.25, 2.0), (0.5, 1.5), (0.5, 2.0)),
        *((0.75, 1.25), (0.9, 1.1), (1.0, 1.5), (1.0, 2.0)),
    ),
    "median at I": ((0.5, 1.0), (0.5, 1.5), (0.75, 1.25)),
    "median at prior": ((0.5, 1.0), (0.5, 1.5), (0.75, 1.25)),
    "source classes": ((0.5, 1.0), (1.0, 1.0), (0.75, 1.25)),
}


@dataclass(frozen=True)
class Rule:
    """u and l as multiples of what a scale gives for them."""

    scale: str
    upper: float
    lower: float

    def __str__(self) -> str:
        return f"{self.scale} × ({self.upper:g}, {self.lower:g})"

    def bounds(self, rows: Fitted) -> tuple[float, float]:
        for_upper, for_lower = SCALES[self.scale](rows)
        u, l = self.upper * for_upper, self.lower * for_lower  # noqa: E741
        # Source classes that overlap may give u ≥ l, which no problem may have.
        return min(u, 0.99 * l), l


RULES = tuple(Rule(scale, *factors) for scale, pairs in FACTORS.items() for factors in pairs)
BEFORE = Rule("spread", 0.5, 1.5)
"""The rule before the study, which every other one is compared with."""
SHORT_LIST = (
    *(BEFORE, Rule("spread", 0.25, 1.0), Rule("spread", 0.5, 1.0)),
    *(Rule("median at prior", 0.5, 1.0), Rule("source classes", 0.5, 1.0)),
)
"""Those that the first study does not tell apart: they are fitted with other weights λ1, λ2 as well."""

# ------------------------------------------------------------------------------------------- data: paired views

SVD_SIZE = 100
PER_CLASS_SOURCE, PER_CLASS_UNLABELLED, MAX_LABELLED, MAX_TEST = 20, 20, 3, 300


@dataclass(frozen=True)
class Pair:
    """Two views of the same objects, and how their features are prepared (on training rows only)."""

    collection: str
    source: str
    target: str
    preparation: str = "standard"

    def __str__(self) -> str:
        return f"{self.collection} {self.source}→{self.target}" + (" raw" if self.preparation == "raw" else "")


PAIRS = (
    Pair("mfeat", "fou76", "kar64"),
    Pair("mfeat", "zer47", "fac216"),
    Pair("mfeat", "pix240", "fou76"),
    Pair("mfeat", "pix240", "fou76", "raw"),
    Pair("mfeat", "mor6", "zer47"),
    Pair("snareseq", "rna10", "atac19"),
    Pair("snareseq", "atac19", "rna10"),
    Pair("debian", "en", "fr", "svd"),
    Pair("debian", "fr", "de", "svd"),
    Pair("digits", "pixels", "shape"),
)


def paired_views(data: Path, pair: Pair) -> tuple[Any, Any, Ints]:
    """Features of both views, row by row of the same objects, and the classes."""
    if pair.collection == "mfeat":
        views = np.load(data / "mfeat" / "mfeat.npz")
        return views[pair.source].astype(float), views[pair.target].astype(float), views["y"]
    if pair.collection == "snareseq":
        views = np.load(data / "single_cell" / "snareseq.npz")
        return views[pair.source].astype(float), views[pair.target].astype(float), views["rna_y"]
    if pair.collection == "debian":
        return _debian(data, pair)
    images, y = load_digits(return_X_y=True)
    return images, _shape(images.reshape(-1, 8, 8)), y


def _debian(data: Path, pair: Pair) -> tuple[Any, Any, Ints]:
    files = [np.load(data / "debian_descriptions" / f"debian8_{name}.npz") for name in (pair.source, pair.target)]
    _, i, j = np.intersect1d(files[0]["package"], files[1]["package"], return_indices=True)
    X, Y = (sp.csr_matrix((f["data"], f["indices"], f["indptr"]), shape=f["shape"]) for f in files)
    return X[i].astype(float), Y[j].astype(float), files[0]["y"][i]


def _shape(images: Floats) -> Floats:
    """Ink a row, ink a column, its centre and second moments."""
    mass = images.sum(axis=(1, 2))
    grid = np.arange(8.0)
    across, down = images.sum(axis=1), images.sum(axis=2)
    x, y = across @ grid / mass, down @ grid / mass
    xx, yy = across @ grid**2 / mass - x**2, down @ grid**2 / mass - y**2
    xy = np.einsum("nij,i,j->n", images, grid, grid) / mass - x * y
    return np.column_stack([across, down, mass, x, y, xx, yy, xy])


@dataclass(frozen=True)
class Split:
    """Prepared rows of one split; no object is in two of source, target and test."""

    X_source: Floats
    y_source: Ints
    X_target: Floats
    y_target: Ints
    X_test: Floats
    y_test: Ints


def drawn_split(data: Path, pair: Pair, shots: int, number: int) -> Split:
    """Split ``number`` of a pair; the labelled rows of fewer shots are among those of more."""
    X, Y, y = paired_views(data, pair)
    rng = np.random.default_rng([number, zlib.crc32(str(pair).encode())])
    roles: tuple[list[Ints], ...] = ([], [], [], [])
    for c in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == c))
        cuts = np.cumsum([PER_CLASS_SOURCE, MAX_LABELLED, PER_CLASS_UNLABELLED])
        for part, role in zip(np.split(rows, cuts), roles, strict=True):
            role.append(part)
    source, labelled, unlabelled, rest = roles
    s, t = np.concatenate(source), np.concatenate([*(part[:shots] for part in labelled), *unlabelled])
    test = rng.permutation(np.concatenate(rest))[:MAX_TEST]
    known = np.arange(len(t)) < shots * len(labelled)
    prepare_source, prepare_target = (_preparation(pair.preparation).fit(rows) for rows in (X[s], Y[t]))
    return Split(
        *(prepare_source.transform(X[s]), y[s]),
        *(prepare_target.transform(Y[t]), np.where(known, y[t], -1)),
        *(prepare_target.transform(Y[test]), y[test]),
    )


def _preparation(name: str) -> Any:
    if name == "svd":
        return TruncatedSVD(SVD_SIZE, algorithm="arpack", random_state=0)
    return make_pipeline(StandardScaler() if name == "standard" else "passthrough")


# --------------------------------------------------------------------------------------------------- experiment


@dataclass(frozen=True)
class Task:
    """One split of one pair under one setting: all rules are fitted to it."""

    pair: Pair
    kernel: str
    shots: int
    split: int
    alignment_weight: float = 1.0
    pair_weight: float = 1.0

    def key(self) -> Record:
        return {**asdict(self), "pair": str(self.pair)}

    def run(self, data: Path, rules: tuple[Rule, ...]) -> list[Record]:
        rows = drawn_split(data, self.pair, self.shots, self.split)
        kernel = as_kernel(self.kernel, "kernel")
        _, A = fitted_space(rows.X_source, kernel, outside="identity", name="X_source")
        _, B = fitted_space(rows.X_target, kernel, outside="identity", name="X_target")
        seen = Fitted(A, rows.y_source, B, rows.y_target, self.alignment_weight)
        return [{**self.key(), "rule": str(rule), **self._fit(rows, rule.bounds(seen))} for rule in rules]

    def _fit(self, rows: Split, bounds: tuple[float, float]) -> Record:
        mlhd = MLHD(
            *(self.kernel, self.kernel),
            alignment_weight=self.alignment_weight,
            pair_weight=self.pair_weight,
            bounds=bounds,
        )
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            mlhd.fit(rows.X_source, rows.y_source, rows.X_target, rows.y_target)
        seconds = time.perf_counter() - began
        distances = mlhd.pairwise_distances(rows.X_test, rows.X_source, ("target", "source"))
        nearest = rows.y_source[distances.argmin(axis=1)]
        return {
            "bounds": bounds,
            "accuracy": float(np.mean(nearest == rows.y_test)),
            "retrieval": mean_average_precision(distances, rows.y_test[:, None] == rows.y_source[None, :]),
            "iterations": mlhd.n_iter_,
            "seconds": round(seconds, 4),
            "gap": mlhd.result_.relative_gap,
            "status": mlhd.result_.status.value,
        }


def mean_average_precision(distances: Floats, relevant: NDArray[np.bool_]) -> float:
    """Over queries (rows): the mean precision at each relevant item, nearest first."""
    hits = np.take_along_axis(relevant, distances.argsort(axis=1), axis=1)
    precision = hits.cumsum(axis=1) / np.arange(1, hits.shape[1] + 1)
    return float(((precision * hits).sum(axis=1) / hits.sum(axis=1)).mean())


def tasks_and_rules(study: str, splits: int) -> tuple[list[Task], tuple[Rule, ...]]:
    """Everything that a study fits; three labelled rows a class cost more and are taken on every second split."""
    cells = itertools.product(range(splits), PAIRS, ("linear", "rbf"), (1, 3))
    if study == "rules":
        return [Task(pair, kernel, shots, n) for n, pair, kernel, shots in cells if shots == 1 or n % 2 == 0], RULES
    one_shot = [(pair, kernel, shots, n) for n, pair, kernel, shots in cells if shots == 1]
    if study == "weights":
        weights = ((0.1, 1.0), (10.0, 1.0), (1.0, 0.1), (1.0, 10.0))
        return [Task(*single, *w) for single in one_shot for w in weights], SHORT_LIST
    grid = tuple(itertools.product((1e-3, 1.0, 1e2), (1e-2, 1.0, 1e2, 1e3)))
    return [Task(*single, *w) for single in one_shot for w in grid], (BEFORE,)


# ------------------------------------------------------------------------------------------------ files, tables


def stored(path: Path) -> list[Record]:
    """The records of whole lines; a torn last one (a run that was killed) is cut off the file."""
    if not path.exists():
        return []
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        rewritten = path.with_suffix(".tmp")
        rewritten.write_text(whole)
        rewritten.replace(path)
    return [json.loads(line) for line in whole.splitlines()]


def append(path: Path, records: Iterable[Record]) -> None:
    """All records of a task in one write to the end of the file."""
    text = "".join(json.dumps(record) + "\n" for record in records)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def complete(path: Path, data: Path, tasks: list[Task], rules: tuple[Rule, ...], jobs: int) -> list[Record]:
    """Run what the file does not hold yet; return all of it that these tasks and rules ask for."""

    def name(record: Record) -> tuple[Any, ...]:
        return tuple(record[k] for k in ("pair", "kernel", "shots", "split", "alignment_weight", "pair_weight"))

    done: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    for record in stored(path):
        done[name(record)].add(record["rule"])
    left = [(task, tuple(rule for rule in rules if str(rule) not in done[name(task.key())])) for task in tasks]
    left = [(task, missing) for task, missing in left if missing]
    runs = (joblib.delayed(task.run)(data, missing) for task, missing in left)
    began = time.perf_counter()
    for n, records in enumerate(joblib.Parallel(jobs, return_as="generator_unordered")(runs), start=1):
        append(path, records)
        if n % 20 == 0:
            print(f"{n} of {len(left)} tasks, {time.perf_counter() - began:.0f} s", flush=True)
    wanted, names = {name(task.key()) for task in tasks}, {str(rule) for rule in rules}
    return [record for record in stored(path) if name(record) in wanted and record["rule"] in names]


def cell(record: Record) -> tuple[Any, ...]:
    """What splits are averaged within."""
    return tuple(record[k] for k in ("pair", "kernel", "shots", "alignment_weight", "pair_weight"))


def cell_means(records: list[Record], figure: str) -> tuple[list[tuple[Any, ...]], list[str], Floats]:
    """Cells, rules and the mean over splits of a figure (cells, rules)."""
    values: dict[tuple[Any, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        values[cell(record)][record["rule"]].append(record[figure])
    cells, rules = list(values), list(dict.fromkeys(record["rule"] for record in records))
    return cells, rules, np.array([[np.mean(values[c][rule]) for rule in rules] for c in cells])


@dataclass(frozen=True)
class Figures:
    """Both figures of merit in per cent, means over splits (cells, rules)."""

    cells: list[tuple[Any, ...]]
    rules: list[str]
    accuracy: Floats
    retrieval: Floats

    @classmethod
    def of(cls, records: list[Record]) -> Figures:
        cells, rules, accuracy = cell_means(records, "accuracy")
        return cls(cells, rules, 100.0 * accuracy, 100.0 * cell_means(records, "retrieval")[2])

    @property
    def both(self) -> Floats:
        return (self.accuracy + self.retrieval) / 2.0

    def regret(self) -> Floats:
        """Points below the best rule of each cell, accuracy and mAP averaged."""
        tables = (self.accuracy, self.retrieval)
        return np.asarray(np.mean([table.max(axis=1, keepdims=True) - table for table in tables], axis=0))

    def difference(self, table: Floats, k: int) -> str:
        """Rule k less the rule before the study: the mean over pairs of views ± its standard error over pairs."""
        gain = table[:, k] - table[:, self.rules.index(str(BEFORE))]
        pairs = np.array([c[0] for c in self.cells])
        means = [gain[pairs == pair].mean() for pair in dict.fromkeys(pairs)]
        return f"{np.mean(means):+.2f} ± {np.std(means, ddof=1) / np.sqrt(len(means)):.2f}"


def markdown(header: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, ["---"] * len(header), *rows))


def rules_table(records: list[Record]) -> str:
    """One line a rule, least regret first."""
    figures = Figures.of(records)
    regret = figures.regret()
    rank = np.mean([rankdata(-table, axis=1) for table in (figures.accuracy, figures.retrieval)], axis=(0, 1))
    rows = []
    for k in np.argsort(regret.mean(axis=0)):
        iterations = [record["iterations"] for record in records if record["rule"] == figures.rules[k]]
        means = (figures.accuracy[:, k].mean(), figures.retrieval[:, k].mean())
        row = [f"{value:.1f}" for value in means] + [f"{regret[:, k].mean():.2f}", f"{regret[:, k].max():.1f}"]
        row += [f"{rank[k]:.1f}", f"{np.median(iterations):.0f} ({max(iterations)})"]
        row += [figures.difference(table, k) for table in (figures.accuracy, figures.retrieval)]
        rows.append([figures.rules[k], *row])
    header = ["rule", "accuracy", "mAP", "regret", "worst", "rank", "iterations", "Δ accuracy", "Δ mAP"]
    return markdown(header, rows)


def breakdown_table(records: list[Record]) -> str:
    """The regret of each rule by collection and by kernel."""
    figures = Figures.of(records)
    regret = figures.regret()
    keys = [(c[0].split()[0], c[1]) for c in figures.cells]
    groups = [name for column in zip(*keys, strict=True) for name in dict.fromkeys(column)]
    masks = [np.array([group in c for c in keys]) for group in groups]
    order = np.argsort(regret.mean(axis=0))
    return markdown(
        ["rule", *groups],
        [[figures.rules[k], *(f"{regret[mask, k].mean():.2f}" for mask in masks)] for k in order],
    )


def weights_table(records: list[Record]) -> str:
    """The mean of accuracy and mAP, less that of the rule before the study, at each (λ1, λ2)."""
    settings = list(dict.fromkeys((record["alignment_weight"], record["pair_weight"]) for record in records))
    parts = [Figures.of([r for r in records if (r["alignment_weight"], r["pair_weight"]) == s]) for s in settings]
    rules = [str(rule) for rule in SHORT_LIST[1:]]
    rows = [[rule, *(part.difference(part.both, part.rules.index(rule)) for part in parts)] for rule in rules]
    return markdown(["rule", *(f"λ1 = {a:g}, λ2 = {b:g}" for a, b in settings)], rows)


def convergence_table(records: list[Record]) -> str:
    """Iterations in each cell of λ1 × λ2, the median and the most, and how many fits missed the tolerance."""
    priors, posteriors = (sorted({r[key] for r in records}) for key in ("alignment_weight", "pair_weight"))

    def shown(a: float, b: float) -> str:
        here = [r for r in records if (r["alignment_weight"], r["pair_weight"]) == (a, b)]
        iterations = [r["iterations"] for r in here]
        missed = sum(r["status"] != "optimal" for r in here)
        return f"{np.median(iterations):.0f} ({max(iterations)})" + (f", {missed} missed" if missed else "")

    rows = [[f"{a:g}", *(shown(a, b) for b in posteriors)] for a in priors]
    return markdown(["λ1", *(f"λ2 = {b:g}" for b in posteriors)], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=("rules", "weights", "convergence"))
    parser.add_argument("--data", type=Path, default=os.environ.get("ISTHMUS_DATA"), help="default: $ISTHMUS_DATA")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("bounds_study.jsonl"), help="JSON lines, added to")
    options = parser.parse_args()
    if options.data is None:
        parser.error("--data: name the data folder, or set ISTHMUS_DATA.")
    tasks, rules = tasks_and_rules(options.study, options.splits)
    records = complete(options.out, Path(options.data), tasks, rules, options.jobs)
    tables = {
        "rules": (rules_table, breakdown_table),
        "weights": (weights_table,),
        "convergence": (convergence_table,),
    }
    print("\n\n".join(table(records) for table in tables[options.study]))


if __name__ == "__main__":
    main()
