#!/usr/bin/env python3
"""Power is lost at every moment of a training that writes checkpoints: whatever of the unsynced operations got to the disk, the run goes on.

The operations on files are recorded (preload.c). A state of the disk is each prefix of them; the prefix without all that no sync has made
last; and samples without some of that, with writes cut at blocks. In each, --resume finds a whole checkpoint, not older than the last one
that was finished, and ends with the bits of the run that was not interrupted.
"""
import hashlib
import json
import os
import shutil

from job import main  # first: it knows where the house is
from disk import NAMING, draw_loss, lasting, read_record, state
from house import tensors
from server import Server, build_preload
from small_run import STEPS, SmallRun, contents, scratch, wrong_end

EPOCHS = 2
SAMPLES = 60  # states of each prefix beside the two that are not drawn


class PowerLoss:
    def __init__(self, job):
        self.job, self.folder = job, scratch(job.folder)
        self.server = Server(job.pantoum, build_preload(self.folder), self.folder)
        self.small = SmallRun(self.folder, self.server.call)
        record = os.path.join(self.folder, "record")
        ended = self.server.call(self.small.train("--epochs", EPOCHS), f"FAULT_RECORD={record}")
        assert ended.code == 0, ended.error
        self.final, self.whole = tensors(self.small.weights), contents(self.small.weights)
        self.operations = read_record(record, self.small.out)
        self.finished = self.ends_of_checkpoints()
        assert len(self.finished) == EPOCHS * STEPS and contents(self.small.checkpoint) == state(self.operations, len(self.operations))[self.small.checkpoint]
        self.known = {}

    def ends_of_checkpoints(self):
        """For each checkpoint, how many operations there are when it is finished: its name was flushed."""
        ends, waits = [], False
        for index, op in enumerate(self.operations):
            waits = waits or (op.kind == "rename" and op.other == self.small.checkpoint)
            if waits and op.kind == "sync" and op.path == self.small.out:
                ends.append(index + 1)
                waits = False
        return ends

    def write(self, files):
        self.small.clean()
        for name, data in files.items():
            with open(name, "wb") as file:
                file.write(data)

    said = ""

    def resumed_at(self):
        """The step at which the run on these files goes on; 0: it finds no checkpoint and begins anew. And what is wrong with its end."""
        ended = self.server.call(self.small.resume("--epochs", EPOCHS))
        step, self.said = 0, ended.error.strip()
        if ended.code == 3 and not wrong_end(ended):
            ended = self.server.call(self.small.train("--epochs", EPOCHS))
        elif ended.code == 0:
            events = [json.loads(line) for line in contents(self.small.weights + ".jsonl").splitlines()]
            step = [event["step"] for event in events if event["event"] == "resume"][-1]
        if ended.code != 0:
            return step, f"exit code {ended.code}: {ended.error.strip()}"
        return step, "" if tensors(self.small.weights) == self.final else "other bits"

    def wrong(self, files, needed):
        """Equal checkpoints beside files of equal names are tried once; in a tenth of the states the log, cut or with holes, counts as well."""
        if files.get(self.small.weights, self.whole) != self.whole:
            return "half of the weights"
        told_apart = [self.small.checkpoint, self.small.checkpoint + ".previous"] + [self.small.weights + ".jsonl"] * (self.job.draw.random() < 0.1)
        parts = [(name, hashlib.sha256(data).digest() if name in told_apart else b"") for name, data in sorted(files.items())]
        key = repr(parts)
        if key not in self.known:
            self.write(files)
            self.known[key] = self.resumed_at()
        step, fault = self.known[key]
        return fault or (f"resumes at {step}, though the checkpoint of step {needed} was finished: {self.said}" if step < needed else "")

    def states(self):
        """(operations, dropped, torn)"""
        counts = range(len(self.operations) + 1)
        for count in self.job.draw.sample(counts, 20) if self.job.quick else counts:
            kept = lasting(self.operations, count)
            open_ones = {index for index in range(count) if index not in kept}
            yield count, set(), {}
            yield count, open_ones, {}
            yield count, {index for index in open_ones if self.operations[index].kind not in NAMING}, {}
            for _ in range(2 if self.job.quick else SAMPLES):
                yield (count, *draw_loss(self.operations, count, self.job.draw))

    def run(self):
        tried, wrong = 0, []
        for count, dropped, torn in self.states():
            needed = sum(end <= count for end in self.finished)
            fault = self.wrong(state(self.operations, count, dropped, torn), needed)
            tried += 1
            if fault:
                wrong.append(f"after {count} operations, without {sorted(dropped)}, torn {torn}: {fault}")
        self.server.end()
        shutil.rmtree(self.folder)
        self.job.row("power loss checkpoint", tried, wrong, unit="states", note=f"{len(self.operations)} operations, {len(self.finished)} checkpoints, {len(self.known)} resumed")


def run(job):
    PowerLoss(job).run()


if __name__ == "__main__":
    main(run)
