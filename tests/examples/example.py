"""Runs an example of examples/ as a reader would, in a folder of its own, and holds it to what its README says."""
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
from house import PANTOUM, House  # noqa: E402

EXAMPLES = os.path.join(ROOT, "examples")
FASHION = "/usr/share/datasets/fashion-mnist"
LARGEST_MODEL = 300 * 1024


def absent(fashion=False, board=False):
    """What this machine lacks."""
    tools = ["arm-none-eabi-gcc", "qemu-system-arm", "make"] if board else []
    lacking = [tool for tool in tools if not shutil.which(tool)]
    lacking += ["numpy"] if not importlib.util.find_spec("numpy") else []
    return lacking + ([FASHION] if fashion and not os.path.isdir(FASHION) else [])


class Example(House):
    """A test of an example names it, and what it needs; the figures are those of its run.sh."""
    name, needs = "", {}

    def setUp(self):
        lacking = absent(**self.needs)
        if lacking:
            self.skipTest(f"not on this machine: {' '.join(lacking)}")

    def run_script(self):
        """run.sh from another folder, into one whose name has a space. Its output."""
        alone = {**os.environ, "PYTHON": sys.executable}
        done = subprocess.run([os.path.join(EXAMPLES, self.name, "run.sh"), PANTOUM, "my run"], cwd=self.folder, env=alone, capture_output=True,
                              text=True, timeout=600)
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}")
        self.assertNotIn("warning", done.stderr)
        return done.stdout

    def run_example(self):
        """The output of run.sh and the events of its log."""
        said = self.run_script()
        with open(self.path("my run", "run.jsonl"), encoding="utf-8") as file:
            events = [json.loads(line) for line in file]
        return said, events

    def score(self):
        """What the example writes of itself."""
        with open(self.path("my run", "score.json"), encoding="utf-8") as file:
            return json.load(file)

    def check_said(self, figures):
        """The README's table has each figure as it is measured, behind what is asked for."""
        for figure in figures:
            self.assertRegex(self.readme(), rf"\|[^|\n]*\| [\d.]+ \| {re.escape(figure)}\b", "the README says what is reached")

    def asked(self):
        """What run.sh holds the run to: the figure's name, >= or <=, the limit."""
        with open(os.path.join(EXAMPLES, self.name, "run.sh"), encoding="utf-8") as file:
            return re.search(r'run\.jsonl" (\w+) "([<>]=)" ([\d.]+)', file.read()).groups()

    def check_figure(self, end, readme):
        name, sign, limit = self.asked()
        (self.assertGreaterEqual if sign == ">=" else self.assertLessEqual)(end[name], float(limit))
        measured = re.search(rf"\| {re.escape(limit)}\d* \| ([\d.]+)", readme)
        self.assertTrue(measured, "the README says what is asked for")
        self.assertAlmostEqual(end[name], float(measured.group(1)), delta=0.0051, msg="the README says what is reached")

    def check_unplanned(self, kib):
        """Both READMEs say what the step takes without a plan."""
        with open(os.path.join(EXAMPLES, "README.md"), encoding="utf-8") as file:
            row = re.search(rf"^\| \[{self.name}\].*iB of ([\d.]+) ([KM])iB", file.read(), re.MULTILINE)
        own = re.search(r"([\d.]+) ([KM])iB without a plan", self.readme())
        for number, unit in (row.groups(), own.groups()):
            self.assertAlmostEqual(float(number) * (1024 if unit == "M" else 1), kib, delta=0.02 * kib)

    def check_files(self, *names):
        for name in (*names, "run.jsonl", "report.html"):
            self.assertGreater(os.path.getsize(self.path("my run", name)), 100, name)
        with open(self.path("my run", "report.html"), encoding="utf-8") as file:
            self.assertIn("<svg", file.read())
        for name in os.listdir(os.path.join(EXAMPLES, self.name)):
            if name.endswith(".onnx"):
                self.assertLess(os.path.getsize(os.path.join(EXAMPLES, self.name, name)), LARGEST_MODEL)

    def readme(self):
        with open(os.path.join(EXAMPLES, self.name, "README.md"), encoding="utf-8") as file:
            return file.read()


class TrainingExample(Example):
    """One that trains on this machine."""

    def check(self, weights="trained.safetensors"):
        said, events = self.run_example()
        end = events[-1]
        self.assertEqual(end["event"], "end")
        self.assertLessEqual(end["arena_bytes"], end["budget_bytes"])
        self.assertRegex(said, r"(?m)^RAM [\d.]+ KiB, in a budget of [\d.]+ KiB; without a plan [\d.]+ KiB: good$")
        budget, unplanned = (float(word) for word in re.search(r"in a budget of ([\d.]+) KiB; without a plan ([\d.]+)", said).groups())
        self.assertLessEqual(budget, 0.8 * unplanned, "the budget is clearly below what the step takes without a plan")
        self.check_unplanned(unplanned)
        self.check_figure(end, self.readme())
        self.check_files(weights, "plan.json")


def main():
    unittest.main()
