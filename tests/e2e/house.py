"""What the end-to-end tests share: the binary, small data sets, safetensors. Standard library only."""
import gzip
import json
import os
import random
import struct
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PANTOUM = os.environ.get("PANTOUM", os.path.join(ROOT, "build", "release", "bin", "pantoum"))
MODEL = os.path.join(ROOT, "examples", "fashion", "cnn.onnx")
CHECKER = os.path.join(ROOT, "..", "shared", "tools", "check_plan.py")


def idx(path, dims, data):
    with open(path, "wb") as file:
        file.write(bytes([0, 0, 8, len(dims)]) + b"".join(struct.pack(">I", dim) for dim in dims) + bytes(data))


def make_data(folder, train, test=32, seed=1):
    """Images whose class is a bright bar at a row of its own, in noise."""
    draw = random.Random(seed)
    os.makedirs(folder, exist_ok=True)
    for split, count in (("train", train), ("t10k", test)):
        images, labels = bytearray(), bytearray()
        for _ in range(count):
            label = draw.randrange(10)
            image = bytearray(draw.randbytes(784))
            for at in range(28 * (2 + 2 * label), 28 * (4 + 2 * label)):
                image[at] = 255
            images += image
            labels.append(label)
        idx(os.path.join(folder, f"{split}-images-idx3-ubyte"), (count, 28, 28), images)
        idx(os.path.join(folder, f"{split}-labels-idx1-ubyte"), (count,), labels)
    return folder


def tensors(path):
    """name -> bytes of a safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    return {name: data[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]]
            for name, entry in header.items() if name != "__metadata__"}


class House(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = cls.scratch.name

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def run_cli(self, *words, timeout=300, **more):
        done = subprocess.run([PANTOUM, *map(str, words)], capture_output=True, text=True, timeout=timeout, **more)
        self.assertGreaterEqual(done.returncode, 0, f"killed by a signal: {words}\n{done.stderr}")
        return done

    def succeed(self, *words, **more):
        done = self.run_cli(*words, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def refuse(self, exit_code, code, *words, **more):
        """The command fails with this exit code and error code, and says what to do."""
        done = self.run_cli(*words, **more)
        self.assertEqual(done.returncode, exit_code, f"{words}\n{done.stdout}\n{done.stderr}")
        self.assertIn(f"error[{code}]", done.stderr)
        return done

    def plan_json(self, *words):
        return json.loads(self.succeed("plan", *words, "--format", "json").stdout)

    def log_of(self, path):
        with open(path) as file:
            return [json.loads(line) for line in file]
