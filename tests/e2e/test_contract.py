"""The budget is hard: RAM grows by the arena and no more, what the plan pages really crosses the file, an unplanned step dies."""
import ctypes
import json
import os
import pathlib
import resource
import subprocess
import time
import unittest

from house import CHECKER, MODEL, PANTOUM, House, make_data, page_file_of, some

KEYS = ("test_accuracy", "steps", "budget_bytes", "arena_bytes", "unplanned_peak_bytes", "rss_growth_bytes", "bytes_paged_in", "bytes_paged_out", "seconds")
BATCH = 256


class Contract(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_data(os.path.join(cls.folder, "data"), 8 * BATCH, BATCH)
        cls.peak = json.loads(subprocess.run([PANTOUM, "plan", MODEL, "--batch", str(BATCH), "--ram", "1GiB", "--effort", "1", "--format", "json"],
                                             capture_output=True, check=True).stdout)["unplanned_peak_bytes"]

    def tight(self, *more):
        """Half of the peak, or the least RAM that is known: layouts of another processor's convolutions may take more."""
        done = self.run_cli("plan", MODEL, "--batch", BATCH, "--ram", "1B", "--effort", 10, "--threads", 2, "--format", "json", *more)
        return max(self.peak // 2, json.loads(done.stdout)["min_ram_bytes"])

    def words(self, budget, *more):
        return ("train", MODEL, "--data", self.path("data"), "--batch", BATCH, "--ram", f"{budget}B", "--effort", 10, "--threads", 2,
                "-o", self.path("w.safetensors"), *more)

    def end(self):
        return self.log_of(self.path("w.safetensors.jsonl"))[-1]

    def test_ram_grows_by_the_arena(self):
        self.succeed(*self.words(self.tight()))
        end = self.end()
        self.assertEqual(set(KEYS) - set(end), set())
        self.assertLessEqual(end["arena_bytes"], end["budget_bytes"])
        self.assertEqual(end["unplanned_peak_bytes"], self.peak)
        self.assertLessEqual(end["rss_growth_bytes"], end["arena_bytes"] + (1 << 20))
        self.assertGreater(end["rss_growth_bytes"], end["arena_bytes"] // 2)

    def test_the_bytes_of_the_plan_cross_the_file(self):
        self.succeed(*self.words(self.tight("--no-remat"), "--no-remat"))
        log = self.log_of(self.path("w.safetensors.jsonl"))
        self.assertGreater(log[0]["bytes_paged_out"], 0)
        self.assertEqual(log[-1]["bytes_paged_out"], log[0]["bytes_paged_out"] * log[-1]["steps"])
        self.assertEqual(log[-1]["bytes_paged_in"], log[0]["bytes_paged_in"] * log[-1]["steps"])

    def resident_pages(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
        libc.mincore.argtypes = libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            at = libc.mmap(None, size, 1, 1, file.fileno(), 0)
            pages = (ctypes.c_ubyte * ((size + 4095) // 4096))()
            self.assertEqual(libc.mincore(at, size, pages), 0)
            libc.munmap(at, size, None)
        return sum(page & 1 for page in pages)

    def test_nothing_of_it_is_in_the_page_cache(self):
        words = self.words(self.tight("--no-remat"), "--no-remat", "--epochs", 20)
        process = subprocess.Popen([PANTOUM, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            found, deadline = None, time.monotonic() + 60
            while found is None and time.monotonic() < deadline and process.poll() is None:
                time.sleep(0.02)
                found = page_file_of(process.pid)
            self.assertIsNotNone(found, "no page file was seen")
            self.assertEqual(os.stat(found).st_mode & 0o777, 0o600)
            self.assertEqual(os.stat(found).st_nlink, 0)
            written = 0
            while written <= 1 << 20 and time.monotonic() < deadline and process.poll() is None:
                time.sleep(0.05)
                moved = dict(line.split(": ") for line in pathlib.Path(f"/proc/{process.pid}/io").read_text().splitlines())
                written = int(moved["write_bytes"])
            self.assertEqual(self.resident_pages(found), 0)
            self.assertGreater(written, 1 << 20)
        finally:
            process.kill()
            process.wait()

    def test_an_unplanned_step_dies_under_the_limit_that_lets_the_planned_one_pass(self):
        batch = 1024
        data = make_data(self.path("large"), batch, 64)
        peak = self.plan_json(MODEL, "--batch", batch, "--ram", "1GiB", "--effort", 1, "--kernels", "portable")["unplanned_peak_bytes"]

        def train(budget, limit):
            return self.run_cli("train", MODEL, "--data", data, "--batch", batch, "--ram", f"{budget}B", "--effort", 1, "--threads", 2, "--kernels", "portable",
                                "-o", self.path("large.safetensors"), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))
        planned = peak * 6 // 10
        limits = (planned + (slack << 20) for slack in range(20, 400, 10))  # what the process takes beside the arena, found in steps
        limit = next((limit for limit in limits if train(planned, limit).returncode == 0), None)
        self.assertIsNotNone(limit, "the planned step never passed")
        died = train(2 * peak, limit)
        self.assertEqual(died.returncode, 9, died.stderr)
        self.assertIn("error[E0906]", died.stderr)
        self.assertEqual(train(2 * peak, limit + 2 * peak).returncode, 0)

    def test_more_ram_is_never_worse(self):
        last, warm = None, ()
        steps = some(range(20), 10)
        for step in steps:
            budget = self.peak * (60 + 2 * step) // 100
            out = self.path(f"plan{step}.json")
            found = self.plan_json(MODEL, "--batch", BATCH, "--ram", f"{budget}B", "--effort", 3, "-o", out, *warm)
            if last is not None:
                self.assertLessEqual(found["time_s"], last, f"at {budget} bytes")
            last, warm = found["time_s"], ("--warm-start", out)
            self.succeed("verify", out)
        if not os.path.exists(CHECKER):
            self.skipTest("the independent checker is not there")
        for step in steps:
            plan = json.loads(pathlib.Path(self.path(f"plan{step}.json")).read_text())
            pathlib.Path(self.path("graph.json")).write_text(json.dumps(plan["graph"]))
            done = subprocess.run(["python3", CHECKER, self.path("graph.json"), self.path(f"plan{step}.json")], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
