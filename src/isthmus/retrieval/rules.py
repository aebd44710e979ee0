"""Rules: how points of a common space are compared, and how labelled references name a class.

First the similarities, then rows that become points, then the references, then the rules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from isthmus._core.validation import (
    UNLABELLED,
    FloatArray,
    IntArray,
    ShortRepr,
    check_choice,
    check_magnitude,
    check_matrix,
    is_sparse,
    show_value,
)
from isthmus.data.blocks import Partitions
from isthmus.data.domains import Domain, TwoDomains
from isthmus.exceptions import InputError
from isthmus.geometry.common_space import DISTANCE, DOMAINS, INNER_PRODUCT, CommonSpace, score_points
from isthmus.geometry.spaces import apply_transformer

# Numbers that are held at once where pairs of points are compared.
CELLS = 2**22


@dataclass(frozen=True)
class Measure:
    r"""Similarities of points: :math:`s(q, r) = -\tfrac12 \|q - r\|^2`, or inner products :math:`q^T r`.

    Parameters
    ----------
    kind : {"distance", "inner product"}
        Which of the two.
    across : bool
        Whether rows can be compared with those of the other domain only.

    Examples
    --------
    >>> Measure().scores(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]))
    array([[-12.5]])
    """

    kind: str = DISTANCE
    across: bool = False

    @classmethod
    def of(cls, model: Any) -> Measure:
        """Return the measure of a fitted model or a common space; distances where it has none."""
        space = common_space(model)
        if space is not None:
            return cls(space.kind, across=space.kind == INNER_PRODUCT)
        return cls(getattr(model, "kind", DISTANCE))

    def scores(self, queries: FloatArray, references: FloatArray) -> FloatArray:
        """Return all similarities (n, m) in double precision, the larger the nearer."""
        queries, references = (P.astype(np.float64, copy=False) for P in (queries, references))
        return score_points(queries, references, self.kind)  # scores_at keeps the digits of distances

    def scores_at(self, queries: FloatArray, references: FloatArray, places: IntArray) -> FloatArray:
        """Return the similarities (n, k) of queries (n, d) with those references (m, d) that stand at places (n, k).

        They are computed from differences and in double precision: a point is at distance zero from itself.
        """
        found = np.empty(places.shape, dtype=np.float64)
        step = max(1, CELLS // max(1, places.shape[1] * queries.shape[1]))
        for start in range(0, len(queries), step):
            part = slice(start, start + step)
            q, r = queries[part, None, :].astype(np.float64), references[places[part]].astype(np.float64)
            found[part] = (q * r).sum(axis=2) if self.kind == INNER_PRODUCT else -0.5 * np.square(q - r).sum(axis=2)
        return found


def check_points(points: Any, dtype: str, *, width: int | None = None, least: int = 1) -> FloatArray:
    """Return points (n, k) as an index keeps them: dense, finite, in its precision, not too large.

    Examples
    --------
    >>> check_points([[1, 2]], "float32")
    array([[1., 2.]], dtype=float32)
    """
    checked = check_matrix(points, "X", n_columns=width, min_rows=least)
    with np.errstate(over="ignore"):
        cast = np.ascontiguousarray(checked.toarray() if is_sparse(checked) else checked, dtype=dtype)
    limit = largest_entry(dtype)
    if cast.size and not np.abs(cast).max() < limit:
        raise InputError(f"X: expected points whose entries are below {limit:.0e}, got larger; scale the rows first.")
    return cast


def largest_entry(dtype: str) -> float:
    """Return the bound on entries of points below which squared distances are finite."""
    return float(0.1 * np.sqrt(np.finfo(dtype).max))


def common_space(model: Any) -> CommonSpace | None:
    """Return the common space that a model is, or has learned."""
    found = model if isinstance(model, CommonSpace) else getattr(model, "common_space_", None)
    return found if isinstance(found, CommonSpace) else None


@dataclass(frozen=True, eq=False)
class RowMap:
    """A map that is sent to partitions: rows of a domain to points of the common space, or to a function of these.

    Parameters
    ----------
    transformer : transformer or None
        The preprocessing of the domain.
    n_features : int
        The number of columns after that.
    space : CommonSpace
        The space of the points.
    domain : {"source", "target"}
        The domain of the rows.
    function : callable, optional
        The function of the points.
    """

    transformer: Any
    n_features: int
    space: CommonSpace
    domain: str
    function: Callable[[FloatArray], NDArray[Any]] | None = None

    def __call__(self, X: Any) -> NDArray[Any]:
        """Return points (n, k), or the function of them."""
        rows = check_matrix(apply_transformer(self.transformer, X, "X"), "X", n_columns=self.n_features, min_rows=0)
        points = self.space.embed(check_magnitude(rows, "X", smallest=0.0), self.domain)
        return points if self.function is None else self.function(points)


def fetch_points(points: Partitions, dtype: str, width: int | None = None) -> FloatArray:
    """Return the points (n, k) of a Dask array, brought here in the precision of the index and in their order."""
    parts = points.collect(partial(check_points, dtype=dtype, width=width, least=0))
    return check_points(np.concatenate(parts), dtype)


RULES = ("nearest", "means", "linear")
REFERENCES = (*DOMAINS, "both")
# Rows that are mapped at once.
BLOCK = 2**16


@dataclass(frozen=True, eq=False, repr=False)
class References(ShortRepr):
    """Points of a common space that others are compared with: those of the source, then those of the target.

    They are the labelled rows of either domain, or all of its rows where none is labelled.

    Parameters
    ----------
    space : CommonSpace
        The space, which says how points are compared.
    points : array (n, k)
        The reference rows.
    y : array (n,)
        Their label codes, -1 for none.
    n_source : int
        The number of source rows, which come first.
    weights : array (n,), optional
        The weight of each where a classifier learns from them; equal unless given.
    """

    space: CommonSpace
    points: FloatArray
    y: IntArray
    n_source: int
    weights: FloatArray | None = None

    @classmethod
    def of(cls, domains: TwoDomains, space: CommonSpace, weights: FloatArray | None = None) -> References:
        """Map the rows of two domains; without any label on first use of the points."""
        both = zip(DOMAINS, (domains.source, domains.target), strict=True)
        # The labelled rows of a domain, or all where none is labelled.
        parts = [(d, p, p.labelled if len(p.labelled) else np.arange(p.X.shape[0])) for d, p in both]
        y = np.concatenate([part.y[rows] for _, part, rows in parts])
        found = cls(space, np.empty(0), y, len(parts[0][2]), weights)
        state = vars(found)
        del state["points"]
        state["_later"] = parts, _checksum(parts)
        if (y != UNLABELLED).any():
            found.points  # noqa: B018
        return found

    def __getattr__(self, name: str) -> Any:
        """Map the rows on first use of the points: to map all rows may take longer than the fit itself."""
        state = vars(self)
        if name != "points" or "_later" not in state:
            raise AttributeError(name)
        parts, before = state["_later"]
        if _checksum(parts) != before:
            raise InputError("references: expected the rows of the fit, got rows changed in place since; fit again.")
        points, place = np.empty((len(self.y), self.space.dimension)), 0
        for domain, part, rows in parts:
            for start in range(0, len(rows), BLOCK):  # the points of many rows are large enough once
                found = self.space.embed(part.X[rows[start : start + BLOCK]], domain)
                points[place : place + len(found)] = found
                place += len(found)
        state["points"] = points
        state.pop("_later", None)
        return points

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and pickles: the points, without rows."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def labelled(self) -> References:
        """The references that have a label."""
        known = self.y != UNLABELLED
        return self if known.all() else self._some(known, int(known[: self.n_source].sum()))

    def among(self, which: str) -> References:
        """Return the references of "source", "target" or "both"."""
        if check_choice(which, "references", REFERENCES) == "both":
            return self
        kept = slice(None, self.n_source) if which == "source" else slice(self.n_source, None)
        return self._some(kept, self.n_source if which == "source" else 0)

    def _some(self, kept: Any, n_source: int) -> References:
        weights = None if self.weights is None else self.weights[kept]
        return References(self.space, self.points[kept], self.y[kept], n_source, weights)


def _checksum(parts: list[tuple[str, Domain, IntArray]]) -> tuple[float, ...]:
    return tuple(float(part.X.sum()) for _, part, _ in parts)


def check_comparable(kind: str, references: str, domain: str) -> None:
    """Raise where rows can't be compared with the references: inner products are across domains only."""
    reason = "there is no similarity within the {} to rank its rows by"
    if kind != DISTANCE and references != "source":
        raise InputError(f"references: expected 'source', as {reason.format('target')}, got {references!r}.")
    if kind != DISTANCE and domain != "target":
        raise InputError(f"domain: expected 'target', as {reason.format('source')}, got {domain!r}.")


class DecisionRule(Protocol):
    """A rule that knows its references; :func:`offers` says which other methods it has."""

    def predict(self, points: FloatArray) -> IntArray:
        """Return the label code (n,) of each point."""
        ...


@dataclass(frozen=True)
class NoRule:
    """The rule of a fit without labels: rows can be compared, and every prediction raises."""

    def predict(self, points: FloatArray) -> Any:
        """Raise: there are no classes."""
        raise InputError("references: expected labelled rows to predict a class from, got none in the fit.")

    scores = predict
    probabilities = predict


@dataclass(frozen=True, eq=False)
class Nearest:
    """A vote of the k best references."""

    references: References
    k: int
    n_classes: int

    def predict(self, points: FloatArray) -> IntArray:
        """Return the class with most votes, the first of equals."""
        return np.asarray(self.probabilities(points).argmax(axis=1))

    def probabilities(self, points: FloatArray) -> FloatArray:
        """Return the shares of the votes (n, C)."""
        _, numbers = self.references.space.rank(points, self.references.points, self.k)
        votes = self.references.y[numbers]
        return np.stack([(votes == c).mean(axis=1) for c in range(self.n_classes)], axis=1)


@dataclass(frozen=True, eq=False)
class Means:
    """The best class mean of the references: the nearest, or that of the largest inner product."""

    references: References
    n_classes: int

    def predict(self, points: FloatArray) -> IntArray:
        """Return the class with the best mean."""
        return np.asarray(self.scores(points).argmax(axis=1))

    def scores(self, points: FloatArray) -> FloatArray:
        """Return minus the squared distance to each class mean, or the inner product; -inf without references."""
        y, P = self.references.y, self.references.points
        present = np.unique(y)
        means = np.stack([P[y == c].mean(axis=0) for c in present])
        kind = self.references.space.kind
        scores = np.full((len(points), self.n_classes), -np.inf)
        # -‖p - m‖² = 2 (pᵀm - ‖m‖² / 2 - ‖p‖² / 2)
        factor = 2.0 if kind == DISTANCE else 1.0
        scores[:, present] = factor * score_points(points.astype(np.float64), means, kind)
        return scores


@dataclass(frozen=True, eq=False)
class FittedClassifier:
    """Any classifier of scikit-learn that was fitted to the references."""

    classifier: Any
    n_classes: int

    def predict(self, points: FloatArray) -> IntArray:
        """Return the classifier's predictions."""
        return np.asarray(self.classifier.predict(points.astype(np.float64, copy=False)), dtype=np.intp)

    def scores(self, points: FloatArray) -> FloatArray:
        """Return its decision function for all classes (n, C); -inf for classes without references."""
        values = np.asarray(self.classifier.decision_function(points.astype(np.float64, copy=False)))
        if values.ndim == 1:  # of two classes scikit-learn scores the second alone
            values = 0.5 * np.stack([-values, values], axis=1)
        one_to_one = getattr(self.classifier, "decision_function_shape", "ovr") == "ovo"
        if one_to_one or values.shape[1] != len(self.classifier.classes_):
            raise InputError(f"rule: expected one score per class, got {values.shape[1]} (one against one).")
        return self._spread(values, -np.inf)

    def probabilities(self, points: FloatArray) -> FloatArray:
        """Return its probabilities for all classes (n, C)."""
        return self._spread(self.classifier.predict_proba(points.astype(np.float64, copy=False)), 0.0)

    def _spread(self, values: FloatArray, missing: float) -> FloatArray:
        """Return one column per class, also for those that the classifier has not seen."""
        full = np.full((len(values), self.n_classes), missing)
        full[:, self.classifier.classes_] = values
        return full


def offers(rule: Any, method: str) -> bool:
    """Return whether a rule has "scores" or "probabilities"."""
    if isinstance(rule, str):
        return (rule, method) in {("nearest", "probabilities"), ("means", "scores"), ("linear", "scores")}
    return hasattr(rule, {"scores": "decision_function", "probabilities": "predict_proba"}[method])


def decision_rule(rule: Any, references: References, n_neighbors: int, n_classes: int) -> DecisionRule:
    """Return the rule of the parameter ``rule`` for these references; "linear" is a linear support vector machine."""
    check_rule(rule)
    if not (references.y != UNLABELLED).any():
        return NoRule()
    references = references.labelled
    if isinstance(rule, str) and rule == "nearest":
        if n_neighbors > (n := len(references.y)):
            raise InputError(f"n_neighbors: expected at most the {n} reference rows, got {n_neighbors}.")
        return Nearest(references, n_neighbors, n_classes)
    if isinstance(rule, str) and rule == "means":
        return Means(references, n_classes)
    if isinstance(rule, str):
        from sklearn.svm import LinearSVC

        rule = LinearSVC()
    if len(np.unique(references.y)) < 2:
        raise InputError("references: expected at least two classes for a classifier, got one.")
    weights = {} if references.weights is None else {"sample_weight": references.weights}
    return FittedClassifier(clone(rule).fit(references.points, references.y, **weights), n_classes)


def check_rule(rule: Any) -> None:
    """Raise unless this is the name of a rule, or a classifier of one domain."""
    classifier = not isinstance(rule, str | type) and hasattr(rule, "fit") and is_classifier(rule)
    classifier = classifier and not hasattr(rule, "given_source")
    if not classifier and not (isinstance(rule, str) and rule in RULES):
        names = ", ".join(repr(name) for name in RULES)
        raise InputError(f"rule: expected {names} or a classifier of scikit-learn, got {show_value(rule)}.")
