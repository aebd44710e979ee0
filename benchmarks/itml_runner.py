"""Runs inside metric-learn's own environment: pairs from an .npz file, M to an .npy file, JSON to stdout.

    python -I itml_runner.py pairs.npz matrix.npy

Only the sweeps are timed, from the prior to the final matrix: not the validation of the pairs before them,
nor the Cholesky factor and the calibrated threshold after them.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import metric_learn
import metric_learn.itml as module
import numpy as np


class SweepClock:
    """Notes the time where metric-learn has its prior and where it hands on its matrix."""

    began = ended = 0.0
    matrix: Any = None

    def __init__(self) -> None:
        self._prior = module._initialize_metric_mahalanobis
        self._components = module.components_from_metric
        module._initialize_metric_mahalanobis = self.prior
        module.components_from_metric = self.components

    def prior(self, *args: Any, **kwargs: Any) -> Any:
        """The prior, and the clock starts."""
        A = self._prior(*args, **kwargs)
        self.began = time.process_time()
        return A

    def components(self, A: Any) -> Any:
        """The clock stops, then the factor of the matrix."""
        self.ended = time.process_time()
        self.matrix = A.copy()
        return self._components(A)


def fit_itml(data: Any) -> dict[str, Any]:
    """The matrix and the figures of one run."""
    settings = {"max_iter": int(data["max_iter"])} if data["max_iter"] > 0 else {}
    learner = metric_learn.ITML(gamma=float(data["gamma"]), preprocessor=data["rows"], **settings)
    clock = SweepClock()
    learner.fit(data["pairs"], data["sign"], bounds=data["bounds"].copy())
    sweeps = learner.n_iter_ + 1  # it counts from zero
    return {
        "matrix": clock.matrix,
        "seconds": clock.ended - clock.began,
        "sweeps": sweeps,
        "converged": sweeps < learner.max_iter,
        "tol": learner.tol,
    }


def main() -> None:
    """Read, fit, write."""
    with np.load(sys.argv[1]) as archive:
        result = fit_itml(dict(archive))
    np.save(sys.argv[2], result.pop("matrix"))
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
