"""Tables 1 to 5 of "Energy-aware DNN graph optimization", here: measured time on this machine, and a device with clock levels by its model.

Goals beside time need watts. A device whose clock has levels (jetson-orin) has them, modelled; on this machine, where no meter is, those of a computing
core are assumed (host_cores.toml), times are measured, and an op on one thread is its way to draw less.
"""
import os
from statistics import median

from ask import PLENTY, Refused, course
from predictions import at_one_pace, good, kendall
from turns import in_turns, predicted, ratio

NETWORKS = {"squeezenet": 1, "inception_v3": 1, "resnet50": 1}
DEVICE = ("--device", "jetson-orin", "--effort", 4)
CORES = ("--device", os.path.join(os.path.dirname(os.path.abspath(__file__)), "host_cores.toml"))
ANY = ("--allow-numerics-change",)
OTHER_STEPS = (("--disable", "fusions"), ("--disable", "layouts"))
WEIGHTS = (.2, .4, .6, .8)  # Table 4's, of energy
# Table 3, time in ms, power in W, energy in J for 1000 inferences, of a V100.
PAPER = {"squeezenet": {"origin": (.916, 101.2, 92.72), "best time": (.683, 107.2, 73.26), "best energy": (.736, 86.5, 63.67), "best power": (2.183, 59.2, 129.2)},
         "inception_v3": {"origin": (6.796, 71.16, 483.6), "best time": (5.469, 82.0, 448.4), "best energy": (5.788, 72.13, 417.5), "best power": (12.59, 53.25, 670.6)},
         "resnet50": {"origin": (2.079, 79.55, 165.4), "best time": (1.926, 78.0, 150.2), "best energy": (1.982, 75.0, 148.6), "best power": (6.54, 52.27, 341.9)}}
CONTRIBUTION = {"neither": ("--disable", "rewriting", "--disable", "algorithms"), "outer": ("--disable", "algorithms", *ANY), "inner": ("--disable", "rewriting", *ANY),
                "both": ANY}


def table_1(bench, program, name, infer):
    """Convolutions by several algorithms."""
    ops = program.measure(name, NETWORKS[name], *ANY, *infer)["ops"]
    by_shape = {}
    for op in ops:
        if op["op"].startswith("conv2d") and "seconds" in op:
            by_shape.setdefault((op["op"], op["operands"], op["attributes"]), {})[op["algorithm"]] = op["seconds"]
    several = {shape: times for shape, times in by_shape.items() if len(times) > 1}
    others = sum(min(times, key=times.get) != "onednn" for times in several.values())
    ratio = min((min(times.values()) / times.get("onednn", max(times.values())) for times in several.values()), default=1)
    bench.table.add(f"energy table 1 {name}", others, "shapes", "reported", True,
                    f"of {len(several)} convolutions with several algorithms are quicker by another than the first, at best {ratio:.2f} of its time")


def table_2(bench, program, name, infer):
    """Graphs and algorithms: estimated and actual. Of those of CONTRIBUTION, the plan and its turns."""
    ways = {**CONTRIBUTION, **{" ".join(words): words for words in (*OTHER_STEPS, ("--disable", "fold-batch-norm", *ANY), ("--threads", "1"))}}
    asked, plans = {}, {}
    for at, (way, words) in enumerate(ways.items()):
        plan = plans[way] = os.path.join(program.folder, name, f"table2-{at}.json")
        of_step = words if words[:2] in OTHER_STEPS or words[:1] == ("--threads",) else ()
        try:
            program.measure(name, NETWORKS[name], *words, *infer)
            program.plan(name, NETWORKS[name], PLENTY, plan, *words, *infer)
            asked[way] = program.steps(name, NETWORKS[name], plan, *infer, *of_step)
        except Refused as none:
            bench.raw.setdefault("refused", []).append(f"{name} {words}: {none}")
    turns, ends = in_turns(asked.values(), bench.seconds * len(asked), bench.until)
    pairs, kind = [*zip(predicted(ends), map(median, turns))], kind_of(infer)
    within, tau = good(pairs), kendall(pairs)
    bench.raw[f"energy table 2 {name}{kind}"] = {"pairs": pairs, "turns": turns}
    bench.table.add(f"energy table 2 {name}{kind}", within / max(1, len(pairs)), "of graphs", ">= 0.9 within 10%", bool(pairs) and within >= .9 * len(pairs),
                    f"{within} of {len(pairs)}{at_one_pace(pairs)}; tau {tau:.2f}")
    return {way: (plans[way], of) for way, of in zip(asked, turns) if way in CONTRIBUTION}


def kind_of(infer):
    return "" if infer else " training"


def figures(made):
    """Time, power, energy."""
    return made["time_s"], made["energy_j"] / made["time_s"], made["energy_j"]


def on_threads(bench, program, name):
    """Table 3 on this machine: times measured, watts assumed."""
    infer, found = ("--inference",), {}
    program.measure(name, NETWORKS[name], *ANY, *infer, *CORES)
    for goal, objective in {"best time": "time", "best energy": "energy", "best power": "power"}.items():
        path = os.path.join(program.folder, name, "threads.json")
        found[goal] = figures(program.plan(name, NETWORKS[name], PLENTY, path, *ANY, *infer, *CORES, "--objective", objective))
    bench.raw[f"energy table 3 {name} threads"] = found
    (fast_s, fast_w, fast_j), (_, _, least_j), (_, least_w, _) = (found[goal] for goal in ("best time", "best energy", "best power"))
    bench.table.add(f"energy table 3 {name} threads", least_w / fast_w, "x power", "<= 1", least_w <= fast_w * 1.001 and least_j <= fast_j * 1.001,
                    f"best power over best time, ops on one thread or all, measured times and assumed watts: {found['best power'][0] / fast_s:.2f} of the time; "
                    f"best energy {least_j / fast_j:.2f} of the energy in {found['best energy'][0] / fast_s:.2f} of the time")


def goals(program, name, infer):
    """Tables 3 and 4, modelled on a device with clock levels."""
    def plans(of):
        """By what they are called: an objective, and the ways of searching."""
        base = ("plan", program.model(name), "--batch", NETWORKS[name], "--ram", PLENTY, *DEVICE, *infer)
        return dict(zip(of, map(figures, program.ask_all([(*base, *words, "--objective", objective) for objective, words in of.values()]))))
    found = plans({"origin": ("time", CONTRIBUTION["neither"]), "best time": ("time", ANY), "best energy": ("energy", ANY), "best power": ("power", ANY)})
    (_, watts, _), (_, _, joules) = found["best power"], found["best energy"]
    scale = found["best energy"][2] / found["best time"][0]
    return {**found, **plans({"0.5 power + 0.5 energy": (f"{.5 / watts}*power + {.5 / joules}*energy", ANY),
                              **{f"{weight} energy": (f"{weight}*energy + {(1 - weight) * scale}*time", ANY) for weight in WEIGHTS}})}


def run(bench, program, name):
    for infer in (("--inference",), ()):
        kind = kind_of(infer)
        if infer:
            table_1(bench, program, name, infer)
            on_threads(bench, program, name)
        by_search = table_2(bench, program, name, infer)
        found = goals(program, name, infer)
        bench.raw[f"energy table 3 {name}{kind}"] = found
        (fast_s, _, fast_j), (_, _, least_j) = found["best time"], found["best energy"]
        least_w = found["best power"][1]
        ordered = fast_s <= min(of[0] for of in found.values()) * 1.001 and least_j <= min(of[2] for of in found.values()) * 1.001
        paper = PAPER[name]
        bench.table.add(f"energy table 3 {name}{kind}", least_j / fast_j, "x energy", "<= 1", ordered and least_w <= min(of[1] for of in found.values()) * 1.001,
                        f"best energy over best time, jetson-orin, modelled: {found['best energy'][0] / fast_s:.2f} of the time; the paper (V100): "
                        f"{paper['best energy'][2] / paper['best time'][2]:.2f} of the energy, {paper['best energy'][0] / paper['best time'][0]:.2f} of the time")
        between = [found[f"{weight} energy"] for weight in WEIGHTS]
        falls = all(a[2] >= b[2] * .999 for a, b in zip(between, between[1:]))
        bench.table.add(f"energy table 4 {name}{kind}", between[0][2] / between[-1][2], "x energy", "falls with its weight", falls, "weights .2 to .8 of energy, modelled")
        contribution(bench, by_search, name, kind)


def contribution(bench, by_search, name, kind):
    """Table 5, measured: neither, either, both searches."""
    if len(by_search) < len(CONTRIBUTION):
        return bench.table.add(f"energy table 5 {name}{kind}", 9.0, "x time", "both <= either", False, "no plan of " + ", ".join(CONTRIBUTION.keys() - by_search.keys()))
    courses = {way: course(path) for way, (path, _) in by_search.items()}
    first = {way: next(other for other in courses if courses[other] == courses[way]) for way in courses}  # one plan has one time
    measured = {way: by_search[first[way]][1] for way in by_search}
    times = {way: ratio(measured[way], measured["neither"]) for way in measured}
    bench.raw[f"energy table 5 {name}{kind}"] = measured
    either = max(ratio(measured["both"], measured[way]) for way in ("outer", "inner"))
    bench.table.add(f"energy table 5 {name}{kind}", times["both"], "x time", "both <= either", either <= 1.03,
                    f"outer {times['outer']:.2f}, inner {times['inner']:.2f}; both over the better {either:.2f}; {len(set(first.values()))} plans; the paper's energy of SqueezeNet: "
                    ".90, .83, .69")


def deadline(bench, program, name):
    """Least energy with time at most T: by the paper's binary search on the weight, and asked directly."""
    infer = ("--inference",)
    base = ("plan", program.model(name), "--batch", NETWORKS[name], "--ram", PLENTY, *DEVICE, *ANY, *infer)
    fast, slow = program.ask_all([(*base, "--objective", objective) for objective in ("time", "energy")])
    limit = (fast["time_s"] + slow["time_s"]) / 2
    low, high, best = 0.0, 1.0, fast["energy_j"]
    scale = slow["energy_j"] / fast["time_s"]
    for _ in range(8):
        weight = (low + high) / 2
        made = program.ask(*base, "--objective", f"{weight}*energy + {(1 - weight) * scale}*time")
        if made["time_s"] <= limit:
            low, best = weight, min(best, made["energy_j"])
        else:
            high = weight
    direct = program.ask(*base, "--objective", "energy", "--deadline", f"{limit}s")["energy_j"]
    bench.table.add(f"energy deadline {name}", direct / best, "x", "<= 1", direct <= best * 1.0001, "least energy within a deadline: asked directly over the search on the weight, modelled")
