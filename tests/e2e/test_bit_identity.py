"""Whatever the plan, the same bits: budgets, paging, recomputing, homes of parameters, threads."""
import json
import math
import os
import random
import unittest

from house import MODEL, House, make_data, onnx_model, onnx_node, onnx_tensor, some, tensors

BATCH = 8
COMMON = ("--batch", BATCH, "--epochs", 1, "--effort", 4, "--device", "host")


def drawing_model(path, draws):
    """Two convolutions, each with a tanh and something drawn behind it (dropout, or noise that is multiplied), a mean and a linear layer."""
    draw = random.Random(5)

    def weight(name, *dims):
        return onnx_tensor(name, dims, [draw.gauss(0, 0.3) for _ in range(math.prod(dims))])
    made = [onnx_tensor("ratio", (), [0.4]), onnx_tensor("training", (), [1], dtype=9), weight("w0", 8, 1, 3, 3), weight("w1", 8, 8, 3, 3), weight("fc", 8, 10)]
    nodes, last = [], "x"
    for layer in range(2):
        nodes += [onnx_node("Conv", [last, f"w{layer}"], [f"c{layer}"]), onnx_node("Tanh", [f"c{layer}"], [f"t{layer}"])]
        if draws == "dropout":
            nodes += [onnx_node("Dropout", [f"t{layer}", "ratio", "training"], [f"d{layer}"])]
        else:
            nodes += [onnx_node("RandomNormalLike", [f"t{layer}"], [f"n{layer}"]), onnx_node("Mul", [f"t{layer}", f"n{layer}"], [f"d{layer}"])]
        last = f"d{layer}"
    nodes += [onnx_node("GlobalAveragePool", [last], ["mean"]), onnx_node("Flatten", ["mean"], ["flat"]), onnx_node("MatMul", ["flat", "fc"], ["y"])]
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ("N", 1, 28, 28), made))
    return path


def recurrent_model(path, beside=False):
    """An LSTM over an image's rows, and a linear layer on its last state; `beside`: and one on the image's pixels."""
    draw = random.Random(6)

    def weight(name, *dims):
        return onnx_tensor(name, dims, [draw.gauss(0, 0.2) for _ in range(math.prod(dims))])
    made = [weight("w", 1, 96, 28), weight("r", 1, 96, 24), weight("b", 1, 192), weight("fc", 24, 10), onnx_tensor("one", (1,), [1], dtype=7),
            onnx_tensor("first", (1,), [0], dtype=7)]
    nodes = [onnx_node("Squeeze", ["x", "one"], ["image"]), onnx_node("Transpose", ["image"], ["rows"], perm=[1, 0, 2]),
             onnx_node("LSTM", ["rows", "w", "r", "b"], ["", "h"]), onnx_node("Squeeze", ["h", "first"], ["last"]), onnx_node("MatMul", ["last", "fc"], ["z" if beside else "y"])]
    if beside:
        made.append(weight("direct", 784, 10))
        nodes += [onnx_node("Flatten", ["x"], ["flat"]), onnx_node("Tanh", ["flat"], ["t"]), onnx_node("MatMul", ["t", "direct"], ["d"]), onnx_node("Add", ["z", "d"], ["y"])]
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ("N", 1, 28, 28), made))
    return path


def convolutions_model(path):
    """Convolutions and activations without norms between them."""
    draw = random.Random(17)

    def weight(name, *dims):
        return onnx_tensor(name, dims, [draw.gauss(0, 0.2) for _ in range(math.prod(dims))])
    made = [weight("w1", 6, 1, 3, 3), weight("b1", 6), weight("w2", 8, 6, 3, 3), weight("w3", 8, 8, 5, 5), weight("fc", 8 * 7 * 7, 10)]
    nodes = [onnx_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1], strides=[2, 2]), onnx_node("Relu", ["c1"], ["r1"]),
             onnx_node("Conv", ["r1", "w2"], ["c2"], pads=[1, 1, 1, 1]), onnx_node("Relu", ["c2"], ["r2"]),
             onnx_node("Conv", ["r2", "w3"], ["c3"], pads=[2, 2, 2, 2], strides=[2, 2]), onnx_node("Relu", ["c3"], ["r3"]),
             onnx_node("Flatten", ["r3"], ["flat"]), onnx_node("MatMul", ["flat", "fc"], ["y"])]
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ("N", 1, 28, 28), made))
    return path


def skipping_model(path):
    """Convolutions of 16 channels with a bias and a relu behind each, one of them over a sum with what came before."""
    draw = random.Random(8)
    made, nodes = [onnx_tensor("fc", (16, 10), [draw.gauss(0, 0.3) for _ in range(160)])], []

    def conv(name, at, inputs, stride):
        for part, dims in ("w", (16, inputs, 3, 3)), ("b", (16,)):
            made.append(onnx_tensor(f"{name}.{part}", dims, [draw.gauss(0, 0.2) for _ in range(math.prod(dims))]))
        nodes.append(onnx_node("Conv", [at, f"{name}.w", f"{name}.b"], [name], pads=[1] * 4, strides=[stride] * 2))

    conv("first", "x", 1, 1)
    nodes.append(onnx_node("Relu", ["first"], ["a"]))
    conv("second", "a", 16, 1)
    nodes.append(onnx_node("Relu", ["second"], ["b"]))
    conv("third", "b", 16, 1)
    nodes += [onnx_node("Add", ["third", "a"], ["sum"]), onnx_node("Relu", ["sum"], ["c"])]
    conv("fourth", "c", 16, 2)
    nodes += [onnx_node("Relu", ["fourth"], ["d"]), onnx_node("GlobalAveragePool", ["d"], ["mean"]), onnx_node("Flatten", ["mean"], ["flat"]),
              onnx_node("MatMul", ["flat", "fc"], ["y"])]
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ("N", 1, 28, 28), made))
    return path


class BitIdentity(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_data(os.path.join(cls.folder, "data"), 10 * BATCH, 16)

    def train(self, name, *words, model=MODEL, seed=7):
        out = self.path(name, "w.safetensors")
        os.makedirs(os.path.dirname(out), exist_ok=True)
        self.succeed("train", model, "--data", self.path("data"), *COMMON, "--seed", seed, "-o", out, *words)
        end = self.log_of(self.path(name, "w.safetensors.jsonl"))[-1]
        self.assertEqual(end["event"], "end")
        self.assertEqual(end["steps"], 10)
        return tensors(out), end

    def least(self, *words, model=MODEL):
        done = self.run_cli("plan", model, *COMMON[:2], "--effort", 4, "--ram", "64KiB", "--format", "json", *words)
        self.assertEqual(done.returncode, 5, done.stderr)
        return json.loads(done.stdout)["min_ram_bytes"]

    def budgets(self, *words):
        most = self.plan_json(MODEL, *COMMON[:2], "--effort", 1, "--ram", "1GiB", *words)["unplanned_peak_bytes"]
        least = self.least(*words)
        self.assertLess(least, 0.9 * most)
        return [least + (most - least) * part // 4 for part in some(range(5), 3)]

    def check(self, optimizer):
        expected, end = self.train("unplanned", "--ram", "1GiB", *optimizer)
        self.assertEqual(end["bytes_paged_out"], 0)
        paged = recomputed = 0
        for switches in ((), ("--no-paging",), ("--no-remat",)):
            for budget in self.budgets(*switches, *optimizer):
                found, end = self.train("planned", "--ram", f"{budget}B", *switches, *optimizer)
                self.assertLessEqual(end["arena_bytes"], budget)
                plan = self.log_of(self.path("planned", "w.safetensors.jsonl"))[0]
                paged += end["bytes_paged_out"] > 0
                recomputed += plan["recomputed"] > 0
                self.same_bits(found, expected, f"with {budget} bytes {switches}")
        self.assertGreater(paged, 0)
        self.assertGreater(recomputed, 0)

    def test_sgd_with_momentum(self):
        for kernels in ("portable", "auto"):
            self.check(("--optimizer", "sgd,momentum=0.9", "--lr", "0.05", "--weight-decay", "1e-4", "--kernels", kernels))

    def test_adam(self):
        for kernels in some(("auto", "portable"), 1):  # SGD asks both
            self.check(("--optimizer", "adam", "--lr", "1e-3", "--kernels", kernels))

    def test_dropout_is_drawn_again_alike(self):
        self.check_drawn_again("dropout")

    def test_noise_is_drawn_again_alike(self):
        self.check_drawn_again("noise")

    def check_drawn_again(self, draws):
        model = drawing_model(self.path(f"{draws}.onnx"), draws)
        expected, end = self.train("unplanned", "--ram", "1GiB", "--lr", "0.1", model=model)
        most, recomputed = end["unplanned_peak_bytes"], 0
        for budget in some(range(most, most // 2, -most // 40), 8):
            done = self.run_cli("plan", model, *COMMON[:2], "--effort", 2, "--ram", f"{budget}B", "--no-paging", "--format", "json")
            if done.returncode != 0:
                break
            if json.loads(done.stdout)["recomputed"] == 0:
                continue
            found, _ = self.train("planned", "--ram", f"{budget}B", "--no-paging", "--lr", "0.1", model=model)
            recomputed += 1
            self.same_bits(found, expected, f"with {budget} bytes")
        self.assertGreater(recomputed, 0)
        other, _ = self.train("other", "--ram", "1GiB", "--lr", "0.1", model=model, seed=8)
        self.assertNotEqual(other, expected)

    def test_signs_and_taps_in_place_of_activations(self):
        only = ("--no-paging", "--no-remat", "--kernels", "portable", "--disable", "fusions")  # a fused norm needs neither
        expected, _ = self.train("plain", "--ram", "1GiB", *only[2:], "--lr", "0.05")
        least = self.least(*only, "--compact-activations")
        self.assertLess(least, 0.95 * self.least(*only))
        found, _ = self.train("saved", "--ram", f"{least}B", *only, "--compact-activations", "--lr", "0.05")
        with open(self.path("saved", "w.safetensors.plan.json")) as file:
            plan = json.load(file)
        names = {op["id"]: op["name"] for op in plan["graph"]["ops"]}
        computed = [names[step["op"]] for step in plan["instructions"] if step["do"] == "compute"]
        for made in (".signs", ".taps"):
            self.assertTrue(any(name.endswith(made) for name in computed), made)
        self.same_bits(found, expected)

    def test_fused_gradients_of_convolutions(self):
        model = convolutions_model(self.path("convolutions.onnx"))
        only = ("--kernels", "portable", "--lr", "0.05")
        expected, _ = self.train("apart", "--ram", "1GiB", "--disable", "fusions", *only, model=model)
        least = self.least(*only[:2], model=model)
        for words in (("--ram", "1GiB"), ("--ram", f"{least}B"), ("--ram", "1GiB", "--threads", 3), ("--ram", "1GiB", "--compact-activations")):
            found, _ = self.train("fused", *words, *only, model=model)
            self.same_bits(found, expected, f"{words}")
        done = self.succeed("plan", model, *COMMON[:2], "--ram", "1GiB", *only[:2], "--dump-after", "rewrite", "-o", self.path("dumped.json"))
        self.assertIn("conv2d_dz", done.stdout + done.stderr)

    def test_fused_convolutions_of_any_kernels(self):
        model = skipping_model(self.path("skipping.onnx"))
        for kernels in "portable", "auto":
            words = ("--ram", "1GiB", "--threads", 1, "--kernels", kernels)
            expected, _ = self.train("apart", "--disable", "fusions", "--lr", "0.05", *words, model=model)
            found, _ = self.train("fused", "--lr", "0.05", *words, model=model)
            self.same_bits(found, expected, kernels)
            done = self.succeed("plan", model, *COMMON[:2], *words, "--dump-after", "rewrite", "-o", self.path("dumped.json"))
            self.assertEqual((done.stdout + done.stderr).count("= conv2d_act"), 4, kernels)

    def test_a_recurrent_network_paged_and_recomputed_by_time_steps(self):
        model = recurrent_model(self.path("recurrent.onnx"))
        expected, end = self.train("unplanned", "--ram", "1GiB", "--lr", "0.1", model=model)
        for switch, moved in (("--no-remat", lambda end, plan: end["bytes_paged_out"]), ("--no-paging", lambda end, plan: plan["recomputed"])):
            found, end = self.train("planned", "--ram", f"{end['unplanned_peak_bytes'] * 8 // 10}B", switch, "--lr", "0.1", model=model)
            self.assertGreater(moved(end, self.log_of(self.path("planned", "w.safetensors.jsonl"))[0]), 0)
            self.same_bits(found, expected, switch)

    def test_parameters_in_storage_and_threads(self):
        for kernels, changes in (("portable", (("--threads", 3), ("--params-in", "aux", "--threads", 1), ("--params-in", "aux", "--threads", 2))),
                                 ("auto", (("--params-in", "aux", "--threads", 1),))):
            words = ("--lr", "0.05", "--optimizer", "sgd,momentum=0.9", "--kernels", kernels)
            expected, _ = self.train("ram", "--ram", "1GiB", "--threads", 1, *words)
            for more in changes:
                found, end = self.train("other", "--ram", "1536KiB", *words, *more)
                self.same_bits(found, expected, f"{kernels} {more}")
                if "aux" in more:
                    self.assertGreater(end["bytes_paged_in"], 0)


if __name__ == "__main__":
    unittest.main()
