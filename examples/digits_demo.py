"""Handwritten digits as two domains: classify five digits without a label by means of the other domain.

The source has pixels and all labels. The target has shape features of other images; three rows per digit are
labelled, but only of five digits. A target-only rule can't predict the other five, so its accuracy is below one
half; LabelTransfer predicts them. Corrupted sources test whether that is due to the source. A second study labels
all ten digits: does the source still help? Nothing is tuned; test labels are used for scores and for the picture.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
import warnings
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from isthmus import ARC, CCA, MLHD, LabelTransfer
from isthmus.cli.process import run_command
from isthmus.data.datasets import load_digits
from isthmus.estimators.controls import SelfTrainedLDA
from isthmus.exceptions import DataWarning
from isthmus.study.board import Board
from isthmus.study.design import Entrant
from isthmus.study.study import Study
from isthmus.study.trial_rows import CorruptedRows, Trial, TrialRows
from isthmus.view.canvas import save_figure

TRANSFER, BOUNDED, WHOLE = "LabelTransfer", "target only (self-trained LDA)", "target only, all ten digits labelled"
KINDS = "noise", "permuted", "renamed"
CORRUPTED = {kind: f"LabelTransfer, {kind} source" for kind in KINDS}
CONTROLS = "target SVM", "target label spreading", "target self-trained LDA"
NOTES = """\
Noise: random features with the mean and covariance of the source. Permuted: permuted source labels. Renamed:
exchanged names of the digits. Splits share images, so intervals are somewhat too narrow."""
EPILOG = """\
Another --seed draws other images and other digits; the verdicts should not depend on it. With --labelled 10 a
target-only rule knows its five digits well, and still can't predict the others."""
RIGHT, WRONG = "#117733", "#cc3311"
SHOWN = 9


@dataclass(frozen=True)
class HalfTheDigits:
    """Remove the target labels of five digits, drawn by the seed, and corrupt the source if a kind is given."""

    corrupted: str | None = None

    def __call__(self, rows: TrialRows, seed: int) -> TrialRows:
        known = np.random.default_rng([seed, 5]).permutation(10)[:5]
        rows = replace(rows, y_target=np.where(np.isin(rows.y_target, known), rows.y_target, -1))
        return rows if self.corrupted is None else CorruptedRows(self.corrupted)(rows, seed)


def make_transfer(random_state=0):
    """Return LabelTransfer without calibrated probabilities: classes are all that is compared here."""
    return LabelTransfer(calibrate=False, random_state=random_state)


def hidden_digits(rows: TrialRows) -> list[int]:
    """Return the digits without a labelled target row."""
    return np.setdiff1d(rows.y_source, rows.y_target[rows.labelled]).tolist()


def naming(labelled: int) -> Study:
    """Return the study with labels of five digits: which systems can predict the others?"""
    prepared = PCA(30)
    by_neighbours = {"rule": "nearest", "source_transformer": prepared, "target_transformer": prepared}
    half = HalfTheDigits()
    return Study.of(
        partial(load_digits, labelled),
        [
            Entrant(BOUNDED, SelfTrainedLDA, control=True, rows=half),
            *(
                Entrant(f"{make.__name__}, nearest source row", make(**by_neighbours), rows=half)
                for make in (MLHD, ARC, CCA)
            ),
            Entrant(TRANSFER, make_transfer, rows=half),
            *(Entrant(CORRUPTED[k], make_transfer, control=True, rows=HalfTheDigits(k)) for k in KINDS),
            Entrant(WHOLE, SelfTrainedLDA, control=True),
        ],
        source_transformer=StandardScaler(),
        target_transformer=StandardScaler(),
        name="naming",
    )


def every_digit(labelled: int) -> Study:
    """Return the study with labels of all digits: does the source help?"""
    return Study.of(
        partial(load_digits, labelled),
        [*CONTROLS, Entrant(TRANSFER, make_transfer)],
        source_transformer=StandardScaler(),
        target_transformer=StandardScaler(),
        name="every digit",
    )


def naming_verdict(board: Board) -> str:
    """Return whether the source named the digits: better than without it, and than with any corrupted one."""
    gain, *knowledge = board.claims((TRANSFER, other) for other in (BOUNDED, *CORRUPTED.values()))
    if gain.verdict != "holds":
        said = "The source did NOT name the digits that nobody labelled"
    elif all(claim.verdict == "holds" for claim in knowledge):
        said = "The source named the digits that nobody labelled"
    else:
        said = "LabelTransfer won, but NOT by what the source knows"
    return "\n  ".join([f"{said}.", str(gain), *(str(claim) for claim in knowledge)])


def worth_verdict(board: Board) -> str:
    """Return whether the source helped with all digits labelled."""
    best = max(CONTROLS, key=lambda name: board.scores(name).mean())
    claim = board.claims([(TRANSFER, best)])[0]
    words = {"holds": "The source helped", "reversed": "The source did NOT help"}
    return f"{words.get(claim.verdict, 'There is NO proof that the source helped')}.\n  {claim}"


def picture(seed: int, rows: TrialRows, board: Board):
    """Draw test images of the unlabelled digits with their predicted classes, and all accuracies."""
    from matplotlib.figure import Figure

    pair = load_digits(1, random_state=seed)
    images = datasets.load_digits().images[pair.test_ids]
    rng, hidden = np.random.default_rng(seed), hidden_digits(rows)
    chosen = np.array([rng.choice(np.flatnonzero(rows.y_test == digit), SHOWN, replace=False) for digit in hidden])
    figure = Figure(figsize=(15, 5.2), layout="constrained")
    without, given, bars = figure.subplots(1, 3, width_ratios=(1, 1, 0.95))
    for axes, model, title in (
        (without, SelfTrainedLDA(), "Without the source: labels of five other digits only"),
        (given, make_transfer(random_state=seed), "With the source: names for digits that nobody labelled"),
    ):
        draw_names(axes, images[chosen], model.fit(*rows.fit).predict(rows.X_test)[chosen], hidden)
        axes.set_title(title, fontsize=11)
    draw_bars(bars, board)
    return figure


def draw_names(axes, images, names, hidden) -> None:
    """Draw a row of images per unlabelled digit, each with its predicted class: green if right."""
    n, m = names.shape
    sheet = np.zeros((n * 13, m * 9))
    for (i, j), name in np.ndenumerate(names):
        sheet[13 * i + 4 : 13 * i + 12, 9 * j : 9 * j + 8] = images[i, j]
        colour = RIGHT if name == hidden[i] else WRONG
        axes.text(9 * j + 3.5, 13 * i + 1.6, str(name), color=colour, ha="center", va="center", weight="bold")
    axes.imshow(sheet, cmap="gray_r", interpolation="nearest")
    axes.set_axis_off()


def draw_bars(axes, board: Board) -> None:
    """Draw the mean accuracy of every system."""
    names = list(board.design.columns)[::-1]
    means = [board.scores(name).mean() for name in names]
    colours = ["#bbbbbb" if name in board.design.controls else "#88ccee" for name in names]
    colours[names.index(TRANSFER)] = RIGHT
    axes.barh(range(len(names)), means, color=colours)
    for k, (name, mean) in enumerate(zip(names, means, strict=True)):
        axes.text(0.01, k, name, va="center", fontsize=9, color="white" if name == TRANSFER else "#222222")
        axes.text(mean + 0.015, k, f"{mean:.2f}", va="center", fontsize=9, backgroundcolor="white")
    axes.axvline(0.5, color="#222222", linestyle=":", linewidth=1, zorder=0)
    axes.set(xlim=(0, 1.02), yticks=[], xlabel="accuracy over all ten digits")
    axes.set_title("Dotted: the most that five names can reach", fontsize=11)
    axes.spines[["top", "right", "left"]].set_visible(False)


def run(options: argparse.Namespace) -> None:
    options.output.mkdir(parents=True, exist_ok=True)  # fails before the work if it can't be written
    pair = load_digits(options.labelled, random_state=options.seed)
    print(f"{textwrap.fill(pair.description, 118)}\n{textwrap.fill(str(pair), 118)}\n")

    study = naming(options.labelled)
    rows = HalfTheDigits()(study.rows(Trial("", "", options.seed)), options.seed)
    print(f"One fit, without target labels of the digits {hidden_digits(rows)}")
    print(f"{textwrap.fill(make_transfer(random_state=options.seed).fit(*rows.fit).verdict_, 118)}\n")

    seeds = range(options.seed, options.seed + options.splits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # five digits have no label on purpose
        board = study.run(seeds, n_jobs=options.jobs, progress=True)
    print(f"Five of ten digits labelled\n{board.table()}\n\n{NOTES}\n\n{naming_verdict(board)}\n")
    print("Picture:", *save_figure(picture(options.seed, rows, board), options.output / "names"))

    full = every_digit(options.labelled).run(seeds, n_jobs=options.jobs, progress=True)
    print(f"\nAll ten digits labelled\n{full.table()}\n\n{worth_verdict(full)}")


def main(arguments: list[str] | None = None) -> int:
    os.environ.setdefault("MPLBACKEND", "Agg")
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=layout)
    add = parser.add_argument
    add("--labelled", type=int, default=3, metavar="N", help="labelled target rows per digit (%(default)s)")
    splits = "random splits; fewer than 7 can't show a difference (%(default)s)"
    add("--splits", type=int, default=8, metavar="N", help=splits)
    add("--seed", type=int, default=0, metavar="N", help="split k uses the seed N + k (%(default)s)")
    add("--jobs", type=int, default=2, metavar="N", help="parallel splits (%(default)s)")
    add(
        "--output",
        type=Path,
        default=Path("demo-output"),
        metavar="FOLDER",
        help="folder for the picture (%(default)s)",
    )
    options = parser.parse_args(arguments)
    return run_command("digits_demo", lambda: run(options), "No picture was written.")


if __name__ == "__main__":
    sys.exit(main())
