"""Clock levels of a device profile: which one a plan takes, and that no bit depends on it."""
import filecmp
import json
import os
import subprocess
import unittest

from house import CHECKER, MODEL, PANTOUM, House, make_data, tensors

DEVICE = """
name = "leveled"
ram = "64MiB"
idle_w = {idle}
[compute]
flops_per_s = 1e9
bytes_per_s = 1e9
active_w = 3.0
"""
LEVELS = """
[[clock]]
name = "fast"
active_w = 3.0
[[clock]]
name = "slow"
flops_factor = 0.5
bytes_factor = 0.5
active_w = 1.0
"""
FAST, SLOW = 3.0, 2.0  # joules of a second's work at the nominal rates


class Clocks(House):
    def device(self, name, text):
        path = self.path(f"{name}.toml")
        with open(path, "w") as file:
            file.write(text)
        return path

    def plan(self, name, idle, *more, levels=LEVELS):
        """A plan in RAM enough for everything, which the checker accepts."""
        path = self.path(f"{name}.json")
        device = self.device(name, DEVICE.format(idle=idle) + levels)
        self.succeed("plan", MODEL, "--batch", "4", "--device", device, "--ram", "8MiB", "--effort", "30", "--objective", "energy", "-o", path, *more)
        self.succeed("verify", path)
        with open(path) as file:
            plan = json.load(file)
        if os.path.exists(CHECKER):
            with open(self.path("graph.json"), "w") as file:
                json.dump(plan["graph"], file)
            subprocess.run(["python3", CHECKER, self.path("graph.json"), path], check=True, capture_output=True)
        return plan

    def levels_of(self, plan):
        ops = {op["id"]: op for op in plan["graph"]["ops"]}
        return {ops[each["op"]]["choices"][each["choice"]]["algorithm"].partition("@")[2] for each in plan["instructions"] if each["do"] == "compute"}

    def test_the_least_joules_decide(self):
        thrifty = self.plan("thrifty", 0.0)
        self.assertEqual(self.levels_of(thrifty), {"slow"})
        nominal = thrifty["predicted"]["energy_j"] / SLOW
        self.assertAlmostEqual(thrifty["predicted"]["time_s"], 2 * nominal, delta=1e-6 * nominal)
        # A step at `fast` is over in half the time: 3 J + idle < 2 J + 2 idle from 1 W on.
        self.assertEqual(self.levels_of(self.plan("below", 0.9)), {"slow"})
        racing = self.plan("racing", 1.1)
        self.assertEqual(self.levels_of(racing), {"fast"})
        self.assertAlmostEqual(racing["predicted"]["energy_j"], nominal * (FAST + 1.1), delta=1e-6 * nominal)

    def test_a_deadline_mixes_levels(self):
        nominal = self.plan("free", 0.0)["predicted"]["time_s"] / 2
        mixed = self.plan("hurried", 0.0, "--deadline", f"{1.5 * nominal * 1e6:.3f}us")
        self.assertEqual(self.levels_of(mixed), {"fast", "slow"})
        self.assertLessEqual(mixed["predicted"]["time_s"], 1.5 * nominal * (1 + 1e-6))
        # Half the work at each level would be 2.5 J a second of work; ops are whole, so a little more.
        self.assertGreater(mixed["predicted"]["energy_j"], nominal * (SLOW + FAST) / 2 * (1 - 1e-6))
        self.assertLess(mixed["predicted"]["energy_j"], nominal * (SLOW + 0.6 * (FAST - SLOW)))

    def test_no_bit_depends_on_the_level(self):
        data = make_data(self.path("data"), 16)
        trained, emitted = [], []
        for name, levels in (("one", ""), ("several", LEVELS)):
            self.plan(name, 0.0, levels=levels)
            self.succeed("emit", self.path(f"{name}.json"), "--target", "posix", "-o", self.path(f"firmware-{name}"))
            emitted.append(self.path(f"firmware-{name}"))
            weights = self.path(f"{name}.safetensors")
            self.succeed("train", MODEL, "--data", data, "--batch", "4", "--ram", "8MiB", "--device", self.path(f"{name}.toml"), "--effort", "30",
                         "--objective", "energy", "-o", weights)
            trained.append(tensors(weights))
        self.assertEqual(*trained)
        self.assertTrue(trained[0])
        files = [os.path.relpath(os.path.join(folder, file), emitted[0]) for folder, _, names in os.walk(emitted[0]) for file in names]
        other = [file for file in files if not filecmp.cmp(os.path.join(emitted[0], file), os.path.join(emitted[1], file), shallow=False)]
        self.assertEqual(other, [os.path.join("model", "run.json")])  # the plan's name and its joules

    def test_profiles_of_the_house_with_levels_are_planned_for(self):
        for device in ("m7", "jetson-orin", "iphone-15"):
            path = self.path(f"{device}.json")
            self.succeed("plan", MODEL, "--batch", "4", "--device", device, "--ram", "512KiB", "--effort", "10", "--objective", "energy", "-o", path)
            self.succeed("verify", path)
            with open(path) as file:
                self.assertNotEqual(self.levels_of(json.load(file)), {""}, device)


if __name__ == "__main__":
    unittest.main()
