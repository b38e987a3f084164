#!/usr/bin/env python3
"""Power lost in the training of an emitted project, in the states that its storage can be in then: it goes on from the last complete step, with its bits.

Every prefix of the blocks that were written, each with the next block torn, too; samples of what a storage can hold that reorders what is not synced; and
of power that is lost a second time; every bit of the newest record flipped. `power_states.c` takes the place of the project's main.c, with a storage in RAM.
"""
import json
import os
import re
import subprocess
import sys

import job  # first: it names the folders of the imports below
from house import make_data

sys.path.insert(0, os.path.join(job.ROOT, "tests", "firmware"))
from projects import network  # noqa: E402

SAMPLES = 1000
PROJECTS = {  # of the plan, of the project
    "state in storage": (("--ram", "48KiB", "--optimizer", "adam", "--params-in", "aux"), ()),
    "state in storage, checked": (("--ram", "48KiB", "--optimizer", "adam", "--params-in", "aux"), ("--check-blocks",)),
    "in slices": (("--ram", "14KiB", "--batch", 1, "--params-in", "aux"), ()),
    "state in RAM": (("--ram", "49KiB", "--no-remat"), ()),
    "state in RAM, checked": (("--ram", "49KiB", "--no-remat"), ("--check-blocks",)),
    "kept features": (("--ram", "56KiB", "--freeze", "[wb]*", "--feature-cache", "64KiB"), ()),
    "kept features, checked": (("--ram", "56KiB", "--freeze", "[wb]*", "--feature-cache", "64KiB"), ("--check-blocks",)),
}


def must(words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{words}: {done.stdout}{done.stderr}")
    return done.stdout


def program_of(work, name, planned, emitted):
    """Builds the project with power_states.c in place of main.c; the program's words but the last two."""
    folder, plan = work.path(name.replace(" ", "-")), work.path("plan.json")
    batch = () if "--batch" in planned else ("--batch", 4)
    must([work.pantoum, "plan", work.path("net.onnx"), "--device", "m4", "--effort", 2, "--lr", "0.05", *batch, "--reserve", "8KiB", *planned, "-o", plan])
    sizes = json.loads(must([work.pantoum, "emit", plan, "--target", "posix", "--data", work.path("data"), "--samples", 10, "--steps", 6, *emitted, "-o", folder,
                             "--format", "json"]))
    with open(os.path.join(job.ROOT, "tests", "faults", "power_states.c"), encoding="ascii") as source, open(os.path.join(folder, "main.c"), "w", encoding="ascii") as main:
        main.write(source.read())
    must(["make", "-s", f"-j{os.cpu_count()}", "-C", folder, "firmware"])
    return [os.path.join(folder, "firmware"), sizes["storage_blocks"]]


def power_loss_firmware(work):
    network(work.path("net.onnx"))
    make_data(work.path("data"), 10, 8)
    tried, faults, notes = 0, [], []
    for name, (planned, emitted) in list(PROJECTS.items())[:2 if work.quick else None]:
        said = must([*program_of(work, name, planned, emitted), 50 if work.quick else SAMPLES, work.seed])
        *lines, last = said.splitlines()
        states, failed, writes = map(int, re.fullmatch(r"states (\d+) failed (\d+) writes (\d+)", last).groups())
        tried += states
        faults += [f"{name}: {line}" for line in lines] + [f"{name}: {failed - len(lines)} more"] * (failed > len(lines))
        notes.append(f"{name}: {writes} writes")
    work.row("power loss firmware", tried, faults, "states", "the last complete step, its bits", "; ".join(notes))


if __name__ == "__main__":
    job.main(power_loss_firmware)
