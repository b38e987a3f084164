"""docs/firmware.md, from the PyTorch model to the board: every command of the page, in its order, and the figures that the page gives."""
import importlib.util
import json
import math
import os
import random
import re
import shlex
import subprocess
import sys
import time
import unittest

import workshop

sys.path.insert(0, os.path.join(workshop.ROOT, "tests", "e2e"))
from house import PANTOUM, House, onnx_model, onnx_node, onnx_tensor  # noqa: E402

FASHION = "/usr/share/datasets/fashion-mnist"
PAGE = os.path.join(workshop.ROOT, "docs", "firmware.md")


def absent():
    needed = [FASHION] if not os.path.isdir(FASHION) else []
    return " ".join([workshop.missing_tools(), *(["numpy"] if not importlib.util.find_spec("numpy") else []), *needed]).strip()


def network_without_pytorch(path):
    """What the page's model exports as, with weights drawn as PyTorch draws them."""
    draw = random.Random(1)

    def weight(name, *dims, fan_in):
        bound = 1 / math.sqrt(fan_in)
        return onnx_tensor(name, dims, [draw.uniform(-bound, bound) for _ in range(math.prod(dims))])
    made = [weight("0.weight", 8, 1, 3, 3, fan_in=9), weight("0.bias", 8, fan_in=9), weight("2.weight", 16, 8, 3, 3, fan_in=72), weight("2.bias", 16, fan_in=72),
            weight("5.weight", 3, 784, fan_in=784), weight("5.bias", 3, fan_in=784)]
    nodes = [onnx_node("Conv", ["x", "0.weight", "0.bias"], ["c0"], strides=[2, 2], pads=[1, 1, 1, 1]), onnx_node("Relu", ["c0"], ["r0"]),
             onnx_node("Conv", ["r0", "2.weight", "2.bias"], ["c1"], strides=[2, 2], pads=[1, 1, 1, 1]), onnx_node("Relu", ["c1"], ["r1"]),
             onnx_node("Flatten", ["r1"], ["flat"]), onnx_node("Gemm", ["flat", "5.weight", "5.bias"], ["y"], transB=1)]
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ("N", 1, 28, 28), made))


@unittest.skipIf(absent(), f"not on this machine: {absent()}")
class Tutorial(House):
    def setUp(self):
        with open(PAGE, encoding="utf-8") as file:
            self.blocks = re.findall(r"^```(\w*)\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)

    def run_python(self, snippet):
        subprocess.run([sys.executable, "-c", snippet], cwd=self.folder, check=True, capture_output=True, timeout=300)

    def export(self, snippet):
        if importlib.util.find_spec("torch") and importlib.util.find_spec("onnx"):
            return self.run_python(snippet)
        print("PyTorch is not on this machine: the page's network is written by the standard library", file=sys.stderr)
        return network_without_pytorch(self.path("net.onnx"))

    def command(self, line):
        words = [PANTOUM if word == "pantoum" else word for word in shlex.split(line)]
        alone = {name: word for name, word in os.environ.items() if not name.startswith("CMAKE_")}
        done = subprocess.run(words, cwd=self.folder, env=alone, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def right_share(self, text):
        right, counted = (int(word) for word in re.search(r"^test +samples right +(\d+) of (\d+) ", text, re.MULTILINE).groups())
        self.assertEqual(counted, 48)
        return right / counted

    def test_every_command_of_the_page_does_what_it_says(self):
        begin = time.monotonic()
        export, data = [text for language, text in self.blocks if language == "python"]
        self.export(export)
        self.run_python(data)
        lines = [line for language, text in self.blocks if language == "" for line in text.splitlines()]
        self.assertEqual([line.split(" ")[:2] for line in lines[:3]], [["pantoum", "plan"], ["pantoum", "emit"], ["pantoum", "run-firmware"]])
        told = {line: self.command(line) for line in lines}
        print(f"docs/firmware.md: {time.monotonic() - begin:.1f} s", file=sys.stderr)
        runs = [text for line, text in told.items() if line.startswith("pantoum run-firmware")]
        self.assertEqual(len(runs), 4)
        self.assertIn("instructions a step", runs[2])
        self.assertIn("features  of 96 made 96", runs[3])
        for text, first, last, compared in zip(runs, (2, 42, 1, 5), ("40 steps on", "20 steps on lm3s6965evb (cortex-m3), 41 to 60", "4 steps on", "100 steps on"), (20, 7, 4, 20)):
            self.assertRegex(text, rf"^step {first}  loss \d\.\d{{4}}\n")
            self.assertIn(f"\nran       {last}", text)
            self.assertIn(f" {compared} losses compared: equal\n", text)
        state = re.search(r"state (0x\w{8}) on the device", runs[1]).group(1)
        for line in "make -C firmware STEPS=60 run", "cmake --build firmware/build/cmake --target run":
            self.assertIn(f"state {state}\n", told[line], "resumed where it had ended: the same parameters")
            self.assertRegex(told[line], r"(?m)^test right (\d+) of 48 loss \d\.\d{6} bits 0x\w{8}\npredicted \1 of 48 right$")
        for text in (runs[0], runs[1], runs[3]):
            self.assertGreaterEqual(self.right_share(text), 0.9, "the page's network learns")
            self.assertEqual(re.search(r"^predict +samples right +(\d+ of 48) ", text, re.MULTILINE).group(1), re.search(r"^test +samples right +(\d+ of 48) ", text, re.MULTILINE).group(1),
                             "the outputs name the classes that the evaluation counts")
        self.check_memory(runs[0])
        self.check_report(told)

    def check_memory(self, text):
        """The rows of RAM add up, the whole is inside the budget, and the page has about these figures."""
        def rows(printed):
            return [int(re.search(rf"{name} +([\d,]+) B", printed).group(1).replace(",", ""))
                    for name in ("arena, as planned", "stack, at most", "static", "in use, at most")]
        arena, stack, static, in_use = rows(text)
        page = next(block for language, block in self.blocks if language == "text")
        for said, measured in zip(rows(page), rows(text)):
            self.assertAlmostEqual(said, measured, delta=0.15 * measured)
        self.assertEqual(arena + stack + static, in_use)
        self.assertLessEqual(in_use, 65536)
        self.assertIn("of 65,536", text)

    def check_report(self, told):
        """The log is that of the runs on the device; the counted one began anew."""
        self.assertIn("run.jsonl", next(line for line in told if line.startswith("pantoum report")))
        with open(self.path("report.html"), encoding="utf-8") as file:
            self.assertIn("<svg", file.read())
        with open(self.path("firmware", "run.jsonl"), encoding="utf-8") as file:
            events = [json.loads(line) for line in file]
        self.assertEqual([event["event"] for event in events], ["device"] + ["step"] * 4 + ["end"])
        self.assertEqual((events[0]["steps"], events[-1]["steps"]), (4, 4))


if __name__ == "__main__":
    unittest.main()
