"""Estimators of scikit-learn as kinds: parameters that are not the defaults, and what was learned, as arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

from isthmus.files.arrays import Labels, Length
from isthmus.files.kinds import Kind, Kinds
from isthmus.files.settings import Setting
from isthmus.files.shapes import ByName, Fields, Maybe, Shape, require, word

LEFT_OUT = {"n_jobs", "verbose", "memory", "warm_start"}
"""How work is done, not what; a folder for pickles among them."""
CONTAINER = ByName(word("default", "pandas", "polars"), ("transform",))
"""What ``set_output`` was told."""
COMMON: Mapping[str, Shape] = {
    "n_features_in_": Length("d"),
    "feature_names_in_": Labels("d"),
    "_sklearn_output_config": CONTAINER,
}

Limits = Mapping[str, Collection[Any]]


def fitted_kind(
    of: type,
    state: Mapping[str, Shape],
    limits: Limits | None = None,
    *,
    within: Kinds | None = None,
    finish: Callable[[Any], None] | None = None,
) -> Kind:
    """The kind of a type of scikit-learn.

    Parameters
    ----------
    of : type
        Of the estimators.
    state : mapping of str to Shape
        The attributes that its ``transform`` or ``predict`` needs.
    limits : mapping of str to collection, optional
        The values that parameters may have: others would run a stranger's code, open files or never end.
    within : Kinds, optional
        The kinds of objects among its parameters and attributes.
    finish : function, optional
        Called with a new estimator that has its parameters and attributes.
    """
    limits = limits or {}
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(of).parameters.items()  # those of __init__
        if name not in LEFT_OUT
    }
    setting = Setting(within, open=True) if within is not None else Setting()
    fields: dict[str, Shape] = {
        "parameters": Fields(dict.fromkeys(defaults, setting)),
        "state": Maybe(Fields({**COMMON, **state})),
    }

    def fits(estimator: Any) -> bool:
        return _within(estimator.get_params(deep=False), limits)

    def taken(estimator: Any) -> dict[str, Any]:
        values = estimator.get_params(deep=False)
        parameters = {name: values[name] for name in defaults if not _same(values[name], defaults[name])}
        found = {name: getattr(estimator, name) for name in (*COMMON, *state) if _has(estimator, name)}
        return {"parameters": parameters, "state": found or None}

    def made(values: dict[str, Any]) -> Any:
        parameters = values.get("parameters", {})
        require(_within(parameters, limits), f"parameters of a {of.__name__} within their limits", parameters)
        estimator = of(**parameters)
        estimator._validate_params()
        for name, value in (values.get("state") or {}).items():
            setattr(estimator, name, value)
        if finish is not None and values.get("state"):
            finish(estimator)
        return estimator

    return Kind(of, fields, taken, made, fits)


def _within(parameters: Mapping[str, Any], limits: Limits) -> bool:
    return all(_among(parameters[name], allowed) for name, allowed in limits.items() if name in parameters)


def _among(value: Any, allowed: Collection[Any]) -> bool:
    return any(type(value) is type(each) and value == each for each in allowed)


def _same(value: Any, default: Any) -> bool:
    """Whether a value is the default, which no file needs to know."""
    if value is default:
        return True
    return type(value) is type(default) and isinstance(value, bool | int | float | str) and value == default


def _has(estimator: Any, name: str) -> bool:
    """Whether an estimator has an attribute of its own; properties that ask others for it do not count."""
    return name in vars(estimator)
