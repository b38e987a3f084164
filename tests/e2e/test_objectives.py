"""Objectives and limits: edp, --energy-limit, --finish-within, and what is told where they cannot be met."""
import json
import pathlib
import subprocess
import time
import unittest

from house import CHECKER, MODEL, ROOT, House, m4_costgraph, make_data, some


class Objectives(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.graph, cls.peak = m4_costgraph(cls.folder)
        cls.ram = f"{cls.peak * 6 // 10}B"

    def plan(self, name, *words):
        path = self.path(name + ".json")
        answer = self.plan_json("--costgraph", self.graph, "--ram", self.ram, "--effort", 4, "-o", path, *words)
        self.succeed("verify", path)
        if pathlib.Path(CHECKER).exists():
            subprocess.run(["python3", CHECKER, self.graph, path], check=True, capture_output=True)
        return answer, json.loads(pathlib.Path(path).read_text())

    def test_energy_times_time_is_bounded_by_lines(self):
        answer, plan = self.plan("edp", "--objective", "edp")
        self.assertEqual((answer["objective"], plan["objective"]), ("edp", "edp"))
        product = answer["energy_j"] * answer["time_s"]
        self.assertLessEqual(answer["bound"]["edp_js"], product)
        self.assertAlmostEqual(answer["gap"], 1 - answer["bound"]["edp_js"] / product, places=6)
        for other in ("energy", "time"):
            found, _ = self.plan(other, "--objective", other)
            self.assertLessEqual(product, found["energy_j"] * found["time_s"] * 1.001, other)
            self.assertLessEqual(answer["bound"]["edp_js"], found["energy_j"] * found["time_s"])
        if "x-lines" not in plan:
            return
        self.assertIn("lines", self.succeed("verify", self.path("edp.json")).stdout)
        plan["bound"]["edp_js"] *= 1.01
        forged = self.path("forged.json")
        pathlib.Path(forged).write_text(json.dumps(plan))
        self.assertEqual(self.run_cli("verify", forged).returncode, 8)

    def test_the_default_is_time_on_a_host_and_energy_on_a_battery(self):
        """Networks at half and 0.7 of the peak: the default's plan is that of the objective by name, to the byte but its planning time, or the refusal is."""
        def planned(*words):
            path = self.path("default.json")
            done = self.run_cli("plan", *words, "--effort", 1, "-o", path)
            if done.returncode == 5:  # nothing fits
                return done.stderr
            self.assertEqual(done.returncode, 0, done.stderr)
            plan = json.loads(pathlib.Path(path).read_text())
            del plan["solver"]["seconds"]
            return plan

        folders = ("image-classification", "keyword-spotting", "recommender", "sequence-tagging", "text-classification", "transfer-learning")
        models = [f"examples/{folder}/model.onnx" for folder in folders]
        models += ["examples/c/spirals.onnx", "examples/fashion/cnn.onnx", "examples/transfer-learning/known.onnx", "tests/e2e/exports/gated.onnx"]
        for model in some(models, 5):
            ask = [str(pathlib.Path(ROOT, model)), "--batch", 16] + (["--loss", "mse"] if "recommender" in model else [])
            peak = self.plan_json(*ask, "--effort", 1, "--ram", "1GiB")["unplanned_peak_bytes"]
            for share in (5, 7):
                with self.subTest(model=model, share=share):
                    ram = ("--ram", f"{peak * share // 10}B")
                    self.assertEqual(planned(*ask, *ram), planned(*ask, *ram, "--objective", "time"))
            ram = ("--ram", f"{peak * 7 // 10}B", "--device", "m7")
            self.assertEqual(planned(*ask, *ram), planned(*ask, *ram, "--objective", "energy"))

    def test_a_limit_on_energy_is_kept(self):
        cheap, _ = self.plan("cheap")
        limit = cheap["energy_j"] * 1.01
        fast, plan = self.plan("limited", "--objective", "time", "--energy-limit", f"{limit * 1000}mJ")
        self.assertLessEqual(fast["energy_j"], limit)
        self.assertLessEqual(fast["time_s"], cheap["time_s"] * 1.0001)
        self.assertAlmostEqual(plan["most_energy_j"], limit)
        plan["most_energy_j"] = fast["energy_j"] / 2
        broken = self.path("broken.json")
        pathlib.Path(broken).write_text(json.dumps(plan))
        self.refuse(8, "E0802", "verify", broken)

    def test_the_earlier_of_two_deadlines_counts(self):
        _, plan = self.plan("both", "--deadline", "1.5x", "--deadline", "2x")
        _, alone = self.plan("alone", "--deadline", "1.5x")
        self.assertEqual(plan["deadline_s"], alone["deadline_s"])

    def test_limits_that_nothing_meets_are_refused_with_what_is_known(self):
        done = self.refuse(5, "E0301", "plan", "--costgraph", self.graph, "--ram", self.ram, "--effort", 2, "--energy-limit", "1uJ")
        self.assertIn("the least energy known in this RAM", done.stderr)
        done = self.run_cli("plan", "--costgraph", self.graph, "--ram", self.ram, "--effort", 2, "--deadline", "1us", "--format", "json")
        answer = json.loads(done.stdout)
        self.assertLessEqual(answer["min_time_bound_s"], answer["min_time_s"])
        self.assertGreater(answer["min_time_bound_s"], 1e-6)

    def test_a_training_is_finished_within_its_time(self):
        _, plan = self.plan("hours", "--finish-within", "500h", "--epochs", 3, "--samples", 1001, "--batch", 8)
        self.assertAlmostEqual(plan["deadline_s"], 500 * 3600 / (3 * 125))
        _, plan = self.plan("steps", "--finish-within", "500h", "--steps", 375)
        self.assertAlmostEqual(plan["deadline_s"], 500 * 3600 / 375)
        self.assertIn("--steps", self.refuse(2, "E0122", "plan", "--costgraph", self.graph, "--ram", self.ram, "--finish-within", "2h").stderr)
        self.refuse(2, "E0122", "plan", "--costgraph", self.graph, "--ram", self.ram, "--finish-within", "2h", "--epochs", 1, "--samples", 7, "--batch", 8)
        self.refuse(2, "E0111", "plan", "--costgraph", self.graph, "--ram", self.ram, "--finish-within", "2", "--steps", 4)

    def test_train_knows_its_steps(self):
        data, out = make_data(self.path("data"), 64), self.path("w.safetensors")
        self.succeed("train", MODEL, "--data", data, "--batch", 16, "--ram", "4MiB", "--effort", 1, "--epochs", 2, "--finish-within", "2h", "-o", out)
        self.assertAlmostEqual(json.loads(pathlib.Path(self.path("w.safetensors.plan.json")).read_text())["deadline_s"], 2 * 3600 / 8)

    def test_a_sweep_takes_objective_and_limits(self):
        ask = ("sweep", "--costgraph", self.graph, "--ram", f"{self.peak * 6 // 10}B,{self.peak * 7 // 10}B,{self.peak}B", "--effort", 2, "-o", self.path("sweep"))
        self.succeed(*ask, "--objective", "edp", "--energy-limit", "1kJ")
        found = json.loads(pathlib.Path(self.path("sweep", "sweep.json")).read_text())
        self.assertEqual((found["objective"], found["most_energy_j"]), ("edp", 1000))
        products = [row["energy_j"] * row["time_s"] for row in found["rows"]]
        self.assertEqual(products, sorted(products, reverse=True))
        for row, product in zip(found["rows"], products):
            self.assertLessEqual(row["bound_edp_js"], product * (1 + 1e-9))
            self.succeed("verify", self.path("sweep", "plans", f"pantoum-{row['ram_bytes']}.plan.json"))
        self.refuse(3, "E0280", *ask, "--objective", "edp", "--energy-limit", "2kJ")

    def test_words_that_are_no_limits(self):
        ask = ("plan", "--costgraph", self.graph, "--ram", self.ram)
        self.assertIn("3.2J, 3.2mJ or 3.2Wh", self.refuse(2, "E0121", *ask, "--energy-limit", "3.2").stderr)
        self.refuse(2, "E0121", *ask, "--energy-limit", "0J")
        self.refuse(2, "E0111", *ask, "--deadline", "5")
        self.assertIn("--energy-limit", self.refuse(2, "E0100", *ask, "--at-most", "energy=5J").stderr)

    def test_a_refusal_keeps_to_the_time_limit(self):
        for words in (("--ram", "1KiB"), ("--ram", self.ram, "--deadline", "1.0000001x"), ("--ram", f"{self.peak // 3}B", "--no-paging")):
            begin = time.monotonic()
            done = self.run_cli("plan", "--costgraph", self.graph, *words, "--time-limit", "1s")
            self.assertLess(time.monotonic() - begin, 2, words)
            self.assertIn(done.returncode, (0, 5, 6), done.stderr)


if __name__ == "__main__":
    unittest.main()
