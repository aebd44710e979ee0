"""isthmus 0.1 by its command line, which turns the columns of either file into features of its own."""

from __future__ import annotations

import csv
import subprocess
import sys
from typing import Any

from studies.linkage.runners.exchange import Given, serve


def link(given: Given) -> dict[str, Any]:
    """Return the matches with their confidence; none where the verdict is that the matching failed."""
    folder, options = given.folder, ["--seed", str(given.seed), "--quiet", "-o", "matches.csv"]
    if given.known:
        lines = ["source,target", *(f"{i},{j}" for i, j in given.known)]
        (folder / "known.csv").write_text("\n".join(lines), encoding="utf-8")
        options += ["--pairs", "known.csv"]
    if (folder / "arrays.npz").exists():
        import numpy as np

        with np.load(folder / "arrays.npz") as arrays:
            np.save(folder / "a.npy", arrays["A"])
            np.save(folder / "b.npy", arrays["B"])
    ending = "npy" if (folder / "a.npy").exists() else "csv"
    command = [sys.executable, "-m", "isthmus", "match", f"a.{ending}", f"b.{ending}", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(" ".join(done.stderr.split()) or f"exit status {done.returncode}")
    with (folder / "matches.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    pairs = [(int(row["source"]), int(row["target"])) for row in rows]
    return {"pairs": pairs, "scores": [float(row["confidence"]) for row in rows], "ok": float(bool(rows))}


if __name__ == "__main__":
    serve(link)
