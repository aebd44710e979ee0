"""Maps of rows as ONNX graphs: the one way in which any map of the library becomes a file for other runtimes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isthmus._arrays import FloatArray
from isthmus.exceptions import InputError, MissingDependencyError

OPSET = 13
"""Of ONNX: Gemm is as it is now since then, and every runtime of today has it."""
IR_VERSION = 8
"""Of ONNX files with that operator set."""
LARGEST = 2**31 - 2**20
"""Bytes of numbers in a file: the format has no room for more."""
ROWS, MAPPED = "rows", "mapped"
"""The names of the input (n, d) and of the output (n, e), both in single precision."""


@dataclass
class Graph:
    """Operators from rows to mapped rows, added one after the other; what each gives is known by a name.

    Parameters
    ----------
    title : str
        The name of the graph in the file.
    n_features : int
        d.

    Examples
    --------
    >>> from onnx.reference import ReferenceEvaluator
    >>> graph = Graph("twice, plus one", 2)
    >>> file = graph.content(graph.affine(ROWS, np.float32([[2, 0], [0, 2]]), np.ones(2)), 2)
    >>> ReferenceEvaluator(file).run(None, {"rows": np.float32([[3, 4]])})
    [array([[7., 9.]], dtype=float32)]
    """

    title: str
    n_features: int
    nodes: list[Any] = field(default_factory=list)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)

    def constant(self, value: Any, dtype: Any = None) -> str:
        """Numbers that are part of the graph."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.array(value, dtype=dtype, order="C")
        return name

    def apply(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """What an operator gives."""
        helper = _onnx().helper
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, [*inputs], [name], **attributes))
        return name

    def affine(self, rows: str, W: FloatArray, offset: FloatArray) -> str:
        """Rows times W (d, e), plus the offset (e,): one operator, in the precision of W."""
        return self.apply("Gemm", rows, self.constant(W), self.constant(offset, W.dtype))

    def double(self, value: str) -> str:
        """In double precision."""
        return self.apply("Cast", value, to=_onnx().TensorProto.DOUBLE)

    def single(self, value: str) -> str:
        """In single precision."""
        return self.apply("Cast", value, to=_onnx().TensorProto.FLOAT)

    def with_number(self, operator: str, value: str, number: Any) -> str:
        """An operator of a value in double precision and a number, or a number for each column."""
        return self.apply(operator, value, self.constant(number, np.float64))

    def row_sums(self, value: str) -> str:
        """The sum of each row (n, 1)."""
        return self.apply("ReduceSum", value, self.constant([-1], np.int64), keepdims=1)

    def squares(self, value: str) -> str:
        """The squared length of each row (n, 1)."""
        return self.row_sums(self.apply("Mul", value, value))

    def ratio(self, value: str, lengths: str) -> str:
        """Values by lengths that are zero or more, in double precision; where a length is zero, as they are."""
        positive = self.with_number("Greater", lengths, 0.0)
        return self.apply("Div", value, self.apply("Where", positive, lengths, self.constant(1.0, np.float64)))

    def gaussian(self, rows: str, landmarks: FloatArray, bandwidth: float) -> str:
        r""":math:`\exp(-\lVert x - z \rVert^2 / 2b^2)` of rows in double precision and landmarks (m, d): (n, m)."""
        products = self.apply("MatMul", rows, self.constant(-2.0 * landmarks.T, np.float64))
        apart = self.apply("Add", self.squares(rows), products)
        apart = self.with_number("Add", apart, (np.asarray(landmarks, np.float64) ** 2).sum(axis=1))
        apart = self.with_number("Max", apart, 0.0)
        return self.apply("Exp", self.with_number("Mul", apart, -0.5 / bandwidth**2))

    def content(self, mapped: str, n_mapped: int) -> bytes:
        """The file: a graph whose output (n, e) is what was mapped, in single precision."""
        size = sum(array.nbytes for array in self.constants.values())
        if size > LARGEST:
            raise InputError(f"onnx: expected a map of less than {LARGEST:,} bytes, got {size:,}.")
        onnx = _onnx()
        helper, number = onnx.helper, onnx.TensorProto.FLOAT
        nodes = [*self.nodes, helper.make_node("Identity", [mapped], [MAPPED])]
        sides = (ROWS, self.n_features), (MAPPED, n_mapped)
        ends = [helper.make_tensor_value_info(name, number, ["n", width]) for name, width in sides]
        constants = [onnx.numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = helper.make_graph(nodes, self.title, ends[:1], ends[1:], constants)
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION, producer_name="isthmus")
        onnx.checker.check_model(model)
        return bytes(model.SerializeToString())


def _onnx() -> Any:
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        message = 'This format needs onnx, which is not installed: pip install "isthmus[onnx]".'
        raise MissingDependencyError(message) from None
    return onnx
