"""The cases of `make firmware-bench`, shortened: real budgets on the boards, bits as on the host, what is paged, what is counted."""
import json
import math
import os
import random
import struct
import sys
import unittest

import workshop

sys.path[:0] = [os.path.join(workshop.ROOT, "tests", "e2e"), os.path.join(workshop.ROOT, "bench", "firmware")]
from figures import paged_kinds, static_bytes, unplanned_bytes  # noqa: E402
from house import House, make_data, npy, onnx_model, onnx_node, onnx_tensor, some  # noqa: E402

ABSENT = workshop.missing_tools()
KIB = 1 << 10
TOKENS, LETTERS, WIDTH, HEADS = 32, 64, 64, 2


class Network:
    """Nodes in a row and their weights, drawn as PyTorch draws them."""

    def __init__(self, seed=1):
        self.draw, self.nodes, self.tensors, self.at = random.Random(seed), [], [], "x"
        self.parameters = 0

    def weight(self, name, *dims, reach):
        count = math.prod(dims)
        self.parameters += count
        self.tensors.append(onnx_tensor(name, dims, [self.draw.uniform(-reach, reach) for _ in range(count)]))
        return name

    def constant(self, name, dims, values, dtype=1):
        self.tensors.append(onnx_tensor(name, dims, values, dtype))
        return name

    def then(self, op, *others, name="", first=None, **attributes):
        name = name or f"n{len(self.nodes)}"
        self.nodes.append(onnx_node(op, [first or self.at, *others], [name], **attributes))
        self.at = name
        return name

    def conv(self, name, inputs, outputs, stride, kernel=3, group=1):
        reach = (inputs // group * kernel * kernel) ** -0.5
        self.then("Conv", self.weight(f"{name}.w", outputs, inputs // group, kernel, kernel, reach=reach), self.weight(f"{name}.b", outputs, reach=reach),
                  strides=[stride, stride], pads=[kernel // 2] * 4, group=group)
        return self.then("Relu")

    def linear(self, name, inputs, outputs):
        reach = inputs ** -0.5
        self.then("MatMul", self.weight(f"{name}.w", inputs, outputs, reach=reach))
        return self.then("Add", self.weight(f"{name}.b", outputs, reach=reach))

    def norm(self, name):
        scale = self.constant(f"{name}.w", [WIDTH], [1.0] * WIDTH)
        return self.then("LayerNormalization", scale, self.constant(f"{name}.b", [WIDTH], [0.0] * WIDTH))

    def save(self, path, dims, dtype=1):
        self.nodes.append(onnx_node("Identity", [self.at], ["y"]))
        with open(path, "wb") as file:
            file.write(onnx_model(self.nodes, dims, self.tensors, dtype=dtype))
        return path


def mlp():
    net = Network()
    net.linear("hidden", 64, 16)
    net.then("Relu")
    net.linear("out", 16, 10)
    return net


def cnn(widths, strides):
    net, channels = Network(), 1
    for at, (width, stride) in enumerate(zip(widths, strides)):
        net.conv(f"conv{at}", channels, width, stride)
        channels = width
    net.then("GlobalAveragePool")
    net.then("Flatten")
    net.linear("out", channels, 10)
    return net


def attention(net, x):
    """Two heads, every place looks at itself and those before it."""
    shape = net.constant("heads", [4], [-1, TOKENS, HEADS, WIDTH // HEADS], 7)
    parts = {}
    for part, order in ("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3]):
        net.at = x
        net.linear(part, WIDTH, WIDTH)
        net.then("Reshape", shape)
        parts[part] = net.then("Transpose", perm=order)
    net.then("MatMul", parts["key"], first=parts["query"])
    net.then("Mul", net.constant("scale", [], [(WIDTH // HEADS) ** -0.5]))
    net.then("Add", net.constant("later", [TOKENS, TOKENS], [-1e9 if to > at else 0.0 for at in range(TOKENS) for to in range(TOKENS)]))
    net.then("Softmax", axis=3)
    net.then("MatMul", parts["value"])
    net.then("Transpose", perm=[0, 2, 1, 3])
    net.then("Reshape", net.constant("joined", [3], [-1, TOKENS, WIDTH], 7))
    return net.linear("joint", WIDTH, WIDTH)


def gelu(net):
    x = net.at
    net.then("Div", net.constant("root", [], [2 ** 0.5]))
    net.then("Erf")
    net.then("Add", net.constant("one", [], [1.0]))
    net.then("Mul", x)
    return net.then("Mul", net.constant("half", [], [0.5]))


def transformer():
    net = Network()
    net.then("Gather", "x", first=net.weight("words", LETTERS, WIDTH, reach=0.5))
    x = net.then("Add", net.weight("positions", TOKENS, WIDTH, reach=0.05))
    attention(net, net.norm("norm1"))
    x = net.then("Add", x)
    net.norm("norm2")
    net.linear("up", WIDTH, 4 * WIDTH)
    gelu(net)
    net.linear("down", 4 * WIDTH, WIDTH)
    net.then("Add", x)
    net.norm("norm3")
    net.linear("head", WIDTH, LETTERS)
    net.then("Transpose", perm=[0, 2, 1])
    return net


def separable():
    """A backbone of depthwise convolutions and those of one pixel, and a head of two classes."""
    net, inputs = Network(), 16
    net.conv("back.0", 1, 16, 2)
    for at, (width, stride) in enumerate([(32, 1), (64, 2), (64, 1)]):
        net.conv(f"back.{at}.depth", inputs, inputs, stride, group=inputs)
        net.conv(f"back.{at}.pixel", inputs, width, 1, kernel=1)
        inputs = width
    net.then("GlobalAveragePool")
    net.then("Flatten")
    net.linear("head", 64, 2)
    return net


def save_arrays(folder, **arrays):
    """name=(descr, shape, bytes)"""
    os.makedirs(folder, exist_ok=True)
    for name, (descr, shape, data) in arrays.items():
        with open(os.path.join(folder, name + ".npy"), "wb") as file:
            file.write(npy(descr, shape, data))
    return folder


def bars(folder, counts):
    """Images of 8 x 8 with values up to 16 whose class tells where two bars are, in noise."""
    draw, arrays = random.Random(5), {}
    for split, count in zip(("train", "test"), counts):
        images, labels = bytearray(), bytearray()
        for _ in range(count):
            label = draw.randrange(10)
            image = bytearray(draw.randrange(6) for _ in range(64))
            for at in range(8):
                image[8 * (label % 8) + at] = 16
                image[8 * at + label // 2] = 16
            images += image
            labels.append(label)
        arrays[f"x_{split}"], arrays[f"y_{split}"] = ("|u1", (count, 64), bytes(images)), ("|u1", (count,), bytes(labels))
    return save_arrays(folder, **arrays)


def letters(folder, counts):
    """Tokens of 64 bits; the label of a place is the token after it."""
    with open(os.path.join(workshop.ROOT, "LICENSE"), "rb") as file:
        codes = [code % LETTERS for code in file.read()]
    arrays, at = {}, 0
    for split, count in zip(("train", "test"), counts):
        for name, shift in ("x", 0), ("y", 1):
            rows = [codes[at + TOKENS * row + shift:at + TOKENS * (row + 1) + shift] for row in range(count)]
            arrays[f"{name}_{split}"] = ("<i8", (count, TOKENS), b"".join(struct.pack(f"<{TOKENS}q", *row) for row in rows))
        at += TOKENS * count
    return save_arrays(folder, **arrays)


@unittest.skipIf(ABSENT, f"not on this machine: {ABSENT}")
class Cases(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.images = make_data(os.path.join(cls.folder, "images"), 40, 16)

    def plan(self, net, ram, reserve, *words, dims=("N", 1, 28, 28), dtype=1):
        """Path of the plan, and what the command says of it, with the kinds that are paged."""
        name = self.path(self.id().split(".")[-1])
        net.save(name + ".onnx", dims, dtype)
        told = self.plan_json(name + ".onnx", "--ram", f"{ram}KiB", "--reserve", f"{reserve}KiB", "--effort", 2, *words, "-o", name + ".json",
                              "--costgraph-out", name + ".graph.json")
        return name + ".json", {**told, "kinds": paged_kinds(name + ".json", name + ".graph.json")}

    def train(self, plan, ram, target, data, steps, stack, *words):
        """What run-firmware says of `steps` counted steps, and the bytes of its sections in RAM."""
        folder = self.path(f"{self.id().split('.')[-1]}-{target[0]}")
        sizes = json.loads(self.succeed("emit", plan, "--target", *target, "--data", data, "--steps", steps, "--stack", f"{stack}KiB", *words, "-o", folder,
                                        "--format", "json").stdout)
        told = json.loads(self.succeed("run-firmware", folder, "--count", "--format", "json").stdout)
        static = static_bytes(os.path.join(folder, "firmware.elf"))
        used, reserved = (int(word) for word in told["stack"].split(" of "))
        self.assertTrue(told["equal"])
        self.assertEqual(sizes["ram_bytes"], ram * KIB)
        self.assertLessEqual(sum(static.values()), ram * KIB)
        self.assertLess(used, reserved)
        return told, static

    def test_digits_on_the_smallest_board(self):
        plan, _ = self.plan(mlp(), 16, 4, "--device", "m0", "--batch", 4, "--lr", "0.05", dims=("N", 64))
        told, _ = self.train(plan, 16, ("cortex-m0", "--board", "microbit"), bars(self.path("bars"), (160, 40)), 80, 2, "--normalize", "0.0191,0.0235",
                             "--test-samples", 40)
        self.assertGreaterEqual(told["test_right"], 0.9 * told["test_counted"])
        self.assertLess(told["losses"][-1][1], told["losses"][0][1])

    def test_a_cnn_in_32_kib_without_a_float_unit(self):
        net = cnn([8, 16, 16], [2, 1, 2])
        self.assertGreaterEqual(net.parameters, 3000)
        plan, _ = self.plan(net, 32, 6, "--device", "m0", "--batch", 1, "--params-in", "aux")
        told, _ = self.train(plan, 32, ("cortex-m0", "--board", "mps2-an385"), self.images, 3, 3)
        self.assertEqual(told["count"]["products"]["macs_needed"], 948976)

    def test_activations_and_optimizer_state_on_an_sd_card(self):
        plan, planned = self.plan(cnn([8, 16, 16, 16, 16], [2, 2, 1, 1, 1]), 64, 8, "--device", "m4", "--batch", 4, "--optimizer", "adam", "--params-in", "aux")
        self.assertLessEqual({"activations", "optimizer state"}, planned["kinds"])
        _, static = self.train(plan, 64, ("cortex-m3", "--board", "lm3s6965evb"), self.images, 2, 3)
        self.assertGreaterEqual(unplanned_bytes(planned["unplanned_peak_bytes"], static), 2 * 64 * KIB)

    def test_adam_of_thirty_thousand_parameters_in_storage(self):
        net = cnn([16, 32, 32, 32, 32, 40], [2, 1, 2, 1, 1, 1])
        self.assertGreaterEqual(net.parameters, 30000)
        plan, planned = self.plan(net, 256, 12, "--device", "m4", "--batch", 4, "--optimizer", "adam", "--params-in", "aux")
        self.assertLessEqual({"parameters", "optimizer state"}, planned["kinds"])
        told, static = self.train(plan, 256, ("cortex-m4f",), self.images, 2, 4)
        self.assertGreaterEqual(unplanned_bytes(planned["unplanned_peak_bytes"], static), 2 * 256 * KIB)
        self.assertLessEqual(told["count"]["products"]["ratio"], 4)

    def test_a_transformer_block_on_three_processors(self):
        net = transformer()
        plan, planned = self.plan(net, 256, 12, "--device", "m4", "--batch", 2, "--optimizer", "sgd,momentum=0.9", "--params-in", "aux", dims=("N", TOKENS), dtype=7)
        data, states = letters(self.path("letters"), (16, 2)), set()
        for target, aim in some((("cortex-m4f", 4.2), ("cortex-m7", 4.2), ("cortex-m55", 2)), 2):
            told, static = self.train(plan, 256, (target,), data, 2, 4)
            states.add(told["state"])
            self.assertGreaterEqual(unplanned_bytes(planned["unplanned_peak_bytes"], static), 2 * 256 * KIB)
            self.assertLessEqual(told["count"]["products"]["ratio"], aim)
        self.assertEqual(len(states), 1)

    def test_the_rows_of_a_table_that_a_step_reads_train_as_on_the_host(self):
        data = letters(self.path("rows"), (16, 2))
        for optimizer, op in ("sparse_adam,beta2=0.99", "adam_rows"), ("adagrad,lr_decay=0.1", "adagrad_rows"):
            net = Network()
            net.then("Gather", "x", first=net.weight("words", LETTERS, WIDTH, reach=0.5))
            net.linear("head", WIDTH, LETTERS)
            net.then("Transpose", perm=[0, 2, 1])
            plan, _ = self.plan(net, 256, 12, "--device", "m4", "--batch", 2, "--optimizer", optimizer, "--params-in", "ram", dims=("N", TOKENS), dtype=7)
            told = [self.train(plan, 256, target, data, 3, 4)[0] for target in (("cortex-m4f",), ("cortex-m0", "--board", "mps2-an385"))]
            self.assertEqual(told[0]["state"], told[1]["state"])
            self.assertIn(op, {kernel["op"] for kernel in told[0]["count"]["kernels"].values()})

    def test_a_head_on_a_frozen_depthwise_backbone(self):
        plan, _ = self.plan(separable(), 256, 12, "--device", "m4", "--batch", 5, "--freeze", "back*")
        told, _ = self.train(plan, 256, ("cortex-m4f",), self.two_classes(), 3, 4)
        self.assertEqual({kernel["op"] for kernel in told["count"]["kernels"].values() if kernel["op"].startswith("conv2d")}, {"conv2d_act"})

    def two_classes(self):
        """Five images each, of bars that lie or stand."""
        draw, images, labels = random.Random(2), bytearray(), bytearray()
        for sample in range(10):
            image, at = bytearray(draw.randrange(64) for _ in range(784)), draw.randrange(4, 24)
            for place in range(28):
                image[28 * at + place if sample % 2 else 28 * place + at] = 255
            images += image
            labels.append(sample % 2)
        arrays = [("|u1", (10, 1, 28, 28), bytes(images)), ("|u1", (10,), bytes(labels))]
        return save_arrays(self.path("two"), x_train=arrays[0], y_train=arrays[1], x_test=arrays[0], y_test=arrays[1])


if __name__ == "__main__":
    unittest.main()
