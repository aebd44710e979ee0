"""Small two-domain problems that many tests share."""

import os
import signal
from importlib.util import find_spec
from pathlib import Path

# Two processes share the cores under xdist: more threads than cores only slow each other down.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import settings

from isthmus import InputError

settings.register_profile("house", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("house")


def data_folder() -> Path:
    """The folder of real data that the environment names; one that is not there where it names none."""
    return Path(os.environ.get("ISTHMUS_DATA") or "no-data-folder")


def make_domains(seed=0, n_classes=3, n_source=30, n_target=20, n_labelled=6, d_source=5, d_target=7, shift=2.0):
    """Gaussian classes in two spaces of different dimension; all labels of the target are kept in y_true."""
    rng = np.random.default_rng(seed)
    y_source, y_true = np.arange(n_source) % n_classes, np.arange(n_target) % n_classes
    centres = rng.normal(size=(n_classes, d_source)) * shift, rng.normal(size=(n_classes, d_target)) * shift
    X_source = rng.normal(size=(n_source, d_source)) + centres[0][y_source]
    X_target = rng.normal(size=(n_target, d_target)) + centres[1][y_true] + 3.0
    y_target = np.where(np.arange(n_target) < n_labelled, y_true, -1)
    return SimpleNamespace(
        X_source=X_source, y_source=y_source, X_target=X_target, y_target=y_target, y_true=y_true,
        args=(X_source, y_source, X_target, y_target),
    )  # fmt: skip


def rows_for(system, X_source, y_source, X_target, y_target):
    """The same rows as a system can take them: counts have no sign, and equal features as many columns."""
    if system.non_negative:
        X_source, X_target = abs(X_source), abs(X_target)
    if system.equal_features:
        d = min(X_source.shape[1], X_target.shape[1])
        X_source, X_target = X_source[:, :d], X_target[:, :d]
    return X_source, y_source, X_target, y_target


def each_system(things):
    """A test of each of some systems; those that need POT are skipped where it is not installed."""
    missing = find_spec("ot") is None
    reason = 'POT is not installed: pip install "isthmus[transport]"'
    return pytest.mark.parametrize(
        "system",
        [
            pytest.param(s, id=s.name, marks=pytest.mark.skipif(s.transductive and missing, reason=reason))
            for s in things
        ],
    )


@pytest.fixture
def domains():
    return make_domains()


@pytest.fixture
def usual_signals():
    """Signals as a program has them on a terminal: in the background of a shell, or under nohup, some are ignored."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


CANNOT_HOLD = {
    "check_classifiers_classes": "it wants classes_ to be the labels in y; here they are those of the source, which "
    "may be more, and which are numbers where the check's labels are words",
    "check_classifiers_train": "it wants predict_proba to have as many columns as there are labels in y; here it has "
    "one for each class of the source",
}
"""Checks of scikit-learn that no view over a target can pass."""


def one_sentence(caught):
    """Whether an error is one sentence that the library wrote."""
    text = str(caught.value)
    return "\n" not in text and text.endswith(".") and isinstance(caught.value, InputError)
