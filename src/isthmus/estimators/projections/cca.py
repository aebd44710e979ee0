"""CCA and KCCA: the directions of either domain that vary together, over pairs of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from isthmus._arrays import FloatArray
from isthmus._validation import number
from isthmus.common_space import CommonSpace
from isthmus.domains import TwoDomains
from isthmus.estimators.mapped import MetricEstimator
from isthmus.estimators.projections.incidence import label_incidence, pair_incidence
from isthmus.exceptions import InputError
from isthmus.kernels import Kernel
from isthmus.maps.canonical import canonical_directions
from isthmus.retrieval import References
from isthmus.spaces import JointSpace

AUTOMATIC = 0.1
"""The automatic regularization, in units of the covariance's own size."""


class KCCA(MetricEstimator):
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
    rule, references, n_neighbors, source_transformer, target_transformer
        As in :class:`MLHD`.

    Attributes
    ----------
    common_space_ : CommonSpace
        What was learned; its offsets are the centring.
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

    takes_pairs = True
    intercept = True
    correlations_: FloatArray
    learner_: Any

    def __init__(
        self,
        source_kernel: Kernel | str = "rbf",
        target_kernel: Kernel | str = "rbf",
        *,
        n_components: int | None = None,
        regularization: float | str = "auto",
        metric: Any = "euclidean",
        rule: Any = "nearest",
        references: str = "source",
        n_neighbors: int = 1,
        source_transformer: Any = None,
        target_transformer: Any = None,
    ) -> None:
        self.source_kernel = source_kernel
        self.target_kernel = target_kernel
        self.n_components = n_components
        self.regularization = regularization
        self.metric = metric
        self.rule = rule
        self.references = references
        self.n_neighbors = n_neighbors
        self.source_transformer = source_transformer
        self.target_transformer = target_transformer

    def _checked(self) -> float:
        super()._checked()
        if self.n_components is not None:
            number(self.n_components, "n_components", low=1, whole=True)
        if self.metric != "euclidean" and (isinstance(self.metric, str | type) or not hasattr(self.metric, "fit")):
            raise InputError(f'metric: expected "euclidean" or an object with fit(X, y), got {self.metric!r}.')
        if isinstance(self.regularization, str) and self.regularization == "auto":
            return AUTOMATIC
        return number(self.regularization, "regularization", low=0.0)

    def _learn(self, domains: TwoDomains, joint: JointSpace, settings: float) -> tuple[CommonSpace, dict[str, Any]]:
        L, R = label_incidence(joint) if joint.pairs is None else pair_incidence(joint)
        A, B = joint.source.points, joint.target.points
        W_s, W_t, offsets, correlations = canonical_directions(A, B, L, R, settings)
        k = len(correlations) if self.n_components is None else self.n_components
        if k > len(correlations):
            raise InputError(f"n_components: expected at most {len(correlations)} with these pairs, got {k}.")
        space = CommonSpace(
            joint.source.space,
            joint.target.space,
            np.vstack([W_s, W_t])[:, :k],
            projected=True,
            offsets=offsets[:, :k],
        )
        learner = None if isinstance(self.metric, str) else self._fitted_learner(domains, space)
        attributes = {"correlations_": correlations[:k], "learner_": learner}
        return (space if learner is None else space.mapped(np.asarray(learner.components_).T)), attributes

    def _fitted_learner(self, domains: TwoDomains, space: CommonSpace) -> Any:
        """The learner of a metric, fitted to the labelled points of both domains."""
        known = References.of(domains, space).labelled
        if not len(known.y):
            raise InputError("metric: expected labelled rows for a learner to learn from, got none.")
        return clone(self.metric).fit(known.points, known.y)


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
        rule: Any = "nearest",
        references: str = "source",
        n_neighbors: int = 1,
        source_transformer: Any = None,
        target_transformer: Any = None,
    ) -> None:
        super().__init__(
            "linear",
            "linear",
            n_components=n_components,
            regularization=regularization,
            metric=metric,
            rule=rule,
            references=references,
            n_neighbors=n_neighbors,
            source_transformer=source_transformer,
            target_transformer=target_transformer,
        )
