"""``isthmus embed`` of two million rows: as much memory as two hundred thousand take, from file to file."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.record import Bar, Options, Record, verdict
from benchmarks.task import SEED

FEW, MANY, WIDTH = 200_000, 2_000_000, 10
RATIO_BAR = 1.25
WAYS = (("csv", "npy"), ("parquet", "parquet"), ("npy", "npy"), ("npy", "parquet"))
SCRIPT = """\
import sys, time
from pathlib import Path
from isthmus.cli.main import main
began = time.process_time()
if main(sys.argv[1:]):
    sys.exit(1)
took = time.process_time() - began
(peak,) = (line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(peak, took)
"""
"""Of Linux: the peak that getrusage tells is also that of the process that started this one."""


def run(record: Record, options: Options, announce: Callable[[str], None]) -> None:
    """The peak of a process of its own, for few and for many rows, in each format."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        announce(f"files of {FEW:,} and {MANY:,} rows")
        for n in (FEW, MANY):
            _write_rows(folder, n)
        _fit(folder, "csv")
        _fit(folder, "npy")
        for way in WAYS:
            announce(f"embed, {way[0]} to {way[1]}")
            record.bars.append(_bar(folder, *way))


def _write_rows(folder: Path, n: int) -> None:
    import polars as pl

    X = np.random.default_rng(SEED).normal(size=(n, WIDTH)).astype(np.float32)
    frame = pl.DataFrame({f"c{j}": X[:, j] for j in range(WIDTH)})
    frame.write_csv(folder / f"{n}.csv")
    frame.write_parquet(folder / f"{n}.parquet")
    np.save(folder / f"{n}.npy", X)


def _fit(folder: Path, ending: str) -> None:
    """A model of a thousand rows: known pairs with rows of other columns."""
    import polars as pl

    from isthmus.cli.main import main

    X = np.load(folder / f"{FEW}.npy", mmap_mode="r")[:1000]
    source, target = (folder / f"{part}.{ending}" for part in ("source", "target"))
    if ending == "npy":
        np.save(source, X)
        np.save(target, X[:, ::-1] ** 2)
    else:
        pl.DataFrame({f"c{j}": X[:, j] for j in range(WIDTH)}).write_csv(source)
        pl.DataFrame({f"d{j}": X[:, j] ** 2 for j in range(WIDTH)}).write_csv(target)
    pairs = folder / "pairs.csv"
    pl.DataFrame({"source": np.arange(1000), "target": np.arange(1000)}).write_csv(pairs)
    model = folder / f"{_model_of(ending)}.isthmus"
    status = main(["fit", str(source), str(target), "--pairs", str(pairs), "-o", str(model), "--quiet"])
    if status:
        raise RuntimeError(f"isthmus fit ended with {status}")


def _model_of(ending: str) -> str:
    return "matrix" if ending == "npy" else "columns"


def _bar(folder: Path, given: str, wanted: str) -> Bar:
    (few, _), (many, took) = (_peak(folder, n, given, wanted) for n in (FEW, MANY))
    whole = _megabytes(folder / f"{MANY}.{given}")
    return Bar(
        f"embed, {given.upper()} to {wanted.upper()}: memory for {MANY:,} rows of {WIDTH} columns at most "
        f"{RATIO_BAR}x that for {FEW:,}",
        f"{many / few:.2f}x ({many:.0f} MB, {few:.0f} MB; the file has {whole:.0f} MB; {MANY / took:,.0f} rows per "
        "second)",
        verdict(many <= RATIO_BAR * few),
    )


def _peak(folder: Path, n: int, given: str, wanted: str) -> tuple[float, float]:
    """Megabytes at most, of the interpreter and all libraries too, and processor seconds."""
    model, out = folder / f"{_model_of(given)}.isthmus", folder / f"out.{wanted}"
    asked = ["embed", str(model), str(folder / f"{n}.{given}"), "--domain", "source", "-o", str(out), "--quiet"]
    done = subprocess.run([sys.executable, "-c", SCRIPT, *asked], stdout=subprocess.PIPE, text=True, check=True)
    kilobytes, seconds = done.stdout.split()
    return 1.024 * float(kilobytes) / 1000.0, float(seconds)


def _megabytes(path: Path) -> float:
    return path.stat().st_size / 1e6
