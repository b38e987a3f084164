"""Micro-batches, clipping, schedules, judging: what the options of a training promise, whatever the budget."""
import json
import math
import os
import random
import struct
import unittest

from house import MODEL, House, make_data, npy, onnx_model, onnx_node, onnx_tensor, tensors


def floats(data):
    return struct.unpack(f"<{len(data) // 4}f", data)


def metadata(path):
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        return json.loads(file.read(size))["__metadata__"]


def perceptron(path, hidden=24):
    """28x28 -> hidden -> 10, without batch normalization."""
    draw = random.Random(4)
    weights = [onnx_tensor("w1", (784, hidden), [draw.uniform(-.05, .05) for _ in range(784 * hidden)]), onnx_tensor("b1", (hidden,), [0.0] * hidden),
               onnx_tensor("w2", (hidden, 10), [draw.uniform(-.3, .3) for _ in range(hidden * 10)])]
    nodes = [onnx_node("Flatten", ["x"], ["flat"], "flatten"), onnx_node("Gemm", ["flat", "w1", "b1"], ["h"], "first"),
             onnx_node("Relu", ["h"], ["r"], "relu"), onnx_node("MatMul", ["r", "w2"], ["y"], "second")]
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ["N", 28, 28], weights))
    return path


class Training(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data = make_data(os.path.join(cls.folder, "data"), 16 * 8, 40)
        cls.model = perceptron(os.path.join(cls.folder, "model.onnx"))

    def train(self, name, *words, model=None):
        out = self.path(name + ".safetensors")
        given = {"--batch": 16, "--effort": 1, "--lr": 0.05, "--seed": 3, "--ram": "4MiB", "--kernels": "portable"}
        for option in words:
            given.pop(option, None)
        self.succeed("train", model or self.model, "--data", self.data, *sum(given.items(), ()), "-o", out, "--log", out + ".jsonl", *words)
        return out

    def log(self, out, event):
        return [line for line in self.log_of(out + ".jsonl") if line["event"] == event]

    def test_micro_batches_are_one_batch_in_parts(self):
        for optimizer in ("sgd", "adamw"):
            options = ("--optimizer", optimizer, "--clip-norm", "2", "--epochs", 2)
            whole, parts = self.train("whole", *options), self.train("parts", *options, "--batch", 4, "--accumulate", 4)
            for name, data in tensors(whole).items():
                for a, b in zip(floats(data), floats(tensors(parts)[name])):
                    self.assertAlmostEqual(a, b, delta=2e-5)
            self.assertAlmostEqual(self.log(whole, "end")[0]["final_loss"], self.log(parts, "end")[0]["final_loss"], delta=1e-5)
            self.assertEqual(self.log(parts, "end")[0]["steps"], 16)

    def test_no_budget_and_no_home_changes_a_bit_of_them(self):
        options = ("--optimizer", "sgd,momentum=0.9", "--clip-norm", "1", "--clip-value", "0.2", "--batch", 4, "--accumulate", 3)
        for kernels in (("--kernels", "portable", "--threads", 3), ("--kernels", "auto", "--threads", 1)):
            expected = tensors(self.train("roomy", *options, *kernels, model=MODEL))
            roomy = self.log(self.path("roomy.safetensors"), "end")[0]["arena_bytes"]
            for more in (("--ram", f"{roomy * 17 // 20}B"), ("--params-in", "aux")):
                self.same_bits(tensors(self.train("tight", *options, *kernels, *more, model=MODEL)), expected, (kernels, more))
        options += ("--kernels", "portable", "--threads")
        one, four = (tensors(self.train("threads", *options, threads, model=MODEL)) for threads in (1, 4))
        self.assertEqual(one, four)

    def test_a_resumed_run_follows_its_schedule_and_its_standing(self):
        pace = ("--schedule", "cosine,to=1e-4,warmup=10%", "--lr", "0.002")
        options = ("--optimizer", "rmsprop", "--epochs", 4, "--batch", 8, "--accumulate", 2, "--judge", "accuracy", "--keep-best", self.path("best"))
        whole = self.train("unbroken", *options, *pace)
        rates = [line["lr"] for line in self.log(whole, "step")]
        self.assertAlmostEqual(rates[0], 0.002 / 3)
        self.assertAlmostEqual(rates[1], 1e-4 + (0.002 - 1e-4) * (1 + math.cos(math.pi * 16 / 29)) / 2, msg="step 20 of 32, 3 to warm up")
        best = metadata(self.path("best"))
        point = self.path("point")
        for every, step in ((21, "21"), (24, "24")):  # in the midst of an epoch; at the end of one, before its evaluation
            first = self.train("first", *options, *pace, "--checkpoint-every", every, "--checkpoint", point)
            self.same_bits(tensors(first), tensors(whole))
            self.assertEqual(metadata(point)["step"], step)
            rest = self.train("rest", *options, "--resume", point, "--lr", "0.5")  # the resume point knows better
            self.same_bits(tensors(rest), tensors(whole))
            self.assertEqual(metadata(rest), metadata(whole))
            self.assertEqual(metadata(self.path("best")), best)

    def test_it_stops_when_nothing_becomes_better(self):
        stopped = self.train("stopped", "--optimizer", "sgd", "--lr", "0", "--epochs", 9, "--early-stop", 2, "--keep-best", self.path("first"))
        self.assertEqual(len(self.log(stopped, "epoch")), 3, "nothing is better than the first, and two are waited for")
        self.assertTrue(self.log(stopped, "end")[0]["stopped_early"])
        self.assertEqual(metadata(self.path("first"))["step"], "8")
        self.assertEqual([line.get("best") for line in self.log(stopped, "epoch")], [True, None, None])

    def test_metrics_are_told(self):
        log = self.log(self.train("measured", "--metrics", "top5,perplexity", "--loss", "cross_entropy,smoothing=0.05", "--epochs", 3), "end")[0]
        self.assertGreaterEqual(log["test_top5"], log["test_accuracy"])
        self.assertGreater(log["test_perplexity"], 1)

    def test_clipping_by_the_norm_asks_for_room(self):
        words = ("--batch", 16, "--ram", "4MiB", "--effort", 1, "--optimizer", "sgd")
        plain, clipped = self.plan_json(self.model, *words), self.plan_json(self.model, *words, "--clip-norm", "1")
        self.assertGreater(clipped["unplanned_peak_bytes"], plain["unplanned_peak_bytes"], "all gradients live until their norm is known")

    def two_heads(self):
        """28x28 -> 24 -> 10 classes and 3 numbers; with arrays for both."""
        draw, folder = random.Random(8), self.path("heads")
        os.makedirs(folder, exist_ok=True)
        weights = [onnx_tensor(name, dims, [draw.uniform(-.1, .1) for _ in range(dims[0] * dims[1])])
                   for name, dims in (("w1", (784, 24)), ("w2", (24, 10)), ("w3", (24, 3)))]
        nodes = [onnx_node("Flatten", ["x"], ["flat"], "flatten"), onnx_node("MatMul", ["flat", "w1"], ["h"], "first"), onnx_node("Tanh", ["h"], ["t"], "tanh"),
                 onnx_node("MatMul", ["t", "w2"], ["kind"], "second"), onnx_node("MatMul", ["t", "w3"], ["place"], "third")]
        with open(os.path.join(folder, "model.onnx"), "wb") as file:
            file.write(onnx_model(nodes, ["N", 28, 28], weights, ("kind", "place")))
        for split, count in (("train", 64), ("test", 22)):
            kinds = [draw.randrange(10) for _ in range(count)]
            arrays = {"x": npy("|u1", (count, 28, 28), b"".join(bytes([25 * kind] * 392) + draw.randbytes(392) for kind in kinds)),
                      "kind": npy("<i8", (count,), struct.pack(f"<{count}q", *kinds)),
                      "place": npy("<f4", (count, 3), struct.pack(f"<{3 * count}f", *(value for kind in kinds for value in (kind / 10, -kind / 10, 0.5))))}
            for name, data in arrays.items():
                with open(os.path.join(folder, f"{name}_{split}.npy"), "wb") as file:
                    file.write(data)
        return os.path.join(folder, "model.onnx"), folder

    def test_several_outputs_are_trained_together(self):
        model, data = self.two_heads()
        words = ("train", model, "--data", data, "--ram", "4MiB", "--kernels", "portable", "--effort", 1, "--seed", 2, "--log", self.path("heads.jsonl"), "-o", self.path("heads.safetensors"),
                 "--loss", "kind=cross_entropy,smoothing=0.1", "--loss", "place=smooth_l1,beta=0.5,weight=2", "--metrics", "mae")
        def ends(*more):
            self.succeed(*words, *more)
            return [line for line in self.log_of(self.path("heads.jsonl")) if line["event"] == "epoch"]
        log = ends("--batch", 16, "--epochs", 6, "--lr", "0.05", "--prefetch", 2, "--accumulate", 2)
        for name, measure in (("kind", "loss"), ("place", "loss"), ("place", "mae")):
            self.assertLess(log[-1]["outputs"][name][measure], log[0]["outputs"][name][measure], name)
        self.assertGreater(log[-1]["outputs"]["kind"]["accuracy"], log[0]["outputs"]["kind"]["accuracy"] - 0.01)
        self.assertAlmostEqual(log[-1]["test_loss"], sum(output["loss"] for output in log[-1]["outputs"].values()))
        whole, parts = (ends("--batch", batch, "--lr", "0")[0] for batch in (22, 7))  # 22 samples: 7 leaves rows to fill
        self.assertAlmostEqual(whole["test_loss"], parts["test_loss"], 5)
        for name in ("kind", "place"):
            for measure, value in whole["outputs"][name].items():
                self.assertAlmostEqual(value, parts["outputs"][name][measure], 5, (name, measure))
        os.remove(os.path.join(data, "place_test.npy"))
        self.assertIn("place_test.npy or y2_test.npy", self.refuse(3, "E0262", *words, "--batch", 16).stderr)

    def test_words_that_do_not_fit_are_refused(self):
        def refuse(code, *words):
            self.refuse(2, code, "train", self.model, "--data", self.data, "--batch", 16, "--ram", "4MiB", "-o", self.path("x"), *words)
        refuse("E0117", "--optimizer", "adam,momentum=0.9")
        refuse("E0117", "--optimizer", "adagrad,nesterov")
        refuse("E0117", "--optimizer", "sgd,nesterov")
        refuse("E0116", "--optimizer", "adam,beta1=1")
        refuse("E0115", "--optimizer", "sgd,momentum=0.9,momentum=0.8")
        refuse("E0100", "--momentum", "0.9")
        refuse("E0116", "--lr", "-1")
        refuse("E0115", "--loss", "hinge")
        refuse("E0117", "--loss", "mse,beta=2")
        refuse("E0116", "--loss", "cross_entropy,smoothing=1.5")
        refuse("E0115", "--metrics", "f1")
        refuse("E0117", "--loss", "mse", "--judge", "accuracy", "--early-stop", 2)
        refuse("E0115", "--loss", "cross_entropy,classes_last=2")
        refuse("E0115", "--schedule", "step")
        refuse("E0116", "--schedule", "cosine,warmup=soon")
        refuse("E0115", "--schedule", "cosine,warmup=3,warmup=3")
        self.refuse(4, "E0403", "plan", self.model, "--batch", 16, "--ram", "4MiB", "--loss", "z=mse")

    def test_a_resume_point_of_other_micro_batches_is_refused(self):
        self.train("halves", "--batch", 8, "--accumulate", 2)
        self.refuse(3, "E0243", "train", self.model, "--data", self.data, "--batch", 8, "--ram", "4MiB", "--effort", 1, "--accumulate", 4, "-o",
                    self.path("x"), "--resume", self.path("halves.safetensors"))


if __name__ == "__main__":
    unittest.main()
