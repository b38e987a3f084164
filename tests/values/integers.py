#!/usr/bin/env python3
"""Writes integers.onnx and integers.json, which integers_test.cc reads: every operator that computes on integers and bools, over their types.

    python3 integers.py      needs onnx, numpy

One model, whose nodes read its inputs (a batch of limits, small numbers and zeros) and are all outputs. Expected values are numpy's; where ONNX or
numpy leaves them open (a division by 0, by -1 of the least integer, a negative power) they are those of docs/operators.md, computed here in Python's
integers. What onnx.reference computes too is compared with it.
"""
import json
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = {"i64": np.int64, "i32": np.int32, "u8": np.uint8, "bool": np.bool_, "f32": np.float32}
ONNX_TYPES = {"i64": TensorProto.INT64, "i32": TensorProto.INT32, "u8": TensorProto.UINT8, "bool": TensorProto.BOOL, "f32": TensorProto.FLOAT}
NAMES = {np.dtype(kind): name for name, kind in TYPES.items()}
draw = np.random.default_rng(7)
inputs, nodes, initializers, outputs = {}, [], [], []


def wrapped(values, dtype):
    """Python's integers in a type, modulo its range."""
    bits = 8 * np.dtype(dtype).itemsize
    kept = [int(value) % (1 << bits) for value in np.asarray(values, dtype=object).ravel()]
    if np.dtype(dtype).kind == "i":
        kept = [value - (1 << bits) if value >> (bits - 1) else value for value in kept]
    return np.array(kept, dtype=dtype).reshape(np.shape(values))


def divided(x, y):
    """Towards zero; 0 where y is 0."""
    return 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def power(x, y):
    return x ** y if y >= 0 else {1: 1, -1: -1 if y % 2 else 1}.get(x, 0)


def each(function, dtype, *operands):
    """`function` of Python's integers over operands that broadcast."""
    parts = np.broadcast_arrays(*operands)
    return wrapped(np.array([function(*(int(part.flat[at]) for part in parts)) for at in range(parts[0].size)], dtype=object).reshape(parts[0].shape), dtype)


def operand(name, values):
    inputs[f"val_{len(inputs)}"] = values
    return f"val_{len(inputs) - 1}"


def constant(values):
    initializers.append(numpy_helper.from_array(np.asarray(values), f"constant_{len(initializers)}"))
    return initializers[-1].name


def add(op, names, expected, **attributes):
    out = f"y{len(outputs)}"
    nodes.append(helper.make_node(op, names, [out], **attributes))
    outputs.append((out, op, np.asarray(expected)))


def sample(dtype, shape):
    info = np.iinfo(dtype)
    special = np.array([info.min, info.max, 0, 1, 2, 3, 5, 7, info.max - 1] + ([-1, -2, -3, -7] if info.min < 0 else []), dtype=dtype)
    values = special[draw.integers(0, len(special), shape)]
    return np.where(draw.random(shape) < 0.5, values, draw.integers(max(info.min, -9), 10, shape).astype(dtype)).astype(dtype)


def arithmetic(kind, names, a, b):
    """Two operands of one type, which broadcast."""
    table = {"Add": lambda x, y: x + y, "Sub": lambda x, y: x - y, "Mul": lambda x, y: x * y, "Div": divided, "Max": max, "Min": min,
             "BitwiseAnd": lambda x, y: x & y, "BitwiseOr": lambda x, y: x | y, "BitwiseXor": lambda x, y: x ^ y}
    for op, function in table.items():
        add(op, names, each(function, kind, a, b))
    add("Mod", names, each(lambda x, y: 0 if y == 0 else x % y, kind, a, b), fmod=0)
    add("Mod", names, each(lambda x, y: x - y * divided(x, y) if y else 0, kind, a, b), fmod=1)
    for op, function in {"Equal": np.equal, "Less": np.less, "LessOrEqual": np.less_equal, "Greater": np.greater, "GreaterOrEqual": np.greater_equal}.items():
        add(op, names, function(a, b))


def powers(kind, name, a):
    small = draw.integers(0, 9, (3, 1)).astype(kind)
    add("Pow", [name, operand("e", small)], each(power, kind, a, small))
    negative = np.array([[-3], [0], [-2]], dtype=np.int64)
    add("Pow", [name, operand("e", negative)], each(power, kind, a, negative))
    add("Pow", [name, constant(np.float32(2))], each(power, kind, a, np.array(2)))


def single(kind, name, x):
    add("Abs", [name], each(abs, kind, x))
    add("Sign", [name], each(lambda value: (value > 0) - (value < 0), kind, x))
    add("BitwiseNot", [name], each(lambda value: ~value, kind, x))
    if kind is not np.uint8:
        add("Neg", [name], each(lambda value: -value, kind, x))
    low, high = kind(2), kind(6)
    add("Clip", [name, constant(low), constant(high)], np.clip(x, low, high))
    add("Clip", [name, "", operand("high", np.array(5, dtype=kind))], np.minimum(x, kind(5)))
    add("Where", [operand("c", np.array([[True], [False], [True]])), name, constant(kind(3))], np.where([[True], [False], [True]], x, kind(3)))
    add("Trilu", [name], np.triu(x), upper=1)
    for to, dtype in TYPES.items():
        expected = x.astype(dtype) if to in ("bool", "f32") else wrapped(x.astype(object), dtype)
        add("Cast", [name], expected, to=ONNX_TYPES[to])


def reductions(kind, name, x):
    for axes in ([1], [0, 2], None):
        rest = [name] + ([constant(np.array(axes, dtype=np.int64))] if axes else [])
        over, keep = tuple(axes) if axes else None, int(axes != [1])
        whole = x.astype(object)
        total, count = whole.sum(over, keepdims=bool(keep)), x.size if over is None else int(np.prod([x.shape[axis] for axis in over]))
        add("ReduceSum", rest, wrapped(total, kind), keepdims=keep)
        add("ReduceProd", rest, wrapped(whole.prod(over, keepdims=bool(keep)), kind), keepdims=keep)
        add("ReduceSumSquare", rest, wrapped((whole * whole).sum(over, keepdims=bool(keep)), kind), keepdims=keep)
        add("ReduceMax", rest, x.max(over, keepdims=bool(keep)), keepdims=keep)
        add("ReduceMin", rest, x.min(over, keepdims=bool(keep)), keepdims=keep)
        if abs(int(np.max(np.abs(total)))) < np.iinfo(kind).max:
            add("ReduceMean", rest, each(lambda value: divided(value, count), kind, total), keepdims=keep)


def along(kind, name, x):
    for axis in (0, 2):
        for exclusive in (0, 1):
            for reverse in (0, 1):
                flipped = np.flip(x.astype(object), axis) if reverse else x.astype(object)
                sums = np.cumsum(flipped, axis) - (flipped if exclusive else 0)
                add("CumSum", [name, constant(np.int64(axis))], wrapped(np.flip(sums, axis) if reverse else sums, kind), exclusive=exclusive, reverse=reverse)
        add("ArgMax", [name], np.argmax(x, axis), axis=axis, keepdims=0)
        add("ArgMin", [name], np.argmin(x, axis), axis=axis, keepdims=0)


def integers():
    for kind in (np.int64, np.int32, np.uint8):
        a, b, c = sample(kind, (2, 1, 4)), sample(kind, (3, 1)), sample(kind, (2, 3, 4))
        names = [operand(name, values) for name, values in (("a", a), ("b", b), ("c", c))]
        arithmetic(kind, names[:2], a, b)
        arithmetic(kind, [names[2], names[0]], c, a)
        arithmetic(kind, [names[2], constant(c[0, 0, 0])], c, c[0, 0, 0])
        add("Max", names, np.maximum(np.maximum(a, b), c))
        powers(kind, names[0], a)
        single(kind, names[2], c)
        reductions(kind, names[2], c)
        mild = draw.integers(0, 3, (2, 3, 4)).astype(kind)
        reductions(kind, operand("m", mild), mild)
        along(kind, names[2], c)
        add("Add", [operand("s", kind(3)), operand("s", kind(4))], kind(7))
    shifted, by = sample(np.uint8, (2, 1, 4)), np.array([[0], [3], [9]], dtype=np.uint8)
    names = [operand("x", shifted), operand("by", by)]
    add("BitShift", names, each(lambda x, y: x << y, np.uint8, shifted, by), direction="LEFT")
    add("BitShift", names, each(lambda x, y: x >> y, np.uint8, shifted, by), direction="RIGHT")


def bools():
    a, b = draw.random((2, 1, 4)) < 0.5, draw.random((3, 1)) < 0.5
    names = [operand("a", a), operand("b", b)]
    for op, function in {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor, "Equal": np.equal}.items():
        add(op, names, function(a, b))
    add("Not", names[:1], ~a)
    add("Where", [names[1], names[0], constant(np.array(True))], np.where(b, a, True))
    add("ReduceMax", [names[0], constant(np.array([2]))], a.max(2, keepdims=True))
    add("ReduceMin", [names[0], constant(np.array([0]))], a.min(0, keepdims=True))
    for to, dtype in TYPES.items():
        add("Cast", names[:1], a.astype(dtype), to=ONNX_TYPES[to])
    reals = np.array([0.0, -0.0, 0.5, -0.5, 1.5, -2.7, 255.9, 300.0, -3.0, 3e9, -3e9, 1e20, -1e20, np.inf, -np.inf, np.nan], dtype=np.float32)
    name = operand("reals", reals)
    for to in ("i64", "i32", "u8"):
        info = np.iinfo(TYPES[to])
        add("Cast", [name], np.array([0 if np.isnan(x) else max(info.min, min(info.max, int(np.clip(x, -1e30, 1e30)))) for x in reals], dtype=TYPES[to]), to=ONNX_TYPES[to])
    add("Cast", [name], reals != 0, to=TensorProto.BOOL)


def indexing():
    """Indices that the model computes, negative ones among them."""
    x = draw.integers(-99, 99, (3, 4, 5, 2)).astype(np.int64)
    data = operand("x", x)
    tuples = np.array([[0, 1], [-1, -4], [2, 3], [1, -1]])
    add("GatherND", [data, operand("i", tuples)], x[tuple(tuples.T)])
    deep = draw.integers(-2, 2, (2, 2, 4))
    add("GatherND", [data, operand("i", deep)], x[deep[..., 0], deep[..., 1], deep[..., 2], deep[..., 3]])
    single_one = np.array([[2], [-3]])
    add("GatherND", [data, operand("i", single_one)], x[single_one[:, 0]])
    batched = np.stack([draw.integers(-4, 4, (3, 6)), draw.integers(-5, 5, (3, 6))], -1)
    add("GatherND", [data, operand("i", batched)], np.stack([x[n][tuple(batched[n].T)] for n in range(3)]), batch_dims=1)
    twice = draw.integers(-5, 5, (3, 4, 1))
    add("GatherND", [data, operand("i", twice)], np.stack([[x[n, m, twice[n, m, 0]] for m in range(4)] for n in range(3)]), batch_dims=2)
    rows = np.array([[1, -1], [0, 3]])
    add("Gather", [data, operand("i", rows)], np.take(x, rows, 1), axis=1)
    classes = np.array([0, 2, -1, 7])
    add("OneHot", [operand("i", classes), constant(np.int64(3)), constant(np.array([-1, 9], dtype=np.int32))],
        np.where((classes[:, None] == np.arange(3)) | (classes[:, None] == np.arange(3) - 3), 9, -1).astype(np.int32))


def compare_with_reference(model):
    """How many outputs onnx.reference gives; fewer differ than are open in ONNX or divided down by it."""
    agreed = 0
    for node, (name, op, expected) in zip(model.graph.node, outputs):
        part = helper.make_graph([node], "g", [], [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(expected.dtype), None)],
                                 [numpy_helper.from_array(values, key) for key, values in inputs.items() if key in node.input]
                                 + [tensor for tensor in model.graph.initializer if tensor.name in node.input])
        try:
            with np.errstate(all="ignore"):
                theirs = ReferenceEvaluator(helper.make_model(part, opset_imports=model.opset_import)).run(None, {})[0]
        except Exception:  # it does not compute these types, or refuses a negative power
            continue
        if theirs.dtype != expected.dtype:  # types that ONNX does not list here
            continue
        same = np.array_equal(theirs, expected)
        agreed += same
        limits = op in ("Div", "Mod", "Pow", "Cast", "ReduceMean", "CumSum", "OneHot")
        assert same or limits, (name, op, theirs, expected)
    print(f"{len(outputs)} outputs; onnx.reference agrees on {agreed}")


def main():
    integers()
    bools()
    indexing()
    ins = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.asarray(values).dtype), np.shape(values)) for name, values in inputs.items()]
    outs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(expected.dtype), expected.shape) for name, _, expected in outputs]
    model = helper.make_model(helper.make_graph(nodes, "integers", ins, outs, initializers), opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    compare_with_reference(model)
    onnx.save(model, os.path.join(HERE, "integers.onnx"))

    def told(name, values, **more):
        values = np.asarray(values)
        kind = NAMES[values.dtype]
        listed = [("nan" if np.isnan(x) else "inf" if x > 0 else "-inf") if kind == "f32" and not np.isfinite(x) else x for x in values.ravel().tolist()]
        return {"name": name, **more, "type": kind, "shape": list(values.shape), "values": listed}
    answer = {"inputs": [told(name, values) for name, values in inputs.items()],
              "outputs": [told(name, values, op=op) for name, op, values in outputs]}
    with open(os.path.join(HERE, "integers.json"), "w") as file:
        json.dump(answer, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
