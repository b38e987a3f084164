"""What to train where a whole step costs too much: --update-within chooses tensors from a table, the plan keeps the limit, and training changes those tensors alone."""
import csv
import json
import os
import subprocess
import unittest

from house import MODEL, PANTOUM, House, make_data, tensors

WORDS = ("--batch", 4, "--device", "m4", "--ram", "2MiB", "--effort", 1, "--optimizer", "sgd,momentum=0.9")


class UpdateWithin(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_data(os.path.join(cls.folder, "data"), 24, 8)
        found = json.loads(subprocess.run([PANTOUM, "inspect", MODEL, "--format", "json"], capture_output=True, check=True).stdout)
        cls.names = [tensor["name"] for tensor in found["tensors"] if tensor["trains"] == "yes"]

    def table(self, name, rows):
        with open(self.path(name), "w", newline="") as file:
            csv.writer(file).writerows([("tensor", "contribution"), *rows])
        return self.path(name)

    def whole(self):
        return self.plan_json(MODEL, *WORDS)

    def test_the_limit_is_kept_by_the_plan_and_more_of_it_trains_more(self):
        whole, table = self.whole(), self.table("all.csv", [(name, 1 + at % 3) for at, name in enumerate(self.names)])
        for key, unit in (("energy_j", "J"), ("time_s", "s")):
            before = 0
            for share in (0.6, 0.9):
                limit, plan = share * whole[key], self.path("plan.json")
                found = self.plan_json(MODEL, *WORDS, "--update-within", f"{limit:.12f}{unit}", "--contributions", table, "-o", plan)
                self.assertLessEqual(found[key], limit * (1 + 1e-6))
                updates = found["updates"]
                self.assertGreater(updates["contribution"], before)
                self.assertLess(len(updates["tensors"]), len(self.names))
                self.assertEqual(updates["of_tensors"], len(self.names))
                before = updates["contribution"]
                self.succeed("verify", plan)
                with open(plan) as file:
                    kept = json.load(file)
                self.assertEqual(kept["x-updates"], updates)
                self.assertEqual(set(kept["x-model"]["freeze"]), set(self.names) - set(updates["tensors"]))
        text = self.succeed("plan", MODEL, *WORDS, "--update-within", f"{0.9 * whole['energy_j']:.12f}J", "--contributions", table).stdout
        self.assertRegex(text, r"trains \d+ of \d+ tensors, [\d.]+% of the contributions, within ")

    def test_ram_is_a_limit_too(self):
        table = self.table("ram.csv", [(name, 1) for name in self.names])
        words = ("--batch", 1, "--device", "m4", "--effort", 1, "--no-paging", "--no-remat")
        limit = self.plan_json(MODEL, *words)["unplanned_peak_bytes"] * 6 // 10
        found = self.plan_json(MODEL, *words, "--update-within", f"{limit}B", "--contributions", table)
        self.assertLessEqual(found["arena_bytes"], limit)
        self.assertEqual(found["budget_bytes"], limit)
        self.assertTrue(0 < len(found["updates"]["tensors"]) < len(self.names))

    def test_training_changes_what_was_chosen_and_nothing_else(self):
        whole, table = self.whole(), self.table("train.csv", [(name, 1) for name in self.names])
        words = ("--data", self.path("data"), "--epochs", 1, "--seed", 3, "--lr", "0.05", "--freeze-stats", "*")
        start, first = self.path("start.safetensors"), self.path("first.safetensors")
        self.succeed("plan", MODEL, *WORDS, "--weights-out", start)
        self.succeed("train", MODEL, *WORDS, *words, "--update-within", f"{0.7 * whole['energy_j']:.12f}J", "--contributions", table, "-o", first, "--plan-out", self.path("first.json"))
        with open(self.path("first.json")) as file:
            plan = json.load(file)
        chosen, before, after = set(plan["x-updates"]["tensors"]), tensors(start), tensors(first)
        self.assertEqual({name for name in self.names if before[name] != after[name]}, chosen)
        # As with --freeze, and with the plan.
        frozen = [word for name in set(self.names) - chosen for word in ("--freeze", name)]
        self.succeed("train", MODEL, *WORDS, *words, *frozen, "-o", self.path("frozen.safetensors"))
        self.same_bits(tensors(self.path("frozen.safetensors")), after)
        self.succeed("train", "--plan", self.path("first.json"), *words[:-2], "-o", self.path("again.safetensors"), "--plan-out", self.path("again.json"))
        self.same_bits(tensors(self.path("again.safetensors")), after)
        with open(self.path("again.json")) as file:
            self.assertEqual(json.load(file)["x-updates"], plan["x-updates"])
        # A plan has its choice; another one is refused.
        self.refuse(3, "E0231", "train", "--plan", self.path("first.json"), *words[:-2], "--update-within", "1J", "-o", self.path("no.safetensors"))

    def test_a_limit_below_the_cheapest_tensor_names_the_least(self):
        table = self.table("least.csv", [(name, 1) for name in self.names])
        for limit in ("1uJ", "1us", "2KiB"):
            done = self.refuse(6, "E0307", "plan", MODEL, *WORDS, "--update-within", limit, "--contributions", table)
            self.assertIn("alone, takes", done.stderr)
            self.assertRegex(done.stderr, r"help: give .* or more")

    def test_tables_and_words_that_are_none(self):
        good = self.table("good.csv", [(self.names[0], 1)])
        for rows, line, message in (
                ([(self.names[0], -1)], 2, "below 0"), ([(self.names[0], "nan")], 2, "no number"), ([("fc.weihgt", 1)], 2, "has no tensor"),
                ([(self.names[0], 1), (self.names[0], 1)], 3, "stands twice")):
            done = self.refuse(2, "E0126", "plan", MODEL, *WORDS, "--update-within", "1J", "--contributions", self.table("bad.csv", rows))
            self.assertIn(f"bad.csv: line {line}", done.stderr)
            self.assertIn(message, done.stderr)
        frozen = self.refuse(2, "E0126", "plan", MODEL, *WORDS, "--freeze", self.names[0], "--update-within", "1J", "--contributions", good)
        self.assertIn("does not train", frozen.stderr)
        self.refuse(2, "E0126", "plan", MODEL, *WORDS, "--update-within", "1J", "--contributions", self.table("none.csv", []))
        self.refuse(2, "E0126", "plan", MODEL, *WORDS, "--update-within", "12", "--contributions", good)
        self.refuse(2, "E0119", "plan", MODEL, *WORDS, "--update-within", "1J")
        self.refuse(2, "E0119", "plan", MODEL, *WORDS, "--contributions", good)
        self.refuse(2, "E0113", "plan", MODEL, *WORDS, "--update-within", "1J", "--contributions", good, "--feature-cache", "1MiB")
        self.refuse(2, "E0113", "plan", MODEL, *WORDS, "--update-within", "1J", "--contributions", good, "--inference")
        self.refuse(3, "E0201", "plan", MODEL, *WORDS, "--update-within", "1J", "--contributions", self.path("nowhere.csv"))
        with open(self.path("random.csv"), "wb") as file:
            file.write(bytes(range(256)) * 16)
        self.refuse(2, "E0126", "plan", MODEL, *WORDS, "--update-within", "1J", "--contributions", self.path("random.csv"))

    def test_a_plan_whose_record_of_updates_is_damaged(self):
        plan = self.path("damaged.json")
        self.succeed("plan", MODEL, *WORDS, "--update-within", "1J", "--contributions", self.table("one.csv", [("fc.weight", 1)]), "-o", plan)
        with open(plan) as file:
            kept = json.load(file)
        for value in ({"within": 5}, {**kept["x-updates"], "tensors": "fc.weight"}, {**kept["x-updates"], "all": []}):
            with open(plan, "w") as file:
                json.dump({**kept, "x-updates": value}, file)
            self.refuse(3, "E0230", "train", "--plan", plan, "--data", self.path("data"), "--epochs", 1, "-o", self.path("damaged.safetensors"))


if __name__ == "__main__":
    unittest.main()
