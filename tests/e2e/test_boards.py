"""Boards: a table of times goes from a board to a PC, and a plan back; processors of several speeds, which a mount of a made tree tells of, change no bit."""
import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import unittest

from house import MODEL, PANTOUM, House, make_data, tensors

BATCH = 4
PORTABLE = ("--batch", BATCH, "--kernels", "portable")
PROCESSORS = sorted(os.sched_getaffinity(0))


class Trained(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_data(os.path.join(cls.folder, "data"), 64, 16)

    def train(self, *more, runner=None):
        path = self.path(f"trained{len(os.listdir(self.folder))}.safetensors")
        (runner or self.succeed)("train", MODEL, "--data", self.path("data"), "--epochs", 1, "--lr", 0.05, *more, "-o", path)
        return tensors(path)


class Boards(Trained):
    def test_a_table_goes_to_a_pc_and_a_plan_back(self):
        board, pc, table, plan = (self.path(name) for name in ("board.db", "pc.db", "board.csv", "board.plan.json"))
        for _ in range(20):  # a loaded machine measures few kernels at a time
            self.succeed("plan", MODEL, *PORTABLE, "--threads", 2, "--ram", "2MiB", "--measure", "missing", "--time-limit", "20s", "--profile-store", board)
            exported = json.loads(self.succeed("profile", "--profile-store", board, "--export", table, "--format", "json").stdout)["exported"]
            told = json.loads(self.succeed("profile", "--profile-store", pc, "--import", table, "--machine", "pi4", "--format", "json").stdout)
            self.assertEqual(told["imported"], exported)
            known = json.loads(self.succeed("plan", MODEL, "--batch", BATCH, "--threads", 2, "--device", "pi4", "--ram", "2MiB", "--effort", 1, "--measure", "known", "--profile-store", pc,
                                            "-o", plan, "--format", "json").stdout)
            if "measured" in known["time_source"]:
                break
        else:
            self.fail(known["time_source"])
        self.succeed("verify", plan)
        self.assertEqual(self.train("--plan", plan), self.train(*PORTABLE, "--threads", 2, "--effort", 1, "--ram", "2MiB"))

    def test_threads_are_those_that_the_process_may_use(self):
        plan = self.path("one.plan.json")
        done = subprocess.run(["taskset", "-c", str(PROCESSORS[-1]), PANTOUM, "plan", MODEL, *map(str, PORTABLE), "--effort", "1", "-o", plan], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(plan, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["x-request"]["threads"], 1)


class Clusters(Trained):
    """Two processors of this machine, of which the system says that the second is faster."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tree = os.path.join(cls.folder, "cpu")
        cls.small, cls.large = PROCESSORS[0], PROCESSORS[-1]
        for processor, capacity in ((cls.small, 446), (cls.large, 1024)):
            os.makedirs(os.path.join(cls.tree, f"cpu{processor}"), exist_ok=True)
            with open(os.path.join(cls.tree, f"cpu{processor}", "cpu_capacity"), "w", encoding="utf-8") as file:
                file.write(f"{capacity}\n")
        for name in ("online", "possible", "present"):
            with open(os.path.join(cls.tree, name), "w", encoding="utf-8") as file:
                file.write(f"{cls.small},{cls.large}\n")
        if cls.small == cls.large or shutil.which("unshare") is None or cls.mounted("true").returncode != 0:
            raise unittest.SkipTest("no two processors, or no mounts of one's own")

    @classmethod
    def mounted(cls, *words):
        """Runs the words where the made tree stands in place of the system's."""
        inner = f"mount --bind {shlex.quote(cls.tree)} /sys/devices/system/cpu && exec taskset -c {cls.small},{cls.large} {shlex.join(map(str, words))}"
        return subprocess.run(["unshare", "--mount", "sh", "-c", inner], capture_output=True, text=True, check=False, timeout=600)

    def there(self, *words):
        done = self.mounted("env", "OCL_ICD_VENDORS=/nonexistent", PANTOUM, *words)  # OpenCL's drivers read the same folders, and end the program over a made one
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_doctor_tells_the_clusters(self):
        self.assertIn(f"kernels run on cpu{self.large} of speed 1.00, the others are cpu{self.small} of speed 0.44", self.there("doctor").stdout)

    def test_threads_are_those_of_the_cluster_that_computes_most(self):
        plan = self.path("cluster.plan.json")
        self.there("plan", MODEL, *PORTABLE, "--effort", 1, "-o", plan)
        with open(plan, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["x-request"]["threads"], 1)

    def test_no_cluster_changes_a_bit(self):
        usual = (*PORTABLE, "--effort", 1, "--ram", "2MiB")
        expected = self.train(*usual, "--threads", 1)
        engines = f"cpu{self.large},cpu{self.small}"
        for more in ((), ("--threads", 1), ("--threads", 2), ("--threads", 3), ("--engines", engines)):
            self.assertEqual(self.train(*usual, *more, runner=self.there), expected, more)

    def test_each_cluster_is_measured(self):
        store = self.path("clusters.db")
        told = json.loads(self.there("profile", MODEL, *PORTABLE, "--engines", f"cpu{self.large},cpu{self.small}", "--measure", "missing", "--profile-store", store, "--format", "json").stdout)
        self.assertEqual([each["engine"] for each in told["clusters"]], [f"cpu{self.small}"])
        self.assertAlmostEqual(told["clusters"][0]["slower"], 1024 / 446)
        self.assertGreater(told["clusters"][0]["measured_now"], 0)
        with sqlite3.connect(store) as found:
            text = "\n".join(str(row) for (table,) in found.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
                             for row in found.execute(f"SELECT * FROM {table}"))
        self.assertIn(f"|cpu{self.small}", text)
        self.assertIn(f"|cpu{self.small}-{self.large}" if self.large == self.small + 1 else f"|cpu{self.small},cpu{self.large}", text)


if __name__ == "__main__":
    unittest.main()
