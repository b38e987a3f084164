"""Emitted projects whose ops are computed in slices: in less RAM than one of their ops needs whole, with the host's bits."""
import json
import os
import random
import unittest

from projects import E_FULL, E_NUMBER, Projects, network
from house import onnx_model, onnx_node, onnx_tensor
from sequences import encoder, words

E_STATE = 8


class Slices(Projects):
    """The network of projects.py with more channels: a convolution's operands and weights exceed the RAM that is planned for."""
    RAM = ("--batch", 1, "--ram", "20KiB", "--reserve", "8KiB", "--params-in", "aux")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        network(os.path.join(cls.folder, "net.onnx"), channels=32)

    def sliced(self, name, optimizer="sgd,momentum=0.9", lr=0.05):
        path = self.plan(name, *self.RAM, "--optimizer", optimizer, lr=lr)
        with open(path) as file:
            plan = json.load(file)
        ops = {op["id"]: op for op in plan["graph"]["ops"]}
        streams = [step for step in plan["instructions"] if step["do"] == "compute" and "stream" in ops[step["op"]]["choices"][step["choice"]]]
        self.assertTrue(streams)
        return path, plan

    def test_the_bits_of_the_host_on_this_machine_and_on_boards(self):
        path, plan = self.sliced("bits")
        self.refuse(5, "E0301", "plan", self.path("net.onnx"), "--device", "m4", *self.RAM, "--disable", "slices", "-o", self.path("none"))
        states = set()
        for target in ("posix",), ("cortex-m3", "--board", "mps2-an385"), ("cortex-m4f",), ("cortex-m7",), ("cortex-m55",):
            folder, sizes = self.emit(path, "bits-" + target[0], target, stack="4KiB", steps=4)
            told = self.run_equal(folder)
            states.add(told["state"])
            self.assertEqual(sizes["arena_bytes"], plan["predicted"]["arena_bytes"])
            self.assertEqual(told["worn"], 4 * (sizes["step_written_bytes"] + sizes["commit_bytes"]))
        self.assertEqual(len(states), 1)

    def test_a_transformer(self):
        """Its largest activation is three times the arena."""
        plan, data, folder = self.path("encoder.plan.json"), words(self.path("encoder-words"), 4, 24), self.path("encoder")
        self.succeed("plan", encoder(self.path("encoder.onnx"), 24), "--device", "m4", "--effort", 2, "--batch", 1, "--ram", "16KiB", "--reserve", "8KiB", "--params-in", "aux",
                     "--optimizer", "sgd,momentum=0.9", "-o", plan)
        self.succeed("emit", plan, "--target", "posix", "--data", data, "--samples", 3, "--steps", 2, "--storage-image", "--stack", "4KiB", "-o", folder)
        told = self.run_equal(folder)
        self.assertLessEqual(told["device"]["arena_bytes"], 8 << 10)

    def test_an_sd_card(self):
        path, _ = self.sliced("card")
        folder, _ = self.emit(path, "card", ("cortex-m3",), steps=3)
        self.run_equal(folder)
        self.assertIn("resumed 3", self.make_run(folder, "STEPS=5").stdout)

    def test_blocks_that_are_checked(self):
        path, _ = self.sliced("checked")
        folder, sizes = self.emit(path, "checked", ("posix",), "--check-blocks", steps=3)
        told = self.run_equal(folder)
        self.assertEqual(told["worn"], 3 * (sizes["step_written_bytes"] + sizes["commit_bytes"]))

    def test_an_image_of_the_storage(self):
        path, _ = self.sliced("image")
        for target, more in (("posix", ()), ("posix", ("--check-blocks",)), ("cortex-m4f", ())):
            name = target + "".join(more)
            beside, plain = self.emit(path, "plain-" + name, (target,), *more, steps=3)
            folder, sizes = self.emit(path, "image-" + name, (target,), "--storage-image", *more, steps=3)
            self.assertEqual(os.path.getsize(os.path.join(folder, "model", "storage.img")), sizes["storage_blocks"] * 512)
            self.assertEqual(sizes["storage_image_bytes"], sizes["storage_blocks"] * 512)
            self.assertLess(sizes["weight_bytes"], plain["weight_bytes"])
            told = self.run_equal(folder)
            self.assertEqual(told["state"], self.run_equal(beside)["state"])
            self.assertEqual(self.run_equal(folder, "--fresh")["state"], told["state"])

    def test_a_storage_without_its_image(self):
        path, _ = self.sliced("empty")
        folder, sizes = self.emit(path, "empty", ("posix",), "--storage-image", steps=3)
        image = os.path.join(folder, "storage.img")
        with open(image, "wb") as file:
            file.truncate(sizes["storage_blocks"] * 512)
        self.assertIn(f"open: status {E_STATE}", self.make_run(folder).stdout)
        with open(image, "rb") as file:
            self.assertFalse(any(file.read()))  # nothing was written
        with open(image, "wb") as file:
            file.truncate((sizes["storage_blocks"] - 1) * 512)
        self.assertIn(f"open: status {E_FULL}", self.make_run(folder).stdout)

    def test_an_image_that_is_not_to_be_had(self):
        plan = self.plan("ram", "--batch", 1, "--ram", "256KiB", "--reserve", "8KiB")
        self.refuse(3, "E0291", "emit", plan, "--target", "posix", "--storage-image", "-o", self.path("refused"))

    def wide(self, name, lr):
        """Two linear layers, the first one of 1.2 MB."""
        draw = random.Random(2)
        made = [onnx_tensor("w", (784, 400), [draw.gauss(0, 0.05) for _ in range(784 * 400)]), onnx_tensor("v", (400, 10), [draw.gauss(0, 0.05) for _ in range(4000)])]
        nodes = [onnx_node("Flatten", ["x"], ["f"]), onnx_node("MatMul", ["f", "w"], ["h"]), onnx_node("Relu", ["h"], ["r"]), onnx_node("MatMul", ["r", "v"], ["y"])]
        with open(self.path(name + ".onnx"), "wb") as file:
            file.write(onnx_model(nodes, ("N", 1, 28, 28), made))
        plan = self.path(name + ".plan.json")
        self.succeed("plan", self.path(name + ".onnx"), "--device", "m4", "--effort", 2, *self.RAM, "--lr", lr, "-o", plan)
        return plan

    def test_weights_that_are_larger_than_the_board(self):
        words = ("emit", self.wide("wide", 0.05), "--target", "cortex-m3", "--data", self.path("data"), "--samples", 8, "--steps", 2, "--stack", "4KiB")
        refused = self.refuse(3, "E0292", *words, "-o", self.path("wide"))
        self.assertIn("--storage-image", refused.stderr)
        self.succeed(*words, "--storage-image", "-o", self.path("wide"))
        self.run_equal(self.path("wide"))

    def test_a_weight_in_a_slice_that_is_no_number(self):
        folder, _ = self.emit(self.wide("infinite", 1e30), "infinite", ("posix",), "--storage-image", steps=40)
        for _ in range(2):  # a later run goes on from what was finite, and ends there again
            done = self.make_run(folder, "MORE=-DTELL_EVERY=1")
            self.assertIn(f"train: status {E_NUMBER}\n", done.stdout, done.stderr)
        self.assertIn("resumed", done.stdout)


if __name__ == "__main__":
    unittest.main()
