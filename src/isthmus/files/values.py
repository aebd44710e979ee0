"""The values that systems are made of, as kinds: spaces and kernels, rules and maps."""

from __future__ import annotations

from typing import Any

from isthmus.common_space import KINDS, CommonSpace
from isthmus.controls.discriminants import SoftLDA
from isthmus.estimators.classifiers.machines import KernelMachine
from isthmus.files.arrays import Array, Rows
from isthmus.files.kinds import Kinds, Object, kinds, value_kind
from isthmus.files.settings import Setting
from isthmus.files.shapes import COUNT, FLAG, NUMBER, Many, Maybe, Reader, Shape, Writer, require, word
from isthmus.kernels import RBF, Cosine, Laplacian, Linear, Polynomial, Precomputed
from isthmus.landmarks import SAMPLINGS, Landmarks
from isthmus.linalg import PrincipalAxes
from isthmus.maps import AffineMap
from isthmus.retrieval import Background
from isthmus.solvers import AutoNewton, BlockNewton, BregmanProjections, DualNewton
from isthmus.spaces import FeatureSpace, KernelSpace
from isthmus.transfer.rows import Preparation
from isthmus.transfer.rules import Among, Discriminant, Evenly, Mapped, NearestMean, Probabilities, Sum, Vote
from isthmus.transfer.starts.mapped_rule import LinearRule, MappedRule

KERNELS = kinds(
    value_kind(Linear, {}),
    value_kind(RBF, {"bandwidth": Setting()}),
    value_kind(Laplacian, {"bandwidth": Setting()}),
    value_kind(Polynomial, {"degree": COUNT, "offset": NUMBER, "scale": Setting()}),
    value_kind(Cosine, {}),
    value_kind(Precomputed, {}),
)
_BASES: Shape = Setting(Kinds(dict(KERNELS.by_name)))
_PLACED = {"kernel": _BASES, "n_landmarks": COUNT, "sampling": word(*SAMPLINGS), "random_state": COUNT}
KERNELS.by_name.update(kinds(value_kind(Landmarks, _PLACED)).by_name)
SOLVERS = kinds(
    *(
        value_kind(of, dict.fromkeys(of.__dataclass_fields__, Setting()))
        for of in (AutoNewton, DualNewton, BlockNewton, BregmanProjections)
    )
)


class LandmarkRows:
    """Rows (m, d), or numbers of rows where the kernel is precomputed."""

    def packed(self, value: Any, place: str, writer: Writer) -> Any:
        """By what they are."""
        numbers = getattr(value, "ndim", 2) == 1
        shape: Shape = Array("landmarks", kinds="i") if numbers else Rows("landmarks", "d")
        return {"numbers": numbers, "rows": shape.packed(value, place, writer)}

    def read(self, node: Any, reader: Reader) -> Any:
        """By what they are."""
        require(isinstance(node, dict) and node.keys() == {"numbers", "rows"}, "landmarks", node)
        numbers = FLAG.read(node["numbers"], reader)
        shape: Shape = Array("landmarks", kinds="i") if numbers else Rows("landmarks", "d")
        return shape.read(node["rows"], reader)


def _check_kernel_space(values: dict[str, Any]) -> None:
    rows, d, precomputed = values["landmarks"], values["n_features"], isinstance(values["kernel"], Precomputed)
    require(precomputed == (rows.ndim == 1), "landmarks that fit the kernel", rows.shape)
    within = not len(values["factor"]) or (rows.min() >= 0 and rows.max() < d) if precomputed else rows.shape[1] == d
    require(bool(within), "landmarks among the features", rows.shape)
    more = values["averaged"] is not None
    require(values["factor"].shape[0] == rows.shape[0] + more, "a factor of all landmarks", values["factor"].shape)
    require(values["place"] <= rows.shape[0], "the place of a landmark", values["place"])
    resolved = (getattr(values["kernel"], name, 1.0) for name in ("bandwidth", "scale"))
    require(not any(isinstance(number, str) for number in resolved), "a kernel with numbers", "words")


def _check_space(values: dict[str, Any]) -> None:
    r, k = values["components"].shape
    require(r == values["source"].dimension + values["target"].dimension, "maps that fit their spaces", (r, k))
    require(sum(values["parts"]) in ({k} if values["parts"] else {0}), "parts that fill the space", values["parts"])


SPACES = kinds(
    value_kind(FeatureSpace, {"n_features": COUNT, "kernel": Object(KERNELS), "complete": FLAG}),
    value_kind(
        KernelSpace,
        {
            "kernel": Object(KERNELS),
            "landmarks": LandmarkRows(),
            "factor": Array("r", "r"),
            "n_features": COUNT,
            "complete": FLAG,
            "centre": Maybe(Array("d")),
            "averaged": Maybe(Rows("rows", "d")),
            "place": COUNT,
        },
        _check_kernel_space,
    ),
)
COMMON_SPACE = kinds(
    value_kind(
        CommonSpace,
        {
            "source": Object(SPACES),
            "target": Object(SPACES),
            "components": Array("r", "k"),
            "kind": word(*KINDS),
            "projected": FLAG,
            "offsets": Maybe(Array(2, "k")),
            "parts": Many(COUNT),
        },
        _check_space,
    )
)
MACHINES = kinds(
    value_kind(
        KernelMachine,
        {
            "kernel": Object(KERNELS),
            "support": Rows("m", "d"),
            "coefficients": Array("m", "C"),
            "intercepts": Array("C"),
            "centre": Maybe(Array("d")),
        },
    )
)
BACKGROUND = kinds(value_kind(Background, {"source": Array("n", "k"), "target": Array("m", "k")}))
AXES = kinds(value_kind(PrincipalAxes, {"mean": Array("d"), "axes": Array("d", "r"), "deviations": Array("r")}))
DISCRIMINANTS = kinds(value_kind(SoftLDA, {"weights": Array("k", "C"), "offsets": Array("C", allowed="inf")}))
PREPARATIONS = kinds(
    value_kind(Preparation, {"centre": Maybe(Array("d")), "scale": Maybe(Array("d")), "axes": Object(AXES)})
)
MAPS = kinds(value_kind(AffineMap, {"W": Array("d", "e"), "input_mean": Array("d"), "output_mean": Array("e")}))
LINEAR = kinds(value_kind(LinearRule, {"weights": Array("k", "C"), "offsets": Array("C")}))
MAPPED = kinds(
    value_kind(
        MappedRule,
        {"map": Object(MAPS), "rule": Object(LINEAR), "unit": NUMBER, "offsets": Array("C", allowed="inf")},
    )
)
RULES = Kinds()
"""Rules have rules as members: the list is filled below."""
_RULE = Object(RULES)
RULES.by_name.update(
    kinds(
        value_kind(Discriminant, {"mean": Array("k"), "lda": Object(DISCRIMINANTS)}),
        value_kind(NearestMean, {"means": Array("C", "k")}),
        value_kind(Vote, {"members": Many(_RULE), "weights": Array("members")}),
        value_kind(Probabilities, {"rule": _RULE}),
        value_kind(Mapped, {"rule": Object(MAPPED)}),
        value_kind(Among, {"rule": _RULE, "classes": Array("some", kinds="i"), "own": _RULE}),
        value_kind(Evenly, {"rule": _RULE, "classes": Array("some", kinds="i")}),
        value_kind(Sum, {"members": Many(_RULE), "units": Array("members"), "weights": Array("members")}),
    ).by_name
)
