"""One metric across two descriptions of handwritten digits, with the controls that show what it is worth.

The source sees pixels and has all its labels. The target sees shape features of other images and has a few. MLHD
learns one metric over both; a target row is then called by its nearest source row, or by the nearest row of both.
Whether the source was of any use is asked in two ways: against systems that never saw it, and against the same
source corrupted. Nothing is tuned; test labels are used for scoring, and to colour the picture.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from copy import copy
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from isthmus import MLHD, mmd
from isthmus.cli.ending import exit_status
from isthmus.datasets import load_digits
from isthmus.plotting import plot_before_after, save_figure
from isthmus.study import Board, CorruptedSource, Entrant, Rows, Study, Table, Trial

CONTROLS = "target 1-NN", "target SVM", "target label spreading", "target self-trained LDA"
CORRUPTED = "noise", "permuted", "renamed"
READINGS = "mlhd", "mlhd by both"
NOTES = """\
Noise: nothing of the source but its mean and covariance, under true labels. Permuted: every row has another row's
label. Renamed: every digit is called by another's name, which keeps the groups and takes their meaning. Splits share
images, so the intervals are somewhat too narrow."""
EPILOG = """\
Try --labelled 1 (hardest), then 5 and 20: the more labels the target has, the less there is left for a source to add.
Another --seed draws other images; the verdict should not depend on it."""


class UnitLength(TransformerMixin, BaseEstimator):
    """All features divided by one number: the rows of the fit then have a mean squared length of one."""

    def fit(self, X, y=None):
        self.length_ = np.sqrt(np.mean(np.sum(X**2, axis=1)))
        return self

    def transform(self, X):
        return X / self.length_


def by_both(model, rows, X):
    """The nearest row of both domains: a fitted model's rule may be changed without fitting it again."""
    return copy(model).set_params(references="both").predict(X)


def mlhd(ending: str = "", **others) -> Entrant:
    """One fit, with two ways to call a row."""
    return Entrant(f"{READINGS[0]}{ending}", MLHD, readings={f"{READINGS[1]}{ending}": by_both}, **others)


def question(labelled: int) -> Study:
    """Controls that never see the source, MLHD, and MLHD taught by corrupted sources."""
    corrupted = [mlhd(f", {kind}", control=True, rows=CorruptedSource(kind)) for kind in CORRUPTED]
    return Study.of(
        partial(load_digits, labelled),
        [*CONTROLS, mlhd(), *corrupted],
        source_transformer=make_pipeline(PCA(30), UnitLength()),  # pixels share a unit, shape features do not
        target_transformer=make_pipeline(StandardScaler(), PCA(30), UnitLength()),
        name="digits",
    )


def nearness(rows: Rows, model: MLHD) -> Table:
    """How near the domains are before learning (the identity metric) and after."""
    d_s, d_t = rows.X_source.shape[1], rows.X_target.shape[1]
    before = np.pad(rows.X_source, ((0, 0), (0, d_t))), np.pad(rows.X_test, ((0, 0), (d_s, 0)))
    after = model.transform(rows.X_source, "source"), model.transform(rows.X_test)
    same = rows.y_source[:, None] == rows.y_test
    apart = [pairwise_distances(*space) for space in (before, after)]
    figures = {
        "squared MMD, RBF kernel": [mmd(*space, estimator="biased") for space in (before, after)],
        "distance of the same class / of other classes": [D[same].mean() / D[~same].mean() for D in apart],
    }
    lines = tuple((name, *(f"{value:.3f}" for value in values)) for name, values in figures.items())
    return Table("", ("source rows and test rows", "before", "after"), lines)


def verdict(board: Board) -> str:
    """Whether the source helped: better than without any source, and better than with a corrupted one."""
    others = [f"{reading}, {kind}" for reading in READINGS for kind in CORRUPTED]
    best = [max(names, key=lambda name: board.scores(name).mean()) for names in (CONTROLS, others)]
    gain, knowledge = board.claims((READINGS[0], name) for name in best)
    learns = knowledge.verdict == "holds"
    if gain.verdict == "holds":
        said = "The source helped" if learns else "MLHD won, but NOT by what the source knows"
    else:
        said = "The source did NOT help" if gain.verdict == "reversed" else "There is NO proof that the source helped"
        said += "; MLHD does learn from it" if learns else "; nor is it shown to matter what the source says"
    return f"{said}.\n  {gain}\n  {knowledge}"


def draw(rows: Rows, model: MLHD, folder: Path) -> list[Path]:
    """Labelled target rows and test rows among the source rows, as files that appear whole or not at all."""
    X = np.vstack([rows.X_target[rows.labelled], rows.X_test])
    truth = np.concatenate([rows.y_target[rows.labelled], rows.y_test])
    shown = np.where(np.arange(len(X)) < len(rows.labelled), truth, -1)
    title = "Triangles are test rows, never trained on; a bold digit is the mean of its source rows"
    figure = plot_before_after(model, rows.X_source, rows.y_source, X, shown, truth=truth, title=title)
    return save_figure(figure, folder / "common_space")


def run(options: argparse.Namespace) -> None:
    options.output.mkdir(parents=True, exist_ok=True)  # what can't be written is better found out before the work
    pair = load_digits(options.labelled, random_state=options.seed)
    print(f"{textwrap.fill(pair.description, 118)}\n{textwrap.fill(str(pair), 118)}\n")

    print("One fit, on 30 principal components of either domain")
    study = question(options.labelled)
    rows = study.rows(Trial("", "", options.seed))
    model = MLHD(progress=True).fit(*rows.fit)
    print(f"{model.result_}\n\n{nearness(rows, model)}\n")

    board = study.run(range(options.seed, options.seed + options.splits), n_jobs=options.jobs, progress=True)
    claims = [(READINGS[0], control) for control in CONTROLS]
    claims += [(reading, f"{reading}, {kind}") for reading in READINGS for kind in CORRUPTED]
    print(f"{board.table()}\n\n{board.claim_table(claims)}\n\n{NOTES}\n\n{verdict(board)}\n")
    print("Picture:", *draw(rows, model, options.output))


def main(arguments: list[str] | None = None) -> int:
    os.environ.setdefault("MPLBACKEND", "Agg")
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=layout)
    add = parser.add_argument
    add("--labelled", type=int, default=2, metavar="N", help="labelled target rows per class (%(default)s)")
    add(
        "--splits",
        type=int,
        default=20,
        metavar="N",
        help="random splits; below 7 nothing can be shown (%(default)s)",
    )
    add("--seed", type=int, default=0, metavar="N", help="split k uses the seed N + k (%(default)s)")
    add("--jobs", type=int, default=2, metavar="N", help="splits side by side (%(default)s)")
    add("--output", type=Path, default=Path("demo-output"), metavar="FOLDER", help="for the picture (%(default)s)")
    options = parser.parse_args(arguments)
    return exit_status("digits_demo", lambda: run(options), "No verdict, and no picture was written.")


if __name__ == "__main__":
    sys.exit(main())
