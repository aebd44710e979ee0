"""One metric across two descriptions of handwritten digits, with the controls that show what it is worth.

The source sees pixels and has all its labels. The target sees shape features of other images and has a few.
MLHD learns one metric over both; a target row is then classified by its nearest source row. Whether the source
was of any use is asked in two ways: against methods that never saw it, and against the same source spoilt.

Nothing is tuned: 3 x classes principal components of either domain, centred and scaled on training rows only;
MLHD and the controls as they come. (While this was written one alternative was looked at,
on other splits of the same images: without centring every method did worse, or no better.) Test labels are used for
scoring, to pick the best control of each kind, which favours the controls, and to colour the picture.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from isthmus import MLHD, mmd, systems
from isthmus.controls import noise_source, permuted_source, renamed_source
from isthmus.datasets import DomainPair, load_digits
from isthmus.exceptions import InputError, MissingDependencyError
from isthmus.plotting import plot_before_after

COMPONENTS_A_CLASS = 3
RULES = {"source": "nearest source row", "both": "nearest row of both"}
FAVOURITE = ("true source", "source")
"""The method that the verdict is about, chosen beforehand: MLHD as it comes."""

Rows = NDArray[np.float64]
Labels = NDArray[np.intp]
Scores = Mapping[tuple[str, str], NDArray[np.float64]]
"""Accuracy on every split, by (method or source, rule)."""

NOTES = """\
  Noise features: nothing of the source but its mean and covariance, under true labels. Permuted labels: each row's
  label drawn from another row. Renamed classes: every digit called by another's name, which keeps the groups and
  spoils their meaning. Splits share images, so the intervals are somewhat too narrow."""


@dataclass(frozen=True)
class Split:
    """Prepared rows: the source S, the training target T, the test rows E, and their labels."""

    S: Rows
    y_source: Labels
    T: Rows
    y_target: Labels
    E: Rows
    y_test: Labels

    @property
    def labelled(self) -> NDArray[np.bool_]:
        return self.y_target != -1


def prepared(pair: DomainPair) -> Split:
    """Centred principal components with a mean squared norm of one, learned without test rows."""
    k = COMPONENTS_A_CLASS * len(pair.classes)
    # Pixels share a unit, shape features do not.
    source = PCA(k, random_state=0).fit(pair.X_source)
    target = make_pipeline(StandardScaler(), PCA(k, random_state=0)).fit(pair.X_target)
    S, T, E = source.transform(pair.X_source), target.transform(pair.X_target), target.transform(pair.X_test)
    return Split(S / norm(S), pair.y_source, T / norm(T), pair.y_target, E / norm(T), pair.y_test)


def norm(X: Rows) -> float:
    return float(np.sqrt(np.mean(np.sum(X**2, axis=1))))


# ---------------------------------------------------------------------------------------------- the methods


CONTROLS = {
    "1-NN": "target 1-NN",
    "linear SVM": "target SVM",
    "self-trained LDA": "target self-trained LDA",
    "label spreading": "target label spreading",
}
"""Methods that never see the source, by their names in the table and in :func:`isthmus.systems`."""


def target_only(split: Split) -> Iterator[tuple[str, float]]:
    """Accuracy of methods that never see the source."""
    for name, system in CONTROLS.items():
        control = systems()[system].make().fit(split.S, split.y_source, split.T, split.y_target)
        yield name, control.score(split.E, split.y_test)


def sources(split: Split, seed: int) -> Iterator[tuple[str, Split]]:
    """The true source, then three that are spoilt."""
    yield FAVOURITE[0], split
    spoilt = {"noise features": noise_source, "permuted labels": permuted_source, "renamed classes": renamed_source}
    for number, (name, spoil) in enumerate(spoilt.items()):
        X, y = spoil(split.S, split.y_source, np.random.default_rng([seed, number]))
        yield name, replace(split, S=X, y_source=y)


def learned(split: Split, progress: bool = False) -> MLHD:
    return MLHD(progress=progress).fit(split.S, split.y_source, split.T, split.y_target)


def across(split: Split, model: MLHD) -> Iterator[tuple[str, float]]:
    """Accuracy in the common space, by the nearest source row or the nearest of all labelled rows."""
    known = split.labelled
    S, T = model.transform(split.S, domain="source"), model.transform(split.T[known], domain="target")
    E = model.transform(split.E, domain="target")
    both = np.vstack([S, T]), np.concatenate([split.y_source, split.y_target[known]])
    for rule, (rows, labels) in {"source": (S, split.y_source), "both": both}.items():
        yield rule, KNeighborsClassifier(1).fit(rows, labels).score(E, split.y_test)


def accuracies(pair: DomainPair, seed: int) -> dict[tuple[str, str], float]:
    """Every method on one split."""
    split = prepared(pair)
    scores = {(name, ""): score for name, score in target_only(split)}
    for name, variant in sources(split, seed):
        scores |= {(name, rule): score for rule, score in across(variant, learned(variant))}
    return scores


# ----------------------------------------------------------------------------------------------- the report


def describe(pair: DomainPair) -> None:
    labels = np.bincount(pair.y_target[pair.y_target != -1])
    (n_s, d_s), (n_t, d_t) = pair.X_source.shape, pair.X_target.shape
    names = pair.target_features
    print("Two domains with no image and no feature in common")
    print(textwrap.fill(pair.description, 100, initial_indent="  ", subsequent_indent="  "))
    print(f"  source  {n_s:>4} rows, {d_s} features ({pair.source_features[0]} ...), all labelled")
    print(f"  target  {n_t:>4} rows, {d_t} features ({names[0]} ... {names[-1]}),")
    print(f"               {labels.sum()} labelled ({labels.min()} for each of {len(labels)} classes), ", end="")
    print(f"{n_t - labels.sum()} unlabelled")
    print(f"  test    {len(pair.X_test):>4} target rows, never trained on")


def report_space(split: Split, model: MLHD) -> None:
    """How near the domains are before learning (the identity metric) and after."""
    d_s, d_t = split.S.shape[1], split.T.shape[1]
    before = np.pad(split.S, ((0, 0), (0, d_t))), *(np.pad(X, ((0, 0), (d_s, 0))) for X in (split.T, split.E))
    after = model.transform(split.S, domain="source"), *(model.transform(X) for X in (split.T, split.E))
    figures = [nearness(*space, split.y_source, split.y_test) for space in (before, after)]
    print(f"  {'in the common space':<62}{'before':>8}{'after':>8}")
    for name in figures[0]:
        print(f"  {name:<62}{figures[0][name]:>8.3f}{figures[1][name]:>8.3f}")


def nearness(S: Rows, T: Rows, E: Rows, y_source: Labels, y_test: Labels) -> dict[str, float]:
    D, same = pairwise_distances(S, E), y_source[:, None] == y_test
    return {
        "distance of the two means (0: centring has done it already)": float(
            np.linalg.norm(S.mean(axis=0) - T.mean(axis=0))
        ),
        "squared MMD, RBF kernel of median bandwidth": float(mmd(S, T, kernel="rbf", estimator="biased")),
        "source to test rows: same class / other classes": float(D[same].mean() / D[~same].mean()),
    }


def report_scores(scores: Scores, n_classes: int) -> None:
    best = best_of(scores, {key for key in scores if not key[1]})
    groups = {
        "target only, labelled rows": [("1-NN", ""), ("linear SVM", "")],
        "target only, unlabelled rows too": [("self-trained LDA", ""), ("label spreading", "")],
        "MLHD": [(FAVOURITE[0], rule) for rule in RULES],
        "MLHD, a spoilt source": [
            (name, rule) for name in ("noise features", "permuted labels", "renamed classes") for rule in RULES
        ],
    }
    print(f"  {'':<40}{'accuracy %':>14}{f'minus {best[0]}':>30}")
    print(f"  {'chance':<40}{100 / n_classes:>9.1f}")
    for title, keys in groups.items():
        print(f"  {title}")
        for key in keys:
            mean, sd = 100 * scores[key].mean(), 100 * scores[key].std(ddof=1)
            name = key[0] + (f", {RULES[key[1]]}" if key[1] else "")
            print(f"    {name:<38}{mean:>9.1f} ± {sd:<4.1f}", end="")
            print(f"{'':>12}(the best control)" if key == best else f"{Difference.of(scores, key, best)!s:>28}")


@dataclass(frozen=True)
class Difference:
    """A mean paired difference in points of accuracy, with a 95 % interval by Student's t over the splits."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, scores: Scores, one: tuple[str, str], other: tuple[str, str]) -> Difference:
        points = 100 * (scores[one] - scores[other])
        half = stats.t.ppf(0.975, len(points) - 1) * stats.sem(points)
        return cls(float(points.mean()), float(points.mean() - half), float(points.mean() + half))

    def __str__(self) -> str:
        return f"{self.mean:+.1f} [{self.low:+.1f}, {self.high:+.1f}]"


def best_of(scores: Scores, keys: set[tuple[str, str]]) -> tuple[str, str]:
    return max(sorted(keys), key=lambda key: float(scores[key].mean()))


def verdict(scores: Scores) -> str:
    """Whether the source helped: better than without any source, and better than with a spoilt one."""
    control = best_of(scores, {key for key in scores if not key[1]})
    spoilt = best_of(scores, {key for key in scores if key[1] and key[0] != FAVOURITE[0]})
    gain, knowledge = Difference.of(scores, FAVOURITE, control), Difference.of(scores, FAVOURITE, spoilt)
    against = f"{gain} points against target-only {control[0]}"
    compared = f"the true source is at {knowledge} points against one with {spoilt[0]} ({RULES[spoilt[1]]})"
    if gain.low > 0 and knowledge.low > 0:
        return f"The source helped: {against}, and {compared}."
    if gain.low > 0:
        return f"MLHD won ({against}), but NOT by what the source knows: {compared}."
    lead = "The source did NOT help" if gain.high < 0 else "There is NO proof that the source helped"
    rest = (
        "MLHD does learn from it, though" if knowledge.low > 0 else "Nor is there proof that it matters what it says"
    )
    return f"{lead}: {against}.\n{rest}: {compared}."


def draw(split: Split, model: MLHD, path: Path) -> None:
    """Labelled target rows and test rows among the source rows; the file appears whole or not at all."""
    known = split.labelled
    T = np.vstack([split.T[known], split.E])
    truth = np.concatenate([split.y_target[known], split.y_test])
    shown = np.where(np.arange(len(T)) < known.sum(), truth, -1)
    title = "Triangles are test rows, never trained on; a bold digit is the mean of its source rows"
    figure = plot_before_after(model, split.S, split.y_source, T, shown, truth=truth, title=title)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        figure.savefig(unfinished, format="png", dpi=120)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


# --------------------------------------------------------------------------------------------------- the run


def writable(path: Path) -> Path:
    """The picture's file, found out to be impossible before the work and not after it."""
    path = path / "common_space.png" if path.is_dir() else path
    path.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"--output: expected a folder that can be written to, got {path.parent}.")
    return path


def tick(done: int, of: int, began: float) -> None:
    """One line that is overwritten on a terminal; one line at the end in a file."""
    if sys.stderr.isatty() or done == of:
        start, end = ("\r", "\n" if done == of else "") if sys.stderr.isatty() else ("", "\n")
        print(
            f"{start}  split {done} of {of}, {time.perf_counter() - began:.0f} s",
            end=end,
            file=sys.stderr,
            flush=True,
        )


def run(options: argparse.Namespace) -> None:
    pair = load_digits(options.labelled, random_state=options.seed)
    picture = writable(options.output)
    describe(pair)

    print(f"\nOne fit, on {COMPONENTS_A_CLASS * len(pair.classes)} principal components of either domain")
    split = prepared(pair)
    model = learned(split, progress=True)
    print(f"  {model.result_}")
    report_space(split, model)

    print(f"\nTest accuracy over {options.splits} random splits: mean ± sd, paired difference [95 % interval]")
    began, table = time.perf_counter(), []
    for k in range(options.splits):
        seed = options.seed + k
        table.append(accuracies(load_digits(options.labelled, random_state=seed), seed))
        tick(k + 1, options.splits, began)
    scores = {key: np.array([row[key] for row in table]) for key in table[0]}
    report_scores(scores, len(pair.classes))
    print(NOTES)

    print(f"\n{verdict(scores)}")
    try:
        draw(split, model, picture)
    except MissingDependencyError as error:
        print(f"No picture: {error}")
    else:
        print(f"Picture: {picture}")


def whole(low: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        value = int(text)
        if value < low:
            raise argparse.ArgumentTypeError(f"expected a whole number of at least {low}, got {value}")
        return value

    parse.__name__ = "whole number"
    return parse


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Try --labelled 1 (hardest), then 5 and 20: the more labels the target has, the less there is left\n"
        "for a source to add. Another --seed draws other images; the verdict should not depend on it.",
    )
    option = parser.add_argument
    option("--labelled", type=whole(1), default=2, metavar="N", help="labelled target rows a class (default: 2)")
    option(
        "--splits",
        type=whole(2),
        default=20,
        metavar="N",
        help="random splits to average over (default: 20, half a minute)",
    )
    option("--seed", type=whole(0), default=0, metavar="N", help="split k uses the seed N + k (default: 0)")
    option(
        "--output",
        type=Path,
        default=Path("demo-output/common_space.png"),
        metavar="PATH",
        help="file or folder for the picture (default: %(default)s)",
    )
    return parser


def main() -> int:
    options = parser().parse_args()
    os.environ.setdefault("MPLBACKEND", "Agg")
    try:
        # The matrices are small: several BLAS threads would only wait for one another.
        with threadpool_limits(1):
            run(options)
    except KeyboardInterrupt:
        print("\nStopped by Ctrl-C before the end: no verdict, and no picture was written.", file=sys.stderr)
        return 130
    except (InputError, OSError) as error:
        print(f"The demo cannot run: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
