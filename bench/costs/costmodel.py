"""20 plans of a network: does a step take what its plan says, and are the plans in their true order?"""
import os
from statistics import median

from ask import Refused
from predictions import WITHIN, at_one_pace, good, kendall
from turns import in_turns, predicted

NETWORKS = {"resnet18": 8, "mobilenet_v2": 2, "bert_mini": 2, "lstm": 32}  # those of joint, which find their kernels measured
# Budgets, from the least RAM for which a plan is known (0) to the unplanned peak (1); other graphs and algorithms.
PLANS = ([(way, ()) for way in (2, 1, .85, .7, .6, .5, .4, .3, .2, .1, .05)] +
         [(2, words) for words in (("--disable", "fusions"), ("--disable", "layouts"), ("--disable", "remaking"), ("--no-inplace",), ("--inference",),
                                   ("--allow-numerics-change",), ("--threads", "1"))] +
         [(.5, ("--no-paging",)), (.5, ("--no-remat",))])
# Of the step; the others are of the plan alone.
OF_STEP = ("--disable", "--no-inplace", "--inference", "--threads")


class Ranges:
    """The unplanned peak and the least RAM of a network's steps, each asked once, when its kernels have been measured."""

    def __init__(self, program, name, size):
        self.program, self.name, self.size, self.known = program, name, size, {}

    def peak(self, words):
        if words not in self.known:
            self.program.measure(self.name, self.size, *words)
            self.known[words] = self.program.peak(self.name, self.size, *words)
        return self.known[words]

    def at(self, way, words):
        peak = self.peak(words)
        if way > 1:
            return way * peak
        least = 1.02 * self.program.least_ram(self.name, self.size, *words)
        return least + way * max(0, peak - least)


def run(bench, program, name):
    asked, off, ranges, size = [], [], Ranges(program, name, NETWORKS[name]), NETWORKS[name]
    for at, (way, words) in enumerate(PLANS if not bench.quick else PLANS[::4]):
        path = os.path.join(program.folder, name, f"cost-{at}.json")
        try:
            program.plan(name, size, f"{int(ranges.at(way, words))}B", path, *words)
        except Refused as none:
            off.append(f"plan {at}: {none}")
            continue
        asked.append(program.steps(name, size, path, *(words if words and words[0] in OF_STEP else ())))
    turns, ends = in_turns(asked, bench.seconds * len(asked), bench.until)
    pairs = [*zip(predicted(ends), map(median, turns))]
    within, tau = good(pairs), kendall(pairs)
    share = within / max(1, len(pairs))
    worst = max((abs(p / m - 1) for p, m in pairs), default=1)
    note = f"{within} of {len(pairs)} within {WITHIN:.0%}, the worst {worst:.0%} off" + at_one_pace(pairs) + (f"; not planned: {len(off)}" if off else "")
    bench.raw[f"costmodel {name}"] = {"pairs": pairs, "not_planned": off, "turns": turns}
    bench.table.add(f"costmodel {name}", share, "of plans", ">= 0.9", share >= .9 and len(pairs) >= 15, note)
    bench.table.add(f"costmodel {name} order", tau, "tau", ">= 0.9", tau >= .9 and len(pairs) >= 15, "")


def first_measuring(bench, program, name):
    """What the default planning of a model that nobody has seen spends on measuring."""
    store = os.path.join(program.folder, name, "new.db")
    if os.path.exists(store):
        os.remove(store)
    made = program.ask("plan", program.model(name), "--batch", NETWORKS[name], "--ram", "64GiB", "--profile-store", store)
    bench.table.add(f"costmodel first train {name}", made["measuring_s"], "s", "<= 5", made["measuring_s"] <= 5, made["time_source"])
