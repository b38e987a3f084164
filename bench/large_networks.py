"""Networks whose parameters take more than a small budget, as ONNX files with numbers for them, drawn from fixed seeds: a transformer like GPT-2, BERT-mini, and layers of one width."""
import array
import os
import random
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "e2e"))
from house import field, npy, onnx_model, onnx_node, onnx_tensor  # noqa: E402

DRAWN = 1 << 18


class Network:
    """Weights are uniform in [-bound, bound]: parts of one series of DRAWN numbers, each tensor from a place of its own on, because drawing 1e8 numbers takes minutes."""

    def __init__(self, bound=0.035):
        self.draw = random.Random(110)
        self.numbers = array.array("f", (self.draw.uniform(-bound, bound) for _ in range(DRAWN))).tobytes()
        self.tensors, self.nodes, self.parameters = [], [], 0

    def weight(self, name, *dims):
        count = 1
        for dim in dims:
            count *= dim
        begin, size = 4 * self.draw.randrange(DRAWN), 4 * count
        raw = (self.numbers * ((begin + size) // len(self.numbers) + 1))[begin:begin + size]
        self.tensors.append(b"".join(field(1, dim) for dim in dims) + field(2, 1) + field(8, name.encode()) + field(9, raw))
        self.parameters += count
        return name

    def filled(self, name, width, value):
        self.tensors.append(onnx_tensor(name, (width,), [value] * width))
        self.parameters += width
        return name

    def constant(self, name, dims, values, dtype=7):
        self.tensors.append(onnx_tensor(name, dims, values, dtype))
        return name

    def node(self, op, inputs, out, **ints):
        self.nodes.append(onnx_node(op, inputs, [out], **ints))
        return out

    def linear(self, source, name, of, made):
        product = self.node("MatMul", [source, self.weight(name + ".w", of, made)], name + ".p")
        return self.node("Add", [product, self.filled(name + ".b", made, 0.0)], name)

    def norm(self, source, name, width):
        return self.node("LayerNormalization", [source, self.filled(name + ".scale", width, 1.0), self.filled(name + ".bias", width, 0.0)], name, axis=-1)

    def write(self, path, dims, dtype=1):
        with open(path, "wb") as file:
            file.write(onnx_model(self.nodes, dims, self.tensors, dtype=dtype))
        return self.parameters


def attend(net, source, name, width, heads, causal):
    """Attention of `heads` heads; causal: each word sees those in front of it alone."""
    def split(part, axes):
        moved = net.node("Reshape", [net.linear(source, f"{name}.{part}", width, width), "heads"], f"{name}.{part}.r")
        return net.node("Transpose", [moved], f"{name}.{part}.t", perm=axes)

    scores = net.node("MatMul", [split("q", [0, 2, 1, 3]), split("k", [0, 2, 3, 1])], name + ".qk")
    scores = net.node("Mul", [scores, "scale"], name + ".scaled")
    if causal:
        scores = net.node("Add", [scores, "causal"], name + ".masked")
    mixed = net.node("MatMul", [net.node("Softmax", [scores], name + ".soft", axis=-1), split("v", [0, 2, 1, 3])], name + ".mixed")
    joined = net.node("Reshape", [net.node("Transpose", [mixed], name + ".back", perm=[0, 2, 1, 3]), "joined"], name + ".joined")
    return net.linear(joined, name + ".o", width, width)


def gelu(net, source):
    """As exporters write it up to opset 19."""
    error = net.node("Erf", [net.node("Div", [source, "root2"], source + ".d")], source + ".e")
    return net.node("Mul", [net.node("Mul", [source, net.node("Add", [error, "one"], source + ".a")], source + ".m"), "half"], source + ".g")


def begin(net, width, heads, words, length):
    """The constants of a transformer; its table of words, and the sum of words and places."""
    net.constant("heads", (4,), [0, length, heads, width // heads])
    net.constant("joined", (3,), [0, length, width])
    for name, value in (("scale", (width // heads) ** -0.5), ("root2", 2 ** 0.5), ("one", 1.0), ("half", 0.5)):
        net.constant(name, (), [value], 1)
    table, places = net.weight("words", words, width), net.weight("places", length, width)
    return table, net.node("Add", [net.node("Gather", [table, "x"], "looked.up", axis=0), places], "begin")


def write_transformer(path, layers=12, width=768, heads=12, words=32768, length=64):
    """A transformer like GPT-2, whose head is the table of its words; how many parameters it has. Trained with cross_entropy,classes_last."""
    net = Network()
    net.constant("causal", (length, length), [0.0 if to <= at else -1e9 for at in range(length) for to in range(length)], 1)
    table, last = begin(net, width, heads, words, length)
    for layer in range(layers):
        name = f"l{layer}"
        last = net.node("Add", [last, attend(net, net.norm(last, name + ".n1", width), name + ".at", width, heads, True)], name + ".s1")
        wide = gelu(net, net.linear(net.norm(last, name + ".n2", width), name + ".up", width, 4 * width))
        last = net.node("Add", [last, net.linear(wide, name + ".down", 4 * width, width)], name + ".s2")
    net.node("MatMul", [net.norm(last, "n", width), net.node("Transpose", [table], "head", perm=[1, 0])], "y")
    return net.write(path, ("N", length), 7)


def write_bert_mini(path, layers=4, width=256, heads=4, words=30522, length=128, classes=2):
    """BERT-mini, which classifies by its first word: 11.1 M parameters."""
    net = Network()
    net.constant("first", (), [0])
    last = net.norm(begin(net, width, heads, words, length)[1], "n", width)
    for layer in range(layers):
        name = f"l{layer}"
        last = net.norm(net.node("Add", [last, attend(net, last, name + ".at", width, heads, False)], name + ".s1"), name + ".n1", width)
        wide = gelu(net, net.linear(last, name + ".up", width, 4 * width))
        last = net.norm(net.node("Add", [last, net.linear(wide, name + ".down", 4 * width, width)], name + ".s2"), name + ".n2", width)
    pooled = net.node("Tanh", [net.linear(net.node("Gather", [last, "first"], "first.word", axis=1), "pooler", width, width)], "pooled")
    net.node("Add", [net.node("MatMul", [pooled, net.weight("head.w", width, classes)], "head.p"), net.filled("head.b", classes, 0.0)], "y")
    net.write(path, ("N", length), 7)
    return path


def write_words(path, count, words=32768, length=64):
    """Training data: random words, and for each the next one as its target. No test set."""
    draw = random.Random(1)
    rows = [[draw.randrange(words) for _ in range(length + 1)] for _ in range(count)]
    with zipfile.ZipFile(path, "w") as file:
        for name, begin in (("x", 0), ("y", 1)):
            ids = array.array("q", (each for row in rows for each in row[begin:begin + length])).tobytes()
            file.writestr(f"{name}_train.npy", npy("<i8", (count, length), ids))
    return path


def write_layers(path, layers=15, width=2000, classes=10):
    """Linear layers of one width with ReLU; how many parameters they have."""
    net, last = Network(), "x"
    for layer in range(layers):
        last = net.node("Relu", [net.linear(last, f"l{layer}", width, width)], f"r{layer}")
    net.node("MatMul", [last, net.weight("fc", width, classes)], "y")
    return net.write(path, ("N", width))


def write_rows(path, count, width=2000, classes=10):
    """Training data: random rows and classes. No test set."""
    draw = random.Random(1)
    values = array.array("f", (draw.gauss(0, 1) for _ in range(count * width))).tobytes()
    labels = array.array("q", (draw.randrange(classes) for _ in range(count))).tobytes()
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("x_train.npy", npy("<f4", (count, width), values))
        file.writestr("y_train.npy", npy("<i8", (count,), labels))
    return path
