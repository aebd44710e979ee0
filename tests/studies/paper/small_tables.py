"""Tables of toy size: collections made by hand, experiments that go through the code of the real ones, and records."""

import functools
import os
import signal
import sys
import time
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from isthmus.data.domains import Domain
from isthmus.data.splits import Protocol
from isthmus.estimators.controls import TargetOnly
from isthmus.study.design import Entrant
from isthmus.study.records import VERSIONS, Record, RecordStore
from studies.datasets.collection import Collection
from studies.paper.entrants import TABLE
from studies.paper.experiment import EXPERIMENTS
from studies.paper.published import TABLE1, TABLE2
from studies.paper.rows import Collected

PAUSE = "SMALL_TABLES_PAUSE_AFTER"
CLASSES, PER_CLASS = 3, 14
PROTOCOL = Protocol(4, 1, 4, test=9)
TWO = (0.1, 1.0)
"""The grid of every parameter; 1 is the default wherever that is a number."""
GROUPS = {"table1": (0, 1, 4), "table2": (0, 6)}
"""Which rows of the paper's tables are kept."""


def labels():
    return np.repeat(np.arange(CLASSES), PER_CLASS)


def _collection(name, views):
    domains = {view: Domain(X, labels()) for view, X in views.items()}
    objects = {view: np.arange(len(labels())) for view in views}
    return Collection(name, f"{name}, made by hand", domains, objects, ("a", "b", "c"), "made by hand", "none")


def texts(folder=None):
    """Sparse rows of few words, with negative values, as in reuters600; the same documents in every domain."""
    rng, views = np.random.default_rng(0), {}
    for language, words in zip(("EN", "FR", "GR"), (40, 50, 60), strict=True):
        topics = rng.random((CLASSES, words)) * (rng.random((CLASSES, words)) < 0.3)
        X = topics[labels()] + 0.4 * rng.normal(size=(len(labels()), words))
        views[language] = sp.csr_matrix(X * (rng.random(X.shape) < 0.5))
    return _collection("texts", views)


def histograms(folder=None):
    """Dense counts, as bags of visual words are; the same images in the three descriptions of a camera."""
    rng, views = np.random.default_rng(1), {}
    for camera in ("amazon", "dslr", "webcam"):
        for words in ("surf600", "surf800", "sift900"):
            rates = rng.gamma(0.7, 4.0, size=(CLASSES, 25))
            views[f"{camera} {words}"] = rng.poisson(rates[labels()] + 0.5).astype(np.float32)
    return _collection("histograms", views)


def small(name, load=None, histogram=None, entrants=None, protocol=PROTOCOL):
    """One of the paper's tables, of toy size."""
    published = {"table1": TABLE1, "table2": TABLE2}[name]
    kept = tuple(published[k] for k in GROUPS[name])
    load = load or {"table1": texts, "table2": histograms}[name]
    return replace(
        EXPERIMENTS[name],
        rows=Collected(load, protocol, (5, 6), name == "table2" if histogram is None else histogram),
        protocol=str(protocol),
        groups=tuple(f"{row.source} → {row.target}" for row in kept),
        published=kept,
        entrants=coarse(TABLE) if entrants is None else entrants,
    )


def coarse(entrants):
    """The same entrants, each with two values for each parameter."""
    return tuple(replace(e, grid=dict.fromkeys(e.grid, TWO)) for e in entrants)


@functools.cache
def shrunk():
    """Both tables, by name."""
    return {name: small(name) for name in GROUPS}


def predicted(model, rows, X):
    return model.predict(X)


def few(name):
    """A table with the columns that its tables need, and quick ones for the rest."""
    kept = {"kcca+nn", "arc-rbf", "mlhd-rbf", "target 1-NN", "target SVM"}
    entrants = tuple(
        Entrant(e.name, TargetOnly, control=e.control, readings=dict.fromkeys(e.readings, predicted))
        if e.name not in kept
        else e
        for e in TABLE
    )
    return small(name, entrants=coarse(entrants))


@functools.cache
def quick():
    """Both tables with quick columns, by name: for tests of what is done with the columns."""
    return {name: few(name) for name in GROUPS}


def record(system="mlhd-rbf", score=0.5, *, setting="default", group="EN → FR", seed=0, **others):
    """A record made by hand."""
    given = {
        "experiment": "table1", "variant": "whole", "parameters": {}, "seconds": 0.1, "status": "optimal",
        "gap": 1e-9, "versions": VERSIONS,
    } | others  # fmt: skip
    return Record(group=group, seed=seed, system=system, setting=setting, score=score, **given)


def records_of(experiment, value, seeds, *, setting="default", variant="whole", columns=None, **others):
    """Records of every column, group and seed; value(column, group number, seed) is the score."""
    return [
        record(
            column, value(column, g, seed), setting=setting, group=group, seed=seed, variant=variant,
            experiment=experiment.name, **others,
        )
        for column in columns or experiment.columns
        for g, group in enumerate(experiment.groups)
        for seed in seeds
    ]  # fmt: skip


def main(arguments):
    """The command line over tables of toy size."""
    from studies.paper.command import main as command_line

    # A shell that starts its jobs in the background has them ignore Ctrl-C, and their children too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    EXPERIMENTS.update(quick())
    if PAUSE in os.environ:
        _pause(int(os.environ[PAUSE]))
    return command_line(arguments)


def _pause(after):
    """Wait for a signal once so many trials are finished, however fast the machine is."""
    add, added = RecordStore.add, []

    def pausing(self, records):
        add(self, records)
        added.append(records)
        if len(added) == after:
            time.sleep(600)

    RecordStore.add = pausing


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
