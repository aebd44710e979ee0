"""Small two-domain problems that many tests share."""

import os
import signal
import subprocess
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

# Two processes share the cores under xdist: more threads than cores only slow each other down.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from isthmus import InputError

# `too_slow` measures seconds, which a busy machine has fewer of.
settings.register_profile(
    "isthmus", deadline=None, max_examples=40, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("isthmus")


LIMIT = 600.0
"""Seconds to wait for an event: no test depends on how busy the machine is, and none waits for ever."""
DATA = os.environ.get("ISTHMUS_DATA") and str(Path(os.environ["ISTHMUS_DATA"]).resolve())
NO_DATA = "/nonexistent-data-folder"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Hide the data folder (and the user's cache of data) from tests that are not marked as reading it."""
    os.environ["ISTHMUS_DATA"] = DATA or NO_DATA if item.get_closest_marker("data") else NO_DATA


def real_data(*files):
    """Return the folder of real data; the test fails where the folder or one of these files is missing.

    Only tests with the marker ``data`` get it.
    """
    folder = os.environ.get("ISTHMUS_DATA", NO_DATA)
    if folder == NO_DATA:
        pytest.fail(
            "ISTHMUS_DATA is not set (docs/datasets.md says what to put there), or the test lacks the marker `data`."
        )
    missing = [file for file in files if not (Path(folder) / file).is_file()]
    if missing:
        pytest.fail(f"{folder}: expected the files {', '.join(missing)}; docs/datasets.md says where they come from.")
    return Path(folder)


@pytest.fixture
def processes():
    """A stack for :func:`start_process`: whatever is left of the processes is killed when the test ends."""
    with ExitStack() as stack:
        yield stack


def start_process(stack, words, **options):
    """Start a process in a session of its own, which is killed when the stack is closed."""
    process = subprocess.Popen([str(word) for word in words], **{"text": True, "start_new_session": True} | options)
    stack.callback(_end_session, process)
    return process


def _end_session(process):
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # workers too, which may outlive the process itself
    process.communicate()


def wait_until(condition, process=None):
    """Wait until a condition holds; fail where the process that should bring it about has ended."""
    until = time.monotonic() + LIMIT
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.01)


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
            pytest.param(_cheaper(s), id=s.name, marks=pytest.mark.skipif(s.transductive and missing, reason=reason))
            for s in things
        ],
    )


def _cheaper(system):
    """The system without reruns for calibration, which have tests of their own and triple the time of a fit."""
    return (
        replace(system, options={**system.options, "calibrate": False}) if system.name == "label-transfer" else system
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
