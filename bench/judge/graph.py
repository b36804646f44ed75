"""The judge as an ONNX graph: what `network.Network` computes, with small weights.

Products with weights are products of integers: weights of 7 bits with a scale for each output, and
inputs of 8 bits with a scale for each token. Their sums are exact, so that a pair is judged the
same in any batch. 7 bits, because processors without VNNI add two products in 16 bits, which those
of 8 bits overflow. (`MatMulNBits` with 8 bits in blocks of 128 takes 1.8 times as long for a pair
of 40 tokens.) The table of pieces has 4 bits, exactly those of the base. Normalisation and head are
computed in float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

_OPSET, _CONTRIB = 21, "com.microsoft"
_TABLE_BLOCK = 32
_WEIGHT_MAX = 63
_INPUT_MAX, _INPUT_ZERO = 127, 128
_FAR = 1e4

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Sizes:
    """Sizes of the network.

    Attributes
    ----------
    heads : int
        Of a layer.
    epsilon : float
        Of the normalisation.
    places : int
        Positions of a text with its marks, at most.
    """

    heads: int
    epsilon: float
    places: int


def model_of(state: Mapping[str, Array], sizes: Sizes) -> onnx.ModelProto:
    """Return the model of a state of the network.

    Parameters
    ----------
    state : mapping of str to float32 array
        `Network.state_dict()`.
    sizes : Sizes

    Returns
    -------
    onnx.ModelProto
        Inputs ids, side, place: int64[batch, token]. Output: float32[batch, 7].
    """
    return _Graph(state, sizes).model()


class _Graph:
    def __init__(self, state: Mapping[str, Array], sizes: Sizes) -> None:
        self._state, self._sizes = state, sizes
        self._hidden = int(state["words.weight"].shape[1])
        self._size = self._hidden // sizes.heads
        self._nodes: list[onnx.NodeProto] = []
        self._held: dict[str, onnx.TensorProto] = {}
        self._count = 0
        self._zero_points = ""

    def model(self) -> onnx.ModelProto:
        x = self._embedded()
        sides, flipped, padding = self._sides()
        layers = 1 + max(int(k.split(".")[1]) for k in self._state if k.startswith("layers."))
        for number in range(layers):
            x = self._layer(x, f"layers.{number}.", sides, flipped, padding)
        self._head(x)
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "token"])
            for name in ("ids", "side", "place")
        ]
        output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 7])
        graph = helper.make_graph(self._nodes, "judge", inputs, [output], list(self._held.values()))
        versions = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_CONTRIB, 1)]
        model = helper.make_model(graph, opset_imports=versions)
        model.ir_version = 10
        return model

    # -- Parts of the network

    def _embedded(self) -> str:
        state, sizes = self._state, self._sizes
        table, scales = four_bits(state["words.weight"])
        self._held["table"] = helper.make_tensor(
            "table", TensorProto.INT4, table.shape, _packed(table), raw=True
        )
        scale = self._half("scales", scales)
        words = self._node(
            "GatherBlockQuantized",
            *("table", "ids", scale),
            domain=_CONTRIB,
            gather_axis=0,
            quantize_axis=1,
            block_size=_TABLE_BLOCK,
        )
        positions = self._half("positions", state["positions"][: sizes.places])
        x = self._node("Add", words, self._node("Gather", positions, "place"))
        x = self._node("Reshape", x, self._ints("rows", -1, self._hidden))
        return self._normalised(x, "norm_weight", "norm_bias")

    def _sides(self) -> tuple[str, str, str]:
        """Return sides, those of the other text, and the padding, each for all heads."""
        zero, one = self._ints("zero", 0), self._ints("one", 1)
        heads = self._ints("heads_of_one", 1, self._sizes.heads, 1, 1)
        columns = [
            self._node("Cast", self._node("Equal", "side", side), to=TensorProto.FLOAT)
            for side in (zero, one)
        ]
        last, second = self._ints("last", -1), self._ints("second", 1)
        a, b = (
            self._node("Unsqueeze", self._node("Unsqueeze", column, last), second)
            for column in columns
        )
        outside = self._node("Less", "side", zero)
        far = self._node("Where", outside, self._floats("far", -_FAR), self._floats("near", 0.0))
        padding = self._node("Unsqueeze", self._node("Unsqueeze", far, last), second)
        sides, flipped = (self._node("Concat", *both, axis=-1) for both in ((a, b), (b, a)))
        one_each = self._node(
            "Cast",
            self._node("LessOrEqual", padding, self._floats("near", 0.0)),
            to=TensorProto.FLOAT,
        )
        self._ones = self._node("Tile", one_each, heads)
        return (
            self._node("Tile", sides, heads),
            self._node("Tile", flipped, heads),
            self._node("Tile", padding, heads),
        )

    def _layer(self, x: str, at: str, sides: str, flipped: str, padding: str) -> str:
        state, heads, size = self._state, self._sizes.heads, self._size
        scale = size**-0.5
        weight, bias = state[at + "qkv.weight"].copy(), state[at + "qkv.bias"].copy()
        weight[: self._hidden] *= scale
        bias[: self._hidden] *= scale
        whole = self._product(x, at + "qkv", weight, bias)
        shape = self._node(
            "Concat", self._node("Shape", "ids"), self._ints("parted", 3, heads, size), axis=0
        )
        parted = self._node("Reshape", whole, shape)
        turned = self._node("Transpose", parted, perm=[2, 0, 3, 1, 4])
        parts = [
            self._node("Gather", turned, self._scalar(f"part{part}", part), axis=0)
            for part in range(3)
        ]
        q, k, v = parts
        key = self._hold(at + "key", state[at + "cross_key"][:, :, None])
        score = self._hold(at + "score", state[at + "cross_score"][:, None, None])
        other = self._node("Add", self._node("MatMul", q, key), score)
        others = self._node("Mul", other, flipped)
        q = self._node("Concat", q, others, self._ones, axis=-1)
        k = self._node("Concat", k, sides, padding, axis=-1)
        turned_k = self._node("Transpose", k, perm=[0, 1, 3, 2])
        weights = self._node("Softmax", self._node("MatMul", q, turned_k), axis=-1)
        v = self._node("Concat", v, sides, axis=-1)
        read = self._node("MatMul", weights, v)
        own = self._hold("split", np.array([size, 2], np.int64))
        both = [self._name(), self._name()]
        self._nodes.append(helper.make_node("Split", [read, own], both, axis=-1))
        last = self._ints("last", -1)
        crossed = self._node("ReduceSum", self._node("Mul", both[1], flipped), last)
        value = self._hold(at + "value", state[at + "cross_value"][:, None])
        read = self._node("Add", both[0], self._node("Mul", crossed, value))
        read = self._node("Transpose", read, perm=[0, 2, 1, 3])
        read = self._node("Reshape", read, self._ints("rows", -1, self._hidden))
        out = self._product(read, at + "out", state[at + "out.weight"], state[at + "out.bias"])
        x = self._normalised(self._node("Add", x, out), at + "norms.0", at + "norms.1")
        up = self._product(x, at + "up", state[at + "up.weight"], state[at + "up.bias"])
        active = self._node("Gelu", up)
        down = self._product(
            active, at + "down", state[at + "down.weight"], state[at + "down.bias"]
        )
        return self._normalised(self._node("Add", x, down), at + "norms.2", at + "norms.3")

    def _head(self, x: str) -> None:
        a, b = self._pooled(x)
        minus = self._node("Sub", a, b)
        both = [self._node("Add", a, b), self._node("Mul", a, b), self._node("Abs", minus)]
        weight = self._state["trunk.0.weight"]
        part = weight.shape[1] // 4
        # Both orders differ in the sign of the last part only.
        shared = self._dense(
            self._node("Concat", *both, axis=-1),
            "trunk.both",
            weight[:, : 3 * part],
            self._state["trunk.0.bias"],
        )
        turned = self._node("MatMul", minus, self._half("trunk.minus", weight[:, 3 * part :].T))
        trunks = [self._node("Gelu", self._node(sign, shared, turned)) for sign in ("Add", "Sub")]
        names = ("same", "relation")
        last = np.concatenate([self._state[f"{name}.weight"] for name in names])
        bias = np.concatenate([self._state[f"{name}.bias"] for name in names])
        mirrored = [0, *(1 + self._state["mirrored"].astype(np.int64))]
        there = self._dense(trunks[0], "last", last, bias)
        back = self._node(
            "Gather",
            self._dense(trunks[1], "last", last, bias),
            self._ints("mirror", *mirrored),
            axis=-1,
        )
        total = self._node("Add", there, back)
        self._nodes.append(helper.make_node("Mul", [total, self._floats("half", 0.5)], ["logits"]))

    def _pooled(self, x: str) -> list[str]:
        """Return float[batch, 2 * hidden + pooled] of each text."""
        shape = self._node(
            "Concat", self._node("Shape", "ids"), self._ints("deep", self._hidden), axis=0
        )
        x = self._node("Reshape", x, shape)
        found = self._node("MatMul", x, self._half("detect", self._state["detect.weight"].T))
        found = self._node("Add", found, self._hold("detect.bias", self._state["detect.bias"]))
        zero, second = self._ints("zero", 0), self._ints("second", 1)
        begins = self._node("Cast", self._node("Equal", "place", zero), to=TensorProto.FLOAT)
        pooled = []
        for side in range(2):
            inside = self._node(
                "Cast",
                self._node("Equal", "side", self._ints(("zero", "one")[side], side)),
                to=TensorProto.FLOAT,
            )
            row = self._node("Unsqueeze", inside, second)
            count = self._node("ReduceSum", row, self._ints("last", -1))
            chosen = self._node(
                "Concat",
                self._node("Unsqueeze", self._node("Mul", inside, begins), second),
                self._node("Div", row, count),
                axis=1,
            )
            read = self._node("MatMul", chosen, x)
            read = self._node("Reshape", read, self._ints("flat", 0, 2 * self._hidden))
            outside = self._node("Sub", inside, self._floats("single", 1.0))
            far = self._node("Mul", outside, self._floats("distance", _FAR))
            column = self._node("Unsqueeze", far, self._ints("last", -1))
            strongest = self._node(
                "ReduceMax", self._node("Add", found, column), second, keepdims=0
            )
            pooled.append(self._node("Concat", read, strongest, axis=-1))
        return pooled

    # -- Nodes

    def _product(self, x: str, name: str, weight: Array, bias: Array) -> str:
        """Return x @ weight.T + bias, of integers; x is float32[rows, n]."""
        whole, scales = seven_bits(weight)
        far = self._node("ReduceMax", self._node("Abs", x), self._ints("last", -1))
        scale = self._node("Mul", far, self._floats("inputs", 1 / _INPUT_MAX))
        # A scale of 0 would divide by 0; the normalisation and the biases make it unlikely.
        scale = self._node("Max", scale, self._floats("least", 1e-12))
        flat = self._node("Reshape", scale, self._ints("all", -1))
        rounded = self._node("QuantizeLinear", x, flat, self._zeros(), axis=0)
        product = self._node(
            "MatMulIntegerToFloat",
            *(rounded, self._hold(name + ".q", whole.T)),
            *(self._scalar_float("unit", 1.0), self._hold(name + ".s", scales)),
            self._hold("zero_point", np.array(_INPUT_ZERO, np.uint8)),
            domain=_CONTRIB,
        )
        return self._node("Add", self._node("Mul", product, scale), self._hold(name + ".b", bias))

    def _dense(self, x: str, name: str, weight: Array, bias: Array) -> str:
        """Return x @ weight.T + bias in float32."""
        product = self._node("MatMul", x, self._half(name + ".w", weight.T))
        return self._node("Add", product, self._hold(name + ".b", bias))

    def _normalised(self, x: str, weight: str, bias: str) -> str:
        scale, offset = (self._hold(name, self._state[name]) for name in (weight, bias))
        return self._node(
            "LayerNormalization", x, scale, offset, axis=-1, epsilon=self._sizes.epsilon
        )

    def _node(self, kind: str, *inputs: str, domain: str = "", **attributes: object) -> str:
        name = self._name()
        self._nodes.append(
            helper.make_node(kind, list(inputs), [name], domain=domain, **attributes)
        )
        return name

    def _name(self) -> str:
        self._count += 1
        return f"n{self._count}"

    def _hold(self, name: str, values: NDArray[np.generic]) -> str:
        if name not in self._held:
            self._held[name] = numpy_helper.from_array(np.array(values, order="C"), name)
        return name

    def _half(self, name: str, values: Array) -> str:
        """Keep values in 16 bits, as training saves them and the base has its scales.

        The runtime computes with 32: it converts them once, when it loads.
        """
        return self._node("Cast", self._hold(name, values.astype(np.float16)), to=TensorProto.FLOAT)

    def _ints(self, name: str, *values: int) -> str:
        return self._hold(name, np.array(values, np.int64))

    def _scalar(self, name: str, value: int) -> str:
        return self._hold(name, np.array(value, np.int64))

    def _scalar_float(self, name: str, value: float) -> str:
        return self._hold(name, np.array(value, np.float32))

    def _zeros(self) -> str:
        """Return the zero point of each row: uint8[rows]."""
        if not self._zero_points:
            count = self._node("Size", "ids")
            shape = self._node("Reshape", count, self._ints("second", 1))
            value = numpy_helper.from_array(np.array([_INPUT_ZERO], np.uint8), "value")
            self._zero_points = self._node("ConstantOfShape", shape, value=value)
        return self._zero_points

    def _floats(self, name: str, *values: float) -> str:
        return self._hold(name, np.array(values, np.float32))


def four_bits(table: Array) -> tuple[NDArray[np.int8], Array]:
    """Return int8[n, dim] in -8..7 and float32[n, dim / 32]; lossless for the table of the base.

    A scale makes the value that is farthest from 0 in a block of 32 to -8.
    """
    blocks = table.reshape(len(table), -1, _TABLE_BLOCK)
    far = np.take_along_axis(blocks, np.abs(blocks).argmax(-1)[..., None], -1)[..., 0]
    scales = (far / -8).astype(np.float16).astype(np.float32)
    divisors = np.where(scales == 0, 1, scales)[..., None]
    whole = np.clip(np.rint(blocks / divisors), -8, 7).astype(np.int8)
    return whole.reshape(table.shape), scales


def seven_bits(weight: Array) -> tuple[NDArray[np.int8], Array]:
    """Return int8[rows, columns] in -63..63, and float32[rows]."""
    scales = np.abs(weight).max(1) / np.float32(_WEIGHT_MAX)
    divisors = np.where(scales == 0, 1, scales)[:, None]
    return np.rint(weight / divisors).astype(np.int8), scales.astype(np.float32)


def _packed(values: NDArray[np.int8]) -> bytes:
    """Return two values a byte, the first in the low bits."""
    nibbles = (values.reshape(-1, 2) & 15).astype(np.uint8)
    return bytes((nibbles[:, 0] | (nibbles[:, 1] << 4)).tobytes())
