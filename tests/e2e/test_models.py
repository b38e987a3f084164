"""Every model of tests/values is planned at several budgets: the arena stays within 2% of the plan's peak."""
import json
import os
import shutil
import unittest

from house import ROOT, House, some

VALUES = os.path.join(ROOT, "tests", "values")
WEIGHTS_BYTES = 200 << 20  # of the largest model, rounded up; zeros
MODELS = {"mlp": 64, "cnn": 64, "resnet18": 32, "vgg16": 32, "transformer": None}  # batch; None: the model fixes it
SHARES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.45)  # of the unplanned peak
INFEASIBLE, NONE_FOUND = 5, 6


class Models(House):
    def test_the_arena_is_within_two_percent_of_the_peak(self):
        with open(self.path("weights.bin"), "wb") as weights:
            weights.truncate(WEIGHTS_BYTES)
        for model, batch in MODELS.items():
            path = shutil.copy(os.path.join(VALUES, f"{model}.onnx"), self.folder)
            words = [path, "--device", "host", "--kernels", "portable", "--effort", "1"] + (["--batch", batch] if batch else [])
            unplanned = self.plan_json(*words, "--ram", "20GiB")["unplanned_peak_bytes"]
            feasible, shares = 0, some(SHARES, 3)
            for share in shares:
                with self.subTest(model, share=share):
                    done = self.run_cli("plan", *words, "--ram", f"{int(share * unplanned)}B", "--format", "json")
                    if done.returncode in (INFEASIBLE, NONE_FOUND):
                        continue
                    self.assertEqual(done.returncode, 0, done.stderr)
                    plan = json.loads(done.stdout)
                    self.assertLessEqual(plan["arena_bytes"], plan["budget_bytes"])
                    self.assertLessEqual(plan["arena_bytes"], 1.02 * plan["peak_bytes"])
                    feasible += 1
            self.assertGreaterEqual(feasible, len(shares) // 2, model)


if __name__ == "__main__":
    unittest.main()
