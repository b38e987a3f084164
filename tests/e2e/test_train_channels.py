"""Some channels of a weight: --train-channels trains them with the bits of a whole update and leaves the others as they are, in any RAM; rows of shares in --contributions."""
import array
import json
import os
import unittest

from house import MODEL, House, make_data, tensors

WORDS = ("--batch", 4, "--optimizer", "sgd,momentum=0.9", "--effort", 1, "--kernels", "portable", "--freeze-stats", "*")
ENTRIES = ("--train-channels", "stage1.1.0.weight=1/4", "--train-channels", "fc.weight=out:25%")
# Weight -> shape as [outer, channels, inner], and the channels that train.
PARTS = {"stage1.1.0.weight": ((8, 8, 9), 2), "fc.weight": ((1, 10, 784), 2)}


def floats(data):
    return array.array("f", data)


class TrainChannels(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_data(os.path.join(cls.folder, "data"), 24, 8)
        make_data(os.path.join(cls.folder, "batch"), 4, 4)

    def run_words(self, data="data", epochs=1):
        return ("--data", self.path(data), "--epochs", epochs, "--seed", 3, "--lr", "0.05")

    def trained(self, name, *words, **run):
        self.succeed("train", MODEL, *WORDS, *self.run_words(**run), *words, "-o", self.path(name))
        return tensors(self.path(name))

    def start(self):
        self.succeed("plan", MODEL, *WORDS, "--weights-out", self.path("start.safetensors"))
        return tensors(self.path("start.safetensors"))

    def expect_parts(self, before, found, whole):
        """The channels that train are those of `whole`, the others those of `before`. Without `whole`: they are others than before."""
        for name, ((outer, channels, inner), trained) in PARTS.items():
            start, after = floats(before[name]), floats(found[name])
            changed = 0
            for at in range(outer * channels):
                piece = slice(at * inner, (at + 1) * inner)
                if at % channels >= trained:
                    self.assertEqual(after[piece], start[piece], name)
                elif whole:
                    self.assertEqual(after[piece], floats(whole[name])[piece], name)
                changed += after[piece] != start[piece]
            self.assertEqual(changed, outer * trained, name)

    def test_the_first_step_has_the_bits_of_a_whole_update_and_the_rest_stays(self):
        before, whole, found = self.start(), self.trained("whole.safetensors", data="batch"), self.trained("part.safetensors", *ENTRIES, data="batch")
        self.expect_parts(before, found, whole)
        others = [name for name in whole if not name.endswith(tuple(PARTS))]
        self.same_bits({name: found[name] for name in others}, {name: whole[name] for name in others})
        for name, ((outer, _, inner), trained) in PARTS.items():
            self.assertEqual(len(found[f"optim.momentum.{name}"]), 4 * outer * trained * inner, "the state is the share's")

    def test_small_ram_has_the_same_bits(self):
        found = self.trained("much.safetensors", *ENTRIES)
        self.expect_parts(self.start(), found, None)
        for name, words in (("paged", ("--ram", "320KiB")), ("aux", ("--ram", "320KiB", "--params-in", "aux")), ("slices", ("--ram", "64KiB", "--params-in", "aux"))):
            self.same_bits(self.trained(f"{name}.safetensors", *ENTRIES, *words), found, name)

    def test_the_plan_knows_the_shares(self):
        plan = self.path("plan.json")
        self.succeed("plan", MODEL, *WORDS, *ENTRIES, "-o", plan)
        self.succeed("verify", plan)
        with open(plan) as file:
            kept = json.load(file)
        self.assertEqual(kept["x-model"]["train_channels"], [ENTRIES[1], ENTRIES[3]])
        self.succeed("train", "--plan", plan, *self.run_words(), "-o", self.path("planned.safetensors"))
        self.same_bits(tensors(self.path("planned.safetensors")), self.trained("unplanned.safetensors", *ENTRIES))

    def test_a_run_goes_on_with_its_own_shares_alone(self):
        point = self.path("some.safetensors.checkpoint")
        found = self.trained("all.safetensors", *ENTRIES, epochs=2)
        self.trained("some.safetensors", *ENTRIES, "--checkpoint-every", 3)
        self.same_bits(self.trained("rest.safetensors", *ENTRIES, "--resume", point, epochs=2), found)
        for words in ((), (*ENTRIES[:3], "fc.weight=out:30%")):
            done = self.refuse(3, "E0243", "train", MODEL, *WORDS, *self.run_words(epochs=2), *words, "--resume", point, "-o", self.path("no.safetensors"))
            self.assertIn("--train-channels", done.stderr)

    def test_a_table_may_have_shares(self):
        words = ("--batch", 1, "--device", "m4", "--effort", 1, "--freeze-stats", "*", "--no-paging", "--no-remat")
        table = self.path("shares.csv")
        with open(table, "w") as file:
            file.write("tensor,contribution\nfc.bias,0.1\nfc.weight,0.5\nfc.weight=out:2,0.4\nstage2.1.0.weight,0.3\nstage2.1.0.weight=25%,0.2\nstage1.1.0.weight=1/4,0.1\n")
        whole = self.plan_json(MODEL, *words)
        seen, before = set(), 0
        for share in (0.7, 0.8, 0.9, 1.0):
            limit = share * whole["energy_j"]
            found = self.plan_json(MODEL, *words, "--update-within", f"{limit:.12f}J", "--contributions", table, "-o", self.path("chosen.json"))
            self.assertLessEqual(found["energy_j"], limit * (1 + 1e-6))
            updates = found["updates"]
            bases = [name.split("=")[0] for name in updates["tensors"]]
            self.assertEqual(len(bases), len(set(bases)), updates)
            self.assertEqual(updates["of_tensors"], 4)
            self.assertAlmostEqual(updates["of_all"], 1.0)
            self.assertGreaterEqual(updates["contribution"], before)
            before = updates["contribution"]
            with open(self.path("chosen.json")) as file:
                self.assertEqual(sorted(json.load(file)["x-model"].get("train_channels", [])), sorted(name for name in updates["tensors"] if "=" in name))
            seen |= set(updates["tensors"])
        self.assertIn("fc.weight", seen)
        self.assertTrue(any("=" in name for name in seen), seen)
        for row, message in (("fc.weight=x", "no share of a weight's channels"), ("fc.bias=1/2", "channels of 'fc.bias' are not known"), ("fc.weihgt=1/2", "has no tensor")):
            with open(table, "w") as file:
                file.write(f"{row},1\n")
            done = self.run_cli("plan", MODEL, *words, "--update-within", "1J", "--contributions", table)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)

    def test_words_that_are_none(self):
        for entry, code in (("fc.weight", "E0113"), ("fc.weight=0", "E0113"), ("fc.weight=out:11", "E0113"), ("nothing=1/2", "E0104"), ("fc.bias=1/2", "E0104")):
            self.refuse(2, code, "plan", MODEL, *WORDS, "--train-channels", entry)
        self.refuse(2, "E0104", "plan", MODEL, *WORDS, "--freeze", "fc.weight", "--train-channels", "fc.weight=1/2")


if __name__ == "__main__":
    unittest.main()
