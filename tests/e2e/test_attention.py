"""Attention in blocks: the same bits in less RAM, or other bits where that was asked for, and then for good."""
import json
import math
import os
import random
import struct
import unittest

from house import House, field, make_data, onnx_model, onnx_node, onnx_tensor, tensors

BATCH, ROWS, WIDTH, HEADS = 4, 28, 16, 2
COMMON = ("--batch", BATCH, "--effort", 2)
PORTABLE = ("--kernels", "portable")
TIGHT = "160KiB"  # less than the step takes unplanned without it
OTHER_BITS = ("--kernels", "onednn", "--allow-numerics-change", "--measure", "off")


def constant(name, dims, values):
    tensor = field(1, b"value") + field(5, onnx_tensor("", dims, values)) + field(20, 4)
    return field(2, name.encode()) + field(4, b"Constant") + field(5, tensor)


def transformer(path, causal, layers=2):
    """An image's rows as tokens, decoder layers without norms (GPT's mask) or encoder layers, and a linear layer on the mean."""
    draw = random.Random(3)
    made, nodes = [], []

    def weight(name, *dims):
        made.append(onnx_tensor(name, dims, [draw.gauss(0, 0.2) for _ in range(math.prod(dims))]))
        return name

    def op(kind, inputs, **attributes):
        name = f"made{len(nodes)}"
        nodes.append(onnx_node(kind, inputs, [name], **attributes))
        return name
    nodes += [constant("root", (), [math.sqrt(WIDTH // HEADS)]),
              constant("mask", (ROWS, ROWS), [-math.inf if column > row else 0 for row in range(ROWS) for column in range(ROWS)])]
    made += [onnx_tensor("rows", (3,), [0, ROWS, 28], dtype=7), onnx_tensor("heads", (4,), [0, ROWS, HEADS, WIDTH // HEADS], dtype=7),
             onnx_tensor("joined", (3,), [0, ROWS, WIDTH], dtype=7)]
    x = op("MatMul", [op("Reshape", ["x", "rows"]), weight("embed", 28, WIDTH)])
    for layer in range(layers):
        q, k, v = (op("Reshape", [op("MatMul", [x, weight(f"{name}{layer}", WIDTH, WIDTH)]), "heads"]) for name in "qkv")
        q, v, k = op("Transpose", [q], perm=[0, 2, 1, 3]), op("Transpose", [v], perm=[0, 2, 1, 3]), op("Transpose", [k], perm=[0, 2, 3, 1])
        scores = op("Div", [op("MatMul", [q, k]), "root"])
        weights = op("Softmax", [op("Add", [scores, "mask"]) if causal else scores], axis=3)
        y = op("Transpose", [op("MatMul", [weights, v])], perm=[0, 2, 1, 3])
        x = op("Add", [x, op("Tanh", [op("MatMul", [op("Reshape", [y, "joined"]), weight(f"o{layer}", WIDTH, WIDTH)])])])
    nodes.append(onnx_node("MatMul", [op("ReduceMean", [x], axes=[1], keepdims=0), weight("head", WIDTH, 10)], ["y"]))
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ("N", 1, 28, 28), made))
    return path


class Attention(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_data(os.path.join(cls.folder, "data"), 6 * BATCH, 8)

    def model(self, causal=True):
        path = transformer(self.path("gpt.onnx" if causal else "bert.onnx"), causal)
        return (path, *COMMON)

    def plan(self, *words, causal=True):
        return self.plan_json(*self.model(causal), "--ram", "1GiB", *words)

    def train(self, name, *words, causal=True, epochs=1):
        out = self.path(name, "w.safetensors")
        os.makedirs(os.path.dirname(out), exist_ok=True)
        self.succeed("train", *self.model(causal), "--data", self.path("data"), "--lr", "0.05", "-o", out, "--epochs", epochs, *words)
        return tensors(out), self.log_of(out + ".jsonl")[-1]

    def ops(self, *words, ram="1GiB"):
        done = self.succeed("plan", *self.model(), "--ram", ram, *words, "-o", self.path("p.json"), "--dump-after", "autodiff")
        return [line.split(" = ")[1].split("(")[0] for line in (done.stdout + done.stderr).splitlines() if " = " in line and "(" in line]

    def test_the_same_bits_in_less_ram(self):
        for causal, bytes_apart, bytes_fused in ((True, 196608, 141312), (False, 193024, 137728)):
            apart, fused = (self.plan(*PORTABLE, *words, causal=causal) for words in (("--disable", "fusions"), ()))
            self.assertEqual((apart["unplanned_peak_bytes"], fused["unplanned_peak_bytes"]), (bytes_apart, bytes_fused))
            expected, _ = self.train("apart", *PORTABLE, "--ram", "1GiB", "--disable", "fusions", causal=causal)
            for words in (("--ram", "1GiB"), ("--ram", "1GiB", "--threads", 3), ("--ram", f"{fused['unplanned_peak_bytes'] * 4 // 5}B")):
                found, _ = self.train("fused", *PORTABLE, *words, causal=causal)
                self.same_bits(found, expected, f"{causal} {words}")

    def test_a_budget_that_was_too_small_is_enough(self):
        for switches, share in ((("--no-paging",), 0.9), ((), 0.95)):
            least = []
            for words in (("--disable", "fusions"), ()):
                done = self.run_cli("plan", *self.model(), *PORTABLE, "--ram", "16KiB", *switches, *words, "--format", "json")
                self.assertEqual(done.returncode, 5, done.stderr)
                least.append(json.loads(done.stdout)["min_ram_bytes"])
            self.assertLess(least[1], share * least[0], switches)
            self.succeed("plan", *self.model(), *PORTABLE, "--ram", f"{least[1]}B", *switches, "-o", self.path("small.json"))
            self.succeed("verify", self.path("small.json"))

    def test_devices_have_it(self):
        apart, fused = (self.plan("--device", "m4", *words) for words in (("--disable", "fusions"), ()))
        self.assertEqual((apart["unplanned_peak_bytes"], fused["unplanned_peak_bytes"]), (192136, 125832))

    def test_other_bits_are_asked_for_and_kept(self):
        if self.run_cli("plan", *self.model(), "--ram", "1GiB", "--kernels", "onednn").returncode != 0:
            self.skipTest("no oneDNN here")
        self.assertNotIn("attention", self.ops("--kernels", "onednn"))
        self.assertIn("attention_grad", self.ops(*OTHER_BITS, ram=TIGHT))
        self.assertNotIn("attention", self.ops(*OTHER_BITS))  # it fits without
        self.assertNotIn("attention", self.ops("--kernels", "onednn", ram=TIGHT))
        self.assertNotIn("attention", self.ops(*OTHER_BITS, "--disable", "fusions", ram=TIGHT))
        plain, _ = self.train("plain", "--kernels", "onednn", "--ram", "1GiB")
        found, _ = self.train("asked", *OTHER_BITS, "--ram", TIGHT)
        self.assertNotEqual(found, plain)
        self.assertEqual(plain.keys(), found.keys())
        self.near(found, plain, 1e-4)

    def near(self, found, expected, bound):
        for name, data in expected.items():
            pairs = zip(struct.unpack(f"<{len(data) // 4}f", data), struct.unpack(f"<{len(data) // 4}f", found[name]))
            self.assertLess(max(abs(a - b) for a, b in pairs), bound, name)

    def test_a_run_goes_on_as_it_began(self):
        if self.run_cli("plan", *self.model(), "--ram", "1GiB", "--kernels", "onednn").returncode != 0:
            self.skipTest("no oneDNN here")
        same = ("--ram", TIGHT, "--kernels", "onednn", "--threads", 1)
        asked = (*same, "--allow-numerics-change", "--measure", "off")
        whole, _ = self.train("whole", *asked, epochs=2)
        self.train("half", *asked, "--checkpoint-every", 3)
        resumed, _ = self.train("resumed", *same, "--measure", "off", "--resume", self.path("half", "w.safetensors.checkpoint"), epochs=2)
        self.same_bits(resumed, whole)


if __name__ == "__main__":
    unittest.main()
