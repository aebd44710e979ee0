"""scikit-learn's base classes, with the types that scikit-learn lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    # scikit-learn has no annotations: below its own classes, a type checker would know no member of an estimator.
    # Only what users call is declared. At run time these are scikit-learn's classes.
    class BaseEstimator:
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def __getstate__(self) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def __sklearn_tags__(self) -> Any: ...

    class TransformerMixin:
        def __init_subclass__(cls, **options: Any) -> None: ...
        def set_output(self, *, transform: str | None = None) -> Self: ...
        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any: ...

    class ClassifierMixin:
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class ClassNamePrefixFeaturesOutMixin:
        def get_feature_names_out(self, input_features: Any = None) -> Any: ...

else:
    from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin

__all__ = ["BaseEstimator", "ClassNamePrefixFeaturesOutMixin", "ClassifierMixin", "TransformerMixin"]
