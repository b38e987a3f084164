"""Backbones of other formats in model files of NNTrainer: their numbers are those of the backbone alone, before a head."""
import os
import random
import struct
import unittest

import hostile_models
from house import House, onnx_model, onnx_node, onnx_tensor, tensors

SAMPLES, WIDTH, UNITS = 8, 6, 3
FEATURES = 6 * 6 * 2  # of the TensorFlow Lite files' inputs
QUICKLY = ("--kernels", "portable", "--threads", "1")


def floats(path):
    """The f32 numbers of an NPY file."""
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:])


def product(rows, matrix, bias):
    return [[sum(x * w for x, w in zip(row, column)) + b for column, b in zip(zip(*matrix), bias)] for row in rows]


class IniBackbones(House):
    def setUp(self):
        self.draw = random.Random(3)

    def put(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return self.path(name)

    def reals(self, *shape):
        return self.draw.uniform(-1, 1) if not shape else [self.reals(*shape[1:]) for _ in range(shape[0])]

    def samples(self, name, width, labels=0):
        rows = self.reals(SAMPLES, width)
        self.put(name, b"".join(struct.pack(f"<{width + labels}f", *row, *[float(at == 0) for at in range(labels)]) for row in rows))
        return rows

    def near(self, found, expected):
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected):
            self.assertAlmostEqual(one, other, delta=2e-5)

    def numbers_of(self, model, *words):
        self.succeed("predict", model, "--data", self.path("x.f32"), "-o", self.path("y.npy"), *QUICKLY, *words)
        return floats(self.path("y.npy"))

    def head(self, inputs, classes):
        """Its weights as a .bin file, too."""
        weight, bias = self.reals(inputs, classes), self.reals(classes)
        self.put("head.bin", struct.pack(f"<{inputs * classes + classes}f", *sum(weight, []), *bias) + bytes(8))
        return weight, bias

    def onnx(self):
        """max(x W, 0), and W."""
        weight = self.reals(WIDTH, UNITS)
        nodes = [onnx_node("MatMul", ["x", "w"], ["p"]), onnx_node("Relu", ["p"], ["y"])]
        self.put("net.onnx", onnx_model(nodes, ("N", WIDTH), [onnx_tensor("w", (WIDTH, UNITS), sum(weight, []))]))
        return weight

    def ini(self, backbone, more=""):
        return self.put("net.ini", f"[model]\nloss = mse\nepochs = 3\nbatch_size = 4\n[optimizer]\ntype = sgd\nlearning_rate = 0.1\n[back]\nbackbone = {backbone}\n{more}"
                                   "[head]\ntype = fully_connected\nunit = 2\n")

    def test_an_onnx_backbone_has_its_numbers(self):
        weight, rows = self.onnx(), self.samples("x.f32", WIDTH)
        features = [[max(x, 0) for x in row] for row in product(rows, weight, [0] * UNITS)]
        self.near(self.numbers_of(self.put("back.ini", "[back]\nbackbone = net.onnx\n")), sum(features, []))
        head = self.head(UNITS, 2)
        self.near(self.numbers_of(self.ini("net.onnx"), "--weights", self.path("head.bin")), sum(product(features, *head), []))

    def test_tflite_backbones_have_the_numbers_that_they_have_alone(self):
        self.samples("x.f32", FEATURES)
        weight, bias = self.head(3, 2)
        for name, data in hostile_models.good_tflite().items():
            if not name.startswith("small"):
                continue
            model = self.put(name, data)
            alone = self.numbers_of(model)
            classes = [alone[at:at + 3] for at in range(0, len(alone), 3)]
            joined = self.numbers_of(self.ini(name, "input_shape = 6:6:2\n"), "--weights", self.path("head.bin"))
            self.near(joined, sum(product(classes, weight, bias), []))

    def test_a_frozen_backbone_stays_and_the_head_trains(self):
        weight = self.onnx()
        self.samples("data.f32", WIDTH, labels=2)
        model, data = self.ini("net.onnx"), self.path("data.f32")
        self.succeed("train", model, "--data", data, "--effort", "1", "-o", self.path("w.safetensors"), *QUICKLY)
        self.assertEqual(tensors(self.path("w.safetensors"))["back.w"], struct.pack(f"<{WIDTH * UNITS}f", *sum(weight, [])))
        self.succeed("train", model, "--data", data, "--effort", "1", "--feature-cache", "64KiB", "-o", self.path("c.safetensors"), *QUICKLY)
        self.same_bits(tensors(self.path("c.safetensors")), tensors(self.path("w.safetensors")), "features that are computed once")
        self.succeed("train", self.ini("net.onnx", "trainable = true\n"), "--data", data, "--effort", "1", "-o", self.path("t.safetensors"), *QUICKLY)
        trained = struct.unpack(f"<{WIDTH * UNITS}f", tensors(self.path("t.safetensors"))["back.w"])
        self.assertGreater(max(abs(one - other) for one, other in zip(trained, sum(weight, []))), 1e-3)

    def test_a_trained_network_is_exported_with_its_backbone(self):
        self.onnx()
        self.samples("x.f32", WIDTH)
        self.head(UNITS, 2)
        joined = self.numbers_of(self.ini("net.onnx"), "--weights", self.path("head.bin"))
        self.succeed("export", self.path("net.ini"), "--weights", self.path("head.bin"), "-o", self.path("whole.onnx"))
        self.put("nothing.ini", "[whole]\nbackbone = whole.onnx\n")
        self.near(self.numbers_of(self.path("nothing.ini")), joined)

    def test_damaged_backbones_are_refused_with_the_line(self):
        changes = hostile_models.tflite_files(self.draw)
        for _ in range(60):
            self.put("net.tflite", next(changes))
            done = self.run_cli("inspect", self.ini("net.tflite"))
            if done.returncode not in (0, 4):
                self.assertRegex(done.stderr, r"error\[E0(2\d\d|4\d\d)\]")
                self.assertIn("net.ini:", done.stderr)
        self.refuse(3, "E0201", "inspect", self.ini("absent.onnx"))


if __name__ == "__main__":
    unittest.main()
