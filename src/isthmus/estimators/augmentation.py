"""Feature augmentation: a shared copy of the features, and one of either domain's own (Daumé 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import LABELS, SystemFacts, check_equal_features
from isthmus.estimators.mapped import Learned, MetricEstimator
from isthmus.exceptions import InputError
from isthmus.geometry.common_space import CommonSpace
from isthmus.geometry.spaces import JointSpace

# The maps are a table of 2d × 3d numbers.
WIDEST = 4096


@dataclass(kw_only=True, eq=False, repr=False)
class FeatureAugmentation(MetricEstimator):
    r"""Three copies of the features, of which each domain leaves one empty; then any classifier.

    .. math:: x \mapsto [x;\, x;\, 0], \qquad y \mapsto [y;\, 0;\, y], \qquad
              M = \begin{bmatrix} 2I & I \\ I & 2I \end{bmatrix}

    The maps are the same for all data: inner products are doubled within a domain. What is learned is the rule, by
    default a linear support vector machine over source and labelled target rows, which finds what is common and what
    is a domain's own. The domains have to have the same features: zeros in place of missing ones would pair features
    that have nothing to do with each other, and without any shared feature only an intercept is shared, as in
    :class:`~isthmus.HFA`.

    H. Daumé III, *Frustratingly easy domain adaptation*, ACL 2007; the maps are as published, for any classifier.

    Parameters
    ----------
    rule, references, n_neighbors, source_transformer, target_transformer
        As in :class:`~isthmus.MLHD`, but for the defaults: a linear rule, learned from both domains.

    Attributes
    ----------
    common_space_ : CommonSpace
        The maps.
    references_, kernels_, classes_
        As in :class:`~isthmus.MLHD`.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import FeatureAugmentation
    >>> X, y = np.array([[-2.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [2.0, 0.0]]), ["a", "a", "b", "b"]
    >>> augmented = FeatureAugmentation().fit(X, y, X + [0.0, 3.0], ["a", None, None, "b"])
    >>> augmented.transform([[7.0, 8.0]])
    array([[7., 8., 0., 0., 7., 8.]])
    >>> augmented.predict([[-1.5, 3.0], [1.5, 3.0]])
    array(['a', 'b'], dtype=object)
    """

    systems = (SystemFacts("feature-augmentation", "related work", "Daumé 2007, equal features only", LABELS),)

    equal_features = True
    intercept = True  # the rule has one

    rule: Any = "linear"
    references: str = "both"

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        check_equal_features(domains, "HFA")
        d = domains.source.X.shape[1]
        if d > WIDEST:
            raise InputError(f"X_source: expected at most {WIDEST} columns, of which three copies are made, got {d}.")
        return JointSpace.of_features(domains)

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: Any) -> Learned:
        copies = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
        W = np.kron(copies, np.eye(domains.source.X.shape[1]))
        return CommonSpace(joint.source.space, joint.target.space, W), {}
