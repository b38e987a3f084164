"""Steps in less RAM than one of their ops needs whole: trained in slices, with the bits of unlimited RAM."""
import json
import math
import os
import random
import re
import unittest

from house import MODEL, House, make_data, onnx_model, onnx_node, onnx_tensor, tensors
from sequences import WIDTH, WORDS, encoder, sentences, words

COMMON = ("--epochs", 1, "--effort", 2, "--device", "host", "--kernels", "portable", "--measure", "off", "--threads", 1, "--params-in", "aux")


def images(path):
    """Convolutions (one depthwise, one with strides), batch norms, a residual, pooling, a mean, a linear layer."""
    draw = random.Random(3)
    made, nodes = [onnx_tensor("fc", (24, 10), [draw.gauss(0, 0.2) for _ in range(240)])], []

    def weight(name, *dims):
        made.append(onnx_tensor(name, dims, [draw.gauss(0, 1 / math.sqrt(math.prod(dims[1:]))) for _ in range(math.prod(dims))]))

    def conv(source, name, channels, of, **attributes):
        weight(name + ".w", channels, of, 3, 3)
        nodes.append(onnx_node("Conv", [source, name + ".w"], [name], pads=[1, 1, 1, 1], **attributes))
        for part, value in (("scale", 1), ("bias", 0), ("mean", 0), ("var", 1)):
            made.append(onnx_tensor(f"{name}.{part}", (channels,), [value] * channels))
        nodes.append(onnx_node("BatchNormalization", [name] + [f"{name}.{part}" for part in ("scale", "bias", "mean", "var")],
                               [name + ".n", name + ".rm", name + ".rv"], training_mode=1))
        return name + ".n"

    first = conv("x", "c0", 16, 1)
    nodes.append(onnx_node("Relu", [first], ["r0"]))
    second = conv("r0", "c1", 16, 1, group=16)
    nodes.append(onnx_node("Add", [second, "r0"], ["sum"]))
    nodes.append(onnx_node("MaxPool", ["sum"], ["pool"], kernel_shape=[2, 2], strides=[2, 2]))
    third = conv("pool", "c2", 24, 16, strides=[2, 2])
    nodes += [onnx_node("Relu", [third], ["r2"]), onnx_node("GlobalAveragePool", ["r2"], ["mean"]), onnx_node("Flatten", ["mean"], ["flat"]),
              onnx_node("MatMul", ["flat", "fc"], ["y"])]
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ("N", 1, 28, 28), made))
    return path


class Slices(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data = make_data(os.path.join(cls.folder, "data"), 24)
        cls.images = images(os.path.join(cls.folder, "images.onnx"))

    def train(self, model, name, *more, batch=1, data=None):
        out = self.path(name + ".safetensors")
        plan = self.path(name + ".plan.json")
        self.succeed("train", model, "--data", data or self.data, *COMMON, "--batch", batch, *more, "-o", out, "--plan-out", plan)
        with open(plan) as file:
            return tensors(out), json.load(file), plan

    def streams(self, plan):
        ops = {op["id"]: op for op in plan["graph"]["ops"]}
        return [step for step in plan["instructions"] if step["do"] == "compute" and "stream" in ops[step["op"]]["choices"][step["choice"]]]

    def test_the_same_bits(self):
        for model, shares in ((self.images, (0.33, 0.25)), (MODEL, (0.19,))):
            expected, whole, _ = self.train(model, "whole")
            self.assertFalse(self.streams(whole))
            for share in shares:
                ram = int(whole["predicted"]["arena_bytes"] * share)
                found, plan, path = self.train(model, f"sliced{share}", "--ram", f"{ram}B")
                self.assertTrue(self.streams(plan), (model, share))
                self.assertLessEqual(plan["predicted"]["arena_bytes"], ram)
                self.same_bits(found, expected, (model, share))
                self.succeed("verify", path)

    def test_a_plan_is_used_again(self):
        _, whole, _ = self.train(self.images, "again.whole")
        ram = int(whole["predicted"]["arena_bytes"] * 0.33)
        found, plan, path = self.train(self.images, "again.first", "--ram", f"{ram}B")
        self.assertTrue(self.streams(plan))
        out = self.path("again.second.safetensors")
        self.succeed("train", "--plan", path, "--data", self.data, "--epochs", 1, "-o", out)
        self.same_bits(tensors(out), found)

    def test_a_batch_that_norms_are_cut_along(self):
        expected, whole, _ = self.train(self.images, "batch.whole", batch=24)
        ram = int(whole["predicted"]["arena_bytes"] * 0.15)
        found, plan, _ = self.train(self.images, "batch.sliced", "--ram", f"{ram}B", batch=24)
        ops = {op["id"]: op for op in plan["graph"]["ops"]}
        cuts = [(ops[step["op"]]["name"], ops[step["op"]]["choices"][step["choice"]]["algorithm"]) for step in self.streams(plan)]
        self.assertTrue([name for name, cut in cuts if ".n" in name and re.search(r"slices .*\b1:", cut)], cuts)  # axis 1: samples
        self.assertLessEqual(plan["predicted"]["arena_bytes"], ram)
        self.same_bits(found, expected)

    def test_a_table_that_is_larger_than_the_budget(self):
        model, data = sentences(self.path("sentences.onnx")), words(self.path("words"), 8)
        table = 4 * WORDS * WIDTH
        for optimizer in ("sgd", "sgd,momentum=0.9", "sparse_adam"):
            expected, _, _ = self.train(model, "table.whole", "--optimizer", optimizer, batch=2, data=data)
            found, plan, path = self.train(model, "table.sliced", "--optimizer", optimizer, "--ram", f"{table // 4}B", batch=2, data=data)
            self.assertLessEqual(plan["predicted"]["arena_bytes"], table // 4)
            self.same_bits(found, expected, optimizer)
            self.succeed("verify", path)

    def test_a_transformer_in_the_least_that_is_known(self):
        """Every op that is larger is cut: parts along the dimension that is split or joined, the first word and its gradient, products of heads, dropout."""
        model, data = encoder(self.path("encoder.onnx"), 24), words(self.path("encoder"), 3, 24)
        momentum = ("--optimizer", "sgd,momentum=0.9")
        expected, whole, _ = self.train(model, "encoder.whole", *momentum, data=data)
        refused = self.run_cli("plan", model, *COMMON[2:], "--batch", 1, *momentum, "--ram", "1KiB", "--format", "json")
        self.assertEqual(refused.returncode, 5, refused.stderr)
        least = json.loads(refused.stdout)["min_ram_bytes"]
        found, plan, path = self.train(model, "encoder.least", *momentum, "--ram", f"{least}B", data=data)
        self.assertLessEqual(plan["predicted"]["arena_bytes"], least)
        self.same_bits(found, expected)
        self.succeed("verify", path)
        largest = max(tensor["bytes"] for tensor in plan["graph"]["tensors"] if not tensor["name"].endswith("table"))
        self.assertLess(least, largest)
        self.assertLess(least, 5 << 10)

    def test_what_a_refusal_says_is_true(self):
        """No plan is smaller than the proved least; with the least that is known there is a plan."""
        words = ("plan", self.images, "--batch", 1, "--effort", 2, "--kernels", "portable", "--measure", "off", "--threads", 1, "--params-in", "aux", "--format", "json")
        known, proved = [], []
        for budget in (1 << 10, 3 << 10, 9 << 10, 27 << 10, 81 << 10):
            done = self.run_cli(*words, "--ram", f"{budget}B")
            if done.returncode == 0:
                known.append(json.loads(done.stdout)["arena_bytes"])
                continue
            self.assertEqual(done.returncode, 5, done.stderr)
            told = json.loads(done.stdout)
            proved.append(told["min_ram_bound_bytes"])
            again = self.succeed(*words, "--ram", f"{told['min_ram_bytes']}B")
            known.append(json.loads(again.stdout)["arena_bytes"])
        self.assertTrue(proved)
        self.assertLessEqual(max(proved), min(known))

    def test_a_step_that_fits_whole_is_planned_whole(self):
        _, whole, _ = self.train(self.images, "fits.whole")
        ram = int(whole["predicted"]["arena_bytes"] * 0.8)
        _, plan, _ = self.train(self.images, "fits", "--ram", f"{ram}B")
        self.assertFalse(self.streams(plan))

    def sliced_plan(self, name, share=0.33):
        _, whole, _ = self.train(self.images, name + ".whole")
        ram = int(whole["predicted"]["arena_bytes"] * share)
        _, plan, path = self.train(self.images, name, "--ram", f"{ram}B")
        self.assertTrue(self.streams(plan))
        return ram, plan, path

    def test_explain_says_what_slices_cost(self):
        ram, plan, path = self.sliced_plan("why")
        why = json.loads(self.succeed("explain", path, "--format", "json").stdout)
        ops = {op["id"]: op for op in plan["graph"]["ops"]}
        bytes_of = {tensor["id"]: tensor["bytes"] for tensor in plan["graph"]["tensors"]}
        taken = {step["op"]: ops[step["op"]]["choices"][step["choice"]] for step in plan["instructions"] if step["do"] == "compute"}
        in_slices = {op: choice for op, choice in taken.items() if "slices" in choice}
        self.assertTrue(in_slices)
        self.assertEqual({entry["op"] for entry in why["streamed"]}, set(in_slices))
        for entry in why["streamed"]:
            choice = in_slices[entry["op"]]
            self.assertEqual(entry["slices"], choice["slices"])
            loops = re.search(r"in slices ([\d:,]+)", choice["algorithm"]).group(1).split(",")
            self.assertIn(len(entry["slices"]) - len(loops), (0, 1), choice["algorithm"])  # norms have a loop of passes more
            stream = choice.get("stream", {})
            op = ops[entry["op"]]
            self.assertEqual(entry["once_bytes"], sum(bytes_of[op["inputs"][at]] for at in stream.get("in", [])) + sum(bytes_of[op["outputs"][at]] for at in stream.get("out", [])))
            self.assertGreaterEqual(entry["bytes_in"] + entry["bytes_out"], entry["once_bytes"])
            self.assertLessEqual(entry["needs_bytes"], ram)
            if entry["next"]:
                self.assertGreater(entry["next"]["more_bytes"], 0)
        told = why["slices"]
        self.assertGreater(told["widest_whole"]["bytes"], ram)
        self.assertGreater(told["ops_beyond"], 0)
        self.assertLessEqual(told["widest_in_slices"]["bytes"], plan["predicted"]["arena_bytes"])
        needs, energies = [[way[key] for way in told["ways"]] for key in ("needs_bytes", "energy_j")]
        self.assertEqual(sorted(needs, reverse=True), needs)
        self.assertEqual(len(why["next_bytes"]), 5)
        self.assertIn(ram + 1024, [probe["ram_bytes"] for probe in why["next_bytes"]])
        self.assertEqual(len(energies), len(needs))
        text = self.succeed("explain", path).stdout
        self.assertIn(f"op {told['widest_whole']['name']} needs the most RAM as a whole", text)
        self.assertRegex(text, r"\d+( x \d+)* slices")

    def test_the_report_has_slices(self):
        _, plan, path = self.sliced_plan("told")
        report = json.loads(self.succeed("report", path, "--format", "json").stdout)
        computes = report["schedule"]["computes"]
        self.assertEqual(sum(computes["slices"]), sum("slices" in choice for choice in self.choices(plan)))
        self.assertGreater(report["costs"]["storage"]["sliced_in_s"], 0)
        page = self.path("told.html")
        self.succeed("report", path, "-o", page)
        with open(page) as file:
            text = file.read()
        for part in ("Computed in slices", "The storage during a step", "from storage"):
            self.assertIn(part, text)

    def choices(self, plan):
        ops = {op["id"]: op for op in plan["graph"]["ops"]}
        return [ops[step["op"]]["choices"][step["choice"]] for step in plan["instructions"] if step["do"] == "compute"]

    def test_inspect_says_what_forces_slices(self):
        words = ("inspect", self.images, "--batch", 1, "--kernels", "portable", "--params-in", "aux")
        free = json.loads(self.succeed(*words, "--format", "json").stdout)["ops"]
        self.assertEqual((free["ops_beyond"], free["in_slices"], free["ways"]), (0, False, []))
        ram = free["widest_whole"]["bytes"] // 2
        ops = json.loads(self.succeed(*words, "--ram", f"{ram}B", "--format", "json").stdout)["ops"]
        self.assertTrue(ops["in_slices"])
        self.assertGreater(ops["ops_beyond"], 0)
        self.assertLess(ops["widest_in_slices"]["bytes"], ram)
        self.assertTrue(any(way["slices"] and way["needs_bytes"] <= ram for way in ops["ways"]), ops["ways"])
        refusal = self.run_cli("plan", self.images, "--batch", 1, "--effort", 1, "--kernels", "portable", "--measure", "off", "--threads", 1, "--params-in", "aux", "--ram", "1KiB",
                               "--format", "json")
        least = json.loads(refusal.stdout)
        small = json.loads(self.succeed(*words, "--ram", "1KiB", "--format", "json").stdout)["ops"]
        self.assertLessEqual(small["widest_in_slices"]["bytes"], least["min_ram_bytes"])
        text = self.succeed(*words, "--ram", f"{ram}B").stdout
        self.assertIn(f"op {ops['widest_whole']['name']} needs the most RAM as a whole", text)

    def test_what_lacks_for_slices_is_named(self):
        words = (self.images, "--batch", 1, "--kernels", "portable", "--params-in", "ram", "--ram", "16KiB")
        told = self.succeed("inspect", *words).stdout
        self.assertIn("with --params-in aux ops are computed in slices", told)
        refused = self.refuse(5, "E0301", "plan", *words, "--effort", 1, "--measure", "off")
        self.assertIn("--params-in aux", refused.stderr)
        self.succeed("plan", *(word if word != "ram" else "aux" for word in words), "--effort", 1, "--measure", "off")

    def test_a_sweep_goes_below_the_size_of_an_op(self):
        words = (self.images, "--batch", 1, "--effort", 1, "--kernels", "portable", "--measure", "off", "--threads", 1, "--params-in", "aux")
        whole = json.loads(self.succeed("inspect", self.images, "--batch", 1, "--kernels", "portable", "--params-in", "aux", "--format", "json").stdout)
        widest, peak = whole["ops"]["widest_whole"]["bytes"], whole["unplanned_peak_bytes"]
        budgets = [widest // 4, widest // 2, 2 * widest, peak]
        folder = self.path("sweep")
        self.succeed("sweep", *words, "--ram", ",".join(f"{each}B" for each in budgets), "-o", folder)
        with open(os.path.join(folder, "sweep.json")) as file:
            rows = json.load(file)["rows"]
        self.assertEqual([row["ram_bytes"] for row in rows], budgets)
        energies = [row["energy_j"] for row in rows]
        self.assertEqual(sorted(energies, reverse=True), energies)
        for row in rows:
            self.assertLessEqual(row["arena_bytes"], row["ram_bytes"])
            path = os.path.join(folder, "plans", f"pantoum-{row['ram_bytes']}.plan.json")
            self.succeed("verify", path)
            with open(path) as file:
                self.assertEqual(bool(self.streams(json.load(file))), row["ram_bytes"] < widest, row["ram_bytes"])
        again = self.succeed("sweep", *words, "--ram", "auto", "-o", self.path("auto"), "--format", "json")
        self.assertLess(json.loads(again.stdout)["rows"][0]["ram_bytes"], widest)

    def test_disabled(self):
        _, whole, _ = self.train(self.images, "off.whole")
        ram = int(whole["predicted"]["arena_bytes"] * 0.33)
        self.refuse(5, "E0301", "train", self.images, "--data", self.data, *COMMON, "--batch", 1, "--ram", f"{ram}B", "--disable", "slices", "-o", self.path("off.safetensors"))


if __name__ == "__main__":
    unittest.main()
