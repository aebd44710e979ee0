"""LabelTransfer: the estimator, the answer whether the source was used, and the labels that it assigns."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.neighbors import NearestNeighbors

from isthmus._core.progress import Progress
from isthmus._core.validation import (
    UNLABELLED,
    BoolArray,
    FloatArray,
    IntArray,
    Matrix,
    as_generator,
    as_labels,
    check_flag,
    check_length,
    check_matrix,
    check_number,
    encode,
)
from isthmus.data.domains import TwoDomains
from isthmus.data.shared_columns import SharedColumns
from isthmus.estimators.base import EVERYTHING, SystemFacts, TwoDomainEstimator
from isthmus.exceptions import InputError
from isthmus.geometry.discriminants import SoftLDA, assume_shares, check_shares
from isthmus.tasks.transfer.engine import TransferOutcome, transfer_labels
from isthmus.tasks.transfer.problem import AXES, Preparation, TransferRows
from isthmus.tasks.transfer.scoring import Discriminant
from isthmus.tasks.transfer.shared_evidence import add_shared_scores, make_shared_features

# Classes that a sentence lists.
MOST_NAMES = 5


@dataclass(frozen=True)
class TransferAnswer:
    """Whether the source was used: an :class:`~isthmus.evidence.Answer`.

    Parameters
    ----------
    ok : bool or None
        True: the source was used; False: it was not; None: it was used, but its names for classes are doubtful.
    sentence : str
        The conclusion with its reason.
    evidence : dict
        The measures of the gates, by name.
    """

    ok: bool | None
    sentence: str
    evidence: dict[str, float]

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, eq=False)
class AssignedLabels:
    """The class of every row, given or predicted, with the second most likely one.

    Parameters
    ----------
    labels, runner_up : array (n,)
        The class (-1 or None for rejected rows), and the most likely of the others: the best one, where rejected.
    probability, runner_up_probability : array (n,)
        Of these; NaN for the class of rejected rows.
    given : array (n,)
        The rows whose class was given, as a mask.
    """

    labels: NDArray[Any]
    probability: FloatArray
    runner_up: NDArray[Any]
    runner_up_probability: FloatArray
    given: BoolArray

    @property
    def n_rejected(self) -> int:
        """The number of rows without a class."""
        return int(np.count_nonzero(np.isnan(self.probability)))

    @property
    def sentence(self) -> str:
        """The numbers in one sentence."""
        rejected = f", except {self.n_rejected:,} below the threshold" if self.n_rejected else ""
        return f"{np.count_nonzero(~self.given):,} rows without a label got a class{rejected}."


def write_verdict(found: TransferOutcome, unlabelled: NDArray[Any]) -> str:
    """Write the sentence: whether the source was used, for what, and why."""
    listed = ", ".join(str(name) for name in unlabelled[:MOST_NAMES])
    listed += ", …" if len(unlabelled) > MOST_NAMES else ""
    count = f"{len(unlabelled)} class{'es' if len(unlabelled) > 1 else ''} without a target label ({listed})"
    if not len(unlabelled):
        start = f"The source was {'not ' if found.ok is False else ''}used"
    elif found.ok is False:
        start = f"The source was not used, and the names of the {count} are guesses"
    else:
        start = f"The source named the {count}"
    return f"{start}: {found.reason}."


@dataclass(kw_only=True, eq=False, repr=False)
class LabelTransfer(TwoDomainEstimator):
    r"""Classes of target rows, from a few target labels and a source with other features.

    Several *starts* guess the classes of the unlabelled target rows, each by another idea of how the domains relate.
    Guesses are balanced so that every class gets its share, polished by the target's own self-trained discriminants,
    and put to a vote with weights from evidence that needs no further label. A source without evidence for it is not
    used, and :attr:`answer_` says so. The whole recipe is in :mod:`isthmus.tasks.transfer.engine`.

    - **Some classes have no labelled target row** (``unlabelled_classes_``). The source gives them their names:
      zero-shot ridge, relative representations, MLHD, rotations between class means, clusters named by graph
      matching. The weight of a start is :math:`e^{6 (r + 0.6 s)}`, r the agreement of the class geometries, s that of
      row signatures with its names. Self-trained MLHD continues from the vote.
    - **Every class has some.** The target's own ensemble (self-trained discriminants, balanced k-means) is the
      baseline; where rows are few, row signatures and self-trained MLHD join it, each by a test of its own; where
      they are many, soft pairs by geometry, or the source's shares alone.

    Parameters
    ----------
    shares : {"auto", "uniform", "source", "labelled"} or array (C,)
        Shares of the classes among unlabelled target rows: equal, as in the source, or given in the order of
        ``classes_``. "labelled" assumes them equal, unless labelled rows show that they are not
        (:func:`~isthmus.geometry.discriminants.infer_shares`; every class needs two labels): with ten labels per
        class it recovers about half of what the true shares would give. "auto" does the same, and with many rows it
        takes the shares of the source where these are both unequal and correlated with the target's. Give them where
        you know them.
    calibrate : bool
        Whether probabilities are calibrated, by reruns with held-out labels, which take about three times as long as
        the fit. The predicted classes are the same.
    reject_below : float, optional
        Rows whose most likely class has a smaller probability get no class from ``predict``: -1 where classes are
        numbers, None where they are anything else.
    n_neighbors : int
        How many source rows ``kneighbors`` returns.
    random_state : int, Generator, RandomState or None
        For restarts of clusters and random relabellings.
    progress : bool or function
        Whether to show a bar with the time left; or a function that is called with (step, number of the step).
    source_transformer, target_transformer : transformer or pipeline of scikit-learn, optional
        As in :class:`~isthmus.MLHD`. Rows are prepared in any case: dense columns to mean 0 and deviation 1 (unless
        all rows have unit length), rows to unit length, then principal axes.

    Attributes
    ----------
    classes_ : array (C,)
        The classes of both domains. Those that only the target has are kept: they are guessed by the target alone.
    unlabelled_classes_ : array
        The classes without a labelled target row.
    answer_ : TransferAnswer
        Whether the source was used, why, and the measures behind it.
    verdict_, source_used_, evidence_ : str, bool, dict
        The parts of ``answer_``: its sentence, whether the source has a part in the rule, the measures of the gates.
    weights_ : dict
        The weight of each start; they sum to one.
    shares_ : array (C,)
        The shares that were assumed in the end.
    temperature_ : float
        The divisor of scores before they become probabilities: it makes held-out labels most likely when the whole
        recipe is rerun without them. Where no class has two labels, it goes by the agreement with nearest rows.

    Examples
    --------
    >>> from isthmus.data.datasets import load_digits
    >>> d = load_digits(3, n_source=100, n_target=200, random_state=100)
    >>> half = np.where(d.y_target < 5, d.y_target, -1)
    >>> model = LabelTransfer(calibrate=False).fit(d.X_source, d.y_source, d.X_target, half)
    >>> model.unlabelled_classes_, model.source_used_
    (array([5, 6, 7, 8, 9]), True)
    >>> round(model.score(d.X_test, d.y_test), 1)
    0.9
    """

    systems: ClassVar[tuple[SystemFacts, ...]] = (
        SystemFacts(
            "label-transfer",
            "tasks",
            "this library, see docs/labels.md",
            EVERYTHING,
            best_for="naming rows of the target, also of classes that no target row is labelled with",
        ),
    )

    takes_pairs = True
    takes_shared = True
    own_classes = True

    shares: Any = "auto"
    calibrate: bool = True
    reject_below: float | None = None
    n_neighbors: int = 5
    random_state: Any = 0
    progress: Any = False
    unlabelled_classes_: NDArray[Any] = field(init=False)
    weights_: dict[str, float] = field(init=False)
    source_used_: bool = field(init=False)
    verdict_: str = field(init=False)
    evidence_: dict[str, float] = field(init=False)
    shares_: FloatArray = field(init=False)
    temperature_: float = field(init=False)
    _ok: bool | None = field(init=False)
    # By domain; and of shared features, None where these are not used.
    _rules: dict[str, Any] = field(init=False)
    _preparations: dict[str, Preparation] = field(init=False)
    _references: tuple[FloatArray, IntArray] = field(init=False)

    def _validate(self) -> tuple[str | FloatArray, np.random.Generator, bool, Progress]:
        super()._validate()
        self._threshold()
        shares, calibrate = check_shares(self.shares), check_flag(self.calibrate, "calibrate")
        return shares, as_generator(self.random_state), calibrate, Progress(self.progress, "label transfer")

    def _threshold(self) -> float:
        least = 0.0 if self.reject_below is None else self.reject_below
        return check_number(least, "reject_below", low=0.0, high=1.0)

    def _fit_domains(self, domains: TwoDomains, settings: Any) -> dict[str, Any]:
        (shares, rng, calibrate, progress), steps = settings, count(1)

        def report(what: str, left: int = 0) -> None:
            step = next(steps)
            fraction = (step - 2) / (step - 2 + left) if left else 0.0  # the first step, preparing, does not count
            progress.report(what, fraction, what, step)

        with progress:
            report("preparing")
            most = max(AXES, 5 * len(domains.classes))
            both = {"source": domains.source.X, "target": domains.target.X}
            preparations = {name: Preparation.of(X, most) for name, X in both.items()}
            rows = _make_rows(domains, preparations, shares)
            found = transfer_labels(rows, rng, shares, report, calibrate)
        # The source's own discriminants; classes that it lacks are never predicted.
        view, taught = rows.at(), np.flatnonzero(rows.ys >= 0)
        mean = view.S.mean(axis=0)
        source = Discriminant(mean, SoftLDA.of(view.S - mean, np.eye(rows.n_classes)[view.ys]))
        points = np.sqrt(softmax(source.scores(rows.source[taught]), axis=1))
        return {
            "unlabelled_classes_": domains.classes[rows.unknown],
            "weights_": found.weights,
            "source_used_": found.ok is not False,
            "verdict_": write_verdict(found, domains.classes[rows.unknown]),
            "evidence_": found.evidence,
            "shares_": found.shares,
            "temperature_": found.temperature,
            "_ok": found.ok,
            "_rules": {"source": source, "target": found.rule, "shared": found.shared_rule},
            "_preparations": preparations,
            "_references": (points, taught),
        }

    @property
    def answer_(self) -> TransferAnswer:
        """Whether the source was used, and the evidence."""
        return TransferAnswer(self._ok, self.verdict_, dict(self.evidence_))

    def predict_proba(self, X: Any, domain: str = "target", shared: Any = None) -> FloatArray:
        """Return probabilities of the classes (n, C): scores of the rule divided by ``temperature_``, as logarithms.

        Source rows get those of the source's own discriminants. ``shared`` (n, k) are the shared features of the
        target rows, as in ``fit``; without them, the target's own features decide, as they were taught.
        """
        rows = self._rows(X, domain)
        if shared is None:
            return self._posteriors(rows, domain)
        features, rule = check_matrix(shared, "shared"), self._rules["shared"]
        width = features.shape[1] if rule is None else len(rule.rule.weights)
        if features.shape != (rows.shape[0], width):
            wanted = f"{rows.shape[0]} rows, as X has, of {width} columns, as in the fit"
            raise InputError(f"shared: expected {wanted}, got {features.shape[0]} of {features.shape[1]}.")
        return self._posteriors(rows, domain, features)

    def _posteriors(self, rows: Matrix, domain: str, shared: Matrix | None = None) -> FloatArray:
        scores = self._rules[domain].scores(self._preparations[domain].coordinates(rows))
        if domain == "target":
            scores = add_shared_scores(scores, self._rules["shared"], shared) / self.temperature_
        return np.asarray(softmax(scores, axis=1))

    def predict(self, X: Any, domain: str = "target", shared: Any = None) -> NDArray[Any]:
        """Return the most likely class of each row (n,); no class (-1 or None) below ``reject_below``."""
        P = self.predict_proba(X, domain, shared)
        return self._names(np.where(P.max(axis=1) < self._threshold(), UNLABELLED, P.argmax(axis=1)))

    def _names(self, codes: IntArray) -> NDArray[Any]:
        """Return the classes of codes (n,); -1 is no class: -1 among numbers, None among all else."""
        labels, rejected = np.asarray(self.classes_[codes]), codes == UNLABELLED
        if not rejected.any():
            return labels
        none: Any = UNLABELLED if labels.dtype.kind in "if" else None
        return np.where(rejected, none, labels)

    def assign_labels(self, X: Any, y: Any = None, shared: Any = None) -> AssignedLabels:
        """Return the class of every target row: the given label y (n,), or else the predicted one.

        Parameters
        ----------
        X : array, sparse matrix or data frame (n, d_t)
            Target rows.
        y : array (n,), optional
            Labels; -1, None or NaN where unknown. None: all of them.
        shared : array (n, k), optional
            Their shared features, as in ``fit``.
        """
        P = self.predict_proba(X, shared=shared)
        rows, codes = np.arange(len(P)), np.where(P.max(axis=1) < self._threshold(), UNLABELLED, P.argmax(axis=1))
        given = np.full(len(P), UNLABELLED)
        if y is not None:
            check_length(y, len(P), "y", "X")
            given = encode(as_labels(y, "y"), self.classes_, "y")
        codes = np.where(given == UNLABELLED, codes, given)
        assigned = codes != UNLABELLED
        others = P.copy()
        others[rows[assigned], codes[assigned]] = -1.0
        second = others.argmax(axis=1)
        probability = np.where(assigned, P[rows, codes], np.nan)
        known = given != UNLABELLED
        return AssignedLabels(self._names(codes), probability, self.classes_[second], P[rows, second], known)

    def transform(self, X: Any, domain: str = "target") -> FloatArray:
        r"""Return rows as points of unit length (n, C): the square roots of their classes' probabilities.

        Rows of both domains are comparable there, by their classes: half the squared distance is one less the
        affinity :math:`\sum_c \sqrt{p_c q_c}`.
        """
        rows = self._rows(X, domain)
        return np.sqrt(self._posteriors(rows, domain)).astype(rows.dtype, copy=False)

    def kneighbors(
        self, X: Any, n_neighbors: int | None = None, domain: str = "target"
    ) -> tuple[FloatArray, IntArray]:
        """Return distances and numbers of the nearest labelled source rows by class, best first, both (n, k)."""
        points = np.sqrt(self.predict_proba(X, domain))
        references, numbers = self._references
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        check_number(k, "n_neighbors", low=1, high=len(numbers), whole=True)
        distances, places = NearestNeighbors(n_neighbors=int(k)).fit(references).kneighbors(points)
        return np.asarray(distances), numbers[places]

    def _dimension(self) -> int:
        return len(self.classes_)


def _make_rows(domains: TwoDomains, preparations: dict[str, Preparation], shares: str | FloatArray) -> TransferRows:
    """Return both domains in coordinates; a pair passes the class of one row on to the other."""
    ys, yt = domains.source.y.copy(), domains.target.y.copy()
    if domains.pairs is not None and not (yt == UNLABELLED).all():  # else the recipe passes names on
        for mine, its, rows, others in (
            (yt, domains.source.y, domains.pairs.target, domains.pairs.source),
            (ys, domains.target.y, domains.pairs.source, domains.pairs.target),
        ):
            passed = (mine[rows] == UNLABELLED) & (its[others] != UNLABELLED)
            mine[rows[passed]] = its[others[passed]]
    for y, name in ((ys, "y_source"), (yt, "y_target")):
        if (y == UNLABELLED).all() and (name == "y_source" or domains.pairs is None):
            raise InputError(f"{name}: expected at least one labelled row, got none among {len(y)}.")
    if len(domains.classes) < 2:
        raise InputError(f"y_source: expected at least two classes, got {len(domains.classes)}.")
    shared = domains.shared
    return TransferRows(
        preparations["source"].coordinates(domains.source.X),
        ys,
        preparations["target"].coordinates(domains.target.X),
        yt,
        assume_shares(shares, ys, domains.classes),
        (preparations["source"].prepare(domains.source.X), preparations["target"].prepare(domains.target.X)),
        domains.pairs,
        features=make_shared_features(shared) if isinstance(shared, SharedColumns) else shared,
    )
