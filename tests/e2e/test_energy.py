"""Joules of steps: by a recording, by a meter of the machine, or modelled, and always told which."""
import json
import os
import shutil
import subprocess
import time
import unittest

from house import MODEL, PANTOUM, House, make_data, onnx_model, onnx_node, onnx_tensor

STEP = ("--batch", 8, "--threads", 1, "--kernels", "portable", "--measure", "off", "--ram", "1MiB", "--effort", 1)
STEPS = 8  # of an epoch


def recording(path, high=0.4, idle=1.0, busy=3.0, columns="time,power,gpio", lost=()):
    """0.2 s of idle watts, then `high` seconds of busy ones with the trigger high, then idle ones."""
    with open(path, "w") as file:
        print(columns, file=file)
        for at in range(1000):
            on = 0.2 <= at * 1e-3 < 0.2 + high - 1e-9
            if at not in lost:
                print(f"{at * 1e-3:.3f},{busy if on else idle},{int(on)}", file=file)
    os.utime(path, (time.time() + 3600,) * 2)  # as if it had been written while the run went on


class Energy(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_data(os.path.join(cls.folder, "data"), 64)
        # Two kernels alone: each is metered for seconds.
        cls.layer = os.path.join(cls.folder, "layer.onnx")
        with open(cls.layer, "wb") as file:
            file.write(onnx_model([onnx_node("MatMul", ["x", "w"], ["h"]), onnx_node("Sigmoid", ["h"], ["y"])], ("N", 256), [onnx_tensor("w", (256, 64), [0.01] * 256 * 64)]))

    def words(self, *words):
        return ("train", MODEL, *STEP, "--data", self.path("data"), "-o", self.path("w.safetensors"), *words)

    def train(self, *words):
        done = self.succeed(*self.words(*words), "--format", "json")
        return json.loads(done.stdout), done.stderr

    def test_is_modelled_and_says_so(self):
        end, notes = self.train()
        self.assertEqual(end["energy_source"], "modelled")
        self.assertGreater(end["step_energy_modelled_j"], 0)
        self.assertNotIn("energy_not_measured", end)
        self.assertNotIn("idle", notes)

    def test_a_recording_is_counted_between_the_edges_of_its_trigger(self):
        recording(self.path("r.csv"))
        end, _ = self.train("--meter", f"csv:{self.path('r.csv')},trigger=gpio")
        self.assertIn("r.csv (power in 'power')", end["energy_source"])
        self.assertAlmostEqual(end["step_energy_j"], (3 - 1) * 0.4 / STEPS, delta=1e-3)
        self.assertAlmostEqual(end["idle_w"], 1, delta=1e-9)
        self.assertAlmostEqual(end["measured_s"], 0.4, delta=1e-6)
        self.assertEqual(end["measured_steps"], STEPS)
        self.assertNotIn("step_energy_half_width_j", end)
        self.assertEqual(self.log_of(self.path("w.safetensors.jsonl"))[-1], end)
        shown = self.succeed(*self.words("--meter", f"csv:{self.path('r.csv')},trigger=gpio", "--report", self.path("r.html"))).stdout
        self.assertRegex(shown, r"(?m)^energy   a step: 99\.\d+ mJ above 1 W idle \(measured for 199(\.\d+)? ms\), by recording .*; modelled: ")
        with open(self.path("r.html")) as page:
            self.assertIn("energy of a step", page.read())

    def test_lost_samples_are_bridged_and_told(self):
        recording(self.path("l.csv"), lost=(300, 301, 302))
        end, _ = self.train("--meter", f"csv:{self.path('l.csv')},trigger=gpio")
        self.assertAlmostEqual(end["lost_s"], 0.003, delta=1e-9)
        self.assertAlmostEqual(end["step_energy_j"], (3 - 1) * 0.4 / STEPS, delta=1e-3)

    def test_a_recording_that_cannot_be_counted_costs_no_training(self):
        recording(self.path("old.csv"))
        os.utime(self.path("old.csv"), (1e9, 1e9))
        recording(self.path("cut.csv"), high=5)
        recording(self.path("gap.csv"), lost=range(300, 400))
        recording(self.path("rise.csv"), lost=range(101, 550))
        recording(self.path("unit.csv"), columns="time,Power (kW),gpio")
        for name, why in (("old", "another run's"), ("cut", "still high at the end"), ("gap", "no sample for 101"), ("none", "No such file"),
                          ("rise", "over the trigger's rise"), ("unit", "'kW' of the column 'Power (kW)' is no unit of power")):
            os.path.exists(self.path("w.safetensors")) and os.remove(self.path("w.safetensors"))
            end, notes = self.train("--meter", f"csv:{self.path(name + '.csv')},trigger=gpio")
            self.assertEqual(end["energy_source"], "modelled", name)
            self.assertIn(why, end["energy_not_measured"])
            self.assertIn("the run is whole", notes)
            self.assertTrue(os.path.exists(self.path("w.safetensors")))

    def test_words_are_refused_before_anything_is_done(self):
        for word, code, status in (("watts", "E0124", 2), ("csv:", "E0124", 2), ("csv:a.csv,colour=red", "E0124", 2),
                                   ("csv:a.csv,Trigger=gpio", "E0124", 2), ("csv:a.csv, trigger=gpio", "E0124", 2), ("", "E0100", 2),
                                   ("hwmon:no-such-chip", "E0272", 3), ("battery:none", "E0272", 3)):
            self.refuse(status, code, *self.words("--meter", word))
        self.refuse(2, "E0100", "profile", MODEL, "--meter", "")

    def test_auto_takes_what_there_is(self):
        end, notes = self.train("--meter", "auto")
        if end["energy_source"] == "modelled":
            self.assertIn("energy is modelled", notes)
            self.assertRegex(end["energy_not_measured"], "no meter|no measurement")  # none, or one that stands still
        else:
            self.assertRegex(end["energy_source"], "^measured by ")

    def test_doctor_lists_every_kind(self):
        found = {one["id"]: one for one in json.loads(self.run_cli("doctor", "--format", "json").stdout)}["energy_meter"]
        self.assertEqual([one["word"] for one in found["meters"]], ["powercap", "perf", "hwmon", "battery", "nvml"])
        for one in found["meters"]:
            self.assertTrue(one["detail"])
            self.assertEqual(bool(one["mend"]), not one["ok"])

    def on_battery(self, microwatts, *words):
        """With a tree of its own in place of /sys/class/power_supply."""
        tree = self.path("supplies")
        shutil.rmtree(tree, ignore_errors=True)
        os.makedirs(os.path.join(tree, "BAT0"))
        for name, text in (("type", "Battery"), ("status", "Discharging"), ("power_now", microwatts)):
            with open(os.path.join(tree, "BAT0", name), "w") as file:
                print(text, file=file)
        inside = ["unshare", *(() if os.geteuid() == 0 else ("-r",)), "-m", "sh", "-c", 'mount --bind "$0" /sys/class/power_supply && exec "$@"', tree]
        if not shutil.which("unshare") or subprocess.run([*inside, "true"], capture_output=True).returncode != 0:
            self.skipTest("no tree can be mounted over /sys/class/power_supply")
        done = subprocess.run([*inside, PANTOUM, *map(str, words)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_a_meter_that_stands_still_measures_nothing(self):
        done = self.on_battery("0", *self.words("--meter", "battery", "--format", "json"))
        end = json.loads(done.stdout)
        self.assertEqual(end["energy_source"], "modelled")
        self.assertIn("0 W in all for", end["energy_not_measured"])
        self.assertIn("tells nothing while idle", done.stderr)
        self.assertIn("it stands still", done.stderr)

    def test_kernels_by_a_meter_that_stands_still_keep_modelled_joules(self):
        done = self.on_battery("0", "profile", self.layer, "--inference", "--batch", 8, "--threads", 1, "--kernels", "portable", "--meter", "battery",
                               "--profile-store", self.path("still.db"), "--format", "json")
        ops = json.loads(done.stdout)["ops"]
        self.assertTrue(ops)
        self.assertEqual([op["joules"] for op in ops if op.get("joules") is not None], [])
        self.assertRegex(done.stderr, r"(\d+) of \1 kernels were not metered, and their joules are modelled: .*stands still")

    def test_kernels_that_do_not_stand_out_from_idle_keep_modelled_joules(self):
        done = self.on_battery("7000000", "profile", self.layer, "--batch", 8, "--threads", 1, "--kernels", "portable", "--meter", "battery",
                               "--inference", "--profile-store", self.path("faint.db"), "--format", "json")
        ops = json.loads(done.stdout)["ops"]
        self.assertEqual([op["joules"] for op in ops if op.get("joules") is not None], [])
        self.assertRegex(done.stderr, r"(\d+) of \1 kernels draw no more than idle")

    def test_a_battery_is_sampled_while_steps_run(self):
        done = self.on_battery("7000000", *self.words("--meter", "battery", "--epochs", 20, "--format", "json"))
        end = json.loads(done.stdout)
        self.assertEqual(end["energy_source"], "measured by battery gauge (BAT0, by its power)")
        self.assertAlmostEqual(end["idle_w"], 7, delta=1e-6)
        self.assertAlmostEqual(end["measured_w"], 7, delta=1e-6)
        self.assertAlmostEqual(end["step_energy_j"], 0, delta=end["step_energy_half_width_j"])
        self.assertGreater(end["idle_s"], 9)
        self.assertEqual(end["measured_steps"], 20 * STEPS)
        self.assertLess(end["measured_s"], end["seconds"])
        self.assertIn("idle: 7 W", done.stderr)


if __name__ == "__main__":
    unittest.main()
