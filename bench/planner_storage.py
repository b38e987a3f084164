"""Rows `no storage`: steps on a device without storage, against every planner of the literature that ends in 5 s.

A row holds where no baseline has a better plan, where the bound is above that of the computes alone if the plan costs more than
the unplanned step, and, up to 350 ops, where the proved gap is at most 1%: that gap is its figure.
"""
import concurrent.futures
import itertools

from planner_ask import LATE, Question, cheapest, told
from planner_families import baselines

SIZES = {"resnet": (4, 12, 24, 48), "unet": (6, 12, 30), "transformer": (2, 5, 12, 24), "chain": (30, 80, 175, 300)}  # 60 to 700 ops
SHARES = (0.9, 0.8, 0.6, 0.5)
OBJECTIVES = ("time", "energy")
LIMIT, BASELINE, ENDING = 20, 5, 0.5  # s; what a baseline may take, and what of it is left for writing
MOST_OPS, CLOSE = 350, 0.01
ROUNDING = 1 + 1e-9  # sums in another order
COSTS, RAISED = 1 + 1e-6, 1 + 1e-8


def questions(asker, long):
    for family, size, share, objective in combinations() if long else chosen():
        yield Question(f"no storage {family} {size} at {share:g}, {objective}", LIMIT + LATE + 6 * BASELINE,
                       _asking(asker, f"{family} {size}", share, objective, asker.limit(LIMIT)))


def combinations():
    for family in SIZES:
        yield from of_family(family)


def of_family(family):
    return list(itertools.product((family,), SIZES[family], SHARES, OBJECTIVES))


def chosen():
    """24 of them: six of a family, in which each of its sizes, each share and both objectives come up."""
    for shift, family in enumerate(SIZES):
        found = of_family(family)
        yield from (found[(shift + 5 * turn) % len(found)] for turn in range(6))


def _asking(asker, words, share, objective, limit):
    def ask(table, raw):
        name = f"no storage {words} at {share:g}, {objective}"
        graph = asker.graph(words, "bare")
        ram = int(share * asker.peak(graph))
        own = asker.plan(graph, ram, limit, objective=objective)
        names = baselines(asker.pantoum)

        def baseline(planner):
            return asker.plan(graph, ram, BASELINE - ENDING, "--planner", planner, "--threads", "1", objective=objective, timeout=BASELINE)

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            others = dict(zip(names, pool.map(baseline, names)))
        raw[name] = {"ram_bytes": ram, "pantoum": own, "baselines": others}
        faults = faults_of(own, others, cheapest(graph, objective))
        if own["seconds"] > limit + LATE:
            faults.append("late")
        planned = {planner: each["value"] for planner, each in others.items() if "value" in each}
        best = min(planned, key=planned.get) if planned else None
        note = told(own) + (f"; best of {len(planned)} baselines {best}, {planned[best] / own['unplanned'] - 1:.3%}" if best and "value" in own else "; no baseline to compare with")
        table.add(name, own.get("gap", 0.0 if own.get("refuted") else 1.0), "", target_of(own), not faults, "; ".join([*faults, note]))
    return ask


def target_of(own):
    return f"gap <= {CLOSE}" if own.get("ops", 0) <= MOST_OPS else "no baseline better"


def faults_of(own, others, trivial):
    found = [f"{planner} fails: {each['why'][:60]}" for planner, each in others.items() if each.get("failed")]
    planned = [each["value"] for each in others.values() if "value" in each]
    if "value" not in own:
        return found + ([] if own.get("refuted") and not planned else ["no plan"])
    if planned and own["value"] > min(planned) * ROUNDING:
        found.append("a baseline is better")
    if own["value"] > own["unplanned"] * COSTS and own["bound"] <= trivial * RAISED:
        found.append("no bound above the computes alone")
    if own["ops"] <= MOST_OPS and own["gap"] > CLOSE:
        found.append("gap")
    return found
