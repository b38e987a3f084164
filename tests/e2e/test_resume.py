"""Killed at any time, resumed from the last checkpoint: the parameters of the run that was never killed."""
import os
import pathlib
import random
import resource
import signal
import subprocess
import time
import unittest

from house import MODEL, PANTOUM, House, make_data, tensors

WORDS = ("--batch", 16, "--effort", 2, "--ram", "2MiB", "--lr", "0.02", "--momentum", "0.9", "--schedule", "cosine", "--warmup", 3, "--seed", 3,
         "--checkpoint-every", 4)


class Resume(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_data(os.path.join(cls.folder, "data"), 16 * 10 + 5, 20)

    def words(self, out, *more):
        words = list(WORDS)
        for option in more[::2]:  # an option stands once
            if option in words:
                del words[words.index(option):words.index(option) + 2]
        if "--epochs" not in more:
            words += ["--epochs", 3]
        return [PANTOUM, *map(str, ("train", MODEL, "--data", self.path("data"), *words, "-o", out, *more))]

    def start(self, out, *more):
        return subprocess.Popen(self.words(out, *more), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def resume(self, out):
        point = out + ".checkpoint"
        return ("--resume", point) if os.path.exists(point) else ()

    def test_kill_at_any_time(self):
        whole = self.path("whole.safetensors")
        begin = time.monotonic()
        self.succeed(*self.words(whole)[1:])
        seconds = time.monotonic() - begin
        draw, out, kills = random.Random(5), self.path("killed.safetensors"), 0
        while kills < 4:
            process = self.start(out, *self.resume(out))
            try:
                process.communicate(timeout=seconds * draw.uniform(0.1, 0.6))
                for path in (out, out + ".checkpoint"):  # too late: once more, from the start and sooner
                    pathlib.Path(path).unlink(missing_ok=True)
                seconds, kills = seconds / 2, 0
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                kills += 1
        self.succeed(*self.words(out, *self.resume(out))[1:])
        self.same_bits(tensors(out), tensors(whole))

    def test_interrupt_writes_a_checkpoint(self):
        whole, out, log = self.path("calm.safetensors"), self.path("interrupted.safetensors"), self.path("interrupted.jsonl")
        self.succeed(*self.words(whole)[1:])
        process = self.start(out, "--checkpoint-every", 0, "--log", log, "--epochs", 3)
        while not (os.path.exists(log) and '"step"' in pathlib.Path(log).read_text()):
            time.sleep(0.005)
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
        if process.returncode == 0:
            self.skipTest("the run ended before the interrupt came")
        self.assertEqual(process.returncode, 130, error)
        self.assertIn("--resume", error)
        self.succeed(*self.words(out, "--resume", out + ".checkpoint")[1:])
        self.same_bits(tensors(out), tensors(whole))

    def test_a_page_file_that_fails_ends_the_run_and_loses_nothing(self):
        paging = ("--ram", "1MiB", "--kernels", "portable", "--epochs", 8)
        whole, out = self.path("sound.safetensors"), self.path("failed.safetensors")
        self.succeed(*self.words(whole, *paging)[1:])
        self.assertGreater(self.log_of(self.path("run.jsonl"))[-1]["bytes_paged_out"], 0)
        process = self.start(out, *paging)
        while not os.path.exists(out + ".checkpoint"):
            time.sleep(0.002)
            self.assertIsNone(process.poll())
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, 0))  # from now on every write fails
        _, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 9, error)
        self.assertRegex(error, r"error\[E090[13]\]")  # E0901: a checkpoint was being written
        self.assertFalse(os.path.exists(out))
        self.succeed(*self.words(out, *paging, "--resume", out + ".checkpoint")[1:])
        self.same_bits(tensors(out), tensors(whole))

    def test_interrupted_planning_keeps_the_best_plan(self):
        out = self.path("plan.json")
        process = subprocess.Popen([PANTOUM, "plan", MODEL, "--batch", "64", "--ram", "6MiB", "--effort", "1000000", "-o", out],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(2)
        self.assertIsNone(process.poll(), "planning ended before the interrupt came")
        process.send_signal(signal.SIGINT)
        text, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, error)
        self.assertIn("arena", text)
        self.assertIn("valid", self.succeed("verify", out, "--ram", "6MiB").stdout)

    def test_another_model_is_refused(self):
        out = self.path("other.safetensors")
        self.succeed(*self.words(out, "--epochs", 1)[1:])
        self.refuse(3, "E0243", *self.words(self.path("x.safetensors"), "--batch", 8, "--resume", out)[1:])


if __name__ == "__main__":
    unittest.main()
