"""Projects that `pantoum emit` writes: every bit as on the host, on every processor; storage, power lost, failing cards."""
import json
import math
import os
import random
import shutil
import subprocess
import sys
import time
import unittest

import workshop

sys.path.insert(0, os.path.join(workshop.ROOT, "tests", "e2e"))
from house import House, make_data, onnx_model, onnx_node, onnx_tensor  # noqa: E402

ABSENT = workshop.missing_tools()
E_IO, E_VERSION = 5, 3
TARGETS = [("cortex-m0", "--board", "mps2-an385"), ("cortex-m3", "--board", "mps2-an385"), ("cortex-m4f",), ("cortex-m7",), ("cortex-m55",), ("posix",)]


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

    def plan(self, name, *words):
        path = self.path(f"{name}.plan.json")
        self.succeed("plan", self.path("net.onnx"), "--device", "m4", "--effort", 4, "--lr", "0.05", *words, "-o", path)
        return path

    def emit(self, plan, name, target, *words, steps=12):
        folder = self.path(name)
        done = self.succeed("emit", plan, "--target", *target, "--data", self.path("data"), "--test-samples", 8, "--steps", steps, "--stack", "4KiB",
                            *words, "-o", folder, "--format", "json")
        return folder, json.loads(done.stdout)

    def run_equal(self, folder, *words):
        told = json.loads(self.succeed("run-firmware", folder, *words, "--format", "json").stdout)
        self.assertTrue(told["equal"])
        return told

    def make_run(self, folder, *words):
        return subprocess.run(["make", "-s", "-C", folder, *words, "run"], capture_output=True, text=True, timeout=120)


class Firmware(Projects):
    def test_every_processor_gives_the_bits_of_the_host(self):
        plan = self.plan("kept", "--batch", 2, "--ram", "48KiB", "--reserve", "8KiB", "--momentum", "0.9")
        states = set()
        for target in TARGETS:
            folder, sizes = self.emit(plan, f"on-{target[0]}", target)
            told = self.run_equal(folder)
            states.add((told["state"], told["test"]))
            self.assertLessEqual(sizes["instruction_bytes"], 8 * sizes["instructions"])
            self.assertEqual(sizes["storage_blocks"], 0)
        self.assertEqual(len(states), 1)

    def test_a_schedule_gives_the_same_rates_on_every_processor(self):
        plan = self.plan("schedule", "--batch", 2, "--ram", "48KiB", "--reserve", "8KiB", "--momentum", "0.9")
        rates = {"constant": (), "cosine": ("--schedule", "cosine,to=0.003", "--warmup", 3), "multi_step": ("--schedule", "multi_step,at=4:70%,gamma=0.3"),
                 "step": ("--schedule", "step,every=25%"), "exponential": ("--schedule", "exponential,gamma=0.9"),
                 "linear": ("--schedule", "linear,to=0.001,warmup=10%")}
        told = {}
        for name, words in rates.items():
            folder, _ = self.emit(plan, f"rate-{name}", ("posix",), *words)
            told[name] = self.run_equal(folder)
            self.assertEqual(told[name]["losses_compared"], 2)
        self.assertEqual(len({each["state"] for each in told.values()}), len(rates))
        for target in ("cortex-m0", "--board", "mps2-an385"), ("cortex-m4f",), ("cortex-m55",):
            folder, _ = self.emit(plan, f"rate-{target[0]}", target, *rates["cosine"])
            there = self.run_equal(folder)
            self.assertEqual((there["state"], there["test"]), (told["cosine"]["state"], told["cosine"]["test"]))
        self.refuse(2, "E0115", "emit", plan, "--target", "posix", "--schedule", "poly", "-o", self.path("none"))

    def test_state_in_storage_on_an_sd_card(self):
        plan = self.plan("paged", "--batch", 4, "--ram", "48KiB", "--reserve", "8KiB", "--optimizer", "adam", "--params-in", "aux")
        folder, sizes = self.emit(plan, "paged", ("cortex-m3",))
        self.assertGreater(sizes["storage_blocks"], 0)
        told = self.run_equal(folder)
        self.assertGreater(int(told["paged"].split()[1]), 0)
        used, reserved = (int(word) for word in told["stack"].split(" of "))
        self.assertLess(used, reserved)

    def test_cmake_builds_what_make_builds(self):
        plan = self.plan("cmake", "--batch", 4, "--ram", "48KiB", "--reserve", "8KiB", "--params-in", "aux")
        for target in ("posix",), ("cortex-m3",):
            folder, _ = self.emit(plan, f"cmake-{target[0]}", target)
            with open(os.path.join(folder, "CMakeLists.txt")) as file:
                text = file.read()
            for flag in "-Wall", "-Wextra", "-Werror", "-Wconversion", "-ffp-contract=off":
                self.assertIn(f";{flag};", text)
            made = self.make_run(folder)
            self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
            os.remove(os.path.join(folder, "storage.img"))
            build = os.path.join(folder, "build", "cmake")
            alone = {name: word for name, word in os.environ.items() if not name.startswith("CMAKE_")}
            for words in ["-S", folder, "-B", build], ["--build", build, "--target", "run"]:
                done = subprocess.run(["cmake", *words], env=alone, capture_output=True, text=True, timeout=300)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            told = [line for line in made.stdout.splitlines() if line.split(" ")[0] in ("step", "state", "written")]
            self.assertEqual([line.split(" ")[0] for line in told], ["step", "step", "state", "written"])
            self.assertEqual([line for line in done.stdout.splitlines() if line.split(" ")[0] in ("step", "state", "written")], told)

    def test_power_lost_at_any_moment(self):
        plan = self.plan("crash", "--batch", 4, "--ram", "48KiB", "--reserve", "8KiB", "--optimizer", "adam", "--params-in", "aux")
        folder, _ = self.emit(plan, "crash", ("cortex-m3",), steps=60)
        whole = self.run_equal(folder)
        os.remove(os.path.join(folder, "storage.img"))
        resumed, draw = 0, random.Random(1)
        for _ in range(6):
            with subprocess.Popen(["make", "-s", "-C", folder, "run"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True) as run:
                time.sleep(draw.uniform(0.3, 1.2))
                os.killpg(run.pid, 9)
                resumed += "resumed" in run.stdout.read()
        told = self.run_equal(folder)
        self.assertGreater(resumed, 0)
        self.assertEqual(told["state"], whole["state"])

    def test_state_in_ram_goes_on_from_the_last_commit(self):
        plan = self.plan("commit", "--batch", 4, "--ram", "49KiB", "--reserve", "8KiB", "--no-remat")
        folder, sizes = self.emit(plan, "commit", ("posix",), steps=40)
        self.assertGreater(sizes["storage_blocks"], 0)
        whole = self.run_equal(folder)
        os.remove(os.path.join(folder, "storage.img"))
        self.assertEqual(self.make_run(folder, "STEPS=25").returncode, 0)
        self.assertIn("resumed 25", self.make_run(folder).stdout)
        self.assertEqual(self.run_equal(folder)["state"], whole["state"])

    def test_a_storage_of_another_model_is_left_alone(self):
        plan = self.plan("one", "--batch", 4, "--ram", "48KiB", "--reserve", "8KiB", "--params-in", "aux")
        one, _ = self.emit(plan, "one", ("posix",), steps=3)
        other, _ = self.emit(self.plan("other", "--batch", 2, "--ram", "48KiB", "--reserve", "8KiB", "--params-in", "aux"), "other", ("posix",), steps=3)
        self.run_equal(one)
        with open(os.path.join(one, "storage.img"), "rb") as file:
            before = file.read()
        shutil.copy(os.path.join(one, "storage.img"), other)
        done = self.make_run(other)
        self.assertIn(f"open: status {E_VERSION}", done.stdout)
        with open(os.path.join(other, "storage.img"), "rb") as file:
            self.assertEqual(file.read(), before)
        self.refuse(3, "E0295", "run-firmware", other)

    def test_a_card_that_fails_in_a_step_ends_in_a_status_and_loses_nothing(self):
        plan = self.plan("fails", "--batch", 4, "--ram", "48KiB", "--reserve", "8KiB", "--params-in", "aux")
        folder, _ = self.emit(plan, "fails", ("posix",), steps=10)
        done = self.make_run(folder, "MORE=-DBOARD_FAIL_AFTER_WRITES=150")
        self.assertIn(f"train: status {E_IO}", done.stdout + done.stderr)
        self.assertIn("resumed", self.make_run(folder).stdout)
        self.run_equal(folder)

    def test_a_project_is_as_long_as_its_plan_says(self):
        planned = self.plan("length", "--batch", 2, "--ram", "48KiB", "--reserve", "8KiB", "--steps", 7, "--samples", 64)
        for words, steps in ((), 7), (("--steps", 5), 5):
            folder = self.path(f"length-{steps}")
            self.succeed("emit", planned, "--target", "posix", "--data", self.path("data"), "--samples", 6, *words, "-o", folder)
            self.assertIn(f"step {steps} loss", self.make_run(folder).stdout)
            with open(os.path.join(folder, "model", "run.json")) as file:
                run = json.load(file)
            self.assertEqual((run["steps"], run["training"]["count"]), (steps, 6))

    def test_what_cannot_be_emitted_is_told(self):
        plan = self.plan("small", "--batch", 2, "--ram", "48KiB", "--reserve", "8KiB")
        words = ("--data", self.path("data"), "-o", self.path("none"))
        self.refuse(3, "E0297", "emit", plan, "--target", "cortex-m3", "--board", "toaster", *words)
        self.refuse(3, "E0292", "emit", plan, "--target", "cortex-m0", *words)
        self.refuse(3, "E0294", "run-firmware", self.path("data"))
        with open(plan) as file:
            text = json.load(file)
        del text["x-command"]
        with open(self.path("bare.json"), "w") as file:
            json.dump(text, file)
        self.refuse(3, "E0293", "emit", self.path("bare.json"), "--target", "posix", *words)


if __name__ == "__main__":
    unittest.main()
