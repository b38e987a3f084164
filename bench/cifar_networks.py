"""Networks of the shape of CIFAR-10 as ONNX files, and images for them, drawn from fixed seeds: ResNet-18 (11.2 M parameters), VGG16 (14.7 M), MobileNetV2 (2.2 M).

`write_sparse_mobilenet_v2` is MobileNetV2 of another width for images of 128 x 128, its norms folded into convolutions with a bias, as a trained network is put on a device."""
import array
import os
import random
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "e2e"))
from house import field, npy, onnx_model, onnx_node, tensors  # noqa: E402, F401

CLASSES, SIDE = 10, 32


class Network:
    def __init__(self, side=SIDE, folded=False):
        self.side, self.folded = side, folded  # folded: convolutions have a bias in place of a norm
        self.draw = random.Random(18)
        self.tensors, self.nodes, self.scalars = [], [], []

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

    def conv(self, source, name, made, of, kernel, stride, groups=1):
        pad = kernel // 2
        parts = [source, self.weight(name + ".w", made, of // groups, kernel, kernel)]
        if self.folded:
            parts.append(self.tensor(name + ".b", (made,), [0] * made))
        self.nodes.append(onnx_node("Conv", parts, [name + ".y"], strides=[stride, stride], pads=[pad] * 4, group=groups))
        return name + ".y" if self.folded else self.norm(name + ".y", name, made)

    def relu(self, source):
        self.nodes.append(onnx_node("Relu", [source], [source + ".r"]))
        return source + ".r"

    def block(self, source, name, of, made, stride):
        inner = self.conv(self.relu(self.conv(source, name + ".a", made, of, 3, stride)), name + ".b", made, made, 3, 1)
        around = source if of == made else self.conv(source, name + ".c", made, of, 1, stride)
        self.nodes.append(onnx_node("Add", [inner, around], [name + ".sum"]))
        return self.relu(name + ".sum")


    def clip(self, source):
        for name, value in (("least", 0), ("most", 6)):
            if name not in self.scalars:
                self.scalars.append(self.tensor(name, (), [value]))
        self.nodes.append(onnx_node("Clip", [source, "least", "most"], [source + ".c"]))
        return source + ".c"

    def inverted(self, source, name, of, made, stride, wider):
        last = source if wider == 1 else self.clip(self.conv(source, name + ".a", of * wider, of, 1, 1))
        last = self.conv(self.clip(self.conv(last, name + ".b", of * wider, of * wider, 3, stride, of * wider)), name + ".c", made, of * wider, 1, 1)
        if stride != 1 or of != made:
            return last
        self.nodes.append(onnx_node("Add", [last, source], [name + ".sum"]))
        return name + ".sum"

    def write(self, path, last, of):
        """Ends the network with a mean and a linear layer."""
        self.nodes += [onnx_node("GlobalAveragePool", [last], ["mean"]), onnx_node("Flatten", ["mean"], ["flat"]),
                       onnx_node("MatMul", ["flat", self.weight("fc", of, CLASSES)], ["y"])]
        with open(path, "wb") as file:
            file.write(onnx_model(self.nodes, ("N", 3, self.side, self.side), self.tensors))
        return path


def write_vgg16(path):
    net, last, of = Network(), "x", 3
    for stage, (made, layers) in enumerate(((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))):
        for layer in range(layers):
            last, of = net.relu(net.conv(last, f"s{stage}.{layer}", made, of, 3, 1)), made
        net.nodes.append(onnx_node("MaxPool", [last], [f"pool{stage}"], kernel_shape=[2, 2], strides=[2, 2]))
        last = f"pool{stage}"
    return net.write(path, last, of)


def write_mobilenet_v2(path):
    net, of = Network(), 32
    last = net.clip(net.conv("x", "stem", 32, 3, 3, 1))
    for stage, (wider, made, blocks, stride) in enumerate(((1, 16, 1, 1), (6, 24, 2, 1), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))):
        for block in range(blocks):
            last, of = net.inverted(last, f"s{stage}.{block}", of, made, stride if block == 0 else 1, wider), made
    return net.write(path, net.clip(net.conv(last, "head", 1280, of, 1, 1)), 1280)


def whole_eights(channels):
    """The published rounding of a number of channels: to a multiple of 8, no more than a tenth less."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded if rounded >= 0.9 * channels else rounded + 8


def write_sparse_mobilenet_v2(path, width=0.35, side=128):
    """Convolutions are named by their place, c0 to c50: the index that published schedules of sparse updates give. As there, no convolution to 1280 channels is behind them."""
    net, of = Network(side, True), whole_eights(32 * width)
    names = (f"c{place}" for place in range(51))
    last = net.clip(net.conv("x", next(names), of, 3, 3, 2))
    for stage, (wider, made, blocks, stride) in enumerate(((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))):
        made = whole_eights(made * width)
        for block in range(blocks):
            begin, step, inner = last, stride if block == 0 else 1, of * wider
            if wider > 1:
                last = net.clip(net.conv(last, next(names), inner, of, 1, 1))
            last = net.clip(net.conv(last, next(names), inner, inner, 3, step, inner))
            last = net.conv(last, next(names), made, inner, 1, 1)
            if step == 1 and of == made:
                net.nodes.append(onnx_node("Add", [last, begin], [f"s{stage}.{block}"]))
                last = f"s{stage}.{block}"
            of = made
    return net.write(path, last, of)


def write_resnet18(path):
    net = Network()
    last, of = net.relu(net.conv("x", "stem", 64, 3, 3, 1)), 64
    for stage in range(4):
        for block in range(2):
            last, of = net.block(last, f"s{stage}.{block}", of, 64 << stage, 2 if stage > 0 and block == 0 else 1), 64 << stage
    return net.write(path, last, of)


def write_images(path, count, side=SIDE):
    draw = random.Random(1)
    pixels = array.array("f", (draw.gauss(0, 1) for _ in range(count * 3 * side * side))).tobytes()
    labels = array.array("q", (draw.randrange(CLASSES) for _ in range(count))).tobytes()
    with zipfile.ZipFile(path, "w") as file:
        for split in ("train", "test"):
            file.writestr(f"x_{split}.npy", npy("<f4", (count, 3, side, side), pixels))
            file.writestr(f"y_{split}.npy", npy("<i8", (count,), labels))
    return path
