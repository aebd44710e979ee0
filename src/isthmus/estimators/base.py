"""The base of all systems: what tables say of them, the hooks of a fit, scikit-learn tags, warnings about data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.utils import ClassifierTags, InputTags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from isthmus._core.linalg import column_moments
from isthmus._core.sklearn_bases import BaseEstimator, TransformerMixin
from isthmus._core.threads import UNCAPPED, cap_methods, is_small, single_threaded_blas
from isthmus._core.validation import (
    UNLABELLED,
    FloatArray,
    IntArray,
    Matrix,
    as_labels,
    check_choice,
    check_magnitude,
    check_matrix,
    check_number,
    check_same_columns,
    column_names,
    is_sparse,
    is_unlabelled,
)
from isthmus.data.blocks import append_labels, append_rows, has_blocks
from isthmus.data.domains import Domain, KnownPairs, TwoDomains, as_pairs, check_shared_evidence
from isthmus.evidence.scores import score_predictions
from isthmus.exceptions import InputError, warn
from isthmus.geometry.common_space import DOMAINS
from isthmus.geometry.kernels import Kernel, Linear, Precomputed
from isthmus.geometry.spaces import apply_transformer, check_transformer, fit_transformer

if TYPE_CHECKING:
    from isthmus.estimators.given_source import GivenSource


# The squared length of a mean, in units of the variance around it, from which on features count as uncentred.
OFF_CENTRE = 1.0
# The part of the variance with which one of several columns drowns all others.
DOMINANT = 0.999
# The number of classes or columns that a warning names.
SHOWN = 5


def warn_about_data(
    domains: TwoDomains, kernels: tuple[Kernel, Kernel] = (Linear(), Linear()), *, intercept: bool = True
) -> None:
    """Warn, once of each kind, of what a system does badly on.

    With a linear kernel features enter as they are; with an ``intercept``, their origin does not matter.
    """
    for name, domain, kernel in zip(DOMAINS, (domains.source, domains.target), kernels, strict=True):
        warn_about_columns(domain, kernel, name, intercept=intercept)
    # Known pairs draw rows of any class together, and a system that learns without target labels misses none.
    if domains.pairs is None and len(domains.target.labelled):
        warn_about_classes(domains.source.y, domains.target.y, domains.classes)


def warn_about_columns(domain: Domain, kernel: Kernel, name: str, *, intercept: bool) -> None:
    """Warn of the columns of a domain where these are its coordinates."""
    if isinstance(kernel, Linear) and not is_sparse(domain.X):
        mean, variance = column_moments(domain.X)
        warn_about_features(mean, np.sqrt(variance), name, intercept=intercept)


def warn_about_features(mean: FloatArray, deviation: FloatArray, name: str, *, intercept: bool) -> None:
    """Warn of columns with these means and standard deviations (d,)."""
    # A constant column has a deviation of rounding, not of zero.
    variances = np.where(deviation > 1e-12 * np.abs(mean), deviation**2, 0.0)
    total, constant = float(variances.sum()), np.flatnonzero(variances == 0.0)
    if total == 0.0:
        return
    if not intercept and float(mean @ mean) > OFF_CENTRE * total:
        remedy = f"centre the rows first, as {name}_transformer=StandardScaler() does"
        warn(f"X_{name}: the mean is far from the origin, and the maps have no intercept; {remedy}.")
    if len(variances) - len(constant) > 1 and variances.max() > DOMINANT * total:
        largest, share = int(variances.argmax()), variances.max() / total
        warn(f"X_{name}: column {largest} has {share:.2%} of the variance; bring the columns to one scale.")
    if len(constant):
        numbers = _list_first(constant)
        warn(f"X_{name}: {len(constant)} of {len(mean)} columns are constant ({numbers}) and say nothing.")


def warn_about_classes(source: IntArray, target: IntArray, classes: NDArray[Any]) -> None:
    """Warn of classes that no target row is labelled with, from the codes of either domain."""
    without = np.setdiff1d(source, target)
    if len(without):
        names = _list_first(classes[without])
        warn(f"y_target: {len(without)} of {len(classes)} classes have no labelled row ({names}); label some.")


def _list_first(names: NDArray[Any]) -> str:
    return ", ".join(map(str, names[:SHOWN])) + (", …" if len(names) > SHOWN else "")


# Limits of the numbers among parameters, which mean the same in every system that has them.
LIMITS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("topology_weight", "label_weight", "trace"), {"low": 0.0}),
    (("structure", "target_weight"), {"low": 0.0, "high": 1.0}),
    (("correspondence_weight", "similarity_weight"), {"low": 0.0, "strict": True}),
    (("target_cost", "temperature", "C", "tol"), {"low": 0.0, "strict": True}),
    (("n_neighbors", "n_rounds", "n_preferences", "graph_neighbors", "max_iter"), {"low": 1, "whole": True}),
)

# Tags that ask something of rows; the others allow something.
RESTRICTIONS = "pairwise", "positive_only"


def _raise_no_fit_transform(estimator: Any) -> NoReturn:
    name = type(estimator).__name__
    raise AttributeError(f"{name} has no fit_transform, as two domains have two results: fit, then transform either.")


class SklearnCompatible(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Provide tags and ``set_output`` for estimators over two domains.

    ``set_output`` comes with :class:`sklearn.base.TransformerMixin`, which puts what ``transform`` returns into a
    data frame with the names of ``get_feature_names_out``. This class itself goes without: the mixin would wrap, and
    so bring back, the ``fit_transform`` that is taken away here. Every class below has it.
    """

    takes_pairs: ClassVar[bool]
    learns: ClassVar[str]
    non_negative: ClassVar[bool]

    def __init_subclass__(cls, **options: Any) -> None:
        """Cap the threads of small work in every public method of every system."""
        cap_methods(cls, UNCAPPED)  # before scikit-learn wraps what is there in what set_output asks for
        super().__init_subclass__(**options)

    @property
    def held_shape(self) -> tuple[int, int] | None:
        """The shape of the reference rows, by which threads are capped; None where there are none."""
        references = getattr(self, "references_", None)
        return None if references is None else (len(references.y), references.space.dimension)

    @available_if(_raise_no_fit_transform)  # type: ignore[untyped-decorator]
    def fit_transform(self, X: Any, y: Any = None) -> NoReturn:
        """Raise: the arguments of ``fit`` are two domains."""
        raise NotImplementedError

    def _own_tags(self, domain: str) -> InputTags:
        """Return the tags of the rows of a domain behind its transformer."""
        kernel = getattr(self, f"{domain}_kernel", None)
        pairwise = isinstance(kernel, Precomputed) or kernel == "precomputed"
        return InputTags(sparse=True, pairwise=pairwise, positive_only=self.non_negative)

    def _input_tags(self, domain: str) -> InputTags:
        """Return the tags of the rows of a domain as they are given."""
        own, transformer = self._own_tags(domain), getattr(self, f"{domain}_transformer", None)
        if transformer is None:
            return own
        # What comes first decides what may be given; sparse rows have to pass both.
        first = get_tags(transformer).input_tags if hasattr(transformer, "__sklearn_tags__") else InputTags()
        first.sparse = first.sparse and own.sparse
        return first

    def _needs_labels(self) -> bool:
        """Return whether there is nothing else, as the parameters now are, that it could learn from."""
        return not self.takes_pairs or self.learns in ("labels", "ranking")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        tags.target_tags.required = self._needs_labels()
        tags.input_tags = combine_tags(*(self._input_tags(domain) for domain in DOMAINS))
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def combine_tags(source: InputTags, target: InputTags) -> InputTags:
    """Return the tags of an input of two parts: it may be what both may be, and has to be what one has to be.

    Examples
    --------
    >>> found = combine_tags(InputTags(sparse=True, pairwise=True), InputTags(sparse=False))
    >>> found.sparse, found.pairwise
    (False, True)
    """
    values = {each.name: (getattr(source, each.name), getattr(target, each.name)) for each in fields(InputTags)}
    return InputTags(**{name: any(two) if name in RESTRICTIONS else all(two) for name, two in values.items()})


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The arguments of a fit as they were given, unchecked: references to the caller's arrays, no copies."""

    X_source: Any
    y_source: Any
    X_target: Any
    y_target: Any
    pairs: Any = None
    shared: Any = None

    def rows(self, domain: str) -> Any:
        """Return the rows of a domain."""
        return getattr(self, f"X_{domain}")

    def labelled_rows(self, domain: str) -> IntArray:
        """Return the numbers of the labelled rows of a domain."""
        y = getattr(self, f"y_{domain}")
        return np.flatnonzero(~is_unlabelled(as_labels(y, f"y_{domain}")))

    def numbered_pairs(self) -> KnownPairs | None:
        """Return the known pairs by row numbers, which rows that come after do not change."""
        return None if self.pairs is None else as_pairs(self.pairs, _count(self.X_source), _count(self.X_target))

    def with_more(self, domain: str, X: Any, y: Any) -> tuple[Any, Any]:
        """Return the rows and labels of a domain followed by new ones, or, without rows, with other labels."""
        name, labels = f"y_{domain}", getattr(self, f"y_{domain}")
        if X is None:
            return self.rows(domain), labels if y is None else y
        rows = append_rows(self.rows(domain), X, f"X_{domain}")
        if y is None and labels is not None:
            raise InputError(f"{name}: expected a label for each new row (-1 where there is none), got None.")
        labels = np.full(_count(self.rows(domain)), UNLABELLED) if labels is None else labels
        return rows, None if y is None else append_labels(labels, y, _count(X), name)


def _count(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def check_two_classes(domains: TwoDomains) -> None:
    """Raise unless there are two classes to tell apart."""
    if len(domains.classes) < 2:
        raise InputError(f"y_source: expected at least two classes to tell apart, got {len(domains.classes)}.")


LABELS, LABELS_AND_ROWS = "labels of both", "labels of both, unlabelled target rows"
LABELS_OR_PAIRS, PAIRS = "labels of both, or pairs", "pairs"
EVERYTHING = "labels of both, unlabelled rows, pairs"
TARGET_LABELS, TARGET_ROWS = "target labels", "target labels, unlabelled target rows"
RBF_KERNELS = {"source_kernel": "rbf", "target_kernel": "rbf"}
# The sections of the table of systems, in its order.
SECTIONS = ("common space", "pair constraints", "maps of pairs", "projections", "tasks", "related work", "controls")


@dataclass(frozen=True)
class SystemFacts:
    """One line of the table of systems; they stand on the class, as ``systems``, one for each variant.

    Parameters
    ----------
    name : str
        What it is called in tables.
    section : str
        Where it stands there, one of :data:`SECTIONS`.
    reference : str
        Where it comes from.
    uses : str
        The data that it learns from.
    best_for : str
        What to take it for rather than another; empty where no measurement says so.
    options : Mapping[str, Any]
        The parameters that differ from the defaults of the class; where chance plays a part, a seed.
    """

    name: str
    section: str
    reference: str
    uses: str
    best_for: str = ""
    options: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def control(self) -> bool:
        """Whether it is a control: it never sees the source, or sees a corrupted one."""
        return self.section == "controls"


@dataclass(kw_only=True, eq=False, repr=False)
class TransformerParameters:
    """Parameters of every system; fields of a dataclass become those of its constructor, as in all systems."""

    source_transformer: Any = None
    target_transformer: Any = None


class TwoDomainEstimator(SklearnCompatible, TransformerParameters):
    """The base of every system over a source and a target, whatever it learns.

    A subclass is a dataclass, whose fields are its parameters, and implements hooks of :meth:`fit`, which it does not
    override: :meth:`_validate` checks its parameters, :meth:`_fit_domains` (and :meth:`_fit_blocks` for rows in
    blocks) turns two domains into the attributes to set. It has a ``predict``.

    Attributes
    ----------
    systems : tuple[SystemFacts, ...]
        What the table of systems says of the class: :func:`isthmus.systems` reads it here.
    learns : str
        Distances within and across the domains ("metric"), a "similarity" across them, nothing but "labels" of target
        rows, or the "ranking" of rows.
    takes_pairs : bool
        Whether known pairs of rows mean anything to the system.
    takes_shared : bool
        Whether features that both domains have mean anything to it, beside their own.
    needs_pairs : bool
        Whether it learns from nothing else.
    fewest_pairs : int
        How many pairs it can learn from, where it is given any.
    own_classes : bool
        Whether, without pairs too, the target may have classes that the source lacks.
    needs_target_labels : bool
        Whether, without pairs, some target row has to have a label: if not, the source's are enough.
    needs_unlabelled : bool
        Whether it learns nothing without target rows that have no label.
    equal_features : bool
        Whether both domains have to have the same features.
    non_negative : bool
        Whether features are counts, or something like it: at least zero.
    transductive : bool
        Whether it knows the rows of the fit only, and can say nothing of new ones.
    """

    systems: ClassVar[tuple[SystemFacts, ...]] = ()
    learns: ClassVar[str] = "labels"
    takes_pairs: ClassVar[bool] = False
    takes_shared: ClassVar[bool] = False
    needs_pairs: bool = False
    fewest_pairs: ClassVar[int] = 2
    own_classes: ClassVar[bool] = False
    needs_target_labels: bool = True
    needs_unlabelled: ClassVar[bool] = False
    equal_features: ClassVar[bool] = False
    non_negative: ClassVar[bool] = False
    transductive: ClassVar[bool] = False

    classes_: NDArray[Any]
    n_features_: dict[str, int]
    transformers_: dict[str, Any]
    _columns: dict[str, Any]

    def fit(
        self, X_source: Any, y_source: Any, X_target: Any, y_target: Any, *, pairs: Any = None, shared: Any = None
    ) -> Self:
        """Learn from what ties the two domains: labels of both, known pairs, or both kinds of knowledge.

        Parameters
        ----------
        X_source : array, sparse matrix or data frame (n_s, d_s)
            Source rows; with a ``source_transformer``, whatever that takes. For systems that learn from blocks, see
            the notes, also a Dask array or :class:`~isthmus._core.rows.Rows`.
        y_source : array (n_s,), or None where pairs are given
            Their classes, of any type; with pairs, -1, None or NaN where unknown. Rows in blocks other than Dask
            arrays bring codes: here are the classes (C,) that these count through, or None where they bring these.
        X_target : array, sparse matrix or data frame (n_l + n_u, d_t)
            Target rows, labelled or not; with a ``target_transformer``, whatever that takes.
        y_target : array (n_l + n_u,), or None where pairs are given, or ``needs_target_labels`` is False
            Their classes; -1, None or NaN where unknown. With pairs, they may be others than those of the source.
        pairs : array (m, 2), "rows", (ids, ids) or KnownPairs, optional
            Rows that are the same object, for systems that learn from pairs: the numbers of a source and a target
            row for each; or "rows", where row i is row i; or, as a tuple, the ids of all rows of either domain; or
            :class:`~isthmus.KnownPairs`, with weights.
        shared : (array (n_s, k), array (n_t, k)), SharedColumns, "auto" or list of (str, str), optional
            What both domains have, for systems that learn from it (``takes_shared``): features of all rows; or, of
            data frames, columns that mean the same, found ("auto": otherwise the words of whole rows) or named.

        Notes
        -----
        MLHD, ARC, CDSPP, MTDA, CCA and KCCA learn by labels from source rows in blocks, RidgeMap, Procrustes, CCA and
        KCCA by known pairs (``pairs="rows"``) from rows of both domains in blocks (docs/cluster.md): there may be
        more of them than one machine can hold, as only sums over blocks are computed. Rows in blocks are not
        transformed, and their kernel is linear, the cosine or :class:`~isthmus.Landmarks` (for MLHD, linear). The
        problem is the same. For comparisons, a sample of 10,000 rows is kept, or with ``rule="means"`` and a linear
        kernel the means of all source rows of each class.
        """
        return self._fit(TrainingData(X_source, y_source, X_target, y_target, pairs, shared), self._validate())

    def _fit(self, data: TrainingData, settings: Any) -> Self:
        """Conduct a fit with settings that say more than the parameters, such as where to start.

        Attributes are set when all of them have been computed, and not before.
        """
        # In one step: a fit that fails or is interrupted leaves the object as it was.
        self.__dict__.update(self._fit_data(data, settings))
        return self

    def _fit_data(self, data: TrainingData, settings: Any) -> dict[str, Any]:
        """Return all attributes to set, by name, from rows as they were given. Nothing is changed."""
        domains, attributes = self._prepare(data)
        return {**self._run_fit(domains, settings), **attributes}

    def _run_fit(self, domains: TwoDomains, settings: Any) -> dict[str, Any]:
        """Return the learned attributes by name, from rows in arrays or in blocks, and change nothing."""
        fit = self._fit_blocks if domains.in_blocks else self._fit_domains
        few = not domains.in_blocks and is_small(domains.source.shape, domains.target.shape)
        # Data frames are for callers of transform: transformers within give arrays.
        with single_threaded_blas(few), config_context(transform_output="default"):
            return fit(domains, settings)

    def _prepare(self, data: TrainingData) -> tuple[TwoDomains, dict[str, Any]]:
        """Return the rows behind their transformers, checked, and what every fitted system has, by name."""
        self._check_use_of(data.pairs)
        if data.shared is not None and not self.takes_shared:
            name = type(self).__name__
            raise InputError(f"shared: expected None, as {name} has no use for it, got shared columns.")
        # Only where the system can learn from blocks do they stay blocks; else they are brought into one array below.
        blocks = tuple(name for name in self._block_domains(data.pairs) if has_blocks(data.rows(name)))
        if blocks:
            self._check_blocks(blocks, data.pairs)
        transformers, rows = {}, {}
        for name in DOMAINS:
            X, transformer = data.rows(name), getattr(self, f"{name}_transformer")
            transformers[name] = fit_transformer(transformer, X, f"X_{name}")
            rows[name] = apply_transformer(transformers[name], X, f"X_{name}")
        self._check_dense(*rows.values())
        shared = data.shared
        if shared is not None:  # named columns are those of the tables as they were given
            sizes = _count(data.X_source), _count(data.X_target)
            shared = check_shared_evidence(shared, data.X_source, data.X_target, *sizes)
        labelled = rows["source"], data.y_source, rows["target"], data.y_target
        needs: Any = {name: getattr(self, name) for name in ("own_classes", "needs_target_labels", "fewest_pairs")}
        needs |= {"pairs_for": type(self).__name__, "blocks": blocks}
        domains = TwoDomains.of(*labelled, data.pairs, shared, **needs)
        if self.equal_features:
            self._check_equal_features(data, domains)
        columns = {name: None if name in blocks else column_names(data.rows(name)) for name in DOMAINS}
        return domains, {
            "classes_": domains.classes,
            "transformers_": transformers,
            "n_features_": {"source": domains.source.shape[1], "target": domains.target.shape[1]},
            "_columns": columns,
        }

    def _block_domains(self, pairs: Any) -> tuple[str, ...]:
        """Return the domains whose rows may come in blocks; without any, all rows are brought into one array."""
        return ()

    def _check_blocks(self, blocks: tuple[str, ...], pairs: Any) -> None:
        """Raise where the parameters don't allow rows of these domains in blocks."""

    def _check_use_of(self, pairs: Any) -> None:
        """Raise where pairs are given to a system that takes none, or missing for one that needs them."""
        name = type(self).__name__
        if pairs is not None and not self.takes_pairs:
            raise InputError(f"pairs: expected None, as {name} learns from labels, got pairs.")
        if pairs is None and self.needs_pairs:
            raise InputError(f"pairs: expected known pairs of rows, as {name} learns from nothing else, got None.")

    def _check_equal_features(self, data: TrainingData, domains: TwoDomains) -> None:
        """Raise unless column i of both domains is one feature: there are as many, and frames call them the same."""
        d_source, d_target = domains.source.shape[1], domains.target.shape[1]
        if d_source != d_target:
            remedy = "MLHD learns across domains with different features"
            raise InputError(f"X_target: expected the {d_source} columns of X_source, got {d_target}; {remedy}.")
        source, target = column_names(data.X_source), column_names(data.X_target)
        as_given = self.source_transformer is None and self.target_transformer is None
        if as_given and source and target and source != target:
            i = next(k for k, (a, b) in enumerate(zip(source, target, strict=True)) if a != b)
            expected = f"the columns of X_source in their order, {source[i]!r:.60} as column {i}"
            raise InputError(f"X_target: expected {expected}, got {target[i]!r:.60}.")

    def _check_dense(self, *rows: Any) -> None:
        """Raise where rows are sparse and the system, with these parameters, requires dense ones."""
        for X, name in zip(rows, DOMAINS, strict=True):
            if is_sparse(X) and not self._own_tags(name).sparse:
                raise InputError(f"X_{name}: expected dense rows for this {type(self).__name__}, got sparse ones.")

    def _validate(self) -> Any:
        """Check the parameters as far as they need no data, and return the settings that the other hooks take."""
        for name in DOMAINS:
            check_transformer(getattr(self, f"{name}_transformer"), f"{name}_transformer")
        for names, limits in LIMITS:
            for name in names:
                if name in vars(self):
                    check_number(getattr(self, name), name, **limits)

    def _fit_domains(self, domains: TwoDomains, settings: Any) -> dict[str, Any]:
        """Return the attributes to set, by name, from rows in arrays. It changes nothing."""
        raise NotImplementedError

    def _fit_blocks(self, domains: TwoDomains, settings: Any) -> dict[str, Any]:
        """Return the attributes to set, by name, from rows in blocks. It changes nothing."""
        raise NotImplementedError

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """Return the class of each row (n,)."""
        raise NotImplementedError

    def transform(self, X: Any, domain: str = "target") -> FloatArray:
        """Return rows as points of the common space (n, k)."""
        raise NotImplementedError

    def _dimension(self) -> int:
        """Return the number k of columns of :meth:`transform`."""
        raise NotImplementedError

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of :meth:`transform`."""
        check_is_fitted(self, "classes_")
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}{k}" for k in range(self._dimension())], dtype=object)

    def _rows(self, X: Any, domain: str, name: str = "X") -> Matrix:
        """Return new rows of a domain, checked against those of fit and transformed as those were."""
        check_is_fitted(self, "classes_")
        check_choice(domain, "domain", DOMAINS)
        check_same_columns(X, self._columns[domain], name)
        rows = apply_transformer(self.transformers_[domain], X, name)
        return check_magnitude(check_matrix(rows, name, n_columns=self.n_features_[domain]), name, smallest=0.0)

    def score(self, X: Any, y: Any, domain: str = "target") -> float:
        """Return the share of labelled rows whose class is predicted; rows marked as unlabelled do not count."""
        return score_predictions(y, self.predict(X, domain), "y", "X")

    def given_source(self, X_source: Any, y_source: Any) -> GivenSource:
        """Return this system as an ordinary scikit-learn estimator over the target, with the source held fixed.

        It has ``fit(X, y)``, ``predict``, ``transform`` and ``score`` over target rows, for ``GridSearchCV``,
        ``cross_val_score``, ``Pipeline`` and the like.
        """
        from isthmus.estimators.given_source import GivenSource, Source

        return GivenSource(self, Source(X_source, y_source))


class TargetEstimator(TwoDomainEstimator):
    """The base of systems that predict target rows only, whatever they learn from."""

    def _rows(self, X: Any, domain: str, name: str = "X") -> Matrix:
        if domain == "source":
            only = f"the only domain that {type(self).__name__} predicts"
            raise InputError(f"domain: expected 'target', {only}, got 'source'.")
        return super()._rows(X, domain, name)


class TargetClassifier(TargetEstimator):
    """The base of systems whose outcome is a score of each class for target rows.

    A subclass has a method :meth:`_scores`. There is no space in which rows of both domains meet: the points of
    :meth:`transform` are the scores.
    """

    def _scores(self, rows: Matrix) -> FloatArray:
        """Return the scores (n, C) of target rows, the larger the better; minus infinity for classes without any."""
        raise NotImplementedError

    def decision_function(self, X: Any, domain: str = "target") -> FloatArray:
        """Return a score for each class (n, C), larger is better; of two the second's less the first's (n,)."""
        scores = self._scores(self._rows(X, domain))
        return scores if scores.shape[1] != 2 else scores[:, 1] - scores[:, 0]

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """Return the class of the largest score for each target row (n,)."""
        best = self._scores(self._rows(X, domain)).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def transform(self, X: Any, domain: str = "target") -> FloatArray:
        """Return the scores of the classes (n, C): there is no other space."""
        rows = self._rows(X, domain)
        return self._scores(rows).astype(rows.dtype, copy=False)

    def _dimension(self) -> int:
        return len(self.classes_)
