"""inspect: a summary, nodes where they are asked for, all problems, the exit code of train, hints; train --shuffle off."""
import json
import os
import struct
import unittest

from house import MODEL, House, npy, onnx_model, onnx_node, onnx_tensor


class Inspect(House):
    def file(self, name, contents):
        with open(self.path(name), "wb") as file:
            file.write(contents)
        return self.path(name)

    def test_a_summary_comes_first_and_nodes_are_asked_for(self):
        text = self.succeed("inspect", MODEL).stdout
        starts = [line.split()[0] for line in text.splitlines()[1:7]]
        self.assertEqual(starts, ["inputs", "outputs", "trains", "memory", "ops", "problems"])
        self.assertNotIn("forward yes", text)
        self.assertIn("forward yes", self.succeed("inspect", MODEL, "--nodes").stdout)
        self.assertIn("hint: integer labels", text)
        self.assertNotIn("hint:", self.succeed("inspect", MODEL, "--loss", "cross_entropy,smoothing=0.1").stdout)

    def test_it_exits_as_train_would(self):
        def weight(*dims):
            count = 1
            for dim in dims:
                count *= dim
            return onnx_tensor("w", list(dims), [0.5] * count)
        misfit = self.file("misfit.onnx", onnx_model([onnx_node("MatMul", ["x", "w"], ["y"])], [2, 4], [weight(3, 5)]))
        odd = self.file("odd.onnx", onnx_model([onnx_node("Frobnicate", ["x"], ["y"])], [2, 4]))
        empty = self.file("empty.onnx", onnx_model([onnx_node("Relu", ["x"], ["y"])], [2, 4]))
        for model, code in ((misfit, 3), (odd, 4), (empty, 4)):
            self.assertEqual(self.run_cli("inspect", model).returncode, code, model)
            found = self.run_cli("inspect", model, "--format", "json")
            self.assertEqual((found.returncode, json.loads(found.stdout)["exit"]), (code, code), model)
            self.assertEqual(self.run_cli("plan", model, "--ram", "1MiB", "--effort", 1).returncode, code, model)

    def test_files_that_onnx_forbids_exit_with_3_for_every_verb(self):
        """Forms of nodes that ONNX does not have, wherever they stand: told with the node, and valid JSON."""
        weight = [onnx_tensor("w", [4, 4], [0.5] * 16), onnx_tensor("i", [4], [0, 1, 2, 3], 7)]
        forms = {"few": ("MatMul", ["x"], {}), "many": ("Relu", ["x", "w"], {}), "gap": ("MatMul", ["", "w"], {}), "list": ("Concat", ["x", ""], {"axis": 0}),
                 "types": ("Add", ["x", "i"], {}), "dtype": ("MatMul", ["x", "i"], {}) , "unknown": ("Relu", ["x"], {"surprise": 1}),
                 "lists": ("Softmax", ["x"], {"axis": [1]}), "needed": ("Concat", ["x", "w"], {}), "later": ("Gelu", ["x"], {}), "type": ("Cast", ["x"], {"to": 0}),
                 "\x1b[2J\"": ("Relu", ["x", "w"], {})}
        for name, (op, inputs, ints) in forms.items():
            nodes = [onnx_node("MatMul", ["x", "w"], ["h"]), onnx_node(op, inputs, ["z"], name=name, **ints), onnx_node("Add", ["h", "z"], ["y"])]
            model = self.file("form.onnx", onnx_model(nodes, [4, 4], weight))
            text, found = self.run_cli("inspect", model), self.run_cli("inspect", model, "--format", "json")
            self.assertEqual((text.returncode, found.returncode), (3, 3), name)
            self.assertNotIn("\x1b", text.stdout)
            told = json.loads(found.stdout)
            self.assertEqual((told["refusal"], told["exit"]), ("E0211", 3), name)
            self.assertEqual([node["name"] for node in told["nodes"] if node["problem"]], [name])
            done = self.refuse(3, "E0211", "plan", model, "--ram", "1MiB", "--effort", 1)
            self.assertNotIn("\x1b", done.stderr)

    def test_names_that_are_no_text(self):
        odd = self.file("bytes.onnx", onnx_model([onnx_node("MatMul", ["x", "w"], ["y"])], [2, 4], [onnx_tensor("w", [4, 2], [0.5] * 8)]).replace(b"w", b"\xb7"))
        self.assertIn("'\\xb7'", self.refuse(3, "E0207", "inspect", odd).stderr)
        told = json.loads(self.run_cli("inspect", odd, "--format", "json").stderr)
        self.assertEqual((told["error"], told["exit"]), ("E0207", 3))

    def test_tokens_get_the_hint_for_their_classes(self):
        model = onnx_model([onnx_node("Gather", ["w", "x"], ["y"])], ["N", 5], [onnx_tensor("w", [7, 3], [0.5] * 21)], dtype=7)
        text = self.succeed("inspect", self.file("tokens.onnx", model)).stdout
        self.assertIn("cross_entropy,classes_last", text)

    def test_the_order_of_the_data_can_be_kept(self):
        """With batches of 2 of 4 samples, what the first step sees decides the first loss: 0 and 1, or shuffled."""
        model = self.file("line.onnx", onnx_model([onnx_node("MatMul", ["x", "w"], ["y"])], ["N", 1], [onnx_tensor("w", [1, 1], [0.0])]))
        data = self.path("line")
        os.makedirs(data)
        values = [1.0, 2.0, 40.0, 80.0, 300.0, 700.0]
        for stem in ("x_train", "y_train"):
            with open(os.path.join(data, f"{stem}.npy"), "wb") as file:
                file.write(npy("<f4", (6, 1), struct.pack("<6f", *(values if stem == "y_train" else [0.0] * 6))))
        words = ("train", model, "--data", data, "--batch", 2, "--loss", "mse", "--ram", "1MiB", "--effort", 1, "--kernels", "portable", "--seed", 3,
                 "--epochs", 2, "--lr", "0.1")

        def losses(name, *more):
            log = self.path(f"{name}.jsonl")
            self.succeed(*words, "--log", log, "--log-every", 1, "-o", self.path(f"{name}.safetensors"), *more)
            return [line["loss"] for line in self.log_of(log) if line["event"] == "step"]
        kept = [(a * a + b * b) / 2 for a, b in zip(values[::2], values[1::2])]
        self.assertEqual(losses("off", "--shuffle", "off"), kept * 2)
        self.assertNotEqual(losses("on"), kept * 2)
        half = self.path("half.point")
        self.succeed(*words[:-4], "--epochs", 1, "--lr", "0.1", "--shuffle", "off", "--checkpoint-every", 2, "--checkpoint", half, "-o", self.path("half"))
        self.assertEqual(losses("resumed", "--resume", half), kept[2:] + kept)
        self.assertEqual(losses("named", "--resume", half, "--shuffle", "off"), kept[2:] + kept)
        done = self.refuse(3, "E0243", *words, "--resume", half, "--shuffle", "on", "-o", self.path("none"))
        self.assertIn("takes the samples in the data's own order, and --shuffle is on here", done.stderr)
        self.refuse(2, "E0100", *words, "--shuffle", "sometimes", "-o", self.path("none"))


if __name__ == "__main__":
    unittest.main()
