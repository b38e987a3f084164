"""Writes exporter_losses.json: what numpy says of the networks of exporters.py, in float64, by central differences of every number that trains. Run it by hand."""
import json
import os

import numpy as np

from exporters import NETWORKS

RATE, STEPS, STEP = 0.1, 4, 1e-6


def conv(x, w):
    height, width = w.shape[2:]
    parts = np.stack([np.stack([x[:, :, r:r + height, c:c + width] for c in range(x.shape[3] - width + 1)], 2) for r in range(x.shape[2] - height + 1)], 2)
    return np.einsum("nirchw,oihw->norc", parts, w)


def gemm(attributes, a, b, c):
    return a @ (b.T if attributes.get("transB") else b) + c


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


OPERATORS = {
    "MatMul": lambda a, x, y: x @ y, "Add": lambda a, x, y: x + y, "Sub": lambda a, x, y: x - y, "Mul": lambda a, x, y: x * y, "Div": lambda a, x, y: x / y,
    "Max": lambda a, x, y: np.maximum(x, y), "Min": lambda a, x, y: np.minimum(x, y), "Greater": lambda a, x, y: x > y, "Less": lambda a, x, y: x < y, "And": lambda a, x, y: x & y,
    "Where": lambda a, c, x, y: np.where(c, x, y), "Conv": lambda a, x, w: conv(x, w), "Gemm": gemm, "Relu": lambda a, x: np.maximum(x, 0), "Tanh": lambda a, x: np.tanh(x),
    "Exp": lambda a, x: np.exp(x), "Log": lambda a, x: np.log(x), "Sqrt": lambda a, x: np.sqrt(x), "Reciprocal": lambda a, x: 1 / x, "Cast": lambda a, x: x.astype(np.float64),
    "Transpose": lambda a, x: x.transpose(a["perm"]), "Flatten": lambda a, x: x.reshape(x.shape[0], -1), "Softmax": lambda a, x: softmax(x, a["axis"]),
    "Reshape": lambda a, x, shape: x.reshape([x.shape[at] if extent == 0 else extent for at, extent in enumerate(shape)]),
    "Unsqueeze": lambda a, x, axes: np.expand_dims(x, tuple(axes)), "Gather": lambda a, table, at: table[at], "Concat": lambda a, *parts: np.concatenate(parts, a["axis"]),
    "ReduceMean": lambda a, x: x.mean(tuple(a["axes"]), keepdims=bool(a["keepdims"])), "ReduceMax": lambda a, x: x.max(tuple(a["axes"]), keepdims=bool(a["keepdims"])),
    "ReduceSum": lambda a, x, axes: x.sum(tuple(axes), keepdims=bool(a["keepdims"])),
}


def loss_of(network, tensors):
    values = dict(tensors, x=np.array(network.x, np.int64 if network.integers else np.float64).reshape(network.shape))
    for op, inputs, output, attributes in network.nodes:
        values[output] = OPERATORS[op](attributes, *(values[each] for each in inputs))
    y = values["y"]
    if not network.classes:
        return np.mean((y - np.array(network.y).reshape(y.shape)) ** 2)
    # The networks end in a softmax or a log-softmax: the loss is the logarithm of what they give the right class.
    chosen = y[np.arange(len(y)), network.y]
    return -np.mean(chosen if (y <= 0).all() else np.log(chosen))


def losses_of(network):
    tensors = {name: np.array(values, np.int64 if values and isinstance(values[0], int) else np.float64).reshape(dims) for name, (dims, values) in network.tensors.items()}
    trained = [name for name, trains in network.trains.items() if trains != "no"]
    losses = []
    for _ in range(STEPS):
        losses.append(float(loss_of(network, tensors)))
        slopes = {}
        for name in trained:
            slopes[name] = np.zeros_like(tensors[name])
            for at in np.ndindex(tensors[name].shape):
                kept = tensors[name][at]
                tensors[name][at] = kept + STEP
                above = loss_of(network, tensors)
                tensors[name][at] = kept - STEP
                slopes[name][at] = (above - loss_of(network, tensors)) / (2 * STEP)
                tensors[name][at] = kept
        for name in trained:
            tensors[name] -= RATE * slopes[name]
    return losses


if __name__ == "__main__":
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "exporter_losses.json"), "w") as file:
        json.dump({network.name: losses_of(network) for network in NETWORKS}, file, indent=1)
        file.write("\n")
