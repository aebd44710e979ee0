"""Controls: systems taught by a corrupted source, and rules that never see the source.

What a system gains from a source that says nothing, it did not gain from the source.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import softmax
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import LinearSVC
from sklearn.utils import InputTags, get_tags
from sklearn.utils.validation import check_is_fitted

from isthmus._core.linalg import PrincipalAxes, principal_axes
from isthmus._core.validation import (
    UNLABELLED,
    FloatArray,
    IntArray,
    Matrix,
    as_dense,
    as_generator,
    as_labels,
    check_choice,
    check_length,
    check_matrix,
    check_number,
    encode_all,
    is_sparse,
)
from isthmus.data.domains import TwoDomains
from isthmus.estimators.base import (
    LABELS_AND_ROWS,
    TARGET_LABELS,
    TARGET_ROWS,
    SystemFacts,
    TargetEstimator,
    TrainingData,
    TwoDomainEstimator,
)
from isthmus.estimators.mlhd import MLHD
from isthmus.exceptions import InputError
from isthmus.geometry.discriminants import (
    ShareEstimate,
    SoftLDA,
    balance,
    centre_scores,
    check_shares,
    choose_shares,
    floor_shares,
    score_deviation,
)
from isthmus.geometry.similarity import normalize_precisely


def make_noise_source(X: Any, y: Any, rng: np.random.Generator) -> tuple[Matrix, NDArray[Any]]:
    """Return random features under true labels.

    Dense rows are turned about their mean by a random rotation of the n_s-dimensional space that the columns live
    in: mean and covariance stay as they were, and rows carry no information about their labels. The entries of each
    column of sparse rows are shuffled: a column keeps its values and its density.

    Examples
    --------
    >>> X, y = make_noise_source([[1.0], [1.0], [5.0], [5.0]], ["a", "a", "b", "b"], np.random.default_rng(0))
    >>> X.mean().round(12), X.std().round(12), y
    (np.float64(3.0), np.float64(2.0), array(['a', 'a', 'b', 'b'], dtype=object))
    """
    rows = check_matrix(X, "X_source")
    codes, classes = encode_all(y, "y_source")
    check_length(codes, rows.shape[0], "y_source", "X_source")
    return (_shuffle_columns if is_sparse(rows) else _rotate_rows)(rows, rng), classes[codes]


def permute_source(X: Any, y: Any, rng: np.random.Generator) -> tuple[Matrix, NDArray[Any]]:
    """Return true rows under labels permuted among them: classes as large as before, that mean nothing.

    Examples
    --------
    >>> permute_source([[0.0], [1.0], [2.0]], ["a", "b", "c"], np.random.default_rng(0))[1]
    array(['c', 'a', 'b'], dtype=object)
    """
    codes, classes = encode_all(y, "y_source")
    return X, classes[rng.permutation(codes)]


def relabel_source(X: Any, y: Any, rng: np.random.Generator) -> tuple[Matrix, NDArray[Any]]:
    """Return true rows and groups, each class under the name of another: all classes in one random cycle.

    Examples
    --------
    >>> relabel_source([[0.0], [1.0], [2.0]], ["a", "b", "a"], np.random.default_rng(0))[1]
    array(['b', 'a', 'b'], dtype=object)
    """
    codes, classes = encode_all(y, "y_source")
    if len(classes) == 1:
        raise InputError(f"y_source: expected at least two classes to rename, got {len(classes)}.")
    cycle = rng.permutation(len(classes))
    names = np.empty(len(classes), dtype=np.intp)
    # One cycle through all classes: no class keeps its own name.
    names[cycle] = np.roll(cycle, 1)
    return X, classes[names[codes]]


def _rotate_rows(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return rows of the same mean and the same covariance."""
    mean = X.mean(axis=0, dtype=np.float64)
    _, s, Vt = sla.svd(X - mean, full_matrices=False)
    # n centred rows span n - 1 directions at most; Q is uniform among the bases orthogonal to the constant.
    r = min(len(s), len(X) - 1)
    G = rng.normal(size=(len(X), r))
    Q, R = sla.qr(G - G.mean(axis=0), mode="economic")
    Q = Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)
    return np.asarray(mean + (Q * s[:r]) @ Vt[:r], dtype=X.dtype)


def _shuffle_columns(X: Matrix, rng: np.random.Generator) -> Matrix:
    """Return every column's entries at other rows."""
    columns = sp.csc_array(X, copy=True)
    columns.sum_duplicates()
    counts = np.diff(columns.indptr)
    rows = [rng.choice(X.shape[0], size=count, replace=False) for count in counts[counts > 0]]
    indices: IntArray = np.concatenate(rows) if rows else np.zeros(0, dtype=np.intp)
    indices = indices.astype(columns.indices.dtype)  # wider ones are not for all of scikit-learn
    return sp.csc_array((columns.data, indices, columns.indptr), shape=X.shape).tocsr()


KINDS = {"noise": make_noise_source, "permuted": permute_source, "renamed": relabel_source}
CORRUPTIONS = {
    "noise": "random source features",
    "permuted": "permuted source labels",
    "renamed": "renamed source classes",
}


@dataclass(eq=False, repr=False)
class Corrupted(TwoDomainEstimator):
    """Any system, taught by a corrupted source.

    Parameters
    ----------
    estimator : TwoDomainEstimator
        The system; it is cloned in ``fit`` and never changed.
    kind : {"noise", "permuted", "renamed"}
        How the source is corrupted: :func:`make_noise_source`, :func:`permute_source` or :func:`relabel_source`.
    random_state : int, Generator, RandomState or None
        A number corrupts the same source in the same way at every fit; a generator moves on from fit to fit, but a
        clone starts from a copy of it; None draws afresh.

    Attributes
    ----------
    estimator_ : TwoDomainEstimator
        The fitted system, with all it has learnt.
    classes_ : array
        The classes of the source.

    Examples
    --------
    >>> from isthmus import MLHD
    >>> X_source, y_source = [[-2.0, -2.5], [-2.0, -1.5], [2.0, 1.5], [2.0, 2.5]], ["a", "a", "b", "b"]
    >>> X_target, y_target = [[4.0], [3.5], [-4.0], [-3.5]], ["a", None, "b", None]
    >>> corrupted = Corrupted(MLHD(), "renamed", random_state=0).fit(X_source, y_source, X_target, y_target)
    >>> corrupted.predict([[-2.0, -2.0]], domain="source")
    array(['b'], dtype=object)
    """

    systems: ClassVar[tuple[SystemFacts, ...]] = tuple(
        SystemFacts(
            f"mlhd, {kind}",
            "controls",
            reference,
            LABELS_AND_ROWS,
            options={"estimator": MLHD(), "kind": kind, "random_state": 0},
        )
        for kind, reference in CORRUPTIONS.items()
    )

    estimator: TwoDomainEstimator
    kind: str = "noise"
    random_state: Any = field(default=None, kw_only=True)
    # Transformers are parameters of the system inside, which sees the corrupted rows.
    source_transformer: Any = field(default=None, init=False)
    target_transformer: Any = field(default=None, init=False)
    estimator_: TwoDomainEstimator = field(init=False)

    def _validate(self) -> Any:
        if not isinstance(self.estimator, TwoDomainEstimator):
            raise InputError(f"estimator: expected a system over two domains, got {self.estimator!r}.")
        return KINDS[check_choice(self.kind, "kind", KINDS)]

    def _fit_data(self, data: TrainingData, settings: Any) -> dict[str, Any]:
        """Corrupt the source as it was given, then fit the system; its own transformers and checks see the result."""
        X, y = settings(data.X_source, data.y_source, as_generator(self.random_state))
        fitted = clone(self.estimator).fit(X, y, data.X_target, data.y_target, pairs=data.pairs, shared=data.shared)
        return {"estimator_": fitted, "classes_": fitted.classes_, "n_features_": fitted.n_features_}

    def _input_tags(self, domain: str) -> InputTags:
        return self.estimator._input_tags(domain)

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """Return the class of each row (n,), by the fitted system."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(X, domain)

    def transform(self, X: Any, domain: str = "target") -> FloatArray:
        """Return rows as points of the fitted system's space (n, k)."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.transform(X, domain)

    def _dimension(self) -> int:
        return self.estimator_._dimension()


def shuffle_pairs(pairs: Any, rng: np.random.Generator, classes: Any = None) -> IntArray:
    """Return wrong pairs of the same rows: each source row gets the target row of the next pair in a random cycle.

    Rows of either side are learned from as before, and as often. Where no row is in two pairs, none of the pairs is
    right any more. With ``classes`` there is a cycle in each class: what a system still finds then, it finds by the
    class of a row and not by the row. A pair that is alone in its class stays as it is.

    Parameters
    ----------
    pairs : array (m, 2)
        Numbers of source and target rows.
    rng : Generator
        The same generator gives the same pairs.
    classes : array (m,), optional
        The class of each pair.

    Examples
    --------
    >>> shuffle_pairs([[0, 0], [1, 1], [2, 2]], np.random.default_rng(0))
    array([[0, 2],
           [1, 0],
           [2, 1]])
    >>> shuffle_pairs([[0, 0], [1, 1], [2, 2]], np.random.default_rng(0), classes=["a", "b", "a"])
    array([[0, 2],
           [1, 1],
           [2, 0]])
    """
    P = np.asarray(pairs)
    if P.ndim != 2 or P.shape[1] != 2 or P.dtype.kind not in "iu":
        raise InputError(f"pairs: expected whole row numbers (m, 2), got {P.dtype} of shape {P.shape}.")
    if len(P) < 2:
        raise InputError(f"pairs: expected at least two to shuffle, got {len(P)}.")
    groups = np.zeros(len(P), dtype=np.intp)
    if classes is not None:
        labels = as_labels(classes, "classes")
        check_length(labels, len(P), "classes", "pairs")
        groups = np.unique(labels, return_inverse=True)[1]
    shuffled = P.astype(np.intp)
    for group in np.unique(groups):
        # One cycle through a group: no pair of two or more stays as it was.
        cycle = rng.permutation(np.flatnonzero(groups == group))
        shuffled[cycle, 1] = P[np.roll(cycle, 1), 1]
    return shuffled


@dataclass(kw_only=True, eq=False, repr=False)
class TargetOnly(TargetEstimator):
    """A classifier of scikit-learn on target rows, as if there were no source.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        Cloned in ``fit`` and never changed; None is the nearest labelled row. Classifiers of
        ``sklearn.semi_supervised``, also at the end of a pipeline, get the rows without a label too, marked by -1.
    source_transformer, target_transformer : transformer or pipeline of scikit-learn, optional
        As in :class:`~isthmus.MLHD`; that of the source is there so that all systems can be prepared alike.

    Attributes
    ----------
    classifier_ : scikit-learn classifier
        The fitted classifier; its labels are positions in ``classes_``.
    classes_ : array
        The classes of the source.

    Examples
    --------
    >>> from sklearn.semi_supervised import LabelSpreading
    >>> X_target, y_target = [[0.0], [1.0], [2.0], [3.0], [9.0], [8.0]], ["a", None, None, None, "b", None]
    >>> source = [[0.0, 1.0], [1.0, 0.0]], ["a", "b"]
    >>> TargetOnly().fit(*source, X_target, y_target).predict([[5.0]])
    array(['b'], dtype=object)
    >>> TargetOnly(LabelSpreading(gamma=1.0)).fit(*source, X_target, y_target).predict([[5.0]])
    array(['a'], dtype=object)
    """

    systems: ClassVar[tuple[SystemFacts, ...]] = (
        SystemFacts("target 1-NN", "controls", "nearest labelled target row", TARGET_LABELS),
        SystemFacts(
            "target SVM",
            "controls",
            "linear support vectors",
            TARGET_LABELS,
            options={"classifier": LinearSVC(random_state=0)},
        ),
        SystemFacts(
            "target label spreading",
            "controls",
            "Zhou et al. 2004",
            TARGET_ROWS,
            options={"classifier": LabelSpreading(kernel="knn")},
        ),
    )

    classifier: Any = field(default=None, kw_only=False)
    classifier_: Any = field(init=False)

    def _validate(self) -> None:
        super()._validate()
        if self.classifier is not None and not all(hasattr(self.classifier, name) for name in ("fit", "predict")):
            raise InputError(f"classifier: expected an object with fit and predict, got {self.classifier!r}.")

    def _own_tags(self, domain: str) -> InputTags:
        if domain == "source" or not hasattr(self.classifier, "__sklearn_tags__"):
            return super()._own_tags(domain)
        return InputTags(sparse=get_tags(self.classifier).input_tags.sparse)

    def _fit_domains(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        classifier = KNeighborsClassifier(1) if self.classifier is None else clone(self.classifier)
        target = domains.target
        last = classifier.steps[-1][1] if hasattr(classifier, "steps") else classifier
        marked = any(base.__module__.startswith("sklearn.semi_supervised") for base in type(last).__mro__)
        rows = slice(None) if marked else target.labelled
        # Where no label reaches a row, label spreading divides by zero and guesses the first class.
        with np.errstate(invalid="ignore"):
            try:
                classifier.fit(target.X[rows], target.y[rows])
            except (TypeError, ValueError) as error:  # what a classifier of the user's refuses becomes one sentence
                reason = f"{type(classifier).__name__}: {' '.join(str(error).split())[:200]}"
                raise InputError(f"classifier: expected one that takes the target rows, got {reason}") from error
        return {"classifier_": classifier}

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """Return the class of each target row (n,)."""
        rows = self._rows(X, domain)
        with np.errstate(invalid="ignore"):
            codes = np.asarray(self.classifier_.predict(rows), dtype=np.intp)
        return np.asarray(self.classes_[codes])

    def transform(self, X: Any, domain: str = "target") -> FloatArray:
        """Return the target rows themselves, dense (n, d_t): there is no other space."""
        rows = self._rows(X, domain)
        return np.asarray(rows.toarray()) if is_sparse(rows) else np.array(rows)

    def _dimension(self) -> int:
        return self.n_features_["target"]


# Axes along which the target varies by no more than this part of its largest deviation are left out.
FLAT = 1e-10


@dataclass(kw_only=True, eq=False, repr=False)
class LeadingAxesEstimator(TargetEstimator):
    """The base of rules that see target rows on several numbers of leading principal axes, and average over these."""

    components: Any = field(default=(2, 3, 5), kw_only=False)
    shares: Any = "auto"
    axes_: PrincipalAxes = field(init=False)
    _present: IntArray = field(init=False)

    def _validate(self) -> str | FloatArray:
        super()._validate()
        if not isinstance(self.components, list | tuple | np.ndarray) or not len(self.components):
            raise InputError(f"components: expected a sequence of whole numbers, got {self.components!r}.")
        for multiple in self.components:
            check_number(multiple, "components", low=1, whole=True)
        return check_shares(self.shares)

    def _fit_domains(self, domains: TwoDomains, settings: str | FloatArray) -> dict[str, Any]:
        target = domains.target
        present, codes = np.unique(target.y[target.labelled], return_inverse=True)
        y = np.full(len(target.y), UNLABELLED)
        y[target.labelled] = codes
        # Flat axes would make the shared covariance singular.
        axes = principal_axes(target.X, tolerance=FLAT)
        most = max(1, len(axes.deviations))
        sizes = sorted({min(int(multiple) * len(present), most) for multiple in self.components})
        axes = axes.leading(sizes[-1])
        Z = axes.coordinates(target.X)
        views, known = [Z[:, :k] for k in sizes], target.labelled
        halves = [(view[known], view[y < 0]) for view in views]
        found = choose_shares(settings, domains.source.y, domains.classes, halves, target.y[known])
        return {"axes_": axes, "_present": present, **self._fit_views(views, y, found)}

    def _fit_views(self, views: list[FloatArray], y: IntArray, found: ShareEstimate) -> dict[str, Any]:
        """Return the learned attributes by name, from rows on each number of axes; codes y (n,), -1 if unlabelled."""
        raise NotImplementedError

    def _probabilities(self, Z: FloatArray) -> FloatArray:
        """Return probabilities of the labelled classes (n, C'), from rows on all axes."""
        raise NotImplementedError

    def predict_proba(self, X: Any, domain: str = "target") -> FloatArray:
        """Return probabilities of the classes (n, C), averaged over the numbers of axes."""
        rows = self._rows(X, domain)
        P = np.zeros((rows.shape[0], len(self.classes_)))
        P[:, self._present] = self._probabilities(self.axes_.coordinates(rows))
        return P

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """Return the most likely class of each target row (n,)."""
        codes = np.argmax(self.predict_proba(X, domain), axis=1)
        return np.asarray(self.classes_[codes])

    def transform(self, X: Any, domain: str = "target") -> FloatArray:
        """Return target rows on the principal axes (n, k)."""
        rows = self._rows(X, domain)
        return self.axes_.coordinates(rows).astype(rows.dtype, copy=False)

    def _dimension(self) -> int:
        return int(self.axes_.axes.shape[1])


ROUNDS = 15
# A labelled row counts three times in a mean; scores are divided by half their deviation before balancing.
SEED_WEIGHT, TEMPERATURE = 3.0, 0.5


@dataclass(kw_only=True, eq=False, repr=False)
class BalancedKMeans(LeadingAxesEstimator):
    r"""Means of the classes that learn from balanced guesses of the unlabelled rows.

    .. math:: P = \mathrm{balanced}(-\|z_i - \mu_c\|^2 / (\tau s)), \qquad
              \mu_c = \frac{\sum_u P_{uc} z_u + w \sum_{l \in c} z_l}{\sum_u P_{uc} + w n_c}

    z are target rows on their leading principal axes, of unit length; s is the deviation of the squared distances,
    τ = 0.5, w = 3. Scores are averaged over several numbers of axes.

    Parameters
    ----------
    components : sequence of int
        The numbers of axes, in multiples of the number of classes; at most the rank of the target rows.
    shares : {"auto", "uniform", "source", "labelled"} or array (C,)
        The shares of the classes among the unlabelled rows: equal ("auto", "uniform"), those of the source, those
        that labelled rows support ("labelled", as "auto" of :class:`~isthmus.LabelTransfer`), or numbers in the order
        of ``classes_``.
        Means learn from guesses with these shares; new rows go to the nearest mean whatever their share.
    source_transformer, target_transformer : transformer or pipeline of scikit-learn, optional
        As in :class:`~isthmus.MLHD`; that of the source is there so that all systems can be prepared alike.

    Attributes
    ----------
    axes_ : PrincipalAxes
        The principal axes of the target rows.
    means_ : tuple of array (C', k)
        Of the labelled classes, for every number of axes.
    classes_ : array
        The classes of the source. Those without a labelled target row are never predicted.

    Examples
    --------
    >>> X_target, y_target = np.array([[0.0, 1], [0.1, 1], [1, 0.1], [1, 0]]), [0, -1, -1, 1]
    >>> BalancedKMeans().fit([[0.0], [9.0]], [0, 1], X_target, y_target).predict(X_target)
    array([0, 0, 1, 1])
    """

    means_: tuple[FloatArray, ...] = field(init=False)
    units_: tuple[float, ...] = field(init=False)

    def _fit_views(self, views: list[FloatArray], y: IntArray, found: ShareEstimate) -> dict[str, Any]:
        known, free, views = y >= 0, y < 0, [normalize(Z) for Z in views]
        Y = np.eye(y.max() + 1)[y[known]]
        means = tuple(_fit_balanced_means(Z[known], Y, Z[free], found) for Z in views)
        rows = free if free.any() else known
        units = tuple(score_deviation(-cdist(Z[rows], M, "sqeuclidean")) for Z, M in zip(views, means, strict=True))
        return {"means_": means, "units_": units}

    def scores(self, X: Any) -> FloatArray:
        """Return similarities of target rows to the class means (n, C), in units of the unlabelled rows' deviation.

        Rows sum to zero over the classes with a label; minus infinity for those without.
        """
        Z = self.axes_.coordinates(self._rows(X, "target"))
        found = np.full((len(Z), len(self.classes_)), -np.inf)
        found[:, self._present] = self._mean_scores(Z)
        return found

    def _mean_scores(self, Z: FloatArray) -> FloatArray:
        both = zip(self.means_, self.units_, strict=True)
        each = [centre_scores(-cdist(normalize(Z[:, : M.shape[1]]), M, "sqeuclidean")) / s for M, s in both]
        return np.asarray(np.mean(each, axis=0))

    def _probabilities(self, Z: FloatArray) -> FloatArray:
        return np.asarray(softmax(self._mean_scores(Z) / TEMPERATURE, axis=1))


def _fit_balanced_means(L: FloatArray, Y: FloatArray, U: FloatArray, found: ShareEstimate) -> FloatArray:
    """Return the means (C, k) from labelled rows L, whose classes are the rows of Y, and unlabelled rows U."""
    totals, sizes = SEED_WEIGHT * Y.T @ L, SEED_WEIGHT * Y.sum(axis=0)
    # The first means are those of the labelled rows alone.
    M = totals / sizes[:, None]
    for _ in range(ROUNDS if len(U) else 0):
        scores = -cdist(U, M, "sqeuclidean")
        P = balance(scores / (TEMPERATURE * score_deviation(scores)), found.shares, found.strictness)
        M = (totals + P.T @ U) / (sizes + P.sum(axis=0))[:, None]
    return np.asarray(M)


@dataclass(kw_only=True, eq=False, repr=False)
class SelfTrainedLDA(LeadingAxesEstimator):
    r"""Linear discriminants of all target rows, taught by their own guesses: the baseline of a transfer method.

    On the first k principal axes of the target, the guesses P are first those of the nearest labelled rows; then,
    a fixed number of times, discriminants are learned from P, a shared covariance and a mean for each class,

    .. math:: \mu_c = \frac{\sum_i P_{ic} z_i}{\sum_i P_{ic}}, \qquad
              S = \frac1n \sum_{ic} P_{ic} (z_i - \mu_c)(z_i - \mu_c)^T

    and the unlabelled rows are predicted again, under the condition that every class gets its share of them
    (:func:`balance`). The labelled rows keep their labels. Probabilities are averaged over several k.

    The rows are taken as they come: give columns of different units a common one first (a ``StandardScaler`` will
    do).

    Parameters
    ----------
    components : sequence of int
        Every k in multiples of the number of classes; at most the rank of the target rows.
    n_rounds : int
        How often the discriminants learn from their guesses.
    shares : {"auto", "uniform", "source", "labelled"} or array (C,)
        The shares of the classes among the unlabelled rows: equal ("auto", "uniform"), those of the source, those
        that labelled rows support ("labelled", as "auto" of :class:`~isthmus.LabelTransfer`), or numbers in the order
        of ``classes_``.
        New rows are expected to have them too.
    source_transformer, target_transformer : transformer or pipeline of scikit-learn, optional
        As in :class:`~isthmus.MLHD`; that of the source is there so that all systems can be prepared alike.

    Attributes
    ----------
    axes_ : PrincipalAxes
        The principal axes of the target rows.
    discriminants_ : tuple of SoftLDA
        One for every k.
    classes_ : array
        The classes of the source. Those without a labelled target row are never predicted.

    Examples
    --------
    >>> from isthmus.estimators.controls import TargetOnly
    >>> from isthmus.data.datasets import load_digits
    >>> d = load_digits(1)
    >>> systems = TargetOnly(), SelfTrainedLDA()
    >>> fitted = [s.fit(d.X_source, d.y_source, d.X_target, d.y_target) for s in systems]
    >>> [round(s.score(d.X_test, d.y_test), 2) for s in fitted]
    [0.66, 0.79]
    """

    systems: ClassVar[tuple[SystemFacts, ...]] = (
        SystemFacts("target self-trained LDA", "controls", "discriminants, self-trained", TARGET_ROWS),
    )

    n_rounds: int = 10
    discriminants_: tuple[SoftLDA, ...] = field(init=False)

    def _fit_views(self, views: list[FloatArray], y: IntArray, found: ShareEstimate) -> dict[str, Any]:
        return {"discriminants_": tuple(self_train(Z, y, self.n_rounds, found) for Z in views)}

    def _probabilities(self, Z: FloatArray) -> FloatArray:
        each = [softmax(lda.scores(Z[:, : len(lda.weights)]), axis=1) for lda in self.discriminants_]
        return np.asarray(np.mean(each, axis=0))


def self_train(Z: FloatArray, y: IntArray, n_rounds: int, found: ShareEstimate) -> SoftLDA:
    """Return discriminants of centred rows Z (n, k), taught again and again by the guesses of the ones before.

    The codes y (n,) are -1 for unlabelled rows; every class has a labelled row, and shares as ``found``.
    """
    free = y < 0
    P, bound = np.eye(len(found.shares))[y], (found.shares, found.strictness)
    if free.any():
        P[free] = balance(_nearest_scores(Z[free], Z[~free], y[~free]), *bound)
    lda = SoftLDA.of(Z, P)
    for _ in range(n_rounds if free.any() else 0):
        P[free] = balance(lda.scores(Z[free]), *bound)
        lda = SoftLDA.of(Z, P)
    # Discriminants assume equal shares; unequal ones are part of the rule for new rows.
    shares = found.shares if found.strictness == 1.0 else floor_shares(P[free].mean(axis=0))
    return SoftLDA(lda.weights, lda.offsets + np.log(len(shares) * shares))


def _nearest_scores(Z: FloatArray, labelled: FloatArray, y: IntArray) -> FloatArray:
    """Return minus the squared distances (n, C) to the nearest labelled row of each class, over a typical one."""
    D = cdist(Z, labelled, "sqeuclidean")
    nearest = np.stack([D[:, y == c].min(axis=1) for c in range(y.max() + 1)], axis=1)
    # The median is zero where most rows equal a labelled one; the mean, where all do.
    unit = np.median(nearest.min(axis=1)) or np.mean(nearest) or 1.0
    return np.asarray(-nearest / (2 * unit))


SHARED = "shared columns, SVM"


@dataclass(kw_only=True, eq=False, repr=False)
class SharedColumnsOnly(TargetEstimator):
    """Linear support vectors over source rows and labelled target rows, on the columns that both have.

    Parameters
    ----------
    columns : array (m, 2)
        The number of a source and of a target column for each.

    Examples
    --------
    >>> X_source, y_source = [[5.0, 1.0], [4.0, 0.0], [-5.0, 1.0]], ["a", "a", "b"]
    >>> X_target, y_target = [[0.0, 3.0], [0.0, -2.0]], ["a", None]
    >>> SharedColumnsOnly([[0, 1]]).fit(X_source, y_source, X_target, y_target).predict(X_target)
    array(['a', 'b'], dtype=object)
    """

    columns: Any = field(kw_only=False)
    classifier_: Any = field(init=False)

    def _fit_domains(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        ours, theirs = np.asarray(self.columns).T
        known = domains.target.labelled
        rows = domains.source.X[:, ours], domains.target.X[known][:, theirs]
        parts = [normalize_precisely(X) for X in rows]
        sparse = all(map(is_sparse, parts))
        X = sp.vstack(parts, format="csr") if sparse else np.vstack([as_dense(part) for part in parts])
        classifier = LinearSVC(random_state=0).fit(X, np.r_[domains.source.y, domains.target.y[known]])
        return {"classifier_": classifier}

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """Return the class of each target row (n,)."""
        rows = normalize_precisely(self._rows(X, domain)[:, np.asarray(self.columns)[:, 1]])
        return np.asarray(self.classes_[np.asarray(self.classifier_.predict(rows), dtype=np.intp)])
