"""ResNet-18 of the shape of CIFAR-10 (11.2 M parameters) as an ONNX file, and images for it, both drawn from a fixed seed."""
import array
import os
import random
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "e2e"))
from house import field, npy, onnx_model, onnx_node, tensors  # noqa: E402, F401

CLASSES, SIDE = 10, 32


class Network:
    def __init__(self):
        self.draw = random.Random(18)
        self.tensors, self.nodes = [], []

    def tensor(self, name, dims, values):
        raw = array.array("f", values).tobytes()
        self.tensors.append(b"".join(field(1, dim) for dim in dims) + field(2, 1) + field(8, name.encode()) + field(9, raw))
        return name

    def weight(self, name, *dims):
        fan = 1
        for dim in dims[1:]:
            fan *= dim
        count, bound = fan * dims[0], fan ** -0.5
        return self.tensor(name, dims, (self.draw.uniform(-bound, bound) for _ in range(count)))

    def norm(self, source, name, channels):
        parts = [self.tensor(f"{name}.{part}", (channels,), [value] * channels) for part, value in (("scale", 1), ("bias", 0), ("mean", 0), ("var", 1))]
        self.nodes.append(onnx_node("BatchNormalization", [source, *parts], [name, name + ".m", name + ".v"], training_mode=1))
        return name

    def conv(self, source, name, made, of, kernel, stride):
        pad = kernel // 2
        self.nodes.append(onnx_node("Conv", [source, self.weight(name + ".w", made, of, kernel, kernel)], [name + ".y"], strides=[stride, stride], pads=[pad] * 4))
        return self.norm(name + ".y", name, made)

    def relu(self, source):
        self.nodes.append(onnx_node("Relu", [source], [source + ".r"]))
        return source + ".r"

    def block(self, source, name, of, made, stride):
        inner = self.conv(self.relu(self.conv(source, name + ".a", made, of, 3, stride)), name + ".b", made, made, 3, 1)
        around = source if of == made else self.conv(source, name + ".c", made, of, 1, stride)
        self.nodes.append(onnx_node("Add", [inner, around], [name + ".sum"]))
        return self.relu(name + ".sum")


def write_model(path):
    net = Network()
    last, of = net.relu(net.conv("x", "stem", 64, 3, 3, 1)), 64
    for stage in range(4):
        for block in range(2):
            last, of = net.block(last, f"s{stage}.{block}", of, 64 << stage, 2 if stage > 0 and block == 0 else 1), 64 << stage
    net.nodes += [onnx_node("GlobalAveragePool", [last], ["mean"]), onnx_node("Flatten", ["mean"], ["flat"]),
                  onnx_node("MatMul", ["flat", net.weight("fc", of, CLASSES)], ["y"])]
    with open(path, "wb") as file:
        file.write(onnx_model(net.nodes, ("N", 3, SIDE, SIDE), net.tensors))
    return path


def write_images(path, count):
    draw = random.Random(1)
    pixels = array.array("f", (draw.gauss(0, 1) for _ in range(count * 3 * SIDE * SIDE))).tobytes()
    labels = array.array("q", (draw.randrange(CLASSES) for _ in range(count))).tobytes()
    with zipfile.ZipFile(path, "w") as file:
        for split in ("train", "test"):
            file.writestr(f"x_{split}.npy", npy("<f4", (count, 3, SIDE, SIDE), pixels))
            file.writestr(f"y_{split}.npy", npy("<i8", (count,), labels))
    return path
