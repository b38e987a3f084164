"""20 plans of a network: does a step take what its plan says, and are the plans in their true order?"""
import os

from ask import Refused, kendall, steps_for

NETWORKS = {"resnet18": 16, "mobilenet_v2": 4, "bert_mini": 4, "lstm": 32}
WITHIN = 0.10
# Budgets of the unplanned peak, batches of the network's, and other graphs and algorithms.
PLANS = ([(1, share, ()) for share in (2, 1, .8, .6, .5, .4)] + [(.5, share, ()) for share in (2, .6, .4)] + [(.25, 2, ()), (.25, .5, ())] +
         [(1, 2, words) for words in (("--disable", "fusions"), ("--disable", "layouts"), ("--disable", "remaking"), ("--no-inplace",), ("--inference",),
                                      ("--allow-numerics-change",), ("--threads", "1"))] +
         [(1, .6, ("--no-paging",)), (1, .6, ("--no-remat",))])


def run(bench, program, name):
    batch, pairs, off = NETWORKS[name], [], []
    for at, (part, share, words) in enumerate(PLANS if not bench.quick else PLANS[::4]):
        size = max(1, int(batch * part))
        plan = os.path.join(program.folder, name, f"cost-{at}.json")
        infer = tuple(word for word in words if word in ("--inference",))
        threads = words if words[:1] == ("--threads",) else ()
        try:
            program.ask("profile", program.model(name), "--batch", size, "--ram", "64GiB", *program.times(), *words)
            peak = program.peak(name, size, *infer)
            made = program.plan(name, size, f"{int(peak * share)}B", plan, *words)
            predicted, measured, _ = program.steps(name, size, plan, steps_for(made["time_s"], bench.seconds), *infer, *threads)
        except Refused as none:
            off.append(f"plan {at}: {none}")
            continue
        pairs.append((predicted, measured))
    good = sum(abs(predicted / measured - 1) <= WITHIN for predicted, measured in pairs)
    share, tau = good / max(1, len(pairs)), kendall(pairs)
    worst = max((abs(p / m - 1) for p, m in pairs), default=1)
    note = f"{good} of {len(pairs)} within {WITHIN:.0%}, the worst {worst:.0%} off" + (f"; not planned: {len(off)}" if off else "")
    bench.raw[f"costmodel {name}"] = {"pairs": pairs, "not_planned": off}
    bench.table.add(f"costmodel {name}", share, "of plans", ">= 0.9", share >= .9 and len(pairs) >= 15, note)
    bench.table.add(f"costmodel {name} order", tau, "tau", ">= 0.9", tau >= .9 and len(pairs) >= 15, "")


def first_measuring(bench, program, name):
    """What the default planning of a model that nobody has seen spends on measuring."""
    store = os.path.join(program.folder, name, "new.db")
    if os.path.exists(store):
        os.remove(store)
    made = program.ask("plan", program.model(name), "--batch", NETWORKS[name], "--ram", "64GiB", "--profile-store", store)
    bench.table.add(f"costmodel first train {name}", made["measuring_s"], "s", "<= 5", made["measuring_s"] <= 5, made["time_source"])
