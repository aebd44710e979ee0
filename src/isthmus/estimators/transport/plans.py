"""Gromov–Wasserstein, its fusion with labels, and co-optimal transport."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus._arrays import FloatArray
from isthmus._validation import number
from isthmus.domains import TwoDomains
from isthmus.estimators.transport.transductive import TransductiveEstimator, distances, label_costs, library

MOST_PIVOTS = 1_000_000
"""Of the linear programs inside: POT warns, and takes what it has, where they are not enough."""


class GW(TransductiveEstimator):
    r"""Gromov–Wasserstein: a plan under which distances within the source are those within the target.

    .. math:: \min_{\pi}\; \sum_{ijkl} (d_s(x_i, x_k) - d_t(y_j, y_l))^2\, \pi_{ij} \pi_{kl}

    It sees no target label, and needs none: ``y_target`` may be None. The problem is not convex, and what comes out
    depends on the start (all rows alike). **It is transductive**: it names the unlabelled rows of the fit, and has no
    map for others. Time grows with n_s n_t (n_s + n_t) per iteration. In our table it is at chance (docs/systems.md).

    F. Mémoli, *Gromov–Wasserstein distances and the metric approach to object matching*, 2011; by POT
    (``pip install "isthmus[transport]"``).

    Parameters
    ----------
    max_iter : int
        Iterations of conditional gradients at most.
    source_transformer, target_transformer : transformer or pipeline of scikit-learn, optional
        As in :class:`~isthmus.MLHD`.

    Attributes
    ----------
    probabilities_ : array (n_t, C)
        Of every target row of the fit, the shares of the classes in what it gets.
    classes_ : array
        The classes of the source.
    """

    needs_target_labels = False

    def __init__(
        self, *, max_iter: int = 1000, source_transformer: Any = None, target_transformer: Any = None
    ) -> None:
        self.max_iter = max_iter
        self.source_transformer = source_transformer
        self.target_transformer = target_transformer

    def _plan(self, domains: TwoDomains, X: FloatArray, Y: FloatArray) -> FloatArray:
        plan = library().gromov.gromov_wasserstein(distances(X), distances(Y), max_iter=int(self.max_iter))
        return np.asarray(plan)


class FGW(TransductiveEstimator):
    r"""Fused Gromov–Wasserstein: distances within the domains, and labels across them.

    .. math:: \min_{\pi}\; (1 - \alpha) \langle \pi, M \rangle
              + \alpha \sum_{ijkl} (d_s(x_i, x_k) - d_t(y_j, y_l))^2\, \pi_{ij} \pi_{kl}

    With other features on either side no distance across the domains can be had: M is what labels say, 0 within a
    class, 1 between two, 1 - 1/C where the target row has no label. That is our reading; the rest is as in
    :class:`GW`.

    T. Vayer, L. Chapel, R. Flamary, R. Tavenard and N. Courty, *Fused Gromov–Wasserstein distance for structured
    objects*, 2020; by POT.

    Parameters
    ----------
    structure : float
        α in [0, 1]; 0.5 is POT's default, one sees no target label and needs none.
    max_iter, source_transformer, target_transformer
        As in :class:`GW`.

    Attributes
    ----------
    probabilities_, classes_
        As in :class:`GW`.
    """

    def __init__(
        self,
        *,
        structure: float = 0.5,
        max_iter: int = 1000,
        source_transformer: Any = None,
        target_transformer: Any = None,
    ) -> None:
        self.structure = structure
        self.max_iter = max_iter
        self.source_transformer = source_transformer
        self.target_transformer = target_transformer

    def _validate(self) -> None:
        super()._validate()
        number(self.structure, "structure", low=0.0, high=1.0)

    @property
    def needs_target_labels(self) -> bool:  # type: ignore[override]
        """Whether labels count at all."""
        return bool(self.structure < 1.0)

    def _plan(self, domains: TwoDomains, X: FloatArray, Y: FloatArray) -> FloatArray:
        plan = library().gromov.fused_gromov_wasserstein(
            label_costs(domains), distances(X), distances(Y), alpha=float(self.structure), max_iter=int(self.max_iter)
        )
        return np.asarray(plan)


class COOT(TransductiveEstimator):
    r"""Co-optimal transport: a plan of the rows and one of the features, each the best for the other.

    .. math:: \min_{\pi, \varpi}\; \sum_{ijkl} (x_{ik} - y_{jl})^2\, \pi_{ij} \varpi_{kl}
              + \mu \langle \pi, M \rangle

    with M as in :class:`FGW`. Values of features are compared as they are: bring both domains to one scale. It is not
    convex and transductive, as :class:`GW` is.

    I. Redko, T. Vayer, R. Flamary and N. Courty, *CO-Optimal Transport*, NeurIPS 2020; by POT.

    Parameters
    ----------
    label_weight : float
        μ ≥ 0, in units of the mean squared value of a feature; zero sees no target label and needs none.
    max_iter, source_transformer, target_transformer
        As in :class:`GW`.

    Attributes
    ----------
    probabilities_, classes_
        As in :class:`GW`.
    """

    def __init__(
        self,
        *,
        label_weight: float = 1.0,
        max_iter: int = 100,
        source_transformer: Any = None,
        target_transformer: Any = None,
    ) -> None:
        self.label_weight = label_weight
        self.max_iter = max_iter
        self.source_transformer = source_transformer
        self.target_transformer = target_transformer

    def _validate(self) -> None:
        super()._validate()
        number(self.label_weight, "label_weight", low=0.0)

    @property
    def needs_target_labels(self) -> bool:  # type: ignore[override]
        """Whether labels count at all."""
        return bool(self.label_weight > 0.0)

    def _plan(self, domains: TwoDomains, X: FloatArray, Y: FloatArray) -> FloatArray:
        unit = float(np.mean(np.concatenate([X.ravel() ** 2, Y.ravel() ** 2]))) or 1.0
        plans = library().coot.co_optimal_transport(
            X,
            Y,
            alpha=(float(self.label_weight) * unit, 0.0),
            M_samp=label_costs(domains),
            nits_bcd=int(self.max_iter),
            nits_ot=MOST_PIVOTS,
        )
        return np.asarray(plans[0])
