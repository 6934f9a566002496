"""`Graph`: an ONNX graph while it is built, and `Rows`, the tensors of rows that go through it.

Nodes are those of opset 18, and know nothing of what they are for. The package onnx is imported
only when a graph is made a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

OPSET = 18  # the first with the bit operations that hashes need
FLOAT, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
#: Numbers of the ONNX element types.
_TYPES = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "int32": 6,
    "int64": 7,
    "object": 8,
    "bool": 9,
    "float64": 11,
    "uint64": 13,
}


def type_number(dtype: Any) -> int:
    """The ONNX number of an element type; object stands for strings."""
    return _TYPES[np.dtype(dtype).name]


@dataclass(frozen=True, eq=False)
class Rows:
    """A tensor of shape (rows, ``width``).

    Whether none of its numbers can be negative, and up to which size those of each column usually
    are, if that is known.
    """

    name: str
    width: int
    dtype: np.dtype[Any]
    nonnegative: bool = False
    limits: NDArray[Any] | None = None


#: A tensor that a graph inside another makes: name, type and shape, "N" for any number.
Made = tuple[str, Any, tuple[Any, ...]]


class _Body(NamedTuple):
    """A graph that a node runs: its inputs, and its outputs with type and shape."""

    graph: Graph
    inputs: tuple[tuple[str, Any], ...]
    outputs: tuple[Made, ...]


class _Node(NamedTuple):
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    bodies: dict[str, _Body] = {}  # noqa: RUF012


class Graph:
    """Nodes and constants; the graphs of loops and branches share those of the one around them."""

    def __init__(self, named: Callable[[str], str] | None = None) -> None:
        numbers = count()
        self._named = named or (lambda hint: f"{hint}_{next(numbers)}")
        self.constants: dict[str, NDArray[Any]] = {}
        self._known: dict[Any, str] = {}
        self._nodes: list[_Node] = []

    def _inner(self) -> Graph:
        inner = Graph(self._named)
        inner.constants, inner._known = self.constants, self._known
        return inner

    def constant(self, values: Any, dtype: Any = None) -> str:
        """The name of a constant tensor; equal ones are stored once."""
        array = np.ascontiguousarray(values, dtype=dtype).reshape(np.shape(values))
        content = tuple(array.ravel()) if array.dtype == object else array.tobytes()
        key = (array.dtype.str, array.shape, content)
        if key not in self._known:
            self._known[key] = self._named("table" if array.ndim else "number")
            self.constants[self._known[key]] = array
        return self._known[key]

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output, whose name is returned."""
        output = self._named(op.lower())
        self._nodes.append(_Node(op, inputs, (output,), attributes))
        return output

    def chain(self, value: str, *steps: tuple[Any, ...]) -> str:
        """Nodes one after another: (operation, further inputs ...) each."""
        for op, *others in steps:
            value = self.add(op, value, *others)
        return value

    def cast(self, value: str, dtype: Any) -> str:
        """The tensor in another type."""
        return self.add("Cast", value, to=type_number(dtype))

    def ints(self, *values: int) -> str:
        """A constant tensor of int64: shapes, axes."""
        return self.constant(np.array(values, dtype=np.int64))

    def rename(self, value: str, name: str) -> None:
        """An output of the graph: the tensor under a name of its own."""
        self._nodes.append(_Node("Identity", (value,), (name,), {}))

    def either(
        self,
        condition: str,
        then: Callable[[Graph], Sequence[Made]],
        otherwise: Callable[[Graph], Sequence[Made]],
    ) -> list[str]:
        """What one of two functions makes, of which only that one runs.

        They get a graph each, in which they may use all tensors around, and return as many tensors
        with types and shapes.
        """
        bodies = {}
        for name, branch in (("then_branch", then), ("else_branch", otherwise)):
            inner = self._inner()
            bodies[name] = _Body(inner, (), tuple(branch(inner)))
        outputs = tuple(self._named("either") for _ in bodies["then_branch"].outputs)
        self._nodes.append(_Node("If", (condition,), outputs, {}, bodies))
        return list(outputs)

    def for_each_row(self, rows: str, of_row: Callable[[Graph, str], Sequence[Made]]) -> list[str]:
        """What a function makes of each row, a vector, stacked again.

        The function gets a graph and a row, and returns tensors with types and shapes. Rows are
        taken one after another, so that no tensor holds for all rows at once what one row becomes
        on the way; a row alone needs no loop. In its graph only constants of the graph around may
        be used.
        """

        def alone(inner: Graph) -> list[Made]:
            made = of_row(inner, inner.add("Squeeze", rows, inner.ints(0)))
            return [
                (inner.add("Unsqueeze", name, inner.ints(0)), dtype, ("N", *shape))
                for name, dtype, shape in made
            ]

        def in_turn(inner: Graph) -> list[Made]:
            return inner._loop(rows, of_row)

        # the number of rows is taken of `rows` itself, so that a sort of nodes keeps its place
        many = self.add("Shape", rows, start=0, end=1)
        return self.either(self.add("Equal", many, self.ints(1)), alone, in_turn)

    def _loop(self, rows: str, of_row: Callable[[Graph, str], Sequence[Made]]) -> list[Made]:
        inner, number, going = self._inner(), self._named("row"), self._named("going")
        made = of_row(inner, inner.add("Gather", rows, number, axis=0))
        on = inner.add("Identity", going)
        body = _Body(inner, ((number, np.int64), (going, np.bool_)), ((on, np.bool_, ()), *made))
        outputs = tuple(self._named("rows") for _ in made)
        many = self.add("Squeeze", self.add("Shape", rows, start=0, end=1), self.ints(0))
        start = self.constant(np.array(True))
        self._nodes.append(_Node("Loop", (many, start), outputs, {}, {"body": body}))
        return [
            (name, dtype, ("N", *shape))
            for name, (_, dtype, shape) in zip(outputs, made, strict=True)
        ]

    # -- As objects of onnx

    def nodes(self) -> list[Any]:
        """The nodes."""
        from onnx import helper

        return [
            helper.make_node(
                node.op,
                node.inputs,
                node.outputs,
                name=self._named(f"node_{node.op.lower()}"),
                **node.attributes,
                **{name: _body_of(body, name) for name, body in node.bodies.items()},
            )
            for node in self._nodes
        ]

    def tensors(self) -> list[Any]:
        """The constants."""
        from onnx import numpy_helper

        # not by helper.make_tensor: that of onnx 1.17 takes no strings but ASCII
        return [numpy_helper.from_array(array, name) for name, array in self.constants.items()]


def _body_of(body: _Body, name: str) -> Any:
    from onnx import helper

    inputs = [
        helper.make_tensor_value_info(name, type_number(dtype), []) for name, dtype in body.inputs
    ]
    outputs = [
        helper.make_tensor_value_info(name, type_number(dtype), list(shape))
        for name, dtype, shape in body.outputs
    ]
    return helper.make_graph(body.graph.nodes(), name, inputs, outputs)
