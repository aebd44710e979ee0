"""CCA and KCCA: the directions of either domain that vary together, over pairs of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from isthmus._arrays import FloatArray
from isthmus._validation import choice, number
from isthmus.common_space import CommonSpace
from isthmus.domains import TwoDomains
from isthmus.estimators.from_blocks import PairMomentEstimator
from isthmus.estimators.projections.held_out import POWER, held_out_regularization
from isthmus.estimators.projections.incidence import paired_rows
from isthmus.exceptions import InputError
from isthmus.kernels import Kernel
from isthmus.maps import CanonicalDirections
from isthmus.retrieval import References
from isthmus.spaces import JointSpace

AUTOMATIC = 0.1
"""The automatic regularization where labels make the pairs, in units of the covariance's own size."""
VARIATES = ("auto", "unit", "weighted")


class KCCA(PairMomentEstimator):
    r"""Regularised canonical correlation analysis between two domains, with any kernels, in closed form.

    .. math::

       \max_{w_s, w_t}\; w_s^T C_{st} w_t \quad\text{s.t.}\quad w_s^T (C_{ss} + \rho_s I) w_s = 1,\;
       w_t^T (C_{tt} + \rho_t I) w_t = 1, \qquad \rho = \gamma \, \mathrm{tr}(C^2) / \mathrm{tr}(C)

    over pairs of a source and a target row, and so on for each next direction, uncorrelated with those before. The
    covariances C are centred and taken over the pairs; with a kernel they are those of its feature space. Where
    labels make the pairs (each labelled target row with every source row of its class), sums over classes are all
    that enters, never the pairs themselves, and there are at most as many correlations as classes less one.

    Where labels make the pairs, every variate is centred and scaled to unit variance over them: these are the points
    of the common space. Where pairs are known, each row has to be told from all others, and directions that hardly
    vary together only blur that: variates, as the constraints above scale them, are then multiplied with the square
    of their correlation, and points compared by their cosine.

    Parameters
    ----------
    source_kernel, target_kernel : Kernel or {"linear", "rbf", "laplacian", "polynomial", "cosine", "precomputed"}
        The similarity within either domain.
    n_components : int, optional
        How many canonical directions to keep; None keeps all whose correlation is not zero.
    regularization : float or "auto"
        γ ≥ 0, free of any scale: the unit is each covariance's mean eigenvalue, weighted by the eigenvalues
        themselves. "auto" is 0.1 where labels make the pairs, and with ten known pairs or more the one of
        {0.003, 0.01, …, 3} that finds held-out pairs best, in five folds; of more than 2,000 pairs one fold of
        at most 1,000 is held out. Zero is the textbook's CCA, on the
        directions in which the paired rows vary (the pseudo-inverse, where a covariance is singular); with more
        coordinates than pairs all its correlations are one and mean nothing.
    variates : {"auto", "unit", "weighted"}
        How the variates are scaled: to unit variance, or by their correlations, points then at unit length; "auto"
        weights them where pairs are known, unless a ``metric`` is to be learned.
    metric : "euclidean" or object
        How the common space is measured. An object with ``fit(X, y)`` and ``components_`` (k', k), such as ITML,
        is cloned and fitted there to the source and the labelled target rows.
    rule, references, n_neighbors, source_transformer, target_transformer
        As in :class:`MLHD`, but for the rule: rows are called by the nearest class mean, which was better by 3 to 6
        points of accuracy than the nearest row (docs/defaults.md).

    Attributes
    ----------
    common_space_ : CommonSpace
        What was learned; its offsets are the centring.
    correlations_ : array (k,)
        The maxima above, largest first.
    residual_ : float
        The certificate: the largest error of the directions in the equations of the problem, as a part.
    regularization_ : float
        γ.
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
    residual_: float
    regularization_: float
    learner_: Any

    def __init__(
        self,
        source_kernel: Kernel | str = "rbf",
        target_kernel: Kernel | str = "rbf",
        *,
        n_components: int | None = None,
        regularization: float | str = "auto",
        variates: str = "auto",
        metric: Any = "euclidean",
        rule: Any = "means",
        references: str = "source",
        n_neighbors: int = 1,
        source_transformer: Any = None,
        target_transformer: Any = None,
    ) -> None:
        self.source_kernel = source_kernel
        self.target_kernel = target_kernel
        self.n_components = n_components
        self.regularization = regularization
        self.variates = variates
        self.metric = metric
        self.rule = rule
        self.references = references
        self.n_neighbors = n_neighbors
        self.source_transformer = source_transformer
        self.target_transformer = target_transformer

    def _validate(self) -> float | None:
        super()._validate()
        if choice(self.variates, "variates", VARIATES) == "weighted" and not isinstance(self.metric, str):
            raise InputError('variates: expected "unit" where a metric is to be learned, got "weighted".')
        if self.n_components is not None:
            number(self.n_components, "n_components", low=1, whole=True)
        if self.metric != "euclidean" and (isinstance(self.metric, str | type) or not hasattr(self.metric, "fit")):
            raise InputError(f'metric: expected "euclidean" or an object with fit(X, y), got {self.metric!r}.')
        if isinstance(self.regularization, str) and self.regularization == "auto":
            return None
        return number(self.regularization, "regularization", low=0.0)

    def _check_blocks(self, blocks: tuple[str, ...], pairs: Any) -> None:
        super()._check_blocks(blocks, pairs)
        if pairs is None and not isinstance(self.metric, str):
            raise InputError(f'metric: expected "euclidean" with source rows in blocks, got {self.metric!r:.60}.')

    def _fit_joint(
        self, domains: TwoDomains, joint: JointSpace, settings: float | None
    ) -> tuple[CommonSpace, dict[str, Any]]:
        gamma, weighted = settings, self._weighted(joint)
        if gamma is None:
            gamma = held_out_regularization(joint) if weighted and joint.pairs is not None else AUTOMATIC
        rows = paired_rows(joint)
        found = self._leading(rows.directions(gamma, unit=not weighted))
        scaled = found.weighted(POWER) if weighted else found
        space = CommonSpace(
            joint.source.space,
            joint.target.space,
            np.vstack([scaled.source, scaled.target]),
            projected=True,
            offsets=scaled.offsets,
            parts=(len(found.correlations),) if weighted else (),
        )
        learner = None if isinstance(self.metric, str) else self._fitted_learner(domains, space)
        attributes = {
            "correlations_": found.correlations,
            "residual_": rows.residual(found, gamma),
            "learner_": learner,
            "regularization_": gamma,
        }
        return (space if learner is None else space.mapped(np.asarray(learner.components_).T)), attributes

    def _leading(self, found: CanonicalDirections) -> CanonicalDirections:
        most = len(found.correlations)
        if self.n_components is not None and self.n_components > most:
            raise InputError(f"n_components: expected at most {most} with these pairs, got {self.n_components}.")
        return found.leading(most if self.n_components is None else self.n_components)

    def _weighted(self, joint: JointSpace) -> bool:
        """Whether variates count by their correlations."""
        if self.variates == "auto":
            return joint.pairs is not None and isinstance(self.metric, str)
        return self.variates == "weighted"

    def _needs_labels(self) -> bool:
        return not isinstance(self.metric, str)

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
        variates: str = "auto",
        metric: Any = "euclidean",
        rule: Any = "means",
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
            variates=variates,
            metric=metric,
            rule=rule,
            references=references,
            n_neighbors=n_neighbors,
            source_transformer=source_transformer,
            target_transformer=target_transformer,
        )
