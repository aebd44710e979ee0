"""KPG-RL: source rows moved to the target by transport that keeps their relation to key points (Gu et al. 2022)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.svm import LinearSVC

from isthmus._arrays import FloatArray, Matrix, as_dense
from isthmus._validation import number
from isthmus.domains import UNLABELLED, TwoDomains
from isthmus.estimators.classifiers.base import TargetClassifier, require_classes
from isthmus.estimators.classifiers.relations import Plan, jensen_shannon, relations, sinkhorn
from isthmus.estimators.complaints import warn_about_data
from isthmus.exceptions import ConvergenceWarning, InputError, warn
from isthmus.kernels import Linear

LEAST = 1.0 / 300.0
"""The least entropy for which plans are computed without logarithms."""


class KPGRL(TargetClassifier):
    r"""Key-point guided transport: rows move to where the key points look the same.

    .. math::

       \min_{\pi \ge 0}\; \langle \pi, G \rangle - \varepsilon H(\pi), \qquad
       G_{ij} = \mathrm{JS}(R_s(x_i), R_t(y_j)), \qquad
       R(x) = \mathrm{softmax}_k(-\|x - \kappa_k\|^2 / (\tau m))

    A key point is a labelled target row, and its partner the mean of its class in the source; a row is known by how
    near it is to each. The plan π has uniform weights on the source rows and on the unlabelled target rows; every
    source row moves to the mean, by π, of the target rows that it is matched with; a classifier learns from the
    moved rows and the labelled target rows. Key points are matched with each other and with nothing else, so that
    they drop out of the plan.

    As in the public release, which has as many source rows as unlabelled ones; its support vectors have an RBF kernel
    with γ = 1/d. It costs a table of n_s × n_u numbers, and k times as many logarithms.

    X. Gu, Y. Yang, W. Zeng, J. Sun and Z. Xu, *Keypoint-guided optimal transport with applications in heterogeneous
    domain adaptation*, NeurIPS 2022.

    Parameters
    ----------
    temperature : float
        τ > 0; 0.1 as released.
    regularization : float
        ε of at least 1/300, in units of the largest cost; 0.005 as released.
    classifier : scikit-learn classifier, optional
        What learns from the moved rows, with a score for each class; None is a linear support vector machine.
    tol : float
        How much of the mass of a plan may be in the wrong row.
    max_iter : int
        Sinkhorn's iterations at most.
    source_transformer, target_transformer : transformer or pipeline of scikit-learn, optional
        As in :class:`~isthmus.MLHD`.

    Attributes
    ----------
    classifier_ : scikit-learn classifier
        The fitted classifier of target rows; its labels are positions in ``classes_``.
    plan_error_ : float
        The mass in wrong rows.
    n_iter_ : int
        Iterations.
    classes_ : array
        The classes of the source.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import KPGRL
    >>> X_source, y_source = np.array([[-2.0, -2.5], [-2.0, -1.5], [2.0, 1.5], [2.0, 2.5]]), ["a", "a", "b", "b"]
    >>> X_target, y_target = np.array([[4.0], [3.5], [-4.0], [-3.5]]), ["a", None, "b", None]
    >>> KPGRL().fit(X_source, y_source, X_target, y_target).predict([[3.8], [-3.8]])
    array(['a', 'b'], dtype=object)
    """

    needs_unlabelled = True
    classifier_: Any
    plan_error_: float
    n_iter_: int

    def __init__(
        self,
        *,
        temperature: float = 0.1,
        regularization: float = 0.005,
        classifier: Any = None,
        tol: float = 1e-3,
        max_iter: int = 10_000,
        source_transformer: Any = None,
        target_transformer: Any = None,
    ) -> None:
        self.temperature = temperature
        self.regularization = regularization
        self.classifier = classifier
        self.tol = tol
        self.max_iter = max_iter
        self.source_transformer = source_transformer
        self.target_transformer = target_transformer

    def _validate(self) -> None:
        super()._validate()
        number(self.temperature, "temperature", low=0.0, strict=True)
        number(self.regularization, "regularization", low=LEAST)
        number(self.tol, "tol", low=0.0, strict=True)
        number(self.max_iter, "max_iter", low=1, whole=True)
        if self.classifier is not None:
            _require_scores(self.classifier)

    def _fit_domains(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        require_classes(domains)
        X, Y = as_dense(domains.source.X), as_dense(domains.target.X)
        known, free = domains.target.labelled, np.flatnonzero(domains.target.y == UNLABELLED)
        if not len(free):
            raise InputError("y_target: expected rows without a label to move the source rows to, got none.")
        plan = self._plan(domains, X, Y, free)
        moved = (plan.matrix @ Y[free]) / plan.matrix.sum(axis=1, keepdims=True)
        y = np.concatenate([domains.target.y[known], domains.source.y])
        classifier = LinearSVC(random_state=0) if self.classifier is None else clone(self.classifier)
        classifier.fit(np.vstack([Y[known], moved]), y)
        warn_about_data(domains, (Linear(), Linear()), intercept=True)
        if plan.error > self.tol:
            warn(
                f"KPGRL: stopped after {plan.n_iter} iterations with {plan.error:.1e} of the mass in wrong rows "
                f"(goal {self.tol:.0e}); a larger regularization converges sooner.",
                ConvergenceWarning,
            )
        return {"classifier_": classifier, "plan_error_": plan.error, "n_iter_": plan.n_iter}

    def _plan(self, domains: TwoDomains, X: FloatArray, Y: FloatArray, free: Any) -> Plan:
        """The transport of source rows to unlabelled target rows."""
        known, ys = domains.target.labelled, domains.source.y
        means = np.stack([X[ys == c].mean(axis=0) for c in domains.target.y[known]])
        keys = means, Y[known]
        R = [
            relations(np.vstack([key, rows]), key, self.temperature)
            for key, rows in zip(keys, (X, Y[free]), strict=True)
        ]
        cost = jensen_shannon(*R)
        k, largest = len(known), float(cost.max())
        return sinkhorn(cost[k:, k:] / (largest or 1.0), self.regularization, self.tol, self.max_iter)

    def _scores(self, rows: Matrix) -> FloatArray:
        points = as_dense(rows)
        if not hasattr(self.classifier_, "decision_function"):
            return np.asarray(self.classifier_.predict_proba(points))
        values = np.asarray(self.classifier_.decision_function(points))
        return values if values.ndim == 2 else 0.5 * np.stack([-values, values], axis=1)


def _require_scores(classifier: Any) -> None:
    """Raise unless it is a classifier with a score for each class: scores of pairs of classes look like such."""
    known = not isinstance(classifier, str | type) and hasattr(classifier, "fit") and is_classifier(classifier)
    if not known:
        raise InputError(f"classifier: expected a classifier of scikit-learn, got {classifier!r:.60}.")
    if not (hasattr(classifier, "decision_function") or hasattr(classifier, "predict_proba")):
        raise InputError(
            f"classifier: expected one with decision_function or predict_proba, got {classifier!r:.60} without."
        )
    shapes = {value for name, value in classifier.get_params().items() if name.endswith("decision_function_shape")}
    if "ovo" in shapes:
        raise InputError("classifier: expected a score for each class, got decision_function_shape='ovo'.")
