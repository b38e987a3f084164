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
# Times that are measured here are kept apart from the user's.
CACHE = tempfile.TemporaryDirectory()
os.environ["XDG_CACHE_HOME"] = CACHE.name
CHECKER = os.path.join(ROOT, "..", "shared", "tools", "check_plan.py")

# `make e2e-long` sets it: every case of every test.
ALL_CASES = bool(os.environ.get("PANTOUM_ALL_CASES"))


def some(cases, count):
    """So many of the cases, spread evenly from the first to the last; all of them in a long run."""
    cases = list(cases)
    if ALL_CASES or len(cases) <= count:
        return cases
    return [cases[at * (len(cases) - 1) // max(count - 1, 1)] for at in range(count)]


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


def page_file_of(pid, least=1 << 20):
    """The page file of a running process, which has no name any more: a path below /proc that can be read and written; None: there is none (yet)."""
    try:
        for number in os.listdir(f"/proc/{pid}/fd"):
            path = f"/proc/{pid}/fd/{number}"
            try:
                if os.readlink(path).endswith("(deleted)") and os.stat(path).st_size >= least:
                    return path
            except OSError:
                continue
    except OSError:
        pass
    return None


def field(number, value):
    """One protobuf field: bytes or an integer."""
    def varint(n):
        n, out = n % (1 << 64), b""
        while n > 127:
            out, n = out + bytes([n & 127 | 128]), n >> 7
        return out + bytes([n])
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def onnx_node(op, inputs, outputs, name="", **ints):
    """A node with integers, or lists of them, as attributes."""
    def attribute(value):
        return field(3, value) + field(20, 2) if isinstance(value, int) else b"".join(field(8, each) for each in value) + field(20, 7)
    attributes = [field(1, key.encode()) + attribute(value) for key, value in ints.items()]
    return b"".join([*(field(1, i.encode()) for i in inputs), *(field(2, o.encode()) for o in outputs), field(3, name.encode()), field(4, op.encode()),
                     *(field(5, each) for each in attributes)])


def onnx_tensor(name, dims, values, dtype=1):
    """f32 (1), i64 (7) or bool (9)."""
    raw = struct.pack(f"<{len(values)}{'f' if dtype == 1 else 'q'}", *values) if dtype in (1, 7) else bytes(values)
    return b"".join(field(1, dim) for dim in dims) + field(2, dtype) + field(8, name.encode()) + field(9, raw)


def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape!r}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + data


def onnx_model(nodes, dims, tensors=(), outputs=("y",), dtype=1):
    """x [dims] -> nodes -> outputs, opset 17. A dim may be a name; the input's dtype is as in onnx_tensor."""
    shape = b"".join(field(1, field(2, d.encode()) if isinstance(d, str) else field(1, d)) for d in dims)
    x = field(1, b"x") + field(2, field(1, field(1, dtype) + field(2, shape)))
    graph = b"".join(field(1, node) for node in nodes) + field(2, b"g") + b"".join(field(5, t) for t in tensors) + field(11, x) + b"".join(field(12, field(1, name.encode())) for name in outputs)
    return field(1, 8) + field(7, graph) + field(8, field(1, b"") + field(2, 17))


def m4_costgraph(folder):
    """The example's cost graph at batch 8 on m4, as a file, and its unplanned peak."""
    path = os.path.join(folder, "graph.json")
    done = subprocess.run([PANTOUM, "plan", MODEL, "--batch", "8", "--device", "m4", "--ram", "1GiB", "--effort", "1", "--disable", "rewriting", "--costgraph-out", path,
                           "--format", "json"], capture_output=True, check=True)
    return path, json.loads(done.stdout)["unplanned_peak_bytes"]


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

    def same_bits(self, found, expected, message=""):
        """Tensors by name are equal. (unittest's own comparison of unequal megabytes takes minutes.)"""
        self.assertEqual(found.keys(), expected.keys(), message)
        unequal = [name for name in expected if found[name] != expected[name]]
        self.assertFalse(unequal, f"{len(unequal)} of {len(expected)} tensors have other bits; {message}")

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
