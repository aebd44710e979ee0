"""A fit to source rows that are nowhere as one array: the same problem, posed over blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isthmus._arrays import FloatArray, as_dense
from isthmus._validation import length, matrix, ordinary
from isthmus.common_space import CommonSpace
from isthmus.domains import UNLABELLED, Domain
from isthmus.domains.labels import as_labels, encoded
from isthmus.estimators.complaints import complain_of_classes, complain_of_features
from isthmus.estimators.logdet.constraints import as_bounds
from isthmus.estimators.logdet.large import block_problem
from isthmus.estimators.solving import Solving
from isthmus.exceptions import InputError
from isthmus.kernels import Linear
from isthmus.objective import Alignment
from isthmus.retrieval import References
from isthmus.scale.moments import Moments, moments
from isthmus.solvers.blocks import Rows
from isthmus.spaces import JointSpace
from isthmus.spaces.side import Side, kernel_side
from isthmus.spaces.space import FeatureSpace

if TYPE_CHECKING:
    from isthmus.estimators.logdet.mlhd import MLHD
    from isthmus.estimators.mapped import MappedEstimator

REFERENCE_ROWS = 10_000
"""So many source rows, of each class its share, are kept to compare others with."""


def learned_from_rows(
    mlhd: MLHD, settings: Solving, rows: Rows, classes: NDArray[Any], X_target: Any, y_target: Any
) -> tuple[dict[str, Any], int]:
    """What to set after a fit to rows in blocks, by name, and the number of columns of the target."""
    _require_blocks(mlhd, settings)
    target = _target(X_target, y_target, classes)
    _require_votes(mlhd, rows, target)
    found = moments(rows, len(classes))
    joint = JointSpace(_source_side(found, rows.d), _target_side(mlhd, target), len(classes))
    _require_lengths(found, joint.target.points)
    bounds = as_bounds(mlhd.bounds, joint.spread)
    weight = mlhd._pair_weight(rows.n * len(joint.target.points))
    alignment = None
    if mlhd.alignment != "none":
        alignment = Alignment(joint.shift, mlhd._alignment_weight(joint.spread), mlhd._slack(joint.spread))
    spaces = joint.source.space, joint.target.space
    result = settings.result(block_problem(joint, bounds, weight, alignment, rows), *spaces)
    space = CommonSpace(*spaces, result.components())
    references = _references(mlhd, rows, found, joint, target, space)
    if not found.sparse:
        complain_of_features(found.mean, np.sqrt(found.variances), "source", intercept=False)
    if isinstance(space.target.kernel, Linear) and isinstance(target.X, np.ndarray):
        X = as_dense(target.X)
        complain_of_features(X.mean(axis=0), X.std(axis=0), "target", intercept=False)
    complain_of_classes(np.flatnonzero(found.counts), target.y, classes)
    return {
        "result_": result,
        "alignment_weight_": mlhd._alignment_weight(joint.spread),
        "pair_weight_": weight,
        "bounds_": bounds,
        "n_iter_": result.n_iter,
        "common_space_": space,
        "kernels_": (space.source.kernel, space.target.kernel),
        "references_": references,
        "_rule": mlhd._decision_rule(references, len(classes)),
    }, target.X.shape[1]


def _require_blocks(mlhd: MLHD, settings: Solving) -> None:
    """Raise where the parameters ask for what blocks can't do."""
    wanted: dict[str, tuple[Any, Any]] = {
        "source_kernel": (isinstance(mlhd._kernels()[0], Linear), "a linear kernel"),
        "outside": (mlhd.outside == "identity", "'identity'"),
        "within_domain": (not mlhd.within_domain, "False"),
        "n_components": (mlhd.n_components is None, "None"),
        "source_transformer": (mlhd.source_transformer is None, "None"),
    }
    for name, (possible, expected) in wanted.items():
        if not possible:
            raise InputError(f"{name}: expected {expected} with source rows in blocks, got {getattr(mlhd, name)!r}.")
    if not settings.takes_blocks:
        raise InputError(f"solver: expected 'newton' or 'blocks' with source rows in blocks, got {mlhd.solver!r}.")


def _target(X_target: Any, y_target: Any, classes: NDArray[Any]) -> Domain:
    X = ordinary(matrix(X_target, "X_target"), "X_target")
    labels = as_labels(y_target, "y_target")
    length(labels, X.shape[0], "y_target", "X_target")
    y = encoded(labels, classes, "y_target")
    if (y == UNLABELLED).all():
        raise InputError(f"y_target: expected at least one labelled row, got none among {len(y)}.")
    return Domain(X, y)


def _require_votes(mlhd: MappedEstimator, rows: Rows, target: Domain) -> None:
    sizes = {"source": min(rows.n, REFERENCE_ROWS), "target": len(target.labelled)}
    most = sizes.get(mlhd.references, sum(sizes.values()))
    if isinstance(mlhd.rule, str) and mlhd.rule == "nearest" and mlhd.n_neighbors > most:
        raise InputError(f"n_neighbors: expected at most the {most} reference rows, got {mlhd.n_neighbors}.")


def _source_side(found: Moments, d: int) -> Side:
    """A side without points: these stay where they are."""
    none, codes = np.empty((0, d)), np.empty(0, dtype=np.intp)
    return Side(FeatureSpace(d), none, codes, found.mean, float(found.variances.sum()), found.squared)


def _target_side(mlhd: MLHD, target: Domain) -> Side:
    kernel = mlhd._kernels()[1]
    return kernel_side(
        target, target.labelled, kernel, outside="identity", every_row=False, mean=True, name="X_target"
    )


def _require_lengths(found: Moments, points: FloatArray) -> None:
    """Raise where a pair of zero rows could be asked to lie apart: no metric can do that."""
    if found.zeros and not points.any(axis=1).all():
        raise InputError(
            f"X_target: expected no labelled row of zeros, as {found.zeros} source row(s) are zero too and no metric "
            "tells them apart, got one."
        )


def _references(
    mlhd: MappedEstimator, rows: Rows, found: Moments, joint: JointSpace, target: Domain, space: CommonSpace
) -> References:
    """The means of the classes of the source for the rule that wants no more, else a sample of its rows."""
    # Points of unit length, and coordinates of a kernel, have other means; and with others a mean counts for one row.
    linear = isinstance(space.source.kernel, Linear) and not space.parts and mlhd.references != "both"
    if isinstance(mlhd.rule, str) and mlhd.rule == "means" and linear:
        y = np.flatnonzero(found.counts)
        X: Any = found.means[y]
    else:
        sample = rows.sample(min(rows.n, REFERENCE_ROWS), np.random.default_rng(0))
        X, y = next(iter(sample.blocks(max(1, sample.n))))
    source = space.embed(X, "source").astype(np.float64)
    points = space.embed(target.X[target.labelled], "target").astype(np.float64)
    y = np.concatenate([y.astype(np.intp), target.y[target.labelled]])
    return References(space, np.vstack([source, points]), y, len(source))
