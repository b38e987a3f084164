"""Rows `always`: steps of tests/networks at three budgets and three limits, beside two other busy processes.

A row is one network at one budget. It holds where every limit gives a plan if any does, none is refused that another has a plan
for, and the median energy at a larger limit is nowhere worse than at a smaller one by more than a thousandth: that is its figure.
"""
import contextlib
import glob
import os
import shutil
import statistics
import subprocess
import sys

from planner_ask import AMPLE, Question, told
from planner_measured import ROOT, Network, answer_of

NETWORKS = ("lenet5", "vgg16", "resnet18", "resnet50", "mobilenetv2", "unet", "convnext", "vit", "gpt2", "tcn", "bert", "densenet121")
SHARES = (0.95, 0.7, 0.4)
LIMITS = (0.3, 2, 8)  # s
TIMES, TIMES_LAST = 3, 1  # each limit is asked so often; the last one in the short form
BUSY = 2
WORSE = 1e-3


def questions(asker, long):
    for network in all_networks() if long else NETWORKS:
        for share in SHARES:
            asked = [limit for limit in LIMITS for _ in range(TIMES if long or limit < LIMITS[-1] else TIMES_LAST)]
            yield Question(f"always {network} at {share:g}", sum(asked) + 2,
                           _asking(asker, network, share, [limit for limit in asked if not asker.quick or limit < LIMITS[-1]]))


def all_networks():
    return sorted(os.path.basename(path)[:-len(".dynamo.onnx")] for path in glob.glob(os.path.join(ROOT, "tests", "networks", "*.dynamo.onnx")))


def cost_graph(asker, name):
    """Written once, with modelled costs."""
    path = os.path.join(asker.out, "graphs", f"network-{name}.json")
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        folder = os.path.join(asker.out, "always", name)
        network = Network(name, folder)
        answer_of([asker.pantoum, "plan", network.model, "--effort", "1", "--ram", AMPLE, "--measure", "off", "--costgraph-out", path + ".part",
                   "--format", "json", *network.options()])
        os.replace(path + ".part", path)
        shutil.rmtree(folder)  # the weights are large
    return path


@contextlib.contextmanager
def busy(count):
    """So many other processes that never rest."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def _asking(asker, network, share, limits):
    def ask(table, raw):
        name = f"always {network} at {share:g}"
        graph = cost_graph(asker, network)
        ram = int(share * asker.peak(graph))
        with busy(BUSY):
            answers = [{"limit_s": limit, **asker.plan(graph, ram, limit)} for limit in limits]
        raw[name] = {"ram_bytes": ram, "answers": answers}
        faults = faults_of(answers)
        worst = worst_ratio(answers)
        if worst > 1 + WORSE:
            faults.append("a larger limit is worse")
        table.add(name, worst - 1, "", f"<= {WORSE}, a plan at each limit", not faults, "; ".join([*faults, note_of(answers)]))
    return ask


def note_of(answers):
    planned = sum("value" in each for each in answers)
    over = max(each["seconds"] - each["limit_s"] for each in answers)
    return f"{planned} plans of {len(answers)}, at most {max(0.0, over):.1f} s over a limit; the last: {told(answers[-1])}"


def faults_of(answers):
    planned = [each for each in answers if "value" in each]
    empty = [each for each in answers if each["exit"] == 6]
    found = [f"fails at {each['limit_s']} s: {each['why'][:80]}" for each in answers if each.get("failed")]
    if planned and empty:
        found.append("E0302 at " + ", ".join(f"{each['limit_s']} s" for each in empty))
    if planned and any(each["exit"] == 5 for each in answers):
        found.append("refused, though there is a plan")
    if not planned and not all(each.get("refuted") for each in answers):
        found.append("neither a plan nor a proof")
    return found


def worst_ratio(answers):
    """The largest of a limit's median over that of a smaller limit; 1 where there is nothing to compare."""
    medians = []
    for limit in sorted({each["limit_s"] for each in answers}):
        values = [each["value"] for each in answers if each["limit_s"] == limit and "value" in each]
        if values:
            medians.append(statistics.median(values))
    return max((later / earlier for at, earlier in enumerate(medians) for later in medians[at + 1:]), default=1.0)
