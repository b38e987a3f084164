"""`predict` writes what a trained model gives, `eval` measures it: files of every format agree, with a plan and with a model, with labels and without."""
import ast
import csv
import json
import os
import random
import re
import shutil
import struct
import unittest
import zipfile

from house import MODEL, House, make_data, onnx_model, onnx_node, onnx_tensor

TYPES = {"<f4": "f", "<i8": "q"}


def npy(data):
    """(shape, flat values) of an NPY file's bytes."""
    size = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:10 + size].decode())
    count = 1
    for extent in header["shape"]:
        count *= extent
    return header["shape"], struct.unpack(f"<{count}{TYPES[header['descr']]}", data[10 + size:])


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Predict(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data, cls.weights = make_data(os.path.join(cls.folder, "data"), 64, 37), os.path.join(cls.folder, "w.safetensors")
        cls.plan = os.path.join(cls.folder, "plan.json")
        cls().succeed("train", MODEL, "--data", cls.data, "--batch", 16, "--ram", "8MiB", "--effort", 1, "--measure", "off", "--kernels", "portable",
                      "--plan-out", cls.plan, "-o", cls.weights)

    def predict(self, *words, of=None, data=None):
        told = self.succeed("predict", of or self.plan, "--weights", self.weights, "--data", data or self.data, *words, "--format", "json")
        return json.loads(told.stdout)

    def test_files_of_every_format_hold_the_same(self):
        told = self.predict("-o", self.path("o.npy"))
        self.assertEqual(told["samples"], 37)
        shape, values = npy(read(self.path("o.npy")))
        self.assertEqual(list(shape), told["arrays"][0]["shape"])
        self.predict("-o", self.path("o.npz"))
        with zipfile.ZipFile(self.path("o.npz")) as archive:
            self.assertIsNone(archive.testzip())
            self.assertEqual(npy(archive.read(archive.namelist()[0])), (shape, values))
        self.predict("-o", self.path("o.csv"))
        with open(self.path("o.csv"), newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))[1:]
        self.assertEqual([struct.unpack("<f", struct.pack("<f", float(cell)))[0] for row in rows for cell in row], list(values))
        piped = self.run_cli("predict", self.plan, "--weights", self.weights, "--data", self.data, "-o", "-")
        self.assertEqual(piped.stdout, read(self.path("o.csv")).decode())

    def test_parts_of_the_data(self):
        self.assertEqual(self.predict("--split", "train", "-o", self.path("a.npy"))["samples"], 64)
        self.assertEqual(self.predict("--split", "all", "-o", self.path("b.npy"))["samples"], 64 + 37)
        _, train = npy(read(self.path("a.npy")))
        self.assertEqual(npy(read(self.path("b.npy")))[1][:len(train)], train)

    def test_the_evaluation_counts_what_the_outputs_say(self):
        self.predict("--top", 1, "-o", self.path("top.npz"))
        with zipfile.ZipFile(self.path("top.npz")) as archive:
            _, given = npy(archive.read("class.npy"))
        labels = read(os.path.join(self.data, "t10k-labels-idx1-ubyte"))[8:]
        told = json.loads(self.succeed("eval", self.plan, "--weights", self.weights, "--data", self.data, "--format", "json").stdout)
        right = sum(a == b for a, b in zip(given, labels))
        self.assertAlmostEqual(told["test_accuracy"], right / 37)
        self.assertEqual(sum(told["confusion"][at][at] for at in range(10)), right)
        self.assertEqual(sum(map(sum, told["confusion"])), 37)
        with open(self.weights + ".jsonl", encoding="utf-8") as file:
            end = json.loads(file.read().splitlines()[-1])
        self.assertEqual(told["test_loss"], end["test_loss"])
        self.assertIn("confusion", self.succeed("eval", self.plan, "--weights", self.weights, "--data", self.data).stdout)

    def test_a_model_in_place_of_a_plan_and_data_without_labels(self):
        self.predict("-o", self.path("plan.npy"))
        bare = self.path("bare")
        os.makedirs(bare, exist_ok=True)
        shutil.copy(os.path.join(self.data, "t10k-images-idx3-ubyte"), bare)  # a test set alone
        told = self.predict("--batch", 16, "--kernels", "portable", "--ram", "8MiB", "-o", self.path("model.npy"), of=MODEL, data=bare)
        self.assertEqual(told["batch"], 16)
        self.assertEqual(read(self.path("model.npy")), read(self.path("plan.npy")), "the plan's batch and kernels: the same bits")
        self.assertLessEqual(told["arena_bytes"], 8 << 20)
        self.assertEqual(self.predict("-o", self.path("free.npy"), of=MODEL, data=bare)["batch"], 32)
        draw = random.Random(0)
        with open(self.path("points.csv"), "w", encoding="utf-8") as file:
            for _ in range(5):
                file.write(",".join(str(draw.randrange(256)) for _ in range(784)) + "\n")
        self.assertEqual(self.predict("-o", self.path("c.csv"), data=self.path("points.csv"))["samples"], 5)

    def test_a_model_predicts_in_the_ram_of_its_outputs(self):
        """Less than any plan of a training step takes; the bits are those of the plan."""
        base = ("--batch", 16, "--kernels", "portable")
        common = ("--weights", self.weights, "--data", self.data)
        self.predict("-o", self.path("plan.npy"))

        def refusal(verb, *words):
            return self.refuse(5, "E0301", verb, MODEL, *common, *base, "--ram", "1KiB", *words).stderr

        training = int(float(re.search(r"below ([\d.]+) KiB nothing fits", refusal("eval"))[1]))
        outputs = int(re.search(r"help: --ram (\d+)KiB", refusal("predict", "-o", self.path("no.npy")))[1])
        self.assertLess(outputs, training)
        for ram in (outputs, (outputs + training) // 2, training):
            told = self.predict(*base, "--ram", f"{ram}KiB", "-o", self.path("less.npy"), of=MODEL)
            self.assertEqual(read(self.path("less.npy")), read(self.path("plan.npy")))
            self.assertLessEqual(told["arena_bytes"], ram << 10)
            self.refuse(5, "E0301", "eval", MODEL, *common, *base, "--ram", f"{ram}KiB")

    def test_what_the_outputs_do_not_need_takes_no_ram(self):
        """Inputs and weights of another head: predicted without them, in the data and in the arena."""
        draw = random.Random(1)
        heads = [onnx_tensor(name, [784, width], [draw.gauss(0, 0.03) for _ in range(784 * width)]) for name, width in (("w", 10), ("unused", 600))]
        net, weights = self.path("heads.onnx"), self.path("heads.safetensors")
        with open(net, "wb") as file:
            file.write(onnx_model([onnx_node("Flatten", ["x"], ["flat"]), onnx_node("MatMul", ["flat", "w"], ["y"]), onnx_node("MatMul", ["flat", "unused"], ["z"]),
                                   onnx_node("ReduceMean", ["z"], ["means"], axes=[0], keepdims=0)], ("N", 1, 28, 28), heads, ("y", "means")))
        base = ("--batch", 8, "--kernels", "portable")
        self.succeed("train", net, "--data", self.data, *base, "--effort", 1, "--measure", "off", "--plan-out", self.path("heads.json"), "-o", weights)
        given = ("--weights", weights, "--data", self.data)
        self.succeed("predict", self.path("heads.json"), *given, "-o", self.path("one.npy"))
        told = json.loads(self.succeed("predict", net, *given, *base, "-o", self.path("other.npy"), "--format", "json").stdout)
        self.assertEqual(read(self.path("one.npy")), read(self.path("other.npy")))
        self.assertLess(told["arena_bytes"], 784 * 600 * 4)

    def test_an_output_that_is_left_out_is_named_wherever_a_plan_is_made(self):
        draw = random.Random(0)
        net = self.path("two.onnx")
        with open(net, "wb") as file:
            file.write(onnx_model([onnx_node("Flatten", ["x"], ["flat"]), onnx_node("MatMul", ["flat", "w"], ["y"]), onnx_node("ReduceMean", ["y"], ["means"], axes=[0], keepdims=0)],
                                  ("N", 1, 28, 28), [onnx_tensor("w", [784, 10], [draw.gauss(0, 0.03) for _ in range(7840)])], ("y", "means")))
        told = "note: predict leaves out the output 'means', f32[10]: its first dimension is not the batch of 8"
        base = ("--batch", 8, "--ram", "8MiB", "--effort", 1, "--measure", "off", "--kernels", "portable")
        self.assertIn(told, self.succeed("plan", net, *base, "-o", self.path("two.json")).stderr)
        self.assertIn(told, self.succeed("train", "--plan", self.path("two.json"), "--data", self.data, "-o", self.path("two.safetensors")).stderr)
        weights = ("--weights", self.path("two.safetensors"), "--data", self.data)
        self.assertIn(told, self.succeed("predict", self.path("two.json"), *weights, "-o", self.path("two.npy")).stderr)
        self.assertEqual(npy(read(self.path("two.npy")))[0], (37, 10))
        self.assertIn(told, self.succeed("emit", self.path("two.json"), "--target", "posix", "-o", self.path("two")).stderr)

    def test_what_cannot_be_is_told(self):
        base = ("--weights", self.weights, "--data", self.data)
        for code, words in (("E0117", ("-o", self.path("o.txt"))), ("E0117", ("-o", self.path("o.npy"), "--top", 3)), ("E0117", ("-o", self.path("o.csv"), "--top", 11)),
                            ("E0231", ("-o", self.path("o.npy"), "--batch", 4)), ("E0100", ("-o", self.path("o.npy"), "--split", "half")), ("E0100", ())):
            done = self.run_cli("predict", self.plan, *base, *words)
            self.assertIn(code, done.stderr)
            self.assertNotEqual(done.returncode, 0)
        self.assertIn("E0262", self.run_cli("predict", self.plan, "--weights", self.weights, "--data", self.path("nothing"), "-o", self.path("o.npy")).stderr)
        self.assertIn("E0240", self.run_cli("predict", self.plan, "--weights", MODEL, "--data", self.data, "-o", self.path("o.npy")).stderr)


if __name__ == "__main__":
    unittest.main()
