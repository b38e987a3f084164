"""What tests of emitted projects share: a network, data, and the steps from a plan to a run."""
import json
import math
import os
import random
import subprocess
import sys
import unittest

import workshop

sys.path.insert(0, os.path.join(workshop.ROOT, "tests", "e2e"))
from house import House, make_data, onnx_model, onnx_node, onnx_tensor  # noqa: E402

ABSENT = workshop.missing_tools()
E_PLAN, E_VERSION, E_KERNEL, E_IO, E_FULL, E_NUMBER = 2, 3, 4, 5, 6, 10


def network(path, channels=8):
    """Two convolutions, a mean, a linear layer."""
    draw = random.Random(3)

    def weight(name, *dims):
        return onnx_tensor(name, dims, [draw.gauss(0, 0.3) for _ in range(math.prod(dims))])
    made = [weight("w0", channels, 1, 3, 3), weight("b0", channels), weight("w1", channels, channels, 3, 3), weight("fc", channels, 10)]
    nodes = [onnx_node("Conv", ["x", "w0", "b0"], ["c0"], strides=[2, 2], pads=[1, 1, 1, 1]), onnx_node("Relu", ["c0"], ["r0"]),
             onnx_node("Conv", ["r0", "w1"], ["c1"], strides=[2, 2], pads=[1, 1, 1, 1]), onnx_node("Tanh", ["c1"], ["r1"]),
             onnx_node("GlobalAveragePool", ["r1"], ["mean"]), onnx_node("Flatten", ["mean"], ["flat"]), onnx_node("MatMul", ["flat", "fc"], ["y"])]
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ("N", 1, 28, 28), made))
    return path


@unittest.skipIf(ABSENT, f"not on this machine: {ABSENT}")
class Projects(House):
    """A model, data, and the steps from a plan to a run."""
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_data(os.path.join(cls.folder, "data"), 40, 16)
        network(os.path.join(cls.folder, "net.onnx"))

    def plan(self, name, *words, lr=0.05):
        path = self.path(f"{name}.plan.json")
        self.succeed("plan", self.path("net.onnx"), "--device", "m4", "--effort", 4, "--lr", lr, *words, "-o", path)
        return path

    def emit(self, plan, name, target, *words, steps=12, stack="4KiB"):
        folder = self.path(name)
        done = self.succeed("emit", plan, "--target", *target, "--data", self.path("data"), "--test-samples", 8, "--steps", steps, "--stack", stack,
                            *words, "-o", folder, "--format", "json")
        return folder, json.loads(done.stdout)

    def run_equal(self, folder, *words):
        told = json.loads(self.succeed("run-firmware", folder, *words, "--format", "json").stdout)
        self.assertTrue(told["equal"])
        return told

    def make_run(self, folder, *words):
        return subprocess.run(["make", "-s", f"-j{os.cpu_count()}", "-C", folder, *words, "run"], capture_output=True, text=True, timeout=120)
