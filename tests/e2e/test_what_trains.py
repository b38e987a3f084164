"""What trains: the table of inspect, its warning in plan and train, --train and --freeze, the plan file, the exported model."""
import json
import os
import struct
import unittest

from house import House, field, npy, onnx_model, onnx_node, onnx_tensor

EXPORTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "exports")
SCALE = [0.5, 0.25, 2.0]
WORDS = ("--batch", 4, "--ram", "1MiB", "--effort", 1, "--kernels", "portable", "--loss", "mse")


KIND = b"pkg.torch.export.graph_signature.InputSpec.kind"


def model():
    """y = (x w) * scale: a weight and what may be a table."""
    nodes = [onnx_node("MatMul", ["x", "w"], ["a"]), onnx_node("Mul", ["a", "scale"], ["y"])]
    return onnx_model(nodes, ["N", 2], [onnx_tensor("w", [2, 3], [0.1 * i for i in range(6)]), onnx_tensor("scale", [3], SCALE)])


def mark(name, kind):
    """Appended to a model: protobuf merges the two graphs."""
    return field(7, field(13, field(1, name) + field(4, field(1, KIND) + field(2, kind))))


def safetensors(contents):
    header, data = {}, b""
    for name, (shape, values) in contents.items():
        piece = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


class WhatTrains(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(os.path.join(cls.folder, "net.onnx"), "wb") as file:
            file.write(model())
        with open(os.path.join(cls.folder, "marked.onnx"), "wb") as file:
            file.write(model() + mark(b"w", b"PARAMETER") + mark(b"scale", b"BUFFER"))

    def inspect(self, *words, net="net.onnx"):
        done = self.succeed("inspect", self.path(net), "--format", "json", *words)
        found = json.loads(done.stdout)
        return {tensor["name"]: tensor["trains"] for tensor in found["tensors"]}, found["warnings"]

    def test_options_settle_what_is_ambiguous(self):
        trains, warnings = self.inspect()
        self.assertEqual(trains, {"w": "yes", "scale": "ambiguous"})
        self.assertEqual(len(warnings), 1)
        self.assertIn("--freeze 'scale'", warnings[0])
        self.assertEqual(self.inspect("--train", "scale"), ({"w": "yes", "scale": "yes"}, []))
        self.assertEqual(self.inspect("--freeze", "scale"), ({"w": "yes", "scale": "no"}, []))
        self.refuse(2, "E0117", "inspect", self.path("net.onnx"), "--train", "scale", "--freeze", "s*")
        self.refuse(2, "E0104", "inspect", self.path("net.onnx"), "--train", "nothing")

    def test_a_table_in_a_constant_node_trains_if_it_is_named(self):
        tensor = onnx_tensor("", [3], SCALE)
        value = field(1, b"value") + field(5, tensor) + field(20, 4)
        constant = field(2, b"table") + field(4, b"Constant") + field(5, value)
        nodes = [onnx_node("MatMul", ["x", "w"], ["a"]), constant, onnx_node("Mul", ["a", "table"], ["y"])]
        with open(self.path("table.onnx"), "wb") as file:
            file.write(onnx_model(nodes, ["N", 2], [onnx_tensor("w", [2, 3], [0.1 * i for i in range(6)])]))
        self.assertEqual(self.inspect(net="table.onnx"), ({"w": "yes", "table": "no"}, []))
        self.assertEqual(self.inspect("--train", "table", net="table.onnx"), ({"w": "yes", "table": "yes"}, []))
        weights, out = self.path("table.safetensors"), self.path("table.trained.onnx")
        with open(weights, "wb") as file:
            file.write(safetensors({"w": ([2, 3], [1.5] * 6), "table": ([3], [7.25] * 3)}))
        self.succeed("export", self.path("table.onnx"), "--weights", weights, "-o", out)
        with open(out, "rb") as file:
            self.assertIn(struct.pack("<3f", *[7.25] * 3), file.read())

    def test_freeze_may_name_what_is_fixed(self):
        self.assertEqual(self.inspect("--freeze", "scale", net="marked.onnx"), ({"w": "yes", "scale": "no"}, []))
        self.succeed("plan", self.path("marked.onnx"), *WORDS, "--freeze", "scale")
        self.refuse(2, "E0104", "inspect", self.path("marked.onnx"), "--freeze", "nothing")

    def test_emit_repeats_the_warnings_of_plan(self):
        plan = self.path("emitted.plan.json")
        self.succeed("plan", self.path("net.onnx"), *WORDS, "-o", plan)
        done = self.succeed("emit", plan, "--target", "cortex-m4f", "-o", self.path("emitted"))
        self.assertEqual(done.stderr.count("warning: 1 tensor may be"), 1)

    def test_marks_decide(self):
        self.assertEqual(self.inspect(net="marked.onnx"), ({"w": "yes", "scale": "no"}, []))
        self.assertEqual(self.inspect("--train", "scale", net="marked.onnx"), ({"w": "yes", "scale": "yes"}, []))

    def test_a_trained_buffer_is_exported(self):
        weights, out = self.path("trained.safetensors"), self.path("trained.onnx")
        with open(weights, "wb") as file:
            file.write(safetensors({"w": ([2, 3], [1.5] * 6), "scale": ([3], [7.25] * 3)}))
        done = self.succeed("export", self.path("marked.onnx"), "--weights", weights, "-o", out, "--format", "json")
        self.assertEqual(json.loads(done.stdout)["tensors"], 2)
        with open(out, "rb") as file:
            self.assertIn(struct.pack("<3f", *[7.25] * 3), file.read())

    def test_every_verb_takes_the_options_and_warns(self):
        net = self.path("net.onnx")
        plan = self.path("net.plan.json")
        done = self.succeed("plan", net, *WORDS, "-o", plan)
        self.assertEqual(done.stderr.count("warning: 1 tensor may be"), 1)
        done = self.succeed("plan", net, *WORDS, "--train", "scale", "-o", plan)
        self.assertNotIn("warning", done.stderr)
        with open(plan) as file:
            self.assertEqual(json.load(file)["x-model"]["train"], ["scale"])
        self.refuse(2, "E0104", "sweep", net, *WORDS[:2], "--ram", "1MiB", "--loss", "mse", "--train", "nothing", "-o", self.path("sweep"))
        self.refuse(2, "E0104", "plan", net, *WORDS, "--train", "nothing")
        self.refuse(2, "E0117", "plan", net, *WORDS, "--train", "w", "--freeze", "w")

    def test_the_default_export_trains_as_pytorch_does(self):
        """Ties, transposes, merged norms and biases of zeros are undone: PyTorch's losses, and its number of parameters."""
        with open(os.path.join(EXPORTS, "expected.json")) as file:
            expected = json.load(file)
        for name, case in expected.items():
            with self.subTest(name):
                net, data, log = os.path.join(EXPORTS, f"{name}.onnx"), self.path(f"{name}.data"), self.path(f"{name}.jsonl")
                os.makedirs(data)
                integers = isinstance(case["x"][0], int)
                for stem, values, shape, code in (("x_train", case["x"], case["x_shape"], "q" if integers else "f"),
                                                  ("y_train", case["y"], case["y_shape"], "q")):
                    with open(os.path.join(data, f"{stem}.npy"), "wb") as file:
                        file.write(npy("<i8" if code == "q" else "<f4", tuple(shape), struct.pack(f"<{len(values)}{code}", *values)))
                found = json.loads(self.succeed("inspect", net, "--format", "json").stdout)
                self.assertEqual(found["parameters"], case["parameters"])
                self.assertEqual(found["warnings"], [])
                self.succeed("train", net, "--data", data, "--batch", 4, "--ram", "8MiB", "--effort", 1, "--kernels", "portable", "--lr", "0.1",
                             "--optimizer", "sgd,momentum=0.9", "--epochs", len(case["losses"]), "--log", log, "-o", self.path(f"{name}.safetensors"))
                losses = [line["train_loss"] for line in self.log_of(log) if line["event"] == "epoch"]
                self.assertEqual(len(losses), len(case["losses"]))
                for found_loss, loss in zip(losses, case["losses"]):
                    self.assertAlmostEqual(found_loss, loss, delta=1e-5)
                self.succeed("export", net, "--weights", self.path(f"{name}.safetensors"), "-o", self.path(f"{name}.onnx"))
                again = json.loads(self.succeed("inspect", self.path(f"{name}.onnx"), "--format", "json").stdout)
                self.assertEqual(again["parameters"], case["parameters"])

    def test_what_is_folded_is_refused(self):
        net = os.path.join(EXPORTS, "folded.onnx")
        done = self.refuse(4, "E0406", "plan", net, "--ram", "8MiB", "--effort", 1, "--loss", "mse")
        self.assertIn("batch norm 'norm' was folded into 'conv.weight'", done.stderr)
        self.assertIn("from 'direction' (by linalg_vector_norm, div)", done.stderr)
        self.assertEqual(self.run_cli("inspect", net).returncode, 4)
        accepted = self.succeed("plan", net, "--ram", "8MiB", "--effort", 1, "--loss", "mse", "--accept-folded")
        self.assertIn("warning: accepted as folded", accepted.stderr)

    def test_what_merging_hides_is_refused(self):
        done = self.refuse(4, "E0406", "plan", os.path.join(EXPORTS, "lost.onnx"), "--ram", "8MiB", "--effort", 1, "--loss", "mse")
        for lost in ("'%exp'", "'%mul'", "'factor'", "'log_width'"):
            self.assertIn(lost, done.stderr)


if __name__ == "__main__":
    unittest.main()
