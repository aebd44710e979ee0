"""CDSPP: cross-domain structure preserving projection (Wang & Breckon 2022), also self-trained."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from isthmus._arrays import FloatArray, IntArray
from isthmus._validation import number
from isthmus.common_space import CommonSpace
from isthmus.domains import TwoDomains
from isthmus.estimators.from_blocks import BlockEstimator
from isthmus.estimators.projections.base import Both, Projection, all_rows
from isthmus.estimators.projections.moments import LabelMoments, label_moments
from isthmus.estimators.projections.self_training import chosen, class_guesses
from isthmus.exceptions import InputError
from isthmus.kernels import Kernel
from isthmus.maps import CoupledProblem, JointDirections
from isthmus.retrieval import References
from isthmus.spaces import JointSpace

ACROSS = 0.5
"""What a row of the other domain counts in the weight of a class, as in the release."""


class CDSPP(BlockEstimator, Projection):
    r"""Project rows of one class together across two domains, while either domain keeps its classes' structure.

    .. math::

       \begin{pmatrix} 0 & M_s M_t^T \\ M_t M_s^T & 0 \end{pmatrix} v = \lambda
       \begin{pmatrix} X^T D_s X - M_s M_s^T + \alpha I & 0 \\ 0 & Y^T D_t Y - M_t M_t^T + \alpha I \end{pmatrix} v,
       \qquad v = \begin{pmatrix} w_s \\ w_t \end{pmatrix}

    with M the sums of the rows of each class, and :math:`D_s` the number of source rows of a row's class plus half
    the number of target rows (:math:`D_t` likewise): Wang and Breckon, *Cross-domain structure preserving projection
    for heterogeneous domain adaptation*, Pattern Recognition 2022, with the constants of their release. It learns a
    metric from the labels of both domains, by the singular value decomposition of
    :math:`A_s^{-1/2} M_s M_t^T A_t^{-1/2}`: at most as many directions as classes. With ``n_rounds`` it learns from
    the unlabelled target rows too: each round guesses their classes, and the next one learns from the surest guesses.

    Parameters
    ----------
    source_kernel, target_kernel : Kernel or {"linear", "rbf", "laplacian", "polynomial", "cosine", "precomputed"}
        The similarity within either domain. "cosine", the default, is the features themselves in rows of unit
        length, as published.
    n_components : int, optional
        How many directions to keep; None keeps all whose eigenvalue is not zero, and more there are not.
    regularization : float
        α > 0; published: 10, for rows of unit length.
    n_rounds : int
        T: round t learns from labels and from the surest (t − 1)/T of the guesses of each class. 1, the default,
        learns from labels only; published for self-training: 5 (``cdspp-self`` in ``isthmus.systems``).
    points : {"unit", "plain"}
        What a row is in the common space: seen from the mean of the labelled rows of both domains there and scaled to
        unit length, as published, so that rows are compared by cosine; or :math:`W^T x` itself.
    rule : "means", "nearest", "linear" or classifier
        As in :class:`MLHD`. "means" is the published rule, but for the class means, which the release scales to unit
        length as well.
    references, n_neighbors, source_transformer, target_transformer
        As in :class:`MLHD`. Where it is self-trained, target rows that the last round learned from are references,
        under their guessed classes.

    Attributes
    ----------
    common_space_ : CommonSpace
        What was learned.
    eigenvalues_ : array (k,)
        λ, largest first.
    residual_ : float
        The certificate: the directions solve a problem that differs from this one by no more than this part.
    n_guessed_ : int
        How many unlabelled rows the last round learned from.
    kernels_, references_, classes_
        As in :class:`MLHD`.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import CDSPP
    >>> X_source, y_source = np.array([[-2.0, -2.5], [-2.0, -1.5], [2.0, 1.5], [2.0, 2.5]]), ["a", "a", "b", "b"]
    >>> X_target, y_target = np.array([[4.0], [3.5], [-4.0], [-3.5]]), ["a", None, "b", None]
    >>> CDSPP().fit(X_source, y_source, X_target, y_target).predict([[3.8], [-3.8]])
    array(['a', 'b'], dtype=object)
    """

    n_guessed_: int

    def __init__(
        self,
        source_kernel: Kernel | str = "cosine",
        target_kernel: Kernel | str = "cosine",
        *,
        n_components: int | None = None,
        regularization: float = 10.0,
        n_rounds: int = 1,
        points: str = "unit",
        rule: Any = "means",
        references: str = "both",
        n_neighbors: int = 1,
        source_transformer: Any = None,
        target_transformer: Any = None,
    ) -> None:
        self.source_kernel = source_kernel
        self.target_kernel = target_kernel
        self.n_components = n_components
        self.regularization = regularization
        self.n_rounds = n_rounds
        self.points = points
        self.rule = rule
        self.references = references
        self.n_neighbors = n_neighbors
        self.source_transformer = source_transformer
        self.target_transformer = target_transformer

    def _validate(self) -> None:
        super()._validate()
        number(self.regularization, "regularization", low=0.0, strict=True)
        number(self.n_rounds, "n_rounds", low=1, whole=True)

    def _check_blocks(self, blocks: tuple[str, ...], pairs: Any) -> None:
        super()._check_blocks(blocks, pairs)
        if self.n_rounds > 1:
            raise InputError(f"n_rounds: expected 1 with source rows in blocks, got {self.n_rounds}.")

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        return JointSpace.of(domains, self._kernels(), every_row=self.n_rounds > 1, mean=False)

    def _fit_joint(
        self, domains: TwoDomains, joint: JointSpace, settings: None
    ) -> tuple[CommonSpace, dict[str, Any]]:
        X, Y = all_rows(domains, joint)
        y_source, y_target = domains.source.y, domains.target.y
        for t in range(1, self.n_rounds + 1):
            moments = label_moments(joint, ((X, Y), (y_source, y_target)))
            found = self._directions(moments)
            if t < self.n_rounds:
                y_target = _guessed((X, Y), domains, y_target, found, t / self.n_rounds)
        return self._space(joint, found, moments.middle(found.source, found.target)), {
            "eigenvalues_": found.values,
            "residual_": found.residual,
            "n_guessed_": int((y_target != domains.target.y).sum()),
            "codes": y_target,
        }

    def _fit_domains(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        """Target rows that the last round learned from are references, under their guessed classes."""
        learned = super()._fit_domains(domains, settings)
        codes = learned.pop("codes")
        if not learned["n_guessed_"]:
            return learned
        learned_from = replace(domains, target=replace(domains.target, y=codes))
        references = References.of(learned_from, learned["common_space_"])
        rule = self._decision_rule(references, len(domains.classes))
        return {**learned, "references_": references, "_rule": rule}

    def _directions(self, moments: LabelMoments) -> JointDirections:
        (n_s, n_t), (M_s, M_t) = moments.counts, moments.sums
        scatter = moments.weighted((n_s + ACROSS * n_t, n_t + ACROSS * n_s))
        A_s, A_t = (
            S - M @ M.T + self.regularization * np.eye(len(M)) for S, M in zip(scatter, (M_s, M_t), strict=True)
        )
        found = CoupledProblem((A_s, A_t), (M_s, M_t)).directions()
        if not len(found.values):
            raise InputError(
                "X_source: expected sums of classes that are not zero in both domains, got only zeros in one."
            )
        found = found.leading(self._size(len(found.values), len(found.values)))
        return found.signed(moments.heights(found.source, found.target))


def _guessed(rows: Both, domains: TwoDomains, y: IntArray, found: JointDirections, share: float) -> IntArray:
    """Label codes of the target rows for the next round: those that are known, and the surest guesses."""
    P, Q = rows[0] @ found.source, rows[1] @ found.target
    unlabelled = np.flatnonzero(domains.target.y < 0)
    if not len(unlabelled):
        return domains.target.y
    known = y >= 0
    points: FloatArray = np.vstack([P, Q[known]])
    codes = np.concatenate([domains.source.y, y[known]])
    guesses, sureness = class_guesses(points, codes, Q[unlabelled])
    kept = chosen(guesses, sureness, share)
    labels = domains.target.y.copy()
    labels[unlabelled[kept]] = guesses[kept]
    return labels
