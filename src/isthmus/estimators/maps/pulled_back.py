"""A metric of the source, pulled back to the target through pairs (after Qi et al. 2012)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from isthmus._arrays import FloatArray, as_dense
from isthmus._validation import number
from isthmus.common_space import CommonSpace
from isthmus.domains import TwoDomains
from isthmus.estimators.logdet.itml import ITML
from isthmus.estimators.maps.base import PairedMap, anchors
from isthmus.exceptions import InputError
from isthmus.maps import PENALTIES, ridge
from isthmus.spaces import JointSpace


class PulledBackMetric(PairedMap):
    r"""Learn a metric where labels are, and carry it to where pairs lead.

    .. math:: M_t = R\, M_s R^T, \qquad
              R = \arg\min_R \sum_i w_i \lVert a_i - R^T b_i \rVert^2 + \lambda \lVert R \rVert^2

    over known pairs :math:`(a_i, b_i)`, centred on their means. :math:`M_s` is a metric of the source alone, learned
    from its labels; R translates target rows into the source's features, and distances are measured there: within
    the target (``references="target"``), and across (the default). Columns are taken as they are: reduce wide tables
    first.

    **Our reading.** G.-J. Qi, C. C. Aggarwal and T. S. Huang, *Transfer learning of distance metrics by cross-domain
    metric sampling across heterogeneous spaces*, SDM 2012, learns a metric of the target from a metric of the source
    and correspondences. Only the abstract could be had; their sampling is not what is done here, and their defaults
    are not known.

    Parameters
    ----------
    metric : "auto", "euclidean" or object
        :math:`M_s`. An object with ``fit(X, y)`` and ``components_`` (k, d), such as ITML, is cloned and fitted to
        the labelled source rows; "auto" is ``ITML(random_state=0)`` where source rows of two classes are labelled,
        and the Euclidean metric elsewhere.
    penalty : float or "auto"
        λ > 0 in units of the mean eigenvalue of the paired target rows' Gram matrix; "auto" has the least error of
        leaving out each pair in turn.
    rule, references, n_neighbors, source_transformer, target_transformer
        As in :class:`~isthmus.MLHD`.

    Attributes
    ----------
    common_space_ : CommonSpace
        The source's features, measured by :math:`M_s`.
    learner_ : object or None
        The fitted metric of the source; None where it is Euclidean.
    penalty_ : float
        λ, as it enters the formula.
    references_, kernels_, classes_
        As in :class:`~isthmus.MLHD`.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import PulledBackMetric
    >>> A = np.random.default_rng(0).normal(size=(50, 4))
    >>> B = A @ np.random.default_rng(1).normal(size=(4, 7)) + 3.0
    >>> metric = PulledBackMetric().fit(A[:20], None, B[:20], None, pairs="rows")
    >>> _, found = metric.search(B[20:], A[20:], 1)
    >>> round(float((found[:, 0] == np.arange(30)).mean()), 2)
    0.93
    """

    learner_: Any
    penalty_: float

    def __init__(
        self,
        *,
        metric: Any = "auto",
        penalty: float | str = "auto",
        rule: Any = "nearest",
        references: str = "source",
        n_neighbors: int = 1,
        source_transformer: Any = None,
        target_transformer: Any = None,
    ) -> None:
        super().__init__(
            rule=rule,
            references=references,
            n_neighbors=n_neighbors,
            source_transformer=source_transformer,
            target_transformer=target_transformer,
        )
        self.metric = metric
        self.penalty = penalty

    def _validate(self) -> FloatArray:
        super()._validate()
        known = isinstance(self.metric, str) and self.metric in ("auto", "euclidean")
        if not known and (isinstance(self.metric, str | type) or not hasattr(self.metric, "fit")):
            raise InputError(
                f'metric: expected "auto", "euclidean" or an object with fit(X, y), got {self.metric!r}.'
            )
        if isinstance(self.penalty, str) and self.penalty == "auto":
            return PENALTIES
        return np.array([number(self.penalty, "penalty", low=0.0, strict=True)])

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        return JointSpace.of_features(domains)

    def _fit_joint(
        self, domains: TwoDomains, joint: JointSpace, settings: FloatArray
    ) -> tuple[CommonSpace, dict[str, Any]]:
        (A, B), axes, weights = anchors(joint)
        translator = ridge(B, A, weights=weights, penalties=settings)
        learner = self._fitted_learner(domains)
        L = np.eye(domains.source.X.shape[1]) if learner is None else np.asarray(learner.components_).T
        W_t = axes[1].axes @ translator.map.W @ axes[0].axes.T @ L
        offsets = -np.vstack([axes[0].mean @ L, axes[1].mean @ W_t])
        spaces = joint.source.space, joint.target.space
        space = CommonSpace(*spaces, np.vstack([L, W_t]), projected=True, offsets=offsets)
        return space, {"learner_": learner, "penalty_": translator.penalty}

    def _fitted_learner(self, domains: TwoDomains) -> Any:
        """The metric of the source, or None for the Euclidean one."""
        source = domains.source
        known = source.labelled
        taught = len(np.unique(source.y[known])) > 1
        if isinstance(self.metric, str):
            if self.metric == "euclidean" or not taught:
                return None
            return ITML(random_state=0).fit(as_dense(source.X[known]), source.y[known])
        if not taught:
            raise InputError("metric: expected labelled source rows of two classes for a learner, got fewer.")
        return clone(self.metric).fit(as_dense(source.X[known]), source.y[known])
