"""Transfer learning: a frozen backbone costs no backward, keeps its statistics if asked to, and its features are kept: the same parameters."""
import json
import os
import subprocess
import unittest

from house import CHECKER, MODEL, House, make_data, tensors

BATCH = 16
FROZEN = ("--freeze", "stage*", "--freeze-stats", "stage*")


class Transfer(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_data(os.path.join(cls.folder, "data"), 6 * BATCH + 5, 40)

    def train(self, name, *words):
        out = self.path(name + ".safetensors")
        done = self.succeed("train", MODEL, "--data", self.path("data"), "--batch", BATCH, "--effort", 1, "--ram", "8MiB", "--seed", 4, "--lr", "0.05",
                            "--optimizer", "sgd,momentum=0.9", "--log", self.path(name + ".jsonl"), "-o", out, *words)
        return tensors(out), self.log_of(self.path(name + ".jsonl")), done.stderr

    def test_what_is_frozen_stays(self):
        start, _, _ = self.train("start", "--epochs", 1)
        weights = ("--weights", self.path("start.safetensors"))
        names = [name for name in start if name.startswith("stage")]
        stats = [name for name in names if "running" in name]
        self.assertTrue(stats)
        parameters_alone, _, _ = self.train("a", "--freeze", "stage*", *weights)
        both, _, _ = self.train("b", *FROZEN, *weights)
        for name in names:
            self.assertEqual(both[name], start[name], name)
            self.assertEqual(parameters_alone[name] == start[name], name not in stats, name)
        self.assertNotEqual(both["fc.weight"], start["fc.weight"])
        self.refuse(2, "E0104", "plan", MODEL, "--batch", BATCH, "--ram", "8MiB", "--freeze-stats", "nothing*")

    def test_what_is_frozen_is_read_in_place(self):
        """On a device with flash: less RAM by just these bytes; the same values, and whole checkpoints."""
        plan, graph = self.path("rom.plan.json"), self.path("rom.graph.json")
        words = ("--batch", BATCH, "--ram", "2MiB", "--effort", 1, "--device", "m4", *FROZEN)
        kept = self.plan_json(MODEL, *words, "--rom", "0B")
        found = self.plan_json(MODEL, *words, "-o", plan, "--costgraph-out", graph)
        with open(graph) as file:
            tensors_of = json.load(file)["tensors"]
        in_rom = {tensor["name"]: tensor["bytes"] for tensor in tensors_of if tensor.get("start") == "rom"}
        self.assertTrue(all(tensor.get("next") is None for tensor in tensors_of if tensor["name"] in in_rom))
        self.assertEqual(kept["unplanned_peak_bytes"] - found["unplanned_peak_bytes"], sum(in_rom.values()))
        self.succeed("verify", plan)
        if os.path.exists(CHECKER):
            subprocess.run(["python3", CHECKER, graph, plan], check=True, capture_output=True)
        trained = {}
        for name, rom in (("none", ("--rom", "0B")), ("some", ("--rom", "8KiB")), ("all", ())):
            trained[name], _, _ = self.train(name, "--device", "m4", *FROZEN, *rom)
            again, _, _ = self.train(name + ".more", "--device", "m4", *FROZEN, *rom, "--epochs", 2, "--checkpoint-every", 3,
                                     "--resume", self.checkpoint(name, "--device", "m4", *FROZEN, *rom))
            trained[name + ".resumed"] = again
        for name in ("some", "all"):
            self.same_bits(trained[name], trained["none"], name)
            self.same_bits(trained[name + ".resumed"], trained["none.resumed"], name)
        self.assertTrue(set(in_rom) <= set(trained["all"]))
        self.assertEqual(len(in_rom), 20)

    def checkpoint(self, name, *words):
        self.train(name + ".begun", *words, "--checkpoint-every", 3)
        return self.path(name + ".begun.safetensors.checkpoint")

    def test_a_frozen_backbone_keeps_no_activations(self):
        def peak(*words):
            return self.plan_json(MODEL, "--batch", 128, "--ram", "1GiB", "--effort", 1, *words)["unplanned_peak_bytes"]
        self.assertLess(peak(*FROZEN), peak() * 0.7)

    def test_statistics_frozen_below_trained_parameters(self):
        done, log, _ = self.train("tuned", "--freeze-stats", "*", "--epochs", 3)
        losses = [line["train_loss"] for line in log if line["event"] == "epoch"]
        self.assertLess(losses[-1], losses[0])

    def test_features_change_nothing(self):
        words = (*FROZEN, "--epochs", 3)
        expected, log, _ = self.train("whole", *words)
        for name, more in (("kept", ("--report", self.path("report.html"))), ("ahead", ("--prefetch", 2))):
            found, kept, notes = self.train(name, *words, "--feature-cache", "64MiB", *more)
            self.assertEqual(found.keys(), expected.keys())
            for tensor in expected:
                self.assertEqual(found[tensor], expected[tensor], f"{tensor} {more}")
            event = next(line for line in kept if line["event"] == "features")
            self.assertEqual(event["samples"], 6 * BATCH + 5)
            self.assertGreater(event["bytes"], 0)
            for key in ("test_loss", "test_accuracy", "final_loss"):
                self.assertEqual(kept[-1][key], log[-1][key])
            self.assertLessEqual(kept[-1]["rss_growth_bytes"], kept[-1]["arena_bytes"] + kept[-1]["queue_bytes"] + (1 << 20))

    def test_features_with_micro_batches_and_a_resume(self):
        words = (*FROZEN, "--accumulate", 2, "--checkpoint-every", 2)
        expected, _, _ = self.train("added", *words, "--epochs", 3)
        self.train("begun", *words, "--epochs", 1, "--feature-cache", "64MiB")
        point = self.path("begun.safetensors.checkpoint")
        found, _, _ = self.train("resumed", *words, "--epochs", 3, "--feature-cache", "64MiB", "--resume", point)
        self.assertEqual(found, expected)

    def test_when_no_features_are_kept(self):
        words = (*FROZEN, "--epochs", 2)
        expected, _, _ = self.train("whole", *words)
        found, log, notes = self.train("small", *words, "--feature-cache", "1KiB")
        self.assertEqual(found, expected)
        self.assertIn("more than --feature-cache", notes)
        self.assertEqual([line for line in log if line["event"] == "features"], [])
        augmented, _, notes = self.train("augmented", *words, "--feature-cache", "64MiB", "--augment", "flip")
        self.assertIn("--augment changes the samples", notes)
        _, log, notes = self.train("partly", "--freeze", "stage*", "--feature-cache", "64MiB")
        self.assertIn("features end where", notes)
        self.assertEqual(len([line for line in log if line["event"] == "features"]), 1)
        train = ("train", MODEL, "--data", self.path("data"), "--batch", BATCH, "--effort", 1, "--ram", "8MiB", "-o", self.path("w.safetensors"))
        self.assertIn("--freeze", self.refuse(2, "E0123", *train, "--feature-cache", "64MiB").stderr)
        self.refuse(2, "E0110", *train, *FROZEN, "--feature-cache", "64")


if __name__ == "__main__":
    unittest.main()
