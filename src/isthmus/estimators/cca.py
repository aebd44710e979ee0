"""CCA and KCCA: the directions of either domain that vary together, over pairs of rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone

from isthmus._arrays import FloatArray
from isthmus._validation import number
from isthmus.domains import TwoDomains, two_domains
from isthmus.estimators.base import CrossDomainEstimator
from isthmus.estimators.canonical import canonical_directions, label_incidence, pair_incidence
from isthmus.exceptions import InputError
from isthmus.kernels import Kernel, as_kernel
from isthmus.metric import CrossDomainMetric
from isthmus.spaces import fitted_space

AUTOMATIC = 0.1
"""The automatic regularization, in units of the covariance's own size."""


class KCCA(CrossDomainEstimator):
    r"""Regularised canonical correlation analysis between two domains, with any kernels, in closed form.

    .. math::

       \max_{w_s, w_t}\; w_s^T C_{st} w_t \quad\text{s.t.}\quad w_s^T (C_{ss} + \rho_s I) w_s = 1,\;
       w_t^T (C_{tt} + \rho_t I) w_t = 1, \qquad \rho = \gamma \, \mathrm{tr}(C^2) / \mathrm{tr}(C)

    over pairs of a source and a target row, and so on for each next direction, uncorrelated with those before. The
    covariances C are centred and taken over the pairs; with a kernel they are those of its feature space. Where
    labels make the pairs (each labelled target row with every source row of its class), sums over classes are all
    that enters, never the pairs themselves, and there are at most as many correlations as classes less one.

    Every variate is centred and scaled to unit variance over the pairs: these are the points of the common space.

    Parameters
    ----------
    source_kernel, target_kernel : Kernel or {"linear", "rbf", "laplacian", "polynomial", "cosine", "precomputed"}
        The similarity within either domain.
    n_components : int, optional
        How many canonical directions to keep; None keeps all whose correlation is not zero.
    regularization : float or "auto"
        γ ≥ 0, free of any scale: the unit is each covariance's mean eigenvalue, weighted by the eigenvalues
        themselves; "auto" is 0.1. Zero is the textbook's CCA, on the directions in which the paired rows vary
        (the pseudo-inverse, where a covariance is singular); with more coordinates than pairs all its correlations
        are one and mean nothing.
    metric : "euclidean" or object
        How the common space is measured. An object with ``fit(X, y)`` and ``components_`` (k', k), such as ITML,
        is cloned and fitted there to the source and the labelled target rows.
    n_neighbors : int
        How many reference rows vote in :meth:`predict`.
    references : {"source", "target", "both"}
        Which rows they are: all source rows, the labelled target rows, or both.

    Attributes
    ----------
    metric_ : CrossDomainMetric
        The metric; its offsets are the centring.
    correlations_ : array (k,)
        The maxima above, largest first.
    learner_ : object or None
        The fitted copy of ``metric``, unless that is "euclidean".
    kernels_ : (Kernel, Kernel)
        The kernels with their bandwidths.
    classes_ : array
        The classes of the source.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import KCCA
    >>> X_source, y_source = np.array([[-2.0, -2.5], [-2.0, -1.5], [2.0, 1.5], [2.0, 2.5]]), ["a", "a", "b", "b"]
    >>> X_target, y_target = np.array([[4.0], [3.5], [-4.0], [-3.5]]), ["a", None, "b", None]
    >>> KCCA("rbf", "linear").fit(X_source, y_source, X_target, y_target).predict([[3.8], [-3.8]])
    array(['a', 'b'], dtype=object)
    """

    correlations_: FloatArray
    learner_: Any
    kernels_: tuple[Kernel, Kernel]

    def __init__(
        self,
        source_kernel: Kernel | str = "rbf",
        target_kernel: Kernel | str = "rbf",
        *,
        n_components: int | None = None,
        regularization: float | str = "auto",
        metric: Any = "euclidean",
        n_neighbors: int = 1,
        references: str = "source",
    ) -> None:
        self.source_kernel = source_kernel
        self.target_kernel = target_kernel
        self.n_components = n_components
        self.regularization = regularization
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.references = references

    def fit(self, X_source: Any, y_source: Any, X_target: Any, y_target: Any, *, pairs: Any = None) -> Self:
        """Find the canonical directions.

        Parameters
        ----------
        X_source : array, sparse matrix or data frame (n_s, d_s)
            Source rows.
        y_source : array (n_s,)
            Their classes, of any type.
        X_target : array, sparse matrix or data frame (n_l + n_u, d_t)
            Target rows, labelled or not.
        y_target : array (n_l + n_u,)
            Their classes; -1, None or NaN where unknown.
        pairs : array (m, 2), optional
            Which rows belong together: numbers of source and target rows, labelled or not; a pair given twice
            counts twice. By default the labels make the pairs.
        """
        gamma = self._checked_regularization()
        kernels = (
            as_kernel(self.source_kernel, "source_kernel"),
            as_kernel(self.target_kernel, "target_kernel"),
        )
        domains = two_domains(X_source, y_source, X_target, y_target)
        self._checked_neighbors(domains)
        L, R = label_incidence(domains) if pairs is None else pair_incidence(pairs, domains)
        source, A = fitted_space(domains.source.X, kernels[0], outside="identity", name="X_source")
        target, B = fitted_space(domains.target.X, kernels[1], outside="identity", name="X_target")
        W_s, W_t, offsets, correlations = canonical_directions(A, B, L, R, gamma)
        k = len(correlations) if self.n_components is None else self.n_components
        if k > len(correlations):
            raise InputError(f"n_components: expected at most {len(correlations)} with these pairs, got {k}.")
        metric = CrossDomainMetric(source, target, np.vstack([W_s, W_t])[:, :k], True, offsets[:, :k])
        learner = None if isinstance(self.metric, str) else self._fitted_learner(domains, metric)
        self._learned(domains, metric if learner is None else metric.mapped(np.asarray(learner.components_).T))
        self.correlations_, self.learner_ = correlations[:k], learner
        self.kernels_ = (source.kernel, target.kernel)
        return self

    def _fitted_learner(self, domains: TwoDomains, metric: CrossDomainMetric) -> Any:
        """The learner of a metric, fitted to the labelled points of both domains."""
        labelled = domains.target.labelled
        points = [metric.embed(domains.source.X, "source"), metric.embed(domains.target.X[labelled], "target")]
        y = np.concatenate([domains.source.y, domains.target.y[labelled]])
        learner = clone(self.metric)
        learner.fit(np.vstack(points).astype(np.float64), y)
        return learner

    def _checked_regularization(self) -> float:
        """γ, after a look at every parameter that needs no data."""
        if self.n_components is not None:
            number(self.n_components, "n_components", low=1, whole=True)
        if self.metric != "euclidean" and (isinstance(self.metric, str | type) or not hasattr(self.metric, "fit")):
            raise InputError(f'metric: expected "euclidean" or an object with fit(X, y), got {self.metric!r}.')
        if isinstance(self.regularization, str) and self.regularization == "auto":
            return AUTOMATIC
        return number(self.regularization, "regularization", low=0.0)


class CCA(KCCA):
    r"""Regularised canonical correlation analysis between the features of two domains: :class:`KCCA`, linear.

    .. math:: \max_{w_s, w_t}\; w_s^T C_{st} w_t \quad\text{s.t.}\quad w^T (C + \rho I) w = 1 \text{ in each domain}

    All parameters and attributes are those of :class:`KCCA`, which has the whole story.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import CCA
    >>> X, Y = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 5.0]]), np.array([[2.0], [4.0], [6.0], [9.0]])
    >>> rows = np.arange(4)
    >>> CCA(regularization=0.0).fit(X, rows, Y, rows, pairs=np.c_[rows, rows]).correlations_.round(4)
    array([0.9995])
    """

    def __init__(
        self,
        *,
        n_components: int | None = None,
        regularization: float | str = "auto",
        metric: Any = "euclidean",
        n_neighbors: int = 1,
        references: str = "source",
    ) -> None:
        super().__init__(
            "linear",
            "linear",
            n_components=n_components,
            regularization=regularization,
            metric=metric,
            n_neighbors=n_neighbors,
            references=references,
        )
