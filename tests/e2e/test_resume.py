"""Killed at any time, resumed from the last checkpoint: the parameters of the run that was never killed."""
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import struct
import subprocess
import time
import unittest

from house import ALL_CASES, MODEL, PANTOUM, House, make_data, tensors
from killed import killed_after, resume_words

WORDS = ("--batch", 16, "--effort", 2, "--ram", "2MiB", "--lr", "0.02", "--optimizer", "sgd,momentum=0.9", "--schedule", "cosine,warmup=3", "--seed", 3,
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

    def test_kill_at_any_time(self):
        whole = self.path("whole.safetensors")
        begin = time.monotonic()
        self.succeed(*self.words(whole)[1:])
        seconds = time.monotonic() - begin
        draw, out, kills = random.Random(5), self.path("killed.safetensors"), 0
        while kills < 4:
            if killed_after(self.words(out, *resume_words(out)), seconds * draw.uniform(0.1, 0.6)):
                kills += 1
                continue
            for path in (out, out + ".checkpoint"):  # too late: once more, from the start and sooner
                pathlib.Path(path).unlink(missing_ok=True)
            seconds, kills = seconds / 2, 0
        self.succeed(*self.words(out, *resume_words(out))[1:])
        self.same_bits(tensors(out), tensors(whole))

    def test_threads_kernels_choices_and_places_of_parameters_are_no_other_model(self):
        """Winograd's workspace grows with the threads, and who may not take it is offered no less of the model."""
        portable, whole = ("--kernels", "portable", "--schedule", "constant"), self.path("even.safetensors")
        self.succeed(*self.words(whole, *portable, "--threads", 1)[1:])
        for at, (first, then) in enumerate([(("--threads", 1), ("--threads", 2)), (("--threads", 2), ("--threads", 1)), (("--threads", 3), ("--threads", 2)),
                                            ((), ("--disable", "algorithms")), (("--disable", "algorithms"), ()), ((), ("--params-in", "aux"))]):
            out = self.path(f"part-{at}.safetensors")
            self.succeed(*self.words(out, *portable, "--epochs", 1, *first)[1:])
            self.succeed(*self.words(out, *portable, "--resume", out + ".checkpoint", *then)[1:])
            self.same_bits(tensors(out), tensors(whole))

    def test_another_activation_is_another_model(self):
        out, other = self.path("relu.safetensors"), self.path("tanh.onnx")
        pathlib.Path(other).write_bytes(pathlib.Path(MODEL).read_bytes().replace(b"Relu", b"Tanh"))
        self.succeed(*self.words(out)[1:])
        words = [other if word == MODEL else word for word in self.words(out, "--epochs", 4, "--resume", out + ".checkpoint")[1:]]
        self.assertIn("of another model", self.refuse(3, "E0243", *words).stderr)

    def test_interrupt_writes_a_checkpoint(self):
        whole, out, log = self.path("calm.safetensors"), self.path("interrupted.safetensors"), self.path("interrupted.jsonl")
        self.succeed(*self.words(whole)[1:])
        process = self.start(out, "--checkpoint-every", 10**6, "--log", log, "--epochs", 3)
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
        self.assertGreater(self.log_of(whole + ".jsonl")[-1]["bytes_paged_out"], 0)
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


QUICK = ("--batch", 16, "--effort", 1, "--ram", "2MiB", "--kernels", "portable", "--threads", 1, "--seed", 3, "--checkpoint-every", 4)


class Faults(House):
    """What is damaged is noticed before it is used; what was whole stays."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_data(os.path.join(cls.folder, "data"), 16 * 10 + 5, 20)
        make_data(os.path.join(cls.folder, "other"), 16 * 10 + 5, 20, seed=2)
        make_data(os.path.join(cls.folder, "more"), 16 * 11, 20)
        cls.whole = os.path.join(cls.folder, "whole.safetensors")
        subprocess.run([PANTOUM, *map(str, cls.words(cls, cls.whole, "--epochs", 2))], check=True, capture_output=True)  # 20 steps

    def words(self, out, *more, data="data", quick=QUICK):
        return ("train", MODEL, "--data", os.path.join(self.folder, data), *quick, "-o", out, *more)

    def copy(self, name, previous=True):
        """The whole run's checkpoints under another name; that of the newest."""
        point = self.path(name + ".safetensors.checkpoint")
        shutil.copy(self.whole + ".checkpoint", point)
        if previous:
            shutil.copy(self.whole + ".checkpoint.previous", point + ".previous")
        return self.path(name + ".safetensors"), point

    def damage(self, path, at, bit=0):
        data = bytearray(pathlib.Path(path).read_bytes())
        data[at] ^= 1 << bit
        pathlib.Path(path).write_bytes(data)

    def test_a_damaged_checkpoint_is_told_and_the_one_before_taken(self):
        for name, harm in (("flipped", lambda point: self.damage(point, -5)), ("zeros", lambda point: point.write_bytes(bytes(point.stat().st_size))),
                           ("cut", lambda point: point.write_bytes(point.read_bytes()[:-64])), ("gone", pathlib.Path.unlink)):
            out, point = self.copy(name)
            harm(pathlib.Path(point))
            done = self.succeed(*self.words(out, "--epochs", 2, "--resume", point))
            self.assertIn("going on from the one before", done.stderr)
            self.assertIn(point + ".previous, of step 16", done.stderr)
            self.same_bits(tensors(out), tensors(self.whole), name)
            self.same_bits(tensors(point), tensors(self.whole + ".checkpoint"), name)
            log = self.log_of(out + ".jsonl")
            self.assertEqual((log[0]["event"], log[0]["step"], log[-1]["steps"]), ("resume", 16, 20))
            self.assertIn("damaged", log[0])

    def test_every_flip_of_a_lone_checkpoint_or_of_weights_is_refused(self):
        out, point = self.copy("lone", previous=False)
        whole = pathlib.Path(point).read_bytes()
        draw = random.Random(9)
        places = [0, 7, 8, 9, *(draw.randrange(len(whole)) for _ in range(20 if ALL_CASES else 8)), len(whole) - 1]
        for at in places:
            pathlib.Path(point).write_bytes(whole)
            self.damage(point, at, draw.randrange(8))
            for option, output in (("--resume", out), ("--weights", self.path("new.safetensors"))):  # onto the weights is E0125
                done = self.run_cli(*self.words(output, option, point))
                self.assertEqual(done.returncode, 3, f"{option}, byte {at}: {done.stderr}")
                self.assertRegex(done.stderr, r"error\[E024[04]\]")
        pathlib.Path(point).write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        self.assertIn("is not what was written", self.refuse(3, "E0244", *self.words(out, "--resume", point)).stderr)
        self.assertFalse(os.path.exists(out + ".jsonl"), "a run that did not begin has no log")

    def test_foreign_weights_need_no_sums(self):
        weights = tensors(self.whole)
        header, data = {}, b""
        with open(self.whole, "rb") as file:
            size = struct.unpack("<Q", file.read(8))[0]
            entries = json.loads(file.read(size))
        for name, contents in weights.items():
            header[name] = {**entries[name], "data_offsets": [len(data), len(data) + len(contents)]}
            data += contents
        text = json.dumps(header).encode()
        foreign = self.path("foreign.safetensors")
        pathlib.Path(foreign).write_bytes(struct.pack("<Q", len(text)) + text + data)
        out = self.path("fresh.safetensors")
        self.succeed(*self.words(out, "--weights", foreign))
        self.assertIn("--weights", self.refuse(3, "E0243", *self.words(out, "--resume", foreign)).stderr)

    def test_another_run_is_not_resumed(self):
        out, point = self.copy("same")
        for name in ("other", "more"):
            self.refuse(3, "E0243", *self.words(out, "--epochs", 3, "--resume", point, data=name))
        seed = list(QUICK)
        seed[seed.index("--seed") + 1] = 4
        self.assertIn("seed", self.refuse(3, "E0243", *self.words(out, "--resume", point, quick=seed)).stderr)
        del seed[seed.index("--seed"):seed.index("--seed") + 2]
        os.rename(self.path("data"), self.path("moved"))  # where the data lie is not what they are
        try:
            self.succeed(*self.words(out, "--epochs", 2, "--resume", point, data="moved", quick=seed))
        finally:
            os.rename(self.path("moved"), self.path("data"))

    def test_the_log_begins_with_the_run_and_goes_on_with_it(self):
        out = self.path("logged.safetensors")
        log = pathlib.Path(out + ".jsonl")
        self.succeed(*self.words(out))
        first = log.read_text()
        self.refuse(3, "E0262", *self.words(out, data="nowhere"))
        self.refuse(5, "E0301", *self.words(out, "--reserve", "2040KiB"))
        self.assertEqual(log.read_text(), first)
        self.succeed(*self.words(out, "--epochs", 2, "--resume", out + ".checkpoint"))
        self.assertTrue(log.read_text().startswith(first))
        self.assertEqual([line["event"] for line in self.log_of(log)].count("end"), 2)
        self.succeed(*self.words(out))
        self.assertEqual([line["event"] for line in self.log_of(log)].count("end"), 1)
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("logged") and name.endswith((".part", ".lock"))], [])

    def test_no_output_follows_a_link(self):
        victim, out = pathlib.Path(self.path("victim")), self.path("linked.safetensors")
        victim.write_text("whole")
        for name in ("", ".jsonl", ".checkpoint", ".checkpoint.previous"):  # one file for two outputs is E0125
            pathlib.Path(self.path("victim" + name)).write_text("whole")
            os.symlink(self.path("victim" + name), out + name)
        self.succeed(*self.words(out, "--report", out + ".html", "--plan-out", out + ".json"))
        for name in ("", ".jsonl", ".checkpoint", ".checkpoint.previous"):
            self.assertEqual(pathlib.Path(self.path("victim" + name)).read_text(), "whole")
        self.assertFalse(os.path.islink(out) or os.path.islink(out + ".jsonl") or os.path.islink(out + ".checkpoint"))
        os.unlink(out + ".jsonl")
        os.symlink(victim, out + ".jsonl")
        self.refuse(9, "E0901", *self.words(out, "--epochs", 2, "--resume", out + ".checkpoint"))
        os.symlink(victim, out + ".lock")
        self.refuse(9, "E0901", *self.words(out))
        self.assertEqual(victim.read_text(), "whole")

    def test_a_second_run_on_the_same_outputs_is_refused(self):
        out = self.path("busy.safetensors")
        first = subprocess.Popen([PANTOUM, *map(str, self.words(out, "--epochs", 100000))], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not os.path.exists(out + ".checkpoint"):
                self.assertIsNone(first.poll())
                time.sleep(0.005)
            before = pathlib.Path(out + ".jsonl").stat().st_ino
            for words in ((out,), (self.path("free.safetensors"), "--checkpoint", out + ".checkpoint"), (self.path("free.safetensors"), "--log", out + ".jsonl")):
                self.assertIn(f"process {first.pid}", self.refuse(9, "E0907", *self.words(*words)).stderr)
            self.assertEqual(pathlib.Path(out + ".jsonl").stat().st_ino, before)
            self.succeed(*self.words(self.path("free.safetensors")))
        finally:
            first.kill()
            first.wait()
        self.succeed(*self.words(out))
        self.refuse(2, "E0125", *self.words(out, "--log", out))

    def test_kernels_are_those_of_the_checkpoint(self):
        out, point = self.copy("kernels")
        bare = [word for word in QUICK if word not in ("--kernels", "portable")]
        self.succeed(*self.words(out, "--epochs", 3, "--resume", point, quick=bare))
        self.assertEqual(self.log_of(out + ".jsonl")[-1]["kernels"], "portable")
        fast = self.path("fast.safetensors")
        self.succeed(*self.words(fast, quick=bare))
        if self.log_of(fast + ".jsonl")[-1]["kernels"] == "portable":
            self.skipTest("oneDNN is not here")
        nowhere = dict(os.environ, PANTOUM_BACKENDS=self.path("nowhere"))
        plan = self.path("fast.json")
        self.succeed("plan", MODEL, *QUICK[:6], "--threads", 1, "-o", plan)
        for words in (("--resume", fast + ".checkpoint"), ("--plan", plan)):
            done = subprocess.run([PANTOUM, *map(str, self.words(self.path("x.safetensors"), *words, quick=bare))], capture_output=True, text=True, env=nowhere)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("error[E0411]", done.stderr)
            self.assertIn(f"{words[1]} names these kernels", done.stderr)
        done = self.succeed(*self.words(fast, "--epochs", 2, "--resume", fast + ".checkpoint"))
        self.assertRegex(done.stderr, "note: until step 8 the kernels 'oneDNN [0-9.]+' computed, from now on 'portable'")

    def test_numbers_are_in_range(self):
        huge = str(2**63 - 1)
        for code, words in (("E0100", ("--seed", "-1")), ("E0100", ("--seed", 2**64)), ("E0100", ("--clip-norm", "nan")), ("E0100", ("--clip-value", "inf")),
                            ("E0100", ("--lr", "nan")), ("E0100", ("--lr", "inf")), ("E0116", ("--lr", "-0.1")), ("E0116", ("--optimizer", "sgd,momentum=1e400")),
                            ("E0100", ("--weight-decay", "nan")), ("E0100", ("--epochs", huge)), ("E0120", ("--epochs", 10**15)), ("E0100", ("--epochs", 2**70)),
                            ("E0100", ("--accumulate", huge)), ("E0100", ("--log-every", huge)), ("E0100", ("--early-stop", huge)),
                            ("E0100", ("--prefetch", huge)), ("E0111", ("--time-limit", "1e300h")), ("E0111", ("--deadline", "1e308h")),
                            ("E0111", ("--deadline", "1e300x")), ("E0111", ("--finish-within", "900000h")), ("E0121", ("--energy-limit", "1e308kJ")),
                            ("E0111", ("--deadline", "1e300h")), ("E0112", ("--gap", "1e300%")), ("E0110", ("--reserve", "1e30GiB")),
                            ("E0116", ("--schedule", "step,every=1e300")), ("E0116", ("--schedule", "constant,warmup=1e16")), ("E0116", ("--schedule", "cosine,to=-1"))):
            done = self.refuse(2, code, *self.words(self.path("never.safetensors"), *words))
            self.assertNotIn("internal", done.stderr)
        for option in ("--batch", "--effort", "--threads", "--checkpoint-every", "--seed"):
            words = list(QUICK)
            for value in (2**63, 2**64, 10**30) if option == "--seed" else (huge, 2**64):
                words[words.index(option) + 1] = value
                if not (option == "--seed" and value == 2**63):
                    self.refuse(2, "E0100", *self.words(self.path("never.safetensors"), quick=words))
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("never")], [])


if __name__ == "__main__":
    unittest.main()
