"""Which rule ``bounds="auto"`` should follow: who takes part, and on which rows.

Reuters and Office, the data of the paper's tables, are not among them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import StandardScaler

from isthmus._core.validation import FloatArray, is_sparse
from isthmus.data.domains import Domain
from isthmus.study.design import Entrant, Fit, average_precision
from isthmus.study.study import Study
from isthmus.study.trial_rows import Trial, TrialRows, hash_name, prepare_trial_rows
from studies.datasets import load_debian, load_mfeat, load_snareseq
from studies.datasets.collection import Collection
from studies.defaults.rules import BEFORE, RULES, SHORT_LIST, Rule, RuledMLHD
from studies.views import Loader, Views, draw_split, load_views, take_rows

KERNELS = "linear", "rbf"
VARIANTS = {"1": "1 label per class", "3": "3 labels per class"}
MOST_LABELLED = 3


def load_digit_views(folder: Path | None = None) -> Collection:
    """Scikit-learn's digits, each by its pixels and by its shape: ink per row and column, centre, second moments."""
    images, y = datasets.load_digits(return_X_y=True)
    objects = np.arange(len(y))
    return Collection(
        name="digit views",
        title="handwritten digits by pixels and by simple shape features",
        domains={"pixels": Domain(images, y), "shape": Domain(_shape(images.reshape(-1, 8, 8)), y)},
        objects={"pixels": objects, "shape": objects},
        classes=tuple("0123456789"),
        provenance="UCI, by way of sklearn.datasets.load_digits",
        licence="CC BY 4.0",
    )


def _shape(images: FloatArray) -> FloatArray:
    mass = images.sum(axis=(1, 2))
    grid = np.arange(8.0)
    across, down = images.sum(axis=1), images.sum(axis=2)
    x, y = across @ grid / mass, down @ grid / mass
    xx, yy = across @ grid**2 / mass - x**2, down @ grid**2 / mass - y**2
    xy = np.einsum("nij,i,j->n", images, grid, grid) / mass - x * y
    return np.column_stack([across, down, mass, x, y, xx, yy, xy])


LOADERS: dict[str, Loader] = {
    "mfeat": load_mfeat,
    "snareseq": load_snareseq,
    "debian": load_debian,
    "digits": load_digit_views,
}
PAIRS = (
    "mfeat fou76→kar64",
    "mfeat zer47→fac216",
    "mfeat pix240→fou76",
    "mfeat pix240→fou76 raw",
    "mfeat mor6→zer47",
    "snareseq rna10→atac19",
    "snareseq atac19→rna10",
    "debian en→fr",
    "debian fr→de",
    "digits pixels→shape",
)
"""The collection, its two views, and whether features are left as they are."""


@dataclass(frozen=True)
class DevelopmentRows:
    """The rows of a trial, whose variant is the number of labels per class; ``folder`` has the data of the pairs."""

    folder: Path | None = field(default=None, compare=False)
    pairs: tuple[str, ...] = field(default=PAIRS, compare=False)

    def check(self) -> None:
        """Raise if data are not there."""
        for pair in self.pairs:
            self.views(pair)

    def views(self, pair: str) -> Views:
        """The two views of a pair."""
        collection, names = pair.split(" ")[:2]
        source, target = names.split("→")
        return load_views(LOADERS[collection], self.folder, source, target)

    def __call__(self, trial: Trial) -> TrialRows:
        """Features standardised, those of text by 100 singular vectors, both by the training rows of the domain."""
        views = self.views(trial.group)
        seed = [trial.seed, hash_name(trial.group)]
        rows = take_rows(views, draw_split(views.y, seed, int(trial.variant), MOST_LABELLED))
        svd = TruncatedSVD(100, algorithm="arpack", random_state=0)
        each: Any = svd if is_sparse(views.X) else None if trial.group.endswith(" raw") else StandardScaler()
        return prepare_trial_rows(rows, each, each)


def iterations(fit: Fit) -> float:
    """How long the solver took."""
    return float(fit.model.n_iter_)


FIGURES = {"map": average_precision, "iterations": iterations}
Weights = tuple[float, float]
WEIGHTS: dict[str, tuple[Weights, ...]] = {
    "rules": ((1.0, 1.0),),
    "weights": ((0.1, 1.0), (10.0, 1.0), (1.0, 0.1), (1.0, 10.0)),
    "convergence": tuple(product((1e-3, 1.0, 1e2), (1e-2, 1.0, 1e2, 1e3))),
}
"""λ1 and λ2 of every study."""
CANDIDATES: dict[str, tuple[Rule, ...]] = {"rules": RULES, "weights": SHORT_LIST, "convergence": (BEFORE,)}


def column(rule: Rule, kernel: str, weights: Weights = (1.0, 1.0)) -> str:
    """What a fit is called.

    Examples
    --------
    >>> column(BEFORE, "rbf", (0.1, 1.0))
    'spread × (0.5, 1.5), rbf, λ1 = 0.1, λ2 = 1'
    """
    return f"{rule}, {kernel}, λ1 = {weights[0]:g}, λ2 = {weights[1]:g}"


def study(name: str, folder: Path | None = None, pairs: Iterable[str] = PAIRS) -> Study:
    """One of the three studies, on the data of a folder (None: :func:`studies.datasets.data_folder`)."""
    cells = product(CANDIDATES[name], KERNELS, WEIGHTS[name])
    entrants = tuple(
        Entrant(column(rule, kernel, (a, b)), partial(RuledMLHD, rule, kernel, alignment_weight=a, pair_weight=b))
        for rule, kernel, (a, b) in cells
    )
    rows = DevelopmentRows(folder, tuple(pairs))
    return Study(name, rows, entrants, groups=rows.pairs, variants=VARIANTS, figures=FIGURES)
