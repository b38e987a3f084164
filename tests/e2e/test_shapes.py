"""Open dimensions of a model's file, bound by --shape, in every verb that reads a model."""
import json
import os
import shutil
import struct
import unittest

from house import House, npy, onnx_model, onnx_node, onnx_tensor

COMMON = ("--effort", 1, "--kernels", "portable", "--measure", "off", "--ram", "1MiB")


def network(dims):
    """A convolution, the mean over space, a layer of two classes."""
    nodes = [onnx_node("Conv", ["x", "conv.weight"], ["c"], "conv", pads=[1, 1, 1, 1]), onnx_node("Relu", ["c"], ["r"], "relu"),
             onnx_node("GlobalAveragePool", ["r"], ["p"], "pool"), onnx_node("Flatten", ["p"], ["f"], "flat"), onnx_node("MatMul", ["f", "fc.weight"], ["y"], "fc")]
    tensors = [onnx_tensor("conv.weight", [4, 3, 3, 3], [(at % 7 - 3) / 7 for at in range(108)]), onnx_tensor("fc.weight", [4, 2], [(at % 3 - 1) / 3 for at in range(8)])]
    return onnx_model(nodes, dims, tensors)


class Shapes(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        files = {"open.onnx": network(["N", 3, "H", "W"]), "unnamed.onnx": network(["batch", 3, -1, -1]), "fixed.onnx": network(["N", 3, 8, 6])}
        for name, contents in files.items():
            with open(os.path.join(cls.folder, name), "wb") as file:
                file.write(contents)
        os.makedirs(os.path.join(cls.folder, "data"))
        pixels = b"".join(npy_floats(at) for at in range(8 * 144))
        for stem, contents in (("x_train", npy("<f4", (8, 3, 8, 6), pixels)), ("y_train", npy("<i8", (8,), b"".join((at % 2).to_bytes(8, "little") for at in range(8))))):
            with open(os.path.join(cls.folder, "data", stem + ".npy"), "wb") as file:
                file.write(contents)

    def test_every_verb_takes_them_and_computes_what_the_fixed_file_does(self):
        made = {}
        for model, shape, batch in (("fixed.onnx", (), ("--batch", 4)), ("open.onnx", ("--shape", "x=N,3,8,6"), ("--batch", 4)), ("open.onnx", ("--shape", "H=8", "--shape", "W=6"), ("--batch", 4)),
                                    ("unnamed.onnx", ("--shape", "x=4,3,8,6"), ())):
            with self.subTest(model, shape=shape):
                words = (self.path(model), *shape, *batch)
                seen = json.loads(self.succeed("inspect", *words, "--format", "json").stdout)
                self.assertEqual((seen["exit"], seen["inputs"][0].split(",", 1)[1]), (0, "3,8,6]"))
                plan, out, log = self.path("plan.json"), self.path("out.safetensors"), self.path("run.jsonl")
                self.succeed("plan", *words, *COMMON, "-o", plan)
                self.succeed("train", "--plan", plan, "--data", self.path("data"), "--epochs", 2, "-o", out, "--log", log)
                losses = [line["train_loss"] for line in self.log_of(log) if line["event"] == "epoch"]
                self.succeed("train", *words, *COMMON, "--data", self.path("data"), "--epochs", 2, "-o", out, "--log", log)
                self.assertEqual(losses, [line["train_loss"] for line in self.log_of(log) if line["event"] == "epoch"])
                self.succeed("sweep", *words, "--effort", 1, "--kernels", "portable", "--measure", "off", "--ram", "1MiB", "-o", self.path("swept"))
                self.succeed("explain", plan)
                self.succeed("export", self.path(model), *shape, "--weights", out, "-o", self.path("out.onnx"))
                self.succeed("emit", plan, "--target", "posix", "-o", self.path("project"))
                made.setdefault("losses", losses)
                self.assertEqual(losses, made["losses"])
                for name in ("swept", "project"):
                    shutil.rmtree(self.path(name))

    def test_the_error_says_what_to_write(self):
        done = self.refuse(3, "E0210", "plan", self.path("open.onnx"), "--batch", 4, "--ram", "1MiB")
        self.assertIn("--shape 'x=N,3,H,W', with numbers in place of H, W", done.stderr)
        done = self.refuse(3, "E0210", "plan", self.path("unnamed.onnx"), "--batch", 4, "--ram", "1MiB")
        self.assertIn("--shape 'x=N,3,D2,D3', with numbers in place of D2, D3", done.stderr)

    def test_what_does_not_fit_is_refused_by_name(self):
        for shape, words in (("x=N,3,8", "input 'x' has 4 dimensions"), ("x=N,1,8,6", "fixes dimension 1 of input 'x' at 3"), ("z=N,3,8,6", "no input and no dimension 'z'"), ("x=5,3,8,6", "--batch is 4")):
            done = self.refuse(3, "E0210", "plan", self.path("open.onnx"), "--batch", 4, "--ram", "1MiB", "--shape", shape)
            self.assertIn(words, done.stderr)
            self.assertIn("--shape " + shape, done.stderr)


def npy_floats(at):
    return struct.pack("<f", (at * 7919 % 101) / 101)


if __name__ == "__main__":
    unittest.main()
