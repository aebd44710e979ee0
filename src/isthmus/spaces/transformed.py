"""A domain's own preparation: any transformer of scikit-learn, fitted to all of its rows."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from isthmus.exceptions import InputError


def fitted_transformer(transformer: Any, X: Any, name: str) -> Any:
    """A fitted copy of a transformer or pipeline, or None where there is none."""
    if transformer is None:
        return None
    fitted = clone(transformer)
    _called(fitted.fit, X, name, fitted)
    return fitted


def transformed(transformer: Any, X: Any, name: str) -> Any:
    """Rows after a fitted transformer; as they are where there is none."""
    return X if transformer is None else _called(transformer.transform, X, name, transformer)


def check_transformer(transformer: Any, name: str) -> None:
    """Raise unless this is None or an unfitted transformer."""
    if transformer is None:
        return
    if isinstance(transformer, type) or not (hasattr(transformer, "fit") and hasattr(transformer, "transform")):
        raise InputError(f"{name}: expected None or an object with fit and transform, got {transformer!r:.60}.")


def _called(method: Any, X: Any, name: str, transformer: Any) -> Any:
    try:
        return method(X)
    except (TypeError, ValueError, AttributeError) as error:
        wanted, reason = type(transformer).__name__, " ".join(str(error).split())[:200]
        raise InputError(f"{name}: expected rows that {wanted} can take, got '{reason}'.") from error
