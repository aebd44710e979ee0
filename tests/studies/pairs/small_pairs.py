"""Made data of the study of known pairs, and studies on them that take no time."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from isthmus.study.design import Entrant
from studies.pairs import data, retrieval, transfer
from studies.pairs.data import Paired
from studies.pairs.rows import PairedDraw

NUMBERS, TEXT = "digits pixels–shape", "Debian en–fr"
GROUPS = (NUMBERS, TEXT)


def numbers(folder=None, n=260):
    """One hidden vector of six numbers per object, seen through two linear maps; three classes."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    hidden = rng.normal(size=(n, 6)) + 1.5 * rng.normal(size=(3, 6))[y]
    A, B = (hidden @ rng.normal(size=(6, d)) + 0.05 * rng.normal(size=(n, d)) for d in (9, 7))
    return Paired(A, B, y, data.shared_columns((), ()))


def texts(folder=None, n=260):
    """Words of two languages, of which the first five are the same."""
    rng = np.random.default_rng(1)
    y = np.arange(n) % 3
    topics = rng.gamma(0.4, size=(n, 8)) * (1.0 + 20.0 * np.eye(3, 8)[y])
    A, B = (np.maximum(topics @ rng.gamma(0.3, size=(8, d)) - 0.3, 0.0) for d in (40, 30))
    names = [
        tuple(f"w{k}" for k in range(5)) + tuple(f"{s}{k}" for k in range(d - 5)) for s, d in (("e", 40), ("f", 30))
    ]
    B[:, :5] = A[:, :5]
    return Paired(sp.csr_matrix(A), sp.csr_matrix(B), y, data.shared_columns(*names))


def use_small_data(monkeypatch):
    """Let two groups of the study be made data."""
    monkeypatch.setitem(data.SETS, NUMBERS, numbers)
    monkeypatch.setitem(data.SETS, TEXT, texts)
    data.views.cache_clear()
    monkeypatch.setattr("studies.pairs.rows.MOST_UNPAIRED", 30)


def small_study(module, n_pairs=(10, 60), **changes):
    """A part of the study on the made data, with few systems."""
    study = module.study()
    kept = [e for e in study.entrants if e.control or e.name in ("ridge", "cca")]
    kept = [e for e in kept if not e.name.startswith("mlhd")]
    variants = {str(P): f"{P} known pairs" for P in n_pairs}
    rows = PairedDraw(dict.fromkeys(GROUPS, 60), max(n_pairs))
    return replace(study, rows=rows, entrants=tuple(kept), groups=GROUPS, variants=variants, **changes)


__all__ = ["Entrant", "retrieval", "small_study", "transfer", "use_small_data"]
