"""The systems as kinds: all of their parameters, and of what they learned that which answers need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from isthmus.common_space import DOMAINS
from isthmus.controls import Corrupted, SelfTrainedLDA, TargetOnly
from isthmus.estimators import (
    ARC,
    CCA,
    CDLS,
    CDSPP,
    COOT,
    DAMA,
    FGW,
    GW,
    HFA,
    ITML,
    KCCA,
    KPGRL,
    MLHD,
    MTDA,
    FeatureAugmentation,
    HCDRank,
    HeMap,
    ManifoldAlignment,
    Procrustes,
    PulledBackMetric,
    RelativeRepresentations,
    RidgeMap,
    Saenko,
    TLRisk,
)
from isthmus.estimators.classifiers.base import TargetClassifier
from isthmus.estimators.mapped import MappedEstimator
from isthmus.files.arrays import Array, Labels, Length, Words
from isthmus.files.classifiers import CLASSIFYING
from isthmus.files.fitted import CONTAINER
from isthmus.files.kinds import Kind, Kinds, Object, kinds
from isthmus.files.settings import Setting
from isthmus.files.shapes import COUNT, FLAG, NUMBER, TEXT, ByName, Fields, Many, Maybe, Shape, require
from isthmus.files.transformers import PREPARING
from isthmus.files.values import (
    AXES,
    BACKGROUND,
    COMMON_SPACE,
    DISCRIMINANTS,
    KERNELS,
    MACHINES,
    PREPARATIONS,
    RULES,
    SOLVERS,
)
from isthmus.retrieval import References
from isthmus.retrieval.rules import Linear
from isthmus.transfer import LabelTransfer, SemanticMatching

SYSTEMS = Kinds()
"""Every system that can be saved."""
_PARAMETERS = Kinds()
"""What parameters of systems may be, besides plain values."""
_NOT_KEPT = {"progress", "source_transformer", "target_transformer"}
"""Parameters that are no part of a file: whom to tell, and transformers, which are those that were fitted."""
_COMMON: Mapping[str, Shape] = {
    "classes_": Labels("C"),
    "n_features_": ByName(COUNT, DOMAINS),
    "transformers_": ByName(Maybe(Object(PREPARING, open=True)), DOMAINS),
    "_columns": ByName(Maybe(Words("columns")), DOMAINS),
}
_BOUNDS = Many(NUMBER)
LONGEST_ROW = 2**20
"""A model of more columns is not tried: a row would take more than its file."""

Taken = Callable[[Any], dict[str, Any]]
Restored = Callable[[Any, dict[str, Any]], None]


def _system(
    of: type, state: Mapping[str, Shape], taken: Taken | None = None, restored: Restored | None = None
) -> Kind:
    """The kind of a system.

    Parameters
    ----------
    of : type
        Of the systems.
    state : mapping of str to Shape
        What is stored of a fitted one, besides what all have in common.
    taken, restored : function, optional
        Further parts of a fitted system by name, and what to do with all parts; else they are attributes.
    """
    names = of._get_param_names()  # type: ignore[attr-defined]
    kept = [name for name in names if name not in _NOT_KEPT]
    every = {**_COMMON, **state} if "source_transformer" in names else dict(state)
    every["_sklearn_output_config"] = CONTAINER
    fields: dict[str, Shape] = {
        "parameters": Fields(dict.fromkeys(kept, Setting(_PARAMETERS, open=True))),
        "state": Maybe(Fields(every)),
    }

    def values_of(model: Any) -> dict[str, Any]:
        values = model.get_params(deep=False)
        parameters = {name: values[name] for name in kept}
        found = {name: vars(model)[name] for name in every if name in vars(model)}
        return {"parameters": parameters, "state": {**found, **(taken(model) if taken else {})} if found else None}

    def made(values: dict[str, Any]) -> Any:
        model, found = of(**values.get("parameters", {})), values.get("state")
        if found is None:
            return model
        missing = {*_COMMON} & {*every} - {*found}
        require(not missing, "all parts of a system", sorted(missing))
        for name, transformer in found.get("transformers_", {}).items():
            setattr(model, f"{name}_transformer", None if transformer is None else clone(transformer))
        if "_columns" in found:
            found["_columns"] = {name: None if c is None else tuple(c) for name, c in found["_columns"].items()}
        (restored or _attributes)(model, found)
        return model

    return Kind(of, fields, values_of, made)


def _attributes(model: Any, found: dict[str, Any]) -> None:
    model.__dict__.update(found)


_MAPPED: Mapping[str, Shape] = {
    "common_space_": Object(COMMON_SPACE),
    "reference_points": Array("n", "k"),
    "reference_codes": Array("n", kinds="i"),
    "n_source": COUNT,
    "reference_weights": Maybe(Array("n")),
    "fitted_rule": Maybe(Object(CLASSIFYING, open=True)),
    "_background": Object(BACKGROUND),
}


def _mapped_parts(model: MappedEstimator) -> dict[str, Any]:
    points, rule = model.references_, model._rule[1]
    return {
        "reference_points": points.points,
        "reference_codes": points.y,
        "n_source": points.n_source,
        "reference_weights": points.weights,
        "fitted_rule": rule.classifier if isinstance(rule, Linear) else None,
    }


def _mapped_restored(model: MappedEstimator, found: dict[str, Any]) -> None:
    """Reference rows and the rule are made of the parts; a classifier is the one that was fitted."""
    space, C = found["common_space_"], len(found["classes_"])
    points, y, n = (found.pop(name) for name in ("reference_points", "reference_codes", "n_source"))
    classifier, weights = found.pop("fitted_rule", None), found.pop("reference_weights", None)
    require(points.shape[1] == space.dimension, "reference rows of the common space", points.shape)
    require(n <= len(y) and (not len(y) or (y.min() >= -1 and y.max() < C)), "reference rows of the classes", n)
    sizes = {name: space.space(name).n_features for name in DOMAINS}
    require(sizes == found["n_features_"], "as many features as the maps have", sizes)
    _attributes(model, found)
    model.kernels_ = space.source.kernel, space.target.kernel
    model.references_ = References(space, points, y, n, weights)
    if classifier is None:
        model._rule = model._decision_rule(model.references_, C)
    else:
        model._rule = (model.references, model.rule, model.n_neighbors), Linear(classifier, C)


def _mapped_system(of: type, **state: Shape) -> Kind:
    return _system(of, {**_MAPPED, **state}, _mapped_parts, _mapped_restored)


def _transfer_parts(model: LabelTransfer) -> dict[str, Any]:
    points, numbers = model._references
    return {"reference_points": points, "reference_numbers": numbers}


def _transfer_restored(model: LabelTransfer, found: dict[str, Any]) -> None:
    references = found.pop("reference_points"), found.pop("reference_numbers")
    _attributes(model, {**found, "_references": references})


_BY_DOMAIN = {"_rules": ByName(Object(RULES), DOMAINS), "_preparations": ByName(Object(PREPARATIONS), DOMAINS)}
_TRANSFER: Mapping[str, Shape] = {
    **_BY_DOMAIN,
    "unlabelled_classes_": Labels("unlabelled"),
    "agreement_": ByName(Setting()),
    "weights_": ByName(Setting()),
    "source_used_": FLAG,
    "verdict_": TEXT,
    "shares_": Array("C"),
    "temperature_": NUMBER,
    "reference_points": Array("n", "C"),
    "reference_numbers": Array("n", kinds="i"),
}
_SEMANTIC: Mapping[str, Shape] = {
    "source_rule_": Object(CLASSIFYING, open=True),
    "target_rule_": Object(SYSTEMS),
    "powers_": ByName(NUMBER, DOMAINS),
    "unlabelled_classes_": Labels("unlabelled"),
    "_gallery": Array("gallery", "C"),
}
_ITML: Mapping[str, Shape] = {
    "components_": Array("k", "d"),
    "bounds_": _BOUNDS,
    "n_iter_": COUNT,
    "n_features_in_": Length("d"),
    "_n_features_out": COUNT,
    "feature_names_in_": Labels("d"),
}


def _corrupted_restored(model: Corrupted, found: dict[str, Any]) -> None:
    inner = found["estimator_"]
    _attributes(model, {**found, "classes_": inner.classes_, "n_features_": inner.n_features_})


_LEARNER = kinds(_system(ITML, _ITML))
_PROJECTED: Mapping[str, Shape] = {"eigenvalues_": Array("directions"), "residual_": NUMBER}
_CORRELATED: Mapping[str, Shape] = {
    "correlations_": Array("correlations"),
    "residual_": NUMBER,
    "regularization_": NUMBER,
    "learner_": Maybe(Object(_LEARNER)),
}
_FOUND_ROWS: Mapping[str, Shape] = {"probabilities_": Array("n", "C"), "_fit_rows": Array("n", "d")}


def _hfa_restored(model: HFA, found: dict[str, Any]) -> None:
    machine = found["machine_"]
    require(len(machine.intercepts) == len(found["classes_"]), "a score of each class", len(machine.intercepts))
    require(machine.support.shape[1] == found["n_features_"]["target"], "rows of the target", machine.support.shape)
    _attributes(model, found)


def _kpg_restored(model: KPGRL, found: dict[str, Any]) -> None:
    known = len(getattr(found["classifier_"], "classes_", found["classes_"]))
    require(known == len(found["classes_"]), "a classifier of all classes", known)
    _attributes(model, found)


_CLASSIFIERS = (
    _system(TLRisk, {"class_models_": Array("C", "d")}),
    _system(HFA, {"machine_": Object(MACHINES), "kernels_": Many(Object(KERNELS))}, None, _hfa_restored),
    _system(
        KPGRL,
        {"classifier_": Object(CLASSIFYING, open=True), "plan_error_": NUMBER, "n_iter_": COUNT},
        None,
        _kpg_restored,
    ),
    _system(
        HCDRank,
        {
            "directions_": ByName(Array("d"), DOMAINS),
            "_positions": ByName(Array("C", allowed="inf"), DOMAINS),
            "objective_": NUMBER,
            "duality_gap_": NUMBER,
        },
    ),
    *(_system(of, _FOUND_ROWS) for of in (GW, FGW, COOT)),
    _mapped_system(FeatureAugmentation),
    _mapped_system(CDLS),
    _mapped_system(PulledBackMetric, learner_=Maybe(Object(_LEARNER)), penalty_=NUMBER),
)
_SOLVED: Mapping[str, Shape] = {"bounds_": _BOUNDS, "n_iter_": COUNT}
SYSTEMS.by_name.update(
    kinds(
        _mapped_system(MLHD, **_SOLVED),
        _mapped_system(Saenko, **_SOLVED),
        _mapped_system(ARC, **_SOLVED, objective_=NUMBER, gradient_norm_=NUMBER, pair_weight_=NUMBER),
        _mapped_system(CCA, **_CORRELATED),
        _mapped_system(KCCA, **_CORRELATED),
        _mapped_system(CDSPP, **_PROJECTED, n_guessed_=COUNT),
        _mapped_system(ManifoldAlignment, **_PROJECTED, correspondence_=TEXT),
        *(_mapped_system(of, **_PROJECTED) for of in (DAMA, MTDA, HeMap)),
        _mapped_system(RidgeMap, penalties_=_BOUNDS),
        _mapped_system(Procrustes),
        _mapped_system(RelativeRepresentations),
        *_CLASSIFIERS,
        _system(LabelTransfer, _TRANSFER, _transfer_parts, _transfer_restored),
        _system(SemanticMatching, _SEMANTIC),
        _system(TargetOnly, {"classifier_": Object(CLASSIFYING, open=True)}),
        _system(
            SelfTrainedLDA,
            {"axes_": Object(AXES), "discriminants_": Many(Object(DISCRIMINANTS)), "_present": Array("p", kinds="i")},
        ),
        _system(Corrupted, {"estimator_": Object(SYSTEMS)}, None, _corrupted_restored),
    ).by_name
    | _LEARNER.by_name
)
for _kinds in (KERNELS, SOLVERS, CLASSIFYING, SYSTEMS):
    _PARAMETERS.by_name.update(_kinds.by_name)


def require_answers(model: Any) -> None:
    """Raise unless a system that was read can be asked: one row of zeros for each domain, past the transformers.

    Each part is right for itself; that they fit each other is left to those who use them.
    """
    inner = model
    while isinstance(inner, Corrupted):
        inner = inner.estimator_
    inner._validate()
    if isinstance(inner, ITML):
        return
    transformers, columns = inner.transformers_, inner._columns
    try:
        inner.transformers_ = inner._columns = dict.fromkeys(DOMAINS)
        of_target = isinstance(inner, TargetOnly | SelfTrainedLDA | TargetClassifier)
        for domain in DOMAINS if not of_target else DOMAINS[1:]:
            d = inner.n_features_[domain]
            if d <= LONGEST_ROW:
                inner.transform(inner._fit_rows[:1] if inner.transductive else np.zeros((1, d)), domain)
    finally:
        inner.transformers_, inner._columns = transformers, columns
