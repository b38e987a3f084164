"""One training from end to end, in a second or two: what `make check` runs whatever has changed."""
import math
import unittest

from house import MODEL, House, make_data, tensors


class OneTraining(House):
    def test_a_step_is_planned_checked_and_trained(self):
        data, plan, out, log = make_data(self.path("data"), 64), self.path("plan.json"), self.path("w.safetensors"), self.path("run.jsonl")
        self.succeed("train", MODEL, "--data", data, "--batch", 16, "--ram", "2MiB", "--epochs", 2, "--lr", "0.05", "--seed", 1, "--effort", 1, "--measure", "off",
                     "--kernels", "portable", "--plan-out", plan, "--log", log, "-o", out)
        self.succeed("verify", plan)
        end = self.log_of(log)[-1]
        self.assertEqual((end["event"], end["steps"]), ("end", 8))
        self.assertLessEqual(end["arena_bytes"], 2 << 20)
        self.assertTrue(math.isfinite(end["final_loss"]))
        self.assertGreater(len(tensors(out)), 5)


if __name__ == "__main__":
    unittest.main()
