"""HFA: heterogeneous feature augmentation, solved exactly (Duan et al. 2012)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from isthmus._arrays import FloatArray, Matrix, is_sparse
from isthmus._validation import number
from isthmus.domains import TwoDomains
from isthmus.estimators.classifiers.base import TargetClassifier, require_classes
from isthmus.estimators.classifiers.machines import DirectSum, KernelMachine, mean_square_rbf
from isthmus.estimators.complaints import warn_about_data
from isthmus.exceptions import InputError
from isthmus.kernels import RBF, Kernel, Laplacian, Precomputed, as_kernel
from isthmus.spaces.space import centred


class HFA(TargetClassifier):
    r"""Support vectors over augmented rows [Px; x; 0] and [Qy; 0; y], with the best P and Q.

    .. math::

       \min_{H \succeq 0,\, \mathrm{tr} H \le \lambda}\; \max_{0 \le \alpha \le C,\; y^T \alpha = 0}\;
       1^T \alpha - \tfrac12 v^T (I + H) v, \qquad v = K^{1/2} (\alpha \circ y), \quad K = K_s \oplus K_t

    with :math:`H = [P\, Q]^T [P\, Q]`, one class against the rest. **It has a closed form.** The objective is linear
    in H and concave in α, so the order can be swapped; the least value over H is then :math:`1^T\alpha - \tfrac12 (1
    + \lambda) v^T v`, at :math:`H = \lambda v v^T / \|v\|^2`. What is left is **one ordinary SVM on (1 + λ)K**, and
    a target row scores

    .. math:: f(y) = (1 + \lambda) \sum_{j \text{ in the target}} \alpha_j y_j\, k_t(y_j, y) + b

    K is zero across the domains: the source enters only through the intercept b (docs/systems.md has the
    derivation). The released iterations stop 6 to 19 % above this optimum.

    L. Duan, D. Xu and I. W. Tsang, *Learning with augmented features for heterogeneous domain adaptation*, ICML 2012.

    Parameters
    ----------
    source_kernel, target_kernel : Kernel, "auto" or a name of a kernel
        The similarity within either domain. "auto", as released, is the RBF kernel exp(-d²/m), with m the mean of all
        squared distances of the labelled rows.
    C : float
        The cost of an error; 1 as released.
    trace : float
        λ ≥ 0, the bound of tr H; 100 as released. Zero is an SVM on K.
    tol : float
        The tolerance of libsvm.
    source_transformer, target_transformer : transformer or pipeline of scikit-learn, optional
        As in :class:`~isthmus.MLHD`. The published experiments have rows of length one.

    Attributes
    ----------
    machine_ : KernelMachine
        The scores of target rows.
    kernels_ : (Kernel, Kernel)
        The kernels with their bandwidths.
    classes_ : array
        The classes of the source.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import HFA
    >>> X_source, y_source = np.array([[-2.0, -2.5], [-2.0, -1.5], [2.0, 1.5], [2.0, 2.5]]), ["a", "a", "b", "b"]
    >>> X_target, y_target = np.array([[4.0], [3.5], [-4.0], [-3.5]]), ["a", None, "b", None]
    >>> HFA().fit(X_source, y_source, X_target, y_target).predict([[3.8], [-3.8]])
    array(['a', 'b'], dtype=object)
    """

    machine_: KernelMachine
    kernels_: tuple[Kernel, Kernel]

    def __init__(
        self,
        source_kernel: Kernel | str = "auto",
        target_kernel: Kernel | str = "auto",
        *,
        C: float = 1.0,
        trace: float = 100.0,
        tol: float = 1e-4,
        source_transformer: Any = None,
        target_transformer: Any = None,
    ) -> None:
        self.source_kernel = source_kernel
        self.target_kernel = target_kernel
        self.C = C
        self.trace = trace
        self.tol = tol
        self.source_transformer = source_transformer
        self.target_transformer = target_transformer

    def _validate(self) -> tuple[Kernel | None, Kernel | None]:
        super()._validate()
        number(self.C, "C", low=0.0, strict=True)
        number(self.trace, "trace", low=0.0)
        number(self.tol, "tol", low=0.0, strict=True)
        names = "source_kernel", "target_kernel"
        first, second = (_given_kernel(getattr(self, name), name) for name in names)
        return first, second

    def _fit_domains(self, domains: TwoDomains, settings: tuple[Kernel | None, Kernel | None]) -> dict[str, Any]:
        require_classes(domains)
        target = domains.target
        known = target.labelled
        X, Y = domains.source.X.astype(np.float64), target.X[known].astype(np.float64)
        centres = _centre(X, settings[0]), _centre(Y, settings[1])
        X, Y = centred(X, centres[0]), centred(Y, centres[1])
        kernels = _resolved(settings[0], X), _resolved(settings[1], Y)
        y = np.concatenate([domains.source.y, target.y[known]])
        # The SVM on (1 + λ)K with bound C is the SVM on K with bound (1 + λ)C, whose α are (1 + λ) times as large.
        machine = DirectSum(X, Y, kernels).machine(y, len(domains.classes), self.C * (1.0 + self.trace), self.tol)
        warn_about_data(domains, kernels, intercept=True)
        return {"machine_": replace(machine, centre=centres[1]), "kernels_": kernels}

    def _scores(self, rows: Matrix) -> FloatArray:
        return self.machine_.scores(rows)


def _given_kernel(kernel: Any, name: str) -> Kernel | None:
    """A kernel, or None for "auto"."""
    if isinstance(kernel, str) and kernel == "auto":
        return None
    found = as_kernel(kernel, name)
    if isinstance(found, Precomputed):
        raise InputError(f"{name}: expected a kernel of features, got 'precomputed'.")
    return found


def _centre(X: Matrix, kernel: Kernel | None) -> FloatArray | None:
    """The mean of dense rows, for kernels that see differences only: far from the origin these would be rounding."""
    if is_sparse(X) or not (kernel is None or isinstance(kernel, RBF | Laplacian)):
        return None
    return np.asarray(X.mean(axis=0))


def _resolved(kernel: Kernel | None, X: Matrix) -> Kernel:
    return mean_square_rbf(X) if kernel is None else kernel.resolved(X)
