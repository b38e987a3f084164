"""docs/firmware.md, from the PyTorch model to the board: every command of the page, in its order."""
import importlib.util
import math
import os
import random
import re
import shlex
import subprocess
import sys
import unittest

import workshop

sys.path.insert(0, os.path.join(workshop.ROOT, "tests", "e2e"))
from house import PANTOUM, House, make_data, onnx_model, onnx_node, onnx_tensor  # noqa: E402

ABSENT = workshop.missing_tools()
PAGE = os.path.join(workshop.ROOT, "docs", "firmware.md")
FASHION = "/usr/share/datasets/fashion-mnist"


def network_without_pytorch(path):
    """What the page's model exports as."""
    draw = random.Random(1)

    def weight(name, *dims):
        return onnx_tensor(name, dims, [draw.gauss(0, 0.3) for _ in range(math.prod(dims))])
    made = [weight("w0", 8, 1, 3, 3), weight("b0", 8), weight("w1", 16, 8, 3, 3), weight("b1", 16), weight("fc", 10, 16), weight("bias", 10)]
    nodes = [onnx_node("Conv", ["x", "w0", "b0"], ["c0"], strides=[2, 2], pads=[1, 1, 1, 1]), onnx_node("Relu", ["c0"], ["r0"]),
             onnx_node("Conv", ["r0", "w1", "b1"], ["c1"], strides=[2, 2], pads=[1, 1, 1, 1]), onnx_node("Relu", ["c1"], ["r1"]),
             onnx_node("GlobalAveragePool", ["r1"], ["mean"]), onnx_node("Flatten", ["mean"], ["flat"]), onnx_node("Gemm", ["flat", "fc", "bias"], ["y"], transB=1)]
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ("N", 1, 28, 28), made))


@unittest.skipIf(ABSENT, f"not on this machine: {ABSENT}")
class Tutorial(House):
    def setUp(self):
        with open(PAGE) as file:
            self.blocks = re.findall(r"^```(\w*)\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)

    def export(self, snippet):
        if importlib.util.find_spec("torch") and importlib.util.find_spec("onnx"):
            subprocess.run([sys.executable, "-c", snippet], cwd=self.folder, check=True, capture_output=True, timeout=300)
        else:
            print("PyTorch is not on this machine: the page's network is written by the standard library", file=sys.stderr)
            network_without_pytorch(self.path("net.onnx"))

    def command(self, line):
        if not os.path.isdir(FASHION):
            line = line.replace(FASHION, make_data(self.path("fashion"), 64, 32) or self.path("fashion"))
        words = [PANTOUM if word == "pantoum" else word for word in shlex.split(line)]
        alone = {name: word for name, word in os.environ.items() if not name.startswith("CMAKE_")}
        done = subprocess.run(words, cwd=self.folder, env=alone, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def test_every_command_of_the_page_does_what_it_says(self):
        snippets = [text for language, text in self.blocks if language == "python"]
        self.assertEqual(len(snippets), 1)
        self.export(snippets[0])
        lines = [line for language, text in self.blocks if language == "" for line in text.splitlines()]
        self.assertEqual([line.split(" ")[:2] for line in lines[:3]], [["pantoum", "plan"], ["pantoum", "emit"], ["pantoum", "run-firmware"]])
        told = {line: self.command(line) for line in lines}
        runs = [text for line, text in told.items() if line.startswith("pantoum run-firmware")]
        self.assertEqual(len(runs), 2)
        for text, first, last in zip(runs, (10, 50), (40, 60)):
            self.assertRegex(text, rf"^step {first}  loss")
            self.assertIn(f"\nran       {last} steps;", text)
            self.assertRegex(text, r"losses compared: equal\n$")
        state = re.search(r"state (0x\w{8}) on the device", runs[1]).group(1)
        for line in "make -C firmware STEPS=60 run", "cmake --build firmware/build/cmake --target run":
            self.assertIn(f"state {state}\n", told[line], "resumed where it had ended: the same parameters")


if __name__ == "__main__":
    unittest.main()
