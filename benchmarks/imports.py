"""``from isthmus import MLHD`` against what it needs of scikit-learn anyway; each import in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial

from benchmarks.record import Bar, Options, Record, verdict
from benchmarks.timing import interleaved_medians

RATIO_BAR = 1.3
SCRIPT = "import time; began = time.process_time(); {}; print(time.process_time() - began)"


def run(record: Record, options: Options, announce: Callable[[str], None]) -> None:
    """The ratio of both import times, interpreter start excluded."""
    announce("import")
    ours = partial(_seconds, "from isthmus import MLHD")
    theirs = partial(_seconds, "import sklearn.neighbors, sklearn.metrics")
    ours(), theirs()  # the first of each reads files that later ones find in memory
    isthmus, sklearn = interleaved_medians((ours, theirs), max(options.repeats, 5))
    ratio = isthmus / sklearn
    record.bars.append(
        Bar(
            f"from isthmus import MLHD: less than {RATIO_BAR}x of importing sklearn.neighbors and sklearn.metrics",
            f"{ratio:.2f}x ({isthmus * 1e3:.0f} ms, scikit-learn {sklearn * 1e3:.0f} ms)",
            verdict(ratio < RATIO_BAR),
        )
    )


def _seconds(statement: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(statement)], stdout=subprocess.PIPE, text=True, check=True
    )
    return float(done.stdout)
