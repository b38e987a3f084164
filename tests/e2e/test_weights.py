"""Weights of another origin: found by name, by prefix, transposed; what does not match is told."""
import json
import os
import struct
import unittest

from house import MODEL, House, make_data, tensors

BATCH = 16


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (entry["shape"], data[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]]) for name, entry in header.items() if entry["dtype"] == "F32"}


def write(path, entries, dtype="F32"):
    header, body = {}, b""
    for name, (shape, data) in entries.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)
    return path


def transposed(shape, data):
    rows, columns = shape
    numbers = struct.unpack(f"<{rows * columns}f", data)
    return [columns, rows], struct.pack(f"<{rows * columns}f", *(numbers[row * columns + column] for column in range(columns) for row in range(rows)))


class Weights(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make_data(os.path.join(cls.folder, "data"), 4 * BATCH)

    def train(self, *words):
        out = self.path("out.safetensors")
        done = self.succeed("train", MODEL, "--data", self.path("data"), "--batch", BATCH, "--effort", 1, "--ram", "8MiB", "-o", out, *words)
        return tensors(out), done.stderr

    def test_floats_of_two_bytes_are_the_floats_that_they_hold(self):
        trained, _ = self.train()
        whole = {name: entry for name, entry in read(self.path("out.safetensors")).items() if not name.startswith("optim.")}
        self.assertTrue(whole and trained)
        upper = {name: (shape, b"".join(data[at + 2:at + 4] for at in range(0, len(data), 4))) for name, (shape, data) in whole.items()}
        short = write(self.path("bf16.safetensors"), upper, "BF16")
        wide = {name: (shape, b"".join(b"\0\0" + data[at:at + 2] for at in range(0, len(data), 2))) for name, (shape, data) in upper.items()}
        expected, _ = self.train("--weights", write(self.path("f32.safetensors"), wide))
        found, told = self.train("--weights", short)
        self.assertEqual(found, expected)
        half = {name: (shape, struct.pack(f"<{len(data) // 4}e", *struct.unpack(f"<{len(data) // 4}f", data))) for name, (shape, data) in wide.items()}
        back = {name: (shape, struct.pack(f"<{len(data) // 2}f", *struct.unpack(f"<{len(data) // 2}e", data))) for name, (shape, data) in half.items()}
        self.assertEqual(self.train("--weights", write(self.path("f16.safetensors"), half, "F16"))[0],
                         self.train("--weights", write(self.path("back.safetensors"), back))[0])

    def test_prefix_transposition_and_what_is_left(self):
        self.train("--seed", 3)
        own = read(self.path("out.safetensors"))
        expected, notes = self.train("--weights", write(self.path("own"), own))
        self.assertNotIn("weights", notes)
        matrix = next(name for name, (shape, _) in own.items() if len(shape) == 2 and shape[0] != shape[1])
        foreign = {"model." + name: entry for name, entry in own.items()}
        foreign["model." + matrix] = transposed(*own[matrix])
        foreign["decoder.weight"] = ([1], bytes(4))
        found, notes = self.train("--weights", write(self.path("foreign"), foreign))
        self.assertEqual(found, expected)
        self.assertIn("the weights' names begin with 'model.'", notes)
        self.assertIn(f"transposed: {matrix}", notes)
        self.assertIn("not in the model: decoder.weight", notes)

    def test_a_new_head_on_old_weights(self):
        fresh, _ = self.train("--lr", 0)
        own = read(self.path("out.safetensors"))
        matrix = next(name for name, (shape, _) in own.items() if len(shape) == 2)
        other = {name: (shape, data[:-1] + b"\x3e") if len(shape) == 4 else (shape, data) for name, (shape, data) in own.items()}
        other[matrix] = ([7, 7], bytes(196))
        path = write(self.path("other"), other)
        words = ("train", MODEL, "--data", self.path("data"), "--batch", BATCH, "--effort", 1, "--ram", "8MiB", "-o", self.path("x"), "--weights", path)
        self.assertIn("--keep-init", self.refuse(3, "E0242", *words).stderr)
        found, _ = self.train("--lr", 0, "--weights", path, "--keep-init", matrix)
        self.assertEqual(found[matrix], fresh[matrix])
        changed = [name for name, (shape, _) in own.items() if len(shape) == 4]
        self.assertTrue(changed and all(found[name] != fresh[name] for name in changed))
        self.refuse(3, "E0242", *words[:-1], write(self.path("strange"), {"nothing": ([1], bytes(4))}))


if __name__ == "__main__":
    unittest.main()
