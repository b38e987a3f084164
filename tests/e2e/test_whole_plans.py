"""A plan is whole: `train --plan P --data D` takes all settings of the step from it, and refuses what would change the step."""
import os
import unittest

from house import MODEL, House, make_data, tensors

STEP = ("--batch", 8, "--optimizer", "sgd,momentum=0.9", "--lr", "0.05", "--ram", "4MiB", "--effort", 2, "--kernels", "portable", "--threads", 1)


class WholePlans(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_data(os.path.join(cls.folder, "data"), 32, 16)
        cls.plan = os.path.join(cls.folder, "step.plan.json")

    def setUp(self):
        self.succeed("plan", MODEL, *STEP, "-o", self.plan)

    def train(self, name, *words):
        out = self.path(name + ".safetensors")
        self.succeed("train", "--data", self.path("data"), "--seed", 3, "-o", out, *words)
        return tensors(out)

    def test_a_plan_alone_trains_as_its_words_do(self):
        self.assertEqual(self.train("planned", "--plan", self.plan), self.train("worded", MODEL, *STEP))

    def test_what_changes_the_step_is_refused_with_both_values(self):
        for words, told in ((("--batch", 16), "--batch is 16 here, and the plan was made with 8"),
                            (("--optimizer", "adam"), "--optimizer is adam here, and the plan was made with sgd,momentum=0.9"),
                            (("--loss", "soft_cross_entropy"), "--loss is soft_cross_entropy here, and the plan was made with cross_entropy"),
                            (("--freeze", "conv1*"), "--freeze is conv1* here, and the plan was made with none"),
                            (("--threads", 2), "--threads is 2 here, and the plan was made with 1"),
                            (("--ram", "2MiB"), "--ram is 2MiB here, and the plan was made with 4MiB")):
            done = self.refuse(3, "E0231", "train", "--plan", self.plan, "--data", self.path("data"), "-o", self.path("none"), *words)
            self.assertIn(told, done.stderr)
            self.assertIn("plan again", done.stderr)

    def test_settings_of_the_run_are_taken(self):
        self.train("run", "--plan", self.plan, "--lr", "0.01", "--epochs", 2, "--schedule", "cosine,warmup=2", "--ram", "8MiB", "--keep-init", "x*")


if __name__ == "__main__":
    unittest.main()
