#!/usr/bin/env python3
"""One bit flipped in a checkpoint, weights, kept features, a binary plan or the page file: it is noticed, or lies in bytes that nobody reads.

Files that lie still are flipped as they lie. Kept features and the page file have no name: their bits are flipped through /proc while the run that
works on them is stopped, and it goes on then. What such a run did not notice it did not read: it ends with the bits of the run without a flip.
"""
import collections
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import job  # first: it names the folders of the imports below
from house import MODEL, make_data, tensors

FLIPS = {"checkpoint": 250, "weights": 250, "binary plan": 250, "features": 125, "page file": 125}
COMMON = ("--batch", 16, "--effort", 1, "--seed", 3, "--kernels", "portable", "--threads", 1)
LIVE = {
    "features": ("--ram", "8MiB", "--epochs", 8, "--freeze", "stage*", "--freeze-stats", "stage*", "--feature-cache", "1MiB", "--checkpoint-every", 10**6),
    "page file": ("--ram", "1MiB", "--epochs", 2, "--checkpoint-every", 10**6),
}
DAMAGED = r"error\[E024[034]\]"


class Tally:
    """What became of the flips of one kind of file."""

    def __init__(self):
        self.outcomes, self.faults = collections.Counter(), []

    def add(self, outcome, fault=None):
        self.outcomes[outcome] += 1
        if fault:
            self.faults.append(fault)


def flip(path, byte, bit):
    with open(path, "r+b") as file:
        file.seek(byte)
        old = file.read(1)[0]
        file.seek(byte)
        file.write(bytes([old ^ 1 << bit]))


def place(draw, size):
    """A byte and a bit; half of the bytes are of the first 4 KiB, where headers are."""
    return draw.randrange(min(size, 4096) if draw.random() < 0.5 else size), draw.randrange(8)


def must(work, *words):
    done = work.call(*words)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)


def at_rest(work, count, whole, words):
    """Flips of a file that lies still: the program refuses each."""
    tally, path, size = Tally(), work.path("flipped"), os.path.getsize(whole)
    shutil.copy(whole, path)
    for _ in range(count):
        byte, bit = place(work.draw, size)
        flip(path, byte, bit)
        done = work.call(*words(path))
        flip(path, byte, bit)
        noticed = done.returncode == 3 and re.search(DAMAGED, done.stderr)
        tally.add("noticed" if noticed else "taken", None if noticed else f"byte {byte} of {size}, bit {bit}: ended with {done.returncode}: {done.stderr}")
    return tally


def train_words(work, out, *more):
    return ["train", MODEL, "--data", work.path("data"), *COMMON, *more, "-o", work.path(out)]


def of_checkpoint(work, count):
    must(work, *train_words(work, "base.safetensors", "--ram", "8MiB", "--epochs", 1, "--checkpoint-every", 3))
    point = work.path("base.safetensors.checkpoint")
    return at_rest(work, count, point, lambda path: train_words(work, "never.safetensors", "--ram", "8MiB", "--epochs", 1, "--resume", path))


def of_weights(work, count):
    return at_rest(work, count, work.path("base.safetensors"), lambda path: ["export", MODEL, "--weights", path, "-o", work.path("never.onnx")])


def of_binary_plan(work, count):
    """pt_plan_open is what reads a binary plan, on the host and on a device."""
    path, program, tally = work.path("plan.bin"), work.path("open_plan"), Tally()
    must(work, "plan", MODEL, "--batch", 8, "--ram", "2MiB", "--effort", 1, "--binary-out", path)
    library = os.path.join(os.path.dirname(os.path.dirname(work.pantoum)), "lib", "libpantoum_rt.a")
    subprocess.run(["cc", "-std=c99", "-I", os.path.join(job.ROOT, "include"), os.path.join(job.ROOT, "tests", "faults", "open_plan.c"), library, "-lm", "-o", program], check=True)
    places = [place(work.draw, os.path.getsize(path)) for _ in range(count)]
    done = subprocess.run([program, path], input="\n".join(f"{byte} {bit}" for byte, bit in places), capture_output=True, text=True, check=True)
    for (byte, bit), status in zip(places, done.stdout.split(), strict=True):
        noticed = status in ("2", "3")  # PT_E_PLAN, PT_E_VERSION
        tally.add("noticed" if noticed else "taken", None if noticed else f"byte {byte}, bit {bit}: status {status}")
    return tally


def private_file(process):
    """The file without a name that a run has open, as a path; None: not yet."""
    folder = f"/proc/{process.pid}/fd"
    try:
        for name in os.listdir(folder):
            target = os.readlink(os.path.join(folder, name))
            if "/pantoum-page-" in target and target.endswith(" (deleted)") and os.path.getsize(os.path.join(folder, name)) > 0:
                return os.path.join(folder, name)
    except OSError:  # it ended, or closed what it had open
        pass
    return None


def flip_live(draw, process, seconds):
    """Flips a bit of the process's private file at some moment of the seconds after it was made; where, or None: it ended before."""
    while process.poll() is None and not private_file(process):
        time.sleep(0.001)
    time.sleep(draw.uniform(0, seconds))
    process.send_signal(signal.SIGSTOP)
    path, where = private_file(process), None
    if path:
        where = place(draw, os.path.getsize(path))
        flip(path, *where)
    process.send_signal(signal.SIGCONT)
    return where


def live_run(work, kind, seconds):
    """One run with a flip in its private file: where, its exit code and what it said."""
    for _ in range(50):
        process = subprocess.Popen([work.pantoum, *map(str, train_words(work, "live.safetensors", *LIVE[kind]))], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        where = flip_live(work.draw, process, seconds)
        _, said = process.communicate(timeout=60)
        if where:
            return where, process.returncode, said
    raise RuntimeError(f"{kind}: no run was there to be flipped")


def of_live(work, kind, count):
    tally, begin = Tally(), time.monotonic()
    must(work, *train_words(work, "calm.safetensors", *LIVE[kind]))
    seconds, expected = time.monotonic() - begin, tensors(work.path("calm.safetensors"))
    for _ in range(count):
        pathlib.Path(work.path("live.safetensors")).unlink(missing_ok=True)
        where, code, said = live_run(work, kind, seconds)
        if code == 9 and "error[E09" in said:
            tally.add("noticed")
        elif code == 0 and tensors(work.path("live.safetensors")) == expected:
            tally.add("not read afterwards")
        else:
            tally.add("taken", f"byte {where[0]}, bit {where[1]}: " + (f"ended with {code}: {said}" if code else "other weights"))
    return tally


def bit_flips(work):
    make_data(work.path("data"), 16 * 5 + 3, 16)
    ways = {"checkpoint": of_checkpoint, "weights": of_weights, "binary plan": of_binary_plan,
            **{kind: lambda work, count, kind=kind: of_live(work, kind, count) for kind in LIVE}}
    tried, faults, notes = 0, [], []
    for kind, count in FLIPS.items():
        tally = ways[kind](work, 4 if work.quick else count)
        tried += sum(tally.outcomes.values())
        faults += [f"{kind}, {fault}" for fault in tally.faults]
        notes.append(f"{kind}: " + ", ".join(f"{number} {outcome}" for outcome, number in sorted(tally.outcomes.items())))
    work.row("bit flips", tried, faults, "bits", "noticed, or nobody reads them", "; ".join(notes))


if __name__ == "__main__":
    job.main(bit_flips)
