"""Everyday work before and now, beside a peer and a floor, in one run: records in speed.jsonl, the page SPEED.md.

``python -m benchmarks.speed`` measures what has no record, ``--only NAME …`` some of it anew, ``--page`` only writes
the page. Each measurement is a process of its own with one thread, and tells its processor seconds, those of imports
only where they are the work; before, now, peer and floor take turns, and each figure is a median.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT, PAGE = Path(__file__).parents[1], Path(__file__).with_name("SPEED.md")
RECORDS = PAGE.with_name("speed.jsonl")
BEFORE, ROUNDS = "bcf6975", 3
N_ROWS, WIDTH = 1_000_000, 10
Seconds = Callable[[], float]


def seconds(call: Callable[[], Any]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def pairs_of(n: int, *widths: int) -> Any:
    """60 hidden directions seen in two ways, with noise."""
    import numpy as np

    rng = np.random.default_rng(100)
    hidden = rng.standard_normal((n, 60))
    views = [hidden @ rng.standard_normal((60, d)) / np.sqrt(60) + 0.5 * rng.standard_normal((n, d)) for d in widths]
    return [X - X.mean(axis=0) for X in views]


def fit_known_pairs(n: int, *widths: int) -> float:
    from isthmus import MLHD

    X, Y = pairs_of(n, *widths)
    return seconds(lambda: MLHD().fit(X, None, Y, None, pairs="rows").result_.raise_for_status())


def fit_wide_texts() -> float:
    """1,000 texts of 100 words out of 20,000, of ten classes; 100 of 1,000 target rows are labelled."""
    import numpy as np
    import scipy.sparse as sp
    from sklearn.preprocessing import normalize

    from isthmus import MLHD

    rng, y = np.random.default_rng(100), np.arange(1000) % 10
    common, topics = rng.dirichlet(np.full(20_000, 0.05)), rng.dirichlet(np.full(20_000, 0.02), size=10)
    X = sp.csr_matrix(np.vstack([rng.multinomial(100, 0.5 * common + 0.5 * topics[k]) for k in y]).astype(float))
    X.data = 1.0 + np.log(X.data)
    X = normalize(X)
    Y = rng.normal(size=(10, 100))[y] + rng.normal(size=(1000, 100))
    known = np.where(np.arange(1000) < 100, y, -1)
    return seconds(lambda: MLHD().fit(X, y, Y - Y.mean(axis=0), known).result_.raise_for_status())


def fit_weight_one() -> float:
    """2,000 source and 700 labelled target rows of ten classes."""
    import numpy as np

    from isthmus import MLHD

    rng, y = np.random.default_rng(100), np.arange(2000) % 10
    X = rng.normal(size=(10, 60))[y] + rng.normal(size=(2000, 60))
    Y = rng.normal(size=(10, 40))[y[:700]] + rng.normal(size=(700, 40))
    model = MLHD(pair_weight=1.0, tol=1e-4)
    return seconds(lambda: model.fit(X, y, Y, y[:700]).result_.raise_for_status())


def transfer_labels(n: int) -> float:
    """``LabelTransfer`` with its defaults: six classes of three labels each."""
    from benchmarks.labels import collections
    from isthmus import LabelTransfer

    *rows, _ = collections(n, n, 6)
    LabelTransfer().fit(*(part[:120] for part in rows))  # imports
    return seconds(lambda: LabelTransfer().fit(*rows))


def fit_texts() -> float:
    """``isthmus fit`` on 2,000 English and 516 French descriptions of packages of eight sections, with 30 labels."""
    import csv

    import numpy as np

    from isthmus.cli.main import main

    folder = Path(os.environ["ISTHMUS_DATA"]) / "debian_descriptions"
    with np.load(folder / "debian8_en.npz") as known:
        sections = set(known["classes"].tolist())
    with gzip.open(folder / "debian_descriptions.jsonl.gz", "rt", encoding="utf-8") as file:
        packages = [each for each in map(json.loads, file) if each["section"] in sections]
    source: list[list[str]] = []
    target: list[list[str]] = []
    for k in np.random.default_rng(100).permutation(len(packages)):
        package = packages[k]
        for rows, most, language in ((target, 516, "fr"), (source, 2000, "en")):
            if len(rows) < most and package.get(language, {}).get("long"):
                rows.append([" ".join(package[language]["long"].split()), package["section"]])
                break
    of_section: dict[str, int] = {}
    for row in target:  # four labels of six sections, three of the others
        of_section[row[1]] = of_section.get(row[1], 0) + 1
        if of_section[row[1]] > (4 if sorted(sections).index(row[1]) < 6 else 3):
            row[1] = ""
    with tempfile.TemporaryDirectory() as name:
        for end, rows in (("s", source), ("t", target)):
            with open(Path(name, f"{end}.csv"), "w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([["text", "section"], *rows])
        files = [str(Path(name, each)) for each in ("s.csv", "t.csv", "m.isthmus")]
        call = ["fit", *files[:2], "--label", "section", "--text", "text", "-o", files[2], "--quiet"]
        statuses: list[int] = []
        took = seconds(lambda: statuses.append(main(call)))
    if any(statuses):
        raise RuntimeError(f"isthmus ended with {statuses}")
    return took


def match_by_geometry(n: int) -> float:
    """``match`` of linear views, 64 and 36 wide, of n objects; no pair is known."""
    import isthmus

    X, Y = pairs_of(n, 64, 36)
    isthmus.match(X[:100], Y[:100])  # imports
    return seconds(lambda: isthmus.match(X, Y))


def migrate(n: int) -> float:
    """``migrate`` of n pairs, 384 to 768 columns."""
    import isthmus

    X, Y = pairs_of(n, 384, 768)
    isthmus.migrate(X[:200], Y[:200])  # imports
    return seconds(lambda: isthmus.migrate(X, Y))


def fit_ridge(n: int) -> float:
    """The ridge maps of the same pairs."""
    import isthmus

    X, Y = pairs_of(n, 384, 768)
    isthmus.RidgeMap().fit(X[:200], None, Y[:200], None, pairs="rows")
    return seconds(lambda: isthmus.RidgeMap().fit(X, None, Y, None, pairs="rows"))


def ask_whether_source_helps() -> float:
    """``does_source_help`` with 120 source and 126 target rows of six classes."""
    from benchmarks.labels import collections
    from isthmus import does_source_help

    Xs, ys, Xt, _, y = collections(120, 126, 6)
    return seconds(lambda: does_source_help(Xs, ys, Xt, y))


def fit_map(name: str, n: int) -> float:
    import isthmus
    from benchmarks.maps import SYSTEMS, make_pairs

    X, Y = (rows[:n] for rows in make_pairs(n))
    return seconds(lambda: getattr(isthmus, SYSTEMS[name])().fit(X, None, Y, None, pairs="rows"))


def compute_map(name: str, n: int, which: int) -> float:
    """The floor (0) or the peer (1) of a map, as benchmarks.maps has them."""
    from benchmarks.maps import make_pairs, peers

    X, Y = (rows[:n] for rows in make_pairs(n))
    return seconds(peers(name, X, Y, (1.0, 1.0))[which])


def embed(kind: str) -> float:
    """``isthmus embed`` to an array, with a model of a thousand pairs."""
    from isthmus.cli.main import main

    with files(kind) as (folder, rows):
        ending = "npy" if kind == "npy" else "csv"
        named = [str(folder / name) for name in (f"s.{ending}", f"t.{ending}", "p.csv", "m.isthmus")]
        statuses = [main(["fit", named[0], named[1], "--pairs", named[2], "-o", named[3], "--quiet"])]
        call = ["embed", named[3], str(rows), "--domain", "source", "-o", str(folder / "out.npy"), "--quiet"]
        took = seconds(lambda: statuses.append(main(call)))
    if any(statuses):
        raise RuntimeError(f"isthmus ended with {statuses}")
    return took


def embed_barely(kind: str) -> float:
    """Read the file by polars or NumPy, one product with as many columns, write the array."""
    import numpy as np
    import polars as pl

    W = np.random.default_rng(1).normal(size=(WIDTH, 2 * WIDTH)).astype(np.float32)

    def run() -> None:
        if kind == "npy":
            X = np.load(rows)
        else:
            X = (pl.read_csv(rows) if kind == "csv" else pl.read_parquet(rows)).to_numpy()
        np.save(folder / "out.npy", (X @ W).astype(np.float32))

    with files(kind) as (folder, rows):
        return seconds(run)


@contextmanager
def files(kind: str) -> Iterator[tuple[Path, Path]]:
    """Write a million rows of ten columns, and a thousand known pairs to fit to."""
    import numpy as np
    import polars as pl

    with tempfile.TemporaryDirectory() as name:
        folder, X = Path(name), np.random.default_rng(0).normal(size=(N_ROWS, WIDTH)).astype(np.float32)
        few, rows = X[:1000], folder / f"rows.{kind}"
        if kind == "npy":
            np.save(rows, X)
            np.save(folder / "s.npy", few)
            np.save(folder / "t.npy", few[:, ::-1] ** 2)
        else:
            whole, source = (pl.DataFrame({f"c{j}": part[:, j] for j in range(WIDTH)}) for part in (X, few))
            getattr(whole, f"write_{kind}")(rows)
            source.write_csv(folder / "s.csv")
            pl.DataFrame({f"d{j}": few[:, j] ** 2 for j in range(WIDTH)}).write_csv(folder / "t.csv")
        pl.DataFrame({"source": np.arange(1000), "target": np.arange(1000)}).write_csv(folder / "p.csv")
        yield folder, rows


def import_name(name: str) -> float:
    return seconds(lambda: __import__("isthmus", fromlist=[name]).__getattr__(name))


def import_sklearn() -> float:
    return seconds(lambda: (__import__("sklearn.neighbors"), __import__("sklearn.metrics")))


@dataclass(frozen=True)
class Work:
    """One line of the page: how to measure it, and what it is compared with."""

    ours: Seconds
    peer: Seconds | None = None
    floor: Seconds | None = None
    bar: str = ""


WORK = {
    "MLHD, 1,000 known pairs, 768 and 1,536 columns": Work(lambda: fit_known_pairs(1000, 768, 1536), bar="≤ 8 s"),
    "MLHD, 1,000 known pairs, 256 and 384 columns": Work(lambda: fit_known_pairs(1000, 256, 384), bar="≤ 8 s"),
    "MLHD, 1,000 texts of 20,000 words": Work(fit_wide_texts),
    "MLHD, weight 1, 2,000 × 700 labelled rows": Work(fit_weight_one, bar="certified to 1e-4"),
    **{
        f"{name}, 5,000 pairs": Work(
            lambda name=name: fit_map(name, 5000),  # type: ignore[misc]
            None if name == "CCA" else lambda name=name: compute_map(name, 5000, 1),  # type: ignore[misc]
            lambda name=name: compute_map(name, 5000, 0),  # type: ignore[misc]
            f"≤ {bar:g} × floor",
        )
        for name, bar in (("ridge both ways", 2.5), ("Procrustes", 2.5), ("CCA", 6.0))
    },
    **{
        f"embed {N_ROWS:,} rows, {kind.upper()}": Work(
            lambda kind=kind: embed(kind),  # type: ignore[misc]
            None,
            lambda kind=kind: embed_barely(kind),  # type: ignore[misc]
            "≤ 2 × floor",
        )
        for kind in ("csv", "parquet", "npy")
    },
    "LabelTransfer, 2,000 + 2,000 rows": Work(lambda: transfer_labels(2000), bar="≤ 3 s"),
    "LabelTransfer, 20,000 + 20,000 rows": Work(lambda: transfer_labels(20_000), bar="≤ 60 s"),
    "isthmus fit, 2,000 + 516 texts": Work(fit_texts, bar="≤ 10 s"),
    "match, 1,000 × 1,000 rows, no pair": Work(lambda: match_by_geometry(1000), bar="≤ 5 s"),
    "migrate, 2,000 pairs": Work(lambda: migrate(2000), None, lambda: fit_ridge(2000), "≤ 2 × floor"),
    "does_source_help, 120 + 126 rows": Work(ask_whether_source_helps, bar="≤ 15 s"),
    "from isthmus import MLHD": Work(lambda: import_name("MLHD"), None, import_sklearn, "≤ 1.2 × floor"),
}
"""By what is done."""


def ask(name: str, which: str, source: Path) -> float:
    """Measure in a process with this source first on its path."""
    limits = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
    variables = {**os.environ, **limits, "PYTHONPATH": os.pathsep.join([str(source), str(ROOT)])}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    variables["PYTHONPYCACHEPREFIX"] = str(Path(tempfile.gettempdir()) / "isthmus-speed")
    command = [sys.executable, "-m", "benchmarks.speed", "--ask", name, which]
    return float(subprocess.run(command, env=variables, stdout=subprocess.PIPE, check=True).stdout.split()[-1])


def measure(name: str, before: Path) -> dict[str, Any]:
    """One record: rounds of seconds before, now, of the peer and of the floor; null where there is none."""
    work, rounds = WORK[name], []
    for _ in range(ROUNDS):
        row = [ask(name, "ours", before), ask(name, "ours", ROOT / "src")]
        row += [
            None if getattr(work, which) is None else ask(name, which, ROOT / "src") for which in ("peer", "floor")
        ]
        rounds.append(row)
    return {
        "name": name,
        "before": BEFORE,
        "date": time.strftime("%Y-%m-%d"),
        "load": os.getloadavg()[1],
        "rounds": rounds,
    }


def run(names: list[str]) -> None:
    """Measure some lines, and keep their records after each."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", BEFORE, "src"], cwd=ROOT, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as content:
            content.extractall(folder, filter="data")
        for name in names:
            print(f"… {name}", file=sys.stderr, flush=True)
            record = measure(name, Path(folder) / "src")
            kept = {**read_records(), name: record}
            RECORDS.write_text("".join(json.dumps(each) + "\n" for each in kept.values()), encoding="utf-8")


def read_records() -> dict[str, dict[str, Any]]:
    lines = RECORDS.read_text(encoding="utf-8").splitlines() if RECORDS.exists() else []
    return {record["name"]: record for record in map(json.loads, lines)}


def render(record: dict[str, Any]) -> str:
    """Return one row of the page."""
    before, now, peer, floor = (
        None if column[0] is None else median(column) for column in zip(*record["rounds"], strict=True)
    )
    cells = ["" if value is None else f"{value:.2f}" for value in (before, now, peer, floor)]
    ratio = "" if floor is None else f"{now / floor:.1f}"
    numbers = [*cells, f"{before / now:.1f}", ratio, WORK[record["name"]].bar, f"{record['load']:.0f}"]
    return "| " + " | ".join([record["name"], *numbers]) + " |"


SUMMARY = """\
## Summary

**Question.** Is everyday work fast: compared with an earlier version, and with the least that has to be computed?

**Answer.** Of {n} kinds of work {faster} are faster than before (by the factor {least:.1f} to {most:.1f}){slower}.
The nearest to its floor is {near} ({nearest:.1f} times), the farthest {far} ({farthest:.1f} times).
{met} of {barred} bars in seconds or floors are met{missed}.

**Limits.** Medians of {rounds} runs, beside other work on the machine (load {low:.0f} to {high:.0f}): compare the
columns of a row, not rows. Work that was not measured has no row.

**What to do.** Look for the row that is like your work, and compare `now` on your machine by
`python -m benchmarks.speed --only NAME`; [SCALE.md](SCALE.md) has larger data."""


def summarize(records: dict[str, dict[str, Any]]) -> str:
    """Return the summary for practitioners, of the work on the page."""
    gains, over, met = {}, {}, {}
    shown = {name: records[name] for name in WORK if name in records}
    for name, record in shown.items():
        before, now, _, floor = zip(*record["rounds"], strict=True)
        gains[name] = median(before) / median(now)
        if floor[0] is not None:
            over[name] = median(now) / median(floor)
        bar = re.fullmatch(r"≤ ([\d.]+) (s|× floor)", WORK[name].bar)
        if bar:
            met[name] = (median(now) if bar[2] == "s" else over[name]) <= float(bar[1])
    missed = [name for name, kept in met.items() if not kept]
    faster = [gain for gain in gains.values() if gain > 1.0]
    slower = [f"{name} ({1 / gain:.1f} times the seconds)" for name, gain in gains.items() if gain <= 1.0]
    if not (faster and over):
        return ""
    near, far = min(over, key=over.__getitem__), max(over, key=over.__getitem__)
    loads = [record["load"] for record in shown.values()]
    return SUMMARY.format(
        n=len(gains),
        faster=len(faster),
        least=min(faster),
        most=max(faster),
        rounds=ROUNDS,
        slower=f"; slower: {'; '.join(slower)}" if slower else "",
        near=near,
        nearest=over[near],
        far=far,
        farthest=over[far],
        low=min(loads),
        high=max(loads),
        met=len(met) - len(missed),
        barred=len(met),
        missed=f" (not: {'; '.join(missed)})" if missed else "",
    )


def page(records: dict[str, dict[str, Any]]) -> str:
    """Return the page: a row for each record of work that is still measured."""
    head = "work", "before, s", "now, s", "peer, s", "floor, s", "before / now", "now / floor", "bar", "load"
    rows = [render(records[name]) for name in WORK if name in records]
    dates = sorted({record["date"] for record in records.values()})
    lines = [
        "# Everyday speed",
        "",
        summarize(records),
        "",
        "Written by `python -m benchmarks.speed`; do not edit. Processor seconds with one thread, medians of "
        f"{ROUNDS} interleaved runs, before (commit {BEFORE}) and now, {' and '.join(dates)}. "
        "The floor of an import is that of "
        "scikit-learn's neighbours and metrics, of embed polars or NumPy and one product, of maps the centred Gram "
        "matrix and its eigenproblems (of Procrustes the products across), of migrate its ridge "
        "maps. The peers are scikit-learn's Ridge both "
        "ways with one penalty and SciPy's Procrustes. Load is that of the machine while it was measured: above the "
        "number of cores, processor seconds grow too.",
        "",
        f"| {' | '.join(head)} |",
        "|---" * len(head) + "|",
        *rows,
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run what the command line asks for."""
    warnings.simplefilter("ignore")
    if "--ask" in sys.argv:
        name, which = sys.argv[-2:]
        print(getattr(WORK[name], which)())
        return
    if "--page" not in sys.argv:
        chosen = sys.argv[sys.argv.index("--only") + 1 :] if "--only" in sys.argv else []
        known = read_records()
        run(chosen or [name for name in WORK if name not in known])
    PAGE.write_text(page(read_records()), encoding="utf-8")


if __name__ == "__main__":
    main()
