#!/usr/bin/env python3
"""Killed (SIGKILL) at any moment of planning, training, checkpoints and export, then resumed: the bits of the run that was not killed, and no files but its own.

Each configuration is a training and the export of what it trained. The moment is drawn from the whole of both.
"""
import os
import random
import shutil
import struct
import time
import zipfile

import job  # first: it names the folders of the imports below
from house import MODEL, make_data, npy, onnx_model, onnx_node, onnx_tensor, tensors
from killed import killed_after, resume_words

KILLS = 200
FROZEN = ("--freeze", "stage*", "--freeze-stats", "stage*")
COMMON = ("--batch", 16, "--effort", 1, "--seed", 3, "--epochs", 2, "--checkpoint-every", 2)


def dropout_net(path):
    """Images 1x12x12, two layers with dropout between them."""
    draw = random.Random(4)
    nodes = [onnx_node("Flatten", ["x"], ["f"]), onnx_node("MatMul", ["f", "w0"], ["h"]), onnx_node("Relu", ["h"], ["r"]),
             onnx_node("Dropout", ["r", "ratio", "training"], ["d"]), onnx_node("MatMul", ["d", "w1"], ["y"])]
    weights = [onnx_tensor(name, dims, [draw.gauss(0, 0.1) for _ in range(dims[0] * dims[1])]) for name, dims in (("w0", (144, 32)), ("w1", (32, 4)))]
    with open(path, "wb") as file:
        file.write(onnx_model(nodes, ("N", 1, 12, 12), [*weights, onnx_tensor("ratio", (), [0.5]), onnx_tensor("training", (), [1], 9)]))
    return path


def packed_images(path, count):
    """Compressed, so that they are unpacked into a cache first."""
    draw = random.Random(5)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for split, rows in (("train", count), ("test", 16)):
            file.writestr(f"x_{split}.npy", npy("|u1", (rows, 1, 12, 12), draw.randbytes(144 * rows)))
            file.writestr(f"y_{split}.npy", npy("<i8", (rows,), struct.pack(f"<{rows}q", *(draw.randrange(4) for _ in range(rows)))))
    return path


def configurations(work):
    """name: the model, and the words of its training."""
    data = make_data(work.path("data"), 16 * 5 + 3, 16)
    net, packed = dropout_net(work.path("dropout.onnx")), packed_images(work.path("images.npz"), 16 * 5 + 3)
    return {
        "paging, fast kernels, two threads": (MODEL, ("--data", data, *COMMON, "--ram", "1MiB", "--threads", 2, "--lr", "0.02", "--optimizer", "sgd,momentum=0.9")),
        "portable, Adam, schedule": (MODEL, ("--data", data, *COMMON, "--ram", "2MiB", "--kernels", "portable", "--threads", 1, "--optimizer", "adam", "--lr", "0.001",
                                             "--schedule", "cosine,warmup=3", "--clip-norm", 1)),
        "frozen backbone, kept features": (MODEL, ("--data", data, *COMMON, "--ram", "8MiB", "--kernels", "portable", *FROZEN, "--feature-cache", "1MiB")),
        "dropout, augmentation, compressed data": (net, ("--data", packed, *COMMON, "--ram", "1MiB", "--kernels", "portable", "--augment", "flip,crop=2", "--prefetch", 2,
                                                         "--accumulate", 2, "--optimizer", "rmsprop", "--lr", "0.001")),
    }


class Run:
    """One configuration: its commands, and what its outputs hold."""

    def __init__(self, work, name, model, words):
        self.work, self.name, self.model, self.words, self.trained = work, name, model, words, False
        shutil.rmtree(work.path("whole"), ignore_errors=True)  # another configuration's
        begin = time.monotonic()
        self.finish("whole")
        self.seconds = time.monotonic() - begin
        self.expected = self.outputs("whole")

    def out(self, folder):
        os.makedirs(self.work.path(folder), exist_ok=True)
        return self.work.path(folder, "w.safetensors")

    def commands(self, folder):
        """What is left to do in a folder. Who asks for the next one says that this one was not killed."""
        out = self.out(folder)
        if not self.trained:
            yield [self.work.pantoum, *map(str, ("train", self.model, *self.words, "-o", out, *resume_words(out)))]
        self.trained = True
        yield [self.work.pantoum, "export", self.model, "--weights", out, "-o", self.work.path(folder, "trained.onnx")]

    def finish(self, folder):
        for words in self.commands(folder):
            done = self.work.call(*words[1:])
            if done.returncode != 0:
                raise RuntimeError(f"{words[1]} ended with {done.returncode}: {done.stderr}")

    def kill(self, folder, seconds):
        """Where it was killed; None: it had ended."""
        end = time.monotonic() + seconds
        for words in self.commands(folder):
            if killed_after(words, max(0.0, end - time.monotonic())):
                return "export" if words[1] == "export" else self.reached(folder)
        return None

    def reached(self, folder):
        names = os.listdir(self.work.path(folder))
        if any(name.endswith(".part") for name in names):
            return "writing a file"
        return "training" if "w.safetensors.jsonl" in names else "planning"

    def outputs(self, folder):
        names = sorted(name for name in os.listdir(self.work.path(folder)) if name != ".cache")
        with open(self.work.path(folder, "trained.onnx"), "rb") as file:
            return names, tensors(self.out(folder)), file.read()

    def differs(self, folder):
        """What is not as in the run that was not killed."""
        names, *here = self.outputs(folder)
        left = {name for name in set(names) ^ set(self.expected[0]) if ".part-" not in name}  # half a file, under a name that nothing reads
        return [what for what, one, other in zip(("weights", "the exported model"), here, self.expected[1:]) if one != other] + [f"files {sorted(left)}"] * bool(left)


def point(runs, draw, places):
    """One kill and what follows; a line where it fails."""
    run = draw.choice(runs)
    for _ in range(20):
        shutil.rmtree(run.work.path("killed"), ignore_errors=True)
        run.trained = False
        seconds = draw.uniform(0, run.seconds)
        try:
            place = run.kill("killed", seconds)
            if place:
                run.finish("killed")
                break
        except RuntimeError as error:
            return f"{run.name}, killed after {seconds:.4f} s: {error}"
    else:
        return f"{run.name}: it ended before it could be killed, 20 times"
    places[place] = places.get(place, 0) + 1
    wrong = run.differs("killed")
    return f"{run.name}, killed after {seconds:.4f} s ({place}): others are {', '.join(wrong)}" if wrong else None


def kills(work):
    runs = [Run(work, name, *more) for name, more in configurations(work).items()]
    places, count = {}, 8 if work.quick else KILLS
    faults = [each for each in (point(runs, work.draw, places) for _ in range(count)) if each]
    work.row("kills", count, faults, target="resumed to the same bits", note=", ".join(f"{number} {place}" for place, number in sorted(places.items())))


if __name__ == "__main__":
    job.main(kills)
