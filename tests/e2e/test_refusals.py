"""Refusals as files, and claims that `verify` refuses."""
import copy
import json
import math
import os
import pathlib
import unittest

from house import House, m4_costgraph, onnx_model, onnx_node, onnx_tensor

LAYERS = 4


def towers():
    """Two chains forward, then both back, nothing computed again: in the graph's order all outputs are there at once."""
    tensors, ops = [], []

    def add(inputs, size, cost):
        number = len(ops)
        tensors.append({"id": number, "name": f"t{number}", "bytes": size})
        ops.append({"id": number, "name": f"op{number}", "inputs": inputs, "outputs": [number], "recompute": False, "choices": [{"time_s": cost, "energy_j": cost}]})
        return number
    states = [[], []]
    for tower in states:
        for _ in range(LAYERS):
            tower.append(add(tower[-1:], 1000, 2))
    for tower in states:
        gradient = add([tower[-1]], 8, 1)
        for state in reversed(tower):
            gradient = add([gradient, state], 8, 1)
    return {"schema": "pantoum.costgraph/1", "name": "towers", "tensors": tensors, "ops": ops, "order": list(range(len(ops))),
            "device": {"name": "toy", "ram_bytes": 100000, "align_bytes": 1, "idle_w": 0.0, "engines": ["cpu"], "pager": {"mode": "none"}}}


class Refusals(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.towers = cls.path(cls, "towers.json")
        pathlib.Path(cls.towers).write_text(json.dumps(towers()))
        cls.graph, cls.peak = m4_costgraph(cls.folder)

    def refused(self, name, *words):
        """A refusal that verify accepts, as JSON."""
        path = self.path(name)
        self.refuse(5, "E0301", "plan", *words, "--effort", 1, "--write-refusal", path)
        self.assertIn("no plan answers the question", self.succeed("verify", path).stdout)
        return json.loads(pathlib.Path(path).read_text())

    def forged(self, good, *place_and_value):
        *place, value = place_and_value
        made = copy.deepcopy(good)
        at = made
        for key in place[:-1]:
            at = at[key]
        at[place[-1]] = value
        path = self.path("forged.json")
        pathlib.Path(path).write_text(json.dumps(made))
        return path

    def table_plan(self, *words):
        """A plan of a step that reads 16 rows of a table of 20,000 x 32 (2.44 MiB), or its refusal; in 256 KiB."""
        model = self.path("table.onnx")
        nodes = [onnx_node("Gather", ["table", "x"], ["e"]), onnx_node("ReduceMean", ["e"], ["p"], axes=[1], keepdims=0), onnx_node("MatMul", ["p", "w"], ["y"])]
        weights = [onnx_tensor("table", [20000, 32], [0.1] * 640000), onnx_tensor("w", [32, 3], [0.1] * 96)]
        if not os.path.exists(model):
            pathlib.Path(model).write_bytes(onnx_model(nodes, ["N", 4], weights, dtype=7))
        ram = () if "--ram" in words else ("--ram", "256KiB")
        return self.run_cli("plan", model, "--batch", 4, *ram, "--effort", 1, "--measure", "off", "--kernels", "portable", "--format", "json", *words)

    def refused_table(self, *words):
        """The notes and the help of the refusal."""
        done = self.table_plan(*words)
        self.assertIn(done.returncode, (5, 6), done.stderr)
        error = json.loads(done.stderr.splitlines()[-1])
        return "\n".join(error["notes"]), error["help"]

    def test_what_is_resident_is_named_and_only_what_helps_is_advised(self):
        of_optimizer = {"sgd": [], "sgd,momentum=0.9": ["grad.table", "optim.momentum.table"], "adam": ["grad.table", "optim.adam_m.table", "optim.adam_v.table"]}
        for optimizer, more in of_optimizer.items():
            for params_in in ("ram", "aux"):
                with self.subTest(optimizer, params_in=params_in):
                    if not more and params_in == "aux":
                        continue
                    whole = ("--disable", "slices") if params_in == "aux" else ()
                    notes, advice = self.refused_table("--optimizer", optimizer, "--params-in", params_in, *whole)
                    for tensor in ["table", *more]:
                        self.assertIn(f" {tensor} 2.44 MiB", notes)
                    self.assertNotIn("--batch", advice)
                    self.assertEqual("--params-in aux" in advice, params_in == "ram", advice)
                    self.assertEqual("--optimizer sgd" in advice, bool(more), advice)
            self.assertEqual(self.table_plan("--optimizer", optimizer, "--params-in", "aux").returncode, 0, "what is advised")
        for optimizer, ram, more, advised in (("adam", "8MiB", (), True), ("adamw", "8MiB", (), True), ("adam", "256KiB", (), False), ("adam", "8MiB", ("--clip-norm", 1), False),
                                              ("rmsprop", "6MiB", (), False)):
            notes, advice = self.refused_table("--optimizer", optimizer, "--params-in", "ram", "--ram", ram, *more)
            self.assertEqual("--optimizer sparse_adam" in advice, advised, advice)
        done = self.table_plan("--optimizer", "sparse_adam", "--params-in", "ram", "--ram", "8MiB")
        self.assertEqual(done.returncode, 0, done.stderr)
        notes, advice = self.refused_table("--optimizer", "sparse_adam", "--params-in", "ram")
        for tensor in ("table", "optim.adam_m.table", "optim.adam_v.table"):
            self.assertIn(f" {tensor} 2.44 MiB", notes)
        self.assertNotIn("grad.table", notes)
        notes, advice = self.refused_table("--freeze", "table")
        self.assertIn(" table 2.44 MiB", notes)

    def test_the_ram_that_is_advised_has_the_reserve_in_it(self):
        plain, reserved = (self.refused_table("--params-in", "ram", *more)[1] for more in ((), ("--reserve", "100KiB")))
        least, whole = (int(advice.split("--ram ")[1].split("KiB")[0]) for advice in (plain, reserved))
        self.assertLessEqual(abs(whole - least - 100), 1)
        self.succeed("plan", self.path("table.onnx"), "--batch", 4, "--ram", f"{whole}KiB", "--reserve", "100KiB", "--effort", 1, "--measure", "off", "--kernels", "portable",
                     "--params-in", "ram")

    def test_a_proof_of_one_order_refuses_nothing_where_any_is_allowed(self):
        path = self.path("none.json")
        done = self.run_cli("plan", "--costgraph", self.towers, "--ram", "5000B", "--effort", 1, "--write-refusal", path, "--format", "json")
        self.assertNotEqual(done.returncode, 5, done.stderr)
        if done.returncode == 6:
            answer = json.loads(done.stdout)
            self.assertEqual(answer["status"], "unknown")
            self.assertLessEqual(answer["min_ram_bound_bytes"], 5000)
            self.assertEqual(answer["of_order"]["order"], "plan")
            self.assertGreater(answer["of_order"]["min_ram_bound_bytes"], 5000)
            self.assertIn("no refusal is written", done.stderr)
        self.assertFalse(os.path.exists(path))

    def test_a_refusal_of_the_graphs_order_is_of_that_alone(self):
        good = self.refused("order.json", "--costgraph", self.towers, "--ram", "5000B", "--no-reorder")
        self.assertEqual((good["proved"]["of"], good["proved"]["order"]), ("ram", "plan"))
        self.assertTrue(good["certificate"])
        self.refuse(8, "E0809", "verify", self.forged(good, "question", "freedoms", "reordering", True))
        self.refuse(8, "E0809", "verify", self.forged(good, "proved", "order", "any"))
        self.refuse(8, "E0809", "verify", self.forged(good, "proved", "least", good["proved"]["least"] + 1))
        self.refuse(8, "E0809", "verify", self.forged(good, "question", "budget_bytes", good["proved"]["least"]))
        self.refuse(8, "E0805", "verify", self.forged(good, "question", "freedoms", "in_place", True) if not good["question"]["freedoms"]["in_place"]
                    else self.forged(good, "certificate", "question", "freedoms", "in_place", False))
        self.refuse(3, "E0232", "verify", self.forged(good, "surprise", 1))
        self.refuse(3, "E0232", "verify", self.forged(good, "proved", "least", -1))
        self.refuse(2, "E0113", "verify", self.path("order.json"), "--ram", "1MiB")

    def test_a_refusal_says_in_json_what_was_asked_claimed_and_proved(self):
        self.refused("ram.json", "--costgraph", self.graph, "--ram", "2KiB")
        told = json.loads(self.succeed("verify", self.path("ram.json"), "--format", "json").stdout)
        self.assertEqual((told["status"], told["claimed"]["order"], told["asked"]["budget_bytes"]), ("infeasible", "any", 2048))
        self.assertGreaterEqual(told["proved"]["ram_bytes"], told["claimed"]["least"])
        self.assertGreater(told["claimed"]["least"], 2048)

    def test_a_deadline_is_refused_by_the_times_of_a_profile(self):
        words = ("plan", "--costgraph", self.graph, "--ram", "1GiB", "--effort", 1, "--deadline", "1us", "--write-refusal", self.path("late.json"))
        self.assertIn("by times that are modelled by profile m4", self.refuse(5, "E0301", *words).stderr)
        self.assertIn("at least", self.succeed("verify", self.path("late.json")).stdout)

    def test_a_link_is_replaced_and_not_followed(self):
        kept, link = self.path("kept.txt"), self.path("link.json")
        pathlib.Path(kept).write_text("mine")
        os.symlink(kept, link)
        self.refuse(5, "E0301", "plan", "--costgraph", self.towers, "--ram", "500B", "--effort", 1, "--write-refusal", link)
        self.assertEqual(pathlib.Path(kept).read_text(), "mine")

    def test_a_start_whose_places_other_sizes_refute_is_left_out(self):
        document = json.loads(pathlib.Path(self.graph).read_text())
        ram, start, grown, graph = f"{self.peak * 8 // 10}B", self.path("start.json"), self.path("grown.json"), self.path("grown.costgraph.json")
        self.succeed("plan", "--costgraph", self.graph, "--ram", ram, "--effort", 1, "-o", start)
        plan, left_out = json.loads(pathlib.Path(start).read_text()), 0
        for index in range(0, len(document["ops"]), 3):
            for each in (document, plan["graph"]):
                for choice in each["ops"][index]["choices"]:
                    choice["workspace_bytes"] = choice.get("workspace_bytes", 0) + 3000
            pathlib.Path(graph).write_text(json.dumps(document))
            pathlib.Path(grown).write_text(json.dumps(plan))
            words = ("plan", "--costgraph", graph, "--ram", ram, "--effort", 1)
            done = self.run_cli(*words, "--warm-start", grown, "-o", self.path("better.json"))
            self.assertIn(done.returncode, (0, 5, 6), done.stderr)
            self.assertEqual(done.returncode, self.run_cli(*words).returncode)
            left_out += self.run_cli("verify", grown).returncode != 0
            if done.returncode:
                break
            self.succeed("verify", self.path("better.json"))
        self.assertGreater(left_out, 0)

    def test_every_claim_of_a_plan_is_checked(self):
        path = self.path("plan.json")
        ram = self.peak * 85 // 100
        self.succeed("plan", "--costgraph", self.graph, "--ram", f"{ram}B", "--no-paging", "--effort", 4, "-o", path)
        good = json.loads(pathlib.Path(path).read_text())
        told = json.loads(self.succeed("verify", path, "--format", "json").stdout)
        self.assertFalse(told["asked"]["freedoms"]["paging"])
        self.assertEqual(told["claimed"]["bound"]["energy_j"], good["bound"]["energy_j"])
        self.assertLessEqual(good["bound"]["energy_j"], told["proved"]["energy_j"])
        self.refuse(8, "E0806", "verify", self.forged(good, "bound", "energy_j", math.nextafter(told["proved"]["energy_j"], 1e9)))
        self.refuse(8, "E0806", "verify", self.forged(good, "bound", "time_s", math.nextafter(told["proved"]["time_s"], 1e9)))
        self.refuse(8, "E0808", "verify", self.forged(good, "solver", "gap", 0 if told["proved"]["gap"] > 0 else -0.0))
        if told["proved"]["gap"] > 1e-12:
            tight = self.forged({**good, "status": "optimal"}, "solver", "x-asked_gap", told["proved"]["gap"] / 2)
            self.refuse(8, "E0808", "verify", tight)
        for asked in (1e100, 1.01, -1, "all"):  # --gap takes 0% to 100%
            done = self.refuse(3, "E0230", "verify", self.forged({**good, "status": "optimal"}, "solver", "x-asked_gap", asked))
            self.assertIn("x-asked_gap", done.stderr)
        if "x-certificate" in good:
            self.refuse(8, "E0805", "verify", self.forged(good, "question", "freedoms", "paging", True))
        self.refuse(8, "E0803", "verify", self.forged(good, "predicted", "arena_bytes", good["predicted"]["arena_bytes"] - 1))
        paging = self.path("paging.json")
        self.succeed("plan", "--costgraph", self.graph, "--ram", f"{ram}B", "--no-remat", "--effort", 4, "-o", paging)
        moving = json.loads(pathlib.Path(paging).read_text())
        self.assertIn("page_out", {step["do"] for step in moving["instructions"]})
        moving.pop("x-certificate", None)
        moving.update(bound={}, status="feasible")
        self.refuse(8, "E0807", "verify", self.forged(moving, "question", "freedoms", "paging", False))


if __name__ == "__main__":
    unittest.main()
