"""What scikit-learn asks of an estimator, and what is true of one that is fitted to two domains."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar, NoReturn

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import ClassifierTags, InputTags, get_tags
from sklearn.utils.metaestimators import available_if

from isthmus._threads import UNCAPPED, cap_methods
from isthmus.common_space import DOMAINS
from isthmus.kernels import Precomputed

RESTRICTIONS = "pairwise", "positive_only"
"""Tags that ask something of rows; the others allow something."""


def _one_domain(estimator: Any) -> NoReturn:
    name = type(estimator).__name__
    raise AttributeError(f"{name} has no fit_transform, as two domains have two results: fit, then transform either.")


class SklearnCompatible(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[misc,call-arg]
    """Provide tags and ``set_output`` for estimators over two domains.

    ``set_output`` comes with :class:`sklearn.base.TransformerMixin`, which puts what ``transform`` returns into a
    data frame with the names of ``get_feature_names_out``. This class itself goes without: the mixin would wrap, and
    so bring back, the ``fit_transform`` that is taken away here. Every class below has it.
    """

    takes_pairs: ClassVar[bool]

    def __init_subclass__(cls, **options: Any) -> None:
        """Small work takes one BLAS thread, in every public method of every system."""
        cap_methods(cls, UNCAPPED)  # before scikit-learn wraps what is there in what set_output asks for
        super().__init_subclass__(**options)

    @property
    def held_shape(self) -> tuple[int, int] | None:
        """The shape of the reference rows, for :func:`isthmus._threads.cap_threads`; None where there are none."""
        points = getattr(getattr(self, "references_", None), "points", None)
        return None if points is None else (points.shape[0], points.shape[1])

    @available_if(_one_domain)  # type: ignore[untyped-decorator]
    def fit_transform(self, X: Any, y: Any = None) -> NoReturn:
        """Not there: the arguments of ``fit`` are two domains."""
        raise NotImplementedError

    def _own_tags(self, domain: str) -> InputTags:
        """What holds of the rows of a domain behind its transformer."""
        kernel = getattr(self, f"{domain}_kernel", None)
        return InputTags(sparse=True, pairwise=isinstance(kernel, Precomputed) or kernel == "precomputed")

    def _input_tags(self, domain: str) -> InputTags:
        """What holds of the rows of a domain as they are given."""
        own, transformer = self._own_tags(domain), getattr(self, f"{domain}_transformer", None)
        if transformer is None:
            return own
        first = get_tags(transformer).input_tags if hasattr(transformer, "__sklearn_tags__") else InputTags()
        first.sparse = first.sparse and own.sparse
        return first

    def _needs_labels(self) -> bool:
        """Whether there is nothing else, as the parameters now are, that it could learn from."""
        return not self.takes_pairs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        tags.target_tags.required = self._needs_labels()
        tags.input_tags = both(*(self._input_tags(domain) for domain in DOMAINS))
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def both(source: InputTags, target: InputTags) -> InputTags:
    """What holds of an input of two parts: it may be what either part may be, and has to be what one has to be.

    Examples
    --------
    >>> found = both(InputTags(sparse=True, pairwise=True), InputTags(sparse=False))
    >>> found.sparse, found.pairwise
    (False, True)
    """
    values = {each.name: (getattr(source, each.name), getattr(target, each.name)) for each in fields(InputTags)}
    return InputTags(**{name: any(two) if name in RESTRICTIONS else all(two) for name, two in values.items()})
