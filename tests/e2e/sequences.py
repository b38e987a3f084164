"""Networks of sequences of words as ONNX files, and words for them, drawn from fixed seeds."""
import math
import os
import random
import struct

from house import npy, onnx_model, onnx_node, onnx_tensor

WORDS, WIDTH, LENGTH = 3000, 16, 12


def sentences(path):
    """A table of words, a layer normalization, attention, a mean over the words, a linear layer."""
    draw = random.Random(4)

    def weight(name, *dims):
        return onnx_tensor(name, dims, [draw.gauss(0, 0.3) for _ in range(math.prod(dims))])
    made = [weight("table", WORDS, WIDTH), onnx_tensor("scale", (WIDTH,), [1] * WIDTH), onnx_tensor("bias", (WIDTH,), [0] * WIDTH),
            *(weight("w" + name, WIDTH, WIDTH) for name in "qkv"), weight("fc", WIDTH, 4)]
    nodes = [onnx_node("Gather", ["table", "x"], ["words"]), onnx_node("LayerNormalization", ["words", "scale", "bias"], ["normed"]),
             *(onnx_node("MatMul", ["normed", "w" + name], [name]) for name in "qkv"), onnx_node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
             onnx_node("MatMul", ["q", "kt"], ["scores"]), onnx_node("Softmax", ["scores"], ["p"]), onnx_node("MatMul", ["p", "v"], ["seen"]),
             onnx_node("ReduceMean", ["seen"], ["mean"], axes=[1], keepdims=0), onnx_node("MatMul", ["mean", "fc"], ["y"])]
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ("N", LENGTH), made, dtype=7))
    return path


HEADS = 2


def encoder(path, length, layers=2, width=64):
    """Words and places, then layers of attention (queries, keys and values are parts of one product; dropout; the halves of the norm's input are joined), a wide layer with erf,
    and a linear layer on the first word."""
    draw = random.Random(6)
    made, nodes = [], []
    for name, dims, values, dtype in (("heads", (4,), (0, length, HEADS, width // HEADS), 7), ("joined", (3,), (0, length, width), 7), ("first", (), (0,), 7), ("half", (2,), (width // 2,) * 2, 7),
                                      ("root", (), (0.25,), 1), ("rate", (), (0.2,), 1), ("train", (), (1,), 9)):
        made.append(onnx_tensor(name, dims, values, dtype))

    def weight(name, *dims):
        made.append(onnx_tensor(name, dims, [draw.gauss(0, 0.3) for _ in range(math.prod(dims))]))
        return name

    def op(kind, inputs, outputs=1, **attributes):
        names = [f"{kind}{len(nodes)}.{at}" for at in range(outputs)]
        nodes.append(onnx_node(kind, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def norm(source, name):
        return op("LayerNormalization", [source, weight(name + ".scale", width), weight(name + ".bias", width)], axis=-1)

    def split(source, order):
        return op("Transpose", [op("Reshape", [source, "heads"])], perm=order)
    x = op("Add", [op("Gather", [weight("table", WORDS, width), "x"]), weight("places", length, width)])
    for layer in range(layers):
        parts = op("Split", [op("MatMul", [x, weight(f"qkv{layer}", width, 3 * width)])], 3, axis=2)
        q, k, v = (split(part, order) for part, order in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])))
        scores = op("Dropout", [op("Softmax", [op("Mul", [op("MatMul", [q, k]), "root"])], axis=-1), "rate", "train"])
        seen = op("Reshape", [op("Transpose", [op("MatMul", [scores, v])], perm=[0, 2, 1, 3]), "joined"])
        low, high = op("Split", [op("Add", [x, op("MatMul", [seen, weight(f"out{layer}", width, width)])]), "half"], 2, axis=2)
        x = norm(op("Concat", [high, low], axis=2), f"norm{layer}")
        wide = op("Erf", [op("MatMul", [x, weight(f"up{layer}", width, 4 * width)])])
        x = op("Add", [x, op("MatMul", [wide, weight(f"down{layer}", 4 * width, width)])])
    nodes.append(onnx_node("MatMul", [op("Gather", [x, "first"], axis=1), weight("fc", width, 4)], ["y"]))
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ("N", length), made, dtype=7))
    return path


def words(folder, samples, length=LENGTH):
    draw = random.Random(5)
    os.makedirs(folder)
    ids = [draw.randrange(-WORDS, WORDS) for _ in range(samples * length)]
    for name, shape, values in (("x", (samples, length), ids), ("y", (samples,), [draw.randrange(4) for _ in range(samples)])):
        with open(os.path.join(folder, name + "_train.npy"), "wb") as file:
            file.write(npy("<i8", shape, struct.pack(f"<{len(values)}q", *values)))
    return folder
