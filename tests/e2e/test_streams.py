"""Cost graphs whose choices stream from storage and to it, from the command line: planned, verified, explained, swept, refused."""
import json
import os
import subprocess
import sys
import unittest

from house import CHECKER, MODEL, House

BLOCK = 64
BYTES = 16 * BLOCK
LINK = {"latency_s": 1e-5, "bytes_per_s": 4e6, "w": 0.3}


def streamed(into, out, buffers, overwrites=()):
    """A choice that streams these positions through so many blocks of workspace; the fewer, the more transfers."""
    transfers = 16 // buffers
    sides = {"in": (into, "in"), "out": (out, "out")}
    stream = {}
    for positions, side in sides.values():
        if positions:
            stream.update({side: positions, f"bytes_{side}": BYTES * len(positions), f"transfers_{side}": transfers * len(positions)})
    return {"algorithm": f"stream {buffers}", "time_s": 1e-3, "energy_j": 1e-5, "workspace_bytes": buffers * BLOCK, "stream": stream, "overwrites": list(overwrites)}


def cost_graph():
    """A forward product, its gradient and an update of a parameter in storage: each may have its operands whole, or stream all of them."""
    whole = {"algorithm": "whole", "time_s": 1e-3, "energy_j": 1e-5}
    tensors = [{"id": 0, "name": "w", "bytes": BYTES, "start": "aux", "next": 3}, {"id": 1, "name": "y", "bytes": BYTES}, {"id": 2, "name": "g", "bytes": BYTES},
               {"id": 3, "name": "w'", "bytes": BYTES}]
    ops = [{"id": 0, "name": "forward", "inputs": [0], "outputs": [1], "choices": [whole, *(streamed([0], [0], buffers) for buffers in (1, 2, 4))]},
           {"id": 1, "name": "gradient", "inputs": [1, 0], "outputs": [2], "choices": [whole, *(streamed([0, 1], [0], buffers) for buffers in (1, 2, 4))]},
           {"id": 2, "name": "update", "inputs": [0, 2], "outputs": [3], "recompute": False,
            "choices": [{**whole, "overwrites": [[0, 0]]}, *(streamed([0, 1], [0], buffers, [[0, 0]]) for buffers in (1, 2, 4))]}]
    pager = {"mode": "async", "duplex": "half", "block_bytes": BLOCK, "staging_bytes": 0, "capacity_bytes": 8 * BYTES, "in": LINK, "out": LINK}
    return {"schema": "pantoum.costgraph/1", "name": "slices", "tensors": tensors, "ops": ops,
            "device": {"name": "board", "ram_bytes": 8 * BYTES, "align_bytes": 4, "engines": ["cpu"], "pager": pager}}


class Streams(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.graph = os.path.join(cls.folder, "slices.json")
        with open(cls.graph, "w") as file:
            json.dump(cost_graph(), file)

    def plan(self, ram, *more):
        path = self.path(f"{ram}.plan.json")
        self.succeed("plan", "--costgraph", self.graph, "--ram", f"{ram}B", "--effort", "1", *more, "-o", path)
        self.succeed("verify", path)
        if os.path.exists(CHECKER):
            checked = subprocess.run([sys.executable, CHECKER, self.graph, path], capture_output=True, text=True)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        with open(path) as file:
            return json.load(file), path

    def choices(self, plan):
        return {step["op"]: step["choice"] for step in plan["instructions"] if step["do"] == "compute"}

    def test_a_step_fits_where_none_of_its_ops_does(self):
        """One block of workspace; with more RAM larger slices, then whole operands, and never more energy."""
        energies = []
        for ram in (BLOCK, 2 * BLOCK, 4 * BLOCK, 3 * BYTES):
            plan, _ = self.plan(ram)
            self.assertLessEqual(plan["predicted"]["arena_bytes"], ram)
            energies.append(plan["predicted"]["energy_j"])
        self.assertEqual(sorted(energies, reverse=True), energies)
        self.assertEqual(len(set(energies)), len(energies))
        self.assertEqual(self.choices(self.plan(BLOCK)[0]), {0: 1, 1: 1, 2: 1})
        self.assertEqual(self.choices(self.plan(3 * BYTES)[0]), {0: 0, 1: 0, 2: 0})

    def test_too_little_ram_names_the_least_with_streams(self):
        refusal = self.path("refusal.json")
        run = self.refuse(5, "E0301", "plan", "--costgraph", self.graph, "--ram", f"{BLOCK - 4}B", "--write-refusal", refusal)
        self.assertIn("the least known is 64 B", run.stderr)
        self.succeed("verify", refusal)

    def test_explain_and_summary_say_what_streams(self):
        _, path = self.plan(2 * BLOCK)
        run = self.succeed("plan", "--costgraph", self.graph, "--ram", f"{2 * BLOCK}B", "--effort", "1")
        self.assertIn("3 computes stream: 3.0 KiB to storage, 5.0 KiB from it", run.stdout)
        why = json.loads(self.succeed("explain", path, "--format", "json").stdout)
        self.assertEqual({entry["name"]: entry["bytes_in"] for entry in why["streamed"]}, {"forward": BYTES, "gradient": 2 * BYTES, "update": 2 * BYTES})
        energy = why["energy"]
        self.assertAlmostEqual(energy["total_j"], sum(energy[part] for part in ("first_j", "again_j", "paging_j", "idle_j")), delta=energy["total_j"] * 1e-9)
        self.succeed("report", path, "-o", self.path("report.html"))

    def test_one_slot_saves_storage(self):
        """Where the storage has no room for both, an update's result takes its parameter's place, if the question allows it."""
        graph = cost_graph()
        graph["device"]["pager"]["capacity_bytes"] = 3 * BYTES  # w, y, g: nothing is left for w'
        path = self.path("small.json")
        with open(path, "w") as file:
            json.dump(graph, file)
        words = ("plan", "--costgraph", path, "--ram", f"{BLOCK}B", "--effort", "1")
        self.refuse(6, "E0302", *words)
        plan = self.path("small.plan.json")
        self.succeed(*words, "--one-slot", "-o", plan)
        self.succeed("verify", plan)
        with open(plan) as file:
            storage = json.load(file)["storage"]
        self.assertEqual(storage["0"], storage["3"])
        self.refuse(2, "E0119", "plan", MODEL, "--ram", "1MiB", "--one-slot")

    def changed(self, change):
        graph = cost_graph()
        change(graph)
        path = self.path(f"changed{len(os.listdir(self.folder))}.json")
        with open(path, "w") as file:
            json.dump(graph, file)
        return path

    def test_a_start_with_more_freedoms_is_left_out(self):
        def other_bits(graph):
            graph["ops"][0]["choices"].append({"algorithm": "other", "numerics": "other", "time_s": 1e-6, "energy_j": 1e-9})
        graph, start, plan = self.changed(other_bits), self.path("start.json"), self.path("without.json")
        words = ("plan", "--costgraph", graph, "--ram", f"{3 * BYTES}B", "--effort", "1")
        self.succeed(*words, "--allow-numerics-change", "-o", start)
        self.succeed(*words, "--warm-start", start, "-o", plan)
        self.succeed("verify", plan)
        why = json.loads(self.succeed("explain", start, "--format", "json").stdout)
        self.assertGreater(why["energy"]["total_j"], 0)

    def test_a_refusal_stands_where_no_smaller_plan_is_known(self):
        refusal, least = self.path("limit.json"), self.path("least.json")
        run = self.refuse(5, "E0301", "plan", "--costgraph", self.graph, "--ram", "1MiB", "--effort", "1", "--energy-limit", "1uJ", "--write-refusal", refusal,
                          "--write-min-plan", least)
        self.assertIn("was not written: no plan for any budget is known", run.stderr)
        self.assertFalse(os.path.exists(least))
        self.succeed("verify", refusal)

    def test_no_plan_is_told_that_the_storage_does_not_hold(self):
        def small(graph):
            graph["device"]["pager"]["capacity_bytes"] = BYTES
        run = self.refuse(5, "E0301", "plan", "--costgraph", self.changed(small), "--ram", f"{BLOCK - 4}B")
        self.assertNotIn("the least known", run.stderr)

    def test_planners_of_the_literature_take_no_streams(self):
        for planner in ("dtr", "checkmate", "keep"):
            self.refuse(6, "E0304", "plan", "--costgraph", self.graph, "--ram", "1MiB", "--planner", planner)

    def test_a_sweep_is_monotone(self):
        folder = self.path("sweep")
        self.succeed("sweep", "--costgraph", self.graph, "--ram", "auto", "--effort", "1", "-o", folder)
        with open(os.path.join(folder, "sweep.json")) as file:
            joules = [row["energy_j"] for row in json.load(file)["rows"]]
        self.assertEqual(sorted(joules, reverse=True), joules)

    def test_a_stream_that_cannot_be_is_refused(self):
        changes = {"moves a part of a block": {"bytes_in": BYTES + 1}, "moves less than a block in each transfer": {"transfers_in": 1000}, "has no position": {"in": []},
                   "streams what it does not read": {"in": [7]}, "writes less than its output": {"bytes_out": BLOCK, "transfers_out": 1}, "takes less than its transfers": {"async_s": 1e-9}}
        for name, change in changes.items():
            with self.subTest(name):
                graph = cost_graph()
                graph["ops"][0]["choices"][1]["stream"].update(change)
                path = self.path("wrong.json")
                with open(path, "w") as file:
                    json.dump(graph, file)
                self.refuse(3, "E0221", "plan", "--costgraph", path, "--ram", "1MiB")


if __name__ == "__main__":
    unittest.main()
