"""The page file tells nobody what was paged, and takes no other bytes for it."""
import json
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import time
import unittest
import zlib

from house import PANTOUM, House, make_data, onnx_model, onnx_node, onnx_tensor, page_file_of, tensors

PATTERN = struct.pack("<4f", 0.0123, -0.0457, 0.0789, -0.0211)
WIDE = 1024


class PageEncryption(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_data(os.path.join(cls.folder, "data"), 16 * 12, 16)
        wide = struct.unpack("<4f", PATTERN) * (784 * WIDE // 4)
        narrow = tuple(random.Random(1).uniform(-0.03, 0.03) for _ in range(WIDE * 10))
        nodes = [onnx_node("Flatten", ["x"], ["flat"], axis=1), onnx_node("MatMul", ["flat", "w"], ["h"]), onnx_node("Relu", ["h"], ["r"]),
                 onnx_node("MatMul", ["r", "v"], ["y"])]
        with open(os.path.join(cls.folder, "net.onnx"), "wb") as file:
            file.write(onnx_model(nodes, ["N", 1, 28, 28], (onnx_tensor("w", (784, WIDE), wide), onnx_tensor("v", (WIDE, 10), narrow))))

    def words(self, out, *more, rate="1e-12", ram="64MiB"):
        return ("train", self.path("net.onnx"), "--data", self.path("data"), "--batch", 16, "--ram", ram, "--effort", 1, "--threads", 1, "--kernels", "portable",
                "--params-in", "aux", "--lr", rate, "--checkpoint-every", 12, "--log-every", 1, "-o", out, *more)

    def start(self, out, *more):
        return subprocess.Popen([PANTOUM, *map(str, self.words(out, "--epochs", 100000, *more))], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def wait_for_steps(self, process, out, steps):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            self.assertIsNone(process.poll(), "the run ended too early")
            if os.path.exists(out + ".jsonl") and len([line for line in self.log_of_running(out) if '"step"' in line]) >= steps:
                return
            time.sleep(0.02)
        self.fail("no steps were made")

    def log_of_running(self, out):
        with open(out + ".jsonl") as file:
            return file.read().splitlines()

    def lying_in_the_file(self, name, *more):
        """What lies in the page file of a run that is held after a few steps."""
        out = self.path(name + ".safetensors")
        process = self.start(out, *more)
        try:
            self.wait_for_steps(process, out, 3)
            process.send_signal(signal.SIGSTOP)
            with open(page_file_of(process.pid), "rb") as file:
                return file.read()
        finally:
            process.kill()
            process.communicate()

    def test_what_was_paged_does_not_lie_there(self):
        found = self.lying_in_the_file("on")
        self.assertGreater(len(found), 784 * WIDE * 4)
        self.assertNotIn(PATTERN, found)
        written = b"".join(page for page in (found[at:at + 4096] for at in range(0, len(found), 4096)) if page.count(0) < len(page))
        self.assertGreater(len(written), 784 * WIDE * 4)
        self.assertGreater(len(zlib.compress(written)), 0.999 * len(written))

    def test_without_encryption_it_does(self):  # so the test above can fail
        self.assertIn(PATTERN * 4, self.lying_in_the_file("off", "--page-encryption", "off"))

    def test_the_bits_of_training_are_the_same(self):
        on, off = self.path("same-on.safetensors"), self.path("same-off.safetensors")
        self.succeed(*self.words(on, rate=0.05))
        self.succeed(*self.words(off, "--page-encryption", "off", rate=0.05))
        self.same_bits(tensors(on), tensors(off))
        end, plain = self.log_of(on + ".jsonl")[-1], self.log_of(off + ".jsonl")[-1]
        self.assertGreater(end["bytes_paged_out"], 0)
        self.assertIn(end["page_encryption"], ("AES-256-GCM", "XChaCha20-Poly1305"))
        self.assertEqual((plain["page_encryption"], plain["encryption_bytes"]), ("off", 0))
        self.assertLessEqual(end["rss_growth_bytes"], end["arena_bytes"] + (1 << 20))

    def test_its_ram_is_a_share_of_the_arena_whatever_lies_in_the_file(self):
        known = None
        for ram in ("512KiB", "2MiB", "8MiB", "64MiB"):
            with self.subTest(ram):
                out = self.path(f"ram-{ram}.safetensors")
                self.succeed(*self.words(out, rate=0.05, ram=ram))
                known = known or tensors(out)
                self.same_bits(tensors(out), known)
                end = self.log_of(out + ".jsonl")[-1]
                buffers = min(max(end["arena_bytes"] // 16, 32 << 10), 1 << 20)
                self.assertGreater(end["bytes_paged_out"], 784 * WIDE * 4)
                self.assertLessEqual(end["encryption_bytes"], buffers + (40 << 10))
                self.assertGreaterEqual(end["encryption_bytes"], max(buffers - (16 << 10), 32 << 10))  # pieces are whole pages

    def test_a_flipped_bit_ends_the_run_and_loses_nothing(self):
        out, draw = self.path("flipped.safetensors"), random.Random(3)
        process = self.start(out)
        try:
            self.wait_for_steps(process, out, 13)
            path = page_file_of(process.pid)
            with open(path, "r+b", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                deadline = time.monotonic() + 60
                while process.poll() is None and time.monotonic() < deadline:
                    at = draw.randrange(size)
                    file.seek(at)
                    byte = file.read(1)[0]
                    file.seek(at)
                    file.write(bytes([byte ^ 1 << draw.randrange(8)]))
            error = process.communicate(timeout=60)[1]
        finally:
            process.kill()
        self.assertEqual(process.returncode, 9, error)
        self.assertIn("error[E0903]", error)
        self.assertIn("other bytes than were written", error)
        self.assertFalse(os.path.exists(out))
        # From the checkpoint it goes on to the bits of a run that nothing happened to.
        steps = int(self.checkpoint_step(out + ".checkpoint"))
        epochs = steps // 12 + 1
        whole = self.path("whole.safetensors")
        self.succeed(*self.words(whole, "--epochs", epochs))
        self.succeed(*self.words(out, "--epochs", epochs, "--resume", out + ".checkpoint"))
        self.same_bits(tensors(out), tensors(whole))

    def checkpoint_step(self, path):
        with open(path, "rb") as file:
            size = struct.unpack("<Q", file.read(8))[0]
            return json.loads(file.read(size))["__metadata__"]["step"]

    @unittest.skipUnless(os.getuid() == 0 and shutil.which("setpriv"), "needs root, and setpriv, to give rights away")
    def test_no_run_begins_whose_key_could_be_swapped_out(self):
        def words(out, *more):
            run = ["setpriv", "--inh-caps=-all", "--bounding-set=-all", PANTOUM, *map(str, self.words(self.path(out), *more))]
            return subprocess.run(run, capture_output=True, text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0)))
        refused = words("unlocked.safetensors")
        self.assertEqual(refused.returncode, 9, refused.stderr)
        self.assertIn("error[E0908]", refused.stderr)
        self.assertIn("ulimit -l", refused.stderr)
        self.assertEqual(words("open.safetensors", "--page-encryption", "off").returncode, 0)

    def test_the_option_takes_two_words(self):
        self.refuse(2, "E0100", *self.words(self.path("x.safetensors"), "--page-encryption", "maybe"))


if __name__ == "__main__":
    unittest.main()
