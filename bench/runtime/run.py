"""Benchmark of the runtime against PyTorch and NNTrainer: a table, and out/bench/runtime.json with the raw samples.

usage: run.py --pantoum BINARY [--out FOLDER] [--only TEXT] [--quick] [--minutes N] [--curve-steps N]
--only: sections whose name has this text. --quick: few rounds, no torch.compile. --minutes: of the whole, 75, which the sections share: one that has had its
share takes fewer rounds, and what is left at the end is skipped. --curve-steps: of the loss curve, 100; PyTorch takes as many three times. PyTorch (torch)
must be importable; without it every row that needs it is skipped and said.
Kernels are measured before anything is planned (pantoum profile), as torch.compile compiles before it is timed. Steps of all sides are taken in turns
(bench/turns.py) and compared by the median over rounds of one's time over the other's; memory is that of a run of pantoum train with the same plan, and
NNTrainer's that of its own measured runs (NNTRAINER below). Nothing else may run on the machine meanwhile. The file is written after every section.
"""
import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
from ask import PLENTY, ROOT, Program  # noqa: E402
from sections import Sections  # noqa: E402
from turns import in_turns, predicted, ratio  # noqa: E402

MIB = 1 << 20
# Peak resident set of NNTrainer (December 2025), one thread, batch 32: its own process, training.
NNTRAINER = {"lenet5": 13.7 * MIB, "vgg16": 132.6 * MIB, "resnet18": 253 * MIB}
TIGHT = ("--time-limit", "20s")  # of planning inside a budget
LAST_LAYER = 80.5 * MIB
TURN = .3  # seconds of steps of each side in a round: training finds the caches as its own last step left them
LONG = .05  # seconds: a step for which the targets inside budgets hold


def count(threads):
    return f"{threads} thread{'s' if threads > 1 else ''}"


class Bench(Sections):
    def __init__(self, args):
        super().__init__("runtime", args)
        self.seconds = .5 if args.quick else 4  # of steps, of each side
        self.program = Program(os.path.abspath(args.pantoum), self.folder, 10, [sys.executable, os.path.join(HERE, "make_data.py")])
        self.program.forget_times()

    def asked(self, sections):
        return [(weight, name, functools.partial(self.in_time, name, act)) for weight, name, act in sections if self.table.wants(name)]

    def in_time(self, name, act):
        if time.monotonic() > self.end:
            self.table.skip(name, "no time left (--minutes)")
        else:
            act(name)

    # ---- the sides ----

    def torch(self, network, threads, *way):
        """The command of PyTorch's steps."""
        return "env", f"OMP_NUM_THREADS={threads}", sys.executable, os.path.join(HERE, "torch_steps.py"), network, threads, *way

    def plan(self, network, batch, ram, *words, tight=False):
        """What the planner says of it, with its "path", and the command of its steps. `words`: those that plan, steps and training take."""
        path = os.path.join(self.folder, network, f"plan-{ram}.json")
        made = self.program.plan(network, batch, ram, path, *words, *(TIGHT if tight else ()))
        return {**made, "path": path}, self.program.steps(network, batch, path, *words)

    def turns(self, *commands):
        return in_turns(commands, self.seconds * len(commands), self.until, TURN)

    def train(self, folder, batch, *words):
        """One epoch: the median seconds of its steps, and the last line of its log."""
        log = os.path.join(folder, "run.jsonl")
        command = [self.program.pantoum, "train", os.path.join(folder, "net.onnx"), "--data", folder, "--batch", batch, "--log-every", 1, "--log", log,
                   "--page-file", folder, "-o", os.path.join(folder, "out.safetensors"), *words]
        subprocess.run([*map(str, command)], check=True, capture_output=True, text=True)
        with open(log) as file:
            lines = [json.loads(line) for line in file]
        ends = [line["seconds"] for line in lines if line["event"] == "step"]
        return statistics.median(b - a for a, b in zip(ends, ends[1:])), lines[-1]

    def trained(self, network, batch, plan, *words):
        """Of a run with a plan."""
        return self.train(os.path.join(self.folder, network), batch, "--plan", plan["path"], *words)

    # ---- rows ----

    def against_torch(self, network, batch, threads, name):
        words = ("--threads", threads)
        self.program.measure(network, batch, *words)
        plan, ours = self.plan(network, batch, PLENTY, *words)
        peers = {"": self.torch(network, threads), **({} if self.quick else {", torch.compile": self.torch(network, threads, "compile")})}
        (ours, *others), (foretold, *ends) = self.turns(ours, *peers.values())
        trained, log = self.trained(network, batch, plan, *words)
        mine, median = log["resident_bytes"], statistics.median(ours)
        self.raw[name] = {"pantoum_s": ours, "trained_s": trained, "predicted_s": predicted([foretold])[0], "peers_s": dict(zip(peers, others)), "pantoum_bytes": mine,
                          "peers_bytes": {peer: end["resident_bytes"] for peer, end in zip(peers, ends)}}
        for peer, theirs, end in zip(peers, others, ends):
            share = ratio(ours, theirs)
            self.table.add(name + peer, share, "x", "<= 1.0", share <= 1,
                           f"{median * 1e3:.4g} ms against {statistics.median(theirs) * 1e3:.4g} ms; {mine / MIB:.0f} MiB against {end['resident_bytes'] / MIB:.0f} MiB")

    def against_both(self, network, batch, ram, words, name):
        words = ("--threads", 1, *words)
        self.program.measure(network, batch, *words)
        plan, ours = self.plan(network, batch, ram, *words, tight=True)
        (ours, theirs), _ = self.turns(ours, self.torch(network, 1))
        trained, log = self.trained(network, batch, plan, *words)
        share, memory = ratio(ours, theirs), log["resident_bytes"] / NNTRAINER[network]
        self.raw[name] = {"pantoum_s": ours, "trained_s": trained, "torch_s": theirs, "pantoum_bytes": log["resident_bytes"]}
        self.table.add(f"{name}: time over PyTorch's", share, "x", "<= 1.1", share <= 1.1, f"{statistics.median(ours) * 1e3:.4g} ms, --ram {ram}")
        self.table.add(f"{name}: memory over NNTrainer's", memory, "x", "<= 0.95", memory <= 0.95, f"{log['resident_bytes'] / MIB:.1f} MiB resident")
        if network == "lenet5":
            self.table.add(f"{name}: resident", log["resident_bytes"] / MIB, "MiB", "< 10", log["resident_bytes"] < 10 * MIB, log["kernels"])

    @staticmethod
    def answer_of(command):
        """The line of JSON that a command prints, whatever its exit code."""
        answer = subprocess.run([*map(str, command)], capture_output=True, text=True)
        if not answer.stdout.strip():
            raise ValueError(answer.stderr.strip().splitlines()[-1] if answer.stderr.strip() else f"exit {answer.returncode}")
        return json.loads(answer.stdout.splitlines()[0])

    def rate_of_products(self, threads):
        """Of one large product by Pantoum's kernels, in floating-point operations a second."""
        path = os.path.join(self.folder, "product.onnx")
        if not os.path.exists(path):
            subprocess.run([*map(str, self.torch(path, 1, "product"))], check=True, capture_output=True)
        found = self.answer_of([self.program.pantoum, "profile", path, "--batch", 2048, "--ram", PLENTY, "--inference", "--loss", "mse", "--threads", threads,
                                "--measure", "all", "--profile-store", os.path.join(self.folder, "product.db"), "--format", "json"])
        return max(2 * 2048 ** 3 / op["seconds"] for op in found["ops"] if op["op"] == "matmul")

    def of_machines_peak(self, network, batch, threads, name):
        """A step's time over that of its products and convolutions at the best rate of large products, PyTorch's or Pantoum's."""
        words = ("--threads", threads)
        self.program.measure(network, batch, *words)
        peak = self.answer_of(self.torch(network, threads, "peak"))
        (ours,), _ = self.turns(self.plan(network, batch, PLENTY, *words)[1])
        peak["flops_per_s"] = max(peak["flops_per_s"], self.rate_of_products(threads))
        step, least = statistics.median(ours), peak["flops"] / peak["flops_per_s"]
        self.raw[name] = {"pantoum_s": ours, **peak}
        self.table.add(name, step / least, "x", "<= 1.5", step <= 1.5 * least,
                       f"{step * 1e3:.4g} ms; {least * 1e3:.4g} ms at {peak['flops_per_s'] / 1e9:.4g} GFLOP/s; the aim is 1.3")

    def inside_budgets(self, network, batch, threads, name):
        words = ("--threads", threads)
        self.program.measure(network, batch, *words)
        free, command = self.plan(network, batch, PLENTY, *words)
        peak, least = free["unplanned_peak_bytes"], self.least(network, batch, *words)
        budgets = {share: max(peak // share, least) for share in (2, 4)}
        plans = {ram: self.plan(network, batch, f"{ram}B", *words, tight=True) for ram in set(budgets.values())}
        (base, *held), ends = self.turns(command, *(steps for _, steps in plans.values()))
        taken, foretold, counts = dict(zip(plans, held)), dict(zip(plans, predicted(ends[1:]))), statistics.median(base) >= LONG
        for share, target in ((2, 1.10), (4, 1.30)):
            ram, row = budgets[share], f"{name}, {'half' if share == 2 else 'a quarter'} of the peak"
            made, over = plans[ram][0], ratio(taken[ram], base)
            self.raw[row] = {"free_s": base, "held_s": taken[ram], "predicted_s": foretold[ram], "ram": ram, "peak": peak, "least": least, "gap": made["gap"]}
            self.table.add(row, over, "x", f"<= {target}" if counts else "reported", not counts or over <= target,
                           f"{ram / MIB:.1f} of {peak / MIB:.1f} MiB{', the least that is known to be feasible' if ram == least else ''}; "
                           f"{made['bytes_paged_out'] / MIB:.0f} MiB paged out, {made['recomputed']} recomputed in a step")

    def least(self, network, batch, *words):
        """The smallest budget for which a plan is known."""
        return self.program.least_ram(network, batch, "--effort", 4, *words)

    def against_checkpoint(self, network, batch, segments, name):
        theirs = self.torch(network, 1, "checkpoint", segments)
        resident = in_turns([theirs], 0, 0)[1][0]["resident_bytes"]
        words = ("--threads", 1)
        self.program.measure(network, batch, *words)
        plan, ours = self.plan(network, batch, f"{int(resident)}B", *words)
        (ours, theirs), _ = self.turns(ours, theirs)
        _, log = self.trained(network, batch, plan, *words)
        fits, quicker = log["resident_bytes"] <= resident, ratio(theirs, ours)
        self.table.add(name, quicker, "x faster", ">= 1.3", quicker >= 1.3 and fits, f"{log['resident_bytes'] / MIB:.0f} MiB against {resident / MIB:.0f} MiB")

    def side_by_side(self, network, batch, segments, kernels, name):
        """One network in every way to train it here, in turns: a row for each way, its quickest turn over PyTorch's."""
        words = ("--threads", 1, *kernels)
        self.program.measure(network, batch, *words)
        plans = [self.plan(network, batch, "8GiB", *words)]
        peak = plans[0][0]["unplanned_peak_bytes"]
        ram = max(peak // 2, self.least(network, batch, *words))
        plans.append(self.plan(network, batch, f"{ram}B", *words, tight=True))
        names = ["PyTorch", f"PyTorch, checkpoint in {segments} segments", "Pantoum, --ram 8GiB", f"Pantoum, --ram {ram}B"]
        turns, ends = self.turns(self.torch(network, 1), self.torch(network, 1, "checkpoint", segments), *(command for _, command in plans))
        resident = [end["resident_bytes"] for end in ends[:2]] + [self.trained(network, batch, plan, *words)[1]["resident_bytes"] for plan, _ in plans]
        ways = [{"way": way, "turns": len(taken), "quickest_s": min(taken), "median_s": statistics.median(taken), "resident_bytes": held}
                for way, taken, held in zip(names, turns, resident)]
        self.raw[name] = {"network": network, "batch": batch, "unplanned_peak_bytes": peak, "ways": ways}
        for way in ways:
            self.table.add(f"{name}: {way['way']}", way["quickest_s"] / ways[0]["quickest_s"], "x", "reported", True,
                           f"{way['quickest_s'] * 1e3:.4g} ms, median {way['median_s'] * 1e3:.4g}; {way['resident_bytes'] / MIB:.1f} MiB resident")

    def table_4(self, case, name):
        import cases
        paper = cases.TABLE_4[case][2]
        path = os.path.join(self.folder, f"table4-{list(cases.TABLE_4).index(case)}.onnx")
        if not os.path.exists(path):
            cases.export(case, path)

        def ask(ram, *options):
            return self.answer_of([self.program.pantoum, "plan", path, "--batch", cases.BATCH, "--loss", "mse", "--ram", ram, "--effort", 4,
                                   "--kernels", "portable", "--format", "json", "-o", path + ".plan.json", *options])
        kept = ask(f"{paper}KiB", "--no-paging", "--no-remat")
        peaks = {"kept": kept.get("arena_bytes") or kept["min_ram_bytes"]}  # what is known of a refused budget is no more than an upper bound
        peaks["least"] = min(peaks["kept"], ask("1B")["min_ram_bytes"])
        self.table.add(f"{name}: planned, everything kept", peaks["kept"] / 1024, "KiB", f"<= {paper}", peaks["kept"] <= paper * 1024)
        self.table.add(f"{name}: with recomputing and paging", peaks["least"] / 1024, "KiB", f"< {paper}", peaks["least"] < paper * 1024)

    def last_layer(self, name):
        self.program.model("resnet18")
        _, log = self.train(os.path.join(self.folder, "resnet18"), 32, "--effort", 4, "--threads", 1, "--ram", "60MiB", "--freeze", "[0-9].*")
        self.table.add(name, log["resident_bytes"] / MIB, "MiB", "<= 80.5", log["resident_bytes"] <= LAST_LAYER)

    def loss_curve(self, threads, steps, name):
        """Means of 25 steps against PyTorch's; the noise is how far PyTorch's own runs, rounded otherwise, lie from one another."""
        import curve
        window = 25
        if not os.path.isdir(curve.FASHION):
            return self.table.skip(name, f"{curve.FASHION} is not there: apt-get install dataset-fashion-mnist")
        folder = os.path.join(self.folder, f"curve-{steps}")
        os.makedirs(folder, exist_ok=True)
        program = [sys.executable, os.path.join(HERE, "curve.py"), folder, str(steps)]
        subprocess.run([*program, "data"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        losses = {way: json.loads(subprocess.run([*program, way, str(threads)], check=True, capture_output=True, text=True).stdout.splitlines()[-1])
                  for way in ("plain", "reversed", "rotated")}
        self.train(folder, curve.BATCH, "--effort", 4, "--ram", "8GiB", "--threads", threads, "--seed", curve.SEED, "--lr", curve.RATE, "--optimizer", f"sgd,momentum={curve.MOMENTUM}")
        with open(os.path.join(folder, "run.jsonl")) as file:
            losses["pantoum"] = [line["loss"] for line in map(json.loads, file) if line["event"] == "step"]
        self.raw[name] = losses
        means = {way: [statistics.mean(of[at:at + window]) for at in range(0, steps, window)] for way, of in losses.items()}

        def gap(a, b):
            return max(abs(x - y) for x, y in zip(means[a], means[b]))
        noise = max(gap("plain", "reversed"), gap("plain", "rotated"), gap("reversed", "rotated"))
        first = max(abs(a / b - 1) for a, b in zip(losses["pantoum"][:3], losses["plain"]))
        worst = gap("pantoum", "plain")
        self.table.add(f"{name}: gap over the noise", worst / noise, "x", "<= 1.5", worst <= 1.5 * noise,
                       f"{worst:.4f} against {noise:.4f}; the first steps differ by {first:.1e}; the last mean is {means['pantoum'][-1]:.4f}, "
                       f"PyTorch's {means['plain'][-1]:.4f}")


def sections(bench, networks, cases, curve_steps):
    """(weight, name, act): the weights are minutes, about."""
    def ask(act, *words):
        return functools.partial(act, *words)
    batches, cores = {name: network[1] for name, network in networks.items()}, len(os.sched_getaffinity(0))
    each = [(name, batch, threads) for name, batch in batches.items() for threads in sorted({1, cores})]
    yield from ((1.6, f"step time, {name} b{batch}, {count(threads)}", ask(bench.against_torch, name, batch, threads)) for name, batch, threads in each)
    for name, ram, words in (("lenet5", "2MiB", ("--kernels", "portable")), ("vgg16", "96MiB", ()), ("resnet18", "205MiB", ())):
        yield 1, f"one run, {name} b32", ask(bench.against_both, name, 32, ram, words)
    yield from ((1.4, f"inside a budget, {name} b{batch}, {count(threads)}", ask(bench.inside_budgets, name, batch, threads)) for name, batch, threads in each)
    for threads in sorted({1, cores}):
        yield 1, f"machine's peak, resnet18 b32, {count(threads)}", ask(bench.of_machines_peak, "resnet18", 32, threads)
    yield 1, "torch.utils.checkpoint, resnet18 b32", ask(bench.against_checkpoint, "resnet18", 32, 4)
    for name, kernels in (("lenet5", ("--kernels", "portable")), ("vgg16", ()), ("resnet18", ())):
        yield 1.5, f"side by side, {name} b32", ask(bench.side_by_side, name, 32, 4, kernels)
    yield from ((.2, f"Table 4, {case}", ask(bench.table_4, case)) for case in cases)
    yield .5, "only the last layer, resnet18 b32", bench.last_layer
    yield 8, f"loss curve, resnet18 on Fashion-MNIST, {curve_steps} steps", ask(bench.loss_curve, cores, curve_steps)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pantoum", required=True)
    parser.add_argument("--out", default=os.path.join(ROOT, "out", "bench"))
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--minutes", type=float, default=75)
    parser.add_argument("--curve-steps", type=int, default=100)
    args = parser.parse_args()
    bench = Bench(args)
    try:
        import cases
        import networks
    except ImportError as error:
        bench.table.skip("every row", f"PyTorch is not there ({error}): pip install torch")
        return bench.save()
    bench.run(bench.asked([*sections(bench, networks.NETWORKS, cases.TABLE_4, args.curve_steps)]))
    bench.tell()


if __name__ == "__main__":
    main()
