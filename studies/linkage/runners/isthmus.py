"""``isthmus.match`` on two data frames, as a user calls it."""

from __future__ import annotations

from typing import Any

import numpy as np

from studies.linkage.runners.exchange import Given, serve


def link(given: Given) -> dict[str, Any]:
    """Return the pairs with their confidence, and the verdict."""
    from isthmus import match

    pairs = np.array(given.known) if given.known else None
    if (given.folder / "arrays.npz").exists():
        with np.load(given.folder / "arrays.npz") as arrays:
            A, B, shared = arrays["A"], arrays["B"], (arrays["S"], arrays["T"])
        found = match(A, B, pairs, shared=shared, one_to_one=given.one_to_one, random_state=given.seed)
    else:
        import pandas as pd

        A, B = (pd.read_csv(given.folder / name) for name in ("a.csv", "b.csv"))
        found = match(A, B, pairs, shared="auto", one_to_one=given.one_to_one, random_state=given.seed)
    ok = 0.5 if found.ok is None else float(found.ok)
    return {"pairs": found.pairs.tolist(), "scores": found.confidence.tolist(), "ok": ok, "sentence": found.sentence}


if __name__ == "__main__":
    serve(link)
