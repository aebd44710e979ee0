"""What LogDet systems over two domains share: bounds on pairs made from labels, a solver, a certificate, updates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from isthmus.common_space import DOMAINS
from isthmus.domains.blocks import as_partitions
from isthmus.estimators.logdet.constraints import as_bounds, as_pair_weight
from isthmus.estimators.logdet.warm_start import WarmStart
from isthmus.estimators.mapped import MetricEstimator
from isthmus.estimators.solving import Solving, as_solver
from isthmus.estimators.training_data import TrainingData
from isthmus.exceptions import InputError
from isthmus.kernels import Precomputed
from isthmus.solvers import Result


class LogDetEstimator(MetricEstimator):
    """The base of systems that are a LogDet problem over pairs of a source and a target row."""

    pair_weight: float | str
    pair_weight_: float
    bounds: Any
    solver: Any
    tol: float
    max_iter: int
    progress: Any
    result_: Result[Any]
    _training_data: TrainingData

    def _validate(self) -> Solving:
        super()._validate()
        as_pair_weight(self.pair_weight, 1)
        as_bounds(self.bounds, 1.0)
        solver = as_solver(self.solver, self.tol, self.max_iter)
        return Solving.of(solver, self.progress, type(self).__name__, self.tol)

    def _pair_weight(self, n_pairs: int) -> float:
        """λ2 of each of so many pairs that labels make."""
        return as_pair_weight(self.pair_weight, n_pairs)

    def _fit_data(self, data: TrainingData, settings: Solving) -> dict[str, Any]:
        return {**super()._fit_data(data, settings), "_training_data": data}

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and pickled: not the rows of the fit, which may be many, and are the caller's."""
        return {name: value for name, value in super().__getstate__().items() if name != "_training_data"}

    def update(
        self,
        X_source: Any = None,
        y_source: Any = None,
        X_target: Any = None,
        y_target: Any = None,
        *,
        pairs: Any = None,
    ) -> Self:
        """Learn again with more rows or labels, from the metric that was learned before.

        The metric is that of :meth:`fit` on all rows, old and new, to the tolerance: kernels, transformers and
        everything automatic follow the rows. The axes of the common space may be turned, which distances don't see.
        Only the way is another: as a rule shorter, but not with very few rows or very many (docs/scale.md). The
        parameters are those that hold now: without arguments it is a fit with other parameters to the same rows.

        For that a fitted system refers to the arrays that it was given. They are not copied: do not change them in
        place. No copy, pickle or model file (:func:`isthmus.save`) has them: what comes from one can't be updated.

        Parameters
        ----------
        X_source, y_source : rows of the kind that ``fit`` got, and a label for each; optional
            New source rows, which come after the old ones. Labels alone are those of all old rows anew.
        X_target, y_target : the same of the target, optional
            New target rows, labelled or not (-1, None or NaN). Labels alone are those of all old rows anew: this is
            how rows that were in the fit without a label get one.
        pairs : as for ``fit``, optional
            All known pairs, by rows of old and new together; None keeps those of the fit. With pairs the way is not
            shorter.

        Examples
        --------
        >>> import numpy as np
        >>> from isthmus import MLHD
        >>> rng, y = np.random.default_rng(100), np.arange(400) % 4
        >>> X_source = rng.normal(size=(4, 20))[y] + rng.normal(size=(400, 20))
        >>> X_target = rng.normal(size=(4, 10))[y[:50]] + rng.normal(size=(50, 10))
        >>> known = np.where(np.arange(50) < 40, y[:50], -1)
        >>> model = MLHD().fit(X_source, y, X_target, known)
        >>> before, model = model.n_iter_, model.update(y_target=y[:50])    # ten of the rows got a label
        >>> anew = MLHD().fit(X_source, y, X_target, y[:50])
        >>> model.n_iter_ < anew.n_iter_, bool(abs(model.result_.primal / anew.result_.primal - 1) < 2e-6)
        (True, True)
        """
        check_is_fitted(self, "classes_")
        settings, before = self._validate(), getattr(self, "_training_data", None)
        if before is None:
            raise InputError(
                f"update: expected {type(self).__name__} with the rows of its fit, got a copy without them, as from "
                "a file; fit it to all rows."
            )
        for domain, X in zip(DOMAINS, (X_source, X_target), strict=True):
            self._check_more(domain, X)
        source, target = (
            before.with_more("source", X_source, y_source),
            before.with_more("target", X_target, y_target),
        )
        after = TrainingData(
            source[0], source[1], target[0], target[1], before.numbered_pairs() if pairs is None else pairs
        )
        if after.pairs is None:
            spaces = self.common_space_.source, self.common_space_.target
            start = WarmStart(self.result_, spaces, before, after, settings.takes_blocks)
            settings = replace(settings, start=start)
        return self._fit(after, settings)

    def _check_more(self, domain: str, X: Any) -> None:
        """Raise unless these, if any, are rows that could stand beside those of the fit."""
        name = f"X_{domain}"
        if X is None:
            return
        if isinstance(self.kernels_[DOMAINS.index(domain)], Precomputed):
            raise InputError(f"{name}: expected None with a precomputed kernel (fit to all rows), got rows.")
        if as_partitions(X) is None:
            self._rows(X, domain, name)
        elif X.shape[1] != self.n_features_[domain]:
            raise InputError(f"{name}: expected {self.n_features_[domain]} columns, as in fit, got shape {X.shape}.")
