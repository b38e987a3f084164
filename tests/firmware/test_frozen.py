"""Frozen layers on a device: read from flash in place, and computed once for every sample."""
import json
import math
import os
import random
import re
import shutil
import subprocess
import unittest

import projects
from house import field, idx, onnx_model, onnx_node, onnx_tensor, tensors

FROZEN = ("--freeze", "w0", "--freeze", "b0", "--freeze", "w1")


@unittest.skipIf(projects.ABSENT, f"not on this machine: {projects.ABSENT}")
class ReadInPlace(projects.Projects):
    def test_frozen_weights_stay_in_flash(self):
        words = ("--batch", 2, "--reserve", "8KiB", "--optimizer", "sgd,momentum=0.9", *FROZEN)
        told = {}
        for name, ram, rom in (("flash", "28KiB", ()), ("ram", "48KiB", ("--rom", "0B"))):
            folder, sizes = self.emit(self.plan(name, *words, "--ram", ram, *rom), name, ("cortex-m4f",))
            told[name] = self.run_equal(folder), sizes
        self.assertEqual(told["flash"][0]["state"], told["ram"][0]["state"])
        self.assertEqual(told["flash"][0]["test"], told["ram"][0]["test"])
        frozen = 4 * (8 * 9 + 8 + 8 * 8 * 9)
        self.assertEqual(told["flash"][1]["read_in_place_bytes"], frozen)
        self.assertEqual(told["flash"][1]["weight_bytes"], told["ram"][1]["weight_bytes"])
        self.assertEqual(told["ram"][1]["read_in_place_bytes"], 0)
        symbols = subprocess.run(["arm-none-eabi-nm", "-S", self.path("flash", "firmware.elf")], capture_output=True, text=True, check=True).stdout
        at, size = re.search(r"^(\S+) (\S+) [rt] rom$", symbols, re.MULTILINE).groups()
        self.assertEqual(int(size, 16), frozen)
        self.assertLess(int(at, 16), 0x20000000)

    def test_frozen_weights_in_ram_are_there_after_a_stop(self):
        plan = self.plan("stopped", "--batch", 4, "--reserve", "8KiB", "--ram", "49KiB", "--no-remat", "--rom", "0B", "--freeze", "w1")
        folder, sizes = self.emit(plan, "stopped", ("posix",), steps=40)
        self.assertGreater(sizes["storage_blocks"], 0)
        whole = self.run_equal(folder)
        os.remove(os.path.join(folder, "storage.img"))
        self.assertEqual(self.make_run(folder, "STEPS=25").returncode, 0)
        self.assertIn("resumed 25", self.make_run(folder).stdout)
        again = self.run_equal(folder)
        self.assertEqual((again["state"], again["test"]), (whole["state"], whole["test"]))

    def test_the_plan_needs_less_ram_by_just_these_bytes(self):
        def arena(*words):
            path = self.plan("roomy", "--batch", 2, "--ram", "1MiB", *FROZEN, *words)
            with open(path) as file:
                return json.load(file)["predicted"]["arena_bytes"]
        self.assertEqual(arena("--rom", "0B") - arena(), 4 * (8 * 9 + 8 + 8 * 8 * 9))


SAMPLES, BATCH = 10, 4
BACKBONE = ("--freeze", "w0", "--freeze", "b0", "--freeze", "dw")
CACHE = ("--feature-cache", "64KiB")
RECORDS = 2 * 512  # before the features' rows and behind them


def two_classes(folder):
    """Five images of each: a bright bar above, or below; and four to test on."""
    draw = random.Random(5)
    os.makedirs(folder)
    for split, count in ("train", SAMPLES), ("t10k", 4):
        images = bytearray()
        for sample in range(count):
            image = bytearray(draw.randbytes(784))
            for at in range(28 * (4 + 14 * (sample % 2)), 28 * (8 + 14 * (sample % 2))):
                image[at] = 255
            images += image
        idx(os.path.join(folder, f"{split}-images-idx3-ubyte"), (count, 28, 28), images)
        idx(os.path.join(folder, f"{split}-labels-idx1-ubyte"), (count,), [sample % 2 for sample in range(count)])


def depthwise(path, with_input=False):
    """A convolution, a depthwise one, means over the rows, a linear layer; or one with a second mean and the image itself beside."""
    draw = random.Random(3)

    def weight(name, *dims):
        return onnx_tensor(name, dims, [draw.gauss(0, 0.3) for _ in range(math.prod(dims))])

    def conv(inputs, output, group):
        return onnx_node("Conv", inputs, [output], strides=[2, 2], pads=[1, 1, 1, 1]) + field(5, field(1, b"group") + field(3, group) + field(20, 2))
    made = [weight("w0", 8, 1, 3, 3), weight("b0", 8), weight("dw", 8, 1, 3, 3), weight("fc", 8 * 7, 2)]
    nodes = [conv(["x", "w0", "b0"], "c0", 1), onnx_node("Relu", ["c0"], ["r0"]), conv(["r0", "dw"], "c1", 8), onnx_node("Relu", ["c1"], ["r1"]),
             onnx_node("AveragePool", ["r1"], ["mean"], kernel_shape=[1, 7], strides=[1, 7]), onnx_node("Flatten", ["mean"], ["flat"]),
             onnx_node("MatMul", ["flat", "fc"], ["y"])]
    if with_input:
        made += [weight("fc0", 8, 2), weight("fcx", 784, 2)]
        nodes[-1] = onnx_node("MatMul", ["flat", "fc"], ["y1"])
        nodes += [onnx_node("GlobalAveragePool", ["r0"], ["mean0"]), onnx_node("Flatten", ["mean0"], ["flat0"]), onnx_node("MatMul", ["flat0", "fc0"], ["y0"]),
                  onnx_node("Flatten", ["x"], ["flatx"]), onnx_node("MatMul", ["flatx", "fcx"], ["yx"]),
                  onnx_node("Add", ["y1", "y0"], ["sum"]), onnx_node("Add", ["sum", "yx"], ["y"])]
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ("N", 1, 28, 28), made))


@unittest.skipIf(projects.ABSENT, f"not on this machine: {projects.ABSENT}")
class Features(projects.Projects):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        two_classes(os.path.join(cls.folder, "two"))
        depthwise(os.path.join(cls.folder, "depthwise.onnx"))
        depthwise(os.path.join(cls.folder, "branches.onnx"), True)

    def plan_of(self, name, *words, model="depthwise.onnx", ram="56KiB"):
        path = self.path(f"{name}.plan.json")
        self.succeed("plan", self.path(model), "--device", "m4", "--effort", 4, "--lr", "0.05", "--optimizer", "sgd,momentum=0.9", "--batch", BATCH, "--ram", ram,
                     "--reserve", "8KiB", *BACKBONE, *words, "-o", path)
        return path

    def emit(self, plan, name, target, *words, steps=12):
        folder = self.path(name)
        done = self.succeed("emit", plan, "--target", *target, "--data", self.path("two"), "--test-samples", 4, "--steps", steps, "--stack", "4KiB",
                            *words, "-o", folder, "--format", "json")
        return folder, json.loads(done.stdout)

    def test_the_backbone_runs_once_for_each_sample(self):
        """On a Cortex-M4F and here, equal to the training that computes it in every step."""
        states = set()
        kept, whole = self.plan_of("kept", *CACHE), self.plan_of("whole")
        self.succeed("verify", kept)
        for target in ("cortex-m4f",), ("posix",):
            folder, sizes = self.emit(kept, f"kept-{target[0]}", target)
            first = self.run_equal(folder)
            self.assertEqual(first["features"], f"{SAMPLES} made {SAMPLES}")
            row = 4 * 8 * 7
            self.assertEqual(sizes["feature_blocks"], 1 + math.ceil(SAMPLES * row / 512))
            state = sizes["storage_blocks"] - sizes["feature_blocks"] - 2  # two rooms
            commits = 3 * 512 * (state // 2 + 1)  # before the first step, after the tenth and the last
            batches = 512 * sum(math.ceil(min(begin + BATCH, SAMPLES) * row / 512) - begin * row // 512 for begin in range(0, SAMPLES, BATCH))
            self.assertEqual(int(first["written"]), commits + RECORDS + batches)
            again = self.run_equal(folder)
            self.assertEqual((again["features"], again["written"]), (f"{SAMPLES} made 0", "0"))
            states |= {(first["state"], first["test"]), (again["state"], again["test"])}
        told = self.run_equal(self.emit(whole, "whole", ("posix",))[0])
        self.assertEqual(told["features"], "")
        states.add((told["state"], told["test"]))
        self.assertEqual(len(states), 1)

    def test_state_in_storage_and_a_card(self):
        kept = self.plan_of("stored", *CACHE, "--params-in", "aux")
        told = self.run_equal(self.emit(kept, "stored", ("cortex-m3",))[0])
        self.assertEqual(told["features"], f"{SAMPLES} made {SAMPLES}")
        self.assertGreater(int(told["paged"].split()[1]), 0)
        other = self.run_equal(self.emit(self.plan_of("stored.whole"), "stored.whole", ("posix",))[0])
        self.assertEqual((told["state"], told["test"]), (other["state"], other["test"]))

    def test_several_features_and_an_input_that_the_head_reads_too(self):
        states = set()
        for name, words in ("branches", CACHE), ("branches.whole", ()):
            told = self.run_equal(self.emit(self.plan_of(name, *words, model="branches.onnx", ram="72KiB"), name, ("posix",))[0])
            states.add((told["state"], told["test"]))
        self.assertEqual(len(states), 1)

    def test_the_host_trains_the_same_plan(self):
        """`pantoum train` of that plan gives what it gives without: the cut is the same on both."""
        for model in "depthwise.onnx", "branches.onnx":
            made = []
            for name, words in ("host", (*CACHE, "--plan", self.plan_of("host", *CACHE, model=model, ram="72KiB"))), ("host.whole", ()):
                out = self.path(name + ".safetensors")
                self.succeed("train", self.path(model), "--data", self.path("two"), "--device", "m4", "--effort", 4, "--lr", "0.05", "--optimizer", "sgd,momentum=0.9",
                             "--batch", BATCH, "--ram", "72KiB", "--reserve", "8KiB", *BACKBONE, "--epochs", 3, *words, "-o", out)
                made.append(tensors(out))
            self.same_bits(*made, model)

    def test_power_lost_while_features_are_made(self):
        """At the record that forgets, in the rows, at the record that keeps: it ends at the same bits."""
        folder, sizes = self.emit(self.plan_of("lost", *CACHE), "lost", ("posix",))
        whole = self.run_equal(folder)
        committed = (sizes["storage_blocks"] - sizes["feature_blocks"] - 2) // 2 + 1
        written = int(whole["written"]) // 512 - 3 * committed
        for block in 0, 1, written - 2, written - 1:
            os.remove(os.path.join(folder, "storage.img"))
            done = self.make_run(folder, f"MORE=-DBOARD_FAIL_AFTER_WRITES={committed + 1 + block}")
            self.assertIn(f"train: status {projects.E_IO}", done.stdout + done.stderr)
            self.assertNotIn("features", done.stdout)
        told = self.run_equal(folder)
        self.assertEqual((told["features"], told["state"]), (f"{SAMPLES} made {SAMPLES}", whole["state"]))
        os.remove(os.path.join(folder, "storage.img"))
        self.make_run(folder, f"MORE=-DBOARD_FAIL_AFTER_WRITES={committed + written + 1}")
        told = self.run_equal(folder)
        self.assertEqual((told["features"], told["state"]), (f"{SAMPLES} made 0", whole["state"]))

    def test_features_of_other_samples_or_a_damaged_record_are_made_again(self):
        plan = self.plan_of("renewed", *CACHE)
        folder, sizes = self.emit(plan, "renewed", ("posix",))
        self.run_equal(folder)
        image = os.path.join(folder, "storage.img")
        with open(image, "r+b") as file:
            file.seek(512 * (sizes["storage_blocks"] - sizes["feature_blocks"]) + 9)
            file.write(b"\xff")
        self.assertIn(f"features {SAMPLES} made {SAMPLES}", self.make_run(folder).stdout)
        self.assertIn(f"features {SAMPLES} made 0", self.make_run(folder).stdout)
        other, _ = self.emit(plan, "renewed.other", ("posix",), "--normalize", "0.5,0.25")
        shutil.copy(image, other)
        self.assertIn(f"features {SAMPLES} made {SAMPLES}", self.make_run(other).stdout)

    def test_a_storage_of_another_model_is_left_alone(self):
        one, _ = self.emit(self.plan_of("mine", *CACHE), "mine", ("posix",), steps=2)
        other, _ = self.emit(self.plan_of("theirs", *CACHE, "--rom", "0B"), "theirs", ("posix",), steps=2)
        self.run_equal(one)
        with open(os.path.join(one, "storage.img"), "rb") as file:
            before = file.read()
        shutil.copy(os.path.join(one, "storage.img"), other)
        self.assertIn(f"open: status {projects.E_VERSION}", self.make_run(other).stdout)
        with open(os.path.join(other, "storage.img"), "rb") as file:
            self.assertEqual(file.read(), before)

    def test_what_cannot_be_kept_is_told(self):
        words = ("--target", "posix", "--data", self.path("two"), "-o", self.path("none"))
        small = self.plan_of("tight", "--feature-cache", "1KiB")
        self.refuse(3, "E0289", "emit", small, *words)
        self.assertEqual(self.run_cli("emit", small, *words, "--samples", 4).returncode, 0)
        plan = ("plan", self.path("depthwise.onnx"), "--batch", BATCH, "--ram", "56KiB")
        self.refuse(2, "E0123", *plan, *CACHE)
        self.refuse(2, "E0110", *plan, *BACKBONE, "--feature-cache", "64")


if __name__ == "__main__":
    unittest.main()
