"""What every system over two domains can do: one way through ``fit``, and what new rows have to look like."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.utils.validation import check_is_fitted

from isthmus._arrays import FloatArray, Matrix, is_sparse
from isthmus._threads import single_threaded_blas, small
from isthmus._validation import choice, column_names, matrix, ordinary, same_columns
from isthmus.common_space import DOMAINS
from isthmus.domains import TwoDomains, two_domains
from isthmus.estimators.manners import Manners
from isthmus.evaluation.scores import share_predicted
from isthmus.exceptions import InputError
from isthmus.spaces.transformed import check_transformer, fitted_transformer, transformed

if TYPE_CHECKING:
    from isthmus.estimators.given_source import GivenSource


@dataclass(frozen=True, eq=False)
class Prepared:
    """The rows of a fit, ready to be learned from."""

    domains: TwoDomains
    transformers: dict[str, Any]
    columns: dict[str, tuple[str, ...] | None]

    def alone(self) -> AbstractContextManager[None]:
        """One BLAS thread where the rows are few."""
        return single_threaded_blas(small(self.domains.source.X.shape, self.domains.target.X.shape))


class TwoDomainEstimator(Manners):
    """The base of every system over a source and a target, whatever it learns.

    A subclass has the parameters ``source_transformer`` and ``target_transformer``, a method :meth:`_checked` that
    looks at its other parameters, a method :meth:`_learned` that turns two domains into the attributes to set, and
    ``predict``.
    """

    takes_pairs: ClassVar[bool] = False
    """Whether known pairs of rows mean anything to the system."""
    needs_pairs: bool = False
    """Whether it learns from nothing else."""
    fewest_pairs: ClassVar[int] = 2
    """How many pairs it can learn from, where it is given any."""
    own_classes: ClassVar[bool] = False
    """Whether, without pairs too, the target may have classes that the source lacks."""
    needs_target_labels: bool = True
    """Whether, without pairs, some target row has to have a label: if not, the source's are enough."""
    needs_unlabelled: ClassVar[bool] = False
    """Whether it learns nothing without target rows that have no label."""
    equal_features: ClassVar[bool] = False
    """Whether both domains have to have the same features."""
    non_negative: ClassVar[bool] = False
    """Whether features are counts, or something like it: at least zero."""
    transductive: ClassVar[bool] = False
    """Whether it knows the rows of the fit only, and can say nothing of new ones."""

    source_transformer: Any
    target_transformer: Any
    classes_: NDArray[Any]
    n_features_: dict[str, int]
    transformers_: dict[str, Any]

    def fit(self, X_source: Any, y_source: Any, X_target: Any, y_target: Any, *, pairs: Any = None) -> Self:
        """Learn from what ties the two domains: labels of both, known pairs, or both kinds of knowledge.

        Parameters
        ----------
        X_source : array, sparse matrix or data frame (n_s, d_s)
            Source rows; with a ``source_transformer``, whatever that takes.
        y_source : array (n_s,), or None where pairs are given
            Their classes, of any type; with pairs, -1, None or NaN where unknown.
        X_target : array, sparse matrix or data frame (n_l + n_u, d_t)
            Target rows, labelled or not; with a ``target_transformer``, whatever that takes.
        y_target : array (n_l + n_u,), or None where pairs are given, or ``needs_target_labels`` is False
            Their classes; -1, None or NaN where unknown. With pairs, they may be others than those of the source.
        pairs : array (m, 2), "rows", (ids, ids) or KnownPairs, optional
            Rows that are the same object, for systems that learn from pairs: the numbers of a source and a target
            row for each; or "rows", where row i is row i; or, as a tuple, the ids of all rows of either domain; or
            :class:`~isthmus.KnownPairs`, with weights.
        """
        return self._fit(X_source, y_source, X_target, y_target, pairs, self._checked())

    def _fit(self, X_source: Any, y_source: Any, X_target: Any, y_target: Any, pairs: Any, settings: Any) -> Self:
        """The conductor: :meth:`fit` with settings that say more than the parameters, such as where to start."""
        prepared = self._prepared(X_source, y_source, X_target, y_target, pairs)
        with prepared.alone(), config_context(transform_output="default"):  # frames are for those who call transform
            learned = self._learned(prepared.domains, settings)
        return self._set(prepared, learned)

    def _prepared(self, X_source: Any, y_source: Any, X_target: Any, y_target: Any, pairs: Any) -> Prepared:
        """The rows of a fit, checked and behind their transformers; nothing is set."""
        self._require_use_of(pairs)
        self._require_equal_names(X_source, X_target)
        source = fitted_transformer(self.source_transformer, X_source, "X_source")
        target = fitted_transformer(self.target_transformer, X_target, "X_target")
        rows = transformed(source, X_source, "X_source"), transformed(target, X_target, "X_target")
        self._require_dense(*rows)
        needed = self.fewest_pairs, type(self).__name__
        domains = two_domains(
            rows[0], y_source, rows[1], y_target, pairs, needed, self.own_classes, self.needs_target_labels
        )
        columns = {"source": column_names(X_source), "target": column_names(X_target)}
        return Prepared(domains, {"source": source, "target": target}, columns)

    def _set(self, prepared: Prepared, learned: dict[str, Any]) -> Self:
        """What a fit leaves behind: called when everything has been computed, and not before."""
        domains = prepared.domains
        self.__dict__.update(learned)
        self.classes_, self.transformers_, self._columns = domains.classes, prepared.transformers, prepared.columns
        self.n_features_ = {"source": domains.source.X.shape[1], "target": domains.target.X.shape[1]}
        return self

    def _require_use_of(self, pairs: Any) -> None:
        """Raise where pairs are given to a system that has no use for them, or missing where it has no other."""
        name = type(self).__name__
        if pairs is not None and not self.takes_pairs:
            raise InputError(f"pairs: expected None, as {name} learns from labels, got pairs.")
        if pairs is None and self.needs_pairs:
            raise InputError(f"pairs: expected known pairs of rows, as {name} learns from nothing else, got None.")

    def _require_equal_names(self, X_source: Any, X_target: Any) -> None:
        """Raise where features have to be equal and two frames name them otherwise: as many are not yet the same."""
        source, target = column_names(X_source), column_names(X_target)
        as_given = self.source_transformer is None and self.target_transformer is None
        if self.equal_features and as_given and source and target and source != target:
            raise InputError(
                f"X_target: expected the columns of X_source in their order, as {type(self).__name__} takes column i "
                f"of both for one feature, got {list(target[:3])} for {list(source[:3])}."
            )

    def _require_dense(self, *rows: Any) -> None:
        """Raise where rows of a domain are sparse and the system, with these parameters, takes only dense ones."""
        for X, name in zip(rows, DOMAINS, strict=True):
            if is_sparse(X) and not self._own_tags(name).sparse:
                raise InputError(
                    f"X_{name}: expected dense rows, which is all that {type(self).__name__} takes with these "
                    "parameters, got sparse ones."
                )

    def _checked(self) -> Any:
        """Whatever :meth:`_learned` wants to have of the parameters, after a look at all that need no data."""
        for name in DOMAINS:
            check_transformer(getattr(self, f"{name}_transformer"), f"{name}_transformer")

    def _learned(self, domains: TwoDomains, settings: Any) -> dict[str, Any]:
        """What to set, by name. It changes nothing."""
        raise NotImplementedError

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """The class of each row (n,)."""
        raise NotImplementedError

    def transform(self, X: Any, domain: str = "target") -> FloatArray:
        """Rows as points of the common space (n, k)."""
        raise NotImplementedError

    def _dimension(self) -> int:
        """The number k of columns of :meth:`transform`."""
        raise NotImplementedError

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of :meth:`transform`."""
        check_is_fitted(self, "classes_")
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}{k}" for k in range(self._dimension())], dtype=object)

    def _rows(self, X: Any, domain: str, name: str = "X") -> Matrix:
        """New rows of a domain, checked against those of fit and transformed as those were."""
        check_is_fitted(self, "classes_")
        choice(domain, "domain", DOMAINS)
        same_columns(X, self._columns[domain], name)
        rows = transformed(self.transformers_[domain], X, name)
        return ordinary(matrix(rows, name, n_columns=self.n_features_[domain]), name, smallest=0.0)

    def score(self, X: Any, y: Any, domain: str = "target") -> float:
        """The share of labelled rows whose class is predicted; rows marked as unlabelled do not count."""
        return share_predicted(y, self.predict(X, domain), "y", "X")

    def given_source(self, X_source: Any, y_source: Any) -> GivenSource:
        """The same system as an ordinary scikit-learn estimator over the target, with the source held fixed.

        It has ``fit(X, y)``, ``predict``, ``transform`` and ``score`` over target rows, for ``GridSearchCV``,
        ``cross_val_score``, ``Pipeline`` and the like.
        """
        from isthmus.estimators.given_source import GivenSource, Source

        return GivenSource(self, Source(X_source, y_source))
