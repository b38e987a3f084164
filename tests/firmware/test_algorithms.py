"""Algorithms that a device is offered beside the direct ones: in QEMU they train with the host's bits, in fewer instructions."""
import json
import math
import os
import random
import re
import unittest

import projects
from projects import House, make_data, onnx_model, onnx_node, onnx_tensor

ALLOWED = "--allow-numerics-change"


def network(path, channels=16):
    """A strided convolution, two 3 x 3 convolutions of stride 1 on 14 x 14, a mean, a linear layer."""
    draw = random.Random(5)

    def weight(name, *dims):
        reach = math.prod(dims[1:]) ** -0.5
        return onnx_tensor(name, dims, [draw.uniform(-reach, reach) for _ in range(math.prod(dims))])
    made = [weight("w0", channels, 1, 2, 2), weight("w1", channels, channels, 3, 3), weight("b1", channels), weight("w2", channels, channels, 3, 3),
            weight("fc", channels, 10)]
    nodes = [onnx_node("Conv", ["x", "w0"], ["c0"], strides=[2, 2]), onnx_node("Relu", ["c0"], ["r0"]),
             onnx_node("Conv", ["r0", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]), onnx_node("Relu", ["c1"], ["r1"]),
             onnx_node("Conv", ["r1", "w2"], ["c2"], pads=[1, 1, 1, 1]), onnx_node("Relu", ["c2"], ["r2"]),
             onnx_node("GlobalAveragePool", ["r2"], ["mean"]), onnx_node("Flatten", ["mean"], ["flat"]), onnx_node("MatMul", ["flat", "fc"], ["y"])]
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ("N", 1, 28, 28), made))


def depthwise_network(path, channels=16):
    """A strided convolution, depthwise ones of 3 x 3 on 14 x 14, of stride 1 and 2, with one of 1 x 1 between, a mean, a linear layer."""
    draw = random.Random(6)

    def weight(name, *dims):
        reach = math.prod(dims[1:]) ** -0.5
        return onnx_tensor(name, dims, [draw.uniform(-reach, reach) for _ in range(math.prod(dims))])
    made = [weight("w0", channels, 1, 2, 2), weight("w1", channels, 1, 3, 3), weight("w2", channels, channels, 1, 1), weight("w3", channels, 1, 3, 3),
            weight("fc", channels, 10)]
    nodes = [onnx_node("Conv", ["x", "w0"], ["c0"], strides=[2, 2]), onnx_node("Relu", ["c0"], ["r0"]),
             onnx_node("Conv", ["r0", "w1"], ["c1"], pads=[1, 1, 1, 1], group=channels), onnx_node("Relu", ["c1"], ["r1"]),
             onnx_node("Conv", ["r1", "w2"], ["c2"]), onnx_node("Relu", ["c2"], ["r2"]),
             onnx_node("Conv", ["r2", "w3"], ["c3"], strides=[2, 2], pads=[1, 1, 1, 1], group=channels), onnx_node("Relu", ["c3"], ["r3"]),
             onnx_node("GlobalAveragePool", ["r3"], ["mean"]), onnx_node("Flatten", ["mean"], ["flat"]), onnx_node("MatMul", ["flat", "fc"], ["y"])]
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ("N", 1, 28, 28), made))


@unittest.skipIf(projects.ABSENT, f"not on this machine: {projects.ABSENT}")
class Algorithms(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_data(os.path.join(cls.folder, "data"), 40, 16)
        network(os.path.join(cls.folder, "net.onnx"))
        depthwise_network(os.path.join(cls.folder, "depthwise.onnx"))

    def project(self, name, *words, model="net.onnx"):
        plan, folder = self.path(f"{name}.plan.json"), self.path(name)
        self.succeed("plan", self.path(model), "--device", "m4", "--batch", 2, "--effort", 4, "--lr", "0.05", *words, "-o", plan)
        self.succeed("emit", plan, "--target", "cortex-m4f", "--data", self.path("data"), "--test-samples", 4, "--steps", 4, "--stack", "4KiB", "-o", folder)
        return folder

    def run_firmware(self, folder, *words):
        return json.loads(self.succeed("run-firmware", folder, *words, "--format", "json").stdout)

    def has_source(self, folder, word):
        return any(word in name and name.endswith(".c") for _, _, names in os.walk(folder) for name in names)

    def test_winograd_trains_with_the_hosts_bits_in_fewer_instructions(self):
        if ALLOWED not in self.succeed("plan", "--help-all").stdout:
            self.skipTest(f"plan has no {ALLOWED}")
        plain, other = self.project("plain"), self.project("other", ALLOWED)
        self.assertFalse(self.has_source(plain, "winograd"))
        self.assertTrue(self.has_source(other, "winograd"))
        self.assertTrue(self.run_firmware(other)["equal"])
        before, after = [self.run_firmware(folder, "--fresh", "--count", "--steps", 2)["count"] for folder in (plain, other)]
        self.assertFalse([name for name in before["kernels"] if "winograd" in name])
        for op in ("conv2d_act", "conv2d_dz", "conv2d_dw"):
            self.assertTrue([name for name in after["kernels"] if name.startswith(f"{op}_winograd")], list(after["kernels"]))
        fewer = after["instructions"] / before["instructions"]
        cheaper = after["energy_modelled_j"] / before["energy_modelled_j"]
        self.assertLess(fewer, 0.75)
        self.assertLess(abs(cheaper - fewer), 0.1, "what is modelled is what is counted")

    def smallest_ram(self, model):
        """Bytes for which a plan is known, as the refusal of too few says."""
        refused = self.refuse(5, "E0301", "plan", self.path(model), "--device", "m4", "--batch", 2, "--effort", 4, "--lr", "0.05", "--ram", "4KiB",
                              "-o", self.path("none.plan.json"))
        number, unit = re.search(r"--ram (\d+)(B|KiB)", refused.stderr).groups()
        return int(number) * {"B": 1, "KiB": 1024}[unit]

    def test_room_for_a_strip_takes_fewer_instructions_and_the_same_bits(self):
        rest = 16 << 10  # stack and tables, beside what is planned
        budgets = {"roomy": 256 << 10, "tight": self.smallest_ram("depthwise.onnx") + rest}
        roomy, tight = [self.project(name, "--ram", f"{ram}B", "--reserve", f"{rest}B", model="depthwise.onnx") for name, ram in budgets.items()]
        self.assertTrue(self.has_source(roomy, "conv2d_shift_compact"))
        runs = [self.run_firmware(folder) for folder in (roomy, tight)]
        self.assertTrue(all(run["equal"] for run in runs))
        self.assertEqual(*[run["test_loss"] for run in runs])
        fast, direct = [self.run_firmware(folder, "--fresh", "--count", "--steps", 2)["count"]["kernels"] for folder in (roomy, tight)]
        self.assertIn("conv2d_act_compact", direct)
        for op in ("conv2d_act", "conv2d_dz"):
            self.assertIn(f"{op}_shift_compact", fast)
        self.assertLess(sum(each["instructions"] for each in fast.values()), sum(each["instructions"] for each in direct.values()))


if __name__ == "__main__":
    unittest.main()
