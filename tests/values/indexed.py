#!/usr/bin/env python3
"""Writes indexed.onnx and indexed.json, which indexed_test.cc reads: what ranks, scatters, finds, unpools, folds and samples.

    python3 indexed.py      needs onnx, numpy

One model, whose nodes read its inputs and are all outputs. Expected values are those of onnx.reference; of what it leaves open, numpy's.
"""
import json
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = {np.dtype(np.int64): "i64", np.dtype(np.int32): "i32", np.dtype(np.uint8): "u8", np.dtype(np.bool_): "bool", np.dtype(np.float32): "f32"}
draw = np.random.default_rng(11)
inputs, nodes, initializers, outputs = {}, [], [], []
OPSET = helper.make_opsetid("", 20)


def operand(values):
    inputs[f"val_{len(inputs)}"] = np.asarray(values)
    return f"val_{len(inputs) - 1}"


def constant(values):
    initializers.append(numpy_helper.from_array(np.asarray(values), f"constant_{len(initializers)}"))
    return initializers[-1].name


def reals(*shape):
    return draw.uniform(-2, 2, shape).astype(np.float32)


def reference(node):
    known = {**inputs, **{tensor.name: numpy_helper.to_array(tensor) for tensor in initializers}}
    made = [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in node.output]
    part = helper.make_graph([node], "g", [], made, [numpy_helper.from_array(values, name) for name, values in known.items() if name in node.input])
    return ReferenceEvaluator(helper.make_model(part, opset_imports=[OPSET])).run(None, {})


def add(op, names, expected=None, count=1, **attributes):
    """A node; its expected values are the reference's where none are given."""
    made = [f"y{len(outputs) + at}" for at in range(count)]
    nodes.append(helper.make_node(op, names, made, **attributes))
    for name, values in zip(made, reference(nodes[-1]) if expected is None else expected):
        outputs.append((name, op, np.asarray(values)))


def ranking():
    for kind in (np.float32, np.int64, np.int32, np.uint8):
        x = draw.integers(0, 6, (3, 7, 2)).astype(kind)
        name = operand(x)
        for axis in (0, 1, -1):
            for largest in (0, 1):
                most = 1 + int(draw.integers(0, x.shape[axis]))
                order = np.argsort(-x.astype(np.int64) if largest else x, axis=axis, kind="stable").take(range(most), axis)
                add("TopK", [name, constant(np.array([most]))], [np.take_along_axis(x, order, axis), order], 2, axis=axis, largest=largest)


def scattered(x, indices, updates, axis, reduction):
    y = x.copy()
    for at in np.ndindex(*indices.shape):
        to = list(at)
        to[axis] = indices[at]
        join(y, tuple(to), updates[at], reduction)
    return y


def join(y, to, update, reduction):
    with np.errstate(over="ignore"):
        y[to] = {"none": lambda a, b: b, "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[reduction](y[to], update)


def scatters():
    for kind in (np.float32, np.int64, np.int32, np.uint8):
        for reduction in ("none", "add", "mul", "max", "min"):
            x, updates = (draw.integers(0, 9, shape).astype(kind) for shape in ((3, 4, 2), (2, 6, 2)))
            indices = draw.integers(-4, 4, updates.shape)
            add("ScatterElements", [operand(x), operand(indices), operand(updates)], [scattered(x, indices, updates, 1, reduction)], axis=-2, reduction=reduction)
            for depth in (1, 2, 3):
                tuples = np.stack([draw.integers(-x.shape[d], x.shape[d], (2, 5)) for d in range(depth)], -1)
                rows = draw.integers(0, 9, (2, 5) + x.shape[depth:]).astype(kind)
                y = x.copy()
                for at in np.ndindex(2, 5):
                    join(y, tuple(tuples[at]), rows[at], reduction)
                add("ScatterND", [operand(x), operand(tuples), operand(rows)], [y], reduction=reduction)
    x, at = draw.random((4, 3)) < 0.5, draw.integers(-4, 4, (2, 3))
    truth = draw.random((2, 3)) < 0.5
    add("ScatterElements", [operand(x), operand(at), operand(truth)], [scattered(x, at, truth, 0, "none")], axis=0)
    x = reals(5, 4)
    at = draw.integers(-5, 5, (3, 4)).astype(np.int32)
    add("GatherElements", [operand(x), operand(at)], axis=0)


def classes():
    for kind in (np.int64, np.int32, np.uint8, np.float32):
        at = draw.integers(0 if kind is np.uint8 else -5, 6, (2, 3)).astype(kind)
        for axis in (-1, 0, 1):
            for off_on in (np.array([0, 1], np.float32), np.array([-3, 7], np.int64), np.array([False, True])):
                wide = np.moveaxis(np.where(np.equal.outer(at.astype(np.int64) % 5, np.arange(5)) & ((at >= -5) & (at < 5))[..., None], off_on[1], off_on[0]), -1, axis)
                add("OneHot", [operand(at), constant(np.array(5, np.int64)), constant(off_on)], [wide], axis=axis)
    add("NonZero", [constant(np.array([[0, 3, 0], [1, 0, -2]], np.int64))])
    add("NonZero", [constant(np.array([0, 0.5, -0.0, np.nan], np.float32))])


def unpooling():
    for shape, kernel, stride, pad, dilation in (((2, 3, 8, 7), 3, 2, 1, 1), ((1, 2, 6, 6), 2, 2, 0, 1), ((2, 2, 9, 8), 3, 1, 1, 2)):
        name = operand(reals(*shape))
        attributes = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4, "dilations": [dilation] * 2}
        add("MaxPool", [name], count=2, **attributes)
    add("MaxPool", [operand(reals(2, 2, 9))], count=2, kernel_shape=[3], strides=[2], pads=[1, 0])
    add("MaxPool", [operand(reals(2, 2, 3, 4))], [inputs["val_" + str(len(inputs) - 1)], np.arange(48).reshape(2, 2, 3, 4)], 2, kernel_shape=[1, 1])
    x, at = reals(1, 2, 2, 2), np.array([[[[0, 2], [9, 11]], [[16, 18], [24, 31]]]])
    add("MaxUnpool", [operand(x), operand(at)], kernel_shape=[2, 2], strides=[2, 2])
    for image, block, attributes in (([5, 6], [2, 3], {}), ([6, 6], [2, 3], {"strides": [2, 3]}), ([7, 5], [3, 2], {"strides": [2, 1], "pads": [1, 0, 2, 1], "dilations": [1, 2]}),
                                     ([8], [3], {"strides": [2], "pads": [1, 0]}), ([3, 4, 5], [2, 2, 3], {})):
        space = len(image)
        strides, pads, dilations = (attributes.get(key, [otherwise] * count) for key, otherwise, count in (("strides", 1, space), ("pads", 0, 2 * space), ("dilations", 1, space)))
        positions = [(image[d] + pads[d] + pads[space + d] - dilations[d] * (block[d] - 1) - 1) // strides[d] + 1 for d in range(space)]
        x = reals(2, 3 * int(np.prod(block)), int(np.prod(positions)))
        padded = np.zeros([2, 3] + [image[d] + pads[d] + pads[space + d] for d in range(space)], np.float32)
        taps = x.reshape([2, 3] + block + positions)
        for tap in np.ndindex(*block):
            for at in np.ndindex(*positions):
                padded[(slice(None), slice(None)) + tuple(at[d] * strides[d] + tap[d] * dilations[d] for d in range(space))] += taps[(slice(None), slice(None)) + tap + at]
        y = padded[(slice(None), slice(None)) + tuple(slice(pads[d], pads[d] + image[d]) for d in range(space))]
        add("Col2Im", [operand(x), constant(np.array(image)), constant(np.array(block))], [y], **attributes)


def cubic_at_border(x, grid, corners):
    """Of the image with its edges repeated, inside it: the reference moves the places in place of what is read around them; PyTorch does not."""
    sizes, margin = np.array(x.shape[:1:-1]), 24
    at = (grid + 1) / 2 * (sizes - 1) if corners else ((grid + 1) * sizes - 1) / 2
    wide = np.pad(x, [(0, 0), (0, 0), (margin, margin), (margin, margin)], mode="edge")
    known = {"x": wide, "grid": ((2 * (at + margin) + 1) / (sizes + 2 * margin) - 1).astype(np.float32)}
    node = helper.make_node("GridSample", ["x", "grid"], ["y"], mode="cubic", align_corners=0)
    graph = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(values, name) for name, values in known.items()])
    return ReferenceEvaluator(helper.make_model(graph, opset_imports=[OPSET])).run(None, {})


def sampling():
    x, grid = operand(reals(2, 3, 5, 6)), operand(reals(2, 4, 3, 2))
    for mode in ("nearest", "linear", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (0, 1):
                other = cubic_at_border(inputs[x], inputs[grid].astype(np.float64), corners) if (mode, padding) == ("cubic", "border") else None
                add("GridSample", [x, grid], other, mode=mode, padding_mode=padding, align_corners=corners)
    x, grid = operand(reals(2, 2, 3, 4, 3)), operand(reals(2, 2, 3, 2, 3))
    for mode in ("nearest", "linear"):
        for corners in (0, 1):
            add("GridSample", [x, grid], mode=mode, align_corners=corners)
    for corners in (0, 1):
        add("AffineGrid", [operand(reals(2, 2, 3)), constant(np.array([2, 3, 4, 5]))], align_corners=corners)
        add("AffineGrid", [operand(reals(2, 3, 4)), constant(np.array([2, 3, 2, 4, 5]))], align_corners=corners)


def main():
    for part in (ranking, scatters, classes, unpooling, sampling):
        part()
    ins = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(values.dtype), values.shape) for name, values in inputs.items()]
    outs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(expected.dtype), expected.shape) for name, _, expected in outputs]
    onnx.save(helper.make_model(helper.make_graph(nodes, "indexed", ins, outs, initializers), opset_imports=[OPSET], ir_version=9), os.path.join(HERE, "indexed.onnx"))

    def told(name, values, **more):
        return {"name": name, **more, "type": NAMES[values.dtype], "shape": list(values.shape), "values": values.ravel().tolist()}
    with open(os.path.join(HERE, "indexed.json"), "w") as file:
        json.dump({"inputs": [told(name, values) for name, values in inputs.items()],
                   "outputs": [told(name, values, op=op) for name, op, values in outputs]}, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
