"""Systems that learn a common space: distances, neighbours, search and decisions follow from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from isthmus._core.validation import FloatArray, IntArray, Matrix, check_choice, check_number
from isthmus.data.blocks import Partitions, as_partitions
from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import TransformerParameters, TwoDomainEstimator, warn_about_data
from isthmus.exceptions import InputError
from isthmus.geometry.common_space import DISTANCE, DOMAINS, INNER_PRODUCT, CommonSpace, two_names
from isthmus.geometry.kernels import Kernel, as_kernel
from isthmus.geometry.similarity import Background, rank_neighbours
from isthmus.geometry.spaces import JointSpace
from isthmus.retrieval.rules import (
    REFERENCES,
    DecisionRule,
    References,
    RowMap,
    check_comparable,
    check_rule,
    decision_rule,
    offers,
)

# An array of the source and one of the target: rows, coordinates or maps.
Both = tuple[FloatArray, FloatArray]
# A common space, and further attributes to set by name.
Learned = tuple[CommonSpace, dict[str, Any]]
# Rows whose full table of distances is computed at once where only its diagonal is needed.
PAIR_BLOCK = 128


@dataclass(eq=False, repr=False)
class KernelParameters:
    """Parameters of systems with a kernel for either domain, the first two of their constructors."""

    source_kernel: Kernel | str = "linear"
    target_kernel: Kernel | str = "linear"


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionParameters(TransformerParameters):
    """Parameters of every system that maps both domains into a common space."""

    rule: Any = "nearest"
    references: str = "source"
    n_neighbors: int = 1


class MappedEstimator(TwoDomainEstimator, DecisionParameters):
    """The base of systems that map both domains into a common space.

    A subclass has :class:`KernelParameters` (or a :meth:`_joint_space` of its own), and a method :meth:`_fit_joint`
    with its formula.

    Attributes
    ----------
    intercept : bool
        Whether the maps have an intercept: if not, linear features should be centred.
    """

    kind: ClassVar[str] = DISTANCE
    intercept: ClassVar[bool] = False

    source_kernel: Any = "linear"
    target_kernel: Any = "linear"
    n_components: int | None = None
    common_space_: CommonSpace
    kernels_: tuple[Kernel, Kernel]
    references_: References
    _rule: tuple[Any, DecisionRule]

    def _validate(self) -> Any:
        super()._validate()
        self._kernels()
        check_comparable(self.kind, check_choice(self.references, "references", REFERENCES), "target")
        check_rule(self.rule)
        if self.n_components is not None:
            check_number(self.n_components, "n_components", low=1, whole=True)

    def _size(self, usual: int, most: int) -> int:
        """Return the number of directions to keep: the parameter, or by default ``usual``."""
        if self.n_components is None:
            return min(usual, most)
        if self.n_components > most:
            raise InputError(f"n_components: expected at most {most} with these rows, got {self.n_components}.")
        return int(self.n_components)

    def _joint_space(self, domains: TwoDomains) -> JointSpace:
        """Return both domains in coordinates; the means of all rows are left out."""
        return JointSpace.of(domains, self._kernels(), mean=False)

    def _kernels(self) -> tuple[Kernel, Kernel]:
        return as_kernel(self.source_kernel, "source_kernel"), as_kernel(self.target_kernel, "target_kernel")

    def _fit_joint(self, domains: TwoDomains, joint: JointSpace, settings: Any) -> Learned:
        """Return the common space, and further attributes by name. It changes nothing.

        Of these, "reference_weights" (n,) is how much each reference row counts where a classifier learns from them,
        and "reference_codes" (n_t,) are classes of target rows, others than the known ones, that are references too.
        """
        raise NotImplementedError

    def _fit_domains(self, domains: TwoDomains, settings: Any) -> dict[str, Any]:
        # Without any label of a domain all of its rows are references, and there are always enough.
        self._check_votes(len(domains.source.labelled), len(domains.target.labelled))
        learned = self._fit_space(self._joint_space(domains), domains, settings)
        warn_about_data(domains, learned["kernels_"], intercept=self.intercept)
        return learned

    def _fit_space(self, joint: JointSpace, domains: TwoDomains, settings: Any) -> dict[str, Any]:
        """Return the attributes to set after learning from a joint space; rows of the domains become references."""
        space, attributes = self._fit_joint(domains, joint, settings)
        target = replace(domains.target, y=attributes.pop("reference_codes", domains.target.y))
        domains = replace(domains, target=target)
        references = self._make_references(domains, space, attributes.pop("reference_weights", None))
        if domains.pairs is not None:
            attributes["_background"] = Background.of(domains, space)
        return {**attributes, **self._space_attributes(space, references, len(domains.classes))}

    def _make_references(self, domains: TwoDomains, space: CommonSpace, weights: Any) -> References:
        return References.of(domains, space, weights)

    def _space_attributes(self, space: CommonSpace, references: References, n_classes: int) -> dict[str, Any]:
        """Return the attributes that every fitted system with a common space has."""
        kernels, rule = (space.source.kernel, space.target.kernel), self._decision_rule(references, n_classes)
        return {"common_space_": space, "kernels_": kernels, "references_": references, "_rule": rule}

    def _check_votes(self, n_source: int, n_target: int) -> None:
        """Raise, before anything is learned, where labelled references are fewer than votes, but not none."""
        most = {"source": n_source, "target": n_target, "both": n_source + n_target}[self.references]
        if isinstance(self.rule, str) and self.rule == "nearest" and 0 < most < self.n_neighbors:
            raise InputError(f"n_neighbors: expected at most the {most} reference rows, got {self.n_neighbors}.")

    def _decision_rule(self, references: References, n_classes: int) -> tuple[Any, DecisionRule]:
        """Return the parameters that the rule was made of, and the rule."""
        made_of = (self.references, self.rule, self.n_neighbors)
        chosen = references.among(self.references) if n_classes else references  # without classes there is no rule
        return made_of, decision_rule(self.rule, chosen, self.n_neighbors, n_classes)

    def _decide(self, X: Any, domain: str, method: str) -> NDArray[Any]:
        """Apply a method of the decision rule, as the parameters now define it, to rows."""
        partitions = as_partitions(X)
        points: Any = self._points(X, domain) if partitions is None else None
        # Rules are made again only where parameters have changed since: set_params after fit needs no other fit.
        if self._rule[0] != (self.references, self.rule, self.n_neighbors):
            self._validate()
            self._rule = self._decision_rule(self.references_, len(self.classes_))
        decide = partial(_decide, rule=self._rule[1], method=method, classes=self.classes_)
        if partitions is None:
            return decide(points)
        check_comparable(self.kind, self.references, domain)
        if method == "predict":
            return self._map_partitions(partitions, domain, None, self.classes_.dtype, decide)
        return self._map_partitions(partitions, domain, len(self.classes_), np.float64, decide)

    def _map_partitions(
        self, partitions: Partitions, domain: str, width: int | None, dtype: Any, function: Any = None
    ) -> NDArray[Any]:
        """Return a Dask array: the points of each partition, or a function of them, computed where it lies."""
        check_is_fitted(self, "classes_")
        check_choice(domain, "domain", DOMAINS)
        parts = self.transformers_[domain], self.n_features_[domain], self.common_space_, domain
        mapped: NDArray[Any] = partitions.map(RowMap(*parts, function), width, dtype)
        return mapped

    def _points(self, X: Any, domain: str) -> FloatArray:
        """Return rows as points that can be compared with the references."""
        rows = self._rows(X, domain)
        points = self.common_space_.embed(rows, domain)
        check_comparable(self.kind, self.references, domain)
        return points

    def transform(self, X: Any, domain: str = "target") -> FloatArray:
        """Return rows as points of the common space.

        There, Euclidean distance is the learned metric: across the domains, and to every row that was learned from.
        Between two other rows of one domain that a kernel takes outside of the span of those, it is not (see
        :meth:`~isthmus.CommonSpace.embed`), and ``pairwise_distances`` is. For a similarity, inner products across
        the domains are what was learned, and distances mean nothing.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Dask array (n, d_t), or (n, d_s) for the source
            New or old rows. Single precision in gives single precision out; a Dask array gives one that is computed
            where its partitions lie.
        domain : {"target", "source"}
            Where the rows come from.

        Returns
        -------
        array (n, k)
            The points; k is the same for both domains.
        """
        if (partitions := as_partitions(X)) is not None:
            check_is_fitted(self, "classes_")
            dtype = "float32" if X.dtype == np.float32 else "float64"
            return self._map_partitions(partitions, domain, self._dimension(), dtype)
        rows = self._rows(X, domain)
        return self.common_space_.embed(rows, domain)

    def _dimension(self) -> int:
        return self.common_space_.dimension

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """Return the class of each row (n,), as the parameters ``rule`` and ``references`` say.

        They can be changed after ``fit``, by ``set_params``, without another fit.
        """
        return self._decide(X, domain, "predict")

    @available_if(lambda self: offers(self.rule, "probabilities"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, domain: str = "target") -> FloatArray:
        """Return probabilities of the classes (n, C): shares of votes, or what the classifier says."""
        return self._decide(X, domain, "probabilities")

    @available_if(lambda self: offers(self.rule, "scores"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, domain: str = "target") -> FloatArray:
        """Return a score for each class (n, C), larger is better; of two the second's less the first's (n,)."""
        scores = self._decide(X, domain, "scores")
        return scores if scores.shape[1] != 2 else scores[:, 1] - scores[:, 0]

    def search(
        self,
        queries: Any,
        gallery: Any,
        k: int = 10,
        domains: tuple[str, str] = ("target", "source"),
        *,
        hubness: str | None = "csls",
    ) -> tuple[FloatArray, IntArray]:
        """Return the best rows of a gallery for each query, best first: scores and row numbers, both (n, k).

        Parameters
        ----------
        queries, gallery : array, sparse matrix or data frame (n, d) and (m, d')
            Rows of the two domains, new or old.
        k : int
            How many to find for each query, at most as many as there are in the gallery.
        domains : (str, str)
            Where the queries and the gallery come from: one from the source and one from the target.
        hubness : "csls" or None
            Whether rows of the gallery that are near to everything are set back: the score is twice the similarity,
            less the mean of the ten best of the query, and of the gallery's row among rows of the fit. Without, and
            for systems that were fitted without pairs, it is the similarity itself: an inner product, or minus half
            the squared distance.
        """
        domains = two_names(domains, across=True)
        q, g = self._rows(queries, domains[0], "queries"), self._rows(gallery, domains[1], "gallery")
        check_number(k, "k", low=1, high=g.shape[0], whole=True)
        if hubness is not None:
            check_choice(hubness, "hubness", ("csls",))
        space = self.common_space_
        points = space.embed(q, domains[0]), space.embed(g, domains[1])
        # Hubs are found among rows of the fit, so that what a query finds does not depend on the other queries.
        background: Background | None = getattr(self, "_background", None) if hubness else None
        hubs = None if background is None else background.hubs(space, points[1], domains[0])
        return rank_neighbours(space, *points, k, hubs)

    def kneighbors(
        self, X: Any, n_neighbors: int | None = None, domain: str = "target"
    ) -> tuple[FloatArray, IntArray]:
        """Return distances (or similarities) and row numbers of the best reference rows, best first, both (n, k).

        The reference rows are those of the parameter ``references``: of the source, of the target, or of the source
        followed by those of the target. Of a domain with labels they are its labelled rows, without all its rows.
        """
        points = self._points(X, domain)
        among = self.references_.among(self.references)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        check_number(k, "n_neighbors", low=1, high=len(among.y), whole=True)
        return among.space.rank(points, among.points, int(k))

    def _both(self, A: Any, B: Any, domains: Any) -> tuple[Matrix, Matrix]:
        """Return rows of two domains, checked."""
        names = two_names(domains)
        return self._rows(A, names[0], "A"), self._rows(B, names[1], "B")


class MetricEstimator(MappedEstimator):
    """The base of systems that learn a metric over both domains: distances across and within them."""

    learns = "metric"

    def pairwise_distances(self, A: Any, B: Any, domains: tuple[str, str] = ("source", "target")) -> FloatArray:
        """Return all distances (n, m) between rows A of one domain and rows B of another, or of the same."""
        a, b = self._both(A, B, domains)
        return np.asarray(np.sqrt(self.common_space_.squared_distances(a, b, domains)))

    def pair_distance(self, A: Any, B: Any, domains: tuple[str, str] = ("source", "target")) -> FloatArray:
        """Return the distance (n,) of each row of A to the row of B in the same place."""
        a, b = self._both(A, B, domains)
        if a.shape[0] != b.shape[0]:
            raise InputError(f"B: expected {a.shape[0]} rows, as many as A, got {b.shape[0]}.")
        # The space has distances of all to all; small blocks keep what is computed besides the diagonal small.
        blocks = [slice(i, i + PAIR_BLOCK) for i in range(0, a.shape[0], PAIR_BLOCK)]
        squared = [np.diagonal(self.common_space_.squared_distances(a[rows], b[rows], domains)) for rows in blocks]
        return np.asarray(np.sqrt(np.concatenate(squared)))

    def get_mahalanobis_matrix(self) -> FloatArray:
        """Return M over the features of both domains, source first (d_s + d_t, d_s + d_t); linear kernels only."""
        check_is_fitted(self, "common_space_")
        return self.common_space_.feature_matrix()


class SimilarityEstimator(MappedEstimator):
    """The base of systems that learn a similarity across the domains, and none within either."""

    learns = "similarity"
    kind = INNER_PRODUCT

    def pairwise_similarities(self, A: Any, B: Any, domains: tuple[str, str] = ("source", "target")) -> FloatArray:
        """Return all similarities (n, m) between rows A of one domain and rows B of the other."""
        a, b = self._both(A, B, domains)
        return self.common_space_.similarities(a, b, domains)

    def get_similarity_matrix(self) -> FloatArray:
        """Return W over the features of both domains (d_s, d_t); linear kernels only."""
        check_is_fitted(self, "common_space_")
        return self.common_space_.feature_matrix()


def centred_space(joint: JointSpace, maps: Both, means: Both, parts: tuple[int, ...] = ()) -> CommonSpace:
    """Return the common space of linear maps (r, k) of either domain's coordinates, less a mean (r,) of each."""
    offsets = -np.vstack([mean @ W for mean, W in zip(means, maps, strict=True)])
    spaces = joint.source.space, joint.target.space
    return CommonSpace(*spaces, np.vstack(maps), projected=True, offsets=offsets, parts=parts)


def _decide(points: FloatArray, rule: DecisionRule, method: str, classes: NDArray[Any]) -> NDArray[Any]:
    """Apply a method of a rule to points; return classes for "predict"."""
    found = getattr(rule, method)(points)
    return np.asarray(classes[found] if method == "predict" else found)
