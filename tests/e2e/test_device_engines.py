"""Engines of a device profile: a plan uses them where it is asked to, by the profile's rates or by a table of measured times."""
import csv
import json
import os
import random
import re
import subprocess
import sys
import tomllib
import unittest

from house import CHECKER, ROOT, House
from test_engines import BATCH, make_data, towers

ORIN = os.path.join(ROOT, "devices", "jetson-orin.toml")
FREE = "--allow-numerics-change"
BOTH = ("--engines", "cpu,gpu", FREE)


class DeviceEngines(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = towers(os.path.join(cls.folder, "towers.onnx"), 4)
        with open(ORIN) as file:
            cls.orin = file.read()

    def written(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def words(self, device, *more):
        return ("plan", self.model, "--batch", BATCH, "--device", device, "--ram", "4MiB", "--objective", "time", "--effort", "1", *more)

    def plan(self, device, *more):
        """The plan, verified by both checkers, and its file."""
        path = self.path(f"plan{len(os.listdir(self.folder))}.json")
        self.succeed(*self.words(device, *more, "-o", path))
        self.succeed("verify", path)
        with open(path) as file:
            plan = json.load(file)
        if os.path.exists(CHECKER):
            graph = self.written("graph.json", json.dumps(plan["graph"]))
            checked = subprocess.run([sys.executable, CHECKER, graph, path], capture_output=True, text=True)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        return plan, path

    def engines_of(self, plan):
        """How many computes each engine has; the bandwidth's engine aside."""
        ops, count = {op["id"]: op for op in plan["graph"]["ops"]}, {}
        for each in plan["instructions"]:
            if each["do"] == "compute":
                used = ops[each["op"]]["choices"][each["choice"]].get("engine", "cpu")
                name = used if isinstance(used, str) else next(one for one in used if one != "memory")
                count[name] = count.get(name, 0) + 1
        return count

    def test_a_plan_that_asks_for_no_engine_is_that_of_the_processor(self):
        """Byte for byte: with the profile's engines, without them in the profile, and with --engines cpu."""
        alone = self.orin[:self.orin.index("[[engine]]")] + re.sub(r'"engine\..*\n?', "", self.orin[self.orin.index("[sources]"):])
        self.assertNotIn("engine", tomllib.loads(alone))
        texts = []
        for profile, more in ((self.orin, ()), (alone, ()), (self.orin, ("--engines", "cpu"))):
            _, path = self.plan(self.written("orin.toml", profile), *more)
            with open(path) as file:
                texts.append(file.read())
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(texts[0], texts[2])

    def test_both_engines_take_no_more_than_the_processor(self):
        gains = 0
        for model, seed in ((4, 1), (6, 2)):
            self.model = towers(self.path(f"t{model}.onnx"), model, seed=seed)
            for free in (self.orin, self.orin.replace("launch_s = 1e-5", "launch_s = 1e-9").replace("handoff_s = 5e-5", "handoff_s = 1e-9")):
                device = self.written("orin.toml", free)
                one, _ = self.plan(device, FREE)
                two, path = self.plan(device, *BOTH)
                self.assertLessEqual(two["predicted"]["time_s"], one["predicted"]["time_s"] * (1 + 1e-9))
                self.assertLessEqual(two["bound"]["time_s"], two["predicted"]["time_s"] * (1 + 1e-9))
                if "gpu" in self.engines_of(two):
                    gains += 1
                    self.succeed("explain", path)
        self.assertGreater(gains, 0)

    def test_a_plan_of_both_trains_here(self):
        device = self.written("orin.toml", self.orin.replace("launch_s = 1e-5", "launch_s = 1e-9").replace("handoff_s = 5e-5", "handoff_s = 1e-9"))
        plan, path = self.plan(device, *BOTH)
        self.assertIn("gpu", self.engines_of(plan))
        data = make_data(self.path("data"))
        self.succeed("train", self.model, "--batch", BATCH, "--data", data, "--epochs", "1", "--ram", "4MiB", "--plan", path, "-o", self.path("w.safetensors"))

    def table(self, engine, share, seconds):
        """Times of `engine` for a part of the model's kernels, under the profile's name; how many rows. Their keys are those of the host's kernels."""
        if not hasattr(type(self), "kernels"):
            done = self.succeed("profile", self.model, "--batch", BATCH, "--kernels", "portable", "--threads", 1, "--profile-store", self.path("host.db"), "--format", "json")
            type(self).kernels = json.loads(done.stdout)["ops"]
        draw = random.Random(3)
        keys = sorted({(op["op"], op["operands"], op["attributes"]) for op in self.kernels})
        kept = [key for key in keys if draw.random() < share]
        with open(self.path("t.csv"), "w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["engine", "op", "algorithm", "operands", "attributes", "seconds"])
            rows.writerows([engine, op, "theirs", operands, attributes, seconds] for op, operands, attributes in kept)
        self.succeed("profile", "--import", self.path("t.csv"), "--machine", "mine", "--profile-store", self.path("mine.db"))
        return kept

    def test_measured_times_of_an_engine_decide_what_it_computes(self):
        text = self.orin.replace('name = "jetson-orin"', 'name = "mine"').replace("launch_s = 1e-5", "launch_s = 0").replace("handoff_s = 5e-5", "handoff_s = 0")
        device, store = self.written("mine.toml", text), ("--measure", "known", "--profile-store", self.path("mine.db"))
        kept = self.table("gpu", 0.5, 1e-9)  # so fast that every op with a time goes there
        plan, path = self.plan(device, *BOTH, *store)
        offered = {op["id"] for op in plan["graph"]["ops"] for choice in op["choices"] if choice["algorithm"].endswith("@gpu")}
        self.assertGreater(len(offered), 0)
        self.assertLess(len(offered), len(plan["graph"]["ops"]))
        self.assertGreater(len(kept), 0)
        for op in plan["graph"]["ops"]:
            for choice in op["choices"]:
                if choice["algorithm"].endswith("@gpu"):
                    self.assertEqual(choice["time_s"], 1e-9)
        self.assertGreater(self.engines_of(plan).get("gpu", 0), 0)
        self.succeed("explain", path)  # the graph is made again without the table
        os.remove(self.path("mine.db"))
        self.table("gpu", 1, 1e3)  # so slow that none does
        plan, _ = self.plan(device, *BOTH, *store)
        self.assertNotIn("gpu", self.engines_of(plan))

    def test_an_engine_without_rates_needs_times(self):
        text = self.orin.replace('name = "jetson-orin"', 'name = "mine"')
        text = text.replace("launch_s = 1e-5", "launch_s = 0").replace("handoff_s = 5e-5", "handoff_s = 0")
        text = re.sub(r"(name = \"gpu\"\n)flops_per_s.*\nbytes_per_s.*\n", r"\1", text)
        text = re.sub(r'"engine\.gpu\.(flops|bytes)_per_s".*\n', "", text)
        device = self.written("mine.toml", text)
        self.refuse(2, "E0117", *self.words(device, *BOTH))
        self.succeed(*self.words(device))
        if os.path.exists(self.path("mine.db")):
            os.remove(self.path("mine.db"))
        self.table("gpu", 1, 1e-9)
        self.assertIn("gpu", self.engines_of(self.plan(device, *BOTH, "--measure", "known", "--profile-store", self.path("mine.db"))[0]))

    def test_what_the_profile_does_not_have_is_refused(self):
        for text in ("", "gpu", "cpu,", "cpu,npu", "cpu,gpu,gpu", "cpu gpu", "cpu,memory", "cpu0,cpu1"):
            with self.subTest(text):
                self.refuse(2, "E0115", *self.words("jetson-orin", FREE, "--engines", text))
        self.refuse(2, "E0115", *self.words("m4", FREE, "--engines", "cpu,gpu"))
        self.refuse(2, "E0117", *self.words("jetson-orin", "--engines", "cpu,gpu"))
        self.refuse(2, "E0117", *self.words("jetson-orin", *BOTH, "--planner", "chen-sqrt"))

    def test_tables_that_cannot_serve_are_refused_and_keep_nothing(self):
        head, row = "machine,engine,op,algorithm,operands,seconds\n", "jetson-orin,gpu,relu,theirs,f32[4]->f32[4],"
        store = self.path("kept.db")
        for text in (row + "1\n" + row + "2\n", row + "nan\n", row + "-1\n", row + "0\n", row + "\n", row.replace("gpu", "npu") + "1\n", row.replace("jetson-orin", "m4") + "1\n"):
            with self.subTest(text):
                self.refuse(3, "E0276", "profile", "--import", self.written("bad.csv", head + text), "--profile-store", store)
                self.assertFalse(os.path.exists(store))
        self.succeed("profile", "--import", self.written("good.csv", head + row + "1\n"), "--profile-store", store)


if __name__ == "__main__":
    unittest.main()
