"""One other system at scale: ``python -m benchmarks.systems_scale_run KIND N D_SOURCE D_TARGET SEED``.

It prints one line of JSON. Seconds are processor time of ``fit``, memory is the most that the process ever held, and
recall is that of 1,000 new pairs among each other (or the share of new target rows whose class is right).
"""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import dataclass
from typing import Any

from benchmarks import threads

PRODUCT_ROWS = 20_000
"""So many rows of a bare product are timed, and scaled."""
HIDDEN, NOISE, NEW = 128, 0.3, 1000
DRAWN_AT_ONCE = 16_384
LANDMARKS = 500


@dataclass(frozen=True)
class Data:
    """Arguments of ``fit``, the tables whose product is the unit, and how good what was learned is."""

    arguments: tuple[Any, ...]
    pairs: str | None
    tables: tuple[Any, ...]
    new: tuple[Any, Any]

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(int(table.nbytes) for table in self.tables)

    def quality(self, model: Any) -> float:
        """Recall at one of new pairs, or accuracy on new rows."""
        if self.pairs is None:
            return float(model.score(*self.new))
        return float((model.search(*self.new, 1)[1][:, 0] == range(NEW)).mean())


def make_pairs(n: int, widths: tuple[int, int], seed: int) -> Data:
    """Two noisy views of hidden rows with a decaying spectrum, in single precision."""
    import numpy as np

    from isthmus._core.rows import ArrayRows

    rng = np.random.default_rng(seed)
    scale = (np.arange(1.0, HIDDEN + 1.0) ** -0.5).astype(np.float32)
    maps = [scale[:, None] * rng.standard_normal((HIDDEN, d), dtype=np.float32) for d in widths]
    tables = [np.empty((n + NEW, d), dtype=np.float32) for d in widths]
    for start in range(0, n + NEW, DRAWN_AT_ONCE):
        hidden = rng.standard_normal((min(DRAWN_AT_ONCE, n + NEW - start), HIDDEN), dtype=np.float32)
        for table, T in zip(tables, maps, strict=True):
            noise = rng.standard_normal((len(hidden), table.shape[1]), dtype=np.float32)
            table[start : start + len(hidden)] = hidden @ T + np.float32(NOISE) * noise
    A, B = (table[:n] for table in tables)
    return Data((ArrayRows(A), None, ArrayRows(B), None), "rows", (A, B), (tables[1][n:], tables[0][n:]))


def make_labels(n: int, seed: int) -> Data:
    """The classes of ``benchmarks.scale``: labelled source rows, and 60 labelled target rows."""
    import numpy as np

    from benchmarks.scale_data import N_CLASSES, synthetic
    from isthmus._core.rows import ArrayRows

    rows, others = synthetic(n, seed), [synthetic(1, seed + k) for k in range(1000, 1010)]
    new = np.vstack([each.target for each in others]), np.concatenate([each.y_target for each in others])
    arguments = ArrayRows(rows.X, rows.y), np.arange(N_CLASSES), rows.target, rows.y_target
    return Data(arguments, None, (rows.X,), new)


def systems() -> dict[str, Any]:
    """Each kind: an unfitted system."""
    from isthmus import ARC, CCA, KCCA, Landmarks, Procrustes, RidgeMap

    marks = Landmarks("rbf", LANDMARKS)
    by_pairs = {"procrustes": Procrustes(), "ridge": RidgeMap(), "cca": CCA(), "kcca": KCCA(marks, marks)}
    return {**by_pairs, "arc": ARC(rule="means"), "cca by labels": CCA()}


def main(kind: str, n: int, d_source: int, d_target: int, seed: int) -> dict[str, object]:
    """The figures of a run."""
    from time import process_time

    import numpy as np

    by_labels = kind in ("arc", "cca by labels")
    data = make_labels(n, seed) if by_labels else make_pairs(n, (d_source, d_target), seed)
    system = systems()[kind]
    before = _peak()
    began = process_time()
    system.fit(*data.arguments, pairs=data.pairs)
    seconds, peak = process_time() - began, _peak()
    part = np.hstack([table[:PRODUCT_ROWS] for table in data.tables]).astype(np.float64)
    part.T @ part
    began = process_time()
    part.T @ part
    product = (process_time() - began) * n / len(part)
    return {
        "kind": kind, "n": n, "d_source": d_source, "d_target": d_target, "seed": seed, "seconds": round(seconds, 3),
        "product": round(product, 5), "products": round(seconds / product, 2),
        "peak_over_data": round(peak / data.size, 3), "before_over_data": round(before / data.size, 3),
        "quality": round(data.quality(system), 4),
    }  # fmt: skip


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    threads.pin()
    kind, *sizes = sys.argv[1:]
    print(json.dumps(main(kind, *map(int, sizes))))
