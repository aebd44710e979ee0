"""The pictures of docs/plotting.md, on scikit-learn's digits: pixels are one domain, shape features the other."""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

import isthmus
from isthmus import view as plotting
from isthmus.data.datasets import load_digits, shape_features

SEED = 100


@cache
def digits():
    """Two domains, three labels per digit in the target, and a fitted metric."""
    d = load_digits(3, random_state=SEED)
    scaled = {"source_transformer": StandardScaler(), "target_transformer": StandardScaler()}
    rows = d.X_source, d.y_source, d.X_target, d.y_target
    return isthmus.MLHD(**scaled).fit(*rows), rows


def common_space():
    """Both domains, as the learned metric sees them."""
    model, rows = digits()
    return plotting.plot_common_space(model, *rows, title="Digits: pixels and shape features").figure


def convergence():
    """Two solvers of one problem, in the same axes."""
    d = load_digits(1, n_source=50, n_target=100, random_state=SEED)
    rows = d.X_source, d.y_source, d.X_target, d.y_target
    ax = plotting.plot_convergence(isthmus.MLHD().fit(*rows))
    return plotting.plot_convergence(isthmus.MLHD(solver="bregman").fit(*rows), ax).figure


@cache
def two_views():
    """The same images as pixels and as shape features, of which 30 pairs are known, and what was matched."""
    rng = np.random.default_rng(SEED)
    images = datasets.load_digits().images[rng.permutation(1797)[:600]] / 16.0
    A, B, order = images.reshape(600, -1), shape_features(images), rng.permutation(600)
    known = np.stack([np.arange(30), np.argsort(order)[:30]], axis=1)
    return A, B[order], isthmus.match(A, B[order], known)


def matches():
    """Rows that were matched, side by side."""
    A, B, found = two_views()
    return plotting.plot_matches(found, A, B).figure


def labels_curve():
    """What the source is worth, for more and more labels."""
    d = load_digits(10, n_target=300, random_state=SEED)
    rows = d.X_source, d.y_source, d.X_target, d.y_target
    verdict = isthmus.does_source_help(*rows, n_splits=4, random_state=SEED)
    return plotting.plot_labels_curve(verdict).figure


def recall():
    """How well an adapter from shape features to pixels finds images that it has not seen."""
    images = datasets.load_digits().images / 16.0
    return plotting.plot_recall(
        isthmus.migrate(images.reshape(len(images), -1), shape_features(images)).recall
    ).figure


PICTURES = common_space, convergence, matches, labels_curve, recall


def main() -> None:
    """Draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"), help="folder (%(default)s)")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of the pictures; all unless given")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    for draw in PICTURES:
        if not asked.names or draw.__name__ in asked.names:
            draw().savefig(asked.out / f"{draw.__name__}.png", dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    main()
