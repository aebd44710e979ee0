"""Ridge both ways, Procrustes and CCA of known pairs: before, now, peers and the floor, in one run.

``python -m benchmarks.maps`` adds what is missing to maps.jsonl and writes MAPS.md; with ``--page`` it only writes.
"Before" is the commit below, from a copy of its source in a process of its own. Processor seconds with one thread;
all take turns, and each figure is a median. The floor is the centred Gram matrix of both sides and one eigenproblem
of each; that of Procrustes the products across.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import threads

ROOT, PAGE = Path(__file__).parents[1], Path(__file__).with_name("MAPS.md")
RECORDS = PAGE.with_name("maps.jsonl")
BEFORE = "bcf6975"
SIZES, ROUNDS, N_NEW = (5000, 20_000), 3, 200
D_SOURCE, D_TARGET = 768, 1536
BARS = {
    "ridge both ways": {5000: 2.5, 20_000: 4.0},
    "Procrustes": {5000: 2.5, 20_000: 2.5},
    "CCA": {5000: 6.0, 20_000: 6.0},
}
"""Times the floor."""
SYSTEMS = {"ridge both ways": "RidgeMap", "Procrustes": "Procrustes", "CCA": "CCA"}
LEARNED = ("penalties_", "regularization_", "correlations_")


def make_pairs(n: int) -> tuple[Any, Any]:
    """200 hidden directions seen in two ways, with noise."""
    import numpy as np

    rng = np.random.default_rng(100)
    meaning = rng.normal(size=(n + N_NEW, 200)) * np.geomspace(1.0, 0.05, 200)
    X, Y = (
        meaning @ rng.normal(size=(200, d)) + 0.1 * rng.normal(size=(len(meaning), d)) for d in (D_SOURCE, D_TARGET)
    )
    return X, Y


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    found = call()
    return time.process_time() - began, found


def fit(name: str, X: Any, Y: Any, n: int) -> tuple[float, dict[str, Any]]:
    """The time of a fit, what it chose, and distances of new rows; those of reference rows are counted apart."""
    import numpy as np

    import isthmus
    from isthmus.retrieval.rules import References

    spent, embed = [0.0], References.of

    def timed(*args: Any) -> Any:
        took, found = seconds(lambda: embed(*args))
        spent[0] += took
        return found

    References.of = timed  # type: ignore[method-assign,assignment]
    model = getattr(isthmus, SYSTEMS[name])()
    took, _ = seconds(lambda: model.fit(X[:n], None, Y[:n], None, pairs="rows"))
    References.of = embed  # type: ignore[method-assign]
    learned = [np.array(getattr(model, each)) for each in LEARNED if hasattr(model, each)]
    return took, {"references": spent[0], "learned": [*learned, model.pairwise_distances(X[n:], Y[n:])]}


def serve() -> None:
    """Answer (name, n) on standard input by the time and what was learned, with whatever isthmus is on the path."""
    warnings.simplefilter("ignore")
    sized: dict[int, Any] = {}
    while True:
        name, n = pickle.load(sys.stdin.buffer)
        if n not in sized:
            sized = {n: make_pairs(n)}
            fit("Procrustes", *(M[:300] for M in sized[n]), 100)  # imports
        pickle.dump(fit(name, *sized[n], n), sys.stdout.buffer)
        sys.stdout.buffer.flush()


class Worker:
    """A process with one version of isthmus."""

    def __init__(self, source: Path) -> None:
        path = os.pathsep.join([str(source), str(ROOT)])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.maps", "--serve"],
            env={**os.environ, "PYTHONPATH": path}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def __call__(self, name: str, n: int) -> tuple[float, dict[str, Any]]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        pickle.dump((name, n), self.process.stdin)
        self.process.stdin.flush()
        return pickle.load(self.process.stdout)  # type: ignore[no-any-return]


def peers(name: str, X: Any, Y: Any, penalties: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The floor, and a plain computation by another library."""
    import numpy as np
    import scipy.linalg as sla
    from sklearn.linear_model import Ridge

    def floor() -> None:
        if name == "Procrustes":
            (X - X.mean(axis=0)).T @ (Y - Y.mean(axis=0))
            return
        Z = np.hstack([X - X.mean(axis=0), Y - Y.mean(axis=0)])
        G = Z.T @ Z
        for G_side in (G[:D_SOURCE, :D_SOURCE], G[D_SOURCE:, D_SOURCE:]):
            sla.eigh(G_side, driver="evd", check_finite=False)

    def peer() -> None:
        if name == "Procrustes":
            # SciPy's wants equally many columns.
            sla.orthogonal_procrustes(
                np.pad(X - X.mean(axis=0), ((0, 0), (0, D_TARGET - D_SOURCE))), Y - Y.mean(axis=0)
            )
        elif name == "ridge both ways":
            Ridge(alpha=float(penalties[0])).fit(X, Y)
            Ridge(alpha=float(penalties[1])).fit(Y, X)

    return floor, peer


def measure(workers: tuple[Worker, Worker], name: str, n: int) -> dict[str, Any]:
    """One record: rounds of seconds (before, now, of it references, floor, peer), and the largest difference."""
    import numpy as np

    X, Y = (M[:n] for M in make_pairs(n))
    rounds, learned = [], [[], []]
    penalties: Any = (1.0, 1.0)
    for _ in range(ROUNDS):
        (before, was), (now, found) = workers[0](name, n), workers[1](name, n)
        learned = [was["learned"], found["learned"]]
        penalties = found["learned"][0] if name == "ridge both ways" else penalties
        floor, peer = peers(name, X, Y, penalties)
        rounds.append((before, now, found["references"], seconds(floor)[0], seconds(peer)[0]))
    differences = [np.max(np.abs(a - b)) / max(1.0, np.abs(a).max()) for a, b in zip(*learned, strict=True)]
    return {"name": name, "n": n, "rounds": rounds, "difference": float(max(differences))}


def render(record: dict[str, Any]) -> str:
    """One row of the page."""
    name, n = record["name"], record["n"]
    before, now, references, floor, peer = (median(column) for column in zip(*record["rounds"], strict=True))
    cells = (
        f"{name}, {n:,}",
        f"{before:.2f}",
        f"{now:.2f}",
        f"{references:.2f}",
        "" if name == "CCA" else f"{peer:.2f}",
    )
    ratios = f"{floor:.2f}", f"{now / floor:.1f}", f"{(now - references) / floor:.1f}", f"{BARS[name][n]:g}"
    return "| " + " | ".join((*cells, *ratios, f"{record['difference']:.0e}")) + " |"


def read_records() -> dict[tuple[str, int], dict[str, Any]]:
    lines = RECORDS.read_text(encoding="utf-8").splitlines() if RECORDS.exists() else []
    return {(record["name"], record["n"]): record for record in map(json.loads, lines)}


def measure_migrate() -> dict[str, Any]:
    """The whole of ``migrate`` over its two maps."""
    import isthmus
    from isthmus.maps.regression import fit_ridge

    X, Y = make_pairs(SIZES[0])
    rounds = []
    for _ in range(ROUNDS):
        whole = seconds(lambda: isthmus.migrate(X, Y, kind="ridge"))[0]
        maps = seconds(lambda: (fit_ridge(X, Y), fit_ridge(Y, X)))[0]
        rounds.append((whole, maps, seconds(lambda: isthmus.migrate(X, Y))[0]))
    return {"name": "migrate", "n": SIZES[0], "rounds": rounds}


def render_migrate(record: dict[str, Any]) -> str:
    whole, maps, auto = (median(column) for column in zip(*record["rounds"], strict=True))
    return (
        f'`migrate(kind="ridge")` of {record["n"]:,} pairs takes {whole:.1f} s, its two maps {maps:.1f} s: '
        f'{whole / maps:.1f} times (the aim is 2). `kind="auto"`, which fits four kinds, takes {auto:.1f} s.'
    )


def keep(record: dict[str, Any]) -> None:
    with RECORDS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def run_missing() -> None:
    """Measure what has no record."""
    known = read_records()
    if ("migrate", SIZES[0]) not in known:
        keep(measure_migrate())
    missing = [(name, n) for n in SIZES for name in SYSTEMS if (name, n) not in known]
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", BEFORE, "src"], cwd=ROOT, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        workers = Worker(Path(folder) / "src"), Worker(ROOT / "src")
        try:
            for name, n in missing:
                keep(measure(workers, name, n))
        finally:
            for worker in workers:
                worker.process.kill()


def main() -> None:
    if "--serve" in sys.argv:
        serve()
    threads.pin()
    warnings.simplefilter("ignore")
    if "--page" not in sys.argv:
        run_missing()
    records = read_records()
    lines = [
        "# Maps of known pairs near the floor",
        "",
        f"Written by `python -m benchmarks.maps`. {(__doc__ or '').split('only writes.')[1].strip()}",
        "",
        f"{D_SOURCE} to {D_TARGET:,} columns, medians of {ROUNDS}. Of a fit, the time to embed all rows as "
        "references is given apart, and the second ratio is without it. The difference is the largest, between "
        "before and now, in penalties, regularization, correlations and distances of new rows.",
        "",
        "| fit, pairs | before, s | now, s | of it references | peer, s | floor, s | now / floor | without "
        "references | bar | difference |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(render(records[name, n]) for n in SIZES for name in SYSTEMS if (name, n) in records),
        "",
        *(render_migrate(record) for (name, _), record in records.items() if name == "migrate"),
    ]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
