"""A training of a few steps that pages, small enough to run thousands of times: its files, its words, and whether what a call left is right."""
import collections
import hashlib
import json
import os
import random
import re
import shutil
import struct
import tempfile

from house import npy, onnx_model, onnx_node, onnx_tensor, tensors

WIDTH, LAYERS, BATCH, STEPS, TEST = 32, 2, 12, 3, 12
EXIT_OF = {"E01": 2, "E02": 3, "E03": 6, "E04": 4, "E07": 3, "E08": 8, "E09": 9}  # docs/errors.md, but for those that have one of their own
OWN_EXIT = {"E0999": 130, "E0301": 5, "E0303": 7, "E0300": 2}

Left = collections.namedtuple("Left", "fault")  # "" or what is wrong


def scratch(folder):
    """In memory where there is room for it: thousands of flushes to a disk take long."""
    return tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else folder)


def contents(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def wrong_end(ended):
    """What is wrong with how a call ended, whatever it was asked: no signal, no internal error, the exit code that its error has."""
    if ended.code is None:
        return "does not end"
    if ended.code < 0:
        return f"ends with signal {-ended.code}"
    found = re.search(r"error\[(E\d{4})\]", ended.error)
    if ended.code == 0:
        return f"ends well with {found.group()}" if found else ""
    if not found:
        return f"exit code {ended.code} without an error"
    code = found.group(1)
    if code.startswith("E00"):
        return f"internal: {ended.error.strip()}"
    return "" if ended.code == OWN_EXIT.get(code, EXIT_OF.get(code[:3])) else f"{code} with exit code {ended.code}"


class SmallRun:
    """`call(words) -> Ended` runs the program. Files are in `folder`, outputs in `folder`/out."""

    def __init__(self, folder, call):
        self.folder, self.call = folder, call
        self.out = os.path.join(folder, "out")
        self.weights = os.path.join(self.out, "w")
        self.checkpoint = self.weights + ".checkpoint"
        os.mkdir(self.out)
        self.make_inputs()
        plan = self.call(["plan", self.model, *self.question(), "-o", os.path.join(folder, "given.plan")])
        assert plan.code == 0, plan.error
        board = self.call(["plan", self.model, "--batch", 2, "--device", "m4", "--ram", "48KiB", "--effort", 1, "-o", os.path.join(folder, "board.plan")])
        assert board.code == 0, board.error
        done = self.call(self.train())
        assert done.code == 0, done.error
        self.final, self.resumed = tensors(self.weights), {}
        end = json.loads(contents(self.weights + ".jsonl").splitlines()[-1])
        assert end["bytes_paged_out"] > 0 and end["steps"] == STEPS, end
        shutil.copy(self.weights, os.path.join(folder, "given.weights"))
        self.clean()

    def make_model(self, name, layers, floats):
        nodes, weights, last = [], [], "x"
        for layer in range(layers):
            weights.append(onnx_tensor(f"w{layer}", [WIDTH, WIDTH], floats(WIDTH * WIDTH)))
            nodes += [onnx_node("MatMul", [last, f"w{layer}"], [f"h{layer}"]), onnx_node("Relu", [f"h{layer}"], [f"r{layer}"])]
            last = f"r{layer}"
        weights.append(onnx_tensor("head", [WIDTH, 4], floats(WIDTH * 4)))
        nodes.append(onnx_node("MatMul", [last, "head"], ["y"]))
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(onnx_model(nodes, ["N", WIDTH], weights))
        return path

    def make_inputs(self):
        draw = random.Random(1)

        def floats(count):
            return [draw.uniform(-0.3, 0.3) for _ in range(count)]
        self.model, self.smaller = self.make_model("net.onnx", LAYERS, floats), self.make_model("smaller.onnx", 1, floats)
        self.data = os.path.join(self.folder, "data")
        os.mkdir(self.data)
        for split, count in (("train", BATCH * STEPS), ("test", TEST)):
            for name, array in (("x", npy("<f4", (count, WIDTH), struct.pack(f"<{count * WIDTH}f", *floats(count * WIDTH)))),
                                ("y", npy("<i8", (count,), struct.pack(f"<{count}q", *[draw.randrange(4) for _ in range(count)])))):
                with open(os.path.join(self.data, f"{name}_{split}.npy"), "wb") as file:
                    file.write(array)

    def question(self):
        return ["--batch", BATCH, "--ram", "24KiB", "--effort", 1, "--kernels", "portable", "--threads", 1, "--optimizer", "sgd,momentum=0.9"]

    def train(self, *more):
        return ["train", self.model, "--data", self.data, *self.question(), "--seed", 3, "--checkpoint-every", 1, "--log-every", 1, "-o", self.weights,
                "--plan", os.path.join(self.folder, "given.plan"), "--report", os.path.join(self.out, "r.html"), *more]

    def resume(self, *more):
        return self.train("--resume", self.checkpoint, *more)

    def clean(self):
        for name in os.listdir(self.out):
            path = os.path.join(self.out, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)

    def wrong_files(self, may_stay=()):
        """What is wrong with the files that a training left. `may_stay`: endings of names of temporary files that the fault itself keeps."""
        known = {"w", "w.checkpoint", "w.checkpoint.previous", "w.jsonl", "w.plan.json", "r.html"}
        for name in sorted(os.listdir(self.out)):
            if name not in known and not any(end in name for end in may_stay):
                return f"left {name}"
        if os.path.exists(self.weights) and not self.has_final_bits():
            return "weights that are not the final ones"
        page = contents(os.path.join(self.out, "r.html"))
        if page is not None and not page.rstrip().endswith(b"</html>"):
            return "half a report"
        return self.wrong_lines() or self.wrong_plan()

    def has_final_bits(self):
        try:
            return tensors(self.weights) == self.final
        except (OSError, ValueError, struct.error):
            return False

    def wrong_plan(self):
        plan = contents(os.path.join(self.out, "w.plan.json"))
        try:
            json.loads(plan or "{}")
            return ""
        except ValueError:
            return "half a plan"

    def wrong_lines(self):
        lines = (contents(self.weights + ".jsonl") or b"").split(b"\n")
        for line in lines[:-1]:
            try:
                json.loads(line)
            except ValueError:
                return f"a line of the log that is none: {line!r}"
        return ""

    def wrong_resumption(self):
        """Whether a run on what is left ends with the final bits. Asked once for equal checkpoints and names."""
        points = [contents(self.checkpoint), contents(self.checkpoint + ".previous")]
        key = hashlib.sha256(repr([point and hashlib.sha256(point).digest() for point in points] + sorted(os.listdir(self.out))).encode()).digest()
        if key not in self.resumed:
            whole = any(point is not None for point in points)
            done = self.call(self.resume() if whole else self.train())
            bits = self.has_final_bits()
            self.resumed[key] = "" if done.code == 0 and bits else f"{'resumed' if whole else 'from the start'}: {done.code}, {'the same' if bits else 'other'} bits, {done.error.strip()}"
        return self.resumed[key]

    def wrong(self, ended, may_stay=()):
        """All of it, of a training: how it ended, what it left, whether it can go on; then the folder is empty again."""
        fault = wrong_end(ended) or ("ends well without its weights" if ended.code == 0 and not self.has_final_bits() else "") or self.wrong_files(may_stay)
        if not fault and ended.code != 0:
            fault = self.wrong_resumption()
        self.clean()
        return fault
