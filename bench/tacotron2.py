"""Trains Tacotron 2's decoder and postnet of the published size (tacotron2_network.py), unrolled over 100 frames, here and in PyTorch: out/bench/nntrainer.json.

`tacotron2 BATCH memory`: what the process grows by in training over PyTorch's growth. Both begin before parameters are in RAM and end at the most that the process has in two
steps: here from before the arena, behind import and planning, in PyTorch from before the module. `tacotron2 BATCH time`: a step's time over PyTorch's, steps of both sides taken in turns, each side a process of its own with two threads. `tacotron2 losses`: the
largest difference of a loss to PyTorch's over three steps without dropout, as a share. Plain SGD, the published dropout, an encoder's memory of 50 places.
usage: tacotron2.py --pantoum PROGRAM [--batches 16=240,32=400] [--out FOLDER]
"""
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FRAMES, LENGTH, THREADS, RATE, COMPARED = 100, 50, 2, .01, 3
LOSSES = ("--loss", "mels=mse", "--loss", "finer=mse", "--loss", "gate=bce_with_logits", "--optimizer", "sgd", "--lr", RATE, "--threads", THREADS)
MOST_MEMORY, MOST_TIME, MOST_LOSS, ROUNDS = .44, 1.0, 1e-4, 4
PLANNING = 40  # seconds


def resident(process, key):
    """Bytes of a process: VmRSS now, VmHWM at the most."""
    with open(f"/proc/{process}/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key + ":"))


def torch_steps(batch, dropout):
    """A step for each line of standard input; at its end what the process grew by."""
    import torch
    import tacotron2_network as network
    torch.set_num_threads(THREADS)
    memory, read, made, gates = network.samples(batch, FRAMES, LENGTH)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = resident("self", "VmRSS")
    torch.manual_seed(0)
    module = network.Decoder(dropout).train()
    optimizer = torch.optim.SGD(module.parameters(), lr=RATE)
    for _ in sys.stdin:
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = network.loss_of(module(memory, read), made, gates)
        loss.backward()
        optimizer.step()
        print(json.dumps({"seconds": time.perf_counter() - begin, "loss": loss.item()}), flush=True)
    print(json.dumps({"growth_bytes": resident("self", "VmHWM") - before}))


def write_samples(count, folder):
    """One batch, as arrays named by inputs and outputs."""
    import numpy
    import tacotron2_network as network
    memory, read, made, gates = network.samples(count, FRAMES, LENGTH)
    for name, array in (("memory", memory), ("frames", read), ("mels", made), ("finer", made), ("gate", gates)):
        numpy.save(os.path.join(folder, f"{name}_train.npy"), array.numpy())


def write_models(folder):
    """With dropout and without, unless they are there."""
    import tacotron2_network as network
    for name, dropout in (("net", True), ("plain", False)):
        path = os.path.join(folder, name + ".onnx")
        if not os.path.exists(path):
            network.export(path, FRAMES, LENGTH, dropout)


class Bench:
    def __init__(self, args):
        sys.path.insert(0, HERE)
        from table import Table
        self.pantoum, self.file = os.path.abspath(args.pantoum), os.path.join(args.out, "nntrainer.json")
        self.ram = {int(batch): int(ram) for batch, _, ram in (each.partition("=") for each in args.batches.split(","))}
        self.folder = os.path.join(args.out, "tacotron2")
        self.table, self.raw = Table(), {}
        os.makedirs(self.folder, exist_ok=True)

    def run_self(self, *words):
        return sys.executable, "-W", "ignore", os.path.abspath(__file__), *map(str, words)

    def path(self, name):
        return os.path.join(self.folder, name)

    def plan(self, batch):
        """The best plan within the budget that is found in PLANNING seconds, by recomputation alone, which is planned sooner for thousands of ops; where there is none,
        that of a step that is not planned. What the plan's file says, and the seconds."""
        plan, begin = self.path(f"plan-{batch}.json"), time.monotonic()
        if os.path.exists(plan):
            os.remove(plan)
        for words in (("--ram", f"{self.ram[batch]}MiB", "--no-paging"), ("--ram", "64GiB")):
            planner = subprocess.Popen([self.pantoum, "plan", self.path("net.onnx"), "--batch", str(batch), *map(str, (*LOSSES, *words)), "--effort", "1", "-o", plan],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            try:
                said = planner.communicate(timeout=PLANNING)[1]
            except subprocess.TimeoutExpired:
                planner.send_signal(signal.SIGINT)  # it writes the best plan so far
                said = planner.communicate()[1]
            if os.path.exists(plan):
                with open(plan) as file:
                    return plan, json.load(file), time.monotonic() - begin
        raise RuntimeError(said.strip()[-400:])

    def compare(self, batch):
        from turns import Steps, ratio
        plan, answer, planning = self.plan(batch)
        ours = Steps([self.pantoum, "profile", self.path("net.onnx"), "--batch", batch, *LOSSES, "--plan", plan, "--on-request", "--steps", 100000, "--measure", "known",
                      "--ram", "64GiB", "--format", "json"])
        theirs = Steps(self.run_self("--steps", batch))
        try:
            turns = [[], []]
            for _ in range(ROUNDS):
                for side, taken in zip((ours, theirs), turns):
                    taken.append(side.step())
            growth, peer = self.growth_of_training(batch, plan), theirs.end()["growth_bytes"]
        finally:
            ours.close()
            theirs.close()
        share, over = growth / peer, ratio(turns[0][1:], turns[1][1:])
        self.raw[f"tacotron2 {batch}"] = {"pantoum_s": turns[0], "torch_s": turns[1], "growth_bytes": growth, "torch_growth_bytes": peer,
                                          "planning_s": planning, "ops": len(answer["graph"]["ops"]), "predicted": answer["predicted"], "unplanned_peak_bytes": answer["x-unplanned"]["peak_bytes"]}
        mib = 2 ** 20
        self.table.add(f"tacotron2 {batch} memory", share, "of PyTorch's growth", f"<= {MOST_MEMORY}", share <= MOST_MEMORY,
                       f"{growth / mib:.0f} of {peer / mib:.0f} MiB; arena {answer['predicted']['arena_bytes'] / mib:.0f} of {answer['x-unplanned']['peak_bytes'] / mib:.0f} MiB unplanned; {len(answer['graph']['ops'])} ops planned in {planning:.0f} s; the aim is .25")
        self.table.add(f"tacotron2 {batch} time", over, "of PyTorch's time", f"<= {MOST_TIME:g}", over <= MOST_TIME,
                       f"{statistics.median(turns[0][1:]):.3g} s against {statistics.median(turns[1][1:]):.3g} s")

    def train(self, model, batch, *words):
        """The lines of its log."""
        log = self.path("run.jsonl")
        command = [self.pantoum, "train", self.path(model), "--data", self.folder, "--batch", batch, *LOSSES, *words, "--shuffle", "off", "--log", log, "--log-every", 1,
                   "-o", self.path("out.safetensors")]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip()[-400:])
        with open(log) as file:
            return [json.loads(line) for line in file]

    def growth_of_training(self, batch, plan):
        """Of two steps by `pantoum train` with the plan: arena, page buffers and what else it takes beside what it had before the arena."""
        self.samples(batch)
        return self.train("net.onnx", batch, "--plan", plan, "--epochs", 2)[-1]["rss_growth_bytes"]

    def samples(self, batch):
        subprocess.run(self.run_self("--samples", batch, self.folder), check=True)

    def losses(self):
        """Batch 16, without dropout."""
        self.samples(16)
        ours = [line["loss"] for line in self.train("plain.onnx", 16, "--ram", "64GiB", "--effort", 1, "--epochs", COMPARED) if line["event"] == "step"]
        done = subprocess.run(self.run_self("--steps", 16, "--plain"), input="\n" * COMPARED, capture_output=True, text=True, check=True)
        theirs = [json.loads(line)["loss"] for line in done.stdout.splitlines()[:COMPARED]]
        off = max(abs(one / other - 1) for one, other in zip(ours, theirs, strict=True))
        self.raw["tacotron2 losses"] = {"pantoum": ours, "torch": theirs}
        self.table.add("tacotron2 losses", off, "of the loss", f"<= {MOST_LOSS:g}", off <= MOST_LOSS, f"{COMPARED} steps without dropout, {theirs[0]:.4f} to {theirs[-1]:.4f}")

    def save(self):
        """Beside the rows of other benches of this file."""
        kept = {"rows": [], "raw": {}}
        if os.path.exists(self.file):
            with open(self.file) as file:
                kept = json.load(file)
        rows = [row for row in kept["rows"] if not row["name"].startswith("tacotron2")] + self.table.rows
        with open(self.file, "w") as file:
            json.dump({"rows": rows, "raw": {**kept["raw"], **self.raw}}, file, indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pantoum")
    parser.add_argument("--batches", default="16=240,32=400", help="each with the MiB to plan within")
    parser.add_argument("--out", default="out/bench")
    parser.add_argument("--steps", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--plain", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--samples", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--models", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.steps:
        return torch_steps(args.steps, not args.plain)
    if args.models:
        return write_models(args.models)
    if args.samples:
        return write_samples(int(args.samples[0]), args.samples[1])
    bench = Bench(args)
    subprocess.run(bench.run_self("--models", bench.folder), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    bench.losses()
    for batch in bench.ram:
        bench.compare(batch)
        bench.save()
    return int(any(not row["ok"] for row in bench.table.rows))


if __name__ == "__main__":
    sys.exit(main())
