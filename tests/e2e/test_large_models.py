"""Networks whose embedding alone is larger than the budget: trained in slices, with the bits of unlimited RAM, interrupted, killed, and resumed."""
import json
import os
import signal
import subprocess
import sys
import time
import unittest

from house import PANTOUM, House, tensors

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import large_networks  # noqa: E402

WORDS, LENGTH, WIDTH, RAM = 4096, 8, 128, 768 << 10
TABLE = 4 * WORDS * WIDTH
COMMON = ("--batch", 1, "--device", "host", "--kernels", "portable", "--measure", "off", "--effort", 2, "--optimizer", "adam", "--loss", "cross_entropy,classes_last",
          "--freeze", "causal")


class LargeModels(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model, cls.data = os.path.join(cls.folder, "m.onnx"), os.path.join(cls.folder, "d.npz")
        large_networks.write_transformer(cls.model, 1, WIDTH, 4, WORDS, LENGTH)
        large_networks.write_words(cls.data, 6, WORDS, LENGTH)

    def train(self, name, *words, epochs=1):
        """The weights, and the run log."""
        out, log = self.path(name + ".safetensors"), self.path(name + ".jsonl")
        self.succeed("train", *words, "--data", self.data, "--epochs", epochs, "-o", out, "--log", log)
        with open(log) as lines:
            return tensors(out), [json.loads(line) for line in lines]

    def plan(self, *more):
        """A plan in less RAM than the embedding takes; it is made once for the same words."""
        path = self.path("-".join(["p", *map(str, more)]) + ".json")
        if not os.path.exists(path):
            self.succeed("plan", self.model, *COMMON, "--params-in", "aux", "--ram", f"{RAM}B", *more, "-o", path)
        return path

    def test_an_embedding_larger_than_the_budget(self):
        self.assertGreater(TABLE, RAM)
        for threads in (1, 2):
            expected, _ = self.train(f"whole{threads}", self.model, *COMMON, "--threads", threads)
            path = self.plan("--threads", threads)
            with open(path) as file:
                graph = json.load(file)
            ops = {op["id"]: op for op in graph["graph"]["ops"]}
            streams = {ops[step["op"]]["name"] for step in graph["instructions"]
                       if step["do"] == "compute" and "stream" in ops[step["op"]]["choices"][step["choice"]]}
            self.assertLessEqual({"looked.up", "looked.up.dx", "words.adam"}, streams)
            for name, encryption in ((f"sealed{threads}", "on"), (f"plain{threads}", "off")):
                found, log = self.train(name, "--plan", path, "--page-encryption", encryption)
                self.same_bits(found, expected, name)
                end = log[-1]
                self.assertEqual(end["page_encryption"] == "off", encryption == "off")
                for way in ("in", "out"):
                    self.assertEqual(end[f"bytes_paged_{way}"], end["steps"] * log[0][f"bytes_paged_{way}"], way)
                self.assertLessEqual(end["rss_growth_bytes"], RAM + (128 << 10))
            self.succeed("verify", path)

    def test_ended_in_mid_stream_and_resumed(self):
        path = self.plan("--threads", 1)
        expected, _ = self.train("calm", "--plan", path, epochs=4)
        for ended in (signal.SIGINT, signal.SIGKILL):
            name = f"ended{int(ended)}"
            out, log = self.path(name + ".safetensors"), self.path(name + ".jsonl")
            words = [PANTOUM, "train", "--plan", path, "--data", self.data, "--epochs", "4", "--checkpoint-every", "3", "-o", out, "--log", log]
            with subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
                while process.poll() is None and not self.has_checkpoint(log):
                    time.sleep(0.01)
                process.send_signal(ended)
                message = process.communicate()[1]
            self.assertEqual(process.returncode, 130 if ended == signal.SIGINT else -signal.SIGKILL, message)
            if ended == signal.SIGINT:
                self.assertIn("--resume", message)
            self.assertFalse(os.path.exists(out))
            found, _ = self.train(name + ".resumed", "--plan", path, "--resume", out + ".checkpoint", epochs=4)
            self.same_bits(found, expected, name)

    @staticmethod
    def has_checkpoint(log):
        if not os.path.exists(log):
            return False
        with open(log) as lines:
            return any('"event":"checkpoint"' in line for line in lines)

    def test_a_storage_without_room(self):
        path = self.plan("--threads", 1)
        out = self.path("none.safetensors")
        words = f"ulimit -f 4096; exec {PANTOUM} train --plan {path} --data {self.data} --epochs 1 --log {os.devnull} -o {out}"  # 4 MiB
        done = subprocess.run(["bash", "-c", words], capture_output=True, text=True)
        self.assertIn("E0902", done.stderr)
        self.assertIn("--page-file", done.stderr)
        self.assertFalse(os.path.exists(out))


if __name__ == "__main__":
    unittest.main()
