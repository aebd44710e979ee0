"""The target alone, with any classifier of scikit-learn: what a source has to add to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import InputTags, get_tags

from isthmus._arrays import FloatArray, IntArray, Matrix, is_sparse
from isthmus._validation import choice
from isthmus.domains import UNLABELLED, TwoDomains
from isthmus.estimators.base import TwoDomainEstimator
from isthmus.exceptions import InputError


class TargetEstimator(TwoDomainEstimator):
    """The base of systems that know target rows only; of the source they take the names of its classes."""

    def _rows(self, X: Any, domain: str, name: str = "X") -> Matrix:
        if domain == "source":
            raise InputError(f"domain: expected 'target', the only domain {type(self).__name__} knows, got 'source'.")
        return super()._rows(X, domain, name)


class TargetOnly(TargetEstimator):
    """A classifier of scikit-learn on target rows, as if there were no source.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        Cloned in ``fit`` and never changed; None is the nearest labelled row.
    unlabelled : {"auto", "drop", "mark"}
        What becomes of target rows without a label: dropped, or given to the classifier with -1 for a label. "auto"
        marks them for classifiers of ``sklearn.semi_supervised``, also at the end of a pipeline, and drops them for
        all others.
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

    classifier_: Any

    def __init__(
        self,
        classifier: Any = None,
        *,
        unlabelled: str = "auto",
        source_transformer: Any = None,
        target_transformer: Any = None,
    ) -> None:
        self.classifier = classifier
        self.unlabelled = unlabelled
        self.source_transformer = source_transformer
        self.target_transformer = target_transformer

    def _validate(self) -> None:
        super()._validate()
        choice(self.unlabelled, "unlabelled", ("auto", "drop", "mark"))
        if self.classifier is not None and not all(hasattr(self.classifier, name) for name in ("fit", "predict")):
            raise InputError(f"classifier: expected an object with fit and predict, got {self.classifier!r}.")

    def _own_tags(self, domain: str) -> InputTags:
        if domain == "source" or not hasattr(self.classifier, "__sklearn_tags__"):
            return super()._own_tags(domain)
        return InputTags(sparse=get_tags(self.classifier).input_tags.sparse)

    def _fit_domains(self, domains: TwoDomains, settings: None) -> dict[str, Any]:
        classifier = KNeighborsClassifier(1) if self.classifier is None else clone(self.classifier)
        target = domains.target
        rows = slice(None) if self._marks(classifier) else target.labelled
        # Where no label reaches a row, label spreading divides by zero and guesses the first class.
        with np.errstate(invalid="ignore"):
            _fit_classifier(classifier, target.X[rows], target.y[rows])
        if UNLABELLED in getattr(classifier, "classes_", ()):
            raise InputError(
                "unlabelled: expected 'mark' only with a classifier that takes -1 for no label, "
                f"got {type(classifier).__name__}, which takes it for a class."
            )
        return {"classifier_": classifier}

    def _marks(self, classifier: Any) -> bool:
        """Whether the classifier gets to see rows without a label."""
        if self.unlabelled != "auto":
            return self.unlabelled == "mark"
        last = classifier.steps[-1][1] if hasattr(classifier, "steps") else classifier
        return any(base.__module__.startswith("sklearn.semi_supervised") for base in type(last).__mro__)

    def predict(self, X: Any, domain: str = "target") -> NDArray[Any]:
        """The class of each target row (n,)."""
        rows = self._rows(X, domain)
        with np.errstate(invalid="ignore"):
            codes = np.asarray(self.classifier_.predict(rows), dtype=np.intp)
        return np.asarray(self.classes_[codes])

    def transform(self, X: Any, domain: str = "target") -> FloatArray:
        """The target rows themselves, dense (n, d_t): there is no other space."""
        rows = self._rows(X, domain)
        return np.asarray(rows.toarray()) if is_sparse(rows) else np.array(rows)

    def _dimension(self) -> int:
        return self.n_features_["target"]


def _fit_classifier(classifier: Any, X: Matrix, y: IntArray) -> None:
    """Fit a classifier of the user's; what it refuses becomes one sentence."""
    try:
        classifier.fit(X, y)
    except (TypeError, ValueError) as error:
        name, n_classes = type(classifier).__name__, len(np.unique(y[y != UNLABELLED]))
        if n_classes < 2:
            raise InputError(
                f"y_target: expected labelled rows of at least two classes for {name}, got one class; label a row of "
                "another class, or use a classifier that takes one."
            ) from error
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"classifier: expected one that takes the labelled target rows, got {name}: {reason}"
        ) from error
